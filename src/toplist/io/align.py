"""The same cases of several tables: in step where all have one order, else joined by their ids through DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import disk_full_explained, need, temporary_folder
from toplist._text import argument, listed, quote, spelling_difference
from toplist.errors import AlignmentError, FileError
from toplist.io.batches import Batch, concat
from toplist.io.columns import Column, as_arrow, as_numpy, blanks, plain
from toplist.io.options import MISSING
from toplist.io.readers.base import connect, guarded
from toplist.io.sources import OpenTable

Places = NDArray[np.int64]
_FEW = 20  # ids of a table that the first one lacks, to be shown or compared with
_HEAD = 1000  # ids of the first table that these are compared with
_PART = 1 << 15  # cases that are worked on at a time: their lists stay in the cache


class OutOfStepError(Exception):
    """The tables do not have the same cases in the same order."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Cases of a table, their places in the first one, and what that one says of them."""

    places: Places
    batch: Batch
    first: Batch
    unknown: int = 0  # cases of the whole table that the first one lacks


@dataclass(slots=True)
class AlignedCases:
    """Tables about the same cases; the first one, the truth if it is among them, gives their order.

    Of what can be done about cases that a table lacks, `choices` names what is open here.
    """

    sources: Sequence[OpenTable]
    missing: str = "error"
    choices: Sequence[str] = MISSING[:2]
    left_out: Counter[str] = field(default_factory=Counter)  # by table: cases that `in_order` passed over

    @property
    def total(self) -> int | None:
        """How many rows the first table has, where that is known."""
        return self.sources[0].reader.rows

    def in_step(self) -> Iterator[list[Batch]]:
        """The same cases of all tables at once; `OutOfStepError` is raised where cases or their order differ."""
        without = [source.path for source in self.sources if source.layout.case is None]
        if 0 < len(without) < len(self.sources):
            raise AlignmentError(
                f"{listed(without, 3, str)}: there is no column with case ids, but the other files have one. "
                f"Name it with {argument('case')}, or give all files in the same order without ids."
            )
        with ExitStack() as opened:  # whatever ends the reading, files and temporary folders are closed at once
            streams = [_Stream(source.batches()) for source in self.sources]
            for stream in streams:
                opened.enter_context(closing(stream.batches))
            yield from self._together(streams, aligned=not without)

    def _together(self, streams: Sequence[_Stream], *, aligned: bool) -> Iterator[list[Batch]]:
        """The same cases of all streams; of those with ids, the ids are the same."""
        unique = UniqueIds(self.sources[0])
        if not aligned:
            _require_one_length(streams)
        while True:
            heads = [stream.head() for stream in streams]
            if all(head is None for head in heads):
                break
            if any(head is None for head in heads):
                raise OutOfStepError
            parts = [stream.take(min(len(head) for head in heads if head is not None)) for stream in streams]
            ids = parts[0].ids
            if ids is not None:
                if any(not _same_ids(ids, part.ids) for part in parts[1:]):
                    raise OutOfStepError
                unique.see(ids)
            yield parts
        unique.require()

    def in_order(self) -> Iterator[list[Batch]]:
        """The same cases in the order of the first table; the other tables are kept on disk and looked up there."""
        first, *others = self.sources
        with self.joined(gather=False) as join:
            kept = [join.keep(source) for source in others]
            lacking = {store.source.name: np.flatnonzero(rows < 0) for store, rows in kept}
            self.require_same_cases(join, lacking)
            keep = np.ones(join.cases, bool)
            for away in lacking.values():
                keep[away] = False
            if join.cases and not keep.any():
                remedy = "Leave out a file with other cases, or see whether ids differ."
                raise AlignmentError(f"there is no case that all files have. {remedy}")
            common = int(keep.sum())
            self.left_out[first.name] = join.cases - common
            for name, away in lacking.items():
                self.left_out[name] = join.cases - len(away) + join.unknown[name][0] - common
            lo = 0
            for batch in first.batches(together=True):
                here = np.flatnonzero(keep[lo : lo + len(batch)])
                head = batch if len(here) == len(batch) else batch.take(here)
                yield [head, *(store.take(rows[lo + here]) for store, rows in kept)]
                lo += len(batch)

    def attempts(self) -> Iterator[Iterator[list[Batch]]]:
        """Ways through the cases, some at a time; the second is for those who meet an `OutOfStepError` on the first."""
        yield _in_parts(self.in_step())
        yield _in_parts(self.in_order())

    def whole(self) -> tuple[Batch, list[Matched]]:
        """All cases at once: those of the first table, and of every other one in the order of the first."""
        try:
            parts = list(self.in_step())
        except OutOfStepError:
            with self.joined() as join:
                return join.first, [join.whole(source) for source in self.sources[1:]]
        if not parts:
            raise FileError(self.sources[0].path, "there are no cases.")
        first, *others = (
            concat(batches, source.path, source.names)
            for batches, source in zip(zip(*parts, strict=True), self.sources, strict=True)
        )
        return first, [Matched(np.arange(len(first)), batch, first) for batch in others]

    @contextmanager
    def joined(self, *, gather: bool = True, part: bool = False) -> Iterator[Join]:
        """The cases of the first table, to look up those of the others; with `gather` they are kept in memory.

        Of a `part` of the cases there may be none.
        """
        if self.sources[0].layout.case is None:
            raise AlignmentError(_differing_lengths(self.sources)) from None
        with connect() as engine, temporary_folder() as folder:
            text = _ids_are_text(self.sources)
            join = Join(engine, self.sources[0], folder, text=text, gather=gather)
            if gather and not part and not join.cases:
                raise FileError(self.sources[0].path, "there are no cases.")
            yield join

    def require_same_cases(self, join: Join, lacking: Mapping[str, NDArray[Any]]) -> None:
        """Where no choice was made, refuse tables that lack cases of the first one, or have others.

        A table that shares no case with the first one is refused in any case.
        """
        own = join.called
        lines = [
            f"{name} lacks {_cases(len(away), join.ids(away[:3]))} that {own} has"
            for name, away in lacking.items()
            if len(away)
        ]
        lines += [
            f"{name} has {_cases(count, ids)} that {own} lacks" for name, (count, ids) in join.unknown.items() if count
        ]
        apart = [name for name, away in lacking.items() if len(away) == join.cases]
        if lines and self.missing == "error":
            common = argument("missing", "common")
            remedy = f"To take the cases that all have, pass {common}."
            if len(self.choices) > 2:
                remedy = f"Choose what to do about it: {common} (cases that all have), {_others(self.choices)}."
            hint = next(filter(None, map(join.hint, apart)), "")
            raise AlignmentError(f"{'; '.join(lines)}.{hint} {remedy}")
        if apart and join.cases:
            raise join.nothing_in_common(apart[0])


