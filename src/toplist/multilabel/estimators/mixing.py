"""Marginals of lists whose rest mass is of another opinion."""

from __future__ import annotations

import numpy as np

from toplist.lists import TopLists
from toplist.multilabel.beliefs import space_of, told
from toplist.multilabel.estimators.labels import Floats


def listed_marginals(lists: TopLists, others: Floats) -> Floats:
    """The probability of each label: by the listed sets, and for the rest mass as in `others`, (cases, labels)."""
    sets = told(space_of(lists), lists.classes)
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    entry = case[sets.rows] * sets.width + sets.labels
    weight = np.repeat(lists.normalized_confidences, sets.sizes)
    listed = np.bincount(entry, weights=weight, minlength=others.size).reshape(others.shape)
    return np.asarray(np.minimum(listed + lists.rest[:, None] * others, 1.0), dtype=np.float64)
