"""What a candidate set looks like to a classifier of whether it is the true one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toplist.multilabel.estimators.candidates import Candidates, Ints, Seen
from toplist.multilabel.estimators.labels import Floats

Rows = NDArray[np.float32]

SUMMARIES = (
    "log product", "gap to the best", "rank", "log prior", "size", "size beyond expected", "least log marginal inside",
    "mean log marginal inside", "largest marginal outside",
)  # fmt: skip
"""The first columns; a column per label follows for whether the set holds it, and one for its marginal."""

RISING, FALLING = (0, 3), (1, 2)
"""Columns in which the probability may only rise, or only fall: all that changes with the product alone, and the
prior. A set is the rarer in the other folds the more frequent it is in its own, and that must not be learnt."""

_ENTRIES = 1 << 22  # of a matrix with a column per label


def describe(p: Floats, candidates: Candidates, seen: Seen, labels: Ints) -> Rows:
    """A row per candidate, with columns of their own for some labels, by their places."""
    own = len(SUMMARIES)
    out = np.empty((len(candidates.case), own + 2 * len(labels)), np.float32)
    _summarize(out, p, candidates, seen)
    step = max(1, _ENTRIES // p.shape[1])
    for first in range(0, len(out), step):
        here = slice(first, first + step)
        held = candidates.sets.take(here).indicators()
        marginal = p[candidates.case[here]]
        out[here, own - 1] = np.where(held, 0.0, marginal).max(axis=1)
        out[here, own : own + len(labels)] = held[:, labels]
        out[here, own + len(labels) :] = marginal[:, labels]
    return out


def monotone(columns: int) -> list[int]:
    """The direction of each column, 0 where it may go either way."""
    return [1 if at in RISING else -1 if at in FALLING else 0 for at in range(columns)]


def _summarize(out: Rows, p: Floats, candidates: Candidates, seen: Seen) -> None:
    case, sets, starts = candidates.case, candidates.sets, candidates.starts
    inside = np.log(p)[case[sets.rows], sets.labels]
    size, filled = sets.sizes, sets.sizes > 0
    least, mean = np.zeros(len(case)), np.zeros(len(case))
    if filled.any():
        begin = sets.offsets[:-1][filled]
        least[filled] = np.minimum.reduceat(inside, begin)
        mean[filled] = np.add.reduceat(inside, begin) / size[filled]
    out[:, 0] = candidates.log_p
    out[:, 1] = candidates.log_p[starts][case] - candidates.log_p
    out[:, 2] = np.arange(len(case)) - starts[case]
    out[:, 3] = np.log((seen.count(candidates.codes) + 0.5) / (seen.cases + 1))
    out[:, 4] = size
    out[:, 5] = size - p.sum(axis=1)[case]
    out[:, 6], out[:, 7] = least, mean
