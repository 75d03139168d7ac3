"""Outcomes as codes: from codes, labels or label sets; or distributions of outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_array, as_floats
from toplist.errors import AlignmentError, OutcomeError, ShapeError, SpaceError
from toplist.lists.converters import PREFIX
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.space import UNLISTED, ClassSpace, show_size
from toplist.lists.toplists import TopLists


def is_soft(y: Any, space: ClassSpace) -> bool:
    """Is a distribution per case meant, rather than one outcome?"""
    if isinstance(y, TopLists):
        return True
    if isinstance(space, LabelSets) or not isinstance(y, Iterable) or isinstance(y, str | set | frozenset | Mapping):
        return False
    if hasattr(y, "shape"):
        return len(y.shape) == 2 and y.shape[1] != 1
    first = None if isinstance(y, Iterator) else next(iter(y), None)
    return isinstance(first, list | tuple | np.ndarray) and len(first) != 1


def as_truth(p: Any, space: ClassSpace, cases: int) -> TopLists:
    """Distributions as lists: one per case, or one for all."""
    if isinstance(p, TopLists):
        truth = p if len(p) == cases else p[np.zeros(cases, np.intp)] if len(p) == 1 else p
    elif hasattr(p, "tocsr"):
        remedy = "Label sets need a space of them, LabelSets(labels); distributions go through TopLists.from_csr."
        raise ShapeError("the outcomes are a sparse matrix.", remedy)
    else:
        dense = as_floats(p, "distributions")
        if dense.ndim == 0:
            raise ShapeError("a distribution is one probability per class.")
        dense = np.broadcast_to(dense, (cases, dense.shape[-1])) if dense.ndim == 1 else dense
        truth = TopLists.from_proba(dense, None if space.per_case else space)
    if len(truth) != cases:
        raise ShapeError(f"{len(truth)} distributions for {cases} lists.", "One per case, or one for all.")
    theirs, ours = truth.space, space
    named = theirs.labels is not None and ours.labels is not None
    if not np.all(theirs.as_floats[1] == ours.as_floats[1]) or (named and theirs.labels != ours.labels):
        raise SpaceError(f"the lists are over {ours!r}, the distributions over {theirs!r}: both need one space.")
    return truth.as_distributions()


def as_codes(y: Any, lists: TopLists) -> NDArray[np.int64]:
    """Codes of outcomes, checked: every outcome is a class of the space. -1 is a class that no list can name."""
    space, cases = lists.space, len(lists)
    require_one_order(y, lists)
    if isinstance(y, list | tuple) and any(isinstance(one, str) for one in y):  # an array would make it a name
        blank = next((i for i, one in enumerate(y) if isinstance(one, float) and one != one), None)
        if blank is not None:
            raise OutcomeError("the outcome is nan.", "Leave the case out.", case=blank)
    if not isinstance(y, Iterable) or isinstance(y, str | set | frozenset | Mapping | Iterator):
        raise ShapeError("outcomes must be a sequence, one per case.")
    if isinstance(space, LabelSets):
        codes = _codes_of_sets(y, space)
    else:
        values = as_array(y, "outcomes")
        if values.ndim != 1:
            raise ShapeError(f"outcomes must be one per case, not an array of shape {values.shape}.", "Try y.ravel().")
        numbers = None if space.numbered else _as_integers(values, space)
        if numbers is not None:
            codes = _codes_in_range(numbers, space)
        elif space.labels is None and len(lists.confidences):
            raise OutcomeError(
                f"the outcomes are labels such as {values.tolist()[0]!r}, but the lists hold codes.",
                "Give the space its labels: ClassSpace(labels=[...]).",
            )
        else:
            codes = _codes_of_labels(values, space)
    if len(codes) != cases:
        raise ShapeError(f"{len(codes)} outcomes for {cases} lists.", "Each case needs one of each.")
    _require_possible(codes, lists)
    return codes


def require_one_order(y: Any, lists: TopLists) -> None:
    """Lists with case ids and outcomes with an index of their own are about the same cases, in the same order."""
    index = getattr(y, "index", None)
    if lists.ids is None or not hasattr(index, "nlevels") or index is None:
        return
    steps = [getattr(index, part, None) for part in ("start", "stop", "step")]
    if index.name is None and steps == [0, len(index), 1]:
        return
    if not np.array_equal(np.asarray(index).astype(str), lists.ids.astype(str)):
        raise AlignmentError(
            "the index of the outcomes is not that of the lists (ids): bring the outcomes into the order of the lists, "
            "as in y.loc[lists.ids], or give y.to_numpy() if both are in the same order."
        )


def as_happened(y: Any, lists: TopLists, verb: str) -> NDArray[np.int64]:
    """The same where a distribution per case will not do; `verb` says who asks.

    >>> as_happened([[0.5, 0.5]], TopLists.from_labels([0], 2), "calibration is about")
    Traceback (most recent call last):
    toplist.errors.OutcomeError: calibration is about what happened, one outcome per case, not a distribution. ...
    """
    if is_soft(y, lists.space):
        raise OutcomeError(
            f"{verb} what happened, one outcome per case, not a distribution.", "Draw an outcome per case from it."
        )
    return as_codes(y, lists)


def _require_possible(codes: NDArray[np.int64], lists: TopLists) -> None:
    """A list of all classes names what happens."""
    if not len(codes) or codes.min() >= 0:
        return
    impossible = (codes == UNLISTED) & (lists.sizes == lists.space.as_floats[0])
    if impossible.any():
        row, more = int(np.argmax(impossible)), int(impossible.sum()) - 1
        raise OutcomeError("the outcome is none of the classes, all of which are listed.", case=row, more=more)


def _as_integers(values: NDArray[Any], space: ClassSpace) -> NDArray[np.int64] | None:
    """Outcomes that are numbers, as integers; None if they are labels."""
    if values.dtype.kind in "uf" and values.size:
        huge = np.abs(values.astype(np.float64)) >= 2.0**63
        if huge.any():
            row = int(np.argmax(huge))
            raise _outside(values[row], space, row, int(huge.sum()) - 1)
    if values.size == 0 or values.dtype.kind in "iub":
        return np.ascontiguousarray(values, dtype=np.int64)
    if values.dtype.kind == "f":
        bad = values != np.floor(values)  # NaN too
        if bad.any():
            row = int(np.argmax(bad))
            problem = f"the outcome is {values[row]}, which is neither a code nor a label."
            raise OutcomeError(problem, case=row, more=int(bad.sum()) - 1)
        return values.astype(np.int64)
    if values.dtype == object and all(isinstance(v, int | np.integer) for v in values):
        large = [i for i, v in enumerate(values) if abs(v) >= 2**63]
        if large:
            raise _outside(values[large[0]], space, large[0], len(large) - 1)
        return values.astype(np.int64)
    return None


def _codes_in_range(codes: NDArray[np.int64], space: ClassSpace) -> NDArray[np.int64]:
    size = space.as_floats[0]
    if len(codes) and not space.per_case and codes.min() >= 0 and codes.max() < size[0]:
        return codes
    if space.per_case and len(codes) != len(size):
        return codes  # said by the caller
    outside = (codes < 0) | (codes >= size)
    if outside.any():
        row = int(np.argmax(outside))
        raise _outside(codes[row], space, row, int(outside.sum()) - 1)
    return codes


def _outside(code: Any, space: ClassSpace, row: int, more: int) -> OutcomeError:
    size = space.size[row] if space.per_case else space.size
    problem = f"the outcome {code} is outside the space of {show_size(size)} classes."
    return OutcomeError(problem, "Declare the right number of classes; codes start at 0.", case=row, more=more)


def _codes_of_labels(values: NDArray[Any], space: ClassSpace) -> NDArray[np.int64]:
    labels = values.tolist()
    missing = np.array([label is None or label != label for label in labels], dtype=bool)
    if missing.any():
        row = int(np.argmax(missing))
        raise OutcomeError(f"the outcome is {labels[row]}.", case=row, more=int(missing.sum()) - 1)
    try:
        codes = space.encode(labels)
    except TypeError:
        row = next(row for row, label in enumerate(labels) if not isinstance(label, Hashable))
        problem = f"the outcome is {labels[row]!r}, which is neither a label nor a code."
        raise OutcomeError(problem, "Distributions per case go through TopLists.from_dicts.", case=row) from None
    unknown = codes == UNLISTED
    marked = np.array([isinstance(label, str) and label.startswith(PREFIX) for label in labels], dtype=bool)
    if (unknown & marked).any() and not any(str(known).startswith(PREFIX) for known in space.labels or ()):
        row = int(np.argmax(unknown & marked))
        raise OutcomeError(
            f"the outcome is {labels[row]!r}, but no label of the lists begins with {PREFIX}.",
            "Take the prefix off the outcomes, as it was off the labels.",
            case=row,
            more=int((unknown & marked).sum()) - 1,
        )
    if space.complete and unknown.any():
        row = int(np.argmax(unknown))
        raise OutcomeError(
            f"the outcome {labels[row]!r} is not among the {space.size} labels.",
            space.suggest(labels[row]),
            case=row,
            more=int(unknown.sum()) - 1,
        )
    return codes


def _codes_of_sets(y: Any, space: LabelSets) -> NDArray[np.int64]:
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iu":
        codes = y.astype(np.int64)
        return codes if not space.masks and space.support is None else _codes_in_range(codes, space)
    try:
        codes = space.encode(y)
    except SpaceError as error:
        raise OutcomeError(str(error), case=_first_wrong(y, space)) from None
    if (codes == UNLISTED).any():
        case = int(np.argmax(codes == UNLISTED))
        shown = set(space.named(space.sets(y).take([case]))[0])
        raise OutcomeError(f"the outcome {shown!r} is not in the support.", case=case, more=int((codes < 0).sum()) - 1)
    return codes


def _first_wrong(y: Any, space: LabelSets) -> int | None:
    """The first case whose set is not one; None where it is not the fault of a case."""
    if isinstance(y, Sets) or hasattr(y, "tocsr") or len(getattr(y, "shape", ())) == 2:
        return None
    for case, one in enumerate(y):
        try:
            space.encode(np.asarray(one)[None] if isinstance(y, np.ndarray) and y.ndim == 2 else [one])
        except SpaceError:
            return case
    return None
