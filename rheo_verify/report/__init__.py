"""Floor 6: reports, pure functions from the values of floor 4 to text and JSON."""
