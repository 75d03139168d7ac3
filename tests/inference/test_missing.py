"""Missing predictions: adjusted means against least squares with dummies, imputation by hand, unequal difficulty."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World
from toplist.errors import TopListError
from toplist.inference.aggregates import ScoreMatrix
from toplist.inference.codec import from_bytes, to_bytes
from toplist.inference.missing import Difficulty, adjusted_means

few = settings(law, max_examples=draws(25))
Floats = np.ndarray[Any, np.dtype[np.float64]]


def holes(seed: int, n: int = 40, k: int = 4, share: float = 0.4) -> Floats:
    """Scores of k models on n cases, which differ in difficulty; some are missing, no case is empty."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, (n, 1)) + rng.normal(0, 0.5, (n, k)) + np.linspace(0, 1, k)
    gone = rng.random((n, k)) < share
    gone[np.arange(n), rng.integers(0, k, n)] = False
    return np.where(gone, np.nan, scores)


def matrix(scores: Floats, **more: Any) -> ScoreMatrix:
    return ScoreMatrix(scores[:, None, :], np.zeros((1, 1)), **more)


@few
@given(st.integers(0, 10**6), st.booleans())
def test_adjusted_means_are_those_of_least_squares_with_a_dummy_per_model_and_case(seed: int, weighted: bool) -> None:
    scores = holes(seed)
    w = np.random.default_rng(seed).uniform(0.5, 2, len(scores)) if weighted else np.ones(len(scores))
    case, model = np.nonzero(~np.isnan(scores))
    design = np.zeros((len(case), len(scores) + scores.shape[1]))
    design[np.arange(len(case)), case] = 1
    design[np.arange(len(case)), len(scores) + model] = 1
    root = np.sqrt(w[case])
    fit = np.linalg.lstsq(design * root[:, None], scores[case, model] * root, rcond=None)[0]
    effects, cases = fit[len(scores) :], fit[: len(scores)]
    expected = effects + w @ cases / w.sum()
    found = adjusted_means(matrix(scores, weights=w if weighted else None), 0)
    assert [one.estimate for one in found if one is not None] == pytest.approx(expected.tolist(), abs=1e-9)


@few
@given(st.integers(0, 10**6))
def test_differences_of_adjusted_means_have_the_cluster_robust_error_of_statsmodels(seed: int) -> None:
    """Contributions of cases to a difference of effects, against a sandwich over cases of the dummy regression."""
    scores = holes(seed)
    case, model = np.nonzero(~np.isnan(scores))
    design = np.zeros((len(case), len(scores) + scores.shape[1] - 1))
    design[np.arange(len(case)), case] = 1
    later = model > 0
    design[np.flatnonzero(later), len(scores) + model[later] - 1] = 1
    fit = sm.OLS(scores[case, model], design).fit()
    theirs = fit.get_robustcov_results("cluster", groups=case, use_correction=False).bse[len(scores)]
    one, other = adjusted_means(matrix(scores), 0)[:2]
    assert one is not None
    assert other is not None
    assert math.sqrt(float(np.square(other.parts - one.parts).sum())) == pytest.approx(float(theirs), rel=1e-6)


@few
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_the_order_of_cases_shows_in_no_digit_of_an_adjusted_mean(seed: int, weighted: bool, clustered: bool) -> None:
    """Neither in its value nor in what clusters or cases contribute; what the codes of clusters are does not either."""
    scores, rng = np.round(holes(seed), 1), np.random.default_rng(seed)
    w = rng.integers(1, 4, len(scores)) / 3 if weighted else None
    units = rng.integers(0, 8, len(scores)) if clustered else None
    order, renamed = rng.permutation(len(scores)), rng.permutation(8)
    one = adjusted_means(matrix(scores, weights=w, units=units), 0)
    w = None if w is None else w[order]
    units = None if units is None else renamed[units][order]
    for a, b in zip(one, adjusted_means(matrix(scores[order], weights=w, units=units), 0), strict=True):
        assert a is not None
        assert b is not None
        assert (a.estimate, a.parts.tolist(), a.shares.tolist()) == (b.estimate, b.parts.tolist(), b.shares.tolist())


