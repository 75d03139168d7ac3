"""Which predictions belong to which outcome: in step where the files have one order, by a join where they have not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import AlignmentError, FileError
from toplist.io.batches import Batch, plain
from toplist.io.engine import connect, guarded, quoted
from toplist.io.optional import need
from toplist.io.sources import Source

Rows = NDArray[np.int64]


class OutOfStepError(Exception):
    """The files do not have the same cases in the same order."""


def in_step(truth: Source, sources: Sequence[Source]) -> Iterator[tuple[Batch, list[Batch]]]:
    """Batches of the same cases from all files at once, as long as they have the same order."""
    streams = [_Stream(source.batches()) for source in (truth, *sources)]
    unique = _Unique(truth)
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


@dataclass
class _Stream:
    """Batches that are used up in parts."""

    batches: Iterator[Batch]
    rest: Batch | None = None

    def head(self) -> Batch | None:
        while self.rest is None or not len(self.rest):
            self.rest = next(self.batches, None)
            if self.rest is None:
                return None
        return self.rest

    def take(self, count: int) -> Batch:
        head = self.head()
        if head is None:
            raise OutOfStepError
        self.rest = None if count == len(head) else head.part(count, len(head))
        return head.part(0, count)


@dataclass
class _Unique:
    """Ids that rise are unique; others are counted."""

    source: Source
    last: Any = None
    rising: bool = True

    def see(self, ids: Any) -> None:
        pc = need("pyarrow.compute")
        if not self.rising or not len(ids):
            return
        after = self.last is None or pc.greater(ids[0], self.last).as_py()
        inside = pc.all(pc.greater(ids.slice(1), ids.slice(0, len(ids) - 1)), min_count=0).as_py()
        self.rising, self.last = bool(after and inside), ids[len(ids) - 1]

    def require(self) -> None:
        if not self.rising:
            with connect() as engine, stream_of(engine, self.source, lists=False):
                require_unique(engine, "stream", self.source)


def same_ids(a: Any, b: Any) -> bool:
    """Are two columns of ids equal? Numbers and text that reads the same are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if a.type != b.type:
        a, b = pc.cast(a, pa.string()), pc.cast(b, pa.string())
    return bool(a.equals(b))


def require_unique(engine: Any, table: str, source: Source) -> None:
    """No case may be there twice."""
    twice = engine.execute(
        f"SELECT id, count(*), min(row), max(row) FROM {table} "
        "GROUP BY id HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"
    ).fetchone()
    if twice:
        name, times, first, last = twice
        raise FileError(source.path, f"case {name!r} is there {_times(times)}, first in row {first:,}.", row=int(last))


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"


