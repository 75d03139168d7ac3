"""Rows of a CSV file as mappings from column to text, one by one, for producers whose cells need a closer look."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from toplist.errors import FileError
from toplist.io.readers.base import NOT_UTF8, opened


def csv_rows(path: Path) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The names of the columns, and the rows with their numbers; a row of blanks is none, a short one is filled."""
    with opened(path) as stream:
        data: bytes = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip() for name in next(lines, [])]
    except csv.Error as error:
        raise FileError(str(path), f"the header cannot be read: {error}.") from None
    if not any(names):
        raise FileError(str(path), "this file is empty: there is not even a header.")
    return names, _rows(lines, names, path)


def _rows(lines: Iterator[list[str]], names: list[str], path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    number = 0
    while True:
        number += 1
        try:
            line = next(lines, None)
        except csv.Error as error:
            raise FileError(str(path), f"this row cannot be read: {error}.", row=number) from None
        if line is None:
            return
        cells = [cell.strip() for cell in line]
        if any(cells[len(names) :]):
            raise FileError(str(path), f"{len(cells)} fields for {len(names)} columns.", row=number)
        if any(cells):
            yield number, dict(zip(names, cells + [""] * (len(names) - len(cells)), strict=False))
