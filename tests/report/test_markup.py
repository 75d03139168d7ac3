"""Markdown, LaTeX and HTML: a name is text, and the table says the same in each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

from tests.report.results import example
from tests.report.strategies import EVERY_NAME, clean, law, results
from toplist.inference.results import Comparison, GateResult
from toplist.report.markup import (
    _shortened,
    _within,
    as_html,
    as_latex,
    as_markdown,
    board,
    by_group,
)
from toplist.report.statements import verdict
from toplist.report.tables import called, details
from toplist.report.text import TextTable

LATEX = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    r"\textendash{}": "\u2013",
    r"\ldots{}": "…",
    r"$\infty$": "\u221e",
    r"\dag{}": "\u2020",
    r"$\Delta$": "Δ",
    "$-$": "\u2212",
    "{[}": "[",
    "{*}": "*",
    "-{}": "-",
} | {f"\\{c}": c for c in "&%$#_{}"}
TOKEN = re.compile("|".join(map(re.escape, LATEX)) + r"|[^\\{}$&#^_~%]", re.DOTALL)


def wanted(found: Comparison, detail: bool) -> list[TextTable]:
    return details(found) if detail else [board(found), *by_group(found)]


def in_markdown(found: Comparison, detail: bool) -> list[TextTable]:
    """A summary of two models, or of a baseline and others, may have fewer rows, and has no groups."""
    if detail or (found.baseline is None and len(found.overall.rows) != 2):
        return wanted(found, detail)
    return [_shortened(board(found), found)]


def grid(table: TextTable) -> list[list[str]]:
    """The header and the rows, without the blanks that align them."""
    return [[cell.strip() for cell in row] for row in ([column.header for column in table.columns], *table.rows)]


@law
@given(results(), st.booleans(), st.sampled_from([as_markdown, as_latex, as_html]))
def test_no_page_has_characters_that_act(found: Comparison, detail: bool, draw: Callable[..., str]) -> None:
    assert clean(draw(found, detail=detail))


class Page(HTMLParser):
    """The cells of each table, and tags that must match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("line", "circle"):
            self.open.append(tag)
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attributes)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td") and "toplist-tie" not in (dict(attributes).get("class") or ""):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in ("line", "circle")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            return
        self.text += data
        if {"td", "th"} & set(self.open) and "svg" not in self.open:
            self.tables[-1][-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def read_html(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open
    return page


OWN_TAGS = {
    *("div", "style", "p", "bdi", "b", "span", "table", "thead", "tbody", "tfoot", "tr", "th", "td"),
    *("details", "summary", "ul", "li", "svg", "title", "line", "circle", "text"),
}


@law
@given(results(), st.booleans())
@such_as(EVERY_NAME, False)
@such_as(EVERY_NAME, True)
def test_html_has_its_own_tags_only_and_no_script(found: Comparison, detail: bool) -> None:
    page = read_html(as_html(found, detail=detail))
    assert page.tags <= OWN_TAGS
    assert len(re.findall("<style>", as_html(found, detail=detail))) == 1


@law
@given(results())
@such_as(EVERY_NAME)
def test_the_table_of_a_notebook_says_what_the_others_say(found: Comparison) -> None:
    """Whiskers stand for the ends of intervals; the last row is their axis."""
    table = board(found)
    read = read_html(as_html(found)).tables[0]
    whole = [column.header for column in table.columns]
    drawn = [i for i, header in enumerate(whole) if header.endswith("% CI")]

    def numbers(row: list[str]) -> list[str]:
        return [re.sub(r"[*\u2020] \(", " (", cell.strip()) for i, cell in enumerate(row) if i not in drawn and i != 1]

    want = [[re.sub(r"(?<=.)[*\u2020]$", "", cell) for cell in numbers(list(row))] for row in table.rows]
    assert [numbers(row) for row in read[1 : len(want) + 1]] == want


@law
@given(results())
def test_a_verdict_is_said_first_in_markdown_and_notebooks(found: Comparison) -> None:
    said = str(verdict(found, called(found)))
    assert read_html(as_html(found)).text.strip().startswith(said)
    assert as_markdown(found).startswith("**")


@law
@given(results())
def test_summaries_for_pull_requests_have_at_most_twelve_lines(found: Comparison) -> None:
    if len(found.overall.rows) == 2 or found.baseline is not None:
        assert len(as_markdown(found, gates=GATES).splitlines()) <= 12
        assert "- FAIL new is worse" in as_markdown(found, gates=GATES)


GATES = [GateResult("new worse than old", True, "new is worse than old: Brier +0.2")]


@law
@given(results())
def test_at_most_six_lines_of_notes_follow_a_table(found: Comparison) -> None:
    lines = as_markdown(found).splitlines()
    assert sum(line.startswith("- ") for line in lines) <= 6


def test_no_interval_leaves_the_range_of_the_score() -> None:
    rows = board(example()).rows
    assert rows
    wide = replace(example().overall.rows[0].scores["brier"].mean, low=-0.3, high=2.5)
    cut = _within(wide, "brier")
    assert (cut.low, cut.high) == (0.0, 2.0)
    assert _within(wide, "Power(1.5)") == wide


def read_latex(text: str) -> str:
    """What LaTeX would print."""
    found = []
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token, text[at:]
        found.append(LATEX.get(token[0], token[0]))
        at = token.end()
    return "".join(found)


def latex_rows(page: str) -> Iterator[list[list[str]]]:
    """The cells of each tabular."""
    for body in re.findall(r"^\\begin\{tabular\}\{[lr]+\}\n(.*?)^\\end\{tabular\}$", page, re.DOTALL | re.MULTILINE):
        lines = [line for line in body.splitlines() if line not in (r"\toprule", r"\midrule", r"\bottomrule")]
        assert all(line.endswith(r" \\") for line in lines)
        assert not any(line.startswith(("[", "*")) for line in lines)  # the row before would take it for an option
        yield [re.split(r" (?<!\\)& ", line.removesuffix(r" \\")) for line in lines]


@law
@given(results(), st.booleans())
@such_as(EVERY_NAME, False)
@such_as(EVERY_NAME, True)
def test_latex_prints_what_the_tables_say(found: Comparison, detail: bool) -> None:
    page = as_latex(found, detail=detail)
    chosen = wanted(found, detail)
    assert [[list(map(read_latex, row)) for row in rows] for rows in latex_rows(page)] == list(map(grid, chosen))
    captions = re.findall(r"^\\caption\{(.*)\}$", page, re.MULTILINE)
    assert list(map(read_latex, captions)) == [table.title for table in chosen]
    notes = re.findall(r"^\\footnotesize\n(.*)\n\\end\{table\}$", page, re.MULTILINE)
    said = [" ".join(table.sentences) for table in chosen if table.sentences]
    assert all(found in read_latex(note) for note, found in zip(notes[1:], said[1:], strict=True))


def test_latex_does_not_join_hyphens() -> None:
    assert "--" not in "".join(map(str, latex_rows(as_latex(example(groups=False)))))


@law
@given(results(), st.booleans())
@such_as(EVERY_NAME, False)
@such_as(EVERY_NAME, True)
def test_rows_of_markdown_have_the_same_number_of_pipes(found: Comparison, detail: bool) -> None:
    lines = iter(as_markdown(found, detail=detail).split("\n"))
    pipes = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines if line.startswith("|")]
    want = [len(table.columns) + 1 for table in in_markdown(found, detail) for _ in range(len(table.rows) + 2)]
    assert pipes == want


@law
@given(results(), st.booleans())
@such_as(EVERY_NAME, False)
@such_as(EVERY_NAME, True)
def test_markdown_is_read_as_what_the_tables_say(found: Comparison, detail: bool) -> None:
    markdown_it: Any = pytest.importorskip("markdown_it", reason="a parser of Markdown is the oracle")
    tokens = (
        markdown_it.MarkdownIt("commonmark")
        .enable("table")
        .enable("strikethrough")
        .parse(as_markdown(found, detail=detail))
    )
    read: list[list[list[str]]] = []
    for before, token in itertools.pairwise(tokens):
        if token.type == "table_open":
            read.append([])
        elif token.type == "tr_open":
            read[-1].append([])
        elif token.type == "inline":
            kinds = {child.type for child in token.children}
            if before.type in ("th_open", "td_open"):
                assert kinds <= {"text", "text_special"}
                read[-1][-1].append("".join(child.content for child in token.children))
            else:
                assert kinds <= {"text", "text_special", "strong_open", "strong_close"}
    assert read == [grid(table) for table in in_markdown(found, detail)]
