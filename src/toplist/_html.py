"""HTML for notebooks: escaped text, bars, whiskers, tables and small line plots, in one style for light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from toplist._text import visible

_COLOURS = {  # light and dark
    "bar": ("#1560c3", "#4ea1ff"),
    "other": ("#8c96a0", "#7d8894"),
    "line": ("#d0d7de", "#454d57"),
    "track": ("#eaeef2", "#2b313a"),
    "warn": ("#a85a08", "#de9236"),
}
_LIGHT, _DARK = (";".join(f"--toplist-{role}:{pair[i]}" for role, pair in _COLOURS.items()) for i in range(2))
_STYLE = f"""
.toplist-out{{{_LIGHT};max-width:880px;font-variant-numeric:tabular-nums}}
@media (prefers-color-scheme:dark){{.toplist-out{{{_DARK}}}}}
[data-jp-theme-light="true"] .toplist-out,.vscode-light .toplist-out{{{_LIGHT}}}
[data-jp-theme-light="false"] .toplist-out,.vscode-dark .toplist-out{{{_DARK}}}
.toplist-out p{{margin:.4em 0;max-width:44em}}
.toplist-out .toplist-verdict{{font-size:1.1em;font-weight:600}}
.toplist-out .toplist-muted{{opacity:.75;font-weight:normal}}
.toplist-out .toplist-warn{{color:var(--toplist-warn)}}
.toplist-out table{{border-collapse:collapse;border:0;margin:.4em 0;font-size:inherit;width:auto}}
.toplist-out th,.toplist-out td{{border:0;padding:.15em .8em .15em 0;text-align:left;font-weight:normal;
vertical-align:baseline;background:none;white-space:nowrap}}
.toplist-out thead th{{font-weight:600;border-bottom:1px solid var(--toplist-line)}}
.toplist-out tfoot th,.toplist-out tfoot td{{border-top:1px solid var(--toplist-line)}}
.toplist-out .toplist-num{{text-align:right}}
.toplist-out .toplist-text{{white-space:normal}}
.toplist-out td.toplist-tie{{padding:0;width:3px;min-width:3px;border-top:0;border-right:4px solid transparent;
background-clip:padding-box}}
.toplist-out td.toplist-on{{background:currentColor;background-clip:padding-box;opacity:.6}}
.toplist-out .toplist-title{{font-weight:600}}
.toplist-out .toplist-first>th{{font-weight:600}}
.toplist-out svg{{display:inline-block;vertical-align:middle;max-width:100%}}
.toplist-out .toplist-drawn text{{fill:currentColor;font-size:11px}}
.toplist-bar{{display:inline-block;vertical-align:middle;width:7em;height:.6em;background:var(--toplist-track);
border-radius:2px;overflow:hidden;margin:0 .5em 0 0}}
.toplist-bar.toplist-small{{width:3em}}
.toplist-bar>span{{display:block;height:100%;background:var(--toplist-bar)}}
.toplist-bar.toplist-rest>span{{background:var(--toplist-other)}}
.toplist-out details{{margin:.4em 0}}
.toplist-out summary{{cursor:pointer}}
""".replace("\n", "")


class Html(str):
    """Text that is HTML already; any other text is escaped where it goes into HTML."""

    __slots__ = ()


def fragment(*parts: str, style: str = "") -> str:
    """The parts in an element of their own, with the style that they need; nothing in it is taken for mathematics."""
    inside = "\n".join(map(safe, parts))
    return f'<div class="toplist-out tex2jax_ignore mathjax_ignore"><style>{_STYLE}{style}</style>\n{inside}\n</div>\n'


def safe(text: str) -> str:
    """The text as HTML: escaped, with what cannot be seen as an escape, unless it is HTML already.

    >>> print(safe("<b>"), safe(Html("<b>")))
    &lt;b&gt; <b>
    """
    return text if isinstance(text, Html) else escape(visible(text))


def name(value: Any, limit: int = 40) -> Html:
    """A name on one line, shortened in the middle; one from right to left keeps to its place.

    >>> print(name("a & b"), name("x" * 50, 11))
    <bdi>a &amp; b</bdi> <bdi title="xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx">xxxxx…xxxxx</bdi>
    """
    text = visible(str(value))
    if len(text) <= limit:
        return Html(f"<bdi>{escape(text)}</bdi>")
    short = f"{text[: limit // 2]}…{text[len(text) - (limit - 1) // 2 :]}"
    full = text if len(text) <= 300 else f"{text[:200]}…{text[-99:]}"
    return Html(f'<bdi title="{escape(full)}">{escape(short)}</bdi>')


def paragraph(text: str, kind: str = "") -> Html:
    """A paragraph: "verdict", "muted" or "warn"."""
    return Html(f"<p{_kind(kind)}>{safe(text)}</p>")


def folded(summary: str, *parts: str) -> Html:
    """Something that is shown when its summary is clicked on."""
    return Html(f"<details><summary>{safe(summary)}</summary>{''.join(map(safe, parts))}</details>")


def items(texts: Iterable[str]) -> Html:
    """A list of sentences."""
    return Html(f"<ul>{''.join(f'<li>{safe(text)}</li>' for text in texts)}</ul>")


def bar(share: float, *, small: bool = False, rest: bool = False) -> Html:
    """A bar as long as a share between 0 and 1; grey for what is not listed."""
    kinds = "".join([" toplist-small" if small else "", " toplist-rest" if rest else ""])
    return Html(f'<span class="toplist-bar{kinds}"><span style="width:{_percent(share)}"></span></span>')


def muted(text: str) -> Html:
    """A remark."""
    return Html(f'<span class="toplist-muted">{safe(text)}</span>')


@dataclass(frozen=True, slots=True)
class TableHead:
    """The head of a column: its text, and whether its cells are numbers, or name the rows."""

    text: str
    number: bool = False
    heading: bool = False


def table(
    heads: Sequence[TableHead],
    rows: Iterable[Sequence[str]],
    *,
    foot: Sequence[Sequence[str]] = (),
    first: Iterable[int] = (),
    ties: Sequence[Sequence[bool]] = (),
) -> Html:
    """A table: text is escaped, numbers stand to the right, the rows numbered in `first` are bold.

    The entries of a row of `ties` are bars at its left, which join it with the rows above and below.
    """
    bold = set(first)
    lanes = len(ties[0]) if ties else 0

    def row(cells: Sequence[str], kind: str, bars: Sequence[bool]) -> str:
        joined = "".join(_TIE if one else _APART for one in bars)
        return f"<tr{_kind(kind)}>{joined}{''.join(map(_cell, heads, cells))}</tr>"

    top = "".join(f'<th scope="col"{_kind("num" if head.number else "")}>{safe(head.text)}</th>' for head in heads)
    top = _APART * lanes + top
    body = "".join(row(cells, "first" if i in bold else "", ties[i] if lanes else ()) for i, cells in enumerate(rows))
    end = f"<tfoot>{''.join(row(cells, '', [False] * lanes) for cells in foot)}</tfoot>" if foot else ""
    header = f"<thead><tr>{top}</tr></thead>" if any(head.text for head in heads) else ""
    return Html(f"<table>{header}<tbody>{body}</tbody>{end}</table>")


_TIE = '<td class="toplist-tie toplist-on" title="no significant difference"></td>'
_APART = '<td class="toplist-tie"></td>'


def _cell(head: TableHead, cell: str) -> str:
    kind = _kind("num" if head.number else "")
    return f'<th scope="row"{kind}>{safe(cell)}</th>' if head.heading else f"<td{kind}>{safe(cell)}</td>"


_LINES = ("var(--toplist-bar)", "var(--toplist-other)")
_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _FOOT = 420, 190, 58, 74, 12, 38


def line_plot(x: Sequence[float], lines: Sequence[tuple[str, Sequence[float]]], across: str, up: str) -> Html:
    """Lines over one axis with titles, each with its name at its end; what is not finite leaves a gap.

    One line, or two: the second is grey.
    """
    values = [y for _, ys in lines for y in ys if math.isfinite(y)]
    if not values or not len(x):
        return Html("")
    (x0, x1), (y0, y1) = (min(x), max(x)), (min(values), max(values))
    wide, high = _WIDE - _LEFT - _RIGHT, _HIGH - _TOP - _FOOT

    def place(a: float, b: float) -> tuple[float, float]:
        return (
            _LEFT + wide * ((a - x0) / (x1 - x0) if x1 > x0 else 0.5),
            _TOP + high * (1 - ((b - y0) / (y1 - y0) if y1 > y0 else 0.5)),
        )

    parts = [_line(_LEFT, _TOP + high, _LEFT + wide, _TOP + high, "currentColor", 1)]
    parts += [_text(_LEFT - 6, place(x0, y)[1] + 4, f"{y:.3g}", "end") for y in dict.fromkeys((y0, y1))]
    parts += [_text(place(a, y0)[0], _TOP + high + 15, f"{a:g}", "middle") for a in dict.fromkeys((x0, x1))]
    parts += [_text(_LEFT + wide / 2, _HIGH - 6, across, "middle"), _text(4, _TOP + high / 2 + 4, up, "start")]
    taken: list[float] = []
    for (told, ys), colour in zip(lines, _LINES, strict=False):
        known = [place(a, b) for a, b in zip(x, ys, strict=True) if math.isfinite(b)]
        if not known:
            continue
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in known)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in known if len(known) <= 30]
        y = known[-1][1] + 4
        y += 13 if any(abs(y - other) < 12 for other in taken) else 0
        taken.append(y)
        parts.append(_text(known[-1][0] + 6, y, told, "start"))
    return _svg(_WIDE, _HIGH, "".join(parts), f"{up} against {across}")


def _svg(wide: int, high: int, inside: str, words: str) -> Html:
    """A picture that says something."""
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    return Html(f'<svg class="toplist-drawn" {size} role="img" aria-label="{escape(words)}">{inside}</svg>')


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(visible(text))}</text>'


def _kind(kind: str) -> str:
    return f' class="toplist-{kind}"' if kind else ""


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"
