"""The sections of a page as text, without its figures, for laws that look at many pages."""

from __future__ import annotations

from collections.abc import Callable

from tests.report.html.no_figures import render_undrawn, undrawn
from tests.report.html.parse_page import Element, read
from toplist.report.html import Page
from toplist.report.html.grid import Section
from toplist.report.text import Shown, names


def shown(page: Page) -> Shown:
    return names(row.name for row in page.results.overall.rows)


def made(make: Callable[[Page, Shown], Section | None], page: Page) -> Section | None:
    """One section."""
    with undrawn():
        return make(page, shown(page))


def tree(page: Page) -> Element:
    """The whole page."""
    return read(render_undrawn(page))


def section(page: Page, key: str) -> Element:
    """A section by its id."""
    (found,) = (one for one in tree(page).every("section") if one.attributes.get("aria-labelledby") == key)
    return found


def table(page: Page, key: str) -> list[list[str]]:
    """The texts of a table, its head first."""
    found = tree(page).identified(f"table-{key}")
    return [[cell.text.strip() for cell in row.every("td", "th")] for row in found.every("tr")]


def styled(found: Element, style: str) -> list[Element]:
    """The elements with a class."""
    return [one for one in found.every() if style in one.attributes.get("class", "").split()]
