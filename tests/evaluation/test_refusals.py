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


def refusal(call: Callable[[], Any]) -> str:
    """What is said; nothing but a TopListError, in sentences."""
    with pytest.raises(tl.TopListError) as caught:
        call()
    said = str(caught.value)
    assert said.endswith((".", "?"))
    assert "\n" not in said
    assert not re.search(r"Traceback|0x[0-9a-f]{6}|ndarray|dtype=", said)
    return said


def frame(column: str, **others: float) -> Any:
    """Three cases in a table."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"case": [1, 2, 3], column: ["x", "y", "x"], **others})


OPTIONS = [
    ({"baseline": "c"}, "the baseline 'c' is not among the models 'a', 'b'"),
    ({"baseline": 0}, "the baseline 0 is not among"),
    ({"baseline": ["a"]}, "is not among the models"),
    ({"missing": "drop"}, "missing is one of error, common, pairwise, uniform, worst, baseline, not 'drop'"),
    ({"missing": None}, "missing is one of"),
    ({"missing": ["error"]}, "missing is one of"),
    ({"level": 0}, "level is between 0 and 1, not 0"),
    ({"level": 1}, "level is between 0 and 1, not 1"),
    ({"level": 95}, "level is between 0 and 1, not 95"),
    ({"level": -0.5}, "level is between 0 and 1"),
    ({"level": math.nan}, "level is between 0 and 1"),
    ({"level": "95%"}, "level is between 0 and 1"),
    ({"level": None}, "level is between 0 and 1"),
    ({"level": True}, "level is between 0 and 1"),
    ({"rules": []}, "name at least one rule"),
    ({"rules": "brierr"}, "no rule is called 'brierr'.* Did you mean 'brier'"),
    ({"rules": None}, "no rule is called None"),
    ({"rules": [tl.Power]}, "Power is a family of rules"),
    ({"k": -1}, "k is a number of classes, not -1"),
    ({"k": 1.5}, "k is a number of classes"),
    ({"k": None}, "k is a number of classes"),
    ({"k": "5"}, "k is a number of classes"),
    ({"k": [1, "x"]}, "k is a number of classes"),
    ({"k": math.inf}, "k is a number of classes"),
    ({"penalty": "x"}, "the penalty .* is zero or more, not 'x'"),  # though no list is invalid
    ({"penalty": -1}, "the penalty .* is zero or more, not -1"),
    ({"penalty": math.nan}, "the penalty .* is zero or more, not nan"),
    ({"weight": [1, 1]}, "2 sample weights for 3 cases. One per case."),
    (
        {"weight": [1, -1, 1]},
        "case 1: the sample weight is -1.0. Weights are finite, none below zero and not all zero",
    ),
    ({"weight": [1, math.nan, 1]}, "case 1: the sample weight is nan"),
    ({"weight": [1, math.inf, 1]}, "case 1: the sample weight is inf"),
    ({"weight": [0, 0, 0]}, "all sample weights are zero"),
    ({"weight": [1, None, 1]}, "case 1: the sample weight is nan"),
    ({"weight": [[1], [1], [1]]}, "weights must be one number per case"),
    ({"weight": "w"}, "weight='w' names a column, but the outcomes are in memory: give one value per case"),
    ({"weight": ["a", "b", "c"]}, "weights must be numbers"),
    ({"weight": {0: 1.0}}, "weights must be an array"),
    ({"group": [1, 2]}, "group needs one value per case: 3"),
    ({"group": "column"}, "group='column' names a column, but the outcomes are in memory"),
    ({"group": [[1], [2], [3]]}, "group needs one value per case: 3"),
    ({"group": {1, 2, 3}}, "group must be an array, not set"),
    ({"group": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, "group are masked in places"),
    ({"cluster": [1, 2, 3, 4]}, "cluster needs one value per case: 3"),
    (
        {"cluster": [1, 2, 3], "time": [1, 2, 3], "method": "bootstrap"},
        "method='bootstrap' is not for cases in time: use method='ewc'",
    ),
    ({"cluster": [1, 2, 3], "method": "hac"}, "method='hac' takes cases in time: name the time beside the cluster"),
    ({"horizon": 3}, "a horizon goes with cases in time and method='ewc' or method='hac'"),
    (
        {"method": "students"},
        "method is auto, t, normal, ewc, hac, bootstrap, poisson, wild or bounded, not 'students'",
    ),
    ({"method": None}, "method is auto, t, normal, ewc, hac, bootstrap, poisson, wild or bounded, not None"),
    ({"method": ["t"]}, "method is auto"),
    ({"horizon": 0}, "horizon is a whole number, at least 1, not 0"),
    ({"horizon": -1}, "horizon is a whole number, at least 1"),
    ({"horizon": 1.5}, "horizon is a whole number, at least 1, not 1.5"),
    ({"horizon": True}, "horizon is a whole number, at least 1, not True"),
    ({"horizon": None}, "horizon is a whole number"),
    ({"seed": -1}, "seed is a whole number, at least 0, not -1"),
    ({"seed": "x"}, "seed is a whole number, at least 0, not 'x'"),
    ({"time": [1, 2]}, "time needs one value per case: 3"),
    ({"time": "when"}, "time='when' names a column, but the outcomes are in memory"),
    ({"time": [[1], [2], [3]]}, "time needs one value per case: 3"),
    ({"time": [1, None, 3]}, "time has no value for case 1"),
    ({"time": [1.0, 2.0, math.nan]}, "time has no value for case 2"),
    ({"time": np.array(["2020-01-01", "NaT", "2020-01-02"], "datetime64[D]")}, "time has no value for case 1"),
    ({"time": np.array([1, "a", 2], object)}, "time has values that cannot be compared with each other"),
    ({"time": {1, 2, 3}}, "time must be an array, not set"),
    ({"scale": "permille"}, "scale is 'probability', 'percent', 'log' or 'odds', not 'permille'"),
    ({"scale": {"a": "permille"}}, "scale is"),
    ({"normalize": "yes"}, "normalize is True or False"),
    ({"duplicates": "drop"}, "duplicates is 'error' or 'sum', not 'drop'"),
    ({"space": None}, "how many classes are there"),
    ({"space": 0}, "there is at least one class"),
    ({"space": "three"}, "is not a number of classes"),
    ({"space": [3, 3]}, "a: 2 sizes for 3 cases"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS, ids=lambda x: re.sub(r" at 0x\w+", "", str(x))[:60])
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    assert re.search(said, refusal(lambda: compare(**options)))


PREDICTIONS = [
    ({}, "models are a mapping from names to predictions, with at least one entry"),
    ([[0, 1, 2]], "models are a mapping"),
    (3, "models are a mapping"),
    ({"a": [0, 1, 2], "b": [0, 1]}, "models differ in length: a has 3, b has 2"),
    ({"a": []}, "there are no cases to compare"),
    ({"a": None}, "a: expected TopLists, or .* got nothing"),
    ({"a": object()}, "a: predictions must be an array, not object"),
    ({"a": tl.TopLists}, "a: predictions must be an array, not type"),
    ({"a": {0: 0.5}}, "a: expected TopLists, or .* got dict"),
    ({"a": {0, 1, 2}}, "a: predictions must be an array, not set"),
    ({"a": (i for i in range(3))}, "a: predictions must be an array, not generator"),
    ({"a": [[0.5], [0.5, 0.5], [1.0]]}, "a: predictions are rows of different lengths"),
    ({"a": [0.5, 0.25, 0.75]}, "a: classes must be codes or labels"),
    ({"a": [0, 1, 3]}, "a: case 2: class 3 is outside the space of 3 classes"),
    ({"a": [0, 1, -1]}, "a: case 2: class -1 is not a class"),
    ({"a": ["x", None, "y"]}, "a: a listed class is None"),
    ({"a": np.ones((3, 3))}, "a: case 0: all 3 classes are listed, but the confidences sum to 3"),
    ({"a": np.full((3, 2), 0.5)}, "a: 2 columns for ClassSpace"),
    ({"a": np.ones((3, 3, 3))}, "a: hard predictions are one label per case"),
    ({"a": [{0: 0.5}, {0: 1.5}, {}]}, "a: case 1: the confidence of class 0 is 1.5"),
    ({"a": [{0: math.nan}, {}, {}]}, "a: case 0: the confidence of class 0 is nan"),
    ({"a": sparse.csc_matrix(np.eye(3))}, "a: from_csr takes rows"),
    ({"a": sparse.coo_matrix(np.eye(3))}, "a: predictions must be an array, not coo_matrix"),
    (
        {"a": L([0, 1, 2], 3), "b": L([0, 1, 2], 4)},
        "b is over ClassSpace.4., others over ClassSpace.3.: all need the same",
    ),
    ({"a": L([0, 1, 2], 3, ids=[1, 2, 3]), "b": L([0, 1, 2], 3, ids=[1, 3, 2])}, "the case ids of a and b differ"),
]


@pytest.mark.parametrize(("made", "said"), PREDICTIONS, ids=lambda x: re.sub(r" at 0x\w+", "", str(x))[:60])
def test_predictions_that_make_no_sense_are_refused_by_name(made: Any, said: str) -> None:
    assert re.search(said, refusal(lambda: compare(made)))


OUTCOMES = [
    ([0, 1], "2 outcomes for 3 lists"),
    ([0, 1, 3], "case 2: the outcome 3 is outside the space of 3 classes"),
    ([0, -1, 1], "case 1: the outcome -1 is outside"),
    ([0, 1, 10**30], "case 2: the outcome 10+ is outside"),
    ([0, math.nan, 1], "case 1: the outcome is nan"),
    ([0, 0.5, 1], "case 1: the outcome is 0.5"),
    (["x", "y", "z"], "the outcomes are labels such as 'x', but the lists hold codes"),
    (None, "what are the outcomes\\? Predictions in memory carry none: give them as truth"),
    (1, "outcomes must be a sequence"),
    ({0, 1, 2}, "outcomes must be a sequence"),
    ({0: 1}, "outcomes must be a sequence"),
    ((i for i in range(3)), "outcomes must be a sequence"),
    ([[0], [1], [1]], "outcomes must be one per case"),
    (np.ones((3, 3)), "all 3 classes are listed, but the confidences sum to 3"),
    (np.eye(3)[:, :2], "2 columns for ClassSpace"),
    (np.eye(3)[:2], "2 distributions for 3 lists"),
    ([[1, 0, 0], [1, 0], [1, 0, 0]], "distributions are rows of different lengths"),
    (L([0, 1, 1], 4), "both need one space"),
]


@pytest.mark.parametrize(("y", "said"), OUTCOMES, ids=lambda x: re.sub(r" at 0x\w+", "", str(x))[:60])
def test_outcomes_that_make_no_sense_are_refused(y: Any, said: str) -> None:
    assert re.search(said, refusal(lambda: compare(y=y)))


def test_lists_on_a_device_are_refused() -> None:
    """They are scored where they are; comparing is for lists in memory."""
    xp = pytest.importorskip("array_api_strict")
    device = tl.TopLists.from_topk(xp.asarray([[0], [1], [1]]), xp.asarray([[0.5], [0.5], [0.5]]), 3)
    assert isinstance(device, tl.DeviceLists)
    assert "DeviceLists" in refusal(lambda: compare({"a": device}))


def test_tables_and_arrays_do_not_mix() -> None:
    """With files and frames, everything comes from files and frames."""
    table = frame("label")
    refusal(lambda: compare({"a": table}))
    refusal(lambda: compare(y=table))
    assert "names a column of the truth" in refusal(lambda: compare({"a": table}, table, weight=[1, 2, 3]))
    assert "names a column of the truth" in refusal(lambda: compare({"a": table}, table, group=[1, 2, 3]))


# What cannot be meant


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            lambda: compare({1: [0, 1, 2], "1": [0, 0, 1]}),
            id="two names that read the same",
        ),
        pytest.param(lambda: compare({"a": [{0: 0.5}, 1, {}]}), id="mappings and codes in one list"),
        pytest.param(
            lambda: compare({"a": L([0, 1, 2], 3)}, space=5),
            id="a space that the lists do not have",
        ),
        pytest.param(
            lambda: compare({"a": [{"x": 0.9}, {"y": 0.9}, {}], "b": [{"y": 0.9}, {"x": 0.9}, {}]}),
            id="codes for labels that nobody has numbered",
        ),
        pytest.param(
            lambda: compare(
                {"a": L(["x"] * 3, tl.ClassSpace(labels="xyz")), "b": L(["x"] * 3, tl.ClassSpace(labels="zyx"))},
                space=None,
            ),
            id="codes where labels are numbered differently",
        ),
        pytest.param(
            lambda: compare(
                {"a": L(["x"] * 3, tl.ClassSpace(labels="xyz")), "b": L(["x"] * 3, tl.ClassSpace(labels="zyx"))},
                np.eye(3),
                space=None,
            ),
            id="distributions where labels are numbered differently",
        ),
        pytest.param(
            lambda: compare(weight=[10**400, 1, 1]),
            id="a weight that is no double",
        ),
        pytest.param(
            lambda: compare(weight=[1e308] * 3),
            id="weights that add up to infinity",
        ),
        pytest.param(lambda: compare({"a": [{0}, {1}, {2}]}), id="sets of codes as labels"),
        pytest.param(lambda: compare({"a": [math.inf, 1, 1]}), id="infinity as a code"),
        pytest.param(lambda: compare({"a": 2}, [2]), id="a number as predictions"),
        pytest.param(
            lambda: compare({"a": ["x", "y", "z"]}, [{"x": 1.0}, {"y": 1.0}, {"z": 1.0}]),
            id="mappings as outcomes",
        ),
        pytest.param(
            lambda: compare(y=L(["z", "y", "x"], 3)),
            id="labels as a truth for codes",
        ),
        pytest.param(
            lambda: compare({"a": frame("label")}, frame("outcome"), space=[3, 4, 5]),
            id="numbers of classes per case beside tables",
        ),
        pytest.param(
            lambda: compare({"a": frame("label")}, frame("outcome", weight=0.0), weight="weight"),
            id="a column of weights that are all zero",
        ),
        pytest.param(
            lambda: compare({"a": Y, "b": Y}, weight=[1e200, 1, 1]),
            id="weights whose squares are no doubles",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(call: Callable[[], Any]) -> None:
    refusal(call)


def test_a_list_of_lists_is_a_batch_or_refused() -> None:
    """What iterating over lists gives."""
    lists = tl.TopLists.from_dicts([{0: 0.9}, {0: 0.9}, {1: 0.8}], 3)
    try:
        board = compare({"a": list(lists)})
    except tl.TopListError:
        return
    assert board["a"].scores["brier"].mean.value == pytest.approx(tl.score(lists, Y).mean())


def test_rules_of_one_family_are_told_apart() -> None:
    made, y = predictions(1, 10)
    rules = tl.compare(made, y, space=M, rules=[tl.Power(1.5), tl.Power(3.0)]).comparison.rules
    assert len(set(rules)) == 2


def test_a_variance_that_is_no_double_is_refused_or_infinite() -> None:
    made = {"a": [{0: 0.9, 1: 0.001}, {0: 0.9}, {0: 0.9}]}
    refusal(lambda: compare(made, penalty=1e300))
    refusal(lambda: compare(made, penalty=1e300, weight=[1e-200] * 3))
