"""Confusions are counts of true and first predicted classes, whatever the batches are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.evaluation.factories import KINDS, batch, law, seeds, shown
from toplist.evaluation.model_details import first_entries

HARD = [kind for kind in KINDS if kind != "soft"]


def first(one: Any) -> Any:
    """The most confident class of a list; of equals the first, None of nothing."""
    return max(one, key=lambda name: one[name]) if one else None


@pytest.mark.parametrize("kind", [kind for kind in HARD if kind not in ("sets", "logits")])
@law
@given(seed=seeds, n=st.integers(0, 80))
def test_confusions_are_those_that_a_loop_counts(kind: str, seed: int, n: int) -> None:
    pd = pytest.importorskip("pandas")
    lists, y = batch(kind, seed, n)
    made = shown(lists, y).confusions
    rows = [(str(true), first(one.confidences), one) for true, one in zip(np.asarray(y).tolist(), lists, strict=True)]
    frame = pd.DataFrame(
        [
            (true, str(predicted), one.confidences[predicted])
            for true, predicted, one in rows
            if predicted is not None and str(predicted) != true
        ],
        columns=["true", "predicted", "t"],
    )
    support = pd.Series([true for true, _, _ in rows], dtype=object).value_counts()
    want = frame.groupby(["true", "predicted"]).t.agg(["size", "mean"]).reset_index()
    want = want.sort_values(["size", "true", "predicted"], ascending=[False, True, True])[:10]
    assert [(c.true, c.predicted, c.cases) for c in made] == list(
        want[["true", "predicted", "size"]].itertuples(index=False, name=None)
    )
    assert [c.share for c in made] == [c.cases / support[c.true] for c in made]
    assert [c.confidence for c in made] == pytest.approx(want["mean"].tolist(), rel=1e-12)


@pytest.mark.parametrize("kind", HARD)
@law
@given(seed=seeds, n=st.integers(0, 60))
def test_the_first_class_is_that_of_a_stable_sort(kind: str, seed: int, n: int) -> None:
    lists, _ = batch(kind, seed, n)
    ordered, entries = lists.ordered(), first_entries(lists)
    assert ((entries == -1) == (lists.sizes == 0)).all()
    listed = np.flatnonzero(entries >= 0)
    assert lists.classes[entries[listed]].tolist() == ordered.classes[ordered.offsets[listed]].tolist()


def test_a_tie_predicts_the_class_that_is_listed_first() -> None:
    lists = tl.TopLists.from_dicts([{"dog": 0.4, "cat": 0.4}, {"cat": 0.4, "dog": 0.4}], 5)
    (only,) = shown(lists, np.array(["cat", "cat"])).confusions
    assert (only.true, only.predicted, only.cases, only.share, only.confidence) == ("cat", "dog", 1, 0.5, 0.4)


def test_an_empty_list_confuses_nothing_but_counts_among_the_cases_of_its_class() -> None:
    lists = tl.TopLists.from_dicts([{}, {"dog": 0.9}], 5)
    (only,) = shown(lists, np.array(["cat", "cat"])).confusions
    assert (only.predicted, only.share) == ("dog", 0.5)


def test_outcomes_that_no_list_names_are_told_apart() -> None:
    lists = tl.TopLists.from_dicts([{"dog": 0.9}] * 3, 9)
    made = shown(lists, np.array(["fox", "owl", "fox"])).confusions
    assert [(c.true, c.cases, c.share) for c in made] == [("fox", 2, 1.0), ("owl", 1, 1.0)]


def test_a_truth_that_is_a_distribution_has_no_confusions() -> None:
    lists, y = batch("soft", 1, 30)
    assert shown(lists, y).confusions == ()


def test_label_sets_are_confused_by_name() -> None:
    space = tl.LabelSets(["a", "b"])
    lists = tl.TopLists.from_dicts([{frozenset("ab"): 0.8}], space)
    (only,) = shown(lists, np.array([[0, 1]])).confusions
    assert (only.true, only.predicted) == ("{b}", "{a, b}")
