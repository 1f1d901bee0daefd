"""Floor 6, `html`: answers as one self-contained page, as pictures, and as what a notebook shows."""
