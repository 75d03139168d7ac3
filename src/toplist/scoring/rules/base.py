"""Base classes of scoring rules: a rule turns cases into scores, lower is better."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from toplist.core.array_api import CaseColumns, CaseStatistics, ScoreTable, Sum
from toplist.errors import RuleError

Array = Any
_SMALL = 1e-290  # proxies below this are limits, not numbers
MANY = 83.0  # from exp(83), about 1e36, classes on powers of confidences may underflow, where all are that small


class Rule(ABC):
    """A proper scoring rule, extended to top lists by padding; symmetric, unless it is one of ordered classes.

    Rules are frozen values: two of the same kind with the same parameters are equal. A rule that is a closed form of
    one sum derives from `SumRule`, one that needs every confidence at once from `TableRule`; `Separable` and `Savage`
    make a rule of a function.

    Attributes
    ----------
    name : str
        Name of the family.
    strict : bool
        Whether the rule is known to be strictly proper.
    padded : bool
        Whether a list of any length can be scored, as its padded distribution.
    ordinal : bool
        Whether the rule is one of ordered classes, which is not symmetric.

    Examples
    --------
    >>> from toplist.scoring.rules import Brier, Log
    >>> Brier() == Brier(), Log().bounds()
    (True, (0.0, inf))
    """

    __slots__ = ()
    name: ClassVar[str]
    strict: ClassVar[bool] = True  # known to be strictly proper: only the truth scores best
    padded: ClassVar[bool] = True  # lists of any length are scored, as their padded distributions
    ordinal: ClassVar[bool] = False  # the classes need an order

    @property
    def tabular(self) -> bool:
        """Whether the rule needs every confidence of a list at once, not only sums."""
        return True

    @property
    def spread(self) -> bool:
        """Whether Python looks at every confidence, so that lists must be cut to their valid sublists first."""
        return self.tabular

    @abstractmethod
    def scores(self, cases: CaseColumns) -> Array:
        """The score at the outcome, one per case."""

    @abstractmethod
    def entropies(self, cases: CaseColumns) -> Array:
        """The expected score of each list if it is right: the entropy of its padded distribution."""

    @abstractmethod
    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """The score of every listed outcome as (rows, k), and of an unlisted one."""

    def bounds(self) -> tuple[float, float]:
        """The least and the largest score there is, as far as is known."""
        return -math.inf, math.inf

    def require_classes(self, lists: Any) -> None:  # noqa: B027  not abstract: there is nothing to refuse
        """Refuse lists over classes that the rule does not score."""

    def require(self, lists: Any) -> None:  # noqa: B027  not abstract: there is nothing to refuse
        """Refuse lists that the rule does not score, by an error that names the case; most rules score all."""


class Outcome(NamedTuple):
    """What a rule of powers needs of a distribution at an outcome, beside a sum over the other classes.

    Arrays of any library `xp`; `CaseStatistics` has these fields and more.
    """

    xp: Any
    outcome: Array  # the confidence of the outcome
    log_outcome: Array
    miss: Array  # 1 - outcome, without cancellation


class SumRule(Rule):
    """A rule that is a closed form of one sum: say what is summed, and how it ends.

    `score` has no branch on data, so that torch compiles it, JAX traces it, and gradients are those of the formula:
    what is not wanted is replaced before it is computed (`where`), not after.
    """

    __slots__ = ()
    scale_free: ClassVar[bool] = False  # whether only the ratios of confidences count

    @property
    @abstractmethod
    def sum(self) -> Sum:
        """What the score sums over the classes that did not happen."""

    @property
    @abstractmethod
    def entropy_sum(self) -> Sum:
        """What the entropy sums over all classes."""

    @property
    def of_powers(self) -> bool:
        """Whether `score` needs an `Outcome` and a sum of powers alone, which logits have in any array library."""
        return self.sum.kind in ("none", "squares", "powers")

    @abstractmethod
    def score(self, m: CaseStatistics, others: Array) -> Array:
        """The score, given the sum over every class but the outcome."""

    def under_uniform(self, classes: int, sum_of: Callable[[float], Array]) -> Array:
        """The mean score over all classes as outcomes, which label smoothing adds to a loss.

        `sum_of(a)` is the sum over all classes of their confidences to the power a, for a = 0 of their logarithms.
        """
        raise RuleError(f"{self!r} has no closed form for label smoothing: leave label_smoothing out.")

    @abstractmethod
    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """The entropy, given the sum over every class."""

    @property
    def tabular(self) -> bool:
        """See `Rule.tabular`."""
        return False

    @property
    def spread(self) -> bool:
        """See `Rule.spread`."""
        return self.tabular or self.sum.kind == "terms"

    def scores(self, cases: CaseColumns) -> Array:
        """See `Rule.scores`."""
        m = cases.statistics(self.sum)
        return self.score(m, m.others(self.sum))

    def entropies(self, cases: CaseColumns) -> Array:
        """See `Rule.entropies`."""
        m = cases.statistics(self.entropy_sum)
        return self.entropy(m, m.everything(self.entropy_sum))

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """See `Rule.each`."""
        listed, unlisted = table.each(self.sum)
        return self.score(listed, listed.others(self.sum)), self.score(unlisted, unlisted.others(self.sum))


class TableRule(Rule):
    """A rule that needs every confidence of a list at once: say what each outcome scores, and the entropy."""

    __slots__ = ()

    @abstractmethod
    def table_entropy(self, table: ScoreTable) -> Array:
        """The entropy of each row."""

    def scores(self, cases: CaseColumns) -> Array:
        """See `Rule.scores`."""
        return pick_scores(cases, self.each)

    def entropies(self, cases: CaseColumns) -> Array:
        """See `Rule.entropies`."""
        return collect(cases, self.table_entropy)


def pick_scores(cases: CaseColumns, each: Callable[[ScoreTable], tuple[Array, Array]]) -> Array:
    """Pick the outcome's score from those of every outcome."""
    parts = []
    for at, table, place in cases.tables():
        if place is None:
            raise RuleError("these cases have no outcomes.")
        xp = table.xp
        listed, unlisted = each(table)
        every = xp.concat([listed, xp.expand_dims(unlisted, axis=1)], axis=1)
        chosen = columns(xp, every) == xp.expand_dims(xp.astype(place, every.dtype), axis=1)
        parts.append((at, xp.sum(xp.where(chosen, every, 0.0), axis=1)))
    return _assemble(parts)


