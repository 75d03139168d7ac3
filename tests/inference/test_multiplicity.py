"""Many pairs at once: Holm's method, and how many cases it would take to tell two apart."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.core.integers import law
from tests.inference.factories import World
from toplist.inference.intervals import SAME
from toplist.inference.ranking import POWER, ComparisonSpec, extra_units, holm, pairs
from toplist.inference.results import Estimate

chances = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 1.0])
many = st.lists(st.none() | chances, max_size=12)


@law
@given(values=many)
def test_an_adjusted_p_value_is_at_least_the_plain_one_and_at_most_one(values: list[float | None]) -> None:
    """And what has none gets none."""
    for p, adjusted in zip(values, holm(values), strict=True):
        assert (p is None) == (adjusted is None)
        if p is not None and adjusted is not None:
            assert p <= adjusted <= 1


@law
@given(values=many)
def test_adjusting_keeps_the_order(values: list[float | None]) -> None:
    found = [(p, q) for p, q in zip(values, holm(values), strict=True) if p is not None and q is not None]
    for (p, q), (r, s) in combinations(found, 2):
        if p <= r:
            assert q <= s
        if p == r:
            assert q == s


@law
@given(values=many, data=st.data())
def test_adjusting_does_not_depend_on_the_order_of_the_values(values: list[float | None], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(values))))
    adjusted = holm(values)
    assert holm([values[i] for i in order]) == [adjusted[i] for i in order]


@law
@given(values=many)
def test_a_pair_without_a_p_value_is_not_tested_and_does_not_count(values: list[float | None]) -> None:
    """It is never called different, so the others need not pay for it."""
    known = [p for p in values if p is not None]
    assert [q for q in holm(values) if q is not None] == holm(known)


@law
@given(values=st.lists(chances, min_size=1, max_size=12))
def test_bonferroni_is_never_sharper(values: list[float]) -> None:
    """Holm's method rejects whatever Bonferroni's does; the smallest p value is adjusted alike."""
    adjusted = holm(values)
    for p, q in zip(values, adjusted, strict=True):
        assert q is not None
        assert q <= min(1.0, len(values) * p)
    assert min(q for q in adjusted if q is not None) == min(1.0, len(values) * min(values))


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
    found = Estimate(d, d - z * error, d + z * error, error=error)
    more = extra_units(found, n, level)

    def power(cases: float) -> float:
        """How often the interval excludes zero on the side where the difference is."""
        t = stats.t.ppf(0.5 + level / 2, cases - 1)
        return float(stats.t.sf(t - abs(d) / (error * math.sqrt(n / cases)), cases - 1))

    if found.low > 0 or found.high < 0:  # type: ignore[operator]
        assert more == 0
        return
    assert more is not None
    assert more >= 1
    assert power(n + more) >= POWER - 1e-9
    if more > 1 and n + more > 3:
        assert power(n + more - 1) < POWER + 1e-9


def test_no_number_of_cases_separates_what_does_not_differ() -> None:
    assert extra_units(Estimate(0.0, -0.1, 0.1, error=0.05), 100, 0.95) is None
    assert extra_units(Estimate(0.0, 0.0, 0.0, error=0.0), 100, 0.95) is None
    assert extra_units(Estimate(math.inf, reason="infinite scores have no interval"), 100, 0.95) is None
    assert extra_units(Estimate(0.1, reason="one case has no spread"), 1, 0.95) is None
    assert extra_units(Estimate(1e-320, -1.0, 1.0, error=0.5), 100, 0.95) is None
    assert extra_units(Estimate(0.5, 0.5, 0.5, error=0.0), 100, 0.95) == 0


def test_pairs_are_all_pairs_in_the_order_of_the_table() -> None:
    """Each once for every rule; the adjusted p values are Holm's over the pairs of the rule."""
    scores = np.random.default_rng(1).exponential(size=(4, 60)) + np.arange(4)[:, None] / 4
    world = World(scores)
    terms = ComparisonSpec(tuple("abcd"), ("rule",), (), None, False)
    found = pairs(world.tally(), terms, world.sums(), ["c", "a", "d", "b"], 0.95)
    assert [(pair.a, pair.b) for pair in found] == list(combinations("cadb", 2))
    assert [pair.adjusted_p for pair in found] == holm([pair.difference.p for pair in found])
    for pair in found:
        a, b = "abcd".index(pair.a), "abcd".index(pair.b)
        assert pair.difference == world.sums().difference(0, a, b)
        assert pair.cases == 60
        assert pair.extra_units == extra_units(pair.difference, 60, 0.95)


