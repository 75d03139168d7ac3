"""Terminals: within the width, the same in colour, in ASCII where that is asked for, and with few notes."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import example as such_as
from hypothesis import strategies as st

from tests.report.results import drawn, example, many
from tests.report.strategies import EVERY_NAME, clean, law, results
from toplist.errors import TopListError
from toplist.inference.results import Action, BoardWarning, Comparison, Estimate
from toplist.report.tables import columns
from toplist.report.terminal import as_renderable, as_text, intervals
from toplist.report.text import PLAIN, cells

PAGES = Path(__file__).parent / "pages"
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


def test_intervals_have_an_ascii_form() -> None:
    assert intervals([Estimate(0.3, 0.1, 0.5), Estimate(0.9)], 9, ascii=True)[1] == ["|-o-|", "        o"]
    found = drawn(("a", "b", "c"), cases=60, paths=0)
    text, plain = as_text(found, 80), as_text(found, 80, ascii=True)
    assert text.count("●") == plain.count("-o-") == 3
    assert max(map(len, plain.split("\n"))) <= 80


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


def test_wider_terminals_show_more() -> None:
    found = drawn(("a", "b", "c"), paths=0)
    heads = {width: as_text(found, width).split("\n\n")[1].split("\n")[0] for width in (80, 100, 140, 240)}
    assert "accuracy" in heads[80]
    assert "log" in heads[80]
    assert "95% CI" not in heads[80]
    assert "95% CI" in heads[100]
    assert "top-5 error" not in heads[100]
    assert all(name in heads[140] for name in ("top-5 error", "coverage"))
    assert "skill" in heads[240]


@pytest.mark.parametrize("width", [None, 80, 200])
def test_a_star_beside_an_interval_that_contains_zero_has_its_note(width: int | None) -> None:
    """Holm's method tests in steps, and may find more than simultaneous intervals."""

    def starred(low: float) -> Comparison:
        first, second, *rest = LONE.overall.rows
        score = second.scores[LONE.rules[0]]
        score = replace(score, difference=Estimate(0.05, low, 0.1, p=0.01), adjusted_p=0.02)
        second = replace(second, scores={**second.scores, LONE.rules[0]: score})
        return replace(LONE, overall=replace(LONE.overall, rows=(first, second, *rest)))

    assert "tests in steps" in " ".join(as_text(starred(-0.01), width).split())
    assert "tests in steps" not in " ".join(as_text(starred(0.01), width).split())


@pytest.mark.parametrize("width", [80, 120])
def test_a_page_looks_as_it_did_when_people_looked_at_it(width: int) -> None:
    assert as_text(example(), width) + "\n" == (PAGES / f"leaderboard-{width}.txt").read_text(encoding="utf-8")


def test_a_pipe_looks_as_it_did_when_people_looked_at_it() -> None:
    assert as_text(example()) + "\n" == (PAGES / "leaderboard-piped.txt").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("width", [80, 100, 140])
def test_of_many_pairs_without_a_difference_two_lines_are_shown_and_the_others_counted(width: int) -> None:
    found = replace(drawn(many(20), cases=300, apart=0.2, paths=0, zeros=False, missing="error"), sources=())
    lines = below(as_text(found, width))
    start = next(i for i, line in enumerate(lines) if line.startswith(" =  no significant difference: "))
    note = lines[start : start + 2]
    assert re.search(r" and \d+ more$", note[1])
    assert start + 2 == len(lines) or lines[start + 2][1] != " "


def test_warnings_come_first_whole_and_are_not_counted() -> None:
    sentence = "the truth may be that of other cases, because of " + "this and that, " * 30 + "and more."
    warned = replace(LONE, warnings=(BoardWarning("perfect", sentence, (LONE.overall.rows[0].name,)),))
    text = as_text(warned, 80)
    assert below(text)[0].startswith(" !  transformer")
    assert sentence in " ".join(text.split())
    calm = " ".join(" ".join(below(as_text(LONE, 80))).split())
    assert calm in " ".join(text.split())


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


def test_groups_that_do_not_fit_are_counted() -> None:
    found = drawn(groups=10, paths=0)
    text = as_text(found, 80)
    assert "By subject: mean Brier score" in text
    head = text.partition("By subject")[2].split("\n")[1].split()
    assert 3 <= len(head) - 1 <= 6
    assert f"and {10 - (len(head) - 1)} more: see --report or -o" in text
    assert text.partition("By subject")[2].split("\n")[2].split()[:2] == ["n", "120"]
    assert all(group.group in as_text(found) for group in found.groups)


def test_without_rich_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.text", None)
    with pytest.raises(TopListError, match=r"need rich: pip install 'toplist\[cli\]'"):
        as_renderable(example())
