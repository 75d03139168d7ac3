"""Intervals end where the score does, and hold as often as before."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.core.integers import law
from tests.inference.factories import World


@law
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 5),
    intervals=st.sampled_from(["t", "normal", "ewc", "hac"]),
    penalty=st.sampled_from([None, 0.5]),
)
def test_no_interval_of_a_leaderboard_leaves_the_range_of_its_score(
    seed: int, n: int, intervals: str, penalty: float | None
) -> None:
    rng = np.random.default_rng(seed)
    lists = [{0: 0.01, 1: 0.6}] * n if penalty else rng.dirichlet(np.ones(4), n)
    made = {"a": rng.dirichlet(np.full(4, 0.2), n), "b": rng.integers(0, 4, n), "c": lists}
    board = tl.compare(
        made,
        rng.integers(0, 4, n),
        space=4,
        rules=["brier", "log"],
        penalty=penalty,
        inference=tl.Inference(method=intervals),
    )
    ends = {"brier": 2.0 + (penalty or 0.0), "log": math.inf}
    for mark in (mark for row in board for mark in row.scores.values()):
        high = ends[mark.rule]
        for found, low, top in (
            (mark.mean, 0.0, high),
            (mark.difference, -high, high),
            (mark.skill, -math.inf, 1.0),
        ):
            if found is not None and found.low is not None:
                assert low <= found.low <= found.value <= found.high <= top
    for pair in board.pairwise:
        if pair.difference.low is not None:
            assert -ends[pair.rule] <= pair.difference.low <= pair.difference.high <= ends[pair.rule]


def test_two_cases_end_at_the_worst_score_and_claim_nothing() -> None:
    """Student's interval over two Brier scores of 0 and 1.3 would go from -7.6 to 8.9."""
    board = tl.compare({"a": np.array([[1.0, 0.0, 0.0], [0.1, 0.9, 0.0]])}, [0, 0], rules="brier")
    score, skill = board["a"].scores["brier"].mean, board["a"].scores["brier"].skill
    assert (score.low, score.high) == (0.0, 2.0)
    assert (skill.low, skill.high) == pytest.approx((1 - 2.0 / (2 / 3), 1.0))


def test_cutting_off_misses_no_more_often() -> None:
    """An interval loses only what the true value cannot be."""
    for seed, a in product(range(60), range(2)):
        x = np.random.default_rng(seed).beta(0.3, 0.5, size=(2, 3)) * 2
        plain = World(x).sums()
        cut = replace(plain, bounds=((0.0, 2.0),))
        one, other = plain.mean(0, a), cut.mean(0, a)
        truth = 2 * 0.3 / 0.8
        assert (one.low <= truth <= one.high) == (other.low <= truth <= other.high)  # type: ignore[operator]
        assert (other.value, other.error, other.p) == (one.value, one.error, one.p)
