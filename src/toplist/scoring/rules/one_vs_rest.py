"""One-vs-rest: a binary proper score for each class, added up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.array_api import CaseStatistics
from toplist.errors import RuleError
from toplist.scoring.rules.base import ClassTerms, SumRule
from toplist.scoring.rules.binary import BINARY, Binary, Given
from toplist.scoring.rules.propriety import require_proper

Array = Any


@dataclass(frozen=True, slots=True)
class OneVsRest(SumRule):
    """One-vs-rest score: the sum over the classes of a binary proper score of "this class or not".

    S = s1(q) + sum over the other classes of s0(t).

    Parameters
    ----------
    binary : {"log", "brier", "boosting"} or pair of callables, default "log"
        The binary score, by name or as functions (s1, s0): the score of confidence p if the class occurs, and if it
        does not, with s0(0) = 0.

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
