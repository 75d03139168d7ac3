"""Tables in memory and files as lists: the layouts of `toplist.io`, all cases at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import ClassError, ShapeError
from toplist.io.batches import Batch
from toplist.io.columns import plain
from toplist.io.gathering import rounding_of
from toplist.io.layouts import Hints
from toplist.io.optional import need
from toplist.io.sources import Source, open_source
from toplist.space import ClassSpace, as_space

Table = tuple[Any, Any, Any, ClassSpace, NDArray[Any] | None, int, dict[str, Any]]


def from_table(what: Any, space: Any, hints: Hints) -> Table:
    """Offsets, classes (codes or names), confidences, the space, the case ids, how many had a blank left out, rounding.

    The last is what `Rows` knows of it.
    """
    source = open_source(what, "frame", hints)
    batches = list(source.batches(together=True))
    if space is None and not source.names:
        raise ShapeError(
            "how many classes are there?", "Give the space: a number, math.inf or ClassSpace(labels=[...])."
        )
    known = ClassSpace(labels=source.names) if space is None else as_space(space)
    sizes = np.concatenate([np.diff(batch.offsets) for batch in batches]) if batches else np.zeros(0, np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    t = np.concatenate([batch.confidences for batch in batches]) if batches else np.zeros(0)
    names = [name for batch in batches for name in _names(batch, source)]
    if known.labels is not None and names and isinstance(names[0], str):
        names = _as_labels(names, known)
    ids = None
    if batches and batches[0].ids is not None:
        pa = need("pyarrow")
        ids = np.array(pa.chunked_array([batch.ids for batch in batches]).to_pylist())
    dropped = sum(int(np.count_nonzero(batch.halves.any(axis=1))) for batch in batches if batch.halves is not None)
    return offsets, np.array(names) if names else np.zeros(0, np.int64), t, known, ids, dropped, rounding_of(batches)


def _names(batch: Batch, source: Source) -> list[Any]:
    if batch.classes is None:
        return list(source.names) * len(batch)
    named: list[Any] = plain(batch.classes).to_pylist()
    return named


def _as_labels(names: list[str], space: ClassSpace) -> list[Any]:
    """Text from a file as the labels of the space, which may be numbers."""
    labels = {str(label): label for label in space.labels or ()}
    unknown = next((name for name in names if name not in labels), None)
    if unknown is not None:
        raise ClassError(f"class {unknown!r} is not among the labels of the space.", space.suggest(unknown))
    return [labels[name] for name in names]
