"""Probabilities that one batch of lists gives to the classes that another batch lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.lists.toplists import TopLists
from toplist.lists.validation import row_sums


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """The probability that `truth` gives to each class that `lists` has, and to all that it has not."""

    listed: Floats  # aligned with lists.classes
    unlisted: Floats  # one per case


def beliefs(truth: TopLists, lists: TopLists) -> ClassProbabilities:
    """Look up padded probabilities: O(listed classes), or O(n m) where `truth` is dense."""
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    if truth.checked.rows.classes is None:
        p = truth.normalized_confidences.reshape(len(truth), int(truth.checked.rows.size[0]))
        listed = p[case, lists.classes]
        if lists.checked.rows.classes is None:
            return ClassProbabilities(listed, np.zeros(len(lists)))
        left = p.copy()
        left[case, lists.classes] = 0.0
        return ClassProbabilities(listed, left.sum(axis=1))
    return _join(truth, lists, case)


def _join(truth: TopLists, lists: TopLists, case: NDArray[np.intp]) -> ClassProbabilities:
    theirs = truth.normalized_confidences
    their_case = np.repeat(np.arange(len(truth)), truth.sizes)
    _, code = np.unique(np.concatenate([lists.classes, truth.classes]), return_inverse=True)
    width = int(code.max(initial=0)) + 1
    wanted, there = case * width + code[: len(case)], their_case * width + code[len(case) :]
    order = np.argsort(there)
    at = np.searchsorted(there[order], wanted)
    at = np.minimum(at, max(len(there) - 1, 0))
    found = there[order][at] == wanted if len(there) else np.zeros(len(wanted), bool)
    listed = np.where(found, theirs[order][at] if len(there) else 0.0, truth.proxy[case])
    shared = np.zeros(len(there), bool)
    shared[order[at[found]]] = True
    neither = truth.checked.rows.size - truth.sizes - row_sums(~found, lists.offsets)
    apart = np.where(neither > 0, truth.proxy * np.where(np.isfinite(neither), neither, 0.0), 0.0)
    apart = np.where(np.isinf(neither), truth.rest, apart)
    return ClassProbabilities(listed, row_sums(np.where(shared, 0.0, theirs), truth.offsets) + apart)
