"""Twelve boards on every surface, and six figures, are as they were stored.

A page is stored as its text, with the classes of cells that say something, and its anchors; a figure as the places of
its marks: files stay small, and a difference can be read. Dates and versions are masked. The board of forty models
keeps, of 780 pairs, those of its leader, and has no detailed text. What a page carries for its script, and its styles,
are not in the net.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toplist as tl
from tests.golden.boards import BOARDS, board, path
from tests.golden.conftest import HERE, Golden
from tests.golden.surfaces import as_lines, as_marks
from toplist.report.export import schema

NEW_YEAR = "1767225600"  # the date that pages carry
VERSIONS = re.compile(r"^(toplist \d|kernel ).*$", re.MULTILINE)
TEXTS: dict[str, Callable[[tl.Leaderboard], str]] = {
    "80.txt": lambda made: made.to_text(80),
    "120.txt": lambda made: made.to_text(120),
    "piped.txt": lambda made: made.to_text(),
    "detail.txt": lambda made: made.to_text(detail=True),
    "markdown.md": lambda made: made.to_markdown(),
    "latex.tex": lambda made: made.to_latex(),
    "notebook.txt": lambda made: as_lines(made._repr_html_()),
}
READ = [(name, surface) for name in BOARDS for surface in TEXTS if (name, surface) != ("many", "detail.txt")]
FIGURES = (
    *(("intervals", name) for name in ("shapes", "time", "pairwise", "penalty", "many")),
    *(("pairs", name) for name in ("shapes", "groups", "ordinal")),
    *(("reliability", name) for name in ("answers", "time")),
    *(("curves", name) for name in ("shapes", "groups")),
    ("groups", "groups"),
)


@pytest.mark.parametrize(("name", "surface"), READ)
def test_a_board_reads_as_it_did(name: str, surface: str, golden: Golden) -> None:
    golden.text(f"boards/{name}-{surface}", TEXTS[surface](board(name)).rstrip("\n") + "\n")


@pytest.mark.parametrize("name", BOARDS)
def test_the_values_of_a_board_are_as_they_were(name: str, golden: Golden) -> None:
    values = board(name).to_dict()
    pytest.importorskip("jsonschema").Draft202012Validator(schema()).validate(values)
    assert json.loads(board(name).to_json(), parse_constant=pytest.fail) == values
    leader = board(name)[0].name
    if name == "many":
        values["pairs"] = [pair for pair in values["pairs"] if leader in (pair["a"], pair["b"])]
    golden.json(f"boards/{name}.json", values)


@pytest.mark.parametrize("name", BOARDS)
def test_the_csv_of_a_board_has_the_values_that_it_had(name: str, golden: Golden) -> None:
    golden.json(
        f"boards/{name}-csv.json",
        [[as_number(cell) for cell in row] for row in csv.reader(io.StringIO(board(name).to_csv()))],
    )


@pytest.mark.parametrize("name", BOARDS)
def test_a_page_says_what_it_said(name: str, golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", NEW_YEAR)
    board(name).report(tmp_path / "page.html")
    text = as_lines((tmp_path / "page.html").read_text(encoding="utf-8"))
    golden.text(f"boards/{name}-page.txt", VERSIONS.sub("VERSIONS", text))


@pytest.mark.parametrize(("kind", "name"), FIGURES)
def test_a_figure_shows_what_it_showed(kind: str, name: str, golden: Golden) -> None:
    golden.text(f"boards/{name}-{kind}-figure.txt", as_marks(board(name).plot(kind).svg(inline=False)))


def test_a_sequential_path_is_as_it_was(golden: Golden) -> None:
    golden.text("boards/path.txt", path().to_text(100) + "\n")
    golden.text("boards/path-figure.txt", as_marks(path().plot().svg(inline=False)))


def test_no_golden_is_left_of_a_board_or_figure_that_is_gone() -> None:
    stored = {file.name for file in (HERE / "boards").iterdir()}
    texts = {f"{name}-{surface}" for name, surface in READ}
    values = {f"{name}{end}" for name in BOARDS for end in (".json", "-csv.json", "-page.txt")}
    figures = {f"{name}-{kind}-figure.txt" for kind, name in FIGURES}
    assert not stored - texts - values - figures - {"path.txt", "path-figure.txt"}


def as_number(cell: str) -> Any:
    """A cell as the number that it is, to be compared with a tolerance, or as its text."""
    try:
        return float(cell)
    except ValueError:
        return cell
