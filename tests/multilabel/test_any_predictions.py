"""Decisions about labels take whatever `as_lists` takes over a space of label sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist import multilabel as ml

SPACE = tl.LabelSets("abc")
ROWS = [{("a", "b"): 0.4, ("a",): 0.3}, {("c",): 0.9}, {(): 0.5, ("b", "c"): 0.25}]
SETS = [{"a", "b"}, {"c"}, set()]
BITS = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]])

FORMS: dict[str, tuple[Any, tl.TopLists]] = {
    "dicts": (ROWS, tl.TopLists.from_dicts(ROWS, SPACE)),
    "sets": (SETS, tl.TopLists.from_labels(SETS, SPACE)),
    "zeros and ones": (BITS, tl.TopLists.from_labels(SETS, SPACE)),
    "distributions": (np.full((2, 8), 0.125), tl.TopLists.from_proba(np.full((2, 8), 0.125), SPACE)),
}
DECISIONS: dict[str, Callable[..., Any]] = {
    "f1_sets": ml.f1_sets,
    "hamming_sets": ml.hamming_sets,
    "jaccard_sets": ml.jaccard_sets,
    "marginals": ml.marginals,
    "mode_sets": ml.mode_sets,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DECISIONS)
def test_predictions_of_every_shape_give_the_decisions_of_their_lists(name: str, form: str) -> None:
    given, lists = FORMS[form]
    made, want = DECISIONS[name](given, space=SPACE), DECISIONS[name](lists)
    assert np.array_equal(made, want) if name == "marginals" else made == want


@pytest.mark.parametrize("name", ml.METRICS)
def test_metrics_take_sets_of_every_shape(name: str) -> None:
    metric, true = ml.METRICS[name], [{"a"}, {"c"}, {"b"}]
    want = metric(SPACE.sets(BITS), SPACE.sets(true))
    assert np.array_equal(metric(BITS, SPACE.sets(true).indicators()), want)
    assert np.array_equal(metric(SETS, true, SPACE), want)
