"""What each case says beside its scores: places, ties, unlisted outcomes; expected ones where the truth is soft."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.core.integers import law
from tests.properties.cases import batches, distributions
from toplist.core import kernel
from toplist.scoring.case_scores import CaseScores, outcome_ranks
from toplist.scoring.rules import as_rule

RULES = tuple(map(as_rule, ("brier", "log")))
KS = (0, 1, 2, 3, 9)


def naive(lists: tl.TopLists, y: Any) -> tuple[list[int], list[int]]:
    """Case by case: how many confidences are above the outcome's, how many equal it."""
    above, equal = [], []
    for i, one in enumerate(y):
        here = slice(lists.offsets[i], lists.offsets[i + 1])
        listed = dict(zip(lists.classes[here].tolist(), lists.confidences[here].tolist(), strict=True))
        own = listed.get(int(one))
        above.append(0 if own is None else sum(t > own for t in listed.values()))
        equal.append(0 if own is None else sum(t == own for t in listed.values()))
    return above, equal


def many(seed: int, n: int, *, dtype: Any, codes: Any, dense: bool) -> tuple[tl.TopLists, Any]:
    """Lists with ties, zeros and outcomes that are not listed; sixteenths, so that single precision ties alike."""
    rng = np.random.default_rng(seed)
    if dense:
        p = rng.multinomial(16, np.full(6, 1 / 6), size=n) / 16
        return tl.TopLists.from_proba(p.astype(dtype)), rng.integers(0, 6, n)
    sizes = rng.integers(0, 9, n)
    classes = np.concatenate([rng.permutation(12)[:k] for k in sizes]).astype(codes)
    t = np.concatenate([rng.multinomial(16, np.full(k + 1, 1 / (k + 1)))[:k] / 16 for k in sizes]).astype(dtype)
    lists = tl.TopLists.from_ragged(np.concatenate(([0], np.cumsum(sizes))), classes, t, 12)
    return lists, rng.integers(0, 12, n)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("codes", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_are_those_of_a_plain_loop_in_both_kernels(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, codes: Any, dense: bool
) -> None:
    lists, y = many(1, 700, dtype=dtype, codes=codes, dense=dense)
    want = naive(lists, y)
    assert [x.tolist() for x in kernel.places(lists.checked.rows, y)] == list(want)
    monkeypatch.setattr(kernel, "_compiled", None)
    assert [x.tolist() for x in kernel.places(lists.checked.rows, y)] == list(want)


def test_an_outcome_that_no_list_can_name_has_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code is -1, which is not the last class."""
    named = tl.TopLists.from_dicts([{"a": 0.5, "b": 0.25}, {}], tl.ClassSpace(9, ["a", "b"]))
    for compiled in (kernel._compiled, None):
        monkeypatch.setattr(kernel, "_compiled", compiled)
        ranks = outcome_ranks(named, ["z", "z"])
        assert [x.tolist() for x in (ranks.within(1), ranks.beyond(1), ranks.listed)] == [[0, 0], [1, 1], [0, 0]]


def test_many_rows_in_threads_have_the_places_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    lists, y = many(2, 60_000, dtype=np.float64, codes=np.int64, dense=False)
    monkeypatch.setenv("TOPLIST_THREADS", "3")
    above, equal = kernel.places(lists.checked.rows, y)
    for lo in (0, 16_000, 59_500):
        part = slice(lo, lo + 500)
        assert naive(lists[part], y[part]) == (above[part].tolist(), equal[part].tolist())


def orders(listed: dict[int, float]) -> list[tuple[int, ...]]:
    """Every order of the listed classes in which no confidence rises."""
    return [o for o in permutations(listed) if all(listed[a] >= listed[b] for a, b in pairwise(o))]


def expected(listed: dict[int, float], p: list[float], k: int) -> float:
    """The probability that what happens is among the first k, over outcomes and over orders of the ties."""
    found = orders(listed)
    return sum(p[c] for order in found for c in order[:k]) / len(found)


@st.composite
def soft_batches(draw: st.DrawFn) -> tuple[list[dict[int, float]], list[list[float]]]:
    """Lists with ties over five classes, and what is believed of each case."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        classes = draw(st.lists(st.integers(0, 4), unique=True, max_size=5))
        left, row = 16, {}
        for c in classes:
            row[c] = draw(st.integers(0, min(left, 4)))
            left -= row[c]
        if len(row) == 5:
            row[classes[0]] += left
        rows.append({c: t / 16 for c, t in row.items()})
    return rows, [draw(distributions(5)) for _ in rows]


@law
@given(drawn=soft_batches())
def test_expected_hits_are_averages_over_outcomes_and_orders(
    drawn: tuple[list[dict[int, float]], list[list[float]]],
) -> None:
    rows, p = drawn
    lists = tl.TopLists.from_dicts(rows, 5)
    for truth in (np.array(p), tl.TopLists.from_proba(p)):
        made = CaseScores.from_lists(lists, truth, RULES, ks=KS, penalty=None)
        for i, (row, belief) in enumerate(zip(rows, p, strict=True)):
            assert made["accuracy"][i] == pytest.approx(expected(row, belief, 1), abs=1e-14)
            assert made["coverage"][i] == pytest.approx(expected(row, belief, 5), abs=1e-14)
            for k in KS:
                assert made[f"top_{k}_error"][i] == pytest.approx(1 - expected(row, belief, k), abs=1e-14)


@law
@given(drawn=soft_batches())
def test_beliefs_may_be_lists_that_name_only_some_classes(
    drawn: tuple[list[dict[int, float]], list[list[float]]],
) -> None:
    """What they do not name they believe in evenly."""
    rows, p = drawn
    lists = tl.TopLists.from_dicts(rows, 5)
    short = tl.TopLists.from_proba(p).truncate(2)
    made, want = (CaseScores.from_lists(lists, truth, RULES, ks=KS, penalty=None) for truth in (short, short.padded()))
    for name in ("scores", "unpenalised"):
        np.testing.assert_allclose(getattr(made, name), getattr(want, name), rtol=1e-12, atol=1e-14)
    for name in made.metrics:
        np.testing.assert_allclose(made[name], want[name], rtol=1e-12, atol=1e-14)


@law
@given(batch=batches())
def test_a_sure_belief_is_an_outcome(batch: tuple[tl.TopLists, list[int]]) -> None:
    """A distribution with all its mass on one class is that class."""
    lists, y = batch
    if lists.space.per_case or lists.space.size > 1000:
        return
    hard = CaseScores.from_lists(lists, y, RULES, ks=KS, penalty=0.25)
    soft = CaseScores.from_lists(lists, tl.TopLists.from_labels(y, lists.space), RULES, ks=KS, penalty=0.25)
    for name in ("scores", "unpenalised", "empty"):
        np.testing.assert_allclose(getattr(soft, name), getattr(hard, name), rtol=1e-10, atol=1e-10)
    for name in hard.metrics:
        np.testing.assert_allclose(soft[name], np.asarray(hard[name], float), atol=1e-12)


@law
@given(batch=batches(), penalty=st.none() | st.sampled_from([0.0, 0.5, math.inf]))
def test_case_scores_are_what_the_functions_for_scores_and_metrics_say(
    batch: tuple[tl.TopLists, list[int]], penalty: float | None
) -> None:
    lists, y = batch
    made = CaseScores.from_lists(lists, y, RULES, ks=KS, penalty=penalty)
    assert len(made) == len(lists)
    none = tl.TopLists.from_dicts([{}] * len(lists), lists.space)
    for r, rule in enumerate(RULES):
        np.testing.assert_array_equal(made.scores[r], tl.score(lists, y, rule=rule, penalty=penalty))
        np.testing.assert_array_equal(made.unpenalised[r], tl.score(lists, y, rule=rule, penalty=0))
        np.testing.assert_allclose(
            made.empty[r], tl.score(none, y, rule=rule), rtol=1e-12
        )  # the same for every outcome
    np.testing.assert_array_equal(made["mean_length"], lists.sizes)
    np.testing.assert_array_equal(made["mean_mass"], lists.mass)
    np.testing.assert_array_equal(made.invalid != 0, ~lists.is_valid())
    ranks = tl.ranks(lists, y)
    np.testing.assert_array_equal(made["coverage"] != 0, np.isfinite(ranks))
    assert np.mean(made["accuracy"]) == pytest.approx(tl.accuracy(lists, y), abs=1e-14)
    for k in KS:
        assert np.mean(made[f"top_{k}_error"]) == pytest.approx(tl.top_k_error(lists, y, k=k), abs=1e-14)
