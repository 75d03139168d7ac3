"""Softmax of scores: a maximum of the likelihood, with the invariances of scores, and valid lists with a rest."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import toplist as tl
from toplist.postprocess import Recalibrator, SoftmaxOfScores, Temperature

Case = dict[int, float]


def candidates(
    seed: int, n: int, *, slope: float = 1.5, intercept: float = 1.0, longest: int = 6, classes: int = 1000
) -> tuple[list[Case], list[int]]:
    """Cases of different lengths, with outcomes drawn from the softmax of their scores, some outside the candidates."""
    rng = np.random.default_rng(seed)
    cases, y = [], []
    for _ in range(n):
        k = int(rng.integers(1, longest + 1))
        names = rng.choice(classes, size=k, replace=False)
        scores = rng.normal(0.0, 2.0, k)
        weights = np.append(np.exp(slope * scores), math.exp(intercept))
        drawn = int(rng.choice(k + 1, p=weights / weights.sum()))
        cases.append({int(c): float(s) for c, s in zip(names, scores, strict=True)})
        y.append(int(names[drawn]) if drawn < k else classes + 7)
    return cases, y


def loss(cases: list[Case], y: list[int], slope: float, intercept: float, pseudo: float = 0.0) -> float:
    """The mean negative log-likelihood, case by case, with pseudo-cases that are spread evenly."""
    share, total = pseudo / (len(cases) + pseudo), 0.0
    for case, outcome in zip(cases, y, strict=True):
        options = [slope * s for s in case.values()] + [intercept]
        log_z = max(options) + math.log(sum(math.exp(z - max(options)) for z in options))
        own = slope * case[outcome] if outcome in case else intercept
        total += log_z - (1 - share) * own - share * sum(options) / len(options)
    return total / len(cases)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("pseudo", [0.0, 0.5, 20.0])
def test_no_other_parameters_have_a_larger_likelihood(seed: int, pseudo: float) -> None:
    """scipy's simplex search, which knows no derivatives, ends where the fit is."""
    cases, y = candidates(seed, 40)
    model = SoftmaxOfScores(pseudo_cases=pseudo).fit(cases, y)
    found = minimize(
        lambda t: loss(cases, y, t[0], t[1], pseudo),
        [1.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 2000},
    )
    assert [model.slope_, model.intercept_] == pytest.approx(found.x, abs=2e-6)
    assert loss(cases, y, model.slope_, model.intercept_, pseudo) <= found.fun + 1e-13


def test_the_objective_is_convex() -> None:
    """Between any two pairs of parameters it lies below the chord."""
    cases, y = candidates(11, 40)
    rng = np.random.default_rng(0)
    for _ in range(200):
        (a, b), (c, d), t = rng.normal(0, 3, 2), rng.normal(0, 3, 2), rng.random()
        between = loss(cases, y, t * a + (1 - t) * c, t * b + (1 - t) * d)
        assert between <= t * loss(cases, y, a, b) + (1 - t) * loss(cases, y, c, d) + 1e-12


def test_many_cases_recover_the_parameters_that_made_them() -> None:
    cases, y = candidates(1, 6000, slope=0.8, intercept=-0.5)
    model = SoftmaxOfScores().fit(cases, y)
    assert model.slope_ == pytest.approx(0.8, abs=0.05)
    assert model.intercept_ == pytest.approx(-0.5, abs=0.1)
    assert model.temperature_ == pytest.approx(1 / model.slope_)
    assert model.notes_ == ()


@pytest.mark.parametrize("shift", [-1000.0, 3.5, 1e6])
def test_a_constant_that_is_added_to_all_scores_moves_the_intercept_only(shift: float) -> None:
    cases, y = candidates(2, 200)
    moved = [{c: s + shift for c, s in case.items()} for case in cases]
    one, other = SoftmaxOfScores().fit(cases, y), SoftmaxOfScores().fit(moved, y)
    close = 1e-9 * max(1.0, abs(shift))
    assert other.slope_ == pytest.approx(one.slope_, abs=close)
    assert other.intercept_ - other.slope_ * shift == pytest.approx(one.intercept_, abs=close * max(1, abs(shift)))
    assert other.transform(moved).confidences == pytest.approx(one.transform(cases).confidences, abs=1e-8)


