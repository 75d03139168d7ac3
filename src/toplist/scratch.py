"""Scored cases that come in any order, kept in the order of the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import FileError
from toplist.evaluation import Scoring
from toplist.io.batches import Batch
from toplist.sheets import Sheet


@dataclass(slots=True)
class Scratch:
    """The sheet of all cases of one predictor in the order of the truth; on disk where it is large."""

    columns: Any  # (columns, cases)
    present: NDArray[np.bool_]
    rules: int
    tops: int

    @classmethod
    def sized(cls, path: Path, scoring: Scoring, cases: int) -> Scratch:
        """Room for this many cases."""
        rules, tops = len(scoring.rules), len(scoring.tops)
        shape = (3 * rules + tops + 5, cases)
        small = shape[0] * cases <= 1 << 24
        columns = np.zeros(shape) if small else np.memmap(path, np.float64, "w+", shape=shape)
        return cls(columns, np.zeros(cases, bool), rules, tops)

    def put(self, places: NDArray[np.int64], sheet: Sheet, batch: Batch) -> None:
        """Write down the cases at these places; none may come twice."""
        again = self.present[places]
        self.present[places] = True
        if again.any() or len(np.unique(places)) < len(places):
            order = np.argsort(places, stable=True)
            twice = np.flatnonzero(again) if again.any() else order[1:][np.diff(places[order]) == 0]
            at = int(twice[0])
            name = None if batch.ids is None else batch.ids[at].as_py()
            raise FileError(batch.source, f"case {name!r} is there twice.", row=int(batch.rows[at]))
        for to, column in zip(self.columns, _columns(sheet), strict=True):
            to[places] = column

    def sheet(self, lo: int, hi: int, keep: NDArray[np.intp] | None = None) -> Sheet:
        """Cases lo to hi, or some of them."""
        part = np.array(self.columns[:, lo:hi])
        return self._sheet(part if keep is None else part[:, keep])

    def filled(self, sheet: Sheet, at: NDArray[np.intp], other: Sheet) -> Sheet:
        """A sheet with some cases replaced."""
        part = np.array(list(_columns(sheet)))
        part[:, at] = np.array(list(_columns(other)))
        return self._sheet(part)

    def _sheet(self, c: NDArray[np.float64]) -> Sheet:
        r, t = self.rules, self.tops
        hit, listed, sizes, mass, invalid = c[3 * r + t :]
        return Sheet(
            c[:r], c[r : 2 * r], c[2 * r : 3 * r], hit, tuple(c[3 * r : 3 * r + t]), listed, sizes, mass, invalid
        )


def _columns(sheet: Sheet) -> Iterator[Any]:
    yield from sheet.scores
    yield from sheet.unpenalised
    yield from sheet.empty
    yield from sheet.missed
    yield from (sheet.hit, sheet.listed, sheet.sizes, sheet.mass, sheet.invalid)
