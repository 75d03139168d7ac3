"""Pages without drawings, for laws that look at hundreds of pages."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from toplist.report.html import Page, render
from toplist.report.plot import Plot


def undrawn() -> AbstractContextManager[Any]:
    """As long as it lasts, figures are empty."""
    return patch.object(Plot, "svg", lambda *_, **__: "<svg></svg>")


def render_undrawn(page: Page) -> str:
    """The page as text, its drawings left out."""
    with undrawn():
        return render(page)
