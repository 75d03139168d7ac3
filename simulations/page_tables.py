"""Tables in pages that a script makes: each stands between two comments, so that it can be made again."""

from __future__ import annotations

import re
from pathlib import Path


def between(page: str, section: str) -> tuple[int, int]:
    """Where a table begins and ends in the text of a page."""
    found = re.search(rf"(?<=<!-- {section} -->\n).*?(?=\n<!-- end of {section} -->)", page, re.DOTALL)
    if found is None:
        raise ValueError(f"there is no table {section!r}")
    return found.span()


def shown(page: Path, section: str) -> str:
    """The table of a page."""
    text = page.read_text(encoding="utf-8")
    lo, hi = between(text, section)
    return text[lo:hi]


def rewrite(page: Path, section: str, table: str) -> None:
    """Put a table in the place of the old one."""
    text = page.read_text(encoding="utf-8")
    lo, hi = between(text, section)
    page.write_text(text[:lo] + table + text[hi:], encoding="utf-8")
