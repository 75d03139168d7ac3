"""Labels that are numbers are labels still: in lists and in outcomes, whichever way they come in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists
NUMBERS = {
    "from one": [1, 2, 3],
    "with gaps": [30, 10, 20],
    "numpy": list(np.array([1, 2, 3])),
    "floats": [1.0, 2.0, 3.0],
    "halves": [0.5, 1.5, 2.5],
    "booleans": [True, False],
}


@pytest.mark.parametrize("labels", NUMBERS.values(), ids=NUMBERS)
def test_a_classifier_that_predicts_its_own_labels_scores_alike_hard_and_soft(labels: list[Any]) -> None:
    """scikit-learn's `classes_`, `predict` and `predict_proba`: sure and right is zero, sure and wrong is two."""
    space, m = tl.ClassSpace(labels=labels), len(labels)
    right, wrong = labels, labels[1:] + labels[:1]
    soft = T.from_proba(np.eye(m), space)
    for lists in (
        soft,
        T.from_labels(right, space),
        T.from_labels(np.array(right), space),
        T.from_dicts([{label: 1.0} for label in right], space),
    ):
        for y, want in ((right, 0.0), (wrong, 2.0)):
            assert tl.score(lists, y).tolist() == [want] * m
            assert tl.score(lists, np.array(y)).tolist() == [want] * m
            assert tl.accuracy(lists, y) == (1.0 if want == 0 else 0.0)
    assert [one.classes for one in T.from_labels(right, space)] == [(label,) for label in right]


@pytest.mark.parametrize("labels", [[1, 2, 3], ["1", "2", "3"]], ids=["numbers", "text"])
def test_lists_of_labels_in_arrays_are_those_in_dicts(labels: list[Any]) -> None:
    space = tl.ClassSpace(labels=labels)
    want = T.from_dicts([{labels[0]: 0.5, labels[2]: 0.25}, {labels[1]: 0.5, labels[0]: 0.25}], space)
    picked = [[labels[0], labels[2]], [labels[1], labels[0]]]
    assert T.from_topk(picked, [[0.5, 0.25]] * 2, space) == want
    assert T.from_topk(np.array(picked), [[0.5, 0.25]] * 2, space) == want
    assert T.from_ragged([0, 2, 4], [*picked[0], *picked[1]], [0.5, 0.25] * 2, space) == want


class Named:
    """A mapping as pandas has it: `items` are pairs, but what it iterates over are values."""

    def __init__(self, named: dict[str, float]) -> None:
        self.named = named

    def __len__(self) -> int:
        return len(self.named)

    def __iter__(self) -> Iterator[float]:
        return iter(self.named.values())

    def keys(self) -> Any:
        return self.named.keys()

    def values(self) -> Any:
        return self.named.values()

    def items(self) -> Any:
        return self.named.items()

    def __getitem__(self, key: str) -> float:
        return self.named[key]


def test_a_mapping_is_read_by_its_items() -> None:
    """Confidences do not become labels."""
    row = {"a": 0.5, "b": 0.25}
    assert T.from_dicts([Named(row)], 5) == T.from_dicts([row], 5)


@pytest.mark.parametrize("kind", [set, frozenset, list, tuple])
def test_outcomes_that_are_sets_may_be_written_as_any_collection(kind: Any) -> None:
    """Of one length or of several, as lists of labels usually are."""
    space = tl.LabelSets("abc")
    lists = T.from_dicts([{frozenset("a"): 0.5, frozenset("ab"): 0.25}] * 3, space)
    for picked in (["a", "ab", ""], ["a", "b", "c"], ["ab", "bc", "ac"]):
        want = tl.score(lists, [frozenset(s) for s in picked])
        assert tl.score(lists, [kind(s) for s in picked]).tolist() == want.tolist()
        assert (
            tl.ranks(lists, [kind(s) for s in picked]).tolist()
            == tl.ranks(lists, list(map(frozenset, picked))).tolist()
        )


def test_an_indicator_matrix_holds_zeros_and_ones_for_every_label() -> None:
    """Marginals are not outcomes, and a matrix of other width is of other labels."""
    lists = T.from_dicts([{frozenset("a"): 0.5}] * 2, tl.LabelSets("abc"))
    for matrix in ([[0.7, 0.2, 0.1], [0.9, 0.0, 0.3]], [[1, 0], [0, 1]], [[1, 0, 0, 0], [0, 1, 0, 0]]):
        with pytest.raises(tl.TopListError):
            tl.score(lists, np.array(matrix))
