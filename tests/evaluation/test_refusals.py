"""What makes no sense is refused in a sentence that says what would; no number is made up."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from tests import flat
from tests.evaluation.shapes import M, predictions

Y = [0, 1, 1]
L = tl.TopLists.from_labels


def compare(predictions: Any = None, y: Any = Y, *, space: Any = 3, **options: Any) -> tl.Leaderboard:
    return flat.compare(
        {"a": [0, 1, 2], "b": [0, 0, 1]} if predictions is None else predictions, y, space=space, **options
    )


OPTIONS = [
    ({"baseline": "c"}, "the baseline 'c' is not among the models 'a', 'b'"),
    ({"baseline": ["a"]}, "is not among the models"),
    ({"missing": "drop"}, "missing is one of error, common, pairwise, uniform, worst, baseline, not 'drop'"),
    ({"missing": ["error"]}, "missing is one of"),
    ({"level": 0}, "level is between 0 and 1, not 0"),
    ({"level": 95}, "level is between 0 and 1, not 95"),
    ({"level": math.nan}, "level is between 0 and 1"),
    ({"level": "95%"}, "level is between 0 and 1"),
    ({"level": True}, "level is between 0 and 1"),
    ({"rules": []}, "name at least one rule"),
    ({"rules": "brierr"}, "no rule is called 'brierr'.* Did you mean 'brier'"),
    ({"rules": None}, "no rule is called None"),
    ({"rules": [tl.Power]}, "Power is a family of rules"),
    ({"k": -1}, "k is a number of classes, not -1"),
    ({"k": 1.5}, "k is a number of classes"),
    ({"k": "5"}, "k is a number of classes"),
    ({"k": [1, "x"]}, "k is a number of classes"),
    ({"k": math.inf}, "k is a number of classes"),
    ({"penalty": "x"}, "the penalty .* is zero or more, not 'x'"),  # though no list is invalid
    ({"penalty": -1}, "the penalty .* is zero or more, not -1"),
    ({"penalty": math.nan}, "the penalty .* is zero or more, not nan"),
    ({"weight": [1, 1]}, "2 sample weights for 3 cases. One per case."),
    ({"weight": [1, -1, 1]}, "case 1: the sample weight is -1.0. Weights are finite, none below zero and not all"),
    ({"weight": [1, math.nan, 1]}, "case 1: the sample weight is nan"),
    ({"weight": [0, 0, 0]}, "all sample weights are zero"),
    ({"weight": [[1], [1], [1]]}, "weights must be one number per case"),
    ({"weight": "w"}, "weight='w' names a column, but the outcomes are in memory: give one value per case"),
    ({"weight": ["a", "b", "c"]}, "weights must be numbers"),
    ({"weight": {0: 1.0}}, "weights must be an array"),
    ({"weight": [10**400, 1, 1]}, "weights must be numbers, not object"),
    ({"weight": [1e308] * 3}, "a weight is above 1e60: scale the weights"),
    ({"group": [1, 2]}, "group needs one value per case: 3"),
    ({"group": "column"}, "group='column' names a column, but the outcomes are in memory"),
    ({"group": {1, 2, 3}}, "group must be an array, not set"),
    ({"group": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, "group are masked in places"),
    ({"cluster": [1, 2, 3, 4]}, "cluster needs one value per case: 3"),
    (
        {"cluster": [1, 2, 3], "time": [1, 2, 3], "method": "bootstrap"},
        "method='bootstrap' is not for cases in time: use method='ewc'",
    ),
    ({"cluster": [1, 2, 3], "method": "hac"}, "method='hac' takes cases in time: name the time beside the cluster"),
    ({"horizon": 3}, "a horizon goes with cases in time and method='ewc' or method='hac'"),
    ({"method": "students"}, "method is auto, t, .* bootstrap, poisson, wild or bounded, not 'students'"),
    ({"method": ["t"]}, "method is auto"),
    ({"horizon": 0}, "horizon is a whole number, at least 1, not 0"),
    ({"horizon": 1.5}, "horizon is a whole number, at least 1, not 1.5"),
    ({"horizon": True}, "horizon is a whole number, at least 1, not True"),
    ({"seed": -1}, "seed is a whole number, at least 0, not -1"),
    ({"seed": "x"}, "seed is a whole number, at least 0, not 'x'"),
    ({"time": [1, 2]}, "time needs one value per case: 3"),
    ({"time": "when"}, "time='when' names a column, but the outcomes are in memory"),
    ({"time": [1, None, 3]}, "time has no value for case 1"),
    ({"time": [1.0, 2.0, math.nan]}, "time has no value for case 2"),
    ({"time": np.array(["2020-01-01", "NaT", "2020-01-02"], "datetime64[D]")}, "time has no value for case 1"),
    ({"time": np.array([1, "a", 2], object)}, "time has values that cannot be compared with each other"),
    ({"time": {1, 2, 3}}, "time must be an array, not set"),
    ({"scale": "permille"}, "scale is 'probability', 'percent' or 'log', not 'permille'"),
    ({"normalize": "yes"}, "normalize is True or False"),
    ({"duplicates": "drop"}, "duplicates is 'error' or 'sum', not 'drop'"),
    ({"space": None}, "how many classes are there"),
    ({"space": 0}, "there is at least one class"),
    ({"space": "three"}, "is not a number of classes"),
    ({"space": [3, 3]}, "a: 2 sizes for 3 cases"),
]

PREDICTIONS = [
    ({}, "models are a mapping from names to predictions, with at least one entry"),
    (3, "models are a mapping"),
    ({"a": [0, 1, 2], "b": [0, 1]}, "models differ in length: a has 3, b has 2"),
    ({"a": []}, "there are no cases to compare"),
    ({"a": None}, "a: expected TopLists, or .* got nothing"),
    ({"a": object()}, "a: predictions must be an array, not object"),
    ({"a": {0: 0.5}}, "a: expected TopLists, or .* got dict"),
    ({"a": [[0.5], [0.5, 0.5], [1.0]]}, "a: predictions are rows of different lengths"),
    ({"a": [0, 1, 3]}, "a: case 2: class 3 is outside the space of 3 classes"),
    ({"a": [{0: 0.5}, {0: 1.5}, {}]}, "a: case 1: the confidence of class 0 is 1.5"),
    ({1: [0, 1, 2], "1": [0, 0, 1]}, "every model needs a name of its own, not '1', '1'"),
    ({"a": [{0: 0.5}, 1, {}]}, "a: case 1: expected a mapping from class to confidence, got 1"),
    ({"a": [{0}, {1}, {2}]}, "a: labels that are sets need a space of label sets"),
    ({"a": [math.inf, 1, 1]}, "a: class inf is too large for a code"),
    ({"a": list(L([0, 1, 2], 3))}, "a: these are single lists. Give the TopLists that they come from"),
    ({"a": sparse.csc_matrix(np.eye(3))}, "a: from_csr takes rows"),
    ({"a": sparse.coo_matrix(np.eye(3))}, "a: predictions must be an array, not coo_matrix"),
    (
        {"a": L([0, 1, 2], 3), "b": L([0, 1, 2], 4)},
        "b is over ClassSpace.4., others over ClassSpace.3.: all need the same",
    ),
    ({"a": L([0, 1, 2], 3, ids=[1, 2, 3]), "b": L([0, 1, 2], 3, ids=[1, 3, 2])}, "the case ids of a and b differ"),
]

OUTCOMES = [
    ([0, 1], "2 outcomes for 3 lists"),
    ([0, 1, 3], "case 2: the outcome 3 is outside the space of 3 classes"),
    (None, "what are the outcomes\\? Predictions in memory carry none: give them as truth"),
    (np.ones((3, 3)), "all 3 classes are listed, but the confidences sum to 3"),
    (np.eye(3)[:2], "2 distributions for 3 lists"),
    ([[1, 0, 0], [1, 0], [1, 0, 0]], "distributions are rows of different lengths"),
    (L([0, 1, 1], 4), "both need one space"),
    (L(["z", "y", "x"], 3), "a and the truth do not both have labels for their classes"),
]


XYZ, ZYX = tl.ClassSpace(labels="xyz"), tl.ClassSpace(labels="zyx")
NUMBERED_DIFFERENTLY = {"a": L(["x"] * 3, XYZ), "b": L(["x"] * 3, ZYX)}
THIN = {"a": [{0: 0.9, 1: 0.001}, {0: 0.9}, {0: 0.9}]}
TOGETHER = [
    ({"predictions": {"a": L([0, 1, 2], 3)}, "space": 5}, "a is over ClassSpace.3., others over ClassSpace.5."),
    ({"predictions": {"a": [{"x": 0.9}, {"y": 0.9}, {}]}}, "a names its classes, but the outcomes are numbers"),
    (
        {"predictions": NUMBERED_DIFFERENTLY, "space": None},
        "a and b number their labels differently: give the outcomes",
    ),
    ({"predictions": NUMBERED_DIFFERENTLY, "y": np.eye(3), "space": None}, "a and b number their labels differently"),
    ({"predictions": {"a": 2}, "y": [2]}, "a: predictions are one per case, not 2"),
    (
        {"predictions": {"a": ["x", "y", "z"]}, "y": [{"x": 1.0}, {"y": 1.0}, {"z": 1.0}]},
        "case 0: the outcome is {'x': 1.0}, which is neither a label nor a code",
    ),
    ({"predictions": {"a": Y, "b": Y}, "weight": [1e200, 1, 1]}, "a weight is above 1e60: scale the weights"),
    ({"predictions": THIN, "penalty": 1e300}, "a score or weight is above 1e150: choose a smaller penalty"),
    ({"predictions": THIN, "penalty": 1e300, "weight": [1e-200] * 3}, "a weight is below 1e-60: scale the weights"),
]


def frame(column: str, **others: float) -> Any:
    """Three cases in a table."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"case": [1, 2, 3], column: ["x", "y", "x"], **others})


