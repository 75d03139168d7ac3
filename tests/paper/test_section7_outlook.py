"""Section 7: top-beta lists, top-k error, averages of lists, and the empty list as a reject."""

from __future__ import annotations

import math

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import Bools, Floats, distributions, every_list, scores
from tests.paper.rules import Known, every_rule, every_strict_rule


@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 8)])
def test_top_beta_list_is_a_minimal_list_of_mass_beta(m: int, unit: int) -> None:
    """By brute force: the shortest of all true lists that reach beta, which may be reached exactly."""
    for p in distributions(m, unit):
        falling = -np.sort(-p)
        for beta in range(1, unit):
            k = next(j for j in range(m + 1) if falling[:j].sum() >= beta)
            t = tl.lists.top_mass(p / unit, beta / unit)
            assert len(t) == k
            assert t in tl.lists.true_lists(p / unit, k)


@every_strict_rule
def test_padded_symmetric_scores_are_not_consistent_for_top_beta_lists(known: Known) -> None:
    """Comparability rewards longer lists: one that is not the top-beta list of the truth beats the one that is.

    Not only the distribution itself does, but also a list that is the top-beta list of some other distribution,
    so that restricting reports to the image of the functional does not help.
    """
    p, beta = np.array([0.5, 0.3, 0.15, 0.05]), 0.79
    true = tl.lists.top_mass(p, beta)
    assert true == tl.TopList({0: 0.5, 1: 0.3}, 4)
    other = tl.TopList({0: 0.5, 1: 0.285, 2: 0.16}, 4)
    assert tl.lists.top_mass(other.padded(), beta) == other
    of_true = tl.expected_score(true, p, rule=known.rule)
    assert tl.expected_score(tl.lists.top_k(p, 4), p, rule=known.rule) < of_true - 1e-4
    assert tl.expected_score(other, p, rule=known.rule) < of_true - 1e-4


def test_padded_brier_score_is_not_consistent_for_top_beta_lists_in_numbers() -> None:
    """The same example: the expected score is the true entropy 0.635 plus the squared distance from the truth."""
    p = [0.5, 0.3, 0.15, 0.05]
    assert tl.expected_score(tl.TopList({0: 0.5, 1: 0.3}, 4), p) == pytest.approx(0.635 + 2 * 0.05**2, abs=1e-14)
    distance = 0.015**2 + 0.01**2 + 0.005**2
    other = tl.TopList({0: 0.5, 1: 0.285, 2: 0.16}, 4)
    assert tl.expected_score(other, p) == pytest.approx(0.635 + distance, abs=1e-14)


@pytest.mark.parametrize(("m", "unit"), [(3, 6), (4, 4)])
def test_top_k_error_is_consistent_but_not_strictly(m: int, unit: int) -> None:
    """The expected error of a top-k list is one minus the probability of its classes, whatever its confidences."""
    grid, p = every_list(m, unit), distributions(m, unit)
    true = grid.true(p)
    reached = grid.listed.astype(int) @ p.T / unit
    falling = -np.sort(-p, axis=1)
    not_strict = np.zeros(m + 1, bool)
    for k in range(1, m + 1):
        of_length = np.flatnonzero(grid.sizes == k)
        lists = grid.lists[np.repeat(of_length, m)]
        y = np.tile(np.arange(m), len(of_length))
        for b, row in enumerate(p / unit):
            blocks = (slice(i * m, (i + 1) * m) for i in range(len(of_length)))
            if b % 7 == 0:  # the library's own average, outcome by outcome, on every seventh distribution
                own = [tl.top_k_error(lists[at], y[at], k=k, sample_weight=row) for at in blocks]
                np.testing.assert_allclose(own, 1 - reached[of_length, b], rtol=0, atol=1e-14)
            error = 1 - reached[of_length, b]
            best = 1 - falling[b, :k].sum() / unit
            assert (error >= best - 1e-12).all()
            assert (error[true[of_length, b]] <= best + 1e-12).all()
            not_strict[k] |= bool((error[~true[of_length, b]] <= best + 1e-12).any())
    assert not_strict[1:].all(), "lists of the right classes with wrong confidences do as well"


def test_top_k_error_is_the_miss_indicator() -> None:
    """1{y is not listed} for a list of length k."""
    grid = every_list(4, 4)
    for k in range(1, 5):
        part = grid.pick(grid.sizes == k)
        for y in range(4):
            outcomes = np.full(len(part.listed), y)
            missed = float(np.mean(~part.listed[:, y]))
            assert tl.top_k_error(part.lists, outcomes, k=k) == pytest.approx(missed, abs=1e-14)
            assert 1 - tl.coverage(part.lists, outcomes) == pytest.approx(missed, abs=1e-14)


def random_valid_lists(m: int, n: int, rng: np.random.Generator) -> list[tl.TopList]:
    """Truncations of random distributions, of every length: hard labels and rejects among them."""
    p = rng.dirichlet(np.full(m, 0.5), size=n)
    lists = [tl.lists.top_k(row, int(k)) for row, k in zip(p, rng.integers(0, m + 1, size=n), strict=True)]
    return [*lists, tl.TopList({0: 1.0}, m), tl.TopList({}, m)]


