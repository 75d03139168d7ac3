"""Means, differences and their intervals are those of the textbook, where a textbook's arithmetic would fail too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from tests.core.integers import law
from tests.inference.case_score_factories import sheet_of
from tests.inference.factories import World
from tests.inference.reference import _of_clusters, agrees, exact_interval, interval
from toplist.core.degrees_of_freedom import bell_mccaffrey
from toplist.errors import TopListError
from toplist.inference.aggregates import Aggregates, tally
from toplist.inference.diagnostics import _of_clusters as contributions_of_clusters
from toplist.inference.intervals import Intervals
from toplist.inference.results import Estimate
from toplist.scoring.case_scores import Grouping

LEVELS = (0.5, 0.9, 0.95, 0.999)
levels = st.sampled_from(LEVELS)


def tally_of(*scores: Any, weights: Any = None, clusters: Any = None, present: Any = ()) -> Aggregates:
    """Of models with these scores under one rule."""
    return tally(
        [sheet_of(s) for s in scores],
        present=present,
        weights=None if weights is None else np.asarray(weights, float),
        clusters=None if clusters is None else Grouping.of(np.asarray(clusters)),
    )[None]


def mean_of(scores: Any, *, level: float = 0.95, **options: Any) -> Estimate:
    return Intervals(tally_of(scores, **options), level).mean(0, 0)


def difference_of(a: Any, b: Any, *, level: float = 0.95, **options: Any) -> Estimate:
    return Intervals(tally_of(a, b, **options), level).difference(0, 0, 1)


def scipy_says(found: Any, level: float) -> tuple[float, float]:
    ends = found.confidence_interval(level)
    return float((ends.low + ends.high) / 2), float((ends.high - ends.low) / 2)


def flat(x: float, unit: str = "case") -> Estimate:
    """What has no spread has no interval and no test: nobody knows what another case would bring."""
    return Estimate(x, reason=f"no spread: the same in every {unit}, up to rounding")


def shares(size: Any) -> tuple[Any, Any]:
    """Of each cluster, and of the others."""
    others = np.array([np.delete(size, at).sum() for at in range(len(size))])
    return size / size.sum(), others / size.sum()


def drawn(seed: int, n: int, *, columns: int = 1) -> Any:
    """Scores as they are: between 0 and some number, skewed."""
    return np.random.default_rng(seed).exponential(size=(columns, n))


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), level=levels)
def test_the_mean_and_its_interval_are_those_of_the_t_test(seed: int, n: int, level: float) -> None:
    (x,) = drawn(seed, n)
    want = scipy_says(stats.ttest_1samp(x, 0.0), level)
    assert agrees(mean_of(x, level=level), (float(x.mean()), want[1]))


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), level=levels)
def test_the_difference_and_its_interval_are_those_of_the_paired_t_test(seed: int, n: int, level: float) -> None:
    a, b = drawn(seed, n, columns=2)
    want = scipy_says(stats.ttest_rel(a, b), level)
    assert agrees(difference_of(a, b, level=level), (float((a - b).mean()), want[1]))


values = st.floats(-1e3, 1e3).map(lambda x: x if abs(x) > 1e-140 else 0.0) | st.sampled_from([1.0, 1e-12, 1 / 3])


@law
@given(x=st.lists(values, min_size=2, max_size=20))
@example(x=[1e8 + i * 1e-8 for i in range(9)])
@example(x=[1e150, -1e150, 1.0])
@example(x=[1e-140, 2e-140])
@example(x=[1.0, 1.0 + 2.0**-52])
def test_nothing_cancels_in_a_mean(x: list[float]) -> None:
    """Against arithmetic that never rounds: all but the last two digits of the interval are right."""
    assert agrees(mean_of(x), exact_interval(x), 1e-14)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), size=st.sampled_from([1e-3, 1e-9, 1e-12, 1e-15]))
def test_nothing_cancels_between_models_that_are_nearly_equal(seed: int, n: int, size: float) -> None:
    """Scores of about one that differ in the last digits: their difference is exact, and so is its variance."""
    (a,) = drawn(seed, n)
    b = a + size * np.random.default_rng(seed + 1).normal(size=n)
    want = exact_interval((a - b).tolist())  # no digit is lost here: the numbers are close
    assert agrees(difference_of(a, b), want, 1e-13)
    assert agrees(difference_of(a, b), interval(a - b), 1e-9)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), level=levels)
def test_weighted_means_and_differences_follow_the_formula(seed: int, n: int, level: float) -> None:
    a, b = drawn(seed, n, columns=2)
    w = np.random.default_rng(seed).choice([0.25, 1.0, 1 / 3, 40.0], n)
    assert agrees(mean_of(a, weights=w, level=level), interval(a, w, level=level))
    assert agrees(difference_of(a, b, weights=w, level=level), interval(a - b, w, level=level))


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), size=st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_weights_cost_nearly_equal_models_what_rounding_a_product_costs(seed: int, n: int, size: float) -> None:
    """Weight times score is rounded, case by case; nothing else is."""
    (a,) = drawn(seed, n)
    b = a + size * np.random.default_rng(seed + 1).normal(size=n)
    w = np.random.default_rng(seed).exponential(size=n)
    assert agrees(difference_of(a, b, weights=w), interval(a - b, w), 1e-13 / size)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), power=st.integers(-120, 120))
def test_only_the_proportions_of_weights_matter(seed: int, n: int, power: int) -> None:
    """To the last bit, if the factor is a power of two."""
    a, b = drawn(seed, n, columns=2)
    w = np.random.default_rng(seed).exponential(size=n)
    assert difference_of(a, b, weights=w) == difference_of(a, b, weights=w * 2.0**power)
    assert mean_of(a, weights=np.full(n, 2.0**power)) == mean_of(a)


def test_weights_whose_squares_lose_digits_are_refused() -> None:
    with pytest.raises(TopListError, match="only their proportions matter"):
        mean_of([0.0, 1.0, 0.5], weights=[1e-170] * 3)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), clusters=st.integers(2, 9), weighted=st.booleans())
def test_clustered_intervals_follow_the_formula(seed: int, n: int, clusters: int, weighted: bool) -> None:
    a, b = drawn(seed, n, columns=2)
    rng = np.random.default_rng(seed)
    names, w = rng.integers(0, clusters, n), rng.choice([0.25, 1.0, 1 / 3, 40.0], n) if weighted else None
    options = {"clusters": names, "weights": w}
    assert agrees(mean_of(a, **options), interval(a, w, names), 1e-10)
    assert agrees(difference_of(a, b, **options), interval(a - b, w, names), 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["t", "normal"])
def test_the_order_of_clusters_shows_in_no_digit(weighted: bool, method: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.exponential(1, (2, 400))
    names = rng.geometric(0.02, 400)
    one = tally_of(a, b, clusters=names, weights=rng.choice([0.1, 1 / 3, 7.0], 400) if weighted else None)
    other = replace(one, clusters={key: one.clusters[key] for key in rng.permutation(list(one.clusters)).tolist()})
    assert list(one.clusters) != list(other.clusters)
    for bounds in (None, ((0.0, math.inf),)):
        found, again = (Intervals(tally, 0.95, method, bounds=bounds) for tally in (one, other))
        for ask in (
            lambda made: made.mean(0, 0),
            lambda made: made.difference(0, 0, 1),
            lambda made: made.difference(0, 0, 1, 0.99),
            lambda made: made.skill(0, 1),
            lambda made: made.baseline_skill(0, 0, 1),
            lambda made: made.balance(0, 0, 1),
            lambda made: made.effective_units(0, 0, 1),
        ):
            assert ask(found) == ask(again)
    assert (contributions_of_clusters(one, 0, 1) == contributions_of_clusters(other, 0, 1)).all()


@law
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_clusters_of_one_case_are_no_clusters(seed: int, n: int) -> None:
    a, b = drawn(seed, n, columns=2)
    one, other = difference_of(a, b), difference_of(a, b, clusters=np.arange(n))
    assert one.value == other.value
    assert one.low == pytest.approx(other.low, rel=1e-14)
    assert one.high == pytest.approx(other.high, rel=1e-14)


@law
@given(seed=st.integers(0, 10**6), groups=st.integers(2, 12), size=st.integers(1, 6))
def test_clusters_of_one_size_count_as_many_as_they_are(seed: int, groups: int, size: int) -> None:
    """CR2 is CR1 then, with one degree of freedom less than clusters."""
    (a,) = drawn(seed, groups * size)
    found = mean_of(a, clusters=np.arange(groups * size) % groups)
    sums = a.reshape(size, groups).sum(axis=0) / size
    assert found.freedom == groups - 1
    assert found.error == pytest.approx(stats.sem(sums), rel=1e-12)


def test_one_cluster_with_nearly_all_cases_counts_like_few() -> None:
    (a,) = drawn(7, 190 * 2)
    sizes = [190, *[10] * 19]
    found = mean_of(a, clusters=np.repeat(np.arange(20), sizes))
    assert found.freedom == pytest.approx(3.6, abs=0.05)
    assert found.freedom == pytest.approx(bell_mccaffrey(*shares(np.array(sizes))), rel=1e-12)


@law
@given(seed=st.integers(0, 10**6), clusters=st.integers(2, 30), spread=st.sampled_from([0.1, 1.0, 5.0, 12.0]))
def test_degrees_of_freedom_of_clusters_are_those_of_the_matrix(seed: int, clusters: int, spread: float) -> None:
    """However unequal they are: at least about one, at most one less than there are."""
    size = np.exp(spread * np.random.default_rng(seed).normal(size=clusters))
    h, rest = shares(size)
    found = bell_mccaffrey(h, rest)
    assert 1 - 1e-9 <= found <= clusters - 1 + 1e-9
    if h.max() < 1 - 1e-6:  # the matrix has digits left
        assert found == pytest.approx(_of_clusters(h), rel=1e-6)


def test_an_interval_at_a_higher_level_is_that_of_the_level() -> None:
    """From the same error and degrees of freedom, ended at the bounds; at a lower level too."""
    a, b = drawn(8, 12, columns=2)
    one = Intervals(tally_of(a, b), 0.95)
    for level in (0.5, 0.99, 0.9999):
        assert one.difference(0, 0, 1, level) == difference_of(a, b, level=level)
    bounded = Intervals(tally_of(a, b), 0.95, bounds=((0.0, 1.0),)).difference(0, 0, 1, 1 - 1e-9)
    assert (bounded.low, bounded.high) == (-1.0, 1.0)


def test_what_differs_by_rounding_alone_has_no_spread() -> None:
    """Where scores come from files or floating-point numbers, which is where bounds are known."""
    (a,) = drawn(9, 40)
    b = (a + 0.3) * (1 + 1e-16 * np.arange(40))
    found = Intervals(tally_of(a, b), 0.95, bounds=((0.0, math.inf),)).difference(0, 0, 1)
    assert (found.low, found.p) == (None, None)
    assert found.reason.startswith("no spread")


def test_copies_of_a_case_in_one_cluster_make_no_interval_narrower() -> None:
    """Which is what clusters are for."""
    (x,) = drawn(3, 12)
    plain = mean_of(x)
    assert mean_of(np.repeat(x, 5), clusters=np.repeat(np.arange(12), 5)) == plain
    copied = mean_of(np.repeat(x, 5))
    assert copied.high - copied.low < 0.6 * (plain.high - plain.low)


@pytest.mark.parametrize("options", [{}, {"weights": [3.0]}], ids=["plain", "weighted"])
def test_one_case_has_a_mean_and_no_interval(options: dict[str, Any]) -> None:
    assert mean_of([0.25], **options) == Estimate(0.25, reason="one case has no spread")
    assert difference_of([0.25], [0.5], **options) == Estimate(-0.25, reason="one case has no spread")


def test_one_cluster_has_a_mean_and_no_interval() -> None:
    assert mean_of([0.25, 0.75], clusters=["a", "a"]) == Estimate(0.5, reason="one cluster has no spread")
    found = difference_of([0.25, 0.75], [0.5, 0.25], clusters=["a", "a"])
    assert found == Estimate(0.125, reason="one cluster has no spread")


def test_one_case_with_weight_is_one_case() -> None:
    assert mean_of([0.25, 7.0], weights=[2.0, 0.0]) == Estimate(0.25, reason="one case has no spread")


def test_no_case_with_weight_is_no_case() -> None:
    for found in (mean_of([0.25, 7.0], weights=[0.0, 0.0]), difference_of([1.0], [2.0], weights=[0.0])):
        assert math.isnan(found.value)
        assert (found.low, found.high, found.reason) == (None, None, "there are no cases")
    apart = (np.array([True, False]), np.array([False, True]))
    found = difference_of([1.0, 2.0], [3.0, 4.0], present=apart)
    assert math.isnan(found.value)
    assert found.reason == "there are no cases"


@law
@given(x=st.floats(-1e100, 1e100), n=st.integers(2, 30))
def test_equal_scores_have_no_spread(x: float, n: int) -> None:
    """And no interval; nor have models which differ by a constant."""
    assert mean_of([x] * n) == flat(x)
    assert mean_of([x] * n, clusters=np.arange(n) % 2) == flat(x, "cluster")
    assert difference_of([0.25] * n, [1.0] * n) == flat(-0.75)


def test_a_model_does_not_differ_from_itself() -> None:
    (x,) = drawn(1, 9)
    w = drawn(2, 9)[0]
    for options in ({}, {"weights": w}):
        assert difference_of(x, x, **options) == flat(0.0)
    for options in ({"clusters": [0, 1, 2] * 3}, {"weights": w, "clusters": [0, 1, 2] * 3}):
        assert difference_of(x, x, **options) == flat(0.0, "cluster")


def test_cases_without_weight_change_nothing() -> None:
    """Neither the mean nor the degrees of freedom."""
    a, b = drawn(4, 20, columns=2)
    w = np.where(np.arange(20) % 3, 1.5, 0.0)
    at = w > 0
    assert difference_of(a, b, weights=w) == difference_of(a[at], b[at], weights=w[at])
    assert mean_of(a, weights=w) == mean_of(a[at], weights=w[at])


def test_clusters_without_weight_change_nothing() -> None:
    x = [0.0, 1.0, 0.5, 0.25]
    with_one = mean_of(x, weights=[1.0, 1.0, 1.0, 0.0], clusters=[0, 1, 2, 3])
    assert with_one == mean_of(x[:3], weights=[1.0, 1.0, 1.0], clusters=[0, 1, 2])


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), weighted=st.booleans(), clustered=st.booleans())
def test_differences_are_antisymmetric_to_the_last_bit(seed: int, n: int, weighted: bool, clustered: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = drawn(seed, n, columns=2)
    scores[rng.random(scores.shape) < 0.1] = math.inf
    one = tally_of(
        *scores,
        weights=rng.exponential(size=n) if weighted else None,
        clusters=rng.integers(0, 3, n) if clustered else None,
    )
    found = Intervals(one, 0.95)
    forth, back = found.difference(0, 0, 1), found.difference(0, 1, 0)
    assert forth.reason == back.reason
    assert forth.value == -back.value or (math.isnan(forth.value) and math.isnan(back.value))
    if forth.low is not None and forth.high is not None:
        assert (forth.low, forth.high) == (-back.high, -back.low)  # type: ignore[operator]
        assert (forth.error, forth.p) == (back.error, back.p)


def test_the_interval_of_equal_means_ends_where_differences_do() -> None:
    """Two clusters with opposite differences: the interval of the t quantile alone would go beyond the range."""
    world = World([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]], clusters=np.array([0, 1, 0, 1]))
    found = replace(world.sums(), bounds=((0.0, 1.0),)).difference(0, 0, 1)
    assert (found.value, found.low, found.high, found.p) == (0.0, -1.0, 1.0, 1.0)


def test_models_that_share_one_cluster_have_no_interval_and_count_like_no_units() -> None:
    """Of three clusters, in which each model has some cases."""
    scores = np.random.default_rng(1).random((2, 9))
    scores[0, 6:], scores[1, :4] = math.nan, math.nan
    world = World(scores, clusters=np.array([0, 0, 0, 0, 1, 1, 2, 2, 2]))
    found = world.cases("t")
    assert found.effective_units(0, 0, 1) is None
    assert found.difference(0, 0, 1).reason == "one cluster has no spread"
    assert found.effective_units(0, 0) == pytest.approx(1.0 + found.mean(0, 0).freedom)


def test_an_infinite_score_makes_the_mean_infinite_and_takes_the_interval() -> None:
    """A difference of infinite scores on both sides does not exist; it says so."""
    a, b = [math.inf, 1.0, 2.0], [1.0, 1.0, 1.0]
    why = "infinite scores have no interval"
    assert mean_of(a) == Estimate(math.inf, reason=why)
    assert difference_of(a, b) == Estimate(math.inf, reason=why)
    assert difference_of(b, a) == Estimate(-math.inf, reason=why)
    both = difference_of(a, a)
    assert math.isnan(both.value)
    assert both.reason == why


def test_infinite_scores_on_cases_that_are_not_common_do_not_matter() -> None:
    a, b, c = [math.inf, 1.0, 2.0, 4.0], [9.0, 1.0, 3.0, 2.0], [1.0, 2.0, 4.0]
    there = (None, np.array([False, True, True, True]))
    assert difference_of(a, b, present=there) == difference_of(a[1:], b[1:])
    assert difference_of(a[1:], c) == difference_of([*a[1:], math.inf], [*c, 0.0], present=(np.arange(4) < 3, None))


def test_a_higher_level_makes_a_wider_interval() -> None:
    (x,) = drawn(5, 10)
    widths = [found.high - found.low for found in (mean_of(x, level=level) for level in LEVELS)]
    assert widths == sorted(widths)
    assert len(set(widths)) == len(widths)
