"""Many pairs at once: Holm's method, intervals that hold for all of them, ranks, and how many cases it would take."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World
from toplist.inference.estimation import POWER, extra_units
from toplist.inference.intervals import SAME
from toplist.inference.ranking import ComparisonSpec, holm, judge, ranked
from toplist.inference.results import Estimate, Group

chances = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 1.0])
many = st.lists(st.none() | chances, max_size=12)


@law
@given(values=many)
def test_a_pair_without_a_p_value_is_not_tested_and_does_not_count(values: list[float | None]) -> None:
    """It is never called different, so the others need not pay for it."""
    tested = iter(holm([p for p in values if p is not None]))
    assert holm(values) == [None if p is None else next(tested) for p in values]


@law
@given(
    d=st.floats(0.001, 1) | st.floats(-1, -0.001),
    ratio=st.floats(0.55, 30),
    n=st.integers(2, 10**6),
    level=st.sampled_from([0.9, 0.95, 0.99]),
)
def test_with_so_many_cases_more_the_power_is_four_in_five(d: float, ratio: float, n: int, level: float) -> None:
    """And with one case less it is not: by Student's distribution, with the same mean and spread."""
    error = abs(d) * ratio
    z = stats.norm.ppf(0.5 + level / 2)
    found = Estimate(d, d - z * error, d + z * error, error=error, freedom=n - 1)
    more = extra_units(found, n, level)

    def power(cases: float) -> float:
        """How often the interval excludes zero on the side where the difference is."""
        t = stats.t.ppf(0.5 + level / 2, cases - 1)
        return float(stats.nct.sf(t, cases - 1, abs(d) / (error * math.sqrt(n / cases))))

    assert more is not None
    assert more >= 1
    assert power(n + more) >= POWER - 1e-3  # the other side counts too, which matters with very few cases
    if more > 1 and n + more > 3:
        assert power(n + more - 1) < POWER + 1e-9


def test_how_many_more_is_said_only_where_it_is_known() -> None:
    """Not without a difference or a spread; fewer degrees of freedom take more units."""
    known = Estimate(0.1, -0.1, 0.3, error=0.1, freedom=99.0)
    assert extra_units(known, 100, 0.95) == 687
    for changes in (
        *({"value": 0.0}, {"error": 0.0}, {"error": None}, {"low": None, "high": None}, {"value": 1e-320}),
        {"freedom": None},  # resampled
    ):
        assert extra_units(replace(known, **changes), 100, 0.95) is None
    few = extra_units(replace(known, freedom=8.0), 100, 0.95, timed=True)
    assert few is not None
    assert few > 687


def board(world: World, *, names: str = "", intervals: Any = None) -> Group:
    """The standings of these scores."""
    names = names or "abcdefghijklmnopqrst"[: len(world.scores)]
    terms = ComparisonSpec(tuple(names), ("rule",), (), None, False)
    (found,) = ranked([(None, intervals or world.sums())], terms)
    return found


def test_pairs_are_all_pairs_in_the_order_of_the_table() -> None:
    """Each once for every rule; the adjusted p values are those of statsmodels over the pairs of the rule."""
    world = World(np.random.default_rng(1).exponential(size=(4, 60)) + np.array([[0.2], [0.7], [0.0], [0.5]]))
    found = board(world)
    order = [row.name for row in found.rows]
    assert [(pair.a, pair.b) for pair in found.pairs] == list(combinations(order, 2))
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    want = multitest.multipletests([pair.difference.p for pair in found.pairs], method="holm")[1]
    assert [pair.adjusted_p for pair in found.pairs] == pytest.approx(want.tolist(), rel=1e-12)
    for pair in found.pairs:
        a, b = "abcd".index(pair.a), "abcd".index(pair.b)
        assert pair.difference == world.sums().difference(0, a, b)
        assert pair.cases == 60
        marked = judge(pair, 0.95).significant
        assert pair.extra_units == (0 if marked else extra_units(pair.difference, 60, 1 - 0.05 / 6))


