"""Section 4.1: the Savage representation, entropies, and supergradients that treat all classes alike."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import distributions, scores
from tests.paper.rules import (
    RULES,
    Floats,
    Function,
    Known,
    every_rule,
    greedy_top,
    mean,
    savage,
    times,
    top_error,
    x_log_x,
)


def some_distributions(m: int, seed: int = 1) -> Floats:
    """Random ones and a grid, with ties and zeros."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.dirichlet(np.ones(m), size=60), distributions(m, 6) / 6])


def no_point_masses(p: Floats) -> Floats:
    """At the corners a supergradient may be infinite where p is not zero, and the Savage form then says nothing."""
    return p[p.max(axis=1) < 1]


@every_rule
def test_equation_7_savage_representation_reproduces_the_score(known: Known) -> None:
    """S(p, y) = G(p) - <G'(p), p> + G'_y(p), also on the boundary, where G' may be infinite and 0 * infinity = 0."""
    p = no_point_masses(some_distributions(4))
    got = scores(tl.TopLists.from_proba(p), known.rule)
    np.testing.assert_allclose(got, savage(known.entropy, known.gradient)(p), rtol=10 * known.tol, atol=known.tol)


def test_erratum_of_equation_7_supergradient_of_the_log_score_is_infinite_on_the_boundary() -> None:
    """The paper's G' is real-valued, which leaves out the log score at p_y = 0: no finite slope bounds G from above.

    With G'_y = infinity there and 0 * infinity = 0, the representation and the expected scores are right again.
    """
    p = np.array([0.75, 0.25, 0.0])
    log = RULES["log"]
    toward = np.array([0.0, 0.0, 1.0]) - p
    slopes = [float(log.entropy(p + h * toward) - log.entropy(p)) / h for h in (1e-2, 1e-4, 1e-6, 1e-8)]
    assert all(later > earlier + 1 for earlier, later in pairwise(slopes))
    t = tl.TopLists.from_proba(p[None])
    np.testing.assert_allclose(scores(t, tl.Log())[0], [-np.log(0.75), -np.log(0.25), np.inf], rtol=1e-14)
    assert tl.expected_score(t, p, rule="log")[0] == pytest.approx(tl.entropy(t, rule="log")[0], abs=1e-15)
    assert np.isfinite(tl.entropy(t, rule="log")[0])


@every_rule
def test_entropy_is_the_expected_score_under_the_posited_distribution(known: Known) -> None:
    """One real number per distribution, though Proposition 4.1 of the paper has G map into the distributions."""
    p = some_distributions(4)
    lists = tl.TopLists.from_proba(p)
    got = tl.entropy(lists, rule=known.rule)
    assert got.shape == (len(p),)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, known.entropy(p), rtol=known.tol, atol=known.tol)
    np.testing.assert_allclose(mean(scores(lists, known.rule), p), got, rtol=10 * known.tol, atol=known.tol)


def test_equation_9_entropies_of_the_brier_and_log_scores() -> None:
    p = some_distributions(5)
    lists = tl.TopLists.from_proba(p)
    np.testing.assert_allclose(tl.entropy(lists, rule="brier"), 1 - (p**2).sum(axis=1), rtol=0, atol=1e-15)
    np.testing.assert_allclose(tl.entropy(lists, rule="log"), -x_log_x(p).sum(axis=1), rtol=0, atol=1e-14)


@every_rule
def test_equation_8_supergradient_inequality(known: Known) -> None:
    """G(q) <= G(p) + <G'(p), q - p> with G' read off the library's scores; strict for strictly proper rules."""
    p = distributions(4, 6) / 6
    lists = tl.TopLists.from_proba(p)
    by_outcome = scores(lists, known.rule)  # G(p) + <G'(p), q - p> = sum of q_y S(p, y)
    plane = times(p[None, :, :], by_outcome[:, None, :]).sum(axis=2)  # (at, of)
    gap = plane - tl.entropy(lists, rule=known.rule)[None, :]
    assert gap.min() >= -known.tol
    wrong = ~np.eye(len(p), dtype=bool)
    assert (gap[wrong].min() > 1e-4) == known.strict


@every_rule
def test_entropy_is_concave_and_strictly_so_if_and_only_if_the_rule_is_strictly_proper(known: Known) -> None:
    p = distributions(4, 6) / 6
    i, j = np.triu_indices(len(p), 1)
    middle = tl.entropy(tl.TopLists.from_proba((p[i] + p[j]) / 2), rule=known.rule)
    ends = tl.entropy(tl.TopLists.from_proba(p), rule=known.rule)
    gain = middle - (ends[i] + ends[j]) / 2
    assert gain.min() >= -known.tol
    assert (gain.min() > 1e-4) == known.strict


