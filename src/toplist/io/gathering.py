"""Batches put together, taken apart, and kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.io.batches import Batch, shown_of
from toplist.io.columns import as_numpy, offsets_of, plain
from toplist.io.optional import need
from toplist.io.temporary import room


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
class Spill:
    """Batches of lists on disk, for those that are costly to make again."""

    path: Path
    files: tuple[str, ...]
    precision: int | None = None

    @classmethod
    def of(cls, batches: Iterator[Batch], path: Path) -> Spill:
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
