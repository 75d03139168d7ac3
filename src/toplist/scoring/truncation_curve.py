"""Score against k: what each further class on the list is worth, for every k in one pass.

Lists side by side, a few thousand at a time, the most confident class on top: what evidence is read from.

Score against k, batch by batch: what the lists would have scored, had they been cut to k classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_count, is_several
from toplist._typing import Codes, Floats
from toplist.core import flags, kernel
from toplist.core.case_statistics import CaseStatistics, Sum
from toplist.core.exact_sums import mean, sums_by
from toplist.core.validity import gather
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.columns import CheckedColumns, row_sums
from toplist.lists.outcomes import as_codes
from toplist.scoring.rules import PseudoSpherical, Rule, as_rule
from toplist.scoring.rules.base import MANY
from toplist.scoring.scores import entropy, plain_scores, score

_CELLS = 1 << 20
_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class Curve:
    """Means over the cases, one entry per k."""

    rule: str
    ks: NDArray[np.int64]
    score: Floats | None  # mean score of the lists cut to k classes; None without outcomes
    entropy: Floats  # what the lists themselves expect
    coverage: Floats | None  # how often the outcome is listed
    rest: Floats  # mean mass not listed

    @property
    def gain(self) -> Floats:
        """Information gain: how much entropy each step to the next k takes away."""
        return -np.diff(self.entropy)

    def __repr__(self) -> str:
        head = f"{'k':>5} {'score':>12} {'entropy':>12} {'coverage':>9} {'rest':>9}"
        scores = np.full(len(self.ks), np.nan) if self.score is None else self.score
        cover = np.full(len(self.ks), np.nan) if self.coverage is None else self.coverage
        lines = [
            f"{k:5d} {s:12.6f} {e:12.6f} {c:9.4f} {r:9.4f}"
            for k, s, e, c, r in zip(self.ks, scores, self.entropy, cover, self.rest, strict=True)
        ]
        shown = lines if len(lines) <= 21 else [*lines[:10], "  ...", *lines[-10:]]
        return "\n".join([f"Curve of {self.rule}", head, *shown])


def curve(p: Any, y: Any = None, *, ks: Iterable[int] | None = None, rule: Any = "brier", space: Any = None) -> Curve:
    """Score, entropy, coverage and rest mass of the k most likely classes, for every k.

    `p` are distributions as an (n, m) array, or other predictions that `score` takes; lists are cut to at most their
    own length. Invalid lists
    count as their largest valid sublists, without penalty. Masses left over are summed from the back, so that the
    long end of the curve keeps its digits.

    >>> curve([[0.5, 0.3, 0.2]], [1]).score.round(4)
    array([0.6667, 0.875 , 0.78  , 0.78  ])
    """
    rule = as_rule(rule)
    lists = as_lists(p, space).strictly_valid()
    codes = None if y is None else as_codes(y, lists)
    if not len(lists):
        raise TopListError("there are no cases to average over.")
    longest = int(lists.sizes.max(initial=0))
    if ks is not None and not is_several(ks):
        raise TopListError(f"ks are numbers of classes, not {ks!r}.")
    asked = range(longest + 1) if ks is None else sorted({as_count(k) for k in ks})
    if asked and asked[-1] > _MOST:
        raise TopListError(f"ks are numbers of classes up to 2**62, not {asked[-1]}.")
    wanted = np.array(asked, dtype=np.int64)
    if _is_one_by_one(lists, rule):
        return _one_by_one(lists, codes, wanted, rule)
    used = np.minimum(wanted, longest)
    sums = np.zeros((4, len(wanted)))
    step = max(1, _CELLS // (longest + 2))
    for lo in range(0, len(lists), step):
        part = lists[lo : lo + step]
        with np.errstate(all="ignore"):
            block = _Block.of(part, None if codes is None else codes[lo : lo + step])
            sums[1] += rule.entropies(_Cuts(block, used, None)).sum(axis=0)
            sums[3] += block.tail(used).sum(axis=0)
            if codes is not None:
                sums[0] += rule.scores(_Cuts(block, used, block.rank)).sum(axis=0)
                sums[2] += (block.rank[:, None] < used).sum(axis=0)
    sums /= len(lists)
    known = codes is not None
    return Curve(rule.name, wanted, sums[0] if known else None, sums[1], sums[2] if known else None, sums[3])


def cut_scores(
    lists: TopLists, codes: NDArray[np.int64], ks: NDArray[np.int64], *, rule: Rule
) -> Iterator[tuple[slice, Floats]]:
    """Scores of every case cut to every k, without penalty: which cases, and their scores as (cases, ks).

    `lists` are strictly valid, `codes` are those of `as_codes`. Blocks keep the memory small whatever the number of k.
    """
    if _is_one_by_one(lists, rule):
        whole = [plain_scores(lists.truncate(int(k)), codes, rule) for k in ks]
        yield slice(0, len(lists)), np.array(whole).reshape(len(ks), len(lists)).T
        return
    longest = int(lists.sizes.max(initial=0))
    used, step = np.minimum(ks, longest), max(1, _CELLS // (longest + len(ks) + 1))
    for lo in range(0, len(lists), step):
        here = slice(lo, min(lo + step, len(lists)))
        with np.errstate(all="ignore"):
            block = _Block.of(lists[here], codes[here])
            yield here, np.asarray(rule.scores(_Cuts(block, used, block.rank)))


@dataclass(frozen=True, slots=True)
class _Block:
    """Some lists side by side, largest confidence first, short ones filled up with zeros."""

    t: Floats
    listed: NDArray[np.bool_]
    rest: Floats
    size: Floats
    log_size: Floats
    log_rest: Floats | None
    rank: NDArray[np.intp]  # of the outcome; beyond the last column if it is not listed

    @staticmethod
    def of(lists: TopLists, codes: NDArray[np.int64] | None) -> _Block:
        rows = lists.admitted.rows
        n, width = len(lists), int(lists.sizes.max(initial=0))
        t, same = np.zeros((n, width)), np.zeros((n, width), bool)
        listed = np.arange(width) < lists.sizes[:, None]
        t[listed] = lists.normalized_confidences
        if codes is not None:
            same[listed] = lists.classes == np.repeat(codes, lists.sizes)
        order = np.argsort(np.where(listed, -t, np.inf), axis=1, stable=True)
        t, same = np.take_along_axis(t, order, axis=1), np.take_along_axis(same, order, axis=1)
        rank = np.where(same.any(axis=1), same.argmax(axis=1), width) if width else np.zeros(n, np.intp)
        return _Block(t, listed, lists.rest, rows.size, rows.log_size, rows.log_rest, rank)

    def tail(self, ks: NDArray[np.int64]) -> Floats:
        """The mass not among the first k classes, summed from the back."""
        return np.cumsum(np.concatenate([self.rest[:, None], self.t[:, ::-1]], axis=1), axis=1)[:, ::-1][:, ks]

    @property
    def lack(self) -> Floats:
        """What each confidence lacks to one: for the first, which alone can be above a half, the mass behind it."""
        lack = 1.0 - self.t
        lack[:, :1] = np.where(
            self.t[:, :1] > 0.5, self.t[:, 1:].sum(axis=1, keepdims=True) + self.rest[:, None], lack[:, :1]
        )
        return lack

    def moments(self, of: Sum, ks: NDArray[np.int64], rank: NDArray[np.intp] | None) -> CaseStatistics:
        """Moments as (cases, ks); without a rank of the outcome the sums run over all that is listed."""
        n, width = self.t.shape
        place = np.full(n, width) if rank is None else rank
        own = np.arange(width) == place[:, None]
        tail = self.tail(ks)
        count = np.minimum(ks, self.listed.sum(axis=1)[:, None]).astype(np.float64)
        unlisted = self.size[:, None] - count + np.zeros((n, len(ks)))
        proxy = np.where(unlisted > 0, tail / np.where(unlisted > 0, unlisted, 1.0), 0.0)
        hit = place[:, None] < np.minimum(ks, width)
        q = np.take_along_axis(np.concatenate([self.t, self.rest[:, None]], axis=1), place[:, None], axis=1)
        others = np.where(own, 0.0, self.t).sum(axis=1, keepdims=True) + self.rest[:, None]
        total, ties = self._sums(of, own, ks)
        return CaseStatistics(
            np, np.where(hit, q, proxy), np.where(hit, others, 1.0 - proxy), hit, total, ties, tail, unlisted, proxy,
            self.log_size[:, None], None if self.log_rest is None else self.log_rest[:, None],
        )  # fmt: skip

    def _sums(self, of: Sum, own: NDArray[np.bool_], ks: NDArray[np.int64]) -> tuple[Floats, Floats]:
        n = len(self.t)
        if of.kind == "peak":
            top = np.concatenate([np.full((n, 1), -1.0), np.repeat(self.t[:, :1], self.t.shape[1], axis=1)], axis=1)
            equal = (self.t == self.t[:, :1]) & self.listed
            return top[:, ks], _running(equal.astype(np.float64))[:, ks]
        if of.kind == "none":
            return np.zeros((n, len(ks))), np.zeros((n, len(ks)))
        terms = np.where(self.listed & ~own, of.terms(np, self.t, self.lack), 0.0)
        return _running(terms)[:, ks], np.zeros((n, len(ks)))


@dataclass(frozen=True, slots=True)
class _Cuts:
    """A block cut to every k, as the rules take cases."""

    block: _Block
    ks: NDArray[np.int64]
    rank: NDArray[np.intp] | None

    def moments(self, of: Sum) -> CaseStatistics:
        return self.block.moments(of, self.ks, self.rank)

    def tables(self) -> Iterator[Any]:
        raise NotImplementedError("rules that need whole tables are scored for one k at a time")


def _running(x: Floats) -> Floats:
    return np.concatenate([np.zeros((len(x), 1)), np.cumsum(x, axis=1)], axis=1)


def _is_one_by_one(lists: TopLists, rule: Rule) -> bool:
    """Whether sums over all k at once do not do: for whole tables, and where confidences or their powers underflow."""
    many = isinstance(rule, PseudoSpherical) and bool((lists.space.as_floats[1] > MANY).any())
    return rule.tabular or many or lists.admitted.rows.log_confidences is not None


def _one_by_one(lists: TopLists, codes: NDArray[np.int64] | None, ks: NDArray[np.int64], rule: Rule) -> Curve:
    cut = [lists.truncate(int(k)) for k in ks]

    def mean(values: Any) -> float:
        return float(np.mean(values))

    scores = hits = None
    if codes is not None:
        scores = np.array([mean(plain_scores(c, codes, rule)) for c in cut])
        hits = np.array([mean(row_sums(c.classes == np.repeat(codes, c.sizes), c.offsets)) for c in cut])
    entropies = np.array([mean(entropy(c, rule=rule)) for c in cut])
    return Curve(rule.name, ks, scores, entropies, hits, np.array([mean(c.rest) for c in cut]))


Places = NDArray[np.intp]
CELLS = 1 << 17  # confidences in a slab: a megabyte, which the second-level cache holds


@dataclass(frozen=True, slots=True)
class Slab:
    """Lists of about one length, one in each column; short ones are filled up with zeros.

    Sums run down the rows one by one, so that neither the zeros nor the neighbours of a list show in its sums.
    """

    at: slice | Places  # which cases of the batch
    t: Floats  # (longest, cases), as they are scored
    sizes: NDArray[np.int64]

    def cases(self, some: Places) -> Places:
        """Which cases of the batch some of its own are."""
        return self.at.start + some if isinstance(self.at, slice) else self.at[some]

    @property
    def ragged(self) -> bool:
        """Whether any list is filled up."""
        return bool(self.sizes[0] != len(self.t) or (self.sizes != self.sizes[0]).any())


def slabs(lists: TopLists, lo: int, hi: int) -> Iterator[Slab]:
    """Cases lo to hi that list anything, in slabs of lists that differ in length by less than two to one."""
    sizes = np.diff(lists.offsets[lo : hi + 1])
    if not len(sizes):
        return
    width = int(sizes.max())
    if sizes.min() == width:
        step = max(1, CELLS // max(1, width))
        for start in range(lo, hi if width else lo, step):
            yield _slab(lists, slice(start, min(start + step, hi)), width)
        return
    octave = np.where(sizes > 0, np.frexp(sizes - 0.5)[1], -1)
    for some in np.unique(octave[octave >= 0]):
        cases = np.flatnonzero(octave == some)
        width = int(sizes[cases].max())
        step = max(1, CELLS // width)
        for start in range(0, len(cases), step):
            yield _slab(lists, lo + cases[start : start + step], width)


def _slab(lists: TopLists, at: slice | Places, width: int) -> Slab:
    admitted = lists.admitted
    offsets, flat = admitted.rows.offsets, admitted.rows.confidences
    first = offsets[:-1][at]
    sizes = offsets[1:][at] - first
    if isinstance(at, slice):
        t = flat[first[0] : first[0] + width * len(first)].reshape(len(first), width)
    else:
        there = np.arange(width) < sizes[:, None]
        t = np.zeros((len(at), width), flat.dtype)
        t[there] = flat[(first[:, None] + np.arange(width))[there]]
    # Zeros that fill up stay behind all others, for no confidence is below zero.
    if not (t[:, 1:] <= t[:, :-1]).all():
        t = np.sort(t, axis=1)[:, ::-1]
    columns = np.array(t.T, np.float64, order="C")
    slack = admitted.slack[at]
    scaled = (slack < 0) | (admitted.rows.per_case(at)[1] == sizes)
    if scaled.any():
        columns /= np.where(scaled, 1.0 - slack, 1.0)
    return Slab(at, columns, sizes)


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
class CutOutcomes:
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

    def moments(self, of: Sum) -> CaseStatistics:
        """See `Cases`. Nothing is subtracted: masses left over are summed from the back."""
        tail, behind = self._tails()
        ks = np.array(self.ks)[:, None]
        unlisted = np.maximum(self.size - ks, 1.0)  # none is left only where nothing is cut off
        proxy = tail / unlisted
        hit = self.rank < ks
        q = np.take_along_axis(self.t, np.minimum(self.rank, len(self.t) - 1)[None, :], axis=0)
        miss = np.where(q > 0.5, behind, 1.0 - q)  # only the first can be above a half
        total, ties = self._sums(of, behind)
        return CaseStatistics(
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


def _largest_valid(admitted: CheckedColumns, cases: NDArray[np.intp]) -> tuple[NDArray[np.int64], Floats]:
    """How many classes the largest valid sublists have, and the mass that they leave over."""
    rows = gather(admitted.rows, cases)
    if rows.size.max() >= _WHOLE:
        valid = admitted.at(cases).valid(flags.BELOW)
        return valid.sizes, valid.rest
    sums = kernel.reduce(rows, admitted.slack[cases], admitted.flags[cases], None, "none", 1.0)
    return (rows.size - sums.unlisted).astype(np.int64), np.asarray(sums.rest)
