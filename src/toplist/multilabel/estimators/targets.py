"""What is to be learnt: which labels each training case has."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from toplist.errors import ShapeError, SpaceError, TopListError

Bools = NDArray[np.bool_]
Form = Literal["vector", "dense", "sparse", "spmatrix"]


@dataclass(frozen=True, slots=True)
class Targets:
    """An indicator matrix with a row per case, the names of its columns, and the form in which it came.

    A vector of two values is one label, named after the larger value, that is there or not.
    """

    matrix: Bools
    names: tuple[Hashable, ...]
    classes: Any  # as in scikit-learn: the two values of a vector, or the places of the labels
    form: Form


def read_targets(y: Any, columns: Any, *, empty: bool) -> Targets:
    """Targets from what scikit-learn has let through; `columns` are the names in a data frame, or None."""
    if y.ndim == 1:
        targets = _from_vector(y)
    else:
        form: Form = "dense" if not sparse.issparse(y) else "spmatrix" if sparse.isspmatrix(y) else "sparse"
        dense = _zeros_and_ones(y)
        names = tuple(range(dense.shape[1])) if columns is None else tuple(columns)
        targets = Targets(dense, names, np.arange(len(names)), form)
    bare = ~targets.matrix.any(axis=1)
    if not empty and bare.any():
        raise SpaceError(f"training case {int(np.argmax(bare))} has no label; allow the empty set with empty=True.")
    return targets


def shaped(indicators: Bools, classes: Any, form: Form) -> Any:
    """Predictions in the form in which the targets came."""
    if form == "vector":
        return classes[indicators[:, 0].astype(np.intp)]
    whole = indicators.astype(np.int64)
    return {"dense": np.asarray, "sparse": sparse.csr_array, "spmatrix": sparse.csr_matrix}[form](whole)


def _from_vector(y: NDArray[Any]) -> Targets:
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        raise TopListError(
            f"Only binary classification is supported. The type of the target is {kind}: for several labels give an "
            "indicator matrix with a column for each."
        )
    values = np.unique(y)
    if len(values) == 1:
        raise TopListError(f"the target has one class, {values[0]!r}; there is nothing to tell apart.")
    name = values[1].item() if isinstance(values[1], np.generic) else values[1]
    return Targets((y == values[1])[:, None], (name,), values, "vector")


def _zeros_and_ones(y: Any) -> Bools:
    if not y.shape[1]:
        raise ShapeError("the indicator matrix has no columns.", "Each label has one.")
    dense = y.toarray() if sparse.issparse(y) else y
    try:
        known = bool(np.isin(dense, (0, 1)).all())
    except TypeError:
        known = False
    if not known:
        kind = type_of_target(dense, input_name="y")
        raise TopListError(
            f"Only binary classification is supported. The type of the target is {kind}: an indicator matrix holds a "
            "one where a case has a label, and zeros."
        )
    return np.asarray(dense, dtype=np.float64) > 0
