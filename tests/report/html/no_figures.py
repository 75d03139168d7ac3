"""Pages without drawings, for laws that look at hundreds of pages."""

from __future__ import annotations

from unittest.mock import patch

from toplist.report.html import Page, render
from toplist.report.plot import Plot


def render_undrawn(page: Page) -> str:
    """The page as text, its drawings left out."""
    with patch.object(Plot, "svg", lambda *_, **__: "<svg></svg>"):
        return render(page)
