"""Bins, lengths and shapes are what a plain count of the cases says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.evaluation.factories import KINDS, batch, law, seeds, shown
from toplist.calibration.pairs import Bin
from toplist.lists.converters import as_codes

HARD = [kind for kind in KINDS if kind != "soft"]


def binned(promised: Any, kept: Any) -> list[Bin]:
    """Bins by numpy's own histograms."""
    promised, kept = np.asarray(promised, float), np.asarray(kept, float)
    scaled = np.minimum(promised * 20, 19.5)
    counts, sums, hits = (
        np.histogram(scaled, bins=np.arange(21), weights=weights)[0] for weights in (None, promised, kept)
    )
    return [
        Bin(i / 20, (i + 1) / 20, int(counts[i]), sums[i] / counts[i], hits[i] / counts[i])
        for i in range(20)
        if counts[i]
    ]


def agree(mine: Any, theirs: list[Bin]) -> bool:
    """The same bins, up to how numpy rounds."""
    return [(b.low, b.high, b.count) for b in mine] == [(b.low, b.high, b.count) for b in theirs] and all(
        (a.mean_confidence, a.hit_rate) == pytest.approx((b.mean_confidence, b.hit_rate), rel=1e-12)
        for a, b in zip(mine, theirs, strict=True)
    )


@pytest.mark.parametrize("kind", HARD)
@law
@given(seed=seeds, n=st.integers(0, 60))
def test_bins_are_plain_histograms(kind: str, seed: int, n: int) -> None:
    lists, y = batch(kind, seed, n)
    made, codes = shown(lists, y), as_codes(y, lists)
    t, case = lists.normalized_confidences, np.repeat(np.arange(n), lists.sizes)
    happened = lists.classes == codes[case]
    assert agree(made.listed, binned(t, happened))
    some = np.flatnonzero(lists.sizes)
    rows = [slice(lists.offsets[i], lists.offsets[i + 1]) for i in some]
    first = [lists.confidences[row] == lists.confidences[row].max() for row in rows]
    shared = [(happened[row] & top).sum() / top.sum() for row, top in zip(rows, first, strict=True)]
    assert agree(made.top, binned([t[row].max() for row in rows], shared))
    assert agree(made.mass, binned(lists.mass, np.bincount(case, weights=happened, minlength=n)))


@law
@given(seed=seeds, n=st.integers(1, 60))
def test_a_soft_truth_counts_expected_hits(seed: int, n: int) -> None:
    lists, truth = batch("soft", seed, n)
    made, p = shown(lists, truth), truth.padded()
    t, case = lists.normalized_confidences, np.repeat(np.arange(n), lists.sizes)
    expected = p[case, lists.classes]
    assert agree(made.listed, binned(t, expected))
    assert agree(made.mass, binned(lists.mass, np.bincount(case, weights=expected, minlength=n)))


def test_a_soft_truth_that_is_sure_shows_what_a_hard_one_shows() -> None:
    lists, y = batch("ties", 4, 50)
    hard, soft = shown(lists, y), shown(lists, tl.TopLists.from_labels(y, 30))
    assert (soft.listed, soft.mass, soft.sizes) == (hard.listed, hard.mass, hard.sizes)
    assert agree(soft.top, list(hard.top))


def test_edges_belong_to_the_bin_above_and_one_to_the_last() -> None:
    rows = [{0: i / 20} for i in range(21)]
    made = shown(tl.TopLists.from_dicts(rows, 1000), np.zeros(21, int))
    assert [one.count for one in made.listed] == [*[1] * 19, 2]
    assert (made.listed[3].low, made.listed[3].high) == (0.15, 0.2)


@pytest.mark.parametrize("kind", KINDS)
@law
@given(seed=seeds, n=st.integers(0, 60))
def test_lengths_and_shapes_count_every_case_once(kind: str, seed: int, n: int) -> None:
    lists, y = batch(kind, seed, n)
    made = shown(lists, y)
    lengths, counts = np.unique(lists.sizes, return_counts=True)
    assert made.sizes == tuple(zip(lengths.tolist(), counts.tolist(), strict=True))
    assert made.cases == n == sum(one.cases for one in made.shapes)
    scores = tl.score(lists, y)
    assert sum(one.cases * one.score for one in made.shapes) == pytest.approx(scores.sum())


def test_of_many_lengths_the_most_frequent_are_kept() -> None:
    sizes = np.concatenate([np.arange(60), np.arange(20, 60)])
    classes = np.concatenate([np.arange(k) for k in sizes])
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    lists = tl.TopLists.from_ragged(offsets, classes, np.full(len(classes), 1 / 64), 64)
    assert shown(lists, np.zeros(100, int)).sizes == tuple((k, 2) for k in range(20, 60))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_go_by_what_is_left_over(dtype: Any) -> None:
    rows = [[], [1.0], [1.0 - 1e-9], [0.9], [0.5, 0.5], [0.5, 0.4], [0.5, 0.2, 0.2, 0.1]]
    sizes = list(map(len, rows))
    lists = tl.TopLists.from_ragged(
        np.concatenate(([0], np.cumsum(sizes))),
        np.concatenate([np.arange(k) for k in sizes]),
        np.concatenate(rows).astype(dtype),
        4,
    )
    made = shown(lists, np.zeros(7, int))
    assert [(one.kind, one.cases) for one in made.shapes] == [
        ("empty list", 1),
        ("hard label", 2),
        ("top list", 2),
        ("distribution", 2),
    ]
