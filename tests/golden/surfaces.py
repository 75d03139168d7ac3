"""What a reader sees of a page and of a figure, line by line, without what only a browser sees."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

UNSEEN = ("head", "script", "style")
BLOCKS = ("tr", "p", "li", "dt", "dd", "div", "section", "nav", "header", "footer", "caption", "figure", "figcaption")
BLOCKS += ("summary", "details", "button", "option", "select", "pre", "h1", "h2", "h3", "h4", "table", "main", "body")
CELLS = ("td", "th")
LAYOUT = {
    "further",
    "mean",
    "none",
    "phone",
    "rank",
    "roomy",
    "t",
    "ties",
    "toplist-num",
    "toplist-tie",
    "turned",
    "whisker",
}
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
PLACES = ("x", "y", "cx", "cy", "r", "d", "points", "transform", "width", "height", "stroke-width", "font-size")
LOOKS = ("fill", "stroke", "stroke-dasharray", "font-weight", "text-anchor")


class _Reader(HTMLParser):
    """Collects the text of a page, and the places that a link can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self.anchors: set[str] = set()
        self.unseen = 0  # elements around here whose text is not read
        self.cells = 0  # cells around here

    def _is_unseen(self, tag: str) -> bool:
        """Figures have goldens of their own, but for those that are cells of a table."""
        return tag in UNSEEN or (tag == "svg" and not self.cells)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.unseen += self._is_unseen(tag)
        self.cells += tag in CELLS
        if self.unseen:
            return
        self.anchors |= {f"#{attributes['id']}"} if attributes.get("id") else set()
        self.anchors |= {f"-> {attributes['href']}"} if attributes.get("href") else set()
        if tag in BLOCKS:
            self.lines.append("")
        elif tag in CELLS:
            meaning = " ".join(sorted({*(attributes.get("class") or "").split()} - LAYOUT))
            self.lines[-1] += f" | {meaning and f'[{meaning}] '}"
        else:
            self.lines[-1] += " "

    def handle_endtag(self, tag: str) -> None:
        self.cells -= tag in CELLS
        self.unseen -= self._is_unseen(tag)
        if tag in BLOCKS:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.lines[-1] += data


def as_lines(html: str) -> str:
    """The text of a page: a line for each block and each row of a table, cells with the classes that say something.

    Below it are the anchors and where links lead.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in reader.lines)
    return "\n".join([*filter(None, lines), "", *sorted(reader.anchors), ""])


def as_marks(svg: str) -> str:
    """A figure: a line for each mark, with its place to a tenth of a pixel, its look and its text."""
    lines = []
    for mark in ElementTree.fromstring(svg).iter():  # noqa: S314  our own
        tag = mark.tag.rpartition("}")[2]
        places = [
            f"{name} {NUMBER.sub(lambda number: f'{float(number[0]):.1f}', mark.attrib[name])}"
            for name in PLACES
            if name in mark.attrib
        ]
        looks = [f"{name} {mark.attrib[name]}" for name in LOOKS if name in mark.attrib]
        text = " ".join((mark.text or "").split())
        lines.append("; ".join([tag, *places, *looks, *([text] if text else [])]))
    return "\n".join([*lines, ""])
