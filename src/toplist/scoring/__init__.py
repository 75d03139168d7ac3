"""Proper scoring rules and per-case metrics.

In: TopLists and outcomes. Out: one score per case, CaseScores, score bounds, truncation curves. May import
`lists` and `core`.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
