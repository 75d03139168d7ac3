"""Batches of a table on disk: read again in their order, or case by case in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import disk_full_explained, need
from toplist.io.batches import Batch, concat
from toplist.io.columns import Column, as_arrow, as_numpy, plain
from toplist.io.sources import OpenTable


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