def test_entropy_that_is_not_concave_gives_no_proper_rule() -> None:
    """A convex function in Savage's form is refused, with two distributions that show why."""
    with pytest.raises(tl.ImproperRuleError) as caught:
        tl.Savage(lambda v, n: (n * v**2).sum(axis=-1), lambda v, n: 2 * v)
    truth, report = (np.array(x) for x in (caught.value.p, caught.value.q))
    form = savage(lambda p: (p**2).sum(axis=-1), lambda p: 2 * p)
    assert mean(form(report), truth) < mean(form(truth), truth) - 1e-6


@every_rule
def test_rule_is_symmetric(known: Known) -> None:
    """S((p_y), y) = S((p_{tau^-1(y)}), tau(y)) and G(p) = G(p_tau), for every permutation tau of four classes."""
    p = some_distributions(4)
    by_outcome = scores(tl.TopLists.from_proba(p), known.rule)
    own = tl.entropy(tl.TopLists.from_proba(p), rule=known.rule)
    for tau in permutations(range(4)):
        inverse = np.argsort(tau)
        moved = tl.TopLists.from_proba(p[:, inverse])
        np.testing.assert_allclose(
            scores(moved, known.rule)[:, list(tau)], by_outcome, rtol=10 * known.tol, atol=known.tol
        )
        np.testing.assert_allclose(tl.entropy(moved, rule=known.rule), own, rtol=0, atol=known.tol)


def one_sided(size: int) -> Function:
    """A supergradient of one minus the `size` largest probabilities that prefers the first of equal classes.

    Its level depends on the first class too, which makes no difference on the simplex.
    """
    return lambda p: -greedy_top(p, np.ones_like(p), size) + 3 * p[..., :1]


def symmetrised(gradient: Function) -> Function:
    """The mean over all permutations tau of the gradient at p_tau, carried back: the proof of Proposition 4.1."""

    def averaged(p: Floats) -> Floats:
        orders = [np.array(tau) for tau in permutations(range(p.shape[-1]))]
        # v_tau has v_y at place tau(y): v_tau = v[..., argsort(tau)]; carrying back is v[..., tau]
        return np.mean([gradient(p[..., np.argsort(tau)])[..., tau] for tau in orders], axis=0)

    return averaged


@pytest.mark.parametrize("size", [1, 2])
def test_proposition_4_1_symmetrised_supergradient_gives_a_symmetric_proper_score(size: int) -> None:
    entropy, before = top_error(size).entropy, one_sided(size)
    after = symmetrised(before)
    p = distributions(4, 6) / 6

    def is_supergradient(gradient: Function) -> bool:
        plane = entropy(p)[:, None] + (gradient(p)[:, None, :] * (p[None] - p[:, None])).sum(axis=2)
        return bool((plane - entropy(p)[None]).min() >= -1e-12)

    def is_equivariant(gradient: Function) -> bool:
        return all(
            np.allclose(gradient(p[:, np.argsort(tau)])[:, tau], gradient(p), rtol=0, atol=1e-12)
            for tau in (np.array(tau) for tau in permutations(range(4)))
        )

    def is_symmetric_score(gradient: Function) -> bool:
        s = savage(entropy, gradient)
        orders = (np.array(tau) for tau in permutations(range(4)))
        return all(np.allclose(s(p[:, np.argsort(tau)])[:, tau], s(p), rtol=0, atol=1e-12) for tau in orders)

    assert is_supergradient(before)
    assert not is_symmetric_score(before), "not all proper scores with a symmetric entropy are symmetric"
    assert is_supergradient(after)
    assert is_equivariant(after)
    assert is_symmetric_score(after)


@pytest.mark.parametrize("size", [1, 2])
def test_proposition_4_1_library_makes_a_one_sided_supergradient_symmetric(size: int) -> None:
    """The score that the library makes of it is that of the mean over all permutations."""
    p = distributions(4, 6) / 6
    known = top_error(size)
    wanted = savage(known.entropy, symmetrised(one_sided(size)))(p)
    np.testing.assert_allclose(scores(tl.TopLists.from_proba(p), known.rule), wanted, rtol=0, atol=1e-12)
    if size == 1:
        np.testing.assert_allclose(scores(tl.TopLists.from_proba(p), tl.ZeroOne()), wanted, rtol=0, atol=1e-12)


@every_rule
def test_lemma_4_2_equal_probabilities_have_equal_supergradients(known: Known) -> None:
    """S(p, y) - S(p, z) = G'_y - G'_z, so that classes of equal probability must score alike."""
    p = distributions(4, 8) / 8
    by_outcome = scores(tl.TopLists.from_proba(p), known.rule)
    for y in range(4):
        for z in range(y):
            tied = p[:, y] == p[:, z]
            assert tied.sum() > 10
            np.testing.assert_allclose(by_outcome[tied, y], by_outcome[tied, z], rtol=1e-14, atol=1e-14)
