"""Whatever people predict with, as lists: one converter for all functions that take predictions in memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from toplist.arguments import as_array
from toplist.errors import ClassError, ShapeError, SpaceError, TopListError
from toplist.labelsets import LabelSets, Sets
from toplist.lists.batch import TopLists
from toplist.lists.device import DeviceLists
from toplist.lists.door import Repairs
from toplist.lists.mistakes import are_bits
from toplist.lists.one import TopList
from toplist.space import ClassSpace, as_space

PREFIX = "__label__"  # of fastText's labels
_ENTRY = frozenset(("label", "score"))
Flat = tuple[list[int], list[Any], list[Any]]


def as_lists(what: Any, space: Any = None, *, repairs: Repairs | None = None) -> TopLists:
    """Predictions of any shape in memory, as checked lists.

    They are lists, an (n, m) array of distributions, a CSR matrix, a mapping from class to confidence per case, a pair
    of classes and confidences, (n, k) or one sequence of each per case, what a pipeline of Hugging Face or fastText
    returns, or one label per case. Where neither lists nor columns say how many classes there are, `space` does.

    >>> as_lists([[{"label": "cat", "score": 0.7}, {"label": "dog", "score": 0.2}], []], 5)[0]
    TopList({'cat': 0.7, 'dog': 0.2}, rest=0.1 over 3 classes)
    >>> as_lists(([["__label__en"], ["__label__de"]], [np.array([0.9]), np.array([0.6])]), 5).space.labels
    ('en', 'de')
    """
    if isinstance(what, TopList):
        what = what.batch
    if isinstance(what, TopLists):
        if space is not None and not np.array_equal(as_space(space).as_floats[1], what.space.as_floats[1]):
            raise SpaceError(f"the lists are over {what.space!r}, not over {as_space(space)!r}: leave space out.")
        return what
    if isinstance(what, DeviceLists):
        raise TopListError("this works on lists in memory, not on DeviceLists: make them from numpy arrays.")
    how = Repairs() if repairs is None else repairs
    options: dict[str, Any] = {"units": how.units, "normalize": how.normalize}
    known = None if space is None else as_space(space)
    several = isinstance(what, list | tuple)
    sets = _as_sets(what, known) if isinstance(known, LabelSets) else None
    if sets is not None and known is not None:
        return TopLists.from_labels(sets, known)
    if hasattr(what, "indptr"):
        return TopLists.from_csr(what, known, duplicates=how.duplicates, **options)
    if several and any(isinstance(one, TopList) for one in what):
        raise ShapeError("these are single lists.", "Give the TopLists that they come from, or TopLists.from_dicts.")
    if several and any(isinstance(one, set | frozenset) for one in what):
        raise ShapeError("labels that are sets need a space of label sets.", "TopLists.from_labels(y, LabelSets(...)).")
    flat = spelled_out(what, known)
    if flat is not None:
        return TopLists.from_ragged(*_columns(flat), _need(known), duplicates=how.duplicates, **options)
    if several and any(hasattr(one, "items") for one in what):
        return TopLists.from_dicts(what, _need(known), **options)
    if hasattr(what, "columns") and hasattr(what, "shape"):
        raise ShapeError("this is a table.", "Make lists of it: TopLists.from_frame(table, space).")
    if what is None or isinstance(what, str | bytes | Mapping):
        got = "nothing" if what is None else type(what).__name__
        raise TopListError(
            f"expected TopLists, or an array of distributions, got {got}. Make lists with TopLists.from_proba "
            "(distributions), from_topk (lists), from_labels (hard predictions) or from_dicts."
        )
    values = as_array(what, "predictions")
    if values.ndim == 2 and values.dtype.kind in "fiu":
        return TopLists.from_proba(values, known, **options)
    if values.ndim == 0:
        raise ShapeError(f"predictions are one per case, not {what!r}.")
    return TopLists.from_labels(what, _need(known))


def _need(space: ClassSpace | None) -> ClassSpace:
    if space is None:
        raise SpaceError(
            "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...]); or make "
            "the lists first, TopLists.from_dicts or from_labels."
        )
    return space


def _columns(flat: Flat) -> tuple[Any, Any, Any]:
    """Offsets, classes and confidences as arrays; labels stay what they are."""
    offsets, classes, confidences = flat
    named = np.empty(len(classes), dtype=object)
    for place, one in enumerate(classes):
        named[place] = one
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in classes):
        named = np.array(classes)
    return np.array(offsets, dtype=np.int64), named, confidences or np.empty(0)


def spelled_out(what: Any, space: ClassSpace | None) -> Flat | None:
    """Offsets, classes and confidences of predictions with a label and a number for each entry; None for other shapes.

    These are the output of a pipeline of Hugging Face, a list of {"label", "score"} per case or one of them per case,
    and a pair of classes and confidences with a sequence of each per case, such as fastText's.
    """
    if not isinstance(what, list | tuple) or not what:
        return None
    if isinstance(what, tuple) and len(what) == 2 and all(map(_is_nested, what)):
        return _side_by_side(what[0], what[1], space)
    if isinstance(what, tuple) and len(what) == 2 and _is_one_case(*what):
        raise ShapeError("these are the labels and confidences of one case.", "Give a list of each per case.")
    nested = [isinstance(one, list | tuple) and all(_is_entry(entry) for entry in one) for one in what]
    if all(nested) and any(map(len, what)):
        return _entries(what)
    single = [_is_entry(one) for one in what]
    if any(single) and _can_be_confidences(what, space):
        return None
    if not any(single) and not any(one and len(what[i]) for i, one in enumerate(nested)):
        return None
    case = next(
        (i for i, (one, few) in enumerate(zip(single, nested, strict=True)) if one != single[0] or one == few), None
    )
    if case is not None:
        raise ShapeError(
            f"some cases are a label with a score, others are not: {what[case]!r:.80}.",
            'Give each case a list of {"label": ..., "score": ...}.',
            case=case,
        )
    return _entries([[one] for one in what])


def _is_nested(column: Any) -> bool:
    """Whether there is a sequence for each case."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column.ndim == 2
    return isinstance(column, list | tuple | np.ndarray) and all(
        isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) for row in column
    )


