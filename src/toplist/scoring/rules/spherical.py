"""The spherical family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.array_api import CaseColumns, CaseStatistics, ScoreTable, Sum, exclusive_sums, log_or
from toplist.errors import RuleError
from toplist.scoring.rules.base import MANY, ClassTerms, Powers, Squares, collect, is_finite, log_of, pick_scores
from toplist.scoring.rules.power import PowerRule

Array = Any
_LARGE = 8.0
_TINY = 1e-260  # sums of powers up to the eighth below this underflow; they take more classes than exp(MANY)


@dataclass(frozen=True, slots=True)
class PseudoSpherical(PowerRule):
    """Pseudospherical score, from 0 to 1; a = 2 is the spherical score.

    S = 1 - (q / N)**(a - 1), where N is the a-norm of the padded distribution.

    Parameters
    ----------
    a : float
        Exponent above 1.
    normalized : bool, default False
        Divide by a - 1, so that the logarithmic score is the limit at a = 1 (Arimoto's entropy is a times this one's).

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.5]], [0], rule=PseudoSpherical(2.0)).round(4)
    array([0.2929])
    """

    a: float
    normalized: bool = False
    name: ClassVar[str] = "pseudospherical"

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
        own = m.outcome * m.outcome if a == 2 else m.outcome**a
        total = own + others
        some = total > 0
        safe = xp.where(some, total, 1.0)
        scored = self._of_share(xp, others / safe, a * m.log_outcome, xp.log(safe))
        return xp.where(some, scored, 1.0 / self._unit)

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
        if table.log_t is not None:
            listed = xp.where(table.log_t < 0, a * table.log_t, listed)
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
    """Spherical score: 1 - q / norm of the padded distribution, from 0 to 1.

    Parameters
    ----------
    a : float, default 2.0
        Exponent; 2 for the spherical score.
    normalized : bool, default False
        Divide by a - 1, which is 1 here.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.5]], [0], rule=Spherical()).round(4)
    array([0.2929])
    """

    a: float = 2.0
    name: ClassVar[str] = "spherical"

    def __post_init__(self) -> None:
        if self.a != 2:
            raise RuleError("Spherical has exponent 2; others are PseudoSpherical(a).")

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """1 - q / N = others / (N (N + q)), which never cancels."""
        xp = m.xp
        total = m.outcome * m.outcome + others
        scaled = total + xp.sqrt(total) * m.outcome
        if bool(xp.all(scaled > 0)):
            return others / scaled / self._unit
        return xp.where(scaled > 0, others / xp.where(scaled > 0, scaled, 1.0), 1.0) / self._unit

    def __repr__(self) -> str:
        return "Spherical()"
