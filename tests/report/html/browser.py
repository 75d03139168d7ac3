"""One headless browser for the tests, where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
_AXE = Path("node_modules/axe-core/axe.min.js")
_LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) => window.violations.push(e.violatedDirective));
"""


@contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """A browser with a fresh profile; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs chromium")
    with api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile), executable_path=found, args=list(FLAGS), viewport=WIDE, color_scheme="light"
        )
        context.add_init_script(_LISTEN)
        try:
            yield context
        finally:
            context.close()


class Visit:
    """A page that is open, and what it did that it should not."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def texts(self, table: str, column: int) -> list[str]:
        """The rows of a table that are shown, by one column."""
        found: list[str] = self.page.eval_on_selector_all(
            f"#{table} tbody tr:not([hidden])", f"rows => rows.map(row => row.cells[{column}].textContent)"
        )
        return found

    def offences(self) -> list[str]:
        """What axe-core finds wrong, a line each."""
        self.page.evaluate(axe())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]


def axe() -> str:
    """The text of axe-core; the test is skipped where it is missing."""
    path = Path(os.environ.get("TOPLIST_AXE") or Path(__file__).parents[3] / _AXE)
    if not path.is_file():
        pytest.skip("needs axe-core: npm install --no-save axe-core, or TOPLIST_AXE=path/to/axe.min.js")
    return path.read_text(encoding="utf-8")
