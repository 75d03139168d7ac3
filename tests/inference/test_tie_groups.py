"""Tie groups: the runs of a table that bars of a critical difference diagram join."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.report.results import comparison, mark, standing
from toplist.inference.ranking import tie_groups
from toplist.inference.results import Comparison, Estimate, Group, Pair

NAMES = "abcdefgh"
P_VALUES = st.sampled_from([None, 0.0, 0.05, math.nextafter(0.05, 1), 0.5, 1.0])


@st.composite
def boards(draw: st.DrawFn) -> Comparison:
    """Pairs with any p values, in any order and either way round."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    pairs = []
    for a, b in draw(st.permutations(list(combinations(names, 2)))):
        first, second = draw(st.sampled_from([(a, b), (b, a)]))
        p, away = draw(P_VALUES), Estimate(draw(st.sampled_from([-0.1, 0.0, 0.2, math.inf])))
        pairs.append(Pair("brier", first, second, 40, away, p, None, away))
    rows = tuple(standing(i, name, [mark("brier", i / 10)]) for i, name in enumerate(names, 1))
    return comparison(Group(None, 40, rows), pairs=tuple(pairs))


def joined(board: Comparison, run: tuple[str, ...]) -> bool:
    """Whether every two of the run have no difference, or were tested and are not significantly different."""
    by = {frozenset((pair.a, pair.b)): pair for pair in board.pairs}
    found = [by[frozenset(two)] for two in combinations(run, 2)]
    return all(
        one.difference.value == 0 or (one.adjusted_p is not None and one.adjusted_p > 1 - board.level) for one in found
    )


@given(boards())
def test_tie_groups_are_the_maximal_runs_without_a_significant_pair(board: Comparison) -> None:
    names = [row.name for row in board.overall.rows]
    runs = [tuple(names[i:j]) for i in range(len(names)) for j in range(i + 2, len(names) + 1)]
    ties = [run for run in runs if joined(board, run)]
    largest = [run for run in ties if not any(set(run) < set(other) for other in ties)]
    assert tie_groups(board) == tuple(largest)


@pytest.mark.parametrize(("rule", "zero"), [("brier", False), ("log", False), ("log", True)])
def test_copies_are_joined_with_each_other_and_with_what_ties_with_one_of_them(rule: str, zero: bool) -> None:
    """Also copies up to rounding, and where all have infinite scores; nothing is tested between them."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 150)
    first, second = (rng.dirichlet(np.ones(3), 150) + np.eye(3)[y] for _ in range(2))
    first, second = first / first.sum(axis=1, keepdims=True), second / second.sum(axis=1, keepdims=True)
    if zero:
        first[0] = np.eye(3)[(y[0] + 1) % 3]
    made = {"a": first, "copy": first.copy(), "rounded": np.exp(np.log(np.maximum(first, 1e-320)))}
    made["rounded"][0] = first[0]
    if not zero:
        made |= {"b": second, "weak": 0.2 * second + 0.8 / 3}
    runs = tie_groups(tl.compare(made, y, space=3, rules=rule).comparison)
    assert any({"a", "copy", "rounded"} <= {*run} for run in runs)
    assert not any("weak" in run for run in runs)


@given(boards())
def test_another_rule_has_ties_of_its_own(board: Comparison) -> None:
    assert tie_groups(board, "brier") == tie_groups(board)
    assert tie_groups(board, "log") == ()
