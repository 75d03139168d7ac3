"""Markdown, LaTeX and HTML: a name is text, and the table says the same in each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

from tests.report.results import example
from tests.report.strategies import EVERY_NAME, clean, law, results
from toplist.inference.results import Comparison
from toplist.report.markup import as_html, as_latex, as_markdown
from toplist.report.tables import details, tables
from toplist.report.text import TextTable

LATEX = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    r"\ldots{}": "…",
    "{[}": "[",
    "{*}": "*",
    "-{}": "-",
    "$-$": "-",
} | {f"\\{c}": c for c in "&%$#_{}"}
TOKEN = re.compile("|".join(map(re.escape, LATEX)) + r"|[^\\{}$&#^_~%]", re.DOTALL)


def wanted(found: Comparison, detail: bool) -> list[TextTable]:
    return details(found) if detail else tables(found)


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
        self.captions: list[str] = []
        self.notes: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "br":
            return
        self.open.append(tag)
        known = dict(attributes)
        assert set(known) <= {"class", "style", "scope"}
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            assert (tag == "th") == ("scope" in known)
            self.tables[-1][-1].append("")
        elif tag == "caption":
            self.captions.append("")
        elif tag == "p":
            self.notes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        elif "caption" in self.open:
            self.captions[-1] += data
        elif "p" in self.open:
            self.notes[-1] += data
        else:
            assert not data.strip()

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


@law
@given(results(), st.booleans())
@such_as(EVERY_NAME, False)
@such_as(EVERY_NAME, True)
def test_html_says_what_the_tables_say_with_its_own_tags_only(found: Comparison, detail: bool) -> None:
    page = Page()
    page.feed(as_html(found, detail=detail))
    page.close()
    assert not page.open
    assert page.tags <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "p", "br"}
    chosen = wanted(found, detail)
    assert page.tables == [grid(table) for table in chosen]
    assert page.captions == [table.title for table in chosen]
    assert page.notes == ["\n".join(table.sentences) for table in chosen if table.sentences]


def test_html_takes_the_colours_of_the_page() -> None:
    """Nothing in it sets one, so that it can be read on light and dark."""
    page = as_html(example())
    assert "currentColor" in page
    assert not re.search(r"(?<![-\w])(color|background)\s*:|#[0-9a-f]{3,6}\b", page)


def read_latex(text: str) -> str:
    """What LaTeX would print."""
    if text == "--":
        return "-"
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
    assert list(map(read_latex, notes)) == [" ".join(table.sentences) for table in chosen if table.sentences]


def test_latex_does_not_join_hyphens() -> None:
    assert "--" not in "".join(map(str, latex_rows(as_latex(example(groups=False))))).replace("'--'", "")


@law
@given(results(), st.booleans())
@such_as(EVERY_NAME, False)
@such_as(EVERY_NAME, True)
def test_rows_of_markdown_have_the_same_number_of_pipes(found: Comparison, detail: bool) -> None:
    lines = iter(as_markdown(found, detail=detail).split("\n"))
    pipes = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines if line.startswith("|")]
    want = [len(table.columns) + 1 for table in wanted(found, detail) for _ in range(len(table.rows) + 2)]
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
    assert read == [grid(table) for table in wanted(found, detail)]
