"""From what people name to a plan: sources are opened, layouts recognised, classes declared.

Which predictions belong to which outcome: in step where the files have one order, by a join where they have not.

The same cases of several files, batch by batch: in step where they have one order, else in that of the first.

Files as checked lists with common codes: batch by batch, or all of them in memory to fit something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import temporary_folder
from toplist._optional import need
from toplist._text import argument, few, shown, variant
from toplist.errors import AlignmentError, FileError

pass

from toplist.io.batches import Batch
from toplist.io.columns import as_numpy
from toplist.io.duckdb_engine import connect, guarded
from toplist.io.sources import OpenTable
from toplist.io.spill import BatchStore, ListStore, gathered, some

Rows = NDArray[np.int64]
_FEW = 20  # ids of a source that the truth does not have, to be shown or compared with
_HEAD = 1000  # ids of the truth that these are compared with


class OutOfStepError(Exception):
    """The files do not have the same cases in the same order."""


def in_step(truth: OpenTable, sources: Sequence[OpenTable]) -> Iterator[tuple[Batch, list[Batch]]]:
    """Batches of the same cases from all files at once, as long as they have the same order."""
    streams = [_Stream(source.batches()) for source in (truth, *sources)]
    unique = UniqueIds(truth)
    if truth.layout.case is None:
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
            if any(not same_ids(ids, part.ids) for part in parts[1:]):
                raise OutOfStepError
            unique.see(ids)
        yield parts[0], parts[1:]
    unique.require()


def _require_one_length(streams: Sequence[_Stream]) -> None:
    """Files without ids that are short are opened one by one: the first two that differ in length decide."""
    known: int | None = None
    for at, stream in enumerate(streams):
        least, whole = stream.length()
        if at and known is not None and (least > known or (whole and least != known)):
            raise OutOfStepError
        known = least if not at and whole else known


@dataclass
class _Stream:
    """Batches that are used up in parts."""

    batches: Iterator[Batch]
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
            with connect() as engine, stream_of(engine, self.source.ids(), self.source, text=text):
                require_unique(engine, "stream", self.source)


def differing_lengths(sources: Sequence[OpenTable]) -> str:
    """What to say of files without ids: the first two that differ in length."""
    first, *others = sources
    cases, few = _rows(first), ""
    for source in others:
        count = _rows(source)
        if count != cases:
            few = f"{first.path} has {cases:,}, {source.path} has {count:,}"
            break
    remedy = "Give every file a column with case ids, or the same cases in the same order."
    return f"without case ids, all files need the same number of rows: {few}. {remedy}"


def _rows(source: OpenTable) -> int:
    """How many rows a file without ids has: one for each case."""
    known = source.reader.rows
    one = source.layout.columns[:1]
    return sum(len(piece.table) for piece in source.reader.pieces(one)) if known is None else known


def same_ids(a: Any, b: Any) -> bool:
    """Are two columns of ids equal? Numbers and text that reads the same are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if a.type != b.type:
        a, b = pc.cast(a, pa.string()), pc.cast(b, pa.string())
    return bool(a.equals(b))


def require_unique(engine: Any, table: str, source: OpenTable) -> None:
    """No case may be there twice."""
    twice = engine.execute(
        f"SELECT id, count(*), min(row), max(row) FROM {table} "
        "GROUP BY id HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"
    ).fetchone()
    if twice:
        name, times, first, last = twice
        problem = f"case {shown(name)} is there {_times(times)}, first in row {first:,}.{_perhaps_long(source)}"
        raise FileError(source.path, problem, row=int(last))


def _perhaps_long(source: OpenTable) -> str:
    """What may be wrong where a row was taken for a case."""
    if source.layout.kind == "labels":
        own = "truth" if source.truth else source.name
        return f" If this is a long table, name its confidences: {argument('confidence', file=own)}."
    return f" If {shown(source.layout.case)} is no case id, name the column that is: {argument('case')}."


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"


def stream_of(engine: Any, ids: Iterator[tuple[Any, Rows]], source: OpenTable, *, text: bool) -> Any:
    """The ids of a source as the table `stream` of the engine: id, row of the file, place among all cases."""
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


