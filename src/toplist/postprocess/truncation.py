"""How long lists should be: chosen on validation cases, or case by case from what the next class is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_count, as_number
from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.outcomes import as_happened
from toplist.lists.truncate import first_where, keep_first, mass_from, ranks_in, rectangles
from toplist.postprocess.selection import OneStandardErrorChoice, as_validation, as_weights, select
from toplist.scoring.rules import as_rule
from toplist.scoring.scores import plain_scores
from toplist.scoring.truncation_curve import cut_scores

MASSES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
_LONG = 1 << 62  # longer than any list


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Truncation:
    """A length, or a mass, chosen on validation cases, with the curve that it was chosen from."""

    kind: Literal["k", "mass"]
    rule: str
    cases: int
    at: NDArray[Any]  # the lengths or masses that were tried, smallest first
    score: Floats  # mean score of the lists cut to each; infinite where any score is
    infinite: NDArray[np.int64]  # how many scores are infinite
    gap: Floats  # mean score minus that of the best
    error: Floats  # standard error of that difference, paired by case; NaN where there is none
    size: Floats  # mean length
    best: Any
    chosen: Any

    def transform(self, lists: TopLists) -> TopLists:
        """Lists cut to the chosen length or mass; of an invalid list its largest valid sublist."""
        require_lists(lists)
        plain = lists.strictly_valid()
        return plain.truncate(self.chosen) if self.kind == "k" else plain.truncate(mass=self.chosen)

    def __repr__(self) -> str:
        head = f"{self.kind:>7} {'score':>12} {'above best':>12} {'std. error':>12} {'length':>8}"
        marks = {self.chosen: "chosen", self.best: "best"}
        if self.chosen == self.best:
            marks = {self.best: "best, chosen"}
        lines = [
            f"{x:>7g} {s:12.6f} {g:12.6f} {e:12.6f} {k:8.2f}  {marks.get(x, '')}".rstrip()
            for x, s, g, e, k in zip(self.at.tolist(), self.score, self.gap, self.error, self.size, strict=True)
        ]
        if len(lines) > 21:
            near = {*range(6), *(i for i, x in enumerate(self.at.tolist()) if x in marks), len(lines) - 1}
            lines = [lines[i] for i in sorted(near)] + [f"  ({len(self.at)} were tried)"]
        return "\n".join(
            [f"Truncation to {self.kind} = {self.chosen:g} by {self.rule}, {self.cases:,} cases", head, *lines]
        )


def choose_k(
    lists: TopLists, y: Any, *, rule: Any = "brier", one_se: bool = True, ks: Any = None, sample_weight: Any = None
) -> Truncation:
    """The length with the best mean score on validation cases, or the shortest that is nearly as good.

    Longer true lists never score worse in expectation (paper, Theorem 5.3); estimated ones may. With `one_se` the
    smallest k is chosen whose mean exceeds that of the best by at most one standard error of the difference between
    the two, paired by case. Lists are cut to at most their own length. Invalid ones count as their largest valid
    sublists, without penalty.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_proba([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.35, 0.25]])
    >>> choose_k(lists, [0, 0, 0]).chosen
    1
    """
    rule = as_rule(rule)
    plain, codes, weights = as_validation(lists, y, sample_weight)
    if ks is not None and not isinstance(ks, Iterable):
        raise TopListError(f"ks are numbers of classes, not {ks!r}.")
    longest = int(plain.sizes.max(initial=0))
    wanted = range(longest + 1) if ks is None else sorted({min(as_count(k, "each of ks"), _LONG) for k in ks})
    at = np.array(wanted, dtype=np.int64)
    if not len(at):
        raise TopListError("ks are empty: give at least one number of classes.")
    found = select(lambda: cut_scores(plain, codes, at, rule=rule), weights, one_se=one_se)
    lengths = np.bincount(plain.sizes, weights=weights, minlength=longest + 1)
    size = np.array([np.minimum(np.arange(longest + 1), k) @ lengths for k in at]) / weights.sum()
    return _made("k", rule.name, len(codes), at, found, size)


def choose_mass(
    lists: TopLists, y: Any, *, rule: Any = "brier", one_se: bool = True, masses: Any = None, sample_weight: Any = None
) -> Truncation:
    """The same over masses: each list is cut to as many classes as it takes to list the mass.

    Sure cases get short lists and doubtful ones long lists, where `choose_k` gives all the same length.
    """
    rule = as_rule(rule)
    plain, codes, weights = as_validation(lists, y, sample_weight)
    if masses is not None and (not isinstance(masses, Iterable) or isinstance(masses, str)):
        raise TopListError(f"masses are numbers between 0 and 1, not {masses!r}.")
    at = np.array(sorted({as_number(x, "each of masses", 0, 1) for x in (MASSES if masses is None else masses)}))
    if not len(at):
        raise TopListError("masses are empty: give at least one.")
    cuts = [plain.truncate(mass=float(x)) for x in at]
    scores = np.stack([plain_scores(cut, codes, rule) for cut in cuts], axis=1)

    def blocks() -> Iterator[tuple[slice, Floats]]:
        yield slice(None), scores

    size = np.array([weights @ cut.sizes for cut in cuts]) / weights.sum()
    return _made("mass", rule.name, len(codes), at, select(blocks, weights, one_se=one_se), size)


def _made(
    kind: Literal["k", "mass"], rule: str, cases: int, at: NDArray[Any], found: OneStandardErrorChoice, size: Floats
) -> Truncation:
    best, chosen = at[found.best].item(), at[found.chosen].item()
    return Truncation(
        kind, rule, cases, at, found.score, found.infinite, found.gap, found.error, size, best, chosen
    )  # fmt: skip


def truncate_by_gain(lists: TopLists, threshold: float, *, ahead: bool = False) -> TopLists:
    r"""Each list up to where the next class is not worth the threshold, by the list's own expectation.

    A class of probability x, n classes being unlisted with :math:`\pi` each, takes
    :math:`\frac{n}{n-1}(x - \pi)^2` off the expected Brier score. The list ends before the first class for which this
    is below the threshold. Gains need not fall along a list: the first of several equally likely classes gains less
    than the last. With `ahead` the list has the length that minimises expected Brier score + threshold * length.

    >>> import toplist as tl
    >>> truncate_by_gain(tl.TopLists.from_proba([[0.7, 0.12, 0.09, 0.09]]), 0.01)[0]
    TopList({0: 0.7}, rest=0.3 over 3 classes)
    """
    require_lists(lists)
    threshold = as_number(threshold, "the threshold", 0, np.inf)
    plain = lists.strictly_valid().ordered()
    gain, _, _ = _gains(plain)
    if not ahead:
        return keep_first(plain, first_where(gain < threshold, plain))
    counts = np.zeros(len(plain), np.int64)
    case = np.repeat(np.arange(len(plain)), plain.sizes)
    for where in rectangles(plain):
        net = np.cumsum(gain[where] - threshold, axis=1)
        counts[case[where[:, 0]]] = np.where(net.max(axis=1) > 0, net.argmax(axis=1) + 1, 0)
    return keep_first(plain, counts)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Worth:
    """What each rank takes off the Brier score, a mean over the cases that list so many classes."""

    rank: NDArray[np.int64]  # from 1
    cases: NDArray[np.int64]
    expected: Floats  # if the lists are right
    realised: Floats | None  # with what happened; None without outcomes
    error: Floats | None  # standard error of the mean realised gain; NaN with fewer than two cases

    def __repr__(self) -> str:
        nothing = np.full(len(self.rank), np.nan)
        columns = (self.expected, *(nothing if x is None else x for x in (self.realised, self.error)))
        lines = [
            f"{r:5d} {n:9,d} {x:12.6f} {g:12.6f} {e:12.6f}"
            for r, n, x, g, e in zip(self.rank, self.cases, *columns, strict=True)
        ]
        shown = lines if len(lines) <= 21 else [*lines[:10], "  ...", *lines[-10:]]
        head = f"{'rank':>5} {'cases':>9} {'expected':>12} {'realised':>12} {'std. error':>12}"
        return "\n".join(["Worth of each rank in Brier score", head, *shown])


def worth(lists: TopLists, y: Any = None, *, sample_weight: Any = None) -> Worth:
    r"""What each further class on the list is worth in Brier score, by rank: expected, and with outcomes realised.

    With d = x - :math:`\pi` and n classes unlisted before, the expected gain is :math:`\frac{n}{n-1} d^2` and the
    realised one :math:`-\frac{n}{n-1} d^2 + 2d (1\{y = z\} - 1\{y \text{ still unlisted}\}/(n-1))`, where z is
    the class. Expected well above realised says that the lists are too sure of that rank.

    >>> import toplist as tl
    >>> worth(tl.TopLists.from_proba([[0.6, 0.3, 0.1]])).expected.round(4)
    array([0.1067, 0.02  , 0.    ])
    """
    require_lists(lists)
    codes = None if y is None else as_happened(y, lists, "realised gains are about")
    weights = as_weights(sample_weight, len(lists)) if len(lists) else np.zeros(0)
    plain = lists.strictly_valid().ordered()
    gain, d, left = _gains(plain)
    rank, longest = ranks_in(plain), int(plain.sizes.max(initial=0))
    w = np.repeat(weights, plain.sizes)
    cases = np.bincount(rank[w > 0], minlength=longest)
    whole = np.bincount(rank, weights=w, minlength=longest)

    def mean(values: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.bincount(rank, weights=w * values, minlength=longest) / whole

    expected = mean(gain)
    ranks = np.arange(1, longest + 1)
    if codes is None:
        return Worth(ranks, cases, expected, None, None)
    own = plain.classes == np.repeat(codes, plain.sizes)
    behind = rank < np.repeat(first_where(own, plain), plain.sizes)  # what happened is not listed up to here
    others = np.where(left > 1, left - 1, np.inf)
    gained = -gain + 2 * d * (own - behind / others)
    realised = mean(gained)
    off = np.bincount(rank, weights=(w * (gained - realised[rank])) ** 2, minlength=longest)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(cases > 1, np.sqrt(off * cases / (cases - 1)) / whole, np.nan)
    return Worth(ranks, cases, expected, realised, error)


def _gains(ordered: TopLists) -> tuple[Floats, Floats, Floats]:
    """Per entry: the expected gain of listing it, how far it is above its share, and how many were unlisted before."""
    sizes = ordered.sizes
    left = np.repeat(ordered.admitted.rows.size + np.zeros(len(ordered)), sizes) - ranks_in(ordered)
    d = np.where(left > 1, ordered.normalized_confidences - mass_from(ordered) / left, 0.0)
    with np.errstate(invalid="ignore"):
        factor = np.where(np.isinf(left), 1.0, left / np.where(left > 1, left - 1.0, np.inf))
    return factor * d**2, d, left
