"""How many units of equal weight unequal ones count like, where one has nearly all the weight."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import toplist as tl
from toplist.core.estimate import mean_of_influences, of_weights


@pytest.mark.parametrize("rest", [10.0**-power for power in range(1, 16)])
@pytest.mark.parametrize("others", [1, 7, 1000])
def test_one_case_with_nearly_all_the_weight_has_one_degree_of_freedom_or_none(rest: float, others: int) -> None:
    total = 1 + Fraction(rest)
    heavy, light = 1 / total, Fraction(rest) / others / total
    sums = [heavy**power + others * light**power for power in (2, 3, 4, 5)]
    factor, freedom = of_weights([float(one) for one in sums])
    s2, s3, *_ = sums
    if freedom:
        assert factor == pytest.approx(float(s2 / (s2 - 2 * s3 + s2 * s2)), rel=0.01)
        assert 1 <= freedom <= 1.5
    else:
        assert rest <= 1e-6


@pytest.mark.parametrize("rest", [1e-5, 1e-6, 1e-8, 1e-10])
def test_a_comparison_with_one_heavy_case_has_an_interval_or_says_why_not(rest: float) -> None:
    rng = np.random.default_rng(0)
    p, q, y = rng.random(8), rng.random(8), rng.integers(0, 2, 8)
    weights = np.r_[1.0, np.full(7, rest / 8)] * (1 + 0.1 * rng.random(8))
    models = {name: np.stack([one, 1 - one], axis=1) for name, one in (("p", p), ("q", q))}
    found = tl.compare(models, tl.Truth(y, weight=weights), rules="brier").difference("p", "q")
    assert (found.low is not None) != bool(found.reason)


@pytest.mark.parametrize("known", ["nothing", "weight", "cluster"])
def test_a_mean_has_the_interval_that_a_leaderboard_gives_it(known: str) -> None:
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(5), 30), rng.integers(0, 5, 30)
    weight = rng.exponential(size=30) ** 2 if known == "weight" else np.ones(30)
    cluster = np.arange(30) // 4 if known == "cluster" else None
    truth = tl.Truth(y, weight=weight if known == "weight" else None, cluster=cluster)
    want = tl.compare({"p": p, "q": p[::-1]}, truth, rules="brier")["p"].scores["brier"].mean
    scores, shares = tl.score(tl.as_lists(p), y), weight / weight.sum()
    found = mean_of_influences(want.value, scores - want.value, shares, clusters=cluster)
    assert (found.low, found.high, found.error) == pytest.approx((want.low, want.high, want.error), rel=1e-12)
