"""Base classes of scoring rules: a rule turns cases into scores, lower is better."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from toplist.core.case_statistics import CaseColumns, CaseStatistics, ScoreTable, Sum
from toplist.errors import RuleError
from toplist.scoring.rules.class_sums import Nothing

Array = Any
MANY = 83.0  # from exp(83), about 1e36, classes on powers of confidences may underflow, where all are that small


class Rule(ABC):
    """A symmetric proper scoring rule, extended to top lists by padding.

    Rules are frozen values: two of the same kind with the same parameters are equal. A rule that is a closed form of
    one sum derives from `SumRule`, one that needs every confidence at once from `TableRule`; `Separable` and `Savage`
    make a rule of a function.

    Attributes
    ----------
    name : str
        Name of the family.
    strict : bool
        Whether the rule is known to be strictly proper.

    Examples
    --------
    >>> from toplist.scoring.rules import Brier, Log
    >>> Brier() == Brier(), Log().bounds()
    (True, (0.0, inf))
    """

    __slots__ = ()
    name: ClassVar[str]
    strict: ClassVar[bool] = True  # known to be strictly proper: only the truth scores best

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
        """The score of what happened, one per case."""

    @abstractmethod
    def entropies(self, cases: CaseColumns) -> Array:
        """The expected score of each list if it is right: the entropy of its padded distribution."""

    @abstractmethod
    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """The score of every listed outcome as (rows, k), and of an unlisted one."""

    def bounds(self) -> tuple[float, float]:
        """The least and the largest score there is, as far as is known."""
        return -math.inf, math.inf


class SumRule(Rule):
    """A rule that is a closed form of one sum: say what is summed, and how it ends."""

    __slots__ = ()

    @property
    @abstractmethod
    def sum(self) -> Sum:
        """What the score sums over the classes that did not happen."""

    @property
    @abstractmethod
    def entropy_sum(self) -> Sum:
        """What the entropy sums over all classes."""

    @abstractmethod
    def score(self, m: CaseStatistics, others: Array) -> Array:
        """The score, given the sum over every class but the outcome."""

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


NOTHING = Nothing()


def is_finite(x: Any) -> bool:
    """Is this a number, and a finite one?"""
    return isinstance(x, int | float | np.number) and math.isfinite(x)
