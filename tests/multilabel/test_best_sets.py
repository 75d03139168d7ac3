"""The most probable label sets from marginals, against all sets, against exact arithmetic, and against themselves."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.multilabel.best_oracle import check, check_exactly, every_set, exactly, label_by_label, logs_of
from toplist.core import kernel
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel import best_sets

RNG = np.random.default_rng


def draw_marginals(kind: str, n: int, width: int, seed: int = 0) -> Any:
    """Marginals without ties, with many, with labels that are certain, and with few that are not nearly so."""
    rng = RNG(seed)
    p = rng.random((n, width))
    if kind == "ties":
        p = np.round(4 * p) / 4
    if kind == "certain":
        p = np.where(rng.random((n, width)) < 0.3, np.round(p), np.round(10 * p) / 10)
    if kind == "skewed":
        p = rng.beta(0.1, 2.0, (n, width))
    return p


KINDS = ["plain", "ties", "certain", "skewed"]


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_they_are_the_likeliest_of_all_sets_or_given_that_they_are_not_empty(kind: str, empty: bool) -> None:
    for width in range(0 if empty else 1, 13):
        p = draw_marginals(kind, 2, width, seed=width)
        if not empty:
            p[:, 0] = np.maximum(p[:, 0], 1e-3)
        for k in {1, 2, 3, 7, 2 ** (width // 2), 2**width - 1, 2**width, 2**width + 3} - {0}:
            check(best_sets(p, k, LabelSets(range(width), empty=empty)), p, k, empty=empty)


SOME = st.sampled_from([0.0, 1.0, 0.5, 0.25, 0.75, 1e-300, 1e-9, math.nextafter(0.5, 0), math.nextafter(1, 0)])


@settings(max_examples=draws(150))
@given(p=st.lists(SOME | st.floats(0, 1), max_size=8), k=st.integers(1, 70), empty=st.booleans())
def test_they_are_so_for_any_marginals(p: list[float], k: int, empty: bool) -> None:
    if not empty and not any(p):
        return
    check_exactly(best_sets([p], k, LabelSets(range(len(p)), empty=empty)), np.array(p), k, empty=empty)


@settings(max_examples=draws(60))
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(KINDS), width=st.integers(1, 90), empty=st.booleans())
def test_a_shorter_list_is_the_beginning_of_a_longer_one(seed: int, kind: str, width: int, empty: bool) -> None:
    p = draw_marginals(kind, 1, width, seed)
    p[:, 0] = 0.3
    space = LabelSets(range(width), empty=empty)
    long = best_sets(p, 60, space)
    for k in (1, 5, 17, 59):
        short = best_sets(p, k, space)
        n = len(short.classes)
        assert n == min(k, len(long.classes))
        np.testing.assert_array_equal(short.classes, long.classes[:n])
        np.testing.assert_allclose(logs_of(short), logs_of(long)[:n], rtol=1e-14, atol=1e-15)


def test_among_equals_fewer_flips_come_first_then_the_labels_that_stand_first() -> None:
    np.testing.assert_array_equal(best_sets([[0.5] * 3], 8).classes, [0, 1, 2, 4, 3, 5, 6, 7])
    np.testing.assert_array_equal(best_sets([[0.75, 0.25, 0.75]], 4).classes, [0b101, 0b100, 0b111, 0b001])


def test_no_set_of_probability_zero_is_listed() -> None:
    lists = best_sets([[0.0, 1.0, 0.3], [0.0, 1.0, 1.0]], 8)
    np.testing.assert_array_equal(lists.sizes, [2, 1])
    np.testing.assert_array_equal(lists.classes, [0b010, 0b110, 0b110])
    np.testing.assert_array_equal(lists.log_rest, [-np.inf, -np.inf])


@pytest.mark.parametrize(("n", "width"), [(0, 3), (0, 100), (2, 0), (2, 1), (0, 0)])
def test_there_may_be_no_cases_and_no_labels(n: int, width: int) -> None:
    lists = best_sets(np.full((n, width), 0.25), 5)
    sets = min(2**width, 5)
    assert lists.sizes.tolist() == [sets] * n
    if width == 0:
        assert lists.confidences.tolist() == [1.0] * n


# Many labels


@pytest.mark.parametrize("width", [61, 62, 63, 64, 65, 200])
@pytest.mark.parametrize("empty", [True, False])
def test_sets_of_a_few_doubtful_labels_among_many(width: int, empty: bool) -> None:
    """All sets of the doubtful ones, by brute force, whether codes are masks or digests."""
    rng = RNG(width)
    doubtful = np.sort(rng.permutation(width)[:7])
    p = np.round(rng.random((3, width)) * (width % 2))
    p[1] = 0  # so that the empty set is likely
    p[:, doubtful] = rng.random((3, 7)) * [[1.0], [0.45], [1.0]]
    space = LabelSets(range(width), empty=empty)
    lists = best_sets(p, 100, space)
    sets = lists.space.sets_of(lists.classes)  # type: ignore[attr-defined]
    for case in range(3):
        here = slice(lists.offsets[case], lists.offsets[case + 1])
        mass = every_set(p[case, doubtful], empty=empty or bool((p[case] == 1).any()))
        np.testing.assert_allclose(lists.confidences[here], np.sort(mass)[::-1][: min(100, np.count_nonzero(mass))])
        on = sets.take(here).indicators()
        sure = np.setdiff1d(np.arange(width), doubtful)
        assert (on[:, sure] == p[case, sure]).all()
        np.testing.assert_allclose(mass[on[:, doubtful] @ (1 << np.arange(7))], lists.confidences[here], rtol=1e-12)
    np.testing.assert_array_equal(space.encode(sets), lists.classes)


@pytest.mark.parametrize("kind", ["plain", "ties", "skewed"])
@pytest.mark.parametrize("width", [63, 130])
def test_many_doubtful_labels_against_sets_grown_label_by_label(width: int, kind: str) -> None:
    p = draw_marginals(kind, 2, width, seed=1)
    lists = best_sets(p, 50)
    sets = lists.space.sets_of(lists.classes)  # type: ignore[attr-defined]
    logs = logs_of(lists)
    for case in range(2):
        here = slice(lists.offsets[case], lists.offsets[case + 1])
        best = label_by_label(p[case], 50)
        np.testing.assert_allclose(logs[here], [log for log, _ in best], rtol=1e-13)
        mine = [frozenset(s) for s in sets.take(here)]
        assert len(set(mine)) == len(mine)
        if kind == "plain":
            assert mine == [s for _, s in best]
        on = sets.take(here).indicators()
        np.testing.assert_allclose(np.log(np.where(on, p[case], 1 - p[case])).sum(axis=1), logs[here], rtol=1e-12)


def test_ten_thousand_labels_and_a_thousand_sets() -> None:
    """Each log probability is the sum of 10,000; those below the smallest number are refused."""
    with pytest.raises(tl.TopListError, match="below the smallest number"):
        best_sets(RNG(3).random((1, 10_000)), 1000)
    p = RNG(3).random((1, 10_000)) / 10
    lists = best_sets(p, 1000)
    logs = logs_of(lists)
    assert len(set(lists.classes.tolist())) == 1000
    assert logs[0] < -500
    assert (np.diff(logs) <= 0).all()
    assert lists.log_rest == pytest.approx([0.0], abs=1e-12)
    some = np.arange(0, 1000, 83)
    sets = lists.space.sets_of(lists.classes[some])  # type: ignore[attr-defined]
    for log, on in zip(logs[some], sets.indicators(), strict=True):
        assert log == pytest.approx(math.fsum(np.log(np.where(on, p[0], 1 - p[0]))), rel=1e-13)


def test_all_labels_nearly_certain() -> None:
    """log P of the likeliest set is -sum q where q are tiny, and the rest mass sum q: no digit is lost to one."""
    for q in (1e-9, 1e-17, 1e-20, 1e-200, 5e-324):
        lists = best_sets(np.full((1, 3000), q), 1)
        found = kernel.best_sets(np.full((1, 3000), q), np.arange(3000), 1, logit=False, empty=True, spelled=False)
        assert found.log_p[0, 0] == pytest.approx(3000 * math.log1p(-q), rel=1e-14)
        with mpmath.workdps(350):
            left = float(mpmath.log(1 - (1 - mpmath.mpf(q)) ** 3000))
        assert lists.log_rest == pytest.approx([left], rel=1e-14)


# The mass of all other sets


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("empty", [True, False])
def test_the_rest_mass_has_all_its_digits_however_small(seed: int, empty: bool) -> None:
    """Against rational arithmetic: to a few units in the last place of its logarithm."""
    rng = RNG(seed)
    q = 10.0 ** -rng.uniform(0.3, [1, 4, 12, 30][seed % 4], 8)
    p = np.where(rng.random(8) < [0.0, 0.4, 1.0][seed % 3], 1 - q, q)
    q = np.minimum(p, 1 - p)
    mass = exactly(p, empty=empty)
    falling = sorted(mass, reverse=True)
    for k in (1, 2, 3, 8, 9, 40, 128, 200, 254):
        lists = best_sets(p[None], k, LabelSets(range(8), empty=empty))
        left = sum(falling[k:])
        if left == 0:
            assert lists.log_rest == -np.inf
            continue
        with mpmath.workdps(60):
            log = mpmath.log(mpmath.mpf(left.numerator) / left.denominator)
            assert abs(lists.log_rest[0] - log) < 1e-13 * max(1, abs(log) / 200)  # type: ignore[index]


def test_the_empty_set_is_taken_off_the_rest_where_it_is_not_listed() -> None:
    """Also where it is nearly all of it: the likeliest set is {0}, and the empty one the next."""
    p = np.array([[1 - 2.0**-30, *[1e-30] * 7]])
    lists = best_sets(p, 1, LabelSets(range(8), empty=False))
    left = sum(sorted(exactly(p[0], empty=False), reverse=True)[1:])
    assert lists.classes.tolist() == [0]
    assert lists.log_rest == pytest.approx([math.log(left)], rel=1e-15)


# Log-odds


@pytest.mark.parametrize("empty", [True, False])
def test_log_odds_say_the_same_as_probabilities(empty: bool) -> None:
    z = RNG(5).normal(size=(4, 100)) * 3
    space = LabelSets(range(100), empty=empty)
    one, other = best_sets(z, 30, space, scale="logit"), best_sets(1 / (1 + np.exp(-z)), 30, space)
    np.testing.assert_array_equal(one.classes, other.classes)
    np.testing.assert_allclose(one.confidences, other.confidences, rtol=1e-11)
    np.testing.assert_allclose(one.log_rest, other.log_rest, rtol=1e-10, atol=1e-14)


@settings(max_examples=draws(60))
@given(
    z=st.lists(st.floats(-900, 900) | st.sampled_from([0.0, -0.0, -math.inf, math.inf, 1e300, -700.0]), max_size=6),
    k=st.integers(1, 40),
    empty=st.booleans(),
)
def test_log_odds_of_any_size(z: list[float], k: int, empty: bool) -> None:
    """Against fifty digits: every probability, and the log of the rest mass, which no number could hold."""
    if not empty and all(x <= -1e300 for x in z):
        return
    with mpmath.workdps(50):
        mass = [mpmath.mpf(1)]
        for x in z:
            on, off = (1 / (1 + mpmath.exp(-x)), 1 / (1 + mpmath.exp(x))) if abs(x) < 1e300 else (x > 0, x < 0)
            mass = [m * off for m in mass] + [m * on for m in mass]
        if not empty:
            mass[0] = mpmath.mpf(0)
            mass = [m / mpmath.fsum(mass) for m in mass]
        order = sorted(range(len(mass)), key=lambda code: -mass[code])
        lists = best_sets([z], k, LabelSets(range(len(z)), empty=empty), scale="logit")
        n = len(lists.classes)
        assert n == min(k, sum(m > 0 for m in mass))
        for code, log, best in zip(lists.classes + (not empty), logs_of(lists), order, strict=False):
            assert mass[best] == pytest.approx(mass[code], rel=1e-12)
            if log < -700:
                assert mass[code] < 1e-303
            elif log != 0:
                assert abs(mpmath.log(mass[code]) - log) < 1e-12 * max(1, abs(log))
        left = mpmath.fsum(mass[code] for code in order[n:])
        assert lists.log_rest is not None
        if left == 0:
            assert lists.log_rest[0] == -np.inf
        else:
            assert abs(lists.log_rest[0] - mpmath.log(left)) < 1e-12 * max(1, abs(lists.log_rest[0]))


def test_log_odds_keep_the_digits_of_probabilities_next_to_one() -> None:
    z = np.array([[50.0, 60.0, 1000.0]])
    lists = best_sets(z, 1, scale="logit")
    assert lists.classes.tolist() == [0b111]
    assert lists.log_rest == pytest.approx([-50 + math.exp(-10)], rel=1e-8)
    np.testing.assert_allclose(logs_of(best_sets(z, 3, scale="logit")), [0, -50, -60], atol=1e-20)
    assert best_sets([[1000.0] * 100], 1, scale="logit").log_rest == pytest.approx([math.log(100) - 1000], rel=1e-15)


# How it is done


@pytest.mark.parametrize("kind", ["plain", "ties"])
@pytest.mark.parametrize("width", [10, 80])
def test_neither_threads_nor_blocks_show(monkeypatch: pytest.MonkeyPatch, kind: str, width: int) -> None:
    p = draw_marginals(kind, 23, width, seed=9)
    whole = best_sets(p, 20)
    monkeypatch.setattr(kernel, "_THREADED", 1)
    for threads, block in (("1", 1 << 9), ("2", 1 << 9), ("3", 1 << 11), ("7", 1)):
        monkeypatch.setenv("TOPLIST_THREADS", threads)
        monkeypatch.setattr(kernel, "_SETS_BLOCK", block)
        again = best_sets(p, 20)
        for name in ("offsets", "classes", "confidences", "log_rest"):
            np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        assert list(again.space.sets_of(again.classes)) == list(whole.space.sets_of(whole.classes))  # type: ignore[attr-defined]


def test_single_precision_is_taken_as_it_is() -> None:
    p = RNG(7).random((5, 90)).astype(np.float32)
    one, other = best_sets(p, 12), best_sets(p.astype(np.float64), 12)
    assert one == other
    np.testing.assert_array_equal(one.log_rest, other.log_rest)
    z = np.log(p / (1 - p))
    assert best_sets(z, 12, scale="logit") == best_sets(z.astype(np.float64), 12, scale="logit")


def test_frames_lists_and_whole_numbers_do() -> None:
    pd = pytest.importorskip("pandas")
    p = [[1, 0, 0.25], [0.5, 0.75, 1]]
    want = best_sets(np.array(p), 3)
    assert best_sets(p, 3) == best_sets(pd.DataFrame(p), 3) == want
    assert best_sets(np.array([[1, 0]]), np.int64(2)).classes.tolist() == [0b01]
    assert best_sets(np.asfortranarray(p), 3) == want


def test_lists_say_which_sets_they_hold() -> None:
    space = LabelSets(["cat", "dog", "fox"])
    lists = best_sets([[0.9, 0.2, 0.4]], 2, space, ids=["first"])
    assert lists.space is space
    assert [space.decode(code) for code in lists.classes] == [{"cat"}, {"cat", "fox"}]
    assert lists.ids is not None
    assert lists.ids.tolist() == ["first"]
    many = best_sets(np.full((1, 100), 0.01), 101)
    sets = many.space.sets_of(many.classes)  # type: ignore[attr-defined]
    assert [set(s) for s in sets] == [set()] + [{label} for label in range(100)]
    np.testing.assert_array_equal(tl.score(many, [set()], rule="log"), -np.log(many.confidences[:1]))
    assert isinstance(sets, Sets)


# What is refused


def test_the_first_bad_case_is_named_whatever_block_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    p = RNG(0).random((40, 3))
    p[[11, 30, 39], 2] = 1.5
    monkeypatch.setattr(kernel, "_THREADED", 1)
    monkeypatch.setattr(kernel, "_SETS_BLOCK", 500)
    monkeypatch.setenv("TOPLIST_THREADS", "3")
    with pytest.raises(tl.ConfidenceError) as caught:
        best_sets(p, 3)
    assert (caught.value.case, caught.value.more) == (11, 2)
