"""Which rule of a leaderboard is drawn, and in which order predictors come under it."""

from __future__ import annotations

import math

from toplist.errors import TopListError
from toplist.ranking.results import Estimate, Mark, Results, Section, Standing
from toplist.ranking.verdicts import mark_of


def chosen(results: Results, rule: str | None) -> str:
    """The rule, the first one if none is named."""
    if rule is None:
        return results.rules[0]
    if rule not in results.rules:
        raise TopListError(f"{rule!r} is no rule of this leaderboard: there are {', '.join(map(repr, results.rules))}.")
    return rule


def standing_of(found: Mark, relative: bool) -> Estimate:
    """What a predictor stands by: the mean score, or what it is relative to the others on the cases of both.

    Infinite where the mean is; NaN, with the reason, where there are scores but none is relative.
    """
    if not relative or not math.isfinite(found.score.value):
        return found.score
    return found.relative or Estimate(math.nan, why="no relative score, because a mean score is zero")


def ordered(results: Results, section: Section, rule: str) -> tuple[Standing, ...]:
    """Best first: as in the table under its first rule, by infinite scores and then what they stand by under others."""
    if rule == results.rules[0]:
        return section.standings

    def place(standing: Standing) -> tuple[float, float]:
        found = mark_of(standing, rule)
        mean = standing_of(found, results.missing == "pairwise").value
        mean = mean if math.isfinite(mean) else found.finite
        return (
            (math.inf, 0.0) if math.isnan(found.score.value) else (found.infinite, math.inf if mean != mean else mean)
        )

    return tuple(sorted(section.standings, key=place))
