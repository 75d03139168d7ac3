"""What is odd about predictions has a table of its own, and whoever named a case cannot break out of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

for library in ("jinja2", "matplotlib"):
    pytest.importorskip(library, reason="reports are an extra")

from tests.report import results as made  # noqa: E402
from tests.report.html.hostile import HOSTILE  # noqa: E402
from tests.report.html.parse_page import read  # noqa: E402
from toplist.lists.checks import Issue  # noqa: E402
from toplist.report.html import Page, render  # noqa: E402


def page(*oddities: Issue) -> Page:
    whole = made.page(names=("a", "b"), rules=("brier",), paths=0)
    first, second = whole.exhibits
    return replace(whole, exhibits=(replace(first, issues=oddities), second))


def test_nothing_odd_makes_no_table() -> None:
    assert "table-oddities" not in render(page())
    told = Issue("invalid", 7, 1200, "7 of 1,200 cases are invalid.", False, "3")
    assert "table-oddities" not in render(page(told)), "which the table of faults has"


def test_every_oddity_has_a_row_with_its_count_and_its_words() -> None:
    words = "All confidences are multiples of 0.01."
    text = render(page(Issue("rounded", 1200, 1200, words, False, ""), Issue("empty list", 1, 1200, "One.", False, "")))
    (table,) = [one for one in read(text).every("table") if one.attributes.get("id") == "table-oddities"]
    (_, *rows) = [[cell.text.strip() for cell in row.every("td", "th")] for row in table.every("tr")]
    assert [(row[1], row[2], row[4]) for row in rows] == [("rounded", "1,200", words), ("empty list", "1", "One.")]
    assert {row[0] for row in rows} == {made.page(names=("a", "b"), rules=("brier",), paths=0).exhibits[0].name}


def test_the_same_page_makes_the_same_text() -> None:
    told = Issue("rounded", 3, 1200, "Words.", False, "")
    assert render(page(told)) == render(page(told))


def test_a_hostile_name_stays_text() -> None:
    told = [Issue("never listed", 1, 1200, f"One case has {name!s}.", False, name) for name in HOSTILE.values()]
    page_text = render(page(*told))
    tree = read(page_text)
    assert len(list(tree.every("script"))) == 1
    assert not list(tree.every("img", "iframe", "object", "base", "form"))
    (table,) = [one for one in tree.every("table") if one.attributes.get("id") == "table-oddities"]
    assert len(list(table.every("tr"))) == len(told) + 1
    assert all(not key.startswith("on") for one in tree.every() for key in one.attributes)
