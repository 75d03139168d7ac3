"""Lists of a file on disk, looked up by the number of their case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.io.batches import Batch
from toplist.io.columns import Column, as_arrow, as_numpy, offsets_of, plain
from toplist.io.gathering import some, together
from toplist.io.optional import need
from toplist.io.sources import Source
from toplist.io.temporary import room


@dataclass(slots=True)
class Shelf:
    """A file of Arrow for each batch, mapped into memory; the columns of a wide table are kept as numbers."""

    source: Source
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
