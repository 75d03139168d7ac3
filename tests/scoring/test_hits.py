"""What people know: accuracy, top-k error, coverage, ranks; against scikit-learn where it has them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws

T = tl.TopLists
N, M = 400, 7


def predictions(seed: int = 0) -> tuple[Any, Any, Any]:
    """Distributions without ties, outcomes and weights."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(M, 0.5), size=N)
    y = np.where(rng.random(N) < 0.5, p.argmax(axis=1), rng.integers(0, M, N))
    return p, y, rng.integers(0, 4, N).astype(float)


def metrics() -> Any:
    return pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle")


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_is_that_of_scikit_learn(weighted: bool) -> None:
    """Of hard labels, of distributions, and of lists of any length that are not empty."""
    p, y, w = predictions()
    weight = w if weighted else None
    want = metrics().accuracy_score(y, p.argmax(axis=1), sample_weight=weight)
    for lists in (T.from_labels(p.argmax(axis=1), M), T.from_proba(p), T.from_proba(p, k=1), T.from_proba(p, k=3)):
        assert tl.accuracy(lists, y, sample_weight=weight) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_top_k_error_is_one_minus_the_top_k_accuracy_of_scikit_learn(k: int, weighted: bool) -> None:
    p, y, w = predictions()
    weight = w if weighted else None
    hit = metrics().top_k_accuracy_score(y, p, k=k, labels=np.arange(M), sample_weight=weight)
    for lists in (T.from_proba(p), T.from_proba(p, k=k), T.from_proba(p, k=6)):
        assert tl.top_k_error(lists, y, k=k, sample_weight=weight) == pytest.approx(1 - hit, abs=1e-12)
    assert tl.coverage(T.from_proba(p, k=k), y, sample_weight=weight) == pytest.approx(hit, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_distributions_are_those_of_scikit_learn(weighted: bool) -> None:
    """The Brier score, whole and halved, and the log score."""
    p, y, w = predictions()
    weight = w if weighted else None
    brier = metrics().brier_score_loss(y, p, labels=np.arange(M), sample_weight=weight, scale_by_half=False)
    half = metrics().brier_score_loss(y, p, labels=np.arange(M), sample_weight=weight, scale_by_half=True)
    log = metrics().log_loss(y, p, labels=np.arange(M), sample_weight=weight)
    lists = T.from_proba(p)
    for rule, want in ((tl.Brier(), brier), (tl.Brier(scale_by_half=True), half), (tl.Log(), log)):
        assert np.average(tl.score(lists, y, rule=rule), weights=weight) == pytest.approx(want, rel=1e-12)


def test_the_zero_one_score_of_a_sure_list_is_one_minus_accuracy() -> None:
    """The proper score and what people know agree where both speak of one class."""
    p, y, _ = predictions()
    lists = T.from_proba(p, k=2)
    assert tl.score(lists, y, rule="zero-one").mean() == pytest.approx(1 - tl.accuracy(lists, y), abs=1e-12)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_classes_that_tie_in_a_mass_above_one_tie_when_it_is_cut(k: int) -> None:
    """Three times the double above 1/3, which is ahead of its proxy by rounding alone."""
    x = 0.33333333333333337
    assert x > (1 - Fraction(x)) / 2
    alone = T.from_dicts([{0: x}] * 3, 3)
    assert tl.score(alone, [0, 1, 2], rule="zero-one") == pytest.approx([2 / 3] * 3, rel=1e-15)
    for whole in (T.from_proba([[x] * 3] * 3), T.from_dicts([dict.fromkeys(range(3), x)] * 3, 3)):
        cut = whole.truncate(k)
        assert tl.score(cut, [0, 1, 2], rule="zero-one") == pytest.approx([2 / 3] * 3, rel=1e-15)
        assert tl.entropy(cut, rule="zero-one") == pytest.approx([2 / 3] * 3, rel=1e-15)
    assert tl.curve([[x] * 3], [2], rule="zero-one").score[k] == pytest.approx(2 / 3, rel=1e-15)


def uniform_lists(way: str, dtype: Any, m: int, k: int) -> Any:
    """Two lists of the first k of m classes that are equally likely."""
    even, codes = np.full((2, m), 1 / m, dtype), np.tile(np.arange(k), (2, 1))
    if way == "on a device":
        xp = pytest.importorskip("array_api_strict")
        return T.from_topk(xp.asarray(codes), xp.asarray(even[:, :k]), m)
    if way == "given":
        return T.from_topk(codes, even[:, :k], m)
    whole = T.from_logits(np.zeros((2, m), dtype)) if way == "logits" else T.from_proba(even, normalize=True)
    return whole.truncate(k)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("way", ["cut", "given", "logits", "on a device"])
def test_every_class_of_a_uniform_distribution_ties_however_many_are_listed(way: str, dtype: Any) -> None:
    """The zero-one score is 1 - 1/m for every outcome, listed or not."""
    if way == "on a device" and dtype == np.float16:
        pytest.skip("array_api_strict has no float16")
    for m in (*range(2, 16), 49, 143):
        for k in range(m):
            lists, y = uniform_lists(way, dtype, m, k), np.array([0, m - 1])
            codes = lists.xp.asarray(y) if way == "on a device" else y
            found = np.asarray(tl.score(lists, codes, rule="zero-one", penalty=0))
            assert found == pytest.approx([1 - 1 / m] * 2, rel=1e-6 if way == "on a device" else 1e-14), (m, k)


@given(st.integers(2, 10**9), st.floats(1e-12, 1e-3))
def test_a_class_that_is_ahead_by_more_than_rounding_does_not_tie(m: int, ahead: float) -> None:
    """However little it is, unless it is what a narrower type makes of 1/m."""
    top = (1 + ahead) / m
    assume(top not in (float(np.float32(1 / m)), float(np.float16(1 / m))))
    assert tl.score(T.from_dicts([{0: top}] * 2, m), [0, 1], rule="zero-one").tolist() == [0, 1]


@pytest.mark.parametrize("m", [2, 3, 5, 10, 49, 1000])
def test_a_class_that_is_ahead_of_another_listed_one_by_a_bit_does_not_tie(m: int) -> None:
    """Listed classes tie where their numbers are equal, and nowhere else."""
    p = np.full((m, m), 1 / m)
    p[:, 1] = np.nextafter(1 / m, 1)
    assert tl.score(T.from_proba(p), np.arange(m), rule="zero-one").tolist() == [float(y != 1) for y in range(m)]


def by_definition(row: dict[int, Fraction], y: int, k: int) -> tuple[Fraction, Fraction, Fraction, float]:
    """Accuracy, top-k error, coverage and rank of one case, averaged over all orders of the ties."""
    if y not in row:
        return Fraction(0), Fraction(1), Fraction(0), math.inf
    above = sum(t > row[y] for t in row.values())
    equal = sum(t == row[y] for t in row.values())
    places = [above + i for i in range(1, equal + 1)]
    first = Fraction(sum(place == 1 for place in places), equal)
    out = Fraction(sum(place > k for place in places), equal)
    return first, out, Fraction(1), float(Fraction(sum(places), equal))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[dict[int, Fraction]], list[int], list[int]]:
    """Lists with many ties, some empty, their outcomes and weights."""
    rows, y, w = [], [], []
    for _ in range(draw(st.integers(1, 6))):
        codes = draw(st.lists(st.integers(0, 5), unique=True, max_size=6))
        rows.append({c: Fraction(draw(st.integers(0, 2)), 16) for c in codes})
        y.append(draw(st.integers(0, 5)))
        w.append(draw(st.integers(1, 3)))
    return rows, y, w


