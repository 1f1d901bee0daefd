"""Floor 2: verification rules, one file each, with two faces: `verify` (the published steps) and `law`."""
