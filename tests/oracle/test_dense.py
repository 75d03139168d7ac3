"""For every rule the short form is the definition: scores, entropies, expectations, divergences and curves over k
equal those of the dense padded distributions."""

from __future__ import annotations

import numpy as np
import pytest

import toplist as tl
from tests.oracle import dense
from tests.oracle.dense import RULES

SMALL = dense.small_lists(11, 300)
PER_CASE = tl.ClassSpace([m for _, m in SMALL])
LISTS = tl.TopLists.from_dicts([listed for listed, _ in SMALL], PER_CASE)
PADDED = [dense.pad(dense.largest_valid(listed, m), m) for listed, m in SMALL]
M = 5
FIVES = [listed for listed, m in dense.small_lists(12, 150, sizes=[M])]
FIVE_LISTS = tl.TopLists.from_dicts(FIVES, M)
FIVE_PADDED = [dense.pad(dense.largest_valid(listed, M), M) for listed in FIVES]
every_rule = pytest.mark.parametrize("name", RULES)


def close(name: str, got: object, expected: object) -> None:
    """Equal to the tolerance of the rule; infinities where they belong."""
    tol = RULES[name].tol
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=tol, atol=tol)


def test_the_lists_are_a_mixture() -> None:
    """Valid and invalid, empty and complete, with zeros and with ties."""
    assert 0.2 < LISTS.is_valid().mean() < 0.8
    assert {0} < set(LISTS.sizes.tolist())
    assert sum(len(t) == m for t, m in SMALL) > 15
    assert sum(0.0 in t.values() for t, _ in SMALL) > 15
    ties = [t for t, m in SMALL if 0 < len(t) < m and min(t.values()) == (1 - sum(t.values())) / (m - len(t)) > 0]
    assert len(ties) >= 10


@every_rule
def test_scores_equal_the_definition(name: str) -> None:
    """Every list with every outcome."""
    rule, definition = RULES[name].rule, RULES[name].definition
    case = np.repeat(np.arange(len(SMALL)), [m for _, m in SMALL])
    y = np.concatenate([np.arange(m) for _, m in SMALL])
    expected = np.concatenate([dense.scores(definition, p) for p in PADDED])
    got = tl.score(LISTS[case], y, rule=rule, penalty=0)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isposinf(got), ~finite)
    allowed = RULES[name].tol * (1 + expected[finite])
    assert (np.abs(got[finite] - expected[finite]) <= allowed).all()


@every_rule
def test_invalid_lists_pay_a_hundredth_of_the_uniform_score(name: str) -> None:
    rule, definition = RULES[name].rule, RULES[name].definition
    y = np.array([m - 1 for _, m in SMALL])
    due = [0.01 * dense.scores(definition, np.full(m, 1 / m))[0] for _, m in SMALL]
    invalid = [len(dense.largest_valid(t, m)) < len(t) for t, m in SMALL]
    plain = np.array([dense.scores(definition, p)[-1] for p in PADDED])
    close(name, tl.score(LISTS, y, rule=rule), plain + np.where(invalid, due, 0.0))
    close(name, tl.score(LISTS, y, rule=rule, penalty=0.25), plain + np.where(invalid, 0.25, 0.0))


@every_rule
def test_entropy_is_the_expected_score_of_the_padded_distribution_under_itself(name: str) -> None:
    expected = [dense.expected(RULES[name].definition, p, p) for p in PADDED]
    close(name, tl.entropy(LISTS, rule=RULES[name].rule), expected)


