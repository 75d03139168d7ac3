"""Arrays that do not fit together: the exact error of every constructor."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists
C, P = [[0, 1], [1, 2]], [[0.5, 0.2], [0.6, 0.3]]
ONE_ROW = "A single list is one row: pass arrays of shape (1, k)."
ONE_EACH = "Each class needs one confidence."
FLAT = "offsets (integers), classes and confidences must be flat arrays."
RISE = (
    "offsets must rise from 0 to the number of entries (3); these go from {}. "
    "Case i has the entries offsets[i] to offsets[i + 1]."
)
INTEGERS = "offsets are flat integers, one more than there are cases, not {}."
COLUMNS = "A distribution has one column per class; for lists of fewer classes use from_topk."
UNKNOWN = "An empty list is a reject; leave out what is not known."
ONE_MORE = " 1 more case has the same problem."
REST = "Correct log_rest, or leave it out: it is then one minus the listed mass."


def same_shape(classes: str, confidences: str) -> str:
    return f"classes {classes} and confidences {confidences} must be two arrays of the same (cases, k) shape. {ONE_ROW}"


def ragged(offsets: Any, classes: Any = (0, 1, 2), confidences: Any = (0.5, 0.2, 0.1)) -> tl.TopLists:
    return T.from_ragged(offsets, classes, confidences, 5)


SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "topk flat": (lambda: T.from_topk([0, 1], [0.5, 0.2], 5), same_shape("(2,)", "(2,)")),
    "topk deep": (lambda: T.from_topk([[[0, 1]]], [[[0.5, 0.2]]], 5), same_shape("(1, 1, 2)", "(1, 1, 2)")),
    "topk widths": (lambda: T.from_topk(C, [[0.5], [0.6]], 5), same_shape("(2, 2)", "(2, 1)")),
    "topk heights": (lambda: T.from_topk(C, [[0.5, 0.2]], 5), same_shape("(2, 2)", "(1, 2)")),
    "topk ids": (lambda: T.from_topk(C, P, 5, ids=["a"]), "1 ids for 2 cases. One per case."),
    "topk sizes": (lambda: T.from_topk(C, P, [3, 4, 5]), "3 sizes for 2 cases. One per case."),
    "topk log_rest": (lambda: T.from_topk(C, P, 5, log_rest=[-1.0]), "1 log_rest for 2 cases. One per case."),
    "ragged falling": (lambda: ragged([0, 2, 1, 3]), RISE.format("0 to 3 and fall in between")),
    "ragged too far": (lambda: ragged([0, 4]), RISE.format("0 to 4")),
    "ragged below zero": (lambda: ragged([-1, 3]), RISE.format("-1 to 3")),
    "ragged floats": (lambda: ragged([0.0, 3.0]), INTEGERS.format("an array of float64 of shape (2,)")),
    "ragged no offsets": (lambda: ragged([]), INTEGERS.format("an empty array")),
    "ragged square": (lambda: ragged([[0, 3]]), INTEGERS.format("an array of int64 of shape (1, 2)")),
    "ragged square lists": (lambda: ragged([0, 3], [[0, 1, 2]], [[0.5, 0.2, 0.1]]), FLAT),
    "ragged lengths": (lambda: ragged([0, 2], [0, 1]), f"2 classes but 3 confidences. {ONE_EACH}"),
    "labels square": (
        lambda: T.from_labels([[0], [1]], 5),
        "hard predictions are one label per case, not an array of shape (2, 1).",
    ),
    "proba flat": (lambda: T.from_proba([0.5, 0.5]), "probabilities must be a (cases, classes) array, not (2,)."),
    "proba deep": (
        lambda: T.from_proba([[[0.5, 0.5]]]),
        "probabilities must be a (cases, classes) array, not (1, 1, 2).",
    ),
    "proba columns": (lambda: T.from_proba([[0.5, 0.5]], 3), f"2 columns for ClassSpace(3). {COLUMNS}"),
    "proba labels": (
        lambda: T.from_proba([[0.5, 0.5]], tl.ClassSpace(labels=["a"])),
        f"2 columns for ClassSpace(labels=['a']). {COLUMNS}",
    ),
    "proba sizes": (lambda: T.from_proba([[0.5, 0.5]], [2]), f"2 columns for ClassSpace(2 to 2 per case). {COLUMNS}"),
    "logits flat": (lambda: T.from_logits([0.5, 0.5]), "logits must be a (cases, classes) array, not (2,)."),
    "csr dense": (lambda: T.from_csr(np.eye(2)), "from_csr takes a CSR matrix. Convert with .tocsr() first."),
    "csr columns": (
        lambda: T.from_csr(SimpleNamespace(indptr=[0, 1], indices=[0], data=[0.5], shape=(1, 9)), 5),
        "9 columns for ClassSpace(5). Declare the right number of classes.",
    ),
    "text": (lambda: T.from_topk(C, [["high", "low"], ["high", "low"]], 5), "confidences must be numbers, not <U4."),
    "text in dicts": (lambda: T.from_dicts([{"a": "high"}], 5), "confidences must be numbers, not <U4."),
    "text in proba": (lambda: T.from_proba([["high", "low"]]), "probabilities must be numbers, not <U4."),
}
CASES: dict[str, tuple[Callable[[], Any], type[tl.CaseError], int, int, str]] = {
    "not a mapping": (
        lambda: T.from_dicts([{0: 0.5}, [0.5, 0.2]], 5),
        tl.ShapeError,
        1,
        0,
        "case 1: expected a mapping from class to confidence, got [0.5, 0.2].",
    ),
    "NaN logit": (
        lambda: T.from_logits([[0.0, 1.0], [math.nan, 0.0], [math.inf, 0.0]]),
        tl.ConfidenceError,
        1,
        1,
        "case 1: a logit is NaN or infinite, or all are minus infinity. 1 more case has the same problem.",
    ),
    "log_rest": (
        lambda: T.from_topk(C, P, 5, log_rest=np.log([0.3, 0.2])),
        tl.MassError,
        1,
        0,
        f"case 1: the listed mass 0.9 and the given rest mass 0.2 do not add up to 1. {REST}",
    ),
    "log_rest, several": (
        lambda: T.from_ragged([0, 2, 4], [0, 1, 1, 2], [0.5, 0.2, 0.6, 0.3], 5, log_rest=[0.0, 0.0], ids=["a", "b"]),
        tl.MassError,
        0,
        1,
        f"case 0 ('a'): the listed mass 0.7 and the given rest mass 1 do not add up to 1. {REST}{ONE_MORE}",
    ),
    "log_rest NaN": (
        lambda: T.from_dicts([{0: 0.5}], 5, log_rest=[math.nan]),
        tl.MassError,
        0,
        0,
        f"case 0: the listed mass 0.5 and the given rest mass nan do not add up to 1. {REST}",
    ),
}
CLASSES: dict[str, tuple[Callable[[], Any], str]] = {
    "halves": (lambda: T.from_topk([[0.0, 1.5]], [[0.5, 0.2]], 5), "classes must be codes or labels, not float64."),
    "NaN": (lambda: T.from_labels([0.0, math.nan], 5), "classes must be codes or labels, not float64."),
    "None": (lambda: T.from_labels(["cat", None], 5), f"a listed class is None. {UNKNOWN}"),
    "NaN key": (lambda: T.from_dicts([{math.nan: 0.5}], 5), f"a listed class is nan. {UNKNOWN}"),
    "bools": (lambda: T.from_labels([True, False], 5), "classes must be codes or labels, not bool."),
    "swapped": (lambda: T.from_topk(P, C, 5), "classes must be codes or labels, not float64."),
    "typo": (
        lambda: T.from_dicts([{"cat": 0.5, "dgo": 0.2}], tl.ClassSpace(labels=["cat", "dog"])),
        "class 'dgo' is not among the labels of the space. Did you mean 'dog'?",
    ),
    "no such label": (
        lambda: T.from_labels(["cat", "zebra"], tl.ClassSpace(9, labels=["cat", "dog"])),
        "class 'zebra' is not among the labels of the space.",
    ),
}


@pytest.mark.parametrize(("make", "said"), SHAPES.values(), ids=SHAPES)
def test_arrays_that_do_not_fit_are_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(tl.ShapeError) as caught:
        make()
    assert str(caught.value) == said
    assert (caught.value.case, caught.value.more) == (None, 0)


@pytest.mark.parametrize(("make", "error", "case", "more", "said"), CASES.values(), ids=CASES)
def test_a_case_that_does_not_fit_is_named(
    make: Callable[[], Any], error: type[tl.CaseError], case: int, more: int, said: str
) -> None:
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == said
    assert (caught.value.case, caught.value.more) == (case, more)


@pytest.mark.parametrize(("make", "said"), CLASSES.values(), ids=CLASSES)
def test_what_is_no_class_is_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(tl.ClassError) as caught:
        make()
    assert str(caught.value) == said


def test_more_labels_than_classes_are_a_space_error() -> None:
    with pytest.raises(tl.SpaceError) as caught:
        T.from_dicts([{"a": 0.5}, {"b": 0.5}, {"c": 0.5}], 2)
    assert str(caught.value) == "3 different labels are listed, but there are only 2 classes."


def test_a_matrix_by_columns_is_not_taken_for_one_by_rows() -> None:
    """scipy's CSC has the same attributes as CSR; read as rows it would be another matrix."""
    sparse = pytest.importorskip("scipy.sparse", reason="scipy makes the matrix")
    square = sparse.csc_array(np.array([[0.5, 0.2], [0.0, 0.6]]))
    with pytest.raises(tl.ShapeError):
        T.from_csr(square, 4)


@pytest.mark.parametrize("option", [{"scale": "percentage"}, {"scale": None}, {"duplicates": "add"}])
def test_an_unknown_repair_is_refused(option: dict[str, Any]) -> None:
    known = {
        "scale": 'scale is "probability", "percent", "log" or "odds"',
        "duplicates": 'duplicates are an "error" or a "sum"',
    }
    (name, value), *_ = option.items()
    with pytest.raises(tl.TopListError) as caught:
        T.from_topk(C, P, 5, **option)
    assert str(caught.value) == f"{known[name]}, not {value!r}."
