"""Forms M and A of the top-beta score: sums over ranks, whose weights fall with the number of classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import numpy as np

from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.scoring.topbeta.levels import as_a, as_additive, as_finite, as_level, longest_of
from toplist.scoring.topbeta.rank_conditioning import RESOLVED, ConditioningWarning, advice
from toplist.scoring.topbeta.rank_constants import KINDS, ratio, round_down

_ENOUGH = 64  # ranks: with more than that the weights of the others are below 1e-60 together
_MARGIN = 0.01  # of beta**2 C_1, the scale of the score: what lists outside the image pay above the bound


@dataclass(frozen=True, slots=True)
class AdditiveForm:
    """One score: its form, its parameters, and the weights of its ranks."""

    m: int
    beta: Fraction
    cap: Any
    form: str
    a: Fraction
    weights: str | tuple[float, ...]

    @classmethod
    def of(cls, m: Any, beta: Any, cap: int | None, form: str, a: Any, weights: Any) -> AdditiveForm:
        """The score with these options, checked."""
        size, level, form, a = as_finite(m), as_level(beta), as_additive(form), as_a(a)
        most = longest_of(size, level, cap)
        if isinstance(weights, str):
            if weights not in KINDS:
                raise TopListError(f'constants are "minimal", "simple" or one number per rank, not {weights!r}.')
            return cls(size, level, most, form, a, weights)
        own = tuple(weights)
        if len(own) != most:
            raise TopListError(f"constants are one number per rank, {most:,} of them, not {len(own):,}.")
        if not all(isinstance(c, int | float | Fraction | np.number) and 0 < c < math.inf for c in own):
            raise TopListError("constants are positive numbers.")
        for i, (c, after) in enumerate(pairwise(own), start=1):
            needed = ratio(size, level, i, form, a=a)
            if _exact(c) < needed * _exact(after):
                raise TopListError(
                    f"constant {i} is {float(c):.6g} and constant {i + 1} is {float(after):.6g}: with a ratio below "
                    f"{float(needed):.6g} the score is not consistent. Take those of topbeta.constants."
                )
        return cls(size, level, most, form, a, tuple(float(c) for c in own))

    def first(self, ranks: int) -> tuple[float, ...]:
        """The weights of the first ranks."""
        if not isinstance(self.weights, str):
            return self.weights[:ranks]
        return _first(self.m, self.beta, min(ranks, self.cap), self.form, self.a, self.weights)

    def bound(self) -> float:
        """A number that no score of a list in the image exceeds."""
        c, rest = self.first(min(self.cap, _ENOUGH)), 1 - self.beta
        total = 0.0
        for j, weight in enumerate(c, start=1):
            left = max(self.beta - Fraction(j - 1, self.m), Fraction(0))
            if self.form == "M":
                most = 2 * rest * left / (rest + left) if j > 1 else Fraction(0)
            else:
                w = left / (self.a - Fraction(1, j))
                most = self.a * w**2 + 2 * rest * w if j > 1 else max(self.a * w**2 - 2 * self.beta * w, Fraction(0))
            total += weight * float(most)
        return total

    def outside(self) -> float:
        """What lists outside the image score: more than any inside."""
        return self.bound() * (1 + 1e-12) + _MARGIN * float(self.beta) ** 2 * self.first(1)[0]

    def table(self, t: Floats, c: Floats) -> tuple[Floats, Floats]:
        """The score of sorted lists, (n, k), if the class at each rank happens, and if none of them does."""
        beta, rest = float(self.beta), float(1 - self.beta)
        before = np.zeros_like(t)
        np.cumsum(t[:, :-1], axis=1, out=before[:, 1:])
        scale = float(self.a) if self.form == "A" else 2.0
        size = scale - t if self.form == "A" else 2.0 * (1.0 - before) - t
        w = np.maximum(beta - before, 0.0) / size
        early = c * (scale * w * w - 2.0 * beta * w)
        own = c * ((scale - 1.0) * w * w - 2.0 * beta * w)
        late = c * ((scale * w * w if self.form == "A" else 0.0) + 2.0 * rest * w)
        listed = own
        listed[:, 1:] += np.cumsum(early[:, :-1], axis=1)
        listed[:, :-1] += np.cumsum(late[:, :0:-1], axis=1)[:, ::-1]
        return listed, early.sum(axis=1)


def rank_weights(forms: Sequence[AdditiveForm], ranks: int) -> Floats:
    """The weights of the first ranks, one row for each form."""
    weights = np.zeros((len(forms), ranks))
    for row, form in zip(weights, forms, strict=True):
        first = form.first(ranks)
        row[: len(first)] = first
    return weights


def warn_if_unresolved(forms: Sequence[AdditiveForm]) -> None:
    """Warn once, about the most classes, if doubles do not resolve the ranks."""
    if not forms:
        return
    worst = forms[-1]
    if isinstance(worst.weights, str):
        said = advice(worst.m, worst.beta, worst.cap, worst.form, worst.a, worst.weights)
    else:
        apart = max(worst.weights) / min(worst.weights)
        said = f"the constants are {apart:.1g} apart, more than doubles resolve." if apart > 10**RESOLVED else ""
    if said:
        warnings.warn(said, ConditioningWarning, stacklevel=4)


def _exact(c: Any) -> Fraction:
    return c if isinstance(c, Fraction) else Fraction(c.item() if isinstance(c, np.generic) else c)


@lru_cache(maxsize=1024)
def _first(m: int, beta: Fraction, ranks: int, form: str, a: Fraction, kind: str) -> tuple[float, ...]:
    ratios = (ratio(m, beta, i, form, a=a, kind=kind) for i in range(1, ranks))
    return tuple(islice(round_down(ratios), ranks))
