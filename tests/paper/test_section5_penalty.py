"""Section 5.2: penalised extensions to lists that are not valid."""

from __future__ import annotations

import math

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import every_list, scores
from tests.paper.rules import STRICT, Known, every_rule, every_strict_rule
from tests.paper.search import GRIDS, off_grid, on_grid


@every_rule
@pytest.mark.parametrize("penalty", [0.0, 0.25, math.inf])
def test_equation_13_invalid_list_scores_its_largest_valid_sublist_plus_the_penalty(
    known: Known, penalty: float
) -> None:
    """For every list on a grid and every outcome; valid lists, the empty and the full ones among them, pay nothing."""
    grid = every_list(4, 8)
    plain = scores(grid.lists.valid(), known.rule, penalty=penalty)
    got = scores(grid.lists, known.rule, penalty=penalty)
    wanted = plain + np.where(grid.valid, 0.0, penalty)[:, None]
    np.testing.assert_allclose(got, wanted, rtol=10 * known.tol, atol=known.tol)
    np.testing.assert_allclose(plain, known.scores(grid.lists.valid().padded()), rtol=10 * known.tol, atol=known.tol)
    assert grid.valid[(grid.sizes == 0) | (grid.sizes == 4)].all()
    assert 0 < (~grid.valid).sum() < len(grid.valid)


@every_strict_rule
def test_example_5_5_without_penalty_the_score_is_not_strictly_consistent(known: Known) -> None:
    """p = (.4, .2, .2, .2): the invalid ({1, 2}, (.4, .1)) is scored as ({1}, .4), which pads to p itself."""
    p = [0.4, 0.2, 0.2, 0.2]
    t = tl.TopList({0: 0.4, 1: 0.1}, 4)
    assert not t.is_valid()
    assert t.proxy == pytest.approx(0.25, abs=1e-15)
    assert t.valid() == tl.TopList({0: 0.4}, 4)
    np.testing.assert_allclose(t.valid().padded(), p, rtol=0, atol=1e-15)
    true = tl.lists.top_k(p, 2)
    assert not tl.lists.is_true(t, p)
    best = tl.expected_score(true, p, rule=known.rule, penalty=0)
    assert tl.expected_score(t, p, rule=known.rule, penalty=0) == pytest.approx(best, abs=10 * known.tol)
    for penalty in (1e-4, 0.5, math.inf):
        worse = tl.expected_score(t, p, rule=known.rule, penalty=penalty)
        assert worse == pytest.approx(best + penalty, abs=10 * known.tol)
    assert tl.expected_score(t, p, rule=known.rule) > best + 1e-4, "the default penalty is positive"


@every_rule
@pytest.mark.parametrize(("m", "unit"), GRIDS)
def test_theorem_5_6_consistency_on_all_lists_without_penalty(known: Known, m: int, unit: int) -> None:
    """No list, valid or not, beats a true list of its length; the lists of Example 5.5 are as good as true ones."""
    losses = on_grid(known, m, unit, penalty=0.0)
    everything = np.ones_like(losses.valid)
    assert losses.best_is_true(10 * known.tol, among=everything)
    assert losses.gap(among=everything) <= 10 * known.tol


@every_rule
@pytest.mark.parametrize("penalty", [0.001, 1.0, math.inf])
@pytest.mark.parametrize(("m", "unit"), GRIDS)
def test_theorem_5_6_consistency_on_all_lists_with_a_penalty(known: Known, m: int, unit: int, penalty: float) -> None:
    """With any positive penalty, even an infinite one, strictly proper rules single out the true lists."""
    losses = on_grid(known, m, unit, penalty=penalty)
    everything = np.ones_like(losses.valid)
    assert losses.best_is_true(10 * known.tol, among=everything)
    assert (losses.gap(among=everything) > 1e-5) == known.strict


@every_rule
@pytest.mark.parametrize("penalty", [0.0, 0.01])
@pytest.mark.parametrize(("m", "seed"), [(3, 563), (4, 564), (6, 566)])
def test_theorem_5_6_consistency_on_all_lists_off_the_grid(known: Known, penalty: float, m: int, seed: int) -> None:
    losses = off_grid(known, m, penalty=penalty, seed=seed)
    everything = np.ones_like(losses.valid)
    assert not losses.valid.all()
    assert losses.best_is_true(10 * known.tol, among=everything)
    assert penalty == 0 or not known.strict or losses.gap(among=everything) > 10 * known.tol


@every_rule
def test_theorem_5_6_infinite_penalty_disqualifies_invalid_lists(known: Known) -> None:
    """Whatever happens, an invalid list then scores infinity, while valid lists score as ever."""
    grid = every_list(3, 8)
    got = scores(grid.lists, known.rule, penalty=math.inf)
    assert np.isposinf(got[~grid.valid]).all()
    np.testing.assert_array_equal(got[grid.valid], scores(grid.lists, known.rule, penalty=0.0)[grid.valid])


def test_default_penalty_is_positive_and_so_keeps_strictness() -> None:
    for known in STRICT.values():
        for m in (3, 10):
            invalid = tl.TopLists.from_dicts([{0: 0.5, 1: 0.01}], m)
            assert not invalid.is_valid()[0]
            paid = tl.score(invalid, [0], rule=known.rule) - tl.score(invalid, [0], rule=known.rule, penalty=0)
            assert paid[0] == pytest.approx(0.01 * known.entropy(np.full(m, 1 / m)), abs=10 * known.tol)
            assert paid[0] > 1e-4


def test_negative_penalty_is_refused() -> None:
    """It would reward invalid lists."""
    with pytest.raises(tl.TopListError, match="penalty"):
        tl.score(tl.TopList({0: 0.5, 1: 0.01}, 3), 0, penalty=-0.1)
