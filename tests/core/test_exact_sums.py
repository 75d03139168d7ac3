"""Sums are integers that no order, split, thread, group or kernel can change: against rational arithmetic."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.integers import SMALL, UNIT, doubles, factors, law, product, scattered, sums, total, whole
from toplist.core import kernel
from toplist.core.kernel import BITS, exact_sums, to_float

PAIRS = list(combinations_with_replacement(range(3), 2))
needs_native = pytest.mark.skipif(not kernel.NATIVE, reason="the compiled kernel was not built, or not asked for")


def pure(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> list[list[int]]:
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "_compiled", None)
        return exact_sums(*arguments).tolist()


@law
@given(values=st.lists(doubles, max_size=40))
@example(values=[1e16, 1.0, -1e16])
@example(values=[1.7976931348623157e308] * 40)  # far beyond the largest double
@example(values=[5e-324, -5e-324, 2.0**-1022, -(2.0**-1023)] * 4)
def test_a_sum_is_that_of_the_fractions(values: list[float]) -> None:
    made = exact_sums(np.array([values]))
    assert made.shape == (1, 1)
    assert made[0, 0] == total(values)
    assert Fraction(made[0, 0], UNIT) == sum(map(Fraction, values))


@law
@given(values=st.lists(doubles, max_size=30))
def test_both_kernels_give_the_same_sums(values: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert pure(patch, np.array([values])) == [[total(values)]]


@law
@given(pairs=st.lists(st.tuples(factors, factors), max_size=30))
@example(pairs=[(0.1, 0.1)] * 16)
@example(pairs=[(1e150, 1e150), (-1e150, 1e150), (1e-140, 1e-140), (5e-324, 1e150)] * 4)
@example(pairs=[(2.0**-480, 2.0**-480), (2.0**-480 * (1 + 2.0**-52), 2.0**-480 * (1 + 2.0**-52))] * 8)
@example(pairs=[(2.0**-480 * (1 + 2.0**-52), 2.0**-481 * (1 + 2.0**-52))] * 9)  # just below the limit
def test_products_are_not_rounded_unless_they_are_tiny(pairs: list[tuple[float, float]]) -> None:
    """Below 2**-960 they are rounded once; above, not at all."""
    columns = np.array([[x for x, _ in pairs], [y for _, y in pairs]])
    want = [[total(columns[0]), total(columns[1]), *(sum(map(product, columns[i], columns[j])) for i, j in PAIRS[:2])]]
    asked = [(0, 0), (0, 1)]
    assert exact_sums(columns, asked).tolist() == want
    with pytest.MonkeyPatch.context() as patch:
        assert pure(patch, columns, asked) == want
    if all(abs(x * y) >= SMALL or x * y == 0 == min(abs(x), abs(y)) for x, y in pairs):
        exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
        assert Fraction(exact_sums(columns, asked)[0, 3], UNIT) == exact


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 8191, 8193, 17_000])
@pytest.mark.parametrize("spread", [0.0, 5.0, 140.0])
def test_sums_are_exact_at_the_seams_of_every_block(n: int, spread: float) -> None:
    """Of eight values, of a chunk, of a block; for values alike and for values that could not differ more."""
    columns = scattered(n + int(spread), n, spread=spread, columns=2)
    assert exact_sums(columns, [(0, 0), (0, 1)]).tolist() == sums(columns, [(0, 0), (0, 1)])


@pytest.mark.parametrize("spread", [0.0, 40.0, 140.0])
def test_the_pure_kernel_gives_the_same_sums_of_many_values(monkeypatch: pytest.MonkeyPatch, spread: float) -> None:
    columns = scattered(5, 20_000, spread=spread)
    codes = np.random.default_rng(6).integers(0, 300, 20_000).astype(np.int32)
    for code, groups in ((None, 1), (codes, 300)):
        assert pure(monkeypatch, columns, PAIRS, code, groups) == exact_sums(columns, PAIRS, code, groups).tolist()


def test_equal_values_add_up_to_their_number_times_the_value() -> None:
    """As many as fill the doubles of the fast way to the brim."""
    for x in (1 - 2.0**-53, -(1 - 2.0**-53), 1 / 3, 2.0**-30 + 2.0**-82, 1e150):
        made = exact_sums(np.full((1, 40_000), x), [(0, 0)])
        assert made.tolist() == [[40_000 * whole(x), 40_000 * product(x, x)]]


def test_what_cancels_leaves_nothing() -> None:
    """However large it was."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=5_000) * 10.0 ** rng.uniform(-300, 300, 5_000)
    values = rng.permutation(np.concatenate([x, -x, [5e-324]]))
    assert exact_sums(values[None]).tolist() == [[1]]


