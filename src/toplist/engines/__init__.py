"""Engines: where parts of a comparison are computed. Local processes, Dask, Spark, Ray, one module each.

In: tasks as bytes, functions of bytes. Out: one merged result. No engine's library is imported before it is asked for.
May import root modules and the kernel's number of threads: what is computed lies in `evaluation`.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
