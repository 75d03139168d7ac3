"""The weights of the ranks in a top-beta score: how fast they must fall, exactly.

A score with weights C_1, ..., C_K is strictly consistent if and only if C_i >= rho_i C_{i+1} for all i < K, where
rho_i is the supremum of one ratio over all distributions in which the classes at ranks i and i + 1 tie. Both forms have
it in closed form, and it does not depend on K: with C_1 = 1 a cap just ends the sequence (docs/topbeta.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final

from toplist.errors import TopListError
from toplist.scoring.topbeta.levels import as_a, as_additive, as_finite, as_level, longest_of

KINDS: Final = ("minimal", "simple")
_MANY: Final = 100_000  # ranks


@dataclass(frozen=True, slots=True)
class Constants:
    """Weights C_1 = 1, C_2, ..., C_K of the ranks; any positive multiple of them does as well.

    Attributes
    ----------
    m, beta, cap, form, kind, a : int, Fraction, int, str, str, Fraction
        The score.
    ratios : tuple of Fraction
        C_i / C_{i+1}.
    exact, floats, log10 : tuple
        The weights as fractions, as doubles, and their decimal logarithms.

    Examples
    --------
    >>> constants(3, 0.5).floats[0]
    1.0
    """

    m: int
    beta: Fraction
    cap: int
    form: str
    kind: str
    a: Fraction
    ratios: tuple[Fraction, ...]

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The weights as fractions."""
        return tuple(accumulate(self.ratios, lambda c, ratio: c / ratio, initial=Fraction(1)))

    @property
    def floats(self) -> tuple[float, ...]:
        """The weights as doubles, rounded down one by one so that the ratios are never too small."""
        return tuple(round_down(self.ratios))

    @property
    def log10(self) -> tuple[float, ...]:
        """The decimal logarithms of the weights, which may be far below what a double holds."""
        return tuple(accumulate(self.ratios, lambda c, ratio: c - log10(ratio), initial=0.0))


def constants(
    m: Any, beta: Any, cap: int | None = None, form: str = "M", *, a: Any = 2.0, kind: str = "minimal"
) -> Constants:
    """Weights of the ranks for m classes.

    Parameters
    ----------
    m : int
        Number of classes.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list.
    form : {"M", "A"}, default "M"
        Form of the score.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    kind : {"minimal", "simple"}, default "minimal"
        The most even weights, or weights in a simple form that are sufficient too.

    Returns
    -------
    Constants
        The weights.

    Examples
    --------
    >>> found = constants(4, 0.9)
    >>> [str(ratio) for ratio in found.ratios]
    ['23569/8100', '25/7', '3']
    >>> [round(c, 4) for c in found.log10]
    [0.0, -0.4639, -1.0167, -1.4938]
    """
    size, level, form, a = as_finite(m), as_level(beta), as_additive(form), as_a(a)
    most = longest_of(size, level, cap)
    if most > _MANY:
        raise TopListError(f"weights of more than {_MANY:,} ranks are of no use: give a cap.")
    ratios = tuple(ratio(size, level, i, form, a=a, kind=kind) for i in range(1, most))
    return Constants(size, level, most, form, kind, a, ratios)


def ratio(m: Any, beta: Any, i: int, form: str = "M", *, a: Any = 2.0, kind: str = "minimal") -> Fraction:
    """Least ratio C_i / C_{i+1} for which the score is consistent, rho_i, for ranks 1 <= i < ceil(beta m).

    With n = m - i + 1 classes from rank i on, the simple bound is (2n - 1)**2 / (4n - 5) in form M, and
    1 + 2a(m - i) / (1 - beta) in form A.

    Parameters
    ----------
    m : int
        Number of classes.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    i : int
        Rank.
    form : {"M", "A"}, default "M"
        Form of the score.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    kind : {"minimal", "simple"}, default "minimal"
        The exact ratio, or the simple bound.

    Returns
    -------
    Fraction
        The ratio.

    Examples
    --------
    >>> ratio(100, 0.9, 2), ratio(100, 0.9, 2, kind="simple")
    (Fraction(38809, 391), Fraction(38809, 391))
    """
    size, level, form, a = as_finite(m), as_level(beta), as_additive(form), as_a(a)
    if kind not in KINDS:
        raise TopListError(f'constants are "minimal", "simple" or one number per rank, not {kind!r}.')
    if not 1 <= i < math.ceil(level * size):
        raise TopListError(f"rank {i} has no ratio: ranks from 1 to {math.ceil(level * size) - 1} have one.")
    n = size - i + 1
    if kind == "simple":
        return Fraction((2 * n - 1) ** 2, 4 * n - 5) if form == "M" else 1 + 2 * a * (size - i) / (1 - level)
    return _of_m(size, level, i, n) if form == "M" else _of_a(size, level, i, n, a)


def _of_m(m: int, beta: Fraction, i: int, n: int) -> Fraction:
    """The maximum over u = (1 - P) / (beta - P), where P is the mass of the classes before rank i."""
    best = Fraction(2 * n * (n - 1), 4 * n - 5)
    u = 1 / beta if i == 1 else max(best, n / (beta * m - i + 1))
    return Fraction(2 * n - 1, n * (2 * n - 3)) ** 2 * (n - u) * ((4 * n - 5) * u - n)


def _of_a(m: int, beta: Fraction, i: int, n: int, a: Fraction) -> Fraction:
    """The maximum over x = 1 / (beta - P)."""
    rest = 1 - beta
    slope = 2 * n * a - 3 * rest
    best = ((n - 1) * slope - rest * (n - 3)) / (2 * rest * slope)
    x = 1 / beta if i == 1 else max(best, m / (beta * m - i + 1))
    return (n - 1 - rest * x) * (n - 3 + slope * x) / n**2


def round_down(ratios: Any) -> Iterator[float]:
    """1 and what follows it by the ratios, each the largest double that is not too large for the one before."""
    last = 1.0
    yield last
    for needed in ratios:
        exact = Fraction(last) / needed
        last = float(exact)
        if Fraction(last) > exact:
            last = math.nextafter(last, 0.0)
        yield last


def log10(x: Fraction) -> float:
    """The decimal logarithm of a positive fraction of any magnitude."""
    return math.log10(x.numerator) - math.log10(x.denominator)