def _others(choices: Sequence[str]) -> str:
    """What else may be done about missing predictions than to refuse them, or to take the cases that all have.

    >>> _others(("error", "common", "uniform"))
    'or uniform (what a missing prediction counts as)'
    """
    *most, last = [one for one in choices if one in ("uniform", "worst", "baseline")]
    imputed = f"or {', '.join(most)}{' or ' if most else ''}{last} (what a missing prediction counts as)"
    return f"pairwise (relative skill), {imputed}" if "pairwise" in choices else imputed


def _in_parts(cases: Iterator[list[Batch]]) -> Iterator[list[Batch]]:
    for batches in cases:
        n = len(batches[0])
        for lo in range(0, n, _PART):
            yield [batch.part(lo, min(lo + _PART, n)) for batch in batches]


def _require_one_length(streams: Sequence[_Stream]) -> None:
    """Where files have no ids, the first two that differ in length decide; short ones are opened one by one."""
    known: int | None = None
    for at, stream in enumerate(streams):
        least, whole = stream.length()
        if at and known is not None and (least > known or (whole and least != known)):
            raise OutOfStepError
        known = least if not at and whole else known


@dataclass
class _Stream:
    """Batches that are used up in parts."""

    batches: Generator[Batch, None, None]
    rest: Batch | None = None
    after: Batch | None = None  # read already, to see whether there is more

    def head(self) -> Batch | None:
        while self.rest is None or not len(self.rest):
            self.rest, self.after = self.after, None
            if self.rest is None:
                self.rest = next(self.batches, None)
            if self.rest is None:
                return None
        return self.rest

    def length(self) -> tuple[int, bool]:
        """How many cases there are at least, and whether these are all."""
        head = self.head()
        if head is None:
            return 0, True
        self.after = next(self.batches, None)
        return len(head) + (0 if self.after is None else len(self.after)), self.after is None

    def take(self, count: int) -> Batch:
        head = self.head()
        if head is None:
            raise OutOfStepError
        self.rest = None if count == len(head) else head.part(count, len(head))
        return head.part(0, count)


