"""Predictions in memory, of any form, as rows: flat columns of codes and confidences, which are not checked yet."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core import kernel
from toplist.core.arguments import as_array, as_count, as_floats, as_vector, is_several, read_only
from toplist.core.kernel import Rows
from toplist.errors import ClassError, ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.lists.device import DeviceLists, is_foreign
from toplist.lists.error_messages import are_bits, wrong_width
from toplist.lists.labelsets import Codebook, LabelSets, Sets
from toplist.lists.space import ClassSpace, as_space, require_declared_order
from toplist.lists.validation import exponentiate, underflows

PREFIX = "__label__"  # of fastText's labels
_FASTTEXT_EXCESS = 2e-5  # twice what fastText adds to each factor of a probability
_FACTORS = 64  # more than a path in the tree of a hierarchical softmax has


class Entries(NamedTuple):
    """Predictions as flat columns: case i has the entries offsets[i] to offsets[i + 1]."""

    offsets: Any
    classes: Any
    confidences: Any
    above_one: bool = False  # whether sums are above one as fastText makes them, and are to be divided out


def rows_of(predictions: Any, space: Any = None, *, strict: bool = True) -> tuple[Rows, ClassSpace, bool]:
    """Rows and the space, of predictions in any form that `as_lists` takes, and whether fastText's excess is in them.

    Unless it is strict, classes that are not in the space have codes from its size on, and a number of classes that
    is not known is infinite.
    """
    known = None if space is None else as_space(space)
    sets = _as_sets(predictions, known) if isinstance(known, LabelSets) else None
    if sets is None and hasattr(predictions, "indptr"):
        return *csr(predictions, known, strict=strict), False
    form = _entries(predictions, known) if sets is None else certain(sets)
    if isinstance(form, np.ndarray):
        return *dense(form, known), False
    if known is None and strict:
        raise SpaceError(
            "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...]); or make "
            "the lists first, TopLists.from_dicts or from_labels."
        )
    known = as_space(math.inf) if known is None else known
    return *ragged(form.offsets, form.classes, form.confidences, known, strict=strict), form.above_one


def _entries(predictions: Any, space: ClassSpace | None) -> Entries | NDArray[Any]:
    """What predictions in memory are: the one place that decides how they are read. Distributions are a matrix."""
    if isinstance(predictions, DeviceLists):
        raise TopListError("this works on lists in memory, not on DeviceLists: make them from numpy arrays.")
    several = isinstance(predictions, list | tuple) and len(predictions) > 0
    if several and any(hasattr(case, "batch") for case in predictions):
        raise ShapeError("these are single lists.", "Give the TopLists that they come from, or TopLists.from_dicts.")
    if several and any(isinstance(case, set | frozenset) for case in predictions):
        raise ShapeError("labels that are sets need a space of label sets.", "TopLists.from_labels(y, LabelSets(...)).")
    if several and len(predictions) == 2 and all(map(_is_array, predictions)):
        kinds = [_kind(array) for array in predictions]
        if sorted(kinds) == ["float", "int"]:
            return _rectangle(predictions[kinds.index("int")], predictions[kinds.index("float")])
    if isinstance(predictions, tuple) and len(predictions) == 2 and all(map(_is_nested, predictions)):
        return _side_by_side(*predictions, space)
    if isinstance(predictions, tuple) and len(predictions) == 3 and _is_flat(*predictions):
        return Entries(*predictions)
    if several and all(isinstance(case, list | tuple) and all(map(is_entry, case)) for case in predictions):
        if any(map(len, predictions)):
            return _labels_and_scores(predictions)
    elif several and all(map(is_entry, predictions)):
        require_several_cases([(entry["label"], entry["score"]) for entry in predictions])
        return _labels_and_scores([[entry] for entry in predictions])
    elif several and any(hasattr(case, "items") for case in predictions):
        return mappings(predictions)
    if hasattr(predictions, "columns") and hasattr(predictions, "shape"):
        raise ShapeError("this is a table.", "Make lists of it: toplist.read_lists(table, space).")
    if predictions is None or isinstance(predictions, str | bytes | Mapping):
        got = "nothing" if predictions is None else type(predictions).__name__
        raise TopListError(
            f"expected TopLists, or an array of distributions, got {got}. Make lists with TopLists.from_proba "
            "(distributions), from_topk (lists), from_labels (hard predictions) or from_dicts."
        )
    values = as_array(predictions, "predictions")
    if values.ndim == 2 and values.dtype.kind in "fiu":
        return values
    if values.ndim == 0:
        raise ShapeError(f"predictions are one per case, not {predictions!r}.")
    if values.ndim > 1 and not isinstance(space, LabelSets):
        raise ShapeError(
            f"predictions are one per case, not an array of {values.dtype} of shape {values.shape}.",
            "Give several outputs, or batches, one at a time." if values.ndim == 3 else "",
        )
    return certain(predictions)


def certain(labels: Any) -> Entries:
    """Hard predictions: one class per case, with confidence 1."""
    cases = labels.shape[0] if hasattr(labels, "shape") else len(labels)
    return Entries(np.arange(cases + 1), labels, np.ones(cases))


def mappings(cases: Any) -> Entries:
    """One mapping from class to confidence per case; an empty one is a reject."""
    if not is_several(cases):
        raise ShapeError(f"expected a mapping from class to confidence per case, got {cases!r}.")
    cases = list(cases)
    odd = next((case for case, row in enumerate(cases) if not hasattr(row, "items")), None)
    if odd is not None:
        raise ShapeError(f"expected a mapping from class to confidence, got {cases[odd]!r}.", case=odd)
    pairs = [pair for row in cases for pair in row.items()]
    return Entries(_offsets(cases), Labels(label for label, _ in pairs), [value for _, value in pairs])


class Labels(list[Any]):
    """Labels as they are: numbers among them are labels where the space has labels, and none becomes text."""


def is_entry(entry: Any) -> bool:
    """Whether this is a label with its score, as pipelines of Hugging Face return them."""
    return isinstance(entry, dict | Mapping) and entry.keys() == {"label", "score"}  # dict first: far faster to tell


def _labels_and_scores(cases: Sequence[Sequence[Mapping[str, Any]]]) -> Entries:
    entries = [*chain.from_iterable(cases)]
    classes, scores = [entry["label"] for entry in entries], [entry["score"] for entry in entries]
    return Entries(_offsets(cases), _codes_or_labels(classes), in_own_precision(scores))


def require_several_cases(entries: Sequence[tuple[Any, Any]]) -> None:
    """Entries with different labels and falling scores up to one in all may be the list of a single case."""
    labels, scores = {str(label) for label, _ in entries}, [score for _, score in entries]
    if len(entries) < 2 or not all(isinstance(score, float | int | np.number) for score in scores):
        return
    if len(labels) == len(entries) and sum(scores) < 1.001 and all(a >= b for a, b in pairwise(scores)):
        raise ShapeError(
            f"these {len(entries)} entries are either the list of one case, or the first class of each of "
            f"{len(entries)} cases.",
            "Put brackets around the list of one case, [outputs], or around each of several, [[one] for one in "
            "outputs].",
        )


def _side_by_side(classes: Any, confidences: Any, space: ClassSpace | None) -> Entries:
    """A sequence of classes and one of confidences per case, such as fastText's."""
    sizes, others = ([len(row) for row in column] for column in (classes, confidences))
    if sizes != others:
        odd = next((case for case, (a, b) in enumerate(zip(sizes, others, strict=False)) if a != b), None)
        if odd is None:
            raise ShapeError(f"{len(sizes)} lists of classes for {len(others)} lists of confidences.")
        raise ShapeError(f"{sizes[odd]} classes but {others[odd]} confidences.", case=odd)
    labels, values = ([*chain.from_iterable(map(_plain, column))] for column in (classes, confidences))
    bare, offsets, above_one = without_prefix(labels, space), _offsets(classes), False
    if any(isinstance(label, str) and label.startswith(PREFIX) for label in labels):
        excess, explained = fasttext_excess(offsets, np.asarray(values, dtype=np.float64))
        above_one = bool((excess > 0).any() and explained.all())
    return Entries(offsets, _codes_or_labels(bare), in_own_precision(values), above_one)


