"""How many cases a comparison needs, and whether two models of a leaderboard are equal within a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from toplist._text import NOTHING
from toplist.core.arguments import as_probability, as_whole
from toplist.errors import TopListError
from toplist.evaluation.leaderboard import Leaderboard, require_known
from toplist.inference.diagnostics import FEW
from toplist.inference.estimation import (
    POWER,
    detectable,
    estimate,
    one_sided,
    pessimistic,
    required_units,
    two_one_sided,
)
from toplist.inference.intervals import SAME
from toplist.inference.results import Estimate
from toplist.report.export import to_plain
from toplist.report.terminal import PAGE, page
from toplist.report.text import (
    Column,
    TextTable,
    count,
    in_digits_of,
    kind,
    listed,
    number_of,
    percent,
    plain,
    small,
)

SCHEMA = "toplist.plan/1"
_TWO_WAY = "more clusters and more time points are different things: plan for one of them"
_NO_ERROR = "its intervals do not come from a standard error"


@dataclass(frozen=True, slots=True)
class PairPlan:
    """How many units one pair of models needs; where there are no numbers, the reason."""

    a: str  # the one that stands higher in the pilot
    b: str
    units: int  # of the pilot
    error: float | None = None  # standard error of the difference in the pilot
    detectable: float | None = None  # the smallest true difference that so many units find with this power
    needed: int | None = None  # units that find the smallest difference of interest with this power
    needed_high: int | None = None  # the same if the spread is at the upper end of its one-sided 80 % interval
    reason: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class SamplePlan:
    """How many units find a smallest difference of interest, from the spread in a pilot; made by `plan`.

    Attributes
    ----------
    rule : str
        The scoring rule.
    smallest : float
        The smallest difference of interest.
    power : float
        How often a true difference of this size is significant.
    level : float
        The level of confidence.
    tested : int
        Pairs that are tested together, by Holm's method.
    unit : str
        What is counted: case, cluster or time point.
    pairs : tuple of PairPlan
        Every two models of the pilot.

    Examples
    --------
    >>> pair = PairPlan("a", "b", 100, 0.01, 0.028, 787, 870)
    >>> result = SamplePlan("brier", 0.01, 0.8, 0.95, 1, "case", (pair,))
    >>> result.needed, result.needed_high
    (787, 870)
    """

    rule: str
    smallest: float
    power: float
    level: float
    tested: int
    unit: str
    pairs: tuple[PairPlan, ...]

    @property
    def needed(self) -> int | None:
        """Units for the pair that needs most; None where no pair has a number."""
        return max((pair.needed for pair in self.pairs if pair.needed is not None), default=None)

    @property
    def needed_high(self) -> int | None:
        """The same if the spread is as large as the pilot allows."""
        return max((pair.needed_high for pair in self.pairs if pair.needed_high is not None), default=None)

    @property
    def _sought(self) -> str:
        return f"a difference of {self.smallest:g} in the mean {kind(self.rule)} score"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int | None = None) -> str:
        """A table of all pairs, and the plan in words."""
        columns = (
            Column("first", "left", essential=True, heading=True),
            Column("second", "left", essential=True, heading=True),
            *map(Column, (f"{self.unit}s", "standard error", "detectable")),
            Column("needed", essential=True),
            Column("upper limit"),
        )
        rows = [
            (
                *(plain(pair.a), plain(pair.b), count(pair.units)),
                *(NOTHING if x is None else f"{x:.3g}" for x in (pair.error, pair.detectable)),
                *(NOTHING if n is None else count(n) for n in (pair.needed, pair.needed_high)),
            )
            for pair in self.pairs
        ]
        title = f"{self.unit.capitalize()}s that find {self._sought}"
        return page(TextTable(title, columns, tuple(rows), notes=tuple(self.sentences())), max(60, width or PAGE))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {"schema": SCHEMA, **to_plain(self), "needed": self.needed, "needed_high": self.needed_high}

    def sentences(self) -> list[str]:
        """The plan in words: what is needed, under which assumptions, and which pairs have no number."""
        level = percent(self.level)
        family = "in a test of one pair" if self.tested == 1 else f"among {count(self.tested)} pairs by Holm's method"
        lacking = []
        for why in dict.fromkeys(pair.reason for pair in self.pairs if pair.reason):
            who = listed(f"{plain(pair.a)} and {plain(pair.b)}" for pair in self.pairs if pair.reason == why)
            lacking.append(f"No number for {who}: {why}.")
        if self.needed is None:
            return [f"How many {self.unit}s find {self._sought} cannot be said.", *lacking]
        few = f"{FEW - 1} {self.unit}s or fewer are too few for such intervals: plan for more."
        high = "" if self.needed_high is None else f" ({count(self.needed_high)} if the spread is at its upper limit)"
        finding = f"{number_of(self.needed, self.unit)}{high} would find {self._sought}, if that is the true difference"
        assumed = f"{self.unit}s like those of the pilot, with the same spread and the same dependence"
        return [
            f"{finding}, {self.power:.0%} of the time at {level}, {family}.",
            f"This assumes {assumed}. The upper limit of the spread has a confidence of 80%.",
            "detectable is the smallest true difference that the pilot itself would have found as often.",
            *([few] if self.needed < FEW else []),
            *lacking,
        ]

    def __repr__(self) -> str:
        needed = NOTHING if self.needed is None else f"{self.needed:,}"
        what = f"a difference of {self.smallest:g} in {kind(self.rule)}"
        how = f"{self.power:.0%} power, {percent(self.level)}, {number_of(self.tested, 'pair')}"
        return f"SamplePlan({needed} {self.unit}s for {what}; {how})"


@dataclass(frozen=True, slots=True, repr=False)
class Equivalence:
    """Whether two models are equal within a margin (two one-sided tests; Schuirmann 1987); made by `equivalent`.

    Attributes
    ----------
    rule, a, b : str
        The scoring rule and the two models.
    margin : float
        The largest difference that counts as none.
    difference : Estimate
        Mean score of a minus that of b; equal within the margin where its interval is inside it.
    level : float
        The level of confidence of the verdicts.
    tested : int
        Pairs that were tested; the p values are multiplied by it.
    p : float or None
        Of the hypothesis that the difference is not within the margin; None where there is no test.
    noninferior_p : float or None
        Of the hypothesis that a is worse than b by the margin or more; None where there is no test.

    Examples
    --------
    >>> result = Equivalence("brier", "a", "b", 0.01, Estimate(0.001, -0.002, 0.004), 0.95, 1, 0.001, 0.001)
    >>> result.equivalent, result.noninferior
    (True, True)
    """

    rule: str
    a: str
    b: str
    margin: float
    difference: Estimate
    level: float
    tested: int
    p: float | None
    noninferior_p: float | None

    @property
    def equivalent(self) -> bool:
        """Whether the two are equal within the margin, at this level."""
        return self.p is not None and self.p <= 1 - self.level

    @property
    def noninferior(self) -> bool:
        """Whether a is not worse than b by the margin or more, at this level."""
        return self.noninferior_p is not None and self.noninferior_p <= 1 - self.level

    def __str__(self) -> str:
        what = f"the mean {kind(self.rule)} scores of {self.a} and {self.b}"
        if self.p is None:
            return f"Whether {what} are equal within {self.margin:g} cannot be tested: {self.difference.reason}."
        shown = f"difference {in_digits_of(self.difference, self.difference.value, signed=True)}, p = {small(self.p)}"
        if self.equivalent:
            return f"{what[0].upper()}{what[1:]} are equal within {self.margin:g} at {percent(self.level)} ({shown})."
        return f"That {what} are equal within {self.margin:g} is not shown at {percent(self.level)} ({shown})."

    def __repr__(self) -> str:
        models = f"{plain(self.a)} and {plain(self.b)}"
        shown = "not tested" if self.p is None else f"{'yes' if self.equivalent else 'not shown'}, p = {small(self.p)}"
        return f"Equivalence({models} within {self.margin:g} in {kind(self.rule)}: {shown})"


def plan(
    board: Leaderboard,
    smallest: float,
    *,
    rule: str | None = None,
    power: float = POWER,
    models: int | None = None,
) -> SamplePlan:
    """How many cases, clusters or time points find a smallest difference of interest, from a pilot.

    Parameters
    ----------
    board : Leaderboard
        The pilot: a comparison of models like those to be compared, on cases like those to come. Its spread, and how
        its cases depend on each other, are taken over; its differences are not.
    smallest : float
        The smallest difference of mean scores that matters.
    rule : str, optional
        The scoring rule; by default the one that ranks.
    power : float, default 0.8
        How often a true difference of this size is to be significant.
    models : int, optional
        How many models will be compared, every two of them by Holm's method; by default as many as in the pilot. The
        numbers are those of the first step of Holm's method, so that the power is at least the one asked for.

    Returns
    -------
    SamplePlan
        Units needed for every pair of the pilot, what the pilot itself could have found, and the largest number.

    Raises
    ------
    TopListError
        If the pilot has one model only, or a number is out of its range.

    References
    ----------
    Browne, R. H. (1995). On the use of a pilot sample for sample size determination. Statistics in Medicine 14.

    Examples
    --------
    >>> import numpy as np
    >>> import toplist as tl
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=200)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> pilot = tl.compare({"all": P, "top 2": tl.TopLists.from_proba(P, k=2)}, y, rules="brier")
    >>> result = plan(pilot, 0.01)
    >>> result.needed > 200, result.pairs[0].detectable > 0.01
    (True, True)
    """
    smallest, power = _above_zero(smallest, "the smallest difference of interest"), as_probability(power, "power")
    results, intervals = board.comparison, board._intervals
    chosen = require_known(rule or results.rules[0], results.rules, "rule")
    pairs = [pair for pair in results.pairs if pair.rule == chosen]
    if not pairs:
        raise TopListError("a plan needs a pilot of at least two models.")
    many = len(board) if models is None else as_whole(models, "models", 2)
    tested = many * (many - 1) // 2
    level = 1 - (1 - results.level) / tested
    needed = partial(required_units, smallest=smallest, level=level, power=power, timed=intervals.method == "ewc")
    plans = []
    for pair in pairs:
        estimate, units = pair.difference, intervals.units(*board._places(pair.a, pair.b, chosen))
        if intervals.two_way or estimate.error is None or estimate.freedom is None:
            why = estimate.reason or (_TWO_WAY if intervals.two_way else _NO_ERROR)
            plans.append(PairPlan(pair.a, pair.b, units, reason=why))
            continue
        least = detectable(estimate.error, estimate.freedom, level, power)
        high = None if math.isinf(estimate.freedom) else needed(pessimistic(estimate), units)
        plans.append(PairPlan(pair.a, pair.b, units, estimate.error, least, needed(estimate, units), high))
    return SamplePlan(chosen, smallest, power, results.level, tested, results.unit, tuple(plans))


def equivalent(
    board: Leaderboard, a: str, b: str, margin: float, *, rule: str | None = None, pairs: int | None = None
) -> Equivalence:
    """Whether two models are equal within a margin, by two one-sided tests; and whether the first is not worse.

    That a difference is not significant does not show that there is none. This does: it is shown at a level where the
    interval of twice the error probability lies within the margin.

    Parameters
    ----------
    board : Leaderboard
        The comparison.
    a, b : str
        Two of its models.
    margin : float
        The largest difference of mean scores that counts as none, chosen before looking.
    rule : str, optional
        The scoring rule; by default the one that ranks.
    pairs : int, optional
        How many pairs are tested: p values are multiplied by it (Bonferroni). By default all pairs of the board; 1
        for a pair that was named beforehand.

    Returns
    -------
    Equivalence
        The p values and verdicts, and the interval.

    Raises
    ------
    TopListError
        If a model or rule is not on the board, or the margin is not above zero.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15.

    Examples
    --------
    >>> import numpy as np
    >>> import toplist as tl
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=200)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> board = tl.compare({"all": P, "near": 0.99 * P + 0.002}, y, rules="brier")
    >>> result = equivalent(board, "all", "near", 0.005)
    >>> result.equivalent, result.noninferior
    (True, True)
    """
    margin, results = _above_zero(margin, "a margin"), board.comparison
    chosen = rule or results.rules[0]
    difference = board.difference(a, b, chosen)
    every = max(1, sum(pair.rule == chosen and pair.difference.p is not None for pair in results.pairs))
    tested = every if pairs is None else as_whole(pairs, "pairs", 1)
    p = [two_one_sided(difference, margin), one_sided(difference, margin)]
    if difference.reason == SAME:
        p = [0.0, 0.0]  # the same predictions are equal within any margin
    elif p[0] is None and not difference.reason:
        difference = replace(difference, reason=_NO_ERROR)
    if difference.error is not None and difference.freedom is not None and p[0] is not None:
        level = 1 - 2 * (1 - results.level) / tested
        difference = estimate(difference.value, difference.error, difference.freedom, level)
    two, one = (None if each is None else min(1.0, tested * each) for each in p)
    return Equivalence(chosen, a, b, margin, difference, results.level, tested, two, one)


def _above_zero(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise TopListError(f"{what} is a finite number above zero, not {value!r}.")
    return float(value)
