"""What the page says in plain words is what the numbers say."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.html.no_figures import render_undrawn
from toplist.inference.results import Comparison, Estimate, Pair
from toplist.report import statements
from toplist.report.html.leaderboard import pairs as pair_table
from toplist.report.text import Name, Sentence, names, sentence, series

BASE = {n: made.drawn(tuple("ABCDEFG"[:n]), cases=40, rules=("brier",), zeros=False, paths=0) for n in range(1, 8)}
THREE, TWO = ("".join(row.name for row in BASE[n].overall.rows) for n in (3, 2))  # in the order of the table
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


@st.composite
def judged(draw: st.DrawFn, most: int = 7) -> Comparison:
    """Results with any p values and any differences that go with them, some of them right at the limit."""
    base = BASE[draw(st.integers(2, most))]
    level = draw(st.sampled_from(LEVELS))
    edge = 1 - level
    p = (
        st.none()
        | st.sampled_from([0.0, edge, math.nextafter(edge, 1), math.nextafter(edge, 0), 1.0])
        | st.floats(0, 1)
    )
    value = st.floats(-2, 2).filter(lambda x: abs(x) > 1e-9)
    found = []
    for a, b in combinations([row.name for row in base.overall.rows], 2):
        adjusted, difference = draw(p), draw(value)
        more = draw(st.none() | st.integers(0, 10**9))
        estimate = Estimate(difference, p=adjusted)
        found.append(Pair("brier", a, b, 40, estimate, adjusted, more, estimate))
    return replace(base, level=level, pairs=tuple(found))


def shown(results: Comparison) -> dict[str, Name]:
    return names(row.name for row in results.overall.rows)


def claims(said: Sentence, order: list[str]) -> set[tuple[str, str]]:
    """Who is said to be better than whom, as a reader takes it who has the table at hand."""
    winner, *others = [part.text for part in said.parts if isinstance(part, Name)]
    assert re.match(rf"{winner} is significantly better than ", str(said))
    if str(said).endswith("than all others."):
        return {(winner, other) for other in order if other != winner}
    if below := re.search(r"and the (\d+) below it in the table\.$", str(said)):
        (first,) = others
        after = order[order.index(first) + 1 :]
        assert len(after) == int(below[1])
        others += after
    return {(winner, other) for other in others}


@given(judged())
def test_a_pair_is_called_significant_exactly_when_its_adjusted_p_is_at_most_one_minus_the_level(
    results: Comparison,
) -> None:
    """And the better one is the one that the sign of the difference says."""
    order = [row.name for row in results.overall.rows]
    sure = [pair for pair in results.pairs if pair.adjusted_p is not None and pair.adjusted_p <= 1 - results.level]
    expected = {(p.a, p.b) if p.difference.value < 0 else (p.b, p.a) for p in sure}
    said = [claims(one, order) for one in statements.wins(results, shown(results), "brier")]
    assert set().union(*said) == expected
    assert sum(map(len, said)) == len(expected)


@given(judged(most=4))
def test_every_other_pair_with_a_p_value_has_no_significant_difference(results: Comparison) -> None:
    expected = {(p.a, p.b) for p in results.pairs if p.adjusted_p is not None and p.adjusted_p > 1 - results.level}
    said = statements.undecided(results, shown(results), "brier")
    found = [tuple(part.text for part in one.parts if isinstance(part, Name)) for one in said]
    assert set(found) == expected
    assert len(found) == len(expected)
    untested = {(p.a, p.b) for p in results.pairs if p.adjusted_p is None}
    assert bool(statements.untested(results, shown(results), "brier")) == bool(untested)


@given(judged())
def test_the_table_of_pairs_says_the_same(results: Comparison) -> None:
    table = pair_table(results, shown(results))
    heads = [str(head.text) for head in table.heads]
    at = {name: heads.index(name) for name in ("first", "second", "verdict", "difference")}
    by = {(pair.a, pair.b): pair for pair in results.pairs}
    assert len(table.rows) == len(by)
    for row in table.rows:
        pair = by[str(row[at["first"]].text), str(row[at["second"]].text)]
        sure = pair.adjusted_p is not None and pair.adjusted_p <= 1 - results.level
        better = pair.a if pair.difference.value < 0 else pair.b
        other = "not tested" if pair.adjusted_p is None else "no significant difference"
        assert str(row[at["verdict"]].text) == (f"{better} is significantly better" if sure else other)
        assert str(row[at["difference"]].text).endswith("*") == sure
        assert row[at["difference"]].value == pair.difference.value


@given(judged())
def test_the_counts_add_up(results: Comparison) -> None:
    said = str(statements.tally(results, "brier"))
    tested = [p for p in results.pairs if p.adjusted_p is not None]
    sure = [p for p in tested if p.adjusted_p is not None and p.adjusted_p <= 1 - results.level]
    if not tested:
        assert said.startswith(("None of the", "The pair could not"))
    elif not sure:
        assert said.startswith("No difference is significant under the Brier score")
    elif len(sure) == len(results.pairs):
        assert said.startswith(("Every difference is significant", "The difference is significant"))
    else:
        numbers = [int(n) for n in re.findall(r"\d+", said.partition(" Significant means")[0])]
        rest = len(results.pairs) - len(tested)
        others = len(tested) - len(sure)
        assert numbers == [len(results.pairs), len(sure), *([others] if others else []), *([rest] if rest else [])]
    assert f"at most {1 - results.level:.6g}." in said or not tested


@given(judged())
def test_the_first_lines_agree_with_the_pairs_of_the_leader(results: Comparison) -> None:
    leader = results.overall.rows[0].name
    own = [p for p in results.pairs if p.a == leader]
    sure = [p for p in own if p.adjusted_p is not None and p.adjusted_p <= 1 - results.level and p.difference.value < 0]
    said = " ".join(map(str, statements.lede(replace(results, confidence_set=None), shown(results))))
    assert said.startswith(f"{leader} leads with the lowest mean Brier score")
    if len(sure) == len(own):
        assert "significantly better than all others" in said or "significantly better than the other one" in said
    elif f"significantly better than {len(sure)} of the {len(own)} others" not in said:
        assert not sure
        told = (
            "not significantly better than any other" if any(p.adjusted_p is not None for p in own) else "not be tested"
        )
        assert told in said


@settings(max_examples=30)
@given(judged())
def test_accuracy_is_said_to_disagree_exactly_where_it_does(results: Comparison) -> None:
    accuracy = {row.name: row.metrics["accuracy"].value for row in results.overall.rows}
    found = statements.against_accuracy(results, shown(results))
    expected = [pair for pair in results.pairs if (accuracy[pair.a] - accuracy[pair.b]) * (pair.difference.value) > 0]
    told = [one for one in found if "is right more often" in str(one)]
    assert len(told) == min(3, len(expected))
    for one in told:
        right, scores = [part.text for part in one.parts if isinstance(part, Name)]
        assert accuracy[right] > accuracy[scores]


def test_nothing_is_significant_where_models_are_alike() -> None:
    alike = made.drawn(cases=60, apart=0.0, zeros=False, seed=5)
    assert str(statements.tally(alike, "brier")).startswith("No difference is significant")
    assert not statements.wins(alike, shown(alike), "brier")
    assert "not significantly better than any other" in " ".join(map(str, statements.lede(alike, shown(alike))))


def test_infinite_scores_come_with_their_counts_and_are_not_tested() -> None:
    found = made.drawn()
    (said, why) = map(str, statements.infinities(found, shown(found)))
    assert said.startswith("Under the log score, some scores are infinite: hard labels (1 of 1,200 cases).")
    assert why == "A score is infinite where what happened was given no chance at all."
    verdicts = [str(row[5].text) for row in pair_table(found, shown(found)).rows if str(row[0].text) == "log"]
    assert verdicts.count("hard labels has infinite scores") == 5


def paired(a: str, b: str, adjusted: float | None, more: int | None = None, **changes: Any) -> Pair:
    found = Estimate(-0.01, -0.03, 0.01, p=adjusted)
    return Pair("brier", a, b, 40, found, adjusted, more, **({"simultaneous": found} | changes))


@pytest.mark.parametrize(
    ("members", "told"),
    [(THREE[:1], f"{THREE[0]} alone"), (THREE[:2], f"{THREE[0]} and {THREE[1]}"), (THREE, "all 3 models")],
)
def test_the_confidence_set_is_told_in_words(members: str, told: str) -> None:
    pairs = tuple(paired(a, b, 0.5 if {a, b} <= set(members) else 0.01) for a, b in combinations(THREE, 2))
    found = made.concluded(replace(BASE[3], pairs=pairs))
    (said,) = map(str, statements.best(found, shown(found)))
    best = "The confidence set of the best under the Brier score at 95%:"
    assert said == f"{best} {told} (no other model is significantly better)."


def test_nobody_is_called_the_best_and_nothing_sure() -> None:
    """A confidence set is a statement about the procedure, and a test at 5 % is no certainty."""
    for seed in range(4):
        found = made.drawn(tuple("ABCD"), cases=90, seed=seed, groups=2)
        page = render_undrawn(made.page(found)).lower()
        for word in (
            "surely",
            " is sure",
            "is the best",
            "told apart",
            "tell them apart",
            "may be equal",
            "certainty;",
        ):
            assert word not in page, word


def test_who_alone_is_finite_was_not_tested() -> None:
    behind = Estimate(-math.inf, reason="infinite scores have no interval")
    both = replace(behind, value=math.nan)
    pairs = tuple(
        Pair("brier", a, b, 40, d, None, None, d)
        for (a, b), d in zip(combinations(THREE, 2), (behind, behind, both), strict=True)
    )
    found = made.concluded(replace(BASE[3], pairs=pairs))
    first, why = map(str, statements.best(found, shown(found)))
    assert f": {THREE[0]} alone (" in first
    assert why.startswith(f"Out for infinite scores: {THREE[1]}, {THREE[2]}; pairs that cannot be tested")
    assert [row.rank_interval for row in found.overall.rows] == [(1, 1), (2, 3), (2, 3)]


def test_leaders_with_the_same_score_share_the_lead() -> None:
    rows = tuple(replace(row, rank=rank) for row, rank in zip(BASE[3].overall.rows, (1, 1, 3), strict=True))
    a, b, c = (row.name for row in rows)
    zero = Estimate(0.0, reason="the scores are the same in every case")
    pairs = (Pair("brier", a, b, 40, zero, None, None, zero), paired(a, c, 0.01), paired(b, c, 0.01))
    found = made.concluded(replace(BASE[3], overall=replace(BASE[3].overall, rows=rows), pairs=pairs))
    first, second = map(str, statements.lede(found, shown(found)))
    assert first.startswith(f"{a} and {b} share the lead with the lowest mean Brier score")
    assert second == "Each is significantly better than the other one (Holm, 95%)."
    assert f"{a} and {b} share the lead." in statements.notes(found)


def test_a_significant_lead_that_one_case_could_undo_is_told_wherever_it_is_significant() -> None:
    """In the first lines, the sentences, the verdict and below the table; not where it is large, or chance."""
    told = f"lead of {TWO[0]} over {TWO[1]} adds up to 0.5 of the largest loss that one more case could bring"
    for p, lead, there in ((0.01, 0.5, True), (0.5, 0.5, False), (0.01, 12.0, False), (0.01, None, False)):
        found = made.concluded(replace(BASE[2], pairs=(paired(*TWO, p, lead=lead),)))
        (row,) = pair_table(found, shown(found)).rows
        for text in (
            *(" ".join(map(str, statements.lede(found, shown(found)))), " ".join(statements.notes(found))),
            " ".join(map(str, statements.wins(found, shown(found), "brier"))),
            " ".join(str(cell.text) for cell in row),
        ):
            assert (told in text) == there


def test_the_mean_of_a_leader_of_many_is_called_optimistic() -> None:
    """Of two it is not: the interval of a difference is the same whoever leads."""
    (said,) = map(str, statements.selected(BASE[3], shown(BASE[3])))
    assert said.startswith(f"{BASE[3].overall.rows[0].name} was selected as the leader of 3 models by these data")
    assert said in statements.notes(BASE[3])
    assert not statements.selected(BASE[2], shown(BASE[2]))


def test_the_first_lines_do_not_hide_that_the_leader_has_infinite_scores() -> None:
    found = made.drawn(("A", "B"), zeros=True, apart=0.0)
    rows = tuple(sorted(found.overall.rows, key=lambda row: -row.scores["log"].infinite))
    found = replace(found, overall=replace(found.overall, rows=rows), confidence_set=None)
    assert "Under the log score its mean is infinite, because of 1 of 1,200 cases." in map(
        str, statements.lede(found, shown(found))
    )


def test_what_it_takes_is_said_under_the_condition_that_true_difference_and_spread_are_the_observed_ones() -> None:
    def told(more: int | None, **changes: Any) -> str:
        found = replace(BASE[2], pairs=(paired("A", "B", 0.3, more),), **changes)
        (said,) = statements.undecided(found, shown(found), "brier")
        return str(said)

    start = "A and B: no significant difference (-0.010, between -0.030 and +0.010 at 95%; adjusted p 0.300)."
    given = f"{start} If the true difference and spread are the observed ones, "
    assert told(None) == start
    assert told(1) == f"{given}about 1 more case would make it significant 4 times in 5."
    assert told(4123) == f"{given}about 4,100 more cases would make it significant 4 times in 5."
    far = told(32_557, unit="cluster", units=28)
    assert far == f"{given}it would take more than 10 times as many clusters as there are."
    found = replace(BASE[2], unit="cluster", units=9)
    assert "extra clusters" in [str(head.text) for head in pair_table(found, shown(found)).heads]


def test_one_model_is_nothing_to_compare() -> None:
    found = replace(BASE[1], confidence_set=None)
    assert "nothing to compare" in str(statements.tally(found, "brier"))
    assert len(statements.lede(found, shown(found))) == 1


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30), st.integers(1, 8))
def test_a_list_names_or_counts_everything(items: list[str], most: int) -> None:
    said = sentence(*series([Name(item) for item in items], most))
    kept = [part.text for part in said.parts if isinstance(part, Name)]
    assert kept == items[: len(kept)]
    more = len(items) - len(kept)
    assert more != 1
    assert str(said.parts[-1]) == (f"{more:,} more" if more else items[-1])
