"""Truncation: lengths chosen on validation cases, or case by case by the gain of the next class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._text import fixed, significant
from toplist._typing import Floats, Ints
from toplist.core.arguments import as_count, as_number
from toplist.core.kernel import standard_error
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_single_outcomes
from toplist.lists.toplists import first_where, keep_first, mass_from, ranks_in, rectangles
from toplist.postprocess.selection import OneStandardErrorChoice, as_validation, as_weights, select
from toplist.scoring.rules import as_padded_rule
from toplist.scoring.scores import plain_scores
from toplist.scoring.truncation_curve import cut_scores

MASSES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
_LONG = 1 << 62  # longer than any list


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Truncation:
    """A length, or a mass, chosen on validation cases, with the curve that it was chosen from.

    Attributes
    ----------
    kind : {"k", "mass"}
        What lists are cut to.
    rule : str
        The scoring rule.
    cases : int
        The number of validation cases.
    at : ndarray
        The lengths or masses that were tried, smallest first.
    score : ndarray
        Mean score of the lists cut to each; infinite where any score is.
    infinite : ndarray
        How many scores are infinite.
    gap, error : ndarray
        Mean score minus that of the best, and the standard error of this difference, paired by case; NaN where there is
        none.
    size : ndarray
        Mean length.
    best, chosen : int or float
        The length or mass of least mean score, and the chosen one.
    """

    kind: Literal["k", "mass"]
    rule: str
    cases: int
    at: NDArray[Any]
    score: Floats
    infinite: Ints
    gap: Floats
    error: Floats
    size: Floats
    best: Any
    chosen: Any

    def transform(self, lists: Any, *, space: Any = None) -> TopLists:
        """Lists, or what `toplist.as_lists` takes, cut to the chosen length or mass; of invalid ones the valid part."""
        valid = as_lists(lists, space).strictly_valid()
        return valid.truncate(self.chosen) if self.kind == "k" else valid.truncate(mass=self.chosen)

    def __repr__(self) -> str:
        at = {"chosen": self.chosen, "best": self.best}
        scores = dict(zip(self.at.tolist(), self.score.tolist(), strict=True))
        told = ", ".join(f"{name} {self.kind} = {x:g} ({significant(scores[x])})" for name, x in at.items())
        return f"Truncation({told}; mean {self.rule} score, {self.cases:,} cases)"

    def __str__(self) -> str:
        head = f"{self.kind:>7} {'score':>12} {'above best':>12} {'std. error':>12} {'length':>8}"
        marks = {self.chosen: "chosen", self.best: "best, chosen" if self.chosen == self.best else "best"}
        lines = [
            f"{x:>7g} {' '.join(f'{fixed(v, 6):>12}' for v in (s, g, e))} {k:8.2f}  {marks.get(x, '')}".rstrip()
            for x, s, g, e, k in zip(self.at.tolist(), self.score, self.gap, self.error, self.size, strict=True)
        ]
        if len(lines) > 21:
            near = {*range(6), *(i for i, x in enumerate(self.at.tolist()) if x in marks), len(lines) - 1}
            lines = [lines[i] for i in sorted(near)] + [f"  ({len(self.at)} were tried)"]
        return "\n".join(
            [f"Truncation to {self.kind} = {self.chosen:g} by {self.rule}, {self.cases:,} cases", head, *lines]
        )


def choose_k(
    lists: Any,
    y: Any,
    *,
    rule: Any = "brier",
    one_se: bool = True,
    ks: Any = None,
    sample_weight: Any = None,
    space: Any = None,
) -> Truncation:
    """Choose the length with the best mean score on validation cases, or the shortest that is nearly as good.

    Longer true lists never score worse in expectation (paper, Theorem 5.3); estimated ones may. Lists are cut to at
    most their own length. Invalid ones count as their largest valid sublists, without penalty.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions for validation cases.
    y : array-like
        One outcome per case.
    rule : str or Rule, default "brier"
        The scoring rule.
    one_se : bool, default True
        Choose the smallest k whose mean exceeds that of the best by at most one standard error of the difference
        between the two, paired by case; else the best.
    ks : iterable of int, optional
        The lengths to try; all by default.
    sample_weight : array-like, optional
        One weight per case.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    Truncation
        Its `transform` cuts lists to the chosen length.

    Examples
    --------
    >>> choose_k([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.35, 0.25]], [0, 0, 0]).chosen
    1
    """
    rule = as_padded_rule(rule, "choose_k")
    valid, codes, weights = as_validation(lists, y, sample_weight, space)
    if ks is not None and not isinstance(ks, Iterable):
        raise TopListError(f"ks are numbers of classes, not {ks!r}.")
    longest = int(valid.sizes.max(initial=0))
    wanted = range(longest + 1) if ks is None else sorted({min(as_count(k, "each of ks"), _LONG) for k in ks})
    at = np.array(wanted, dtype=np.int64)
    if not len(at):
        raise TopListError("ks are empty: give at least one number of classes.")
    found = select(lambda: cut_scores(valid, codes, at, rule=rule), weights, one_se=one_se)
    lengths = np.bincount(valid.sizes, weights=weights, minlength=longest + 1)
    size = np.array([np.minimum(np.arange(longest + 1), k) @ lengths for k in at]) / weights.sum()
    return _truncation("k", rule.name, len(codes), at, found, size)


def choose_mass(
    lists: Any,
    y: Any,
    *,
    rule: Any = "brier",
    one_se: bool = True,
    masses: Any = None,
    sample_weight: Any = None,
    space: Any = None,
) -> Truncation:
    """Choose the mass with the best mean score on validation cases, or the smallest that is nearly as good.

    Each list is cut to as many classes as it takes to list the mass: sure cases get short lists and uncertain ones long
    lists, where `choose_k` gives all the same length.

    Parameters
    ----------
    lists, y, rule, one_se, sample_weight, space
        As in `choose_k`.
    masses : iterable of float, optional
        The masses to try; 13 from 0 to 1 by default.

    Returns
    -------
    Truncation
        Its `transform` cuts lists to the chosen mass.

    Examples
    --------
    >>> choose_mass([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.35, 0.25]], [0, 0, 0]).chosen
    0.3
    """
    rule = as_padded_rule(rule, "choose_mass")
    valid, codes, weights = as_validation(lists, y, sample_weight, space)
    if masses is not None and (not isinstance(masses, Iterable) or isinstance(masses, str)):
        raise TopListError(f"masses are numbers between 0 and 1, not {masses!r}.")
    at = np.array(sorted({as_number(x, "each of masses", 0, 1) for x in (MASSES if masses is None else masses)}))
    if not len(at):
        raise TopListError("masses are empty: give at least one.")
    cuts = [valid.truncate(mass=float(x)) for x in at]
    scores = np.stack([plain_scores(cut, codes, rule) for cut in cuts], axis=1)
    size = np.array([weights @ cut.sizes for cut in cuts]) / weights.sum()
    found = select(lambda: [(slice(None), scores)], weights, one_se=one_se)
    return _truncation("mass", rule.name, len(codes), at, found, size)


def _truncation(
    kind: Literal["k", "mass"], rule: str, cases: int, at: NDArray[Any], found: OneStandardErrorChoice, size: Floats
) -> Truncation:
    curve = (found.score, found.infinite, found.gap, found.error)
    return Truncation(kind, rule, cases, at, *curve, size, at[found.best].item(), at[found.chosen].item())


def truncate_by_gain(lists: Any, threshold: float, *, ahead: bool = False, space: Any = None) -> TopLists:
    r"""Cut each list where the next class gains less than the threshold in expected Brier score.

    A class of probability x, n classes being unlisted with :math:`\pi` each, takes
    :math:`\frac{n}{n-1}(x - \pi)^2` off the expected Brier score by the list itself. Gains need not fall along a list:
    the first of several equally likely classes gains less than the last.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    threshold : float
        The least gain of a listed class, zero or more.
    ahead : bool, default False
        Take the length that minimises expected Brier score + threshold * length; else the list ends before the first
        class that gains less.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    TopLists
        Valid lists, the most confident class first.

    Examples
    --------
    >>> truncate_by_gain([[0.7, 0.12, 0.09, 0.09]], 0.01)[0]
    TopList(0 0.7; unlisted 0.3 over 3 classes)
    """
    threshold = as_number(threshold, "the threshold", 0, np.inf)
    plain = as_lists(lists, space).strictly_valid().ordered()
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
    """The gain of each rank in Brier score, a mean over the cases that list so many classes.

    Attributes
    ----------
    rank, cases : ndarray
        Ranks from 1, and how many cases list so many classes.
    expected : ndarray
        The mean gain if the lists are right.
    realised, error : ndarray or None
        The mean gain with the outcomes, and its standard error (NaN with fewer than two cases); None without outcomes.
    """

    rank: Ints
    cases: Ints
    expected: Floats
    realised: Floats | None
    error: Floats | None

    def __repr__(self) -> str:
        if not len(self.rank):
            return "Worth(no ranks)"
        gains, what = (self.expected, "expected") if self.realised is None else (self.realised, "realised")
        told = ", ".join(f"rank {r} {significant(x)}" for r, x in zip(self.rank[:3], gains[:3].tolist(), strict=True))
        more = f", … {len(self.rank) - 3:,} more" if len(self.rank) > 3 else ""
        return f"Worth({what} gain in Brier score: {told}{more})"

    def __str__(self) -> str:
        nothing = np.full(len(self.rank), np.nan)
        columns = (self.expected, *(nothing if x is None else x for x in (self.realised, self.error)))
        lines = [
            f"{r:5d} {n:9,d} " + " ".join(f"{fixed(v, 6):>12}" for v in (x, g, e))
            for r, n, x, g, e in zip(self.rank, self.cases, *columns, strict=True)
        ]
        shown = lines if len(lines) <= 21 else [*lines[:10], "  ...", *lines[-10:]]
        head = f"{'rank':>5} {'cases':>9} {'expected':>12} {'realised':>12} {'std. error':>12}"
        return "\n".join(["Worth of each rank in Brier score", head, *shown])


def worth(lists: Any, y: Any = None, *, sample_weight: Any = None, space: Any = None) -> Worth:
    r"""The gain of each further class on the list in Brier score, by rank: expected, and with outcomes realised.

    With d = x - :math:`\pi` and n classes unlisted before, the expected gain is :math:`\frac{n}{n-1} d^2` and the
    realised one :math:`-\frac{n}{n-1} d^2 + 2d (1\{y = z\} - 1\{y \text{ still unlisted}\}/(n-1))`, where z is
    the class. Expected well above realised says that the lists are overconfident in that rank.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    y : array-like, optional
        One outcome per case.
    sample_weight : array-like, optional
        One weight per case.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    Worth
        Mean gains by rank.

    Examples
    --------
    >>> worth([[0.6, 0.3, 0.1]]).expected.round(4)
    array([0.1067, 0.02  , 0.    ])
    """
    lists = as_lists(lists, space)
    codes = None if y is None else as_single_outcomes(y, lists, "realised gains need")
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
    later = rank < np.repeat(first_where(own, plain), plain.sizes)  # the outcome is not listed up to here
    others = np.where(left > 1, left - 1, np.inf)
    gained = -gain + 2 * d * (own - later / others)
    realised = mean(gained)
    off = np.bincount(rank, weights=(w * (gained - realised[rank])) ** 2, minlength=longest)
    return Worth(ranks, cases, expected, realised, standard_error(off, cases, whole))


def _gains(ordered: TopLists) -> tuple[Floats, Floats, Floats]:
    """Per entry: the expected gain of listing it, how far it is above its share, and how many were unlisted before."""
    sizes = ordered.sizes
    left = np.repeat(ordered.checked.rows.size + np.zeros(len(ordered)), sizes) - ranks_in(ordered)
    d = np.where(left > 1, ordered.normalized_confidences - mass_from(ordered) / left, 0.0)
    with np.errstate(invalid="ignore"):
        factor = np.where(np.isinf(left), 1.0, left / np.where(left > 1, left - 1.0, np.inf))
    return factor * d**2, d, left
