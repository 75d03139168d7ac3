"""The page in a browser: short, reachable by keyboard, readable in every light, on a phone and on paper."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report import results as made
from tests.report.html.browser import PHONE, WIDE, Visit, browser
from tests.report.html.files import drawn, text
from tests.report.html.hostile import HOSTILE
from tests.report.html.whole_boards import whole_board
from toplist._text import NOTHING, visible
from toplist.inference.ranking import judge
from toplist.report.text import names

pytest.importorskip("jinja2", reason="reports need jinja2")

SCREEN = {"width": 1440, "height": 900}
POCKET = {"width": 390, "height": 844}
BOARDS = {"two": (2, 200, False), "fourteen": (14, 600, False), "forty": (40, 400, True)}
FOCUSABLE = "a[href], button, input, select, summary, [tabindex='0']"
OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of two, fourteen and forty models with all that there is, and one of six with groups and paths."""
    found = tmp_path_factory.mktemp("pages")
    for name, (models, cases, long) in BOARDS.items():
        whole_board(models, cases, long=long).report(found / f"{name}.html")
    for name in ("six", "sums"):
        (found / f"{name}.html").write_text(text(name), encoding="utf-8")
    return found


@pytest.fixture
def visit(context: Any, folder: Path) -> Iterator[Any]:
    """A function that opens a page, by its name."""
    opened: list[Visit] = []

    def visit(name: str, size: dict[str, int] | None = None) -> Visit:
        opened.append(Visit(context, folder / f"{name}.html"))
        if size is not None:
            opened[-1].page.set_viewport_size(size)
        return opened[-1]

    yield visit
    for one in opened:
        one.page.close()


def screens(found: Visit) -> float:
    height: float = found.page.evaluate("document.documentElement.scrollHeight")
    return height / SCREEN["height"]


# How long it is


@pytest.mark.parametrize(("name", "most"), [("two", 2), ("fourteen", 5)])
def test_a_report_takes_few_screens_before_details_are_opened(visit: Any, name: str, most: int) -> None:
    assert screens(visit(name, SCREEN)) <= most


def test_forty_models_take_less_than_two_megabytes(folder: Path) -> None:
    assert (folder / "forty.html").stat().st_size < 2_000_000


@pytest.mark.parametrize("name", BOARDS)
def test_no_column_says_the_same_of_all_rows(visit: Any, name: str) -> None:
    constant = """Array.from(document.querySelectorAll("main table")).flatMap((table) => {
        const rows = Array.from(table.tBodies[0].rows);
        if (rows.length < 2) return [];
        return Array.from(table.tHead.rows[0].cells, (head, i) => [table.id, head.textContent, i]).filter(
            ([, , i]) => new Set(rows.map((row) => row.cells[i].innerHTML)).size === 1);
    })"""
    assert visit(name).page.evaluate(constant) == []


# Without a script, with a keyboard, for everyone


def test_nothing_is_said_on_the_console_and_nothing_is_asked_of_the_network(visit: Any, folder: Path) -> None:
    found = visit("fourteen", SCREEN)
    page = found.page
    page.click("#theme")
    page.click("#table-leaderboard thead button >> nth=2")
    page.select_option("#versus", index=3)
    page.select_option("#mark", index=2)
    page.click("#copy-summary")
    page.wait_for_load_state("networkidle")
    assert found.said == []
    assert found.asked == [(folder / "fourteen.html").as_uri()]
    assert page.evaluate("window.violations") == []


@pytest.mark.parametrize(
    ("name", "scheme", "size", "script"),
    [
        ("fourteen", "light", WIDE, True),
        ("two", "dark", POCKET, True),
        ("two", "light", POCKET, False),
        ("two", "dark", WIDE, False),
        ("six", "dark", WIDE, True),
        ("six", "light", PHONE, True),
        ("sums", "light", PHONE, True),
        ("sums", "dark", WIDE, True),
    ],
)
def test_axe_finds_nothing(
    context: Any, folder: Path, visit: Any, name: str, scheme: str, size: dict[str, int], script: bool
) -> None:
    if not script:
        whole = (folder / f"{name}.html").read_text(encoding="utf-8")
        name = f"bare-{name}"
        (folder / f"{name}.html").write_text(re.sub(r"<script>.*?</script>", "", whole, flags=re.DOTALL), "utf-8")
    found = visit(name, size)
    found.page.emulate_media(color_scheme=scheme)
    found.page.evaluate(OPEN)
    assert found.offences() == []


