"""What a table says: who, how much, how sure, and what was done."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.results import example
from tests.report.strategies import HOSTILE, clean, law, names, results
from toplist.inference.results import Comparison, Estimate, Group
from toplist.report.numbers import decimals, fixed, spans
from toplist.report.tables import details, tables
from toplist.report.text import LIMIT, TextTable, cells, plain, shorten, wrap


def column(table: TextTable, header: str) -> list[str]:
    """The cells under a header."""
    where = [column.header for column in table.columns].index(header)
    return [row[where] for row in table.rows]


def headers(found: Comparison) -> list[str]:
    return [column.header for column in tables(found)[0].columns]


def boards(found: Comparison) -> list[TextTable]:
    """Those of models; after them comes what may be said at any time."""
    made = tables(found)
    return made[: len(made) - bool(found.paths)]


def said(found: Comparison) -> str:
    return "\n".join(tables(found)[0].sentences)


def lone(found: Comparison, **changes: object) -> Comparison:
    """With other values for every standing."""
    rows = tuple(replace(row, **changes) for row in found.overall.rows)  # type: ignore[arg-type]
    return replace(found, overall=replace(found.overall, rows=rows), groups=())


@law
@given(results())
def test_every_model_has_one_row_in_every_table(found: Comparison) -> None:
    sections = (found.overall, *found.groups)
    for table, section in zip(boards(found), sections, strict=True):
        assert column(table, "model") == [plain(row.name) for row in section.rows]
    per_section = len(found.rules) + 1
    count = per_section * len(sections)
    of_rules, others = details(found)[:count], details(found)[count:-1]
    for i, table in enumerate(of_rules):
        assert column(table, "model") == [plain(row.name) for row in sections[i // per_section].rows]
    assert len(others) == (len(found.rules) if found.pairs else 0) + bool(found.paths)
    if found.paths:
        for table in (tables(found)[-1], others[-1]):
            assert column(table, "candidate") == [plain(path.candidate) for path in found.paths]


@law
@given(results())
def test_every_pair_has_one_row_in_the_table_of_its_rule(found: Comparison) -> None:
    """With both names, the cases of both, and a dash where a number does not exist."""
    of_pairs = [table for table in details(found) if [c.header for c in table.columns][:2] == ["first", "second"]]
    for rule, table in zip(found.rules if found.pairs else (), of_pairs, strict=True):
        want = [pair for pair in found.pairs if pair.rule == rule]
        assert column(table, "first") == [plain(pair.a) for pair in want]
        assert column(table, "second") == [plain(pair.b) for pair in want]
        assert [cell == "-" for cell in column(table, "Holm")] == [pair.adjusted_p is None for pair in want]
        assert [cell == "-" for cell in column(table, f"extra {found.unit}s")] == [
            pair.extra_units is None for pair in want
        ]


def test_notes_say_how_many_pairs_differ_significantly_and_what_it_would_take() -> None:
    """Under the first rule; not where there is one pair alone, and not where the first two differ significantly."""
    assert "9 of 10 pairs are significantly different under the Brier score (Holm, 95%)." in said(example())
    chance = "no significant difference; if the true difference and spread are the observed ones, about 23,000"
    assert chance in said(example())
    first, *others = example().pairs
    one = replace(example(), pairs=(first,))
    assert "significantly different" not in said(one)
    assert "no significant difference" in said(one)
    apart = replace(example(), pairs=(replace(first, extra_units=0, adjusted_p=0.001), *others))
    assert "10 of 10 pairs are significantly different under the Brier score" in said(apart)
    assert "no significant difference" not in said(apart)
    assert "pairs" not in said(replace(example(), pairs=()))


def test_notes_count_only_pairs_that_can_be_tested() -> None:
    first, second, *others = example().pairs
    untested = replace(second, adjusted_p=None)
    assert "8 of 9 pairs that can be tested are significantly different under the Brier score" in said(
        replace(example(), pairs=(first, untested, *others))
    )
    nothing = tuple(replace(pair, adjusted_p=None) for pair in example().pairs)
    assert "significantly different" not in said(replace(example(), pairs=nothing))


def test_notes_name_the_confidence_set_of_the_best() -> None:
    found = example().confidence_set
    assert found is not None
    both = "transformer-large (fine-tuned) and gradient boosting (no other model is significantly better)."
    assert f"The confidence set of the best under the Brier score at 95%: {both}" in said(example())
    nobody = replace(found, members=(), p={}, reason="no case has all models")
    assert "There is no confidence set of the best under the Brier score: no case has all models." in said(
        replace(example(), confidence_set=nobody)
    )


@law
@given(results())
def test_every_string_of_a_table_is_safe_to_show(found: Comparison) -> None:
    for table in tables(found) + details(found):
        strings = [table.title, *(c.header for c in table.columns), *(cell for row in table.rows for cell in row)]
        assert all(clean(text) and "\n" not in text for text in (*strings, *table.sentences))
        assert {len(row) for row in table.rows} <= {len(table.columns)}


@law
@given(results())
def test_the_tables_of_groups_have_the_columns_of_the_main_table(found: Comparison) -> None:
    main, *groups = ([column.header for column in table.columns] for table in boards(found))
    assert all(group == main for group in groups)


def test_a_group_is_named_by_what_it_is_a_group_of() -> None:
    assert [table.title for table in boards(example())] == [
        "Leaderboard by brier",
        "subject: algebra",
        "subject: geometry",
    ]


def test_a_difference_has_a_star_if_it_is_significant_among_all_pairs() -> None:
    """Whatever its own interval says."""
    found = example()
    cells = column(tables(found)[0], "difference")
    assert cells[0] == "-"
    assert [cell.endswith("]*") for cell in cells] == [False, False, True, True, True]
    assert "simultaneous 95% intervals for all 10 pairs; * marks significant ones (Holm, 95%)" in said(found)
    for p in (0.05, 0.051):
        rows = [
            replace(row, scores={rule: replace(one, adjusted_p=p) for rule, one in row.scores.items()})
            for row in found.overall.rows
        ]
        other = replace(found, overall=replace(found.overall, rows=tuple(rows)))
        for table, header in ((tables(other)[0], "difference"), (details(other)[0], "difference")):
            assert [cell.endswith("*") for cell in column(table, header)] == [False, *[p <= 0.05] * 4]


def test_rank_intervals_are_a_column_of_every_table_of_models() -> None:
    found = example()
    assert column(tables(found)[0], "ranks") == ["1-2", "1-2", "3", "4", "5"]
    assert column(details(found)[2], "ranks") == ["1-2", "1-2", "3", "4", "5"]
    assert tables(found)[0].leaders == {0, 1}
    assert "at 95% all true ranks are in their intervals at once" in said(found)


def test_columns_appear_where_they_say_something() -> None:
    """Cases if they differ, relative skill if pairs were compared, and what went wrong if anything did."""
    usual = headers(example())
    assert {"skill", "vs random forest", "unpenalised", "infinite log"} <= set(usual)
    assert not {"cases", "relative", "infinite brier"} & set(usual)
    assert {"cases", "relative"} <= set(headers(example(missing="pairwise")))
    assert "vs random forest" not in headers(example(reference=None))
    assert "unpenalised" not in headers(lone(example(), invalid=0))
    rows = example().overall.rows
    uneven = Group(None, 12_000, (replace(rows[0], cases=11), *rows[1:]))
    assert "cases" in headers(replace(example(), overall=uneven))


def test_an_infinite_mean_is_shown_as_such_and_counted() -> None:
    table = tables(example())[0]
    assert column(table, "log")[-1].strip() == "inf"
    assert column(table, "infinite log")[-1] == "17"
    assert "ranks after finite ones" in said(example())


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("error", "No prediction is missing"),
        ("common", "Only cases that every model has are compared"),
        ("pairwise", "Each model is scored on the cases it has"),
        (
            "uniform",
            (
                "A missing prediction counts as the uniform distribution, which is an empty list; filled in: gradient "
                "boosting 12."
            ),
        ),
    ],
)
def test_notes_say_what_was_done_about_missing_predictions(missing: str, sentence: str) -> None:
    assert sentence in said(example(missing=missing))


def test_notes_say_what_was_compared_and_how() -> None:
    for sentence in (
        "Lower is better; 41 classes, 12,000 cases, all of the same weight.",
        "Intervals are at 95%: normal approximation, cases are independent.",
        "Invalid lists pay the penalty that is the default of each rule.",
        "Repaired in nearest neighbours: renormalise (40 cases) and clip (2 cases).",
        "No interval for hard labels under the log score: the mean is infinite.",
    ):
        assert sentence in said(example())
    assert "12,000 cases, 900 of them compared, weighted." in said(replace(example(), compared=900, weighted=True))
    assert "a penalty of 0.25." in said(replace(example(), penalty=0.25))
    assert "No list is invalid" in said(lone(example(), invalid=0))


def test_nothing_is_said_twice() -> None:
    for found in (tables(example()), details(example())):
        sentences = [sentence for table in found for sentence in table.sentences]
        assert len(sentences) == len(set(sentences))
    assert "subject geometry: 1 case." in tables(example())[2].notes
    assert "No interval for any model: a single case has no spread." in tables(example())[2].notes


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
    assert cells == ["0.50000 [0.40000, 0.60000]", "0.25000 [0.24990, 0.25010]", "0.12346", "    inf"]


@given(st.floats(), st.integers(3, 6), st.booleans())
def test_no_number_is_longer_than_people_can_read(x: float, digits: int, signed: bool) -> None:
    shown = fixed(x, digits, signed=signed)
    assert len(shown) <= 8 + digits
    assert not re.fullmatch(r"-[0.]+", shown)


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
