"""Pages without drawings, for laws that look at hundreds of pages."""

from __future__ import annotations

from unittest.mock import patch

from toplist.ranking.results import Results
from toplist.report.page import Page, render
from toplist.report.page.figures import Figures


def _nothing(results: Results, _: object) -> Figures:
    return Figures(None, None, None, None, None, None, (None,) * len(results.paths))


def render_undrawn(page: Page) -> str:
    """The page as text, its drawings left out."""
    with patch("toplist.report.page.rendering.figures", _nothing):
        return render(page)
