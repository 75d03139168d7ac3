"""Pages without drawings, for laws that look at hundreds of pages."""

from __future__ import annotations

from unittest.mock import patch

from toplist.inference.results import Comparison
from toplist.report.html import Page, render
from toplist.report.html.figures import Figure, Figures


def _nothing(results: Comparison, _: object) -> Figures:
    blank = [Figure(f"figure-{i}", "", "not drawn") for i in range(1 + len(results.paths))]
    return Figures(blank[0], None, None, None, None, None, tuple(blank[1:]))


def render_undrawn(page: Page) -> str:
    """The page as text, its drawings left out."""
    with patch("toplist.report.html.page.figures", _nothing):
        return render(page)
