"""Leaderboards for pages: Markdown with a summary for pull requests, LaTeX, and HTML for notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from toplist import _html
from toplist._html import Html, TableHead
from toplist._text import NOTHING, fixed
from toplist.core.estimate import quantile
from toplist.inference.results import Comparison, Estimate, PairCases, RuleScore
from toplist.report.path_statements import paths_table
from toplist.report.statements import (
    STEPS,
    at_once,
    less,
    method_notes,
    over_uniform,
    pairs_with,
    stars,
    top_1_cases,
    verdict,
)
from toplist.report.tables import DAGGER, RULE, STAR, called, details, leaderboard, leaders, pivot, signs, telling
from toplist.report.text import (
    Column,
    TextTable,
    count,
    decimals,
    infinite,
    kind,
    noun,
    number_of,
    percent,
    plain,
    share,
    value_of,
)
from toplist.report.whiskers import axis, in_words, lanes, tie_runs, whisker

_ROWS, _BELOW = 4, 3  # rows of a summary for pull requests, and lines below them: it has at most 12 lines
_NOTES = 6  # lines below a table in Markdown
_GROUPS = 5  # columns of a table of groups
_ROUNDING = 1e-9  # of the half width of an interval
_NUMBERS = re.compile(
    "(?:[-+\u22120-9.,e\u221e\u2013%() ]|to|cases?)+[*\u2020]?"
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
    DAGGER: r"\dag{}",
    "…": r"\ldots{}",
    "\u2212": "$-$",
    "\u221e": r"$\infty$",
    "Δ": r"$\Delta$",
    NOTHING: r"\textendash{}",
}


# The table that Markdown, LaTeX and notebooks share


def board(results: Comparison) -> TextTable:
    """The models from best to worst: rank, mean with interval, difference, the other rules, accuracy."""
    section, rule, shown = results.overall, results.rules[0], called(results)
    means = [row.scores[rule].mean for row in section.rows]
    digits = decimals(means)
    filled = [
        (Column("#"), [NOTHING if row.rank is None else count(row.rank) for row in section.rows]),
        (Column("model", "left", heading=True), [str(shown[row.name]) for row in section.rows]),
    ]
    if len({row.cases for row in section.rows}) > 1:
        filled.append((Column("cases"), [count(row.cases) for row in section.rows]))
    if results.missing == "pairwise":
        filled.append((Column("relative"), [fixed(value_of(row.scores[rule].relative), 3) for row in section.rows]))
    filled.append((Column(kind(rule, RULE)), [_mean(row.scores[rule], digits) for row in section.rows]))
    if any(e.low is not None for e in means):
        filled.append((Column(f"{percent(results.level)} CI"), [_ends(e, digits) for e in means]))
    if len(section.rows) > 1 and results.pairs:
        best = "best" if results.baseline is None else plain(results.baseline, 16)
        cells = [_cell(one, digits, sign) for one, sign in _differences(results)]
        filled.append((Column(f"Δ vs {best} ({percent(results.level)} CI)"), cells))
    for other in results.rules[1:]:
        most = min(decimals(row.scores[other].mean for row in section.rows), 4)
        filled.append((Column(kind(other, RULE)), [_mean(row.scores[other], most) for row in section.rows]))
    if any("accuracy" in row.metrics for row in section.rows):
        filled.append((Column("accuracy"), [share(value_of(row.metrics.get("accuracy"))) for row in section.rows]))
    main = leaderboard(results)
    return TextTable(
        main.title,
        tuple(column for column, _ in filled),
        tuple(zip(*(cells for _, cells in filled), strict=True)),
        notes=tuple(_remarks(results, main.notes)),
        leaders=leaders(results),
        warnings=main.warnings,
    )


def _mean(score: RuleScore, digits: int) -> str:
    return infinite(score.infinite) if score.infinite else fixed(score.mean.value, digits)


def _ends(e: Estimate, digits: int, *, signed: bool = False) -> str:
    """From where to where an interval goes."""
    if e.low is None or e.high is None:
        return NOTHING
    return " to ".join(fixed(x, digits, signed=signed) for x in (e.low, e.high))


def _cut_ends(e: Estimate, level: float) -> list[float]:
    """Where a t interval ends before its half width does, because the score ends there."""
    if e.low is None or e.high is None or e.error is None or e.freedom is None:
        return []
    half = (1 - _ROUNDING) * quantile(0.5 + level / 2, e.freedom) * e.error
    return [end for end, width in ((e.low, e.value - e.low), (e.high, e.high - e.value)) if width < half]


def _differences(results: Comparison) -> list[tuple[Estimate | None, str]]:
    """Of each model the difference to the baseline, or else to the best, and the sign of a significant one."""
    rule, rows = results.rules[0], results.overall.rows
    if results.baseline is None:
        scores = [row.scores[rule] for row in rows]
        return list(zip([score.difference for score in scores], signs(results, scores), strict=True))
    pairs = pairs_with(results, rule, results.baseline)
    away = {who: (less(who, v), STAR if v.significant else "") for who, v in pairs.items()}
    return [away.get(row.name, (None, "")) for row in rows]


def _cell(e: Estimate | None, digits: int, sign: str) -> str:
    """A difference with its interval and its sign."""
    if e is None:
        return NOTHING
    ends = "" if e.low is None else f" ({_ends(e, digits, signed=True)})"
    return f"{fixed(e.value, digits, signed=True)}{ends}{sign}"


def _remarks(results: Comparison, told: Sequence[str]) -> list[str]:
    """What was compared, what the columns mean, and what else is said below a leaderboard."""
    rule, rows = results.rules[0], results.overall.rows
    setting, *others = told
    found = [setting]
    if any(one is not None for one, _ in _differences(results)):
        best = "the best" if results.baseline is None else plain(results.baseline)
        star = f"; {stars(results)}" if any(sign == STAR for _, sign in _differences(results)) else ""
        found.append(f"Δ is the mean paired difference to {best}{at_once(results, results.overall, rule)}{star}.")
        said = (f"{STAR} ", STEPS) if results.baseline is None else (f"{STAR} ", f"{DAGGER} ", STEPS)
        others = [one for one in others if not one.startswith(said)]
    ends = sorted({end for row in rows for end in _cut_ends(row.scores[rule].mean, results.level)})
    if ends:
        found.append(f"Intervals are cut where the score ends, at {' and '.join(f'{end:.4g}' for end in ends)}.")
    return found + others


def means_of_one(results: Comparison) -> str:
    """The means of the only model with their intervals, in a line."""
    (row,) = results.overall.rows
    said = []
    for rule, score in row.scores.items():
        if score.infinite:
            said.append(f"{kind(rule)} \u221e ({count(score.infinite)} of {number_of(row.cases, 'case')})")
            continue
        mean, digits = score.mean, decimals([score.mean])
        ends = "" if mean.low is None else f" ({percent(results.level)} CI {_ends(mean, digits)})"
        skill = "" if score.skill is None or said else over_uniform(score.skill.value)
        said.append(f"{kind(rule)} {fixed(mean.value, digits)}{ends}{skill}")
    return f"{plain(row.name)}: {'; '.join(said)}"


# Markdown


def as_markdown(
    results: Comparison,
    *,
    detail: bool = False,
    against: Sequence[PairCases] = (),
) -> str:
    """The verdict, the table and a few notes in GitHub's Markdown; with `detail` all tables.

    For two models, or with a baseline, it is a summary of at most 12 lines for a pull request.

    Parameters
    ----------
    results : Comparison
        What was compared.
    detail : bool, default False
        Whether every table is written.
    against : sequence of PairCases, optional
        Two models case by case, for how many cases one has right that the other has wrong.

    """
    if detail:
        return "\n\n".join(map(_titled, details(results))) + "\n"
    table = board(results)
    said = [f"**{in_markdown(str(verdict(results, called(results))))}**", ""]
    right = [str(one) for pair in against for one in top_1_cases(pair, results.baseline, called(results))]
    below = [f"- {in_markdown(one)}" for one in (*table.warnings, *right, *table.notes)][:_NOTES]
    if results.baseline is not None or len(results.overall.rows) == 2:
        return "\n".join([*said, *_grid(_shortened(table, results)), "", *below[:_BELOW]]) + "\n"
    groups = [["", *_grid(one), "", in_markdown(" ".join(one.notes))] for one in by_group(results)]
    return "\n".join([*said, *_grid(table), "", *below, *(line for lines in groups for line in lines)]).rstrip() + "\n"


def _shortened(table: TextTable, results: Comparison) -> TextTable:
    """The table with the best models and the baseline, and how many more there are."""
    if len(table.rows) <= _ROWS:
        return table
    best = _ROWS - 2
    own = next((i for i, row in enumerate(results.overall.rows) if row.name == results.baseline), 0)
    kept = [*range(best), max(own, best)]
    left = len(table.rows) - len(kept)
    at = next(i for i, column in enumerate(table.columns) if column.heading)
    more = tuple(f"and {count(left)} more" if i == at else "" for i in range(len(table.columns)))
    return replace(table, rows=(*(table.rows[i] for i in kept), more))


def _titled(table: TextTable) -> str:
    found = [f"**{in_markdown(table.title)}**", "", *_grid(table)]
    if table.sentences:
        found += ["", *(f"- {in_markdown(sentence)}" for sentence in table.sentences)]
    return "\n".join(found)


def _grid(table: TextTable) -> list[str]:
    rules = ["--:" if column.align == "right" else ":--" for column in table.columns]
    head = [in_markdown(column.header) for column in table.columns]
    rows = [[in_markdown(cell) for cell in row] for row in table.rows]
    return [f"| {' | '.join(row)} |" for row in (head, rules, *rows)]


def in_markdown(text: str) -> str:
    """The text without anything that is markup."""
    if _NUMBERS.fullmatch(text):
        return text.strip()
    return "".join(_MARKDOWN.get(c, c) for c in text.strip())


# LaTeX


def as_latex(results: Comparison, *, detail: bool = False) -> str:
    """A table environment for each table, with captions and notes; it needs the package booktabs."""
    if detail:
        chosen = details(results)
    else:
        main = board(results)
        chosen = [replace(main, notes=(str(verdict(results, called(results))), *main.notes)), *by_group(results)]
    return "\n".join(["% \\usepackage{booktabs}", *map(_latex, chosen)])


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


_TOKEN = re.compile("(-(?=-))|(.)", re.DOTALL)


def _in_latex(text: str) -> str:
    """Escaped; two hyphens in a row would become one dash."""
    return _TOKEN.sub(lambda m: "-{}" if m[1] else _LATEX.get(m[2], m[2]), text.strip())


# Groups


def by_group(results: Comparison) -> list[TextTable]:
    """The groups side by side, or those that differ most from all cases."""
    if not results.groups:
        return []
    chosen = telling(results, _GROUPS)
    table = pivot(results, called(results), chosen)
    left = len(results.groups) - len(chosen)
    more = f"Shown are the groups that differ most from all cases; {count(left)} more {noun(left, 'is', 'are')} in CSV."
    heads = tuple(replace(c, header=f"{c.header} ({c.below})") if c.below else c for c in table.columns)
    said = (*table.notes, more) if left else table.notes
    return [replace(table, columns=heads, notes=said, leaders=frozenset())]


# HTML for notebooks


def as_html(results: Comparison, *, detail: bool = False) -> str:
    """A fragment of HTML for notebooks: the verdict, the table, and the rest folded; with `detail` all tables."""
    if detail:
        return _html.fragment(*(part for table in details(results) for part in html_of(table)))
    table = board(results)
    basis, *others = table.notes
    ties = _ties(results)
    shown = called(results)
    sections = [*by_group(results), *([paths_table(results.paths, shown)] if results.paths else [])]
    return _html.fragment(
        _html.paragraph(Html(verdict(results, shown).__html__()), "verdict"),
        _html.paragraph(f"{basis}{' Bars at the left join ties: no significant difference.' if ties else ''}", "muted"),
        *(_html.paragraph(one, "warn") for one in table.warnings),
        _leaderboard(results, table, ties),
        *(_html.folded(one.title, *html_of(replace(one, title=""))) for one in sections),
        _html.folded("Notes", _html.items(dict.fromkeys([*others, *method_notes(results, shown)]))),
        style=_WHISKERS,
    )


def html_of(table: TextTable) -> list[Html]:
    """A table with its title above and its notes below."""
    heads = [
        TableHead(column.header, number=column.align == "right", heading=column.heading) for column in table.columns
    ]
    return [
        *([_html.paragraph(table.title, "title")] if table.title else []),
        _html.table(heads, [_named(table, row) for row in table.rows], first=table.leaders),
        *(_html.paragraph(one, "muted") for one in table.sentences),
    ]


def _named(table: TextTable, row: Sequence[str]) -> list[str]:
    """A row whose names keep to their cells."""
    return [_html.name(cell, 60) if head.heading else cell for head, cell in zip(table.columns, row, strict=True)]


_WHISKERS = (
    ".toplist-out .interval,.toplist-out .axis{width:150px;overflow:visible}.toplist-out .interval{height:18px}"
    ".toplist-out .interval line{stroke:var(--toplist-other);stroke-width:2}"
    ".toplist-out .interval circle{fill:var(--toplist-other)}"
    ".toplist-out .interval.best line{stroke:var(--toplist-bar)}"
    ".toplist-out .interval.best circle{fill:var(--toplist-bar)}"
    ".toplist-out .interval line.ref{stroke:currentColor;stroke-width:1;stroke-dasharray:1 3}"
    ".toplist-out .axis line{stroke:var(--toplist-other)}"
    ".toplist-out .axis text{fill:currentColor;font-size:11px;text-anchor:middle}"
)


def _leaderboard(results: Comparison, table: TextTable, ties: Sequence[Sequence[bool]]) -> Html:
    """The table with whiskers on a common axis in place of the ends of intervals, and bars that join ties."""
    shown, first, rows = called(results), table.leaders, results.overall.rows
    means = [row.scores[results.rules[0]].mean for row in rows]
    room, level, digits = axis(means), percent(results.level), decimals(means)
    whole = f"{level} CI"
    heads = [
        TableHead("mean and " + whole)
        if column.header == whole
        else TableHead(column.header, column.align == "right", column.heading)
        for column in table.columns
    ]
    best = means[0].value if means and math.isfinite(means[0].value) else None
    cells = []
    for i, (row, mean) in enumerate(zip(table.rows, means, strict=True)):
        drawn: list[str] = list(row)
        for at, column in enumerate(table.columns):
            if column.heading:
                drawn[at] = Html(shown[rows[i].name].__html__())
            elif column.header == whole and room is not None:
                words = f"{shown[rows[i].name]}: {in_words(mean, digits, level)}"
                drawn[at] = Html(whisker(room, mean, words, line=best, blue=i in first).markup)
            elif column.header.startswith("Δ"):
                drawn[at] = _difference(row[at])
        cells.append(drawn)
    foot = []
    if room is not None and any(column.header == whole for column in table.columns):
        foot = [[Html(room.drawn().markup) if column.header == whole else "" for column in table.columns]]
    return _html.table(heads, cells, foot=foot, first=first, ties=ties)


def _difference(cell: str) -> Html:
    """A difference: bold where it is significant, its interval muted."""
    sign = cell[-1:] if cell.endswith((STAR, DAGGER)) else ""
    value, _, ends = cell.removesuffix(sign).partition(" ")
    shown = f"<b>{_html.safe(value)}{sign}</b>" if sign else _html.safe(value)
    return Html(f"{shown} {_html.muted(ends)}" if ends else shown)


def _ties(results: Comparison) -> list[list[bool]]:
    """For each row, in which lanes a bar joins it with models that are not significantly different."""
    runs = tie_runs(results)
    bars = list(zip(runs, lanes(runs, gap=1), strict=True))
    return [
        [any(a <= i <= b and lane == at for (a, b), at in bars) for lane in range(max(at for _, at in bars) + 1)]
        for i in range(len(results.overall.rows) * bool(bars))
    ]
