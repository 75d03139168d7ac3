"""The page is well made: headings, landmarks, captions, links, and nothing from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest

from tests.report.html.files import PAGES, text
from tests.report.html.parse_page import Element, read
from toplist.report.html.page import digest

ADDRESS = re.compile(r"(?<![\w/])(?:https?:)?//[\w.-]+\.\w|url\s*\(|@import", re.IGNORECASE)
NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")


@cache
def tree(which: str) -> Element:
    return read(text(which))


every_page = pytest.mark.parametrize("which", PAGES)


@every_page
def test_every_id_is_unique_and_every_reference_has_a_target(which: str) -> None:
    ids = [one.attributes["id"] for one in tree(which).every() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    wanted = {one.attributes["href"] for one in tree(which).every("a", "use") if "href" in one.attributes}
    assert all(link.startswith("#") and link[1:] in ids for link in wanted)
    for name in ("aria-labelledby", "aria-describedby", "for", "data-table"):
        for one in tree(which).every():
            assert set(one.attributes.get(name, "").split()) <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text(which))) <= set(ids)


@every_page
def test_headings_begin_with_one_h1_and_skip_no_level(which: str) -> None:
    levels = [int(one.tag[1]) for one in tree(which).every("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@every_page
def test_contents_name_every_section_in_order(which: str) -> None:
    links = [(a.attributes["href"][1:], a.text) for a in tree(which).one("nav").every("a")]
    heads = [(h.attributes["id"], h.text) for h in tree(which).one("main").every("h2")]
    assert links == heads
    assert len(links) >= 5


@every_page
def test_landmarks_are_there_once_and_the_skip_link_comes_first(which: str) -> None:
    page = tree(which)
    assert page.one("html").attributes["lang"] == "en"
    for tag in ("header", "nav", "main", "footer", "h1"):
        assert page.one(tag).text.strip()
    assert page.one("head").one("title").text == page.one("h1").text
    assert next(page.one("body").every("a")).attributes == {"class": "skip", "href": "#main"}


@every_page
def test_tables_have_captions_and_scopes_and_rows_of_one_width(which: str) -> None:
    for table in tree(which).every("table"):
        assert table.one("caption").text.strip()
        (head, *rows) = table.every("tr")
        assert all(th.attributes["scope"] == "col" and th.text.strip() for th in head.every("th"))
        width = len(list(head.every("th")))
        assert rows
        for row in rows:
            cells = list(row.every("td", "th"))
            assert len(cells) == width
            assert all(th.attributes["scope"] == "row" for th in row.every("th"))


@every_page
def test_what_scrolls_can_be_reached_and_has_a_name(which: str) -> None:
    for one in tree(which).every():
        if "scroll" in one.attributes.get("class", "").split():
            assert one.attributes["tabindex"] == "0"
            assert one.attributes["role"] == "region"
            assert tree(which).identified(one.attributes["aria-labelledby"]).text.strip()


@every_page
def test_the_policy_admits_this_style_and_this_script_and_nothing_else(which: str) -> None:
    page = tree(which)
    (policy,) = (
        meta.attributes["content"]
        for meta in page.every("meta")
        if meta.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    style, script = page.one("style").text, page.one("script").text
    assert policy == (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@every_page
def test_no_element_has_style_or_handlers_or_loads_anything(which: str) -> None:
    for one in tree(which).every():
        assert one.tag not in {"link", "iframe", "object", "embed", "img", "base", "form", "foreignobject"}
        assert "style" not in one.attributes
        assert not [name for name in one.attributes if name.startswith("on")]
        assert not {"src", "srcset", "action", "ping"} & set(one.attributes)


@every_page
def test_no_address_is_on_the_page(which: str) -> None:
    found = text(which)
    for namespace in NAMESPACES:
        found = found.replace(namespace, "")
    found = re.sub(r"url\(#[^)]+\)", "", found)
    assert not ADDRESS.search(found)


@every_page
def test_without_a_script_no_control_is_shown(which: str) -> None:
    for one in tree(which).every():
        if one.tag == "button" or "tools" in one.attributes.get("class", "").split():
            assert "hidden" in one.attributes


def test_sections_that_have_nothing_to_show_are_left_out() -> None:
    def ids(which: str) -> list[str]:
        return [h.attributes["id"] for h in tree(which).one("main").every("h2")]

    everything = ids("six")
    assert everything == [
        *("board", "significant", "setting", "length", "shape", "reliability", "groups", "anytime", "faults", "losses"),
        "reproduce",
    ]
    assert ids("bare") == ["board", "significant", "setting", "faults", "reproduce"]
    assert ids("two") == [one for one in everything if one not in ("groups", "anytime")]


def test_cells_are_sorted_by_their_numbers() -> None:
    """What is shown with an interval, with commas or as a bound carries its number."""
    board = tree("six").identified("table-leaderboard")
    log = [th.text for th in board.one("thead").every("th")].index("log")
    cells = [list(row.every("td", "th"))[log] for row in board.one("tbody").every("tr")]
    values = [float(cell.attributes["data-value"]) for cell in cells]
    assert values[-1] == float("inf")
    assert all(cell.text.startswith(f"{value:.3f}") for cell, value in zip(cells, values, strict=True))


def test_long_tables_are_folded_and_have_a_filter() -> None:
    page = tree("six")
    (folded,) = (d for d in page.every("details") if "Every model in every group" in next(d.every("summary")).text)
    assert "open" not in folded.attributes
    assert folded.one("input").attributes["data-table"] == "table-group-scores"
    assert len(list(folded.one("tbody").every("tr"))) == 36


def test_captions_say_where_models_have_their_own_cases() -> None:
    def captions(which: str) -> set[str]:
        return {one.text for one in tree(which).every("figcaption")}

    own = {
        "Score against k, each on all its own cases",
        "Mean scores by shape, each on all its own cases",
        "Confidence and hit rate, each on all its own cases",
    }
    assert own | {"Relative scores and their intervals", "Relative scores by group"} <= captions("pairwise")
    assert not any("own cases" in one or "Relative" in one for one in captions("six"))
