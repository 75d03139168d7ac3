"""Lists out, batch by batch: files converted to one form, or changed; a file appears whole or not at all."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from toplist._files import Output, as_path, inputs_of, need, require_apart, shown, write_errors_explained
from toplist._text import quote
from toplist._typing import Progress
from toplist.core.kernel import parallel_map
from toplist.errors import CaseError, TopListError
from toplist.io.align import require_unique, silent
from toplist.io.batches import Batch
from toplist.io.columns import Column, UniqueIds, as_arrow, plain, truths
from toplist.io.encoding import ClassEncoder, has_integers, label_sets
from toplist.io.lists import in_file, lists_of, repairs_made, require_all_columns
from toplist.io.plan import AlignedFiles
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs

WRITTEN = (".parquet", ".csv", ".jsonl")
_GROUP = 1 << 17  # rows that are written to Parquet at a time: readers want few large groups
_LISTS = ("classes", "confidences")


class Writer:
    """Tables to a file, one after the other, all with the columns of the first."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        if self.path.suffix.lower() not in (*WRITTEN, ".pq"):
            raise TopListError(f"the output is {', '.join(WRITTEN)}, not {self.path.suffix or 'without a suffix'}.")
        self.output = Output(path)
        self._open: Any = None

    def write(self, table: Any) -> None:
        """The next rows."""
        with write_errors_explained(self.path):
            if self._open is None:
                self._open = _WRITERS[self.path.suffix.lower()](self.output.file, table.schema)
            self._open.write_table(table)

    def describe(self, about: Mapping[bytes, bytes]) -> None:
        """Say in a Parquet file what it holds."""
        if self._open is not None:
            self._open.add_key_value_metadata(about)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if self._open is not None and kind is None:
                with write_errors_explained(self.path):
                    self._open.close()
                self._open = None
                self.output.keep()
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Drop what was not kept; what a library still writes in closing is no news."""
        if self._open is not None:
            with suppress(Exception):
                self._open.close()
            self._open = None
        self.output.drop()


class ListWriter:
    """Lists to a file that every command reads: columns of lists in Parquet and JSON, a long table in CSV."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.writer = Writer(path)
        self.long = self.writer.path.suffix.lower() == ".csv"
        self.schema: Any = None
        self.waiting: list[Any] = []

    def write(self, lists: Batch) -> None:
        """The next cases, all of whose classes are named."""
        table = _as_long(lists) if self.long else _as_lists(lists)
        self.schema = self.schema or table.schema
        self.waiting.append(table.cast(self.schema))
        if sum(map(len, self.waiting)) >= _GROUP:
            self._flush(_GROUP)

    def _flush(self, least: int) -> None:
        """Write groups of one size, so that batches do not show in the file."""
        if not self.waiting:
            return
        table = need("pyarrow").concat_tables(self.waiting)
        done = len(table) - len(table) % least
        for lo in range(0, max(done, 1), _GROUP):
            self.writer.write(table.slice(lo, min(_GROUP, done - lo)).combine_chunks())
        self.waiting = [table.slice(done)] if done < len(table) else []

    def __enter__(self) -> ListWriter:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        try:
            if kind is None:
                if self.schema is None:  # no case at all: the file says which columns there are
                    nothing, none = need("pyarrow").array([], "string"), np.zeros(0, np.int64)
                    self.write(Batch("", none, nothing, np.zeros(1, np.int64), nothing, np.zeros(0)))
                self._flush(1)
        except BaseException as error:
            kind = type(error)
            raise
        finally:
            self.writer.__exit__(kind, *rest)


def _as_lists(lists: Batch) -> Any:
    pa = need("pyarrow")
    at, columns = as_arrow(lists.offsets), {} if lists.ids is None else {"case": lists.ids}
    for name, values in zip(_LISTS, (lists.classes, as_arrow(lists.confidences)), strict=True):
        columns[name] = pa.LargeListArray.from_arrays(at, values)
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
    few: Any = ["classes.list.element"] if set(_LISTS) <= set(schema.names) else True
    return need("pyarrow.parquet").ParquetWriter(file, schema, use_dictionary=few, write_page_checksum=True)