@settings(law, max_examples=draws(60))
@given(seed=st.integers(0, 10**6), k=st.integers(2, 6), n=st.integers(3, 40), spread=st.sampled_from([0.0, 0.1, 1.0]))
def test_a_difference_whose_interval_excludes_zero_is_significant(seed: int, k: int, n: int, spread: float) -> None:
    """Intervals are those of scipy at Bonferroni's level; Holm's method may find more, where the interval has zero."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(k, n)) + spread * np.arange(k)[:, None]
    found, count = board(World(scores)), k * (k - 1) // 2
    for pair in found.pairs:
        a, b = ("abcdef".index(name) for name in (pair.a, pair.b))
        wide = stats.ttest_rel(scores[a], scores[b]).confidence_interval(1 - 0.05 / count)
        low, high = pair.simultaneous.low, pair.simultaneous.high
        assert low is not None
        assert high is not None
        assert judge(pair, 0.95).significant or low < 0 < high
        assert [low, high] == pytest.approx([wide.low, wide.high], rel=1e-9, abs=1e-12)
        if count == 1:
            assert pair.simultaneous == pair.difference
            assert judge(pair, 0.95).significant == (low > 0 or high < 0)


@settings(law, max_examples=draws(40))
@given(seed=st.integers(0, 10**6), k=st.integers(2, 6), n=st.integers(5, 60))
def test_rank_intervals_count_who_is_significantly_better_and_worse(seed: int, k: int, n: int) -> None:
    scores = np.random.default_rng(seed).exponential(size=(k, n)) + 0.4 * np.arange(k)[:, None]
    found = board(World(scores))
    marked = [v for v in (judge(pair, 0.95) for pair in found.pairs) if v.significant]
    for row in found.rows:
        better, worse = (sum(getattr(v, side) == row.name for v in marked) for side in ("worse", "better"))
        assert row.rank_interval == (1 + better, k - worse)
        assert row.rank is not None
        assert 1 + better <= row.rank <= k - worse


def test_of_ten_equal_models_hardly_any_board_has_a_star_and_rank_intervals_hold() -> None:
    """Some star on at most 6 % and 3 Monte Carlo errors of the boards, all true ranks, which are 1, inside."""
    rng, boards, stars, held = np.random.default_rng(5), 200, 0, 0
    for _ in range(boards):
        found = board(World(rng.normal(size=(10, 15)) + rng.normal(size=15)))
        stars += any(judge(pair, 0.95).significant for pair in found.pairs)
        held += all(row.rank_interval is not None and row.rank_interval[0] == 1 for row in found.rows)
    room = 3 * math.sqrt(0.05 * 0.95 / boards)
    assert stars / boards <= 0.06 + room
    assert held / boards >= 0.95 - room
    assert stars == boards - held


def test_resamples_that_are_too_few_for_so_many_pairs_give_no_interval() -> None:
    """With 19 draws the least p value is 0.1, so that no interval of 5 % exists for one pair, let alone for three."""
    world = World(np.random.default_rng(7).exponential(size=(3, 40)) + np.array([[0.0], [0.5], [5.0]]))
    few, many = (board(world, intervals=world.cases("bootstrap", draws=draws)) for draws in (99, 999))
    for pair in few.pairs:
        assert pair.difference.low is not None
        assert pair.simultaneous.low is pair.simultaneous.high is None
        assert (
            pair.simultaneous.reason == "99 resamples are too few for an interval that holds for so many pairs at once"
        )
        assert not judge(pair, 0.95).significant
    for pair in many.pairs:
        wide = pair.simultaneous
        assert wide.low is not None
        assert wide.high is not None
        assert wide.low <= (pair.difference.low or 0.0)
        assert judge(pair, 0.95).significant == (wide.low >= 0 or wide.high <= 0)


def test_what_it_would_take_is_counted_in_the_units_of_the_interval() -> None:
    """Copies of cases in clusters need as many clusters as there were cases to need; time points are counted too."""
    scores, copies = (
        np.random.default_rng(3).exponential(size=(2, 30)) + np.array([[0.1], [0.0]]),
        np.repeat(np.arange(30), 4),
    )
    plain = World(scores)
    (want,) = board(plain).pairs
    assert want.extra_units
    copied = World(np.repeat(scores, 4, axis=1), clusters=copies)
    for inference in (copied.sums(), copied.cases("t")):
        (found,) = board(copied, intervals=inference).pairs
        assert (found.cases, found.extra_units) == (120, want.extra_units)
    timed = World(copied.scores, moments=copies)
    (found,) = board(timed, intervals=timed.cases("ewc", level=0.999)).pairs
    assert not judge(found, 0.999).significant
    assert found.extra_units
    (ignored,) = board(timed, intervals=timed.cases("t")).pairs
    assert ignored.extra_units == board(World(copied.scores)).pairs[0].extra_units


@pytest.mark.parametrize("size", [2.0**-52, 1e-7, 1e-4])
def test_only_what_is_more_than_rounding_is_significant(size: float) -> None:
    """The same predictions, written in two ways, score alike but for rounding: zero stays in, or nothing is tested."""
    x = np.random.default_rng(3).exponential(size=50)
    world = World([x, x + size * (1 + np.arange(50) % 2)])
    plain = world.sums().difference(0, 0, 1)
    assert plain.p < 0.001  # type: ignore[operator]
    found = replace(world.sums(), bounds=((0.0, 2.0),)).difference(0, 0, 1)
    if size < 1e-9:
        assert (found.p, found.reason) == (None, SAME)
    elif size < 1e-5:
        assert found.p == 1.0
        assert found.low <= 0 <= found.high  # type: ignore[operator]
    else:
        assert found == plain