def without_prefix(labels: list[Any], space: ClassSpace | None) -> list[Any]:
    """Labels without the prefix that fastText writes, unless the labels of the space have it.

    >>> without_prefix(["__label__en", 3], None)
    ['en', 3]
    """
    if space is not None and any(str(label).startswith(PREFIX) for label in space.labels or ()):
        return labels
    return [label.removeprefix(PREFIX) if isinstance(label, str) else label for label in labels]


def fasttext_excess(offsets: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """By how much the probabilities of each list exceed one in all, and whether fastText's own addition explains it.

    It adds 1e-5 to each factor of a probability before it takes the logarithm.
    """
    sizes = np.diff(offsets)
    mass = np.bincount(np.repeat(np.arange(len(sizes)), sizes), values, len(sizes))
    return np.maximum(mass - 1, 0), mass - 1 <= _FASTTEXT_EXCESS * np.maximum(sizes, _FACTORS)


def in_own_precision(values: Sequence[Any]) -> Any:
    """Numbers of a pipeline as an array: in single precision, in which most compute, where nothing of them is lost.

    Sums are then allowed the rounding of single precision.

    >>> in_own_precision([0.5, float(np.float32(0.1))]).dtype, in_own_precision([0.5, 0.1]).dtype
    (dtype('float32'), dtype('float64'))
    """
    array = np.array([np.nan if value is None else value for value in values] or np.empty(0))
    if array.dtype != np.float64 or not len(array):
        return values if array.dtype.kind not in "iuf" else array
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    return single if np.array_equal(single, array, equal_nan=True) else array


def _codes_or_labels(classes: list[Any]) -> Any:
    """Classes as an array where all are numbers."""
    numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in classes)
    return np.array(classes) if numbers else Labels(classes)