@dataclass(frozen=True, slots=True)
class Joined:
    """Predictions with what happened, and with the place of their case in the truth."""

    places: Rows
    batch: Batch
    truth: Batch


class Join:
    """The cases of the truth, and predictions looked up among them by their ids.

    Only ids go through DuckDB, on disk where memory would not do; predictions are then read in their own order.
    """

    def __init__(self, engine: Any, truth: OpenTable, folder: Path, *, text: bool) -> None:
        self.engine, self.source, self.folder, self.text = engine, truth, folder, text
        batches: list[Batch] = []

        unique = UniqueIds(truth)

        def seen() -> Iterator[tuple[Any, Rows]]:
            for batch in truth.batches(together=True):
                batches.append(replace(batch, ids=None))
                unique.see(batch.ids)
                yield batch.ids, batch.rows

        with stream_of(engine, seen(), truth, text=text):
            engine.execute("CREATE TEMP TABLE truth AS SELECT * FROM stream")
        if not unique.rising:
            require_unique(engine, "truth", truth)
        if not batches:
            raise FileError(truth.path, "there are no cases.")
        self.truth = gathered(batches, truth.path)
        self.cases = len(self.truth)
        self.unknown: dict[str, tuple[int, list[Any]]] = {}

    def look_up(self, source: OpenTable) -> Iterator[Joined]:
        """The predictions of a source in their own order; those without a truth are counted and left out."""
        if source.layout.kind == "long":
            spill = BatchStore.of(
                source.batches(together=True), self.folder / f"{len(list(self.folder.iterdir()))}.arrow"
            )
            places, batches = self._places(source, ((b.ids, b.rows) for b in spill.batches())), spill.batches()
        else:
            places, batches = self._places(source, source.ids()), source.batches()
            self._require_new(source, places)
        lo = 0
        for batch in batches:
            hi = lo + len(batch)
            here, part = places[lo:hi], batch
            lo = hi
            there = np.flatnonzero(here >= 0)
            if len(there) < len(here):
                self._leave_out(source, batch, here)
                here, part = here[there], some(batch, there)
            if len(here):
                yield Joined(here, part, some(self.truth, here))

    def _places(self, source: OpenTable, ids: Iterator[tuple[Any, Rows]]) -> Rows:
        """Where each case of a source stands in the truth; -1 where it does not."""
        out = np.full(1 << 16, -1)
        count = 0
        query = "SELECT s.place AS at, t.place FROM stream s LEFT JOIN truth t ON s.id = t.id"
        # The build side of the join is the truth, whose size is known, not the stream.
        self.engine.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        with stream_of(self.engine, ids, source, text=self.text):
            for table in self.engine.sql(query).to_arrow_reader(1 << 17):
                at, place = as_numpy(table.column("at")), table.column("place")
                count += len(at)
                if len(at) and at.max() >= len(out):
                    out = np.concatenate((out, np.full(max(len(out), int(at.max()) + 1), -1)))
                out[at] = as_numpy(need("pyarrow.compute").fill_null(place, -1))
        return out[:count]

    def _require_new(self, source: OpenTable, places: Rows) -> None:
        """No case may be there twice; the rows of a long table are one case."""
        there = np.flatnonzero(places >= 0)
        if np.bincount(places[there], minlength=1).max() < 2:
            return
        order = there[np.argsort(places[there], stable=True)]
        at, start = int(order[1:][np.diff(places[order]) == 0].min()), 0
        for batch in source.batches():
            if at < start + len(batch):
                row, name = batch.rows[at - start], None if batch.ids is None else batch.ids[at - start].as_py()
                problem = f"case {shown(name)} is there twice.{_perhaps_long(source)}"
                raise FileError(batch.source, problem, row=int(row))
            start += len(batch)

    def _leave_out(self, source: OpenTable, batch: Batch, places: Rows) -> None:
        away = np.flatnonzero(places < 0)
        count, known = self.unknown.get(source.name, (0, []))
        ids = [] if batch.ids is None else [batch.ids[int(i)].as_py() for i in away[: _FEW - len(known)]]
        self.unknown[source.name] = (count + len(away), known + ids)

    def require_some(self, name: str) -> None:
        """For a source none of whose cases is in the truth: say so, with what the ids look like."""
        own = ", ".join(map(shown, self.unknown.get(name, (0, []))[1][:3]))
        theirs = ", ".join(map(shown, self.ids(range(min(3, self.cases)))))
        looks = f" Its ids are such as {own}, those of the truth such as {theirs}." if own else ""
        raise AlignmentError(f"{name} has none of the cases of the truth.{self.hint(name)}{looks}")

    def hint(self, name: str) -> str:
        """How the ids of a source that the truth does not have may be written otherwise there, or nothing."""
        known = map(str, self.ids(range(min(_HEAD, self.cases))))
        near = variant(map(str, self.unknown.get(name, (0, []))[1]), known, ids=True)
        return "" if near is None else f" {shown(near[0])} and {shown(near[1])} (truth) differ in {near[2]}."

    def ids(self, places: Any) -> list[Any]:
        """The ids of some cases of the truth."""
        wanted = ", ".join(str(int(place)) for place in places)
        found = self.engine.execute(f"SELECT id FROM truth WHERE place IN ({wanted}) ORDER BY place").fetchall()
        return [row[0] for row in found]