@settings(deadline=None, max_examples=draws(150))
@given(case=cases(), k=st.integers(0, 7))
def test_ties_share_and_empty_lists_miss(case: tuple[list[dict[int, Fraction]], list[int], list[int]], k: int) -> None:
    """Every tie in every order counts alike: against exact fractions."""
    rows, y, w = case
    lists = T.from_dicts([{c: float(t) for c, t in row.items()} for row in rows], 8)
    each = [by_definition(row, one, k) for row, one in zip(rows, y, strict=True)]
    for weight in (None, w):
        share = [1] * len(y) if weight is None else weight

        def mean(column: int, share: list[int] = share) -> float:
            return float(sum(s * e[column] for s, e in zip(share, each, strict=True)) / sum(share))

        assert tl.accuracy(lists, y, sample_weight=weight) == pytest.approx(mean(0), abs=1e-14)
        assert tl.top_k_error(lists, y, k=k, sample_weight=weight) == pytest.approx(mean(1), abs=1e-14)
        assert tl.coverage(lists, y, sample_weight=weight) == pytest.approx(mean(2), abs=1e-14)
    assert tl.ranks(lists, y).tolist() == [e[3] for e in each]


def test_a_listed_zero_is_listed() -> None:
    """It covers the outcome, at the last place."""
    lists = T.from_topk([[0, 1, 2]], [[0.5, 0.25, 0.0]], 5)
    assert tl.coverage(lists, [2]) == 1.0
    assert tl.ranks(lists, [2]).tolist() == [3.0]
    assert tl.top_k_error(lists, [2], k=2) == 1.0
    assert tl.top_k_error(lists, [2], k=3) == 0.0


