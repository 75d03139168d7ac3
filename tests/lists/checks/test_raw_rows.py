"""Predictions as flat columns that nobody has checked: the same as the door's where it would let them in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from toplist.errors import ShapeError, TopListError
from toplist.lists.converters import raw_rows

LABELS = tl.ClassSpace(labels=["a", "b", "c", "d"])
P = np.array([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
CODES = np.array([[3, 1], [0, 2]])
PAIR = (CODES, np.array([[0.6, 0.3], [0.5, 0.1]]))
DICTS = [{"a": 0.5, "d": 0.25}, {}]

SHAPES: dict[str, tuple[Any, Any, tl.TopLists]] = {
    "an array": (P, None, tl.TopLists.from_proba(P)),
    "a pair": (PAIR, 9, tl.TopLists.from_topk(*PAIR, 9)),
    "a pair of lists": (([[3], []], [[0.5], []]), 9, tl.TopLists.from_ragged([0, 1, 1], [3], [0.5], 9)),
    "a triple": (([0, 1, 3], [3, 1, 2], [0.5, 0.2, 0.1]), 9,
                 tl.TopLists.from_ragged([0, 1, 3], [3, 1, 2], [0.5, 0.2, 0.1], 9)),
    "dicts": (DICTS, LABELS, tl.TopLists.from_dicts(DICTS, LABELS)),
    "labels": (["b", "a"], LABELS, tl.TopLists.from_labels(["b", "a"], LABELS)),
    "codes": ([1, 0], 7, tl.TopLists.from_labels([1, 0], 7)),
    "a sparse matrix": (sparse.csr_matrix(P), None, tl.TopLists.from_csr(sparse.csr_matrix(P))),
    "lists": (tl.TopLists.from_proba(P, k=2), None, tl.TopLists.from_proba(P, k=2)),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_door_lets_in_comes_out_the_same(shape: str) -> None:
    given, space, lists = SHAPES[shape]
    rows, known = raw_rows(given, space)
    assert known == lists.space
    assert np.array_equal(rows.offsets, lists.offsets)
    assert np.array_equal(rows.confidences, lists.confidences)
    assert rows.classes is None or np.array_equal(rows.classes, lists.classes)
    assert np.array_equal(rows.size, lists.checked.rows.size)


def test_what_the_door_refuses_goes_through() -> None:
    rows, _ = raw_rows([{"a": None, "x": 2.0, "y": -1}], LABELS)
    assert rows.classes is not None
    assert rows.classes.tolist() == [0, 4, 5]
    assert np.isnan(rows.confidences[0])
    rows, _ = raw_rows(P, 7)
    assert rows.classes is not None
    assert rows.classes.tolist() == [0, 1, 2, 3] * 2
    rows, space = raw_rows([{"a": 0.5}, {"b": 0.5}, {"c": 0.5}], 2)
    assert (space.labels, len(rows)) == (None, 3)


def test_without_a_space_nothing_is_guessed() -> None:
    assert raw_rows([{"a": 0.5}])[1].size == math.inf
    assert raw_rows(P)[1].size == 4


def test_label_sets_have_the_codes_of_their_space() -> None:
    space = tl.LabelSets(["x", "y"])
    rows, _ = raw_rows([{"x"}, {"x", "y"}], space)
    assert rows.classes is not None
    assert np.array_equal(rows.classes, tl.TopLists.from_labels([{"x"}, {"x", "y"}], space).classes)


@pytest.mark.parametrize("given", [([[1, 2]], [[0.5]]), ([[1]], [[0.5], [0.5]]), [{"a": 0.5}, 3], np.zeros((2, 2, 2))])
def test_what_has_no_shape_is_one_sentence(given: Any) -> None:
    with pytest.raises(ShapeError):
        raw_rows(given, 5)


def test_units_are_known_ones() -> None:
    with pytest.raises(TopListError, match="scale is"):
        raw_rows(P, scale="parts")  # type: ignore[arg-type]
