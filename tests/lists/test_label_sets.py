"""Classes that are sets of labels: 2**L of them, never enumerated."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

import toplist as tl

NAMES = ["a", "b", "c"]


def every_set(names: Any) -> list[frozenset[Any]]:
    """All subsets, by brute force."""
    names = list(names)
    return [frozenset(s) for s in chain.from_iterable(combinations(names, r) for r in range(len(names) + 1))]


def test_three_labels_make_eight_classes() -> None:
    """Codes are 0 to 7, one for each set, and say which set it is."""
    space, sets = tl.LabelSets(NAMES), every_set(NAMES)
    codes = space.encode(sets)
    assert space.size == len(sets) == 8
    assert sorted(codes.tolist()) == list(range(8))
    assert [space.decode(code) for code in codes] == sets
    assert space.complete


def test_without_the_empty_set_there_are_seven() -> None:
    """Codes still begin at 0."""
    space, sets = tl.LabelSets(NAMES, empty=False), every_set(NAMES)[1:]
    codes = space.encode(sets)
    assert space.size == 7
    assert sorted(codes.tolist()) == list(range(7))
    assert [space.decode(code) for code in codes] == sets
    with pytest.raises(tl.SpaceError) as caught:
        space.encode([{"a"}, set()])
    assert str(caught.value) == "the empty set is not a class of this space; allow it with empty=True."


@pytest.mark.parametrize("empty", [True, False])
def test_a_support_is_all_there_is(empty: bool) -> None:
    """A set's code is its place; a set that is not there has none."""
    support = [{"a", "c"}, {"b"}, ["c", "b"]]
    space = tl.LabelSets(NAMES, support=support, empty=empty)
    assert space.size == 3
    assert space.encode([{"b", "c"}, {"a", "c"}, {"b"}, {"a"}]).tolist() == [2, 0, 1, -1]
    assert [space.decode(code) for code in range(3)] == [set(s) for s in support]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": ["a", "a"]}, "a label is there twice; every label needs a name of its own."),
        ({"labels": NAMES, "support": [{"a"}, {"d"}]}, "the support names 'd', which is not a label."),
        ({"labels": NAMES, "support": [{"a", "b"}, {"b", "a"}]}, "a label set is in the support twice."),
        (
            {"labels": NAMES, "support": [{"a"}, set()], "empty": False},
            "the support holds the empty set, which empty=False excludes.",
        ),
        ({"labels": NAMES, "support": []}, "there is at least one class, not 0."),
        ({"labels": [], "empty": False}, "there is at least one class, not 0."),
    ],
    ids=lambda v: str(v)[:30],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(tl.SpaceError) as caught:
        tl.LabelSets(**options)
    assert str(caught.value) == said


@pytest.mark.parametrize("size", [3, 62, 63, 100])
def test_an_unknown_label_is_refused_with_a_suggestion(size: int) -> None:
    space = tl.LabelSets(["cat", "dog", *(f"label {i}" for i in range(size - 2))])
    with pytest.raises(tl.SpaceError) as caught:
        space.encode([{"cat", "dgo"}])
    assert str(caught.value) == "'dgo' is not a label. Did you mean 'dog'?"


@pytest.mark.parametrize("size", [1, 2, 3, 10, 61, 62, 63, 64, 100])
def test_codes_of_different_sets_differ_and_are_never_negative(size: int) -> None:
    """Bit masks up to 62 labels, digests beyond: 63 bits, so that ten thousand sets do not collide."""
    rng = np.random.default_rng(size)
    space = tl.LabelSets(range(size))
    sets = every_set(range(size)) if size <= 10 else []
    while len(sets) < min(2**size, 10_000):
        chosen = rng.random(size) < rng.random()
        sets.append(frozenset(np.flatnonzero(chosen).tolist()))
    distinct = set(sets)
    codes = space.encode(list(distinct))
    assert codes.dtype == np.int64
    assert codes.min() >= 0
    assert len(set(codes.tolist())) == len(distinct)
    assert space.encode(list(distinct)).tolist() == codes.tolist()


@pytest.mark.parametrize("size", [3, 62, 100])
def test_neighbouring_sets_of_many_labels_differ(size: int) -> None:
    """One label more or less, and each label alone: what a list of likely sets is made of."""
    space = tl.LabelSets(range(size))
    sets = [frozenset(), *(frozenset({i}) for i in range(size)), *(frozenset(range(size)) - {i} for i in range(size))]
    assert len(set(space.encode(sets).tolist())) == len(set(sets))


@pytest.mark.parametrize("size", [3, 62, 63, 100])
def test_an_indicator_matrix_is_the_sets_of_its_rows(size: int) -> None:
    """Of integers, floats or booleans."""
    matrix = np.random.default_rng(5).random((20, size)) < 0.3
    space = tl.LabelSets([f"label {i}" for i in range(size)])
    sets = [{f"label {i}" for i in np.flatnonzero(row)} for row in matrix]
    for kind in (bool, np.int64, np.float32, np.uint8):
        assert space.encode(matrix.astype(kind)).tolist() == space.encode(sets).tolist()