def device() -> Any:
    xp = pytest.importorskip("array_api_strict")
    lists = tl.TopLists.from_topk(xp.asarray([[0], [1], [1]]), xp.asarray([[0.5], [0.5], [0.5]]), 3)
    assert isinstance(lists, tl.DeviceLists)
    return lists


def tables(**others: float) -> dict[str, Any]:
    """With files and frames, everything comes from files and frames."""
    return {"predictions": {"a": frame("label")}, "y": frame("outcome", **others)}


OTHER_PACKAGES: list[tuple[Callable[[], dict[str, Any]], str]] = [
    (lambda: {"predictions": {"a": device()}}, "a: this works on lists in memory, not on DeviceLists"),
    (lambda: {"predictions": {"a": frame("label")}}, "4 different classes have been named"),
    (lambda: {"y": frame("label")}, "5 different classes have been named"),
    (lambda: {**tables(), "weight": [1, 2, 3]}, "weight names a column of the truth"),
    (lambda: {**tables(), "group": [1, 2, 3]}, "group names a column of the truth"),
    (lambda: {**tables(), "space": [3, 4, 5]}, "n_classes names the column of the truth"),
    (lambda: {**tables(weight=0.0), "weight": "weight"}, "all weights are zero: there is nothing to compare"),
]
ARGUMENTS: list[tuple[Any, str]] = [
    *OPTIONS,
    *TOGETHER,
    *(({"predictions": given}, said) for given, said in PREDICTIONS),
    *(({"y": given}, said) for given, said in OUTCOMES),
    *OTHER_PACKAGES,
]


@pytest.mark.parametrize(("given", "said"), ARGUMENTS, ids=[said for _, said in ARGUMENTS])
def test_what_makes_no_sense_is_refused_in_words(given: Any, said: str) -> None:
    """In nothing but a TopListError, and in sentences."""
    with pytest.raises(tl.TopListError, match=said) as caught:
        compare(**(given() if callable(given) else given))
    words = str(caught.value)
    assert words.endswith((".", "?"))
    assert "\n" not in words
    assert not re.search(r"Traceback|0x[0-9a-f]{6}|ndarray|dtype=", words)


def test_rules_of_one_family_are_told_apart() -> None:
    made, y = predictions(1, 10)
    rules = tl.compare(made, y, space=M, rules=[tl.Power(1.5), tl.Power(3.0)]).comparison.rules
    assert len(set(rules)) == 2
