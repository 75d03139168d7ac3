"""Names are data: whatever they hold, the page shows it and does nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.report import results as made
from tests.report.html.files import drawn, everywhere, text
from tests.report.html.hostile import HOSTILE
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from toplist._text import visible
from toplist.report.text import names

pytest.importorskip("jinja2", reason="reports need jinja2")

TAGS = {one.tag for one in read(render_undrawn(made.page(groups=2, cases=60))).every()}


@settings(max_examples=draws(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60) | st.text(alphabet="<>&\"'/=\u202e\u2066\x00\x1b{}%script", max_size=60))
@example("</style><script>alert(1)</script>")
@example('" onmouseover="alert(1)" x="')
@example("{{ 7 * 7 }}{% raw %}")
def test_no_name_becomes_markup(name: str) -> None:
    text = render_undrawn(everywhere(name))
    page = read(text)
    assert {one.tag for one in page.every()} <= TAGS | {"details", "summary"}
    assert len(list(page.every("script"))) == 2
    assert len(list(page.every("style"))) == 1
    assert not [one for one in page.every() for key in one.attributes if key.startswith("on") or key == "style"]
    assert all(character.isprintable() or character == "\n" for character in text)


@settings(max_examples=draws(25), deadline=None)
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
    assert len(list(page.every("script"))) == 2
    assert all(character.isprintable() or character == "\n" for character in text)
    board = page.identified("table-leaderboard")
    assert names([name, name + "2", "plain"])[name].text in board.text
    if len(name) > 1000:
        assert visible(name) in page.one("main").text


def test_a_long_name_is_there_in_full_only_once_or_twice() -> None:
    """Beside the data of downloads, where names are whole."""

    def shown(name: str) -> int:
        return len(re.sub(r'id="data">.*?</script>', "", render_undrawn(everywhere(name)), flags=re.DOTALL))

    assert shown("x" * 10_000) < shown("x" * 100) + 12 * 10_000


def test_a_model_has_one_key_wherever_it_is_named() -> None:
    """By which it is highlighted: in tables, in sentences and in figures."""
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    page = read(text("six"))
    (choice,) = (one for one in page.every("select") if one.attributes["id"] == "mark")
    keys = {option.attributes["value"]: option.text for option in choice.every("option")}
    assert set(keys) == {"", *made.NAMES}
    marked = [one for one in page.one("main").every() if "data-model" in one.attributes]
    assert {one.attributes["data-model"] for one in marked} <= set(keys)
    assert all(one.text == keys[one.attributes["data-model"]] for one in marked if one.tag == "bdi")
    assert any(one.tag != "bdi" for one in marked)


def test_names_that_look_alike_when_shortened_are_told_apart() -> None:
    alike = ["a" * 40 + middle + "b" * 40 for middle in "123"]
    shown = [str(name) for name in names([*alike, "other"]).values()]
    assert len(set(shown)) == 4
