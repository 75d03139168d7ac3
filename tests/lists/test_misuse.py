"""What people try when they are in a hurry: each mistake is the project's own error, not a traceback from inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists
C, P = [[0, 1], [1, 2]], [[0.5, 0.2], [0.6, 0.3]]


def some() -> tl.TopLists:
    return T.from_topk(C, P, 5)


def sets() -> tl.TopLists:
    return T.from_dicts([{frozenset("a"): 0.5}] * 2, tl.LabelSets("ab"))


ARRAYS: dict[str, Callable[[], Any]] = {
    "rows of different lengths": lambda: T.from_topk([[0, 1], [1]], [[0.5, 0.2], [0.6]], 5),
    "confidences of different lengths": lambda: T.from_topk(C, [[0.5, 0.2], [0.6]], 5),
    "distributions of different lengths": lambda: T.from_proba([[0.5, 0.5], [1.0]]),
    "logits of different lengths": lambda: T.from_logits([[0.5, 0.5], [1.0]]),
    "dicts for arrays": lambda: T.from_topk({0: 0.5}, {0: 0.5}, 5),
    "complex numbers": lambda: T.from_topk(C, np.array(P) + 1j, 5),
    "masked confidences": lambda: T.from_topk(C, np.ma.masked_array(P, mask=[[0, 0], [0, 1]]), 5),
    "one id for all": lambda: T.from_topk(C, P, 5, ids="a"),
    "rest in words": lambda: T.from_topk(C, P, 5, log_rest=["a", "b"]),
    "rest in a column": lambda: T.from_topk(C, P, 5, log_rest=[[-1.2], [-2.3]]),
    "code beyond 64 bits": lambda: T.from_topk([[0, 2**70]], [[0.5, 0.2]], 2**80),
    "key beyond 64 bits": lambda: T.from_dicts([{2**70: 0.5}], 2**80),
    "no dicts": lambda: T.from_dicts(None, 5),
    "lists in dicts": lambda: T.from_dicts([{"a": [0.5, 0.2]}], 5),
    "lists in some dicts": lambda: T.from_dicts([{"a": [0.5, 0.2], "b": 0.1}], 5),
    "sparse by columns": lambda: T.from_csr(pytest.importorskip("scipy.sparse").csc_array(np.array(P)), 5),
    "logits without classes": lambda: T.from_logits(np.zeros((2, 0))),
    "logits all impossible": lambda: T.from_logits([[-math.inf, -math.inf]]),
}
SPACES: dict[str, Callable[[], Any]] = {
    "labels are a number": lambda: tl.ClassSpace(labels=3),  # type: ignore[arg-type]
    "labels first": lambda: tl.ClassSpace(["a", "b"], 5),  # type: ignore[arg-type]
    "labels that cannot be keys": lambda: tl.ClassSpace(labels=[["a"], ["b"]]),  # type: ignore[list-item]
    "sizes of different lengths": lambda: tl.ClassSpace([[3], [4, 5]]),
    "sets of a number": lambda: tl.LabelSets(3),  # type: ignore[arg-type]
    "support is a number": lambda: tl.LabelSets("ab", support=3),  # type: ignore[arg-type]
    "sets of what cannot be a key": lambda: tl.LabelSets([["a"]]),  # type: ignore[list-item]
    "a number for a set": lambda: tl.LabelSets("ab").encode([3]),
    "a matrix too wide": lambda: tl.LabelSets("ab").encode(np.ones((2, 3), int)),
    "a code too large": lambda: tl.LabelSets("ab").decode(99),
    "a code out of the support": lambda: tl.LabelSets("ab", support=["a"]).decode(5),
}
OUTCOMES: dict[str, Callable[[], Any]] = {
    "of different lengths": lambda: tl.score(some(), [[1, 0], [1]]),
    "beyond 64 bits": lambda: tl.score(some(), [0, 2**70]),
    "distribution as a dict": lambda: tl.expected_score(some(), {0: 1.0}),
    "distribution as a word": lambda: tl.expected_score(some(), "abc"),
    "distributions of different lengths": lambda: tl.expected_score(some(), [[0.5, 0.5], [1.0]]),
    "a set that is a number": lambda: tl.score(sets(), [1, 0]),
    "no set": lambda: tl.score(sets(), [{"a"}, None]),
    "a class that its case does not have": lambda: tl.expected_score(
        T.from_topk([[0], [1]], [[0.5], [0.5]], [2, 4]), [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    ),
}
OPTIONS: dict[str, Callable[[], Any]] = {
    "k is a word": lambda: some().truncate("2"),  # type: ignore[arg-type]
    "k is NaN": lambda: some().truncate(math.nan),  # type: ignore[arg-type]
    "k is infinite": lambda: T.from_proba([[0.5, 0.5]], k=math.inf),  # type: ignore[arg-type]
    "k is a list": lambda: T.from_proba([[0.5, 0.5]], k=[1]),  # type: ignore[arg-type]
    "k of logits is a word": lambda: T.from_logits([[0.5, 0.5]], k="1"),  # type: ignore[arg-type]
    "mass is a word": lambda: some().truncate(mass="all"),  # type: ignore[arg-type]
    "penalty is a word": lambda: tl.score(some(), [0, 1], penalty="high"),  # type: ignore[arg-type]
    "penalty per case": lambda: tl.score(some(), [0, 1], penalty=np.array([0.0, 1.0])),  # type: ignore[arg-type]
    "ks is a number": lambda: tl.curve([[0.5, 0.5]], [0], ks=1),  # type: ignore[arg-type]
    "ks are words": lambda: tl.curve([[0.5, 0.5]], [0], ks=["a"]),  # type: ignore[list-item]
    "ks are halves": lambda: tl.curve([[0.5, 0.5]], [0], ks=[1.5]),  # type: ignore[list-item]
}
NO_LISTS: dict[str, Callable[[], Any]] = {
    "penalty of nothing": lambda: tl.scoring.default_penalty(None),
    "bound of nothing": lambda: tl.scoring.excess_bound(None),
    "worst of an array": lambda: tl.scoring.worst_excess([0.5]),
    "valid nothing": lambda: tl.lists.is_valid(None),  # type: ignore[arg-type]
    "calibrated batch": lambda: tl.lists.is_calibrated(some(), [0.2] * 5),  # type: ignore[arg-type]
    "top k of nothing": lambda: tl.lists.top_k(None, 1),
    "top k of words": lambda: tl.lists.top_k("ab", 1),
    "top k of rows": lambda: tl.lists.top_k([[0.5, 0.5]], 1),
    "top k, half a class": lambda: tl.lists.top_k([0.5, 0.5], 1.5),  # type: ignore[arg-type]
    "true lists, half a class": lambda: tl.lists.true_lists([0.5, 0.5], 1.5),  # type: ignore[arg-type]
    "mass in words": lambda: tl.lists.top_mass([0.5, 0.5], "most"),  # type: ignore[arg-type]
    "words majorize": lambda: tl.scoring.majorizes("a", "b"),
    "nothing majorizes": lambda: tl.scoring.majorizes(None, None),
}
RULES: dict[str, Callable[[], Any]] = {
    "no entropy": lambda: tl.Savage(None),  # type: ignore[arg-type]
    "entropy by name": lambda: tl.Savage("brier"),  # type: ignore[arg-type]
    "entropy that is a number": lambda: tl.Savage(lambda v, n: 0.5),
    "gradient that is a number": lambda: tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2.0),
    "no function": lambda: tl.Separable(None, None),  # type: ignore[arg-type]
}
MISUSES = {
    f"{room}: {name}": make
    for room, table in (
        ("arrays", ARRAYS),
        ("spaces", SPACES),
        ("outcomes", OUTCOMES),
        ("options", OPTIONS),
        ("no lists", NO_LISTS),
        ("rules", RULES),
    )
    for name, make in table.items()
}


@pytest.mark.parametrize("make", MISUSES.values(), ids=MISUSES)
def test_a_mistake_is_said_to_be_one(make: Callable[[], Any]) -> None:
    """Neither a warning, nor a result, nor an error of numpy or of Python."""
    with pytest.raises(tl.TopListError) as caught:
        make()
    said = str(caught.value)
    assert said.endswith((".", "?"))
    assert "NoneType" not in said
    assert "is not iterable" not in said


def test_a_message_is_short_however_many_classes_there_are() -> None:
    """Three thousand digits help nobody, and Python refuses to write more than 4,300."""
    for size in (2**10000, 10**5000):
        lists = T.from_labels([0], size)
        for use in (lists.padded, lambda lists=lists: tl.score(lists, [-1])):
            with pytest.raises(tl.TopListError) as caught:
                use()
            assert len(str(caught.value)) < 200
