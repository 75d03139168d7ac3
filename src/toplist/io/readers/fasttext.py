"""What `fasttext predict-prob` prints: a line per case, labels with their probabilities, no header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from toplist._optional import need
from toplist._text import quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, offsets_of
from toplist.io.readers.base import NOT_UTF8, Format, Reader, TableChunk, head_of, lines_of

_PREFIX = "__label__"
_ROWS = 1 << 14  # lines that are read at a time
_HEAD = 1 << 16  # bytes among which the first label stands, if any


def is_fasttext(path: Path) -> bool:
    """Whether the first line that is not blank begins with a label of fastText."""
    return head_of(path, _HEAD).lstrip().startswith(_PREFIX.encode())


@dataclass
class FastTextReader(Reader):
    """One or more files of labels with their probabilities; cases are the lines, and a blank line is an empty list."""

    paths: tuple[Path, ...]
    name: str

    @cached_property
    def schema(self) -> Any:
        """Two columns of lists."""
        pa = need("pyarrow")
        for path in self.paths:
            if not is_fasttext(path):
                problem = f"toplist reads text without a header as fastText prints it, but no {_PREFIX} stands first."
                raise FileError(str(path), f"{problem} Name a table .csv or .tsv.")
        return pa.schema([("classes", pa.large_list(pa.string())), ("confidences", pa.large_list(pa.float64()))])

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        pa = need("pyarrow")
        for path in self.paths:
            lines, start = lines_of(path), 0
            while held := list(islice(lines, _ROWS)):
                pairs = [_pairs(line, str(path), row) for row, line in enumerate(held, start + 1)]
                at = as_arrow(offsets_of(np.array([len(labels) for labels, _ in pairs])))
                classes = pa.array([label for labels, _ in pairs for label in labels], pa.string())
                values = pa.array([value for _, numbers in pairs for value in numbers], pa.float64())
                lists = [pa.LargeListArray.from_arrays(at, flat) for flat in (classes, values)]
                table = pa.record_batch(lists, names=["classes", "confidences"])
                yield TableChunk(str(path), start, table.select(list(columns)))
                start += len(held)


def _pairs(line: bytes, source: str, row: int) -> tuple[list[str], list[float]]:
    """The labels of one line, and their probabilities."""
    try:
        words = line.decode("utf-8-sig").split()
    except UnicodeDecodeError:
        raise FileError(source, NOT_UTF8, row=row) from None
    labels = words[::2]
    try:
        numbers = [float(word) for word in words[1::2]]
    except ValueError:
        numbers = []
    if len(labels) != len(numbers) or not all(label.startswith(_PREFIX) for label in labels):
        text = quote(line.decode("utf-8", "replace").strip())
        raise FileError(source, f"{text} are not labels with a probability each: use fasttext predict-prob.", row=row)
    return [label.removeprefix(_PREFIX) for label in labels], numbers


FASTTEXT = Format("fasttext", (".txt",), FastTextReader, compressed=True, certain=False, described=".txt of fastText")
