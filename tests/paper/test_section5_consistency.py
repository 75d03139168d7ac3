"""Section 5.1: padded symmetric scores are consistent on valid lists, strictly so for strictly proper rules."""

from __future__ import annotations

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import calibrated_lists, distributions
from tests.paper.rules import Known, every_rule, every_strict_rule
from tests.paper.search import GRIDS, off_grid, on_grid, true_entropies


@every_rule
@pytest.mark.parametrize(("m", "unit"), GRIDS)
def test_theorem_5_4_consistency_on_valid_lists(known: Known, m: int, unit: int) -> None:
    """Under every distribution on the grid no valid list beats a true list of its length.

    Strictly proper rules tell every other valid list from the true ones; zero-one and its like do not.
    """
    losses = on_grid(known, m, unit, penalty=0.0)
    assert losses.best_is_true(10 * known.tol, among=losses.valid)
    assert (losses.gap(among=losses.valid) > 1e-5) == known.strict


@every_rule
@pytest.mark.parametrize(("m", "seed"), [(3, 543), (4, 544), (6, 546)])
def test_theorem_5_4_consistency_on_valid_lists_off_the_grid(known: Known, m: int, seed: int) -> None:
    losses = off_grid(known, m, penalty=0.0, seed=seed)
    assert losses.valid.any()
    assert (losses.true & losses.valid).any()
    assert losses.best_is_true(10 * known.tol, among=losses.valid)
    assert not known.strict or losses.gap(among=losses.valid) > 10 * known.tol


@every_rule
def test_theorem_5_4_all_true_lists_have_the_same_expected_score(known: Known) -> None:
    """All of T_k(p), which the proof once misprints; for a uniform p these are C(6, k) lists, 20 for k = 3."""
    for p in ([1 / 6] * 6, [0.25, 0.25, 0.125, 0.125, 0.125, 0.125], [0.5, 0.25, 0.25, 0, 0, 0]):
        for k in range(7):
            lists = list(tl.lists.true_lists(p, k))
            e = [tl.expected_score(t, p, rule=known.rule) for t in lists]
            np.testing.assert_allclose(e, true_entropies(known, np.array([p]))[0, k], rtol=0, atol=10 * known.tol)
            if p[0] == 1 / 6:
                assert len(lists) == (1, 6, 15, 20, 15, 6, 1)[k]


def test_erratum_of_the_proof_of_theorem_5_4_example_with_numbers() -> None:
    """An uncalibrated valid s may pad to the same distribution as r', so that E S(s) - E S(r') > 0 fails.

    The theorem stands: r was invalid, and a true list then beats r' strictly.
    """
    p = [0.5, 0.2, 0.2, 0.1]
    s, r, sublist = tl.TopList({0: 0.5, 3: 1 / 6}, 4), tl.TopList({0: 0.5, 3: 0.1}, 4), tl.TopList({0: 0.5}, 4)
    assert s.is_valid()
    assert not tl.lists.is_calibrated(s, p)
    assert not r.is_valid()
    assert r.valid() == sublist
    np.testing.assert_allclose(s.padded(), [1 / 2, 1 / 6, 1 / 6, 1 / 6], rtol=0, atol=1e-15)
    np.testing.assert_allclose(sublist.padded(), s.padded(), rtol=0, atol=1e-15)
    log_s, log_t = 0.5 * np.log(12), 0.5 * np.log(2) + 0.2 * np.log(5) + 0.3 * np.log(20 / 3)
    for rule, of_s, of_t in (("brier", 2 / 3, 0.665), ("log", log_s, log_t)):
        assert tl.expected_score(s, p, rule=rule) == pytest.approx(of_s, abs=1e-14)
        assert tl.expected_score(sublist, p, rule=rule) == pytest.approx(of_s, abs=1e-14)
        for t in tl.lists.true_lists(p, 2):
            assert tl.expected_score(t, p, rule=rule) == pytest.approx(of_t, abs=1e-14)
        assert of_t < of_s


@every_strict_rule
def test_erratum_of_the_proof_of_theorem_5_4_repaired_lists_do_not_beat_the_truth(known: Known) -> None:
    """The gap is no accident, and always harmless.

    For every distribution on a grid and every set of classes on which the calibrated list r is invalid, the valid
    list on the same classes that pads as the largest valid sublist r' scores as r' does, and worse than the truth.
    """
    m, unit = 4, 10
    p = distributions(m, unit)
    grid = calibrated_lists(p, unit)
    at = np.flatnonzero(~grid.valid)
    truth = p[at // 2**m] / unit
    grid = grid.pick(at)
    s = grid.lists.repair()
    assert len(s) > 1000
    assert s.is_valid().all()
    np.testing.assert_array_equal(s.sizes, grid.sizes)
    e = tl.expected_score(s, truth, rule=known.rule)
    np.testing.assert_allclose(
        e, tl.expected_score(grid.lists.valid(), truth, rule=known.rule), rtol=10 * known.tol, atol=known.tol
    )
    best = true_entropies(known, truth)[np.arange(len(at)), grid.sizes]
    assert (e - best).min() > 1e-5


@every_strict_rule
def test_theorem_5_4_is_about_lists_of_one_length(known: Known) -> None:
    """A longer list, even one that is not true, may well beat a true shorter one: k is fixed in the theorem."""
    p = [0.4, 0.3, 0.2, 0.1]
    true, longer = tl.TopList({0: 0.4}, 4), tl.TopList({0: 0.41, 1: 0.29, 2: 0.2}, 4)
    assert not tl.lists.is_calibrated(longer, p)
    assert tl.expected_score(longer, p, rule=known.rule) < tl.expected_score(true, p, rule=known.rule)
