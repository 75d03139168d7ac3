"""Names are data: whatever they hold, the page shows it and does nothing."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.html.files import drawn, everywhere
from tests.report.html.hostile import HOSTILE
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from toplist.report.html.page import figures, renamed
from toplist.report.text import names, visible

pytest.importorskip("jinja2", reason="reports need jinja2")

TAGS = {one.tag for one in read(render_undrawn(made.page(groups=2, cases=60))).every()}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60) | st.text(alphabet="<>&\"'/=\u202e\u2066\x00\x1b{}%script", max_size=60))
@example("</style><script>alert(1)</script>")
@example('" onmouseover="alert(1)" x="')
@example("{{ 7 * 7 }}{% raw %}")
def test_no_name_becomes_markup(name: str) -> None:
    text = render_undrawn(everywhere(name))
    page = read(text)
    assert {one.tag for one in page.every()} <= TAGS | {"details", "summary"}
    assert len(list(page.every("script"))) == len(list(page.every("style"))) == 1
    assert not [one for one in page.every() for key in one.attributes if key.startswith("on") or key == "style"]
    assert all(character.isprintable() or character == "\n" for character in text)


@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=30).filter(lambda s: s == s.strip()))
def test_a_short_name_is_shown_whole(name: str) -> None:
    shown = names([name])[name].text
    if len(visible(name)) <= 30 and name.isascii():
        assert shown == visible(name)
    assert len(shown) <= 36


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_text_in_the_whole_page(kind: str) -> None:
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    name, text = HOSTILE[kind], drawn(kind)
    page = read(text)
    assert len(list(page.every("script"))) == 1
    assert all(character.isprintable() or character == "\n" for character in text)
    board = page.identified("table-leaderboard")
    assert names([name, name + "2", "plain"])[name].text in board.text
    if len(name) > 1000:
        assert visible(name) in page.one("main").text


def test_a_long_name_is_there_in_full_only_once_or_twice() -> None:
    long = "x" * 10_000
    assert len(render_undrawn(everywhere(long))) < len(render_undrawn(everywhere("x" * 100))) + 12 * len(long)


def test_names_that_look_alike_when_shortened_are_told_apart() -> None:
    alike = ["a" * 40 + middle + "b" * 40 for middle in "123"]
    shown = [str(name) for name in names([*alike, "other"]).values()]
    assert len(set(shown)) == 4


def test_figures_number_alike_names_as_the_page_does() -> None:
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    alike = tuple("a" * 40 + middle + "b" * 40 for middle in "123")
    found = made.drawn((*alike, "other"), cases=60, groups=2, paths=3)
    shown = names(row.name for row in found.overall.rows)
    board, exhibits = renamed(found, made.exhibits(found), shown)
    called = [shown[row.name].text for row in found.overall.rows]
    assert [row.name for row in board.overall.rows] == [exhibit.name for exhibit in exhibits] == called
    assert {pair.a for pair in board.pairs} | {pair.b for pair in board.pairs} == set(called)
    seen = figures(board, exhibits)
    for kind in ("intervals", "pairs", "curves", "shapes", "reliability", "groups"):
        one = seen[f"{kind}-1"]
        assert all(f"b ({i})</text>" in one.svg for i in (1, 2, 3)), one.caption
    for i, path in enumerate(board.paths, 1):
        assert path.baseline[-4:] in seen[f"path-{i}"].svg
