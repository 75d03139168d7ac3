"""Label sets of independent labels by other means: all of them, label by label, and in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

import toplist as tl

Floats = NDArray[np.float64]


def every_set(p: Floats, *, empty: bool = True) -> Floats:
    """The probability of each of the 2**L sets, by bit mask; without the empty set, given that it is not that."""
    on = (np.arange(2 ** len(p))[:, None] >> np.arange(len(p))) & 1
    mass: Floats = np.where(on, p, 1 - p).prod(axis=1)
    if not empty:
        mass[0] = 0
        mass /= mass.sum()
    return mass


def exactly(p: Floats, *, empty: bool = True) -> list[Fraction]:
    """The same in rational arithmetic."""
    mass = [Fraction(1)]
    for x in map(Fraction, p.tolist()):
        mass = [m * (1 - x) for m in mass] + [m * x for m in mass]
    if not empty:
        left = sum(mass[1:])
        mass = [Fraction(0)] + [m / left for m in mass[1:]]
    return mass


def label_by_label(p: Floats, k: int) -> list[tuple[float, frozenset[int]]]:
    """The k likeliest sets with their log probabilities: those of some labels, with and without one label more."""
    best: list[tuple[float, frozenset[int]]] = [(0.0, frozenset())]
    for label, x in enumerate(p.tolist()):
        without = [(log + math.log1p(-x), s) for log, s in best if x < 1]
        best = without + [(log + math.log(x), s | {label}) for log, s in best if x > 0]
        best = sorted(best, key=lambda pair: -pair[0])[:k]
    return best


def logs_of(lists: Any) -> Floats:
    """The logarithms of the listed confidences."""
    with np.errstate(divide="ignore"):
        return np.log(lists.confidences)


def log_of(x: Fraction) -> float:
    """The logarithm of a rational number, however small."""
    with mpmath.workdps(40):
        return float(mpmath.log(mpmath.mpf(x.numerator)) - mpmath.log(mpmath.mpf(x.denominator)))


def check_exactly(lists: tl.TopLists, p: Floats, k: int, *, empty: bool) -> None:
    """The same as `check` for one case, with probabilities that may be too small for numbers."""
    mass = exactly(p, empty=empty)
    falling = sorted(mass, reverse=True)
    codes, n = lists.classes + (not empty), min(k, sum(m > 0 for m in mass))
    assert len(codes) == n == len(set(codes.tolist()))
    logs = [log_of(mass[code]) for code in codes]
    np.testing.assert_allclose(logs, [log_of(m) for m in falling[:n]], rtol=1e-13, atol=1e-13)
    numbers = np.array(logs) > -700.0
    np.testing.assert_allclose(np.array(logs)[numbers], logs_of(lists)[numbers], rtol=1e-13, atol=1e-13)
    assert (lists.confidences[~numbers] < 1e-303).all()
    left = sum(falling[n:], Fraction(0))
    assert lists.log_rest is not None
    np.testing.assert_allclose(lists.log_rest, log_of(left) if left else -np.inf, rtol=1e-13, atol=1e-13)


def check(lists: tl.TopLists, p: Floats, k: int, *, empty: bool = True) -> None:
    """Each case lists its k likeliest sets in order, each once, with its probability; the rest has all others."""
    for case, row in enumerate(p.astype(np.float64)):
        at = slice(lists.offsets[case], lists.offsets[case + 1])
        codes, t = lists.classes[at] + (not empty), lists.confidences[at]
        mass = every_set(row, empty=empty)
        falling = np.sort(mass)[::-1]
        n = min(k, np.count_nonzero(mass))
        assert len(codes) == n == len(set(codes.tolist()))
        np.testing.assert_allclose(t, falling[:n], rtol=1e-12)
        np.testing.assert_allclose(t, mass[codes], rtol=1e-12)
        assert (np.diff(t) <= 0).all()
        assert lists.log_rest is not None
        np.testing.assert_allclose(np.exp(lists.log_rest[case]), falling[n:].sum(), rtol=1e-12)
    assert lists.is_valid().all()