def test_labels_sets_and_sizes_of_their_own_are_hit_like_codes() -> None:
    named = T.from_dicts([{"a": 0.5, "b": 0.25}, {"b": 0.5}], tl.ClassSpace(9, ["a", "b", "c"]))
    assert tl.ranks(named, ["b", "c"]).tolist() == [2.0, math.inf]
    sets = T.from_dicts([{frozenset("ab"): 0.5, frozenset(): 0.25}] * 2, tl.LabelSets("abc"))
    assert tl.ranks(sets, [set(), {"b", "a"}]).tolist() == [2.0, 1.0]
    sized = T.from_topk([[0, 1], [1, 3]], [[0.5, 0.4], [0.5, 0.4]], [3, 4])
    assert tl.ranks(sized, [2, 3]).tolist() == [math.inf, 2.0]
    assert tl.accuracy(sized, [0, 1]) == 1.0


def test_weights_count_a_case_as_often_as_they_say() -> None:
    """A whole weight is as many copies; a weight of zero is no case at all."""
    p, y, w = predictions(3)
    again = np.repeat(np.arange(N), w.astype(int))
    once, copies = T.from_proba(p, k=3), T.from_proba(p[again], k=3)
    for hit in (tl.accuracy, tl.coverage, lambda lists, y, **o: tl.top_k_error(lists, y, k=2, **o)):
        assert hit(once, y, sample_weight=w) == pytest.approx(hit(copies, y[again]), abs=1e-12)


@pytest.mark.parametrize(
    "weight", [[1.0], [1.0, 2.0, 3.0], [0.0, 0.0], [-1.0, 2.0], [math.nan, 1.0], ["a", "b"], 2.0], ids=str
)
def test_weights_that_make_no_sense_are_refused(weight: Any) -> None:
    """One per case, not negative, not all zero."""
    with pytest.raises(tl.TopListError):
        tl.accuracy(T.from_labels([0, 1], 5), [0, 0], sample_weight=weight)


@pytest.mark.parametrize("k", [-1, 1.5, "2", None, math.nan], ids=str)
def test_k_is_a_number_of_classes(k: Any) -> None:
    with pytest.raises(tl.TopListError):
        tl.top_k_error(T.from_labels([0, 1], 5), [0, 0], k=k)


def test_what_are_no_lists_is_refused_with_the_way_to_make_them() -> None:
    """As everywhere else."""
    for hit in (tl.accuracy, tl.coverage, tl.ranks):
        with pytest.raises(tl.TopListError, match=r"^expected TopLists, or .*, got nothing\. Make lists with "):
            hit(None, [0])
