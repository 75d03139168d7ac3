"""What is said in situations that none of the twelve boards is in, is as it was stored.

Of many models or groups, only short texts are kept; of a page, the section that the situation concerns; of every
figure that can be drawn, what it says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.golden.conftest import HERE, Golden
from tests.golden.situations import RESULTS, SECTIONS, results, titled
from tests.golden.surfaces import as_lines
from tests.report.html.no_figures import render_undrawn
from tests.report.plot.cases import PLOTS
from toplist.inference.results import Comparison
from toplist.inference.settings import InferenceSettings
from toplist.report.markup import as_latex, as_markdown
from toplist.report.terminal import as_text

TEXTS: dict[str, Callable[[Comparison], str]] = {
    "at 80": lambda results: as_text(results, 80),
    "at 100, in ASCII": lambda results: as_text(results, 100, ascii=True),
    "piped": as_text,
    "in detail": lambda results: as_text(results, detail=True),
    "Markdown": as_markdown,
    "LaTeX": as_latex,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_read_as_they_did(name: str, golden: Golden) -> None:
    surfaces = [*TEXTS][:3] if name in ("many", "groups") else TEXTS
    texts = (f"=== {surface}\n{TEXTS[surface](results(name))}\n" for surface in surfaces)
    golden.text(f"situations/{name}.txt", "\n".join(texts))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_of_a_page_says_what_it_said(name: str, golden: Golden) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    key, page = SECTIONS[name]
    text = render_undrawn(page())
    if key:
        (text,) = re.findall(rf'<section aria-labelledby="{key}".*?</section>', text, flags=re.DOTALL)
    golden.text(f"situations/section-{name}.txt", as_lines(text))


def test_figures_say_of_themselves_what_they_said(golden: Golden) -> None:
    figures = PLOTS | titled()
    said = {
        name: [*filter(None, (figure.data.title, figure.data.subtitle, figure.data.single, figure.data.words))]
        for name, figure in figures.items()
        if "hostile" not in name
    }
    golden.json("situations/figures.json", said)


METHODS: tuple[dict[str, Any], ...] = (
    {"method": "t"},
    {"method": "normal", "weighted": True},
    {"method": "t", "cluster": "day"},
    {"method": "t", "weighted": True},
    {"method": "ewc", "cluster": "place", "time": "week"},
    {"method": "hac", "time": "day"},
    {"method": "ewc"},
    {"method": "bootstrap", "cluster": ""},
    {"method": "bootstrap"},
    {"method": "wild"},
    {"method": "wild", "cluster": "day", "weighted": True},
    {"method": "bounded"},
)


def test_every_method_of_intervals_says_what_it_assumes(golden: Golden) -> None:
    said = [InferenceSettings(**({"horizon": 2, "seed": 3} | options)).describe(100, 4.62, 50) for options in METHODS]
    assert all("assume" in words for words in said)
    golden.json("situations/methods.json", dict(zip(map(str, METHODS), said, strict=True)))


def test_no_golden_is_left_of_a_situation_that_is_gone() -> None:
    stored = {file.name for file in (HERE / "situations").iterdir()}
    assert stored == {f"{name}.txt" for name in RESULTS} | {f"section-{name}.txt" for name in SECTIONS} | {
        "figures.json",
        "methods.json",
    }
