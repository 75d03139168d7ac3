"""What the tables hold: cases, p values, infinite scores, and nothing that only looks precise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report import results as made
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from toplist.inference.ranking import judge
from toplist.inference.results import Comparison, ConfidenceSet, Estimate
from toplist.report import statements
from toplist.report.html import Page, Provenance, leaderboard, tables
from toplist.report.html.grid import Cell, Grid
from toplist.report.text import Name, names

FOUND = made.drawn(tuple("ABCD"), cases=200, paths=0)
NONE = ConfidenceSet("brier", 0.95, (), {}, 0, "", "no case has all models")


def shown(results: Comparison) -> dict[str, Name]:
    return names(row.name for row in results.overall.rows)


def column(table: Grid, head: str) -> list[Cell]:
    at = [str(one.text) for one in table.heads].index(head)
    return [row[at] for row in table.rows]


def heads(table: Grid) -> list[str]:
    return [str(one.text) for one in table.heads]


def test_the_p_values_of_the_confidence_set_are_in_the_leaderboard() -> None:
    assert FOUND.confidence_set is not None
    cells = column(leaderboard.leaderboard(FOUND, shown(FOUND)), "set p")
    assert [cell.value for cell in cells] == [FOUND.confidence_set.p[row.name] for row in FOUND.overall.rows]
    without = replace(FOUND, confidence_set=None)
    assert "set p" not in heads(leaderboard.leaderboard(without, shown(without)))


def test_a_confidence_set_that_there_is_not_leaves_a_reason_and_nothing_else() -> None:
    found = replace(FOUND, confidence_set=NONE, seed=None)
    (said,) = statements.best(found, shown(found))
    assert str(said) == "There is no confidence set of the best under the Brier score: no case has all models."
    assert "Confidence set" not in dict(tables.facts(found, shown(found)))
    assert "set p" not in heads(leaderboard.leaderboard(found, shown(found)))
    assert not tables.seeds(found)
    text = render_undrawn(Page(found, provenance=Provenance()))
    assert 'class="best"' not in text
    assert "confidence set" not in " ".join(map(str, statements.lede(found, shown(found))))


def test_the_seed_is_there_where_something_was_drawn() -> None:
    assert tables.seeds(replace(FOUND, seed=7)) == "7 for the intervals"
    assert not tables.seeds(replace(FOUND, seed=None))


def test_stars_bold_rows_and_rank_intervals_of_the_page_follow_from_the_pairs() -> None:
    """Over all cases and in each group."""
    found = made.drawn(tuple("ABCDE"), cases=120, groups=2, paths=0, apart=0.7)
    board = leaderboard.leaderboard(found, shown(found))
    every = leaderboard.groups(found, shown(found))
    rows = [*found.overall.rows, *(row for section in found.groups for row in section.rows)]
    cells = [*column(board, "difference"), *column(every, "difference")]
    ranks = [*column(board, "#"), *column(every, "rank")]
    marks = []
    for pairs, section in ((found.pairs, found.overall), *((one.pairs, one) for one in found.groups)):
        own = [v for v in (judge(p, found.level) for p in pairs if p.rule == "brier") if v.significant]
        for i, row in enumerate(section.rows):
            better, worse = (sum(getattr(v, how) == row.name for v in own) for how in ("worse", "better"))
            assert row.rank_interval == (1 + better, 5 - worse)
            marks.append(any({v.pair.a, v.pair.b} == {row.name, section.rows[0].name} for v in own) and i > 0)
    assert [str(cell.text).endswith("*") for cell in cells] == marks
    assert {True, False} == set(marks[1:5])
    for cell, row in zip(ranks, rows, strict=True):
        low, high = row.rank_interval or (0, 0)
        assert (cell.text, cell.value) == (str(row.rank), row.rank)
        assert cell.below == (f"{low}" if low == high else f"{low}-{high}")
    assert board.leaders == {i for i, row in enumerate(found.overall.rows) if (row.rank_interval or (0, 0))[0] == 1}


def test_each_difference_to_the_leader_says_its_cases_where_they_differ() -> None:
    found = made.apart(FOUND, (200, 150, 200, 30))
    cells = column(leaderboard.leaderboard(found, shown(found)), "difference")
    assert [cell.also for cell in cells] == ["", "150 cases", "200 cases", "30 cases"]
    assert not any(cell.also for cell in column(leaderboard.leaderboard(FOUND, shown(FOUND)), "difference"))


@pytest.mark.parametrize(("unit", "term"), [("cluster", "Clusters"), ("time point", "Order")])
def test_the_number_of_clusters_or_moments_is_said(unit: str, term: str) -> None:
    found = replace(FOUND, unit=unit, units=53, cluster="state", time="week")
    assert f": 53 {unit}s." in str(dict(tables.facts(found, shown(found)))[term])
    assert f"53 {unit}s" in str(statements.lede(found, shown(found))[0])
    assert "53" not in str(dict(tables.facts(FOUND, shown(FOUND)))["Cases"])


def test_what_was_given_without_a_name_has_none() -> None:
    facts = dict(tables.facts(replace(FOUND, cluster="", time="", weighted=True, weight=""), shown(FOUND)))
    assert str(facts["Clusters"]) == "Cases of one cluster belong together."
    assert str(facts["Order"]) == "Cases follow each other in the order given."
    assert str(facts["Cases"]) == "200, weighted."
    named = dict(tables.facts(replace(FOUND, cluster="c", time="o", weighted=True, weight="w"), shown(FOUND)))
    assert str(named["Clusters"]) == "Cases with the same c belong together."
    assert str(named["Order"]) == "Cases follow each other by o."
    assert str(named["Cases"]) == "200, weighted by w."


def test_lengths_are_told_as_all_of_a_few_or_as_their_range() -> None:
    (found, *_) = made.exhibits(FOUND)
    few = replace(found, sizes=((1, 9), (5, 20)), shortest=1, longest=5)
    assert tables.lengths(few) == "1, 5"
    many = replace(found, sizes=((2, 9), (5, 20), (6, 3), (7, 1)), shortest=0, longest=1200)
    assert tables.lengths(many) == "0 to 1,200, most often 5"
    assert tables.lengths(replace(found, sizes=())) == "-"


def test_missing_intervals_are_told_in_the_names_of_the_page() -> None:
    found = made.drawn(("a" * 50 + "b" * 50, "plain"), cases=700)
    infinite = next(row.name for row in found.overall.rows if row.scores["log"].infinite)
    (said,) = statements.missing_intervals(found.overall, shown(found))
    who = shown(found)[infinite]
    assert str(said) == f"No interval for {who} under the log score: infinite scores have no interval."
    assert who in said.parts


def test_the_first_sentence_says_on_how_many_cases() -> None:
    assert "over 200 cases." in str(statements.lede(FOUND, shown(FOUND))[0])
    found = made.apart(FOUND, (150, 200, 200, 30))
    assert "over 150 of 200 cases." in str(statements.lede(found, shown(found))[0])


def test_an_infinite_mean_comes_with_the_number_of_scores_that_made_it_so() -> None:
    found = made.drawn(cases=1400)
    cells = column(leaderboard.leaderboard(found, shown(found)), "log")
    expected = [row.scores["log"].infinite for row in found.overall.rows]
    assert [cell.below for cell in cells if cell.text == "inf"] == [f"{n} infinite" for n in expected if n]


def test_where_there_is_no_spread_there_is_no_interval_and_the_reason_is_told() -> None:
    first, *others = FOUND.overall.rows
    level = replace(first.scores["brier"], mean=Estimate(0.5, reason="no spread: all scores are the same"))
    rows = (replace(first, scores={**first.scores, "brier": level}), *others)
    found = replace(FOUND, overall=replace(FOUND.overall, rows=rows))
    said = [str(one) for one in statements.missing_intervals(found.overall, shown(found))]
    assert f"No interval for {first.name} under the Brier score: no spread: all scores are the same." in said
    cell = column(leaderboard.leaderboard(found, shown(found)), "Brier")[0]
    assert (cell.text, cell.below) == ("0.500", "")


def test_adjusted_for_as_many_pairs_as_have_a_p_value() -> None:
    pair, *rest = [p for p in FOUND.pairs if p.rule == "brier"]
    untested = replace(pair, difference=Estimate(float("nan"), reason="there are no cases"), adjusted_p=None)
    found = replace(FOUND, pairs=(untested, *rest))
    assert f"for {len(rest)} tested pairs" in str(statements.tally(found, "brier"))


def test_faults_that_nobody_has_take_no_room() -> None:
    clean = made.drawn(("A", "B"), cases=50, zeros=False)
    clean = replace(clean, sources=tuple(replace(o, filled=0, repairs={}) for o in clean.sources))
    assert tables.faults(clean, shown(clean)) is None
    assert 'id="table-faults"' not in render_undrawn(Page(clean))
    repaired = replace(clean, sources=(clean.sources[0], replace(clean.sources[1], repairs={"normalize": 2})))
    table = tables.faults(repaired, shown(repaired))
    assert table is not None
    assert heads(table) == ["model", "repairs"]
    assert [str(cell.text) for cell in column(table, "model")] == ["B"]


def test_rules_go_by_their_names_in_sentences() -> None:
    text = render_undrawn(made.page(cases=60, rules=("brier", "log")))
    said = read(text).one("main").text
    assert "brier" not in said.replace("--rule brier", "")
    assert "the Brier score" in said
    assert "246 classes." in said


def test_tables_of_many_groups_are_not_printed_and_that_is_said() -> None:
    few, many = (render_undrawn(made.page(names=("A", "B"), cases=100, groups=n)) for n in (12, 13))
    assert "is not printed" not in few
    assert 'class="unprinted"' not in few
    assert "The table of all 13 groups is not printed; the page itself has it." in many
    assert 'class="unprinted"' in many
