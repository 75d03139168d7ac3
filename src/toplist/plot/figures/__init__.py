"""One file per figure: the values in it, how they are found, and how they are drawn."""
