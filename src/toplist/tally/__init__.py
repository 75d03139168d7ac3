"""Frozen, mergeable, exact sums over cases."""

from toplist.tally.exact import UNIT, to_float
from toplist.tally.tallies import Grouping, Tally, merge, overall, tally

__all__ = ["UNIT", "Grouping", "Tally", "merge", "overall", "tally", "to_float"]
