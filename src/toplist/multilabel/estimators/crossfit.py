"""Scores of training cases from models that have not seen them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, check_cv

from toplist.errors import TopListError
from toplist.multilabel.estimators.labels import Bools, Floats, fit_labels, score_labels

Ints = NDArray[np.int64]


def assign_folds(cv: Any, X: Any, Y: Bools, rng: np.random.RandomState) -> Ints:
    """The fold of each case: `cv` shuffled ones, or those of a splitter that puts each case into one test part."""
    cases = len(Y)
    if cases < 2:
        raise TopListError(f"cross-fitting holds some cases out and learns from the others; n_samples={cases}.")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise TopListError(f"cross-fitting takes two folds or more, not cv={cv}.")
        cv = KFold(min(int(cv), cases), shuffle=True, random_state=rng)
    fold, times = np.zeros(cases, np.int64), np.zeros(cases, np.int64)
    for number, (_, held_out) in enumerate(check_cv(cv).split(X, Y)):
        fold[held_out] = number
        times[held_out] += 1
    if (times != 1).any():
        raise TopListError("cv must hold each case out once; this splitter does not. Take a number of folds, or KFold.")
    return fold


def out_of_fold(
    estimator: Any, X: Any, Y: Bools, fold: Ints, *, rng: np.random.RandomState | None, n_jobs: int | None
) -> Floats:
    """What classifiers that learnt from the other folds say of each case."""
    out = np.empty(Y.shape)
    for held_out in range(int(fold.max()) + 1):
        there = fold == held_out
        models = fit_labels(estimator, X[~there], Y[~there], rng=rng, n_jobs=n_jobs)
        out[there] = score_labels(models, X[there], n_jobs=n_jobs)
    return out


def out_of_two_folds(
    estimator: Any, X: Any, Y: Bools, fold: Ints, *, rng: np.random.RandomState | None, n_jobs: int | None
) -> list[Floats]:
    """For each fold, what classifiers that learnt neither from it nor from a case's own fold say of the others' cases.

    A calibrator for a fold that learns from these has never heard of the fold's labels, not even through the
    classifiers. Rows of the fold itself are NaN.
    """
    folds = int(fold.max()) + 1
    if folds < 3:
        raise TopListError(
            "calibrated candidates need three folds or more: one to look at, one to calibrate, one to learn."
        )
    out = [np.full(Y.shape, np.nan) for _ in range(folds)]
    for one, other in combinations(range(folds), 2):
        there = (fold == one) | (fold == other)
        models = fit_labels(estimator, X[~there], Y[~there], rng=rng, n_jobs=n_jobs)
        said = score_labels(models, X[there], n_jobs=n_jobs)
        out[one][fold == other] = said[fold[there] == other]
        out[other][fold == one] = said[fold[there] == one]
    return out
