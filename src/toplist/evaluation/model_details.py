"""Details of one model: reliability, truncation curve, prediction types, worst cases, confusions, data quality."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist._text import quote
from toplist._typing import Codes, Floats
from toplist.calibration.pairs import Bins
from toplist.core import array_api, kernel
from toplist.inference.results import (
    KINDS,
    CaseView,
    Confusion,
    ModelDetails,
    PredictionType,
    PredictionView,
)
from toplist.lists import TopLists
from toplist.lists.checks import QualityCounts
from toplist.lists.checks.detect import MemoryNames, Names, summed
from toplist.lists.converters import as_codes, as_truth, is_soft
from toplist.lists.space import show_size
from toplist.lists.toplists import beliefs
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
Places = NDArray[np.intp]
MOST = 10  # worst cases, and confusions
LISTED = 3  # classes of a prediction that are shown


class BatchNames(Names, Protocol):
    """What the cases of one batch are called, and its codes, which may mean something else in the next."""

    def predicted(self, cases: Places, codes: Codes) -> Sequence[str]:
        """The names of one listed class of each of these cases."""
        ...

    def outcomes(self, cases: Places, codes: Codes) -> Sequence[str]:
        """The names of the outcomes of these cases."""
        ...


@dataclass(frozen=True, slots=True)
class ArrayNames(MemoryNames):
    """Names of predictions in memory, where a code is the same class in every case.

    >>> from toplist import ClassSpace
    >>> names = ArrayNames(ClassSpace(labels=["cat", "dog"]), y=["fox", "cat"])
    >>> names.predicted(np.arange(2), np.array([1, 1])), names.outcomes(np.arange(2), np.array([-1, 0]))
    (['dog', 'dog'], ['fox', 'cat'])
    """

    def predicted(self, cases: Places, codes: Codes) -> list[str]:
        """See `BatchNames`."""
        return self._each(lambda at, code: self.classes(at, [code])[0], cases, codes)

    def outcomes(self, cases: Places, codes: Codes) -> list[str]:
        """See `BatchNames`: a class that no list can name has the name that was given."""
        found = self._each(self.outcome, cases, codes)
        for stranger in np.flatnonzero(codes < 0).tolist():
            found[stranger] = self.outcome(int(cases[stranger]), -1)
        return found

    @staticmethod
    def _each(name: Callable[[int, int], str], cases: Places, codes: Codes) -> list[str]:
        known, first, which = np.unique(codes, return_index=True, return_inverse=True)
        names = [name(int(cases[at]), int(code)) for at, code in zip(first, known, strict=True)]
        return [names[i] for i in which.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """Scored lists of one model, and what their cases and classes are called."""

    name: str  # of the model
    lists: TopLists
    truth: Any  # codes or, where outcomes are distributions, lists
    scores: CaseScores
    names: BatchNames
    rows: Positions  # of the cases in the truth, of which no two have the same in one source
    source: str = ""  # of the truth
    imputed: bool = False  # whether these are empty lists, of cases that the model lacks

    @property
    def hard(self) -> bool:
        """Whether outcomes are single classes."""
        return not isinstance(self.truth, TopLists)


class Shown(NamedTuple):
    """A case that may be shown, and what decides whether it is."""

    value: float
    position: int
    source: str
    view: CaseView


def largest(cases: Iterable[Shown], most: int) -> tuple[Shown, ...]:
    """Those of the largest values, largest first; among equals those that stand first in the truth."""
    return tuple(sorted(cases, key=lambda case: (-case.value, case.position, case.source))[:most])


Counted = Callable[[int], tuple[float, int]]
"""Of a case of a batch: how many models are right, and how many predict it; nothing is known of others by default."""


def worst(scores: Floats, position: Positions, most: int) -> NDArray[np.intp]:
    """Where the largest scores are, largest first; equal ones in the order of their positions.

    >>> worst(np.array([1.0, 3.0, 2.0, 3.0]), np.array([0, 9, 2, 3]), 3)
    array([3, 1, 2])
    """
    cases = np.arange(len(scores)) if len(scores) <= most else np.zeros(0, np.intp)
    if len(scores) > most:
        last = np.partition(scores, len(scores) - most)[len(scores) - most]
        above, equal = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
        needed = most - len(above)
        if len(equal) > needed:
            equal = equal[np.argpartition(position[equal], needed)[:needed]]
        cases = np.concatenate([above, equal])
    return cases[np.lexsort((position[cases], -scores[cases]))]


def top_entries(lists: TopLists, count: int = 1) -> NDArray[np.intp]:
    """Where the most confident classes of each case stand among all entries, most confident first; -1 for none.

    Of several that are as confident, the one that is listed first comes first.

    >>> top_entries(TopLists.from_dicts([{0: 0.4, 1: 0.4}, {}, {2: 0.1, 0: 0.6}], 5), 2).tolist()
    [[0, 1], [-1, -1], [3, 2]]
    """
    offsets, sizes, t = lists.offsets, lists.sizes, lists.checked.rows.confidences
    found = np.full((len(sizes), count), -1, np.intp)
    width = int(sizes.max(initial=0))
    for rank in range(min(count, width)):
        if rank:
            t = t.copy() if rank == 1 else t
            t[found[found[:, rank - 1] >= 0, rank - 1]] = -np.inf
        some = np.flatnonzero(sizes > rank)
        if sizes.min() == width:
            found[:, rank] = offsets[:-1] + t.reshape(len(sizes), width).argmax(axis=1)
            continue
        every = np.flatnonzero(sizes)
        largest = np.repeat(np.maximum.reduceat(t, offsets[every]), sizes[every])
        reached = np.flatnonzero(t == largest)
        found[some, rank] = reached[np.searchsorted(reached, offsets[some])]
    return found


def classes_at(lists: TopLists, entries: Places, cases: Places) -> Codes:
    """The classes of some entries, which are of these cases."""
    classes = lists.checked.rows.classes
    return np.asarray(entries - lists.offsets[cases] if classes is None else classes[entries], np.int64)


def true_probabilities(lists: TopLists, codes: Codes) -> Floats:
    """The probability of the true class of each case: listed, or its share of the rest.

    >>> true_probabilities(TopLists.from_dicts([{0: 0.6, 1: 0.2}, {2: 0.5}], 3), np.array([1, 0]))
    array([0.2 , 0.25])
    """
    found, sizes = lists.proxy, lists.sizes
    hits = np.flatnonzero(lists.classes == np.repeat(codes, sizes))
    found[np.repeat(np.arange(len(lists)), sizes)[hits]] = lists.normalized_confidences[hits]
    return found


def views_of(look: Look, at: Places, counted: Counted) -> list[CaseView]:
    """Some cases of a batch with the prediction of the model."""
    part, happened, names, scored = look.lists[at], look.truth[at], look.names, look.scores
    listed: list[list[tuple[str, float]]] = [[] for _ in at]
    for entries in top_entries(part, LISTED).T:
        some = np.flatnonzero(entries >= 0)
        classes = names.predicted(at[some], classes_at(part, entries[some], some))
        confidences = part.normalized_confidences[entries[some]].tolist()
        for case, name, confidence in zip(some.tolist(), classes, confidences, strict=True):
            listed[case].append((name, confidence))
    outcomes, true = ["any class alike"] * len(at), [0.0] * len(at)
    if look.hard:
        outcomes, true = list(names.outcomes(at, happened)), true_probabilities(part, happened).tolist()
    else:  # a distribution is called by its most likely class
        entries = top_entries(happened)[:, 0]
        some = np.flatnonzero(entries >= 0)
        classes = names.outcomes(at[some], classes_at(happened, entries[some], some))
        beliefs = happened.normalized_confidences[entries[some]].tolist()
        for case, name, belief in zip(some.tolist(), classes, beliefs, strict=True):
            outcomes[case] = f"{name} ({belief:.3g})"
    views = []
    for i, case in enumerate(at.tolist()):
        prediction = PredictionView(
            look.name,
            float(scored.scores[0][case]),
            float(scored.metrics["accuracy"][case]) if look.hard else math.nan,
            tuple(listed[i]),
            true[i] if look.hard else None,
            int(part.sizes[i]),
            float(part.rest[i]),
        )
        right, models = counted(case) if look.hard else (0.0, 0)
        views.append(CaseView(names.case(case, int(look.rows[case])), outcomes[i], (prediction,), right, models))
    return views


def truth_of(y: Any, lists: TopLists) -> Any:
    """Outcomes as codes, or as lists where they are distributions over the classes."""
    return as_truth(y, lists.space, len(lists)) if is_soft(y, lists.space) else as_codes(y, lists)


_HIGH, _LOW = 26, 27  # bits of a confidence in two whole numbers, whose sums over up to 2**26 cases are exact


@dataclass(frozen=True, slots=True)
class Confusions:
    """How often each class is predicted first where another one is true, and how often each class is true.

    The top-1 prediction is the most confident class; of several that are as confident, the one that is listed first.
    An empty list predicts none.
    """

    pairs: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # cases; confidence in 2**-53
    classes: Mapping[str, int] = field(default_factory=dict)  # cases of each true class

    def __add__(self, other: Confusions) -> Confusions:
        if not self.classes or not other.classes:
            return self if self.classes else other
        pairs = dict(self.pairs)
        for pair, (cases, confidence) in other.pairs.items():
            own = pairs.get(pair, (0, 0))
            pairs[pair] = own[0] + cases, own[1] + confidence
        return Confusions(pairs, summed(self.classes, other.classes))

    @classmethod
    def of(cls, lists: TopLists, codes: Codes, peaks: Floats, names: BatchNames) -> Confusions:
        """Those of a batch; `peaks` are the largest confidences."""
        entries = top_entries(lists)[:, 0]
        some = np.flatnonzero(entries >= 0)
        predicted = classes_at(lists, entries[some], some)
        wrong = np.flatnonzero(predicted != codes[some])
        cases, predicted = some[wrong], predicted[wrong]
        local = lists.space.per_case  # a code may be another class in the next case
        first, which = distinct(local, codes[cases], predicted)
        high = np.floor(peaks[cases] * 2.0**_HIGH)
        low = np.rint((peaks[cases] * 2.0**_HIGH - high) * 2.0**_LOW)
        counts, highs, lows = (np.bincount(which, w, len(first)) for w in (None, high, low))
        pairs: dict[tuple[str, str], tuple[int, int]] = {}
        called = zip(
            names.outcomes(cases[first], codes[cases[first]]),
            names.predicted(cases[first], predicted[first]),
            strict=True,
        )
        for pair, n, upper, lower in zip(called, counts.tolist(), highs.tolist(), lows.tolist(), strict=True):
            own = pairs.get(pair, (0, 0))
            pairs[pair] = own[0] + n, own[1] + (int(upper) << _LOW) + int(lower)
        first, which = distinct(local, codes)
        classes: dict[str, int] = {}
        for name, n in zip(names.outcomes(first, codes[first]), np.bincount(which).tolist(), strict=True):
            classes[name] = classes.get(name, 0) + n
        return cls(pairs, classes)

    def most_frequent(self) -> tuple[Confusion, ...]:
        """The most frequent ones."""
        order = nsmallest(MOST, self.pairs.items(), key=lambda one: (-one[1][0], one[0]))
        return tuple(
            Confusion(true, predicted, cases, cases / self.classes[true], confidence / (cases << (_HIGH + _LOW)))
            for (true, predicted), (cases, confidence) in order
        )


def distinct(local: bool, *columns: Codes) -> tuple[Places, Places]:
    """The first of the cases that are alike in all columns, and which of these each case is.

    Where codes are `local`, or a class has none, every case is apart.
    """
    n = len(columns[0])
    if local:
        return np.arange(n), np.arange(n)
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        own, other = (np.unique(one, return_inverse=True) for one in (key, column))
        key = own[1] * len(other[0]) + other[1]
    strangers = np.flatnonzero(columns[0] < 0)
    key[strangers] = -1 - strangers
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return first, which


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
    def of(cls, lists: TopLists, invalid: NDArray[Any], position: Positions, names: BatchNames) -> FirstInvalid:
        """The first of a batch."""
        cases = np.flatnonzero(invalid)
        if not len(cases):
            return cls()
        at = int(cases[np.argmin(position[cases])])
        return cls(int(position[at]), _in_words(lists, at, int(position[at]), names))


def _in_words(lists: TopLists, at: int, position: int, names: BatchNames) -> str:
    part = lists[at : at + 1]
    t = part.normalized_confidences
    least = int(np.argmin(t))
    size = lists.space.size[at] if lists.space.per_case else lists.space.size
    unlisted = int(size) - len(t)
    (called,) = names.predicted(np.array([at]), part.classes[[least]])
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
    cuts: Cuts | None = field(default_factory=Cuts)  # None where the truth is soft, or lists of one mass are scored
    listed: Bins = field(default_factory=Bins)
    top: Bins = field(default_factory=Bins)
    mass: Bins = field(default_factory=Bins)
    sizes: Mapping[int, int] = field(default_factory=dict)
    shapes: tuple[tuple[int, Total], ...] = ((0, Total()),) * len(KINDS)
    worst: tuple[Shown, ...] = ()
    confusions: Confusions = field(default_factory=Confusions)
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
            largest((*self.worst, *other.worst), MOST),
            self.confusions + other.confusions,
            self.invalid + other.invalid,
            self.look + other.look,
        )


def accumulate(look: Look, rule: Rule, counted: Counted = lambda at: (0.0, 0)) -> DetailsAccumulator:
    """The details of a batch, whose scores under the first rule are those under this one.

    Where outcomes are distributions hits are expected ones, and there is no curve.

    >>> import toplist as tl
    >>> lists, y = tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {}], 5), ["b", "c"]
    >>> scores = tl.score_cases(lists, y, rules="brier")
    >>> look = Look("A", lists, truth_of(y, lists), scores, ArrayNames(lists.space, None, y), np.arange(2))
    >>> finish(accumulate(look, tl.Brier()), "A", "brier").sizes
    ((0, 1), (2, 1))
    """
    lists, truth, scored, rows, names = look.lists, look.truth, look.scores, look.rows, look.names
    cuts: Cuts | None = None
    confusions = Confusions()
    if look.hard:
        listed, peaks, cuts = _walked(lists, truth, scored, rule)
        cuts = cuts if rule.padded else None
        confusions = Confusions.of(lists, truth, peaks, names)
    else:
        listed, peaks = _expected(lists, truth)
    some, last = np.flatnonzero(scored.metrics["mean_length"]), worst(scored.scores[0], rows, MOST)
    sizes, views = _histogram(scored.metrics["mean_length"]), views_of(look, last, counted)
    return DetailsAccumulator(
        len(lists),
        cuts,
        listed,
        Bins.of(peaks[some], scored.metrics["accuracy"][some]),
        Bins.of(scored.metrics["mean_mass"], scored.metrics["coverage"]),
        sizes,
        _shapes(lists, scored, sizes),
        tuple(
            Shown(float(scored.scores[0][at]), int(rows[at]), look.source, view)
            for at, view in zip(last.tolist(), views, strict=True)
        ),
        confusions,
        FirstInvalid.of(lists, scored.invalid, rows, names),
        QualityCounts.of(lists.checked.rows, lists.space, position=rows, names=names),
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
        invalid=details.invalid.words,
        issues=details.look.issues(),
        worst=tuple(shown.view for shown in details.worst),
        confusions=details.confusions.most_frequent(),
    )


def _walked(
    lists: TopLists, codes: NDArray[np.int64], scored: CaseScores, rule: Rule
) -> tuple[Bins, NDArray[np.float64], Cuts]:
    """In one pass: the bins of listed confidences, the largest confidences, and the scores of truncated lists."""
    rows, n = lists.checked.rows, len(lists)
    plain, empty = scored.unpenalised[0], scored.empty[0]
    outcomes = OutcomePlaces.of(lists, codes)
    longest = int(scored.metrics["mean_length"].max(initial=0))
    ks = below(longest) if rule.padded else ()
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
            if rule.tabular:
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
