"""Names are data: whatever they hold, no surface obeys them.

Every hostile name stands at once wherever a name can be: models, groups, classes, cases, files, reasons, issues, rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.report import page_results
from tests.report import results as made
from tests.report.html.files import drawn, everywhere
from tests.report.html.hostile import HOSTILE as IN_PAGES
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from tests.report.plot.cases import PLOTS
from tests.report.plot.parse_svg import parsed
from tests.report.strategies import EVERY_NAME, HOSTILE, clean, law, results
from toplist._text import visible
from toplist.inference.results import Comparison
from toplist.lists.checks import Issue
from toplist.report.export import as_json
from toplist.report.html import Page
from toplist.report.markup import as_html, as_latex, as_markdown, board
from toplist.report.plot.canvas import key
from toplist.report.tables import details
from toplist.report.terminal import as_text
from toplist.report.text import names

NAMES = [*dict.fromkeys((*HOSTILE, *IN_PAGES.values(), "</style><img src=x onerror=alert(1)>", "a\u200bb"))]
OF_TABLES = {
    *("div", "style", "p", "bdi", "b", "span", "table", "thead", "tbody", "tfoot", "tr", "th", "td"),
    *("details", "summary", "ul", "li", "svg", "title", "line", "circle", "text"),
}
OF_PAGES = {
    *("input", "output", *OF_TABLES),  # long tables have a filter
    *(element.tag for element in read(render_undrawn(page_results.whole(groups=2))).every()),
}
OF_FIGURES = {"svg", "title", "desc", "path", "circle", "text"}


def cells(results: Comparison) -> str:
    """All strings of all tables, one a line."""
    lines = []
    for table in (board(results), *details(results)):
        lines += [table.title, *(column.header for column in table.columns), *table.sentences]
        lines += [cell for row in table.rows for cell in row]
    assert not any("\n" in line for line in lines)
    return "\n".join(lines)


PLAIN: dict[str, Callable[[Comparison], str]] = {
    "terminal": lambda results: as_text(results, 80),
    "pipe": as_text,
    "detailed text": lambda results: as_text(results, detail=True),
    "tables": cells,
    "Markdown": as_markdown,
    "detailed Markdown": lambda results: as_markdown(results, detail=True),
    "LaTeX": lambda results: as_latex(results, detail=True),
    "JSON": as_json,
}
MARKUP: dict[str, Callable[[Comparison], str]] = {
    "notebook": as_html,
    "detailed notebook": lambda results: as_html(results, detail=True),
}


@law
@given(results())
@example(EVERY_NAME)
def test_texts_of_a_board_have_no_characters_that_act(results: Comparison) -> None:
    for surface, write in (PLAIN | MARKUP).items():
        assert clean(write(results)), surface


@law
@given(results())
@example(EVERY_NAME)
def test_notebooks_have_their_own_tags_only_and_nothing_that_runs(results: Comparison) -> None:
    for surface, write in MARKUP.items():
        check_markup(write(results), OF_TABLES, scripts=0, surface=surface)


def check_markup(text: str, tags: set[str], *, scripts: int, surface: str) -> None:
    """No name became an element or an attribute, and nothing in it acts."""
    elements = list(read(text).every())
    assert {element.tag for element in elements} <= tags, surface
    assert [element.tag for element in elements].count("script") == scripts, surface
    assert [element.tag for element in elements].count("style") == 1, surface
    for attribute, value in (item for element in elements for item in element.attributes.items()):
        assert not attribute.startswith("on"), surface
        assert attribute not in ("src", "action", "srcset"), surface
        assert attribute != "href" or value.startswith("#"), surface
        assert attribute != "style" or re.fullmatch(r"width:[\d.]+%", value), surface
    assert clean(text), surface


@cache
def pages() -> dict[str, Page]:
    """Every name as a model, a class, a case, an issue, a group and a file."""
    models = tuple(NAMES[:9])
    page = page_results.whole(names=models, rules=("brier",), paths=0, groups=3, classes=tuple(NAMES))
    first = page.results.overall.rows[0].name
    listed = tuple((name, 0.5 / len(NAMES)) for name in NAMES)
    views = tuple(
        page_results.case(page_results.prediction(first, listed, name), called=name, outcome=name) for name in NAMES
    )
    issues = tuple(Issue(name, 1, 1200, f"One case has {name}.", False, name) for name in NAMES)
    exhibits = tuple(replace(one, worst=views[:8], issues=issues) for one in page.exhibits)
    found = {"whole": replace(page, exhibits=exhibits)}
    for at in range(0, len(views), 8):
        found[f"cases from {at}"] = replace(page, exhibits=(replace(exhibits[0], worst=views[at : at + 8]),))
    return found


def test_pages_have_their_own_tags_only_and_two_scripts() -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    for surface, page in pages().items():
        check_markup(render_undrawn(page), OF_PAGES, scripts=2, surface=surface)


@settings(max_examples=draws(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60) | st.text(alphabet="<>&\"'/=\u202e\u2066\x00\x1b{}%script", max_size=60))
@example("</style><script>alert(1)</script>")
@example('" onmouseover="alert(1)" x="')
@example("{{ 7 * 7 }}{% raw %}")
def test_no_name_becomes_markup_of_a_page(name: str) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    check_markup(render_undrawn(everywhere(name)), OF_PAGES, scripts=2, surface=repr(name))


@pytest.mark.parametrize("kind", IN_PAGES)
def test_a_page_with_its_figures_shows_a_name_as_text(kind: str) -> None:
    pytest.importorskip("matplotlib", reason="drawings need matplotlib")
    name, text = IN_PAGES[kind], drawn(kind)
    check_markup(text, OF_PAGES | OF_FIGURES, scripts=2, surface=kind)
    page = read(text)
    assert names([name, name + "2", "plain"])[name].text in page.identified("table-leaderboard").text
    if len(name) > 1000:
        assert visible(name) in page.one("main").text


@pytest.mark.parametrize("name", [name for name in PLOTS if name.endswith("hostile")])
def test_a_figure_shows_names_as_text(name: str) -> None:
    svg = PLOTS[name].svg()
    root = parsed(svg)
    shown = "".join(root.itertext())
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= OF_FIGURES
    assert all(character.isprintable() or character == "\n" for character in svg)
    assert "<script>" in shown
    if not name.startswith(("path", "panel")):  # which show one name
        assert made.HOSTILE[1] in shown  # dollars are shown and not obeyed
    assert len(svg) < 600_000
    assert {element.get("data-model") for element in root.iter()} - {None} <= {key(name) for name in made.HOSTILE}


def results_of_lists() -> Iterator[tuple[str, object]]:
    """Lists, batches and scores whose classes and cases have these names."""
    for name in NAMES:
        batch = tl.TopLists.from_dicts([{name: 0.6, "other": 0.3}] * 3, 10, ids=[name + "1", name + "2", name + "3"])
        for result in (batch[0], batch, tl.score_cases(batch, [name] * 3, rules="brier")):
            yield name, result


def test_lists_and_scores_show_classes_and_cases_as_text() -> None:
    for name, result in results_of_lists():
        page = result._repr_html_()  # type: ignore[attr-defined]
        check_markup(page, OF_TABLES, scripts=0, surface=repr(name))
        assert len(page) < 20_000
        assert repr(result).isprintable()
        assert len(repr(result)) < 400
