"""Label sets from a support, against softmaxes in plain Python."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist.lists.labelsets import Sets
from toplist.multilabel import support_sets
from toplist.multilabel.sets import support_log_scores

NAMES = ["a", "b", "c"]
SEEN = [{"a"}, {"b", "c"}, set(), {"a", "b", "c"}]


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, list[frozenset[int]], int, float]:
    """Log scores of two cases, some minus infinity; a support of sets of five labels; k; and an unseen mass."""
    support = draw(st.lists(st.frozensets(st.integers(0, 4)), min_size=1, max_size=12, unique=True))
    score = st.floats(-60, 60) | st.sampled_from([-math.inf, 0.0, 1.0, 300.0])
    rows = draw(st.lists(st.lists(score, min_size=len(support), max_size=len(support)), min_size=2, max_size=2))
    for row in rows:
        row[draw(st.integers(0, len(support) - 1))] = 0.5
    return np.array(rows), support, draw(st.integers(0, 14)), draw(st.sampled_from([0.0, 0.1, 0.9, 1e-300]))


@settings(max_examples=draws(80))
@given(case=scored())
def test_lists_are_the_likeliest_of_the_softmax(case: Any) -> None:
    """Valid but for what is unseen, of mass one with the rest, which has all that is not listed; ties to the first."""
    x, support, k, unseen = case
    space = tl.LabelSets(range(5))
    lists = support_sets(x, support, k, space, unseen=unseen)
    for row in range(2):
        total = math.fsum(math.exp(v - x[row].max()) for v in x[row])
        p = [math.exp(v - x[row].max()) / total * (1 - unseen) for v in x[row]]
        order = [i for i in sorted(range(len(p)), key=lambda i, v=x[row]: (-v[i], i)) if x[row][i] > -math.inf]
        here = slice(lists.offsets[row], lists.offsets[row + 1])
        assert space.named(space.sets_of(lists.classes[here])) == [support[i] for i in order[:k]]
        np.testing.assert_allclose(lists.confidences[here], [p[i] for i in order[:k]], rtol=1e-12, atol=1e-300)
        left = math.fsum([unseen, *(p[i] for i in order[k:])])
        assert math.exp(lists.log_rest[row]) == pytest.approx(left, rel=1e-12, abs=1e-300)
    assert unseen > 0 or lists.is_valid().all()


@settings(max_examples=draws(60))
@given(case=scored())
def test_in_the_space_of_the_support_nothing_is_left_for_others(case: Any) -> None:
    """The same lists, of fewer classes: a set's code is its place."""
    x, support, k, _ = case
    wide, narrow = tl.LabelSets(range(5)), tl.LabelSets(range(5), support=support)
    one, other = support_sets(x, support, k, wide), support_sets(x, support, k, narrow)
    assert narrow.named(narrow.sets_of(other.classes)) == wide.named(wide.sets_of(one.classes))
    np.testing.assert_array_equal(one.confidences, other.confidences)
    assert other.is_valid().all()
    assert support_sets(x, support, len(support), narrow).rest.max() < 1e-12


def test_the_rest_keeps_its_digits_where_one_minus_the_mass_has_none() -> None:
    lists = support_sets([[0.0, -300.0, -400.0, -5000.0]], SEEN, 2, tl.LabelSets(NAMES))
    assert lists.log_rest == pytest.approx(-400.0, rel=1e-12)
    lists = support_sets([[0.0, -300.0, -400.0, -5000.0]], SEEN, 2, tl.LabelSets(NAMES), unseen=[1e-200])
    assert lists.log_rest[0] == pytest.approx(np.logaddexp(-400.0, math.log(1e-200)), rel=1e-12)


def test_probabilities_below_the_smallest_number_are_zero_and_counted() -> None:
    lists = support_sets([[0.0, -300.0, -400.0, -5000.0]], SEEN, 4, tl.LabelSets(NAMES))
    assert np.log(lists.confidences[:3]) == pytest.approx([0.0, -300.0, -400.0], abs=1e-9)
    assert lists.confidences[3] == 0
    assert dict(lists.repairs) == {"underflow to zero": 1}


def test_the_unseen_mass_may_differ_from_case_to_case() -> None:
    lists = support_sets(np.zeros((3, 4)), SEEN, 4, tl.LabelSets(NAMES), unseen=np.array([0.0, 0.2, 0.6]))
    np.testing.assert_allclose(lists.confidences.reshape(3, 4), np.outer([1.0, 0.8, 0.4], np.full(4, 0.25)))
    np.testing.assert_allclose(lists.rest, [0.0, 0.2, 0.6], atol=1e-15)


def test_sets_of_many_labels_have_digests_and_can_be_told() -> None:
    rng = np.random.default_rng(0)
    seen = Sets.from_indicators(rng.random((40, 90)) < 0.1)
    x, space = rng.normal(size=(6, 40)), tl.LabelSets(range(90))
    lists = support_sets(x, seen, 5, space, unseen=0.05)
    best = np.argsort(-x, axis=1)[:, :5].ravel()
    assert lists.space.sets_of(lists.classes) == seen.take(best)
    assert (tl.score(lists, seen.take(best[::5]), rule="log") < 4).all()


@settings(max_examples=draws(60))
@given(seed=st.integers(0, 10**6), width=st.integers(1, 6))
def test_scores_from_marginals_are_log_probabilities_of_independent_labels(seed: int, width: int) -> None:
    """Zeros and ones make sets impossible: minus infinity, never NaN."""
    rng = np.random.default_rng(seed)
    p = rng.random((3, width))
    p[rng.random(p.shape) < 0.2] = 0.0
    p[rng.random(p.shape) < 0.2] = 1.0
    p[0] = 1e-300 * rng.random(width)
    sets = np.array(list(product((0, 1), repeat=width)))
    found = support_log_scores(p, sets)
    for row in range(3):
        for i, one in enumerate(sets):
            each = [math.log(q) if q > 0 else -math.inf for q in np.where(one, p[row], 1 - p[row])]
            assert found[row, i] == pytest.approx(sum(each), rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(found, support_log_scores(p, Sets.from_indicators(sets)))


def test_marginals_and_a_support_make_lists() -> None:
    """Independence, given that the set is one that was seen."""
    p, space = np.array([[0.9, 0.2, 0.5]]), tl.LabelSets(NAMES)
    lists = support_sets(support_log_scores(p, space.sets(SEEN)), SEEN, 2, space, unseen=0.1)
    weights = np.array([0.9 * 0.8 * 0.5, 0.1 * 0.2 * 0.5, 0.1 * 0.8 * 0.5, 0.9 * 0.2 * 0.5])
    expected = 0.9 * weights / weights.sum()
    assert lists[0].confidences == pytest.approx({frozenset("a"): expected[0], frozenset("abc"): expected[3]})
