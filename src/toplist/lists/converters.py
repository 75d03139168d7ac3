"""Converters: predictions of any shape as lists, and outcomes as codes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Scale
from toplist.core.arguments import as_array, as_flat, as_floats, is_several
from toplist.core.kernel import Rows
from toplist.errors import (
    AlignmentError,
    ClassError,
    ConfidenceError,
    MassError,
    OutcomeError,
    ShapeError,
    SpaceError,
    TopListError,
)
from toplist.lists.constructors import as_classes, as_offsets, csr_parts, dense, encode_labels, precision_of, to_rows
from toplist.lists.device import DeviceLists
from toplist.lists.error_messages import are_bits, as_a_whole
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.pipelines import (
    PREFIX,
    Outputs,
    as_rectangle,
    in_own_precision,
    is_nested,
    outputs_of,
    plain,
    refuse_outputs,
    require_candidates,
    with_remedy,
)
from toplist.lists.space import UNLISTED, ClassSpace, as_space, require_declared_order, show_size
from toplist.lists.toplist import TopList
from toplist.lists.toplists import TopLists
from toplist.lists.validation import Repairs


def as_lists(what: Any, space: Any = None, *, repairs: Repairs | None = None) -> TopLists:
    """Convert predictions of any form in memory to checked lists.

    Parameters
    ----------
    what : TopLists, TopList or array-like
        Lists, an (n, m) array of distributions, a CSR matrix, a mapping from class to confidence per case, a pair of
        classes and confidences, (n, k) arrays or one sequence of each per case, a triple of offsets, classes and
        confidences as `TopLists.from_ragged` takes it, what `torch.topk` returns, which is not copied, the output of a
        pipeline of Hugging Face, fastText or spaCy (`doc.cats`), or one label per case.
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
    how = Repairs() if repairs is None else repairs
    options: dict[str, Any] = {"scale": how.scale, "normalize": how.normalize}
    known = None if space is None else as_space(space)
    form, parts = _form(what, known)
    if form == "lists":
        return cast("TopLists", parts)
    if form == "matrix":
        return TopLists.from_proba(parts, known, **options)
    if form == "sparse":
        return TopLists.from_csr(parts, known, duplicates=how.duplicates, **options)
    if form == "top":
        wide = _need(known, " It is the width of the array that the largest were taken of, logits.shape[-1].")
        with _explained("topk", how):
            made = TopLists.from_topk(parts[0], parts[1], wide, duplicates=how.duplicates, **options)
        return cast("TopLists", made)
    if form == "flat":
        offsets, classes, confidences = parts
        known = _need(known)
        return TopLists.from_ragged(offsets, classes, confidences, known, duplicates=how.duplicates, **options)
    if form == "outputs":
        if parts.kind == "zero-shot" and known is not None and how == Repairs():
            require_candidates(parts)
        options["normalize"] = how.normalize or (how.scale == "probability" and parts.slightly_above)
        with _explained(parts.kind, how):
            return TopLists.from_ragged(*_columns(parts), _need(known), duplicates=how.duplicates, **options)
    if form == "mappings":
        return _from_dicts(parts, _need(known), options)
    return TopLists.from_labels(parts, _need(known))


Form = Literal["lists", "matrix", "sparse", "top", "flat", "outputs", "mappings", "labels"]


def _form(what: Any, space: ClassSpace | None) -> tuple[Form, Any]:
    """What predictions in memory are, and their parts: the one place that decides how they are read."""
    if isinstance(what, TopList):
        what = what.batch
    if isinstance(what, TopLists):
        if space is not None and not np.array_equal(space.as_floats[1], what.space.as_floats[1]):
            raise SpaceError(f"the lists are over {what.space!r}, not over {space!r}: leave space out.")
        return "lists", what
    if isinstance(what, DeviceLists):
        raise TopListError("this works on lists in memory, not on DeviceLists: make them from numpy arrays.")
    sets = _as_sets(what, space) if isinstance(space, LabelSets) else None
    if sets is not None:
        return "labels", sets
    if hasattr(what, "indptr"):
        return "sparse", what
    several = isinstance(what, list | tuple)
    if several and any(isinstance(one, TopList) for one in what):
        raise ShapeError("these are single lists.", "Give the TopLists that they come from, or TopLists.from_dicts.")
    if several and any(isinstance(one, set | frozenset) for one in what):
        raise ShapeError("labels that are sets need a space of label sets.", "TopLists.from_labels(y, LabelSets(...)).")
    pair = as_rectangle(what)
    if pair is not None:
        return "top", pair
    refuse_outputs(what)
    outputs = outputs_of(what, space)
    if outputs is not None:
        return "outputs", outputs
    if isinstance(what, tuple) and len(what) == 3 and _is_flat(*what):
        return "flat", what
    if several and any(hasattr(one, "items") for one in what):
        return "mappings", what
    if hasattr(what, "columns") and hasattr(what, "shape"):
        raise ShapeError("this is a table.", "Make lists of it: toplist.read_lists(table, space).")
    if what is None or isinstance(what, str | bytes | Mapping):
        got = "nothing" if what is None else type(what).__name__
        raise TopListError(
            f"expected TopLists, or an array of distributions, got {got}. Make lists with TopLists.from_proba "
            "(distributions), from_topk (lists), from_labels (hard predictions) or from_dicts."
        )
    values = as_array(what, "predictions")
    if values.ndim == 2 and values.dtype.kind in "fiu":
        return "matrix", values
    if values.ndim == 0:
        raise ShapeError(f"predictions are one per case, not {what!r}.")
    if values.ndim > 1 and not isinstance(space, LabelSets):
        raise ShapeError(f"predictions are one per case, not an array of {values.dtype} of shape {values.shape}.")
    return "labels", what