def _csv(file: BinaryIO, schema: Any) -> Any:
    return need("pyarrow.csv").CSVWriter(file, schema)


_WRITERS: dict[str, Callable[[BinaryIO, Any], Any]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".csv": _csv,
    ".jsonl": _Lines,
}


def convert(
    source: OpenTable,
    path: str | os.PathLike[str],
    repairs: Repairs,
    space: ClassSpace | None = None,
    sets: str | None = None,
    progress: Callable[[str, int, int | None], None] = silent,
    repaired: Callable[[Mapping[str, int]], object] = lambda counts: None,
) -> int:
    """Write lists as Parquet with the columns case (where there are ids), classes and confidences; the number of cases.

    `repaired` is called for each batch with the number of cases in which something was repaired.
    """
    if as_path(path).suffix.lower() not in (".parquet", ".pq"):
        raise TopListError(f"lists are written as Parquet: name the output {as_path(path).stem}.parquet.")
    require_apart([path], inputs_of([source]))
    pa, known = need("pyarrow"), ClassSpace(math.inf) if space is None else space
    whole = known.labels is None and sets is None and has_integers(source)
    coder, unique, cases = ClassEncoder(known, whole, sets), UniqueIds(), 0
    if space is not None:
        require_all_columns(source, space)
    with ListWriter(path) as writer:
        for batch in source.batches():
            codes = coder.own_codes(batch, source.names)
            lists = lists_of(batch, source.names, codes, known, repairs)
            named = pa.array(source.names, pa.string()) if batch.classes is None else batch.classes
            named = label_sets(named, sets) if sets is not None else named
            name_of, first = np.unique(codes, return_index=True)
            which = named.take(pa.array(first[np.searchsorted(name_of, lists.classes)]))
            writer.write(replace(batch, offsets=lists.offsets, classes=which, confidences=lists.confidences))
            if batch.ids is not None:
                unique.see(batch.ids)
            cases += len(batch)
            repaired(repairs_made(lists, batch))
            progress("converting", cases, source.reader.rows)
        coder.finish()
        require_unique(source, unique)
    return cases


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
        return {
            "output": self.output,
            "cases": self.cases,
            "entries": self.entries,
            "faint": self.faint,
            "repairs": {name: dict(counts) for name, counts in self.repairs.items()},
            "left_out": {name: count for name, count in self.left_out.items() if count},
        }


def transform(
    files: AlignedFiles,
    output: str | os.PathLike[str],
    change: Change,
    progress: Progress = silent,
    what: str = "writing",
) -> WriteSummary:
    """Write what `change` makes of the lists of all files, case by case in the order of the first file."""
    require_apart([output], inputs_of(files.cases.sources))

    def work(batches: list[Batch]) -> tuple[Batch, int, list[Mapping[str, int]]]:
        members, _, names = files.lists(batches)
        try:
            made = change(members)
        except CaseError as error:
            raise in_file(error, batches[0]) from None
        called = names.of(made.classes)
        columns = replace(batches[0], offsets=made.offsets, classes=called, confidences=_doubles(made))
        return columns, count_faint(made), [repairs_made(*each) for each in zip(members, batches, strict=True)]

    cases = entries = faint = 0
    repairs: dict[str, Counter[str]] = {name: Counter() for name in files.names}
    with ListWriter(output) as writer:
        for columns, few, mended in parallel_map(work, files.cases.common()):
            writer.write(columns)
            cases, entries, faint = cases + len(columns), entries + len(columns.confidences), faint + few
            for name, counts in zip(files.names, mended, strict=True):
                repairs[name].update(counts)
            progress(what, cases, files.cases.total)
        files.coder.finish()
    return WriteSummary(shown(output), cases, entries, faint, repairs, dict(files.cases.left_out))


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
