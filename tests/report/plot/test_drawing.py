"""Everything can be drawn, and what is drawn may stand in any page."""

import re

import pytest
from toplist.report.plot.colours import THEMES

from tests.report import results as made
from tests.report.plot.cases import LONG, PLOTS, TWENTY
from tests.report.plot.parse_svg import parsed
from toplist.report import plot
from toplist.report.plot.canvas import width

pytest.importorskip("matplotlib", reason="plots need matplotlib")

NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "defs", "clipPath", "rect", "path", "use", "g", "text"}
ATTRIBUTES = {
    *("class", "viewBox", "width", "height", "role", "aria-labelledby", "font-family", "id", "x", "y", "d", "href"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"),
    *("clip-path", "font-size", "font-weight", "text-anchor", "transform"),
}


@pytest.fixture(scope="module", params=PLOTS, ids=lambda name: name.replace(" ", "-"))
def svg(request):
    return PLOTS[request.param].svg()


def test_only_harmless_elements_and_attributes_are_used(svg):
    for element in parsed(svg).iter():
        assert element.tag.removeprefix(NAMESPACE) in ELEMENTS
        assert element.attrib.keys() <= ATTRIBUTES


def test_nothing_outside_is_referred_to_and_every_reference_is_met(svg):
    root = parsed(svg)
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(set(ids)) == len(ids)
    for element in root.iter():
        references = [element.get("href", ""), *re.findall(r"url\((.*?)\)", element.get("clip-path", ""))]
        for reference in filter(None, references):
            assert reference.startswith("#")
            assert reference[1:] in ids
    assert set(root.get("aria-labelledby").split()) <= set(ids)


def test_numbers_are_finite_and_within_the_figure(svg):
    root = parsed(svg)
    _, _, across, down = map(float, root.get("viewBox").split())
    for element in root.iter():
        assert not re.search(r"nan|inf", element.get("d", ""))
        if element.tag == NAMESPACE + "text" and element.get("x"):
            assert 0 <= float(element.get("x")) <= across
            assert 0 <= float(element.get("y")) <= down


def test_every_colour_follows_the_theme_of_the_page(svg):
    roles = THEMES["light"].colours
    for element in parsed(svg).iter():
        for what in ("fill", "stroke"):
            colour = element.get(what, "none")
            if colour != "none":
                role = next(role for role, known in roles.items() if known == colour)
                assert f"{what[0]}-{role}" in element.get("class").split()


def test_a_figure_says_in_words_what_it_shows(svg):
    root = parsed(svg)
    assert root.get("role") == "img"
    assert root.find(NAMESPACE + "title").text
    assert root.find(NAMESPACE + "desc").text


@pytest.mark.parametrize("name", [name for name in PLOTS if name.endswith("hostile")])
def test_hostile_names_are_text(name):
    svg = PLOTS[name].svg()
    assert "<script" not in svg
    assert not re.search("[\x00-\x08\x0b-\x1f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", svg)
    texts = "".join(parsed(svg).itertext())
    assert "<script>alert(1)</script>" in texts


@pytest.mark.parametrize("kind", plot.OF_RESULTS)
def test_dollars_and_backslashes_are_shown_and_not_obeyed(kind):
    texts = [e.text for e in parsed(PLOTS[f"{kind} of hostile"].svg()).iter(NAMESPACE + "text")]
    assert made.HOSTILE[1] in texts


@pytest.mark.parametrize(
    ("drawn", "limit"),
    [
        (plot.intervals(made.board(TWENTY, members=4)), 40_000),
        (plot.pairs(made.board(TWENTY)), 120_000),
        (plot.pairs(made.board(TWENTY[:14])), 120_000),
        (plot.groups(made.board(TWENTY, groups=tuple(f"group {i}" for i in range(100)))), 500_000),
        (plot.curves([made.exhibit(name, place=i, ks=LONG) for i, name in enumerate(TWENTY)]), 80_000),
        (plot.reliability([made.exhibit(name) for name in TWENTY]), 250_000),
        (plot.shapes([made.exhibit(name, place=i) for i, name in enumerate(TWENTY)]), 80_000),
        (plot.path(made.path(5000)), 80_000),
    ],
    ids=["intervals", "pairs", "written pairs", "groups", "curves", "reliability", "shapes", "path"],
)
def test_figures_of_twenty_models_are_small(drawn, limit):
    assert len(drawn.svg().encode()) < limit


def test_an_infinite_mean_is_an_arrow_with_the_count_in_words():
    texts = [e.text for e in parsed(PLOTS["intervals of infinite"].svg()).iter(NAMESPACE + "text")]
    assert texts.count("infinite: 17 cases") == 2


def test_cells_hold_numbers_up_to_fourteen_models():
    for count, written in ((14, True), (15, False)):
        svg = plot.pairs(made.board(TWENTY[:count])).svg()
        assert ("numbers in units of" in svg) is written


def test_no_text_runs_out_of_the_figure(svg):
    root = parsed(svg)
    across = float(root.get("viewBox").split()[2])
    for element in root.iter(NAMESPACE + "text"):
        x, wide = float(element.get("x")), width(element.text) * float(element.get("font-size"))
        left = x - wide * {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor"), 0.0)
        assert left >= -2, element.text
        assert left + wide <= across + 2, element.text


def test_a_clip_does_not_move_with_what_it_clips(svg):
    assert not any(element.get("clip-path") for element in parsed(svg).iter(NAMESPACE + "use"))


def test_empty_lists_are_told_in_words_so_that_others_are_told_apart():
    svg = plot.curves([made.exhibit("a", ks=(0, 1, 2), curve=(0.9, 0.2, 0.1))]).svg()
    assert "empty lists, k = 0, score 0.900" in svg
    texts = [e.text for e in parsed(svg).iter(NAMESPACE + "text")]
    assert "0.8" not in texts


def test_relative_scores_are_drawn_against_one():
    svg = PLOTS["intervals of pairwise"].svg()
    assert "relative Brier score, below 1 is better; bars: 95% intervals" in svg
    assert "1.0" in [e.text for e in parsed(svg).iter(NAMESPACE + "text")]


def test_names_that_look_alike_when_shortened_are_numbered():
    alike = ["a" * 40 + middle + "b" * 40 for middle in "12"]
    for kind, draw in plot.OF_RESULTS.items():
        drawn = draw(made.board(alike, groups=("x",)))
        texts = [e.text for e in parsed(drawn.svg()).iter(NAMESPACE + "text")]
        assert sum(text.endswith("b (1)") for text in texts) == 1, kind
        assert sum(text.endswith("b (2)") for text in texts) == 1, kind


def test_few_groups_have_more_room_each_than_many():
    def height(n):
        drawn = plot.groups(made.board(("a", "b"), groups=tuple(f"group {i}" for i in range(n))))
        return float(parsed(drawn.svg()).get("viewBox").split()[3])

    each = [height(n + 1) - height(n) for n in (2, 6, 20, 60)]
    assert each == sorted(each, reverse=True)
    assert each[0] > each[-1] > 10
    assert height(2) > 130


@pytest.mark.parametrize(("count", "own"), [(2, 2), (9, 9), (10, 8), (20, 8)])
def test_of_many_models_in_groups_the_first_ones_are_told_apart(count, own):
    drawn = plot.groups(made.board(TWENTY[:count], groups=("x", "y")))
    texts = [e.text for e in parsed(drawn.svg()).iter(NAMESPACE + "text")]
    assert sum(text.startswith("model") for text in texts) == own
    assert (f"the other {count - own}" in texts) == (own < count)
    assert len(drawn.data.groups[0].means) == count
