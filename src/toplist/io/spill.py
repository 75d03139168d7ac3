"""Batches put together, taken apart, and kept on disk.

Lists of a file on disk, looked up by the number of their case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import room
from toplist._optional import need
from toplist.io.batches import Batch, shown_of
from toplist.io.columns import Column, as_arrow, as_numpy, offsets_of, plain
from toplist.io.sources import OpenTable


def some(batch: Batch, at: NDArray[Any]) -> Batch:
    """Some of the cases, in any order."""
    pa = need("pyarrow")
    where = pa.array(at)
    sizes = np.diff(batch.offsets)[at]
    offsets = offsets_of(sizes)
    entries = np.repeat(batch.offsets[:-1][at] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return replace(
        batch,
        rows=batch.rows[at],
        ids=None if batch.ids is None else batch.ids.take(where),
        offsets=offsets,
        classes=None if batch.classes is None else batch.classes.take(pa.array(entries)),
        confidences=batch.confidences[entries],
        extra={name: column.take(where) for name, column in batch.extra.items()},
        halves=None if batch.halves is None else batch.halves[at],
        rounding=None if batch.rounding is None else batch.rounding[at],
    )


def gathered(batches: Sequence[Batch], source: str) -> Batch:
    """All cases as one batch, without their ids."""
    sizes = [np.diff(batch.offsets) for batch in batches]
    listed = all(batch.classes is not None for batch in batches)
    return Batch(
        batches[0].source if len({batch.source for batch in batches}) == 1 else source,
        np.concatenate([batch.rows for batch in batches]),
        None,
        offsets_of(np.concatenate(sizes)),
        _one([batch.classes for batch in batches]) if listed else None,
        np.concatenate([batch.confidences for batch in batches]),
        {name: _one([batch.extra[name] for batch in batches]) for name in batches[0].extra},
        _stacked([batch.halves for batch in batches]),
        **together(batches),
    )


def together(batches: Sequence[Batch]) -> dict[str, Any]:
    """The rounding of all batches as one: by case where any shows it, and the least precision."""
    known = None
    if any(batch.rounding is not None for batch in batches):
        parts = [np.zeros(len(batch)) if batch.rounding is None else batch.rounding for batch in batches]
        known = np.concatenate(parts)
    given = [batch.precision for batch in batches if batch.precision is not None]
    return {"rounding": known, "precision": min(given, default=None)}


def rounding_of(batches: Sequence[Batch]) -> dict[str, Any]:
    """The same as `Rows` have it."""
    found = together(batches)
    return {"precision": found["precision"], "shown": shown_of(found["rounding"])}


def _stacked(halves: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    known = [part for part in halves if part is not None]
    return np.concatenate(known) if known and len(known) == len(halves) else None


def _one(columns: Sequence[Any]) -> Any:
    """One column of several; text may be more than two gigabytes."""
    pa = need("pyarrow")
    if any(pa.types.is_string(column.type) for column in columns):
        columns = [column.cast(pa.large_string()) for column in columns]
    return pa.concat_arrays(columns)


@dataclass(frozen=True, slots=True)
class BatchStore:
    """Batches of lists on disk, for those that are costly to make again."""

    path: Path
    files: tuple[str, ...]
    precision: int | None = None

    @classmethod
    def of(cls, batches: Iterator[Batch], path: Path) -> BatchStore:
        """Write them down."""
        pa, ipc = need("pyarrow"), need("pyarrow.ipc")
        files: list[str] = []
        writer, precision = None, None
        with room(), pa.OSFile(str(path), "wb") as sink:
            for batch in batches:
                if not files or files[-1] != batch.source:
                    files.append(batch.source)
                precision = batch.precision
                at = pa.array(batch.offsets)
                columns = {
                    "id": batch.ids,
                    "row": pa.array(batch.rows),
                    "file": pa.array(np.full(len(batch), len(files) - 1, np.int32)),
                    "classes": pa.LargeListArray.from_arrays(at, plain(batch.classes)),
                    "confidences": pa.LargeListArray.from_arrays(at, pa.array(batch.confidences)),
                }
                if batch.rounding is not None:
                    columns["rounding"] = pa.array(batch.rounding)
                if batch.halves is not None:
                    columns["halves"] = pa.FixedSizeListArray.from_arrays(pa.array(batch.halves.ravel()), 3)
                table = pa.record_batch(list(columns.values()), names=list(columns))
                writer = writer or ipc.new_file(sink, table.schema)
                writer.write_batch(table)
            if writer is not None:
                writer.close()
        return cls(path, tuple(files), precision)

    def batches(self) -> Iterator[Batch]:
        """Read them again."""
        if not self.files:
            return
        pa, ipc = need("pyarrow"), need("pyarrow.ipc")
        with pa.memory_map(str(self.path)) as source:
            file = ipc.open_file(source)
            for table in (file.get_batch(i) for i in range(file.num_record_batches)):
                classes, t = table.column("classes"), table.column("confidences")
                yield Batch(
                    self.files[table.column("file")[0].as_py()],
                    as_numpy(table.column("row")),
                    table.column("id"),
                    as_numpy(t.offsets),
                    classes.values,
                    as_numpy(t.values),
                    halves=as_numpy(table.column("halves").flatten()).reshape(-1, 3)
                    if "halves" in table.schema.names
                    else None,
                    rounding=as_numpy(table.column("rounding")) if "rounding" in table.schema.names else None,
                    precision=self.precision,
                )


@dataclass(slots=True)
class ListStore:
    """A file of Arrow for each batch, mapped into memory; the columns of a wide table are kept as numbers."""

    source: OpenTable
    folder: Path
    starts: list[int] = field(default_factory=lambda: [0])
    batches: list[Batch] = field(default_factory=list)

    def fill(self) -> Iterator[tuple[Any, Any]]:
        """Put all batches of the source on the shelf, and give their ids and rows on the way."""
        with room():
            self.folder.mkdir()
        for at, batch in enumerate(self.source.batches(together=True)):
            self.batches.append(_mapped(batch, self._classes(batch), self.folder / f"{at}.arrow"))
            self.starts.append(self.starts[-1] + len(batch))
            yield batch.ids, batch.rows

    def take(self, at: NDArray[np.int64]) -> Batch:
        """The cases with these numbers, in this order."""
        home = np.searchsorted(self.starts, at, side="right") - 1
        order = np.argsort(home, kind="stable")
        cuts = np.searchsorted(home[order], np.arange(len(self.batches) + 1))
        parts = []
        for which in np.flatnonzero(np.diff(cuts)):
            here = at[order[cuts[which] : cuts[which + 1]]] - self.starts[which]
            parts.append(some(self.batches[which], here))
        return some(self._joined(parts), np.argsort(order, kind="stable"))

    def _joined(self, parts: list[Batch]) -> Batch:
        pa = need("pyarrow")
        files, halves = {part.source for part in parts}, [part.halves for part in parts if part.halves is not None]
        columns = [part.classes for part in parts if part.classes is not None and len(part.classes)]
        if len({column.type for column in columns}) > 1:
            columns = [column.cast(pa.int64()) for column in columns]  # whole numbers of several sizes
        classes = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
        if self.source.names and columns:
            classes = pa.array(self.source.names, pa.string()).take(classes)
        return Batch(
            files.pop() if len(files) == 1 else self.source.path,
            np.concatenate([part.rows for part in parts] or [np.zeros(0, np.int64)]),
            None,
            offsets_of(np.concatenate([np.diff(part.offsets) for part in parts] or [np.zeros(0, np.int64)])),
            classes,
            np.concatenate([part.confidences for part in parts] or [np.zeros(0)]),
            halves=np.concatenate(halves) if halves else None,
            **together(parts),
        )

    def _classes(self, batch: Batch) -> Column:
        if not self.source.names:
            return plain(batch.classes)
        if batch.classes is None:
            return as_arrow(np.tile(np.arange(len(self.source.names), dtype=np.int32), len(batch)))
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        return pc.index_in(batch.classes, value_set=pa.array(self.source.names, pa.string()))


def _mapped(batch: Batch, classes: Column, path: Path) -> Batch:
    """The same batch, from a file; the system decides what of it is in memory."""
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    at = as_arrow(batch.offsets)
    lists = [pa.LargeListArray.from_arrays(at, values) for values in (classes, as_arrow(batch.confidences))]
    table = pa.record_batch([as_arrow(batch.rows), *lists], names=["row", "classes", "confidences"])
    with room(), pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, table.schema) as writer:
        writer.write_batch(table)
    kept = ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    t = kept.column("confidences")
    return Batch(
        batch.source, as_numpy(kept.column("row")), None, as_numpy(t.offsets), kept.column("classes").values,
        as_numpy(t.values), halves=batch.halves, rounding=batch.rounding, precision=batch.precision,
    )  # fmt: skip
