"""Scoring rules for ordered classes: the ranked probability score and the ranked log score."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.array_api import ScoreTable
from toplist.errors import RuleError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.scoring.rules.base import Rule

Array = Any
_DECLARE = (
    'Declare the order: space=ClassSpace(["low", "mid", "high"], ordinal=True), or --classes FILE --ordinal with one '
    "class per line from the lowest to the highest."
)
_CELLS: Final = 1 << 18  # classes of some cases that are spread out at a time: two megabytes for each number


class OrdinalRule(Rule):
    """A proper score of the cumulative probabilities at the thresholds between ordered classes.

    A list is scored as its padded distribution, spread out over all classes. The score depends on which unlisted class
    occurs, and on where the listed ones stand.
    """

    __slots__ = ()
    ordinal: ClassVar[bool] = True

    @abstractmethod
    def cost(self, wrong: Floats, right: Floats) -> Floats:
        """What a threshold costs, by the probabilities of the classes on the side of the outcome and on the other."""

    def scaled(self, total: Floats, size: Any) -> Floats:
        """The score, given the sum over all thresholds between so many classes."""
        return total

    def require(self, lists: Any) -> None:
        """See `Rule.require`."""
        self.require_classes(lists)

    def require_classes(self, lists: Any) -> None:
        """See `Rule.require_classes`."""
        space = lists.space
        if not hasattr(lists, "checked"):
            raise TopListError(f"{self.name} scores lists in memory, not on a device: make them from numpy arrays.")
        if not space.ordinal:
            raise SpaceError(f"{self.name} is a score of ordered classes, and these have no declared order. {_DECLARE}")

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """Refused: unlisted classes do not score alike."""
        raise RuleError(
            f"{self.name} depends on which of the unlisted classes occurs, so that there is no score of an unlisted "
            'class as such: take a rule that ignores the order here, such as "brier".'
        )

    def scores(self, cases: Any) -> Array:
        """See `Rule.scores`."""
        lists, codes = cases.part
        out = np.empty(len(lists))
        for at, m in of_one_size(lists):
            below, above = cumulative(lists[at], m)
            before = np.arange(m - 1) < codes[at][:, None]  # thresholds before the outcome, which is above them
            cost = self.cost(np.where(before, below, above), np.where(before, above, below))
            out[at] = self.scaled(cost.sum(axis=1), m)
        return out

    def entropies(self, cases: Any) -> Array:
        """See `Rule.entropies`."""
        lists, _ = cases.part
        return self.expected(lists, lists)

    def expected(self, lists: TopLists, truth: TopLists) -> Floats:
        """The expected score of each list if the outcome is drawn from the padded distribution of its `truth`."""
        out = np.empty(len(lists))
        for at, m in of_one_size(lists):
            below, above = cumulative(lists[at], m)
            under, over = cumulative(truth[at], m)
            total = np.where(over > 0, over * self.cost(below, above), 0.0)
            total += np.where(under > 0, under * self.cost(above, below), 0.0)
            out[at] = self.scaled(total.sum(axis=1), m)
        return out

    def each_class(self, lists: TopLists, m: int) -> Floats:
        """The score of every outcome, (cases, m), of lists over so many classes."""
        below, above = cumulative(lists, m)
        out = np.zeros((len(lists), m))
        out[:, 1:] += np.cumsum(self.cost(below, above), axis=1)
        out[:, :-1] += np.cumsum(self.cost(above, below)[:, ::-1], axis=1)[:, ::-1]
        return self.scaled(out, m)


def of_one_size(lists: TopLists) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Some cases with the same number of classes at a time, and that number."""
    sizes = np.broadcast_to(lists.checked.rows.size, (len(lists),)).astype(np.int64)
    for m in np.unique(sizes).tolist():
        cases = np.flatnonzero(sizes == m)
        for at in np.array_split(cases, -(-len(cases) * m // _CELLS)):
            yield at, m


def cumulative(lists: TopLists, m: int) -> tuple[Floats, Floats]:
    """The probability below and above each threshold of padded distributions over m classes: two (cases, m - 1) arrays.

    Both are sums of their own, as one minus the other would lose digits; and unlisted classes are counted, not added up
    one by one, so that long runs of them lose none either.
    """
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    t, unlisted = np.zeros((len(lists), m)), np.ones((len(lists), m))
    t[case, lists.classes], unlisted[case, lists.classes] = lists.normalized_confidences, 0.0
    proxy = lists.proxy[:, None]
    below = np.cumsum(t, axis=1) + proxy * np.cumsum(unlisted, axis=1)
    above = np.cumsum(t[:, ::-1], axis=1) + proxy * np.cumsum(unlisted[:, ::-1], axis=1)
    return below[:, :-1], above[:, -2::-1]


@dataclass(frozen=True, slots=True)
class RankedProbability(OrdinalRule):
    """Ranked probability score (RPS): the sum over thresholds of squared errors of cumulative probabilities.

    S = sum over j < m of (F_j - 1{y <= j})**2, from 0 to m - 1, where F_j is the probability of the first j of m
    ordered classes. Classes need an order: `ClassSpace(..., ordinal=True)`. It is strictly proper for distributions
    over all classes. A list is scored as its padded distribution, which is a convention: the rule is not symmetric, and
    the true top list need not score best.

    Parameters
    ----------
    normalized : bool, default False
        Divide by the number of thresholds, m - 1, so that the score is from 0 to 1; `"rps-normalized"` by name.

    References
    ----------
    .. [1] E. S. Epstein (1969), "A scoring system for probability forecasts of ranked categories", Journal of Applied
       Meteorology 8, 985-987.

    .. [2] A. H. Murphy (1971), "A note on the ranked probability score", Journal of Applied Meteorology 10, 155-156.

    Examples
    --------
    >>> import toplist as tl
    >>> space = tl.ClassSpace(["low", "mid", "high"], ordinal=True)
    >>> tl.score([[0.2, 0.5, 0.3]] * 3, ["low", "mid", "high"], rule="rps", space=space).round(4)
    array([0.73, 0.13, 0.53])
    >>> tl.score(tl.TopList({"low": 0.6}, space), "mid", rule="rps")
    0.4
    """

    normalized: bool = False
    name: ClassVar[str] = "rps"

    def cost(self, wrong: Floats, right: Floats) -> Floats:
        """The square of what is on the wrong side."""
        return wrong * wrong

    def scaled(self, total: Floats, size: Any) -> Floats:
        """Divided by the number of thresholds, if asked for; of one class there is none, and the score is 0."""
        return total / np.maximum(size - 1.0, 1.0) if self.normalized else total

    def bounds(self) -> tuple[float, float]:
        """0 to 1 if normalized; else to the number of thresholds, which the rule does not know."""
        return 0.0, 1.0 if self.normalized else math.inf


@dataclass(frozen=True, slots=True)
class RankedLog(OrdinalRule):
    """Ranked log score: the sum over thresholds of the log score of "at most this class, or above".

    S = - sum over j < y of log(1 - F_j) - sum over j >= y of log F_j, where F_j is the probability of the first j of m
    ordered classes and j < m. Classes need an order: `ClassSpace(..., ordinal=True)`. It is strictly proper for
    distributions over all classes; of lists the same holds as for `RankedProbability`.

    Examples
    --------
    >>> import toplist as tl
    >>> space = tl.ClassSpace(["low", "mid", "high"], ordinal=True)
    >>> tl.score([[0.2, 0.5, 0.3]] * 3, ["low", "mid", "high"], rule="ranked_log", space=space).round(4)
    array([1.9661, 0.5798, 1.4271])
    """

    name: ClassVar[str] = "ranked_log"

    def cost(self, wrong: Floats, right: Floats) -> Floats:
        """Minus the log of what is on the right side, by the smaller of the two numbers, which has all its digits."""
        small = np.minimum(wrong, 0.5)
        return np.where(right > 0.5, -np.log1p(-small), -np.log(right))

    def require_classes(self, lists: Any) -> None:
        """See `Rule.require_classes`."""
        OrdinalRule.require_classes(self, lists)
        rows = lists.checked.rows
        if rows.log_rest is not None and ((lists.rest < 1e-290) & (rows.log_rest > -math.inf)).any():
            raise TopListError(
                "ranked_log sums probabilities, and a rest mass here is known by its logarithm alone, being below "
                '1e-290: use rule="rps", or cut the lists, lists.truncate(k).'
            )

    def bounds(self) -> tuple[float, float]:
        """0 to infinity."""
        return 0.0, math.inf
