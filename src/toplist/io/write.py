"""Lists out, batch by batch: files converted to one form, or changed; a file appears whole or not at all."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from toplist._files import Output, as_path, inputs_of, need, require_apart, shown, write_errors_explained
from toplist._text import quote
from toplist._typing import Progress
from toplist.core.kernel import parallel_map
from toplist.errors import CaseError, TopListError
from toplist.io.align import AlignedCases, silent
from toplist.io.batches import Batch
from toplist.io.columns import Column, as_arrow, plain, truths
from toplist.io.encoding import ClassEncoder
from toplist.io.lists import in_file, repairs_made, require_all_columns
from toplist.io.plan import AlignedFiles
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.space import ClassSpace

WRITTEN = (".parquet", ".csv", ".jsonl")
_GROUP = 1 << 17  # rows that are written to Parquet at a time: readers want few large groups


class Writer:
    """Tables to a file, one after the other, all with the columns of the first.

    Rows are written in groups of one size, so that batches do not show in the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        self._kind = _WRITERS.get(self.path.suffix.lower())
        if self._kind is None:
            raise TopListError(f"the output is {', '.join(WRITTEN)}, not {self.path.suffix or 'without a suffix'}.")
        self.output = Output(path)
        self._open: Any = None
        self._schema: Any = None
        self._waiting: list[Any] = []

    def write(self, table: Any) -> None:
        """The next rows."""
        self._schema = self._schema or table.schema
        self._waiting.append(table.cast(self._schema))
        if sum(map(len, self._waiting)) >= _GROUP:
            self._flush(_GROUP)

    def _flush(self, least: int) -> None:
        """Write what is waiting, but for the rows that do not fill a group of at `least` so many."""
        if not self._waiting:
            return
        table = need("pyarrow").concat_tables(self._waiting)
        done = len(table) - len(table) % least
        with write_errors_explained(self.path):
            if self._open is None and self._kind is not None:
                self._open = self._kind(self.output.file, table.schema)
            for lo in range(0, max(done, 1), _GROUP):
                self._open.write_table(table.slice(lo, min(_GROUP, done - lo)).combine_chunks())
        self._waiting = [table.slice(done)] if done < len(table) else []

    def describe(self, about: Mapping[bytes, bytes]) -> None:
        """Say in a Parquet file what it holds, after the last row."""
        self._flush(1)
        if self._open is not None:
            self._open.add_key_value_metadata(about)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None and self._schema is not None:
                self._flush(1)
                with write_errors_explained(self.path):
                    self._open.close()
                self._open = None
                self.output.keep()
        finally:
            if self._open is not None:
                with suppress(Exception):  # what a library still writes in closing is no news
                    self._open.close()
            self.output.drop()


def _as_table(lists: Batch, output: Path) -> Any:
    """Lists in a form that every command reads: columns of lists in Parquet and JSON, a long table in CSV."""
    return _as_long(lists) if output.suffix.lower() == ".csv" else _as_lists(lists)


def _as_lists(lists: Batch) -> Any:
    pa = need("pyarrow")
    columns = {} if lists.ids is None else {"case": lists.ids}
    for name, values in (("classes", lists.classes), ("confidences", as_arrow(lists.confidences))):
        columns[name] = pa.LargeListArray.from_arrays(as_arrow(lists.offsets), values)
    return pa.table(columns)


def _as_long(lists: Batch) -> Any:
    """A row per listed class; an empty list is a row without class and confidence."""
    pa, classes = need("pyarrow"), plain(lists.classes)
    if lists.ids is None:
        raise TopListError("cases without ids cannot be told apart in CSV: name the output .parquet or .jsonl.")
    for what, values in (("case id", lists.ids), ("class", classes)):
        _require_text(values, what)
    sizes = np.diff(lists.offsets)
    rows = np.maximum(sizes, 1)
    blank = np.repeat(sizes == 0, rows)
    entries = np.cumsum(~blank) - 1
    where = pa.array(entries, mask=blank)
    columns = {
        "case": lists.ids.take(pa.array(np.repeat(np.arange(len(lists)), rows))),
        "class": classes.take(where),
        "confidence": as_arrow(lists.confidences).take(where),
    }
    return pa.table(columns)


def _require_text(values: Column, what: str) -> None:
    """In CSV a blank is nothing."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(values.type):
        raise TopListError(
            f"each {what} is a list of labels, which CSV cannot hold: name the output .parquet or .jsonl."
        )
    if pa.types.is_string(values.type):
        blank = truths(pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(values)), 0))
        if blank.any():
            odd = quote(values[int(np.argmax(blank))].as_py())
            raise TopListError(f"the {what} {odd} is blank, which CSV cannot hold: name the output .parquet or .jsonl.")


class _Lines:
    """JSON, one object per line; infinity, which JSON has not, as a string."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self.file = file

    def write_table(self, table: Any) -> None:
        for row in table.to_pylist():
            clean = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
            self.file.write(json.dumps(clean, ensure_ascii=False, default=str).encode("utf-8") + b"\n")

    def close(self) -> None:
        """The file is closed by who opened it."""


