"""Postprocessing: better lists from lists. Recalibration, combination, truncation, conformal lists, decisions.

In: predictions, TopLists or anything that `as_lists` takes, and outcomes to fit on. Out: TopLists, or plain values
about them. May import `calibration`, `io` and what lies below.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
