"""Who is ahead, by how much, and on which cases: against brute force on the scores of all cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.core.integers import law
from tests.draws import draws
from tests.inference.case_score_factories import RULES, TOPS, Cases, cases, sheet_of
from tests.inference.reference import Brute, agrees
from toplist.inference import ranking
from toplist.inference.aggregates import Aggregates, tally
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import ComparisonSpec
from toplist.inference.results import Estimate, Group, ModelRow
from toplist.scoring.case_scores import Grouping

NAMES = ("short", "tied", "label", "full")


def terms_of(
    names: Sequence[str], rules: Sequence[str] = ("rule",), tops: Sequence[int] = (), **options: Any
) -> ComparisonSpec:
    made = {"baseline": None, "pairwise": False} | options
    return ComparisonSpec(tuple(names), tuple(rules), tuple(tops), **made)


def section(group: str | None, made: Aggregates, terms: ComparisonSpec) -> Group:
    """The standings with t intervals at 95%."""
    (found,) = ranking.ranked([(group, Intervals(made, 0.95))], terms)
    return found


def sections(found: Any, terms: ComparisonSpec) -> tuple[Group, tuple[Group, ...]]:
    return ranking.sections(found, terms, lambda _, one: Intervals(one, 0.95))


def section_of(scores: Any, present: Any = None, weights: Any = None, *, empty: Any = 1.0, **options: Any) -> Group:
    """The standings of models a, b, c, ... with these scores under one rule."""
    sheets = [sheet_of(s, empty=np.full((1, len(s)), empty)) for s in scores]
    masks = () if present is None else [np.asarray(p) for p in present]
    w = None if weights is None else np.asarray(weights, float)
    return section(None, tally(sheets, present=masks, weights=w)[None], terms_of("abcdefgh"[: len(sheets)], **options))


def unadjusted(row: ModelRow) -> ModelRow:
    """Without what depends on how many pairs are tested."""
    scores = {rule: replace(one, difference=None, adjusted_p=None) for rule, one in row.scores.items()}
    return replace(row, scores=scores, rank_interval=None)


def by_name(found: Group) -> dict[str, Any]:
    return {row.name: row for row in found.rows}


def same(got: Estimate | None, want: tuple[float, float] | float | None) -> bool:
    """An estimate, or the infinite or missing value that stands for it, with a reason."""
    if got is None or want is None:
        return got is want
    if isinstance(want, tuple):
        return agrees(got, want, 1e-11)
    alike = got.value == want or (math.isnan(got.value) and math.isnan(want))
    return alike and got.low is None and got.high is None and bool(got.reason)


def close(got: Estimate | float | None, want: float | None) -> bool:
    got = got.value if isinstance(got, Estimate) else got
    if got is None or want is None:
        return got is want
    return (math.isnan(got) and math.isnan(want)) or math.isclose(got, want, rel_tol=1e-11, abs_tol=1e-12)


def check(found: Group, brute: Brute, *, pairwise: bool = False, baseline: int | None = None) -> None:
    """Everything that follows from the scores."""
    k = len(brute.scores)
    names = "abcdefgh"[:k]
    order = [names.index(row.name) for row in found.rows]
    keys = [brute.order(pairwise=pairwise).index(a) for a in order]
    ranks = [row.rank for row in found.rows]
    assert all(rank in (i, ranks[i - 2]) for i, rank in enumerate(ranks, 1))
    ties = [(brute.infinite(a), brute.relative(a) if pairwise else 0, brute.finite(a)) for a in order]
    assert [one[0] for one in ties] == sorted(one[0] for one in ties) or not all(row.cases for row in found.rows)
    if len(set(map(str, ties))) == k and (brute.all_finite or not pairwise):
        assert keys == sorted(keys)
    leader = order[0]
    for pair in found.pairs:
        assert same(pair.difference, brute.difference(names.index(pair.a), names.index(pair.b)))
    for a, row in zip(order, found.rows, strict=True):
        (mark,) = row.scores.values()
        assert row.cases == brute.present[a].sum()
        assert row.missing == len(brute.weights) - row.cases
        assert mark.infinite == brute.infinite(a)
        assert same(mark.mean, brute.mean(a))
        assert close(mark.finite, brute.finite(a))
        away = mark.difference
        assert close(away, None if a == leader else np.ravel(brute.difference(a, leader))[0])
        if brute.all_finite or not pairwise:
            assert close(mark.relative, brute.relative(a) if pairwise else None)
        if baseline is not None:
            ratio = brute.ratio(a, baseline)
            skill = None if ratio is None or math.isnan(ratio) else 1 - ratio
            at = brute.common(a, baseline)
            zero = brute.scores[a, at].sum() == 0 < brute.scores[baseline, at].sum() < math.inf
            assert close(mark.baseline_skill, 1.0 if zero and brute.weights[at].sum() else skill)


@st.composite
def boards(draw: st.DrawFn) -> dict[str, Any]:
    """Scores of up to four models, some infinite, some cases missing."""
    k, n = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = rng.exponential(size=(k, n)) + 0.01
    scores[rng.random((k, n)) < draw(st.sampled_from([0.0, 0.0, 0.1]))] = math.inf
    there = rng.random((k, n)) < draw(st.sampled_from([1.0, 0.8, 0.3]))
    weights = rng.choice([0.5, 1.0, 3.0], n) if draw(st.booleans()) else None
    return {"scores": scores, "present": there, "weights": weights}


@settings(law, max_examples=draws(120))
@given(board=boards(), pairwise=st.booleans(), data=st.data())
def test_standings_are_those_of_brute_force(board: dict[str, Any], pairwise: bool, data: st.DataObject) -> None:
    """Scores, intervals, ranks, differences to the leader, skill and relative skill, on the cases that two share."""
    baseline = data.draw(st.none() | st.integers(0, len(board["scores"]) - 1))
    found = section_of(**board, pairwise=pairwise, baseline=baseline)
    check(found, Brute.of(**board), pairwise=pairwise, baseline=baseline)


def test_fewer_infinite_scores_come_first_whatever_the_mean() -> None:
    """Then the mean of the finite ones decides."""
    scores = [[math.inf, math.inf, 0.0], [math.inf, 9.0, 9.0], [math.inf, 8.0, 9.0], [50.0, 50.0, 50.0]]
    assert [row.name for row in section_of(scores).rows] == ["d", "c", "b", "a"]


def test_equal_models_keep_the_order_in_which_they_were_named_and_share_a_rank() -> None:
    """Those with the same mean, or the same scores up to rounding; the next one counts how many are before it."""
    rows = section_of([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [1.5, 1.5]]).rows
    assert [(row.name, row.rank) for row in rows] == [("a", 1), ("b", 1), ("d", 1), ("c", 4)]
    x = np.random.default_rng(1).random(30)
    rows = section_of([x, x * (1 + 2**-52), x + 1e-6 * np.arange(30), x - 0.1]).rows
    assert [(row.name, row.rank) for row in rows] == [("d", 1), ("a", 2), ("b", 2), ("c", 4)]


def test_models_without_a_rank_have_no_rank_interval_and_count_in_none() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random((4, 60)) + np.array([[0.0], [1.0], [2.0], [3.0]])
    rows = by_name(section_of(scores, unranked=frozenset({1})))
    assert {name: row.rank_interval for name, row in rows.items()} == {"a": (1, 1), "b": None, "c": (2, 2), "d": (3, 3)}
    assert {name: row.rank for name, row in rows.items()} == {"a": 1, "b": None, "c": 2, "d": 3}


def test_models_compared_on_different_cases_have_no_rank_intervals() -> None:
    """Each of three models may be significantly better than the next one on the cases of both."""
    rng, present = np.random.default_rng(3), np.repeat(~np.eye(3, dtype=bool), 40, axis=1)
    better = {0: (None, 1, 0), 1: (0, None, 1), 2: (1, 0, None)}  # of the third of the cases that it does not lack
    scores = np.array([[1.0 if one is None else one for one in better[a] for _ in range(40)] for a in range(3)])
    scores = scores + rng.random((3, 120))
    found = section_of(scores, present, pairwise=True)
    beaten = {v.worse for v in (ranking.judge(pair, 0.95) for pair in found.pairs) if v.significant}
    assert beaten == {"a", "b", "c"}
    assert [row.rank_interval for row in found.rows] == [None] * 3
    same = section_of(scores, pairwise=True)
    assert all(row.rank_interval is not None for row in same.rows)


def test_a_model_without_cases_comes_last() -> None:
    found = section_of([[math.nan] * 2, [5.0, math.inf], [1.0, 2.0]], [[False] * 2, [True] * 2, [True] * 2])
    assert [row.name for row in found.rows] == ["c", "b", "a"]
    last = found.rows[-1]
    assert (last.cases, last.missing) == (0, 2)
    assert last.scores["rule"].mean.reason == "there are no cases"
    assert math.isnan(last.scores["rule"].mean.value)


@pytest.mark.parametrize("swapped", [False, True])
def test_ranks_do_not_depend_on_the_order_of_names_where_all_scores_are_infinite(swapped: bool) -> None:
    """As many infinite scores, but one model has a finite one as well."""
    scores, there = [[math.inf, 0.5], [math.inf, math.nan]], [[True, True], [True, False]]
    turn = slice(None, None, -1) if swapped else slice(None)
    found = section_of(scores[turn], there[turn], pairwise=True)
    assert [row.cases for row in found.rows] == [2, 1]


@settings(law, max_examples=draws(25))
@given(m=st.integers(2, 2000), seed=st.integers(0, 10**6))
def test_skill_is_one_minus_the_share_of_what_the_empty_list_scores(m: int, seed: int) -> None:
    """One minus 1/m under the Brier score, the logarithm of m under the log score; on the model's own cases."""
    rng = np.random.default_rng(seed)
    n = 9
    y, there, w = rng.integers(0, m, n), rng.random(n) < 0.7, rng.exponential(size=n)
    there[0] = True
    lists = tl.TopLists.from_topk(np.stack([y, (y + 1) % m], axis=1), np.tile([0.5, 0.25], (n, 1)), max(m, 3))
    made = Cases((lists,), y, w, present=(there,)).tally()[None]
    row = section(None, made, terms_of(["a"], ["brier", "log", "spherical"], TOPS)).rows[0]
    for mark, rule in zip(row.scores.values(), RULES, strict=True):
        mean = np.average(tl.score(lists, y, rule=rule)[there], weights=w[there])
        empty = {"brier": 1 - 1 / max(m, 3), "log": math.log(max(m, 3)), "spherical": 1 - max(m, 3) ** -0.5}[rule.name]
        assert mark.skill.value == pytest.approx(1 - mean / empty, rel=1e-11)


