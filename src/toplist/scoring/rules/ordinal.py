"""Scoring rules for ordered classes: the ranked probability score and the ranked log score."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.array_api import CaseColumns, OrderedTable, ScoreTable
from toplist.errors import RuleError, SpaceError, TopListError
from toplist.scoring.rules.base import Rule
from toplist.scoring.rules.threshold_sums import Progression, weighted_logs, weighted_squares

Array = Any
_DECLARE = (
    'Declare the order: space=ClassSpace(["low", "mid", "high"], ordinal=True), or --classes FILE --ordinal with one '
    "class per line from the lowest to the highest."
)


class OrdinalRule(Rule):
    """A proper score of the cumulative probabilities at the thresholds between ordered classes.

    A list is scored as its padded distribution. The score depends on which unlisted class occurs, and on where the
    listed ones stand: a run of unlisted classes is summed in closed form, so that a case takes O(k log k) whatever the
    number of classes is.
    """

    __slots__ = ()
    ordinal: ClassVar[bool] = True

    @abstractmethod
    def at_thresholds(self, x: Progression, truth: Progression) -> Floats:
        """The sum over a run of s(x) (1 - truth): s(x) is what a cumulative probability x costs if nothing is below."""

    def scaled(self, total: Floats, size: Floats) -> Floats:
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

    def scores(self, cases: CaseColumns) -> Array:
        """See `Rule.scores`."""
        return _collect((at, self.expected(lists, truth)) for at, lists, truth in cases.ordered())

    def entropies(self, cases: CaseColumns) -> Array:
        """See `Rule.entropies`."""
        return _collect((at, self.expected(lists, None)) for at, lists, _ in cases.ordered())

    def expected(self, lists: OrderedTable, truth: OrderedTable | None) -> Floats:
        """The expected score of each row if the outcome is drawn from the same row of `truth`; from itself if None."""
        classes, masses = _merged(lists, lists if truth is None else truth)
        runs = _Runs.of(classes, lists.size)
        below = [runs.cumulative(mass, one.proxy) for mass, one in zip(masses, (lists, truth or lists), strict=True)]
        forward = self.at_thresholds(below[0], below[1])
        backward = self.at_thresholds(below[0].back, below[1].back)
        return self.scaled((forward + backward).sum(axis=1), lists.size)

    def at_places(self, below: Progression, places: Floats, size: Floats) -> Floats:
        """The score if the outcome is the class that stands so many places after the first one of each run."""
        n, step = below.n, below.step
        forward, backward = (self.at_thresholds(x, _nothing_below(n)) for x in (below, below.back))
        before, after = np.zeros_like(forward), np.zeros_like(backward)
        before[:, 1:] = np.cumsum(forward[:, :-1], axis=1)
        after[:, :-1] = np.cumsum(backward[:, :0:-1], axis=1)[:, ::-1]
        front = Progression(below.first, below.last + (n - places) * step, step, places)
        rear = Progression(below.first + places * step, below.last, step, n - places).back
        own = self.at_thresholds(front, _nothing_below(places)) + self.at_thresholds(rear, _nothing_below(n - places))
        return self.scaled(before + after + own, size[:, None])

    def each_class(self, p: Floats) -> Floats:
        """The score of every outcome, (rows, m), of distributions over all classes."""
        classes, size = np.broadcast_to(np.arange(p.shape[1]), p.shape), np.full(len(p), float(p.shape[1]))
        runs = _Runs.of(classes, size)
        below = runs.cumulative(p, np.zeros(len(p)))
        return self.at_places(below, np.zeros_like(runs.n), size)[:, 1:]  # a run begins with the class before it

    def largest_loss(self, a: OrderedTable, b: OrderedTable) -> Floats:
        """The maximum over outcomes of the score of each row of `a` minus that of `b`.

        From one class to the next the difference grows where the cumulative probability of `a` is the larger one.
        Along a run both are linear, so that the maximum is at an end of a run or where they cross.
        """
        classes, masses = _merged(a, b)
        runs = _Runs.of(classes, a.size)
        one, other = (runs.cumulative(mass, table.proxy) for mass, table in zip(masses, (a, b), strict=True))
        ahead, slower = one.first - other.first, other.step - one.step
        crossing = np.where((ahead > 0) & (slower > 0), ahead / np.where(slower > 0, slower, 1.0), 0.0)
        crossing = np.minimum(crossing, runs.n)
        most = np.full(len(classes), -np.inf)
        for places in (np.zeros_like(runs.n), runs.n, np.floor(crossing), np.ceil(crossing)):
            mine, theirs = (self.at_places(x, places, a.size) for x in (one, other))
            same = mine == theirs
            loss = np.subtract(mine, theirs, out=np.zeros_like(mine), where=~same)
            most = np.maximum(most, loss.max(axis=1))
        return most


def _nothing_below(n: Floats) -> Progression:
    """The cumulative probabilities of a truth that is above every threshold of a run."""
    return Progression(np.zeros_like(n), np.ones_like(n), np.zeros_like(n), n)


def _collect(parts: Iterator[tuple[NDArray[np.intp], Floats]]) -> Floats:
    found = list(parts)
    out = np.empty(sum(len(at) for at, _ in found))
    for at, values in found:
        out[at] = values
    return out


def _merged(a: OrderedTable, b: OrderedTable) -> tuple[NDArray[np.int64], tuple[Floats, Floats]]:
    """The classes that either row lists, in order, and their probabilities in both; of two alike one has none."""
    if a is b:
        return a.classes, (a.t, a.t)
    nothing = np.nan
    classes = np.concatenate([a.classes, b.classes], axis=1)
    mine = np.concatenate([a.t, np.full(b.t.shape, nothing)], axis=1)
    theirs = np.concatenate([np.full(a.t.shape, nothing), b.t], axis=1)
    order = np.argsort(classes, axis=1, kind="stable")
    classes, mine, theirs = (np.take_along_axis(x, order, axis=1) for x in (classes, mine, theirs))
    twice = np.zeros(classes.shape, bool)
    twice[:, 1:] = classes[:, 1:] == classes[:, :-1]  # the first of the two is of `a`, the second of `b`
    first = np.zeros(classes.shape, bool)
    first[:, :-1] = twice[:, 1:]
    theirs[first] = theirs[twice]
    mine = np.where(np.isnan(mine), a.proxy[:, None], mine)
    theirs = np.where(np.isnan(theirs), b.proxy[:, None], theirs)
    return classes, (np.where(twice, 0.0, mine), np.where(twice, 0.0, theirs))


@dataclass(frozen=True, slots=True)
class _Runs:
    """The thresholds from each listed class to the next, and those before the first: (rows, k + 1)."""

    n: Floats  # how many
    gaps: Floats  # unlisted classes before each listed one, and after the last

    @classmethod
    def of(cls, classes: NDArray[np.int64], size: Floats) -> _Runs:
        """The runs between classes that are in order; a class that is there twice has an empty run between."""
        rows = len(classes)
        ends = np.concatenate([np.full((rows, 1), -1.0), classes.astype(np.float64), size[:, None]], axis=1)
        steps = np.diff(ends, axis=1)
        n = steps.copy()
        n[:, 0] -= 1.0
        n[:, -1] -= 1.0
        return cls(n, np.maximum(steps - 1.0, 0.0))

    def cumulative(self, mass: Floats, proxy: Floats) -> Progression:
        """The cumulative probabilities along each run, summed from both ends."""
        step, rows = proxy[:, None], len(mass)
        below = np.cumsum(self.gaps[:, :-1] * step + mass, axis=1)
        above = np.cumsum((self.gaps[:, 1:] * step + mass)[:, ::-1], axis=1)[:, ::-1]
        one = np.broadcast_to(step, (rows, 1))
        first, last = np.concatenate([one, below], axis=1), np.concatenate([above, one], axis=1)
        return Progression(first, last, step, self.n)


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

    def at_thresholds(self, x: Progression, truth: Progression) -> Floats:
        """x**2."""
        return weighted_squares(x, truth)

    def scaled(self, total: Floats, size: Floats) -> Floats:
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

    def at_thresholds(self, x: Progression, truth: Progression) -> Floats:
        """-log(1 - x)."""
        return weighted_logs(x, truth)

    def require_classes(self, lists: Any) -> None:
        """See `Rule.require_classes`."""
        OrdinalRule.require_classes(self, lists)
        rows = lists.checked.rows
        lost = rows.log_rest is not None and bool(((lists.rest < 1e-290) & (rows.log_rest > -math.inf)).any())
        if rows.log_confidences is not None or lost:
            raise TopListError(
                "ranked_log sums confidences, and some here are known by their logarithms alone, being below 1e-290: "
                'use rule="rps", or cut the lists, lists.truncate(k).'
            )

    def bounds(self) -> tuple[float, float]:
        """0 to infinity."""
        return 0.0, math.inf
