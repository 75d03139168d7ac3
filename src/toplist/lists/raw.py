"""Predictions of any shape as flat columns that nobody has checked: to be looked at, not to be scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_array, as_flat, as_floats
from toplist.errors import ClassError, ShapeError
from toplist.kernel import Rows
from toplist.labelsets import LabelSets, Sets
from toplist.lists.anything import plain, spelled_out
from toplist.lists.batch import TopLists
from toplist.lists.door import Repairs, Units
from toplist.lists.one import TopList
from toplist.lists.sources import as_classes, as_offsets, csr_parts, encode_labels, precision_of, to_rows
from toplist.space import ClassSpace, as_space


def raw_rows(predictions: Any, space: Any = None, *, units: Units = "probability") -> tuple[Rows, ClassSpace]:
    """Rows with the numbers as they were given, in their `units`, and the space.

    Predictions are lists, an (n, m) array, a pair of classes and confidences, (n, k) or one sequence per case, a triple
    of offsets, classes and confidences, a CSR matrix, a mapping per case, what a pipeline of Hugging Face or fastText
    returns, or one label per case. What the door would refuse goes through, except for offsets: classes that are not in
    the space have codes from its size on, None is NaN. Without a space there are as many classes as columns or, where
    there are none, infinitely many.

    >>> rows, space = raw_rows([{"cat": 0.7, "dog": -1}, {}], ClassSpace(labels=["cat", "fox"]))
    >>> rows.classes, rows.confidences, rows.offsets
    (array([0, 2]), array([ 0.7, -1. ]), array([0, 2, 2]))
    """
    Repairs(units=units)
    if isinstance(predictions, TopList):
        predictions = predictions.batch
    if isinstance(predictions, TopLists):
        rows, own = predictions.admitted.rows, predictions.space
        return rows, own
    if hasattr(predictions, "indptr"):
        *flat, columns = csr_parts(predictions)
        return _flat(flat, as_space(columns if space is None else space))
    entries = spelled_out(predictions, None if space is None else as_space(space))
    if entries is not None:
        return _flat(entries, _known(space))
    if isinstance(predictions, tuple) and len(predictions) == 3:
        return _flat(predictions, _known(space))
    if isinstance(predictions, tuple) and len(predictions) == 2:
        raise ShapeError("a pair of classes and confidences has a list of each per case.", "Give two lists of lists.")
    several = isinstance(predictions, list | tuple)
    if several and any(hasattr(one, "items") for one in predictions):
        return _mappings(predictions, _known(space))
    if isinstance(predictions, Sets) or isinstance(_known(space), LabelSets):
        codes, known = as_classes(predictions, _known(space))
        return _labels(codes, known), known
    values = as_array(predictions, "predictions")
    if values.ndim == 2 and values.dtype.kind in "fiub":
        return _dense(values, space)
    if values.ndim != 1:
        raise ShapeError(f"predictions are one per case, not an array of shape {values.shape}.")
    codes, known = _codes(values.tolist(), _known(space))
    return _labels(codes, known), known


def _known(space: Any) -> ClassSpace:
    return as_space(math.inf if space is None else space)


def _labels(codes: NDArray[Any], space: ClassSpace) -> Rows:
    return to_rows(np.arange(len(codes) + 1), codes, np.ones(len(codes)), space)


def _dense(values: NDArray[Any], space: Any) -> tuple[Rows, ClassSpace]:
    """A column per class, or at least for the first ones."""
    n, width = values.shape
    known = as_space(width if space is None else space)
    whole = not known.per_case and known.size == width
    classes = None if whole else np.tile(np.arange(width), n)
    t = _numbers(values.ravel())
    return to_rows(np.arange(n + 1) * width, classes, t, known, precision=precision_of(values)), known


def _flat(given: Sequence[Any], space: ClassSpace) -> tuple[Rows, ClassSpace]:
    """Offsets, classes and confidences."""
    offsets, *flat = given
    named, values = (plain(as_flat(one, what)) for one, what in zip(flat, ("classes", "confidences"), strict=True))
    t = _numbers(values)
    if len(named) != len(t):
        raise ShapeError(f"{len(named)} classes but {len(t)} confidences.", "Each class needs one confidence.")
    at = as_offsets(offsets, len(t))
    end = int(at[-1])
    codes, known = _codes(named[:end], space)
    return to_rows(at, codes, t[:end], known, precision=precision_of(flat[1])), known


def _mappings(lists: Sequence[Any], space: ClassSpace) -> tuple[Rows, ClassSpace]:
    bad = next((i for i, row in enumerate(lists) if not hasattr(row, "items")), None)
    if bad is not None:
        raise ShapeError(f"expected a mapping from class to confidence, got {lists[bad]!r}.", case=bad)
    pairs = [pair for row in lists for pair in row.items()]
    codes, known = _codes([c for c, _ in pairs], space)
    at = np.concatenate(([0], np.cumsum([len(row) for row in lists], dtype=np.int64)))
    return to_rows(at, codes, _numbers([value for _, value in pairs]), known), known


def _numbers(values: Any) -> NDArray[Any]:
    """Numbers as they are; None is not a number."""
    if isinstance(values, list):
        values = np.array([math.nan if value is None else value for value in values] or np.empty(0))
    return np.ascontiguousarray(as_floats(values, "confidences"))


def _codes(labels: list[Any], space: ClassSpace) -> tuple[NDArray[np.int64], ClassSpace]:
    """Codes of labels, from the size of the space on for those that are not in it."""
    if isinstance(space, LabelSets) and not all(isinstance(label, int) for label in labels):
        return encode_labels(labels, space)
    whole = all(isinstance(label, int | float) and label == int(label) for label in labels if _is_number(label))
    whole = whole and all(map(_is_number, labels)) and max(map(abs, labels), default=0) < 2**63
    if whole and not space.numbered:
        return np.array(labels, dtype=np.int64), space
    try:
        seen = list(dict.fromkeys(labels))
    except TypeError:
        raise ClassError("classes are codes or labels.", "Label sets need a space of label sets, LabelSets.") from None
    if space.labels is None:
        if not space.per_case and len(seen) <= space.size:
            space = ClassSpace(space.size, seen)
        places = {label: code for code, label in enumerate(seen)}
    else:
        places = dict(space.codes)
        beyond = len(places) if space.per_case else max(len(places), int(min(space.size, 2**62)))
        foreign = (label for label in seen if label not in places)
        places |= {label: beyond + i for i, label in enumerate(foreign)}
    return np.array([places[label] for label in labels], dtype=np.int64), space


def _is_number(label: Any) -> bool:
    return isinstance(label, int | float) and not isinstance(label, bool) and math.isfinite(label)
