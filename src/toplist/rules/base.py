"""What a scoring rule is: a value with a name that turns cases into scores, lower is better."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from toplist.moments import Cases, Moments, Sum, Table
from toplist.rules.sums import Nothing

Array = Any


class Rule(ABC):
    """A symmetric proper scoring rule, extended to top lists by padding.

    Rules are frozen values: two of the same kind with the same parameters are equal.
    """

    __slots__ = ()
    name: ClassVar[str]
    strict: ClassVar[bool] = True  # known to be strictly proper: only the truth scores best
    spread: ClassVar[bool] = False  # needs Python functions of every confidence, so valid lists first

    @abstractmethod
    def scores(self, cases: Cases) -> Array:
        """The score of what happened, one per case."""

    @abstractmethod
    def entropies(self, cases: Cases) -> Array:
        """The expected score of each list if it is right: the entropy of its padded distribution."""

    @abstractmethod
    def each(self, table: Table) -> tuple[Array, Array]:
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
    def score(self, m: Moments, others: Array) -> Array:
        """The score, given the sum over every class but the outcome."""

    @abstractmethod
    def entropy(self, m: Moments, total: Array) -> Array:
        """The entropy, given the sum over every class."""

    def scores(self, cases: Cases) -> Array:
        """See `Rule.scores`."""
        m = cases.moments(self.sum)
        return self.score(m, m.others(self.sum))

    def entropies(self, cases: Cases) -> Array:
        """See `Rule.entropies`."""
        m = cases.moments(self.entropy_sum)
        return self.entropy(m, m.everything(self.entropy_sum))

    def each(self, table: Table) -> tuple[Array, Array]:
        """See `Rule.each`."""
        listed, unlisted = table.each(self.sum)
        return self.score(listed, listed.others(self.sum)), self.score(unlisted, unlisted.others(self.sum))


NOTHING = Nothing()


def is_finite(x: Any) -> bool:
    """Is this a number, and a finite one?"""
    return isinstance(x, int | float | np.number) and math.isfinite(x)
