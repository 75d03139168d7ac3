"""Plain text: aligned, within the page, and the same in colour."""

from __future__ import annotations

import io
import itertools
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import example as such_as
from hypothesis import strategies as st

from tests.report.results import example
from tests.report.strategies import EVERY_NAME, clean, law, results
from toplist.errors import TopListError
from toplist.inference.results import Comparison
from toplist.report.tables import tables
from toplist.report.terminal import as_renderable, as_text
from toplist.report.text import cells

PAGES = Path(__file__).parent / "pages"
LONE = replace(example(groups=False), paths=())
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def printed(found: Comparison, width: int, *, colour: bool = True, detail: bool = False) -> str:
    """What a rich console of this width writes."""
    console: Any = pytest.importorskip("rich.console")
    page = io.StringIO()
    system = "truecolor" if colour else None
    console.Console(file=page, width=width, force_terminal=colour, color_system=system).print(
        as_renderable(found, detail=detail)
    )
    return page.getvalue()


@law
@given(results(), st.integers(60, 220), st.booleans())
@such_as(EVERY_NAME, 60, False)
@such_as(EVERY_NAME, 60, True)
def test_no_line_is_longer_than_the_page(found: Comparison, width: int, detail: bool) -> None:
    text = as_text(found, width, detail=detail)
    assert max(map(cells, text.split("\n"))) <= width
    assert clean(text)


@law
@given(results(), st.integers(1, 59))
def test_a_page_that_is_too_narrow_still_has_every_row(found: Comparison, width: int) -> None:
    text = as_text(found, width)
    assert len(text.split("\n")) >= sum(len(table.rows) for table in tables(found))


@law
@given(results())
@such_as(EVERY_NAME)
def test_without_a_width_no_column_is_left_out(found: Comparison) -> None:
    assert clean(as_text(found))
    assert "Left out for want of room" not in as_text(found)


def test_columns_that_are_left_out_are_named() -> None:
    """Each header is in the table or in the note, and essential columns stay."""
    for width in range(60, 300, 7):
        text = as_text(LONE, width)
        shown = re.split("  +", text.split("\n")[2])
        note = " ".join(text.split()).partition("Left out for want of room: ")[2]
        left_out = note.removesuffix(".").split(", ") if note else []
        columns = tables(LONE)[0].columns
        assert sorted(shown + left_out) == sorted(column.header for column in columns)
        assert width < 80 or {column.header for column in columns if column.essential} <= set(shown)


def test_a_wider_page_shows_no_fewer_columns() -> None:
    shown = [len(as_text(LONE, width).split("\n")[3].split()) for width in range(60, 300)]
    assert shown[0] >= 3
    assert shown[-1] == len(tables(LONE)[0].columns)
    assert max(before - after for before, after in itertools.pairwise(shown)) <= 1


@pytest.mark.parametrize("width", [80, 120])
def test_a_page_looks_as_it_did_when_people_looked_at_it(width: int) -> None:
    assert as_text(example(), width) + "\n" == (PAGES / f"leaderboard-{width}.txt").read_text(encoding="utf-8")


@law
@given(results(), st.sampled_from([60, 80, 120, 200]), st.booleans(), st.booleans())
def test_a_terminal_shows_what_plain_text_shows(found: Comparison, width: int, colour: bool, detail: bool) -> None:
    measure: Any = pytest.importorskip("rich.cells").cell_len
    text = as_text(found, width, detail=detail)
    assume(all(measure(line) == cells(line) for line in text.split("\n")))  # tables of Unicode differ in age
    shown = STYLE.sub("", printed(found, width, colour=colour, detail=detail))
    assert [line.rstrip() for line in shown.split("\n")] == [line.rstrip() for line in (text + "\n").split("\n")]


def test_models_that_none_is_significantly_better_than_are_bold_and_significant_differences_coloured() -> None:
    lines = printed(LONE, 80).split("\n")
    rows = {name: next(line for line in lines if name in line) for name in ("transformer", "gradient", "random")}
    assert rows["transformer"].startswith("\x1b[1m")
    assert rows["gradient"].startswith("\x1b[1m")
    assert "\x1b[33m" not in rows["gradient"]
    assert not rows["random"].startswith("\x1b[1m")
    assert re.search(r"\x1b\[33m\+0\.0370 \[.*\]\*\x1b\[0m", rows["random"])


def test_without_colour_the_star_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = printed(LONE, 80)
    assert "\x1b[33m" not in shown
    assert "+0.0370 [+0.0335, +0.0404]*" in shown


def test_without_rich_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.text", None)
    with pytest.raises(TopListError, match=r"need rich: pip install 'toplist\[cli\]'"):
        as_renderable(example())
