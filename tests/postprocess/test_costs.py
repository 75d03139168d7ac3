"""Decisions against brute force over all actions and all places of the rest mass."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import toplist as tl
from tests.postprocess.factories import draw_lists
from toplist.postprocess.costs import OTHER, REJECT
from toplist.postprocess.decisions import CostTable, Decisions, Special, decide, decide_sets

Floats = NDArray[np.float64]
seeds = st.integers(0, 10_000)


def vertices(one: tl.TopList, m: int) -> Floats:
    """The distributions with these confidences whose rest mass is on one class: all others lie between them."""
    p = np.zeros(m)
    p[list(one.batch.classes)] = one.batch.normalized_confidences
    free = [c for c in range(m) if c not in one.batch.classes]
    if not free:
        return p[None]
    out = np.repeat(p[None], len(free), axis=0)
    out[np.arange(len(free)), free] = one.rest
    return out


def check(made: Decisions, case: int, costs: Floats, action: int, one: tl.TopList, *, exact: bool = True) -> None:
    """A case of a decision against the whole table of costs; if not `exact`, what is sure need not be called so."""
    m = costs.shape[1]
    padded, corners = costs @ one.batch.padded()[0], costs @ vertices(one, m).T
    low, high = corners.min(axis=1), corners.max(axis=1)
    assert padded[action] == pytest.approx(padded.min(), abs=1e-9)
    got = made.expected[case], made.low[case], made.high[case]
    assert got == pytest.approx((padded[action], low[action], high[action]), abs=1e-9)
    margin = (np.delete(corners, action, axis=0) - corners[action]).min(initial=np.inf)
    bounded = np.delete(low, action).min(initial=np.inf) - high[action]
    if abs(margin) > 1e-9 and (exact or bounded > 1e-9 or margin < 0):
        assert made.sure[case] == (margin > 0)
    if made.sure[case]:
        assert (corners[action] <= corners.min(axis=0) + 1e-9).all()


@given(seed=seeds, m=st.integers(1, 6), count=st.integers(1, 5), valid=st.booleans())
def test_matrices_are_minimised_over_all_actions_with_exact_bounds(seed: int, m: int, count: int, valid: bool) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 6, m, valid=valid)
    costs = rng.normal(0, 5, (count, m)).round(1)
    names = [f"action {i}" for i in range(count)]
    made = decide(lists, costs, actions=names)
    plain = lists.strictly_valid()
    for case, one in enumerate(plain):
        check(made, case, costs, int(made.code[case]), one)
        assert made.actions[case] == names[made.code[case]]
    same = decide(lists, lambda a, y: costs[names.index(a), y], actions=names)
    np.testing.assert_array_equal(same.code, made.code)
    np.testing.assert_array_equal(same.sure, made.sure)
    sparse = decide(lists, csr_array(costs), actions=names)
    for case, one in enumerate(plain):
        check(sparse, case, costs, int(sparse.code[case]), one)


def test_actions_whose_costs_depend_on_the_rest_alike_are_told_apart() -> None:
    """The first is never dearer than the others, though the bounds of their costs overlap."""
    lists = tl.TopLists.from_dicts([{0: 0.6}], 3)
    matrix = np.array([[1.0, 0.0, 2.0], [1.02, 0.0, 2.0], [1.0, 0.5, 2.5]])
    made = decide(lists, matrix, actions=["a", "b", "c"])
    assert made.high[0] > decide(lists, matrix[1:], actions=["b", "c"]).low[0]
    assert made.sure.all()
    entries = {(name, y): matrix[i, y] for i, name in enumerate("abc") for y in range(3)}
    assert decide(lists, entries, actions=["a", "b", "c"]).sure.all()
    assert not decide(lists, matrix - [[0, 0, 0], [0, 0, 0.1], [0, 0, 0]], actions=["a", "b", "c"]).sure.any()


@given(seed=seeds, m=st.integers(1, 6), right=st.sampled_from([0.0, -1.0, 1.0, 2.0]), valid=st.booleans())
def test_tables_are_minimised_over_all_classes_though_few_are_looked_at(
    seed: int, m: int, right: float, valid: bool
) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 6, m, valid=valid)
    pairs = list(itertools.product(range(m), range(m)))
    chosen = rng.choice(len(pairs), size=int(rng.integers(0, min(len(pairs), 6) + 1)), replace=False)
    entries = {pairs[i]: round(float(rng.normal(0.5, 1)), 1) for i in chosen}
    made = decide(lists, CostTable(entries, default=1.0, right=right))
    costs = np.where(np.eye(m, dtype=bool), right, 1.0)
    for (a, y), cost in entries.items():
        costs[a, y] = cost
    tabled = {a for a, _ in entries}
    for case, one in enumerate(lists.strictly_valid()):
        action = int(made.code[case])
        if action == OTHER:
            assert made.actions[case] is Special.OTHER
            action = next(c for c in range(m) if c not in tabled and c not in one.batch.classes)
        check(made, case, costs, action, one, exact=len(tabled | set(one.batch.classes.tolist())) == m)


@given(seed=seeds, m=st.integers(2, 6))
def test_named_actions_of_a_table_are_all_looked_at(seed: int, m: int) -> None:
    """Actions that are classes are right when they happen; the others cost the default."""
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 5, m)
    table = {("wait", 0): 3.0, (1, 0): 0.5, ("act", 1): -1.0}
    names = ["wait", "act", 1, "nothing"]
    costs = np.ones((4, m))
    costs[0, 0], costs[2, 0], costs[1, 1], costs[2, 1] = 3.0, 0.5, -1.0, 0.0
    made = decide(lists, table, actions=names)
    for case, one in enumerate(lists.strictly_valid()):
        check(made, case, costs, int(made.code[case]), one)


@given(seed=seeds, cost=st.floats(0.0, 1.0))
def test_zero_one_costs_with_a_price_to_reject_are_the_rule_of_chow(seed: int, cost: float) -> None:
    """The most confident class, unless its confidence is below one minus the price."""
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, 8, 5)
    made = decide(lists, {}, reject=cost)
    padded = lists.strictly_valid().padded()
    clear = np.abs(padded.max(axis=1) - (1 - cost)) > 1e-9
    np.testing.assert_array_equal(made.rejected[clear], padded.max(axis=1)[clear] < 1 - cost)
    for case in np.flatnonzero(made.rejected):
        assert made.actions[case] is Special.REJECT
        assert made.code[case] == REJECT
        assert made.low[case] == made.high[case] == made.expected[case] == cost
    picked = np.flatnonzero(made.code >= 0)
    np.testing.assert_allclose(padded[picked, made.code[picked]], padded.max(axis=1)[picked])


@pytest.mark.parametrize("m", [10**9, 2**10000, math.inf], ids=["many", "huge", "infinite"])
def test_huge_spaces_cost_no_more_to_look_at(m: Any) -> None:
    space = tl.ClassSpace(m, ["cat", "dog", "fox"])
    lists = tl.TopLists.from_dicts([{"cat": 0.6, "dog": 0.3}, {"dog": 0.2}, {}], space)
    made = decide(lists, {("cat", "dog"): 10.0}, reject=1.5)
    assert made.actions[:2] == ("dog", "dog")
    assert made.actions[2] in (Special.OTHER, "cat")  # equal, where each class has no share of the rest at all
    np.testing.assert_allclose(made.expected, [0.7, 0.8, 1.0], atol=1e-8)
    np.testing.assert_allclose(made.low, [0.7, 0.8, 0.0], atol=1e-8)
    np.testing.assert_allclose(made.high[:2], [0.7, 0.8], atol=1e-8)
    assert made.sure.tolist() == [True, False, False]  # all of 0.8 may be on one class


def test_the_number_of_classes_may_differ_per_case() -> None:
    """As if each case were decided alone; a class that is not there is no action and no outcome."""
    sizes = [2, 5, 3]
    rows: list[dict[Any, float]] = [{0: 0.5}, {0: 0.3, 1: 0.2}, {}]
    table = CostTable({(0, 1): 4.0, (4, 0): -3.0, (1, 4): 7.0}, default=1.0)
    made = decide(tl.TopLists.from_dicts(rows, tl.ClassSpace(sizes)), table)
    for case, (row, m) in enumerate(zip(rows, sizes, strict=True)):
        there = {pair: cost for pair, cost in table.entries.items() if max(pair) < m}
        alone = decide(tl.TopLists.from_dicts([row], m), there)
        assert made.code[case] == alone.code[0] or alone.code[0] == OTHER  # in a table of fewer actions
        got, want = ([x[at] for x in (d.expected, d.low, d.high, d.sure)] for d, at in ((made, case), (alone, 0)))
        assert got == pytest.approx(want)


def test_a_function_over_many_classes_is_told_what_unlisted_ones_cost() -> None:
    lists = tl.TopLists.from_dicts([{0: 0.6, 5: 0.3}, {3: 1.0}], 10**6)
    asked = []

    def far(a: int, y: int) -> float:
        asked.append((a, y))
        return float(abs(a - y))

    made = decide(lists, far, unlisted=(1.0, 10.0, 20.0))
    assert made.code.tolist() == [0, 3]
    np.testing.assert_allclose(made.expected, [1.5 + 1.0, 0.0])
    np.testing.assert_allclose(made.low, [1.5 + 0.1, 0.0])
    np.testing.assert_allclose(made.high, [1.5 + 2.0, 0.0])
    assert made.sure.tolist() == [False, True]
    assert len(asked) == 5  # listed pairs only, each once
    named = decide(lists, far, actions=[2, 4], unlisted=float)
    assert named.actions == (2, 2)
    np.testing.assert_allclose(named.expected, [0.6 * 2 + 0.3 * 3 + 0.1 * 2, 1.0])
    with pytest.raises(tl.TopListError, match=r"unlisted=\(least, mean, most\)"):
        decide(lists, far)
    with pytest.raises(tl.TopListError, match="no action to choose"):
        decide(tl.TopLists.from_dicts([{0: 0.5}, {}], 10**6), far, unlisted=1.0)
    assert decide(tl.TopLists.from_dicts([{}], 10**6), far, unlisted=1.0, reject=2.0).rejected.all()


def test_label_sets_are_classes_too() -> None:
    space = tl.LabelSets("ab")
    lists = tl.TopLists.from_dicts([{("a",): 0.5, ("a", "b"): 0.4}], space)
    made = decide(lists, lambda a, y: float(len(a ^ y)))
    assert made.actions == (frozenset("a"),)
    table = decide(lists, {(frozenset("a"), frozenset("ab")): 5.0})
    assert table.actions == (frozenset("ab"),)


def test_equals_give_way_to_what_was_given_first() -> None:
    lists = tl.TopLists.from_proba([[0.5, 0.5]])
    assert decide(lists, [[0, 1], [1, 0]], reject=0.5).code.tolist() == [0]
    assert decide(lists, {}, reject=0.5).code.tolist() == [0]


def test_no_case_is_no_decision() -> None:
    none = tl.TopLists.from_labels(np.zeros(0, np.int64), 3)
    assert len(decide(none, {})) == len(decide(none, np.eye(3))) == 0
    assert repr(decide(none, {})) == "Decisions(0 cases)"
    assert repr(decide_sets(none, 0.1)) == "SetDecisions(0 cases)"


def test_many_blocks_are_one_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    lists, costs = draw_lists(rng, 30, 5), rng.random((5, 5))
    whole = [decide(lists, costs), decide(lists, {(0, 1): 3.0}, reject=0.6)]
    monkeypatch.setattr("toplist.postprocess.decisions.CELLS", 40)
    for one, again in zip(whole, [decide(lists, costs), decide(lists, {(0, 1): 3.0}, reject=0.6)], strict=True):
        np.testing.assert_array_equal(one.code, again.code)
        np.testing.assert_allclose(one.high, again.high, atol=1e-14)
    assert repr(whole[1]).startswith("Decisions(30 cases, ")


@given(seed=seeds, price=st.sampled_from([0.0, 0.05, 0.1, 0.3, 2.0]), miss=st.sampled_from([1.0, 3.0]))
def test_no_set_of_classes_costs_less_than_the_chosen_one(seed: int, price: float, miss: float) -> None:
    """Over all subsets of five classes; sure choices are best wherever the rest mass is."""
    rng = np.random.default_rng(seed)
    lists, m = draw_lists(rng, 4, 5), 5
    made = decide_sets(lists, price, miss=miss)
    sets = [set(s) for size in range(m + 1) for s in itertools.combinations(range(m), size)]
    for case, one in enumerate(lists.strictly_valid()):
        mine = set(range(m)) if made.whole[case] else set(made.lists[case].confidences)

        def cost(s: set[int], p: Floats) -> float:
            return price * len(s) + miss * (1 - p[sorted(s)].sum())

        padded = one.batch.padded()[0]
        assert made.expected[case] == pytest.approx(cost(mine, padded), abs=1e-12)
        assert made.expected[case] == pytest.approx(min(cost(s, padded) for s in sets), abs=1e-12)
        if made.sure[case]:
            for p in vertices(one, m):
                assert cost(mine, p) <= min(cost(s, p) for s in sets) + 1e-12
    assert "SetDecisions(4 cases" in repr(made)


def test_sets_of_open_ended_answers_are_never_everything() -> None:
    made = decide_sets(tl.TopLists.from_dicts([{"a": 0.6, "b": 0.01}, {}], math.inf), 0.05)
    assert made.lists.sizes.tolist() == [1, 0]
    assert not made.whole.any()
    np.testing.assert_allclose(made.expected, [0.45, 1.0])


@pytest.mark.parametrize(
    ("costs", "options", "words"),
    [
        ([[0, 1, 2]], {}, "Name the actions"),
        ([[0, 1]], {"actions": ["a"]}, "column per class"),
        ([[0, 1, 2]], {"actions": ["a", "b"]}, "1 rows for 2 actions"),
        ([[0, 1, math.inf]], {"actions": ["a"]}, "finite"),
        ({(0, 7): 1.0}, {}, "not a class"),
        ({("x", 1): 1.0}, {}, "Name the actions"),
        ({("x", 1): 1.0}, {"actions": ["y"]}, "not among the actions"),
        ({0: 1.0}, {}, r"maps \(action, outcome\)"),
        ({(0, 1): math.nan}, {}, "finite"),
        ({}, {"actions": []}, "at least one"),
        ({}, {"reject": math.inf}, "finite"),
        ({}, {"unlisted": 1.0}, "goes with a cost function"),
        (lambda a, y: None, {}, "finite"),
        (lambda a, y: 1.0, {"unlisted": (1, 2)}, "least, mean, most"),
        (lambda a, y: 1.0, {"unlisted": (2, 1, 3)}, "in this order"),
        (csr_array(np.ones((2, 2))), {}, "column per class"),
    ],
)
def test_what_makes_no_sense_is_said(costs: Any, options: dict[str, Any], words: str) -> None:
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.2}], 3)
    with pytest.raises(tl.TopListError, match=words):
        decide(lists, costs, **options)


def test_prices_of_sets_are_numbers() -> None:
    lists = tl.TopLists.from_labels([0], 3)
    for price, miss in [(-1.0, 1.0), (math.inf, 1.0), (0.1, 0.0)]:
        with pytest.raises(tl.TopListError):
            decide_sets(lists, price, miss=miss)
    with pytest.raises(tl.TopListError, match="maps"):
        CostTable([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [4, 2**10000, math.inf])
def test_where_classes_cost_nothing_the_set_is_the_whole_space_and_surely_so(m: Any) -> None:
    """Though the share of an unlisted class is too small for a number."""
    found = decide_sets(tl.TopLists.from_dicts([{0: 0.6}, {}, {0: 1.0}], m), 0.0)
    assert found.whole.tolist() == [True, True, False]
    assert found.expected.tolist() == [0.0, 0.0, 0.0]
    assert found.sure.all()
