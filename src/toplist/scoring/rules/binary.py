"""Binary proper scores in numerically stable forms: for one class, and for all unlisted classes together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toplist.scoring.rules.base import log_of, rest_surprise

Array = Any
_MANY = 30.0  # from exp(30) classes on the proxy is so small that a limit is exact


class Binary(ABC):
    """A score of confidence p in "this class happens"; `lack` is 1 - p, known without cancellation."""

    upper: float = float("inf")

    @abstractmethod
    def happens(self, xp: Any, p: Array, log_p: Array, lack: Array) -> Array:
        """The score if it happens."""

    @abstractmethod
    def fails(self, xp: Any, p: Array, lack: Array) -> Array:
        """The score if it does not."""

    @abstractmethod
    def entropy(self, xp: Any, p: Array, lack: Array) -> Array:
        """The expected score if p is true."""

    fails_rest: Callable[[Any, Array, Array], Array] | None = None
    entropy_rest: Callable[[Any, Array, Array], Array] | None = None


class BinaryLog(Binary):
    """Minus the log of the confidence in what is the case."""

    def happens(self, xp: Any, p: Array, log_p: Array, lack: Array) -> Array:
        """-log p."""
        return 0.0 - log_p

    def fails(self, xp: Any, p: Array, lack: Array) -> Array:
        """-log(1 - p)."""
        return xp.where(lack > 0, 0.0 - log_of(xp, lack, p), xp.inf)

    def entropy(self, xp: Any, p: Array, lack: Array) -> Array:
        """-p log p - (1 - p) log(1 - p)."""
        return 0.0 - p * log_of(xp, p, lack) - lack * log_of(xp, lack, p)

    @staticmethod
    def fails_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
        """-n log(1 - alpha / n), which tends to alpha."""
        n = xp.exp(xp.where(log_n < _MANY, log_n, 0.0))
        share = xp.exp(xp.where(log_n < _MANY, log_rest, 0.0) - xp.where(log_n < _MANY, log_n, 1.0))
        few = xp.where(share < 1, -n * xp.log1p(-xp.where(share < 1, share, 0.0)), xp.inf)
        return xp.where(log_n < _MANY, few, xp.exp(log_rest))

    @staticmethod
    def entropy_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
        """alpha log(n / alpha) - (n - alpha) log(1 - alpha / n), whose second part tends to alpha."""
        log_share = log_rest - log_n
        never = BinaryLog.fails_rest(xp, log_rest, log_n)
        return rest_surprise(xp, log_rest, log_n) + xp.where(log_share < 0, never * -xp.expm1(log_share), 0.0)


class BinaryBrier(Binary):
    """The squared error of the confidence."""

    upper = 2.0  # of the sum over classes

    def happens(self, xp: Any, p: Array, log_p: Array, lack: Array) -> Array:
        """(1 - p)**2."""
        return lack * lack

    def fails(self, xp: Any, p: Array, lack: Array) -> Array:
        """p**2."""
        return p * p

    def entropy(self, xp: Any, p: Array, lack: Array) -> Array:
        """p (1 - p)."""
        return p * lack

    @staticmethod
    def fails_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
        """alpha**2 / n."""
        return xp.exp(2.0 * log_rest - log_n)

    @staticmethod
    def entropy_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
        """alpha (1 - alpha / n)."""
        return xp.exp(log_rest) * -xp.expm1(log_rest - log_n)


class Boosting(Binary):
    """The exponential loss at its optimum: the square root of the odds against what is the case."""

    def happens(self, xp: Any, p: Array, log_p: Array, lack: Array) -> Array:
        """sqrt((1 - p) / p)."""
        return xp.where(lack > 0, xp.exp(-0.5 * log_p) * xp.sqrt(lack), 0.0)

    def fails(self, xp: Any, p: Array, lack: Array) -> Array:
        """sqrt(p / (1 - p))."""
        return xp.where(lack > 0, xp.sqrt(p / xp.where(lack > 0, lack, 1.0)), xp.where(p > 0, xp.inf, p))

    def entropy(self, xp: Any, p: Array, lack: Array) -> Array:
        """2 sqrt(p (1 - p))."""
        return 2.0 * xp.sqrt(p * lack)

    @staticmethod
    def fails_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
        """sqrt(n alpha / (1 - alpha / n))."""
        left = -xp.expm1(log_rest - log_n)
        return xp.where(left > 0, xp.exp(0.5 * (log_rest + log_n)) / xp.sqrt(xp.where(left > 0, left, 1.0)), xp.inf)

    @staticmethod
    def entropy_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
        """2 sqrt(n alpha (1 - alpha / n))."""
        return 2.0 * xp.exp(0.5 * (log_rest + log_n)) * xp.sqrt(-xp.expm1(log_rest - log_n))


@dataclass(frozen=True)
class Given(Binary):
    """A pair of functions that somebody brings."""

    if_it_happens: Callable[[Array], Array]
    if_not: Callable[[Array], Array]

    def happens(self, xp: Any, p: Array, log_p: Array, lack: Array) -> Array:
        """The first function."""
        return self.if_it_happens(p)

    def fails(self, xp: Any, p: Array, lack: Array) -> Array:
        """The second."""
        return self.if_not(p)

    def entropy(self, xp: Any, p: Array, lack: Array) -> Array:
        """Their expectation, with 0 * infinity = 0."""
        some, rare = xp.where(p == 0, 0.5, p), xp.where(lack == 0, 0.5, p)
        happens = xp.where(p == 0, 0.0, p * self.if_it_happens(some))
        return happens + xp.where(lack == 0, 0.0, lack * self.if_not(rare))


BINARY: dict[str, Binary] = {"log": BinaryLog(), "brier": BinaryBrier(), "boosting": Boosting()}
