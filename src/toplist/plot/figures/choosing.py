"""Which rule of a leaderboard is drawn, and in which order predictors come under it."""

from __future__ import annotations

import math

from toplist.errors import TopListError
from toplist.ranking.results import Mark, Results, Section, Standing


def chosen(results: Results, rule: str | None) -> str:
    """The rule, the first one if none is named."""
    if rule is None:
        return results.rules[0]
    if rule not in results.rules:
        raise TopListError(f"{rule!r} is no rule of this leaderboard: there are {', '.join(map(repr, results.rules))}.")
    return rule


def mark(standing: Standing, rule: str) -> Mark:
    """How a predictor did under the rule."""
    return next(mark for mark in standing.marks if mark.rule == rule)


def ordered(results: Results, section: Section, rule: str) -> tuple[Standing, ...]:
    """Best first: as in the table under its first rule, by infinite scores and then the finite mean under others."""
    if rule == results.rules[0]:
        return section.standings

    def place(standing: Standing) -> tuple[float, float]:
        found = mark(standing, rule)
        mean = found.score.value if math.isfinite(found.score.value) else found.finite
        return (
            (math.inf, 0.0) if math.isnan(found.score.value) else (found.infinite, math.inf if mean != mean else mean)
        )

    return tuple(sorted(section.standings, key=place))
