"""Draws the four nouns and the tree of packages as docs/_static/tree.svg: `python docs/tree.py`."""

from __future__ import annotations

from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "_static" / "tree.svg"
WIDTH, HEIGHT, EDGE = 980, 974, 24
NOUNS = (
    ("anything", "arrays, dicts; files, frames", "plain", ""),
    ("TopLists", "validated predictions", "lists", "lists, io"),
    ("CaseScores", "one row per case", "scores", "scoring"),
    ("Leaderboard", "estimates with intervals", "board", "inference"),
    ("report", "text, JSON, figures, HTML", "pages", "report"),
)
# From top to bottom as in the import contract: package, what it does, what lies inside, the noun that it makes.
LAYERS = (
    (
        ("cli", "the same verbs from a shell", "", "plain"),
        ("testing", "assertions for test suites", "", "plain"),
    ),
    (("evaluation", "the verbs: compare, diagnose, monitor; files in, files out", "", "board"),),
    (
        ("integrations", "padded scores in other libraries", "jax, torch", "plain"),
        ("engines", "Dask and Spark", "", "plain"),
    ),
    (("report", "results as text, markup, JSON, figures, one HTML page", "plot, html", "pages"),),
    (
        ("multilabel", "lists of label sets, decisions", "estimators", "lists"),
        ("inference", "intervals, tests, ranking", "", "board"),
    ),
    (("postprocess", "better lists from lists", "recalibration, combination", "lists"),),
    (
        ("calibration", "are confidences right?", "", "plain"),
        ("io", "files and frames to lists, and back", "producers, readers", "lists"),
    ),
    (("scoring", "proper scoring rules and per-case metrics", "rules, topbeta", "scores"),),
    (("lists", "top lists over a space of classes, validated once", "", "lists"),),
    (("core", "numerical kernels, compiled or over the array API", "native", "plain"),),
    (("errors", "and the private root modules", "_files _html _lazy _remote _text _typing", "plain"),),
)
STYLE = """
  .paper { fill: #ffffff } text { fill: #1c2733; font: 14px system-ui, sans-serif }
  .box { fill: #f4f6f8; stroke: #8593a3 } .name { font: 600 15px ui-monospace, monospace } .small { font-size: 12.5px }
  .soft { fill: #4a5a6b } .arrow { stroke: #4a5a6b; fill: none; stroke-width: 1.6 } .head { fill: #4a5a6b }
  .lists { fill: #0b6fa4 } .scores { fill: #b35900 } .board { fill: #2d7d46 } .pages { fill: #8a3d8f }
  .plain { fill: #8593a3 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181e } text { fill: #e6ebf0 } .box { fill: #1e252e; stroke: #6b7a8b }
    .soft { fill: #aab7c4 } .arrow { stroke: #aab7c4 } .head { fill: #aab7c4 }
    .lists { fill: #5bb8e8 } .scores { fill: #f0a050 } .board { fill: #6cc487 } .pages { fill: #d08bd4 }
  }
"""


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, noun: str) -> str:
    """A box with a bar in the colour of the noun that it makes."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" class="box"/>'
        f'<rect x="{x:g}" y="{y:g}" width="7" height="{height:g}" rx="3" class="{noun}"/>'
    )


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A line with a head."""
    return f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" class="arrow" marker-end="url(#head)"/>'


def nouns(top: float) -> list[str]:
    """The way of the data, from left to right, with the packages that do each step."""
    gap, parts = 74.0, []
    width = (WIDTH - 2 * EDGE - gap * (len(NOUNS) - 1)) / len(NOUNS)
    for at, (name, meaning, noun, verb) in enumerate(NOUNS):
        x = EDGE + at * (width + gap)
        first, _, second = meaning.partition("; ")
        parts += [box(x, top, width, 72, noun), text(x + 16, top + 25, name, "name")]
        parts += [text(x + 16, top + 45 + 16 * i, line, "small soft") for i, line in enumerate(wrapped(first, second))]
        if verb:
            parts.append(text(x - gap / 2, top + 26, verb, "small", "middle"))
            parts.append(arrow(x - gap + 4, top + 36, x - 5, top + 36))
    return parts


def wrapped(first: str, second: str) -> list[str]:
    """At most two lines for a box of a noun."""
    if second:
        return [first, second]
    words, lines = first.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 14:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def layers(top: float) -> list[str]:
    """The packages, each above those that it may import."""
    height, gap, left, parts = 58.0, 12.0, EDGE + 30.0, []
    for row, packages in enumerate(LAYERS):
        y = top + row * (height + gap)
        width = (WIDTH - EDGE - left - 12.0 * (len(packages) - 1)) / len(packages)
        for at, (name, meaning, inside, noun) in enumerate(packages):
            x = left + at * (width + 12.0)
            parts += [box(x, y, width, height, noun), text(x + 20, y + 24, name, "name")]
            parts.append(text(x + 20, y + 45, meaning, "small soft"))
            if inside:
                folders = inside if inside.startswith("_") else ", ".join(f"{one}/" for one in inside.split(", "))
                parts.append(text(x + width - 16, y + 24, folders, "small soft", "end"))
    bottom = top + len(LAYERS) * (height + gap) - gap
    parts.append(arrow(EDGE + 10, top + 4, EDGE + 10, bottom - 6))
    middle = (top + bottom) / 2
    label = text(0, 0, "a package imports only what lies below it", "small soft", "middle")
    parts.append(f'<g transform="translate({EDGE + 3:g} {middle:g}) rotate(-90)">{label}</g>')
    return parts


def drawing() -> str:
    """The whole picture."""
    head = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    names = ", ".join(name for packages in LAYERS for name, *_ in packages)
    says = f"From anything to TopLists, CaseScores, Leaderboard and report. Packages from top to bottom: {names}."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>The four nouns, and the packages in the order of their imports</title>",
        f"<desc>{says}</desc>",
        f"<style>{STYLE}</style>",
        f'<defs>{head}<path d="M0,0 L8,4 L0,8 z" class="head"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" class="paper"/>',
        text(EDGE, 36, "The way of the data: four nouns, a verb between each two", "name"),
        *nouns(54),
        text(EDGE, 172, "The packages; the bar has the colour of the noun that a package makes", "name"),
        *layers(190),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
