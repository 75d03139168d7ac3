"""Adding tallies is adding cases: whatever was split, shuffled, weighted, grouped, clustered or missing."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.integers import UNIT, law, total
from tests.core.integers import product as exact_product
from tests.draws import draws
from tests.inference.case_score_factories import RULES, TOPS, Cases, cases, sheet_of
from toplist.core import kernel
from toplist.errors import TopListError
from toplist.inference.aggregates import merge, overall, tally
from toplist.scoring.case_scores import METRICS, Grouping

WORDS = ("weighted", "grouped", "clustered", "missing", "soft")
KINDS = [dict.fromkeys(words, True) for k in (0, 1, 2, 5) for words in combinations(WORDS, k)]


def split(made: Cases, seed: int, parts: int) -> list[Cases]:
    """The cases in another order, cut anywhere; some parts may have one case."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(made))
    cuts = np.sort(rng.choice(np.arange(1, len(made)), parts - 1, replace=False))
    return [made.at(part) for part in np.split(order, cuts)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")
def test_the_tallies_of_parts_add_up_to_that_of_all_cases(kind: dict[str, bool]) -> None:
    """However they were shuffled and cut, and in whatever order the parts are added."""
    made = cases(1, 90, **kind)
    want = made.tally()
    parts = [part.tally() for part in split(made, 2, 5)]
    assert merge(*parts) == want
    assert merge(*parts[::-1]) == want
    assert merge(merge(*parts[:3]), merge(*parts[3:])) == want
    few = made.at(np.arange(12))
    assert merge(*(part.tally() for part in split(few, 3, 12))) == few.tally()  # case by case
    assert overall(want) == replace(made, groups=None).tally()[None]


def test_infinite_scores_ties_and_invalid_lists_are_among_those_cases() -> None:
    """So that the law above says something about them."""
    made = cases(1, 90)
    sheets = made.sheets()
    assert np.isinf(sheets[2].scores[1]).any()
    assert sheets[0].invalid.any()
    assert not sheets[0].invalid.all()
    assert set(np.unique(sheets[1]["accuracy"])) - {0.0, 1.0}


@settings(law, max_examples=draws(25))
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), n=st.integers(2, 12))
def test_adding_is_associative_and_commutative(seed: int, kind: dict[str, bool], n: int) -> None:
    a, b, c = (overall(part.tally()) for part in split(cases(seed, 3 * n, **kind), seed, 3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


def test_adding_leaves_both_as_they_were() -> None:
    a, b = (overall(cases(i, 20, weighted=True, clustered=True).tally()) for i in (1, 2))
    again = [overall(cases(i, 20, weighted=True, clustered=True).tally()) for i in (1, 2)]
    assert a + b != a
    assert [a, b] == again


def test_tallies_differ_where_a_sum_or_a_cluster_does() -> None:
    one = overall(cases(1, 20, clustered=True).tally())
    assert one != 3
    assert one == replace(one)
    assert one != replace(one, cases=21)
    assert one != replace(one, clusters={})
    assert one != replace(one, sums={**one.sums, "accuracy": one.sums["accuracy"] + 1})
    key, (weight, x) = next(iter(one.clusters.items()))
    assert one != replace(one, clusters={**one.clusters, key: (weight + 1, x)})
    assert one != replace(one, clusters={**one.clusters, key: (weight, x + 1)})


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2], KINDS[-1]], ids=["plain", "grouped", "all"])
def test_the_kernel_and_the_threads_do_not_show(monkeypatch: pytest.MonkeyPatch, kind: dict[str, bool]) -> None:
    made = cases(4, 300, **kind)
    sheets = made.sheets()
    options: dict[str, Any] = {
        "present": made.present,
        "weights": made.weights,
        "groups": None if made.groups is None else Grouping.of(made.groups),
        "clusters": None if made.clusters is None else Grouping.of(made.clusters),
    }
    want = tally(sheets, **options)
    monkeypatch.setattr(kernel, "_THREADED", 64)
    monkeypatch.setattr(kernel, "BLOCK", 32)
    monkeypatch.setenv("TOPLIST_THREADS", "3")
    assert tally(sheets, **options) == want
    monkeypatch.setattr(kernel, "_compiled", None)
    assert tally(sheets, **options) == want


