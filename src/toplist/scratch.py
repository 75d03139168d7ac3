"""Scored cases that come in any order, kept in the order of the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.io.temporary import sized
from toplist.sheets import Sheet

_IN_MEMORY = 1 << 31  # bytes for all predictors together; more goes to disk


class Scratch:
    """The sheet of one predictor: a record for each case, so that a case is written in one place.

    What the empty list scores is kept once where it is the same for all, and scores without the penalty only where
    they differ.
    """

    def __init__(self, path: Path, cases: int, predictors: int = 1) -> None:
        self.path, self.cases, self.room = path, cases, _IN_MEMORY // predictors
        self.present = np.zeros(cases, bool)
        self.records: Any = None
        self.empty: Any = None
        self._plain: list[tuple[NDArray[np.int64], Any]] = []

    def put(self, places: NDArray[np.int64], sheet: Sheet) -> None:
        """Write down the cases at these places."""
        self.present[places] = True
        if self.records is None:
            self._make_room(sheet)
        made = np.empty(len(places), self.records.dtype)
        made["scores"], made["missed"] = sheet.scores.T, np.array(sheet.missed).reshape(-1, len(places)).T
        for name in ("hit", "listed", "sizes", "mass", "invalid"):
            made[name] = getattr(sheet, name)
        if self.empty is None:
            made["empty"] = sheet.empty.T
        self.records[places] = made
        odd = np.flatnonzero(sheet.invalid)
        if len(odd):
            self._plain.append((places[odd], sheet.unpenalised[:, odd]))

    def sheet(self, lo: int, hi: int) -> Sheet:
        """Cases lo to hi. What is not there is zero."""
        if self.records is None:
            raise ValueError("nothing was written")
        part = np.array(self.records[lo:hi])
        scores = np.ascontiguousarray(part["scores"].T)
        plain = scores
        places, values = self._all_plain()
        first, last = np.searchsorted(places, (lo, hi))
        if last > first:
            plain = scores.copy()
            plain[:, places[first:last] - lo] = values[:, first:last]
        own = part["empty"].T if self.empty is None else np.broadcast_to(self.empty, scores.shape)
        names = ("listed", "sizes", "mass", "invalid")
        columns = [np.ascontiguousarray(part[name]) for name in names]
        return Sheet(scores, plain, own, part["hit"], tuple(part["missed"].T), *columns)

    def _make_room(self, sheet: Sheet) -> None:
        rules, tops = len(sheet.scores), len(sheet.missed)
        fields: list[Any] = [("scores", "f8", (rules,)), ("missed", "f8", (tops,)), ("mass", "f8"), ("hit", "f8")]
        fields += [("listed", sheet.listed.dtype), ("sizes", "i4"), ("invalid", "i1")]
        if sheet.empty.strides[-1] == 0 or not len(sheet):
            self.empty = sheet.empty[:, :1]
        else:
            fields.append(("empty", "f8", (rules,)))
        kind = np.dtype(fields)
        large = kind.itemsize * self.cases > self.room
        if large:
            sized(self.path, kind.itemsize * self.cases)
        self.records = np.memmap(self.path, kind, "r+", shape=(self.cases,)) if large else np.zeros(self.cases, kind)

    def _all_plain(self) -> tuple[NDArray[np.int64], Any]:
        """The places of invalid lists in order, with their scores without the penalty."""
        if len(self._plain) != 1 or (np.diff(self._plain[0][0]) < 0).any():
            places = np.concatenate([np.zeros(0, np.int64), *(where for where, _ in self._plain)])
            rules = self.records.dtype["scores"].shape[0]
            values = np.concatenate([np.zeros((rules, 0)), *(value for _, value in self._plain)], axis=1)
            order = np.argsort(places)
            self._plain = [(places[order], values[:, order])]
        return self._plain[0]
