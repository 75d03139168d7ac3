"""Traps that other tools fall into, one test each: what padding is not, and what must survive a pipeline."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given

import toplist as tl
from tests.oracle.dense import RULES, brier
from tests.properties.cases import Case, by_every_rule, cases, law


def test_an_unlisted_truth_gets_a_share_of_the_rest() -> None:
    """Five classes, {0: .6, 1: .3}, truth 4. Zeros for the unlisted classes would give 1.450 and a logarithmic score
    that is an artefact of clipping; renormalising gives 1.556; padding gives 1.387 and 3.401."""
    t = tl.TopList({0: 0.6, 1: 0.3}, 5)
    assert tl.score(t, 4) == pytest.approx(1.386667, abs=1e-6)
    assert tl.score(t, 4, rule="log") == pytest.approx(3.401197, abs=1e-6)
    zeros = np.array([0.6, 0.3, 0.0, 0.0, 0.0])
    assert brier(zeros)[4] == pytest.approx(1.450)
    assert brier(zeros / zeros.sum())[4] == pytest.approx(1.556, abs=1e-3)
    padded = np.array([0.6, 0.3, 0.1 / 3, 0.1 / 3, 0.1 / 3])
    assert tl.score(t, 4) == pytest.approx(brier(padded)[4], rel=1e-14)
    assert tl.score(t, 4, rule="log") == pytest.approx(-math.log(0.1 / 3), rel=1e-14)


def test_single_precision_does_not_change_a_logarithmic_score() -> None:
    """Clipping at the epsilon of the precision makes 18 out of 8, or the other way round."""
    p = np.array([[1 - 1.5e-8, 1.5e-8]])
    for dtype in (np.float32, np.float64):
        got = tl.score(tl.TopLists.from_proba(p.astype(dtype)), [1], rule="log")[0]
        assert got == pytest.approx(-math.log(1.5e-8), rel=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_clipped(dtype: type) -> None:
    """A zero on what happened is infinite, and a sure hit is exactly free."""
    p = np.array([[1.0, 0.0, 0.0]], dtype=dtype)
    lists = tl.TopLists.from_proba(p)
    assert tl.score(lists, [1], rule="log")[0] == math.inf
    assert tl.score(lists, [0], rule="log")[0] == 0.0
    tiny = tl.TopLists.from_topk([[0, 1]], np.array([[1.0, 1e-30]], dtype=dtype), 3)
    assert tl.score(tiny, [1], rule="log")[0] == pytest.approx(30 * math.log(10), rel=1e-6)


def test_a_class_listed_twice_is_an_error_and_never_a_choice() -> None:
    """The first, the last and the sum of its confidences score 0.7 apart: the caller has to say."""
    classes, t = [[0, 1, 0]], [[0.2, 0.1, 0.7]]
    with pytest.raises(tl.ClassError, match="listed twice"):
        tl.TopLists.from_topk(classes, t, 5)
    added = tl.TopLists.from_topk(classes, t, 5, duplicates="sum")
    assert added == tl.TopLists.from_topk([[0, 1]], [[0.2 + 0.7, 0.1]], 5)
    first, last = (tl.score(tl.TopList({0: x, 1: 0.1}, 5), 0) for x in (0.2, 0.7))
    assert first - last > 0.5
    assert tl.score(added, [0])[0] == pytest.approx(0.02, rel=1e-12)


def test_empty_lists_survive() -> None:
    """Exploding lists to rows and grouping them again loses the cases that list nothing; here each keeps its place."""
    offsets, classes, t = [0, 0, 2, 2, 3, 3], [1, 2, 0], [0.5, 0.25, 1.0]
    made = [
        tl.TopLists.from_ragged(offsets, classes, t, 4),
        tl.TopLists.from_dicts([{}, {1: 0.5, 2: 0.25}, {}, {0: 1.0}, {}], 4),
    ]
    for lists in made:
        assert len(lists) == 5
        assert lists.sizes.tolist() == [0, 2, 0, 1, 0]
        scores = tl.score(lists, [0, 1, 2, 0, 3])
        assert scores.shape == (5,)
        np.testing.assert_allclose(scores[[0, 2, 4]], 0.75, rtol=1e-14)
        for part in (lists.valid(), lists.repair(), lists.truncate(1), lists.truncate(mass=0.5)):
            assert len(part) == 5
            assert part.sizes[[0, 2, 4]].tolist() == [0, 0, 0]
    nothing = tl.TopLists.from_dicts([{}, {}], 4)
    assert tl.score(nothing, [0, 3]).tolist() == [0.75, 0.75]
    assert len(tl.score(tl.TopLists.from_dicts([], 4), [])) == 0


@law
@given(case=cases())
@by_every_rule
def test_an_unlisted_truth_is_never_scored_as_perfect(name: str, case: Case) -> None:
    """A missing key is not a zero loss: a miss costs, and no less than the least confident listed class would."""
    t = case.list.valid()
    unlisted = next(c for c in range(len(t) + 1) if c not in t.confidences)
    assume(1 < case.m > unlisted)
    missed = tl.score(t, unlisted, rule=RULES[name].rule)
    assert missed > 0
    for c in t.classes:
        assert tl.score(t, c, rule=RULES[name].rule) <= missed * (1 + 1e-12) + RULES[name].tol


def test_questions_with_three_four_and_five_options_are_one_batch() -> None:
    """Each is scored over its own options."""
    lists = tl.TopLists.from_dicts([{0: 0.5}, {0: 0.5}, {0: 0.5}], [3, 4, 5])
    expected = [(1 - 0.5 / n) ** 2 + 0.25 + (n - 1) * (0.5 / n) ** 2 for n in (2, 3, 4)]
    np.testing.assert_allclose(tl.score(lists, [1, 2, 3]), expected, rtol=1e-14)
    with pytest.raises(tl.OutcomeError, match="outside the space of 3"):
        tl.score(lists, [3, 0, 0])


def test_padding_the_invalid_list_itself_would_reward_it() -> None:
    """Padded as it stands, ({0, 3}, (.5, .1)) is the truth (.5, .2, .2, .1) and beats every true list; scored by its
    largest valid sublist it does not (paper, Example 5.1)."""
    p = [0.5, 0.2, 0.2, 0.1]
    invalid, true = tl.TopList({0: 0.5, 3: 0.1}, 4), tl.lists.top_k(p, 2)
    assert not invalid.is_valid()
    np.testing.assert_allclose(invalid.padded(), p, rtol=1e-15)
    for rule in (tl.Brier(), tl.Log(), tl.Spherical()):
        assert tl.expected_score(invalid, p, rule=rule, penalty=0) > tl.expected_score(true, p, rule=rule)
