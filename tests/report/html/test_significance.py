"""Bold, colour, bars and words of the page follow from one rule of significance."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from tests.report.judged import BASE, THREE, judged, paired, shown
from toplist.inference.results import Comparison, Estimate, Pair
from toplist.report import statements
from toplist.report.html import Page
from toplist.report.html.leaderboard import leaderboard, matrix
from toplist.report.text import Name, sentence, series


def significant(results: Comparison) -> dict[frozenset[str], str]:
    """The significant pairs by the rule itself, and the better one of each."""
    return {
        frozenset((p.a, p.b)): p.a if p.difference.value < 0 else p.b
        for p in results.pairs
        if p.adjusted_p is not None and p.adjusted_p <= 1 - results.level
    }


@given(judged())
def test_bold_differences_daggers_and_colours_of_rows_follow_from_the_pairs(results: Comparison) -> None:
    """Bold is who is worse than the leader, a dagger has who is better."""
    found = made.concluded(results)
    leader, *others = (row.name for row in found.overall.rows)
    sure = significant(found)
    rows = []
    for row, p in zip(found.overall.rows[1:], (p for p in found.pairs if p.a == leader), strict=True):
        away = Estimate(-p.difference.value, p=p.difference.p)  # a difference to the leader has the p of its pair
        scores = {"brier": replace(row.scores["brier"], adjusted_p=p.adjusted_p, difference=away)}
        rows.append(replace(row, scores=scores))
    found = replace(found, overall=replace(found.overall, rows=(found.overall.rows[0], *rows)))
    table = leaderboard(found, {}, shown(found)).main
    at = {head.classes: i for i, head in enumerate(table.heads)}
    bold = [row[at["delta"]].classes == "significant" for row in table.rows] if "delta" in at else []
    assert bold == [False, *(sure.get(frozenset((leader, other))) == leader for other in others)]
    daggers = [str(row[at["delta"]].text).endswith("\u2020") for row in table.rows] if "delta" in at else []
    assert daggers == [False, *(sure.get(frozenset((leader, other))) == other for other in others)]
    blue = ['class="interval best"' in row[at["whisker"]].shown[0] for row in table.rows]
    beaten = {next(iter(pair - {better})) for pair, better in sure.items()}
    assert blue == [row.name not in beaten for row in found.overall.rows]


@given(judged())
def test_rows_that_share_a_letter_are_not_significantly_different(results: Comparison) -> None:
    table = leaderboard(results, {}, shown(results)).main
    letters = {
        row.name: re.findall(r"\w+", re.search(r'unseen">(.*?)<', cells[0].shown[0])[1])  # type: ignore[index]
        for row, cells in zip(results.overall.rows, table.rows, strict=True)
        if table.heads[0].classes == "ties"
    }
    tested = {frozenset((p.a, p.b)) for p in results.pairs if p.adjusted_p is not None}
    for a, b in combinations(letters, 2):
        if set(letters[a]) & set(letters[b]):
            assert frozenset((a, b)) in tested - set(significant(results))


@given(judged())
def test_the_matrix_is_coloured_where_a_difference_is_significant_and_says_who_is_better(results: Comparison) -> None:
    table = matrix(results, shown(results))
    order = [row.name for row in results.overall.rows]
    if len(order) < 3:
        assert table is None
        return
    assert table is not None
    sure = significant(results)
    for row, cells in zip(order[1:], table.rows, strict=True):
        for column, cell in zip(order, cells[1:], strict=False):
            pair = frozenset((row, column))
            if order.index(column) >= order.index(row):
                assert cell.text == ""
            elif pair in sure:
                assert cell.classes.startswith("below" if sure[pair] == row else "above")
            else:
                assert cell.classes == ""


@given(judged())
def test_the_verdict_contradicts_no_pair_of_the_best(results: Comparison) -> None:
    found = made.concluded(results)
    said = str(statements.verdict(found, shown(found)))
    leader, *others = (row.name for row in found.overall.rows)
    sure = significant(found)
    assert len(said.split()) <= 40
    _, _, rest = said.partition("not significantly better than ")
    named = re.findall(r"\b[A-G]\b", rest.partition(".")[0]) if rest else []
    assert not [other for other in named if sure.get(frozenset((leader, other))) == leader]
    if "significantly better than all" in said:
        assert all(sure.get(frozenset((leader, other))) == leader for other in others)


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


def test_who_alone_is_finite_was_not_tested() -> None:
    behind = Estimate(-math.inf, reason="infinite scores have no interval")
    both = replace(behind, value=math.nan)
    pairs = tuple(
        Pair("brier", a, b, 40, d, None, None, d)
        for (a, b), d in zip(combinations(THREE, 2), (behind, behind, both), strict=True)
    )
    found = made.concluded(replace(BASE[3], pairs=pairs))
    (why,) = map(str, statements.best(found, shown(found)))
    assert why.endswith(f": infinite scores, which no test weighs: {THREE[1]}, {THREE[2]}.")
    assert [row.rank_interval for row in found.overall.rows] == [(1, 3)] * 3


def test_the_mean_of_a_leader_of_many_is_called_optimistic() -> None:
    """Of two it is not: the interval of a difference is the same whoever leads."""
    (said,) = map(str, statements.selected(BASE[3], shown(BASE[3])))
    assert "its mean is too low on average" in said
    assert said in read(render_undrawn(Page(BASE[3]))).one("main").text
    assert not statements.selected(BASE[2], shown(BASE[2]))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30), st.integers(1, 8))
def test_a_list_names_or_counts_everything(items: list[str], most: int) -> None:
    said = sentence(*series([Name(item) for item in items], most))
    kept = [part.text for part in said.parts if isinstance(part, Name)]
    assert kept == items[: len(kept)]
    more = len(items) - len(kept)
    assert more != 1
    assert str(said.parts[-1]) == (f"{more:,} more" if more else items[-1])
