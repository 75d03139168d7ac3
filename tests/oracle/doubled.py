"""Numbers with twice the digits of a double, in numpy: 32 digits for arrays of any length.

A number is the unevaluated sum of two doubles, hi + lo. Every operation below is correct to about 1e-30 of its
result (Dekker 1971; Hida, Li and Bailey 2001). `test_doubled.py` holds them against rationals and long decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SPLIT = 2.0**27 + 1.0


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, rounded, and the rounding error."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """a * b, rounded, and the rounding error."""
    p = a * b
    a_hi, a_lo = _halves(a)
    b_hi, b_lo = _halves(b)
    return p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def _halves(a: Any) -> tuple[Any, Any]:
    c = _SPLIT * a
    hi = c - (c - a)
    return hi, a - hi


def _tidy(hi: Any, lo: Any) -> Doubled:
    s = hi + lo
    return Doubled(s, lo - (s - hi))


@dataclass(frozen=True, slots=True, eq=False)
class Doubled:
    """hi + lo, both arrays of one shape."""

    hi: Floats
    lo: Floats

    def __add__(self, other: Doubled | Any) -> Doubled:
        b = as_doubled(other)
        s, e = two_sum(self.hi, b.hi)
        t, f = two_sum(self.lo, b.lo)
        first = _tidy(s, e + t)
        return _tidy(first.hi, first.lo + f)

    __radd__ = __add__

    def __neg__(self) -> Doubled:
        return Doubled(-self.hi, -self.lo)

    def __sub__(self, other: Doubled | Any) -> Doubled:
        return self + -as_doubled(other)

    def __rsub__(self, other: float) -> Doubled:
        return -self + other

    def __mul__(self, other: Doubled | Any) -> Doubled:
        b = as_doubled(other)
        p, e = two_product(self.hi, b.hi)
        return _tidy(p, e + (self.hi * b.lo + self.lo * b.hi))

    __rmul__ = __mul__

    def __truediv__(self, other: Doubled | Any) -> Doubled:
        b = as_doubled(other)
        first = self.hi / b.hi
        left = self - b * first
        second = left.hi / b.hi
        third = (left - b * second).hi / b.hi
        return _tidy(*two_sum(first, second)) + third

    def __rtruediv__(self, other: float) -> Doubled:
        return as_doubled(other + 0 * self.hi) / self

    def scaled(self, power_of_two: Any) -> Doubled:
        """Times a power of two, which is exact."""
        return Doubled(self.hi * power_of_two, self.lo * power_of_two)


def as_doubled(x: Doubled | Any) -> Doubled:
    """A double, or an array of them, with nothing after the last digit."""
    if isinstance(x, Doubled):
        return x
    hi = np.asarray(x, dtype=np.float64)
    return Doubled(hi, np.zeros_like(hi))


def where(condition: Any, a: Doubled | float, b: Doubled | float) -> Doubled:
    """np.where."""
    x, y = as_doubled(a), as_doubled(b)
    return Doubled(np.where(condition, x.hi, y.hi), np.where(condition, x.lo, y.lo))


def less(a: Doubled, b: Doubled) -> NDArray[np.bool_]:
    """a < b."""
    return (a.hi < b.hi) | ((a.hi == b.hi) & (a.lo < b.lo))


def sqrt(x: Doubled) -> Doubled:
    """The square root; 0 at 0."""
    zero = x.hi == 0
    root = np.sqrt(np.where(zero, 1.0, x.hi))
    square = Doubled(*two_product(root, root))
    out = _tidy(*two_sum(root, (x - square).hi / (2.0 * root)))
    return where(zero, 0.0, out)


_LOG2 = Doubled(np.float64(0.6931471805599453), np.float64(2.3190468138462996e-17))  # type: ignore[arg-type]
_HALVINGS, _TERMS = 5, 13


def expm1(x: Doubled) -> Doubled:
    """exp(x) - 1 to the last digit also near zero, for |x| up to about 1."""
    small = x.scaled(0.5**_HALVINGS)
    e = small / float(_TERMS) + 1.0
    for n in range(_TERMS - 1, 1, -1):
        e = small * e / float(n) + 1.0
    e = small * e
    for _ in range(_HALVINGS):
        e = e * (e + 2.0)
    return e


def exp(x: Doubled) -> Doubled:
    """exp(x), where that is a normal double."""
    turns = np.round(x.hi / _LOG2.hi)
    return (expm1(x - _LOG2 * turns) + 1.0).scaled(np.exp2(turns))


def log1p(x: Doubled) -> Doubled:
    """log(1 + x) to the last digit also near zero, for x > -1."""
    near = np.abs(x.hi) < 0.25
    small = where(near, x, 0.0)
    z = small / (small + 2.0)
    square, series = z * z, as_doubled(0 * x.hi)
    for n in range(37, 0, -2):
        series = series * square + as_doubled(1.0) / as_doubled(float(n))
    return where(near, 2.0 * z * series, _log_far(where(near, 2.0, x + 1.0)))


def log(x: Doubled) -> Doubled:
    """log(x) for x > 0."""
    near = np.abs(x.hi - 1.0) < 0.2
    return where(near, log1p(where(near, x - 1.0, 0.0)), _log_far(where(near, 2.0, x)))


def _log_far(x: Doubled) -> Doubled:
    """One step of Newton's method from the logarithm of the leading part."""
    guess = np.log(x.hi)
    z = x * exp(as_doubled(-guess)) - 1.0
    return z - z * z * 0.5 + guess


def power(x: Doubled, a: float) -> Doubled:
    """x**a for x >= 0 and a > 0: by roots and products for half-integers, by logarithms otherwise."""
    if 2 * a == int(2 * a) and a <= 8:
        out = sqrt(x) if int(2 * a) % 2 else as_doubled(np.ones_like(x.hi))
        for _ in range(int(a)):
            out = out * x
        return out
    positive = x.hi > 0
    return where(positive, exp(log(where(positive, x, 1.0)) * a), 0.0)
