"""Lists in, better lists out."""
