"""Data-quality issues of predictions: unvalidated rows in, counts and issues with their messages out.

`detect` finds them, `summary` counts them, decides which are issues and words these. Imports only from `toplist.lists`
and below.
"""

from toplist.lists.checks.summary import BLOCKING, Count, Issue, ListSummary, QualityCounts, repaired_kinds

__all__ = ["BLOCKING", "Count", "Issue", "ListSummary", "QualityCounts", "repaired_kinds"]