def _plain(values: Any) -> list[Any]:
    """The values of a sequence, as Python has them."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _offsets(cases: Sequence[Any]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, cases)], dtype=np.int64)


def _is_nested(column: Any) -> bool:
    """Whether there is a sequence for each case."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column.ndim == 2
    return isinstance(column, list | tuple | np.ndarray) and all(
        isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) for row in column
    )


def _is_flat(offsets: Any, classes: Any, confidences: Any) -> bool:
    """Whether three sequences are offsets, classes and confidences, as in `TopLists.from_ragged`.

    Offsets rise from 0 to the number of entries. As the first row of a matrix they would hold a number above one.
    """
    for part in (offsets, classes, confidences):
        if not is_several(part) or not hasattr(part, "__len__") or isinstance(part, str | Mapping):
            return False
    if len(classes) != len(confidences) or not len(offsets):
        return False
    if not hasattr(offsets, "dtype") and not all(isinstance(place, int | np.integer) for place in offsets):
        return False
    at = np.asarray(offsets)
    whole = at.ndim == 1 and at.dtype.kind in "iu"
    return bool(whole and at[0] == 0 and at[-1] == len(classes) and not (at[1:] < at[:-1]).any())


def _is_array(values: Any) -> bool:
    return isinstance(values, np.ndarray) or is_foreign(values)


def _kind(array: Any) -> str:
    """Whether an array holds integers or floating-point numbers, by the name of its type."""
    name = str(array.dtype).rpartition(".")[2]
    return "float" if "float" in name else "int" if "int" in name else ""


def _rectangle(classes: Any, confidences: Any) -> Entries:
    """Two (n, k) arrays of any library, such as `torch.topk` returns, in the memory that they have."""
    if len(classes.shape) != 2 or tuple(classes.shape) != tuple(confidences.shape):
        raise ShapeError(
            f"classes {tuple(classes.shape)} and confidences {tuple(confidences.shape)} must be two arrays of the same "
            "(cases, k) shape.",
            "Largest values have it with keepdim=True.",
        )
    try:
        c, t = (np.asarray(array.detach() if hasattr(array, "detach") else array) for array in (classes, confidences))
    except (TypeError, RuntimeError) as error:
        raise ShapeError(
            f"these cannot be made numpy arrays: {str(error).rstrip('.')}.",
            "Give values.float().cpu() and indices.cpu(), or make lists that stay on their device: "
            "TopLists.from_topk(indices, values, m).",
        ) from None
    return Entries(np.arange(len(t) + 1) * t.shape[1], c.ravel(), t.ravel())


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


