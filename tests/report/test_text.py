"""Terminals: within the width, the same in colour, in ASCII where that is asked for, and with few notes."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import example as such_as
from hypothesis import strategies as st

from tests.report.results import example
from tests.report.strategies import EVERY_NAME, clean, law, results
from toplist.errors import TopListError
from toplist.inference.results import Action, BoardWarning, Comparison, Estimate
from toplist.report.tables import columns
from toplist.report.terminal import as_renderable, as_text, intervals
from toplist.report.text import PLAIN, cells

LONE = replace(example(groups=False), paths=())
STYLE = re.compile(r"\x1b\[[0-9;]*m")
RED, BOLD, DIM, AMBER = "31", "1", "2", "33"


def printed(found: Comparison, width: int, *, terminal: bool = True, **options: Any) -> str:
    """What a rich console of this width writes."""
    console: Any = pytest.importorskip("rich.console")
    page = io.StringIO()
    system = "truecolor" if terminal else None
    console.Console(file=page, width=width, force_terminal=terminal, color_system=system).print(
        as_renderable(found, **options)
    )
    return page.getvalue()


def below(text: str) -> list[str]:
    """The lines of notes below the first table."""
    return [line for line in text.split("\n\n")[2].split("\n") if line] if text.count("\n\n") > 1 else []


@law
@given(results(), st.integers(60, 220), st.booleans(), st.booleans())
@such_as(EVERY_NAME, 60, False, False)
@such_as(EVERY_NAME, 60, True, False)
@such_as(EVERY_NAME, 80, False, True)
def test_no_line_is_longer_than_the_page(found: Comparison, width: int, detail: bool, ascii_: bool) -> None:
    text = as_text(found, width, detail=detail, ascii=ascii_)
    assert clean(text)
    if not ascii_:  # where escapes are longer than names
        assert max(map(cells, text.split("\n"))) <= width


@law
@given(results(), st.integers(1, 59))
def test_a_page_that_is_too_narrow_still_has_every_row(found: Comparison, width: int) -> None:
    assert len(as_text(found, width).split("\n")) >= len(found.overall.rows)


@law
@given(results(), st.sampled_from([None, 80, 140]), st.booleans())
@such_as(EVERY_NAME, 80, False)
@such_as(EVERY_NAME, None, True)
def test_ascii_is_ascii(found: Comparison, width: int | None, detail: bool) -> None:
    action = Action("plan", ("Größe",), "Plan {0}", "", command="toplist plan a.csv")
    assert as_text(found, width, detail=detail, ascii=True, actions=[action]).isascii()


@law
@given(results())
@such_as(EVERY_NAME)
def test_without_a_width_every_column_is_there_and_nothing_is_drawn(found: Comparison) -> None:
    text = as_text(found)
    assert clean(text)
    assert "hidden (too narrow)" not in text
    assert "●" not in text
    head = text.split("\n\n")[1].split("\n")[0]
    assert all(column.header in head for column, _ in columns(found, PLAIN))


def test_columns_that_a_terminal_of_80_has_are_hidden_only_with_a_note() -> None:
    """Each is in the head or in the note; the score and the difference always stay."""
    base = [c.header for c, _ in columns(LONE, PLAIN) if not c.least and c.header != "#"]
    for width in range(60, 300, 7):
        text = as_text(LONE, width)
        head = re.split("  +", text.split("\n\n")[1].split("\n")[0].strip())
        note = " ".join(text.split()).partition("hidden (too narrow): ")[2]
        assert all(name in head or name in note for name in base)
        assert width < 80 or not note
        assert {"model", "Brier", "Δ best"} <= set(head)


@law
@given(results(), st.sampled_from([60, 80, 120, 200]), st.booleans(), st.booleans())
def test_a_console_shows_what_plain_text_shows(found: Comparison, width: int, terminal: bool, detail: bool) -> None:
    """A terminal that of its width, and what is no terminal all columns."""
    measure: Any = pytest.importorskip("rich.cells").cell_len
    text = as_text(found, width if terminal else None, detail=detail)
    assume(all(measure(line) == cells(line) for line in text.split("\n")))  # tables of Unicode differ in age
    shown = STYLE.sub("", printed(found, width if terminal else 10**6, terminal=terminal, detail=detail))
    assert [line.rstrip() for line in shown.split("\n")] == [line.rstrip() for line in (text + "\n").split("\n")]


@law
@given(results(), st.sampled_from([80, 100, 140]))
@such_as(replace(EVERY_NAME, groups=(), paths=()), 80)
def test_there_are_at_most_six_lines_of_notes_beside_warnings(found: Comparison, width: int) -> None:
    assert len(below(as_text(replace(found, groups=(), paths=(), warnings=()), width))) <= 6


def test_the_verdict_and_rank_1_are_bold_stars_red_intervals_dim_and_warnings_amber() -> None:
    warned = replace(LONE, warnings=(BoardWarning("perfect", "odd.", (LONE.overall.rows[0].name,)),))
    lines = printed(warned, 80).split("\n")
    assert lines[0].startswith(f"\x1b[{BOLD}m")
    rows = {name: next(line for line in lines[2:] if name in line) for name in ("transformer", "gradient", "random")}
    assert f"\x1b[{BOLD}m" in rows["transformer"]
    assert f"\x1b[{BOLD}m" not in rows["gradient"]
    assert f"\x1b[{BOLD};{RED}m*" in rows["random"]
    assert RED not in "".join(STYLE.findall(rows["gradient"]))
    assert re.search(rf"\x1b\[{DIM}m *━*●", rows["random"])
    assert any(f"\x1b[{AMBER}m !" in line for line in lines)


def test_without_colour_the_star_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = printed(LONE, 80)
    assert f"{RED}m" not in shown
    assert re.search(r"\+0\.0370 .{0,8}\*", shown)


def test_next_steps_are_commands_that_a_shell_takes() -> None:
    long = "toplist recalibrate fit " + " ".join(f"predictions/part-{i}.parquet" for i in range(8)) + " -t truth.csv"
    steps = [
        Action("diagnose", ("hard labels",), "Diagnose {0}", "", command="toplist diagnose hard.csv -t truth.csv"),
        Action("recalibrate", ("hard labels",), "Recalibrate {0}", "", command=long),
    ]
    text = as_text(LONE, 80, actions=steps)
    assert " Next: toplist diagnose hard.csv -t truth.csv  # Diagnose hard labels" in text
    command = text.partition("toplist recalibrate")[2].partition("  #")[0].replace("\\\n", " ")
    assert ("toplist recalibrate" + command).split() == long.split()
    assert max(map(cells, text.split("\n"))) <= 80
    assert "Next:" not in as_text(LONE, 80)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0, 10)) | st.none(), min_size=1, max_size=6), st.integers(12, 40)
)
def test_intervals_are_on_one_axis(rows: list[tuple[float, float] | None], room: int) -> None:
    """Ends and means are in the order of their numbers, and nothing leaves the room."""
    found = [None if row is None else Estimate(row[0], row[0] - row[1], row[0] + row[1]) for row in rows]
    assume(any(one is not None for one in found))
    head, bars = intervals(found, room)
    assert len(head) <= room
    assert all(len(bar) <= room for bar in bars)
    drawn = sorted((one.value, bar.index("●")) for one, bar in zip(found, bars, strict=True) if one is not None)
    assert [at for _, at in drawn] == sorted(at for _, at in drawn)
    assert all(bar == "" for one, bar in zip(found, bars, strict=True) if one is None)


def test_without_rich_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.text", None)
    with pytest.raises(TopListError, match=r"need rich: pip install 'toplist\[cli\]'"):
        as_renderable(example())
