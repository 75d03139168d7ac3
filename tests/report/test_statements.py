"""Sentences about results: what they call significant is what the numbers say, and nothing else is said."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.report import results as made
from tests.report.judged import BASE, THREE, TWO, judged, paired, shown
from toplist.inference.ranking import judge
from toplist.inference.results import Comparison, Estimate, Pair, PairCases
from toplist.report import statements
from toplist.report.statements import standing
from toplist.report.text import Name, sentence, series


@given(judged())
def test_a_model_is_beaten_equal_ahead_or_untested_by_its_adjusted_p_and_the_sign_of_the_difference(
    results: Comparison,
) -> None:
    leader, *others = (row.name for row in results.overall.rows)
    place = standing(results)
    assert place.leaders == (leader,)
    by = {pair.b: pair for pair in results.pairs if pair.a == leader}
    for who in others:
        p, value = by[who].adjusted_p, by[who].difference.value
        significant = p is not None and p <= 1 - results.level
        kind = "untested" if p is None else "equal" if not significant else "beaten" if value < 0 else "ahead"
        assert who in getattr(place, kind)


@given(judged())
def test_the_verdict_agrees_with_the_pairs_of_the_leader(results: Comparison) -> None:
    place, text = standing(results), str(statements.verdict(results, shown(results)))
    if len(results.overall.rows) == 2:
        (pair,) = results.pairs
        assert ("No significant difference" in text) == (judge(pair, results.level).kind == "not significant")
        assert ("is significantly" in text) == judge(pair, results.level).significant or pair.adjusted_p is None
        return
    assert text.startswith(f"{place.leaders[0]} has the best mean Brier score, ")
    assert ("is not significantly better than" in text) == bool(place.equal)
    assert ("but is significantly worse than" in text) == bool(place.ahead)
    assert ("could not be tested" in text) == bool(place.untested)
    better = "significantly better than" in text.replace("not significantly better than", "")
    assert text.find("significantly worse than") < text.find("not significantly better than") or not place.equal
    assert better == (len(place.beaten) == place.others)


@given(judged())
def test_the_counts_add_up(results: Comparison) -> None:
    said = str(statements.tally(results, "brier"))
    tested = [p for p in results.pairs if p.adjusted_p is not None]
    found = [p for p in tested if p.adjusted_p is not None and p.adjusted_p <= 1 - results.level]
    if not tested:
        assert said.startswith(("None of the", "The pair could not"))
    elif not found:
        assert said.startswith("No difference is significant under the Brier score")
    elif len(found) == len(results.pairs):
        assert said.startswith(("Every difference is significant", "The difference is significant"))
    else:
        numbers = [int(n) for n in re.findall(r"\d+", said.partition(" Significant means")[0])]
        rest = len(results.pairs) - len(tested)
        others = len(tested) - len(found)
        assert numbers == [len(results.pairs), len(found), *([others] if others else []), *([rest] if rest else [])]
    assert f"at most {1 - results.level:.6g}." in said or not tested
    heading, sentences = statements.how_sure(results, shown(results))
    assert (heading == "Not tested") == (not tested)
    assert len(sentences) <= 3


def with_accuracies(first: float, second: float, *, cases: int, scores: float = -0.01) -> Comparison:
    """Two models of which the first has the better score, by so much."""
    base = made.drawn(("A", "B"), cases=40, rules=("brier",), zeros=False, paths=0)
    a, b = (row.name for row in base.overall.rows)
    rows = tuple(
        replace(row, cases=cases, metrics={**row.metrics, "accuracy": Estimate(x)})
        for row, x in zip(base.overall.rows, (first, second), strict=True)
    )
    pair = replace(paired(a, b, 0.01), cases=cases, difference=Estimate(scores, p=0.01))
    overall = replace(base.overall, rows=rows, cases=cases)
    return replace(base, cases=cases, compared=cases, overall=overall, pairs=(pair,))


def counted(found: Comparison, only_a: int, only_b: int) -> PairCases:
    a, b = (row.name for row in found.overall.rows)
    rest = found.cases - only_a - only_b
    return PairCases(a, b, found.cases, rest, only_a, only_b, 0, 0, 0, 0, 0, (), ())


@settings(max_examples=draws(60))
@given(st.floats(0, 1), st.floats(0, 1), st.integers(50, 20_000))
def test_accuracy_disagrees_only_where_its_own_difference_is_beyond_noise(x: float, y: float, cases: int) -> None:
    """By twice the largest standard error that two accuracies allow; never where both rank the models alike."""
    found = with_accuracies(x, y, cases=cases)
    said = statements.against_accuracy(found, shown(found))
    largest = math.sqrt(max(min(x + y, 2 - x - y) - (y - x) ** 2, 0) / cases)
    assert bool(said) == (y - x > 1.959964 * largest and (y - x) * cases >= 10)


def test_the_cases_that_only_one_model_has_right_decide_what_is_beyond_noise() -> None:
    """Fifteen of 500 that only one of them has right are beyond noise, and 100 to 85 are not."""
    found = with_accuracies(0.79, 0.82, cases=500)
    assert not statements.against_accuracy(found, shown(found))
    (said,) = statements.against_accuracy(found, shown(found), [counted(found, 0, 15)])
    a, b = (row.name for row in found.overall.rows)
    assert (
        str(said) == f"{b} has a higher accuracy than {a} (82.0% against 79.0%), but a significantly worse Brier score."
    )
    assert not statements.against_accuracy(found, shown(found), [counted(found, 85, 100)])
    clustered = replace(found, unit="cluster", units=20)
    assert not statements.against_accuracy(clustered, shown(found), [counted(found, 0, 15)])


@pytest.mark.parametrize(
    ("members", "told"),
    [(THREE[:1], f"{THREE[0]} alone"), (THREE[:2], f"{THREE[0]} and {THREE[1]}"), (THREE, "all 3 models")],
)
def test_the_confidence_set_is_told_in_words(members: str, told: str) -> None:
    pairs = tuple(paired(a, b, 0.5 if {a, b} <= set(members) else 0.01) for a, b in combinations(THREE, 2))
    found = made.concluded(replace(BASE[3], pairs=pairs))
    (said,) = map(str, statements.best(found, shown(found)))
    best = "The confidence set of the best under the Brier score at 95%:"
    why = "all others are significantly worse" if len(members) == 1 else "no other model is significantly better"
    assert said == f"{best} {told} ({why})."


def test_the_confidence_set_is_told_beside_the_tied_ones_only_where_it_differs() -> None:
    """The last model is significantly worse than the second, and not than the first."""
    pairs = (paired(THREE[0], THREE[1], 0.5), paired(THREE[0], THREE[2], 0.5), paired(THREE[1], THREE[2], 0.01))
    found = made.concluded(replace(BASE[3], pairs=pairs))
    heading, said = statements.how_sure(found, shown(found))
    assert heading == "No significant difference"
    assert f"{THREE[0]} and {THREE[1]} (no other model is significantly better)" in str(said[-1])
    alike = made.concluded(replace(BASE[3], pairs=tuple(replace(pair, adjusted_p=0.5) for pair in pairs)))
    assert not any("confidence set" in str(one) for one in statements.how_sure(alike, shown(alike))[1])


def test_a_heading_counts_models_that_were_not_tested_apart_from_those_that_are_not_different() -> None:
    pairs = (paired(THREE[0], THREE[1], 0.5), paired(THREE[0], THREE[2], None), paired(THREE[1], THREE[2], None))
    heading, _ = statements.how_sure(replace(BASE[3], pairs=pairs), shown(BASE[3]))
    assert heading == "1 other not significantly different, 1 not tested"


@given(judged())
def test_no_heading_claims_a_tie_or_speaks_of_no_others(results: Comparison) -> None:
    heading, _ = statements.how_sure(results, shown(results))
    assert "tied" not in heading
    assert " 0 " not in heading
    assert heading.startswith("Significantly worse than ") or not standing(results).ahead or heading == "Not tested"


@pytest.mark.parametrize("compared", [29, 30])
def test_below_30_cases_nothing_is_said_of_how_many_more_are_needed(compared: int) -> None:
    found = replace(BASE[3], compared=compared, units=compared)
    assert bool(statements.needed(3, found)) == (compared >= 30)


def test_of_one_model_nothing_is_paired() -> None:
    method = "paired t intervals, which assume that cases are independent of each other"
    found = replace(BASE[3], method=method)
    alone = replace(found, overall=replace(found.overall, rows=found.overall.rows[:1]), pairs=())
    assert statements.method_text(found) == method
    assert statements.method_text(alone) == method.removeprefix("paired ")
    assert "(paired t)" in str(statements.setting(found))
    assert "(t)" in str(statements.setting(alone))


def test_who_alone_is_finite_was_not_tested() -> None:
    apart = Estimate(-math.inf, reason="infinite scores have no interval")
    both = replace(apart, value=math.nan)
    pairs = tuple(
        Pair("brier", a, b, 40, d, None, None, d)
        for (a, b), d in zip(combinations(THREE, 2), (apart, apart, both), strict=True)
    )
    found = made.concluded(replace(BASE[3], pairs=pairs))
    (why,) = map(str, statements.best(found, shown(found)))
    assert why.startswith("There is no confidence set of the best")
    assert why.endswith(f": infinite scores, which no test weighs: {THREE[1]}, {THREE[2]}.")
    assert str(statements.verdict(found, shown(found))).endswith(" The other two have infinite scores.")


def test_leaders_with_the_same_score_share_it() -> None:
    rows = tuple(replace(row, rank=rank) for row, rank in zip(BASE[3].overall.rows, (1, 1, 3), strict=True))
    a, b, c = (row.name for row in rows)
    zero = Estimate(0.0, reason="the scores are the same in every case")
    pairs = (Pair("brier", a, b, 40, zero, None, None, zero), paired(a, c, 0.01), paired(b, c, 0.01))
    found = made.concluded(replace(BASE[3], overall=replace(BASE[3].overall, rows=rows), pairs=pairs))
    text = str(statements.verdict(found, shown(found)))
    assert re.fullmatch(rf"{a} and {b} share the best mean Brier score, 0\.\d+, significantly better than {c}\.", text)


def test_a_significant_lead_that_few_cases_could_undo_is_told() -> None:
    """Not where it is large, or the difference is not significant."""
    told = f"The lead of {TWO[0]} over {TWO[1]} adds up to 0.5 of the largest loss that one more case could bring."
    for p, lead, there in ((0.01, 0.5, True), (0.5, 0.5, False), (0.01, 12.0, False), (0.01, None, False)):
        found = made.concluded(replace(BASE[2], pairs=(paired(*TWO, p, lead=lead),)))
        assert [str(one) for one in statements.leads(found, shown(found))] == [told] * there


def test_the_mean_of_a_leader_of_many_is_called_optimistic() -> None:
    """Of two it is not: the interval of a difference is the same whoever leads."""
    (said,) = map(str, statements.selected(BASE[3], shown(BASE[3])))
    assert said.startswith(f"{BASE[3].overall.rows[0].name} was selected as the best of 3 models on these cases")
    assert said in statements.method_notes(BASE[3], shown(BASE[3]))
    assert not statements.selected(BASE[2], shown(BASE[2]))


def test_how_many_more_cases_are_needed_is_rounded_and_has_an_end() -> None:
    assert statements.needed(None, BASE[2]) == ""
    assert statements.needed(0, BASE[2]) == ""
    assert statements.needed(1, BASE[2]) == "about 1 more case needed (80% power)"
    assert statements.needed(4123, replace(BASE[2], units=1000)) == "about 4,100 more cases needed (80% power)"
    far = replace(BASE[2], unit="cluster", units=28)
    assert statements.needed(32_557, far) == "more than 10 times as many clusters needed (80% power)"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30), st.integers(1, 8))
def test_a_list_names_or_counts_everything(items: list[str], most: int) -> None:
    said = sentence(*series([Name(item) for item in items], most))
    listed = [part.text for part in said.parts if isinstance(part, Name)]
    assert listed == items[: len(listed)]
    more = len(items) - len(listed)
    assert more != 1
    assert str(said.parts[-1]) == (f"{more:,} more" if more else items[-1])


def test_an_action_names_its_models() -> None:
    called = {name: Name(name) for name in "abc"}
    assert (
        str(statements.with_names("Pool {} and not {1} {7}", ["a", "b", "c"], called))
        == "Pool a, b and c and not b {7}"
    )