@pytest.mark.parametrize("factor", [1e-12, 0.01, 7.0, 1e9])
def test_scores_in_another_unit_give_the_same_lists(factor: float) -> None:
    cases, y = candidates(3, 200)
    scaled = [{c: factor * s for c, s in case.items()} for case in cases]
    one, other = SoftmaxOfScores().fit(cases, y), SoftmaxOfScores().fit(scaled, y)
    assert factor * other.slope_ == pytest.approx(one.slope_, rel=1e-10)
    assert other.intercept_ == pytest.approx(one.intercept_, abs=1e-10)


@pytest.mark.parametrize(
    ("how", "change"), [("max", lambda s: s - s.max()), ("zscore", lambda s: (s - s.mean()) / s.std())]
)
def test_scores_are_standardized_case_by_case(how: str, change: Any) -> None:
    rng = np.random.default_rng(4)
    cases, y = candidates(4, 150)
    drifting = [{c: s + rng.normal(0, 50) for c, s in case.items()} for case in cases if len(case) > 1]
    y = [one for one, case in zip(y, cases, strict=True) if len(case) > 1]
    by_hand = [dict(zip(case, change(np.array(list(case.values()))).tolist(), strict=True)) for case in drifting]
    one, other = SoftmaxOfScores(standardize=how).fit(drifting, y), SoftmaxOfScores().fit(by_hand, y)
    assert one.slope_ == pytest.approx(other.slope_, rel=1e-9)
    assert one.transform(drifting).confidences == pytest.approx(other.transform(by_hand).confidences, abs=1e-10)


def test_held_out_cases_score_better_than_an_even_list() -> None:
    """The log score of the fit is below that of the same mass for each candidate and the rest."""
    cases, y = candidates(5, 1200)
    model = SoftmaxOfScores().fit(cases[:600], y[:600])
    even = sum(math.log(len(case) + 1) for case in cases[600:]) / 600
    assert loss(cases[600:], y[600:], model.slope_, model.intercept_) < even - 0.1


def test_the_lists_are_the_softmax_with_the_rest_as_one_more_option() -> None:
    cases, y = candidates(6, 100)
    model = SoftmaxOfScores().fit(cases, y)
    lists = model.transform(cases)
    for case, confidences, rest in zip(
        cases, np.split(lists.confidences, lists.offsets[1:-1]), lists.rest, strict=True
    ):
        weights = np.append(np.exp(model.slope_ * np.array(list(case.values()))), math.exp(model.intercept_))
        assert [*confidences, rest] == pytest.approx(weights / weights.sum(), abs=1e-12)


def test_outcomes_outside_the_candidates_leave_a_rest() -> None:
    """A third of the outcomes is outside: so is a third of the mass, on average."""
    rng = np.random.default_rng(7)
    cases = [{0: float(rng.normal()), 1: float(rng.normal())} for _ in range(900)]
    y = [int(rng.integers(0, 3)) * 5 for _ in cases]
    y = [{0: 0, 5: 1, 10: 99}[one] for one in y]
    lists = SoftmaxOfScores(pseudo_cases=0).fit_transform(cases, y)
    assert lists.rest.mean() == pytest.approx(np.mean([one == 99 for one in y]), abs=1e-9)
    assert (lists.rest > 0).all()


def test_no_outcome_outside_leaves_about_half_a_case_for_the_rest() -> None:
    rng = np.random.default_rng(8)
    cases = [{0: float(rng.normal()), 1: float(rng.normal())} for _ in range(400)]
    y = [int(rng.random() < 0.5) for _ in cases]
    model = SoftmaxOfScores().fit(cases, y)
    assert 0 < model.transform(cases).rest.mean() < 0.5 / 400
    assert any("no outcome of 400 cases is outside the candidates" in note for note in model.notes_)
    with pytest.raises(tl.TopListError, match="has no maximum: no outcome"):
        SoftmaxOfScores(pseudo_cases=0).fit(cases, y)


def test_scores_that_separate_outcomes_have_a_finite_temperature_and_a_note() -> None:
    cases = [{0: 2.0, 1: 1.0}, {0: 0.5, 1: 3.0}, {0: -5.0, 1: -4.0}] * 20
    y = [0, 1, 99] * 20
    model = SoftmaxOfScores().fit(cases, y)
    assert 0 < model.slope_ < 1000
    assert abs(model.intercept_) < 1000
    assert any("likeliest in every case" in note for note in model.notes_)
    with pytest.raises(tl.TopListError, match="no maximum: the outcome is the likeliest"):
        SoftmaxOfScores(pseudo_cases=0).fit(cases, y)


