"""Recalibrators behave as scikit-learn's estimators do, without needing it, and say what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.postprocess.recalibrators import KINDS, sharpened
from toplist.postprocess.recalibration import (
    BucketTemperature,
    Chain,
    Isotonic,
    Recalibrator,
    Temperature,
    VectorScaling,
)
from toplist.postprocess.recalibration.automatic import AutoRecalibrator

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_options_are_kept_as_they_were_given(kind: str) -> None:
    made = KINDS[kind]
    params = made.get_params()
    again = type(made)(**params)
    for name, value in params.items():
        assert getattr(again, name) is value
    assert again.get_params(deep=False) == params
    assert made.clone().set_params(**params).get_params() == params


@every_kind
def test_clones_are_not_fitted(kind: str) -> None:
    base = pytest.importorskip("sklearn.base", reason="needs scikit-learn")
    lists, y = sharpened(71, 30)
    made = KINDS[kind].clone().fit(lists, y)
    again = base.clone(made)
    assert repr(again) == repr(made.clone())
    assert again.fit(lists, y).to_dict() == made.to_dict()


def test_a_pipeline_takes_them() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline", reason="needs scikit-learn")
    lists, y = sharpened(72, 100)
    made = pipeline.Pipeline([("temper", Temperature()), ("map", Isotonic())]).fit(lists, y)
    first = Temperature().fit(lists, y)
    want = Isotonic().fit(first.transform(lists), y).transform(first.transform(lists))
    assert made.transform(lists) == want


@every_kind
def test_learning_changes_no_option_and_no_list(kind: str) -> None:
    lists, y = sharpened(73, 30)
    made, before, copy = KINDS[kind].clone(), lists.confidences.copy(), y.copy()
    params = made.get_params()
    assert made.fit(lists, y) is made
    made.transform(lists)
    assert made.get_params() == params
    assert np.array_equal(lists.confidences, before)
    assert np.array_equal(y, copy)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "identity"])
def test_what_has_learned_nothing_says_so(kind: str) -> None:
    lists, _ = sharpened(74, 3)
    with pytest.raises(tl.TopListError, match=r"not fitted yet: call fit\(lists, y\) first"):
        KINDS[kind].clone().transform(lists)


def test_representations_show_what_is_not_usual_and_what_was_learned() -> None:
    assert repr(Temperature()) == "Temperature()"
    assert repr(Temperature(rule="log")) == "Temperature(rule='log')"
    assert repr(AutoRecalibrator(candidates=(Temperature(),))) == "AutoRecalibrator(candidates=(Temperature(),))"
    lists, y = sharpened(75, 50)
    assert repr(Temperature().fit(lists, y)).startswith("Temperature() [temperature ")


def test_unknown_options_are_named() -> None:
    with pytest.raises(tl.TopListError, match="has no option 'heat'; its options: rule"):
        Temperature().set_params(heat=3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"y": [0, 1]}, "2 outcomes for 3 lists"),
        ({"y": [0, 1, 99]}, "outside the space"),
        ({"y": np.full((3, 8), 0.125)}, "one outcome per case"),
        ({"lists": "abc"}, "expected TopLists"),
        ({"sample_weight": [1, 2]}, "2 sample weights for 3 cases"),
        ({"sample_weight": [1, -2, 1]}, "case 1: the sample weight is -2"),
        ({"sample_weight": [1, np.nan, 1]}, "case 1: the sample weight is nan"),
        ({"sample_weight": [0, 0, 0]}, "no case counts"),
    ],
)
def test_what_is_wrong_with_the_cases_is_said(arguments: dict[str, Any], says: str) -> None:
    lists, y = sharpened(76, 3)
    given = {"lists": lists, "y": y, **arguments}
    with pytest.raises(tl.TopListError, match=says):
        Temperature().fit(given.pop("lists"), given.pop("y"), **given)


def test_predictions_of_no_known_shape_are_refused() -> None:
    lists, y = sharpened(77, 10)
    with pytest.raises(tl.TopListError, match="expected TopLists"):
        Temperature().fit(lists, y).transform({"a": 0.5})


def test_the_base_is_no_kind() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Recalibrator()  # type: ignore[abstract]


def test_weights_may_be_huge_or_tiny() -> None:
    lists, y = sharpened(78, 50)
    want = Temperature().fit(lists, y).temperature_
    for size in (1e-300, 1e300):
        assert Temperature().fit(lists, y, sample_weight=np.full(50, size)).temperature_ == pytest.approx(want)


@pytest.mark.parametrize("kind", [BucketTemperature, VectorScaling])
@pytest.mark.parametrize("ridge", [math.inf, math.nan, 1e308])
def test_a_ridge_beyond_numbers_is_refused(kind: Any, ridge: float) -> None:
    lists, y = sharpened(0, 20)
    with pytest.raises(tl.TopListError, match="ridge"):
        kind(ridge=ridge).fit(lists, y)


@pytest.mark.parametrize("steps", [None, 3, 1.5, True])
def test_steps_and_candidates_that_are_no_sequence_are_refused(steps: Any) -> None:
    lists, y = sharpened(0, 20)
    with pytest.raises(tl.TopListError, match="chain needs"):
        Chain(steps=steps).fit(lists, y)
    if steps is not None:
        with pytest.raises(tl.TopListError, match="candidates are recalibrators"):
            AutoRecalibrator(candidates=steps).fit(lists, y)
