"""One-vs-rest: a binary proper score for each class, added up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.errors import RuleError
from toplist.moments import Moments
from toplist.rules.base import SumRule
from toplist.rules.propriety import require_proper
from toplist.rules.sums import Terms

Array = Any
Function = Callable[[Any, Array], Array]


def _log_if(xp: Any, p: Array) -> Array:
    return -xp.where(p > 0, xp.log(xp.where(p > 0, p, 1.0)), -xp.inf)


def _log_if_not(xp: Any, p: Array) -> Array:
    return -xp.where(p < 1, xp.log1p(-xp.where(p < 1, p, 0.0)), -xp.inf)


def _boost_if(xp: Any, p: Array) -> Array:
    return xp.where(p > 0, xp.sqrt((1.0 - p) / xp.where(p > 0, p, 1.0)), xp.inf)


def _boost_if_not(xp: Any, p: Array) -> Array:
    return xp.where(p < 1, xp.sqrt(p / xp.where(p < 1, 1.0 - p, 1.0)), xp.inf)


BINARY: dict[str, tuple[Function, Function]] = {
    "log": (_log_if, _log_if_not),
    "brier": (lambda xp, p: (1.0 - p) * (1.0 - p), lambda xp, p: p * p),
    "boosting": (_boost_if, _boost_if_not),
}

# n times the score of a class that did not happen, in logarithms: for any number of classes.
_REST: dict[str, Callable[[Any, Array, Array], Array]] = {
    "log": lambda xp, log_rest, log_n: xp.where(
        log_n > 30.0,
        xp.exp(log_rest),
        -xp.exp(xp.where(log_n > 30.0, 0.0, log_n))
        * xp.log1p(-xp.exp(log_rest - xp.where(log_n > 30.0, 30.0, log_n + 1e-300))),
    ),
    "brier": lambda xp, log_rest, log_n: xp.exp(2.0 * log_rest - log_n),
    "boosting": lambda xp, log_rest, log_n: (
        xp.exp(0.5 * (log_rest + log_n))
        / xp.sqrt(1.0 - xp.exp(xp.where(log_rest - log_n < -1e-16, log_rest - log_n, -1e-16)))
    ),
}


def _log_entropy_rest(xp: Any, log_rest: Array, log_n: Array) -> Array:
    alpha, many = xp.exp(log_rest), log_n > 30.0
    n = xp.exp(xp.where(many, 0.0, log_n))
    share = xp.where(many, 0.0, alpha / n)
    never = xp.where(share < 1, (n - alpha) * -xp.log1p(-xp.where(share < 1, share, 0.0)), 0.0)
    return alpha * (log_n - log_rest) + xp.where(many, alpha, never)


# n times the binary entropy p s1(p) + (1 - p) s0(p), likewise.
_ENTROPY_REST: dict[str, Callable[[Any, Array, Array], Array]] = {
    "log": _log_entropy_rest,
    "brier": lambda xp, log_rest, log_n: xp.exp(log_rest) * -xp.expm1(log_rest - log_n),
    "boosting": lambda xp, log_rest, log_n: (
        2.0 * xp.exp(0.5 * (log_rest + log_n)) * xp.sqrt(-xp.expm1(log_rest - log_n))
    ),
}


@dataclass(frozen=True, slots=True)
class OneVsRest(SumRule):
    """Sum over the classes of a binary proper score of "this class or not".

    S = s1(q) + sum over the other classes of s0(t). `binary` is "log", "brier", "boosting", or a pair of
    functions (s1, s0): the score of confidence p if the class happens, and if not, with s0(0) = 0.
    """

    binary: str | tuple[Callable[[Array], Array], Callable[[Array], Array]] = "log"
    name: ClassVar[str] = "one-vs-rest"
    spread: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.binary, str):
            if self.binary not in BINARY:
                raise RuleError(f"known binary scores are {', '.join(BINARY)}, not {self.binary!r}.")
            return
        if not (isinstance(self.binary, tuple) and len(self.binary) == 2 and all(map(callable, self.binary))):
            raise RuleError("binary is a name, or a pair of functions: the score if it happens, and if not.")
        require_proper(self)

    @property
    def _pair(self) -> tuple[Function, Function]:
        if isinstance(self.binary, str):
            return BINARY[self.binary]
        happens, fails = self.binary
        return (lambda xp, p: happens(p)), (lambda xp, p: fails(p))

    @property
    def _rest(self) -> Callable[[Any, Array, Array], Array] | None:
        return _REST[self.binary] if isinstance(self.binary, str) else None

    @property
    def sum(self) -> Terms:
        """s0."""
        return Terms(self._pair[1], self._rest)

    @property
    def entropy_sum(self) -> Terms:
        """p s1(p) + (1 - p) s0(p)."""
        return Terms(self._binary_entropy, _ENTROPY_REST[self.binary] if isinstance(self.binary, str) else None)

    def _binary_entropy(self, xp: Any, p: Array) -> Array:
        happens, fails = self._pair
        never, always = p == 0, p == 1
        some = xp.where(never, 0.5, p)
        rare = xp.where(always, 0.5, p)
        return xp.where(never, 0.0, some * happens(xp, some)) + xp.where(always, 0.0, (1.0 - rare) * fails(xp, rare))

    def score(self, m: Moments, others: Array) -> Array:
        """s1(q) + others."""
        if self.binary == "log":
            return others - m.log_outcome
        return self._pair[0](m.xp, m.outcome) + others

    def entropy(self, m: Moments, total: Array) -> Array:
        """Sum of binary entropies."""
        return total

    def bounds(self) -> tuple[float, float]:
        """0 to 2 for the binary Brier score, 0 to infinity for the other known ones."""
        if not isinstance(self.binary, str):
            return super(OneVsRest, self).bounds()
        return 0.0, 2.0 if self.binary == "brier" else math.inf
