"""What recalibrators learn from: lists as they are scored, what happened, and how much each case counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist import flags
from toplist.arguments import as_shares
from toplist.errors import ShapeError
from toplist.lists import TopLists, require_lists
from toplist.outcomes import as_happened
from toplist.rules import Rule
from toplist.scoring import plain_scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Strictly valid lists, outcomes as codes, and weights that add up to one."""

    lists: TopLists
    codes: NDArray[np.int64]
    weight: Floats

    @classmethod
    def of(cls, lists: Any, y: Any, sample_weight: Any = None) -> Self:
        """Everything checked."""
        require_lists(lists)
        codes = as_happened(y, lists, "recalibration learns from")
        if not len(lists):
            raise ShapeError("there are no cases to learn from.", "Give at least one list with its outcome.")
        return cls(mended(lists), codes, as_shares(sample_weight, len(lists)))

    @property
    def counting(self) -> int:
        """How many cases count."""
        return int(np.count_nonzero(self.weight))

    def at(self, where: Any) -> Self:
        """Some of the cases, with what they weigh among themselves."""
        weight = self.weight[where]
        return type(self)(self.lists[where], self.codes[where], weight / weight.sum())

    def thinned(self, most: int) -> Self:
        """About `most` cases that count, evenly spaced; all, where there are not many more."""
        counting = np.flatnonzero(self.weight)
        step = len(counting) // most
        return self.at(counting[::step]) if step > 1 else self

    def loss(self, lists: TopLists, rule: Rule) -> tuple[float, float]:
        """The share of infinite scores of other lists for the same cases, and the mean of the finite ones."""
        return mean_loss(plain_scores(lists, self.codes, rule), self.weight)


def mean_loss(scores: Floats, weight: Floats) -> tuple[float, float]:
    """The share of infinite scores, and the mean of the finite ones: 0 where there are none."""
    counts = weight > 0
    scores, weight = scores[counts], weight[counts]
    finite = np.isfinite(scores)
    known = float(weight[finite].sum())
    mean = float(weight[finite] @ scores[finite]) / known if known else 0.0
    return float(weight[~finite].sum()), mean


def mended(lists: TopLists) -> TopLists:
    """Lists that are valid without any tolerance, on the same classes."""
    if not lists.admitted.any(flags.BELOW):
        return lists
    return lists._with(lists.admitted.repaired(flags.BELOW))
