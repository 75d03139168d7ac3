"""Postprocessing: better lists from lists. Recalibration, combination, truncation, conformal lists, decisions.

In: TopLists, and outcomes to fit on. Out: TopLists. May import `calibration`, `io` and what lies below.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
