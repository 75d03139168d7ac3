"""Proper scoring rules and per-case metrics.

In: TopLists and outcomes. Out: one score per case, CaseScores, score bounds, truncation curves. May import
`lists` and `core`.
"""
