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
from toplist.multilabel import sampled_sets, samples
from toplist.multilabel.chains import chain_log_p, chain_samples

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
    monkeypatch.setattr(samples, "_ENTRIES", 100)
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


def test_draws_of_a_chain_have_the_probabilities_of_the_chain() -> None:
    class Own:
        order = (2, 0, 1)

        def conditional(self, X: np.ndarray, prefixes: np.ndarray) -> np.ndarray:
            return 0.1 + 0.2 * prefixes.sum(axis=1) + 0.3 * X[:, 0]

    X = np.array([[0.0], [1.0]])
    cube = chain_samples(Own(), X, 4000, rng=np.random.default_rng(1))
    exact = sampled_sets(cube, None, SPACE, log_p=lambda cases, sets: chain_log_p(Own(), X[cases], sets))
    assert exact.sizes.tolist() == [8, 8]
    assert exact.mass == pytest.approx(1.0, rel=1e-12)
    drawn, wanted = sampled_sets(cube, None, SPACE).padded(), exact.padded()
    assert np.abs(drawn - wanted).max() < 0.03


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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"samples": np.zeros((2, 3))}, "draws are an array (cases, draws, labels), not one of shape (2, 3)."),
        ({"samples": np.zeros((1, 2, 4))}, "the draws have 4 labels, and the space 3."),
        ({"samples": np.full((1, 2, 3), 2)}, "an indicator matrix holds zeros and ones; row 0 has 2."),
        ({"samples": 5}, "draws are an array (cases, draws, labels), or label sets for each case, not int."),
        ({"samples": [["a"], []]}, "case 1: there are no draws. A case needs one at least."),
        ({"samples": [["a"], ["d"]]}, "'d' is not a label."),
        (
            {"space": None},
            "draws of any form need a space=LabelSets(...) that says which labels there are.",
        ),
        ({"space": 8}, "draws are label sets; the space is a LabelSets, not 8."),
        (
            {"space": tl.LabelSets("abc", support=["a"])},
            "case 1: {'b'} was drawn, which is not in the support of the space. Take the space of all label sets.",
        ),
        ({"unseen": "all"}, "unseen is a number or \"good-turing\", not 'all'."),
        ({"unseen": 1}, "case 0: unseen is 1. It is a mass from 0 to below 1. 1 more case has the same problem."),
        (
            {"unseen": "good-turing", "log_p": lambda cases, sets: np.zeros(2)},
            "with log_p the mass of sets that were not drawn is known; leave unseen at 0.",
        ),
        (
            {"log_p": [[0.0], [0.0]]},
            "log_p has a number for each draw of each case. An array (cases, draws), or a function.",
        ),
        (
            {"log_p": lambda cases, sets: np.zeros((2, 2))},
            "log_p gives (2, 2) for 2 sets. One log-probability per set.",
        ),
        (
            {"log_p": lambda cases, sets: [-1.0, -math.inf]},
            "case 1: log_p is -inf for a set that was drawn. It is the logarithm of a probability above 0.",
        ),
        (
            {"log_p": [[-1.0, -1.0], [-1.0, -2.0]]},
            (
                "case 1: one set has two log-probabilities, -1 and -2. log_p is that of the whole set, not of one "
                "draw's way to it."
            ),
        ),
        ({"k": -1}, "k is a number of classes, not -1."),
        ({"ids": ["x"]}, "1 ids for 2 cases. One per case."),
    ],
    ids=lambda v: v[:40] if isinstance(v, str) else "-".join(map(str, v)),
)
def test_what_makes_no_sense_is_refused(options: Any, said: str) -> None:
    asked = {"samples": [["a", "a"], ["b", "b"]], "space": SPACE, **options}
    with pytest.raises(tl.TopListError) as caught:
        sampled_sets(**asked)
    assert str(caught.value) == said


def test_probabilities_above_one_do_not_add_up() -> None:
    with pytest.raises(tl.TopListError):
        sampled_sets([["a", "b"]], None, SPACE, log_p=[[math.log(0.7), math.log(0.6)]])
