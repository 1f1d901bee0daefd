"""Floor 2: drafting. A drafting yields the nodes of a tree in the order in which they are revealed."""
