"""Reproducible summation: sums without rounding, as integers in units of the smallest double; standard errors."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import kernel

Integers = NDArray[np.object_]  # of Python integers

BITS = 1074  # the smallest double is 2**-1074
UNIT = 1 << BITS
_EXACT = 2.0**-960  # below this the rounding error of a product is no double itself
_SPLIT = 134217729.0  # 2**27 + 1 cuts a double into two halves whose products are exact
_HALF = 27


def exact_sums(
    columns: Floats,
    products: Sequence[tuple[int, int]] = (),
    codes: NDArray[Any] | None = None,
    groups: int = 1,
) -> Integers:
    """The sum of each column and of each product of two columns, by group: shape (groups, columns + products).

    >>> exact_sums(np.array([[1e16, 1.0, -1e16]]))[0, 0] == UNIT
    True
    """
    left, right = (np.array([pair[side] for pair in products], np.int32) for side in (0, 1))
    out = np.zeros((groups, len(columns) + len(left)), object)
    lock = threading.Lock()

    def work(lo: int, hi: int) -> None:
        here, local = np.zeros(1, np.intp), None
        if codes is not None:
            here, inverse = np.unique(codes[lo:hi], return_inverse=True)
            local = inverse.astype(np.int32)
        part = columns[:, lo:hi]
        made = kernel.accumulate(part, left, right, local, len(here))
        sums = _in_python(part, left, right, local, len(here)) if made is None else _from_bytes(made)
        with lock:
            out[here] += sums

    kernel.over_blocks(columns.shape[1], columns.shape[1] * out.shape[1], work)
    return out


def to_float(total: int) -> float:
    """A sum, rounded once.

    >>> to_float(3 * UNIT)
    3.0
    """
    return total / UNIT


def _from_bytes(made: NDArray[np.uint8]) -> Integers:
    groups, width, size = made.shape
    raw = made.tobytes()
    flat = [int.from_bytes(raw[at : at + size], "little", signed=True) for at in range(0, len(raw), size)]
    out = np.empty(groups * width, object)
    out[:] = flat
    return out.reshape(groups, width)


def _in_python(columns: Floats, left: Any, right: Any, codes: NDArray[np.int32] | None, groups: int) -> Integers:
    out = np.zeros((groups, len(columns) + len(left)), object)
    for at, x in enumerate(columns):
        _add(out[:, at], x, codes)
    for at, (i, j) in enumerate(zip(left, right, strict=True), len(columns)):
        product, error = _exact_product(columns[i], columns[j])
        _add(out[:, at], product, codes)
        _add(out[:, at], error, codes)
    return out


def _add(to: Integers, x: Floats, codes: NDArray[np.int32] | None) -> None:
    """Sum the halves of the mantissas by exponent: these sums are exact in floating point."""
    fraction, exponent = np.frexp(x)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    place = exponent.astype(np.int64) - 53 + BITS
    low = np.minimum(place, 0)  # subnormal numbers end in zeros, which are shifted out
    mantissa >>= -low
    place -= low
    keys, where = np.unique(place if codes is None else place + 4096 * codes, return_inverse=True)
    upper = np.bincount(where, weights=mantissa >> _HALF, minlength=len(keys))
    lower = np.bincount(where, weights=mantissa & ((1 << _HALF) - 1), minlength=len(keys))
    for key, high, rest in zip(keys.tolist(), upper.tolist(), lower.tolist(), strict=True):
        to[key // 4096] += ((int(high) << _HALF) + int(rest)) << key % 4096


def _exact_product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The rounded product, and what rounding took away (Dekker 1971)."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    error = b * d - (((product - a * c) - b * c) - a * d)
    return product, np.where(np.abs(product) >= _EXACT, error, 0.0)


def _halves(x: Floats) -> tuple[Floats, Floats]:
    wide = _SPLIT * x
    upper = wide - (wide - x)
    return upper, x - upper


_NONE = np.zeros(0, np.int32)


def sums_by(columns: Floats, codes: NDArray[np.int32] | None, groups: int) -> Integers:
    """The exact sum of each column by group, as (groups, columns); codes are from zero to groups, few of them."""
    made = kernel.accumulate(columns, _NONE, _NONE, codes, groups)
    if made is None:
        return exact_sums(columns, (), codes, groups)
    raw, size = made.tobytes(), made.shape[2]
    out = np.empty(groups * len(columns), object)
    out[:] = [int.from_bytes(raw[at : at + size], "little", signed=True) for at in range(0, len(raw), size)]
    return out.reshape(groups, len(columns))


def mean(total: int, count: int) -> float:
    """An exact sum over a count, rounded once."""
    return total / (count * UNIT)


def robust_squares(squares: Any, units: Any) -> Any:
    """Squared deviations summed over G units, times G / (G - 1); a unit is a case, or the sum over a cluster."""
    return squares * units / np.maximum(units - 1, 1)


def standard_error(squares: Any, units: Any, total: Any = 1.0) -> Any:
    """The cluster-robust standard error of a weighted mean; NaN for fewer than two units.

    `squares` is the sum over units of their squared weighted deviations from the mean, `total` the sum of the weights.

    >>> float(standard_error(2.0, 2, 2.0)), float(standard_error(2.0, 1))
    (1.0, nan)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.greater(units, 1), np.sqrt(robust_squares(squares, units)) / total, np.nan)
