"""A table with its layout: cases as batches of lists, as often as needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist.errors import TopListError
from toplist.io.batches import Batch, plain, to_batch, to_batches
from toplist.io.engine import connect, guarded
from toplist.io.layouts import Hints, Layout, recognise
from toplist.io.optional import need
from toplist.io.readers import Piece, Reader, open_frame, open_path


@dataclass(frozen=True, slots=True)
class Source:
    """Where predictions, or the truth, come from."""

    name: str
    reader: Reader
    layout: Layout

    @property
    def path(self) -> str:
        """The file, or what the table was called."""
        return self.reader.name

    @property
    def names(self) -> tuple[str, ...]:
        """The classes of a wide table, in the order of its columns."""
        return self.layout.classes if self.layout.kind == "wide" else ()

    def batches(self, *, together: bool = False) -> Iterator[Batch]:
        """The cases in the order of the file; `together` brings rows of a long table together that are apart."""
        pieces = self.reader.pieces(self.layout.columns)
        if self.layout.kind != "long":
            yield from (to_batch(piece, self.layout) for piece in pieces)
            return
        yield from to_batches(_together(pieces, self) if together else pieces, self.layout)


def open_source(what: Any, name: str, hints: Hints) -> Source:
    """A source from a path, a pattern, a folder, or a table in memory."""
    if isinstance(what, str | os.PathLike):
        reader = open_path(what)
    elif what is None:
        raise TopListError(f"{name}: nothing was given.")
    else:
        reader = open_frame(what, name)
    return Source(name, reader, recognise(reader.schema, reader.name, hints, text=reader.text))


def _together(pieces: Iterator[Piece], source: Source) -> Iterator[Piece]:
    """The rows of a long table, case by case in the order of their first rows."""
    pa, layout = need("pyarrow"), source.layout
    names = [f"c{i}" for i in range(len(layout.columns))]
    case = names[layout.columns.index(str(layout.case))]
    first = next(pieces, None)
    if first is None:
        return
    files: list[str] = []

    def numbered() -> Iterator[Any]:
        for piece in _chain(first, pieces):
            if not files or files[-1] != piece.source:
                files.append(piece.source)
            rows = np.arange(piece.start + 1, piece.start + len(piece.table) + 1)
            columns = [plain(column) for column in piece.table.columns]
            yield pa.record_batch(
                [*columns, pa.array(rows), pa.array(np.full(len(rows), len(files) - 1, np.int32))],
                names=[*names, "row", "file"],
            )

    schema = pa.schema(
        [(name, plain(column.slice(0, 0)).type) for name, column in zip(names, first.table.columns, strict=True)]
        + [("row", pa.int64()), ("file", pa.int32())]
    )
    with connect() as engine, guarded(numbered(), schema, engine, source.path) as stream:  # noqa: F841
        engine.execute("CREATE TEMP TABLE raw AS SELECT *, row_number() OVER () AS seq FROM stream")
        engine.execute(f"CREATE TEMP TABLE firsts AS SELECT {case}, min(seq) AS f FROM raw GROUP BY {case}")
        query = (
            f"SELECT {', '.join(f'raw.{name}' for name in names)}, raw.row, raw.file FROM raw LEFT JOIN firsts "
            f"ON raw.{case} IS NOT DISTINCT FROM firsts.{case} ORDER BY firsts.f, raw.seq"
        )
        start = 0
        for batch in engine.sql(query).to_arrow_reader(1 << 17):
            rows, which = (batch.column(name).to_numpy() for name in ("row", "file"))
            table = batch.select(names).rename_columns(layout.columns)
            yield Piece(files[int(which[0])], start, table, rows)
            start += len(batch)


def _chain(first: Piece, others: Iterator[Piece]) -> Iterator[Piece]:
    yield first
    yield from others
