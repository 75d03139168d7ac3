"""Section 5.1: padded symmetric scores, what they are in expectation, and the comparability property."""

from __future__ import annotations

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import calibrated_lists, distributions, every_list, expected, scores, subsets
from tests.paper.rules import Floats, Known, every_rule, every_strict_rule, mean, times


@every_rule
def test_padded_symmetric_score_is_the_score_of_the_padded_distribution(known: Known) -> None:
    """Every valid list on a grid of eighths with m = 4, where all proxies of two unlisted classes are exact."""
    grid = every_list(4, 8)
    grid = grid.pick(grid.valid & (grid.sizes != 1))
    wanted = known.scores(grid.padded)
    np.testing.assert_allclose(scores(grid.lists, known.rule), wanted, rtol=10 * known.tol, atol=known.tol)


@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 9), (5, 6)])
def test_padded_log_score(m: int, unit: int) -> None:
    """-log(t_y) if y is listed, otherwise log(m - k) - log(1 - sum of t)."""
    grid = every_list(m, unit)
    grid = grid.pick(grid.valid)
    rest = (unit - grid.shares.sum(axis=1)) / unit
    with np.errstate(divide="ignore"):
        missed = np.log(np.maximum(m - grid.sizes, 1)) - np.log(rest)
        wanted = np.where(grid.listed, -np.log(grid.shares / unit), missed[:, None])
    np.testing.assert_allclose(scores(grid.lists, tl.Log()), wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 9), (5, 6)])
def test_equation_11_padded_brier_score(m: int, unit: int) -> None:
    """1 + sum of t^2 + (1 - sum of t)^2 / (m - k) - 2 times the confidence of what happened, or the proxy."""
    grid = every_list(m, unit)
    grid = grid.pick(grid.valid)
    t = grid.shares / unit
    rest, unlisted = (unit - grid.shares.sum(axis=1)) / unit, np.maximum(m - grid.sizes, 1)
    base = 1 + (t**2).sum(axis=1) + rest**2 / unlisted
    wanted = base[:, None] - 2 * np.where(grid.listed, t, (rest / unlisted)[:, None])
    np.testing.assert_allclose(scores(grid.lists, tl.Brier()), wanted, rtol=0, atol=1e-14)


@every_strict_rule
def test_example_5_1_padding_an_invalid_list_would_beat_the_truth(known: Known) -> None:
    """The invalid s of Example 3.1 pads to p itself, which scores better than a true list: so it is not padded.

    The library scores its largest valid sublist instead, which is no better than the truth even without penalty.
    """
    p = np.array([0.5, 0.2, 0.2, 0.1])
    s = tl.TopList({0: 0.5, 3: 0.1}, 4)
    np.testing.assert_allclose(s.padded(), p, rtol=0, atol=1e-15)
    for t in tl.lists.true_lists(p, 2):
        truth = tl.expected_score(t, p, rule=known.rule)
        as_padded = tl.expected_score(tl.TopLists.from_proba(s.padded()[None]), p, rule=known.rule)[0]
        assert as_padded < truth - 1e-4
        assert tl.expected_score(s, p, rule=known.rule, penalty=0) > truth + 1e-4
    sublist = tl.expected_score(tl.TopList({0: 0.5}, 4), p, rule=known.rule)
    assert tl.expected_score(s, p, rule=known.rule, penalty=0) == pytest.approx(sublist, abs=1e-14)


@every_rule
@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 8)])
def test_lemma_5_2_expected_score_of_a_calibrated_valid_list_is_its_entropy(known: Known, m: int, unit: int) -> None:
    """For every distribution on the grid and every set of classes on which the calibrated list is valid.

    Valid is a property of the list alone: what the proof writes as a set that depends on p is the set of valid lists.
    """
    p = distributions(m, unit)
    grid = calibrated_lists(p, unit)
    truth = np.repeat(p / unit, 2**m, axis=0)[grid.valid]
    grid = grid.pick(grid.valid)
    entropy = known.entropy(grid.padded)
    got = tl.expected_score(grid.lists, truth, rule=known.rule)
    np.testing.assert_allclose(got, entropy, rtol=10 * known.tol, atol=known.tol)
    np.testing.assert_allclose(tl.entropy(grid.lists, rule=known.rule), entropy, rtol=known.tol, atol=known.tol)


@every_rule
def test_lemma_5_2_expected_score_does_not_depend_on_the_rest_of_the_distribution(known: Known) -> None:
    """All distributions with the listed probabilities, also those that put more than is listed on another class."""
    rng = np.random.default_rng(52)
    for listed in ([0.4], [0.25, 0.25], [0.3, 0.2, 0.125], [1.0], []):
        k = len(listed)
        t = tl.TopList(dict(enumerate(listed)), 6)
        assert t.is_valid()
        tails = np.concatenate([rng.dirichlet(np.full(6 - k, 0.5), size=50), np.eye(6 - k)]) * (1 - sum(listed))
        p = np.concatenate([np.tile(listed, (len(tails), 1)), tails], axis=1)
        e = tl.expected_score(tl.TopLists.from_dicts([t.confidences] * len(p), 6), p, rule=known.rule)
        np.testing.assert_allclose(e, known.entropy(t.padded()), rtol=0, atol=10 * known.tol)


