"""Score against k, batch by batch: what the lists would have scored, had they been cut to k classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import flags, kernel
from toplist.diagnosis.bins import mean, sums_by
from toplist.evidence.slabs import Slab
from toplist.lists import TopLists
from toplist.lists.admitted import Admitted, row_sums
from toplist.moments import Moments, Sum
from toplist.rules import Rule
from toplist.scoring import score
from toplist.validity import gather

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
GRID = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_WHOLE = 2.0**53  # numbers of classes below this are exact


@dataclass(frozen=True, slots=True)
class Total:
    """The exact sum of finite scores, and how many are infinite."""

    sum: int = 0
    infinite: int = 0

    def __add__(self, other: Total) -> Total:
        return Total(self.sum + other.sum, self.infinite + other.infinite)

    def mean(self, cases: int) -> float:
        """Infinite where any score is."""
        return np.inf if self.infinite else mean(self.sum, cases)

    @classmethod
    def each(cls, columns: Floats, codes: NDArray[np.int32] | None = None, groups: int = 1) -> list[list[Total]]:
        """The totals of each column, by group."""
        fine = np.isfinite(columns)
        whole = bool(fine.all())
        made = sums_by(columns if whole else np.where(fine, columns, 0.0), codes, groups)
        if whole:
            return [[cls(total) for total in row] for row in made]
        group = np.zeros(columns.shape[1], np.int32) if codes is None else codes
        apart = [np.bincount(group[~ok], minlength=groups).tolist() for ok in fine]
        return [[cls(total, lost[g]) for total, lost in zip(row, apart, strict=True)] for g, row in enumerate(made)]


@dataclass(frozen=True, slots=True)
class Cuts:
    """Totals of lists cut to each k of the grid below the length of the longest list, and of lists as they are."""

    longest: int = 0
    whole: Total = Total()
    at: tuple[Total, ...] = ()

    def __add__(self, other: Cuts) -> Cuts:
        longest = max(self.longest, other.longest)
        pairs = zip(self._over(longest), other._over(longest), strict=True)
        return Cuts(longest, self.whole + other.whole, tuple(a + b for a, b in pairs))

    def _over(self, longest: int) -> list[Total]:
        """Beyond their own length, lists are as they are."""
        return [*self.at, *[self.whole] * (len(below(longest)) - len(self.at))]


def below(longest: int) -> tuple[int, ...]:
    """The k of the grid that cut anything."""
    return tuple(k for k in GRID if k < longest)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What happened, as codes, and where it stands in its list: how many are above it, and how many its equals."""

    codes: Codes
    above: NDArray[np.int32]
    equal: NDArray[np.int32]

    def ranks(self, slab: Slab, lists: TopLists) -> NDArray[np.intp]:
        """The row of the slab where each outcome stands; one beyond the last if it is not listed.

        Among equals the one that stands first in its list comes first, as `TopLists.truncate` has it.
        """
        equal = self.equal[slab.at]
        rank = np.where(equal > 0, self.above[slab.at], len(slab.t)).astype(np.intp)
        tied = np.flatnonzero(equal > 1)
        if len(tied):
            cases = slab.cases(tied)
            part = lists.admitted.at(cases)
            t, sizes = part.rows.confidences, part.sizes
            own = np.flatnonzero(part.classes == np.repeat(self.codes[cases], sizes))
            before = (t == np.repeat(t[own], sizes)) & (np.arange(len(t)) < np.repeat(own, sizes))
            rank[tied] += row_sums(before, part.rows.offsets).astype(np.intp)
        return rank


