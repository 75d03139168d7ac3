"""The page is well made: headings, landmarks, captions, links, and nothing from elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from tests.report import results as made
from tests.report.html.files import PAGES, text
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import Element, read
from toplist.report.export import as_csv, as_json
from toplist.report.html import Page
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
    """In a row on wide pages, in details on narrow ones; each heading links to itself."""
    heads = [h for h in tree(which).one("main").every("h2") if "id" in h.attributes]
    named = [(h.attributes["id"], h.text) for h in heads]
    for contents in tree(which).one("nav").every("ol"):
        assert [(a.attributes["href"][1:], a.text) for a in contents.every("a")] == named
    assert [h.one("a").attributes["href"] for h in heads] == [f"#{key}" for key, _ in named]
    assert len(named) >= 4


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
    data, script = page.every("script")
    assert data.attributes["type"] == "application/json"
    style, script = page.one("style").text, script.text
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
    found = text(which).replace(list(tree(which).every("script"))[1].text, "")
    for namespace in NAMESPACES:
        found = found.replace(namespace, "")
    found = re.sub(r"url\(#[^)]+\)", "", found)
    assert not ADDRESS.search(found)


@every_page
def test_without_a_script_no_control_is_shown(which: str) -> None:
    page = tree(which)
    hidden = [one for one in page.every() if "hidden" in one.attributes]
    inside = {id(one) for outer in hidden for one in (outer, *outer.every())}
    controls = list(page.every("button", "select", "input"))
    assert controls
    assert all(id(one) in inside for one in controls)


@every_page
def test_the_description_is_the_verdict(which: str) -> None:
    page = tree(which)
    (description,) = (m.attributes["content"] for m in page.every("meta") if m.attributes.get("name") == "description")
    (verdict,) = (one for one in page.every("p") if one.attributes.get("class") == "verdict")
    assert description == verdict.text
    assert len(description.split()) <= 40


@every_page
def test_the_data_cannot_end_its_element_and_is_the_whole_comparison(which: str) -> None:
    found = next(tree(which).every("script")).text
    assert not re.search(r"[<>&]|[^\x20-\x7e]", found)
    data = json.loads(found)
    assert data["csv"] == as_csv(PAGES[which]().results)
    assert data["board"] == json.loads(as_json(PAGES[which]().results))


def test_cells_are_sorted_by_their_numbers() -> None:
    """What is shown with an interval, with commas or as a bound carries its number."""
    board = tree("six").identified("table-leaderboard")
    log = [th.text for th in board.one("thead").every("th")].index("log")
    cells = [list(row.every("td", "th"))[log] for row in board.one("tbody").every("tr")]
    values = [float(cell.attributes["data-value"]) for cell in cells]
    assert values[-1] == float("inf")
    assert cells[-1].text == "\u221e (1)"
    assert all(cell.text == f"{value:.3f}" for cell, value in zip(cells[:-1], values, strict=False))


def test_very_many_pairs_and_groups_are_not_held_as_data_and_that_is_said() -> None:
    found = made.drawn(("A", "B"), cases=60, paths=0, groups=2)
    many = replace(found, pairs=found.pairs * 2501, groups=found.groups * 200)
    text = render_undrawn(Page(many))
    data = json.loads(next(read(text).every("script")).text)
    assert data["board"]["pairs"] == data["board"]["groups"] == []
    assert "without pairs and groups, which are too many for a page" in text
