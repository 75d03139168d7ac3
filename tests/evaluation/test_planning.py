"""Plans and equivalence on leaderboards: what they take from the board, what they refuse, what they say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.core.estimate import quantile


def models(n: int = 150, seed: int = 0) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """A distribution, one that is nearly the same, and one that is blurred."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 0.5), size=n)
    y = np.array([rng.choice(4, p=row) for row in p])
    noise = rng.dirichlet(np.ones(4), size=n)
    return {"sharp": p, "near": 0.99 * p + 0.0025, "blurred": 0.5 * p + 0.5 * noise}, y


def test_a_plan_counts_all_pairs_of_the_models_that_will_be_compared() -> None:
    """More pairs need more cases; the smallest difference counts, not the one of the pilot."""
    made, y = models()
    board = tl.compare(made, y, rules="brier")
    found, many = tl.plan(board, 0.01), tl.plan(board, 0.01, models=10)
    assert (found.tested, many.tested) == (3, 45)
    for one, other in zip(found.pairs, many.pairs, strict=True):
        assert one.needed is not None
        assert other.needed is not None
        assert other.needed > one.needed
        assert one.needed_high is not None
        assert one.needed_high >= one.needed
    assert found.needed == max(pair.needed or 0 for pair in found.pairs)
    assert (found.needed_high or 0) > (found.needed or 0)
    quarter = tl.plan(board, 0.005).needed
    assert quarter == pytest.approx(4 * (found.needed or 0), rel=0.01)


def test_a_plan_counts_in_units_of_the_pilot() -> None:
    made, y = models()
    clusters = tl.compare(made, tl.Truth(y, cluster=np.arange(150) // 5), rules="brier")
    weeks = tl.compare(made, tl.Truth(y, time=np.arange(150) // 3), rules="brier")
    assert (tl.plan(clusters, 0.01).unit, tl.plan(clusters, 0.01).pairs[0].units) == ("cluster", 30)
    assert (tl.plan(weeks, 0.01).unit, tl.plan(weeks, 0.01).pairs[0].units) == ("time point", 50)


def test_a_plan_says_what_it_assumes_and_what_it_cannot_say() -> None:
    made, y = models()
    board = tl.compare({**made, "copy": made["sharp"]}, y, rules="brier")
    found = tl.plan(board, 0.01)
    text = str(found)
    assert "if that is the true difference" in text
    assert "6 pairs by Holm's method" in text
    assert "too few" not in text
    assert "29 cases or fewer are too few" in str(tl.plan(board, 0.5))
    assert "No number for sharp and copy" in " ".join(text.split())
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["needed"] == found.needed
    assert {pair["needed"] is None for pair in plain["pairs"]} == {True, False}


def test_what_is_no_plan_is_refused() -> None:
    made, y = models()
    board = tl.compare(made, y, rules="brier")
    for wrong in ({"smallest": 0}, {"smallest": -1}, {"smallest": 0.1, "power": 1.5}, {"smallest": 0.1, "models": 1}):
        with pytest.raises(tl.TopListError):
            tl.plan(board, **wrong)  # type: ignore[arg-type]
    with pytest.raises(tl.TopListError, match="no rule here"):
        tl.plan(board, 0.1, rule="log")
    with pytest.raises(tl.TopListError, match="at least two models"):
        tl.plan(tl.compare({"sharp": made["sharp"]}, y, rules="brier"), 0.1)


def test_two_models_are_equivalent_exactly_where_the_interval_is_within_the_margin() -> None:
    made, y = models()
    board = tl.compare(made, y, rules="brier")
    d = board.difference("near", "sharp")
    assert d.error is not None
    assert d.freedom is not None
    for pairs in (None, 1):
        half = quantile(1 - 0.05 / (pairs or 3), d.freedom) * d.error
        edge = abs(d.value) + half
        assert tl.equivalent(board, "near", "sharp", edge * 1.001, pairs=pairs).equivalent
        found = tl.equivalent(board, "near", "sharp", edge * 0.999, pairs=pairs)
        assert not found.equivalent
        assert found.difference.high == pytest.approx(d.value + half)
    assert "not shown" in str(found)
    assert tl.equivalent(board, "near", "sharp", edge * 1.1, pairs=1).noninferior


def test_models_that_differ_are_not_equivalent_and_the_worse_one_is_inferior() -> None:
    made, y = models(600)
    board = tl.compare(made, y, rules="brier")
    found = tl.equivalent(board, "blurred", "sharp", 0.001)
    assert not found.equivalent
    assert not found.noninferior
    assert tl.equivalent(board, "sharp", "blurred", 0.001).noninferior


def test_the_same_predictions_are_equal_within_any_margin_and_resampled_boards_say_why_not() -> None:
    made, y = models()
    board = tl.compare({"a": made["sharp"], "b": made["sharp"]}, y, rules="brier")
    assert tl.equivalent(board, "a", "b", 1e-9).equivalent
    drawn = tl.compare(made, y, rules="brier", inference="bootstrap")
    found = tl.equivalent(drawn, "sharp", "blurred", 0.1)
    assert found.p is None
    assert not found.equivalent
    assert "cannot be tested: its intervals do not come from a standard error" in str(found)
    with pytest.raises(tl.TopListError, match="margin"):
        tl.equivalent(board, "a", "b", 0.0)
