"""Which candidate is the true set: boosted classifiers that are monotone in the product, and stop by cases held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from toplist.errors import TopListError
from toplist.multilabel.estimators.features import Rows, monotone
from toplist.multilabel.estimators.labels import Bools, Constant, Floats, seeded

Ints = NDArray[np.int64]

RATE, ROUNDS, LEAVES, RIDGE, PATIENCE = 0.1, 500, 15, 1.0, 15
"""Learning rate, most rounds, leaves of a tree, penalty on their values, rounds without progress before it stops."""


def fit_boosters(
    booster: Any, rows: Rows, true: Bools, fold: Ints, *, rng: np.random.RandomState, n_jobs: int | None
) -> list[Any]:
    """A classifier for each fold, which learns from the other folds and stops when this one gets worse.

    `fold` is that of a row's case, so that no case is on both sides. A classifier that people bring learns from the
    other folds as well, and stops as it likes.
    """
    if true.all() or not true.any():
        return [Constant.of(true)]
    fitted = []
    for held_out in range(int(fold.max()) + 1):
        there, seed = fold == held_out, int(rng.randint(np.iinfo(np.int32).max))
        known = true[~there]
        if known.all() or not known.any():
            fitted.append(Constant.of(known))
        elif not isinstance(booster, str):
            fitted.append(seeded(booster, rng).fit(rows[~there], known.astype(np.int64)))
        else:
            fitted.append(BOOSTERS[booster](rows[~there], known, rows[there], true[there], seed, n_jobs))
    return fitted


def say(fitted: Sequence[Any], rows: Rows) -> Floats:
    """The mean probability that a row is the true set."""
    each = [one(rows) if isinstance(one, Constant) else one.predict_proba(rows)[:, 1] for one in fitted]
    return np.asarray(np.mean(each, axis=0), dtype=np.float64)


def say_of_others(fitted: Sequence[Any], rows: Rows, fold: Ints) -> Floats:
    """The probability that a row is the true set, by the classifier that has not learnt from its fold."""
    if len(fitted) == 1:
        return say(fitted, rows)
    out = np.empty(len(rows))
    for held_out, one in enumerate(fitted):
        there = fold == held_out
        if there.any():
            out[there] = say([one], rows[there])
    return out


def require_booster(booster: Any) -> None:
    """Raise if there is no such booster."""
    if isinstance(booster, str):
        if booster not in BOOSTERS:
            raise TopListError(f"the booster is {' or '.join(map(repr, BOOSTERS))} or a classifier, not {booster!r}.")
        if booster == "lightgbm":
            _lightgbm()
    elif not hasattr(booster, "predict_proba"):
        raise TopListError(f"{type(booster).__name__} has no predict_proba: a list needs probabilities.")


def _hist(rows: Rows, true: Bools, later: Rows, truth: Bools, seed: int, _: int | None) -> Any:
    model = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=_smallest(rows),
        l2_regularization=RIDGE,
        monotonic_cst=monotone(rows.shape[1]),
        early_stopping=True,
        n_iter_no_change=PATIENCE,
        random_state=seed,
    )
    return model.fit(rows, true, X_val=later, y_val=truth)


def _light(rows: Rows, true: Bools, later: Rows, truth: Bools, seed: int, n_jobs: int | None) -> Any:
    lightgbm = _lightgbm()
    model = lightgbm.LGBMClassifier(
        learning_rate=RATE,
        n_estimators=ROUNDS,
        num_leaves=LEAVES,
        min_child_samples=_smallest(rows),
        reg_lambda=RIDGE,
        monotone_constraints=monotone(rows.shape[1]),
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
        random_state=seed,
        n_jobs=n_jobs,
    )
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    new = "eval_X" in signature(model.fit).parameters
    watched = {"eval_X": later, "eval_y": truth} if new else {"eval_set": [(later, truth)]}
    return model.fit(rows, true, **watched, callbacks=[stop])


BOOSTERS: Mapping[str, Callable[..., Any]] = {"hist": _hist, "lightgbm": _light}


def _smallest(rows: Rows) -> int:
    """The fewest rows of a leaf: 50, and fewer where there are few."""
    return min(50, 1 + len(rows) // 20)


def _lightgbm() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError:
        raise TopListError('booster="lightgbm" needs LightGBM: pip install lightgbm, or take booster="hist".') from None
