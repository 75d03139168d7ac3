"""What is claimed of intervals and tests holds in a small simulation, and what is known to fail fails."""
