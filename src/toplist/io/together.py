"""The same cases of several files, batch by batch: in step where they have one order, else in that of the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import AlignmentError
from toplist.io.alignment import differing_lengths, in_step, require_unique, stream_of
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy
from toplist.io.engine import connect
from toplist.io.gathering import some
from toplist.io.optional import need
from toplist.io.shelves import Shelf
from toplist.io.showing import few, shown
from toplist.io.sources import Source
from toplist.io.temporary import temporary_folder

MISSING = ("error", "common")
_PART = 1 << 15  # cases that are worked on at a time: their lists stay in the cache


@dataclass(slots=True)
class Cases:
    """Files that belong together, as batches of the same cases, and how many cases were left out of each."""

    sources: Sequence[Source]
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
            shelves = [Shelf(source, folder / str(at)) for at, source in enumerate(others)]
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
            raise AlignmentError(f'{"; ".join(lines)}. To take the cases that all have, pass missing="common".')
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
                "Name it with --case, or give all files in the same order without ids."
            )


@dataclass(slots=True)
class _Member:
    """A file on a shelf, and which of its rows each case of the first file has."""

    source: Source
    shelf: Shelf
    table: str
    rows: NDArray[np.int64]
    cases: int

    @classmethod
    def of(cls, engine: Any, source: Source, shelf: Shelf, table: str, *, text: bool) -> _Member:
        _tabulate(engine, source, shelf.fill(), table, text=text)
        found = engine.sql(
            f"SELECT t.place AS place, s.place AS own FROM {table} s JOIN truth t ON s.id = t.id"
        ).to_arrow_table()
        place, own = (as_numpy(column.combine_chunks()) for column in found.columns)
        rows = np.full(int(place.max(initial=-1)) + 1, -1)
        rows[place] = own
        ((cases,),) = engine.execute(f"SELECT count(*) FROM {table}").fetchall()
        return cls(source, shelf, table, rows, cases)


def _tabulate(engine: Any, source: Source, ids: Iterator[tuple[Any, Any]], table: str, *, text: bool) -> None:
    """The ids of a source as a table, each once."""
    with stream_of(engine, ids, source, text=text):
        engine.execute(f"CREATE TABLE {table} AS SELECT * FROM stream")
    require_unique(engine, table, source)


def _ids(source: Source) -> Iterator[tuple[Any, Any]]:
    if source.layout.kind != "long":
        return source.ids()
    return ((batch.ids, batch.rows) for batch in source.batches(together=True))


def _parts(batches: list[Batch]) -> Iterator[list[Batch]]:
    n = len(batches[0])
    for lo in range(0, n, _PART):
        yield [batch.part(lo, min(lo + _PART, n)) for batch in batches]


def _need_text(sources: Sequence[Source]) -> bool:
    """Whether any ids are text: then all are compared as text."""
    types = need("pyarrow").types
    kinds = [source.reader.schema.field(source.layout.case).type for source in sources]
    return not all((types.is_integer(kind) and not types.is_uint64(kind)) or types.is_floating(kind) for kind in kinds)
