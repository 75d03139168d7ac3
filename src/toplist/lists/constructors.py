"""Constructors of `TopLists`, one for each form of predictions in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Duplicates, Scale
from toplist.core.arguments import as_array
from toplist.core.kernel import Rows
from toplist.errors import ShapeError
from toplist.lists.device import DeviceLists, is_foreign
from toplist.lists.rows import as_classes, csr, dense, mappings, ragged, rectangle, softmax, to_rows
from toplist.lists.space import ClassSpace, as_space
from toplist.lists.validation import CheckedColumns, Repairs, validate


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
        entries = mappings(lists)
        rows, space = ragged(entries.offsets, entries.classes, entries.confidences, space, log_rest)
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
        full = cls._validated(rows, space, ids, Repairs(scale=scale, normalize=normalize))
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
        rows, known, lost = softmax(z, space, k)
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
        rows, known = csr(matrix, None if space is None else as_space(space))
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
    @abstractmethod
    def _of(cls, space: ClassSpace, ids: NDArray[Any] | None, checked: CheckedColumns) -> Self:
        """Lists that passed the door."""

    @abstractmethod
    def truncate(self, k: int | None = None, *, mass: float | None = None) -> Self:
        """The most confident classes."""
