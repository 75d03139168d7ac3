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
RULES = {
    "brier": tl.Brier(),
    "log": tl.Log(),
    "spherical": tl.Spherical(),
    "power": tl.Power(1.5),
    "renyi": tl.Renyi(0.5),
    "zero-one": tl.ZeroOne(),
    "one-vs-rest": tl.OneVsRest("log"),
    "separable": tl.Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x),
    "savage": tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v),
    "numerical savage": tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1)),
}
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
def test_a_batch_of_no_cases_is_a_batch(make: Callable[[], tl.TopLists]) -> None:
    lists = make()
    assert len(lists) == 0
    assert list(lists) == []
    assert lists == lists[:0]
    assert "0 cases" in repr(lists)
    for values in (
        lists.classes,
        lists.confidences,
        lists.sizes,
        lists.rest,
        lists.mass,
        lists.proxy,
        lists.is_valid(),
    ):
        assert values.shape == (0,)
    for part in (
        lists.valid(),
        lists.repair(),
        lists.truncate(2),
        lists.truncate(mass=0.5),
        lists.ordered(),
        lists[[]],
    ):
        assert len(part) == 0


@pytest.mark.parametrize("make", NO_CASES.values(), ids=NO_CASES)
def test_no_cases_have_no_scores(make: Callable[[], tl.TopLists]) -> None:
    """By every rule."""
    lists = make()
    for rule in RULES.values():
        for values in (
            tl.score(lists, [], rule=rule),
            tl.score(lists, np.zeros(0), rule=rule),
            tl.entropy(lists, rule=rule),
            tl.expected_score(lists, lists, rule=rule),
            tl.divergence(lists, lists, rule=rule),
        ):
            assert values.shape == (0,)


@pytest.mark.parametrize("truth", [np.full(5, 0.2), np.zeros((0, 5))], ids=["one for all", "one per case"])
def test_no_cases_have_no_expected_scores(truth: Any) -> None:
    """Under one distribution for all of them, or under none."""
    for rule in RULES.values():
        for values in (
            tl.expected_score(NO_CASES["topk"](), truth, rule=rule),
            tl.divergence(NO_CASES["topk"](), truth, rule=rule),
        ):
            assert values.shape == (0,)


@pytest.mark.parametrize("make", NO_CASES.values(), ids=NO_CASES)
def test_no_cases_have_no_ranks_and_no_bounds(make: Callable[[], tl.TopLists]) -> None:
    lists = make()
    assert (
        tl.ranks(lists, []).shape
        == tl.scoring.excess_bound(lists).shape
        == tl.scoring.worst_excess(lists).shape
        == (0,)
    )
    for mean in (tl.accuracy, tl.coverage, tl.curve, lambda lists, y: tl.top_k_error(lists, y, k=2)):
        with pytest.raises(tl.TopListError) as caught:
            mean(lists, [])
        assert str(caught.value) == "there are no cases to average over."


@pytest.mark.parametrize("make", NO_CLASSES.values(), ids=NO_CLASSES)
def test_a_list_without_classes_is_a_reject(make: Callable[[], tl.TopLists]) -> None:
    """All mass is left over, all classes share it, and it is valid."""
    lists = make()
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


@pytest.mark.parametrize("make", NO_CLASSES.values(), ids=NO_CLASSES)
def test_a_reject_scores_like_the_uniform_distribution(make: Callable[[], tl.TopLists]) -> None:
    """For every outcome, in expectation under every truth, and in its own eyes, by every rule."""
    lists, uniform = make(), T.from_proba(np.full((2, 5), 0.2))
    truth = np.array([0.5, 0.25, 0.25, 0.0, 0.0])
    for rule in RULES.values():
        want = tl.score(uniform, [0, 4], rule=rule)
        for got in (
            tl.score(lists, [0, 4], rule=rule),
            tl.entropy(lists, rule=rule),
            tl.expected_score(lists, truth, rule=rule),
            tl.score(lists, np.tile(truth, (2, 1)), rule=rule),
        ):
            np.testing.assert_allclose(got, want, rtol=1e-8)


@pytest.mark.parametrize("make", NO_CLASSES.values(), ids=NO_CLASSES)
def test_a_reject_hits_nothing(make: Callable[[], tl.TopLists]) -> None:
    lists: Any = make()
    assert tl.accuracy(lists, [0, 4]) == tl.coverage(lists, [0, 4]) == 0.0
    assert tl.top_k_error(lists, [0, 4], k=3) == 1.0
    assert tl.ranks(lists, [0, 4]).tolist() == [math.inf, math.inf]
    assert (tl.scoring.excess_bound(lists) == math.inf).all()
    curve = tl.curve(lists, [0, 4])
    assert curve.score is not None
    assert (curve.ks.tolist(), curve.score.tolist(), curve.rest.tolist()) == ([0], pytest.approx([0.8]), [1.0])
