"""Everything can be drawn, and what is drawn may stand in any page."""

import re

import pytest

from tests.report import results as made
from tests.report.plot.cases import BREAKDOWNS, FORTY, LONG, PLOTS, TWENTY
from tests.report.plot.parse_svg import parsed
from toplist.report import plot
from toplist.report.plot.canvas import LABELLED, SMALL, THEMES, Hover, Stroke, Text, width

NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "path", "circle", "text"}
ATTRIBUTES = {
    *("class", "viewBox", "width", "height", "role", "aria-label", "aria-describedby", "font-family", "id", "x", "y"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin"),
    *("d", "cx", "cy", "r", "font-size", "font-weight", "text-anchor", "transform", "data-model"),
}
DRAWN = {name: drawn for name, drawn in PLOTS.items() if not drawn.data.single}
NARROW = 340


def texts(root):
    """The texts of a figure, without those that a pointer shows."""
    return ["".join([e.text or "", *(child.tail or "" for child in e)]) for e in root.iter(NAMESPACE + "text")]


def marks(sheet):
    return [mark for panel in (*sheet.panels, sheet.page) for mark in panel.marks]


def boxes(sheet):
    """Where texts stand, from their estimated width."""
    for panel in (*sheet.panels, sheet.page):
        for mark in panel.marks:
            if isinstance(mark, Text):
                x, y = panel.place(mark.x, mark.y)
                long = width(mark.text) * mark.size
                start = {"start": 0.0, "middle": long / 2, "end": long}[mark.anchor]
                if mark.turned:
                    yield mark, (x - mark.size / 2, y + start - long, x + mark.size / 2, y + start)
                else:
                    yield mark, (x - start, y - mark.size / 2, x - start + long, y + mark.size / 2)


@pytest.mark.parametrize("name", PLOTS)
def test_a_figure_may_stand_in_any_page(name):
    """Harmless elements, one id, finite numbers within it, colours of the page's theme, and words for it."""
    root, roles = parsed(PLOTS[name].svg()), THEMES["light"].colours
    _, _, across, down = map(float, root.get("viewBox").split())
    assert [e.get("id") for e in root.iter() if e.get("id")] == [root.get("aria-describedby")]
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert root.find(NAMESPACE + "desc").text
    for element in root.iter():
        assert element.tag.removeprefix(NAMESPACE) in ELEMENTS
        assert element.attrib.keys() <= ATTRIBUTES
        assert not re.search(r"nan|inf", element.get("d", "") + element.get("cx", "") + element.get("cy", ""))
        if element.tag == NAMESPACE + "text" and element.get("x"):
            assert 0 <= float(element.get("x")) <= across
            assert 0 <= float(element.get("y")) <= down
        for what in ("fill", "stroke"):
            colour = element.get(what, "none")
            if colour != "none":
                role = next(role for role, known in roles.items() if known == colour)
                assert f"{what[0]}-{role}" in element.get("class").split()


@pytest.mark.parametrize("name", PLOTS)
def test_a_figure_has_a_title_and_text_that_fits_and_can_be_read(name):
    drawn = PLOTS[name]
    words = " ".join(mark.text for mark in drawn.sheet().page.marks if isinstance(mark, Text)).split()
    said = (drawn.data.single or f"{drawn.data.title} {drawn.data.subtitle}").split()
    assert words[: len(said)] == said or "…" in " ".join(words[: len(said)])
    assert drawn.data.title
    assert not drawn.data.title.endswith(".")
    for wide in (NARROW, 560, 720):
        sheet = drawn.sheet(wide)
        assert all(mark.size >= 11 for mark in marks(sheet) if isinstance(mark, Text))
        for mark, (left, top, right, bottom) in boxes(sheet):
            assert left >= -2, mark.text
            assert right <= sheet.width + 2, mark.text
            assert top >= -2, mark.text
            assert bottom <= sheet.height + 2, mark.text


@pytest.mark.parametrize("name", [n for n in DRAWN if n.split()[0] in ("curves", "groups", "breakdown")])
def test_at_most_eight_lines_have_a_label(name):
    sheet = DRAWN[name].sheet()
    thick = [m for m in marks(sheet) if isinstance(m, Stroke) and m.hover and m.hover.model and m.width > 1.5]
    models = {m.hover.model for m in thick}
    assert len(models) <= LABELLED
    if name == "curves of twenty":
        assert len(models) == LABELLED
        assert TWENTY[-1] in models


def test_models_that_are_tied_are_labelled_first():
    exhibits = [made.exhibit(name, place=i) for i, name in enumerate(TWENTY)]
    drawn = texts(parsed(plot.curves(exhibits, TWENTY[10:14]).svg()))
    assert {text for text in drawn if text.startswith("model")} == {*TWENTY[10:14], TWENTY[-1]}


@pytest.mark.parametrize("wide", [NARROW, 560])
@pytest.mark.parametrize(
    "name", ["pairs of forty", "intervals of forty", "groups of forty", "breakdown of many models"]
)
def test_texts_of_forty_models_do_not_overlap(name, wide):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    figure = PLOTS[name].figure(width=wide)
    figure.canvas.draw()
    found = [
        (text.get_text(), text.get_window_extent())
        for axes in figure.axes
        for text in axes.texts
        if text.get_text().strip()
    ]
    assert len(found) > 40
    for i, (one, box) in enumerate(found):
        for other, beside in found[i + 1 :]:
            over_x = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            over_y = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert over_x <= 0 or over_y <= 0, (one, other)


def test_rows_of_forty_models_are_at_least_twelve_pixels_high():
    for name in ("pairs of forty", "intervals of forty", "groups of forty"):
        panel = PLOTS[name].sheet().panels[0]
        rows = abs(panel.y.high - panel.y.low)
        assert panel.height / rows >= 12


def test_cells_hold_numbers_up_to_twenty_models_and_values_for_a_pointer_always():
    for count, written in ((14, True), (20, True), (21, False), (40, False)):
        drawn = plot.pairs(made.board(FORTY[:count]))
        assert any(re.fullmatch(r"0?\.\d+", text) for text in texts(parsed(drawn.svg(width=900)))) is written
        hovers = [m.hover.text for m in marks(drawn.sheet()) if m.hover and " minus " in m.hover.text]
        assert len(hovers) >= count * (count - 1) / 2


@pytest.mark.parametrize("name", DRAWN)
def test_every_mark_of_data_says_its_value_to_a_pointer(name):
    sheet = DRAWN[name].sheet()
    silent = {"grid", "muted", "ink", "paper", "faint"}
    for panel in sheet.panels:
        for mark in panel.marks:
            if not isinstance(mark, Text) and mark.role not in silent:
                assert mark.hover is not None


def test_marks_of_a_model_bear_its_full_name():
    for kind, drawn in (("intervals", plot.intervals(made.board(FORTY))), ("pairs", plot.pairs(made.board(FORTY)))):
        named = {e.get("data-model") for e in parsed(drawn.svg()).iter()} - {None}
        assert named == set(FORTY), kind


@pytest.mark.parametrize(
    ("drawn", "limit"),
    [
        (plot.intervals(made.board(TWENTY, members=4)), 40_000),
        (plot.pairs(made.board(TWENTY)), 120_000),
        (plot.pairs(made.board(FORTY)), 300_000),
        (plot.groups(made.board(TWENTY, groups=tuple(f"group {i}" for i in range(100)))), 500_000),
        (plot.groups(BREAKDOWNS["places"], "brier"), 80_000),
        (plot.curves([made.exhibit(name, place=i, ks=LONG) for i, name in enumerate(TWENTY)]), 80_000),
        (PLOTS["panel"], 20_000),
        (plot.path(made.path(5000)), 80_000),
    ],
    ids=["intervals", "pairs", "many pairs", "groups", "lines", "curves", "panel", "path"],
)
def test_figures_of_many_models_are_small(drawn, limit):
    assert len(drawn.svg().encode()) < limit


def test_two_models_are_one_difference_with_its_interval_and_the_line_of_zero():
    drawn = plot.pairs(made.board(("a", "b")))
    (panel,) = drawn.sheet().panels
    assert any(isinstance(m, Stroke) and tuple(m.xs) == (0, 0) for m in panel.marks)
    assert "b minus a, mean Brier score" in texts(parsed(drawn.svg()))


def test_empty_lists_are_told_in_words_so_that_others_are_told_apart():
    svg = plot.curves([made.exhibit("a", ks=(0, 1, 2), curve=(0.9, 0.2, 0.1))]).svg()
    assert "empty lists, k = 0, score 0.900" in svg
    assert "0.8" not in texts(parsed(svg))


def test_relative_scores_are_drawn_against_one():
    drawn = PLOTS["intervals of pairwise"]
    assert {"relative Brier score (below 1 is better)", "1.0"} <= set(texts(parsed(drawn.svg())))


def test_names_that_look_alike_when_shortened_stay_apart():
    alike = ["a" * 40 + middle + "b" * 40 for middle in "12"]
    for kind, draw in plot.OF_RESULTS.items():
        drawn = draw(made.board([*alike, "c"], groups=("x", "y")))
        shown = {text for text in texts(parsed(drawn.svg())) if "…" in text}
        assert len(shown) == 2, kind
        assert not any(re.search(r"\(\d\)$", text) for text in shown)


def test_e_values_are_cut_at_ten_thousand_with_the_line_at_twenty():
    (_, lower) = PLOTS["path of strong"].sheet().panels
    assert lower.y.high == pytest.approx(4.2)
    assert any(isinstance(m, Stroke) and m.hover == Hover("threshold 20") for m in lower.marks)


def test_numbers_of_an_axis_are_left_out_evenly_where_they_would_run_into_each_other():
    drawn = texts(parsed(PLOTS["groups of weeks"].svg(width=NARROW)))
    assert [text for text in drawn if text.startswith("2025-")]
    assert SMALL * width("2025-01-04") * len([t for t in drawn if t.startswith("2025-")]) < NARROW
