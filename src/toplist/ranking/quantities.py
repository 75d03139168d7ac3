"""What is estimated, as functions of sums over units, with what each unit contributes to them.

A contribution is the derivative of the quantity along the unit's own sums; contributions add up to zero, and the
variance of their sum is that of the quantity (delta method).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from toplist.ranking.panels import Floats, Totals


class Quantity(ABC):
    """A smooth function of totals."""

    __slots__ = ()

    @abstractmethod
    def value(self, totals: Totals) -> Floats:
        """One entry for each column of the totals."""

    @abstractmethod
    def contributions(self, units: Totals) -> Floats:
        """One entry for each unit."""

    @abstractmethod
    def weights(self, units: Totals) -> Floats:
        """How much each unit counts: those without any weight are no units."""


class Ratio(Quantity):
    """One sum over another, N / D: what a unit contributes is (n - N / D d) / D."""

    __slots__ = ()

    @abstractmethod
    def parts(self, totals: Totals) -> tuple[Floats, Floats]:
        """What is divided by what."""

    def value(self, totals: Totals) -> Floats:
        """See `Quantity`."""
        above, below = self.parts(totals)
        return above / below

    def contributions(self, units: Totals) -> Floats:
        """See `Quantity`."""
        (above, below), (_, whole) = self.parts(units), self.parts(units.all)
        return (above - self.value(units.all) * below) / whole


@dataclass(frozen=True, slots=True)
class Mean(Ratio):
    """The mean score of a."""

    a: int

    def parts(self, totals: Totals) -> tuple[Floats, Floats]:
        """See `Ratio`."""
        return totals.x(self.a, self.a), totals.w(self.a, self.a)

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.a)


@dataclass(frozen=True, slots=True)
class Difference(Ratio):
    """The mean of score a minus score b."""

    a: int
    b: int

    def parts(self, totals: Totals) -> tuple[Floats, Floats]:
        """See `Ratio`."""
        return totals.x(self.a, self.b) - totals.x(self.b, self.a), totals.w(self.a, self.b)

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.b)


@dataclass(frozen=True, slots=True)
class Skill(Ratio):
    """One minus the mean of a over that of the empty list: what it saves of the score of the empty list."""

    a: int

    def parts(self, totals: Totals) -> tuple[Floats, Floats]:
        """See `Ratio`."""
        empty = totals.empty(self.a)
        return empty - totals.x(self.a, self.a), empty

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.a)


@dataclass(frozen=True, slots=True)
class ReferenceSkill(Ratio):
    """One minus the mean of a over that of b, on the cases of both: what it saves of the score of b."""

    a: int
    b: int

    def parts(self, totals: Totals) -> tuple[Floats, Floats]:
        """See `Ratio`."""
        theirs = totals.x(self.b, self.a)
        return theirs - totals.x(self.a, self.b), theirs

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.b)


@dataclass(frozen=True, slots=True)
class LogRelative(Quantity):
    """The mean log ratio of the score of a to those of others, itself included, each on the cases of both."""

    a: int
    others: tuple[int, ...]

    def value(self, totals: Totals) -> Floats:
        """See `Quantity`."""
        ratios = (np.log(totals.x(self.a, b) / totals.x(b, self.a)) for b in self.others)
        return sum(ratios, np.zeros(1)) / len(self.others)

    def contributions(self, units: Totals) -> Floats:
        """See `Quantity`."""
        a, all_ = self.a, units.all
        parts = (units.x(a, b) / all_.x(a, b) - units.x(b, a) / all_.x(b, a) for b in self.others)
        return sum(parts, np.zeros(1)) / len(self.others)

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.a)
