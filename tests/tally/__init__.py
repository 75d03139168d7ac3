"""What cases add up to: without rounding, in any order and any split."""
