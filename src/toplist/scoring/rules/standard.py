"""The standard rules: those with a closed form, and the names by which the usual ones go. A rule is a frozen value.

Every rule here is symmetric, and is scored at the padded distribution t~ of a list (paper, eq. 6). With the outcome y,
q = t~_y and M_a = sum of t~**a over all classes. In the paper, eq. 2 is `Log`, eq. 3 and 11 are `Brier`, eq. 9 is the
entropy of `Brier`; the others are in the literature that each names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist._text import did_you_mean
from toplist.core.array_api import CaseColumns, CaseStatistics, ScoreTable, Sum, exclusive_sums, is_even, log_or
from toplist.errors import RuleError
from toplist.scoring.rules.base import (
    MANY,
    NOTHING,
    ClassTerms,
    Nothing,
    Peak,
    PowerExcess,
    Powers,
    Rule,
    Squares,
    SumRule,
    collect,
    is_finite,
    log_of,
    pick_scores,
    rest_surprise,
)
from toplist.scoring.rules.binary import BINARY, Binary, Given
from toplist.scoring.rules.given import require_proper
from toplist.scoring.rules.ordinal import RankedLog, RankedProbability
from toplist.scoring.rules.top_beta import TopBeta

Array = Any
_LARGE = 8.0
_TINY = 1e-260  # sums of powers up to the eighth below this underflow; they take more classes than exp(MANY)
_NEAR, _TERMS = 0.05, 12  # below it, a series stands for a form that cancels: 0.05**12 is less than float64's rounding


@dataclass(frozen=True, slots=True)
class Brier(SumRule):
    """Brier score: the quadratic score of the padded distribution, from 0 to 2 (paper, eq. 3 and 11).

    S(t, y) = (1 - q)**2 + sum of t~_z**2 over the other classes z = 1 - 2 q + M_2, with the entropy
    G(t~) = 1 - M_2 (eq. 9). The first form keeps the last digit where a list is nearly certain and right.

    Parameters
    ----------
    scale_by_half : bool, default False
        Halve the score, the other convention.

    References
    ----------
    .. [1] G. W. Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather Review 78 (1950).
    .. [2] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007),
       example 1.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=Brier())
    array([0.375])
    """

    scale_by_half: bool = False
    name: ClassVar[str] = "brier"
    sum: ClassVar[Squares] = Squares()
    entropy_sum: ClassVar[PowerExcess] = PowerExcess(2.0)

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """(1 - q)**2 + others."""
        s = m.miss * m.miss + others
        return 0.5 * s if self.scale_by_half else s

    def under_uniform(self, classes: int, sum_of: Callable[[float], Array]) -> Array:
        """1 - 2 / m + sum of squares."""
        s = sum_of(2.0) + (1.0 - 2.0 / classes)
        return 0.5 * s if self.scale_by_half else s

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """1 - sum of squares."""
        return (0.5 if self.scale_by_half else 1.0) * (0.0 - total)

    def bounds(self) -> tuple[float, float]:
        """0 to 2, or to 1 if halved."""
        return 0.0, 1.0 if self.scale_by_half else 2.0


class PowerRule(SumRule):
    """A rule of the sum of one power of the confidences."""

    __slots__ = ()
    a: float

    @property
    def sum(self) -> Sum:
        """Powers."""
        return Powers(self.a)

    @property
    def entropy_sum(self) -> PowerExcess:
        """Powers minus one."""
        return PowerExcess(self.a)


@dataclass(frozen=True, slots=True)
class Power(PowerRule):
    """Power score, also called Tsallis score: a = 2 is the Brier score, the limit a -> 1 the logarithmic score.

    S(t, y) = (1 - a q**(a - 1)) / (a - 1) + M_a, with the entropy (1 - M_a) / (a - 1), computed as
    a * integral from q to 1 of x**(a - 2) (1 - x) plus the sum over the other classes: two parts that never cancel.

    Parameters
    ----------
    a : float
        Exponent above 0, other than 1.

    References
    ----------
    .. [1] C. Tsallis, "Possible Generalization of Boltzmann-Gibbs Statistics", J. of Statistical Physics 52 (1988).
    .. [2] A. P. Dawid and M. Musio, "Theory and Applications of Proper Scoring Rules", METRON 72 (2014).

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=Power(2.0))
    array([0.375])
    """

    a: float
    name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        if not (is_finite(self.a) and self.a > 0 and self.a != 1):
            hint = " Its limit at 1 is the logarithmic score: Log()." if self.a == 1 else ""
            raise RuleError(f"Power takes an exponent above 0 other than 1, not {self.a!r}.{hint}")

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """[1 - a q**(a - 1) + (a - 1) q**a] / (a - 1) + others.

        The first is a * integral from 0 to d of x (1 - x)**(a - 2), d = 1 - q: where d is small and the form cancels,
        by the binomial series of the second factor.
        """
        xp, a, d, log_q = m.xp, self.a, m.miss, m.log_outcome
        unit = max(1.0, abs(a - 2.0))
        nothing, near = log_q == -xp.inf, d * unit < _NEAR
        growth = xp.expm1((a - 1.0) * xp.where(nothing | near, -1.0, log_q))
        lack, x = xp.where(near, 1.0, d), xp.where(near, d, 0.0)
        far = xp.where(nothing, 1.0 / (a - 1.0) if a > 1 else xp.inf, growth * (1.0 / (1.0 - a) - lack) - lack)
        series = 0.0 * x
        for j, coefficient in enumerate(_series(a - 2.0, unit)[::-1], 1):
            series = series * (x * unit) + coefficient / (_TERMS - j + 2.0)
        return xp.where(near, a * x * x * series, far) + others

    def under_uniform(self, classes: int, sum_of: Callable[[float], Array]) -> Array:
        """(1 - a / m * sum of t**(a - 1)) / (a - 1) + sum of t**a."""
        return (1.0 - self.a / classes * sum_of(self.a - 1.0)) / (self.a - 1.0) + sum_of(self.a)

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """(1 - sum of powers) / (a - 1)."""
        return (0.0 - total) / (self.a - 1.0)

    def bounds(self) -> tuple[float, float]:
        """0 to a / (a - 1), or without end below 1."""
        return 0.0, self.a / (self.a - 1.0) if self.a > 1 else math.inf


def _series(exponent: float, unit: float) -> list[float]:
    """The coefficients of (1 - x)**exponent in powers of x * unit."""
    coefficients = [1.0]
    for j in range(1, _TERMS):
        coefficients.append(coefficients[-1] * (j - 1.0 - exponent) / (j * unit))
    return coefficients


def _surprise(xp: Any, t: Array, lack: Array) -> Array:
    return 0.0 - t * log_of(xp, t, lack)


@dataclass(frozen=True, slots=True)
class Log(SumRule):
    """Logarithmic score: minus the log of the outcome's padded confidence (paper, eq. 2).

    S(t, y) = -log q, which is log n - log alpha for one of n unlisted classes that share alpha; its entropy is
    -sum of t~ log t~. Infinite where the outcome has confidence zero; nothing is clipped. Of infinitely many
    classes, an unlisted one scores infinity.

    References
    ----------
    .. [1] I. J. Good, "Rational Decisions", Journal of the Royal Statistical Society B 14 (1952).
    .. [2] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007),
       example 3.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=Log()).round(4)
    array([0.6931])
    """

    name: ClassVar[str] = "log"
    sum: ClassVar[Nothing] = NOTHING
    entropy_sum: ClassVar[ClassTerms] = ClassTerms(_surprise, rest_surprise)

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """-log q."""
        return 0.0 - m.log_outcome  # so that a sure hit scores 0, not -0

    def under_uniform(self, classes: int, sum_of: Callable[[float], Array]) -> Array:
        """-(sum of log t) / m."""
        return -sum_of(0.0) / classes

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """-sum of t log t - alpha (log alpha - log n)."""
        return total

    def bounds(self) -> tuple[float, float]:
        """0 to infinity."""
        return 0.0, math.inf


@dataclass(frozen=True, slots=True)
class PseudoSpherical(PowerRule):
    """Pseudospherical score, from 0 to 1; a = 2 is the spherical score.

    S(t, y) = 1 - (q / N)**(a - 1), N = M_a**(1 / a) the a-norm of the padded distribution; the entropy is 1 - N.

    Parameters
    ----------
    a : float
        Exponent above 1.
    normalized : bool, default False
        Divide by a - 1, so that the logarithmic score is the limit at a = 1 (Arimoto's entropy is a times this one's).

    References
    ----------
    .. [1] I. J. Good, comment on "Measuring Information and Uncertainty" by R. J. Buehler, in V. P. Godambe and
       D. A. Sprott (editors), "Foundations of Statistical Inference" (1971), pages 337-339.
    .. [2] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007),
       example 2.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.5]], [0], rule=PseudoSpherical(2.0)).round(4)
    array([0.2929])
    """

    a: float
    normalized: bool = False
    name: ClassVar[str] = "pseudospherical"
    scale_free: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (is_finite(self.a) and self.a > 1):
            raise RuleError(f"PseudoSpherical takes an exponent above 1, not {self.a!r}.")

    @property
    def sum(self) -> Sum:
        """Powers."""
        return Squares() if self.a == 2 else Powers(self.a)

    @property
    def _unit(self) -> float:
        return self.a - 1.0 if self.normalized else 1.0

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """1 - (q**a / (q**a + others))**((a - 1) / a)."""
        xp, a = m.xp, self.a
        total = (m.outcome * m.outcome if a == 2 else m.outcome**a) + others
        none = total <= 0
        safe = xp.where(none, 1.0, total)
        scored = self._of_share(xp, others / safe, a * m.log_outcome, xp.log(safe))
        return xp.where(none, 1.0 / self._unit, scored)

    def under_uniform(self, classes: int, sum_of: Callable[[float], Array]) -> Array:
        """1 - N**(1 - a) * (sum of t**(a - 1)) / m."""
        return (1.0 - sum_of(self.a - 1.0) / classes * sum_of(self.a) ** ((1.0 - self.a) / self.a)) / self._unit

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """1 - N."""
        return (0.0 - m.xp.expm1(m.xp.log1p(total) / self.a)) / self._unit

    @property
    def tabular(self) -> bool:
        """See `Rule.tabular`: large powers underflow, and are summed in logarithms."""
        return self.a > _LARGE

    def scores(self, cases: CaseColumns) -> Array:
        """See `Rule.scores`."""
        if self.tabular:
            return pick_scores(cases, self._each_in_logs)
        m = cases.statistics(self.sum)
        xp, others = m.xp, m.others(self.sum)
        out = self.score(m, others)
        if not bool(xp.any(m.log_size > MANY)):
            return out
        small = m.outcome**self.a + others < _TINY
        return xp.where(small, pick_scores(cases, self._each_in_logs), out) if bool(xp.any(small)) else out

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """See `Rule.each`."""
        many = bool(table.xp.any(table.log_size > MANY))
        return self._each_in_logs(table) if self.tabular or many else PowerRule.each(self, table)

    def _each_in_logs(self, table: ScoreTable) -> tuple[Array, Array]:
        """The same where powers underflow."""
        xp, (peak, logs, weights, total) = table.xp, self._weights(table)
        none = peak == -xp.inf  # the norm of no confidence over infinitely many classes is zero
        one = table.unlisted == 1
        share = xp.where(one, 0.0, 1.0 - 1.0 / xp.where(table.unlisted > 1, table.unlisted, xp.inf))
        beside = xp.sum(weights[:, :-1], axis=1) + share * weights[:, -1]
        log_total = xp.log(total)
        listed = self._of_share(
            xp, exclusive_sums(xp, weights)[:, :-1] / xp.expand_dims(total, axis=1), logs[:, :-1], log_total[:, None]
        )
        own = xp.where(table.unlisted > 0, logs[:, -1] - log_or(xp, table.unlisted, table.log_size), -xp.inf)
        unlisted = self._of_share(xp, beside / total, own, log_total)
        return xp.where(xp.expand_dims(none, axis=1), 1.0 / self._unit, listed), xp.where(
            none, 1.0 / self._unit, unlisted
        )

    def _of_share(self, xp: Any, others: Array, log_own: Array, log_total: Array) -> Array:
        """The score from the others' share of the norm where that is small, from the outcome's where it is not."""
        few = others < 0.5
        log = xp.where(few, xp.log1p(-xp.where(few, others, 0.0)), log_own - log_total)
        return (0.0 - xp.expm1((self.a - 1.0) / self.a * log)) / self._unit

    def _weights(self, table: ScoreTable) -> tuple[Array, Array, Array, Array]:
        """The log of the largest power; logs relative to it, the last for all that is unlisted; powers; their sum."""
        xp, a = table.xp, self.a
        lack = exclusive_sums(xp, table.t) + xp.expand_dims(table.rest, axis=1)
        listed = xp.where(table.t > 0, a * log_of(xp, table.t, lack), -xp.inf)
        finite = (table.unlisted > 0) & (table.log_size < xp.inf)  # infinitely many classes: a power of zero mass each
        log_n = xp.where(finite, log_or(xp, table.unlisted, table.log_size), 0.0)
        unlisted = xp.where(finite, a * table.log_proxy + log_n, -xp.inf)
        logs = xp.concat([listed, xp.expand_dims(unlisted, axis=1)], axis=1)
        peak = xp.max(logs, axis=1)
        some = peak > -xp.inf
        logs = xp.where(xp.expand_dims(some, axis=1), logs - xp.expand_dims(xp.where(some, peak, 0.0), axis=1), -xp.inf)
        weights = xp.exp(logs)
        return peak, logs, weights, xp.where(some, xp.sum(weights, axis=1), 1.0)

    def _table_entropy(self, table: ScoreTable) -> Array:
        """1 - N."""
        peak, _, _, total = self._weights(table)
        return (0.0 - table.xp.expm1((peak + table.xp.log(total)) / self.a)) / self._unit

    def entropies(self, cases: CaseColumns) -> Array:
        """See `Rule.entropies`. Where the norm is small, it is summed as it is, not as one minus something."""
        if self.tabular:
            return collect(cases, self._table_entropy)
        m = cases.statistics(self.entropy_sum)
        excess = m.everything(self.entropy_sum)
        out = self.entropy(m, excess)
        if not bool(m.xp.any(excess < -0.5)):
            return out
        plain = ClassTerms(lambda _, t, __: t**self.a, self._rest)
        m = cases.statistics(plain)
        small = (1.0 - m.everything(plain) ** (1.0 / self.a)) / self._unit
        return m.xp.where(excess < -0.5, small, out)

    def _rest(self, xp: Any, log_rest: Array, log_n: Array) -> Array:
        return xp.exp(self.a * log_rest + (1.0 - self.a) * log_n)

    def bounds(self) -> tuple[float, float]:
        """0 to 1, or to 1 / (a - 1) if normalized."""
        return 0.0, 1.0 / self._unit


@dataclass(frozen=True, slots=True)
class Spherical(PseudoSpherical):
    """Spherical score, from 0 to 1: S(t, y) = 1 - q / N, where N = M_2**(1 / 2) is the norm of the padded distribution.

    Parameters
    ----------
    a : float, default 2.0
        Exponent; 2 for the spherical score.
    normalized : bool, default False
        Divide by a - 1, which is 1 here.

    References
    ----------
    .. [1] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007),
       example 2.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.5]], [0], rule=Spherical()).round(4)
    array([0.2929])
    """

    a: float = 2.0
    name: ClassVar[str] = "spherical"
    sum: ClassVar[Squares] = Squares()  # again here: torch.compile finds nothing in the parent of a frozen class

    def __post_init__(self) -> None:
        if self.a != 2:
            raise RuleError("Spherical has exponent 2; others are PseudoSpherical(a).")

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """1 - q / N = others / (N (N + q)), which never cancels."""
        xp, total = m.xp, m.outcome * m.outcome + others
        none = total <= 0
        safe = xp.where(none, 1.0, total)
        return xp.where(none, 1.0, others / (safe + xp.sqrt(safe) * m.outcome))

    def __repr__(self) -> str:
        return "Spherical()"


_LACK_OF_LARGE = ClassTerms(
    lambda xp, t, lack: xp.where(t > 0.5, lack, 0.0), lambda _, log_rest, __: 0.0 * log_rest
)  # at most one class is above one half


@dataclass(frozen=True, slots=True)
class ZeroOne(SumRule):
    """Zero-one score: misclassification of the most confident class, shared among ties; proper, not strictly.

    S(t, y) = 1 - 1{q is largest} / number of classes with the largest confidence; the entropy is 1 - the largest one.
    It elicits the mode (paper, eq. 4) alone, and not its probability. In the empty list all classes tie. Listed
    classes tie where their confidences are equal, and with the unlisted ones where these are 1 / m, up to the rounding
    of float64, float32 or float16 numbers.

    References
    ----------
    .. [1] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007),
       example 4.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], [1, 1], rule=ZeroOne())
    array([1. , 0.5])
    """

    name: ClassVar[str] = "zero-one"
    strict: ClassVar[bool] = False
    sum: ClassVar[Peak] = Peak()
    entropy_sum: ClassVar[Peak] = Peak()

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """1 - 1 / ties if the outcome is among them."""
        xp = m.xp
        size = m.unlisted + m.ties
        flat = (size == m.size) & is_even(xp, m.total, m.size)
        listed = (m.total > m.proxy) & ~flat  # otherwise the list is empty or flat, and every class ties
        best = m.hit & (m.outcome >= m.total)
        won = xp.where(listed, xp.where(best, 1.0 / xp.where(m.ties > 0, m.ties, 1.0), 0.0), 1.0 / size)
        return 1.0 - won

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """1 - the largest confidence."""
        return 1.0 - m.xp.where(m.total > m.proxy, m.total, m.proxy)

    def entropies(self, cases: CaseColumns) -> Array:
        """See `Rule.entropies`. What a confidence above one half lacks to one is summed, not subtracted."""
        m = cases.statistics(self.entropy_sum)
        plain, large = self.entropy(m, m.total), m.total > 0.5
        if not bool(m.xp.any(large)):
            return plain
        lacking = cases.statistics(_LACK_OF_LARGE)
        return m.xp.where(large, lacking.everything(_LACK_OF_LARGE), plain)

    def bounds(self) -> tuple[float, float]:
        """0 to 1."""
        return 0.0, 1.0


@dataclass(frozen=True, slots=True)
class Renyi(PowerRule):
    """Score of Renyi's entropy log(M_a) / (1 - a).

    S(t, y) = [log M_a + a q**(a - 1) / M_a - a] / (1 - a). For a > 1 the entropy is not concave with many classes, so
    that there is no proper score.

    Parameters
    ----------
    a : float
        Exponent between 0 and 1.

    References
    ----------
    .. [1] A. Renyi, "On Measures of Entropy and Information", Fourth Berkeley Symposium (1961).

    Examples
    --------
    >>> import toplist as tl
    >>> tl.entropy([[0.5, 0.5]], rule=Renyi(0.5)).round(4)
    array([0.6931])
    """

    a: float
    name: ClassVar[str] = "renyi"

    def __post_init__(self) -> None:
        if not (is_finite(self.a) and 0 < self.a < 1):
            raise RuleError(
                f"Renyi takes an exponent between 0 and 1, not {self.a!r}: above 1 its entropy is not concave with "
                "many classes."
            )

    @property
    def of_powers(self) -> bool:
        """See `SumRule.of_powers`: where powers overflow, the rest mass is asked for."""
        return False

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """In terms of M - 1, which is small for a list that is nearly sure and right."""
        xp, a = m.xp, self.a
        nothing = m.log_outcome == -xp.inf
        log_q = xp.where(nothing, 0.0, m.log_outcome)
        excess = xp.expm1(a * log_q) + others
        lack = xp.expm1((a - 1.0) * log_q) - excess
        finite = (xp.log1p(excess) + a * lack / (1.0 + excess)) / (1.0 - a)
        over = xp.isinf(others) | ((a - 1.0) * log_q > 600.0)  # one of the two powers overflows, not their ratio
        if bool(xp.any(over)):
            log_total = xp.where(xp.isinf(others), self._log_of_rest(m), xp.log1p(excess))
            beyond = (log_total + a * xp.exp((a - 1.0) * log_q - log_total) - a) / (1.0 - a)
            finite = xp.where(over, beyond, finite)
        return xp.where(nothing, xp.inf, finite)

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """log M / (1 - a)."""
        log_total = m.xp.log1p(total)
        return m.xp.where(m.xp.isinf(total), self._log_of_rest(m), log_total) / (1.0 - self.a)

    def _log_of_rest(self, m: CaseStatistics) -> Array:
        """log M where M overflows: what is listed then counts nothing beside what is not."""
        return self.a * m.log_rest + (1.0 - self.a) * m.log_unlisted

    def bounds(self) -> tuple[float, float]:
        """0 to infinity."""
        return 0.0, math.inf


@dataclass(frozen=True, slots=True)
class OneVsRest(SumRule):
    """One-vs-rest score: the sum over the classes of a binary proper score of "this class or not".

    S(t, y) = s1(q) + sum of s0(t~_z) over the other classes z.

    Parameters
    ----------
    binary : {"log", "brier", "boosting"} or pair of callables, default "log"
        The binary score, by name or as functions (s1, s0): the score of confidence p if the class occurs, and if it
        does not, with s0(0) = 0.

    References
    ----------
    .. [1] A. Buja, W. Stuetzle and Y. Shen, "Loss Functions for Binary Class Probability Estimation and
       Classification: Structure and Applications", technical report (2005), on the binary scores.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=OneVsRest("brier"))
    array([0.375])
    """

    binary: str | tuple[Callable[[Array], Array], Callable[[Array], Array]] = "log"
    name: ClassVar[str] = "one-vs-rest"

    def __post_init__(self) -> None:
        if isinstance(self.binary, str):
            if self.binary not in BINARY:
                raise RuleError(f"known binary scores are {', '.join(BINARY)}, not {self.binary!r}.")
            return
        if not (isinstance(self.binary, tuple) and len(self.binary) == 2 and all(map(callable, self.binary))):
            raise RuleError("binary is a name, or a pair of functions: the score if it happens, and if not.")
        require_proper(self)

    @property
    def _score(self) -> Binary:
        return BINARY[self.binary] if isinstance(self.binary, str) else Given(*self.binary)

    @property
    def sum(self) -> ClassTerms:
        """s0."""
        return ClassTerms(self._score.fails, self._score.fails_rest)

    @property
    def entropy_sum(self) -> ClassTerms:
        """p s1(p) + (1 - p) s0(p)."""
        return ClassTerms(self._score.entropy, self._score.entropy_rest)

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """s1(q) + others."""
        return self._score.happens(m.xp, m.outcome, m.log_outcome, m.miss) + others

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """Sum of binary entropies."""
        return total

    def bounds(self) -> tuple[float, float]:
        """From 0 on for the binary scores that have a name."""
        return (0.0, self._score.upper) if isinstance(self.binary, str) else (-math.inf, math.inf)


RULES: dict[str, Callable[[], Rule]] = {
    "brier": Brier,
    "log": Log,
    "spherical": Spherical,
    "zero-one": ZeroOne,
    "one-vs-rest": OneVsRest,
}
ORDINAL_RULES: dict[str, Callable[[], Rule]] = {
    "rps": RankedProbability,
    "rps-normalized": lambda: RankedProbability(normalized=True),
    "ranked_log": RankedLog,
}  # they need ordered classes


def as_rule(rule: Any) -> Rule:
    """A rule as it is, or the one with this name.

    >>> as_rule("brier")
    Brier(scale_by_half=False)
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, type) and issubclass(rule, Rule):
        raise RuleError(f"{rule.__name__} is a family of rules; call it: {rule.__name__}(...).")
    named = RULES | ORDINAL_RULES
    if isinstance(rule, str) and rule in named:
        return named[rule]()
    if isinstance(rule, str) and rule.partition(":")[0] == TopBeta.name:
        return TopBeta.parse(rule)
    known = (*named, f"{TopBeta.name}:0.9")
    raise RuleError(f"no rule is called {rule!r}; there are {', '.join(known)}.{did_you_mean(str(rule), known)}")


def as_padded_rule(rule: Any, what: str) -> Rule:
    """The same where lists of any length are scored; `what` says who asks.

    >>> as_padded_rule("topbeta:0.9", "a curve over k")
    Traceback (most recent call last):
    toplist.errors.RuleError: a curve over k scores lists of any length, and topbeta:0.9 lists of one mass: ...
    """
    found = as_rule(rule)
    if not found.padded:
        raise RuleError(
            f"{what} scores lists of any length, and {name_of(found)} lists of one mass: take another rule, such as "
            '"brier".'
        )
    return found


def name_of(rule: Rule) -> str:
    """The name of a rule as people know it; with its parameters, where they are not the usual ones.

    >>> name_of(Brier()), name_of(Brier(scale_by_half=True))
    ('brier', 'Brier(scale_by_half=True)')
    """
    if isinstance(rule, TopBeta):
        return rule.spelling
    return next((name for name, usual in (RULES | ORDINAL_RULES).items() if usual() == rule), repr(rule))