def as_classes(
    values: Any, space: ClassSpace, *, ndim: int = 1, strict: bool = True
) -> tuple[NDArray[Any], ClassSpace]:
    """Contiguous int32 or int64 codes, and the space with the labels that were met."""
    if isinstance(values, Labels):
        return encode_labels(values, space, strict=strict)
    if isinstance(space, LabelSets):
        return _codes_of_sets(values, space, ndim)
    c = as_array(values, "classes")
    if space.numbered and c.size:
        codes, space = encode_labels(c.ravel().tolist(), space, strict=strict)
        return codes.reshape(c.shape), space
    if c.dtype in (np.int32, np.int64):
        return np.ascontiguousarray(c), space
    if c.dtype.kind in "iuf" and c.size and float(c.max()) >= 2.0**63:
        raise ClassError(f"class {c.max()} is too large for a code.", "Codes go up to 2**63 - 1; use labels.")
    if c.dtype.kind in "iu":
        return np.ascontiguousarray(c.astype(np.int64 if c.dtype.itemsize >= 4 else np.int32)), space
    if c.size == 0 or (c.dtype.kind == "f" and np.isfinite(c).all() and (c == np.floor(c)).all()):
        return c.astype(np.int64), space
    if c.dtype.kind not in "USOT":
        raise ClassError(f"classes must be codes or labels, not {c.dtype}.")
    codes, space = encode_labels(c.ravel().tolist(), space, strict=strict)
    return codes.reshape(c.shape), space


