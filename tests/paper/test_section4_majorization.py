"""Section 4.2: majorization, Schur-concave entropies, and what true lists have to do with it."""

from __future__ import annotations

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import Bools, Ints, calibrated_lists, distributions, scores, subsets
from tests.paper.rules import Floats, Known, every_rule, every_strict_rule, greedy_top


def some_distributions(m: int, seed: int = 1) -> Floats:
    """Random ones and a grid, with ties and zeros."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.dirichlet(np.ones(m), size=60), distributions(m, 6) / 6])


def majorization(p: Ints) -> tuple[Bools, Bools]:
    """Which row majorizes which, and which are permutations of each other: by the definition, in whole numbers."""
    falling = -np.sort(-p, axis=1)
    sums = np.cumsum(falling, axis=1)
    above = (sums[:, None] >= sums[None]).all(axis=2) & (sums[:, None, -1] == sums[None, :, -1])
    return above, (falling[:, None] == falling[None]).all(axis=2)


def test_majorization_is_what_it_is_defined_to_be() -> None:
    p = distributions(4, 8)
    p = p[:: len(p) // 60]
    above, _ = majorization(p)
    assert 0 < above.sum() < above.size
    for i, v in enumerate(p):
        np.testing.assert_array_equal(tl.scoring.decreasing(v / 8), -np.sort(-v / 8))
        assert [tl.scoring.majorizes(v / 8, w / 8) for w in p] == above[i].tolist()


@every_rule
def test_lemma_4_3_entropy_is_schur_concave(known: Known) -> None:
    """G(v) <= G(w) for all v that majorize w, strictly for strictly proper rules unless v is a permutation of w."""
    p = distributions(4, 8)
    above, same = majorization(p)
    g = tl.entropy(tl.TopLists.from_proba(p / 8), rule=known.rule)
    rise = g[None, :] - g[:, None]
    assert rise[above].min() >= -known.tol
    assert abs(rise[same]).max() <= known.tol
    assert (rise[above & ~same].min() > 1e-5) == known.strict


@every_rule
def test_lemma_4_4_schur_ostrowski_condition(known: Known) -> None:
    """v_i > v_j implies f'_i <= f'_j: the more likely class never scores worse."""
    p = some_distributions(4)
    by_outcome = scores(tl.TopLists.from_proba(p), known.rule)
    for i in range(4):
        for j in range(4):
            more = p[:, i] > p[:, j] + 1e-9
            assert (by_outcome[more, i] <= by_outcome[more, j] + known.tol).all()


def test_lemma_4_4_holds_for_every_supergradient_but_says_nothing_of_ties() -> None:
    """A supergradient may prefer one of two equal classes, so that the lemma needs v_i > v_j, not v_i >= v_j."""
    p = distributions(4, 6) / 6
    unfair = 0
    for size in (1, 2, 3):
        slope = -greedy_top(p, np.ones_like(p), size)
        for i in range(4):
            for j in range(4):
                assert (slope[:, i] <= slope[:, j])[p[:, i] > p[:, j]].all()
                unfair += int((slope[:, i] > slope[:, j])[p[:, i] == p[:, j]].sum())
    assert unfair > 0


def test_erratum_of_the_schur_ostrowski_criterion_only_if_fails_without_strictness() -> None:
    """f_i <= f_j does not imply v_i >= v_j: a constant is Schur-concave, and all its partial derivatives are zero.

    Among scores: zero-one gives two classes that are not the mode the same supergradient, the less likely one too.
    """
    p = tl.TopLists.from_proba([[0.5, 0.3, 0.2]])
    constant = tl.Savage(lambda v, n: 1 + 0 * v[:, 0], lambda v, n: 0 * v)
    np.testing.assert_array_equal(scores(p, constant), [[1, 1, 1]])
    np.testing.assert_array_equal(scores(p, tl.ZeroOne()), [[0, 1, 1]])


@every_strict_rule
def test_schur_ostrowski_criterion_only_if_holds_for_strict_rules(known: Known) -> None:
    p = some_distributions(4)
    by_outcome = scores(tl.TopLists.from_proba(p), known.rule)
    i, j = np.nonzero(~np.eye(4, dtype=bool))
    less = p[:, i] < p[:, j] - 1e-3
    with np.errstate(invalid="ignore"):
        worse = by_outcome[:, i] - by_outcome[:, j]
    assert (worse[less] > 1e-6).all()


@pytest.mark.parametrize(("m", "unit"), [(3, 12), (4, 10), (5, 7)])
def test_lemma_4_5_true_lists_majorize_calibrated_valid_lists(m: int, unit: int) -> None:
    """Every calibrated list of every distribution on the grid; the lemma needs the word "valid", which it lacks."""
    p = distributions(m, unit)
    grid = calibrated_lists(p, unit)
    sums = np.cumsum(-np.sort(-grid.padded, axis=1), axis=1).reshape(len(p), 2**m, m)
    sizes, valid = subsets(m).sum(axis=1), grid.valid.reshape(len(p), 2**m)
    own = grid.lists.is_valid().reshape(len(p), 2**m)
    np.testing.assert_array_equal(own, valid)
    failures = 0
    for k in range(m + 1):
        falling = -np.sort(-p, axis=1) / unit
        rest = falling[:, k:].sum(axis=1) / max(m - k, 1)
        true = np.cumsum(np.where(np.arange(m) < k, falling, rest[:, None]), axis=1)
        enough = (true[:, None, :] >= sums - 1e-12).all(axis=2)
        assert enough[valid & (sizes == k)].all()
        failures += int((~enough[~valid & (sizes == k)]).sum())
    assert failures > 0, "without validity it is false"


def test_erratum_of_lemma_4_5_invalid_calibrated_list_is_not_majorized() -> None:
    """Example 3.1: (.5, .2, .15, .15) does not majorize (.5, .2, .2, .1).

    The proof takes the l largest entries of the padded s to sum to 1 - (m - l) pi(s) for l > k: that is validity.
    """
    p = [0.5, 0.2, 0.2, 0.1]
    t, s = tl.lists.top_k(p, 2), tl.TopList({0: 0.5, 3: 0.1}, 4)
    np.testing.assert_allclose(t.padded(), [0.5, 0.2, 0.15, 0.15], rtol=0, atol=1e-15)
    np.testing.assert_allclose(s.padded(), [0.5, 0.2, 0.2, 0.1], rtol=0, atol=1e-15)
    assert tl.lists.is_calibrated(s, p)
    assert not tl.scoring.majorizes(t.padded(), s.padded())
    assert tl.scoring.majorizes(t.padded(), s.valid().padded())
    for k, lists, holds in ((2, t, True), (2, s, False)):
        largest = np.cumsum(tl.scoring.decreasing(lists.padded()))
        identity = [abs(largest[x - 1] - (1 - (4 - x) * lists.proxy)) < 1e-12 for x in range(k, 4)]
        assert all(identity) == holds
