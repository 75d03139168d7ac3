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

    @abstractmethod
    def value(self, totals: Totals) -> Floats:
        """One entry for each column of the totals."""

    @abstractmethod
    def contributions(self, units: Totals) -> Floats:
        """One entry for each unit."""

    @abstractmethod
    def weights(self, units: Totals) -> Floats:
        """How much each unit counts: those without any weight are no units."""


@dataclass(frozen=True, slots=True)
class Mean(Quantity):
    """The mean score of a."""

    a: int

    def value(self, totals: Totals) -> Floats:
        """See `Quantity`."""
        return totals.x(self.a, self.a) / totals.w(self.a, self.a)

    def contributions(self, units: Totals) -> Floats:
        """See `Quantity`."""
        a, all_ = self.a, units.all
        return (units.x(a, a) - self.value(all_) * units.w(a, a)) / all_.w(a, a)

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.a)


@dataclass(frozen=True, slots=True)
class Difference(Quantity):
    """The mean of score a minus score b."""

    a: int
    b: int

    def value(self, totals: Totals) -> Floats:
        """See `Quantity`."""
        a, b = self.a, self.b
        return (totals.x(a, b) - totals.x(b, a)) / totals.w(a, b)

    def contributions(self, units: Totals) -> Floats:
        """See `Quantity`."""
        a, b, all_ = self.a, self.b, units.all
        return (units.x(a, b) - units.x(b, a) - self.value(all_) * units.w(a, b)) / all_.w(a, b)

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.b)


@dataclass(frozen=True, slots=True)
class Skill(Quantity):
    """One minus the mean of a over that of the empty list."""

    a: int

    def value(self, totals: Totals) -> Floats:
        """See `Quantity`."""
        return 1.0 - totals.x(self.a, self.a) / totals.empty(self.a)

    def contributions(self, units: Totals) -> Floats:
        """See `Quantity`."""
        a, all_ = self.a, units.all
        ratio = all_.x(a, a) / all_.empty(a)
        return (ratio * units.empty(a) - units.x(a, a)) / all_.empty(a)

    def weights(self, units: Totals) -> Floats:
        """See `Quantity`."""
        return units.w(self.a, self.a)


@dataclass(frozen=True, slots=True)
class ReferenceSkill(Quantity):
    """One minus the mean of a over that of b, on the cases of both."""

    a: int
    b: int

    def value(self, totals: Totals) -> Floats:
        """See `Quantity`."""
        return 1.0 - totals.x(self.a, self.b) / totals.x(self.b, self.a)

    def contributions(self, units: Totals) -> Floats:
        """See `Quantity`."""
        a, b, all_ = self.a, self.b, units.all
        ratio = all_.x(a, b) / all_.x(b, a)
        return (ratio * units.x(b, a) - units.x(a, b)) / all_.x(b, a)

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
