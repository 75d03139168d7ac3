"""What each member says of every class that any of them lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist.improve.pools.members import Members
from toplist.lists import TopLists, log_rest

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_BLOCK = 1 << 19  # listed classes that are spread out at a time


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The classes of each case, in order of their codes; and where each member's entries are among them."""

    members: Members
    offsets: Codes
    classes: Codes
    case: Codes  # of each class
    places: tuple[NDArray[np.intp], ...]  # of each member's entries

    @classmethod
    def of(cls, members: Members) -> Union:
        """All entries by case and class, equal ones together."""
        case = np.concatenate([np.repeat(np.arange(len(one)), one.sizes) for one in members])
        code = np.concatenate([one.classes.astype(np.int64, copy=False) for one in members])
        order = np.lexsort((code, case))
        case, code = case[order], code[order]
        new = np.ones(len(case), dtype=bool)
        new[1:] = (case[1:] != case[:-1]) | (code[1:] != code[:-1])
        place = np.empty(len(order), np.intp)
        place[order] = np.cumsum(new) - 1
        ends = np.cumsum([len(one.classes) for one in members])
        counts = np.bincount(case[new], minlength=members.cases)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
        return cls(members, offsets, code[new], case[new], tuple(np.split(place, ends[:-1])))

    @property
    def counts(self) -> Codes:
        """How many classes the members of each case list together."""
        return np.diff(self.offsets)

    def values(self) -> Floats:
        """The padded confidences of every class, one row per member."""
        out = np.empty((len(self.members), len(self.classes)))
        for row, one, place in zip(out, self.members, self.places, strict=True):
            row[:] = one.proxy[self.case]
            row[place] = one.normalized_confidences
        return out

    def logs(self) -> Floats:
        """Their logarithms, of numbers of any size."""
        out = np.empty((len(self.members), len(self.classes)))
        for row, one, place in zip(out, self.members, self.places, strict=True):
            row[:] = log_proxy(one)[self.case]
            row[place] = logs_of(one)
        return out

    def shares(self) -> Floats:
        """How much of each member's rest mass is on classes that no member lists, one row per member."""
        return np.stack([share_left(one, self.counts) for one in self.members])

    def log_rests(self) -> Floats:
        """For each member log((m - u) pi), where u classes are listed by any: what it leaves for no one's classes."""
        out = []
        with np.errstate(divide="ignore"):
            for one in self.members:
                nothing = self.members.lists[0].admitted.rows.size == self.counts
                out.append(np.where(nothing, -np.inf, log_rest(one) + np.log(share_left(one, self.counts))))
        return np.stack(out)

    def sums(self, values: Floats) -> Floats:
        """Of one number per class, over the classes of each case."""
        out = np.zeros(self.members.cases)
        filled = self.counts > 0
        if filled.any():
            out[filled] = np.add.reduceat(values, self.offsets[:-1][filled])
        return out


def unions(members: Members) -> Iterator[tuple[slice, Union]]:
    """The cases in blocks, and the union of each."""
    entries = sum(len(one.classes) for one in members)
    step = max(1, _BLOCK * members.cases // max(1, entries))
    for lo in range(0, members.cases, step):
        here = slice(lo, min(lo + step, members.cases))
        yield here, Union.of(members[here] if here.stop - lo < members.cases else members)


def share_left(one: TopLists, counts: Codes) -> Floats:
    """(m - u) / (m - k), which is one among infinitely many classes."""
    size = one.admitted.rows.size
    left = size - one.sizes
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(size), (size - counts) / np.where(left > 0, left, 1.0), 1.0)


def log_proxy(one: TopLists) -> Floats:
    """The log of the share of each unlisted class, for any number of them."""
    left = one.admitted.rows.size - one.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        log_left = np.where(np.isfinite(left), np.log(left), one.admitted.rows.log_size)
        rest = log_rest(one)
        return np.where((left > 0) & (rest > -np.inf), rest - log_left, -np.inf)


def logs_of(one: TopLists) -> Floats:
    """The logarithms of listed confidences."""
    logs = one.admitted.normalized_logs
    if logs is not None:
        return logs
    with np.errstate(divide="ignore"):
        plain: Floats = np.log(one.normalized_confidences)
    return plain
