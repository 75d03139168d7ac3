"""The page in a browser: quiet, reachable by keyboard, readable in every light, on a phone and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report import results as made
from tests.report.html.browser import PHONE, WIDE, Visit, browser
from tests.report.html.files import drawn, text
from tests.report.html.hostile import HOSTILE
from tests.report.html.no_figures import render_undrawn
from toplist.report.html import Page
from toplist.report.text import names, visible

pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="drawings need matplotlib")

# Text that is as wide as the paper: A4 less the margins, at 96 pixels an inch.
PAPER = {"width": 688, "height": 1000}
FOCUSABLE = "a[href], button, input, summary, [tabindex='0']"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages")
    (found / "board.html").write_text(text("six"), encoding="utf-8")
    return found


@pytest.fixture
def visit(context: Any, folder: Path) -> Iterator[Visit]:
    found = Visit(context, folder / "board.html")
    yield found
    found.page.close()


def test_nothing_is_said_on_the_console_and_nothing_is_asked_of_the_network(visit: Visit, folder: Path) -> None:
    page = visit.page
    page.click("#theme")
    page.click("#table-leaderboard thead button >> nth=2")
    page.wait_for_selector("#table-leaderboard [aria-sort]")
    page.wait_for_load_state("networkidle")
    assert visit.said == []
    assert visit.asked == [(folder / "board.html").as_uri()]
    assert page.evaluate("window.violations") == []


def test_everything_can_be_reached_by_tab_and_shows_its_focus(visit: Visit) -> None:
    page = visit.page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    expected = page.evaluate(f"document.querySelectorAll(`{FOCUSABLE}`).length")
    page.evaluate("window.seen = new Set(); window.dim = []")
    look = """() => {
        const at = document.activeElement;
        if (at === document.body) return true;
        window.seen.add(at);
        const style = getComputedStyle(at);
        if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) window.dim.push(at.outerHTML);
        return false;
    }"""
    for _ in range(expected + 1):
        page.keyboard.press("Tab")
        if page.evaluate(look):
            break
    assert page.evaluate("window.dim") == []
    missed = page.evaluate(
        f"Array.from(document.querySelectorAll(`{FOCUSABLE}`)).filter((x) => !window.seen.has(x)).map((x) => x.id)"
    )
    assert missed == []


def test_the_skip_link_is_seen_when_it_has_the_focus_and_leads_to_the_report(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_tables_sort_by_keyboard_with_infinite_and_blank_cells_last(visit: Visit) -> None:
    page = visit.page
    heads = page.eval_on_selector_all("#table-leaderboard thead th", "all => all.map((one) => one.textContent)")
    column = heads.index("log")
    button = page.locator("#table-leaderboard thead button").nth(column)
    head = page.locator("#table-leaderboard thead th").nth(column)
    button.focus()
    for key, direction, sign in (("Enter", "ascending", 1), ("Space", "descending", -1), ("Enter", "ascending", 1)):
        page.keyboard.press(key)
        assert head.get_attribute("aria-sort") == direction
        cells = visit.texts("table-leaderboard", column)
        assert cells[-1] == "inf1 infinite"
        values = [sign * float(cell[:5]) for cell in cells[:-1]]
        assert values == sorted(values)
        assert page.text_content("#announce").endswith(f"sorted by log, {direction}.")
    away = heads.index("difference")
    for _ in range(2):
        page.locator("#table-leaderboard thead button").nth(away).click()
        assert visit.texts("table-leaderboard", away)[-1] == "-"
    assert page.locator("#table-leaderboard [aria-sort]").count() == 1
    name = heads.index("model")
    page.locator("#table-leaderboard thead button").nth(name).click()
    assert visit.texts("table-leaderboard", name) == sorted(made.NAMES, key=str.casefold)


def test_tables_filter_by_keyboard_and_say_how_many_rows_are_left(visit: Visit) -> None:
    page = visit.page
    page.locator("summary", has_text="Every model in every group").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "table-group-scores-filter"
    status = page.locator("output[for=table-group-scores-filter]")
    assert status.text_content() == "36 rows"
    assert status.get_attribute("aria-live") == "polite"
    page.keyboard.type("LAW forest")
    assert status.text_content() == "1 of 36 rows"
    assert visit.texts("table-group-scores", 0) == ["law"]
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    assert status.text_content() == "36 rows"
    assert len(visit.texts("table-group-scores", 0)) == 36


def test_the_colours_can_be_switched_and_are_forgotten(visit: Visit) -> None:
    page = visit.page

    def paper() -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    light = paper()
    assert page.text_content("#theme") == "Dark colours"
    page.focus("#theme")
    page.keyboard.press("Enter")
    dark = paper()
    assert dark != light
    assert page.text_content("#theme") == "Light colours"
    page.emulate_media(color_scheme="dark")
    page.keyboard.press("Enter")
    assert paper() == light
    page.reload()
    assert paper() == dark
    page.emulate_media(color_scheme="light")
    assert paper() == light
    page.wait_for_function("document.querySelector('#theme').textContent === 'Dark colours'")  # told of it by an event


@pytest.mark.parametrize(("scheme", "size"), [("light", PHONE), ("dark", WIDE)], ids=["light phone", "dark and wide"])
def test_axe_finds_nothing(visit: Visit, scheme: str, size: dict[str, int]) -> None:
    page = visit.page
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert visit.offences() == []


def test_a_phone_scrolls_tables_but_not_the_page(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size(PHONE)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    beyond = """Array.from(document.querySelectorAll("main *, header *, nav *"))
        .filter((one) => !one.closest(".scroll, .unseen") && one.getBoundingClientRect().right > innerWidth + 1)
        .map((one) => one.outerHTML)"""
    assert page.evaluate(beyond) == []
    assert page.evaluate("document.querySelector('#table-leaderboard').closest('.scroll').scrollWidth") > PHONE["width"]


def test_what_is_wider_than_its_frame_says_so_until_its_end(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size(PHONE)
    frame = page.locator(".frame:has(#table-leaderboard)")
    look = "(one) => [getComputedStyle(one, '::before').content, getComputedStyle(one, '::after').content]"
    page.wait_for_selector(".frame.more #table-leaderboard")
    words, fade = frame.evaluate(look)
    assert "Scroll sideways" in words
    assert fade == '""'
    frame.evaluate("(one) => { one.firstElementChild.scrollLeft = 1e6; }")
    page.wait_for_selector(".frame:not(.more) #table-leaderboard")
    assert frame.evaluate(look)[1] == "none"
    page.emulate_media(media="print")
    assert frame.evaluate(look) == ["none", "none"]
    page.emulate_media(media="screen")
    page.set_viewport_size(WIDE)
    page.wait_for_selector(".frame:not(.over) #table-leaderboard")


@pytest.mark.parametrize("which", ["three rules", "pairwise"])
def test_the_leaderboard_fits_twelve_hundred_pixels(context: Any, folder: Path, which: str) -> None:
    found = {
        "three rules": lambda: made.drawn(cases=2000, rules=("brier", "log", "spherical")),
        "pairwise": lambda: made.apart(made.drawn(cases=2000), (2000, 1999, 1800, 1500, 900, 20)),
    }[which]()
    (folder / "wide.html").write_text(render_undrawn(Page(found)), encoding="utf-8")
    seen = Visit(context, folder / "wide.html")
    seen.page.set_viewport_size({"width": 1200, "height": 900})
    inner = "document.querySelector('#table-leaderboard').closest('.scroll')"
    assert seen.page.evaluate(f"{inner}.scrollWidth - {inner}.clientWidth") <= 1
    seen.page.close()


def test_a_table_of_many_groups_stays_folded_on_paper(context: Any, folder: Path) -> None:
    path = folder / "many.html"
    path.write_text(render_undrawn(made.page(names=("a", "b"), cases=100, groups=13)), encoding="utf-8")
    seen = Visit(context, path)
    page = seen.page
    opened = "document.querySelectorAll('.unprinted[open]').length"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.opened = {opened}; }})")
    page.pdf(prefer_css_page_size=True)
    assert page.evaluate("window.opened") == 0
    assert not page.locator(".paper").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".paper").is_visible()
    assert not page.locator("#table-group-scores").is_visible()
    page.close()


def test_the_page_prints_whole(visit: Visit) -> None:
    page = visit.page
    folded = "document.querySelectorAll('details:not([open])').length"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.folded = {folded}; }})")
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 5
    assert page.evaluate("window.folded") == 0
    assert page.evaluate(folded) > 0
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    beyond = """Array.from(document.querySelectorAll("body *"))
        .filter((one) => !one.closest(".unseen, svg *") && one.getBoundingClientRect().right > innerWidth + 1)
        .map((one) => one.outerHTML.slice(0, 200))"""
    assert page.evaluate(beyond) == []
    assert not page.is_visible("#theme")
    assert not page.is_visible("nav")


def test_the_page_is_whole_without_a_script(visit: Visit, context: Any, folder: Path) -> None:
    """And what is folded is printed even so."""
    bare = folder / "bare.html"
    bare.write_text(re.sub(r"<script>.*?</script>", "", text("six"), flags=re.DOTALL), encoding="utf-8")
    still = Visit(context, bare)
    try:
        assert still.texts("table-leaderboard", 1) == visit.texts("table-leaderboard", 1)
        assert still.page.locator("button:visible, input:visible").count() == 0
        row = still.page.locator("#table-group-scores tbody tr").first
        assert not row.is_visible()
        still.page.emulate_media(media="print")
        assert row.bounding_box()["height"] > 5
        assert still.page.locator("#table-leaderboard").is_visible()
    finally:
        still.page.close()


@pytest.mark.parametrize("kind", ["script", "closing", "attribute", "reversed", "long"])
def test_hostile_names_are_text(context: Any, folder: Path, kind: str) -> None:
    name = HOSTILE[kind]
    path = folder / f"{kind}.html"
    path.write_text(drawn(kind), encoding="utf-8", newline="\n")
    found = Visit(context, path)
    try:
        page = found.page
        assert names([name, name + "2", "plain"])[name].text in page.text_content("#table-leaderboard")
        assert page.locator("script").count() == 1
        if len(name) > 1000:
            assert visible(name) in page.text_content(".names")
        page.set_viewport_size(PHONE)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert found.said == []
        assert page.evaluate("window.violations") == []
    finally:
        page.close()


def test_motion_is_reduced_where_it_is_asked_for(visit: Visit) -> None:
    def motion() -> str:
        found: str = visit.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior")
        return found

    assert motion() == "smooth"
    visit.page.emulate_media(reduced_motion="reduce")
    assert motion() == "auto"
