"""Details of one model: reliability, truncation curve, prediction types, worst cases, confusions, data quality."""

from __future__ import annotations

import math
import threading
from collections import Counter
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
from toplist.lists.checks import MemoryNames, Names, QualityCounts
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


def first_entries(lists: TopLists) -> NDArray[np.intp]:
    """Where the most confident class of each case stands among all entries, the first of equals; -1 for none.

    >>> first_entries(TopLists.from_dicts([{0: 0.4, 1: 0.4}, {}, {2: 0.1, 0: 0.6}], 5)).tolist()
    [0, -1, 3]
    """
    sizes, t = lists.sizes, lists.checked.rows.confidences
    entries, listed = np.full(len(sizes), -1, np.intp), np.flatnonzero(sizes)
    if len(listed):
        starts = lists.offsets[listed]
        reached = np.flatnonzero(t == np.repeat(np.maximum.reduceat(t, starts), sizes[listed]))
        entries[listed] = reached[np.searchsorted(reached, starts)]
    return entries


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
    part, happened, names, scored = look.lists[at].ordered(), look.truth[at], look.names, look.scores
    cases = np.repeat(np.arange(len(at)), part.sizes)
    entries = np.flatnonzero(np.arange(len(cases)) - part.offsets[cases] < LISTED)
    cases, classes, confidences = cases[entries], part.classes[entries], part.normalized_confidences[entries]
    listed: list[list[tuple[str, float]]] = [[] for _ in at]
    for case, *entry in zip(cases.tolist(), names.predicted(at[cases], classes), confidences.tolist(), strict=True):
        listed[case].append((entry[0], entry[1]))
    if look.hard:
        outcomes, true = list(names.outcomes(at, happened)), true_probabilities(part, happened).tolist()
    else:  # a distribution is called by its most likely class
        outcomes, true = ["any class alike"] * len(at), []
        entries = first_entries(happened)
        some = np.flatnonzero(entries >= 0)
        called = names.outcomes(at[some], classes_at(happened, entries[some], some))
        beliefs = happened.normalized_confidences[entries[some]].tolist()
        for case, name, belief in zip(some.tolist(), called, beliefs, strict=True):
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

    cases: Counter[tuple[str, str]] = field(default_factory=Counter)
    confidence: Counter[tuple[str, str]] = field(default_factory=Counter)  # sums in 2**-53
    classes: Counter[str] = field(default_factory=Counter)  # cases of each true class

    def __add__(self, other: Confusions) -> Confusions:
        return Confusions(self.cases + other.cases, self.confidence + other.confidence, self.classes + other.classes)

    @classmethod
    def of(cls, lists: TopLists, codes: Codes, peaks: Floats, names: BatchNames) -> Confusions:
        """Those of a batch; `peaks` are the largest confidences."""
        entries = first_entries(lists)
        some = np.flatnonzero(entries >= 0)
        predicted = classes_at(lists, entries[some], some)
        wrong = np.flatnonzero(predicted != codes[some])
        cases, predicted = some[wrong], predicted[wrong]
        local = lists.space.per_case  # a code may be another class in the next case
        first, which = distinct(local, codes[cases], predicted)
        high = np.floor(peaks[cases] * 2.0**_HIGH)
        low = np.rint((peaks[cases] * 2.0**_HIGH - high) * 2.0**_LOW)
        counts, highs, lows = (np.bincount(which, w, len(first)) for w in (None, high, low))
        made = cls()
        pairs = zip(
            names.outcomes(cases[first], codes[cases[first]]),
            names.predicted(cases[first], predicted[first]),
            strict=True,
        )
        for pair, n, upper, lower in zip(pairs, counts.tolist(), highs.tolist(), lows.tolist(), strict=True):
            made.cases[pair] += n
            made.confidence[pair] += (int(upper) << _LOW) + int(lower)
        first, which = distinct(local, codes)
        for name, n in zip(names.outcomes(first, codes[first]), np.bincount(which).tolist(), strict=True):
            made.classes[name] += n
        return made

    def most_frequent(self) -> tuple[Confusion, ...]:
        """The most frequent ones."""
        return tuple(
            Confusion(
                true, predicted, n, n / self.classes[true], self.confidence[true, predicted] / (n << (_HIGH + _LOW))
            )
            for (true, predicted), n in nsmallest(MOST, self.cases.items(), key=lambda pair: (-pair[1], pair[0]))
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


def first_invalid(look: Look) -> tuple[tuple[int, str], ...]:
    """The position of the first invalid list in the truth, and what is wrong in words; nothing where all are valid."""
    cases = np.flatnonzero(look.scores.invalid)
    if not len(cases):
        return ()
    at = int(cases[np.argmin(look.rows[cases])])
    part, position, size = look.lists[at : at + 1], int(look.rows[at]), look.lists.space.size
    t = part.normalized_confidences
    least = int(np.argmin(t))
    unlisted = int(size[at] if look.lists.space.per_case else size) - len(t)
    (called,) = look.names.predicted(np.array([at]), part.classes[[least]])
    low, proxy = _apart(float(t[least]), float(part.proxy[0]))
    others = f"each of the {show_size(unlisted)} unlisted classes" if unlisted > 1 else "the unlisted class"
    case = look.names.case(at, position)
    words = f"case {case}: {quote(called)} has a confidence of {low}, below the {proxy} that {others} gets."
    return ((position, words),)


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
    sizes: Counter[int] = field(default_factory=Counter)
    shapes: tuple[tuple[int, Total], ...] = ((0, Total()),) * len(KINDS)
    worst: tuple[Shown, ...] = ()
    confusions: Confusions = field(default_factory=Confusions)
    invalid: tuple[tuple[int, str], ...] = ()
    look: QualityCounts = field(default_factory=QualityCounts)

    def __add__(self, other: DetailsAccumulator) -> DetailsAccumulator:
        return DetailsAccumulator(
            self.cases + other.cases,
            None if self.cuts is None or other.cuts is None else self.cuts + other.cuts,
            self.listed + other.listed,
            self.top + other.top,
            self.mass + other.mass,
            self.sizes + other.sizes,
            tuple((m + n, a + b) for (m, a), (n, b) in zip(self.shapes, other.shapes, strict=True)),
            largest((*self.worst, *other.worst), MOST),
            self.confusions + other.confusions,
            tuple(sorted((*self.invalid, *other.invalid))[:1]),
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
    lengths, counts = np.unique(scored.metrics["mean_length"], return_counts=True)
    sizes = Counter(dict(zip(lengths.tolist(), counts.tolist(), strict=True)))
    views = views_of(look, last, counted)
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
        first_invalid(look),
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
        invalid="".join(words for _, words in details.invalid),
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
    counts, totals = np.bincount(kinds, minlength=len(KINDS)), Total.each(scored.scores[:1], kinds, len(KINDS))
    return tuple((count, row[0]) for count, row in zip(counts.tolist(), totals, strict=True))
