"""The sets that a case may have: its likeliest under independent labels, and the likeliest of those seen before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist import kernel
from toplist.labelsets import LabelSets, Sets
from toplist.multilabel.beliefs import space_of, told
from toplist.multilabel.best import best_sets
from toplist.multilabel.estimators.labels import Bools, Floats
from toplist.multilabel.support import support_log_scores

Ints = NDArray[np.int64]

_ENTRIES = 1 << 24  # of a matrix with a column per seen set


@dataclass(frozen=True, slots=True)
class Seen:
    """The different label sets of some cases, their codes in rising order, and how many cases have each."""

    sets: Sets
    codes: Ints
    times: Ints
    cases: int

    @classmethod
    def of(cls, space: LabelSets, Y: Bools) -> Seen:
        """The sets of an indicator matrix."""
        codes, first, times = np.unique(space.encode(Y), return_index=True, return_counts=True)
        return cls(Sets.from_indicators(Y[first]), codes, times, len(Y))

    def count(self, codes: Ints) -> Ints:
        """How many cases have each of these sets."""
        place = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[place] == codes, self.times[place], 0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sets with the case of each, cases in rising order, and in each case the most probable first."""

    case: Ints
    sets: Sets
    codes: Ints
    log_p: Floats  # under independent labels
    cases: int

    @property
    def counts(self) -> Ints:
        """How many sets each case has."""
        return np.bincount(self.case, minlength=self.cases)

    @property
    def starts(self) -> Ints:
        """Where the sets of each case begin."""
        counts = self.counts
        return np.cumsum(counts) - counts


def find_candidates(space: LabelSets, p: Floats, count: int, seen: Seen | None) -> Candidates:
    """The `count` most probable sets of each case, and as many of the seen ones, each once."""
    lists = best_sets(p, count, space)
    case, sets = np.repeat(np.arange(len(p)), lists.sizes), told(space_of(lists), lists.classes)
    if seen is not None:
        rows, which = _likely_seen(p, seen, count)
        case, sets = np.concatenate((case, rows)), Sets.join([sets, seen.sets.take(which)])
    codes, log_p = space.encode(sets), _log_p(p, case, sets)
    order = np.lexsort((codes, case))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (case[order][1:] != case[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    order = order[new]
    order = order[np.lexsort((codes[order], -log_p[order], case[order]))]
    return Candidates(case[order], sets.take(order), codes[order], log_p[order], len(p))


def _likely_seen(p: Floats, seen: Seen, count: int) -> tuple[Ints, Ints]:
    """For each case the most probable of the seen sets: cases, and places among these sets."""
    most, step = min(count, len(seen.sets)), max(1, _ENTRIES // len(seen.sets))
    which = np.empty((len(p), most), np.int64)
    for at in range(0, len(p), step):
        log_p = support_log_scores(p[at : at + step], seen.sets)
        which[at : at + step] = kernel.select(np.ascontiguousarray(log_p), most)[0]
    return np.repeat(np.arange(len(p)), most), which.ravel()


def _log_p(p: Floats, case: Ints, sets: Sets) -> Floats:
    """sum_in log p + sum_out log(1 - p)."""
    log_in, log_out = np.log(p), np.log1p(-p)
    row, label = sets.rows, sets.labels
    gain = (log_in - log_out)[case[row], label]
    log_p: Floats = log_out.sum(axis=1)[case] + np.bincount(row, weights=gain, minlength=len(sets))
    return log_p