def test_where_skill_does_not_exist_it_is_none() -> None:
    """With infinite scores, with an empty list that scores nothing or infinity, without cases."""
    assert section_of([[math.inf, 1.0]]).rows[0].scores["rule"].skill is None
    assert section_of([[0.0, 0.0]], empty=0.0).rows[0].scores["rule"].skill is None
    assert section_of([[1.0, 2.0]], empty=math.inf).rows[0].scores["rule"].skill is None
    assert section_of([[1.0]], [[False]]).rows[0].scores["rule"].skill is None


def test_skill_over_a_baseline_is_measured_on_common_cases() -> None:
    """And there is none over a baseline that is perfect, or infinite, or never there."""
    scores, there = [[1.0, 2.0, 9.0], [9.0, 4.0, 8.0]], [[True, True, False], [False, True, True]]
    rows = by_name(section_of(scores, there, baseline=1))
    assert rows["a"].scores["rule"].baseline_skill.value == 0.5
    assert rows["b"].scores["rule"].baseline_skill.value == 0.0
    for other in ([0.0, 0.0, 0.0], [9.0, math.inf, 8.0]):
        rows = by_name(section_of([scores[0], other], there, baseline=1))
        assert rows["a"].scores["rule"].baseline_skill is None
    rows = by_name(section_of(scores, [[True, False, False], [False, True, True]], baseline=1))
    assert rows["a"].scores["rule"].baseline_skill is None


