"""Level 2: all real p and q at fixed sizes, by running the project's own rules on symbols."""
