"""A plot as people handle it."""

import builtins
import subprocess
import sys
import warnings

import numpy as np
import pytest

import toplist as tl
from tests.report import results as made
from tests.report.plot.cases import PLOTS
from tests.report.plot.parse_svg import parsed
from toplist.errors import TopListError
from toplist.report import plot
from toplist.report.plot.canvas import CLASS

BOARD = made.board(made.HOSTILE, members=3)


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib", reason="plots need matplotlib")


def without(monkeypatch, package):
    real = builtins.__import__

    def absent(name, *rest, **options):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    for module in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)


def test_svg_needs_no_matplotlib_and_other_formats_say_what_to_install(monkeypatch, tmp_path):
    drawn = plot.intervals(BOARD)
    without(monkeypatch, "matplotlib")
    for draw in (drawn.figure, lambda: drawn.save(tmp_path / "board.png"), lambda: drawn.save(tmp_path / "board.pdf")):
        with pytest.raises(TopListError, match=r"need matplotlib: pip install 'toplist\[report\]'$"):
            draw()
    drawn.save(tmp_path / "board.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["board.svg"]
    assert drawn._repr_svg_() in drawn._repr_html_()


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_plots_and_writing_svg_does_not_import_matplotlib():
    code = """
import sys
import toplist as tl
from tests.report import results as made
from toplist.report import plot
from toplist.report.plot.canvas import CLASS
plot.intervals(made.board()).svg()
print("matplotlib" in sys.modules)
"""
    assert run(code) == "False"


@pytest.mark.usefixtures("matplotlib")
def test_drawing_does_not_import_pyplot(tmp_path):
    code = f"""
import sys
import toplist as tl
from tests.report import results as made
from toplist.report import plot
from toplist.report.plot.canvas import CLASS
drawn = plot.intervals(made.board())
drawn.svg(), drawn.figure()
for suffix in ("svg", "pdf", "png"):
    drawn.save({str(tmp_path)!r} + "/board." + suffix)
print("matplotlib.pyplot" in sys.modules)
"""
    assert run(code) == "False"


def test_settings_of_the_caller_are_left_alone_and_do_not_show(matplotlib, tmp_path):
    expected = plot.pairs(BOARD).svg()
    with matplotlib.rc_context({"text.usetex": True, "axes.facecolor": "red", "lines.linewidth": 9, "font.size": 30}):
        before = dict(matplotlib.rcParams)
        filters = list(warnings.filters)
        assert plot.pairs(BOARD).svg() == expected
        plot.pairs(BOARD).figure()
        plot.pairs(BOARD).save(tmp_path / "board.png")
        assert dict(matplotlib.rcParams) == before
        assert list(warnings.filters) == filters


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("name", ["intervals of hostile", "pairs of twenty", "curves of infinite", "path of long"])
def test_the_same_values_give_the_same_bytes(name):
    drawn = PLOTS[name]
    assert drawn.svg() == type(drawn)(drawn.data, drawn.draw).svg()


@pytest.mark.usefixtures("matplotlib")
def test_ids_differ_from_figure_to_figure_and_may_be_chosen():
    one, other = plot.intervals(BOARD).svg(), plot.intervals(made.board()).svg()
    ids = [{e.get("id") for e in parsed(svg).iter() if e.get("id")} for svg in (one, other)]
    assert not ids[0] & ids[1]
    chosen = parsed(plot.intervals(BOARD).svg(prefix="board-1"))
    assert all(e.get("id").startswith("board-1-") for e in chosen.iter() if e.get("id"))
    with pytest.raises(TopListError, match="cannot begin an id"):
        plot.intervals(BOARD).svg(prefix='"><script>')


@pytest.mark.usefixtures("matplotlib")
def test_a_figure_within_a_page_has_no_header_and_no_paper():
    svg = plot.intervals(made.board(members=3)).svg()
    assert svg.startswith("<svg ")
    assert "<!DOCTYPE" not in svg
    assert "f-paper" not in svg
    data = plot.intervals(made.board(members=3)).data
    assert data.title not in [e.text for e in parsed(svg).iter()]


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize(("theme", "paper"), [("light", "#ffffff"), ("dark", "#161a20")])
def test_a_file_has_the_paper_of_its_theme(tmp_path, theme, paper):
    plot.intervals(BOARD).save(tmp_path / "board.SVG", theme)
    text = (tmp_path / "board.SVG").read_text(encoding="utf-8")
    root = parsed(text)
    first = next(e for e in root if e.tag.endswith("path"))
    assert text.startswith("<?xml")
    assert first.get("fill") == paper


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize(("suffix", "magic"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
@pytest.mark.parametrize("name", ["intervals of hostile", "pairs of infinite", "groups of hostile", "curves of twenty"])
def test_papers_and_pictures_are_written_the_same_each_time(tmp_path, suffix, magic, name):
    for i in range(2):
        PLOTS[name].save(tmp_path / f"{i}.{suffix}")
    one, other = (tmp_path / f"{i}.{suffix}" for i in range(2))
    assert one.read_bytes().startswith(magic)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("name", ["board.gif", "board", "board.svgz"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(TopListError, match=r"a plot is saved as \.svg, \.pdf or \.png, not"):
        plot.intervals(BOARD).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("matplotlib")
def test_an_unknown_theme_is_refused_before_anything_is_drawn():
    with pytest.raises(TopListError, match="'sepia' is no theme"):
        plot.intervals(BOARD).svg("sepia")


@pytest.mark.usefixtures("matplotlib")
def test_notebooks_show_a_figure_with_paper():
    drawn = plot.intervals(made.board())
    assert drawn._repr_svg_() == drawn.svg(inline=False)
    assert drawn._repr_svg_() in drawn._repr_html_()


def test_a_figure_is_one_of_matplotlib(matplotlib):
    from matplotlib.figure import Figure

    figure = plot.intervals(made.board()).figure("dark")
    assert isinstance(figure, Figure)
    assert matplotlib.colors.to_hex(figure.get_facecolor()) == "#161a20"


def test_figures_are_found_by_name():
    assert set(plot.PLOTS) == {*plot.OF_RESULTS, *plot.OF_EXHIBITS, *plot.OF_CURVES, *plot.OF_PATHS}
    assert all(getattr(plot, name) is made for name, made in plot.PLOTS.items())


@pytest.mark.parametrize("width", [100, 5000, float("nan")])
def test_a_width_that_nothing_can_be_drawn_for_is_refused(width):
    with pytest.raises(TopListError, match="a plot is drawn for a width from 160 to 2000 pixels"):
        plot.intervals(BOARD).svg(width=width)


def test_a_figure_of_groups_without_groups_says_how_to_have_them():
    board = tl.compare({"a": [0, 1], "b": [1, 1]}, [0, 1], space=3)
    with pytest.raises(TopListError, match=r"there are no groups here: tl\.Truth\(y, group=\.\.\.\)"):
        board.plot("groups")


def test_a_figure_in_a_notebook_has_a_background_of_its_theme():
    """A page may be light under a dark system, and say nothing of its theme."""
    p = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    html = tl.diagnose(p, p.argmax(1))._repr_html_()
    assert ".toplist-plot{background:var(--plot-paper)}" in html.replace(CLASS, "toplist-plot")
    assert f".vscode-dark .{CLASS}" in html
