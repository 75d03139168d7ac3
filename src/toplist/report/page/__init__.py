"""The report: everything that a comparison found on one page that needs nothing but itself."""

from __future__ import annotations

from toplist.report.page.contents import Page, Provenance
from toplist.report.page.rendering import render
from toplist.report.page.writing import write

__all__ = ["Page", "Provenance", "render", "write"]
