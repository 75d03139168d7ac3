"""A batch is a sequence of lists: parts of it, equality, how it shows, and its small and large ends."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws

T = tl.TopLists
ROWS = [{"a": 0.5, "b": 0.25}, {}, {"c": 1.0}, {"b": 0.125, "a": 0.125, "d": 0.125}, {"d": 0.75}]


def named() -> tl.TopLists:
    return T.from_dicts(ROWS, tl.ClassSpace(9, ["a", "b", "c", "d"]), ids=list("vwxyz"))


def sized() -> tl.TopLists:
    return T.from_ragged(
        [0, 2, 2, 3, 6, 7], [0, 1, 2, 1, 0, 3, 3], [0.5, 0.25, 1.0] + [0.125] * 3 + [0.75], [5, 2, 4, 8, 7]
    )


def as_dicts(lists: tl.TopLists) -> list[Any]:
    return [one.confidences for one in lists]


PARTS = [
    slice(None), slice(1, 3), slice(3, 1), slice(-2, None), slice(None, None, 2), slice(None, None, -1), slice(4, 99),
    [0, 0, 4], [-1, 1], [], np.array([3, 1], np.int16), (2, 0),
    np.array([True, False, True, False, True]), [False] * 5, [True, True, False, False, False],
]  # fmt: skip


@pytest.mark.parametrize("make", [named, sized])
@pytest.mark.parametrize("at", PARTS, ids=str)
def test_a_part_of_a_batch_holds_the_lists_that_an_array_of_them_would(at: Any, make: Any) -> None:
    """Slices, indices from both ends, masks; sizes, ids, rest and scores go along."""
    lists = make()
    where = np.arange(5)[at if isinstance(at, slice) else np.asarray(at, dtype=None if len(at) else np.intp)]
    part = lists[at]
    assert as_dicts(part) == [as_dicts(lists)[i] for i in where]
    assert [one.size for one in part] == [lists[int(i)].size for i in where]
    assert part.rest.tolist() == lists.rest[where].tolist()
    assert part.is_valid().tolist() == lists.is_valid()[where].tolist()
    y = np.zeros(5, np.int64)
    assert tl.score(part, y[where]).tolist() == tl.score(lists, y)[where].tolist()
    assert tl.entropy(part, rule="log").tolist() == tl.entropy(lists, rule="log")[where].tolist()
    if lists.ids is not None:
        assert part.ids.tolist() == lists.ids[where].tolist()


def test_one_list_by_number() -> None:
    lists = named()
    for i, row in enumerate(ROWS):
        assert lists[i].confidences == lists[i - 5].confidences == lists[np.int32(i)].confidences == row
        assert list(lists[i].confidences) == list(row)
    for i in (5, -6):
        with pytest.raises(IndexError):
            lists[i]
    with pytest.raises(IndexError):
        lists[[0, 5]]
    with pytest.raises(IndexError):
        lists[[True, False]]


def test_a_batch_can_be_walked_through() -> None:
    lists = named()
    assert len(lists) == len(list(lists)) == 5
    assert as_dicts(lists) == ROWS
    assert lists[2] in lists
    assert [t.rest for t in lists] == lists.rest.tolist()


def test_what_is_listed_and_what_is_left() -> None:
    """Sizes, masses, rests and proxies, one per case."""
    lists = named()
    assert lists.sizes.tolist() == [2, 0, 1, 3, 1]
    assert lists.mass.tolist() == [0.75, 0.0, 1.0, 0.375, 0.75]
    assert lists.rest.tolist() == [0.25, 1.0, 0.0, 0.625, 0.25]
    assert lists.proxy.tolist() == [0.25 / 7, 1 / 9, 0.0, 0.625 / 6, 0.25 / 8]
    assert T.from_proba([[0.5, 0.5]]).proxy.tolist() == [0.0]
    assert T.from_labels([3], math.inf).proxy.tolist() == [0.0]
    assert T.from_dicts([{}], math.inf).rest.tolist() == [1.0]


def test_one_list_of_cases_with_sizes_of_their_own_can_be_padded() -> None:
    assert T.from_topk([[0], [1]], [[0.5], [0.25]], [3, 4])[0].padded().tolist() == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("off", [-1e-9, -(2.0**-54), 0.0, 1e-9])
def test_a_complete_list_is_the_same_beside_an_invalid_one(off: float) -> None:
    """Its mass is a rounding error off one; that the list beside it is cut down does not concern it."""
    lists = T.from_topk([[0, 1, 2]] * 2, [[0.5, 0.3, 0.2 + off], [0.5, 0.3, 0.001]], [3, 9])
    assert lists.is_valid().tolist() == [True, False]
    for rule in (*tl.scoring.RULES, tl.Power(1.5), tl.Power(0.5), tl.Renyi(0.5)):
        alone = tl.entropy(lists[:1], rule=rule)[0], tl.score(lists[:1], [1], rule=rule)[0]
        assert tl.entropy(lists, rule=rule)[0] == pytest.approx(alone[0], rel=1e-12)
        assert tl.score(lists, [1, 0], rule=rule)[0] == pytest.approx(alone[1], rel=1e-12)


def test_batches_are_equal_if_their_lists_are() -> None:
    """In whatever order each list names its classes, and whatever kind of numbers holds it."""
    lists = T.from_topk([[0, 1], [2, 3]], [[0.5, 0.25], [0.5, 0.125]], 9)
    same = [
        T.from_topk([[1, 0], [2, 3]], [[0.25, 0.5], [0.5, 0.125]], 9),
        T.from_topk(np.array([[0, 1], [2, 3]], np.int32), np.array([[0.5, 0.25], [0.5, 0.125]], np.float32), 9),
        T.from_dicts([{1: 0.25, 0: 0.5}, {2: 0.5, 3: 0.125}], 9, ids=["a", "b"]),
    ]
    other = [
        lists[:1],
        lists[::-1],
        T.from_topk([[0, 1], [2, 3]], [[0.5, 0.25], [0.5, 0.1875]], 9),
        T.from_topk([[0, 1], [2, 4]], [[0.5, 0.25], [0.5, 0.125]], 9),
        T.from_topk([[0, 1], [2, 3]], [[0.5, 0.25], [0.5, 0.125]], 10),
        T.from_dicts([{0: 0.5}, {2: 0.5}], 9),
    ]
    assert all(lists == one for one in same)
    assert all(lists != one for one in other)
    assert lists != "lists"
    with pytest.raises(TypeError):
        hash(lists)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (named, "TopLists(5 cases, k from 0 to 3, 9 classes)"),
        (lambda: T.from_labels([0], 2**40), "TopLists(1 case, k = 1, 2**40 classes)"),
        (lambda: T.from_labels([0] * 1234, 5), "TopLists(1,234 cases, k = 1, 5 classes)"),
        (lambda: T.from_labels([0], math.inf), "TopLists(1 case, k = 1, infinitely many classes)"),
        (lambda: T.from_labels(["a"], math.inf), "TopLists(1 case, k = 1, infinitely many classes)"),
        (
            lambda: T.from_topk([[0, 1]] * 2, [[0.5, 0.001], [0.5, 0.4]], 9),
            "TopLists(2 cases, k = 2, 9 classes, 1 invalid)",
        ),
        (lambda: T.from_dicts([], 5), "TopLists(0 cases, k = 0, 5 classes)"),
        (lambda: tl.TopList({0: 0.5, 1: 1 / 3}, 9), "TopList(0 0.5, 1 0.3333; unlisted 0.1667 over 7 classes)"),
        (lambda: tl.TopList({}, 9), "TopList(empty; unlisted 1 over 9 classes)"),
        (lambda: tl.TopList({0: 0.5, 1: 0.5}, 2), "TopList(0 0.5, 1 0.5; unlisted 0)"),
        (lambda: tl.TopList({0: 0.5}, math.inf), "TopList(0 0.5; unlisted 0.5 over infinitely many classes)"),
        (
            lambda: tl.TopList(dict.fromkeys("ab", 0.25), 10**15),
            "TopList(a 0.25, b 0.25; unlisted 0.5 over about 2**49.8289 classes)",
        ),
        (
            lambda: tl.TopList(dict.fromkeys(range(12), 0.0625), 12 + 1),
            "TopList(0 0.0625, 1 0.0625, 2 0.0625, 3 0.0625, 4 0.0625, … 7 more; unlisted 0.25 over 1 class)",
        ),
    ],
    ids=range(13),
)
def test_lists_show_what_they_are(value: Any, shown: str) -> None:
    assert repr(value()) == shown


def test_a_batch_of_label_sets_says_how_many_classes_there_are() -> None:
    """Eight sets of three labels are eight classes."""
    shown = repr(T.from_labels([{"a"}, {"a", "b"}], tl.LabelSets("abc")))
    assert shown in ("TopLists(2 cases, k = 1, 8 classes)", "TopLists(2 cases, k = 1, sets of 3 labels)")


def test_a_list_among_more_classes_than_a_float_can_count_can_be_shown() -> None:
    assert repr(tl.TopList({0: 0.5}, 2**10000)).startswith("TopList(0 0.5; unlisted 0.5 over ")


@settings(deadline=None, max_examples=draws(60))
@given(
    offsets=st.lists(st.integers(0, 4), max_size=6).map(
        lambda sizes: np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    ),
    before=st.integers(0, 5),
    after=st.integers(0, 5),
)
def test_offsets_need_not_begin_at_zero_nor_end_at_the_end(offsets: Any, before: int, after: int) -> None:
    """A slice of an Arrow column keeps the values of the whole; what is outside is not looked at."""
    flat = int(offsets[-1])
    pairs = list(pairwise(offsets.tolist()))
    classes = np.concatenate([np.empty(0), *(np.arange(b - a) for a, b in pairs)])
    t = np.full(flat, 0.125)
    lists = T.from_ragged(
        offsets + before,
        np.concatenate(([-5] * before, classes, [999] * after)).astype(np.int64),
        np.concatenate(([math.nan] * before, t, [7.0] * after)),
        10,
    )
    want = [dict.fromkeys(range(b - a), 0.125) for a, b in pairs]
    assert as_dicts(lists) == want
    assert lists.offsets.tolist() == offsets.tolist()