@every_rule
def test_erratum_of_the_proof_of_lemma_5_2_both_differences_are_added(known: Known) -> None:
    """E S(t, Y) = G + sum of (p_y - t_y) G'_y + (sum of unlisted p_y - (m - k) pi) G'_z, all at the padded t.

    With the minus signs of the paper it holds for calibrated lists only, where both terms vanish.
    """
    p = np.array([0.45, 0.3, 0.15, 0.1])
    grid = every_list(4, 8)
    inside = (grid.padded.max(axis=1) < 1) & (grid.padded.min(axis=1) > 0)
    grid = grid.pick(grid.valid & (grid.sizes > 0) & (grid.sizes < 4) & inside)
    padded, slope = grid.padded, known.gradient(grid.padded)
    listed = np.where(grid.listed, (p - padded) * slope, 0.0).sum(axis=1)
    z = np.argmin(grid.listed, axis=1)
    missing = np.where(grid.listed, 0.0, p).sum(axis=1) - np.where(grid.listed, 0.0, padded).sum(axis=1)
    unlisted = missing * slope[np.arange(len(z)), z]
    got = tl.expected_score(grid.lists, np.tile(p, (len(z), 1)), rule=known.rule)
    np.testing.assert_allclose(got, known.entropy(padded) + listed + unlisted, rtol=0, atol=10 * known.tol)
    assert abs(got - (known.entropy(padded) - listed - unlisted)).max() > 0.1


@every_rule
@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 8), (5, 6)])
def test_theorem_5_3_comparability_of_calibrated_valid_lists(known: Known, m: int, unit: int) -> None:
    """Equation 12 for every calibrated valid list and every calibrated valid list that has one class more.

    Strictly proper rules improve unless the new class has exactly the probability that the padding gave it.
    """
    p = distributions(m, unit)
    grid = calibrated_lists(p, unit)
    e = tl.expected_score(grid.lists, np.repeat(p / unit, 2**m, axis=0), rule=known.rule, penalty=0)
    e, valid, proxy = (a.reshape(len(p), 2**m) for a in (e, grid.valid, grid.lists.proxy))
    checked = 0
    for s, on in enumerate(subsets(m)):
        for z in np.flatnonzero(~on):
            longer = s | 1 << int(z)
            both = valid[:, s] & valid[:, longer]
            gain = (e[:, s] - e[:, longer])[both]
            assert (gain >= -10 * known.tol).all()
            news = abs(p[:, z] / unit - proxy[:, s])[both] > 1e-9
            assert not known.strict or (gain[news] > 1e-6).all()
            assert (abs(gain[~news]) <= 10 * known.tol).all()
            checked += len(gain)
    assert checked > 200


@every_rule
@pytest.mark.parametrize(("m", "unit"), [(3, 10), (4, 8), (5, 6)])
def test_theorem_5_3_comparability_of_true_lists(known: Known, m: int, unit: int) -> None:
    """All true lists of one length have one expected score, and it never rises from a length to the next."""
    p = distributions(m, unit)
    grid = calibrated_lists(p, unit)
    e = tl.expected_score(grid.lists, np.repeat(p / unit, 2**m, axis=0), rule=known.rule).reshape(len(p), 2**m)
    sizes = subsets(m).sum(axis=1)
    mass = subsets(m) @ p.T
    best = np.stack([mass[sizes == k].max(axis=0) for k in range(m + 1)])
    true = (mass == best[sizes]).T
    assert (true.sum(axis=1) > m + 1).any(), "some distributions have several true lists of one length"
    lowest = np.stack([np.where(true & (sizes == k), e, np.inf).min(axis=1) for k in range(m + 1)], axis=1)
    highest = np.stack([np.where(true & (sizes == k), e, -np.inf).max(axis=1) for k in range(m + 1)], axis=1)
    assert (highest - lowest).max() <= 10 * known.tol
    assert (np.diff(lowest, axis=1) <= 10 * known.tol).all()
    np.testing.assert_allclose(lowest[:, -1], known.entropy(p / unit), rtol=0, atol=10 * known.tol)


def random_truths(m: int, n: int, rng: np.random.Generator) -> Floats:
    p = rng.dirichlet(np.full(m, 0.6), size=n)
    p[: n // 3, -2:] = 0.0
    return p / p.sum(axis=1, keepdims=True)


@every_rule
def test_theorem_5_3_comparability_along_the_curve_over_k(known: Known) -> None:
    """Truncating a known distribution: the expected score falls with k from that of the uniform distribution to G."""
    m = 12
    p = random_truths(m, 60, np.random.default_rng(53))
    lists = tl.TopLists.from_proba(p)
    e = np.stack([tl.expected_score(lists.truncate(k), p, rule=known.rule) for k in range(m + 1)], axis=1)
    assert (np.diff(e, axis=1) <= 10 * known.tol).all()
    np.testing.assert_allclose(e[:, 0], known.entropy(np.full(m, 1 / m)), rtol=0, atol=10 * known.tol)
    np.testing.assert_allclose(e[:, -1], known.entropy(p), rtol=0, atol=10 * known.tol)


@every_rule
def test_padded_score_of_a_list_has_infinite_expectation_only_if_something_ruled_out_can_happen(known: Known) -> None:
    """With 0 * infinity = 0 no NaN arises: the expectation is infinite just where an infinite score can happen."""
    m, unit = 3, 4
    grid, p = every_list(m, unit), distributions(m, unit)
    e = expected(grid, p, known.rule)
    assert not np.isnan(e).any()
    infinite = np.isinf(known.scores(grid.lists.valid().padded()))
    possible = (infinite[:, None, :] & (p[None] > 0)).any(axis=2)
    np.testing.assert_array_equal(np.isinf(e), possible)
    by_hand = mean(known.scores(grid.lists.valid().padded())[:, None, :], p[None] / unit)
    np.testing.assert_allclose(times(~possible * 1.0, e), times(~possible * 1.0, by_hand), rtol=0, atol=10 * known.tol)
