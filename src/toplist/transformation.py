"""Files in, files out: lists recalibrated, pooled or truncated, batch by batch."""