def _is_one_case(labels: Any, numbers: Any) -> bool:
    sized = isinstance(labels, list | tuple) and isinstance(numbers, list | tuple | np.ndarray)
    named = sized and len(labels) > 0 and all(isinstance(label, str) for label in labels)
    return named and len(labels) == len(numbers) and not any(isinstance(x, str) for x in numbers)


def _is_entry(one: Any) -> bool:
    """Whether this is a label with its score."""
    return isinstance(one, Mapping) and set(one) == _ENTRY


def _can_be_confidences(cases: Sequence[Any], space: ClassSpace | None) -> bool:
    """Whether mappings with the keys label and score give confidences to two classes of these names."""
    entries = [one for one in cases if _is_entry(one)]
    numbers = [isinstance(one["label"], int | float | np.number) for one in entries]
    if not all(numbers):
        return False
    if space is not None and space.labels is not None and set(space.labels) >= _ENTRY:
        return True
    raise ShapeError(
        f"{entries[0]!r} is either the class {entries[0]['label']!r} with a score, or two classes, label and score.",
        'Classes and scores go as a list per case, [[{"label": ..., "score": ...}], ...]; classes of these names need '
        "ClassSpace(labels=[...]).",
    )


def _entries(cases: Sequence[Sequence[Mapping[str, Any]]]) -> Flat:
    offsets = np.cumsum([0, *map(len, cases)]).tolist()
    flat = [*chain.from_iterable(cases)]
    return offsets, [entry["label"] for entry in flat], [entry["score"] for entry in flat]


def _side_by_side(classes: Any, confidences: Any, space: ClassSpace | None) -> Flat:
    """A sequence of classes and one of confidences per case; fastText's prefix is taken off if all labels have it."""
    sizes, others = ([len(row) for row in column] for column in (classes, confidences))
    if sizes != others:
        odd = next((i for i, (a, b) in enumerate(zip(sizes, others, strict=False)) if a != b), None)
        if odd is None:
            raise ShapeError(f"{len(sizes)} lists of classes for {len(others)} lists of confidences.")
        raise ShapeError(f"{sizes[odd]} classes but {others[odd]} confidences.", case=odd)
    named, numbers = ([*chain.from_iterable(map(plain, column))] for column in (classes, confidences))
    return np.cumsum([0, *sizes]).tolist(), _without_prefix(named, space), numbers


def _without_prefix(labels: list[Any], space: ClassSpace | None) -> list[Any]:
    marked = [isinstance(label, str) and label.startswith(PREFIX) for label in labels]
    if not any(marked) or (space is not None and any(str(known).startswith(PREFIX) for known in space.labels or ())):
        return labels
    if not all(marked):
        bare = labels[marked.index(False)]
        raise ClassError(
            f"some labels begin with {PREFIX}, others such as {bare!r} do not.",
            "Take the prefix off all of them, or give a space whose labels have it.",
        )
    return [label.removeprefix(PREFIX) for label in labels]


def plain(values: Any) -> list[Any]:
    """The values of a sequence, as Python has them."""
    found: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return found


def _as_sets(what: Any, space: LabelSets) -> Any:
    """A label set per case, where that was predicted: in a batch, by its labels, or as zeros and ones; else None."""
    if isinstance(what, Sets):
        return what
    if isinstance(what, list | tuple) or (isinstance(what, np.ndarray) and what.dtype == object and what.ndim == 1):
        if any(isinstance(one, set | frozenset) for one in what):
            return what
        if not all(isinstance(one, list | tuple | np.ndarray) for one in what):
            return None
        names, members = set(space.names), [label for one in what for label in one]
        if any(isinstance(one, Mapping) for one in members):
            return None
        if any(isinstance(one, str) for one in members) or all(isinstance(x, Hashable) and x in names for x in members):
            return what
        if isinstance(what, tuple) and len(what) == 2 and all(map(_is_nested, what)):
            return None
        what = as_array(what, "predictions")
    columns = what.shape[1] if len(getattr(what, "shape", ())) == 2 else None
    if columns != len(space.names):
        return None
    values = what.tocsr().data if hasattr(what, "tocsr") else as_array(what, "predictions")
    certain = columns == space.size and values.dtype.kind == "f"  # distributions: a column per class
    return what if are_bits(values) and not certain else None
