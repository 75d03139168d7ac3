"""Details of one model: reliability, truncation curve, prediction types, worst cases, data quality."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import quote
from toplist._typing import Floats
from toplist.calibration.pairs import Bins
from toplist.core import array_api, kernel
from toplist.inference.results import KINDS, ModelDetails, PredictionType, WorstCase
from toplist.lists import TopLists
from toplist.lists.checks import QualityCounts
from toplist.lists.checks.detect import MemoryNames, Names, summed
from toplist.lists.converters import as_codes, as_truth, is_soft
from toplist.lists.operations import beliefs
from toplist.lists.space import show_size
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import Rule
from toplist.scoring.truncation_curve import (
    CELLS,
    Cuts,
    OutcomePlaces,
    Total,
    TruncatedLists,
    below,
    padded_lists,
    scores_one_by_one,
)

Positions = NDArray[np.int64]
MOST = 10  # costly cases
_LISTED = 3  # classes of each that are shown
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class WorstCases:
    """The cases with the largest scores, worst first; among equals those that stand first in the truth."""

    cases: tuple[tuple[int, WorstCase], ...] = ()  # with their positions in the truth

    def __add__(self, other: WorstCases) -> WorstCases:
        both = sorted((*self.cases, *other.cases), key=lambda one: (-one[1].score, one[0], one[1].case))
        return WorstCases(tuple(both[:MOST]))

    @classmethod
    def of(cls, lists: TopLists, truth: Any, scores: Floats, position: Positions, names: Names) -> WorstCases:
        """The costliest cases of a batch; `truth` are codes, or lists."""
        return cls(
            tuple(
                (int(position[at]), _costly(lists, truth, at, float(scores[at]), int(position[at]), names))
                for at in worst(scores, position, MOST).tolist()
            )
        )


def worst(scores: Floats, position: Positions, most: int) -> NDArray[np.intp]:
    """Where the largest scores are, largest first; equal ones in the order of their positions.

    >>> worst(np.array([1.0, 3.0, 2.0, 3.0]), np.array([0, 9, 2, 3]), 3)
    array([3, 1, 2])
    """
    cases = _candidates(scores, most)
    if len(cases) > most:
        last = np.partition(scores[cases], len(cases) - most)[len(cases) - most]
        above, equal = cases[scores[cases] > last], cases[scores[cases] == last]
        needed = most - len(above)
        if len(equal) > needed:
            equal = equal[np.argpartition(position[equal], needed)[:needed]]
        cases = np.concatenate([above, equal])
    return cases[np.lexsort((position[cases], -scores[cases]))]


def _candidates(scores: Floats, most: int) -> NDArray[np.intp]:
    """A few cases that have the largest scores among them: those that reach the `most`-th largest of all chunks."""
    chunks = len(scores) // _CHUNK
    if chunks <= most:
        return np.arange(len(scores))
    tops = scores[: chunks * _CHUNK].reshape(chunks, _CHUNK).max(axis=1)
    return np.flatnonzero(scores >= np.partition(tops, chunks - most)[chunks - most])


def _costly(lists: TopLists, truth: Any, at: int, score: float, position: int, names: Names) -> WorstCase:
    part = lists[at : at + 1]
    t = part.normalized_confidences
    first = np.argsort(-t, stable=True)[:_LISTED]
    called = names.classes(at, part.classes[first].tolist())
    return WorstCase(
        names.case(at, position),
        score,
        _outcome(truth, at, names),
        tuple(zip(called, t[first].tolist(), strict=True)),
        len(t),
        float(part.rest[0]),
    )


def _outcome(truth: Any, at: int, names: Names) -> str:
    if not isinstance(truth, TopLists):
        return names.outcome(at, int(truth[at]))
    part = truth[at : at + 1]
    t = part.normalized_confidences
    if not len(t):
        return "any class alike"
    likely = int(np.argmax(t))
    return f"{names.outcome(at, int(part.classes[likely]))} ({t[likely]:.3g})"


@dataclass(frozen=True, slots=True)
class FirstInvalid:
    """The first invalid list in words, and its position in the truth."""

    position: int | None = None
    words: str = ""

    def __add__(self, other: FirstInvalid) -> FirstInvalid:
        if self.position is None or other.position is None:
            return other if self.position is None else self
        return min(self, other, key=lambda one: (one.position or 0, one.words))

    @classmethod
    def of(cls, lists: TopLists, invalid: NDArray[Any], position: Positions, names: Names) -> FirstInvalid:
        """The first of a batch."""
        cases = np.flatnonzero(invalid)
        if not len(cases):
            return cls()
        at = int(cases[np.argmin(position[cases])])
        return cls(int(position[at]), _in_words(lists, at, int(position[at]), names))


def _in_words(lists: TopLists, at: int, position: int, names: Names) -> str:
    part = lists[at : at + 1]
    t = part.normalized_confidences
    least = int(np.argmin(t))
    size = lists.space.size[at] if lists.space.per_case else lists.space.size
    unlisted = int(size) - len(t)
    called = names.classes(at, [int(part.classes[least])])[0]
    low, proxy = _apart(float(t[least]), float(part.proxy[0]))
    others = f"each of the {show_size(unlisted)} unlisted classes" if unlisted > 1 else "the unlisted class"
    case = names.case(at, position)
    return f"case {case}: {quote(called)} has a confidence of {low}, below the {proxy} that {others} gets."


def _apart(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    texts = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (3, 6, 10, 17))
    return next((pair for pair in texts if pair[0] != pair[1]), (repr(a), repr(b)))


_SIZES = 40  # list lengths that are shown


@dataclass(frozen=True, slots=True)
class DetailsAccumulator:
    """Exact sums and the few cases to show; those of disjoint cases can be added in any order.

    Cases count alike, whatever their weights are in the comparison.
    """

    cases: int = 0
    cuts: Cuts | None = field(default_factory=Cuts)  # None where the truth is soft
    listed: Bins = field(default_factory=Bins)
    top: Bins = field(default_factory=Bins)
    mass: Bins = field(default_factory=Bins)
    sizes: Mapping[int, int] = field(default_factory=dict)
    shapes: tuple[tuple[int, Total], ...] = ((0, Total()),) * len(KINDS)
    costliest: WorstCases = field(default_factory=WorstCases)
    invalid: FirstInvalid = field(default_factory=FirstInvalid)
    look: QualityCounts = field(default_factory=QualityCounts)

    def __add__(self, other: DetailsAccumulator) -> DetailsAccumulator:
        return DetailsAccumulator(
            self.cases + other.cases,
            None if self.cuts is None or other.cuts is None else self.cuts + other.cuts,
            self.listed + other.listed,
            self.top + other.top,
            self.mass + other.mass,
            summed(self.sizes, other.sizes),
            tuple((m + n, a + b) for (m, a), (n, b) in zip(self.shapes, other.shapes, strict=True)),
            self.costliest + other.costliest,
            self.invalid + other.invalid,
            self.look + other.look,
        )


def accumulate(
    lists: TopLists,
    y: Any,
    scored: CaseScores,
    *,
    rule: Rule,
    position: NDArray[np.int64] | None = None,
    names: Names | None = None,
    ranked: bool = False,
) -> DetailsAccumulator:
    """The details of a batch; `scored` are its scores, those under its first rule, which is `rule`.

    `y` are outcomes or, as lists, soft outcomes; then hits are expected ones, and there is no curve. `position` is the
    place of each case in the truth: no two cases of one model have the same. `ranked` lists are declared to have the
    most confident class first.

    >>> import toplist as tl
    >>> from toplist.scoring.case_scores import CaseScores
    >>> lists, rule = tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {}], 5), tl.Brier()
    >>> made = accumulate(lists, ["b", "c"], CaseScores.from_lists(lists, ["b", "c"], [rule]), rule=rule)
    >>> finish(made, "A", "brier").sizes
    ((0, 1), (2, 1))
    """
    n = len(lists)
    where = np.arange(n) if position is None else position
    called = MemoryNames(lists.space, lists.ids, y) if names is None else names
    truth: Any
    cuts: Cuts | None = None
    if is_soft(y, lists.space):
        truth = as_truth(y, lists.space, n)
        listed, peaks = _expected(lists, truth)
    else:
        truth = as_codes(y, lists)
        listed, peaks, cuts = _walked(lists, truth, scored, rule)
    some = scored.metrics["mean_length"] > 0
    every = bool(some.all())
    sizes = _histogram(scored.metrics["mean_length"])
    return DetailsAccumulator(
        n,
        cuts,
        listed,
        Bins.of(
            peaks if every else peaks[some], scored.metrics["accuracy"] if every else scored.metrics["accuracy"][some]
        ),
        Bins.of(scored.metrics["mean_mass"], scored.metrics["coverage"]),
        sizes,
        _shapes(lists, scored, sizes),
        WorstCases.of(lists, truth, scored.scores[0], where, called),
        FirstInvalid.of(lists, scored.invalid, where, called),
        QualityCounts.at(
            lists,
            codes=None if isinstance(truth, TopLists) else truth,
            ranked=ranked,
            position=where,
            names=called,
        ),
    )


def finish(details: DetailsAccumulator, name: str, rule: str) -> ModelDetails:
    """The details as a result: means of exact sums, each rounded once. The curve ends with the lists as they are."""
    cases, cuts = details.cases, details.cuts
    ks: tuple[int, ...] = ()
    curve: tuple[float, ...] = ()
    if cuts is not None and cases:
        ks = (*below(cuts.longest), cuts.longest)
        curve = tuple(total.mean(cases) for total in (*cuts.at, cuts.whole))
    frequent = sorted(details.sizes.items(), key=lambda one: (-one[1], one[0]))[:_SIZES]
    return ModelDetails(
        name=name,
        rule=rule,
        cases=cases,
        ks=ks,
        curve=curve,
        listed=details.listed.means(),
        top=details.top.means(),
        mass=details.mass.means(),
        sizes=tuple(sorted(frequent)),
        shortest=min(details.sizes, default=0),
        longest=max(details.sizes, default=0),
        shapes=tuple(
            PredictionType(kind, count, total.mean(count), total.infinite)
            for kind, (count, total) in zip(KINDS, details.shapes, strict=True)
            if count
        ),
        costly=tuple(costly for _, costly in details.costliest.cases),
        invalid=details.invalid.words,
        issues=details.look.issues(),
    )


def _walked(
    lists: TopLists, codes: NDArray[np.int64], scored: CaseScores, rule: Rule
) -> tuple[Bins, NDArray[np.float64], Cuts]:
    """In one pass: the bins of listed confidences, the largest confidences, and the scores of truncated lists."""
    rows, n = lists.checked.rows, len(lists)
    plain, empty = scored.unpenalised[0], scored.empty[0]
    outcomes = OutcomePlaces.of(lists, codes)
    longest = int(scored.metrics["mean_length"].max(initial=0))
    ks = below(longest)
    peaks = np.zeros(n)
    found: list[tuple[Bins, Cuts]] = [(Bins(), Cuts())]
    lock = threading.Lock()

    def work(lo: int, hi: int) -> None:
        bins = Bins()
        columns = np.empty((len(ks) + 1, hi - lo))
        columns[:] = plain[lo:hi]
        if ks:
            columns[0] = np.where(scored.metrics["mean_length"][lo:hi] > 0, empty[lo:hi], plain[lo:hi])
        for part in padded_lists(lists, lo, hi):
            rank = outcomes.ranks(part, lists)
            hit = np.flatnonzero(rank < len(part.t))
            bins += Bins.of_listed(part.t, part.sizes if part.ragged else None, part.t[rank[hit], hit])
            peaks[part.at] = part.t[0]
            cut = np.array([k for k in ks[1:] if k < len(part.t)], np.int64)
            if not len(cut):
                continue
            if rule.tabular or rows.log_confidences is not None:
                made = scores_one_by_one(part, lists, codes, cut, rule, plain[part.at])
            else:
                made = TruncatedLists.of(part, rank, lists, cut).scores(rule, plain[part.at])
            at = slice(part.at.start - lo, part.at.stop - lo) if isinstance(part.at, slice) else part.at - lo
            columns[1 : len(cut) + 1, at] = made
        *each, whole = Total.each(columns)[0]
        with lock:
            found[0] = (found[0][0] + bins, found[0][1] + Cuts(longest, whole, tuple(each)))

    kernel.over_blocks(n, len(rows.confidences), work)
    bins, cuts = found[0]
    return bins, peaks, cuts


def _expected(lists: TopLists, truth: TopLists) -> tuple[Bins, NDArray[np.float64]]:
    """The same where outcomes are distributions, a few thousand entries at a time."""
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


def _shapes(lists: TopLists, scored: CaseScores, lengths: Mapping[int, int]) -> tuple[tuple[int, Total], ...]:
    """Cases and scores by prediction type.

    A list of several classes that leaves no mass, within the tolerance of validation, is a distribution whose zeros are
    not written down.
    """
    sizes = scored.metrics["mean_length"]
    bits = lists.checked.rows.bits
    known = np.array(sorted(lengths), np.int64)
    each = np.array([array_api.Rounding.of(bits, length).mass for length in known.tolist()])
    allowed = each[np.searchsorted(known, sizes)]
    kinds = np.minimum(sizes, 2).astype(np.int32)
    kinds[((1.0 - scored.metrics["mean_mass"] <= allowed) | (lists.checked.rows.size == sizes)) & (sizes > 1)] = 3
    kinds[(sizes == 1) & (1.0 - scored.metrics["mean_mass"] > allowed)] = 2
    counts = np.bincount(kinds, minlength=len(KINDS)).tolist()
    if len(sizes) in counts:  # all of one kind
        only = Total.each(scored.scores[:1])[0][0]
        return tuple((count, only if count else Total()) for count in counts)
    totals = Total.each(scored.scores[:1], kinds, len(KINDS))
    return tuple((count, row[0]) for count, row in zip(counts, totals, strict=True))
