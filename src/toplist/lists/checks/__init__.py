"""What is odd about predictions: what should give pause, whether or not it can be scored."""

from toplist.lists.checks.issue_text import SERIOUS
from toplist.lists.checks.summary import Count, Issue, QualityCounts, seen_to

__all__ = ["SERIOUS", "Count", "QualityCounts", "Issue", "seen_to"]