@dataclass
class UniqueIds:
    """Ids that rise are unique; others are counted."""

    source: OpenTable
    last: Any = None
    rising: bool = True

    def watch(self, ids: Iterator[tuple[Any, Places]]) -> Iterator[tuple[Any, Places]]:
        """The same ids and rows, seen on the way."""
        for one in ids:
            self.see(one[0])
            yield one

    def see(self, ids: Any) -> None:
        """The ids of the next batch."""
        pc = need("pyarrow.compute")
        if not self.rising or not len(ids):
            return
        after = self.last is None or pc.greater(ids[0], self.last).as_py()
        inside = pc.all(pc.greater(ids.slice(1), ids.slice(0, len(ids) - 1)), min_count=0).as_py()
        self.rising, self.last = bool(after and inside), ids[len(ids) - 1]

    def require(self) -> None:
        """After the last batch: no case may be there twice."""
        if not self.rising and self.source.layout.kind == "long":
            raise OutOfStepError  # the rows of a case may be anywhere
        if not self.rising:
            text = need("pyarrow").types.is_string(self.last.type)
            with connect() as engine, _stream_of(engine, self.source.ids(), self.source, text=text):
                _require_unique(engine, "stream", self.source)


def _differing_lengths(sources: Sequence[OpenTable]) -> str:
    """What to say of files without ids: the first two that differ in length."""
    first, *others = sources
    cases = _rows(first)
    pairs = ((source.path, _rows(source)) for source in others)
    some = next((f"{first.path} has {cases:,}, {path} has {rows:,}" for path, rows in pairs if rows != cases), "")
    remedy = "Give every file a column with case ids, or the same cases in the same order."
    return f"without case ids, all files need the same number of rows: {some}. {remedy}"


def _rows(source: OpenTable) -> int:
    """How many rows a file without ids has: one for each case."""
    known = source.reader.rows
    one = source.layout.columns[:1]
    return sum(len(piece.table) for piece in source.reader.pieces(one)) if known is None else known