def _codes_of_sets(values: Any, space: LabelSets, ndim: int) -> tuple[NDArray[Any], ClassSpace]:
    """Codes of label sets, one per case in any form that `LabelSets.sets` reads, or in rows; codes stay."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.ndim == ndim:
        return np.ascontiguousarray(values, np.int64), space
    if ndim == 1:
        plain = isinstance(values, list | tuple) and all(isinstance(code, int | np.integer) for code in values)
        return (np.array(values, np.int64), space) if plain else encode_labels(values, space)
    rows = [list(row) for row in values]
    if len({len(row) for row in rows}) > 1:
        raise ShapeError("the lists differ in length.", "Lists of any length go through from_dicts or from_ragged.")
    codes, space_met = _codes_of_sets([entry for row in rows for entry in row], space, 1)
    return codes.reshape(len(rows), -1 if codes.size else 0), space_met


def encode_labels(labels: Any, space: ClassSpace, *, strict: bool = True) -> tuple[NDArray[np.int64], ClassSpace]:
    """Codes for the labels of listed classes. A space without labels learns those that it meets.

    Unless it is strict, labels that are not in the space have codes from its size on.
    """
    if isinstance(space, LabelSets):
        sets = space.sets(labels)
        codes = space.encode(sets)
        if (codes < 0).any():
            shown = set(space.named(sets.take([int(np.argmax(codes < 0))]))[0])
            raise ClassError(f"class {shown!r} is not in the support of the space.")
        return codes, space.with_book(Codebook.of(sets)) if space.digests else space
    try:
        set(labels)
    except TypeError:
        odd = next(label for label in labels if not _is_hashable(label))
        raise ClassError(
            f"a class is {odd!r:.80}, which is neither a code nor a label.",
            "Label sets need a space of label sets, LabelSets; a mapping per case goes through from_dicts.",
        ) from None
    missing = next((label for label in labels if label is None or label != label), labels)
    if strict and missing is not labels:
        raise ClassError(f"a listed class is {missing}.", "An empty list is a reject; leave out what is not known.")
    if space.labels is None:
        if all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels):
            huge = next((label for label in labels if abs(label) >= 2**63), None)
            if huge is not None:
                raise ClassError(f"class {huge} is too large for a code.", "Codes go up to 2**63 - 1; use labels.")
            return np.array(labels, dtype=np.int64), space
        require_declared_order(space)
        if strict and space.per_case:
            raise SpaceError("sizes that differ per case go with class codes, or with labels given in the space.")
        met = list(dict.fromkeys(labels))
        if space.per_case or len(met) > space.size:
            if strict:
                raise SpaceError(f"{len(met)} different labels are listed, but there are only {space.size} classes.")
            return ClassSpace(labels=met).encode(labels), space
        space = ClassSpace(space.size, met)
    codes = space.encode(labels)
    if (codes < 0).any():
        foreign = dict.fromkeys(labels[at] for at in np.flatnonzero(codes < 0))
        if strict:
            label = next(iter(foreign))
            raise ClassError(f"class {label!r} is not among the labels of the space.", space.suggest(label))
        beyond = len(space.codes) if space.per_case else max(len(space.codes), int(min(space.size, 2**62)))
        places = {label: beyond + place for place, label in enumerate(foreign)}
        codes = np.array([places.get(label, code) for label, code in zip(labels, codes, strict=True)], np.int64)
    return codes, space


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def as_offsets(values: Any, entries: int) -> NDArray[np.int64]:
    """Where each case begins among so many entries, and the end: checked, because kernels go where they say."""
    at = as_array(values, "offsets")
    if at.ndim != 1 or at.dtype.kind not in "iu" or not len(at):
        shown = "an empty array" if at.ndim == 1 and not len(at) else f"an array of {at.dtype} of shape {at.shape}"
        raise ShapeError(f"offsets are flat integers, one more than there are cases, not {shown}.")
    if at[0] < 0 or at[-1] > entries or (at[1:] < at[:-1]).any():
        raise ShapeError(
            f"offsets must rise from 0 to the number of entries ({entries}); these go from {at[0]} to {at[-1]}"
            f"{' and fall in between' if (at[1:] < at[:-1]).any() else ''}.",
            "Case i has the entries offsets[i] to offsets[i + 1].",
        )
    return at.astype(np.int64)


def csr(matrix: Any, space: ClassSpace | None, *, strict: bool = True) -> tuple[Rows, ClassSpace]:
    """A sparse matrix by rows."""
    if not all(hasattr(matrix, name) for name in ("indptr", "indices", "data", "shape")):
        raise ShapeError("from_csr takes a CSR matrix.", "Convert with .tocsr() first.")
    if getattr(matrix, "format", "csr") != "csr":
        raise ShapeError(f"from_csr takes rows, not the {matrix.format} format.", "Convert with .tocsr() first.")
    shape = matrix.shape
    if not isinstance(shape, tuple) or len(shape) != 2 or not all(isinstance(n, int | np.integer) for n in shape):
        raise ShapeError(f"a CSR matrix has a row per case and a column per class, not the shape {shape!r}.")
    cases, columns = len(as_array(matrix.indptr, "offsets").ravel()) - 1, int(shape[1])
    if cases != shape[0]:
        raise ShapeError(f"a CSR matrix of {shape[0]:,} rows has one more offset (indptr), not {cases + 1:,}.")
    known = as_space(columns if space is None else space)
    if isinstance(known, LabelSets) and columns == len(known.names) != known.size:
        raise wrong_width(columns, known, as_array(matrix.data, "confidences"))
    if strict and not known.per_case and known.size < columns:
        raise ShapeError(f"{columns} columns for {known!r}.", "Declare the right number of classes.")
    return ragged(matrix.indptr, matrix.indices, matrix.data, known, strict=strict)


def to_rows(
    offsets: NDArray[Any],
    classes: NDArray[Any] | None,
    confidences: NDArray[Any],
    space: ClassSpace,
    log_rest: Any = None,
    precision: int | None = None,
) -> Rows:
    """Flat columns as the kernels take them. Offsets, which are checked, are an own copy that nobody writes to."""
    size, log_size = space.as_floats
    offsets = np.array(offsets, dtype=np.int64)
    if len(offsets) and offsets[0] > 0:
        start, stop = offsets[0], offsets[-1]
        offsets, confidences = offsets - start, confidences[start:stop]
        classes = None if classes is None else classes[start:stop]
    rest = None if log_rest is None else as_vector(log_rest, "log_rest")
    return Rows(read_only(offsets), classes, confidences, rest, size, log_size, precision=precision)


def precision_of(values: Any) -> int | None:
    """The significant bits of an array whose type the kernels do not have."""
    return 11 if getattr(values, "dtype", None) == np.float16 else None


def rectangle(classes: Any, confidences: Any, space: Any, log_rest: Any) -> tuple[Rows, ClassSpace]:
    """(n, k) arrays."""
    codes, space = as_classes(classes, as_space(space), ndim=2)
    t = as_floats(confidences, "confidences")
    if t.ndim != 2 or codes.shape != t.shape:
        raise ShapeError(
            f"classes {codes.shape} and confidences {t.shape} must be two arrays of the same (cases, k) shape.",
            "A single list is one row: pass arrays of shape (1, k).",
        )
    n, k = t.shape
    offsets = np.arange(n + 1) * k
    return to_rows(offsets, codes.ravel(), t.ravel(), space, log_rest, precision_of(confidences)), space


def ragged(
    offsets: Any, classes: Any, confidences: Any, space: Any, log_rest: Any = None, *, strict: bool = True
) -> tuple[Rows, ClassSpace]:
    """Arrow's and CSR's layout."""
    codes, space = as_classes(classes, as_space(space), strict=strict)
    t = as_floats(confidences, "confidences")
    if codes.ndim != 1 or t.ndim != 1:
        raise ShapeError("offsets (integers), classes and confidences must be flat arrays.")
    if len(codes) != len(t):
        raise ShapeError(f"{len(codes)} classes but {len(t)} confidences.", "Each class needs one confidence.")
    at = as_offsets(offsets, len(t))
    end = int(at[-1])
    return to_rows(at, codes[:end], t[:end], space, log_rest, precision_of(confidences)), space


def dense(p: Any, space: Any) -> tuple[Rows, ClassSpace]:
    """(n, m) probabilities: every class is listed, in order."""
    t = as_floats(p, "probabilities")
    if t.ndim != 2:
        raise ShapeError(f"probabilities must be a (cases, classes) array, not {t.shape}.")
    n, m = t.shape
    known = _of_width(m, space, t)
    return to_rows(np.arange(n + 1) * m, None, t.ravel(), known, precision=precision_of(p)), known


def _of_width(m: int, space: Any, values: NDArray[Any] | None = None) -> ClassSpace:
    known = as_space(m if space is None else space)
    if known.per_case or known.size != m:
        raise wrong_width(m, known, values)
    return known


def softmax(z: Any, space: Any, k: int | None) -> tuple[Rows, ClassSpace, dict[str, int]]:
    """Probabilities from logits in double precision, of all classes in order or of the k largest; what underflows.

    Neither the choice nor the log of the mass of all others suffers where probabilities are too small to be numbers.
    """
    x = _as_logits(z)
    n, m = x.shape
    if k is None or as_count(k) >= m:
        e = np.exp(x)
        rows, known = dense(e / e.sum(axis=1, keepdims=True), space)
        return rows, known, underflows(replace(rows, confidences=x.ravel()), rows)
    known = _of_width(m, space)
    log_total = _log_sum(x)
    codes, values, _ = kernel.select(x, k)
    np.put_along_axis(x, codes.astype(np.intp), -np.inf, axis=1)
    logs = (values - log_total[:, None]).ravel()
    given = to_rows(np.arange(n + 1) * k, codes.ravel(), logs, known, _log_sum(x) - log_total)
    rows = exponentiate(given)
    return rows, known, underflows(given, rows)


def _as_logits(z: Any) -> NDArray[np.float64]:
    """Logits as a fresh array, shifted so that the largest of each case is zero."""
    x = as_floats(z, "logits").astype(np.float64)
    if x.ndim != 2 or not x.shape[1]:
        raise ShapeError(f"logits must be a (cases, classes) array, not {x.shape}.")
    bad = np.isnan(x).any(axis=1) | np.isposinf(x).any(axis=1) | np.isneginf(x).all(axis=1)
    if bad.any():
        row, more = int(np.argmax(bad)), int(bad.sum()) - 1
        raise ConfidenceError("a logit is NaN or infinite, or all are minus infinity.", case=row, more=more)
    x -= x.max(axis=1, keepdims=True, initial=-np.inf)
    return x


def _log_sum(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(sum(exp(x))) of each row."""
    top = x.max(axis=1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        log: NDArray[np.float64] = np.log(np.exp(x - top).sum(axis=1)) + top[:, 0]
    return log
