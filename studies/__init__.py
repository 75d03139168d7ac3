"""Predictions by other people's models, put through `toplist compare`."""