def _parquet(file: BinaryIO, schema: Any) -> Any:
    """A table of different values pays for classes; of ids and confidences it would be made and given up again."""
    few: Any = ["classes.list.element"] if {"classes", "confidences"} <= set(schema.names) else True
    return need("pyarrow.parquet").ParquetWriter(file, schema, use_dictionary=few, write_page_checksum=True)


def _csv(file: BinaryIO, schema: Any) -> Any:
    return need("pyarrow.csv").CSVWriter(file, schema)


_WRITERS: dict[str, Callable[[BinaryIO, Any], Any]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".csv": _csv,
    ".jsonl": _Lines,
}


Change = Callable[[list[TopLists]], TopLists]
FAINT = 1e-14  # what one minus a sum of doubles does not tell from nothing


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """What was read and written: how many cases, how many were repaired or left out of each file.

    `faint` counts cases with a positive mass that is too small to be read back: of a file, the mass that is not listed
    is one minus the sum.
    """

    output: str
    cases: int
    entries: int
    faint: int = 0
    repairs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "left_out": {name: count for name, count in self.left_out.items() if count}}


def transform(
    files: AlignedFiles,
    output: str | os.PathLike[str],
    change: Change | None = None,
    progress: Progress = silent,
    what: str = "writing",
) -> WriteSummary:
    """Write what `change` makes of the lists of all files, case by case in the order of the first file.

    Without a change the numbers are written as they are: single precision stays single.
    """
    require_apart([output], inputs_of(files.cases.sources))

    def work(batches: list[Batch]) -> tuple[Batch, int, list[Mapping[str, int]]]:
        members, _, names = files.lists(batches)
        try:
            changed = members[0] if change is None else change(members)
        except CaseError as error:
            raise in_file(error, batches[0]) from None
        confidences = changed.confidences if change is None else _doubles(changed)
        codes = as_arrow(np.ascontiguousarray(changed.classes, np.int64))
        classes = codes if names is None else names.take(codes)
        columns = replace(batches[0], offsets=changed.offsets, classes=classes, confidences=confidences)
        return columns, count_faint(changed), [repairs_made(*each) for each in zip(members, batches, strict=True)]

    cases = entries = faint = 0
    repairs: dict[str, Counter[str]] = {name: Counter() for name in files.names}
    with Writer(output) as writer:
        for columns, few, mended in parallel_map(work, files.cases.common()):
            writer.write(_as_table(columns, writer.path))
            cases, entries, faint = cases + len(columns), entries + len(columns.confidences), faint + few
            for name, counts in zip(files.names, mended, strict=True):
                repairs[name].update(counts)
            progress(what, cases, files.cases.total)
        files.coder.finish()
        if not cases:  # the file says which columns there are
            nothing, none = need("pyarrow").array([], "string"), np.zeros(0, np.int64)
            writer.write(_as_table(Batch("", none, nothing, np.zeros(1, np.int64), nothing, np.zeros(0)), writer.path))
    return WriteSummary(
        shown(output),
        cases,
        entries,
        faint,
        {name: dict(counts) for name, counts in repairs.items()},
        dict(files.cases.left_out),
    )


def convert(
    source: OpenTable,
    output: str | os.PathLike[str],
    space: ClassSpace | None = None,
    sets: str | None = None,
    progress: Progress = silent,
) -> WriteSummary:
    """Write the lists of a source as they are, checked and repaired; without a space, of any number of classes."""
    if space is not None:
        require_all_columns(source, space)
    coder = ClassEncoder(ClassSpace(math.inf) if space is None else space, [source], sets)
    return transform(AlignedFiles(AlignedCases([source]), coder, truth=False), output, None, progress, "converting")


def _doubles(lists: TopLists) -> NDArray[np.float64]:
    """The confidences as they are scored: what they lack to one is the mass that is not listed."""
    as_given = lists.confidences.dtype == np.float64 and not lists.checked.scaled.any()
    return np.ascontiguousarray(lists.confidences if as_given else lists.normalized_confidences, np.float64)


def count_faint(lists: TopLists) -> int:
    """How many cases have a mass that a file does not keep."""
    rest = lists.rest
    faint = (rest > 0) & (rest < FAINT)
    if lists.log_rest is not None:
        faint |= (rest == 0) & (lists.log_rest > -np.inf) & ~lists.checked.scaled
    return int(np.count_nonzero(faint))