def test_who_is_perfect_leads_and_spoils_no_ranking() -> None:
    """A mean of zero is the best ratio there is; others are compared without it, not lost with it."""
    scores = [[0.0] * 3 + [9.0] * 9, [1.0] * 12, [9.0] * 3 + [2.0] * 9]
    there = [[True] * 3 + [False] * 9, [True] * 12, [False] * 3 + [True] * 9]
    found = section_of(scores, there, pairwise=True)
    assert [row.name for row in found.rows] == ["a", "b", "c"]
    assert [row.scores["rule"].relative.value for row in found.rows] == pytest.approx([0.0, 0.5**0.5, 2.0**0.5])


def test_all_groups_together_are_the_cases_of_all_groups() -> None:
    """The standings over all of them are those without groups, to the last bit; each group's are those of its cases."""
    made = cases(4, 120, weighted=True, grouped=True, missing=True)
    terms = terms_of(NAMES, ["brier", "log", "spherical"], TOPS, pairwise=True, baseline=1)
    whole, groups = sections(made.tally(), terms)
    plain = Cases(made.lists, made.y, made.weights, present=made.present)
    assert repr(whole) == repr(sections(plain.tally(), terms)[0])
    assert [one.group for one in groups] == sorted(set(made.groups.tolist()))
    assert sum(one.cases for one in groups) == whole.cases == 120
    for one in groups:
        alone = section(one.group, plain.at(np.flatnonzero(made.groups == one.group)).tally()[None], terms)
        assert [repr(pair.difference) for pair in alone.pairs] == [repr(pair.difference) for pair in one.pairs]
        for row, other in zip(one.rows, alone.rows, strict=True):  # what is adjusted for all groups differs
            assert repr(unadjusted(row)) == repr(unadjusted(other))


