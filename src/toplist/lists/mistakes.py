"""Matrices that were given for distributions and are something else: marginals, or label sets as zeros and ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import MassError, ShapeError
from toplist.labelsets import LabelSets
from toplist.lists.complaints import LABEL_SETS
from toplist.space import ClassSpace, show_size

_PER_LABEL = "Probabilities per label are marginals:"


def wrong_width(columns: int, space: ClassSpace, values: NDArray[Any] | None = None) -> ShapeError:
    """The error for a matrix that has not a column per class; `values` are its entries, or those that are not zero."""
    bits = values is not None and are_bits(values)
    if isinstance(space, LabelSets) and columns == len(space.names):
        problem = f"{columns} columns for {space!r}: one per label, not one for each of {show_size(space.size)} sets."
        if bits:
            remedy = "Label sets as zeros and ones are hard predictions: TopLists.from_labels."
        elif space.support is None:
            remedy = f"{_PER_LABEL} make lists of label sets with toplist.multilabel.best_sets(P, k, space)."
        else:
            remedy = f"{_PER_LABEL} score the sets of the support, and list them with toplist.multilabel.support_sets."
        return ShapeError(problem, remedy)
    remedy = "A distribution has one column per class; for lists of fewer classes use from_topk."
    if isinstance(space, LabelSets):
        remedy = "A distribution has a column for each label set; zeros and ones have one for each label."
    elif bits and values is not None and (values.sum(axis=-1) != 1).any():
        remedy = LABEL_SETS
    return ShapeError(f"{columns} columns for {space!r}.", remedy)


def as_a_whole(error: MassError, p: NDArray[Any]) -> MassError:
    """The error for rows that do not sum to one, with the remedy that all of them together suggest."""
    sums = p.sum(axis=1, dtype=np.float64)
    if are_bits(p):
        remedy = LABEL_SETS
    elif _are_marginals(p, sums):
        remedy = (
            "The sums differ from case to case: these look like marginals, a probability per label. Make lists of "
            "label sets with toplist.multilabel.best_sets(P, k, LabelSets(labels)). If they are unnormalised weights, "
            "pass normalize=True."
        )
    else:
        return error
    return MassError(error.problem, remedy, case=error.case, name=error.name, more=error.more)


def are_bits(values: NDArray[Any]) -> bool:
    """Whether there is nothing but zeros and ones."""
    return values.dtype == np.bool_ or (values.dtype.kind in "iuf" and bool(((values == 0) | (values == 1)).all()))


def _are_marginals(p: NDArray[Any], sums: NDArray[np.float64]) -> bool:
    """Probabilities whose sums are mostly not one, differ widely, and are above one somewhere or far below everywhere.

    A row or two that are wrong among distributions are not that, nor are rows that are all off by one factor.
    """
    if len(p) < 2 or not ((p >= 0) & (p <= 1)).all():
        return False
    widely = np.ptp(sums) > 0.05 and np.mean(np.abs(sums - 1) > 0.01) > 0.5
    return bool(widely and (sums.max() > 1.05 or sums.max() < 0.5))
