"""Case ids as columns: whether any is there twice, and tables of them for the engine that looks them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.columns import Column
from toplist.io.layout import Layout
from toplist.io.readers.base import connect, guarded

IdsAndRows = Iterable[tuple[Column, NDArray[np.int64]]]
"""Ids, and the row of each in its file, batch by batch."""


@dataclass(slots=True)
class UniqueIds:
    """Whether ids rise as they are read: then none is there twice, and nothing has to be looked up."""

    last: Any = None
    rising: bool = True

    def see(self, ids: Column) -> None:
        """The ids of the next batch."""
        pc = need("pyarrow.compute")
        if not self.rising or not len(ids):
            return
        after = self.last is None or pc.greater(ids[0], self.last).as_py()
        inside = pc.all(pc.greater(ids.slice(1), ids.slice(0, len(ids) - 1)), min_count=0).as_py()
        self.rising, self.last = bool(after and inside), ids[len(ids) - 1]


def same_ids(a: Column, b: Column) -> bool:
    """Are two columns of ids equal? Numbers and text that reads the same are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if a.type != b.type:
        a, b = pc.cast(a, pa.string()), pc.cast(b, pa.string())
    return bool(a.equals(b))


def id_stream(engine: Any, ids: IdsAndRows, path: str, *, text: bool) -> AbstractContextManager[Any]:
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

    return guarded(numbered(), schema, engine, path)


def are_text(kinds: Iterable[Any]) -> bool:
    """Whether ids of any of these types are text: then all are compared as text."""
    types = need("pyarrow").types
    return not all((types.is_integer(kind) and not types.is_uint64(kind)) or types.is_floating(kind) for kind in kinds)


def repeated(engine: Any, table: str) -> Repeated | None:
    """Of the ids that are there several times, the one that begins first."""
    twice = engine.execute(
        f"SELECT id, count(*), min(row), max(row) FROM {table} "
        "GROUP BY id HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"
    ).fetchone()
    return None if twice is None else Repeated(*twice)


def repeated_among(ids: IdsAndRows, path: str, *, text: bool) -> Repeated | None:
    """The same of ids that are read."""
    with connect() as engine, id_stream(engine, ids, path, text=text):
        return repeated(engine, "stream")


@dataclass(frozen=True, slots=True)
class Repeated:
    """An id that is there several times, with its first row and its last one."""

    name: Any
    count: int
    first: int
    last: int

    def error(self, path: str, layout: Layout, owner: str) -> FileError:
        """What to say of it, in a table of this owner in which no case may be there twice."""
        times = "twice" if self.count == 2 else f"{self.count:,} times"
        problem = f"case {quote(self.name)} is there {times}, first in row {self.first:,}."
        return FileError(path, f"{problem}{perhaps_long(layout, owner)}", row=int(self.last))


def perhaps_long(layout: Layout, owner: str) -> str:
    """What may be wrong where a row was taken for a case."""
    if layout.kind == "labels":
        return f" If this is a long table, name its confidences: {argument('confidence', file=owner)}."
    return f" If {quote(layout.case)} is no case id, name the column that is: {argument('case')}."