def test_without_missing_predictions_adjusted_means_are_means() -> None:
    """Contributions come in an order of their own, so that the order of cases does not show in any digit."""
    scores = holes(1, share=0.0)
    found = adjusted_means(matrix(scores), 0)
    scores = scores[np.lexsort(scores.T)]
    for a, one in enumerate(found):
        assert one is not None
        assert one.estimate == pytest.approx(scores[:, a].mean(), abs=1e-12)
        assert one.parts == pytest.approx((scores[:, a] - scores[:, a].mean()) / len(scores), abs=1e-12)


def test_intervals_of_adjusted_means_hold_where_models_differ_by_the_same_amount() -> None:
    """And a model that predicts only easy cases is not flattered by them."""
    rng, misses, plain = np.random.default_rng(3), 0, 0
    for _ in range(400):
        hard = rng.normal(0, 1, 60)
        scores = hard[:, None] + rng.normal(0, 0.5, (60, 3)) + np.array([0.0, 0.2, 0.4])
        scores[:, 0] = np.where(hard > 0.3, np.nan, scores[:, 0])
        one = World(scores.T).cases("t").adjusted(0, 0)
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        misses += not one.low <= 0.0 <= one.high
        plain += np.nanmean(scores[:, 0]) < -0.2
    assert misses / 400 <= 0.05 + 3 * math.sqrt(0.0475 / 400)
    assert plain > 350


def test_models_that_share_no_case_have_no_adjusted_means_and_infinite_scores_none_of_their_own() -> None:
    scores = np.full((6, 2), np.nan)
    scores[:3, 0], scores[3:, 1] = 1.0, 2.0
    assert adjusted_means(matrix(scores), 0) == [None, None]
    scores = holes(2)
    scores[np.flatnonzero(~np.isnan(scores[:, 1]))[0], 1] = np.inf
    found = adjusted_means(matrix(scores), 0)
    assert [one is None for one in found] == [False, True, False, False]


@pytest.mark.parametrize(("shift", "warned"), [(0.0, False), (1.5, True), (-1.5, True)])
def test_it_is_said_where_missing_cases_are_harder_or_easier(shift: float, warned: bool) -> None:
    rng = np.random.default_rng(5)
    there = rng.random((3, 400)) > 0.3
    scores = rng.normal(0, 1, (3, 400)) + shift * ~there[0]
    found = Difficulty(3)
    for part in np.array_split(np.arange(400), 7):  # in any batches
        found.add(scores[:, part], there[:, part])
    said = found.warnings(["a", "b", "c"], "brier")
    assert [one.models for one in said] == ([("a",)] if warned else [])
    assert not said or ("harder" if shift > 0 else "easier") in said[0].sentence
    whole = Difficulty(3)
    whole.add(scores, there)
    assert (found.sums == whole.sums).all()


def test_how_hard_missing_cases_are_depends_on_no_order_and_no_split() -> None:
    rng = np.random.default_rng(7)
    scores, there = rng.exponential(1, (9, 300)), rng.random((9, 300)) > 0.4
    scores[rng.random(scores.shape) < 0.01] = np.inf
    scores[~there] = np.nan
    whole = Difficulty(9)
    whole.add(scores, there)
    parts = []
    for part in np.array_split(rng.permutation(300), [1, 2, 40, 170]):
        one = Difficulty(9)
        one.add(scores[:, part], there[:, part])
        parts.append(from_bytes(to_bytes(one), Difficulty, "part"))
    merged = (parts[4] + parts[1]) + (parts[0] + (parts[3] + parts[2]))
    assert (merged.sums == whole.sums).all()
    names = "abcdefghi"
    assert merged.warnings(names, "brier") == whole.warnings(names, "brier")
    assert to_bytes(merged) == to_bytes(whole)


