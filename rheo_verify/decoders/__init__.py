"""Floor 3: decoders. A decoder is a way of drafting and a way of verifying, under its published name."""