def require_same_cases(
    missing: Sequence[tuple[str, int, list[Any]]], unknown: Sequence[tuple[str, int, list[Any]]], hint: str = ""
) -> None:
    """Say who lacks what, and who has what nobody asked for."""
    lines = [f"{name} lacks {_cases(count, ids)}" for name, count, ids in missing if count]
    lines += [f"{name} has {_cases(count, ids)} that the truth does not have" for name, count, ids in unknown if count]
    if lines:
        raise AlignmentError(
            f"{'; '.join(lines)}.{hint} Choose what to do about it: {argument('missing', 'common')} (cases that all "
            "have), pairwise (relative skill) or reject (an absent prediction is the empty list)."
        )


def _cases(count: int, ids: list[Any]) -> str:
    few = ", ".join(shown(one) for one in ids[:3]) + (", ..." if count > len(ids[:3]) else "")
    return f"{count:,} case{'' if count == 1 else 's'} ({few})"


MISSING = ("error", "common")
_PART = 1 << 15  # cases that are worked on at a time: their lists stay in the cache


@dataclass(slots=True)
class AlignedCases:
    """Files that belong together, as batches of the same cases, and how many cases were left out of each."""

    sources: Sequence[OpenTable]
    missing: str = "error"
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int | None:
        """How many rows the first file has, where that is known."""
        return self.sources[0].reader.rows

    def in_step(self) -> Iterator[list[Batch]]:
        """As long as all have the same cases in the same order; else `OutOfStepError` is raised."""
        self._require_ids()
        first, *others = self.sources
        for head, rest in in_step(first, others):
            yield from _parts([head, *rest])

    def in_order(self) -> Iterator[list[Batch]]:
        """Whatever order the files have, in the order of the first.

        DuckDB says where each id stands; the lists of the other files are kept on disk and looked up there.
        """
        first, *others = self.sources
        if first.layout.case is None:
            raise AlignmentError(differing_lengths(self.sources))
        with connect() as engine, temporary_folder() as folder:
            text = _need_text(self.sources)
            _tabulate(engine, first, _ids(first), "truth", text=text)
            shelves = [ListStore(source, folder / str(at)) for at, source in enumerate(others)]
            members = [
                _Member.of(engine, source, shelf, f"member{at}", text=text)
                for at, (source, shelf) in enumerate(zip(others, shelves, strict=True))
            ]
            keep = self._common(engine, members)
            lo = 0
            for batch in first.batches(together=True):
                here = np.flatnonzero(keep[lo : lo + len(batch)])
                head = batch if len(here) == len(batch) else some(batch, here)
                yield from _parts([head, *(one.shelf.take(one.rows[lo + here]) for one in members)])
                lo += len(batch)

    def _common(self, engine: Any, members: Sequence[_Member]) -> NDArray[np.bool_]:
        """Which cases of the first file all files have; where some do not, it is an error unless that was asked for."""
        own = self.sources[0].name
        ((cases,),) = engine.execute("SELECT count(*) FROM truth").fetchall()
        keep, lines = np.ones(cases, bool), []
        for member in members:
            member.rows = np.concatenate((member.rows, np.full(max(cases - len(member.rows), 0), -1)))[:cases]
            keep &= member.rows >= 0
            for words, table, other in (
                (f"lacks {{}} that {own} has", "truth", member.table),
                (f"has {{}} that {own} lacks", member.table, "truth"),
            ):
                query = f"FROM {table} a ANTI JOIN {other} b ON a.id = b.id"
                ((count,),) = engine.execute(f"SELECT count(*) {query}").fetchall()
                few = engine.execute(f"SELECT id {query} ORDER BY place LIMIT 3").fetchall() if count else []
                if few:
                    ids = ", ".join(shown(one) for (one,) in few) + (", ..." if count > len(few) else "")
                    named = f"{count:,} case{'' if count == 1 else 's'} ({ids})"
                    lines.append(f"{member.source.name} {words.format(named)}")
        if lines and self.missing == "error":
            raise AlignmentError(
                f"{'; '.join(lines)}. To take the cases that all have, pass {argument('missing', 'common')}."
            )
        if cases and not keep.any():
            raise AlignmentError(
                "there is no case that all files have. Leave out a file with other cases, or see whether ids differ."
            )
        kept = int(keep.sum())
        self.left_out.update({own: cases - kept, **{one.source.name: one.cases - kept for one in members}})
        return keep

    def _require_ids(self) -> None:
        without = [source.path for source in self.sources if source.layout.case is None]
        if 0 < len(without) < len(self.sources):
            raise AlignmentError(
                f"{few(without)}: there is no column with case ids, but the other files have one. "
                f"Name it with {argument('case')}, or give all files in the same order without ids."
            )


