"""Scores of pools as functions of the weights: mean over cases, with a pull towards equal weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toplist.improve.pools.members import Members
from toplist.improve.pools.simplex import Slope
from toplist.improve.pools.union import Union, unions

Floats = NDArray[np.float64]


class Objective(Protocol):
    """A convex function of weights."""

    def __call__(self, w: Floats) -> Slope:
        """Its value and slopes at some weights."""


def inner_products(members: Members) -> Iterator[tuple[slice, Floats]]:
    r"""In blocks of cases: :math:`\langle \tilde p_i, \tilde p_j \rangle` for every case and two members, from k terms.

    The classes that nobody lists are one term, however many they are.
    """
    for here, union in unions(members):
        t = union.values()
        proxy = np.stack([one.proxy for one in union.members])
        left = np.stack([one.rest for one in union.members]) * union.shares()
        out = np.empty((union.members.cases, len(members), len(members)))
        for i in range(len(members)):
            for j in range(i, len(members)):
                out[:, i, j] = out[:, j, i] = union.sums(t[i] * t[j]) + left[i] * proxy[j]
        yield here, out


@dataclass(frozen=True, slots=True, eq=False)
class BrierOfMean:
    """w'Aw - 2b'w + 1, where A holds mean inner products, and b the mean confidence of what happened."""

    products: Floats
    outcome: Floats

    @classmethod
    def of(cls, members: Members, outcome: Floats, sample: Floats) -> BrierOfMean:
        """From the confidence of what happened, per case and member, and the weights of cases, which add up to one."""
        products = np.zeros((len(members), len(members)))
        for here, block in inner_products(members):
            products += np.tensordot(sample[here], block, axes=1)
        return cls(products, sample @ outcome)

    def __call__(self, w: Floats) -> Slope:
        """See `Objective`."""
        pull = self.products @ w
        value = float(w @ pull - 2.0 * self.outcome @ w + 1.0)
        return Slope(value, 2.0 * (pull - self.outcome), 2.0 * self.products)


@dataclass(frozen=True, slots=True, eq=False)
class LogOfMean:
    """The mean of -log(sum_j w_j q_j), q the confidence of what happened; from its logarithms, so of any size."""

    ratio: Floats  # (cases, members), the largest of a case is one
    offset: float
    sample: Floats

    @classmethod
    def of(cls, log_outcome: Floats, sample: Floats) -> LogOfMean:
        """From cases that at least one member thinks possible."""
        top = log_outcome.max(axis=1)
        return cls(np.exp(log_outcome - top[:, None]), float(-sample @ top), sample)

    def __call__(self, w: Floats) -> Slope:
        """See `Objective`."""
        mean = self.ratio @ w
        if not (mean[self.sample > 0] > 0).all():
            return Slope(np.inf, np.zeros(len(w)), np.eye(len(w)))
        mean = np.where(mean > 0, mean, 1.0)
        r = self.ratio / mean[:, None]
        weighted = r * self.sample[:, None]
        return Slope(self.offset - float(self.sample @ np.log(mean)), -weighted.sum(axis=0), weighted.T @ r)


@dataclass(frozen=True, slots=True, eq=False)
class LogOfProduct:
    """The mean of log Z(w) - sum_j w_j log q_j: the log score of a geometric pool, convex in the weights.

    The slopes are the mean, and the curvature the covariance, of the members' logarithms under the pool. A class that
    any member gives zero to is ruled out whatever its weight.
    """

    blocks: tuple[tuple[Union, Floats, Floats], ...]  # logarithms by class, and of what is left for no one's classes
    log_outcome: Floats
    sample: Floats

    @classmethod
    def of(cls, members: Members, log_outcome: Floats, sample: Floats) -> LogOfProduct:
        """From finite logarithms of the confidence of what happened; keeps all members' logarithms in memory."""
        return cls(tuple((u, u.logs(), u.log_rests()) for _, u in unions(members)), log_outcome, sample)

    def __call__(self, w: Floats) -> Slope:
        """See `Objective`."""
        count = len(w)
        value, gradient = -float(self.sample @ (self.log_outcome @ w)), -(self.sample @ self.log_outcome)
        curvature, lo = np.zeros((count, count)), 0
        for union, logs, rests in self.blocks:
            cases = union.members.cases
            sample, lo = self.sample[lo : lo + cases], lo + cases
            possible, left = np.isfinite(logs).all(axis=0), np.isfinite(rests).all(axis=0)
            listed, rest = np.where(possible, logs, 0.0), np.where(left, rests, 0.0)
            x, x_rest = np.where(possible, w @ listed, -np.inf), np.where(left, w @ rest, -np.inf)
            top = x_rest.copy()
            np.maximum.at(top, union.case, x)
            p, p_rest = np.exp(x - top[union.case]), np.exp(x_rest - top)
            total = p_rest + union.sums(p)
            p, p_rest = p / total[union.case], p_rest / total
            value += float(sample @ (top + np.log(total)))
            mean = np.stack([union.sums(p * one) for one in listed]) + p_rest * rest
            gradient = gradient + mean @ sample
            own, own_rest = listed - mean[:, union.case], rest - mean
            curvature += (own * (p * sample[union.case])) @ own.T + (own_rest * (p_rest * sample)) @ own_rest.T
        return Slope(value, gradient, curvature)


@dataclass(frozen=True, slots=True, eq=False)
class Pulled:
    """An objective plus ridge times the squared distance to equal weights."""

    inner: Objective
    ridge: float

    def __call__(self, w: Floats) -> Slope:
        """See `Objective`."""
        at, off = self.inner(w), w - 1.0 / len(w)
        return Slope(
            at.value + self.ridge * float(off @ off),
            at.gradient + 2.0 * self.ridge * off,
            at.curvature + 2.0 * self.ridge * np.eye(len(w)),
        )
