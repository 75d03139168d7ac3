"""Recalibrators behave as scikit-learn's estimators do, without needing it, and say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.postprocess.recalibrators import KINDS, sharpened
from toplist.postprocess.recalibration import Isotonic, Recalibrator, Temperature

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


def test_representations_show_what_is_not_usual_and_what_was_learned() -> None:
    assert repr(Temperature()) == "Temperature()"
    assert repr(Temperature(rule="log")) == "Temperature(rule='log')"
    lists, y = sharpened(75, 50)
    assert repr(Temperature().fit(lists, y)).startswith("Temperature() [temperature ")


def test_the_base_is_no_kind() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Recalibrator()  # type: ignore[abstract]


def test_weights_may_be_huge_or_tiny() -> None:
    lists, y = sharpened(78, 50)
    want = Temperature().fit(lists, y).temperature_
    for size in (1e-300, 1e300):
        assert Temperature().fit(lists, y, sample_weight=np.full(50, size)).temperature_ == pytest.approx(want)
