"""Entropies, expectations and divergences: what makes a rule proper, for every rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.properties.cases import Case, by_every_rule, cases, distributions, law, lists

M = 5


def tolerance(name: str, *sizes: float) -> float:
    """Absolute, in the scale of the values compared."""
    finite = [abs(x) for x in sizes if np.isfinite(x)]
    return RULES[name].tol * max([1.0, *finite])


@law
@given(case=cases())
@by_every_rule
def test_entropy_is_not_negative_and_largest_for_the_empty_list(name: str, case: Case) -> None:
    rule, t = RULES[name].rule, case.list
    most = tl.entropy(tl.TopList({}, t.size), rule=rule)
    own, tol = tl.entropy(t, rule=rule), tolerance(name, most)
    assert -tol <= own <= most + tol


@law
@given(p=distributions())
@by_every_rule
def test_entropy_falls_as_true_lists_grow(name: str, p: list[float]) -> None:
    """The more of a distribution is told, the more certain it is (paper, Theorem 5.3)."""
    rule, full = RULES[name].rule, tl.TopLists.from_proba([p])
    falling = [tl.entropy(full.truncate(k), rule=rule)[0] for k in range(len(p) + 1)]
    tol = tolerance(name, falling[0])
    assert all(later <= earlier + tol for earlier, later in itertools.pairwise(falling))
    curve = tl.curve([p], rule=rule)
    assert (curve.gain >= -tol).all()


@law
@given(t=lists(M), p=distributions(M))
@by_every_rule
def test_divergence_is_not_negative(name: str, t: dict[int, float], p: list[float]) -> None:
    """Whatever is listed, the truth is expected to score no worse; not because the difference is cut off at zero."""
    rule = RULES[name].rule
    d, expected = tl.divergence(tl.TopList(t, M), p, rule=rule), tl.expected_score(tl.TopList(t, M), p, rule=rule)
    least = tl.entropy(tl.TopLists.from_proba([p]), rule=rule)[0]
    assert expected >= least - tolerance(name, least)
    assert d >= 0
    assert d == pytest.approx(expected - least, rel=1e-9, abs=tolerance(name, least))


@law
@given(t=lists(M), truth=lists(M))
@by_every_rule
def test_divergence_from_a_list_is_that_from_its_padded_distribution(
    name: str, t: dict[int, float], truth: dict[int, float]
) -> None:
    """A list as the truth stands for its padded distribution, valid or not."""
    rule, believed = RULES[name].rule, tl.TopList(truth, M)
    d = tl.divergence(tl.TopList(t, M), believed, rule=rule)
    written_out = tl.divergence(tl.TopList(t, M), believed.padded(), rule=rule)
    assert d >= 0
    assert d == pytest.approx(written_out, rel=1e-9, abs=10 * tolerance(name))


@law
@given(p=distributions())
@by_every_rule
def test_divergence_of_the_truth_from_itself_is_zero(name: str, p: list[float]) -> None:
    own = tl.divergence(tl.TopLists.from_proba([p]), [p], rule=RULES[name].rule)
    np.testing.assert_allclose(own, 0.0, atol=tolerance(name))


@law
@given(t=lists(M))
@by_every_rule
def test_divergence_of_a_valid_list_from_itself_is_zero(name: str, t: dict[int, float]) -> None:
    kept = tl.TopList(t, M).valid()
    assert tl.divergence(kept, kept, rule=RULES[name].rule) == pytest.approx(0.0, abs=10 * tolerance(name))
    assert tl.divergence(kept, kept.padded(), rule=RULES[name].rule) == pytest.approx(0.0, abs=10 * tolerance(name))


@law
@given(t=lists(M), p=distributions(M))
@by_every_rule
def test_strict_rules_tell_any_other_distribution_from_the_truth(
    name: str, t: dict[int, float], p: list[float]
) -> None:
    """The divergence is above zero wherever the padded distribution is not the truth (paper, section 2)."""
    rule, kept = RULES[name].rule, tl.TopList(t, M).valid()
    apart = float(np.abs(kept.padded() - np.array(p)).max())
    d = tl.divergence(kept, p, rule=rule)
    if not rule.strict:
        assert d >= -tolerance(name)
    elif apart > 1e-2:
        assert d > 1e-7


@law
@given(t=lists(M), p=distributions(M))
@by_every_rule
def test_an_expected_score_is_the_mean_of_the_scores(name: str, t: dict[int, float], p: list[float]) -> None:
    """Weighted by the truth; a class of probability zero counts nothing, even where its score is infinite."""
    rule, report = RULES[name].rule, tl.TopList(t, M)
    scores = [tl.score(report, y, rule=rule) for y in range(M)]
    mean = sum(x * s for x, s in zip(p, scores, strict=True) if x > 0)
    tol = tolerance(name, mean)
    assert tl.expected_score(report, p, rule=rule) == pytest.approx(mean, abs=10 * tol, rel=1e-9)


@law
@given(t=lists(M), data=st.data())
@by_every_rule
def test_scores_stay_within_the_bounds_of_their_rule(name: str, t: dict[int, float], data: st.DataObject) -> None:
    rule = RULES[name].rule
    low, high = rule.bounds()
    s = tl.score(tl.TopList(t, M), data.draw(st.integers(0, M - 1)), rule=rule, penalty=0)
    assert low - tolerance(name) <= s <= high + tolerance(name)
