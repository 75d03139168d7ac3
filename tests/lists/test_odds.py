"""Decimal odds: probabilities without the overround, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import toplist as tl
from toplist.lists.odds import fair_probabilities

METHODS = ("proportional", "power")
rows_of_odds = st.lists(st.floats(1.001, 1e6), min_size=2, max_size=8)


def fair(odds: list[float], method: Any) -> np.ndarray:
    return fair_probabilities(np.array(odds), np.array([0, len(odds)]), method)


@given(rows_of_odds)
def test_probabilities_add_up_to_one_in_the_order_of_the_odds(odds: list[float]) -> None:
    for method in METHODS:
        p = fair(odds, method)
        assert p.sum() == pytest.approx(1.0, abs=1e-14)
        by_odds = p[np.argsort(odds, kind="stable")]
        assert (np.diff(by_odds) <= 1e-15).all()


@given(rows_of_odds)
def test_the_power_is_that_of_a_bracketed_search(odds: list[float]) -> None:
    r = 1 / np.array(odds)
    c = brentq(lambda c: (r**c).sum() - 1.0, 0.0, 1e5, xtol=1e-14, rtol=1e-14)
    assert fair(odds, "power") == pytest.approx(r**c, abs=1e-9)


@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=8), st.sampled_from(METHODS))
def test_fair_odds_are_their_probabilities(weights: list[float], method: str) -> None:
    p = np.array(weights) / sum(weights)
    assert fair((1 / p).tolist(), method) == pytest.approx(p, rel=1e-9)


@given(st.lists(st.floats(0.05, 1.0), min_size=2, max_size=6), st.floats(0.97, 1.3))
def test_division_undoes_a_factor_on_all_reciprocals(weights: list[float], factor: float) -> None:
    p = np.array(weights) / sum(weights)
    odds = 1 / (p * factor)
    if (odds > 1).all():
        assert fair(odds.tolist(), "proportional") == pytest.approx(p, rel=1e-12)


def test_a_power_takes_more_from_long_odds_than_division_does() -> None:
    divided, powered = fair([1.2, 6.0, 15.0], "proportional"), fair([1.2, 6.0, 15.0], "power")
    assert powered[0] > divided[0]
    assert powered[2] < divided[2]


@pytest.mark.parametrize("method", METHODS)
def test_every_constructor_takes_odds(method: Any) -> None:
    odds = np.array([[2.1, 3.4, 3.6], [1.5, 4.2, 7.0]])
    expected = np.concatenate([fair(row, method) for row in odds.tolist()])
    options: dict[str, Any] = {"scale": "odds", "overround": method}
    codes = np.tile(np.arange(3), (2, 1))
    made = [
        tl.TopLists.from_proba(odds, **options),
        tl.TopLists.from_topk(codes, odds, 3, **options),
        tl.TopLists.from_ragged([0, 3, 6], codes.ravel(), odds.ravel(), 3, **options),
        tl.TopLists.from_dicts([dict(enumerate(row)) for row in odds.tolist()], 3, **options),
    ]
    for lists in made:
        assert lists.confidences == pytest.approx(expected, abs=1e-15)
        assert dict(lists.repairs) == {f"overround removed ({method})": 2, "scale: odds": 2}
        assert (lists.rest == 0).all()


def test_sums_below_one_are_raised_and_counted_apart() -> None:
    lists = tl.TopLists.from_proba([[2.2, 3.9, 4.4], [2.0, 3.4, 4.0]], scale="odds")
    assert dict(lists.repairs) == {
        "overround removed (proportional)": 1,
        "sums of odds below 1 raised (proportional)": 1,
        "scale: odds": 2,
    }


def test_fair_odds_have_no_overround_and_a_large_one_is_told() -> None:
    assert dict(tl.TopLists.from_proba([[2.0, 4.0, 4.0], [3.0, 3.0, 3.0]], scale="odds").repairs) == {"scale: odds": 2}
    lists = tl.TopLists.from_proba([[2.0, 4.0, 4.0], [1.5, 2.0, 3.0], [2.1, 3.4, 3.6]], scale="odds")
    assert dict(lists.repairs) == {
        "overround removed (proportional)": 2,
        "overround above 30 %: are these decimal odds?": 1,
        "scale: odds": 3,
    }


def test_a_table_of_odds_is_read_as_its_lists() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"case": [1, 2], "home": [2.1, 1.5], "draw": [3.4, 4.2], "away": [3.6, 7.0]})
    lists = tl.read_lists(table, scale="odds", overround="power")
    assert lists.confidences == pytest.approx(
        np.concatenate([fair([2.1, 3.4, 3.6], "power"), fair([1.5, 4.2, 7], "power")])
    )
    with pytest.raises(tl.TopListError, match="has no effect"):
        tl.read_lists(table, overround="power", normalize=True)


@pytest.mark.parametrize("odd", [1.0, 0.5, 0.0, -110.0, np.nan, np.inf])
def test_odds_are_finite_and_above_one(odd: float) -> None:
    with pytest.raises(tl.ConfidenceError, match=r"case 1: the odds of class 1 are .*Decimal odds"):
        tl.TopLists.from_proba([[2.0, 3.0], [2.0, odd]], scale="odds")


def test_odds_for_some_classes_only_are_refused() -> None:
    with pytest.raises(tl.MassError, match="odds for 2 of 3 classes"):
        tl.TopLists.from_dicts([{"H": 1.9, "A": 2.1}], 3, scale="odds")


def test_odds_that_are_taken_for_confidences_are_refused_with_the_scale_to_pass() -> None:
    with pytest.raises(tl.ConfidenceError, match=r"If these are decimal odds, pass scale='odds'"):
        tl.TopLists.from_proba([[2.1, 3.4, 3.6]])


@pytest.mark.parametrize("options", [{"overround": "shin", "scale": "odds"}, {"overround": "power"}])
def test_a_removal_that_is_not_known_or_has_no_effect_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(tl.TopListError, match="overround"):
        tl.TopLists.from_proba([[0.5, 0.5]], **options)


def test_a_diagnosis_counts_odds_that_are_none() -> None:
    lists = [{"H": 2.1, "D": 3.4, "A": 3.6}] * 4 + [{"H": 0.9, "D": 3.4, "A": 3.6}]
    found = tl.diagnose(lists, ["H"] * 5, space=["H", "D", "A"], read=tl.ReadOptions(scale="odds"))
    assert "above" in str(found)
