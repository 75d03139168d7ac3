"""Numerical kernels, compiled or over the array API: case statistics, validity, exact sums, isotonic regression.

In: plain arrays. Out: plain arrays, and flags of what is wrong with a list. May import the root modules only.
"""
