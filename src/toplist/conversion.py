"""Files out: lists in one canonical form, and scores case by case."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import TopListError
from toplist.evaluation import lists_of, require_all_columns
from toplist.io.alignment import Unique
from toplist.io.batches import Batch
from toplist.io.coding import Coder, has_integers, label_sets
from toplist.io.columns import as_arrow
from toplist.io.optional import need
from toplist.io.outputs import inputs_of, require_apart
from toplist.io.sources import Source
from toplist.io.writers import Lists, ListWriter, Writer, no_lists
from toplist.lists.door import Repairs
from toplist.sheets import Sheet
from toplist.space import ClassSpace
from toplist.streaming import Sink


def convert(
    source: Source,
    path: str | os.PathLike[str],
    repairs: Repairs,
    space: ClassSpace | None = None,
    sets: str | None = None,
    progress: Callable[[str, int, int | None], None] = lambda what, done, total: None,
    repaired: Callable[[Mapping[str, int]], object] = lambda counts: None,
) -> int:
    """Write lists as Parquet with the columns case (where there are ids), classes and confidences; the number of cases.

    `repaired` is told, batch by batch, in how many cases something was repaired.
    """
    if Path(path).suffix.lower() not in (".parquet", ".pq"):
        raise TopListError(f"lists are written as Parquet: name the output {Path(path).stem}.parquet.")
    require_apart([path], inputs_of([source]))
    pa, known = need("pyarrow"), ClassSpace(math.inf) if space is None else space
    whole = known.labels is None and sets is None and has_integers(source)
    coder, unique, cases = Coder(known, whole, sets), Unique(source), 0
    if space is not None:
        require_all_columns(source, space)
    with ListWriter(path) as writer:
        for batch in source.batches(together=True):
            codes = coder.own_codes(batch, source.names)
            lists = lists_of(batch, source.names, codes, known, repairs)
            named = pa.array(source.names, pa.string()) if batch.classes is None else batch.classes
            named = label_sets(named, sets) if sets is not None else named
            name_of, first = np.unique(codes, return_index=True)
            which = named.take(pa.array(first[np.searchsorted(name_of, lists.classes)]))
            writer.write(Lists(batch.ids, lists.offsets, which, lists.confidences))
            if batch.ids is not None and source.layout.kind != "long":
                unique.see(batch.ids)
            cases += len(batch)
            halves = 0 if batch.halves is None else int(np.count_nonzero(batch.halves.any(axis=1)))
            repaired({**lists.repairs, "blanks left out": halves})
            progress("converting", cases, source.reader.rows)
        coder.finish()
        unique.require()
        if not cases:
            writer.write(no_lists())
    return cases


class Scores(Sink):
    """A sink that writes each case's scores to a file."""

    def __init__(self, path: str | os.PathLike[str], rules: Sequence[str], keep: Sequence[str]) -> None:
        self.writer = Writer(path)
        self.rules, self.keep = tuple(rules), tuple(keep)

    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`. One file alone has no case without a prediction that counts."""
        (sheet,) = sheets
        columns: dict[str, Any] = {"case": as_arrow(truth.rows - 1) if truth.ids is None else truth.ids}
        columns |= {name: as_arrow(score) for name, score in zip(self.rules, sheet.scores, strict=True)}
        columns["hit"] = as_arrow(sheet.hit.astype(np.float64))
        columns["listed"] = as_arrow(sheet.listed.astype(np.float64))
        columns["size"] = as_arrow(sheet.sizes.astype(np.int64))
        columns["mass"] = as_arrow(sheet.mass)
        columns["valid"] = as_arrow(sheet.invalid == 0)
        for name in self.keep:
            columns[name if name not in columns else f"{name}_"] = truth.extra[name]
        return need("pyarrow").table(columns)

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        self.writer.write(made)


@contextmanager
def score_file(
    path: str | os.PathLike[str], rules: Sequence[str], keep: Sequence[str]
) -> Iterator[Callable[[], Scores]]:
    """A maker of sinks for one output; the last one made is what is kept."""
    made: list[Scores] = []

    def again() -> Scores:
        if made:
            made[-1].writer.__exit__(TopListError)
        made.append(Scores(path, rules, keep))
        return made[-1]

    try:
        yield again
    except BaseException:
        if made:
            made[-1].writer.__exit__(TopListError)
        raise
    made[-1].writer.__exit__(None)