@law
@given(
    values=st.lists(st.tuples(factors, factors), min_size=1, max_size=25),
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 25), max_size=3),
)
def test_no_permutation_and_no_split_shows(values: list[tuple[float, float]], seed: int, cuts: list[int]) -> None:
    columns = np.array(list(zip(*values, strict=True)))
    asked = [(0, 1), (1, 1)]
    want = exact_sums(columns, asked)
    order = np.random.default_rng(seed).permutation(len(values))
    shuffled = np.array([column[order] for column in columns])
    parts = np.split(shuffled, sorted(min(cut, len(values)) for cut in cuts), axis=1)
    assert (sum(exact_sums(part, asked) for part in parts) == want).all()


def test_one_row_is_summed_however_numpy_strides_it() -> None:
    """Which numpy is free to do: an axis of one entry has no next one."""
    one = np.zeros((2, 5))[:, np.array([1])]
    assert one.flags.c_contiguous
    assert exact_sums(one).tolist() == [[0, 0]]


@law
@given(rows=st.lists(st.tuples(factors, st.integers(0, 4)), max_size=30))
def test_the_sums_of_groups_are_those_of_their_rows(rows: list[tuple[float, int]]) -> None:
    """However the groups are numbered, with groups that are empty; and all groups make the whole."""
    x, codes = np.array([[r[0] for r in rows]]), np.array([r[1] for r in rows], np.int32)
    made = exact_sums(x, [(0, 0)], codes, 6)
    assert made.tolist() == sums(x, [(0, 0)], codes, 6)
    again = exact_sums(x, [(0, 0)], (5 - codes).astype(np.int32), 6)
    assert again[::-1].tolist() == made.tolist()
    assert made.sum(axis=0).tolist() == exact_sums(x, [(0, 0)])[0].tolist()
    with pytest.MonkeyPatch.context() as patch:
        assert pure(patch, x, [(0, 0)], codes, 6) == made.tolist()


def test_the_number_of_threads_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough values that several threads share them."""
    n = 50_000
    columns = scattered(2, n)
    codes = np.random.default_rng(3).integers(0, 40, n).astype(np.int32)
    for code, groups in ((None, 1), (codes, 40)):
        monkeypatch.setenv("TOPLIST_THREADS", "1")
        want = exact_sums(columns, PAIRS, code, groups).tolist()
        for workers in ("2", "3"):
            monkeypatch.setenv("TOPLIST_THREADS", workers)
            assert exact_sums(columns, PAIRS, code, groups).tolist() == want
            with kernel.one_thread():
                assert kernel.threads() == 1
                assert exact_sums(columns, PAIRS, code, groups).tolist() == want
            assert kernel.threads() == int(workers)


def digest() -> str:
    """All bits of some sums."""
    columns = scattered(4, 3_000, spread=60.0)
    codes = np.random.default_rng(5).integers(0, 7, 3_000).astype(np.int32)
    made = exact_sums(columns, PAIRS).tolist() + exact_sums(columns, PAIRS, codes, 7).tolist()
    return hashlib.sha256(repr(made).encode()).hexdigest()


@needs_native
def test_a_process_without_the_compiled_kernel_has_the_same_bits() -> None:
    code = (
        "from toplist.core import kernel; from tests.core.test_exact_sums import digest; print(kernel.NATIVE, digest())"
    )
    environment = {**os.environ, "TOPLIST_PURE_PYTHON": "1"}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    ).stdout.split()
    assert said == ["False", digest()]


@law
@given(numerator=st.integers(-(2**64), 2**64), shift=st.integers(0, 1990), below=st.integers(-3, 3))
@example(numerator=2**53 + 1, shift=1074, below=0)  # halfway: to even
@example(numerator=2**53 + 3, shift=1074, below=0)
@example(numerator=2**53 + 1, shift=1074, below=1)
@example(numerator=1, shift=0, below=0)  # the smallest double
@example(numerator=0, shift=0, below=0)
def test_a_total_is_rounded_to_the_nearest_double_and_once(numerator: int, shift: int, below: int) -> None:
    """No neighbour is nearer; halfway between two, the even one is taken."""
    amount = (numerator << shift) + below
    made, exact = to_float(amount), Fraction(amount, UNIT)
    assert BITS == 1074
    error = abs(Fraction(made) - exact)
    for direction in (-math.inf, math.inf):
        near = math.nextafter(made, direction)
        if math.isinf(near):
            continue
        other = abs(Fraction(near) - exact)
        assert error <= other
        if error == other:
            assert whole(made) // whole(math.ulp(made)) % 2 == 0


@law
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_rounded_sum_is_that_of_fsum(values: list[float]) -> None:
    assert to_float(exact_sums(np.array([values]))[0, 0]) == math.fsum(values)


def test_products_are_exact_where_the_largest_factors_are_far_apart() -> None:
    """No product is near the largest double, though the largest factors would make one."""
    columns = np.array([[1e200] + [1e100] * 15, [1e-200] + [1e120] * 15])
    assert exact_sums(columns, [(0, 1)])[0, 2] == sum(map(product, *columns.tolist()))
