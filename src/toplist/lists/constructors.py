"""Constructors of `TopLists`, one for each form of predictions in memory, and the flat columns that they make of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Duplicates, Scale
from toplist.core import kernel
from toplist.core.arguments import as_array, as_count, as_floats, as_vector, is_several, read_only
from toplist.core.kernel import Rows
from toplist.errors import ClassError, ConfidenceError, MassError, ShapeError, SpaceError
from toplist.lists.device import DeviceLists, is_foreign
from toplist.lists.error_messages import as_a_whole, wrong_width
from toplist.lists.labelsets import Codebook, LabelSets, Sets
from toplist.lists.space import ClassSpace, as_space, require_declared_order
from toplist.lists.validation import CheckedColumns, Repairs, exponentiate, underflows, validate


class Constructors:
    """The `from_` constructors of `TopLists`. Every value is checked; repairs are made only on request."""

    __slots__ = ()

    @classmethod
    def from_topk(
        cls,
        classes: Any,
        confidences: Any,
        space: Any,
        *,
        ids: Any = None,
        log_rest: Any = None,
        scale: Scale = "probability",
        normalize: bool = False,
        duplicates: Duplicates = "error",
    ) -> Any:
        """Lists of one length from two (n, k) arrays. Arrays of torch, JAX or CuPy stay on their device.

        Parameters
        ----------
        classes : array-like of shape (n, k)
            Codes or labels of the listed classes.
        confidences : array-like of shape (n, k)
            Their confidences.
        space : ClassSpace, int or sequence of labels
            The classes: how many, or their labels.
        ids : array-like, optional
            Case ids, one per case.
        log_rest : array-like, optional
            Log of the unlisted mass per case, where it is known better than one minus the sum.
        scale : {"probability", "percent", "log"}, default "probability"
            Scale of the confidences.
        normalize : bool, default False
            Divide the confidences of a case by their sum where that is above one.
        duplicates : {"error", "sum"}, default "error"
            What to do with a class that a case lists twice.

        Returns
        -------
        TopLists or DeviceLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> tl.TopLists.from_topk([[3, 1]], [[0.6, 0.3]], 5)
        TopLists(1 case, k = 2, 5 classes)
        """
        repairs = Repairs(scale=scale, normalize=normalize, duplicates=duplicates)
        if is_foreign(confidences):
            return DeviceLists.from_topk(classes, confidences, space, log_rest=log_rest, ids=ids, repairs=repairs)
        rows, space = rectangle(classes, confidences, space, log_rest)
        return cls._validated(rows, space, ids, repairs)

    @classmethod
    def from_ragged(
        cls,
        offsets: Any,
        classes: Any,
        confidences: Any,
        space: Any,
        *,
        ids: Any = None,
        log_rest: Any = None,
        scale: Scale = "probability",
        normalize: bool = False,
        duplicates: Duplicates = "error",
    ) -> Self:
        """Lists of any lengths: case i has the entries offsets[i] to offsets[i + 1], as in Arrow and CSR.

        Parameters
        ----------
        offsets : array-like of shape (n + 1,)
            Where each case starts, and the end.
        classes : array-like
            Codes or labels of the listed classes, case after case.
        confidences : array-like
            Their confidences.
        space : ClassSpace, int or sequence of labels
            The classes: how many, or their labels.
        ids : array-like, optional
            Case ids, one per case.
        log_rest : array-like, optional
            Log of the unlisted mass per case, where it is known better than one minus the sum.
        scale : {"probability", "percent", "log"}, default "probability"
            Scale of the confidences.
        normalize : bool, default False
            Divide the confidences of a case by their sum where that is above one.
        duplicates : {"error", "sum"}, default "error"
            What to do with a class that a case lists twice.

        Returns
        -------
        TopLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> tl.TopLists.from_ragged([0, 2, 2], [3, 1], [0.6, 0.3], 5)
        TopLists(2 cases, k from 0 to 2, 5 classes)
        """
        rows, space = ragged(offsets, classes, confidences, space, log_rest)
        return cls._validated(rows, space, ids, Repairs(scale=scale, normalize=normalize, duplicates=duplicates))

    @classmethod
    def from_dicts(
        cls,
        lists: Any,
        space: Any,
        *,
        ids: Any = None,
        log_rest: Any = None,
        scale: Scale = "probability",
        normalize: bool = False,
    ) -> Self:
        """One mapping from class to confidence per case; an empty one is the empty list.

        Parameters
        ----------
        lists : sequence of mappings
            Class to confidence, per case.
        space : ClassSpace, int or sequence of labels
            The classes: how many, or their labels.
        ids : array-like, optional
            Case ids, one per case.
        log_rest : array-like, optional
            Log of the unlisted mass per case, where it is known better than one minus the sum.
        scale : {"probability", "percent", "log"}, default "probability"
            Scale of the confidences.
        normalize : bool, default False
            Divide the confidences of a case by their sum where that is above one.

        Returns
        -------
        TopLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> tl.TopLists.from_dicts([{"cat": 0.7}, {}], 10)
        TopLists(2 cases, k from 0 to 1, 10 classes)
        """
        rows, space = dicts(lists, space, log_rest)
        return cls._validated(rows, space, ids, Repairs(scale=scale, normalize=normalize))

    @classmethod
    def from_labels(cls, labels: Any, space: Any, *, ids: Any = None) -> Self:
        """Hard predictions: one class per case, with confidence 1.

        Parameters
        ----------
        labels : array-like
            Codes, labels, or label sets in any form that `LabelSets.sets` reads.
        space : ClassSpace, int or sequence of labels
            The classes: how many, or their labels.
        ids : array-like, optional
            Case ids, one per case.

        Returns
        -------
        TopLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> tl.TopLists.from_labels(["dog", "cat"], tl.ClassSpace(labels=["cat", "dog"]))[0]
        TopList(dog 1; unlisted 0 over 1 class)
        """
        codes, space = as_classes(labels, as_space(space))
        if codes.ndim != 1:
            raise ShapeError(f"hard predictions are one label per case, not an array of shape {codes.shape}.")
        rows = to_rows(np.arange(len(codes) + 1), codes, np.ones(len(codes)), space)
        return cls._validated(rows, space, ids, Repairs())

    @classmethod
    def from_proba(
        cls,
        p: Any,
        space: Any = None,
        k: int | None = None,
        *,
        ids: Any = None,
        scale: Scale = "probability",
        normalize: bool = False,
    ) -> Self:
        """Distributions, one row per case and one column per class.

        Parameters
        ----------
        p : array-like of shape (n, m)
            Probabilities.
        space : ClassSpace, int or sequence of labels, optional
            The classes; by default one per column.
        k : int, optional
            Keep the k most likely classes of each case.
        ids : array-like, optional
            Case ids, one per case.
        scale : {"probability", "percent", "log"}, default "probability"
            Scale of the confidences.
        normalize : bool, default False
            Divide the confidences of a case by their sum where that is above one.

        Returns
        -------
        TopLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> tl.TopLists.from_proba([[0.2, 0.5, 0.3]], k=1)[0]
        TopList(1 0.5; unlisted 0.5 over 2 classes)
        """
        rows, space = dense(p, space)
        full = cls._validated_whole(rows, space, ids, Repairs(scale=scale, normalize=normalize))
        return full if k is None else full.truncate(k)

    @classmethod
    def from_logits(cls, z: Any, space: Any = None, k: int | None = None, *, ids: Any = None) -> Self:
        """Softmax of logits.

        Parameters
        ----------
        z : array-like of shape (n, m)
            Logits.
        space : ClassSpace, int or sequence of labels, optional
            The classes; by default one per column.
        k : int, optional
            Keep the k most likely classes of each case, with the exact log of the mass left over.
        ids : array-like, optional
            Case ids, one per case.

        Returns
        -------
        TopLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> tl.TopLists.from_logits([[0.0, 0.0]], k=1)[0]
        TopList(0 0.5; unlisted 0.5 over 1 class)
        """
        rows, known, lost = softmax(z, space) if k is None else top_of_logits(z, space, k)
        return cls._validated(rows, known, ids, Repairs(), lost)

    @classmethod
    def from_csr(
        cls,
        matrix: Any,
        space: Any = None,
        *,
        ids: Any = None,
        scale: Scale = "probability",
        normalize: bool = False,
        duplicates: Duplicates = "error",
    ) -> Self:
        """A sparse matrix in CSR form, one row per case and one column per class.

        Parameters
        ----------
        matrix : sparse matrix
            One of scipy's, or anything with `indptr`, `indices`, `data` and `shape`.
        space : ClassSpace, int or sequence of labels, optional
            The classes; by default one per column.
        ids : array-like, optional
            Case ids, one per case.
        scale : {"probability", "percent", "log"}, default "probability"
            Scale of the confidences.
        normalize : bool, default False
            Divide the confidences of a case by their sum where that is above one.
        duplicates : {"error", "sum"}, default "error"
            What to do with a class that a case lists twice.

        Returns
        -------
        TopLists
            The lists.

        Examples
        --------
        >>> import toplist as tl
        >>> from scipy.sparse import csr_array
        >>> tl.TopLists.from_csr(csr_array([[0.0, 0.7, 0.3]]))
        TopLists(1 case, k = 2, 3 classes)
        """
        offsets, codes, t, columns = csr_parts(matrix)
        known = as_space(columns if space is None else space)
        if isinstance(known, LabelSets) and columns == len(known.names) != known.size:
            raise wrong_width(columns, known, as_array(matrix.data, "confidences"))
        if not known.per_case and known.size < columns:
            raise ShapeError(f"{columns} columns for {known!r}.", "Declare the right number of classes.")
        rows, known = ragged(offsets, codes, t, known, None)
        return cls._validated(rows, known, ids, Repairs(scale=scale, normalize=normalize, duplicates=duplicates))

    @classmethod
    def _validated(
        cls,
        rows: Rows,
        space: ClassSpace,
        ids: Any,
        repairs: Repairs,
        before: Mapping[str, int] = MappingProxyType({}),  # what was repaired on the way to the door
    ) -> Self:
        names = None if ids is None else as_array(ids, "ids")
        if names is not None and names.ndim != 1:
            raise ShapeError("ids must be one per case.")
        checked = validate(rows, space, ids=names, repairs=repairs)
        return cls._of(space, names, replace(checked, repairs={**checked.repairs, **before}) if before else checked)

    @classmethod
    def _validated_whole(cls, rows: Rows, space: ClassSpace, ids: Any, repairs: Repairs) -> Self:
        """Distributions; where most of them are none, the error says what the matrix is instead."""
        try:
            return cls._validated(rows, space, ids, repairs)
        except MassError as error:
            if repairs.scale != "probability":
                raise
            raise as_a_whole(error, rows.confidences.reshape(len(rows), -1)) from None

    @classmethod
    @abstractmethod
    def _of(cls, space: ClassSpace, ids: NDArray[Any] | None, checked: CheckedColumns) -> Self:
        """Lists that passed the door."""

    @abstractmethod
    def truncate(self, k: int | None = None, *, mass: float | None = None) -> Self:
        """The most confident classes."""


def as_classes(values: Any, space: ClassSpace, *, ndim: int = 1) -> tuple[NDArray[Any], ClassSpace]:
    """Contiguous int32 or int64 codes, and the space with the labels that were met."""
    if isinstance(space, LabelSets) and ndim == 1 and _are_sets(values):
        return encode_labels(values, space)
    c = _as_codes_or_sets(values, ndim) if isinstance(space, LabelSets) else as_array(values, "classes")
    if space.numbered and c.size:
        codes, space = encode_labels(c.ravel().tolist(), space)
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
    codes, space = encode_labels(c.ravel().tolist(), space)
    return codes.reshape(c.shape), space


def _are_sets(values: Any) -> bool:
    """Whether these are label sets in a batch, or as a matrix of zeros and ones, dense or sparse."""
    return isinstance(values, Sets) or hasattr(values, "tocsr") or len(getattr(values, "shape", ())) == 2


def _as_codes_or_sets(values: Any, ndim: int) -> NDArray[Any]:
    """Label sets, which numpy would take apart, as an array of objects."""
    if isinstance(values, np.ndarray) and (values.dtype.kind in "iu" or values.ndim == ndim):
        return values
    rows = [list(row) for row in values] if ndim == 2 else [list(values)]
    if len({len(row) for row in rows}) > 1:
        raise ShapeError("the lists differ in length.", "Lists of any length go through from_dicts or from_ragged.")
    out = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        out[i] = [c if isinstance(c, int | np.integer | str) else frozenset(c) for c in row]
    if out.size and all(isinstance(c, int | np.integer) for c in out.ravel()):
        out = out.astype(np.int64)
    return out if ndim == 2 else out[0]


def encode_labels(labels: Any, space: ClassSpace) -> tuple[NDArray[np.int64], ClassSpace]:
    """Codes for the labels of listed classes. A space without labels learns those that it meets."""
    if isinstance(space, LabelSets):
        sets = space.sets(labels)
        codes = space.encode(sets)
        if (codes < 0).any():
            shown = set(space.named(sets.take([int(np.argmax(codes < 0))]))[0])
            raise ClassError(f"class {shown!r} is not in the support of the space.")
        return codes, space.with_book(Codebook.of(sets)) if space.digests else space
    _require_names(labels)
    missing = next((label for label in labels if label is None or label != label), labels)
    if missing is not labels:
        raise ClassError(f"a listed class is {missing}.", "An empty list is a reject; leave out what is not known.")
    if space.labels is None:
        if all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels):
            huge = next((label for label in labels if abs(label) >= 2**63), None)
            if huge is not None:
                raise ClassError(f"class {huge} is too large for a code.", "Codes go up to 2**63 - 1; use labels.")
            return np.array(labels, dtype=np.int64), space
        if space.per_case:
            raise SpaceError("sizes that differ per case go with class codes, or with labels given in the space.")
        require_declared_order(space)
        known = list(dict.fromkeys(labels))
        if len(known) > space.size:
            raise SpaceError(f"{len(known)} different labels are listed, but there are only {space.size} classes.")
        space = ClassSpace(space.size, known)
    codes = space.encode(labels)
    if (codes < 0).any():
        label = labels[int(np.argmax(codes < 0))]
        raise ClassError(f"class {label!r} is not among the labels of the space.", space.suggest(label))
    return codes, space


def _require_names(labels: Any) -> None:
    try:
        set(labels)
    except TypeError:
        odd = next(label for label in labels if not _is_hashable(label))
        raise ClassError(
            f"a class is {odd!r:.80}, which is neither a code nor a label.",
            "Label sets need a space of label sets, LabelSets; a mapping per case goes through from_dicts.",
        ) from None


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


def csr_parts(matrix: Any) -> tuple[Any, Any, Any, int]:
    """Offsets, classes and confidences of a CSR matrix, as they are, and its number of columns."""
    if not all(hasattr(matrix, name) for name in ("indptr", "indices", "data", "shape")):
        raise ShapeError("from_csr takes a CSR matrix.", "Convert with .tocsr() first.")
    if getattr(matrix, "format", "csr") != "csr":
        raise ShapeError(f"from_csr takes rows, not the {matrix.format} format.", "Convert with .tocsr() first.")
    shape = matrix.shape
    if not isinstance(shape, tuple) or len(shape) != 2 or not all(isinstance(n, int | np.integer) for n in shape):
        raise ShapeError(f"a CSR matrix has a row per case and a column per class, not the shape {shape!r}.")
    cases = len(as_array(matrix.indptr, "offsets").ravel()) - 1
    if cases != shape[0]:
        raise ShapeError(f"a CSR matrix of {shape[0]:,} rows has one more offset (indptr), not {cases + 1:,}.")
    return matrix.indptr, matrix.indices, matrix.data, int(shape[1])


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


def ragged(offsets: Any, classes: Any, confidences: Any, space: Any, log_rest: Any) -> tuple[Rows, ClassSpace]:
    """Arrow's and CSR's layout."""
    codes, space = as_classes(classes, as_space(space))
    t = as_floats(confidences, "confidences")
    if codes.ndim != 1 or t.ndim != 1:
        raise ShapeError("offsets (integers), classes and confidences must be flat arrays.")
    if len(codes) != len(t):
        raise ShapeError(f"{len(codes)} classes but {len(t)} confidences.", "Each class needs one confidence.")
    at = as_offsets(offsets, len(t))
    end = int(at[-1])
    return to_rows(at, codes[:end], t[:end], space, log_rest, precision_of(confidences)), space


def dicts(lists: Sequence[Mapping[Any, float]], space: Any, log_rest: Any) -> tuple[Rows, ClassSpace]:
    """One mapping from class to confidence per case; an empty one is a reject."""
    if not is_several(lists):
        raise ShapeError(f"expected a mapping from class to confidence per case, got {lists!r}.")
    rows = list(lists)
    bad = next((i for i, row in enumerate(rows) if not hasattr(row, "items")), None)
    if bad is not None:
        raise ShapeError(f"expected a mapping from class to confidence, got {rows[bad]!r}.", case=bad)
    sizes = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    pairs = [pair for row in rows for pair in row.items()]
    codes, space = encode_labels([c for c, _ in pairs], as_space(space))
    t = as_floats([v for _, v in pairs] or np.empty(0), "confidences")
    if t.ndim != 1:
        raise ShapeError("each class needs one confidence.")
    return to_rows(np.concatenate(([0], np.cumsum(sizes))), codes, t, space, log_rest), space


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


def softmax(z: Any, space: Any) -> tuple[Rows, ClassSpace, dict[str, int]]:
    """Probabilities from logits, row by row in double precision: every class is listed, in order; what underflows."""
    x = _as_logits(z)
    e = np.exp(x)
    rows, known = dense(e / e.sum(axis=1, keepdims=True), space)
    return rows, known, underflows(replace(rows, confidences=x.ravel()), rows)


def top_of_logits(z: Any, space: Any, k: int) -> tuple[Rows, ClassSpace, dict[str, int]]:
    """The k largest logits of each case as probabilities, and the log of the mass of all others; what underflows.

    Neither the choice nor the rest mass suffers where probabilities are too small to be numbers.
    """
    x = _as_logits(z)
    n, m = x.shape
    known = _of_width(m, space)
    if as_count(k) >= m:
        return softmax(z, known)
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
