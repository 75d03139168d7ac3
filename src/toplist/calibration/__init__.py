"""Calibration: are confidences right? Reliability curves, calibration error and test, score decomposition.

In: TopLists and outcomes. Out: curves, tests and terms as plain values. May import `scoring` and what lies below.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
