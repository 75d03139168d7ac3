"""Several models of any shape against one truth: in memory and from files, in any order and any split."""