def _is_flat(offsets: Any, classes: Any, confidences: Any) -> bool:
    """Whether three sequences are offsets, classes and confidences, as in `TopLists.from_ragged`.

    Offsets rise from 0 to the number of entries. As the first row of a matrix they would hold a number above one.
    """
    for part in (offsets, classes, confidences):
        if not is_several(part) or not hasattr(part, "__len__") or isinstance(part, str | Mapping):
            return False
    if len(classes) != len(confidences) or not len(offsets):
        return False
    if not hasattr(offsets, "dtype") and not all(isinstance(one, int | np.integer) for one in offsets):
        return False
    at = np.asarray(offsets)
    whole = at.ndim == 1 and at.dtype.kind in "iu"
    return bool(whole and at[0] == 0 and at[-1] == len(classes) and not (at[1:] < at[:-1]).any())


def _need(space: ClassSpace | None, hint: str = "") -> ClassSpace:
    if space is None:
        raise SpaceError(
            "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...]); or make "
            f"the lists first, TopLists.from_dicts or from_labels.{hint}"
        )
    return space


@contextmanager
def _explained(kind: str, how: Repairs) -> Iterator[None]:
    """Raises an error about values with the remedy for the kind of pipeline that they come from."""
    try:
        yield
    except (ConfidenceError, MassError) as error:
        if how.scale != "probability":
            raise
        raise with_remedy(error, kind) from None


def _from_dicts(cases: Sequence[Any], space: ClassSpace, options: Mapping[str, Any]) -> TopLists:
    """Mappings; where all give a number to the same labels, the error says what they are as a whole."""
    try:
        return TopLists.from_dicts(cases, space, **options)
    except MassError as error:
        if options["scale"] != "probability" or any(one.keys() != cases[0].keys() for one in cases):
            raise
        raise as_a_whole(error, np.array([[one[label] for label in cases[0]] for one in cases], float)) from None


def _columns(outputs: Outputs) -> tuple[Any, Any, Any]:
    """Offsets, classes and confidences as arrays; labels stay what they are."""
    offsets, classes, confidences = outputs[:3]
    named = np.empty(len(classes), dtype=object)
    for place, one in enumerate(classes):
        named[place] = one
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in classes):
        named = np.array(classes)
    return np.array(offsets, dtype=np.int64), named, in_own_precision(confidences) if outputs.kind else confidences


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
        if isinstance(what, tuple) and len(what) == 2 and all(map(is_nested, what)):
            return None
        what = as_array(what, "predictions")
    columns = what.shape[1] if len(getattr(what, "shape", ())) == 2 else None
    if columns != len(space.names):
        return None
    values = what.tocsr().data if hasattr(what, "tocsr") else as_array(what, "predictions")
    certain = columns == space.size and values.dtype.kind == "f"  # distributions: a column per class
    return what if are_bits(values) and not certain else None


def raw_rows(predictions: Any, space: Any = None, *, scale: Scale = "probability") -> tuple[Rows, ClassSpace]:
    """Rows with the numbers as they were given, in their `scale`, and the space.

    Predictions have the forms that `as_lists` takes, and are read in the same way, but no value is checked: classes
    that are not in the space have codes from its size on, None is NaN. Without a space there are as many classes as
    columns or, where there are none, infinitely many.

    >>> rows, space = raw_rows([{"cat": 0.7, "dog": -1}, {}], ClassSpace(labels=["cat", "fox"]))
    >>> rows.classes, rows.confidences, rows.offsets
    (array([0, 2]), array([ 0.7, -1. ]), array([0, 2, 2]))
    """
    Repairs(scale=scale)
    known = None if space is None else as_space(space)
    form, parts = _form(predictions, known)
    if form == "lists":
        return parts.checked.rows, parts.space
    if form == "matrix":
        return dense(parts, known)
    if form == "sparse":
        *flat, columns = csr_parts(parts)
        return _flat(flat, as_space(columns if known is None else known))
    known = as_space(math.inf) if known is None else known
    if form == "top":
        cases, k = parts[0].shape
        return _flat((np.arange(cases + 1) * k, *(one.ravel() for one in parts)), known)
    if form in ("flat", "outputs"):
        return _flat(parts[:3], known)
    if form == "mappings":
        return _mappings(parts, known)
    if isinstance(known, LabelSets):
        codes, known = as_classes(parts, known)
    else:
        codes, known = _codes(as_array(parts, "predictions").tolist(), known)
    return to_rows(np.arange(len(codes) + 1), codes, np.ones(len(codes)), known), known


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
        require_declared_order(space)
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
