"""The page is well made: headings, landmarks, captions, links, and nothing from elsewhere."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from tests.report import results as made
from tests.report.html.files import PAGES, text
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import Element, read
from toplist.inference.results import Action, Estimate, GateResult
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
    assert unpacked(data["board"], data["columns"]) == json.loads(as_json(PAGES[which]().results))


def unpacked(value: Any, columns: list[Any]) -> Any:
    """What the script makes of packed data."""
    if isinstance(value, dict):
        return {key: unpacked(one, columns) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    tag, *rest = value
    if tag == "r":
        found = {key: unpacked(column, columns) for key, column in rest[1].items()}
        return [{key: column[i] for key, column in found.items()} for i in range(rest[0])]
    if tag == "c":
        return [unpacked(rest[1], columns) for _ in range(rest[0])]
    if tag == "d":
        return [rest[0][i] for i in rest[1]]
    if tag == "f":
        floats = struct.iter_unpack("<d", base64.b64decode(rest[0]))
        return [None if math.isnan(x) else x for (x,) in floats]
    if tag == "@":
        return unpacked(columns[rest[0]], columns)
    assert tag == ""
    return [unpacked(one, columns) for one in rest]


def test_sections_that_have_nothing_to_show_are_left_out() -> None:
    def ids(which: str) -> list[str]:
        return [h.attributes["id"] for h in tree(which).one("main").every("h2") if "id" in h.attributes]

    everything = ids("six")
    assert everything[:2] == ["leaderboard", "differences"]
    assert everything[-3:] == ["quality", "method", "reproduce"]
    assert ids("bare") == ["leaderboard", "differences", "quality", "method", "reproduce"]
    assert "differences" not in ids("one") + ids("two")


def test_cells_are_sorted_by_their_numbers() -> None:
    """What is shown with an interval, with commas or as a bound carries its number."""
    board = tree("six").identified("table-leaderboard")
    log = [th.text for th in board.one("thead").every("th")].index("log")
    cells = [list(row.every("td", "th"))[log] for row in board.one("tbody").every("tr")]
    values = [float(cell.attributes["data-value"]) for cell in cells]
    assert values[-1] == float("inf")
    assert cells[-1].text == "\u221e (1)"
    assert all(cell.text == f"{value:.3f}" for cell, value in zip(cells[:-1], values, strict=False))


def test_the_heading_names_the_best_and_counts_the_others() -> None:
    def heading(*names: str, baseline: str | None = None) -> str:
        found = made.drawn(names, cases=40, paths=0, zeros=False)
        return read(render_undrawn(Page(replace(found, baseline=baseline)))).one("h1").text

    best, *others = (row.name for row in made.drawn(("A", "B"), cases=40, paths=0, zeros=False).overall.rows)
    assert heading("A") == "A on 40 cases"
    assert heading("A", "B") == f"{best} vs {others[0]} on 40 cases"
    assert heading("A", "B", baseline=best) == f"{others[0]} vs {best} on 40 cases"
    assert tree("bare").one("h1").text == f"{made.drawn(paths=0).overall.rows[0].name} and 5 others on 1,200 cases"


def test_actions_gates_and_warnings_stand_at_the_top_where_there_are_any() -> None:
    gain = Estimate(-0.0123, -0.02, -0.004)
    actions = (
        Action(
            "recalibrate", ("B",), "Recalibrate {0}", "overconfident by 4.9 points", gain, "toplist recalibrate 'b c'"
        ),
        Action("pool", ("A", "B"), "Pool {}", "they differ", code="import x\npool()"),
        Action("plan", ("A",), "Plan for {0}", "few cases"),
    )
    gates = (GateResult("worse", True, "B is worse than A: Brier +0.211, n = 500"), GateResult("x", False, "fine"))
    found = made.drawn(("A", "B", "C"), cases=60, paths=0, zeros=False)
    page = read(render_undrawn(Page(found, actions=actions, gates=gates)))
    (listed,) = (one for one in page.every("ol") if one.attributes.get("class") == "actions")
    items = [re.sub(r"\s+", " ", one.text).strip() for one in listed.every("li")]
    assert items[0] == "Recalibrate B Brier \u22120.0123 overconfident by 4.9 points. toplist recalibrate 'b c'Copy"
    assert items[1].startswith("Pool A and B they differ.")
    assert [one.text for one in listed.every("code")] == ["toplist recalibrate 'b c'", "import x\npool()"]
    assert len(list(listed.every("details"))) == 1
    (gated,) = (one for one in page.every("ul") if one.attributes.get("class") == "gates")
    assert [(li.attributes["class"], li.text.split()[0]) for li in gated.every("li")] == [
        ("fail", "FAIL"),
        ("pass", "PASS"),
    ]
    bare = render_undrawn(Page(found))
    assert 'class="gates"' not in bare
    assert 'class="warnings"' not in bare
    assert "What to do next" not in bare


def test_very_many_pairs_and_groups_are_not_held_as_data_and_that_is_said() -> None:
    found = made.drawn(("A", "B"), cases=60, paths=0, groups=2)
    many = replace(found, pairs=found.pairs * 2501, groups=found.groups * 200)
    text = render_undrawn(Page(many))
    data = json.loads(next(read(text).every("script")).text)
    board = unpacked(data["board"], data["columns"])
    assert board["pairs"] == board["groups"] == []
    assert "without pairs and groups, which are too many for a page" in text