@dataclass(frozen=True, slots=True)
class Cutting:
    """The lists of a slab, cut to several k, as rules take cases: everything is (ks, cases)."""

    t: Floats
    sizes: NDArray[np.int64]
    rank: NDArray[np.intp]
    ks: tuple[int, ...]
    rest: Floats
    size: Floats
    log_size: Floats
    log_rest: Floats | None

    @classmethod
    def of(cls, slab: Slab, rank: NDArray[np.intp], lists: TopLists, ks: tuple[int, ...]) -> Cutting:
        """Lists that are not valid are cut to their largest valid sublists first: to some of their first classes."""
        admitted, at = lists.admitted, slab.at
        log_rest, size, log_size = admitted.rows.per_case(at)
        slack = admitted.slack[at]
        rest = np.where((slack < 0) | (size == slab.sizes), 0.0, slack)
        made = cls(slab.t, slab.sizes, rank, ks, rest, size, log_size, log_rest)
        low = np.flatnonzero(admitted.flags[at] & flags.BELOW)
        return made._valid(low, lists, slab.cases(low)) if len(low) else made

    def _valid(self, low: NDArray[np.intp], lists: TopLists, cases: NDArray[np.intp]) -> Cutting:
        kept, left = _largest_valid(lists.admitted, cases)
        sizes, rest, t = self.sizes.copy(), self.rest.copy(), self.t.copy()
        sizes[low], rest[low] = kept, left
        t[:, low] = np.where(np.arange(len(t))[:, None] < kept, t[:, low], 0.0)
        return replace(self, t=t, sizes=sizes, rank=np.where(self.rank < sizes, self.rank, len(t)), rest=rest)

    def moments(self, of: Sum) -> Moments:
        """See `Cases`. Nothing is subtracted: masses left over are summed from the back."""
        tail, behind = self._tails()
        ks = np.array(self.ks)[:, None]
        unlisted = np.maximum(self.size - ks, 1.0)  # none is left only where nothing is cut off
        proxy = tail / unlisted
        hit = self.rank < ks
        q = np.take_along_axis(self.t, np.minimum(self.rank, len(self.t) - 1)[None, :], axis=0)
        miss = np.where(q > 0.5, behind, 1.0 - q)  # only the first can be above a half
        total, ties = self._sums(of, behind)
        return Moments(
            np, np.where(hit, q, proxy), np.where(hit, miss, 1.0 - proxy), hit, total, ties, tail, unlisted, proxy,
            self.log_size, self.log_rest,
        )  # fmt: skip

    def tables(self) -> Iterator[Any]:
        """Rules that need whole tables are scored for one k at a time."""
        raise NotImplementedError

    def _tails(self) -> tuple[Floats, Floats]:
        """The mass that each cut leaves over, and the mass behind the first class."""
        mass, out = self.rest.copy(), np.empty((len(self.ks), len(self.rest)))
        wanted = dict(zip(self.ks, out, strict=True))
        for k in range(len(self.t) - 1, 0, -1):
            mass += self.t[k]
            if k in wanted:
                wanted[k][:] = mass
        return out, mass

    def _sums(self, of: Sum, behind: Floats) -> tuple[Floats, Floats]:
        none = np.zeros((len(self.ks), len(self.rest)))
        if of.kind == "none":
            return none, none
        first = self.t[: self.ks[-1]]
        if of.kind == "peak":
            top = np.broadcast_to(first[0], none.shape)
            return top, self._running([(one == first[0]).astype(np.float64) for one in first])
        lack = 1.0 - first
        lack[0] = np.where(first[0] > 0.5, behind, lack[0])
        terms = of.terms(np, first, lack)
        return self._running([np.where(self.rank == row, 0.0, one) for row, one in enumerate(terms)]), none

    def _running(self, terms: Sequence[Floats]) -> Floats:
        """Sums of the first k terms."""
        out, total = np.empty((len(self.ks), len(self.rest))), np.zeros(len(self.rest))
        wanted = dict(zip(self.ks, out, strict=True))
        for k, term in enumerate(terms, 1):
            total += term
            if k in wanted:
                wanted[k][:] = total
        return out

    def scores(self, rule: Rule, plain: Floats) -> Floats:
        """Scores as (ks, cases); `plain` are those of the lists as they are, where a cut cuts nothing off."""
        with np.errstate(all="ignore"):
            made = rule.scores(self)
        return np.where(self.sizes > np.array(self.ks)[:, None], made, plain)


def scores_one_by_one(slab: Slab, lists: TopLists, codes: Codes, ks: tuple[int, ...], rule: Rule, plain: Floats) -> Any:
    """The same for rules that need every confidence at once."""
    part = lists[slab.at].strictly_valid()
    sizes = part.sizes
    made = [score(part.truncate(k), codes[slab.at], rule=rule, penalty=0) for k in ks]
    return np.where(sizes > np.array(ks)[:, None], np.array(made), plain)


def _largest_valid(admitted: Admitted, cases: NDArray[np.intp]) -> tuple[NDArray[np.int64], Floats]:
    """How many classes the largest valid sublists have, and the mass that they leave over."""
    rows = gather(admitted.rows, cases)
    if rows.size.max() >= _WHOLE:
        valid = admitted.at(cases).valid(flags.BELOW)
        return valid.sizes, valid.rest
    sums = kernel.reduce(rows, admitted.slack[cases], admitted.flags[cases], None, "none", 1.0)
    return (rows.size - sums.unlisted).astype(np.int64), np.asarray(sums.rest)