def distributions(seed: int, n: int) -> np.ndarray:
    """Random truths, some with zeros."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(M), size=n) * (rng.random((n, M)) < 0.8)
    p[p.sum(axis=1) == 0] = 1.0
    return p / p.sum(axis=1, keepdims=True)


@every_rule
def test_expected_scores_under_dense_truths(name: str) -> None:
    """One distribution per case, and one for all."""
    rule, definition = RULES[name].rule, RULES[name].definition
    truth = distributions(13, len(FIVES))
    each = [dense.expected(definition, q, p) for q, p in zip(FIVE_PADDED, truth, strict=True)]
    close(name, tl.expected_score(FIVE_LISTS, truth, rule=rule, penalty=0), each)
    one = [dense.expected(definition, q, truth[0]) for q in FIVE_PADDED]
    close(name, tl.expected_score(FIVE_LISTS, truth[0], rule=rule, penalty=0), one)
    close(name, tl.score(FIVE_LISTS, truth, rule=rule, penalty=0), each)


def other_lists(valid: bool) -> tuple[tl.TopLists, list[np.ndarray]]:
    """Lists as truths, and the padded distributions that they stand for."""
    truths = [dense.largest_valid(t, M) if valid else t for t, _ in dense.small_lists(14, len(FIVES), sizes=[M])]
    return tl.TopLists.from_dicts(truths, M), [dense.pad(t, M) for t in truths]


@every_rule
@pytest.mark.parametrize("valid", [True, False], ids=["valid", "any"])
def test_expected_scores_under_lists(name: str, valid: bool) -> None:
    """A list as the truth stands for its padded distribution."""
    truth, padded = other_lists(valid)
    each = [dense.expected(RULES[name].definition, q, p) for q, p in zip(FIVE_PADDED, padded, strict=True)]
    close(name, tl.expected_score(FIVE_LISTS, truth, rule=RULES[name].rule, penalty=0), each)


@every_rule
def test_divergence_is_the_expected_score_less_the_entropy_of_the_truth(name: str) -> None:
    rule, definition = RULES[name].rule, RULES[name].definition
    truth = distributions(15, len(FIVES))
    each = [
        dense.expected(definition, q, p) - dense.expected(definition, p, p)
        for q, p in zip(FIVE_PADDED, truth, strict=True)
    ]
    close(name, tl.divergence(FIVE_LISTS, truth, rule=rule, penalty=0), each)


@every_rule
@pytest.mark.parametrize("valid", [True, False], ids=["valid", "any"])
def test_divergence_from_lists(name: str, valid: bool) -> None:
    """As the truth, an invalid list too stands for its padded distribution."""
    truth, padded = other_lists(valid)
    definition = RULES[name].definition
    each = [
        dense.expected(definition, q, p) - dense.expected(definition, p, p)
        for q, p in zip(FIVE_PADDED, padded, strict=True)
    ]
    close(name, tl.divergence(FIVE_LISTS, truth, rule=RULES[name].rule, penalty=0), each)


@every_rule
def test_expectations_with_sizes_that_differ_per_case(name: str) -> None:
    """Lists under the largest valid sublists of themselves as truths: the entropy."""
    truth = tl.TopLists.from_dicts([dense.largest_valid(t, m) for t, m in SMALL], PER_CASE)
    expected = [dense.expected(RULES[name].definition, p, p) for p in PADDED]
    close(name, tl.expected_score(LISTS, truth, rule=RULES[name].rule, penalty=0), expected)


@every_rule
def test_every_point_of_a_curve_of_lists_is_the_mean_over_truncated_lists(name: str) -> None:
    """Lists of mixed length, invalid ones as their largest valid sublists."""
    rule, definition = RULES[name].rule, RULES[name].definition
    kept = [dense.largest_valid(t, M) for t in FIVES]
    y = np.random.default_rng(16).integers(0, M, len(FIVES))
    curve = tl.curve(FIVE_LISTS, y, rule=rule)
    assert curve.ks.tolist() == list(range(max(map(len, kept)) + 1))
    for at, k in enumerate(curve.ks):
        cut = [dense.truncated(t, int(k)) for t in kept]
        padded = [dense.pad(t, M, dropped) for t, dropped in cut]
        close(name, curve.score[at], np.mean([dense.scores(definition, p)[c] for p, c in zip(padded, y, strict=True)]))
        close(name, curve.entropy[at], np.mean([dense.expected(definition, p, p) for p in padded]))
        assert curve.coverage[at] == np.mean([c in t for (t, _), c in zip(cut, y, strict=True)])
        assert curve.rest[at] == pytest.approx(np.mean([1 - sum(t.values()) for t, _ in cut]), abs=1e-12)


@every_rule
def test_every_point_of_a_curve_of_distributions_is_the_mean_over_truncated_lists(name: str) -> None:
    """Also against the library's own truncation, list by list."""
    rule, definition = RULES[name].rule, RULES[name].definition
    p = np.random.default_rng(17).dirichlet(np.ones(M), size=60)
    y = np.random.default_rng(18).integers(0, M, 60)
    curve = tl.curve(p, y, rule=rule)
    for k in range(M + 1):
        cut = [dense.truncated(dict(enumerate(row)), k) for row in p]
        padded = [dense.pad(t, M, dropped) for t, dropped in cut]
        close(name, curve.score[k], np.mean([dense.scores(definition, q)[c] for q, c in zip(padded, y, strict=True)]))
        lists = tl.TopLists.from_proba(p).truncate(k)
        one_by_one = [tl.score(t, int(c), rule=rule) for t, c in zip(lists, y, strict=True)]
        close(name, curve.score[k], np.mean(one_by_one))
        close(name, curve.entropy[k], np.mean([tl.entropy(t, rule=rule) for t in lists]))
    some = tl.curve(p, y, rule=rule, ks=[3, 1])
    close(name, some.score, curve.score[[1, 3]])
    close(name, curve.gain, -np.diff(curve.entropy))