def _same_ids(a: Any, b: Any) -> bool:
    """Are two columns of ids equal? Numbers and text that reads the same are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if a.type != b.type:
        a, b = pc.cast(a, pa.string()), pc.cast(b, pa.string())
    return bool(a.equals(b))


class Join:
    """The cases of the first table, and those of other tables looked up among them by their ids.

    Only ids go through DuckDB, on disk where memory would not do; predictions are then read in their own order.
    """

    def __init__(self, engine: Any, source: OpenTable, folder: Path, *, text: bool, gather: bool) -> None:
        self.called = "the truth" if source.truth else source.name
        self.unknown: dict[str, tuple[int, list[Any]]] = {}  # by table: how many cases the first one lacks, and some
        self._engine, self._folder, self._text = engine, folder, text
        batches: list[Batch] = []
        unique = UniqueIds(source)

        def seen() -> Iterator[tuple[Any, Places]]:
            for batch in source.batches(together=True):
                batches.append(replace(batch, ids=None))
                yield batch.ids, batch.rows

        with _stream_of(engine, unique.watch(seen() if gather else _ids(source)), source, text=text):
            engine.execute("CREATE TEMP TABLE cases AS SELECT * FROM stream")
        if not unique.rising:
            _require_unique(engine, "cases", source)
        ((self.cases,),) = engine.execute("SELECT count(*) FROM cases").fetchall()
        self.first = concat(batches, source.path, source.names)
        new = [at for at, batch in enumerate(batches) if not at or batch.source != batches[at - 1].source]
        self._files = [batches[at].source for at in new]
        self._starts = np.cumsum([0, *map(len, batches)])[new]  # the first case of each file

    def look_up(self, source: OpenTable) -> Iterator[Matched]:
        """The cases of a table in its own order; those that the first one lacks are counted and left out.

        Of a first table in several files, those of each file come apart: row numbers are those of one file.
        """
        if source.layout.kind == "long":
            store = BatchStore(source, self._folder / str(len(self.unknown)))
            places, batches = self._places(source, store.fill()), store.batches()
        else:
            places, batches = self._places(source, source.ids()), source.batches()
        lo = 0
        for batch in batches:
            here = places[lo : lo + len(batch)]
            lo += len(batch)
            there = np.flatnonzero(here >= 0)
            files = np.searchsorted(self._starts, here[there], "right") - 1
            for file in np.unique(files).tolist():
                at = there[files == file]
                part = batch if len(at) == len(here) else batch.take(at)
                yield Matched(here[at], part, replace(self.first.take(here[at]), source=self._files[file]))

    def whole(self, source: OpenTable) -> Matched:
        """The cases of a table at once, in the order of the first one."""
        parts = list(self.look_up(source))
        if not parts:
            raise self.nothing_in_common(source.name)
        places = np.concatenate([part.places for part in parts])
        batch, order = concat([part.batch for part in parts], source.path, source.names), np.argsort(places)
        places = places[order]
        first = self.first if len(places) == self.cases else self.first.take(places)
        return Matched(places, batch.take(order), first, self.unknown[source.name][0])

    def keep(self, source: OpenTable) -> tuple[BatchStore, Places]:
        """A table on disk, and which of its cases each case of the first one is; -1 where there is none."""
        store = BatchStore(source, self._folder / str(len(self.unknown)))
        places = self._places(source, store.fill())
        there, rows = np.flatnonzero(places >= 0), np.full(self.cases, -1)
        rows[places[there]] = there
        return store, rows

    def _places(self, source: OpenTable, ids: Iterator[tuple[Any, Places]]) -> Places:
        """Where each case of a table stands in the first one; -1 where it does not."""
        out, count, unknown = np.full(1 << 16, -1), 0, 0
        known: list[tuple[int, Any]] = []
        query = (
            "SELECT s.place AS at, t.place, CASE WHEN t.place IS NULL THEN s.id END AS id "
            "FROM stream s LEFT JOIN cases t ON s.id = t.id"
        )
        # The build side of the join is the first table, whose size is known, not the stream.
        self._engine.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        with _stream_of(self._engine, ids, source, text=self._text):
            for table in self._engine.sql(query).to_arrow_reader(1 << 17):
                at, place = as_numpy(table.column("at")), table.column("place")
                count += len(at)
                if len(at) and at.max() >= len(out):
                    out = np.concatenate((out, np.full(max(len(out), int(at.max()) + 1), -1)))
                out[at] = as_numpy(need("pyarrow.compute").fill_null(place, -1))
                if place.null_count:
                    away = np.flatnonzero(blanks(place))
                    unknown += len(away)
                    away = away[np.argsort(at[away])[:_FEW]]
                    some = zip(at[away].tolist(), table.column("id").take(as_arrow(away)).to_pylist(), strict=True)
                    known = sorted([*known, *some])[:_FEW]
        self.unknown[source.name] = (unknown, [name for _, name in known])
        self._require_once(source, out[:count])
        return out[:count]

    def _require_once(self, source: OpenTable, places: Places) -> None:
        """No case may be there twice; the rows of a long table are one case."""
        there = np.flatnonzero(places >= 0)
        if np.bincount(places[there], minlength=1).max() < 2:
            return
        order = there[np.argsort(places[there], stable=True)]
        at, start = int(order[1:][np.diff(places[order]) == 0].min()), 0
        for batch in source.batches():
            if at < start + len(batch):
                row, name = batch.rows[at - start], None if batch.ids is None else batch.ids[at - start].as_py()
                raise FileError(
                    batch.source, f"case {quote(name)} is there twice.{_perhaps_long(source)}", row=int(row)
                )
            start += len(batch)

    def nothing_in_common(self, name: str) -> AlignmentError:
        """What to say of a table none of whose cases the first one has: what the ids of both look like."""
        own = ", ".join(map(quote, self.unknown[name][1][:3]))
        theirs = ", ".join(map(quote, self.ids(range(min(3, self.cases)))))
        looks = f" Its ids are such as {own}, those of {self.called} such as {theirs}." if own else ""
        return AlignmentError(f"{name} has none of the cases of {self.called}.{self.hint(name)}{looks}")

    def hint(self, name: str) -> str:
        """How the ids of a table that the first one lacks may be written otherwise there, or nothing."""
        known = map(str, self.ids(range(min(_HEAD, self.cases))))
        near = spelling_difference(map(str, self.unknown[name][1]), known, ids=True)
        called = self.called.removeprefix("the ")
        return "" if near is None else f" {quote(near[0])} and {quote(near[1])} ({called}) differ in {near[2]}."

    def ids(self, places: Any) -> list[Any]:
        """The ids of some cases of the first table."""
        wanted = ", ".join(str(int(place)) for place in places) or "NULL"
        found = self._engine.execute(f"SELECT id FROM cases WHERE place IN ({wanted}) ORDER BY place").fetchall()
        return [row[0] for row in found]


def _stream_of(engine: Any, ids: Iterator[tuple[Any, Places]], source: OpenTable, *, text: bool) -> Any:
    """The ids of a table as the table `stream` of the engine: id, row of the file, place among all cases."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    kind = pa.string() if text else pa.int64()
    schema = pa.schema([("id", kind), ("row", pa.int64()), ("place", pa.int64())])

    def numbered() -> Iterator[Any]:
        start = 0
        for column, rows in ids:
            places = np.arange(start, start + len(rows))
            start += len(rows)
            yield pa.record_batch([pc.cast(column, kind), pa.array(rows), pa.array(places)], schema=schema)

    return guarded(numbered(), schema, engine, source.path)


