"""Label sets from draws, against plain counters."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist.lists.labelsets import Sets
from toplist.multilabel import sampled_sets

SPACE = tl.LabelSets("abc")


@st.composite
def drawn(draw: st.DrawFn) -> np.ndarray:
    """Draws (cases, draws, labels)."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 12), st.integers(1, 4)))
    return np.random.default_rng(draw(st.integers(0, 10**6))).integers(0, 2, shape)


def shares(case: np.ndarray) -> list[tuple[frozenset[int], int]]:
    """Sets and how often they were drawn, falling; ties in the order of the draws."""
    return Counter(frozenset(np.flatnonzero(row).tolist()) for row in case).most_common()


@settings(max_examples=draws(80))
@given(cube=drawn(), k=st.none() | st.integers(0, 6), unseen=st.sampled_from([0.0, 0.25, "good-turing"]))
def test_confidences_are_shares_of_the_draws(cube: np.ndarray, k: int | None, unseen: Any) -> None:
    """Less what is unseen; the rest has that, and what is beyond k."""
    _, draws, width = cube.shape
    everything = [len(shares(case)) == 2**width for case in cube]
    if unseen == 0.25 and any(everything):
        with pytest.raises(tl.TopListError, match="every set of the space is there"):
            sampled_sets(cube, k, unseen=unseen)
        return
    lists = sampled_sets(cube, k, unseen=unseen)
    for row, case in enumerate(cube):
        counts = shares(case)
        hidden = unseen
        if unseen == "good-turing":
            hidden = 0.0 if everything[row] else sum(n for _, n in counts if n == 1) / draws
        listed = counts[:k] if hidden < 1 else []
        here = slice(lists.offsets[row], lists.offsets[row + 1])
        assert lists.space.named(lists.space.sets_of(lists.classes[here])) == [s for s, _ in listed]
        expected = np.array([n / draws for _, n in listed]) * (1 - hidden)
        np.testing.assert_allclose(lists.confidences[here], expected, rtol=1e-12)
        assert lists.rest[row] == pytest.approx(1 - expected.sum(), abs=1e-12)


@settings(max_examples=draws(50))
@given(cube=drawn(), k=st.none() | st.integers(0, 5))
def test_the_form_of_the_draws_does_not_matter(cube: np.ndarray, k: int | None) -> None:
    """An array, nested lists, a batch of sets per case, collections of labels; all at once or case by case."""
    space = tl.LabelSets(range(cube.shape[2]))
    lists = sampled_sets(cube, k, space)
    each = [Sets.from_indicators(case) for case in cube]
    named = [[{int(label) for label in np.flatnonzero(row)} for row in case] for case in cube]
    for form in (cube.astype(bool), cube.astype(float), cube.tolist(), each, named, tuple(cube)):
        assert sampled_sets(form, k, space) == lists
    assert sampled_sets(each, k) == lists


def test_how_the_draws_are_split_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = np.random.default_rng(3).integers(0, 2, (9, 20, 3))
    log_p = np.log((1 + cube @ [1, 2, 4]) / 36)
    whole, exact = sampled_sets(cube, 5, SPACE), sampled_sets(cube, 5, SPACE, log_p=log_p)
    monkeypatch.setattr("toplist.multilabel.sets._ENTRIES", 100)
    assert sampled_sets(cube, 5, SPACE) == whole
    assert sampled_sets(cube, 5, SPACE, log_p=log_p) == exact


def test_cases_may_have_different_numbers_of_draws() -> None:
    lists = sampled_sets([["a", "a", "ab"], ["c"], ["", "bc"]], None, SPACE)
    assert [one.confidences for one in lists] == [
        {frozenset("a"): 2 / 3, frozenset("ab"): 1 / 3},
        {frozenset("c"): 1.0},
        {frozenset(): 0.5, frozenset("bc"): 0.5},
    ]


def test_a_set_that_was_never_drawn_is_impossible_unless_something_is_unseen() -> None:
    draws = [["a", "a", "a", "b"]]
    assert tl.score(sampled_sets(draws, None, SPACE), [{"c"}], rule="log") == math.inf
    lists = sampled_sets(draws, None, SPACE, unseen="good-turing")
    assert lists.rest == pytest.approx(0.25)
    assert tl.score(lists, [{"c"}], rule="log") == pytest.approx(-math.log(0.25 / 6))
    assert sampled_sets([["a", "b"]], None, SPACE, unseen="good-turing").sizes.tolist() == [0]


def test_exact_probabilities_take_the_place_of_shares() -> None:
    """Falling by probability, not by count; the rest is one minus them."""
    draws = [["a", "a", "b", "b", "b", "c"]]
    p = {"a": 0.5, "b": 0.2, "c": 0.25}
    table = [[math.log(p[name]) for name in case] for case in draws]
    lists = sampled_sets(draws, 2, SPACE, log_p=table)
    assert lists[0].confidences == pytest.approx({frozenset("a"): 0.5, frozenset("c"): 0.25})
    assert lists.rest == pytest.approx(0.25)

    def by_name(cases: np.ndarray, sets: Sets) -> list[float]:
        assert len(cases) == len(sets) == 3
        return [math.log(p["abc"[labels[0]]]) for labels in sets]

    assert sampled_sets(draws, 2, SPACE, log_p=by_name) == lists


def test_sets_of_many_labels_have_digests_and_can_be_told() -> None:
    rng = np.random.default_rng(2)
    pool = rng.random((5, 80)) < 0.2
    which = rng.integers(0, 5, (3, 30))
    lists = sampled_sets(pool[which], 3)
    for row in range(3):
        here = slice(lists.offsets[row], lists.offsets[row + 1])
        best = [i for i, _ in Counter(which[row].tolist()).most_common(3)]
        assert lists.space.sets_of(lists.classes[here]) == Sets.from_indicators(pool[best])


def test_no_case_makes_no_list() -> None:
    assert len(sampled_sets([], None, SPACE)) == 0
    assert len(sampled_sets(np.zeros((0, 5, 3)), 2, SPACE)) == 0
