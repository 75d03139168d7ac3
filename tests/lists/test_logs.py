"""Confidences given by their logarithms: exponentiated, and counted where they are below the smallest number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.lists import from_logs
from toplist.multilabel.sets import lists_of_sets

T = tl.TopLists
RULES = ("brier", "log", "spherical", "zero-one", tl.Power(1.5), tl.Power(0.5), tl.Renyi(0.5), tl.OneVsRest())
LOST = "underflow to zero"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_score_as_the_numbers_that_they_are_of(dtype: Any) -> None:
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.full(6, 0.3), 500)
    logs = np.log(p[:, :5]).astype(dtype)
    logs[::7, 3] = -np.inf
    lists = T.from_topk(np.tile(np.arange(5), (500, 1)), logs, 30, scale="log")
    plain = T.from_topk(np.tile(np.arange(5), (500, 1)), np.exp(logs), 30)
    y = rng.integers(0, 30, 500)
    assert lists == plain
    assert dict(lists.repairs) == {"scale: log": 500}
    for rule in RULES:
        assert tl.score(lists, y, rule=rule).tolist() == tl.score(plain, y, rule=rule).tolist()


def test_every_constructor_counts_what_is_below_the_smallest_number() -> None:
    logs = [-800.0, -700.0, -2.0]
    made = [
        T.from_topk([[4, 5, 6]], [logs], math.inf, scale="log"),
        T.from_ragged([0, 3], [4, 5, 6], logs, math.inf, scale="log"),
        T.from_dicts([dict(zip([4, 5, 6], logs, strict=True))], math.inf, scale="log"),
        from_logs([0, 3], [4, 5, 6], logs, math.inf),
    ]
    for lists in made:
        assert lists == made[0]
        assert lists.confidences.tolist() == [0.0, math.exp(-700.0), math.exp(-2.0)]
        assert [tl.score(lists, [y], rule="log")[0] for y in (4, 5, 6, 7)] == [math.inf, 700.0, 2.0, math.inf]
        assert lists.truncate(2).classes.tolist() == [6, 5]
    assert [dict(lists.repairs) for lists in made] == [{LOST: 1, "scale: log": 1}] * 3 + [{LOST: 1}]


@pytest.mark.parametrize("k", [None, 2])
def test_logits_count_probabilities_that_underflow_and_not_those_that_are_masked(k: int | None) -> None:
    z = np.array([[0.0, -900.0, -1000.0], [1.0, 2.0, 3.0]])
    lists = T.from_logits(z, k=k)
    assert dict(lists.repairs) == {LOST: 1}
    assert tl.score(lists, [0, 1], rule="log") == pytest.approx([0.0, math.log(1 + math.exp(-1) + math.exp(1))])
    # nothing is left of a distribution; of a cut one the rest mass is known, and its mean is what both share
    missed = math.inf if k is None else 1000.0 + math.log(2)
    assert tl.score(lists, [1, 1], rule="log")[0] == pytest.approx(missed)
    masked = T.from_logits([[0.0, -math.inf, -1.0]], k=k)
    assert not masked.repairs
    assert T.from_logits(z, k=1).repairs == {}
    assert tl.score(T.from_logits(z, k=1), [2, 2], rule="log")[0] == pytest.approx(900.0 + math.log(2), rel=1e-14)


def test_logarithms_in_single_precision_reach_as_far_as_those_in_double() -> None:
    logs = np.array([[-95.0, -150.0, -0.5]], np.float32)
    lists = T.from_topk([[0, 1, 2]], logs, 2**300, scale="log")
    assert LOST not in lists.repairs
    assert [tl.score(lists, [y], rule="log")[0] for y in (0, 1)] == pytest.approx([95.0, 150.0], rel=1e-14)
    assert tl.ranks(lists, [1]) == [3]
    assert lists.checked.rows.bits == 24
    assert T.from_topk([[0, 1]], logs[:, :2] / 100, 2**300, scale="log").confidences.dtype == np.float32


def test_only_producers_may_have_logarithms_that_look_like_marks() -> None:
    with pytest.raises(tl.TopListError, match="not in my top list"):
        T.from_topk([[0, 1]], [[-1.0, -9999.0]], 9, scale="log")
    assert dict(from_logs([0, 2], [0, 1], [-1.0, -30_001.0], 2**100_000).repairs) == {LOST: 1}


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.5])
def test_logarithms_that_are_of_no_probability_are_refused(bad: float) -> None:
    with pytest.raises(tl.TopListError, match="confidence"):
        from_logs([0, 2], [0, 1], [-3.0, bad], 9)


def test_repairs_of_logarithms_are_those_of_numbers() -> None:
    twice = T.from_topk([[3, 4, 3]], [[-90.0, -91.0, -90.0]], math.inf, scale="log", duplicates="sum")
    assert tl.score(twice, [3], rule="log") == pytest.approx(90 - math.log(2), rel=1e-14)
    over = T.from_topk([[0, 1]], [[math.log(2.0), -90.0]], 5, scale="log", normalize=True)
    assert tl.score(over, [1], rule="log") == pytest.approx(90 + math.log(2), rel=1e-14)
    with pytest.raises(tl.TopListError, match="sum to 0"):
        T.from_topk([[0, 1]], [[-3000.0, -3001.0]], 2, scale="log", normalize=True)


def test_a_listed_zero_scores_by_its_share_of_a_rest_mass_that_is_known() -> None:
    lists = from_logs([0, 3], [0, 1, 2], [-math.inf, -600.0, 0.0], 5, log_rest=[-1000.0])
    assert lists.strictly_valid().classes.tolist() == [1, 2]
    assert tl.score(lists, [0], rule="log") == pytest.approx(1000 + math.log(3), rel=1e-14)
    assert tl.ranks(lists, [0]) == [3]
    endless = from_logs([0, 3], [0, 1, 2], [-math.inf, -600.0, 0.0], math.inf)
    assert [tl.score(endless, [y], rule="log")[0] for y in (0, 1)] == [math.inf, 600.0]


@pytest.mark.parametrize("log_rest", [-740.0, -744.0, -800.0])
def test_a_rest_mass_with_few_digits_scores_by_its_logarithm(log_rest: float) -> None:
    lists = T.from_topk([[0]], [[1.0]], 5, log_rest=[log_rest])
    assert tl.score(lists, [1], rule="log") == pytest.approx(math.log(4) - log_rest, rel=1e-14)
    assert (
        repr(T.from_topk([[3]], [[1.0]], 50, log_rest=[-800.0])[0]) == "TopList(3 1; unlisted e^-800 over 49 classes)"
    )


def test_label_sets_below_the_smallest_number_are_refused() -> None:
    space = tl.LabelSets([f"label {i}" for i in range(10_000)])
    sets = space.sets(np.eye(10_000, dtype=bool)[:4])
    lists = lists_of_sets(space, np.array([0, 2, 4]), sets, np.array([-600.0, -601.0, -650.0, -700.0]))
    codes = space.encode(sets)
    assert tl.score(lists, codes[[1, 2]], rule="log") == pytest.approx([601.0, 650.0], rel=1e-14)
    assert tl.ranks(lists, codes[[1, 2]]).tolist() == [2, 1]
    part = lists_of_sets(space, np.array([0, 2, 4]), sets, np.array([-600.0, -3083.0, -650.0, -700.0]))
    assert dict(part.repairs) == {LOST: 1}
    with pytest.raises(
        tl.TopListError, match=r"case 1: the most probable set has the probability e\^-3083, .* fewer labels"
    ):
        lists_of_sets(space, np.array([0, 2, 4]), sets, np.array([-600.0, -601.0, -3083.0, -3084.0]))
