"""Score against k is what the lists score when they are cut by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.evaluation.factories import KINDS, TABULAR, batch, law, seeds, shown
from toplist.scoring.rules import RULES
from toplist.scoring.truncation_curve import GRID

HARD = [kind for kind in KINDS if kind != "soft"]


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("rule", ["brier", "log", "spherical", "zero-one", tl.Power(1.5), tl.Renyi(0.5)], ids=repr)
@law
@given(seed=seeds, n=st.integers(1, 40))
def test_each_point_is_the_mean_score_of_lists_cut_by_hand(kind: str, rule: object, seed: int, n: int) -> None:
    if kind == "open" and not isinstance(rule, str):
        rule = "brier"
    lists, y = batch(kind, seed, n)
    made, valid = shown(lists, y, rule), lists.strictly_valid()
    for k, mean in zip(made.ks, made.curve, strict=True):
        assert mean == pytest.approx(float(np.mean(tl.score(valid.truncate(k), y, rule=rule, penalty=0))), rel=1e-9)


@pytest.mark.parametrize("kind", ["short", "ties", "dense"])
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_the_curve_that_it_has_elsewhere(kind: str, rule: str) -> None:
    lists, y = batch(kind, 11, 50)
    made = shown(lists, y, rule)
    assert made.curve == pytest.approx(tl.curve(lists, y, ks=made.ks, rule=rule).score, rel=1e-9)


@pytest.mark.parametrize("kind", HARD)
def test_the_curve_goes_from_the_empty_list_to_the_lists_as_they_are(kind: str) -> None:
    lists, y = batch(kind, 2, 50)
    made, longest = shown(lists, y), int(lists.sizes.max())
    assert made.ks == (*(k for k in GRID if k < longest), longest)
    assert made.curve[-1] == pytest.approx(float(tl.score(lists, y, penalty=0).mean()))


@pytest.mark.parametrize("kind", ["short", "ties", "long", "dense", "per case"])
def test_a_rule_that_needs_whole_lists_has_the_same_curve_as_its_closed_form(kind: str) -> None:
    lists, y = batch(kind, 6, 60)
    assert shown(lists, y, TABULAR).curve == pytest.approx(shown(lists, y, "brier").curve, rel=1e-9)


def test_infinite_scores_make_an_infinite_mean_and_never_nan() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.3}], 4)
    made = shown(lists, np.array([3, 0]), "log")
    assert made.ks == (0, 1, 2)
    assert np.isfinite(made.curve[:2]).all()
    assert made.curve[2] == np.inf
    assert [one.score for one in made.shapes] == [pytest.approx(-np.log(0.5)), np.inf]


def test_a_soft_truth_has_no_curve() -> None:
    made = shown(*batch("soft", 3, 20))
    assert (made.ks, made.curve) == ((), ())


def test_lists_of_thousands_of_classes_end_with_their_own_length() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(1500, 0.05), 6)
    made = shown(tl.TopLists.from_proba(p), rng.integers(0, 1500, 6))
    assert made.ks == (*GRID, 1500)
    assert np.isfinite(made.curve).all()
