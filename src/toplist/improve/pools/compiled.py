"""Pools by the compiled kernel, in blocks and threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist import kernel
from toplist.improve.pools.members import Members
from toplist.kernel import Rows

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Entries = tuple[Codes, Floats, Floats | None]

_BLOCK = 1 << 16  # listed classes in a block


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """Pooled rows with their slack; and the first case of which nothing is left, with the number of such cases."""

    rows: Rows
    slack: Floats
    vetoed: int | None
    vetoes: int


def pool_rows(members: Members, w: Floats, k: int | None, *, geometric: bool) -> Pooled:
    """One list per case on the union of the classes, the most confident first, cut to k."""
    all_rows = [one.admitted.rows for one in members]
    n, entries = members.cases, sum(len(rows.confidences) for rows in all_rows)
    counts, slack, log_rest = np.zeros(n, np.int64), np.empty(n), np.empty(n)
    made = _Output(entries if k is None else min(entries, k * n))
    rooms: dict[int, Entries] = {}  # for a block: one per thread
    vetoed: dict[int, int] = {}

    def work(lo: int, hi: int) -> None:
        blocks = [rows.block(lo, hi) for rows in all_rows]
        own = [_member(rows, one.admitted.slack[lo:hi], geometric) for rows, one in zip(blocks, members, strict=True)]
        need = sum(len(one[2]) for one in own)
        need = need if k is None else min(need, k * (hi - lo))
        thread = threading.get_ident()
        if thread not in rooms or len(rooms[thread][0]) < need:
            rooms[thread] = _empty(need, logs=geometric)
        codes, t, logs = rooms[thread]
        used, small, first, vetoes = kernel.pool(
            geometric, own, w, blocks[0].size, blocks[0].log_size, -1 if k is None else k,
            codes, t, logs, counts[lo:hi], slack[lo:hi], log_rest[lo:hi],
        )  # fmt: skip
        made.put(lo, hi, (codes[:used], t[:used], None if logs is None else logs[:used]), small=small)
        if vetoes:
            vetoed[lo + first] = vetoes

    kernel.over_blocks(n, entries, work, block=max(1, min(kernel.BLOCK, _BLOCK * n // max(1, entries))))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    codes, t, logs = made.arrays()
    rows = Rows(offsets, codes, t, log_rest, all_rows[0].size, all_rows[0].log_size, logs)
    return Pooled(rows, slack, min(vetoed, default=None), sum(vetoed.values()))


class _Output:
    """Blocks one after the other, in whatever order they come; memory is touched once, and only what is used."""

    def __init__(self, most: int) -> None:
        self._codes, self._t, self._logs = _empty(most, logs=False)
        self._waiting: dict[int, tuple[int, Entries]] = {}
        self._lock = threading.Lock()
        self._case = self._used = 0

    def put(self, lo: int, hi: int, entries: Entries, *, small: bool) -> None:
        """The entries of cases lo to hi, which the caller may overwrite; logarithms are kept once any is needed."""
        with self._lock:
            if small and self._logs is None:
                self._logs = np.empty(len(self._t))
                with np.errstate(divide="ignore"):
                    np.log(self._t[: self._used], out=self._logs[: self._used])
            if lo != self._case:
                codes, t, logs = entries
                self._waiting[lo] = hi, (codes.copy(), t.copy(), None if logs is None else logs.copy())
                return
            self._write(hi, entries)
            while self._case in self._waiting:
                self._write(*self._waiting.pop(self._case))

    def _write(self, hi: int, entries: Entries) -> None:
        here = slice(self._used, self._used + len(entries[0]))
        self._codes[here], self._t[here] = entries[:2]
        if self._logs is not None:
            self._logs[here] = entries[2]
        self._case, self._used = hi, here.stop

    def arrays(self) -> Entries:
        """All entries, in arrays that are no longer than they."""
        for array in (self._codes, self._t, self._logs):
            if array is not None:
                array.resize(self._used, refcheck=False)
        return self._codes, self._t, self._logs


def _empty(room: int, *, logs: bool) -> Entries:
    return np.empty(room, np.int64), np.empty(room), np.empty(room) if logs else None


def _member(rows: Rows, slack: Floats, geometric: bool) -> tuple[Codes, Codes | None, Floats, Floats, Floats | None]:
    """The offsets of a block, its entries alone in the types that the kernel takes, and what they leave over."""
    here = slice(rows.offsets[0], rows.offsets[-1])
    classes = None if rows.classes is None else np.ascontiguousarray(rows.classes[here], np.int64)
    t = np.ascontiguousarray(rows.confidences[here], np.float64)
    if not geometric:
        return rows.offsets, classes, t, slack, None
    with np.errstate(divide="ignore"):
        log_rest = np.log(np.maximum(slack, 0.0)) if rows.log_rest is None else rows.log_rest
        return rows.offsets, classes, np.log(t), slack, log_rest