@dataclass(slots=True)
class _Member:
    """A file on a shelf, and which of its rows each case of the first file has."""

    source: OpenTable
    shelf: ListStore
    table: str
    rows: NDArray[np.int64]
    cases: int

    @classmethod
    def of(cls, engine: Any, source: OpenTable, shelf: ListStore, table: str, *, text: bool) -> _Member:
        _tabulate(engine, source, shelf.fill(), table, text=text)
        found = engine.sql(
            f"SELECT t.place AS place, s.place AS own FROM {table} s JOIN truth t ON s.id = t.id"
        ).to_arrow_table()
        place, own = (as_numpy(column.combine_chunks()) for column in found.columns)
        rows = np.full(int(place.max(initial=-1)) + 1, -1)
        rows[place] = own
        ((cases,),) = engine.execute(f"SELECT count(*) FROM {table}").fetchall()
        return cls(source, shelf, table, rows, cases)


def _tabulate(engine: Any, source: OpenTable, ids: Iterator[tuple[Any, Any]], table: str, *, text: bool) -> None:
    """The ids of a source as a table, each once."""
    with stream_of(engine, ids, source, text=text):
        engine.execute(f"CREATE TABLE {table} AS SELECT * FROM stream")
    require_unique(engine, table, source)


def _ids(source: OpenTable) -> Iterator[tuple[Any, Any]]:
    if source.layout.kind != "long":
        return source.ids()
    return ((batch.ids, batch.rows) for batch in source.batches(together=True))


def _parts(batches: list[Batch]) -> Iterator[list[Batch]]:
    n = len(batches[0])
    for lo in range(0, n, _PART):
        yield [batch.part(lo, min(lo + _PART, n)) for batch in batches]


def _need_text(sources: Sequence[OpenTable]) -> bool:
    """Whether any ids are text: then all are compared as text."""
    types = need("pyarrow").types
    kinds = [source.reader.schema.field(source.layout.case).type for source in sources]
    return not all((types.is_integer(kind) and not types.is_uint64(kind)) or types.is_floating(kind) for kind in kinds)


def silent(what: str, done: int, total: int | None) -> None:
    """No progress shown."""
