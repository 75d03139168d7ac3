"""No cases, and lists without classes: every function gives what it gives, of nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists
RULES: list[Any] = [*("brier", "log", "spherical", "zero-one"), tl.Power(1.5), tl.Renyi(0.5), tl.OneVsRest("log")]
RULES += [tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x)]
RULES += [tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v)]
NO_CASES: dict[str, Callable[[], tl.TopLists]] = {
    "topk": lambda: T.from_topk(np.zeros((0, 3), int), np.zeros((0, 3)), 5),
    "topk without classes": lambda: T.from_topk(np.zeros((0, 0), int), np.zeros((0, 0)), 5),
    "ragged": lambda: T.from_ragged([0], [], [], 5),
    "ragged from a part": lambda: T.from_ragged([2], [0, 1, 2], [0.5, 0.25, 0.125], 5),
    "dicts": lambda: T.from_dicts([], 5),
    "labels": lambda: T.from_labels([], 5),
    "proba": lambda: T.from_proba(np.zeros((0, 5))),
    "proba cut": lambda: T.from_proba(np.zeros((0, 5)), k=2),
    "logits": lambda: T.from_logits(np.zeros((0, 5))),
    "logits cut": lambda: T.from_logits(np.zeros((0, 5)), k=2),
    "csr": lambda: T.from_csr(SimpleNamespace(indptr=[0], indices=[], data=[], shape=(0, 5), format="csr")),
    "per case": lambda: T.from_topk([[0], [1]], [[0.5], [0.5]], [5, 5])[:0],
    "log rest": lambda: T.from_dicts([], 5, log_rest=[]),
    "sliced away": lambda: T.from_labels([0, 1, 2], 5)[3:],
    "masked away": lambda: T.from_labels([0, 1], 5)[[False, False]],
}
NO_CLASSES: dict[str, Callable[[], tl.TopLists]] = {
    "topk": lambda: T.from_topk(np.zeros((2, 0), int), np.zeros((2, 0)), 5),
    "topk lists": lambda: T.from_topk([[], []], [[], []], 5),
    "ragged": lambda: T.from_ragged([0, 0, 0], [], [], 5),
    "dicts": lambda: T.from_dicts([{}, {}], 5),
    "named": lambda: T.from_dicts([{}, {}], tl.ClassSpace(5, ["a"])),
    "csr": lambda: T.from_csr(SimpleNamespace(indptr=[0, 0, 0], indices=[], data=[], shape=(2, 5), format="csr")),
    "proba": lambda: T.from_proba(np.full((2, 5), 0.2), k=0),
    "logits": lambda: T.from_logits(np.zeros((2, 5)), k=0),
    "truncated": lambda: T.from_labels([0, 1], 5).truncate(0),
    "truncated to no mass": lambda: T.from_labels([0, 1], 5).truncate(mass=0),
    "per case": lambda: T.from_dicts([{}, {}], [5, 5]),
    "log rest": lambda: T.from_dicts([{}, {}], 5, log_rest=[0.0, 0.0]),
}


@pytest.mark.parametrize("make", NO_CASES.values(), ids=NO_CASES)
def test_a_batch_of_no_cases_is_a_batch_and_has_no_scores_by_any_rule(make: Callable[[], tl.TopLists]) -> None:
    lists = make()
    assert (len(lists), list(lists)) == (0, [])
    assert lists == lists[:0]
    assert "0 cases" in repr(lists)
    for part in (
        lists.valid(),
        lists.repair(),
        lists.truncate(2),
        lists.truncate(mass=0.5),
        lists.ordered(),
        lists[[]],
    ):
        assert len(part) == 0
    values = [lists.classes, lists.confidences, lists.sizes, lists.rest, lists.mass, lists.proxy, lists.is_valid()]
    values += [tl.ranks(lists, []), tl.scoring.excess_bound(lists), tl.scoring.worst_excess(lists)]
    for rule in RULES:
        values += [tl.score(lists, y, rule=rule) for y in ([], np.zeros(0))]
        values += [tl.entropy(lists, rule=rule)]
        for truth in (lists, np.full(5, 0.2), np.zeros((0, 5))):  # one per case, one for all, none
            values += [function(lists, truth, rule=rule) for function in (tl.expected_score, tl.divergence)]
    assert {value.shape for value in values} == {(0,)}


@pytest.mark.parametrize("make", NO_CLASSES.values(), ids=NO_CLASSES)
def test_a_list_without_classes_is_a_reject(make: Callable[[], tl.TopLists]) -> None:
    """All mass is left over, all classes share it, it is valid, and hits nothing."""
    lists: Any = make()
    assert lists.sizes.tolist() == [0, 0]
    assert lists.rest.tolist() == [1.0, 1.0]
    assert lists.proxy.tolist() == [0.2, 0.2]
    assert lists.is_valid().all()
    assert [one.confidences for one in lists] == [{}, {}]
    for part in (
        lists.valid(),
        lists.repair(),
        lists.truncate(0),
        lists.truncate(3),
        lists.truncate(mass=0.5),
        lists[::-1],
    ):
        assert part == lists
    for rule in RULES:
        np.testing.assert_allclose(tl.score(lists, [0, 4], rule=rule), tl.score([{}, {}], [0, 4], rule=rule, space=5))
    assert tl.accuracy(lists, [0, 4]) == tl.coverage(lists, [0, 4]) == 0.0
    assert tl.top_k_error(lists, [0, 4], k=3) == 1.0
    assert tl.ranks(lists, [0, 4]).tolist() == [math.inf, math.inf]
    assert (tl.scoring.excess_bound(lists) == math.inf).all()
    curve = tl.curve(lists, [0, 4])
    assert curve.score is not None
    assert (curve.ks.tolist(), curve.score.tolist(), curve.rest.tolist()) == ([0], pytest.approx([0.8]), [1.0])
