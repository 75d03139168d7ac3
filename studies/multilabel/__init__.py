"""The study that the paper left as future work: proper scores of multi-label predictions on real data."""
