"""Top-beta lists: as few of the most likely classes as it takes to reach a mass.

The functional, which lists it can produce, and the rule that is strictly consistent for it. docs/topbeta.md has the
theorem and its proof.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