def collect(cases: CaseColumns, of_table: Callable[[ScoreTable], Array]) -> Array:
    """One number per case from a function of tables."""
    return _assemble([(at, of_table(table)) for at, table, _ in cases.tables()])


def columns(xp: Any, like: Array) -> Array:
    """The number of each column, in the shape of an array and where it is."""
    return xp.cumulative_sum(xp.ones_like(like), axis=1) - 1.0


def _assemble(parts: list[tuple[Any, Array]]) -> Array:
    if len(parts) == 1 and isinstance(parts[0][0], slice):
        return parts[0][1]
    out = np.empty(sum(len(at) for at, _ in parts))
    for at, values in parts:
        out[at] = values
    return out


def is_finite(x: Any) -> bool:
    """Is this a number, and a finite one?"""
    return isinstance(x, int | float | np.number) and math.isfinite(x)


class _Sum:
    """The defaults of a sum."""

    kind: str = "none"
    exponent: float = 1.0

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """The function, of listed confidences."""
        return xp.zeros_like(t)

    def rest(self, m: CaseStatistics) -> Array:
        """All unlisted classes together."""
        return 0 * m.rest

    def rest_but_outcome(self, m: CaseStatistics) -> Array:
        """All unlisted classes but the outcome: (1 - 1 / unlisted) of the whole if it is one of them."""
        xp, whole = m.xp, self.rest(m)
        lone = (m.unlisted == 1) & ~m.hit
        part = 1.0 - 1.0 / xp.where(m.hit | lone, xp.inf, m.unlisted)
        return xp.where(lone, 0.0, whole * part)


@dataclass(frozen=True, slots=True)
class Nothing(_Sum):
    """For rules that look at the outcome alone."""

    def rest_but_outcome(self, m: CaseStatistics) -> Array:
        """Nothing."""
        return 0 * m.outcome


@dataclass(frozen=True, slots=True)
class Peak(_Sum):
    """The largest listed confidence, and how many share it."""

    kind = "peak"


@dataclass(frozen=True, slots=True)
class Squares(_Sum):
    """Sum of squares."""

    kind = "squares"
    exponent = 2.0

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """t squared."""
        return t * t

    def rest(self, m: CaseStatistics) -> Array:
        """n * pi**2."""
        return m.rest * m.proxy

    def rest_but_outcome(self, m: CaseStatistics) -> Array:
        """(n - 1) * pi**2, or n * pi**2 if the outcome is listed."""
        return m.proxy * (m.rest - m.xp.where(m.hit, 0.0, m.proxy))