def test_scores_of_which_small_ones_are_good_do_not_count_and_say_so() -> None:
    cases, y = candidates(9, 400)
    worse = [{c: -s for c, s in case.items()} for case in cases]
    model = SoftmaxOfScores().fit(worse, y)
    assert model.slope_ == 0.0
    assert model.temperature_ == math.inf
    assert any("negate" in note for note in model.notes_)
    assert SoftmaxOfScores().fit(cases, y).slope_ > 0


def test_a_score_for_every_class_has_no_rest() -> None:
    rng = np.random.default_rng(10)
    scores = rng.normal(size=(300, 4))
    p = np.exp(2 * scores)
    y = [int(rng.choice(4, p=row / row.sum())) for row in p]
    model = SoftmaxOfScores(pseudo_cases=0).fit(scores, y)
    lists = model.transform(scores)
    assert (lists.rest == 0).all()
    expected = np.exp(model.slope_ * scores)
    assert lists.confidences.reshape(-1, 4) == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=1e-12)
    assert model.notes_ == ("every case lists all classes: there is no rest",)


def test_one_class_more_than_candidates_is_the_rest() -> None:
    cases, y = [{"a": 1.0, "b": 0.0}, {"b": 2.0, "c": 1.0}] * 30, ["a", "a"] * 30
    lists = SoftmaxOfScores().fit(cases, y, space=["a", "b", "c"]).transform(cases, space=["a", "b", "c"])
    assert lists.space.size == 3
    assert (lists.rest > 0).all()


@pytest.mark.parametrize(
    "form",
    [
        lambda cases: ([list(c) for c in cases], [list(c.values()) for c in cases]),
        lambda cases: (
            np.cumsum([0, *map(len, cases)]),
            np.array([c for case in cases for c in case]),
            np.array([s for case in cases for s in case.values()]),
        ),
        lambda cases: [[{"label": c, "score": s} for c, s in case.items()] for case in cases],
    ],
    ids=["pairs", "ragged", "records"],
)
def test_every_form_of_scores_gives_the_same_fit(form: Any) -> None:
    cases, y = candidates(12, 80)
    one, other = SoftmaxOfScores().fit(cases, y), SoftmaxOfScores().fit(form(cases), y)
    assert (one.slope_, one.intercept_) == (other.slope_, other.intercept_)