def test_the_page_is_whole_without_a_script(visit: Any, folder: Path) -> None:
    whole = (folder / "fourteen.html").read_text(encoding="utf-8")
    (folder / "bare.html").write_text(re.sub(r"<script>.*?</script>", "", whole, flags=re.DOTALL), encoding="utf-8")
    still, alive = visit("bare", SCREEN), visit("fourteen", SCREEN)
    assert still.texts("table-leaderboard", 2) == alive.texts("table-leaderboard", 2)
    assert still.page.locator("button:visible, input:visible, select:visible").count() == 0
    assert still.page.locator("#versus-items li").count() == 13
    still.page.click("text=More columns")
    assert still.page.locator("#table-columns").is_visible()


def test_focus_stops_are_few_and_each_shows_where_it_is(visit: Any) -> None:
    page = visit("fourteen", SCREEN).page
    page.evaluate("window.seen = new Set(); window.dim = []")
    look = """() => {
        const at = document.activeElement;
        if (at === document.body || window.seen.has(at)) return true;
        window.seen.add(at);
        const style = getComputedStyle(at);
        if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) window.dim.push(at.outerHTML);
        return false;
    }"""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(look):
            break
    else:
        pytest.fail("more than 80 stops")
    assert page.evaluate("window.dim") == []
    missed = f"""Array.from(document.querySelectorAll(`{FOCUSABLE}`))
        .filter((one) => one.checkVisibility() && !window.seen.has(one)).map((one) => one.outerHTML)"""
    assert page.evaluate(missed) == []


def test_the_skip_link_is_seen_when_it_has_the_focus_and_leads_to_the_report(visit: Any) -> None:
    page = visit("two").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


# What it does


