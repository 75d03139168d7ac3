"""What people have in memory is read as lists in one way, by every public function that takes predictions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from toplist import calibration, inference
from toplist import postprocess as pp
from toplist.calibration.binned import Binned
from toplist.lists import as_lists
from toplist.lists.converters import raw_rows

NAMES, N = "abcd", 24
SPACE = tl.ClassSpace(labels=list(NAMES))
T = tl.TopLists
CODES = np.random.default_rng(9).integers(0, 4, N)


def distributions(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(4), N)


def forms(seed: int) -> dict[str, tuple[Any, tl.TopLists]]:
    """Predictions in every form, and the lists that they are."""
    p = distributions(seed)
    rows = [{NAMES[c]: float(x) for c, x in enumerate(row) if x > 0.2} for row in p]
    labels = [NAMES[c] for c in p.argmax(axis=1)]
    lists, whole, thin = T.from_dicts(rows, SPACE), T.from_proba(p, SPACE), sparse.csr_array(np.where(p > 0.2, p, 0.0))
    pipeline = [[{"label": c, "score": t} for c, t in row.items()] for row in rows]
    numbers = [np.array(list(row.values())) for row in rows]
    pair = (np.tile(np.arange(4), (N, 1)), p)
    first = T.from_dicts([dict([next(iter(row.items()))]) for row in rows], SPACE)
    return {
        "an array": (p, whole),
        "rows": (p.tolist(), whole),
        "a pair of arrays": (pair, T.from_topk(*pair, SPACE)),
        "a sparse matrix": (thin, T.from_csr(thin, SPACE)),
        "a triple": ((lists.offsets, lists.classes, lists.confidences), lists),
        "mappings": (rows, lists),
        "labels": (labels, T.from_labels(labels, SPACE)),
        "codes": (p.argmax(axis=1), T.from_labels(labels, SPACE)),
        "Hugging Face": (pipeline, lists),
        "Hugging Face in tuples": (tuple(map(tuple, pipeline)), lists),
        "Hugging Face, top_k=1": ([row[0] for row in pipeline], first),
        "fastText": (([[f"__label__{c}" for c in row] for row in rows], numbers), lists),
        "fastText without a prefix": (([list(row) for row in rows], numbers), lists),
        "lists": (lists, lists),
    }


def _refit(recalibrator: pp.Recalibrator, p: Any, y: Any, space: Any) -> Any:
    together = recalibrator.clone().fit_transform(p, y, space=space)
    return recalibrator.fit(p, y, space=space).to_dict(), recalibrator.transform(p, space=space), together


def _conformal(p: Any, y: Any, space: Any) -> Any:
    fitted = pp.Conformal(coverage=0.7).fit(p, y, space=space)
    sets = fitted.sets(p, space=space)
    return fitted.to_dict(), sets, fitted.transform(p, space=space), sets.covers(y)


def _applied(chosen: Any, p: Any, space: Any) -> Any:
    return chosen, chosen.transform(p, space=space)


def _geometric(p: Any, q: Any, y: Any, space: Any) -> Any:
    floored = pp.RestFloor(floor=0.01).fit_transform(p, y, space=space)
    return pp.geometric_pool({"p": floored, "q": q}, space=space)


def _stacked(p: Any, q: Any, y: Any, space: Any) -> Any:
    stacked = pp.stack([p, q], y, folds=2, recalibrate=pp.Temperature(), space=space)
    return stacked.to_dict(), stacked.pooled, stacked.transform([p, q], space=space)


# Of one model's predictions, another's, the outcomes and the space.
POSTPROCESS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "Conformal": lambda p, _, y, space: _conformal(p, y, space),
    "Identity": lambda p, _, y, space: _refit(pp.Identity(), p, y, space),
    "Isotonic": lambda p, _, y, space: _refit(pp.Isotonic(), p, y, space),
    "RestFloor": lambda p, _, y, space: _refit(pp.RestFloor(), p, y, space),
    "Temperature": lambda p, _, y, space: _refit(pp.Temperature(), p, y, space),
    "ambiguity": lambda p, q, y, space: pp.ambiguity([p, q], y, space=space),
    "augrc": lambda p, _, y, space: pp.augrc(p, y, space=space),
    "choose_k": lambda p, _, y, space: _applied(pp.choose_k(p, y, space=space), p, space),
    "choose_mass": lambda p, _, y, space: _applied(pp.choose_mass(p, y, space=space), p, space),
    "cross_fitted": lambda p, _, y, space: pp.cross_fitted(pp.Temperature(), p, y, folds=3, space=space),
    "decide": lambda p, _, y, space: pp.decide(p, 1.0 - np.eye(4), space=space),
    "geometric_pool": _geometric,
    "linear_pool": lambda p, q, y, space: pp.linear_pool([p, q], k=2, space=space),
    "pool_weights": lambda p, q, y, space: _applied(pp.pool_weights([p, q], y, space=space), [p, q], space),
    "reject_below": lambda p, _, y, space: pp.reject_below(p, 0.5, space=space),
    "rejection_curve": lambda p, _, y, space: _applied(pp.rejection_curve(p, y, space=space), p, space),
    "select_recalibrator": lambda p, _, y, space: pp.select_recalibrator(p, y, candidates=[pp.Isotonic()], space=space),
    "stack": _stacked,
    "truncate_by_gain": lambda p, _, y, space: pp.truncate_by_gain(p, 0.01, space=space),
    "worth": lambda p, _, y, space: pp.worth(p, y, space=space),
}
RESULTS = {
    "Ambiguity", "CandidateScore", "ConformalSets", "Decisions", "PoolWeights", "Recalibrator",
    "RejectionCurve", "Selection", "Stack", "Truncation", "Worth", "load",
}  # fmt: skip
CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    **POSTPROCESS,
    "as_lists": lambda p, _, y, space: as_lists(p, space),
    "score": lambda p, _, y, space: tl.score(p, y, space=space),
    "entropy": lambda p, _, y, space: tl.entropy(p, space=space),
    "expected_score": lambda p, q, y, space: tl.expected_score(p, as_lists(q, space), space=space),
    "divergence": lambda p, q, y, space: tl.divergence(p, as_lists(q, space), space=space),
    "ranks": lambda p, _, y, space: tl.ranks(p, y, space=space),
    "curve": lambda p, _, y, space: tl.curve(p, y, space=space),
    "accuracy": lambda p, _, y, space: tl.accuracy(p, y, space=space),
    "coverage": lambda p, _, y, space: tl.coverage(p, y, space=space),
    "top_k_error": lambda p, _, y, space: tl.top_k_error(p, y, k=1, space=space),
    "compare": lambda p, q, y, space: str(tl.compare({"p": p, "q": q}, y, space=space)),
    "diagnose": lambda p, _, y, space: str(tl.diagnose(p, y, space=space)),
    "reliability": lambda p, _, y, space: calibration.reliability(p, y, band=None, space=space).curve,
    "by rank": lambda p, _, y, space: [
        one.hit_rate for one in calibration.reliability_by_rank(p, y, band=None, space=space)
    ],
    "calibration_error": lambda p, _, y, space: calibration.calibration_error(p, y, space=space),
    "calibration_bias": lambda p, _, y, space: calibration.calibration_bias(p, y, space=space),
    "calibration_test": lambda p, _, y, space: calibration.calibration_test(p, y, draws=19, space=space),
    "decompose": lambda p, _, y, space: calibration.decompose(p, y, space=space),
    "bins": lambda p, _, y, space: Binned.of(p, y, space=space),
    "explain_difference": lambda p, q, y, space: inference.explain_difference(p, q, y, space=space),
}


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


def test_every_public_name_of_postprocess_is_tried() -> None:
    assert set(pp.__all__) == POSTPROCESS.keys() | RESULTS


@pytest.mark.parametrize("name", CALLS)
def test_predictions_of_every_form_give_the_answer_of_their_lists(name: str) -> None:
    """With a space; of arrays without one too."""
    call, y = CALLS[name], [NAMES[c] for c in CODES]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form, (p, lists) in forms(1).items():
            q, others = forms(2)[form]
            assert _same(call(p, q, y, SPACE), call(lists, others, y, None)), form
        p, q = distributions(1), distributions(2)
        assert _same(call(p, q, CODES, None), call(T.from_proba(p), T.from_proba(q), CODES, None)), "without a space"


@pytest.mark.parametrize("form", forms(1))
def test_unchecked_rows_are_those_of_the_lists(form: str) -> None:
    given, lists = forms(1)[form]
    rows, space = raw_rows(given, SPACE)
    assert space == lists.space
    assert np.array_equal(rows.offsets, lists.offsets)
    assert np.array_equal(rows.confidences, lists.confidences)
    assert rows.classes is None or np.array_equal(rows.classes, lists.classes)
    assert np.array_equal(rows.size, lists.checked.rows.size)


def test_what_the_door_refuses_goes_through_unchecked() -> None:
    rows, _ = raw_rows([{"a": None, "x": 2.0, "y": -1}], SPACE)
    assert rows.classes is not None
    assert rows.classes.tolist() == [0, 4, 5]
    assert np.isnan(rows.confidences[0])
    rows, space = raw_rows([{"a": 0.5}, {"b": 0.5}, {"c": 0.5}], 2)
    assert (space.labels, len(rows)) == (None, 3)
    assert raw_rows([{"a": 0.5}])[1].size == math.inf
    assert raw_rows(distributions(1))[1].size == 4
    sets = tl.LabelSets(["x", "y"])
    rows, _ = raw_rows([{"x"}, {"x", "y"}], sets)
    assert rows.classes is not None
    assert np.array_equal(rows.classes, T.from_labels([{"x"}, {"x", "y"}], sets).classes)


ONE = {"label": "en", "score": 0.5}
MIXED: list[tuple[Any, str]] = [
    ([ONE, {"en": 0.5}], "must be numbers"),
    ([ONE, [ONE]], "case"),
    ([[ONE], ONE], "case"),
    ([[ONE], ["en"]], "case"),
    ([[ONE, "en"], [ONE]], "different lengths"),
    ([{"label": 0.5, "score": 0.5}], "codes or labels"),
    (([["en", "de"]], [[0.5]]), "2 classes but 1"),
    (([["en"]], [[0.5], [0.4]]), "1 lists of classes for 2"),
    ([{"a": 0.5}, 3], "expected a mapping"),
    (np.zeros((2, 2, 2)), "one per case"),
    (distributions(0), "4 columns for"),
    (np.array([[True, False], [False, True]]), "not an array of bool"),
    ([{1}, {0}], "label sets"),
    ([[1], [0]], "1 columns for"),
    (([0, 1], [3, 9], [0.5, 7.0]), "2 columns for"),
]


@pytest.mark.parametrize(("given", "said"), MIXED)
def test_what_could_be_two_things_is_refused_in_the_same_words_checked_or_not(given: Any, said: str) -> None:
    told = []
    for function in (raw_rows, as_lists):
        with pytest.raises(tl.TopListError, match=said) as refused:
            function(given, 5)
        told.append(str(refused.value))
    assert told[0] == told[1]


def test_what_has_no_number_of_classes_is_asked_for_it() -> None:
    for form in ("Hugging Face", "mappings", "fastText", "labels"):
        with pytest.raises(tl.SpaceError, match="how many classes"):
            tl.score(forms(1)[form][0], ["a"] * N)
    with pytest.raises(tl.SpaceError, match="not over"):
        tl.score(forms(1)["lists"][0], ["a"] * N, space=9)


def test_one_case_or_one_model_is_not_taken_for_several() -> None:
    with pytest.raises(tl.ShapeError, match="one per case"):
        tl.score((["__label__en", "__label__de"], [0.5, 0.4]), ["en"], space=5)  # or the first class of two cases
    with pytest.raises(tl.TopListError, match="one model alone is no pool"):
        pp.linear_pool(distributions(0))  # type: ignore[arg-type]


def test_a_pipeline_lists_labels_and_codes_each_once() -> None:
    """A mapping would keep the last of two."""
    with pytest.raises(tl.ClassError, match="twice"):
        tl.score([[ONE, {"label": "en", "score": 0.2}]], ["en"], space=3)
    lists = as_lists([[{"label": 2, "score": 0.5}], []], 5)
    assert (lists.classes.tolist(), lists.sizes.tolist()) == ([2], [1, 0])
    assert as_lists([ONE], 5)[0].classes == ("en",)


def test_the_prefix_of_fasttext_is_taken_off_all_labels_unless_the_space_has_it() -> None:
    given = ([["__label__en"], ["__label__de"]], [[0.5], [0.4]])
    assert as_lists(given, 5).space.labels == ("en", "de")
    kept = tl.ClassSpace(labels=["__label__en", "__label__de"])
    assert as_lists(given, kept)[0].classes == ("__label__en",)
    assert tl.accuracy(given, ["__label__en", "__label__fr"], space=5) == tl.accuracy(given, ["en", "fr"], space=5)


@pytest.mark.parametrize("labels", [["a", "b"], ("a", "b"), np.array(["a", "b"]), (c for c in "ab")])
def test_a_sequence_of_labels_is_a_space(labels: Any) -> None:
    space = tl.ClassSpace(labels)
    assert space == tl.ClassSpace(labels=["a", "b"])
    assert all(type(label) is str for label in space.labels or ())


def test_the_classes_of_a_classifier_are_a_space() -> None:
    """As texts, as codes from 0 on, and as truth values; other numbers are numbers of classes per case."""
    p = [[0.3, 0.7]]
    assert T.from_proba(p, np.array(["no", "yes"]))[0].confidences == {"no": 0.3, "yes": 0.7}
    assert T.from_proba(p, np.array([0, 1])).space == tl.ClassSpace(2)
    assert T.from_proba(p, np.array([False, True])).space.labels == (False, True)
    assert tl.ClassSpace(np.int64(4)) == tl.ClassSpace(4)
    assert tl.ClassSpace([3, 4]).per_case
    assert tl.compare({"a": [{"x": 0.5}, {"y": 0.6}]}, ["x", "z"], space=["x", "y", "z"]) is not None


@pytest.mark.parametrize("wrong", [["a", "a"], {"a", "b"}, "ab", [0, 2], [1, 0], ["a", 3], [["a"], ["b"]], [[1, 2]]])
def test_what_is_neither_labels_nor_numbers_of_classes_is_refused(wrong: Any) -> None:
    with pytest.raises(tl.SpaceError):
        tl.ClassSpace(wrong)
