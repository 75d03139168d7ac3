"""Leaderboards for pages: Markdown, LaTeX, HTML."""

from __future__ import annotations

import html
import re

from toplist.inference.results import Comparison
from toplist.report.numbers import NOTHING
from toplist.report.tables import details, tables
from toplist.report.text import Column, TextTable

_NUMBERS = re.compile(
    r"(?!\[)[-+0-9.,einf\[\] ]+\*?"
)  # nothing in here is markup, and escapes would make it hard to read
_MARKDOWN = {c: f"\\{c}" for c in "\\`*_|[]~$#!"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # at the start of a row it would be an option of the row before
    "*": "{*}",
    "…": r"\ldots{}",
}
_CELL = "padding:.2em .7em;white-space:nowrap;text-align:"


def as_markdown(results: Comparison, *, detail: bool = False) -> str:
    """Tables in GitHub's Markdown, notes as lists."""
    return "\n\n".join(map(_markdown, _chosen(results, detail))) + "\n"


def as_latex(results: Comparison, *, detail: bool = False) -> str:
    """A table environment for each table, with captions and notes; it needs the package booktabs."""
    return "\n".join(["% \\usepackage{booktabs}", *map(_latex, _chosen(results, detail))])


def as_html(results: Comparison, *, detail: bool = False) -> str:
    """A fragment of HTML for notebooks, in the colours of the page."""
    found = "\n".join(map(_html, _chosen(results, detail)))
    return f'<div class="toplist tex2jax_ignore mathjax_ignore" style="overflow-x: auto">\n{found}\n</div>\n'


def _chosen(results: Comparison, detail: bool) -> list[TextTable]:
    return details(results) if detail else tables(results)


def _markdown(table: TextTable) -> str:
    rules = ["--:" if column.align == "right" else ":--" for column in table.columns]
    head = [_in_markdown(column.header) for column in table.columns]
    rows = [[_in_markdown(cell) for cell in row] for row in table.rows]
    found = [f"**{_in_markdown(table.title)}**", "", *(f"| {' | '.join(row)} |" for row in (head, rules, *rows))]
    if table.sentences:
        found += ["", *(f"- {_in_markdown(sentence)}" for sentence in table.sentences)]
    return "\n".join(found)


def _in_markdown(text: str) -> str:
    if _NUMBERS.fullmatch(text):
        return text.strip()
    return "".join(_MARKDOWN.get(c, c) for c in text.strip())


def _latex(table: TextTable) -> str:
    sides = "".join("r" if column.align == "right" else "l" for column in table.columns)
    rows = [" & ".join(map(_in_latex, row)) + r" \\" for row in table.rows]
    found = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_in_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        " & ".join(_in_latex(column.header) for column in table.columns) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if table.sentences:
        found += ["", r"\smallskip", r"\footnotesize", " ".join(map(_in_latex, table.sentences))]
    return "\n".join([*found, r"\end{table}", ""])


def _in_latex(text: str) -> str:
    text = text.strip()
    if text == NOTHING:
        return "--"
    if _NUMBERS.fullmatch(text):
        return re.sub(r"(?<!\d)-", "$-$", text)  # after a digit it stands between two ranks
    return re.sub("-(?=-)", "-{}", "".join(_LATEX.get(c, c) for c in text))  # two hyphens would become one dash


def _html(table: TextTable) -> str:
    heads = [_cell("th", "col", column, column.header) for column in table.columns]
    found = [
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">',
        f'<caption style="text-align:left;font-weight:bold">{html.escape(table.title)}</caption>',
        f'<thead style="border-bottom:1px solid currentColor"><tr>{"".join(heads)}</tr></thead>',
        "<tbody>",
        *(_html_row(table, i) for i in range(len(table.rows))),
        "</tbody>",
        "</table>",
    ]
    if table.sentences:
        notes = "<br>\n".join(map(html.escape, table.sentences))
        found.append(f'<p style="font-size:smaller;max-width:60em">{notes}</p>')
    return "\n".join(found)


def _html_row(table: TextTable, i: int) -> str:
    found = [
        _cell("th" if column.heading else "td", "row" if column.heading else "", column, cell)
        for column, cell in zip(table.columns, table.rows[i], strict=True)
    ]
    return f'<tr style="font-weight:{"bold" if i in table.leaders else "normal"}">{"".join(found)}</tr>'


def _cell(tag: str, scope: str, column: Column, text: str) -> str:
    content = html.escape(text.strip())
    if scope == "row":
        content = f"<bdi>{content}</bdi>"  # a name from right to left keeps to its cell
    attributes = f' scope="{scope}"' if scope else ""
    weight = ";font-weight:inherit" if scope == "row" else ""
    return f'<{tag}{attributes} style="{_CELL}{column.align}{weight}">{content}</{tag}>'
