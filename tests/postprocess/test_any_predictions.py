"""Every public name of `tl.postprocess` takes whatever `as_lists` takes, and gives what it gives for these lists."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from toplist import postprocess as pp

NAMES = "abcd"
N = 24


def _distributions(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(4), N)


def _forms(seed: int) -> dict[str, tuple[Any, tl.TopLists]]:
    p, space = _distributions(seed), tl.ClassSpace(labels=list(NAMES))
    rows = [{NAMES[c]: float(x) for c, x in enumerate(row) if x > 0.2} for row in p]
    labels = [NAMES[c] for c in p.argmax(axis=1)]
    lists = tl.TopLists.from_dicts(rows, space)
    thin = sparse.csr_array(np.where(p > 0.2, p, 0.0))
    return {
        "array": (p, tl.TopLists.from_proba(p, space)),
        "nested lists": (p.tolist(), tl.TopLists.from_proba(p, space)),
        "sparse": (thin, tl.TopLists.from_csr(thin, space)),
        "dicts": (rows, lists),
        "labels": (labels, tl.TopLists.from_labels(labels, space)),
        "lists": (lists, lists),
    }


SPACE = tl.ClassSpace(labels=list(NAMES))
Y = [NAMES[c] for c in np.random.default_rng(9).integers(0, 4, N)]
COSTS = 1.0 - np.eye(4)

Call = Callable[[Any, Any, Any], Any]  # of one model's predictions, another's, and the space

CALLS: dict[str, Call] = {
    "AutoRecalibrator": lambda p, _, space: _refit(pp.AutoRecalibrator(folds=2, candidates=[pp.Beta()]), p, space),
    "Beta": lambda p, _, space: _refit(pp.Beta(), p, space),
    "BucketTemperature": lambda p, _, space: _refit(pp.BucketTemperature(), p, space),
    "Chain": lambda p, _, space: _refit(pp.Chain(steps=[pp.BucketTemperature(), pp.RestFloor(floor=0.1)]), p, space),
    "Conformal": lambda p, _, space: _conformal(p, space),
    "Identity": lambda p, _, space: _refit(pp.Identity(), p, space),
    "Isotonic": lambda p, _, space: _refit(pp.Isotonic(), p, space),
    "RestFloor": lambda p, _, space: _refit(pp.RestFloor(), p, space),
    "Temperature": lambda p, _, space: _refit(pp.Temperature(), p, space),
    "VectorScaling": lambda p, _, space: _refit(pp.VectorScaling(), p, space),
    "ambiguity": lambda p, q, space: pp.ambiguity([p, q], Y, space=space),
    "choose_k": lambda p, _, space: _transformed(pp.choose_k(p, Y, space=space), p, space),
    "augrc": lambda p, _, space: pp.augrc(p, Y, space=space),
    "choose_mass": lambda p, _, space: _transformed(pp.choose_mass(p, Y, space=space), p, space),
    "cross_fitted": lambda p, _, space: pp.cross_fitted(pp.BucketTemperature(), p, Y, folds=3, space=space),
    "decide": lambda p, _, space: pp.decide(p, COSTS, space=space),
    "decide_sets": lambda p, _, space: pp.decide_sets(p, 0.1, space=space),
    "geometric_pool": lambda p, q, space: pp.geometric_pool({"p": _floored(p, space), "q": q}, space=space),
    "linear_pool": lambda p, q, space: pp.linear_pool([p, q], k=2, space=space),
    "pool_weights": lambda p, q, space: _transformed(pp.pool_weights([p, q], Y, space=space), [p, q], space),
    "reject_below": lambda p, _, space: pp.reject_below(p, 0.5, space=space),
    "rejection_curve": lambda p, _, space: _transformed(pp.rejection_curve(p, Y, space=space), p, space),
    "select_recalibrator": lambda p, _, space: pp.select_recalibrator(p, Y, candidates=[pp.Beta()], space=space),
    "stack": lambda *given: _stacked(*given),  # noqa: PLW0108 - defined below
    "truncate_by_gain": lambda p, _, space: pp.truncate_by_gain(p, 0.01, space=space),
    "worth": lambda p, _, space: pp.worth(p, Y, space=space),
}
RESULTS = {
    "Ambiguity", "CandidateScore", "ConformalSets", "CostTable", "Decisions", "PoolWeights", "Recalibrator",
    "RejectionCurve", "Selection", "SetDecisions", "Special", "Stack", "Truncation", "Worth", "load",
}  # fmt: skip
SCORES = {"SoftmaxOfScores"}  # takes candidates with scores


def _refit(made: pp.Recalibrator, p: Any, space: Any) -> Any:
    together = made.clone().fit_transform(p, Y, space=space)
    return made.fit(p, Y, space=space).to_dict(), made.transform(p, space=space), together


def _conformal(p: Any, space: Any) -> Any:
    made = pp.Conformal(coverage=0.7).fit(p, Y, space=space)
    sets = made.sets(p, space=space)
    return made.to_dict(), sets, made.transform(p, space=space), sets.covers(Y)


def _transformed(made: Any, p: Any, space: Any) -> Any:
    return made, made.transform(p, space=space)


def _floored(p: Any, space: Any) -> tl.TopLists:
    return pp.RestFloor(floor=0.01).fit_transform(p, Y, space=space)


def _stacked(p: Any, q: Any, space: Any) -> Any:
    made = pp.stack([p, q], Y, folds=2, recalibrate=pp.BucketTemperature(), space=space)
    return made.to_dict(), made.pooled, made.transform([p, q], space=space)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tl.TopLists):
        return bool(a == b)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if is_dataclass(a):
        return type(a) is type(b) and all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, pp.Recalibrator):
        return bool(a.to_dict() == b.to_dict())
    return bool(a == b) or (a != a and b != b)


def test_every_public_name_is_tried() -> None:
    assert set(pp.__all__) == CALLS.keys() | RESULTS | SCORES


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("form", _forms(0))
def test_predictions_of_every_shape_give_the_answer_of_their_lists(name: str, form: str) -> None:
    (p, p_lists), (q, q_lists) = _forms(1)[form], _forms(2)[form]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _same(CALLS[name](p, q, SPACE), CALLS[name](p_lists, q_lists, None))


@pytest.mark.parametrize("name", CALLS)
def test_an_array_needs_no_space(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Y", np.random.default_rng(9).integers(0, 4, N))
    p, q = _distributions(1), _distributions(2)
    assert _same(CALLS[name](p, q, None), CALLS[name](tl.TopLists.from_proba(p), tl.TopLists.from_proba(q), None))


def test_one_array_is_no_pool() -> None:
    with pytest.raises(tl.TopListError, match="one model alone is no pool"):
        pp.linear_pool(_distributions(0))  # type: ignore[arg-type]
