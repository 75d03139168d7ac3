"""What may be said of two predictors: who is better and whether that is sure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from toplist.ranking.results import Mark, Pair, Results, Standing

Kind = Literal["sure", "unsure", "infinite", "untested"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A pair, and what may be said of it.

    It is sure exactly where there is a difference and the adjusted p is at most one minus the level; infinite where a
    mean is, which no test can weigh; untested where there is no p for another reason.
    """

    pair: Pair
    kind: Kind

    @property
    def sure(self) -> bool:
        """Whether the two are surely different."""
        return self.kind == "sure"

    @property
    def tested(self) -> bool:
        """Whether there is a p value."""
        return self.kind in ("sure", "unsure")

    @property
    def better(self) -> str | None:
        """Who has the lower mean score; None where neither has."""
        value = self.pair.difference.value
        return None if math.isnan(value) or value == 0 else self.pair.a if value < 0 else self.pair.b

    @property
    def worse(self) -> str | None:
        """The other one."""
        better = self.better
        return None if better is None else self.pair.b if better == self.pair.a else self.pair.a


def verdicts(results: Results, rule: str) -> list[Verdict]:
    """Every pair under one rule, in the order of the table."""
    order = {row.name: i for i, row in enumerate(results.overall.standings)}
    last = len(order)
    own = sorted(
        (pair for pair in results.pairs if pair.rule == rule),
        key=lambda pair: (order.get(pair.a, last), order.get(pair.b, last)),
    )
    return [judge(pair, results) for pair in own]


def judge(pair: Pair, results: Results) -> Verdict:
    """The verdict on one pair."""
    if pair.adjusted is not None and not math.isnan(pair.adjusted):
        return Verdict(pair, "sure" if pair.adjusted <= 1 - results.level and pair.difference.value else "unsure")
    rows = [row for row in results.overall.standings if row.name in (pair.a, pair.b)]
    infinite = math.isinf(pair.difference.value) or any(mark_of(row, pair.rule).infinite for row in rows)
    return Verdict(pair, "infinite" if infinite else "untested")


def mark_of(standing: Standing, rule: str) -> Mark:
    """How a predictor did under a rule."""
    return next(mark for mark in standing.marks if mark.rule == rule)
