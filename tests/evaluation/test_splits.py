"""How cases are split into batches, ordered and merged never shows."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.evaluation.factories import KINDS, TABULAR, batch, gathered, law, seeds, shown
from toplist.core import kernel
from toplist.evaluation.model_details import DetailsAccumulator, finish

SOME: dict[str, Any] = {
    "brier": "brier",
    "log": "log",
    "zero-one": "zero-one",
    "one-vs-rest": tl.OneVsRest("brier"),
    "power": tl.Power(1.5),
    "savage": TABULAR,
}
ENDLESS = {"power": "spherical", "savage": "brier"}  # those that have no limit for more classes than numbers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", SOME)
@law
@given(seed=seeds, n=st.integers(0, 60))
def test_any_split_and_order_of_batches_shows_the_same(kind: str, rule: str, seed: int, n: int) -> None:
    chosen = ENDLESS.get(rule, SOME[rule]) if kind in ("open", "huge") else SOME[rule]
    lists, y = batch(kind, seed, n)
    rng = np.random.default_rng(seed)
    parts = np.split(rng.permutation(n), np.sort(rng.integers(0, n + 1, rng.integers(0, 6))))
    made = [gathered(lists, y, chosen, at) for at in parts]
    left = reduce(add, made, DetailsAccumulator())
    right = reduce(lambda a, b: b + a, reversed(made))
    assert finish(left, "A", rule) == finish(right, "A", rule) == finish(gathered(lists, y, chosen), "A", rule)


@pytest.mark.parametrize("kind", ["short", "ties", "long", "dense"])
def test_threads_and_blocks_do_not_show(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lists, y = batch(kind, 3, 700)
    plain = shown(lists, y, "log")
    monkeypatch.setattr("toplist.scoring.truncation_curve.CELLS", 7)
    assert shown(lists, y, "log") == plain
    monkeypatch.setattr(kernel, "BLOCK", 64)
    monkeypatch.setattr(kernel, "_THREADED", 1)
    monkeypatch.setenv("TOPLIST_THREADS", "3")
    assert shown(lists, y, "log") == plain


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_shows_nothing(kind: str) -> None:
    lists, y = batch(kind, 1, 0)
    made = shown(lists, y)
    assert made.cases == 0
    assert (made.ks, made.curve, made.listed, made.top, made.mass, made.sizes, made.shapes, made.worst) == ((),) * 8
    assert made.invalid == ""
    assert (made.shortest, made.longest) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shortest_and_the_longest_list_are_those_of_all_lists(kind: str) -> None:
    lists, y = batch(kind, 3, 60)
    made = shown(lists, y)
    assert (made.shortest, made.longest) == (lists.sizes.min(), lists.sizes.max())


def test_the_range_of_lengths_does_not_depend_on_how_many_are_kept() -> None:
    """The shortest and the longest list are each alone among many of fifty other lengths."""
    sizes = np.concatenate([[1], np.repeat(np.arange(10, 60), 2), [90]])
    rows = [{str(i): 1 / 100 for i in range(k)} for k in sizes]
    made = shown(tl.TopLists.from_dicts(rows, 100), np.array(["0"] * len(rows)))
    assert len(made.sizes) == 40
    assert (made.shortest, made.longest) == (1, 90)


@pytest.mark.skipif(not kernel.NATIVE, reason="the compiled kernel was not built, or not asked for")
@pytest.mark.parametrize("kind", KINDS)
def test_both_kernels_show_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lists, y = batch(kind, 5, 80)
    native = shown(lists, y, "spherical")
    monkeypatch.setattr(kernel, "_compiled", None)
    monkeypatch.setattr(kernel, "NATIVE", False)
    pure = shown(lists, y, "spherical")
    assert (pure.ks, pure.sizes, pure.invalid) == (native.ks, native.sizes, native.invalid)
    assert pure.curve == pytest.approx(native.curve, rel=1e-12)
    for mine, theirs in zip(pure.listed + pure.top + pure.mass, native.listed + native.top + native.mass, strict=True):
        assert (mine.low, mine.count) == (theirs.low, theirs.count)
        means = theirs.mean_confidence, theirs.hit_rate
        assert (mine.mean_confidence, mine.hit_rate) == pytest.approx(means, rel=1e-12)
    assert [(one.kind, one.cases) for one in pure.shapes] == [(one.kind, one.cases) for one in native.shapes]
    assert [one.case for one in pure.worst] == [one.case for one in native.worst]
    assert pure.confusions == native.confusions
