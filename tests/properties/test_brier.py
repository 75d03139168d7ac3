"""Identities of the Brier score: its parts, its limit, and what one more class is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import toplist as tl
from tests.properties.cases import Case, cases, distributions, law


def valid_list(case: Case) -> tl.TopList:
    """The case's largest valid sublist."""
    return case.list.valid()


@law
@given(case=cases())
def test_the_score_is_a_sum_of_binary_scores_a_rest_score_and_a_miss(case: Case) -> None:
    """S = sum (t - h)**2 + (alpha - u)**2 / n + u (1 - 1 / n): each listed class, the rest mass, the miss."""
    t = valid_list(case)
    n, u = t.size - len(t), case.y not in t.confidences
    assume(n > 0)
    parts = [(x - (c == case.y)) ** 2 for c, x in t.confidences.items()]
    expected = math.fsum([*parts, (t.rest - u) ** 2 / n, u * (1 - 1 / n)])
    assert tl.score(t, case.y) == pytest.approx(expected, rel=1e-11, abs=1e-12)


@law
@given(case=cases(m=8))
def test_with_infinitely_many_classes_a_miss_costs_one_more(case: Case) -> None:
    """S = sum (t - h)**2 + u, and finite spaces tend to it like 1 / m."""
    assume(len(case.listed) < 8)
    t = tl.TopList(case.listed, math.inf)
    u = case.y not in case.listed
    expected = math.fsum([*((x - (c == case.y)) ** 2 for c, x in case.listed.items()), float(u)])
    assert t.is_valid()
    assert tl.score(t, case.y) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert tl.score(tl.TopList(case.listed, 10**12), case.y, penalty=0) == pytest.approx(expected, abs=1e-11)


@law
@given(p=distributions())
def test_information_gain_of_the_next_class(p: list[float]) -> None:
    """G_k - G_(k+1) = n / (n - 1) (x - proxy_k)**2, with x the probability of the class that is added."""
    falling = sorted(p, reverse=True)
    for k in range(len(p) - 1):
        here, there = tl.lists.top_k(p, k), tl.lists.top_k(p, k + 1)
        n = len(p) - k
        expected = n / (n - 1) * (falling[k] - here.proxy) ** 2
        assert tl.entropy(here) - tl.entropy(there) == pytest.approx(expected, abs=1e-12)
    gain = tl.curve([p]).gain
    proxies = [tl.lists.top_k(p, k).proxy for k in range(len(p))]
    expected_gain = [(len(p) - k) / max(len(p) - k - 1, 1) * (falling[k] - proxies[k]) ** 2 for k in range(len(p))]
    np.testing.assert_allclose(gain, expected_gain, atol=1e-12)


@law
@given(p=distributions(), data=st.data())
def test_realised_gain_of_appending_a_class(p: list[float], data: st.DataObject) -> None:
    """S_k - S_(k+1) = -d**2 n / (n - 1) + 2 d (1{y is added} - 1{y stays unlisted} / (n - 1)), d = x - proxy."""
    y, k = data.draw(st.integers(0, len(p) - 1)), data.draw(st.integers(0, len(p) - 2))
    here, there = tl.lists.top_k(p, k), tl.lists.top_k(p, k + 1)
    n, (added,) = len(p) - k, set(there.classes) - set(here.classes)
    d = there.confidences[added] - here.proxy
    stays = y not in there.confidences
    expected = -(d**2) * n / (n - 1) + 2 * d * ((y == added) - stays / (n - 1))
    assert tl.score(here, y) - tl.score(there, y) == pytest.approx(expected, abs=1e-12)


@law
@given(p=distributions(), data=st.data())
def test_the_gap_to_the_full_distribution(p: list[float], data: st.DataObject) -> None:
    """For a true list it is the squared distance of the unlisted probabilities from their mean; for the logarithmic
    score their Kullback-Leibler divergence from it."""
    t = tl.lists.top_k(p, data.draw(st.integers(0, len(p) - 1)))
    left = [x for c, x in enumerate(p) if c not in t.confidences]
    squares = math.fsum((x - t.proxy) ** 2 for x in left)
    assert tl.divergence(t, p) == pytest.approx(squares, abs=1e-12)
    assert tl.entropy(t) - tl.entropy(tl.TopLists.from_proba([p]))[0] == pytest.approx(squares, abs=1e-12)
    surprise = math.fsum(x * math.log(x / t.proxy) for x in left if x > 0)
    assert tl.divergence(t, p, rule="log") == pytest.approx(surprise, abs=1e-12)


@law
@given(case=cases())
def test_half_the_score_is_the_other_convention(case: Case) -> None:
    t = valid_list(case)
    assert tl.score(t, case.y, rule=tl.Brier(scale_by_half=True)) == 0.5 * tl.score(t, case.y)
    assert tl.entropy(t, rule=tl.Brier(scale_by_half=True)) == 0.5 * tl.entropy(t)


@law
@given(case=cases())
def test_power_two_and_one_vs_rest_are_the_brier_score(case: Case) -> None:
    """Three ways to write it."""
    expected = pytest.approx(tl.score(case.list, case.y, penalty=0), rel=1e-11, abs=1e-15)
    for rule in (tl.Power(2.0), tl.OneVsRest("brier")):
        assert tl.score(case.list, case.y, rule=rule, penalty=0) == expected
