"""The parts of a mean score add up to it, and each is what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.calibration.models import SPECIAL, anything, known, rounded, seeds, special
from tests.properties.cases import law
from toplist.calibration import decompose

FIELDS = ("miscalibration", "discrimination", "uncertainty")


def whole(made: tl.calibration.Decomposition) -> float:
    """What the parts add up to."""
    return made.miscalibration - made.discrimination + made.uncertainty + made.misses + made.penalty + made.within


def holds_together(made: tl.calibration.Decomposition) -> None:
    """The sums that a decomposition of the Brier score keeps."""
    assert whole(made) == pytest.approx(made.score, abs=1e-12)
    for field in FIELDS:
        assert math.fsum(getattr(p, field) for p in made.parts) == pytest.approx(getattr(made, field), abs=1e-13)
        assert all(getattr(p, field) >= 0 for p in made.parts)
    for p in made.parts:
        assert p.miscalibration - p.discrimination + p.uncertainty == pytest.approx(p.score, abs=1e-12)


@given(batch=anything, ranks=st.integers(1, 4), penalty=st.sampled_from([None, 0.0, 0.3]))
@law
def test_the_parts_of_the_brier_score_add_up_to_it(batch, ranks, penalty):
    lists, y = batch
    made = decompose(lists, y, ranks=ranks, penalty=penalty)
    assert made.score == tl.score(lists, y, penalty=penalty).mean()
    assert made.cases == len(lists)
    holds_together(made)


@pytest.mark.parametrize("name", SPECIAL)
def test_the_parts_of_special_lists_add_up(name):
    lists, y = special()[name]
    made = decompose(lists, y)
    assert made.score == tl.score(lists, y).mean()
    holds_together(made)


@given(seed=seeds)
@law
def test_each_part_is_what_isotonic_regression_makes_of_it(seed):
    """By definition: the score of what is promised less that of its fit, that of the base rate less that of the fit."""
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    lists, y = rounded(seed, 40)
    n, scored = len(lists), lists.strictly_valid().ordered()
    for part in decompose(lists, y, ranks=2).parts:
        x, h, w = [], [], []
        for one, outcome in zip(scored, y, strict=True):
            t, listed = one.batch.normalized_confidences, list(one.classes)
            if part.name == "rest":
                x.append(float(one.batch.rest[0]))
                h.append(outcome not in listed)
                w.append(1 / (40 - len(t)))
                continue
            for rank in range(2, len(t)) if part.name == "rank 3 and beyond" else range(len(t)):
                if part.name in (f"rank {rank + 1}", "rank 3 and beyond"):
                    x.append(t[rank])
                    h.append(listed[rank] == outcome)
                    w.append(1.0)
        x, h, w = np.array(x), np.array(h, float), np.array(w)
        fit = isotonic.IsotonicRegression().fit(x, h, sample_weight=w).predict(x)
        base = np.average(h, weights=w)
        said, fitted, flat = ((w * (v - h) ** 2).sum() / n for v in (x, fit, base))
        assert part.entries == len(x)
        assert (part.score, part.miscalibration, part.discrimination, part.uncertainty) == pytest.approx(
            (said, said - fitted, flat - fitted, flat), abs=1e-12
        )


def test_ranks_are_named_and_those_beyond_are_taken_together():
    lists = tl.TopLists.from_dicts([{0: 0.4, 1: 0.3, 2: 0.2}, {0: 0.9}], 9)
    assert [p.name for p in decompose(lists, [0, 1], ranks=1).parts] == ["rank 1", "rank 2 and beyond", "rest"]
    assert [(p.name, p.entries) for p in decompose(lists, [0, 1]).parts] == [
        ("rank 1", 2), ("rank 2", 1), ("rank 3", 1), ("rest", 2)
    ]  # fmt: skip
    assert decompose(tl.TopLists.from_proba([[0.5, 0.5]]), [0]).parts[-1].entries == 0


def test_sharpening_costs_miscalibration_and_nothing_else():
    """A rising map of the confidences of the first rank leaves its other parts alone."""
    right, wrong = (known(3000, 1, sharpen=s) for s in (1.0, 3.0))
    y = right.outcomes(np.random.default_rng(2))
    assert np.array_equal(right.lists.classes, wrong.lists.classes)
    before, after = (decompose(p.lists, y).parts[0] for p in (right, wrong))
    assert after.miscalibration > 10 * before.miscalibration
    assert after.uncertainty == before.uncertainty


def test_perfect_labels_leave_nothing_and_right_frequencies_no_miscalibration():
    perfect = decompose(tl.TopLists.from_labels([0, 1, 2], 3), [0, 1, 2])
    assert (perfect.score, perfect.miscalibration, perfect.misses) == (0, 0, 0)
    lists = tl.TopLists.from_topk([[0]] * 8, [[0.75]] * 4 + [[0.5]] * 4, 3)
    right = decompose(lists, [0, 0, 0, 1, 0, 0, 1, 2])
    assert right.miscalibration == 0
    assert right.discrimination == pytest.approx(0.125**2 * 1.5)


def test_half_the_score_has_half_the_parts():
    lists, y = special()["invalid"]
    full, half = decompose(lists, y), decompose(lists, y, rule=tl.Brier(scale_by_half=True))
    for field in ("score", "misses", "penalty", *FIELDS):
        assert getattr(half, field) == pytest.approx(getattr(full, field) / 2, abs=1e-15)
    holds_together(half)


def test_an_infinite_penalty_is_all_of_an_infinite_score():
    lists, y = special()["invalid"]
    made = decompose(lists, y, penalty=math.inf)
    assert made.score == made.penalty == math.inf
    assert math.isfinite(made.miscalibration)


RULES = ["log", "spherical", "zero-one", "one-vs-rest", tl.Power(1.5)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(batch=anything)
@law
def test_the_parts_of_other_rules_add_up_or_are_none(rule, batch):
    lists, y = batch
    made = decompose(lists, y, rule=rule)
    assert made.score == tl.score(lists, y, rule=rule).mean()
    assert not any(isinstance(v, float) and math.isnan(v) for v in (made.miscalibration, made.discrimination))
    if made.miscalibration is None or made.discrimination is None:
        assert made.note
    else:
        assert whole(made) == pytest.approx(made.score, abs=1e-9)


def test_of_labels_other_rules_have_the_parts_of_the_fit_itself():
    """With one class listed of two, what is calibrated by rank is a distribution: nothing is lost in making lists."""
    rng = np.random.default_rng(0)
    t = np.round(0.5 + rng.random(300) / 2, 2)
    y = np.where(rng.random(300) < t**2, 0, 1)
    lists = tl.TopLists.from_topk(np.zeros((300, 1), int), t[:, None], 2)
    full, made = decompose(lists, y), decompose(lists, y, rule=tl.Power(2))
    for field in FIELDS[:2]:
        assert getattr(made, field) == pytest.approx(getattr(full, field), abs=1e-12)


def test_infinite_scores_are_never_taken_from_each_other():
    labels, y = special()["hard labels"]
    made = decompose(labels, y, rule="log")
    assert (made.score, made.miscalibration) == (math.inf, math.inf)
    assert math.isfinite(made.uncertainty)
    assert "infinite" in made.note
    endless, y = special()["endless"]
    made = decompose(endless, y, rule="log")
    assert (made.miscalibration, made.discrimination, made.uncertainty) == (None, None, math.inf)
    assert "infinite" in made.note


def test_miscalibration_by_recalibration_sees_who_is_too_sure():
    wrong = known(2000, sharpen=2.5)
    y = wrong.outcomes(np.random.default_rng(3))
    right = known(2000)
    for rule in ("log", "spherical"):
        assert decompose(wrong.lists, y, rule=rule).miscalibration > 0.03
        assert abs(decompose(right.lists, y, rule=rule).miscalibration) < 0.03


def test_of_no_cases_there_are_no_parts():
    with pytest.raises(tl.TopListError, match="there are no cases"):
        decompose(tl.TopLists.from_dicts([], 3), [])
    with pytest.raises(tl.TopListError, match="ranks is a whole number"):
        decompose(tl.TopLists.from_labels([0], 2), [0], ranks=0)


@pytest.mark.parametrize("rule", ["log", "spherical"])
def test_classes_that_are_called_by_numbers_are_not_taken_for_codes(rule):
    rows, y = [{2: 0.6, 0: 0.3}, {1: 0.5, 2: 0.4}, {0: 0.7, 1: 0.1}, {2: 0.9}], [2, 2, 1, 0]
    numbered = tl.TopLists.from_dicts(rows, tl.ClassSpace(labels=[2, 0, 1]))
    named = tl.TopLists.from_dicts(
        [{f"c{k}": v for k, v in row.items()} for row in rows], tl.ClassSpace(labels=["c2", "c0", "c1"])
    )
    assert decompose(numbered, y, rule=rule) == decompose(named, [f"c{one}" for one in y], rule=rule)


@pytest.mark.parametrize("rule", ["brier", "log"])
def test_confidences_that_differ_by_rounding_are_one_point(rule: str) -> None:
    """0.1 + 0.2 and 0.3, in every second case, with different hit rates: the parts are those of 0.3 throughout."""
    y = np.array([0, 1, 1, 1] * 10)
    even = np.tile([0.1 + 0.2, 0.3], 20)
    assert even[0] != even[1]
    made, want = (
        decompose(tl.TopLists.from_topk(np.zeros((40, 1), int), t[:, None], 5), y, rule=rule)
        for t in (even, np.full(40, 0.3))
    )
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(made, part) == pytest.approx(getattr(want, part), rel=1e-12, abs=1e-12)
    assert made.discrimination == pytest.approx(0.0, abs=1e-12)