def _ids(source: OpenTable) -> Iterator[tuple[Any, Places]]:
    if source.layout.kind != "long":
        return source.ids()
    return ((batch.ids, batch.rows) for batch in source.batches(together=True))


def _ids_are_text(sources: Sequence[OpenTable]) -> bool:
    """Whether any ids are text: then all are compared as text."""
    types = need("pyarrow").types
    kinds = [source.reader.schema.field(source.layout.case).type for source in sources]
    return not all((types.is_integer(kind) and not types.is_uint64(kind)) or types.is_floating(kind) for kind in kinds)


def _require_unique(engine: Any, table: str, source: OpenTable) -> None:
    """No case may be there twice."""
    twice = engine.execute(
        f"SELECT id, count(*), min(row), max(row) FROM {table} "
        "GROUP BY id HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"
    ).fetchone()
    if twice:
        name, count, first, last = twice
        times = "twice" if count == 2 else f"{count:,} times"
        problem = f"case {quote(name)} is there {times}, first in row {first:,}.{_perhaps_long(source)}"
        raise FileError(source.path, problem, row=int(last))


def _perhaps_long(source: OpenTable) -> str:
    """What may be wrong where a row was taken for a case."""
    if source.layout.kind == "labels":
        own = "truth" if source.truth else source.name
        return f" If this is a long table, name its confidences: {argument('confidence', file=own)}."
    return f" If {quote(source.layout.case)} is no case id, name the column that is: {argument('case')}."


def _cases(count: int, ids: list[Any]) -> str:
    some = ", ".join(map(quote, ids[:3])) + (", ..." if count > len(ids[:3]) else "")
    return f"{count:,} case{'' if count == 1 else 's'} ({some})"


