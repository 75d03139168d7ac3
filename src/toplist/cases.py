"""Lists with their outcomes, ready to be reduced: in memory by blocks, on a device all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import kernel, rectangles
from toplist.lists import DeviceLists, TopLists
from toplist.lists.admitted import row_sums
from toplist.moments import Moments, Sum, Table, exclusive_sums

Array = Any


@dataclass(frozen=True, slots=True)
class BatchCases:
    """Cases lo to hi of a batch in memory.

    Sums of Python functions, tables and confidences known by their logarithms want `lists.strictly_valid()`.
    """

    lists: TopLists
    codes: NDArray[np.int64] | None
    lo: int
    hi: int

    def moments(self, of: Sum) -> Moments:
        """See `Cases`."""
        kind = "none" if of.kind == "terms" else of.kind
        here, checked = slice(self.lo, self.hi), self.lists.admitted
        rows = checked.rows.block(self.lo, self.hi)
        codes = None if self.codes is None else self.codes[here]
        log_listed = None
        if rows.log_confidences is not None and codes is not None:
            log_listed = checked.between(self.lo, self.hi).log_outcomes(codes)

        def reduce(*, narrow: bool) -> rectangles.Sums:
            return kernel.reduce(
                rows, checked.slack[here], checked.flags[here], codes, kind, of.exponent, narrow=narrow
            )

        if of.kind in ("none", "squares", "powers") and kernel.NATIVE:
            return Moments.narrow(reduce(narrow=True), lambda: reduce(narrow=False), rows, log_listed)
        sums = reduce(narrow=False)
        if of.kind == "peak" and rows.log_confidences is not None:
            sums = self._peaks(of, sums)
        total = self._sum_terms(of, codes) if of.kind == "terms" else sums.total
        return Moments(
            np, sums.outcome, sums.miss, sums.hit, total, sums.ties, sums.rest, sums.unlisted, sums.proxy,
            rows.log_size, rows.log_rest, log_listed=log_listed,
        )  # fmt: skip

    def _peaks(self, of: Sum, sums: rectangles.Sums) -> rectangles.Sums:
        """The same where the largest confidence of a list may be too small to be a number."""
        outcome, total, ties, proxy = (np.array(x) for x in (sums.outcome, sums.total, sums.ties, sums.proxy))
        for at, table, place in self.tables():
            listed, unlisted = table.each(of)
            total[at], ties[at], proxy[at] = unlisted.total, unlisted.ties, unlisted.proxy
            if place is not None:
                every = np.concatenate([listed.outcome, unlisted.outcome[:, None]], axis=1)
                outcome[at] = np.take_along_axis(every, place[:, None], axis=1)[:, 0]
        return sums._replace(outcome=outcome, total=total, ties=ties, proxy=proxy)

    def _sum_terms(self, of: Sum, codes: NDArray[np.int64] | None) -> NDArray[np.float64]:
        part = self.lists[self.lo : self.hi]
        t = part.admitted.normalized
        values = np.array(of.terms(np, t, part.admitted.lack(t)), dtype=np.float64)
        if codes is not None:
            values[part.classes == np.repeat(codes, part.sizes)] = 0.0
        return row_sums(values, part.offsets)

    def tables(self) -> Iterator[tuple[Any, Table, Array | None]]:
        """See `Cases`."""
        part = self.lists[self.lo : self.hi]
        rest = part.rest
        scaled, logs = part.normalized_confidences, part.admitted.small_logs
        for at, group in kernel.by_length(part.admitted.rows):
            k = group.confidences.shape[1]
            where = part.offsets[at][:, None] + np.arange(k)
            place = None
            if self.codes is not None:
                codes = self.codes[self.lo : self.hi][at][:, None]
                same = (np.arange(k) if group.classes is None else group.classes) == codes
                place = np.where(same.any(axis=1), same.argmax(axis=1), k) if k else np.zeros(len(at), np.intp)
            unlisted = group.size - k + np.zeros(len(at))
            log_t = None if logs is None else logs[where]
            yield at, Table(np, scaled[where], rest[at], unlisted, group.log_size, group.log_rest, log_t), place


@dataclass(frozen=True, slots=True)
class DeviceCases:
    """All cases of a rectangular batch on a device."""

    lists: DeviceLists
    codes: Array | None

    def moments(self, of: Sum) -> Moments:
        """See `Cases`."""
        d = self.lists
        size, log_size = d.sizes_on_device()
        kind = "none" if of.kind == "terms" else of.kind
        sums = rectangles.reduce(
            d.xp, kind, of.exponent, d.classes, d.confidences, d.log_rest, size, log_size, d.slack, d.flags, self.codes
        )
        total = sums.total
        if of.kind == "terms":
            table, kept = self._repaired()
            if self.codes is not None:
                kept = kept & (d.classes != d.xp.expand_dims(self.codes, axis=1))
            lack = exclusive_sums(d.xp, table.t) + d.xp.expand_dims(table.rest, axis=1)
            total = d.xp.sum(d.xp.where(kept, of.terms(d.xp, table.t, lack), 0.0), axis=1)
        return Moments(
            d.xp, sums.outcome, sums.miss, sums.hit, total, sums.ties, sums.rest, sums.unlisted, sums.proxy,
            log_size, d.log_rest,
        )  # fmt: skip

    def _repaired(self) -> tuple[Table, Array]:
        """The confidences as they are scored, the dropped ones at the proxy, and which were kept."""
        d, xp = self.lists, self.lists.xp
        size, log_size = d.sizes_on_device()
        k = d.confidences.shape[1]
        unlisted = size - k + 0 * d.slack
        log_rest = rectangles.log_or(xp, d.slack, -xp.inf) if d.log_rest is None else d.log_rest
        kept, rest, left = rectangles.cut(xp, d.confidences, unlisted, log_size, d.slack, log_rest)
        scaled = (d.slack < 0) | (unlisted == 0)
        scale = xp.where(scaled, 1.0 - xp.where(scaled, d.slack, 0.0), 1.0)
        share = xp.where(left > 0, rest / xp.where(left > 0, left, 1.0), 0.0)
        t = xp.where(kept, d.confidences / xp.expand_dims(scale, axis=1), xp.expand_dims(share, axis=1))
        rest = xp.where(scaled, 0.0, xp.where(left == unlisted, d.slack, share * unlisted))
        return Table(xp, t, rest, unlisted, log_size, d.log_rest), kept

    def tables(self) -> Iterator[tuple[Any, Table, Array | None]]:
        """See `Cases`: one table, with invalid lists repaired so that they keep their length."""
        d, xp = self.lists, self.lists.xp
        table, _ = self._repaired()
        place = None
        if self.codes is not None:
            same = d.classes == xp.expand_dims(self.codes, axis=1)
            same = same if table.t.shape[1] else xp.ones_like(xp.expand_dims(self.codes, axis=1)) == 1
            place = xp.where(xp.any(same, axis=1), xp.argmax(xp.astype(same, xp.int32), axis=1), table.t.shape[1])
        yield slice(None), table, place
