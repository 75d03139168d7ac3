"""The report: everything that a comparison found on one page that needs nothing but itself."""

from __future__ import annotations

from toplist.report.html.page import render, write
from toplist.report.html.setting import Page, Provenance

__all__ = ["Page", "Provenance", "render", "write"]