def test_a_group_that_has_no_name_is_a_group() -> None:
    """Numbers and empty names are groups like any other; no grouping is none."""
    sheets = [sheet_of([1.0, 2.0, 3.0])]
    whole, groups = sections(tally(sheets, groups=Grouping.of(np.array(["", "b", ""]))), terms_of("a"))
    assert [(one.group, one.cases) for one in groups] == [("", 2), ("b", 1)]
    assert whole.group is None
    _, groups = sections(tally(sheets, groups=Grouping.of(np.array([2, 2, 2]))), terms_of("a"))
    assert [one.group for one in groups] == ["2"]
    assert sections(tally(sheets), terms_of("a"))[1] == ()


def test_a_group_without_weight_is_shown_without_numbers() -> None:
    """NaN, and a reason; the other groups are not touched."""
    made = tally(
        [sheet_of([1.0, 2.0, 3.0]), sheet_of([2.0, 1.0, 0.0])],
        weights=np.array([0.0, 1.0, 1.0]),
        groups=Grouping.of(np.array(["a", "b", "b"])),
    )
    whole, (empty, other) = sections(made, terms_of("ab"))
    assert all(math.isnan(row.scores["rule"].mean.value) and row.scores["rule"].mean.reason for row in empty.rows)
    assert all(math.isnan(row.metrics["accuracy"].value) for row in empty.rows)
    assert [row.scores["rule"].mean.value for row in other.rows] == [0.5, 2.5]
    assert [row.scores["rule"].mean.value for row in whole.rows] == [0.5, 2.5]


def test_one_infinite_score_of_one_model_leaves_others_their_relative_skill() -> None:
    """It has none itself; the others are compared among each other."""
    for other in (math.inf, 1.0):
        rows = by_name(section_of([[math.inf, other], [1.0, 2.0], [2.0, 4.0]], pairwise=True))
        assert rows["a"].scores["rule"].relative is None
        assert rows["b"].scores["rule"].relative.value == pytest.approx(0.5**0.5)
