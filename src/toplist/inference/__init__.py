"""Inference: from scores per case to estimates with intervals, comparisons of pairs, and ranks.

In: CaseScores, or their exact sums. Out: results as plain frozen values. May import `postprocess`, `io` and below.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