def test_how_hard_missing_cases_are_is_the_mean_of_the_other_models() -> None:
    scores = np.array([[1.0, np.nan, 2.0], [0.5, 0.1, np.inf], [0.25, 0.7, 4.0]])
    found = Difficulty(3)
    found.add(scores, ~np.isnan(scores))
    (n, x, xx), (k, y, yy) = found.sums[0]
    assert (n, k) == (2, 1)
    assert Fraction(int(x), 2**1074) == Fraction((0.5 + 0.25) / 2 + 4.0)
    assert Fraction(int(xx), 2**1074) == Fraction(0.375) ** 2 + 16
    assert Fraction(int(y), 2**1074) == Fraction((0.1 + 0.7) / 2)
    assert yy > 0


def test_sums_of_different_numbers_of_models_are_not_added() -> None:
    with pytest.raises(TopListError, match="cannot be added"):
        Difficulty(2) + Difficulty(3)


def test_cases_that_are_missing_at_random_are_rarely_called_otherwise() -> None:
    rng, alarms = np.random.default_rng(6), 0
    for _ in range(300):
        found = Difficulty(5)
        found.add(rng.exponential(1, (5, 200)), rng.random((5, 200)) > 0.4)
        alarms += bool(found.warnings("abcde", "brier"))
    assert alarms / 300 <= 0.01 + 3 * math.sqrt(0.0099 / 300)


FILES = {
    "a.csv": "case,class,confidence\n1,x,0.9\n2,y,0.6\n3,x,0.2\n",
    "b.csv": "case,class,confidence\n1,x,0.5\n3,z,0.8\n",
    "c.csv": "case,class,confidence\n1,y,0.7\n2,x,0.9\n3,x,0.5\n",
    "y.csv": "case,outcome\n1,x\n2,y\n3,x\n4,z\n",
}


def boards(folder: Path, **more: Any) -> tl.Leaderboard:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    models = {name: str(folder / f"{name}.csv") for name in "abc"}
    return tl.compare(models, str(folder / "y.csv"), space=3, rules=("brier", "log"), **more)


def test_a_missing_prediction_is_the_worst_one_of_the_case_or_that_of_the_baseline(tmp_path: Path) -> None:
    board = boards(tmp_path, missing="worst")
    own = {name: board.scores[name]["brier"] for name in "abc"}
    assert all(len(one) == 3 for one in own.values())  # nobody has the fourth case
    assert own["b"][1] == own["c"][1] > own["a"][1]
    assert board.scores["b"]["accuracy"].tolist() == [True, False, False]
    assert {o.name: o.filled for o in board.comparison.sources} == {"a": 0, "b": 1, "c": 0}
    (tmp_path / "y.csv").write_text("case,outcome\n1,x\n2,y\n3,x\n", encoding="utf-8")
    FILES["y.csv"] = "case,outcome\n1,x\n2,y\n3,x\n"
    again = boards(tmp_path, missing="baseline", baseline="a")
    assert again.scores["b"]["log"][1] == again.scores["a"]["log"][1]
    assert "missing predictions scored as those of the baseline: b 1" in again.to_text()
    with pytest.raises(tl.TopListError, match="b lacks 1 case"):
        boards(tmp_path, missing="baseline", baseline="b")
    with pytest.raises(tl.TopListError, match="stands in for missing predictions"):
        boards(tmp_path, missing="baseline")


def test_a_pairwise_board_shows_adjusted_means(tmp_path: Path) -> None:
    board = boards(tmp_path, missing="pairwise")
    assert all(row.scores["brier"].adjusted is not None for row in board)
    assert "two-way fixed effects" in " ".join(board.to_text(detail=True).split())
    assert "adjusted" in board.to_csv()