def stream_of(engine: Any, source: Source, *, lists: bool, text: bool = False) -> Any:
    """A source as the table `stream` of the engine: id, row, file, and with `lists` what each case says."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    batches = source.batches(together=True)
    first = next(batches, None)
    as_text = text or (first is not None and first.ids is not None and pa.types.is_string(first.ids.type))
    kind = pa.string() if as_text else pa.int64()
    fields = [("id", kind), ("row", pa.int64()), ("file", pa.string())]
    if lists:
        item = pa.string() if first is None or first.classes is None else first.classes.type
        t = pa.float64() if first is None else pa.from_numpy_dtype(first.confidences.dtype)
        fields += [("classes", pa.large_list(item)), ("confidences", pa.large_list(t)), ("all", pa.bool_())]
        fields += [] if first is None else [(f"x_{name}", column.type) for name, column in first.extra.items()]
    schema = pa.schema(fields)

    def rows() -> Iterator[Any]:
        for batch in _chain(first, batches):
            ids = pc.cast(batch.ids, kind)
            columns = [ids, pa.array(batch.rows), pa.array([batch.source] * len(batch))]
            if lists:
                at = pa.array(batch.offsets)
                empty = pa.array(np.zeros(len(batch) + 1, np.int64))
                listed = batch.classes is not None
                values = plain(batch.classes).cast(item) if listed else pa.array([], item)
                columns += [
                    pa.LargeListArray.from_arrays(at if listed else empty, values),
                    pa.LargeListArray.from_arrays(at, pa.array(batch.confidences).cast(t)),
                    pa.array(np.full(len(batch), not listed)),
                    *batch.extra.values(),
                ]
            yield pa.record_batch(columns, schema=schema)

    return guarded(rows(), schema, engine, source.path)


def _chain(first: Batch | None, others: Iterator[Batch]) -> Iterator[Batch]:
    if first is not None:
        yield first
    yield from others


@dataclass(frozen=True, slots=True)
class Joined:
    """Predictions with what happened, and with the place of their case in the truth."""

    places: Rows
    batch: Batch
    truth: Batch


class Join:
    """The cases of the truth, and predictions looked up among them; on disk where memory would not do."""

    def __init__(self, engine: Any, truth: Source, *, text: bool) -> None:
        self.engine, self.truth, self.text = engine, truth, text
        with stream_of(engine, truth, lists=True, text=text):
            engine.execute("CREATE TEMP TABLE truth AS SELECT *, row_number() OVER () - 1 AS place FROM stream")
        require_unique(engine, "truth", truth)
        self.cases = int(engine.execute("SELECT count(*) FROM truth").fetchone()[0])
        self.unknown: dict[str, tuple[int, list[Any]]] = {}

    def look_up(self, source: Source) -> Iterator[Joined]:
        """The predictions of a source in an order that suits the join; those without a truth are counted."""
        self.engine.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        extra = "".join(", t." + quoted(f"x_{name}") for name in self.truth.layout.extra)
        query = (
            "SELECT s.id, s.row, s.file, s.classes, s.confidences, s.all, coalesce(t.place, -1) AS place, "
            f"t.row AS t_row, t.file AS t_file, t.classes AS t_classes, t.confidences AS t_confidences, t.all AS t_all"
            f"{extra} FROM stream s LEFT JOIN truth t ON s.id = t.id"
        )
        with stream_of(self.engine, source, lists=True, text=self.text):
            for table in self.engine.sql(query).to_arrow_reader(1 << 16):
                known = self._known(table, source)
                for part in _uniform(known):
                    places = part.column("place").to_numpy()
                    yield Joined(places, _batch(part, ""), _batch(part, "t_", self.truth.layout.extra))

    def _known(self, table: Any, source: Source) -> Any:
        there = table.column("place").to_numpy() >= 0
        if there.all():
            return table
        pa = need("pyarrow")
        count, shown = self.unknown.get(source.name, (0, []))
        ids = table.column("id").filter(pa.array(~there))
        self.unknown[source.name] = (count + len(ids), shown or ids.slice(0, 3).to_pylist())
        return table.filter(pa.array(there))

    def ids(self, places: Any) -> list[Any]:
        """The ids of some cases of the truth."""
        shown = ", ".join(str(int(place)) for place in places)
        found = self.engine.execute(f"SELECT id FROM truth WHERE place IN ({shown}) ORDER BY place").fetchall()
        return [row[0] for row in found]


def _uniform(table: Any) -> Iterator[Any]:
    """Rows of one file at a time, and of one shape."""
    kinds = np.zeros(len(table), np.int64)
    for name in ("file", "t_file"):
        codes = plain(table.column(name)).dictionary_encode()
        kinds = kinds * (len(codes.dictionary) + 1) + codes.indices.to_numpy(zero_copy_only=False)
    for name in ("all", "t_all"):
        kinds = kinds * 2 + table.column(name).to_numpy(zero_copy_only=False)
    for kind in np.unique(kinds):
        where = np.flatnonzero(kinds == kind)
        yield table if len(where) == len(table) else table.take(need("pyarrow").array(where))


def _batch(table: Any, prefix: str, extra: Sequence[str] = ()) -> Batch:
    classes, t = table.column(f"{prefix}classes"), table.column(f"{prefix}confidences")
    offsets, values = _flat(t)
    full = table.column(f"{prefix}all")[0].as_py()
    return Batch(
        table.column(f"{prefix}file")[0].as_py(),
        table.column(f"{prefix}row").to_numpy(),
        table.column("id"),
        offsets,
        None if full else plain(_flat(classes)[1]),
        values.to_numpy(zero_copy_only=False),
        {name: plain(table.column(f"x_{name}")) for name in extra},
    )


def _flat(column: Any) -> tuple[Rows, Any]:
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def require_same_cases(
    missing: Sequence[tuple[str, int, list[Any]]], unknown: Sequence[tuple[str, int, list[Any]]]
) -> None:
    """Say who lacks what, and who has what nobody asked for."""
    lines = [f"{name} lacks {_cases(count, ids)}" for name, count, ids in missing if count]
    lines += [f"{name} has {_cases(count, ids)} that the truth does not have" for name, count, ids in unknown if count]
    if lines:
        raise AlignmentError(
            f'{"; ".join(lines)}. Choose what to do about it: missing="common" (cases that all have), "pairwise" '
            '(relative skill) or "reject" (an absent prediction is the empty list).'
        )


def _cases(count: int, ids: list[Any]) -> str:
    shown = ", ".join(repr(one) for one in ids[:3]) + (", ..." if count > len(ids[:3]) else "")
    return f"{count:,} case{'' if count == 1 else 's'} ({shown})"
