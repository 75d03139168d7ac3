"""What a table says: who, how much, what is significant, and what was done."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.results import drawn, example
from tests.report.strategies import HOSTILE, law, names, results
from toplist._text import NOTHING, fixed
from toplist.inference.ranking import judge
from toplist.inference.results import Comparison, Estimate
from toplist.report.statements import standing, verdict
from toplist.report.tables import (
    called,
    columns,
    details,
    made,
    notes,
    pivot,
    split,
    telling,
    widths,
)
from toplist.report.text import LIMIT, TextTable, cells, decimals, plain, share, shorten, spans, wrap


def column(table: TextTable, header: str) -> list[str]:
    """The cells under a header."""
    where = [column.header for column in table.columns].index(header)
    return [row[where] for row in table.rows]


def board(found: Comparison) -> TextTable:
    """All columns of the leaderboard."""
    return made("", found.overall, columns(found, called(found)))


def said(found: Comparison) -> str:
    """What the notes of a short board say."""
    return "\n".join(f"{note.sign} {note.text()}" for note in notes(found, called(found)))


@law
@given(results())
def test_every_model_has_one_row_in_every_table(found: Comparison) -> None:
    shown, whole = called(found), called(found, LIMIT)
    assert column(board(found), "model") == [str(shown[row.name]) for row in found.overall.rows]
    if found.groups:
        groups = pivot(found, shown, found.groups)
        assert column(groups, "model") == column(board(found), "model")
        assert len(groups.columns) == 1 + len(found.groups)
    sections = (found.overall, *found.groups)
    per_section = len(found.rules) + 1
    count = per_section * len(sections)
    of_rules, rest = details(found)[:count], details(found)[count:-1]
    for i, table in enumerate(of_rules):
        assert column(table, "model") == [str(whole[row.name]) for row in sections[i // per_section].rows]
    assert len(rest) == (len(found.rules) if found.pairs else 0) + bool(found.paths)


@law
@given(results())
def test_every_pair_has_one_row_in_the_table_of_its_rule(found: Comparison) -> None:
    """With both names, the cases of both, and a dash where a number does not exist."""
    shown = called(found, LIMIT)
    of_pairs = [table for table in details(found) if [c.header for c in table.columns][:2] == ["first", "second"]]
    for rule, table in zip(found.rules if found.pairs else (), of_pairs, strict=True):
        want = [pair for pair in found.pairs if pair.rule == rule]
        assert column(table, "first") == [str(shown[pair.a]) for pair in want]
        assert column(table, "second") == [str(shown[pair.b]) for pair in want]
        assert [cell == NOTHING for cell in column(table, "p")] == [pair.adjusted_p is None for pair in want]
        extra = column(table, f"extra {found.unit}s")
        assert [cell == NOTHING for cell in extra] == [pair.extra_units is None for pair in want]


@law
@given(results(), st.integers(60, 200))
def test_a_split_table_fits_and_drops_no_column(found: Comparison, width: int) -> None:
    for table in details(found):
        parts = split(table, width)
        assert all(sum(widths(part)) + 2 * (len(part.columns) - 1) <= width for part in parts)
        heads = [c for c in table.columns if c.heading or c.header == "#"]
        shown = [c for part in parts for c in part.columns if c not in heads]
        assert shown == [c for c in table.columns if c not in heads]
        assert all(len(part.rows) == len(table.rows) for part in parts)


@law
@given(st.integers(0, 10**6), st.floats(0.02, 1.0))
def test_nothing_starred_is_called_not_significantly_different(seed: int, apart: float) -> None:
    """Neither by the notes nor by the verdict: all go by one rule."""
    found = drawn(apart=apart, cases=200, seed=seed, paths=0)
    shown, table = called(found), board(found)
    cells = zip(column(table, "model"), column(table, "Δ best"), strict=True)
    starred = {name for name, cell in cells if cell.endswith("*")}
    place = standing(found)
    assert starred == {str(shown[who]) for who in place.beaten}
    leader = shown[found.overall.rows[0].name]
    equal = next((note.text() for note in notes(found, shown) if note.sign == "="), "")
    assert not any(f"{leader} and {who} (p" in equal for who in starred)
    better = str(verdict(found, shown)).partition("not significantly better than ")[2].partition(". ")[0]
    assert not any(who in better for who in starred)


@pytest.mark.parametrize("seed", range(4))
def test_the_most_telling_groups_include_every_one_where_the_leader_is_beaten(seed: int) -> None:
    found = drawn(groups=9, cases=900, apart=0.2, seed=seed)
    leader = found.overall.rows[0].name
    beaten = [
        group
        for group in found.groups
        if any(judge(p, 0.95).significant and judge(p, 0.95).worse == leader for p in group.pairs if p.rule == "brier")
    ]
    chosen = telling(found, 6)
    assert len(chosen) == 6
    assert [g.group for g in chosen] == [g.group for g in found.groups if g in chosen]
    assert all(group in chosen for group in beaten[:6])
    assert telling(found, 9) == found.groups


def test_a_difference_has_a_star_if_it_is_significant_among_all_pairs() -> None:
    """Whatever its own interval says."""
    found = example()
    cells = column(board(found), "Δ best")
    assert cells[0].strip() == NOTHING
    assert [cell.endswith(" *") for cell in cells] == [False, False, True, True, True]
    assert "* significantly worse than the best (95%, Holm-adjusted over all 10 pairs)" in said(found)
    for p in (0.05, 0.051):
        rows = [
            replace(row, scores={rule: replace(one, adjusted_p=p) for rule, one in row.scores.items()})
            for row in found.overall.rows
        ]
        other = replace(found, overall=replace(found.overall, rows=tuple(rows)))
        for table in (board(other), details(other)[0]):
            assert [cell.endswith("*") for cell in column(table, "Δ best")] == [False, *[p <= 0.05] * 4]


@law
@given(st.floats(1e-5, 10), st.floats(-1, 1))
def test_digits_show_two_of_the_half_width(half: float, value: float) -> None:
    digits = decimals([Estimate(value, value - half, value + half)])
    assert 3 <= digits <= 6
    if digits > 3:
        assert 10 ** -(digits - 1) > half / 10 * (1 - 1e-9)
    if digits < 6:
        assert 10**-digits <= half / 10 * (1 + 1e-9)


def test_a_column_has_the_same_digits_from_top_to_bottom() -> None:
    cells = spans([Estimate(0.5, 0.4, 0.6), Estimate(0.25, 0.2499, 0.2501), Estimate(0.123456789), Estimate(math.inf)])
    assert cells == ["0.50000 [0.40000, 0.60000]", "0.25000 [0.24990, 0.25010]", "0.12346", "      ∞"]
    without_spread = Estimate(0.8, 0.8 - 1e-14, 0.8 + 1e-14)  # which asks for no digits
    assert spans([Estimate(0.66333, 0.61977, 0.70689), without_spread])[0] == "0.663 [0.620, 0.707]"


@given(st.floats(), st.integers(3, 6), st.booleans())
def test_no_number_is_longer_than_people_can_read(x: float, digits: int, signed: bool) -> None:
    shown = fixed(x, digits, signed=signed)
    assert len(shown) <= 9 + digits
    assert "-" not in shown.partition("e")[0]
    assert not re.fullmatch("[−+][0.]+", shown)  # noqa: RUF001


@given(st.floats(0, 1))
def test_a_share_is_0_or_100_only_if_it_is_exactly_that(x: float) -> None:
    assert (share(x) == "0.0%") == (x == 0)
    assert (share(x) == "100.0%") == (x == 1)


@given(names)
def test_a_name_is_shown_on_one_line_of_printable_characters(name: str) -> None:
    shown = plain(name)
    assert shown.isprintable()
    assert 0 < len(shown) <= LIMIT
    assert cells(shown) <= LIMIT


def test_ordinary_names_are_shown_as_they_are() -> None:
    for name in ("gpt-2", "Größe", "日本語", "a_b [v2]", r"C:\models\a.parquet", "x" * LIMIT):
        assert plain(name) == name


def test_escapes_are_visible() -> None:
    assert plain("\x1b[31m") == r"\x1b[31m"
    assert plain("a\u202eb") == r"a\u202eb"
    assert plain("one\ntwo") == r"one\ntwo"
    assert plain("x" * 10_000) == "x" * 29 + "…" + "x" * 30


@given(st.text(), st.integers(2, 30))
def test_wrapped_lines_hold_every_word_and_no_more_than_the_width(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cells(line) <= width for line in lines)


@given(st.sampled_from(HOSTILE) | st.text(), st.integers(1, 30))
def test_shortened_text_keeps_its_ends_and_the_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert cells(short) <= limit
    head, dots, tail = short.partition("…") if short != text else (text, "", "")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert dots or short == text
