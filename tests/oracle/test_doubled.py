"""The arithmetic of the bulk oracle is good to 30 digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.oracle import doubled as dd
from tests.oracle.doubled import Doubled

N = 400


def positive(seed: int, low: float, high: float) -> Doubled:
    """Numbers with digits in both halves, log-uniform."""
    rng = np.random.default_rng(seed)
    x = np.exp(rng.uniform(low, high, N))
    return Doubled(*dd.two_sum(x, x * 2.0**-54 * rng.uniform(-1, 1, N)))


def signed(seed: int, scale: float) -> Doubled:
    """Numbers of both signs, most of them much smaller than `scale`."""
    rng = np.random.default_rng(seed)
    x = scale * rng.uniform(-1, 1, N) * 10.0 ** -rng.uniform(0, 20, N)
    return Doubled(*dd.two_sum(x, x * 2.0**-54 * rng.uniform(-1, 1, N)))


def rationals(x: Doubled) -> list[Fraction]:
    """Their exact values."""
    return [Fraction(float(hi)) + Fraction(float(lo)) for hi, lo in zip(x.hi, x.lo, strict=True)]


def decimals(x: Doubled) -> list[Any]:
    """Their exact values, for mpmath."""
    return [mp.mpf(float(hi)) + mp.mpf(float(lo)) for hi, lo in zip(x.hi, x.lo, strict=True)]


@pytest.mark.parametrize("operation", ["__add__", "__sub__", "__mul__", "__truediv__"])
def test_the_four_operations_are_exact_to_thirty_digits(operation: str) -> None:
    a, b = positive(1, -60, 3), positive(2, -10, 10)
    got = rationals(getattr(a, operation)(b))
    exact = [getattr(x, operation)(y) for x, y in zip(rationals(a), rationals(b), strict=True)]
    assert max(abs(g - e) / abs(e) for g, e in zip(got, exact, strict=True)) < Fraction(1, 10**30)


def test_a_product_of_doubles_is_exact() -> None:
    """Two doubles hold every digit of it."""
    a, b = positive(3, -60, 3).hi, positive(4, -60, 3).hi
    hi, lo = dd.two_product(a, b)
    for x, y, h, low in zip(a, b, hi, lo, strict=True):
        assert Fraction(float(x)) * Fraction(float(y)) == Fraction(float(h)) + Fraction(float(low))


FUNCTIONS: dict[str, tuple[Callable[[Doubled], Doubled], Callable[[Any], Any], Doubled]] = {
    "sqrt": (dd.sqrt, mp.sqrt, positive(5, -90, 3)),
    "log": (dd.log, mp.log, positive(6, -90, 20)),
    "log near one": (dd.log, mp.log, signed(7, 0.5) + 1.0),
    "log1p": (dd.log1p, mp.log1p, signed(8, 0.999)),
    "log1p of large numbers": (dd.log1p, mp.log1p, positive(9, -90, 60)),
    "expm1": (dd.expm1, mp.expm1, signed(10, 1.0)),
    "exp": (dd.exp, mp.exp, signed(11, 300.0)),
    "power 0.5": (lambda x: dd.power(x, 0.5), lambda x: mp.power(x, 0.5), positive(12, -60, 3)),
    "power 3": (lambda x: dd.power(x, 3.0), lambda x: mp.power(x, 3), positive(13, -60, 3)),
    "power 0.3": (lambda x: dd.power(x, 0.3), lambda x: mp.power(x, 0.3), positive(14, -60, 3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_correct_to_thirty_digits(name: str) -> None:
    function, exact, x = FUNCTIONS[name]
    with mp.workdps(60):
        got, expected = decimals(function(x)), [exact(v) for v in decimals(x)]
        assert max(abs(g - e) / abs(e) for g, e in zip(got, expected, strict=True) if e) < 2e-30


def test_comparison_looks_at_both_halves() -> None:
    one, more = dd.as_doubled([1.0, 1.0, 2.0]), Doubled(np.array([1.0, 1.0, 1.0]), np.array([1e-20, -1e-20, 0.0]))
    assert dd.less(one, more).tolist() == [True, False, False]


def test_zero_has_the_root_and_the_power_zero() -> None:
    zero = dd.as_doubled([0.0])
    assert [float(f.hi[0]) for f in (dd.sqrt(zero), dd.power(zero, 1.5), dd.power(zero, 0.3))] == [0.0, 0.0, 0.0]
