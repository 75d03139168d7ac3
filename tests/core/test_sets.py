"""The compiled search for label sets and its twin in Python list the same sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from toplist.core import kernel, subset_search
from toplist.core.subset_search import Likeliest, Spelling
from toplist.lists.labelsets import keys

needs_native = pytest.mark.skipif(not kernel.NATIVE, reason="built without a compiler")


def draw(kind: str, width: int, rng: np.random.Generator) -> NDArray[np.float64]:
    p = rng.random((3, width))
    return {
        "plain": p,
        "rising": np.sort(p / 2, axis=1),
        "falling": np.sort(p / 2, axis=1)[:, ::-1].copy(),
        "equal": np.full((3, width), 0.3),
        "tiny": 10.0 ** -rng.uniform(0.4, 300, (3, width)),
        "certain": np.where(rng.random((3, width)) < 0.9, np.round(p), p),
        "apart": np.where(np.arange(width) < width // 3, 0.5 - p / 1000, p / 10**5),
    }[kind]


def both(
    monkeypatch: pytest.MonkeyPatch, p: NDArray[Any], k: int, *, logit: bool, empty: bool
) -> tuple[Likeliest, Likeliest]:
    def run() -> Likeliest:
        return kernel.best_sets(p, keys(p.shape[1]), k, logit=logit, empty=empty, spelled=True)

    native = run()
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "_compiled", None)
        return native, run()


def flips_of(found: Likeliest) -> list[tuple[int, ...]]:
    assert isinstance(found.spelling, Spelling)
    ends = np.cumsum(found.listed(found.spelling.counts), dtype=np.int64).tolist()
    return [tuple(found.spelling.flips[a:b].tolist()) for a, b in zip([0, *ends], ends, strict=False)]


@needs_native
@pytest.mark.parametrize("kind", ["plain", "rising", "falling", "equal", "tiny", "certain", "apart"])
@pytest.mark.parametrize(("width", "k"), [(1, 1), (5, 40), (63, 1), (64, 17), (129, 300), (700, 60), (2500, 700)])
@pytest.mark.parametrize("logit", [False, True])
@pytest.mark.parametrize("empty", [True, False])
def test_both_list_the_same_sets(
    monkeypatch: pytest.MonkeyPatch, kind: str, width: int, k: int, logit: bool, empty: bool
) -> None:
    p = draw(kind, width, np.random.default_rng(width))
    p[:, 0] = [0.2, 0.6, 0.45]
    if logit:
        with np.errstate(divide="ignore"):
            p = np.log(p) - np.log1p(-p)
    native, pure = both(monkeypatch, p, k, logit=logit, empty=empty)
    np.testing.assert_array_equal(native.counts, pure.counts)
    assert native.refused == pure.refused == (3, subset_search.FINE)
    np.testing.assert_allclose(native.listed(native.log_p), pure.listed(pure.log_p), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(native.log_rest, pure.log_rest, rtol=1e-13, atol=1e-13)
    assert native.spelling is not None
    assert pure.spelling is not None
    np.testing.assert_array_equal(native.spelling.bits, pure.spelling.bits)
    codes, flips = native.listed(native.codes), flips_of(native)
    if kind in ("plain", "equal"):  # in the others rounding may change places of sets that are nearly the same
        np.testing.assert_array_equal(codes, pure.listed(pure.codes))
        assert flips == flips_of(pure)
    key, on = keys(width), p > (0.0 if logit else 0.5)
    first = np.repeat(np.bitwise_xor.reduce(np.where(on, key, 0), axis=1), native.counts)
    for code, start, labels in zip(codes.tolist(), first.tolist(), flips, strict=True):
        assert list(labels) == sorted(set(labels))
        assert code == start ^ int(np.bitwise_xor.reduce(key[list(labels)]))
        assert 2 ** len(labels) <= k + 1


@needs_native
@pytest.mark.parametrize("logit", [False, True])
def test_both_read_single_precision(monkeypatch: pytest.MonkeyPatch, logit: bool) -> None:
    p = np.random.default_rng(4).random((4, 200)).astype(np.float32)
    p = np.log(p / (1 - p)) if logit else p
    native, pure = both(monkeypatch, p, 30, logit=logit, empty=True)
    np.testing.assert_array_equal(native.codes, pure.codes)
    np.testing.assert_allclose(native.log_p, pure.log_p, rtol=1e-14)


@needs_native
@pytest.mark.parametrize("bad", [math.nan, -1e-9, 1.5, math.inf])
def test_both_refuse_the_same_rows(monkeypatch: pytest.MonkeyPatch, bad: float) -> None:
    for width in (3, 100):
        p = np.full((6, width), 0.25)
        p[4, width // 2] = bad
        p[5, 0] = bad
        for found in both(monkeypatch, p, 2, logit=False, empty=True):
            assert found.refused == (4, subset_search.BAD_VALUE)
        for found in both(monkeypatch, p, 2, logit=True, empty=True):
            assert found.refused == ((4, subset_search.BAD_VALUE) if math.isnan(bad) else (6, subset_search.FINE))
        p[2] = 0
        for found in both(monkeypatch, p, 2, logit=False, empty=False):
            assert found.refused == (2, subset_search.ONLY_EMPTY)
