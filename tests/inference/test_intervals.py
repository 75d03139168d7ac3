"""Means, differences and their intervals are those of the textbook, where a textbook's arithmetic would fail too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import toplist as tl
from tests.core.integers import law
from tests.inference.case_score_factories import sheet_of
from tests.inference.factories import World
from tests.inference.reference import _of_clusters, agrees, exact_interval, interval
from toplist.core.estimate import bell_mccaffrey
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


def shares(size: Any) -> tuple[Any, Any]:
    """Of each cluster, and of the others."""
    others = np.array([np.delete(size, at).sum() for at in range(len(size))])
    return size / size.sum(), others / size.sum()


def drawn(seed: int, n: int, *, columns: int = 1) -> Any:
    """Scores as they are: between 0 and some number, skewed."""
    return np.random.default_rng(seed).exponential(size=(columns, n))


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


@pytest.mark.parametrize("method", ["t", "poisson"])
def test_clusters_in_which_no_score_is_finite_count_like_no_units(method: Any) -> None:
    about = tl.Truth(["a"] * 5, cluster=[1, 1, 1, 2, 3])
    board = tl.compare({"wrong": ["b"] * 5, "list": [{"a": 0.5}] * 5}, about, space=3, rules="log", inference=method)
    assert [row.name for row in board] == ["list", "wrong"]
    assert board.comparison.effective_units is None


def test_infinite_scores_on_cases_that_are_not_common_do_not_matter() -> None:
    a, b, c = [math.inf, 1.0, 2.0, 4.0], [9.0, 1.0, 3.0, 2.0], [1.0, 2.0, 4.0]
    there = (None, np.array([False, True, True, True]))
    assert difference_of(a, b, present=there) == difference_of(a[1:], b[1:])
    assert difference_of(a[1:], c) == difference_of([*a[1:], math.inf], [*c, 0.0], present=(np.arange(4) < 3, None))


NO_SPREAD = "no spread: the same in every {}, up to rounding"
NO_INTERVAL: tuple[tuple[list[list[float]], dict[str, Any], float, str], ...] = (
    ([[0.25]], {}, 0.25, "one case has no spread"),
    ([[0.25], [0.5]], {"weights": [3.0]}, -0.25, "one case has no spread"),
    ([[0.25, 7.0]], {"weights": [2.0, 0.0]}, 0.25, "one case has no spread"),
    ([[0.25, 0.75]], {"clusters": ["a", "a"]}, 0.5, "one cluster has no spread"),
    ([[0.25, 0.75], [0.5, 0.25]], {"clusters": ["a", "a"]}, 0.125, "one cluster has no spread"),
    ([[0.25, 7.0]], {"weights": [0.0, 0.0]}, math.nan, "there are no cases"),
    ([[1.0, 2.0], [3.0, 4.0]], {"present": [*(np.eye(2) > 0)]}, math.nan, "there are no cases"),
    ([[0.1] * 7], {}, 0.1, NO_SPREAD.format("case")),
    ([[1e100] * 7], {"clusters": [0, 1, 0, 1, 0, 1, 0]}, 1e100, NO_SPREAD.format("cluster")),
    ([[0.25] * 3, [1.0] * 3], {}, -0.75, NO_SPREAD.format("case")),
    ([[0.3, 0.1, 0.7]] * 2, {"weights": [0.1, 1 / 3, 7.0]}, 0.0, NO_SPREAD.format("case")),
    ([[0.3, 0.1, 0.7]] * 2, {"weights": [0.1, 1, 7], "clusters": [0, 1, 1]}, 0.0, NO_SPREAD.format("cluster")),
    ([[math.inf, 1.0, 2.0]], {}, math.inf, "infinite scores have no interval"),
    ([[math.inf, 1.0, 2.0], [1.0] * 3], {}, math.inf, "infinite scores have no interval"),
    ([[1.0] * 3, [math.inf, 1.0, 2.0]], {}, -math.inf, "infinite scores have no interval"),
    ([[math.inf, 1.0, 2.0]] * 2, {}, math.nan, "infinite scores have no interval"),
)


def test_what_has_no_interval_has_a_value_and_a_reason() -> None:
    """The mean of one model, or the difference of two: nobody knows what another case would bring."""
    for scores, options, value, reason in NO_INTERVAL:
        found = (mean_of if len(scores) == 1 else difference_of)(*scores, **options)
        assert repr(found) == repr(Estimate(value, reason=reason)), (scores, options)


@pytest.mark.parametrize("clusters", [None, np.arange(20) // 3])
def test_cases_and_clusters_without_weight_change_nothing(clusters: Any) -> None:
    """Neither the mean nor the degrees of freedom."""
    a, b = drawn(4, 20, columns=2)
    w = np.where(np.arange(20) // 3 % 3, 1.5, 0.0)
    at = w > 0
    few = {"weights": w[at], "clusters": None if clusters is None else clusters[at]}
    assert difference_of(a, b, weights=w, clusters=clusters) == difference_of(a[at], b[at], **few)
    assert mean_of(a, weights=w, clusters=clusters) == mean_of(a[at], **few)
