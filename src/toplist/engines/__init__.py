"""Engines: Dask and Spark, which run two functions for a comparison: score a part, and merge what parts gave.

In: functions, and what they are given. Out: one merged result. May import root modules and the kernel's number of
threads: what is computed lies in `evaluation`. Workers that are lost are replaced by Dask and Spark themselves, whose
libraries are not imported before an engine is started.
"""
