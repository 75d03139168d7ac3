"""Metrics of a predicted label set against the true one, and the decision that is best for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from toplist._typing import Floats, Ints
from toplist.errors import ShapeError, SpaceError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.set_decisions import f1_sets, hamming_sets, jaccard_sets, mode_sets


def set_accuracy(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Subset accuracy: per case 1 if the predicted set is the true one, else 0.

    Parameters
    ----------
    x, y : Sets, matrix of zeros and ones, or collections of labels
        The predicted and the true sets.
    space : LabelSets, optional
        The labels; collections of labels need it.

    Returns
    -------
    ndarray
        One number per case.

    Examples
    --------
    >>> set_accuracy(np.array([[1, 0, 1], [1, 0, 0]]), np.array([[1, 0, 1], [1, 1, 0]]))
    array([1., 0.])
    """
    both, predicted, true, _ = _overlap(x, y, space)
    return np.where((both == predicted) & (both == true), 1.0, 0.0)


def instance_f1(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Instance F1 (paper, section 2.2): twice the number of common labels by the sum of both sizes; 1 for empty sets.

    Parameters
    ----------
    x, y : Sets, matrix of zeros and ones, or collections of labels
        The predicted and the true sets.
    space : LabelSets, optional
        The labels; collections of labels need it.

    Returns
    -------
    ndarray
        One number per case.

    Examples
    --------
    >>> instance_f1([{"a"}, {"a", "b"}, set()], [{"a", "b"}, {"c"}, set()], LabelSets("abc")).round(4)
    array([0.6667, 0.    , 1.    ])
    """
    both, predicted, true, _ = _overlap(x, y, space)
    return _ratio(2 * both, predicted + true)


def jaccard(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Jaccard index: the number of common labels by that of labels in either set; 1 if both are empty.

    Parameters
    ----------
    x, y : Sets, matrix of zeros and ones, or collections of labels
        The predicted and the true sets.
    space : LabelSets, optional
        The labels; collections of labels need it.

    Returns
    -------
    ndarray
        One number per case.

    Examples
    --------
    >>> jaccard([{"a"}, {"a", "b"}, set()], [{"a", "b"}, {"c"}, set()], LabelSets("abc"))
    array([0.5, 0. , 1. ])
    """
    both, predicted, true, _ = _overlap(x, y, space)
    return _ratio(both, predicted + true - both)


def hamming(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Hamming loss: the share of labels that are in one of the two sets only; lower is better.

    Parameters
    ----------
    x, y : Sets, matrix of zeros and ones, or collections of labels
        The predicted and the true sets.
    space : LabelSets, optional
        The labels; collections of labels need it.

    Returns
    -------
    ndarray
        One number per case.

    Examples
    --------
    >>> hamming([{"a"}, {"a", "b"}, set()], [{"a", "b"}, {"c"}, set()], LabelSets("abc")).round(4)
    array([0.3333, 1.    , 0.    ])
    """
    both, predicted, true, width = _overlap(x, y, space)
    return (predicted + true - 2 * both) / max(width, 1)


@dataclass(frozen=True, slots=True)
class SetMetric:
    """A metric of label sets, and the decision that is best for it under a top list; call it as its `function`.

    Attributes
    ----------
    name : str
        Its name in `METRICS`.
    function : callable
        Of predicted sets, true sets and a space: one number per case.
    better : {"higher", "lower"}
        Which values are better.
    elicits : str
        Which set is best for it, in words.
    decide : callable
        From top lists to one set per case.
    exact : bool
        Whether the decision is the best of all sets, or only of those that are tried.

    Examples
    --------
    >>> METRICS["instance_f1"].elicits
    'the set that the general F-measure maximizer finds, which need not be the most likely one'
    """

    name: str
    function: Callable[[Any, Any, LabelSets | None], Floats]
    better: Literal["higher", "lower"]
    elicits: str
    decide: Callable[[TopLists], Sets]
    exact: bool = True

    def __call__(self, x: Any, y: Any, space: LabelSets | None = None) -> Floats:
        """One number per case."""
        return self.function(x, y, space)


METRICS: dict[str, SetMetric] = {
    metric.name: metric
    for metric in (
        SetMetric("set_accuracy", set_accuracy, "higher", "the most likely set, the mode", mode_sets),
        SetMetric(
            "instance_f1",
            instance_f1,
            "higher",
            "the set that the general F-measure maximizer finds, which need not be the most likely one",
            f1_sets,
        ),
        SetMetric(
            "jaccard",
            jaccard,
            "higher",
            "a set for which no closed form is known, and which need not be the most likely one",
            jaccard_sets,
            exact=False,
        ),
        SetMetric(
            "hamming",
            hamming,
            "lower",
            "the labels with a marginal probability above one half, which may be a set that never occurs",
            hamming_sets,
        ),
    )
}


def _overlap(x: Any, y: Any, space: LabelSets | None) -> tuple[Ints, Ints, Ints, int]:
    """Per case the numbers of common, predicted and true labels; and the number of all labels."""
    predicted, true = _as_sets(x, space), _as_sets(y, space)
    if len(predicted) != len(true):
        raise ShapeError(f"{len(predicted)} predicted sets for {len(true)} true ones.", "Each case needs one of each.")
    if predicted.width != true.width:
        raise ShapeError(
            f"the predicted sets are of {predicted.width} labels, the true ones of {true.width}.",
            "Both need the same labels, in the same order.",
        )
    n, width = len(true), max(true.width, 1)
    mine, theirs = predicted.rows * width + predicted.labels, true.rows * width + true.labels
    if not len(theirs):
        return np.zeros(n, np.int64), predicted.sizes, true.sizes, true.width
    place = np.minimum(np.searchsorted(theirs, mine), len(theirs) - 1)
    both = np.bincount(predicted.rows[theirs[place] == mine], minlength=n)
    return both.astype(np.int64), predicted.sizes, true.sizes, true.width


def _as_sets(given: Any, space: LabelSets | None) -> Sets:
    if isinstance(given, TopLists):
        raise ShapeError("these are top lists, not sets.", "Decide first: mode_sets, f1_sets, hamming_sets.")
    if space is not None:
        return space.sets(given)
    if isinstance(given, Sets):
        return given
    try:
        return Sets.from_indicators(given)
    except (SpaceError, ValueError):
        raise SpaceError(
            "label sets are a matrix of zeros and ones, a row per case and a column per label; "
            "collections of labels need a space=LabelSets(...) that says which labels there are."
        ) from None


def _ratio(part: Ints, whole: Ints) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1), 1.0)
