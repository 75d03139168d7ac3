"""Laws of intervals, whichever way they are made."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World, ends, worlds
from toplist.inference.dependence import cosine_error, long_run_error, usual_lag, usual_waves
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import ComparisonSpec, ranked
from toplist.inference.results import Estimate
from toplist.inference.settings import DRAWN, METHODS, TIMED, Inference, IntervalMethod

hows = st.sampled_from(METHODS)
WHY = {
    "there are no cases",
    "infinite scores have no interval",
    "one case has no spread",
    "one cluster has no spread",
    "one time point has no spread",
    *(f"one {unit} has all the weight" for unit in ("case", "cluster", "time point")),
    *(f"no spread: the same in every {unit}, up to rounding" for unit in ("case", "cluster", "time point")),
    "it is the baseline",
    "there is nobody to compare with",
    *(f"no two {unit}s are shared with anybody" for unit in ("case", "cluster", "time point")),
    *(f"some resamples have no {unit} that counts" for unit in ("case", "cluster")),
    *(f"{how} intervals are not for cases in time: use ewc" for how in DRAWN),
    *(f"no spread: every {unit} says the same, up to rounding" for unit in ("case", "cluster", "time point")),
    *(f"one {unit} has all the weight" for unit in ("case", "cluster", "time point")),
    "too many resamples have no spread: a bounded interval needs none",
    "scores without bounds have no bounded interval: use t, or a bounded rule",
    "39 resamples are too few for an interval that holds for so many pairs at once",
}

TOO_FEW = (
    "too few for a horizon of 1",
    "too few to draw from",
    "too few to tell how they depend on each other",
    "too few for a wild bootstrap at a level of 0.95",
)


def everything(cases: Intervals, k: int) -> list[Estimate]:
    """All that a leaderboard would ask for."""
    terms = ComparisonSpec(tuple("abcdefgh"[:k]), ("rule",), (), 0, True)
    (found,) = ranked([(None, cases)], terms)
    marks = [row.scores["rule"] for row in found.rows]
    out = [
        one for m in marks for one in (m.mean, m.difference, m.skill, m.baseline_skill, m.relative) if one is not None
    ]
    return out + [cases.difference(0, a, b) for a in range(k) for b in range(k)]


@settings(law, max_examples=draws(150))
@given(world=worlds(least=1, infinite=True, both=True), how=hows)
def test_nothing_is_nan_in_any_method_and_a_reason_is_there_exactly_where_no_interval_is(
    world: World, how: IntervalMethod
) -> None:
    """However many scores are infinite and cases missing; NaN stands for no case, or for infinity on both sides."""
    for found in everything(world.cases(how, draws=39), len(world.scores)):
        assert (found.low is None) == (found.high is None) == bool(found.reason)
        if found.reason:
            assert found.reason in WHY or found.reason.endswith(TOO_FEW)
        if math.isnan(found.value):
            assert found.reason in ("there are no cases", "infinite scores have no interval")
        if found.low is not None and found.high is not None:
            assert math.isfinite(found.value)
            assert -math.inf < found.low <= found.high < math.inf
            assert how == "bootstrap" or found.low <= found.value <= found.high
            assert found.error is not None
            assert 0 <= found.error < math.inf
            assert found.p is None or 0 <= found.p <= 1


@law
@given(world=worlds(missing=False), level=st.sampled_from([0.5, 0.95, 0.99]), normal=st.booleans())
def test_cases_say_what_sums_say_where_both_can(world: World, level: float, normal: bool) -> None:
    """To nine digits: unweighted, weighted, clustered."""
    world = World(world.scores, world.weights, world.clusters, None, None)
    how: IntervalMethod = "normal" if normal else "t"
    sums = world.sums(level, normal=normal)
    cases = Intervals(world.tally(by_cluster=False), level, how, world.panel())
    if not world.panel().totals(0).w(0, 0).sum():
        return
    for one, other in (
        (sums.mean(0, 0), cases.mean(0, 0)),
        (sums.difference(0, 0, 1), cases.difference(0, 0, 1)),
        (sums.skill(0, 0), cases.skill(0, 0)),
        (sums.baseline_skill(0, 0, 1), cases.baseline_skill(0, 0, 1)),
    ):
        assert one is not None
        assert other is not None
        assert one.reason == other.reason
        if one.reason:
            continue
        assert ends(one) == pytest.approx(ends(other), rel=1e-9, abs=1e-12)
        if one.p is not None:
            assert one.p == pytest.approx(other.p, rel=1e-7, abs=1e-300)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(6, 40), weighted=st.booleans())
def test_cases_say_what_sums_say_where_some_are_missing(seed: int, n: int, weighted: bool) -> None:
    """On the cases of each, and of both: computed by cases, not by sums that are handed through."""
    rng = np.random.default_rng(seed)
    scores = rng.exponential(size=(3, n)) + 0.01
    scores[rng.random(scores.shape) < 0.3] = np.nan
    scores[:, :3] = rng.exponential(size=(3, 3))
    w = rng.choice([0.5, 1.0, 3.0], n) if weighted else None
    clusters = np.arange(n)  # of one case each, so that sums are not handed through
    sums, cases = (
        World(scores, w).sums(normal=weighted),
        World(scores, w, clusters).cases("normal" if weighted else "t"),
    )
    for a in range(3):
        assert ends(sums.mean(0, a)) == pytest.approx(ends(cases.mean(0, a)), rel=1e-9)
        for b in range(3):
            if a != b:
                one, other = sums.difference(0, a, b), cases.difference(0, a, b)
                assert ends(one) == pytest.approx(ends(other), rel=1e-9, abs=1e-12)
                mine, theirs = sums.baseline_skill(0, a, b), cases.baseline_skill(0, a, b)
                assert ends(mine) == pytest.approx(ends(theirs), rel=1e-9, abs=1e-12)


@law
@given(world=worlds(), how=hows)
def test_clusters_of_one_case_are_cases(world: World, how: IntervalMethod) -> None:
    """To the last digits, and to the same draws; but for t with weights, where clusters may hide cases."""
    if how in TIMED or (how == "t" and world.weights is not None):
        return
    plain = World(world.scores, world.weights, empty=world.empty)
    alone = replace(plain, clusters=np.arange(len(world)))
    for one, other in zip(
        everything(plain.cases(how, draws=39), len(world.scores)),
        everything(alone.cases(how, draws=39), len(world.scores)),
        strict=True,
    ):
        assert one.reason == other.reason.replace("cluster", "case")
        if one.low is not None:
            assert ends(one) == pytest.approx(ends(other), rel=1e-9, abs=1e-12)


def persistence(d: Any) -> float:
    """The first autocorrelation without its bias, where it is larger than noise."""
    c, n = d - d.mean(), len(d)
    if n < 5:
        return 0.0
    found = min((n * float(c[1:] @ c[:-1]) / float(c @ c) + 1) / (n - 4), 1 - 4 / n)
    return found if found > 1 / math.sqrt(n) else 0.0


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 99))
def test_the_cosine_error_is_that_of_its_definition_forth_and_back_in_time(seed: int, n: int) -> None:
    """Waves written out one by one; and the past and the future are alike."""
    a, b = np.random.default_rng(seed).exponential(size=(2, n))
    d, waves, t = a - b, usual_waves(n), np.arange(1, n + 1)
    slow = [math.sqrt(2 / n) * float(d @ np.cos(math.pi * j * (t - 0.5) / n)) for j in range(1, waves + 1)]
    rho = persistence(d)
    whole = [abs(1 - rho * np.exp(1j * math.pi * k / n)) ** 2 / (1 - rho) ** 2 for k in range(1, waves + 1)]
    error = math.sqrt(sum(x * x * more for x, more in zip(slow, whole, strict=True)) / waves / n)
    found = World([a, b]).cases("ewc").difference(0, 0, 1)
    assert found.error == pytest.approx(error, rel=1e-9)
    half = stats.t.ppf(0.975, waves) * error
    assert (found.low, found.high) == pytest.approx((d.mean() - half, d.mean() + half), rel=1e-9)
    assert World([a[::-1], b[::-1]]).cases("ewc").difference(0, 0, 1).error == pytest.approx(error, rel=1e-9)


def test_few_waves_do_not_pass_for_certainty() -> None:
    """Three time points that are the same forth and back leave the first wave nothing to see."""
    found = World([[0.1, 0.9, 0.1], [0.4, 0.4, 0.4]]).cases("ewc").difference(0, 0, 1)
    assert found.error is not None
    assert found.error > 0.1
    blind = np.cos(math.pi * 3 * (np.arange(1, 5) - 0.5) / 4)  # the third of three waves, and two are looked at
    found = World([blind + 2.0, np.ones(4)]).cases("ewc").difference(0, 0, 1)
    assert found.reason == "4 cases are too few to tell how they depend on each other"


@law
@given(seed=st.integers(0, 10**6), n=st.integers(8, 60), share=st.sampled_from([0.2, 0.5, 0.9]))
def test_missing_time_points_keep_their_place(seed: int, n: int, share: float) -> None:
    """Waves over the calendar, relative to the time points that are there, written out; degrees of freedom follow."""
    rng = np.random.default_rng(seed)
    there = rng.random(n) < share
    there[[0, n // 2, n - 1]] = True
    m = int(there.sum())
    x, t = rng.normal(size=m), np.flatnonzero(there) + 0.5
    parts = np.zeros(n)
    parts[there] = (x - x.mean()) / m
    waves = usual_waves(m)
    slow = np.stack([np.cos(math.pi * j * t / n) for j in range(1, waves + 1)])
    slow -= slow.mean(axis=1, keepdims=True)
    slow /= np.sqrt(np.square(slow).sum(axis=1, keepdims=True))
    error, freedom = cosine_error(parts, there, waves)
    assert error == pytest.approx(math.sqrt(np.square(slow @ x).sum() / waves / m), rel=1e-9)
    assert freedom == pytest.approx(waves**2 / np.square(slow @ slow.T).sum(), rel=1e-9)
    assert 1 - 1e-9 <= freedom <= waves + 1e-9


def test_neighbours_across_a_gap_are_no_neighbours() -> None:
    """A pair that lacks every second time point has an error from lags of two, not of one; the ends do not count."""
    x = np.random.default_rng(2).exponential(size=(2, 60))
    gaps = x.copy()
    gaps[1, 1::2] = np.nan
    found = World(gaps).cases("hac").difference(0, 0, 1)
    d = (x[0] - x[1])[::2]
    parts = np.zeros(60)
    parts[::2] = (d - d.mean()) / 30
    factor = math.sqrt(29 * 30) / 30
    assert found.error == pytest.approx(long_run_error(parts, usual_lag(30)) / factor, rel=1e-9)
    late = x.copy()
    late[1, :20] = np.nan
    for how in TIMED:
        one, other = World(late).cases(how), World(x[:, 20:]).cases(how)
        assert ends(one.difference(0, 0, 1)) == pytest.approx(ends(other.difference(0, 0, 1)), rel=1e-9)


def test_the_persistence_of_all_pairs_counts_for_each() -> None:
    """Of many pairs the one that stands out is one whose own autocorrelation came out too low."""
    rng = np.random.default_rng(5)
    slow = np.cumsum(rng.normal(size=(4, 80)), axis=1)
    x = np.concatenate([rng.normal(size=(2, 80)), slow])
    alone, among = World(x[:2]).cases("ewc"), World(x).cases("ewc")
    assert among.difference(0, 0, 1).error > alone.difference(0, 0, 1).error  # type: ignore[operator]
    assert among.mean(0, 0).error == alone.mean(0, 0).error


def test_a_horizon_takes_fewer_waves_and_keeps_the_method() -> None:
    assert [usual_waves(60, horizon=h) for h in (1, 3, 6, 10, 40)] == [6, 6, 5, 3, 2]
    chosen = Inference(horizon=5).settings(None, "week")
    assert (chosen.method, chosen.horizon) == ("ewc", 5)
    x = np.random.default_rng(5).exponential(size=(2, 60))
    one, other = (World(x).cases("ewc", horizon=h).difference(0, 0, 1) for h in (1, 10))
    assert (one.freedom, other.freedom) == (6, 3)


@law
@given(seed=st.integers(0, 10**6), places=st.integers(2, 6), weeks=st.integers(4, 12), weighted=st.booleans())
def test_two_ways_add_up(seed: int, places: int, weeks: int, weighted: bool) -> None:
    """The variance is that over clusters plus that over time points; degrees of freedom follow Satterthwaite."""
    rng = np.random.default_rng(seed)
    scores = rng.exponential(size=(2, places * weeks))
    w = rng.choice([0.5, 1.0, 3.0], places * weeks) if weighted else None
    place, week = np.arange(places * weeks) % places, np.arange(places * weeks) // places
    by_place, by_week = World(scores, w, place).cases("t"), World(scores, w, None, week).cases("ewc")
    found = World(scores, w, place, week).cases("ewc").difference(0, 0, 1)
    one, other = by_place.difference(0, 0, 1), by_week.difference(0, 0, 1)
    assert found.value == pytest.approx(one.value, rel=1e-9)
    assert found.error == pytest.approx(math.hypot(one.error, other.error), rel=1e-9)  # type: ignore[arg-type]
    total = one.error**4 / one.freedom + other.error**4 / other.freedom  # type: ignore[operator]
    assert found.freedom == pytest.approx(found.error**4 / total, rel=1e-9)  # type: ignore[operator]


def test_few_moments_have_no_lags() -> None:
    assert [usual_lag(n) for n in (0, 1, 2, 3, 100, 1000)] == [0, 0, 1, 1, 4, 6]
    assert [usual_lag(5, horizon=h) for h in (1, 3, 5, 99)] == [2, 2, 4, 4]


@law
@given(world=worlds(missing=False), how=hows, seed=st.integers(0, 99))
def test_only_the_order_of_time_matters_and_only_where_it_is_said(world: World, how: IntervalMethod, seed: int) -> None:
    """Cases of one time point, and the rows of a file with time points or clusters, may come in any order."""
    if world.moments is None and world.clusters is None and how in (*TIMED, *DRAWN):
        return
    order = np.random.default_rng(seed).permutation(len(world))
    k = len(world.scores)
    one, other = (everything(w.cases(how, draws=39), k) for w in (world, world.at(order)))
    for mine, theirs in zip(one, other, strict=True):
        assert mine.reason == theirs.reason
        if mine.low is not None:
            assert ends(mine) == pytest.approx(ends(theirs), rel=1e-9, abs=1e-12)


@law
@given(world=worlds(missing=False), how=hows, power=st.integers(-20, 20))
def test_intervals_scale_with_scores(world: World, how: IntervalMethod, power: int) -> None:
    """Means and differences do; skill over a baseline and relative skill are pure numbers; p values stay.

    Which units a bootstrap draws depends on the digits of their scores: of it, only values are compared.
    """
    c = 2.0**power
    scaled = replace(world, scores=world.scores * c, empty=world.own * c)
    one, other = world.cases(how, draws=39), scaled.cases(how, draws=39)
    if not one.unit_sums(0).w(0, 0).sum():
        return
    for ask, factor in (
        (lambda cases: cases.mean(0, 0), c),
        (lambda cases: cases.difference(0, 0, 1), c),
        (lambda cases: cases.skill(0, 0), 1.0),
        (lambda cases: cases.baseline_skill(0, 0, 1), 1.0),
    ):
        mine, theirs = ask(one), ask(other)
        assert mine.reason == theirs.reason
        assert factor * mine.value == pytest.approx(theirs.value, rel=1e-9, abs=1e-12 * c)
        if mine.low is not None and how not in DRAWN:
            assert tuple(factor * x for x in ends(mine)) == pytest.approx(ends(theirs), rel=1e-9, abs=1e-12 * c)
            assert mine.p == pytest.approx(theirs.p, rel=1e-9)


@law
@given(world=worlds(infinite=True), how=hows)
def test_differences_are_antisymmetric_in_every_method(world: World, how: IntervalMethod) -> None:
    """With the interval turned around and the same p value."""
    cases = world.cases(how, draws=39)
    forth, back = cases.difference(0, 0, 1), cases.difference(0, 1, 0)
    assert forth.reason == back.reason
    assert forth.value == -back.value or math.isnan(forth.value)
    if forth.low is not None:
        assert back.low is not None
        assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), rel=1e-12, abs=1e-15)  # type: ignore[operator]
        assert forth.error == pytest.approx(back.error, rel=1e-12)
        assert forth.p == back.p


@law
@given(world=worlds(missing=False), how=hows)
def test_a_model_does_not_differ_from_itself_in_any_method(world: World, how: IntervalMethod) -> None:
    found = world.cases(how, draws=39).difference(0, 1, 1)
    assert found.value == 0 or found.reason
    if how != "bootstrap":
        assert (found.low, found.high, found.p) == (None, None, None)
        assert found.reason


@pytest.mark.parametrize("how", METHODS)
def test_a_higher_level_makes_a_wider_interval_in_every_method(how: IntervalMethod) -> None:
    scores = np.random.default_rng(3).exponential(size=(2, 40))
    widths = []
    for level in (0.5, 0.9, 0.95, 0.999):
        found = replace(World(scores).cases(how, level=level), bounds=((0.0, 9.0),)).difference(0, 0, 1)
        widths.append(found.high - found.low)  # type: ignore[operator]
    assert widths == sorted(widths)
    assert len(set(widths)) == 4


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    scores = np.random.default_rng(4).exponential(size=(2, 30))
    one, same, other = (World(scores).cases("bootstrap", seed=s).difference(0, 0, 1) for s in (1, 1, 2))
    assert one == same
    assert one != other


def test_a_horizon_as_long_as_the_series_leaves_nothing_to_say() -> None:
    world = World(np.random.default_rng(5).exponential(size=(2, 6)))
    for horizon in (6, 7, 8, 50):
        found = world.cases("hac", horizon=horizon).difference(0, 0, 1)
        assert (found.low, found.high) == (None, None)
        assert found.reason == f"6 cases are too few for a horizon of {horizon}"
    assert world.cases("hac", horizon=5).difference(0, 0, 1).low is not None


def test_without_regard_to_time_every_case_is_a_unit() -> None:
    """Where somebody says when cases were and yet asks for t intervals, cases of one time point are several."""
    scores = np.random.default_rng(6).exponential(size=(2, 30))
    timed, plain = World(scores, moments=np.arange(30) // 3), World(scores)
    for how in ("t", "normal"):
        one, other = timed.cases(how), plain.cases(how)  # type: ignore[arg-type]
        assert one.difference(0, 0, 1) == other.difference(0, 0, 1)
        assert ends(one.skill(0, 0)) == pytest.approx(ends(other.skill(0, 0)), rel=1e-12)
        assert ends(one.relative(0, 0, 1.0, (0, 1))) == pytest.approx(ends(other.relative(0, 0, 1.0, (0, 1))))


def test_inferences_from_the_same_cases_are_equal() -> None:
    """So that leaderboards can be compared."""
    scores = np.random.default_rng(7).exponential(size=(2, 30))
    one, other = World(scores).cases("hac"), World(scores).cases("hac")
    one.difference(0, 0, 1)
    assert one == other
    assert one != World(scores).cases("bootstrap")
    assert one != World(scores[::-1]).cases("hac")