def averaged(lists: list[tl.TopList], weights: Floats, m: int, *, geometric: bool = False) -> tl.TopList:
    """The average over lists as a list again, in time that does not depend on m.

    A class that some list has gets the weighted mean of what the lists give it, their proxies where they lack it.
    All other classes get the mean proxy, which is what the padding of the result gives them.
    """
    union = sorted({c for t in lists for c in t.classes})
    given = np.array([[t.confidences.get(c, t.proxy) for c in union] for t in lists]).reshape(len(lists), len(union))
    if not geometric:
        return tl.TopList(dict(zip(union, (weights @ given).tolist(), strict=True)), m)
    pooled = np.exp(weights @ np.log(given))
    rest = (m - len(union)) * math.exp(weights @ np.log([t.proxy for t in lists])) if len(union) < m else 0.0
    return tl.TopList(dict(zip(union, (pooled / (pooled.sum() + rest)).tolist(), strict=True)), m)


@pytest.mark.parametrize("seed", range(20))
def test_average_of_lists_is_a_list_and_valid_if_they_are(seed: int) -> None:
    """The mean of the padded distributions is constant off the union of the listed classes, and never higher there."""
    rng, m = np.random.default_rng(seed), 7
    pool = random_valid_lists(m, 30, rng)
    for _ in range(20):
        chosen = [pool[i] for i in rng.choice(len(pool), size=3, replace=False)]
        weights = rng.dirichlet(np.ones(3))
        mean = weights @ np.array([t.padded() for t in chosen])
        result = averaged(chosen, weights, m)
        assert result.is_valid()
        np.testing.assert_allclose(result.padded(), mean, rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_geometric_average_of_lists_is_a_list_and_valid_if_they_are(seed: int) -> None:
    rng, m = np.random.default_rng(seed), 7
    pool = [
        tl.lists.top_k(row, int(k))
        for row, k in zip(rng.dirichlet(np.ones(m), 30), rng.integers(0, 6, 30), strict=True)
    ]
    for _ in range(20):
        chosen = [pool[i] for i in rng.choice(len(pool), size=3, replace=False)]
        weights = rng.dirichlet(np.ones(3))
        mean = np.exp(weights @ np.log(np.array([t.padded() for t in chosen])))
        result = averaged(chosen, weights, m, geometric=True)
        assert result.is_valid()
        np.testing.assert_allclose(result.padded(), mean / mean.sum(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_average_of_lists_never_scores_worse_than_the_lists_do_on_average(seed: int) -> None:
    """Whatever happens: under Brier by half the mean squared distance between the lists, under log by convexity."""
    rng, m = np.random.default_rng(seed), 6
    pool = random_valid_lists(m, 30, rng)
    gained = 0.0
    for _ in range(20):
        chosen = [pool[i] for i in rng.choice(len(pool), size=3, replace=False)]
        weights = rng.dirichlet(np.ones(3))
        padded = np.array([t.padded() for t in chosen])
        distance = ((padded[:, None] - padded[None]) ** 2).sum(axis=2)
        ambiguity = 0.5 * weights @ distance @ weights
        result = averaged(chosen, weights, m)
        for y in range(m):
            mean = weights @ [tl.score(t, y, rule="brier") for t in chosen]
            assert tl.score(result, y, rule="brier") == pytest.approx(mean - ambiguity, abs=1e-13)
            logs = [tl.score(t, y, rule="log") for t in chosen]
            assert tl.score(result, y, rule="log") <= weights @ logs + 1e-12
        gained = max(gained, ambiguity)
    assert gained > 0.05


def test_average_of_two_labels_that_disagree_is_a_list_where_a_vote_is_a_tie() -> None:
    a, b = tl.TopLists.from_labels([0, 1], 5)
    both = averaged([a, b], np.array([0.5, 0.5]), 5)
    assert both == tl.TopList({0: 0.5, 1: 0.5}, 5)
    for y in range(5):
        mean = (tl.score(a, y) + tl.score(b, y)) / 2
        assert tl.score(both, y) == pytest.approx(mean - 0.5, abs=1e-15)


@pytest.mark.parametrize("m", [1, 2, 5, 1000, 2**60, 2**10000])
def test_empty_list_is_a_reject_with_brier_score_one_minus_one_over_m(m: int) -> None:
    """Whatever happens; and log(m) under the log score."""
    reject = tl.TopList({}, m)
    assert reject.is_valid()
    for y in {0, 1, 2, m - 1} & set(range(min(m, 1000))):
        assert tl.score(reject, y, rule="brier") == pytest.approx(1 - 1 / m if m < 2**1000 else 1.0, abs=1e-15)
        assert tl.score(reject, y, rule="log") == pytest.approx(math.log(m), rel=1e-14)


@every_rule
def test_empty_list_scores_the_entropy_of_the_uniform_distribution_whatever_happens(known: Known) -> None:
    """No list that is true scores worse in expectation: to reject is always allowed, and never pays."""
    for m in (2, 3, 7):
        reject = tl.TopLists.from_dicts([{}], m)
        wanted = float(known.entropy(np.full(m, 1 / m)))
        np.testing.assert_allclose(scores(reject, known.rule), np.full((1, m), wanted), rtol=0, atol=10 * known.tol)
    p = distributions(4, 6) / 6
    e = np.stack([tl.expected_score(tl.TopLists.from_proba(p, k=k), p, rule=known.rule) for k in range(5)])
    assert (e <= e[0] + 10 * known.tol).all()
    informative: Bools = np.ptp(p, axis=1) > 0
    assert not known.strict or (e[1:, informative] < e[0, informative] - 1e-3).all()
