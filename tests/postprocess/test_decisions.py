"""Decisions against brute force over all actions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.factories import draw_lists
from toplist.postprocess.decisions import REJECT, decide

seeds = st.integers(0, 10_000)


@given(seed=seeds, m=st.integers(1, 6), count=st.integers(1, 5), valid=st.booleans())
def test_costs_are_minimised_over_all_actions(seed: int, m: int, count: int, valid: bool) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 6, m, valid=valid)
    costs, names = rng.normal(0, 5, (count, m)).round(1), [f"action {i}" for i in range(count)]
    decisions = decide(lists, costs, actions=names)
    expected = lists.strictly_valid().padded() @ costs.T
    np.testing.assert_allclose(decisions.expected, expected.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(expected[np.arange(6), decisions.code], expected.min(axis=1), atol=1e-9)
    assert decisions.actions == tuple(names[code] for code in decisions.code)


@given(seed=seeds, price=st.floats(0.0, 1.0))
def test_zero_one_costs_with_a_price_to_reject_are_the_rule_of_chow(seed: int, price: float) -> None:
    """The most confident class, unless its confidence is below one minus the price."""
    lists = draw_lists(np.random.default_rng(seed), 8, 5)
    decisions = decide(lists, 1 - np.eye(5), reject=price)
    padded = lists.strictly_valid().padded()
    clear = np.abs(padded.max(axis=1) - (1 - price)) > 1e-9
    np.testing.assert_array_equal(decisions.rejected[clear], padded.max(axis=1)[clear] < 1 - price)
    for case in np.flatnonzero(decisions.rejected):
        assert decisions.actions[case] is None
        assert (decisions.code[case], decisions.expected[case]) == (REJECT, price)
    picked = np.flatnonzero(~decisions.rejected)
    np.testing.assert_allclose(padded[picked, decisions.code[picked]], padded.max(axis=1)[picked])


def test_label_sets_are_classes_too() -> None:
    space = tl.LabelSets("ab")
    lists = tl.TopLists.from_dicts([{("a",): 0.5, ("a", "b"): 0.4}], space)
    hamming = [[(a ^ y).bit_count() for y in range(4)] for a in range(4)]
    assert decide(lists, hamming).actions == (space.decode(decide(lists, hamming).code[0]),)
    assert set(decide(lists, hamming).actions[0]) == {"a"}


def test_equals_give_way_to_what_was_given_first() -> None:
    lists = tl.TopLists.from_proba([[0.5, 0.5]])
    assert decide(lists, [[0, 1], [1, 0]], reject=0.5).code.tolist() == [0]


def test_no_case_is_no_decision() -> None:
    none = tl.TopLists.from_labels(np.zeros(0, np.int64), 3)
    assert len(decide(none, np.eye(3))) == 0
    assert repr(decide(none, np.eye(3))) == "Decisions(0 cases, 0 rejected)"


def test_many_blocks_are_one_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    lists, costs = draw_lists(rng, 30, 5), rng.random((5, 5))
    whole = decide(lists, costs, reject=0.4)
    monkeypatch.setattr("toplist.postprocess.decisions._CELLS", 40)
    parts = decide(lists, costs, reject=0.4)
    np.testing.assert_array_equal(whole.code, parts.code)
    np.testing.assert_allclose(whole.expected, parts.expected, atol=1e-14)
    assert repr(whole).startswith("Decisions(30 cases, ")