@dataclass(frozen=True, slots=True)
class Powers(_Sum):
    """Sum of powers, for an exponent above zero."""

    power: float
    kind = "powers"

    @property
    def exponent(self) -> float:  # type: ignore[override]
        """The power."""
        return self.power

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """t to the power."""
        return t**self.power

    def rest(self, m: CaseStatistics) -> Array:
        """n * pi**a = exp(a log alpha + (1 - a) log n)."""
        return _scaled_power(m, self.power)


@dataclass(frozen=True, slots=True)
class PowerExcess(_Sum):
    """Sum of t**a - t: the power sum minus one, without cancellation for lists that are nearly sure."""

    power: float
    kind = "terms"

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """t**a - t = t expm1((a - 1) log t)."""
        return xp.where(t > 0, t * xp.expm1((self.power - 1.0) * log_of(xp, t, lack)), 0.0)

    def rest(self, m: CaseStatistics) -> Array:
        """n pi**a - alpha = alpha expm1((a - 1) log pi); where that grows without end, as it stands."""
        xp, a = m.xp, self.power
        some = m.log_rest > -xp.inf
        growth = (a - 1.0) * xp.where(some, m.log_proxy, 0.0)
        small = growth < 1.0
        factored = m.rest * xp.expm1(xp.where(small, growth, 0.0))
        if a > 1:
            return xp.where(some, factored, 0.0)
        return xp.where(some, xp.where(small, factored, _scaled_power(m, a) - m.rest), 0.0)


def log_of(xp: Any, t: Array, lack: Array) -> Array:
    """log(t), from what t lacks to one where it is large; 0 where t is 0."""
    large = t > 0.5
    small = xp.log(xp.where((t > 0) & ~large, t, 1.0))
    return xp.where(large, xp.log1p(-xp.where(large, lack, 0.0)), small)


def rest_surprise(xp: Any, log_rest: Array, log_n: Array) -> Array:
    """alpha log(n / alpha): infinite for infinitely many classes, however small the mass is that they share."""
    finite = log_n < xp.inf
    return xp.where(finite, xp.exp(log_rest) * (xp.where(finite, log_n, 0.0) - log_rest), xp.inf)


def _scaled_power(m: CaseStatistics, a: float) -> Array:
    xp = m.xp
    some = (m.log_rest > -xp.inf) & (m.unlisted > 0)
    log = a * xp.where(some, m.log_rest, 0.0) + (1.0 - a) * xp.where(some, m.log_unlisted, 0.0)
    return xp.where(some, xp.exp(log), 0.0)


@dataclass(frozen=True, slots=True)
class ClassTerms(_Sum):
    """Sum of any function f(t, 1 - t) that is zero at t = 0, given as it stands.

    `rest(log_rest, log_unlisted)` gives n * f(pi) in logarithms; without it, f(pi) is taken as proportional to pi
    where pi is too small to be a number, which is refused if it is not so.
    """

    function: Callable[[Any, Array, Array], Array]
    in_logs: Callable[[Any, Array, Array], Array] | None = None
    kind = "terms"

    def terms(self, xp: Any, t: Array, lack: Array) -> Array:
        """f(t)."""
        return self.function(xp, t, lack)

    def rest(self, m: CaseStatistics) -> Array:
        """n * f(pi)."""
        xp = m.xp
        some = (m.log_rest > -xp.inf) & (m.unlisted > 0)
        if self.in_logs is not None:
            log_rest, log_n = xp.where(some, m.log_rest, 0.0), xp.where(some, m.log_unlisted, 0.0)
            return xp.where(some, self.in_logs(xp, log_rest, log_n), 0.0)
        number = m.proxy > _SMALL
        count = xp.where(number, m.unlisted, 1.0)
        share = xp.where(number, m.proxy, 0.5)
        out = xp.where(number, count * self.function(xp, share, 1.0 - share), 0.0)
        limit = some & ~number
        if bool(xp.any(limit)):
            out = xp.where(limit, m.rest * self._slope(), out)
        return out

    def _slope(self) -> float:
        """The limit of f(x) / x at zero."""
        far, near = (float(self.function(np, np.array([x]), np.ones(1))[0]) / x for x in (1e-280, 1e-290))
        if abs(near) < 1e-3 * abs(far) or abs(near) < 1e-12:
            return 0.0
        if np.isfinite(near) and abs(near - far) <= 1e-9 * abs(near):
            return near
        raise RuleError(
            "this rule has no limit for so many classes that the proxy underflows: use a rule with a closed form."
        )


NOTHING = Nothing()
