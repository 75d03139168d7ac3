"""Predictions as files, in four layouts: a wide table, lists, a long table, labels."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Lists = Mapping[str, Mapping[str, float]]


def write_wide(path: Path, lists: Lists, classes: list[str]) -> None:
    """A row per case and a column per class, as compressed CSV."""
    rows = [("case", *classes), *((case, *(repr(t[name]) for name in classes)) for case, t in lists.items())]
    path.write_bytes(packed(table(rows)))


def write_lists(path: Path, lists: Lists) -> None:
    """An object per line: the case, its classes, their confidences."""
    lines = []
    for case, listed in lists.items():
        record = {"case": case, "classes": list(listed), "confidences": list(listed.values())}
        lines.append(json.dumps(record, separators=(",", ":")))
    write_lines(path, lines)


def write_long(path: Path, lists: Lists) -> None:
    """A row per case and class, as Parquet; a case without any class has one row without class and confidence."""
    rows: list[tuple[str, str | None, float | None]] = []
    for case, listed in lists.items():
        rows += [(case, name, confidence) for name, confidence in listed.items()] or [(case, None, None)]
    columns = dict(zip(("case", "class", "confidence"), map(pa.array, zip(*rows, strict=True)), strict=True))
    options = {"use_dictionary": ["case", "class"], "write_statistics": False, "store_schema": False}
    pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19, **options)


def write_labels(path: Path, labels: Mapping[str, str | None]) -> None:
    """A row per case, tab-separated; the class of a refusal is empty."""
    rows = [("case", "class"), *((case, label or "") for case, label in labels.items())]
    path.write_bytes(table(rows, delimiter="\t").encode())


def write_table(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Rows as CSV."""
    path.write_bytes(table(rows).encode())


def packed(text: str) -> bytes:
    """Compressed, without a name and a time in the header: the same text is the same bytes."""
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Lines of text, the same on every system."""
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def table(rows: Iterable[tuple[str, ...]], delimiter: str = ",") -> str:
    """Rows as separated text."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
