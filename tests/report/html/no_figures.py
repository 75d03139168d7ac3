"""Pages without drawings, for laws that look at hundreds of pages."""

from __future__ import annotations

from unittest.mock import patch

from toplist.report.html import Page, render


def render_undrawn(page: Page) -> str:
    """The page as text, its drawings left out."""
    with patch("toplist.report.html.page.figures", lambda *_: {}):
        return render(page)
