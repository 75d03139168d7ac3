"""Leaderboards in terminals: a verdict, a table with intervals as bars, a few notes, and what to do next.

Text and colour come from the same lines: a line is a row of pieces, each with a style.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toplist._files import load
from toplist._text import escaped, fixed, visible
from toplist.inference.results import Action, Comparison, Estimate, Group
from toplist.report import statements
from toplist.report.path_statements import paths_table
from toplist.report.tables import (
    DAGGER,
    GAP,
    STAR,
    Note,
    called,
    columns,
    details,
    made,
    notes,
    pivot,
    same_for_all,
    split,
    telling,
    widths,
)
from toplist.report.text import LONG, Column, Shown, TextTable, cells, count, pad, round_numbers, wrap

PAGE = 100  # where notes are wrapped unless a width is given
_NOTES = 6  # lines of notes, beside warnings
_BAR, _LEAST_BAR, _LONGEST_BAR = 18, 10, 40  # cells of the intervals that are drawn
_NAMES, _LEAST = 16, 9  # cells that names keep before the intervals go, and before a column goes
_WIDE = 140  # from here on what is the same for all is said
_GROUPS = 6  # groups side by side
_ACTIONS = 3
_INDENT = 4  # cells before a note
_BARS, _ASCII_BARS = ("━", "━", "━", "●"), ("|", "-", "|", "o")  # the first, those between, the last, the mean
_ASCII = {
    "\u2212": "-",
    "\u2013": "-",
    "\u221e": "inf",
    "\u0394": "diff",
    "\u2026": "...",
    "\u2265": ">=",
    "\u2264": "<=",
    "\u2192": "->",
    DAGGER: "+",
}
_SIGNS = {STAR: "bold red", DAGGER: "bold green", _ASCII[DAGGER]: "bold green"}  # after differences
_REMEDY = "tables in colour need rich: pip install 'toplist[cli]'"

Line = list[tuple[str, str]]  # pieces with their styles


def as_text(
    results: Comparison,
    width: int | None = None,
    *,
    detail: bool = False,
    actions: Sequence[Action] = (),
    ascii: bool = False,  # noqa: A002  what it is called everywhere
) -> str:
    """The leaderboard as text.

    Parameters
    ----------
    results : Comparison
        What was compared.
    width : int, optional
        The columns of a terminal, which has room for some columns of the table and draws intervals; without it, all
        columns are there and nothing is drawn.
    detail : bool, default False
        Every number, in several tables where they are wider than the page.
    actions : sequence of Action, default ()
        What to do next.
    ascii : bool, default False
        Whether to write in ASCII only.

    """
    made = TerminalBoard(results, detail, tuple(actions), ascii).lines(width)
    return "\n".join("".join(text for text, _ in line).rstrip() for line in made)


def as_renderable(
    results: Comparison,
    *,
    detail: bool = False,
    actions: Sequence[Action] = (),
    ascii: bool = False,  # noqa: A002
) -> Any:
    """What a rich console prints: as wide as a terminal is, or all columns where it is none."""
    load("rich.text", _REMEDY)
    return TerminalBoard(results, detail, tuple(actions), ascii)


@dataclass(frozen=True, slots=True)
class TerminalBoard:
    """A leaderboard that chooses its columns when the width of the console is known."""

    results: Comparison
    detail: bool = False
    actions: tuple[Action, ...] = ()
    ascii: bool = False

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        text = load("rich.text", _REMEDY).Text
        plain = self.ascii or options.ascii_only
        for line in replace(self, ascii=plain).lines(options.max_width if options.is_terminal else None):
            # rich would wrap and interpret strings; a Text it takes as it is
            found = text(no_wrap=True, overflow="ignore")
            for piece, style in line:
                found.append(piece, style=style)
            found.rstrip()
            yield found

    def lines(self, width: int | None) -> list[Line]:
        """All lines; without a width, with all columns and nothing drawn."""
        page, shown = PAGE if width is None else width, called(self.results)
        if not self.detail:
            return [*self._board(width, shown), *self._next(page, shown)]
        doubts = [line for one in statements.doubts(self.results, shown) for line in self._note("!", str(one), page)]
        pages = self._pages((replace(one, warnings=()) for one in details(self.results)), width)
        return [*self._opening(shown, page), *doubts, *([[]] if doubts else []), *pages, *self._next(page, shown)]

    def _plain(self, text: str) -> str:
        return to_ascii(text) if self.ascii else text

    # What stands above the table

    def _opening(self, shown: Shown, page: int) -> list[Line]:
        verdict = self._plain(str(statements.verdict(self.results, shown)))
        setting = self._plain(str(statements.setting(self.results)))
        return [
            *([(line, "bold")] for line in wrap(verdict, page)),
            *([(line, "dim")] for line in wrap(setting, page)),
            [],
        ]

    # The table

    def _board(self, width: int | None, shown: Shown) -> list[Line]:
        page = PAGE if width is None else width
        hidden: list[str] = []
        if width is None:
            body = _grid(self._ascii_table(made("", self.results.overall, columns(self.results, shown))), dashes=True)
        else:
            table, shown, hidden, drawn = self._fitted(width, shown)
            body = _grid(table, drawn=drawn, indent=1)
        found = [*self._opening(shown, page), *body]
        below = self._notes(shown, page, hidden, wide=width is None or width >= _WIDE)
        found += [[], *below] if below else []
        if self.results.groups:
            found += [[], *self._groups(shown, width)]
        if self.results.paths:
            found += [[], *self._pages([paths_table(self.results.paths, shown)], width)]
        return found

    def _fitted(self, width: int, shown: Shown) -> tuple[TextTable, Shown, list[str], int | None]:
        """The table for a terminal of this width, how models are called there, what is hidden, and where bars are."""
        filled = [
            (replace(c, header="" if c.header == "#" else self._plain(c.header)), list(map(self._plain, own)))
            for c, own in columns(self.results, shown)
        ]
        own = [max(map(cells, (column.header, *found))) for column, found in filled]
        longest = next((own[i] for i, (column, _) in enumerate(filled) if column.heading), 0)
        usual = [i for i, (column, _) in enumerate(filled) if not column.least]

        def left(kept: Sequence[int], bars: int) -> int:
            """Cells that names have."""
            others = sum(own[i] + GAP for i in kept if not filled[i][0].heading)
            return width - 1 - others - (bars + GAP if bars else 0)

        estimates, kept = self._estimates(), list(usual)
        sizes = [(_BAR, LONG), (_LEAST_BAR, LONG), (_LEAST_BAR, _NAMES)] if any(map(_drawable, estimates)) else []
        bars = next((size for size, names in sizes if left(kept, size) >= min(longest, names)), 0)
        while left(kept, bars) < min(longest, _LEAST) and any(not filled[i][0].essential for i in kept):
            kept.remove(next(i for i in reversed(kept) if not filled[i][0].essential))
        for i, (column, _) in sorted(enumerate(filled), key=lambda one: one[1][0].least):
            if 0 < column.least <= width and left([*kept, i], bars) >= min(longest, LONG):
                kept.append(i)
        kept.sort()
        room = max(left(kept, bars), 1)
        shown = shown if room >= longest else called(self.results, max(min(room, longest), 8))
        who = [self._plain(str(shown[row.name])) for row in self.results.overall.rows]
        chosen = [(filled[i][0], who if filled[i][0].heading else filled[i][1]) for i in kept]
        at = None
        if bars:
            bars = min(_LONGEST_BAR, bars + max(room - max(map(cells, ("model", *who))), 0))
            at = 1 + next(i for i, (c, _) in enumerate(chosen) if c.essential and not c.heading and c.header)
            head, drawn = intervals(estimates, bars, ascii=self.ascii)
            chosen.insert(at, (Column(self._plain(head), "left"), drawn))
        hidden = [filled[i][0].header for i in usual if i not in kept]
        return made("", self.results.overall, chosen), shown, hidden, at

    def _estimates(self) -> list[Estimate | None]:
        """What decides the order."""
        firsts = [row.scores[self.results.rules[0]] for row in self.results.overall.rows]
        return [score.relative if self.results.missing == "pairwise" else score.mean for score in firsts]

    def _ascii_table(self, table: TextTable) -> TextTable:
        if not self.ascii:
            return table
        heads = tuple(
            replace(c, header=to_ascii(c.header), below=to_ascii(c.below), note=to_ascii(c.note)) for c in table.columns
        )
        rows = tuple(tuple(map(to_ascii, row)) for row in table.rows)
        said = tuple(map(to_ascii, table.notes))
        return replace(table, title=to_ascii(table.title), columns=heads, rows=rows, notes=said)

    # What stands below it

    def _notes(self, shown: Shown, page: int, hidden: Sequence[str], *, wide: bool) -> list[Line]:
        found: list[Line] = []
        for warning in statements.doubts(self.results, shown):
            found += self._note("!", str(warning), page)
        told = notes(self.results, shown)
        if hidden:
            told.append(Note("!", f"hidden (too narrow): {', '.join(hidden)}"))
        if wide:
            told += [Note("", one.rstrip(".")) for one in same_for_all(self.results)]
        for lines in self._few(told, page):
            found += lines
        return found

    def _few(self, told: Sequence[Note], page: int) -> list[list[Line]]:
        """The notes in six lines: with fewer items each, or else the first ones and how many more there are."""
        most = [note.lines for note in told]
        fitted = [self._fit(note, page, note.lines) for note in told]
        while sum(map(len, fitted)) > _NOTES and any(n > 1 for n in most):
            at = max(i for i, n in enumerate(most) if n > 1)
            most[at] = 1
            fitted[at] = self._fit(told[at], page, 1)
        if sum(map(len, fitted)) <= _NOTES:
            return fitted
        kept: list[list[Line]] = []
        for note in fitted:
            if sum(map(len, kept)) + len(note) > _NOTES - 1:
                break
            kept.append(note)
        more = f"{count(len(fitted) - len(kept))} more: see --detail"
        return [*kept, [[(" " * _INDENT, ""), (more, "dim")]]]

    def _fit(self, note: Note, page: int, most: int) -> list[Line]:
        """The note in at most so many lines, with as many items as these have room for."""
        room, some = most * page, 0
        while some < len(note.items) and room > 0:
            room -= cells(note.items[some])
            some += 1
        for n in range(some, -1, -1):
            lines = self._note(note.sign, note.text(n), page)
            if len(lines) <= most:
                break
        return lines

    def _note(self, sign: str, text: str, page: int) -> list[Line]:
        """A note with its sign, wrapped."""
        style = {STAR: "red", DAGGER: "green", "!": "yellow"}.get(sign, "")
        lines = wrap(self._plain(text), max(page - _INDENT, 8))
        blank = " " * _INDENT
        return [
            [(f" {self._plain(sign)}".ljust(_INDENT), style), (line, "")] if not i else [(blank, ""), (line, "")]
            for i, line in enumerate(lines)
        ]

    def _groups(self, shown: Shown, width: int | None) -> list[Line]:
        """Groups side by side: all of them, or those that differ most."""
        groups, page = self.results.groups, PAGE if width is None else width
        chosen: Sequence[Group] = groups if width is None else telling(self.results, _GROUPS)
        table = pivot(self.results, shown, chosen)
        while width is not None and len(chosen) > 1 and 1 + sum(widths(table)) + GAP * len(chosen) > width:
            chosen = telling(self.results, len(chosen) - 1)
            table = pivot(self.results, shown, chosen)
        more = len(groups) - len(chosen)
        told = [*table.notes]
        if more:
            told.append(f"and {count(more)} more: see --report or -o; shown are those that differ most from all cases")
        table = self._ascii_table(table)
        found: list[Line] = [[(line, "bold")] for line in wrap(table.title, page)]
        parts = split(table, page - 1, self._plain("…")) if width is not None else [table]
        for part in parts:
            found += _grid(part, indent=1)
        found += [[]] if told else []
        for one in told:
            signed = one.startswith((f"{STAR} ", f"{DAGGER} "))
            sign, text = (one[0], one[2:].rstrip(".")) if signed else ("", one)
            found += self._note(sign, text, page)
        return found

    def _pages(self, found: Iterable[TextTable], width: int | None) -> list[Line]:
        """Tables one below the other, each with its notes."""
        page = PAGE if width is None else width
        out: list[Line] = []
        for one in map(self._ascii_table, found):
            for part in [one] if width is None else split(one, width, self._plain("…")):
                out += [[]] if out else []
                out += [[(line, "bold")] for line in wrap(part.title, page)]
                out += _grid(part, dashes=True)
            out += [[]] if one.sentences else []
            out += [[(line, "")] for text in one.sentences for line in wrap(text, page)]
        return out

    def _next(self, page: int, shown: Shown) -> list[Line]:
        """Commands for what to do next, each with what it is for."""
        found: list[Line] = []
        for action in [one for one in self.actions if one.command][:_ACTIONS]:
            title = self._plain(str(statements.with_names(action.title, action.models, shown)))
            command = visible(action.command)
            lines = _broken(command, page - 7)
            if cells(lines[-1]) + cells(title) + 4 <= page - 7:
                lines[-1] += f"  # {title}"
            for i, line in enumerate(lines):
                start = " Next: " if not found and not i else " " * 7
                found.append([(start, "bold" if start.strip() else ""), (line, "")])
        return [[], *found] if found else []


def _broken(command: str, width: int) -> list[str]:
    """A command in lines that a shell takes as one."""
    lines = [""]
    for word in command.split(" "):
        if lines[-1] and cells(lines[-1]) + cells(word) + 3 > width:
            lines[-1] += " \\"
            lines.append("  " + word)
        else:
            lines[-1] += (" " if lines[-1] else "") + word
    return lines


def to_ascii(text: str) -> str:
    r"""The text in ASCII: signs as words or letters, all else as escapes.

    >>> to_ascii("\u0394 best \u22120.1 \u2013 \u221e, Größe")
    'diff best -0.1 - inf, Gr\\xf6\\xdfe'
    """
    if text.isascii():
        return text
    return "".join(c if c.isascii() else _ASCII.get(c) or escaped(c) for c in text)


# Intervals as bars


def _drawable(estimate: Estimate | None) -> bool:
    return estimate is not None and math.isfinite(estimate.value)


def intervals(estimates: Sequence[Estimate | None], room: int, *, ascii: bool = False) -> tuple[str, list[str]]:  # noqa: A002
    r"""The numbers of an axis, and every interval on it.

    >>> head, rows = intervals([Estimate(0.3, 0.2, 0.4), Estimate(0.5)], 13)
    >>> print(head, *rows, sep="\n")
    0.2    0.4
    ━━━━●━━━━
                ●
    """
    known = [e for e in estimates if e is not None and _drawable(e)]
    ends = [x for e in known for x in (e.low, e.value, e.high) if x is not None and math.isfinite(x)]
    low, high = min(ends), max(ends)
    if not high - low > 0:
        low, high = low - max(0.5, abs(low) / 2), high + max(0.5, abs(high) / 2)

    def place(x: float) -> int:
        share = (x / 2 - low / 2) / (high / 2 - low / 2)
        return round(min(max(share, 0.0), 1.0) * (room - 1))

    first, line, last, mean = _ASCII_BARS if ascii else _BARS
    rows = []
    for e in estimates:
        cells = [" "] * room
        if e is not None and _drawable(e):
            if e.low is not None and e.high is not None:
                a, b = place(e.low), place(e.high)
                cells[a : b + 1] = [line] * (b + 1 - a)
                cells[a], cells[b] = first, last
            cells[place(e.value)] = mean
        rows.append("".join(cells).rstrip())
    return _axis(low, high, room, place), rows


def _axis(low: float, high: float, room: int, place: Callable[[float], int]) -> str:
    """As many round numbers as there is room for."""
    lines = (_labelled(*round_numbers(low, high, most), room, place) for most in range(room, 0, -1))
    return next(filter(None, lines), "") if math.isfinite(high - low) else ""


def _labelled(ticks: Sequence[float], digits: int, room: int, place: Callable[[float], int]) -> str | None:
    """The numbers below each other's places; nothing where two would touch."""
    line, end = "", -1
    for tick in ticks:
        text = fixed(tick, digits)
        start = min(max(place(tick) - len(text) // 2, 0), room - len(text))
        if start < end + 1:
            return None
        line = line.ljust(start) + text
        end = start + len(text)
    return line if 0 < len(line) <= room else None


# Tables as lines


def _grid(table: TextTable, *, dashes: bool = False, drawn: int | None = None, indent: int = 0) -> list[Line]:
    """The head and the rows of a table; rank 1 is bold, signs have colours, intervals that are drawn are dim."""
    sizes = widths(table)
    heads = [[column.header for column in table.columns]]
    if any(column.below for column in table.columns):
        heads.append([column.below for column in table.columns])
    if dashes:
        heads.append(["-" * size for size in sizes])
    found: list[Line] = []
    for i, row in enumerate([*heads, *table.rows]):
        head, first = i < len(heads), i - len(heads) in table.leaders
        line: Line = [(" " * indent, "")]
        for j, (cell, size, column) in enumerate(zip(row, sizes, table.columns, strict=True)):
            style = "dim" if j == drawn or (head and i) else "bold" if head or first else ""
            text = pad(cell, size, column.align)
            if not head and not column.heading and cell.endswith(tuple(_SIGNS)):
                end = len(text.rstrip()) - 1
                line += [(text[:end], style), (text[end], _SIGNS[text[end]]), (text[end + 1 :], "")]
            else:
                line.append((text, style))
            line.append((" " * GAP if j < len(row) - 1 else "", ""))
        found.append(line)
    return found


def page(table: TextTable, width: int) -> str:
    """One table with its title above and its notes below, in plain text."""
    found = [*wrap(table.title, width), ""]
    found += ["".join(text for text, _ in line).rstrip() for line in _grid(table, dashes=True)]
    if table.sentences:
        found += ["", *(line for sentence in table.sentences for line in wrap(sentence, width))]
    return "\n".join(found)
