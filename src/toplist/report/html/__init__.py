"""The report: everything that a comparison found, on one page that needs nothing but itself.

A `Page` of results comes in, one HTML document goes out; it imports the sentences and figures of `toplist.report`.
"""

from __future__ import annotations

from toplist.report.html.page import Page, Provenance, render, write

__all__ = ["Page", "Provenance", "render", "write"]