def test_what_it_would_take_is_counted_in_the_units_of_the_interval() -> None:
    """Copies of cases in clusters, or in time points, need as many clusters as there were cases to need."""
    scores = np.random.default_rng(3).exponential(size=(2, 30)) + np.array([[0.1], [0.0]])
    terms, copies = ComparisonSpec(("a", "b"), ("rule",), (), None, False), np.repeat(np.arange(30), 4)
    plain = World(scores)
    (want,) = pairs(plain.tally(), terms, plain.sums(), ["a", "b"], 0.95)
    assert want.extra_units
    copied = World(np.repeat(scores, 4, axis=1), clusters=copies)
    for inference in (copied.sums(), copied.cases("t")):
        (found,) = pairs(copied.tally(), terms, inference, ["a", "b"], 0.95)
        assert (found.cases, found.extra_units) == (120, want.extra_units)
    timed, once = (World(x.scores, moments=m) for x, m in ((copied, copies), (plain, np.arange(30))))
    (found,), (alone,) = (pairs(w.tally(), terms, w.cases("hac"), ["a", "b"], 0.95) for w in (timed, once))
    assert found.extra_units == alone.extra_units
    (ignored,) = pairs(timed.tally(), terms, timed.cases("t"), ["a", "b"], 0.95)
    assert (
        ignored.extra_units
        == pairs(copied.tally(), terms, World(copied.scores).sums(), ["a", "b"], 0.95)[0].extra_units
    )


def test_pairs_count_the_cases_that_both_have() -> None:
    scores = np.random.default_rng(2).exponential(size=(2, 20))
    scores[0, :5], scores[1, 12:] = np.nan, np.nan
    world = World(scores)
    (found,) = pairs(
        world.tally(), ComparisonSpec(("a", "b"), ("rule",), (), None, True), world.sums(), ["a", "b"], 0.95
    )
    assert found.cases == 7
    assert found.difference.p == pytest.approx(stats.ttest_rel(scores[0, 5:12], scores[1, 5:12]).pvalue)


@pytest.mark.parametrize("size", [2.0**-52, 1e-7], ids=["the last digit", "seven decimals"])
def test_what_rounding_leaves_is_not_sure(size: float) -> None:
    """The same predictions, written in two ways, score alike but for rounding: zero stays in, or nothing is tested."""
    x = np.random.default_rng(3).exponential(size=50)
    world = World([x, x + size * (1 + np.arange(50) % 2)])
    terms, plain = ComparisonSpec(("a", "b"), ("rule",), (), None, False), world.sums()
    assert plain.difference(0, 0, 1).p < 0.001  # type: ignore[operator]
    (found,) = pairs(world.tally(), terms, replace(plain, bounds=((0.0, 2.0),)), ["a", "b"], 0.95)
    if size < 1e-9:
        assert (found.adjusted_p, found.difference.p, found.difference.reason) == (None, None, SAME)
    else:
        assert found.adjusted_p == found.difference.p == 1.0
        assert found.difference.low <= 0 <= found.difference.high  # type: ignore[operator]


def test_a_small_difference_that_is_more_than_rounding_is_sure() -> None:
    x = np.random.default_rng(3).exponential(size=50)
    world = World([x, x + 1e-4 * (1 + np.arange(50) % 2)])
    found = replace(world.sums(), bounds=((0.0, 2.0),)).difference(0, 0, 1)
    assert found == world.sums().difference(0, 0, 1)
    assert found.high < 0  # type: ignore[operator]