def silent(what: str, done: int, total: int | None) -> None:
    """No progress shown."""


@dataclass(slots=True)
class BatchStore:
    """The batches of one table in files of Arrow that are mapped into memory; wide tables keep classes as numbers."""

    source: OpenTable
    folder: Path
    _batches: list[Batch] = field(default_factory=list)

    def fill(self) -> Iterator[tuple[Any, Any]]:
        """Write all batches of the table, and yield the ids and rows of each."""
        pa, ipc = need("pyarrow"), need("pyarrow.ipc")
        with disk_full_explained():
            self.folder.mkdir()
        tables = ((batch, self._columns(batch)) for batch in self.source.batches(together=True))
        for at, (schema, run) in enumerate(groupby(tables, key=lambda pair: pair[1].schema)):
            path, written = str(self.folder / f"{at}.arrow"), []
            with disk_full_explained(), pa.OSFile(path, "wb") as sink, ipc.new_file(sink, schema) as writer:
                for batch, table in run:
                    writer.write_batch(table)
                    written.append((batch.source, batch.precision))
                    yield batch.ids, batch.rows
            file = ipc.open_file(pa.memory_map(path))
            self._batches += [_mapped(file.get_batch(i), *known) for i, known in enumerate(written)]

    def batches(self) -> Iterator[Batch]:
        """The batches in their order."""
        return map(self._named, self._batches)

    def take(self, at: NDArray[np.int64]) -> Batch:
        """The cases with these numbers, in this order, without their ids."""
        starts = np.cumsum([0, *map(len, self._batches)])
        home = np.searchsorted(starts, at, side="right") - 1
        order = np.argsort(home, kind="stable")
        cuts = np.searchsorted(home[order], np.arange(len(self._batches) + 1))
        parts = [
            replace(self._batches[which], ids=None).take(at[order[cuts[which] : cuts[which + 1]]] - starts[which])
            for which in np.flatnonzero(np.diff(cuts))
        ]
        return self._named(concat(parts, self.source.path).take(np.argsort(order, kind="stable")))

    def _columns(self, batch: Batch) -> Any:
        pa, at = need("pyarrow"), as_arrow(batch.offsets)
        columns = {
            "id": batch.ids,
            "row": as_arrow(batch.rows),
            "classes": pa.LargeListArray.from_arrays(at, self._numbered(batch)),
            "confidences": pa.LargeListArray.from_arrays(at, as_arrow(batch.confidences)),
        }
        if batch.rounding is not None:
            columns["rounding"] = as_arrow(batch.rounding)
        if batch.halves is not None:
            columns["halves"] = pa.FixedSizeListArray.from_arrays(as_arrow(batch.halves.ravel()), 3)
        return pa.record_batch(list(columns.values()), names=list(columns))

    def _numbered(self, batch: Batch) -> Column:
        """The classes of a batch, those of a wide table as numbers of its columns."""
        if not self.source.names:
            return plain(batch.classes)
        if batch.classes is None:
            return as_arrow(np.tile(np.arange(len(self.source.names), dtype=np.int32), len(batch)))
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        return pc.index_in(batch.classes, value_set=pa.array(self.source.names, pa.string()))

    def _named(self, batch: Batch) -> Batch:
        """The same batch with the names of the classes of a wide table."""
        if not self.source.names or batch.classes is None or not len(batch.classes):
            return batch
        return replace(batch, classes=need("pyarrow").array(self.source.names, "string").take(batch.classes))


def _mapped(kept: Any, source: str, precision: int | None) -> Batch:
    """A batch whose columns are those of a file; the system decides what of it is in memory."""
    confidences, found = kept.column("confidences"), kept.schema.names
    return Batch(
        source,
        as_numpy(kept.column("row")),
        kept.column("id"),
        as_numpy(confidences.offsets),
        kept.column("classes").values,
        as_numpy(confidences.values),
        halves=as_numpy(kept.column("halves").flatten()).reshape(-1, 3) if "halves" in found else None,
        rounding=as_numpy(kept.column("rounding")) if "rounding" in found else None,
        precision=precision,
    )
