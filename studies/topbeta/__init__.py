"""Lists cut at the mass 0.9: what the top-beta score says that the padded Brier score of cut lists does not."""
