"""Frozen, mergeable, exact sums over cases."""

from toplist.tally.adding import Grouping, tally
from toplist.tally.exact import UNIT, to_float
from toplist.tally.tallies import Tally, merge, overall

__all__ = ["UNIT", "Grouping", "Tally", "merge", "overall", "tally", "to_float"]
