"""Sums once more, as integers in units of 2**-1074: what `exact_sums` must give, by rational arithmetic alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from tests.draws import draws

UNIT = 2**1074
SMALL = 2.0**-960  # products below this are rounded before they are added
law = settings(
    deadline=None, max_examples=draws(60), derandomize=True, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)

CORNERS = (
    *(0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.0**-1022, -(2.0**-1022), 2.0**-1023, 1e16, -1e16, 1.0 + 2.0**-52),
    *(0.1, 1 / 3, 1e-300, -1e-300, 1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
doubles = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-2, 2) | st.sampled_from(CORNERS)
factors = (  # whose products are doubles
    st.floats(-1e150, 1e150) | st.floats(-2, 2) | st.floats(-1e-140, 1e-140) | st.sampled_from([1e150, -1e150, 5e-324])
)


def whole(x: float) -> int:
    """A double in units of the smallest one."""
    top, bottom = x.as_integer_ratio()
    return top * (UNIT // bottom)


def total(values: Iterable[float]) -> int:
    return sum(map(whole, values))


def product(x: float, y: float) -> int:
    """Exact, except where it is so small that what rounding takes away is no double."""
    rounded = x * y
    exact = Fraction(x) * Fraction(y) if abs(rounded) >= SMALL else Fraction(rounded)
    scaled = exact * UNIT
    assert scaled.denominator == 1
    return scaled.numerator


def sums(columns: Any, products: Sequence[tuple[int, int]] = (), codes: Any = None, groups: int = 1) -> list[list[int]]:
    """What `exact_sums` gives, by group, then by column and product."""
    codes = np.zeros(np.shape(columns)[1], int) if codes is None else codes
    out = []
    for g in range(groups):
        at = np.flatnonzero(codes == g)
        rows = [np.asarray(c, float)[at].tolist() for c in columns]
        out.append([total(row) for row in rows] + [sum(map(product, rows[i], rows[j])) for i, j in products])
    return out


def scattered(seed: int, n: int, *, spread: float = 40.0, columns: int = 3) -> Any:
    """Columns of doubles of both signs whose magnitudes differ by many powers of ten, with zeros and repeats."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(columns, n)) * 10.0 ** rng.uniform(-spread, spread, size=(columns, n))
    made[rng.random((columns, n)) < 0.1] = 0.0
    made[:, n // 2 :] = np.where(rng.random((columns, n - n // 2)) < 0.3, -made[:, : n - n // 2], made[:, n // 2 :])
    return made
