"""Predictions as files, in four layouts: a wide table, lists, a long table, labels."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Lists = Mapping[str, Mapping[str, float]]


def write_wide(path: Path, lists: Lists, classes: list[str]) -> None:
    """A row per case and a column per class, as Parquet in single precision."""
    columns: dict[str, pa.Array] = {"case": pa.array(list(lists))}
    for name in classes:
        columns[name] = pa.array(np.array([listed[name] for listed in lists.values()], dtype=np.float32))
    # Random digits have no dictionary, and statistics of 140 columns are not free.
    options = {"use_dictionary": False, "write_statistics": False, "store_schema": False}
    pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19, **options)


def write_lists(path: Path, lists: Lists) -> None:
    """An object per line: the case, its classes, their confidences."""
    lines = []
    for case, listed in lists.items():
        record = {"case": case, "classes": list(listed), "confidences": list(listed.values())}
        lines.append(json.dumps(record, separators=(",", ":")))
    write_lines(path, lines)


def write_long(path: Path, lists: Lists) -> None:
    """A row per case and class, as compressed CSV; a case without any class has one row with two empty cells."""
    rows: list[tuple[str, str, str]] = [("case", "class", "confidence")]
    for case, listed in lists.items():
        rows += [(case, name, repr(confidence)) for name, confidence in listed.items()] or [(case, "", "")]
    # No name and no time in the header: the same rows are the same bytes.
    path.write_bytes(gzip.compress(table(rows).encode(), compresslevel=9, mtime=0))


def write_labels(path: Path, labels: Mapping[str, str | None]) -> None:
    """A row per case, tab-separated; the class of a refusal is empty."""
    rows = [("case", "class"), *((case, label or "") for case, label in labels.items())]
    path.write_bytes(table(rows, delimiter="\t").encode())


def write_table(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Rows as CSV."""
    path.write_bytes(table(rows).encode())


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Lines of text, the same on every system."""
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def table(rows: Iterable[tuple[str, ...]], delimiter: str = ",") -> str:
    """Rows as separated text."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
