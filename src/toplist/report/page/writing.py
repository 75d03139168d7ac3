"""A page to a file: whole, or not at all."""

from __future__ import annotations

from typing import Any

from toplist.io.outputs import require_place, write_bytes
from toplist.report.page.contents import Page
from toplist.report.page.rendering import render


def write(page: Page, path: Any) -> None:
    """Write the page to a file: nobody sees half a page."""
    require_place(path)
    write_bytes(path, render(page).encode("utf-8"))
