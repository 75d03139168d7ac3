"""Metrics of one predicted label set against the true one, and what each of them asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.errors import ShapeError, SpaceError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.set_decisions import f1_sets, hamming_sets, jaccard_sets, mode_sets


def set_accuracy(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Per case 1 if the predicted set is the true one, else 0: subset accuracy.

    Sets are `Sets`, a matrix of zeros and ones, dense or sparse, or collections of the labels of a space.

    >>> set_accuracy(np.array([[1, 0, 1], [1, 0, 0]]), np.array([[1, 0, 1], [1, 1, 0]]))
    array([1., 0.])
    """
    both, predicted, true, _ = _overlap(x, y, space)
    return np.where((both == predicted) & (both == true), 1.0, 0.0)


def instance_f1(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Per case twice the number of common labels by the sum of both sizes; 1 if both are empty (paper, section 2.2).

    >>> instance_f1([{"a"}, {"a", "b"}, set()], [{"a", "b"}, {"c"}, set()], LabelSets("abc")).round(4)
    array([0.6667, 0.    , 1.    ])
    """
    both, predicted, true, _ = _overlap(x, y, space)
    return _ratio(2 * both, predicted + true)


def jaccard(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Per case the number of common labels by that of labels in either set, and 1 if both are empty.

    >>> jaccard([{"a"}, {"a", "b"}, set()], [{"a", "b"}, {"c"}, set()], LabelSets("abc"))
    array([0.5, 0. , 1. ])
    """
    both, predicted, true, _ = _overlap(x, y, space)
    return _ratio(both, predicted + true - both)


def hamming(x: Any, y: Any, space: LabelSets | None = None) -> Floats:
    """Per case the share of labels that are wrong, in or out: a loss, lower is better.

    >>> hamming([{"a"}, {"a", "b"}, set()], [{"a", "b"}, {"c"}, set()], LabelSets("abc")).round(4)
    array([0.3333, 1.    , 0.    ])
    """
    both, predicted, true, width = _overlap(x, y, space)
    return (predicted + true - 2 * both) / max(width, 1)


@dataclass(frozen=True, slots=True)
class SetMetric:
    """A metric of label sets: how it is computed, and which set is best for it when a top list is believed.

    >>> METRICS["instance_f1"].elicits
    'the set that the general F-measure maximizer finds, which need not be the most likely one'
    """

    name: str
    function: Callable[[Any, Any, LabelSets | None], Floats]
    better: Literal["higher", "lower"]
    elicits: str
    decide: Callable[[TopLists], Sets]
    exact: bool = True  # whether the decision is the best of all sets, or only of those that are tried

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
            "the labels with a marginal probability above one half, which may be a set that never happens",
            hamming_sets,
        ),
    )
}


def _overlap(
    x: Any, y: Any, space: LabelSets | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Per case how many labels both sets hold, how many each; and how many labels there are."""
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


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1), 1.0)
