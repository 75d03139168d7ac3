"""The compiled kernel and the array-API kernel are the same functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from toplist.core import kernel
from toplist.core.kernel import Rows

needs_native = pytest.mark.skipif(not kernel.NATIVE, reason="the compiled kernel was not built, or not asked for")


def random_rows(seed: int, dtype: Any, codes: Any, *, dense: bool = False, given: bool = False) -> Rows:
    """Rows good and bad: ragged, with ties, zeros, repeats, foreign classes, sums off one, sizes up to 1e300."""
    rng = np.random.default_rng(seed)
    n = 400
    if dense:
        t = rng.dirichlet(np.full(6, 0.5), size=n)
        t[::7] *= 1 + rng.normal(size=(len(t[::7]), 1)) * 1e-7
        return Rows(np.arange(n + 1) * 6, None, t.ravel().astype(dtype), None, np.array([6.0]), np.log([6.0]))
    sizes = rng.choice([0, 1, 2, 3, 5, 11, 40, 90], size=n)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    parts = [rng.dirichlet(np.full(k + 1, rng.choice([0.2, 1.0, 8.0])))[:k] for k in sizes]
    t = np.concatenate(parts).astype(dtype)
    t[rng.random(len(t)) < 0.02] = 0
    t[rng.random(len(t)) < 0.002] = rng.choice([np.nan, -0.3, 1.5, np.inf, -1e-12])
    classes = np.concatenate([rng.permutation(100)[:k] for k in sizes]).astype(codes)
    classes[rng.random(len(t)) < 0.003] = rng.choice([3, -1, 10**6])
    size = rng.choice([100.0, 101.0, 1e9, 1e300, np.inf], size=n)
    log_size = np.where(size == np.inf, rng.choice([np.inf, 6931.0], size=n), np.log(np.minimum(size, 1e308)))
    log_rest = None
    if given:
        with np.errstate(divide="ignore", invalid="ignore"):
            left = 1 - np.array([float(p.sum()) for p in parts])
            log_rest = np.where(rng.random(n) < 0.1, -900.0, np.log(np.maximum(left, 0)))
    return Rows(offsets, classes, t, log_rest, size, log_size)


def both(monkeypatch: pytest.MonkeyPatch, run: Any) -> tuple[Any, Any]:
    """The result of the compiled kernel, and of its twin."""
    native = run()
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "_compiled", None)
        return native, run()


KINDS = [
    (dtype, codes, dense, given)
    for dtype in (np.float32, np.float64)
    for codes in (np.int32, np.int64)
    for dense, given in ((False, False), (False, True), (True, False))
]


@needs_native
@pytest.mark.parametrize(("dtype", "codes", "dense", "given"), KINDS)
def test_both_see_the_same_rest_mass_and_the_same_flags(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, codes: Any, dense: bool, given: bool
) -> None:
    rows = random_rows(1, dtype, codes, dense=dense, given=given)
    with np.errstate(all="ignore"):
        native, pure = both(monkeypatch, lambda: kernel.inspect(rows))
    np.testing.assert_array_equal(native[1], pure[1])
    assert native[2] == pure[2]
    fine = (native[1] & 4) == 0
    np.testing.assert_allclose(native[0][fine], pure[0][fine], rtol=1e-14, atol=0)


def clean(rows: Rows, found: NDArray[np.uint16]) -> Rows:
    """Only the rows without problems."""
    from toplist.core.flags import PROBLEMS, TINY_NEGATIVE
    from toplist.lists.validation import gather

    return gather(rows, np.flatnonzero((found & (PROBLEMS | TINY_NEGATIVE)) == 0))


@needs_native
@pytest.mark.parametrize("sum_of", [("none", 1.0), ("squares", 2.0), ("powers", 0.5), ("powers", 2.7), ("peak", 1.0)])
@pytest.mark.parametrize(("dtype", "codes", "dense", "given"), KINDS)
def test_both_reduce_to_the_same_moments(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, codes: Any, dense: bool, given: bool, sum_of: tuple[str, float]
) -> None:
    from toplist.core.array_api import CaseStatistics
    from toplist.scoring.rules.base import Nothing, Peak, Powers, Squares

    rows = random_rows(2, dtype, codes, dense=dense, given=given)
    with np.errstate(all="ignore"):
        rows = clean(rows, kernel.inspect(rows)[1])
        slack, found, _ = kernel.inspect(rows)
        rng = np.random.default_rng(3)
        y = rng.integers(0, 6 if dense else 100, size=len(rows))
        native, pure = both(monkeypatch, lambda: kernel.reduce(rows, slack, found, y, *sum_of))
        for name in ("outcome", "miss", "rest", "unlisted", "proxy", "hit", "ties"):
            if name != "ties" or sum_of[0] == "peak":
                np.testing.assert_allclose(
                    getattr(native, name), getattr(pure, name), rtol=1e-13, atol=1e-300, err_msg=name
                )
        of: Any = {"none": Nothing(), "squares": Squares(), "peak": Peak()}.get(sum_of[0]) or Powers(sum_of[1])
        m = CaseStatistics(
            np, pure.outcome, pure.miss, pure.hit, pure.total, pure.ties, pure.rest, pure.unlisted, pure.proxy,
            rows.size, rows.log_size, rows.log_rest,
        )  # fmt: skip
        total = m.others(of) if sum_of[0] in ("squares", "powers") else pure.total
    if sum_of[0] != "none":
        np.testing.assert_allclose(native.total, total, rtol=1e-12, atol=1e-300)


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 5, 31, 32, 33, 60, 64])
def test_both_select_the_same_classes(monkeypatch: pytest.MonkeyPatch, dtype: Any, k: int) -> None:
    rng = np.random.default_rng(4)
    p = np.round(rng.dirichlet(np.full(64, 0.3), size=200), 2).astype(dtype)  # rounding makes ties
    native, pure = both(monkeypatch, lambda: kernel.select(p, k))
    np.testing.assert_array_equal(native[0], pure[0])
    np.testing.assert_array_equal(native[1], pure[1])
    np.testing.assert_allclose(native[2], pure[2], rtol=1e-6 if dtype == np.float32 else 1e-14, atol=1e-16)


def test_blocks_cover_every_row_once_whatever_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (0, 1, 511, 513, 16384, 16385, 50_001):
        for workers in ("1", "2", "7"):
            monkeypatch.setenv("TOPLIST_THREADS", workers)
            count = np.zeros(rows, int)

            def work(lo: int, hi: int, count: Any = count) -> None:
                count[lo:hi] += 1

            kernel.over_blocks(rows, 10**9, work)
            assert (count == 1).all()


def test_a_failure_in_any_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_THREADS", "3")

    def work(lo: int, hi: int) -> None:
        if lo > 0:
            raise RuntimeError("in a thread")

    with pytest.raises(RuntimeError, match="in a thread"):
        kernel.over_blocks(100_000, 10**9, work)


def test_rows_of_one_length_are_grouped_with_their_places() -> None:
    rows = random_rows(5, np.float64, np.int64)
    seen = np.concatenate([at for at, _ in kernel.by_length(rows)])
    assert sorted(seen) == list(range(len(rows)))
    per_case = replace(rows, size=rows.size, log_size=rows.log_size)
    for at, part in kernel.by_length(per_case):
        assert part.confidences.shape == (len(at), int(np.diff(rows.offsets)[at[0]]))
        np.testing.assert_array_equal(part.size, rows.size[at])
