"""Speed, as ratios to what one would write today, both sides measured in one run."""
