"""Numerical kernels, compiled or over the array API: plain arrays in, plain arrays out.

Imports the root modules only.
"""
