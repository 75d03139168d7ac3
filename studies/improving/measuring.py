"""What diagnosis says of half of the cases, and what that half teaches about the other half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl
from studies.improving.data import NETWORKS, SEED, Model
from toplist.calibration import calibration_bias, calibration_test, decompose
from toplist.postprocess import (
    Conformal,
    ambiguity,
    choose_k,
    geometric_pool,
    linear_pool,
    pool_weights,
    rejection_curve,
    select_recalibrator,
)

Record = dict[str, Any]
DRAWS = 999
FOLDS = 5
LEVEL = 0.05
COVERAGES = (0.9, 0.95, 0.99)
# Pairs of pools: what the first one has more than the second.
STEPS = (
    ("fitted weights", "equal weights"),
    ("equal weights, of recalibrated members", "equal weights"),
    ("fitted weights, then recalibrated", "fitted weights"),
)


def measure(models: Sequence[Model]) -> Record:
    """Everything that the page says."""
    networks = [one for one in models if one.data == NETWORKS]
    return {
        "recalibration": [recalibration(one) for one in models],
        "pool": pool(networks),
        "truncation": [truncation(one) for one in models if one.name in ("googlenet", "py3langid")],
        "rejection": [rejection(one) for one in models if one.name in ("googlenet", "VTSanghani-PRIME")],
        "conformal": [conformal(one, coverage) for one in models if _alone(one) for coverage in COVERAGES],
    }


def _alone(one: Model) -> bool:
    """Whether it stands for its data set where one is enough."""
    return one.clusters is None and one.name in ("googlenet", "a classifier", "py3langid")


def recalibration(one: Model) -> Record:
    """Diagnosed as it is, then recalibrated, each case by a choice and a fit that have not seen it."""
    test = calibration_test(one.lists, one.y, draws=DRAWS, seed=SEED, clusters=one.clusters)
    gap = calibration_bias(one.lists, one.y, clusters=one.clusters)
    after, chosen = recalibrated(one)
    board = tl.compare({"before": one.lists, "after": after}, tl.Truth(one.y, cluster=one.clusters, time=one.times))
    before, better = (decompose(lists, one.y) for lists in (one.lists, after))
    return {
        "data": one.data,
        "name": one.name,
        "cases": len(one.y),
        "units": len(one.y if one.clusters is None else np.unique(one.clusters)),
        "p": test.p,
        "miscalibrated": test.p <= LEVEL,
        "gap": {"value": gap.difference, "low": gap.low, "high": gap.high},
        "confidence": gap.mean_confidence,
        "hit_rate": gap.hit_rate,
        "chosen": chosen,
        "brier": {name: board[name].scores["brier"].mean.value for name in ("before", "after")},
        "difference": _difference(board, "after", "before"),
        "log": {name: _log(board[name]) for name in ("before", "after")},
        "miscalibration": {"before": before.miscalibration, "after": better.miscalibration},
        "discrimination": before.discrimination,
        "uncertainty": before.uncertainty,
    }


def recalibrated(one: Model) -> tuple[tl.TopLists, list[str]]:
    """The lists of each fold as the other folds teach, and what was chosen by each."""
    fold = folds(one)
    parts, places, chosen = [], [], []
    for here in (fold == number for number in range(FOLDS)):
        learn, judge = one.part(~here), one.part(here)
        choice = select_recalibrator(learn.lists, learn.y, seed=SEED, clusters=learn.clusters)
        parts.append(choice.best.transform(judge.lists).padded())
        places.append(np.flatnonzero(here))
        chosen.append(type(choice.best).__name__)
    whole = np.concatenate(parts)[np.argsort(np.concatenate(places))]
    return tl.TopLists.from_proba(whole, normalize=True), chosen


def folds(one: Model) -> NDArray[np.intp]:
    """The fold of each case; a cluster stays whole."""
    _, unit = np.unique(np.arange(len(one.y)) if one.clusters is None else one.clusters, return_inverse=True)
    return np.random.default_rng(SEED).permutation(np.arange(unit.max() + 1) % FOLDS)[unit]


def pool(networks: Sequence[Model]) -> Record:
    """The networks together, against each of them, on cases that weights have not seen."""
    halves = {one.name: one.halves() for one in networks}
    learn = {name: half[0].lists for name, half in halves.items()}
    judge = {name: half[1].lists for name, half in halves.items()}
    y_learn, y = next((a.y, b.y) for a, b in halves.values())
    fitted = pool_weights(learn, y_learn)
    better = {
        name: select_recalibrator(lists, y_learn, seed=SEED).best.transform(judge[name])
        for name, lists in learn.items()
    }
    together = select_recalibrator(fitted.transform(learn), y_learn, seed=SEED)
    pools = {
        "equal weights": linear_pool(judge),
        "fitted weights": fitted.transform(judge),
        "geometric, equal weights": geometric_pool(judge),
        "equal weights, of recalibrated members": linear_pool(better),
        "fitted weights, then recalibrated": together.best.transform(fitted.transform(judge)),
    }
    board = tl.compare({**judge, **pools}, y)
    best = next(row.name for row in board if row.name in judge)
    found = ambiguity(judge, y)
    return {
        "best": best,
        "scores": {row.name: row.scores["brier"].mean.value for row in board},
        "accuracy": {row.name: row.metrics["accuracy"].value for row in board},
        "against best": {name: _among_all(board, name, best) for name in pools},
        "steps": [_among_all(board, *pair) | {"pools": pair} for pair in STEPS],
        "weights": dict(zip(fitted.names, map(float, fitted.weights), strict=True)),
        "members": found.mean,
        "gain": found.gain,
        "pool": found.pool,
    }


def truncation(one: Model) -> Record:
    """Score against k on one half, the k that it chooses, and what that k scores on the other half."""
    learn, judge = one.halves()
    found = choose_k(learn.lists, learn.y)
    board = tl.compare({"all": judge.lists, "cut": found.transform(judge.lists)}, judge.y)
    return {
        "data": one.data,
        "name": one.name,
        "k": [int(k) for k in found.at],
        "score": [float(x) for x in found.score],
        "error": [float(x) for x in found.error],
        "best": int(found.best),
        "chosen": int(found.chosen),
        "brier": {row.name: row.scores["brier"].mean.value for row in board},
        "difference": _difference(board, "cut", "all"),
    }


def rejection(one: Model) -> Record:
    """Score against coverage on the second half."""
    _, judge = one.halves()
    found = rejection_curve(judge.lists, judge.y)
    at = np.unique(np.linspace(0, len(found.coverage) - 1, 200).round().astype(int))
    return {
        "data": one.data,
        "name": one.name,
        "coverage": [float(found.coverage[i]) for i in at],
        "accepted": [None if np.isnan(found.accepted[i]) else float(found.accepted[i]) for i in at],
        "overall": [float(found.overall[i]) for i in at],
        "area": found.area,
        "best": float(found.coverage[found.best]),
        "all": float(found.overall[-1]),
        "least": float(found.overall[found.best]),
    }


def conformal(one: Model, coverage: float) -> Record:
    """Conformal lists fitted to one half of the cases, and their coverage on the other half."""
    learn, judge = one.halves()
    made = Conformal(coverage=coverage, seed=SEED).fit(learn.lists, learn.y)
    lists = made.transform(judge.lists)
    return {
        "data": one.data,
        "name": one.name,
        "nominal": coverage,
        "covered": tl.coverage(lists, judge.y),
        "size": float(lists.sizes.mean()),
        "top-beta": _top_beta(judge, coverage),
    }


def _top_beta(judge: Model, coverage: float) -> Record:
    """As many classes as it takes to list the mass, without any correction."""
    lists = judge.lists.truncate(mass=coverage)
    return {"covered": tl.coverage(lists, judge.y), "size": float(lists.sizes.mean())}


def _among_all(board: tl.Leaderboard, a: str, b: str) -> Record:
    """The difference with its interval and p value for all pairs of the board at once."""
    pair = next(one for one in board.pairwise if one.rule == "brier" and {one.a, one.b} == {a, b})
    found: Any = pair.simultaneous
    low, high = (found.low, found.high) if pair.a == a else (-found.high, -found.low)
    return {"value": board.difference(a, b, "brier").value, "low": low, "high": high, "adjusted": pair.adjusted_p}


def _difference(board: tl.Leaderboard, a: str, b: str) -> Mapping[str, float | None]:
    found = board.difference(a, b, "brier")
    return {"value": found.value, "low": found.low, "high": found.high}


def _log(row: Any) -> Record:
    mark = row.scores["log"]
    return {"value": mark.mean.value if np.isfinite(mark.mean.value) else None, "infinite": mark.infinite}
