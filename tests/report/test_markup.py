"""Markdown, LaTeX and HTML: a name is text, and the table says the same in each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

from tests.report.results import example
from tests.report.strategies import EVERY_NAME, law, results
from toplist.inference.results import Comparison
from toplist.report.markup import (
    _shortened,
    as_latex,
    as_markdown,
    board,
    by_group,
)
from toplist.report.tables import details
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
@given(results())
def test_summaries_for_pull_requests_have_at_most_twelve_lines(found: Comparison) -> None:
    if len(found.overall.rows) == 2 or found.baseline is not None:
        assert len(as_markdown(found).splitlines()) <= 12


@law
@given(results())
def test_at_most_six_lines_of_notes_follow_a_table(found: Comparison) -> None:
    lines = as_markdown(found).splitlines()
    assert sum(line.startswith("- ") for line in lines) <= 6


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
