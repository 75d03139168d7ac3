"""How files are recognised, as a table: what a file holds, what is asked for, and what must come of it."""
