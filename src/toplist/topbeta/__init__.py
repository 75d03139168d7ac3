"""Top-beta lists: as few of the most likely classes as it takes to reach a mass; experimental."""
