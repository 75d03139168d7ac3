"""Section 2: scores of distributions and of classes, the mode, instance F1."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

import toplist as tl
from tests.paper.grids import calibrated_lists, distributions, every_list, expected, scores
from tests.paper.rules import RULES, Floats, Known, every_rule, mean


def some_distributions(m: int, seed: int = 0) -> Floats:
    """Random ones, the grid with its ties and zeros, and the point masses."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.dirichlet(np.full(m, 0.7), size=100), distributions(m, 4) / 4])


@pytest.mark.parametrize("m", [2, 3, 5])
def test_equation_3_both_forms_of_the_brier_score_agree(m: int) -> None:
    p = some_distributions(m)
    got = scores(tl.TopLists.from_proba(p), tl.Brier())
    for y in range(m):
        others = np.delete(p, y, axis=1)
        first = (1 - p[:, y]) ** 2 + (others**2).sum(axis=1)
        second = 1 - 2 * p[:, y] + (p**2).sum(axis=1)
        np.testing.assert_allclose(got[:, y], first, rtol=0, atol=1e-14)
        np.testing.assert_allclose(got[:, y], second, rtol=0, atol=1e-14)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_equation_2_log_score_is_minus_the_log_of_the_outcome(m: int) -> None:
    """Infinite exactly where the outcome had probability zero."""
    p = some_distributions(m)
    got = scores(tl.TopLists.from_proba(p), tl.Log())
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(got, -np.log(p), rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(np.isinf(got), p == 0)


@every_rule
def test_every_rule_is_its_textbook_definition_on_distributions(known: Known) -> None:
    p = some_distributions(4)
    got = scores(tl.TopLists.from_proba(p), known.rule)
    np.testing.assert_allclose(got, known.scores(p), rtol=10 * known.tol, atol=known.tol)


@every_rule
def test_equation_1_propriety(known: Known) -> None:
    """The truth scores best in expectation, and for strictly proper rules nothing else does."""
    for m, unit in ((2, 12), (3, 8), (4, 5)):
        p = distributions(m, unit)
        reports = every_list(m, unit)
        reports = reports.pick(reports.sizes == m)
        np.testing.assert_array_equal(reports.shares, p)
        e = expected(reports, p, known.rule)  # (report, truth)
        loss = e - np.diag(e)
        assert np.isfinite(np.diag(e)).all()
        assert loss.min() >= -known.tol
        wrong = ~np.eye(len(p), dtype=bool)
        # zero-one, for one, does not tell distributions with the same mode apart
        assert (loss[wrong].min() > 1e-4) == known.strict


@every_rule
def test_expected_score_is_the_mean_score_over_outcomes(known: Known) -> None:
    """What the tests of consistency minimise is the expectation of what is scored, with 0 * infinity = 0."""
    m, unit = 3, 6
    grid, p = every_list(m, unit), distributions(m, unit)
    by_outcome = scores(grid.lists, known.rule)
    by_hand = np.stack([mean(by_outcome, row / unit) for row in p], axis=1)
    np.testing.assert_allclose(expected(grid, p, known.rule), by_hand, rtol=1e-13, atol=1e-13)


def test_section_2_brier_score_of_a_class_is_twice_its_misclassification_loss() -> None:
    for m in (2, 3, 7):
        x, y = (a.ravel() for a in np.meshgrid(np.arange(m), np.arange(m)))
        twice = 2.0 * (x != y)
        as_label, as_point_mass = tl.TopLists.from_labels(x, m), tl.TopLists.from_proba(np.eye(m)[x])
        np.testing.assert_array_equal(tl.score(as_label, y, rule="brier"), twice)
        np.testing.assert_array_equal(tl.score(as_point_mass, y, rule="brier"), twice)


def test_equation_4_zero_one_loss_elicits_the_mode() -> None:
    """The expected loss of class x is 1 - p_x, so exactly the modes minimise it; half the Brier score is the same."""
    m, unit = 4, 6
    labels = tl.TopLists.from_labels(np.arange(m), m)
    for p in distributions(m, unit):
        truth = np.tile(p / unit, (m, 1))
        loss = tl.expected_score(labels, truth, rule="zero-one")
        np.testing.assert_allclose(loss, 1 - p / unit, rtol=0, atol=1e-15)
        np.testing.assert_allclose(tl.expected_score(labels, truth, rule="brier") / 2, loss, rtol=0, atol=1e-15)
        wrong = [1 - tl.accuracy(labels[np.full(m, x)], np.arange(m), sample_weight=p / unit) for x in range(m)]
        np.testing.assert_allclose(wrong, loss, rtol=0, atol=1e-15)
        best = set(np.flatnonzero(loss <= loss.min() + 1e-12))
        assert best == {x for x in range(m) if p[x] == p.max()}
        assert best == {t.classes[0] for t in tl.lists.true_lists(p / unit, 1)}


def test_section_2_zero_one_score_of_a_distribution_is_the_mean_loss_of_its_modes() -> None:
    """A consistent score of the functional's value is a proper score of the distribution: here for the mode."""
    p = distributions(4, 8)
    got = scores(tl.TopLists.from_proba(p / 8), tl.ZeroOne())
    for row, by_outcome in zip(p, got, strict=True):
        modes = np.flatnonzero(row == row.max())
        for y in range(4):
            assert by_outcome[y] == pytest.approx(np.mean([x != y for x in modes]), abs=1e-15)


@every_rule
def test_section_2_consistent_score_of_the_functional_is_a_proper_score_of_the_distribution(known: Known) -> None:
    """Reduce every reported distribution to its true top-k lists: the result is a proper scoring rule, for every k."""
    m, unit = 4, 6
    p = distributions(m, unit)
    reduced = calibrated_lists(p, unit)
    e = expected(reduced, p, known.rule).reshape(len(p), 2**m, len(p))  # (report, set of classes, truth)
    sets = reduced.listed[: 2**m]
    most_likely = reduced.true(p).reshape(len(p), 2**m, len(p))[np.arange(len(p)), :, np.arange(len(p))]
    for k in range(m + 1):
        use = most_likely & (sets.sum(axis=1) == k)
        weight = (use / use.sum(axis=1, keepdims=True))[:, :, None]  # the mean over the true lists of the report
        composed = np.where(weight > 0, weight * np.where(weight > 0, e, 0.0), 0.0).sum(axis=1)
        assert (composed - np.diag(composed)).min() >= -known.tol


def sets_of(labels: Iterable[int]) -> list[frozenset[int]]:
    names = tuple(labels)
    return [frozenset(s) for s in chain.from_iterable(combinations(names, r) for r in range(len(names) + 1))]


def instance_f1(x: frozenset[int], y: frozenset[int]) -> Fraction:
    return Fraction(2 * len(x & y), len(x) + len(y)) if x or y else Fraction(1)


EXAMPLE_2_1 = {
    frozenset({1, 2}): Fraction(28, 100),
    frozenset({1, 3}): Fraction(24, 100),
    frozenset({1, 4}): Fraction(24, 100),
    frozenset({1, 5}): Fraction(24, 100),
}


def test_example_2_1_instance_f1_is_not_consistent_for_the_mode() -> None:
    """The mode {1, 2} has expected F1 0.64; {1}, which never happens, has 2/3, the best of all 32 label sets."""
    f1 = {x: sum(p * instance_f1(x, y) for y, p in EXAMPLE_2_1.items()) for x in sets_of(range(1, 6))}
    assert len(f1) == 32
    assert f1[frozenset({1, 2})] == Fraction(64, 100)
    assert f1[frozenset({1})] == Fraction(2, 3)
    assert [x for x, value in f1.items() if value == max(f1.values())] == [frozenset({1})]


def test_example_2_1_set_accuracy_is_consistent_for_the_mode() -> None:
    """On the same distribution the library's zero-one and Brier scores prefer the mode, of all 32 label sets."""
    space = tl.LabelSets([1, 2, 3, 4, 5])
    every_set = sets_of(range(1, 6))
    truth = {x: float(EXAMPLE_2_1.get(x, 0)) for x in every_set}
    (mode,) = tl.lists.top_k(truth, 1, space=space).classes
    assert mode == frozenset({1, 2})
    guesses = tl.TopLists.from_dicts([{x: 1.0} for x in every_set], space)
    p = tl.TopLists.from_dicts([{x: float(q) for x, q in EXAMPLE_2_1.items()}] * len(every_set), space)
    for rule, scale in (("zero-one", 1), ("brier", 2)):
        loss = tl.expected_score(guesses, p, rule=rule)
        np.testing.assert_allclose(loss, [scale * (1 - truth[x]) for x in every_set], rtol=0, atol=1e-14)
        assert every_set[int(np.argmin(loss))] == frozenset({1, 2})


def test_the_rules_of_these_tests_know_whether_they_are_strict() -> None:
    """What the library says of its own families is what propriety above shows."""
    own = {name: known for name, known in RULES.items() if not name.startswith(("savage", "separable"))}
    assert all(known.rule.strict == known.strict for known in own.values())
