"""What is claimed of intervals and tests, measured."""