def test_ten_thousand_labels_make_a_number_with_three_thousand_digits_at_no_cost() -> None:
    space = tl.LabelSets(range(10_000))
    assert space.size == 2**10_000
    assert repr(space) == "LabelSets(10000 labels)"
    lists = tl.TopLists.from_dicts([{frozenset({1, 5}): 0.5, frozenset(): 0.25}] * 2, space)
    scores = tl.score(lists, [{1, 5}, {9_999}], rule="log")
    assert scores[0] == pytest.approx(np.log(2), rel=1e-15)
    assert scores[1] == pytest.approx(2 * np.log(2) + 10_000 * np.log(2), rel=1e-15)
    assert tl.score(lists, [{1, 5}, {9_999}]).tolist() == pytest.approx([0.3125, 1.3125], rel=1e-15)


def test_label_sets_are_equal_if_all_that_defines_them_is() -> None:
    space = tl.LabelSets(NAMES)
    assert space == tl.LabelSets("abc")
    assert hash(space) == hash(tl.LabelSets("abc"))
    for other in (tl.LabelSets("acb"), tl.LabelSets("ab"), tl.LabelSets("abc", empty=False)):
        assert space != other
    assert tl.LabelSets("ab", support=["a", "b"]) == tl.LabelSets("ab", support=[{"a"}, {"b"}])
    assert tl.LabelSets("ab", support=["a", "b"]) != tl.LabelSets("ab", support=["b", "a"])
    assert space != tl.ClassSpace(8)
    assert tl.ClassSpace(8) != space


def test_label_sets_show_what_they_are() -> None:
    assert repr(tl.LabelSets(NAMES)) == "LabelSets(3 labels)"
    assert repr(tl.LabelSets(NAMES, empty=False)) == "LabelSets(3 labels, not empty)"
    assert repr(tl.LabelSets(NAMES, support=["a", "bc"])) == "LabelSets(3 labels, support of 2)"


@pytest.mark.parametrize("empty", [True, False])
def test_lists_of_label_sets_score_as_lists_of_as_many_classes(empty: bool) -> None:
    """Against plain codes that number the sets in any order."""
    rng = np.random.default_rng(3)
    sets = every_set(NAMES)[0 if empty else 1 :]
    space, plain = tl.LabelSets(NAMES, empty=empty), tl.ClassSpace(len(sets))
    rows, coded, y = [], [], []
    for _ in range(40):
        picked = rng.permutation(len(sets))[: rng.integers(0, 5)]
        t = rng.dirichlet(np.ones(len(picked) + 1))[: len(picked)].tolist()
        rows.append(dict(zip([sets[i] for i in picked], t, strict=True)))
        coded.append(dict(zip(picked.tolist(), t, strict=True)))
        y.append(int(rng.integers(len(sets))))
    lists, want = tl.TopLists.from_dicts(rows, space), tl.TopLists.from_dicts(coded, plain)
    for rule in ("brier", "log", "spherical"):
        got = tl.score(lists, [sets[i] for i in y], rule=rule)
        assert got.tolist() == tl.score(want, y, rule=rule).tolist()
    assert lists[0].confidences == rows[0]


def test_a_list_may_be_read_back_by_its_sets() -> None:
    """However a set was written, the list knows it as a set."""
    space = tl.LabelSets(NAMES)
    for key in (frozenset("ab"), ("a", "b"), ("b", "a")):
        one = tl.TopList({key: 0.5}, space)
        assert one == tl.TopList({frozenset("ab"): 0.5}, space)
        assert one.batch[0] == one


def test_a_set_out_of_the_support_is_named_as_itself() -> None:
    space = tl.LabelSets(NAMES, support=["a", "c"])
    with pytest.raises(tl.TopListError, match="'b'"):
        tl.TopLists.from_dicts([{frozenset("a"): 0.5}, {frozenset("b"): 0.5}], space)


@pytest.mark.parametrize("classes", [[[{"a"}, {"b"}]], [[frozenset("a"), frozenset("b")]]], ids=["sets", "frozensets"])
def test_rectangles_of_sets_are_lists_too(classes: Any) -> None:
    """As the ragged and the dict form are."""
    space = tl.LabelSets(NAMES)
    want = tl.TopLists.from_dicts([{frozenset("a"): 0.5, frozenset("b"): 0.25}], space)
    assert tl.TopLists.from_ragged([0, 2], classes[0], [0.5, 0.25], space) == want
    assert tl.TopLists.from_topk(classes, [[0.5, 0.25]], space) == want
