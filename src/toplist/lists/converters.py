"""Converters: predictions of any shape as lists, and outcomes as codes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.arguments import as_array, as_floats
from toplist.core.kernel import Rows
from toplist.errors import AlignmentError, OutcomeError, ShapeError, SpaceError
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.rows import PREFIX, rows_of, without_prefix
from toplist.lists.space import UNLISTED, ClassSpace, as_space, show_size
from toplist.lists.toplists import TopList, TopLists
from toplist.lists.validation import Repairs


def as_lists(what: Any, space: Any = None, *, repairs: Repairs | None = None) -> TopLists:
    """Convert predictions of any form in memory to checked lists.

    Parameters
    ----------
    what : TopLists, TopList or array-like
        Lists, an (n, m) array of distributions, a CSR matrix, a mapping from class to confidence per case, a pair of
        classes and confidences, (n, k) arrays or one sequence of each per case, a triple of offsets, classes and
        confidences as `TopLists.from_ragged` takes it, what `torch.topk` returns, which is not copied, labels with
        their scores as pipelines of Hugging Face return them, fastText's predictions, or one label per case.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.
    repairs : Repairs, optional
        Scale of the confidences, and the repairs to make.

    Returns
    -------
    TopLists
        The lists.

    Raises
    ------
    SpaceError
        If the number of classes is not known.
    ShapeError
        If the predictions have no form that is known, or may be read in two ways.

    Examples
    --------
    >>> as_lists([[{"label": "cat", "score": 0.7}, {"label": "dog", "score": 0.2}], []], 5)[0]
    TopList(cat 0.7, dog 0.2; unlisted 0.1 over 3 classes)
    >>> as_lists(([["__label__en"], ["__label__de"]], [np.array([0.9]), np.array([0.6])]), 5).space.labels
    ('en', 'de')
    """
    lists = _checked_before(what, space)
    if lists is not None:
        return lists
    how = Repairs() if repairs is None else repairs
    rows, known, above_one = rows_of(what, space)
    how = replace(how, normalize=how.normalize or (above_one and how.scale == "probability"))
    return TopLists._validated(rows, known, None, how)


def raw_rows(predictions: Any, space: Any = None) -> tuple[Rows, ClassSpace]:
    """The same without a check: rows with the numbers as they were given, and the space.

    Classes that are not in the space have codes from its size on. Without a space there are as many classes as columns
    or, where there are none, infinitely many.

    >>> rows, space = raw_rows([{"cat": 0.7, "dog": -1}, {}], ClassSpace(labels=["cat", "fox"]))
    >>> rows.classes, rows.confidences, rows.offsets
    (array([0, 2]), array([ 0.7, -1. ]), array([0, 2, 2]))
    """
    lists = _checked_before(predictions, space)
    return rows_of(predictions, space, strict=False)[:2] if lists is None else (lists.checked.rows, lists.space)


def _checked_before(what: Any, space: Any) -> TopLists | None:
    """What are lists already."""
    lists = what.batch if isinstance(what, TopList) else what
    if not isinstance(lists, TopLists):
        return None
    if space is not None and not np.array_equal(as_space(space).as_floats[1], lists.space.as_floats[1]):
        raise SpaceError(f"the lists are over {lists.space!r}, not over {as_space(space)!r}: leave space out.")
    return lists


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
        _require_one_each(codes, cases)
    else:
        values = as_array(y, "outcomes")
        if values.ndim != 1:
            raise ShapeError(f"outcomes must be one per case, not an array of shape {values.shape}.", "Try y.ravel().")
        _require_one_each(values, cases)
        whole = values.dtype == object and all(isinstance(v, int | np.integer) for v in values)
        if not len(values):  # of any type
            codes = np.zeros(0, np.int64)
        elif not space.numbered and (values.dtype.kind in "iubf" or whole):
            codes = _codes_in_range(values, space)
        elif space.labels is None and len(lists.confidences):
            raise OutcomeError(
                f"the outcomes are labels such as {values.tolist()[0]!r}, but the lists hold codes.",
                "Give the space its labels: ClassSpace(labels=[...]).",
            )
        else:
            codes = _codes_of_labels(values, space)
    _require_possible(codes, lists)
    return codes


def _require_one_each(outcomes: NDArray[Any], cases: int) -> None:
    if len(outcomes) != cases:
        raise ShapeError(f"{len(outcomes)} outcomes for {cases} lists.", "Each case needs one of each.")


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


def as_single_outcomes(y: Any, lists: TopLists, verb: str) -> NDArray[np.int64]:
    """The same where a distribution per case will not do; `verb` says who asks.

    >>> as_single_outcomes([[0.5, 0.5]], TopLists.from_labels([0], 2), "calibration needs")
    Traceback (most recent call last):
    toplist.errors.OutcomeError: calibration needs one outcome per case, not a distribution. ...
    """
    if is_soft(y, lists.space):
        raise OutcomeError(f"{verb} one outcome per case, not a distribution.", "Draw an outcome per case from it.")
    return as_codes(y, lists)


def _require_possible(codes: NDArray[np.int64], lists: TopLists) -> None:
    """A list of all classes has the outcome."""
    if not len(codes) or codes.min() >= 0:
        return
    impossible = (codes == UNLISTED) & (lists.sizes == lists.space.as_floats[0])
    if impossible.any():
        row, more = int(np.argmax(impossible)), int(impossible.sum()) - 1
        raise OutcomeError("the outcome is none of the classes, all of which are listed.", case=row, more=more)


def _codes_in_range(values: NDArray[Any], space: ClassSpace) -> NDArray[np.int64]:
    """Outcomes that are numbers, as codes: whole, and classes of the space."""
    if values.dtype.kind == "f" and (values != np.floor(values)).any():  # NaN too
        odd = values != np.floor(values)
        row = int(np.argmax(odd))
        problem = f"the outcome is {values[row]}, which is neither a code nor a label."
        raise OutcomeError(problem, case=row, more=int(odd.sum()) - 1)
    outside = (values < 0) | (values >= np.minimum(space.as_floats[0], 2.0**63))
    if outside.any():
        row = int(np.argmax(outside))
        size = space.size[row] if space.per_case else space.size
        problem = f"the outcome {values[row]} is outside the space of {show_size(size)} classes."
        remedy = "Declare the right number of classes; codes start at 0."
        raise OutcomeError(problem, remedy, case=row, more=int(outside.sum()) - 1)
    return np.ascontiguousarray(values, dtype=np.int64)


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
    if unknown.any() and any(isinstance(label, str) and label.startswith(PREFIX) for label in labels):
        codes = space.encode(without_prefix(labels, space))  # it was taken off the labels of the lists, too
        unknown = codes == UNLISTED
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
