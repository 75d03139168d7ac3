"""Truncation curve: the mean score, entropy, coverage and rest mass of lists truncated to k classes, against k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import _html
from toplist._text import fixed, significant
from toplist._typing import Codes, Floats
from toplist.core import flags, kernel
from toplist.core.arguments import as_count, is_several
from toplist.core.array_api import CaseStatistics, Sum
from toplist.core.kernel import mean, sums_by
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_codes
from toplist.lists.validation import CheckedColumns, gather, row_sums
from toplist.scoring.rules import PseudoSpherical, Rule, as_padded_rule
from toplist.scoring.rules.base import MANY
from toplist.scoring.scores import entropy, plain_scores, score

_CELLS = 1 << 20
_MOST = 1 << 62
_LINES = 20  # of a table
_NAMES, _WIDTHS = ("k", "score", "entropy", "coverage", "rest"), (5, 12, 12, 9, 9)


@dataclass(frozen=True, slots=True, repr=False)
class Curve:
    """Means over the cases, one entry per k.

    Attributes
    ----------
    rule : str
        The name of the scoring rule.
    ks : ndarray of int
        The numbers of classes.
    score : ndarray of float or None
        The mean score of the lists truncated to k classes; None without outcomes.
    entropy : ndarray of float
        The mean entropy: the score that the lists themselves expect.
    coverage : ndarray of float or None
        How often the outcome is listed; None without outcomes.
    rest : ndarray of float
        The mean mass that is not listed.

    """

    rule: str
    ks: Codes
    score: Floats | None
    entropy: Floats
    coverage: Floats | None
    rest: Floats

    @property
    def gain(self) -> Floats:
        """Information gain: how much entropy each step to the next k takes away."""
        return -np.diff(self.entropy)

    def __repr__(self) -> str:
        if not len(self.ks):
            return f"Curve({self.rule}, no k)"
        values, what = (self.entropy, "entropy") if self.score is None else (self.score, "score")
        at = sorted({0, int(np.nanargmin(values)), len(self.ks) - 1})
        told = ", ".join(f"{significant(float(values[i]))} at k = {self.ks[i]}" for i in at)
        return f"Curve({self.rule}, {len(self.ks):,} k: {what} {told})"

    def __str__(self) -> str:
        lines = [" ".join(f"{cell:>{w}}" for cell, w in zip(cells, _WIDTHS, strict=True)) for cells in self._rows()]
        shown = lines if len(lines) <= _LINES else [*lines[: _LINES // 2], "  ...", *lines[-(_LINES // 2) :]]
        head = " ".join(f"{name:>{w}}" for name, w in zip(_NAMES, _WIDTHS, strict=True))
        return "\n".join([f"Curve of {self.rule}", head, *shown])

    def _repr_html_(self) -> str:
        lines = [("entropy", self.entropy.tolist())]
        if self.score is not None:
            lines.insert(0, ("score", self.score.tolist()))
        rows = list(self._rows())
        shown = rows if len(rows) <= _LINES else [*rows[: _LINES // 2], ["…"] * 5, *rows[-(_LINES // 2) :]]
        heads = [_html.TableHead(name, number=True, heading=name == "k") for name in _NAMES]
        return _html.fragment(
            _html.paragraph(f"Mean {self.rule} score and entropy of the k most confident classes. Lower is better."),
            _html.line_plot(self.ks.tolist(), lines, "list length k", "mean score"),
            _html.folded(f"Table of {len(rows):,} list lengths", _html.table(heads, shown)),
        )

    def _rows(self) -> Iterator[list[str]]:
        """The cells of each k; a dash for what is not known without outcomes."""
        nothing = np.full(len(self.ks), np.nan)
        score, cover = (nothing if column is None else column for column in (self.score, self.coverage))
        for k, *values in zip(self.ks, score, self.entropy, cover, self.rest, strict=True):
            yield [f"{k:d}", *(fixed(float(x), digits) for x, digits in zip(values, (6, 6, 4, 4), strict=True))]


def curve(p: Any, y: Any = None, *, ks: Iterable[int] | None = None, rule: Any = "brier", space: Any = None) -> Curve:
    """Score, entropy, coverage and rest mass of the k most likely classes, for every k.

    The entropy of true lists never rises with k (comparability; paper, eq. 12, Theorem 5.3): `Curve.gain` is its fall.
    Invalid lists count as their largest valid sublists, without penalty. Masses left over are summed from the back, so
    that the long end of the curve keeps its digits.

    Parameters
    ----------
    p : array_like or TopLists
        Distributions as an (n, m) array, or other predictions that `as_lists` takes; lists are truncated to at most
        their own length.
    y : array_like, optional
        The outcomes. Without them there is no score and no coverage.
    ks : iterable of int, optional
        The numbers of classes; by default all up to the length of the longest list.
    rule : str or Rule, default "brier"
        The scoring rule.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    Curve
        One entry per k, in increasing order.

    Raises
    ------
    TopListError
        If there are no cases, or `ks` are no numbers of classes.

    Examples
    --------
    >>> curve([[0.5, 0.3, 0.2]], [1]).score.round(4)
    array([0.6667, 0.875 , 0.78  , 0.78  ])

    """
    rule = as_padded_rule(rule, "a curve over k")
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
    sums = np.zeros((4, len(wanted)))
    for _, block in _blocks(lists, codes, wanted, max(1, _CELLS // (longest + 2))):
        with np.errstate(all="ignore"):
            sums[1] += _totals(rule.entropies(replace(block, rank=np.full_like(block.rank, len(block.t)))))
            sums[3] += block.tail.sum(axis=1)
            if codes is not None:
                sums[0] += _totals(rule.scores(block))
                sums[2] += (block.rank < block.ks[:, None]).sum(axis=1)
    sums /= len(lists)
    known = codes is not None
    return Curve(rule.name, wanted, sums[0] if known else None, sums[1], sums[2] if known else None, sums[3])


def cut_scores(lists: TopLists, codes: Codes, ks: Codes, *, rule: Rule) -> Iterator[tuple[slice, Floats]]:
    """Scores of every case truncated to every k, without penalty: which cases, and their scores as (cases, ks).

    `lists` are strictly valid, `codes` are those of `as_codes`. Blocks keep the memory small whatever the number of k.
    """
    if _is_one_by_one(lists, rule):
        whole = [plain_scores(cut, codes, rule) for cut in _truncated(lists, ks)]
        yield slice(0, len(lists)), np.array(whole).reshape(len(ks), len(lists)).T
        return
    longest = int(lists.sizes.max(initial=0))
    for here, block in _blocks(lists, codes, ks, max(1, _CELLS // (longest + len(ks) + 1))):
        with np.errstate(all="ignore"):
            yield here, np.ascontiguousarray(np.asarray(rule.scores(block)).T)


def _blocks(lists: TopLists, codes: Codes | None, ks: Codes, step: int) -> Iterator[tuple[slice, TruncatedLists]]:
    """Strictly valid lists, so many cases at a time, truncated to every k up to their own length."""
    known = np.full(len(lists), -1) if codes is None else codes
    outcomes = OutcomePlaces.of(lists, known)
    for lo in range(0, len(lists), step):
        here = slice(lo, min(lo + step, len(lists)))
        padded = PaddedLists.of(lists, np.arange(lo, here.stop), int(lists.sizes[here].max(initial=0)))
        rank = outcomes.ranks(padded, lists)
        made = TruncatedLists.of(padded, rank, lists, np.minimum(ks, len(padded.t)))
        t = np.array(padded.t.T, order="C")  # sums along a list are more precise than running ones
        behind = t[:, 1:].sum(axis=1) + made.rest
        t[np.flatnonzero(rank < t.shape[1]), rank[rank < t.shape[1]]] = 0.0
        yield here, replace(made, behind=behind, miss=t.sum(axis=1) + made.rest)


def _totals(values: Floats) -> Floats:
    """The sums over the cases, one case after the other."""
    total: Floats = np.ascontiguousarray(values.T).sum(axis=0)
    return total


def _is_one_by_one(lists: TopLists, rule: Rule) -> bool:
    """Whether sums over all k at once do not do: for whole tables, and where powers underflow."""
    many = isinstance(rule, PseudoSpherical) and bool((lists.space.as_floats[1] > MANY).any())
    return rule.tabular or many


def _one_by_one(lists: TopLists, codes: NDArray[np.int64] | None, ks: NDArray[np.int64], rule: Rule) -> Curve:
    means = np.zeros((4, len(ks)))
    for at, cut in enumerate(_truncated(lists, ks)):
        means[1, at], means[3, at] = np.mean(entropy(cut, rule=rule)), np.mean(cut.rest)
        if codes is not None:
            means[0, at] = np.mean(plain_scores(cut, codes, rule))
            means[2, at] = np.mean(row_sums(cut.classes == np.repeat(codes, cut.sizes), cut.offsets))
    known = codes is not None
    return Curve(rule.name, ks, means[0] if known else None, means[1], means[2] if known else None, means[3])


def _truncated(lists: TopLists, ks: Codes) -> Iterator[TopLists]:
    """The lists truncated to each k, sorted once for all of them."""
    if lists.checked.rows.classes is not None:
        lists = lists.ordered()  # full distributions are not sorted to find their first k classes
    for k in ks:
        yield lists.truncate(int(k))


Places = NDArray[np.intp]
CELLS = 1 << 17  # confidences side by side: a megabyte, which the second-level cache holds


@dataclass(frozen=True, slots=True)
class PaddedLists:
    """Some lists side by side, one in each column, the largest confidence on top; short ones are padded with zeros.

    Sums run down the rows one by one, so that neither the zeros nor the neighbours of a list show in its sums.
    """

    at: slice | Places  # which cases of the batch
    t: Floats  # (longest, cases), as they are scored
    sizes: Codes

    def cases(self, some: Places) -> Places:
        """Which cases of the batch some of its own are."""
        return self.at.start + some if isinstance(self.at, slice) else self.at[some]

    @property
    def ragged(self) -> bool:
        """Whether any list is padded."""
        return bool(self.sizes[0] != len(self.t) or (self.sizes != self.sizes[0]).any())

    @classmethod
    def of(cls, lists: TopLists, at: slice | Places, width: int) -> PaddedLists:
        """Some cases; a slice is of lists that all have this length."""
        checked = lists.checked
        offsets, flat = checked.rows.offsets, checked.rows.confidences
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
        signed_rest = checked.signed_rest[at]
        scaled = (signed_rest < 0) | (checked.rows.per_case(at)[1] == sizes)
        if scaled.any():
            columns /= np.where(scaled, 1.0 - signed_rest, 1.0)
        return cls(at, columns, sizes)


def padded_lists(lists: TopLists, lo: int, hi: int) -> Iterator[PaddedLists]:
    """Cases lo to hi that list anything, a few thousand at a time, that differ in length by less than two to one."""
    sizes = np.diff(lists.offsets[lo : hi + 1])
    if not len(sizes):
        return
    width = int(sizes.max())
    if sizes.min() == width:
        step = max(1, CELLS // max(1, width))
        for start in range(lo, hi if width else lo, step):
            yield PaddedLists.of(lists, slice(start, min(start + step, hi)), width)
        return
    octave = np.where(sizes > 0, np.frexp(sizes - 0.5)[1], -1)
    for some in np.unique(octave[octave >= 0]):
        cases = np.flatnonzero(octave == some)
        width = int(sizes[cases].max())
        step = max(1, CELLS // width)
        for start in range(0, len(cases), step):
            yield PaddedLists.of(lists, lo + cases[start : start + step], width)


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
class OutcomePlaces:
    """Outcomes as codes, and their places: how many listed classes are above each, and how many equal it."""

    codes: Codes
    above: NDArray[np.int32]
    equal: NDArray[np.int32]

    @classmethod
    def of(cls, lists: TopLists, codes: Codes) -> OutcomePlaces:
        """The places of these outcomes in their lists."""
        return cls(codes, *kernel.places(lists.checked.rows, codes))

    def ranks(self, padded: PaddedLists, lists: TopLists) -> Places:
        """The row where each outcome stands; one beyond the last if it is not listed.

        Among equals the one that stands first in its list comes first, as `TopLists.truncate` has it.
        """
        equal = self.equal[padded.at]
        rank = np.where(equal > 0, self.above[padded.at], len(padded.t)).astype(np.intp)
        tied = np.flatnonzero(equal > 1)
        if len(tied):
            cases = padded.cases(tied)
            part = lists.checked.at(cases)
            t, sizes = part.rows.confidences, part.sizes
            own = np.flatnonzero(part.classes == np.repeat(self.codes[cases], sizes))
            before = (t == np.repeat(t[own], sizes)) & (np.arange(len(t)) < np.repeat(own, sizes))
            rank[tied] += row_sums(before, part.rows.offsets).astype(np.intp)
        return rank


@dataclass(frozen=True, slots=True)
class TruncatedLists:
    """Lists truncated to several k, as rules take cases: everything is (ks, cases)."""

    t: Floats
    sizes: Codes
    rank: Places
    ks: Codes
    rest: Floats
    size: Floats
    log_size: Floats
    log_rest: Floats | None
    behind: Floats | None = None  # the mass behind the first class, if it is known
    miss: Floats | None = None  # the mass of all classes but the outcome, if it is known

    @classmethod
    def of(cls, padded: PaddedLists, rank: Places, lists: TopLists, ks: Codes) -> TruncatedLists:
        """Lists that are not valid are cut to their largest valid sublists first: to some of their first classes."""
        checked, at = lists.checked, padded.at
        log_rest, size, log_size = checked.rows.per_case(at)
        signed_rest = checked.signed_rest[at]
        rest = np.where((signed_rest < 0) | (size == padded.sizes), 0.0, signed_rest)
        made = cls(padded.t, padded.sizes, rank, ks, rest, size, log_size, log_rest)
        low = np.flatnonzero(checked.flags[at] & flags.BELOW)
        return made._valid(low, lists, padded.cases(low)) if len(low) else made

    def _valid(self, low: Places, lists: TopLists, cases: Places) -> TruncatedLists:
        kept, left = _largest_valid(lists.checked, cases)
        sizes, rest, t = self.sizes.copy(), self.rest.copy(), self.t.copy()
        sizes[low], rest[low] = kept, left
        t[:, low] = np.where(np.arange(len(t))[:, None] < kept, t[:, low], 0.0)
        return replace(self, t=t, sizes=sizes, rank=np.where(self.rank < sizes, self.rank, len(t)), rest=rest)

    def statistics(self, of: Sum) -> CaseStatistics:
        """See `CaseColumns`. Nothing is subtracted: masses left over are summed from the back."""
        ks, tails = self.ks[:, None], self._tails()
        tail, behind = tails[:-1], tails[-1] if self.behind is None else self.behind
        unlisted = self.size - np.minimum(ks, self.sizes)
        proxy = np.where(unlisted > 0, tail / np.where(unlisted > 0, unlisted, 1.0), 0.0)
        hit = self.rank < ks
        q = np.zeros(len(self.rest))
        if len(self.t):
            q = np.take_along_axis(self.t, np.minimum(self.rank, len(self.t) - 1)[None, :], axis=0)
        miss = np.where(q > 0.5, behind, 1.0 - q) if self.miss is None else self.miss  # the first alone can be above .5
        total, ties = self._sums(of, behind)
        return CaseStatistics(
            np, np.where(hit, q, proxy), np.where(hit, miss, 1.0 - proxy), hit, total, ties, tail, unlisted, proxy,
            self.size, self.log_size, self.log_rest,
        )  # fmt: skip

    def tables(self) -> Iterator[Any]:
        """Rules that need whole tables are scored for one k at a time."""
        raise NotImplementedError

    @property
    def tail(self) -> Floats:
        """The mass beyond the first k classes."""
        return self._tails()[:-1]

    def _tails(self) -> Floats:
        """The mass beyond the first k classes, and in the last row beyond the first one, summed from the back."""
        return _at(self.rest, self.t[::-1], np.maximum(len(self.t) - np.append(self.ks, 1), 0))

    def _sums(self, of: Sum, behind: Floats) -> tuple[Floats, Floats]:
        none = np.zeros((len(self.ks), len(self.rest)))
        first = self.t[: self.ks.max(initial=0)]
        if of.kind == "none" or not len(first):
            return none - 1.0 if of.kind == "peak" else none, none
        listed = [row < self.sizes for row in range(len(first))]
        if of.kind == "peak":
            ties = _at(none[0], [(one == first[0]) & there for one, there in zip(first, listed, strict=True)], self.ks)
            return np.where(self.ks[:, None] > 0, first[0], -1.0), ties
        lack = 1.0 - first
        lack[0] = np.where(first[0] > 0.5, behind, lack[0])
        terms = of.terms(np, first, lack)
        kept = (np.where(there & (self.rank != row), terms[row], 0.0) for row, there in enumerate(listed))
        return _at(none[0], kept, self.ks), none

    def scores(self, rule: Rule, plain: Floats) -> Floats:
        """Scores as (ks, cases); `plain` are those of the lists as they are, where nothing is cut off."""
        with np.errstate(all="ignore"):
            made = rule.scores(self)
        return np.where(self.sizes > self.ks[:, None], made, plain)


def _at(start: Floats, terms: Iterable[Any], ks: Codes) -> Floats:
    """Running sums, one term after the other, after so many terms each."""
    out, total = np.empty((len(ks), len(start))), start.copy()
    out[ks == 0] = total
    for k, term in enumerate(terms, 1):
        total += term
        out[ks == k] = total
    return out


def scores_one_by_one(
    padded: PaddedLists, lists: TopLists, codes: Codes, ks: Codes, rule: Rule, plain: Floats
) -> Floats:
    """The same for rules that need every confidence at once."""
    part = lists[padded.at].strictly_valid()
    made = [score(cut, codes[padded.at], rule=rule, penalty=0) for cut in _truncated(part, ks)]
    return np.where(part.sizes > ks[:, None], np.array(made), plain)


def _largest_valid(checked: CheckedColumns, cases: NDArray[np.intp]) -> tuple[NDArray[np.int64], Floats]:
    """How many classes the largest valid sublists have, and the mass that they leave over."""
    rows = gather(checked.rows, cases)
    if rows.size.max() >= _WHOLE:
        valid = checked.at(cases).valid(flags.BELOW)
        return valid.sizes, valid.rest
    sums = kernel.reduce(rows, checked.signed_rest[cases], checked.flags[cases], None, "none", 1.0)
    return (rows.size - sums.unlisted).astype(np.int64), np.asarray(sums.rest)
