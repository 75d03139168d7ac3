"""Scores once more, exactly: rationals, long decimals and dense vectors that know nothing of the library."""
