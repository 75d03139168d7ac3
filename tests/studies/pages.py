"""What the pages of the documentation quote from the studies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from studies.folder import ROOT

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.\d+|(?<![\w.])\d{1,3}(?:,\d{3})+(?![\w.])")
LARGEST = {".svg": 150_000, ".png": 150_000, ".html": 2_000_000}  # bytes


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def flat(text: str) -> str:
    """Without line breaks and indentation."""
    return " ".join(text.split())


def numbers(text: str) -> set[str]:
    """Decimals, and whole numbers with thousands; signs are left out."""
    return set(_NUMBER.findall(text))


def unfounded(name: str, printed: Iterable[str], known: Iterable[str] = ()) -> set[str]:
    """Numbers on a page that nobody printed."""
    return numbers(page(name)) - numbers("\n".join(printed)) - set(known)


def missing(name: str, remark: str) -> list[str]:
    """Paragraphs and tables of a remark that a page does not show word for word."""
    whole = flat(page(name))
    return [part for part in remark.split("\n\n") if flat(part) not in whole]


def pictures(name: str) -> list[Path]:
    """The files that a page shows."""
    return [ROOT / "docs" / found for found in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page(name))]