def heads(page: Any, table: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(f"#{table} thead th", "all => all.map((one) => one.textContent)")
    return found


def test_the_first_click_sorts_best_first_and_blank_cells_stay_last(visit: Any) -> None:
    found = visit("six", SCREEN)
    page, table = found.page, "table-leaderboard"
    columns = heads(page, table)

    def sort(name: str) -> tuple[str | None, list[str]]:
        at = columns.index(name)
        page.click(f"#{table} thead th:nth-child({at + 1}) button")
        return page.get_attribute(f"#{table} thead th:nth-child({at + 1})", "aria-sort"), found.texts(table, at)

    direction, cells = sort("accuracy")
    shares = [float(cell.rstrip("%")) for cell in cells]
    assert (direction, shares) == ("descending", sorted(shares, reverse=True))
    for expected, sign in (("ascending", 1), ("descending", -1)):
        direction, cells = sort("log")
        values = [sign * float(re.sub("∞.*", "inf", cell)) for cell in cells]
        assert (direction, values) == (expected, sorted(values))
        assert page.text_content("#announce").endswith(f"sorted by log, {expected}.")
    for _ in range(2):
        assert sort("Δ vs best")[1][-1] == NOTHING
    assert page.locator(f"#{table} [aria-sort]").count() == 1
    assert sort("model")[1] == sorted(made.NAMES, key=str.casefold)
    assert page.locator(f"#{table}.resorted").count() == 1
    ranks = [int(re.match(r"\d+", cell)[0]) for cell in sort("rank")[1]]  # type: ignore[index]
    assert ranks == sorted(ranks)
    assert page.locator(f"#{table}.resorted").count() == 0


def test_long_tables_filter_and_say_how_many_rows_are_left(visit: Any) -> None:
    found = visit("forty", SCREEN)
    page = found.page
    status = page.locator("output[for=table-leaderboard-filter]")
    assert status.text_content() == "40 rows"
    page.focus("#table-leaderboard-filter")
    page.keyboard.type("DEPTH12")
    assert status.text_content() == "1 of 40 rows"
    assert len(found.texts("table-leaderboard", 2)) == 1
    page.fill("#table-leaderboard-filter", "")
    assert len(found.texts("table-leaderboard", 2)) == 40


def test_one_click_highlights_a_model_everywhere(visit: Any) -> None:
    page = visit("fourteen", SCREEN).page
    name = page.locator("#table-leaderboard tbody tr:nth-child(3) th .n")
    name.click()
    key = name.get_attribute("data-model")
    lit = page.evaluate("Array.from(document.querySelectorAll('.lit'), (one) => one.dataset.model)")
    assert set(lit) == {key}
    assert len(lit) > 3
    assert page.input_value("#mark") == key
    inside = "all => all.map((one) => one.closest('section')?.getAttribute('aria-labelledby'))"
    assert {"leaderboard", "differences", "calibration", "classes"} <= set(page.eval_on_selector_all(".lit", inside))
    name.click()
    assert page.locator(".lit").count() == 0


def test_any_model_is_compared_with_the_others(visit: Any) -> None:
    board = whole_board(*BOARDS["fourteen"][:2])
    page = visit("fourteen", SCREEN).page
    other = board[4].name
    assert page.locator("#versus-items li").count() == 13
    page.select_option("#versus", label=other)
    items = page.eval_on_selector_all("#versus-items li", "all => all.map((one) => one.textContent)")
    pairs = {frozenset((pair.a, pair.b)): pair for pair in board.pairwise if pair.rule == "brier"}
    bold = page.eval_on_selector_all(
        "#versus-items li:has(.significant) .n", "all => all.map((one) => one.textContent)"
    )
    significant = []
    for row, item in zip([row for row in board if row.name != other], items, strict=True):
        pair = pairs[frozenset((row.name, other))]
        own, value, low, high = re.fullmatch(r"(\S+) (\S+) (\S+) to (\S+)", item.replace("\u2212", "-")).groups()  # type: ignore[union-attr]
        sign = 1 if pair.b == other else -1
        ends = sorted(sign * (x or 0.0) for x in (pair.simultaneous.low, pair.simultaneous.high))
        assert own == row.name
        assert [float(x) for x in (value, low, high)] == pytest.approx([sign * pair.difference.value, *ends], abs=6e-4)
        significant += [own] if judge(pair, 0.95).significant else []
    assert bold == significant


def test_downloads_are_the_exports_of_the_leaderboard(visit: Any) -> None:
    for name, (models, cases, long) in BOARDS.items():
        board, page = whole_board(models, cases, long=long), visit(name, SCREEN).page

        def saved(button: str, page: Any = page) -> str:
            with page.expect_download() as found:
                page.click(button)
            content: str = Path(found.value.path()).read_text(encoding="utf-8")
            return content

        assert saved("#save-csv") == board.to_csv()
        assert json.loads(saved("#save-json")) == board.to_dict()
        if name == "forty":
            lines = saved("#save-pairs").splitlines()
            assert len(lines) == 1 + len(board.pairwise)
            assert lines[0].startswith("rule,a,b,cases,difference,low,high,p,adjusted_p")


def test_commands_and_the_summary_are_copied(context: Any, visit: Any) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit("fourteen", SCREEN).page
    button = page.locator(".copy:visible").last
    button.click()
    page.wait_for_selector(".copy:text('Copied')")
    code = button.evaluate("(one) => one.parentElement.querySelector('code').textContent")
    assert page.evaluate("navigator.clipboard.readText()") == code
    page.click("#copy-summary")
    page.wait_for_selector("#copy-summary:text('Copied')")
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[2] == page.text_content(".verdict")
    assert sum(line.startswith("| ") for line in lines) == 16


def test_the_colours_can_be_switched_and_are_forgotten(visit: Any) -> None:
    page = visit("two").page

    def paper() -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    light = paper()
    assert page.text_content("#theme") == "Dark"
    page.focus("#theme")
    page.keyboard.press("Enter")
    dark = paper()
    assert dark != light
    assert page.text_content("#theme") == "Light"
    page.emulate_media(color_scheme="dark")
    page.keyboard.press("Enter")
    assert paper() == light
    page.reload()
    assert paper() == dark
    page.emulate_media(color_scheme="light")
    assert paper() == light


def test_contents_mark_the_section_in_view(visit: Any) -> None:
    page = visit("fourteen", SCREEN).page
    page.emulate_media(reduced_motion="reduce")
    page.click(".contents .row a[href='#calibration']")
    page.wait_for_selector(".contents .row a[href='#calibration'][aria-current]")
    assert page.locator(".contents .row a[aria-current]").count() == 1
    assert page.locator("nav.contents").bounding_box()["y"] == 0
    head = page.locator("#calibration").bounding_box()
    assert head["y"] >= page.locator("nav.contents").bounding_box()["height"]


# On a phone


@pytest.mark.parametrize("name", [*BOARDS, "six", "sums"])
def test_a_phone_shows_the_leaderboard_at_once_and_without_scrolling_sideways(visit: Any, name: str) -> None:
    page = visit(name, POCKET).page
    assert page.evaluate("document.documentElement.scrollWidth") == POCKET["width"]
    beyond = """Array.from(document.querySelectorAll("main *, header *, nav *"))
        .filter((one) => !one.closest(".scroll:not(.of-board), .unseen, svg *, .reading, caption")
            && one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
        .map((one) => one.outerHTML.slice(0, 200))"""
    assert page.evaluate(beyond) == []
    assert page.evaluate("document.querySelector('#table-leaderboard').getBoundingClientRect().top") <= 420
    scrolling = """Array.from(document.querySelectorAll("body *")).filter((one) => one.checkVisibility()
        && one.scrollWidth > one.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
        .map((one) => one.outerHTML.slice(0, 200))"""
    assert len(page.evaluate(scrolling)) <= 3
    tall = """Array.from(document.querySelectorAll("tbody tr")).filter((one) => one.checkVisibility()
        && one.getBoundingClientRect().height > 72).map((one) => one.textContent)"""
    assert page.evaluate(tall) == []
    for shown in ("th[scope=row]", "td.mean", "td.whisker svg"):
        assert page.locator(f"#table-leaderboard tbody tr:first-child {shown}").is_visible()
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth") == POCKET["width"]


def test_the_name_of_a_row_stays_where_a_table_scrolls(visit: Any) -> None:
    page = visit("fourteen", POCKET).page
    page.click("text=More columns")
    frame = page.locator(".of-more")
    assert frame.evaluate("(one) => one.scrollWidth - one.clientWidth") > 50
    assert frame.get_attribute("tabindex") == "0"
    frame.evaluate("(one) => { one.scrollLeft = 1e6; }")
    name = page.locator("#table-columns tbody th").first
    assert name.bounding_box()["x"] == pytest.approx(frame.bounding_box()["x"], abs=1)
    assert page.locator("#table-columns td.phone").first.is_visible()


# On paper


def pages(printed: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", printed))


@pytest.mark.parametrize(("name", "most"), [("two", 3), ("fourteen", 5), ("forty", 8)])
def test_a_report_prints_on_few_pages_with_details_closed(visit: Any, name: str, most: int) -> None:
    page = visit(name, SCREEN).page
    assert pages(page.pdf(prefer_css_page_size=True)) <= most
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 less its margins, at 96 pixels an inch
    page.emulate_media(media="print")
    beyond = """Array.from(document.querySelectorAll("body *")).filter((one) => one.checkVisibility()
        && !one.closest(".unseen, svg *, caption") && one.getBoundingClientRect().right > innerWidth + 1)
        .map((one) => one.outerHTML.slice(0, 200))"""
    assert page.evaluate(beyond) == []
    assert page.locator(":is(nav, .buttons, .tools, .copy, select):visible").count() == 0
    for shown in (".verdict", ".strip", "#table-leaderboard"):
        assert page.is_visible(shown)


def test_everything_can_be_printed_but_what_is_never_printed(visit: Any) -> None:
    page = visit("fourteen", SCREEN).page
    page.evaluate("""window.print = () => {
        window.opened = document.querySelectorAll("main details[open]").length;
        window.still = Array.from(document.querySelectorAll("main details:not([open])"),
            (one) => one.closest(".unprinted") !== null);
        dispatchEvent(new Event("afterprint"));
    }""")
    before = page.locator("main details[open]").count()
    page.click("#print-all")
    assert page.evaluate("window.opened") > before
    assert all(page.evaluate("window.still"))
    assert page.locator("main details[open]").count() == before


# Names are data


@pytest.mark.parametrize("kind", ["script", "closing", "attribute", "reversed", "long"])
def test_hostile_names_are_text(visit: Any, folder: Path, kind: str) -> None:
    name = HOSTILE[kind]
    (folder / f"{kind}.html").write_text(drawn(kind), encoding="utf-8", newline="\n")
    found = visit(kind, POCKET)
    page = found.page
    assert names([name, name + "2", "plain"])[name].text in page.text_content("#table-leaderboard")
    assert page.locator("script").count() == 2
    page.locator("#table-leaderboard .n").first.evaluate("(one) => one.click()")
    assert page.locator(".lit").count() > 0
    if len(name) > 1000:
        assert visible(name) in page.text_content(".names")
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth") == POCKET["width"]
    assert found.said == []
    assert page.evaluate("window.violations") == []


def test_motion_is_reduced_where_it_is_asked_for(visit: Any) -> None:
    page = visit("two").page
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "smooth"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
