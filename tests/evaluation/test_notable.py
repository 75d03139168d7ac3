"""The worst cases are those of a plain sort, and the first invalid list is told with its numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.evaluation.factories import KINDS, batch, law, seeds, shown
from toplist.evaluation.model_details import worst
from toplist.lists.converters import as_codes
from toplist.scoring.case_scores import outcome_ranks


@law
@given(seed=seeds, n=st.integers(0, 3000), most=st.integers(1, 12))
def test_the_worst_are_those_of_a_plain_sort(seed: int, n: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 0.5, 1.0, np.inf, -1.0, *rng.random(rng.integers(1, 50))], n)
    position = rng.permutation(n)
    plain = sorted(range(n), key=lambda i: (-scores[i], position[i]))
    assert worst(scores, position, most).tolist() == plain[:most]


@pytest.mark.parametrize("kind", KINDS)
@law
@given(seed=seeds, n=st.integers(1, 60))
def test_the_worst_cases_are_the_largest_scores_with_the_probability_of_the_true_class(
    kind: str, seed: int, n: int
) -> None:
    lists, y = batch(kind, seed, n)
    made, scores = shown(lists, y, "brier").worst, tl.score(lists, y)
    plain = sorted(range(n), key=lambda i: (-scores[i], i))[:10]
    assert [one.case for one in made] == list(map(str, plain))
    assert [one.predictions[0].score for one in made] == scores[plain].tolist()
    codes = None if kind == "soft" else as_codes(y, lists)
    right = None if codes is None else outcome_ranks(lists, codes).within(1)
    for one, i in zip(made, plain, strict=True):
        (prediction,) = one.predictions
        assert (prediction.model, prediction.size, prediction.rest) == ("A", len(lists[i]), lists[i].rest)
        assert [t for _, t in prediction.listed] == sorted(lists[i].confidences.values(), reverse=True)[:3]
        if codes is None or right is None:
            assert prediction.true is None
            assert math.isnan(prediction.right)
        else:
            padded = dict(zip(lists[i : i + 1].classes.tolist(), lists[i].confidences.values(), strict=True))
            assert prediction.true == pytest.approx(padded.get(int(codes[i]), lists.proxy[i]), rel=1e-12)
            assert prediction.right == right[i]


def test_worst_cases_have_the_names_of_their_classes() -> None:
    lists = tl.TopLists.from_dicts([{"cat": 0.7, "dog": 0.1}, {}], 10, ids=["x", "y"])
    made = shown(lists, np.array(["fox", "dog"])).worst
    assert [(one.case, one.outcome, one.predictions[0].listed) for one in made] == [
        ("x", "fox", (("cat", 0.7), ("dog", 0.1))),
        ("y", "dog", ()),
    ]


def test_a_soft_outcome_is_the_most_likely_class_with_its_probability() -> None:
    space = tl.ClassSpace(labels=["cat", "dog", "fox"])
    truth = tl.TopLists.from_dicts([{"cat": 0.25, "fox": 0.75}, {}], space)
    made = shown(tl.TopLists.from_labels(["dog", "dog"], space), truth).worst
    assert [one.outcome for one in made] == ["fox (0.75)", "any class alike"]


def test_the_first_invalid_list_is_told_with_its_numbers() -> None:
    rows = [{"cat": 0.7, "dog": 0.1}, {"dog": 0.5, "cat": 0.01}, {"dog": 0.5, "fox": 0.001}]
    lists = tl.TopLists.from_dicts(rows, 10, ids=[7, 8, 9])
    words = "case 8: 'cat' has a confidence of 0.01, below the 0.0612 that each of the 8 unlisted classes gets."
    assert shown(lists, np.array(["cat"] * 3)).invalid == words
    assert shown(lists[:1], np.array(["cat"])).invalid == ""


def test_numbers_that_are_close_are_told_with_the_digits_that_tell_them_apart() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.249999}], 3)
    words = "case 0: '1' has a confidence of 0.249999, below the 0.250001 that the unlisted class gets."
    assert shown(lists, np.array([0])).invalid == words