def test_a_tally_holds_the_sums_that_it_says() -> None:
    """With weights, cases that are missing and scores that are infinite: term by term in whole numbers."""
    made = cases(5, 60, weighted=True, missing=True)
    made = replace(made, weights=np.maximum(made.weights, 0.01))
    got, sheets, w = made.tally()[None], made.sheets(), made.weights
    there = [np.ones(60, bool) if p is None else p for p in made.present]
    assert got.cases == 60
    for a, sheet in enumerate(sheets):
        mine = np.flatnonzero(there[a])
        assert len(sheet.metrics) == len(METRICS) - 1 + len(TOPS)
        for name, column in (("weight", np.ones(60)), *sheet.metrics.items()):
            assert got.sums[name][a] == total((np.asarray(column, float) * w)[mine].tolist())
        assert got.sums["invalid_cases"][a] == np.count_nonzero(sheet.invalid[mine])
        for r in range(len(RULES)):
            plain = sheet.unpenalised[r][mine]
            assert got.sums["unpenalised_infinite"][a, r] == np.isinf(plain).sum()
            fine = np.isfinite(plain)
            assert got.sums["unpenalised"][a, r] == total((plain[fine] * w[mine][fine]).tolist())
            assert got.sums["empty"][a, r] == total((sheet.empty[r] * w)[mine].tolist())
        for b, other in enumerate(sheets):
            common = np.flatnonzero(there[a] & there[b])
            assert got.sums["cases"][a, b] == len(common)
            for r in range(len(RULES)):
                pair = (r, a, b)
                both = common[np.isfinite(sheet.scores[r][common]) & np.isfinite(other.scores[r][common])]
                v, x = w[both].tolist(), (sheet.scores[r] * w)[both].tolist()
                y = (other.scores[r] * w)[both].tolist()
                assert got.sums["both"][pair] == len(both)
                assert got.sums["infinite"][pair] == np.isinf(sheet.scores[r][common]).sum()
                assert got.sums["w"][pair] == total(v)
                assert got.sums["x"][pair] == total(x)
                for name, left, right in (("ww", v, v), ("wx", v, x), ("xx", x, x), ("xy", x, y)):
                    assert got.sums[name][pair] == sum(map(exact_product, left, right))


def test_clusters_hold_the_weights_and_sums_of_their_cases() -> None:
    made = cases(6, 60, weighted=True, grouped=True, clustered=True)
    sheets, w = made.sheets(), made.weights
    for group, one in made.tally().items():
        here = made.groups == group
        assert set(one.clusters) == set(made.clusters[here].tolist())
        for key, (weight, x) in one.clusters.items():
            at = np.flatnonzero(here & (made.clusters == key))
            assert weight == total(w[at].tolist())
            for a, sheet in enumerate(sheets):
                for r in range(len(RULES)):
                    s = np.where(np.isfinite(sheet.scores[r]), sheet.scores[r], 0.0)
                    assert x[r, a] == total((s * w)[at].tolist())


def test_clusters_stay_in_their_groups_however_many_there_are() -> None:
    """Two cases, in the first and in the last of many groups and clusters."""
    many = range(50_000)
    ends = Grouping(many, np.array([0, 49_999], np.int32))
    found = tally([sheet_of([1.0, 2.0])], groups=ends, clusters=ends)
    assert {key: list(one.clusters) for key, one in found.items() if one.clusters} == {0: [0], 49_999: [49_999]}


def test_without_weights_every_case_weighs_one() -> None:
    made = cases(7, 40, grouped=True, clustered=True, missing=True)
    plain, weighted = made.tally(), replace(made, weights=np.ones(40)).tally()
    for key, one in weighted.items():
        for name in ("w3", "w4", "w5"):  # which only weights need
            assert np.array_equal(one.sums[name], one.sums["w"])
        assert plain[key] == replace(one, sums={name: one.sums[name] for name in plain[key].sums})


def test_a_mask_of_all_cases_is_no_mask() -> None:
    made = cases(8, 30)
    assert made.tally() == replace(made, present=(np.ones(30, bool),) * 4).tally()


def test_groups_of_no_cases_do_not_appear_and_one_group_is_all() -> None:
    made = cases(9, 30)
    assert replace(made, groups=np.full(30, "x")).tally() == {"x": made.tally()[None]}
    assert merge() == {}
    assert Grouping.of(np.array([3, 1, 3])).keys == [1, 3]


def test_scores_too_large_to_be_squared_are_refused() -> None:
    """In one sentence; up to there, sums are exact."""
    fine = tally([sheet_of([[1e150, -1e150, 1.0]])])[None]
    assert fine.sums["x"][0, 0, 0] == UNIT
    assert fine.sums["xx"][0, 0, 0] == 2 * exact_product(1e150, 1e150) + UNIT
    for scores in ([[1.1e150]], [[-1.1e150]]):
        with pytest.raises(TopListError, match=r"^a score or weight is above 1e150: .*\.$"):
            tally([sheet_of(scores)])


def test_cases_without_weight_are_not_counted_among_the_scores_of_two() -> None:
    """So that they have no part in the degrees of freedom."""
    one = tally([sheet_of([[0.5, 0.25, 1.0]])], weights=np.array([0.0, 2.0, 1.0]))[None]
    assert one.cases == 3
    assert one.sums["both"].tolist() == [[[2]]]
    assert one.sums["w"].tolist() == [[[3 * UNIT]]]


def test_infinite_scores_without_weight_are_not_counted() -> None:
    one = tally([sheet_of([[np.inf, 0.25, 1.0]])], weights=np.array([0.0, 2.0, 1.0]))[None]
    assert one.sums["infinite"].tolist() == [[[0]]]
    assert one.sums["unpenalised_infinite"].tolist() == [[0]]


def test_weights_too_large_for_their_powers_are_refused() -> None:
    with pytest.raises(TopListError, match=r"^a weight is above 1e60: .*\.$"):
        tally([sheet_of([[0.0, 0.0]])], weights=np.array([1e200, 1.0]))
