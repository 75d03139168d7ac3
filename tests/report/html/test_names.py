"""Names are data: whatever they hold, the page shows it and does nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.report import results as made
from tests.report.html.files import everywhere, text
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from toplist._text import visible
from toplist.report.text import names

pytest.importorskip("jinja2", reason="reports need jinja2")


@settings(max_examples=draws(25), deadline=None)
@given(st.text(min_size=1, max_size=30).filter(lambda s: s == s.strip()))
def test_a_short_name_is_shown_whole(name: str) -> None:
    shown = names([name])[name].text
    if len(visible(name)) <= 30 and name.isascii():
        assert shown == visible(name)
    assert len(shown) <= 36


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
