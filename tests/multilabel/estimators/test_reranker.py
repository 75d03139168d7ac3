"""Binary relevance whose likely sets a boosted classifier weighs again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import toplist as tl
from tests.multilabel.estimators.factories import clusters
from toplist.multilabel import BinaryRelevance, Reranker
from toplist.multilabel.estimators import reranker
from toplist.multilabel.estimators.labels import out_of_fold, out_of_two_folds
from toplist.multilabel.estimators.reranker import FALLING, RISING, SUMMARIES, Examples, FoldModel, cross_fitted

PROBLEM = clusters()


@pytest.fixture(scope="module")
def model() -> Reranker:
    return Reranker(random_state=0).fit(PROBLEM.X, PROBLEM.Y)


def test_it_is_better_than_the_product_where_labels_go_together() -> None:
    X, Y, X_test, Y_test = clusters(400, 600)
    plain, again = BinaryRelevance(), Reranker(random_state=0)
    scores = [tl.score(one.fit(X, Y).predict_toplist(X_test), Y_test) for one in (plain, again)]
    gain = scores[0] - scores[1]
    assert gain.mean() / (gain.std(ddof=1) / np.sqrt(len(gain))) > 3


def _shown(X: Any, Y: Any, calibration: str | None) -> Examples:
    """What a booster would be shown, with three folds."""
    space, held = tl.LabelSets(range(Y.shape[1])), Y > 0
    fold = np.arange(len(Y)) % 3
    scores, twice = (
        made(GaussianNB(), X, held, fold, rng=None, n_jobs=None) for made in (out_of_fold, out_of_two_folds)
    )
    model = FoldModel.of(space, held, calibration=calibration, count=6, support=True)
    return cross_fitted(model, scores, twice, held, fold)


@pytest.mark.parametrize("calibration", [None, "isotonic", "beta"])
@pytest.mark.parametrize("case", [0, 17, 100])
def test_no_case_has_a_say_in_what_is_shown_of_it(calibration: str | None, case: int) -> None:
    """Other labels for one case, and its rows stay what they are; those of other folds do not."""
    X, Y = PROBLEM.X, PROBLEM.Y
    changed = Y.copy()
    changed[case] = 1 - changed[case]
    before, after = _shown(X, Y, calibration), _shown(X, changed, calibration)
    same_fold = before.case % 3 == case % 3
    assert np.array_equal(before.rows[same_fold], after.rows[after.case % 3 == case % 3])
    assert not np.array_equal(before.rows[~same_fold], after.rows[after.case % 3 != case % 3])


def test_what_is_shown_of_a_case_is_what_would_be_predicted_without_its_fold() -> None:
    """The rows of a fold are those of new cases, for a reranker that learns from the other folds."""
    X, Y = PROBLEM.X, PROBLEM.Y
    held, fold = Y > 0, np.arange(len(Y)) % 3
    shown = _shown(X, Y, None)
    others = fold != 1
    model = FoldModel.of(tl.LabelSets(range(5)), held, calibration=None, count=6, support=True)
    p = BinaryRelevance(GaussianNB()).fit(X[others], Y[others]).predict_proba(X[~others])
    _, rows = model.rows(model.inside(p), reranker.TrainingSets.of(model.space, held[others]))
    assert np.array_equal(shown.rows[fold[shown.case] == 1], rows)


def test_cases_are_on_one_side_of_the_split_that_says_when_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    split = []

    def watch(rows: Any, true: Any, later: Any, truth: Any, seed: int, n_jobs: int | None) -> Any:
        split.append((len(rows), len(later)))
        return GaussianNB().fit(rows, true)

    monkeypatch.setitem(reranker.BOOSTERS, "hist", watch)
    Reranker(cv=KFold(5), candidates=4, support=False).fit(PROBLEM.X, PROBLEM.Y)
    assert split == [(120 * 4, 30 * 4)] * 5


@pytest.mark.parametrize("column", [*RISING, *FALLING])
def test_it_is_monotone_in_the_product(model: Reranker, column: int) -> None:
    """A more probable set that is otherwise the same, with its smaller gap and better rank, is never less likely."""
    rows = _shown(PROBLEM.X, PROBLEM.Y, "beta").rows[:200]
    low, high = rows.copy(), rows.copy()
    high[:, column] += 2.0
    gained = reranker.mean_probability(model.boosters_, high) - reranker.mean_probability(model.boosters_, low)
    assert (gained >= 0).all() if column in RISING else (gained <= 0).all()
    assert gained.any()
    assert [SUMMARIES[at] for at in (*RISING, *FALLING)] == ["log product", "log prior", "gap to the best", "rank"]


def test_lists_are_valid_ordered_and_leave_what_they_do_not_know(model: Reranker) -> None:
    lists = model.predict_toplist(PROBLEM.X_test)
    assert lists.is_valid().all()
    assert (lists.sizes <= 10).all()
    assert lists == lists.ordered()
    assert (lists.rest >= 0).all()
    assert lists.rest.max() > 0.01


def test_where_all_sets_are_candidates_the_list_is_a_distribution() -> None:
    X, Y, X_test, Y_test = PROBLEM
    lists = Reranker(cv=3, candidates=4, k=4, random_state=0).fit(X, Y[:, :2]).predict_toplist(X_test)
    assert np.array_equal(lists.sizes, np.full(len(X_test), 4))
    assert np.allclose(lists.confidences.reshape(-1, 4).sum(axis=1), 1)
    assert np.isfinite(tl.score(lists, Y_test[:, :2], rule="log")).all()


def test_marginals_are_of_the_list_and_of_the_labels_for_the_rest(model: Reranker) -> None:
    p = model.predict_proba(PROBLEM.X_test)
    lists = model.predict_toplist(PROBLEM.X_test, 60)
    held = lists.space.sets_of(lists.classes).indicators() * lists.confidences[:, None]
    listed = np.add.reduceat(held, lists.offsets[:-1])
    assert (p >= listed - 1e-12).all()
    assert (p <= listed + lists.rest[:, None] + 1e-12).all()
    assert 0 < p.min() <= p.max() < 1


@pytest.mark.parametrize("labels", [5, 70])
def test_the_same_seed_gives_the_same_lists(labels: int) -> None:
    """Also where codes of sets are digests."""
    X, Y, X_test, Y_test = PROBLEM
    wide, test = (np.hstack((y, np.zeros((len(y), labels - 5), int))) for y in (Y, Y_test))
    first, again = (
        Reranker(cv=3, random_state=3, n_jobs=jobs).fit(X, wide).predict_toplist(X_test) for jobs in (None, 1)
    )
    assert first == again
    assert tl.score(first, test).mean() < 0.9


def test_lightgbm_does_as_well() -> None:
    pytest.importorskip("lightgbm", reason="the other booster")
    X, Y, X_test, Y_test = PROBLEM
    made = [Reranker(booster=name, cv=3, n_jobs=1, random_state=0).fit(X, Y) for name in ("hist", "lightgbm")]
    hist, light = (tl.score(one.predict_toplist(X_test), Y_test).mean() for one in made)
    assert abs(hist - light) < 0.05


def test_any_classifier_can_say_which_candidate_is_true() -> None:
    """Also one that says zero of all candidates of a case: that one keeps its product."""
    X, Y, X_test, _ = PROBLEM
    forest = RandomForestClassifier(3, max_depth=4, random_state=0)
    model = Reranker(booster=forest, cv=3, random_state=0).fit(X, Y)
    lists = model.predict_toplist(X_test)
    assert lists.is_valid().all()
    assert (lists.sizes > 0).all()
    assert np.array_equal(model.predict(X_test).shape, (len(X_test), 5))


def test_labels_that_never_vary_are_no_trouble() -> None:
    X, Y, X_test, _ = PROBLEM
    wide = np.hstack((Y, np.zeros((len(Y), 1), int), np.ones((len(Y), 1), int)))
    predicted = Reranker(cv=3, random_state=0).fit(X, wide).predict(X_test)
    assert not predicted[:, 5].any()
    assert predicted[:, 6].all()
    alike = Reranker(cv=3, candidates=2, random_state=0).fit(X, np.tile([0, 1], (len(X), 1)))
    assert np.array_equal(alike.predict(X_test), np.tile([0, 1], (len(X_test), 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"booster": "xgboost"}, "the booster is 'hist' or 'lightgbm' or a classifier"),
        ({"booster": LinearSVC()}, "LinearSVC has no predict_proba"),
        ({"candidates": 0}, "candidates is a whole number"),
        ({"calibration": "sigmoid"}, "calibration is None"),
        ({"cv": 0}, "two folds or more"),
        ({"cv": 2}, "three folds or more"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_fitted(options: dict, message: str) -> None:
    with pytest.raises(tl.TopListError, match=message):
        Reranker(**options).fit(PROBLEM.X, PROBLEM.Y)
