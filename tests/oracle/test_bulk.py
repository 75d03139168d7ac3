"""The bulk oracle and the exact oracle agree, so that a million lists may be held against the former."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.oracle import bulk, exact
from tests.oracle.draws import KINDS, Draw, draw

DTYPES = ("float64", "float32")


@cache
def cases(dtype: str) -> tuple[Draw, bulk.Sums, list[exact.Padded]]:
    """A draw, as either oracle sees it."""
    drawn = draw(np.random.default_rng(5), 480, np.dtype(dtype))
    rows = [drawn.row(i) for i in range(len(drawn))]
    return drawn, bulk.sums(drawn, dtype), [exact.pad(*row, dtype) for row in rows]


def as_number(hi: float, lo: float) -> Any:
    """The value of a doubled number."""
    return mp.mpf(hi) + mp.mpf(lo) if np.isfinite(hi) else mp.mpf(hi)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", bulk.RULES)
def test_both_oracles_score_alike(name: str, dtype: str) -> None:
    """To fifteen digits more than are asked of the library."""
    drawn, sums, padded = cases(dtype)
    with np.errstate(all="ignore"):
        scores = bulk.RULES[name](sums)
    jump = bulk.at_the_jump(sums) if name == "zero-one" else np.zeros(len(drawn), bool)
    with mp.workdps(exact.DIGITS):
        for i in np.flatnonzero(~jump):
            got, expected = as_number(scores.hi[i], scores.lo[i]), exact.as_decimal(exact.score_padded(name, padded[i]))
            if mp.isinf(expected):
                assert got == expected
            else:
                scale = abs(expected) if abs(expected) > exact.VANISHING else 1
                assert abs(got - expected) <= 1e-17 * scale, (drawn.kinds[i], drawn.row(i))


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_oracles_find_the_same_lists_invalid(dtype: str) -> None:
    _, sums, padded = cases(dtype)
    assert sums.invalid.tolist() == [p.invalid for p in padded]
    assert 0.05 < sums.invalid.mean() < 0.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_oracles_see_the_same_lists_at_the_jump(dtype: str) -> None:
    """And what the zero-one score is on either side of it."""
    drawn, sums, padded = cases(dtype)
    ours = [exact.sides(*drawn.row(i), padded[i]) for i in range(len(drawn))]
    assert bulk.at_the_jump(sums).tolist() == [bool(sides) for sides in ours]
    assert sums.even.any()  # lists that tie with what is unlisted by rounding alone are drawn, whose score is definite
    both = np.sort([bulk.flat(sums).hi, bulk.ahead(sums).hi], axis=0)
    for i in np.flatnonzero(bulk.at_the_jump(sums)):
        assert [*both[:, i]] == sorted(map(float, ours[i]))


@pytest.mark.parametrize("name", bulk.RULES)
def test_the_bulk_oracle_sees_a_wrong_score(name: str) -> None:
    """Its own scores pass, and the same ones off in the tenth digit do not."""
    drawn, sums, padded = cases("float64")
    right = np.array([float(exact.score(name, p, int(m))) for p, m in zip(padded, drawn.sizes, strict=True)])
    assert bulk.errors(name, right, sums).max() < 1e-15
    seen = np.isfinite(right) & (right > 1e-3)
    assert (bulk.errors(name, right * (1 + 1e-10), sums)[seen] > 1e-12).all()
    assert np.isinf(bulk.errors(name, np.where(np.isfinite(right), np.inf, 1.0), sums)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_draws_are_what_they_are_called(dtype: str) -> None:
    """A kind that did not produce its own difficulty would test nothing."""
    drawn = draw(np.random.default_rng(6), 2400, np.dtype(dtype))
    kinds = {kind: [drawn.row(i) for i in np.flatnonzero(drawn.kinds == kind)] for kind in KINDS}
    mass = {kind: [sum(map(Fraction, t)) for t, _, _ in rows] for kind, rows in kinds.items()}
    assert all(p > 1 for p in mass["over"]) or dtype == "float32"
    assert sum(p > 1 for p in mass["over"]) > 100
    assert all(len(t) == m for t, m, _ in kinds["complete"])
    assert all(p == 1 for p in mass["hard"])
    assert all(p == 0 for p in mass["empty"])
    assert all(min(t) == (1 - sum(map(Fraction, t))) / (m - len(t)) for t, m, _ in kinds["tied"] if len(t) > 1)
    assert sum(0 in t for t, _, _ in kinds["zeros"]) > 100
    assert sum(exact.pad(t, m, p, dtype).invalid for t, m, p in kinds["invalid"]) > 100
    if dtype == "float64":
        assert all(
            len(t) * exact.EPS < 1 - p < 2e-10
            for (t, _, _), p in zip(kinds["thin rest"], mass["thin rest"], strict=True)
        )
        assert (
            sum(0 < 1 - p <= len(t) * exact.EPS for (t, _, _), p in zip(kinds["snapped"], mass["snapped"], strict=True))
            > 100
        )
    places = [place >= 0 for rows in kinds.values() for _, _, place in rows]
    assert 0.3 < np.mean(places) < 0.8
    assert len({m for rows in kinds.values() for _, m, _ in rows}) > 500
