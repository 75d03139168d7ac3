"""What the lists of one predictor show, gathered batch by batch: how the cases were split never shows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import kernel, rectangles
from toplist.diagnosis.bins import Bins
from toplist.diagnosis.oddities import Look
from toplist.evidence.cuts import Cuts, Cutting, Outcomes, Total, below, scores_one_by_one
from toplist.evidence.findings import KINDS, Exhibit, Shape
from toplist.evidence.naming import Names, for_lists
from toplist.evidence.notable import Costliest, FirstInvalid
from toplist.evidence.slabs import CELLS, slabs
from toplist.lists import TopLists
from toplist.outcomes import as_codes, as_truth, is_soft
from toplist.pairing import beliefs
from toplist.rules import Rule
from toplist.sheets import Sheet

_SIZES = 40  # list lengths that are shown


@dataclass(frozen=True, slots=True)
class Gathered:
    """Exact sums and the few cases to show; adding two is adding their cases, in any order and any split.

    Cases count alike, whatever their weights are in the comparison.
    """

    cases: int = 0
    cuts: Cuts | None = field(default_factory=Cuts)  # None where the truth is soft
    listed: Bins = field(default_factory=Bins)
    top: Bins = field(default_factory=Bins)
    mass: Bins = field(default_factory=Bins)
    sizes: Mapping[int, int] = field(default_factory=dict)
    shapes: tuple[tuple[int, Total], ...] = ((0, Total()),) * len(KINDS)
    costliest: Costliest = field(default_factory=Costliest)
    invalid: FirstInvalid = field(default_factory=FirstInvalid)
    look: Look = field(default_factory=Look)

    def __add__(self, other: Gathered) -> Gathered:
        sizes = dict(self.sizes)
        for length, count in other.sizes.items():
            sizes[length] = sizes.get(length, 0) + count
        return Gathered(
            self.cases + other.cases,
            None if self.cuts is None or other.cuts is None else self.cuts + other.cuts,
            self.listed + other.listed,
            self.top + other.top,
            self.mass + other.mass,
            sizes,
            tuple((m + n, a + b) for (m, a), (n, b) in zip(self.shapes, other.shapes, strict=True)),
            self.costliest + other.costliest,
            self.invalid + other.invalid,
            self.look + other.look,
        )


def gather(
    lists: TopLists,
    y: Any,
    sheet: Sheet,
    *,
    rule: Rule,
    position: NDArray[np.int64] | None = None,
    names: Names | None = None,
    ranked: bool = False,
) -> Gathered:
    """What the lists of a batch show, beside `sheet`, their scores: those under its first rule, which is `rule`.

    `y` is what happened or, as lists, what is believed to have; then hits are expected ones, and there is no curve.
    `position` says where each case stands in the truth: no two cases of one predictor may stand in one place. `ranked`
    lists are told to have the most confident class first.

    >>> import toplist as tl
    >>> from toplist.sheets import sheet
    >>> lists, rule = tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {}], 5), tl.Brier()
    >>> made = gather(lists, ["b", "c"], sheet(lists, ["b", "c"], [rule], tops=(), penalty=None), rule=rule)
    >>> exhibit(made, "A", "brier").sizes
    ((0, 1), (2, 1))
    """
    n = len(lists)
    where = np.arange(n) if position is None else position
    called = for_lists(lists, y) if names is None else names
    truth: Any
    cuts: Cuts | None = None
    if is_soft(y, lists.space):
        truth = as_truth(y, lists.space, n)
        listed, peaks = _expected(lists, truth)
    else:
        truth = as_codes(y, lists)
        listed, peaks, cuts = _walked(lists, truth, sheet, rule)
    some = sheet.sizes > 0
    every = bool(some.all())
    sizes = _histogram(sheet.sizes)
    return Gathered(
        n,
        cuts,
        listed,
        Bins.of(peaks if every else peaks[some], sheet.hit if every else sheet.hit[some]),
        Bins.of(sheet.mass, sheet.listed),
        sizes,
        _shapes(lists, sheet, sizes),
        Costliest.of(lists, truth, sheet.scores[0], where, called),
        FirstInvalid.of(lists, sheet.invalid, where, called),
        Look.at(
            lists,
            codes=None if isinstance(truth, TopLists) else truth,
            ranked=ranked,
            position=where,
            names=called,
        ),
    )


def exhibit(gathered: Gathered, name: str, rule: str) -> Exhibit:
    """The result: means of exact sums, each rounded once. The curve ends with the lists as they are."""
    cases, cuts = gathered.cases, gathered.cuts
    ks: tuple[int, ...] = ()
    curve: tuple[float, ...] = ()
    if cuts is not None and cases:
        ks = (*below(cuts.longest), cuts.longest)
        curve = tuple(total.mean(cases) for total in (*cuts.at, cuts.whole))
    frequent = sorted(gathered.sizes.items(), key=lambda one: (-one[1], one[0]))[:_SIZES]
    return Exhibit(
        name=name,
        rule=rule,
        cases=cases,
        ks=ks,
        curve=curve,
        listed=gathered.listed.findings(),
        top=gathered.top.findings(),
        mass=gathered.mass.findings(),
        sizes=tuple(sorted(frequent)),
        shortest=min(gathered.sizes, default=0),
        longest=max(gathered.sizes, default=0),
        shapes=tuple(
            Shape(kind, count, total.mean(count), total.infinite)
            for kind, (count, total) in zip(KINDS, gathered.shapes, strict=True)
            if count
        ),
        costly=tuple(costly for _, costly in gathered.costliest.cases),
        invalid=gathered.invalid.words,
        oddities=gathered.look.findings(),
    )


def _walked(
    lists: TopLists, codes: NDArray[np.int64], sheet: Sheet, rule: Rule
) -> tuple[Bins, NDArray[np.float64], Cuts]:
    """One walk over the lists: the bins of what is listed, the largest confidences, the scores of cuts."""
    rows, n = lists.admitted.rows, len(lists)
    plain, empty = sheet.unpenalised[0], sheet.empty[0]
    outcomes = Outcomes(codes, *kernel.places(rows, codes))
    longest = int(sheet.sizes.max(initial=0))
    ks = below(longest)
    peaks = np.zeros(n)
    found: list[tuple[Bins, Cuts]] = [(Bins(), Cuts())]
    lock = threading.Lock()

    def work(lo: int, hi: int) -> None:
        bins = Bins()
        columns = np.empty((len(ks) + 1, hi - lo))
        columns[:] = plain[lo:hi]
        if ks:
            columns[0] = np.where(sheet.sizes[lo:hi] > 0, empty[lo:hi], plain[lo:hi])
        for slab in slabs(lists, lo, hi):
            rank = outcomes.ranks(slab, lists)
            hit = np.flatnonzero(rank < len(slab.t))
            bins += Bins.of_listed(slab.t, slab.sizes if slab.ragged else None, slab.t[rank[hit], hit])
            peaks[slab.at] = slab.t[0]
            cut = tuple(k for k in ks[1:] if k < len(slab.t))
            if not cut:
                continue
            if rule.tabular or rows.log_confidences is not None:
                made = scores_one_by_one(slab, lists, codes, cut, rule, plain[slab.at])
            else:
                made = Cutting.of(slab, rank, lists, cut).scores(rule, plain[slab.at])
            at = slice(slab.at.start - lo, slab.at.stop - lo) if isinstance(slab.at, slice) else slab.at - lo
            columns[1 : len(cut) + 1, at] = made
        *each, whole = Total.each(columns)[0]
        with lock:
            found[0] = (found[0][0] + bins, found[0][1] + Cuts(longest, whole, tuple(each)))

    kernel.over_blocks(n, len(rows.confidences), work)
    bins, cuts = found[0]
    return bins, peaks, cuts


def _expected(lists: TopLists, truth: TopLists) -> tuple[Bins, NDArray[np.float64]]:
    """The same where what happened is a distribution, by cases whose lists and distributions fill a slab."""
    n, bins, peaks = len(lists), Bins(), np.zeros(len(lists))
    filled = lists.offsets + truth.offsets
    lo = 0
    while lo < n:
        hi = max(lo + 1, int(np.searchsorted(filled, filled[lo] + CELLS, side="right")) - 1)
        part = lists[lo:hi]
        t = part.normalized_confidences
        if len(t):
            bins += Bins.of(t, beliefs(truth[lo:hi], part).listed)
            some = np.flatnonzero(part.sizes)
            peaks[lo + some] = np.maximum.reduceat(t, part.offsets[some])
        lo = hi
    return bins, peaks


def _histogram(sizes: NDArray[np.int64]) -> dict[int, int]:
    if not len(sizes):
        return {}
    if sizes.max() <= 2 * len(sizes) + 64:
        counts = np.bincount(sizes)
        lengths = np.flatnonzero(counts)
        return dict(zip(lengths.tolist(), counts[lengths].tolist(), strict=True))
    lengths, counts = np.unique(sizes, return_counts=True)
    return dict(zip(lengths.tolist(), counts.tolist(), strict=True))


def _shapes(lists: TopLists, sheet: Sheet, lengths: Mapping[int, int]) -> tuple[tuple[int, Total], ...]:
    """Cases and scores by shape.

    A list of several classes that leaves no mass, as far as the door can tell, is a distribution whose zeros are not
    written down: it says all there is to say about every class.
    """
    sizes = sheet.sizes
    bits = lists.admitted.rows.bits
    known = np.array(sorted(lengths), np.int64)
    each = np.array([rectangles.Rounding.of(bits, length).mass for length in known.tolist()])
    allowed = each[np.searchsorted(known, sizes)]
    kinds = np.minimum(sizes, 2).astype(np.int32)
    kinds[((1.0 - sheet.mass <= allowed) | (lists.admitted.rows.size == sizes)) & (sizes > 1)] = 3
    kinds[(sizes == 1) & (1.0 - sheet.mass > allowed)] = 2
    counts = np.bincount(kinds, minlength=len(KINDS)).tolist()
    if len(sizes) in counts:  # all of one kind
        only = Total.each(sheet.scores[:1])[0][0]
        return tuple((count, only if count else Total()) for count in counts)
    totals = Total.each(sheet.scores[:1], kinds, len(KINDS))
    return tuple((count, row[0]) for count, row in zip(counts, totals, strict=True))
