"""How many classes there are, from one to infinitely many, and what they are called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl

SIZES = [1, 2, 1000, 2**31, 2**53 + 1, 10**30, 2**159, 2**10000, math.inf]


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{math.log2(s):g} bits")
def test_a_size_of_any_magnitude_is_kept_exactly(size: Any) -> None:
    """No class is lost to a float."""
    space = tl.ClassSpace(size)
    assert space.size == size
    assert type(space.size) is type(size)
    assert not space.per_case


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{math.log2(s):g} bits")
def test_scoring_sees_the_size_as_floats_with_a_finite_logarithm(size: Any) -> None:
    """Infinite beyond the largest double; its logarithm is infinite only for infinitely many classes."""
    (count,), (log,) = tl.ClassSpace(size).as_floats
    assert count == (float(size) if size < 2**1023 else math.inf)
    assert log == math.log(size)
    assert math.isinf(log) == (size == math.inf)


@pytest.mark.parametrize(
    "size", [np.int32(5), np.uint8(5), np.float64(5.0), 5.0, np.array(5), np.float32(5)], ids=lambda s: type(s).__name__
)
def test_numbers_of_other_kinds_are_integers(size: Any) -> None:
    assert tl.ClassSpace(size) == tl.ClassSpace(5)
    assert type(tl.ClassSpace(size).size) is int


@pytest.mark.parametrize("labels", [["x", "y", "z"], ("x", "y", "z"), "xyz", iter("xyz"), np.array(["x", "y", "z"])])
def test_complete_labels_say_how_many_classes_there_are(labels: Any) -> None:
    space = tl.ClassSpace(labels=labels)
    assert (space.size, space.labels, space.complete) == (3, ("x", "y", "z"), True)


@pytest.mark.parametrize("size", [4, 10**40, math.inf])
def test_some_labels_are_enough(size: Any) -> None:
    """The other classes exist, and have no name."""
    space = tl.ClassSpace(size, labels=["x", "y", "z"])
    assert (space.size, space.complete) == (size, False)
    assert space.encode(["z", "w", "x"]).tolist() == [2, -1, 0]


def test_codes_and_labels_are_each_others_inverse() -> None:
    """Labels may be anything that can be a key."""
    labels = ["a", 7, ("b", 1), frozenset({2}), None, 2.5]
    space = tl.ClassSpace(labels=labels)
    assert space.encode(labels).tolist() == list(range(6))
    assert [space.decode(code) for code in range(6)] == labels
    assert space.encode([]).tolist() == []
    assert [tl.ClassSpace(9).decode(code) for code in (0, 8)] == [0, 8]
    assert space.decode(6) == 6  # no label: the code says what it is


def test_spaces_are_equal_if_size_and_labels_are() -> None:
    same = [tl.ClassSpace(2, ["a", "b"]), tl.ClassSpace(labels=["a", "b"]), tl.ClassSpace(labels=("a", "b"))]
    for one in same:
        assert one == same[0]
        assert hash(one) == hash(same[0])
    others = [
        tl.ClassSpace(2),
        tl.ClassSpace(3, ["a", "b"]),
        tl.ClassSpace(labels=["b", "a"]),
        tl.ClassSpace(math.inf, ["a", "b"]),
        tl.ClassSpace([2, 2]),
        tl.LabelSets(["a"]),
    ]
    for other in others:
        assert other != same[0]
    assert tl.ClassSpace([3, 4]) == tl.ClassSpace(np.array([3, 4]))
    assert tl.ClassSpace([3, 4]) != tl.ClassSpace([4, 3])
    assert tl.ClassSpace(2) != 2


@pytest.mark.parametrize("size", [*SIZES, 10**5000], ids=lambda s: f"{math.log2(s):g} bits")
def test_every_space_can_be_hashed_and_shown(size: Any) -> None:
    """Also those whose size Python would not write down."""
    space = tl.ClassSpace(size)
    assert {space: 1}[tl.ClassSpace(size)] == 1
    assert len(repr(space)) < 40


@pytest.mark.parametrize(
    ("space", "shown"),
    [
        (tl.ClassSpace(1000), "ClassSpace(1000)"),
        (tl.ClassSpace(math.inf), "ClassSpace(inf)"),
        (tl.ClassSpace(2**159), "ClassSpace(2**159)"),
        (tl.ClassSpace([3, 5, 4]), "ClassSpace(3 to 5 per case)"),
        (tl.ClassSpace(labels=["a", "b"]), "ClassSpace(labels=['a', 'b'])"),
        (tl.ClassSpace(labels="abcd"), "ClassSpace(labels=['a', 'b', 'c', ...])"),
        (tl.ClassSpace(9, ["a", "b"]), "ClassSpace(9, labels=['a', 'b'])"),
        (tl.ClassSpace(math.inf, ["a"]), "ClassSpace(inf, labels=['a'])"),
    ],
    ids=str,
)
def test_a_space_shows_what_it_is(space: tl.ClassSpace, shown: str) -> None:
    assert repr(space) == shown


def test_sizes_may_differ_per_case() -> None:
    """Small ones as integers of the machine, large ones as they are."""
    space = tl.ClassSpace([3, 4, 5])
    assert space.per_case
    assert space.size.tolist() == [3, 4, 5]
    assert space.as_floats[1].tolist() == pytest.approx([math.log(s) for s in (3, 4, 5)])
    big = tl.ClassSpace([2**60 + 1, 2**5000])
    assert list(big.size) == [2**60 + 1, 2**5000]
    assert big.as_floats[0].tolist() == [float(2**60 + 1), math.inf]
    assert big.as_floats[1].tolist() == pytest.approx([math.log(2**60), 5000 * math.log(2)])
    assert space.take(np.array([2, 0])).size.tolist() == [5, 3]
    assert not tl.ClassSpace([3, 4, 5], ["a"]).complete


def test_a_space_of_one_size_is_the_same_for_all_cases() -> None:
    space = tl.ClassSpace(5)
    assert space.take(np.array([2, 0])) is space


def test_a_space_is_frozen() -> None:
    with pytest.raises(AttributeError):
        tl.ClassSpace(5).size = 6  # type: ignore[misc]
