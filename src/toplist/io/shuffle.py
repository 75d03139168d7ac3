"""Rows brought together by case id: split into buckets by a hash of the id, and read again bucket by bucket.

A block holds the rows of one bucket in one unit of one table, as Arrow writes them, with the file and the row numbers
that they come from; a table of blocks reads them in the order of the source. Where the rows of a table with very many
classes are entries, blocks keep them as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist.errors import TopListError
from toplist.io.columns import as_arrow, as_numpy, id_hashes, identifiers, offsets_of, plain
from toplist.io.readers.base import Entries, Reader, TableChunk
from toplist.io.sources import OpenTable

ROWS, PLACES, VALUES = "\x1frow", "\x1fplaces", "\x1fvalues"  # columns of a block beside those of its table
_SEED = 17  # of the hash that tells buckets; another one than that of samples, or a bucket would have all of a sample
_TOGETHER = 1 << 16  # rows of one file that are read at a time


def buckets_of(ids: Any, count: int) -> NDArray[np.int64]:
    """The bucket of each case id, of so many."""
    return (id_hashes(ids, _SEED) % np.uint64(count)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class BlockKey:
    """Which table of a plan the rows are of, and where they stand in its order."""

    table: int
    unit: int
    part: int  # of the unit: another file, or columns of other types
    file: str

    @classmethod
    def of(cls, schema: Any) -> BlockKey:
        """From the metadata of a block."""
        known = schema.metadata or {}
        table, unit, part = (int(known[name]) for name in (b"table", b"unit", b"part"))
        return cls(table, unit, part, known[b"file"].decode("utf-8", "surrogateescape"))

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What a block says of itself."""
        file = self.file.encode("utf-8", "surrogateescape")
        return {b"table": b"%d" % self.table, b"unit": b"%d" % self.unit, b"part": b"%d" % self.part, b"file": file}


def split(
    table: OpenTable, number: int, unit: int, buckets: int, columns: Sequence[str] | None = None
) -> Iterator[tuple[int, bytes]]:
    """The rows of a table by bucket, as blocks; by default the columns of its layout."""
    part, case = 0, str(table.layout.case)
    held: dict[int, list[Any]] = {}
    known: Any = None
    for piece in table.pieces(table.layout.columns if columns is None else columns):
        batch = _packed(piece)
        if known is not None and known != (piece.source, batch.schema):
            yield from _written(held, BlockKey(number, unit, part, known[0]))
            held, part = {}, part + 1
        known = piece.source, batch.schema
        home = buckets_of(identifiers(piece.table.column(case), piece.source, piece.row_numbers), buckets)
        order = np.argsort(home, kind="stable")
        cuts = np.searchsorted(home[order], np.arange(buckets + 1))
        for bucket in np.flatnonzero(np.diff(cuts)).tolist():
            held.setdefault(bucket, []).append(batch.take(as_arrow(order[cuts[bucket] : cuts[bucket + 1]])))
    if known is not None:
        yield from _written(held, BlockKey(number, unit, part, known[0]))


def _packed(piece: TableChunk) -> Any:
    """The columns of a piece, its row numbers and its entries as one batch."""
    pa, table = need("pyarrow"), piece.table
    columns = {name: table.column(name) for name in table.schema.names}
    columns[ROWS] = as_arrow(piece.row_numbers)
    if piece.entries is not None:
        at, values = as_arrow(piece.entries.offsets), piece.entries.values
        columns[PLACES] = pa.LargeListArray.from_arrays(at, as_arrow(piece.entries.places))
        flat = as_arrow(values) if isinstance(values, np.ndarray) else plain(values)
        columns[VALUES] = pa.LargeListArray.from_arrays(at, flat)
    return pa.record_batch(list(columns.values()), names=list(columns))


def _written(held: dict[int, list[Any]], key: BlockKey) -> Iterator[tuple[int, bytes]]:
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    for bucket, batches in held.items():
        schema, sink = batches[0].schema.with_metadata(key.metadata), pa.BufferOutputStream()
        with ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(pa.Table.from_batches(batches).combine_chunks().replace_schema_metadata(key.metadata))
        yield bucket, sink.getvalue().to_pybytes()


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one table that belong to one bucket."""

    key: BlockKey
    table: Any  # of Arrow


def read_block(data: bytes) -> Block:
    """The rows that were written."""
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    try:
        with ipc.open_stream(pa.py_buffer(data)) as reader:
            return Block(BlockKey.of(reader.schema), reader.read_all())
    except (pa.ArrowException, KeyError, ValueError, OSError):
        raise TopListError("rows that were sent from one worker to another have been damaged on the way.") from None


def tables_of_blocks(tables: Sequence[OpenTable], blocks: Iterable[Block]) -> list[OpenTable]:
    """Each table with the rows of these blocks alone, which come in any order."""
    own: list[list[Block]] = [[] for _ in tables]
    for block in blocks:
        own[block.key.table].append(block)
    made = []
    for table, some in zip(tables, own, strict=True):
        some.sort(key=lambda one: (one.key.unit, one.key.part))
        made.append(replace(table, reader=BlockReader(table, some), told=table.reading))
    return made


class BlockReader(Reader):
    """The rows of blocks, in the order of the table that they come from."""

    def __init__(self, table: OpenTable, blocks: Sequence[Block]) -> None:
        reader = table.reader
        self.table, self.blocks = table, tuple(blocks)
        self.paths, self.name = reader.paths, reader.name
        self.rows = sum(len(block.table) for block in blocks)
        self.text, self.decimal, self.unnamed = reader.text, reader.decimal, reader.unnamed
        self.index, self.named_index, self.parts = reader.index, reader.named_index, reader.parts
        self.origin, self.bare = reader.origin, reader.bare

    @property
    def schema(self) -> Any:
        """Names and types, of the whole table."""
        return self.table.reader.schema

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        pa = need("pyarrow")
        for (file, _), run in groupby(self.blocks, key=lambda one: (one.key.file, one.table.schema.types)):
            whole = pa.concat_tables([block.table.replace_schema_metadata(None) for block in run])
            for batch in whole.combine_chunks().to_batches(_TOGETHER):
                yield _unpacked(batch, columns, file)


def _unpacked(batch: Any, columns: Sequence[str], file: str) -> TableChunk:
    names = [name for name in columns if name in batch.schema.names]  # entries are elsewhere
    rows = as_numpy(batch.column(ROWS))
    entries = None
    if PLACES in batch.schema.names and len(names) < len(columns):
        places, values = batch.column(PLACES), batch.column(VALUES).flatten()
        sizes = as_numpy(need("pyarrow.compute").list_value_length(places))
        numbers = as_numpy(values) if need("pyarrow").types.is_floating(values.type) else values
        entries = Entries(offsets_of(sizes), as_numpy(places.flatten()), numbers)
    return TableChunk(file, 0, batch.select(names), rows, entries)