@pytest.mark.parametrize("form", ["frame", "file"])
def test_tables_of_scores_give_the_same_fit_with_their_ids(form: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    cases, y = candidates(18, 80)
    rows = [(f"q{at}", f"c{c}", s) for at, case in enumerate(cases) for c, s in case.items()]
    table = pandas.DataFrame(rows, columns=["case", "class", "score"])
    table.to_csv(tmp_path / "scores.csv", index=False)
    given = table if form == "frame" else tmp_path / "scores.csv"
    names = pandas.Series([f"c{one}" for one in y], index=pandas.Index([f"q{at}" for at in range(80)], name="case"))
    one, other = SoftmaxOfScores().fit(cases, y), SoftmaxOfScores().fit(given, names)
    assert (one.slope_, one.intercept_) == pytest.approx((other.slope_, other.intercept_), abs=1e-12)
    assert other.transform(given).ids.tolist() == names.index.tolist()
    with pytest.raises(tl.AlignmentError):
        SoftmaxOfScores().fit(given, names.iloc[::-1])


def test_weights_count_as_repeated_cases_do() -> None:
    cases, y = candidates(13, 60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    often = [case for case, times in zip(cases, weight, strict=True) for _ in range(times)]
    outcomes = [one for one, times in zip(y, weight, strict=True) for _ in range(times)]
    one = SoftmaxOfScores(pseudo_cases=0).fit(cases, y, sample_weight=weight)
    other = SoftmaxOfScores(pseudo_cases=0).fit(often, outcomes)
    assert (one.slope_, one.intercept_) == pytest.approx((other.slope_, other.intercept_), abs=1e-9)


def test_cases_without_candidates_are_rejects_that_teach_nothing() -> None:
    cases, y = candidates(14, 50)
    one = SoftmaxOfScores().fit(cases, y)
    other = SoftmaxOfScores().fit([{}, *cases, {}], [3, *y, 4])
    assert (one.slope_, one.intercept_) == pytest.approx((other.slope_, other.intercept_), abs=1e-12)
    assert one.transform([{}, {1: 2.0}]).sizes.tolist() == [0, 1]


def test_cross_fitted_lists_are_by_fits_that_have_not_seen_the_case() -> None:
    cases, y = candidates(15, 100)
    lists = SoftmaxOfScores().cross_fit_transform(cases, y, folds=5, seed=3, clusters=np.arange(100) // 20)
    expected = []
    for block in range(5):
        mine = [i for i in range(100) if i // 20 == block]
        others = [i for i in range(100) if i // 20 != block]
        model = SoftmaxOfScores().fit([cases[i] for i in others], [y[i] for i in others])
        expected.append(model.transform([cases[i] for i in mine]).confidences)
    assert lists.confidences == pytest.approx(np.concatenate(expected), abs=1e-12)


def test_a_saved_softmax_is_read_back_to_the_last_bit(tmp_path: Path) -> None:
    cases, y = candidates(16, 40)
    model = SoftmaxOfScores(standardize="max").fit(cases, y)
    model.save(tmp_path / "softmax.json")
    again = tl.postprocess.load(tmp_path / "softmax.json")
    assert again.transform(cases) == model.transform(cases)
    assert again.notes_ == model.notes_
    assert repr(again) == repr(model)
    assert isinstance(Recalibrator.load(tmp_path / "softmax.json"), SoftmaxOfScores)


def test_its_lists_are_recalibrated_as_any_others() -> None:
    cases, y = candidates(17, 200)
    space = tl.ClassSpace(2000)
    lists = SoftmaxOfScores().fit(cases, y, space=space).transform(cases, space=space)
    assert lists.is_valid().all()
    assert Temperature().fit(lists, y).is_fitted


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([{"a": math.nan}], "a score is nan"),
        ([{"a": math.inf}], "a score is inf"),
        (tl.TopLists.from_dicts([{"a": 0.5}], 3), "lists of probabilities"),
        ("no-such-scores.csv", "there is no such file"),
        (([["a", "a"]], [[1.0, 2.0]]), "listed twice"),
    ],
)
def test_what_is_no_score_is_refused(scores: Any, problem: str) -> None:
    with pytest.raises(tl.TopListError, match=problem):
        SoftmaxOfScores().fit(scores, ["a"])


def test_it_takes_no_lists_in_a_chain() -> None:
    lists = tl.TopLists.from_dicts([{"a": 0.5}], 3)
    with pytest.raises(tl.TopListError, match="takes no lists"):
        tl.postprocess.Chain(steps=[SoftmaxOfScores()]).fit(lists, ["a"])


@pytest.mark.parametrize("options", [{"standardize": "rank"}, {"pseudo_cases": -1}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(tl.TopListError, match=next(iter(options))):
        SoftmaxOfScores(**options).fit([{"a": 1.0}], ["a"])


def test_outcomes_that_have_the_largest_score_whenever_they_are_candidates_are_noted_or_refused() -> None:
    rng = np.random.default_rng(0)
    scores = [{"a": float(rng.normal()), "b": float(rng.normal())} for _ in range(200)]
    y = [max(one, key=one.__getitem__) if rng.random() < 0.7 else "z" for one in scores]
    with pytest.raises(tl.TopListError, match="no maximum: an outcome that is a candidate always has the largest"):
        SoftmaxOfScores(standardize="max", pseudo_cases=0).fit(scores, y)
    (note,) = SoftmaxOfScores(standardize="max").fit(scores, y).notes_
    assert note == (
        "an outcome that is a candidate always has the largest score: the fit is finite by 0.5 pseudo-cases"
    )
    y[0] = min(scores[0], key=scores[0].__getitem__)  # one that has not
    assert not SoftmaxOfScores(standardize="max", pseudo_cases=0).fit(scores, y).notes_


def test_levels_of_scores_that_tell_outcomes_outside_apart_in_part_have_a_maximum() -> None:
    scores = [{"a": 2.0, "b": 1.0}, {"a": 3.0, "b": 0.0}, {"a": 2.5, "b": 1.0}] * 5
    assert not SoftmaxOfScores(pseudo_cases=0).fit(scores, ["a", "z", "a"] * 5).notes_
