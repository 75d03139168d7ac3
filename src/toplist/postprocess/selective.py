"""Selective prediction: lists that are not good enough become empty (paper, section 5.1).

The empty list scores the same whatever the outcome, 1 - 1/m in Brier score. By its own expectation no list is worse,
so rejecting pays only where lists are overconfident; recalibrating them first is better still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from toplist._text import fixed, significant
from toplist._typing import Floats, Ints
from toplist.core.arguments import as_number, as_units
from toplist.core.estimate import Estimate, mean_of_influences
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.toplists import keep_entries
from toplist.lists.validation import over_rows
from toplist.postprocess.selection import TINY, as_validation, paired_error, simplest_as_good
from toplist.scoring.rules import Rule, as_padded_rule
from toplist.scoring.scores import entropy, plain_scores

By = Literal["entropy", "confidence"]


def reject_below(
    lists: Any, threshold: float, *, by: By = "confidence", rule: Any = "brier", space: Any = None
) -> TopLists:
    """Make lists empty that are not confident enough.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    threshold : float
        The least top confidence, or the largest entropy, of a list that is kept.
    by : {"confidence", "entropy"}, default "confidence"
        What the threshold is compared with; the entropy is the expected score by the list itself.
    rule : str or Rule, default "brier"
        The scoring rule of the entropy.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    TopLists
        The same lists, some of them empty.

    Examples
    --------
    >>> reject_below([{"a": 0.9}, {"a": 0.4, "b": 0.3}], 0.5, space=5).sizes
    array([1, 0])
    """
    lists = as_lists(lists, space)
    limit = as_number(threshold, "the threshold", -np.inf, np.inf)
    if by == "confidence" and 1 < limit < np.inf:
        raise TopListError(f"no confidence reaches {threshold!r}: a threshold for confidences is from 0 to 1.")
    rejected = uncertainties(lists, by=by, rule=rule) > (limit if by == "entropy" else -limit)
    return keep_entries(lists, ~np.repeat(rejected, lists.sizes))


def uncertainties(lists: TopLists, *, by: By, rule: Any = "brier") -> Floats:
    """How uncertain each list is: its entropy, or minus its top confidence."""
    if by not in get_args(By):
        raise TopListError(f"lists are rejected by 'entropy' or 'confidence', not by {by!r}.")
    valid = lists.strictly_valid()
    if by == "entropy":
        own: Floats = entropy(valid.ordered(), rule=rule)  # not to depend on how a list is ordered, by a rounding error
        return own
    return -over_rows(np.maximum, valid.normalized_confidences, valid.offsets, 0.0)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RejectionCurve:
    """Mean score against coverage: the least uncertain lists are accepted first, equally uncertain ones together.

    Attributes
    ----------
    rule, by : str
        The scoring rule, and what the threshold is compared with.
    cases : int
        The number of validation cases.
    threshold : ndarray
        The largest entropy, or the least top confidence, that is accepted; infinite for none.
    coverage : ndarray
        The share of cases that are accepted.
    accepted, overall : ndarray
        Mean score of the accepted lists (NaN for none), and of all, rejected ones as empty lists.
    gap, error : ndarray
        `overall` minus that of the best threshold, and the standard error of this difference, paired by case; NaN
        where there is none.
    area : float
        The area under `accepted` against `coverage`.
    best, chosen : int
        Where `overall` is least, and the place that was chosen.
    assessed_by : Rule
        The rule of the entropy.
    """

    rule: str
    by: By
    cases: int
    threshold: Floats
    coverage: Floats
    accepted: Floats
    overall: Floats
    gap: Floats
    error: Floats
    area: float
    best: int
    chosen: int
    assessed_by: Rule

    def transform(self, lists: Any, *, space: Any = None) -> TopLists:
        """Lists with those made empty that the chosen threshold rejects; parameters are those of `reject_below`."""
        limit = float(self.threshold[self.chosen])
        return reject_below(lists, limit, by=self.by, rule=self.assessed_by, space=space)

    def __repr__(self) -> str:
        i = self.chosen
        told = f"threshold {significant(self.threshold[i])} accepts {self.coverage[i]:.1%}"
        mean = f"mean {self.rule} score {significant(self.overall[i])} of {self.cases:,} cases"
        return f"RejectionCurve(by {self.by}: {told}, {mean}, area {significant(self.area)})"

    def __str__(self) -> str:
        names = ("coverage", "accepted", "overall", "above best", "std. error")
        head = f"{'threshold':>10} " + " ".join(
            f"{name:>{w}}" for name, w in zip(names, (9, 10, 10, 11, 11), strict=True)
        )
        marks = {self.chosen: "  chosen", self.best: "  best, chosen" if self.best == self.chosen else "  best"}
        spread = np.linspace(0, len(self.coverage) - 1, min(9, len(self.coverage))).round().astype(int)
        columns = (self.threshold, self.coverage, self.accepted, self.overall, self.gap, self.error)
        sizes = ((10, 4), (9, 4), (10, 6), (10, 6), (11, 6), (11, 6))
        lines = [
            " ".join(f"{fixed(x[i], d):>{w}}" for x, (w, d) in zip(columns, sizes, strict=True)) + marks.get(i, "")
            for i in sorted({*spread.tolist(), *marks})
        ]
        title = f"Rejection by {self.by}, {self.rule} score, {self.cases:,} cases, area {self.area:.6f}"
        return "\n".join([title, head, *lines])


def rejection_curve(
    lists: Any,
    y: Any,
    *,
    rule: Any = "brier",
    by: By = "entropy",
    one_se: bool = True,
    sample_weight: Any = None,
    space: Any = None,
) -> RejectionCurve:
    """Mean score against coverage as uncertain lists are rejected, and the best threshold on these cases.

    Rejected cases score as empty lists. Invalid lists count as their largest valid sublists, without penalty.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions for validation cases.
    y : array-like
        One outcome per case.
    rule : str or Rule, default "brier"
        The scoring rule.
    by : {"entropy", "confidence"}, default "entropy"
        What the threshold is compared with.
    one_se : bool, default True
        Choose the threshold that rejects fewest cases among those whose overall mean is within one standard error of
        the best, the error being that of the difference, paired by case; else the best.
    sample_weight : array-like, optional
        One weight per case.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    RejectionCurve
        Its `transform` rejects lists by the chosen threshold.

    Examples
    --------
    >>> made = rejection_curve([{"a": 0.9}, {"a": 0.6}, {"b": 0.5}], ["a", "a", "c"], space=10)
    >>> made.coverage.round(2), made.accepted.round(3)
    (array([0.  , 0.33, 0.67, 1.  ]), array([  nan, 0.011, 0.094, 0.452]))
    """
    rule = as_padded_rule(rule, "a rejection curve")
    valid, codes, weights = as_validation(lists, y, sample_weight, space)
    uncertainty = uncertainties(valid, by=by, rule=rule)
    order = np.argsort(uncertainty, kind="stable")
    level = uncertainty[order]
    ends = _last_of_levels(level)
    own, none = (plain_scores(one, codes, rule)[order] for one in (valid, valid.truncate(0)))
    sums = _RunningSums(own, none, weights[order], np.append(0, ends + 1))
    overall, infinite = sums.overall(), sums.infinite()
    ranked = np.lexsort((overall, infinite))[0]
    tied = (infinite == infinite[ranked]) & (overall <= overall[ranked] + TINY)
    best = int(np.flatnonzero(tied)[-1])
    gap, error = sums.differences(best)
    chosen = simplest_as_good(reversed(range(len(gap))), gap, error) if one_se else None
    nothing, sign = (-np.inf, 1.0) if by == "entropy" else (np.inf, -1.0)
    coverage, accepted = sums.coverage(), sums.accepted()
    width = np.diff(coverage)
    return RejectionCurve(
        rule=rule.name,
        by=by,
        cases=len(valid),
        threshold=np.append(nothing, sign * level[ends]),
        coverage=coverage,
        accepted=accepted,
        overall=np.where(infinite > 0, np.inf, overall),
        gap=gap,
        error=error,
        area=float(width[width > 0] @ accepted[1:][width > 0]),
        best=best,
        chosen=best if chosen is None else chosen,
        assessed_by=rule,
    )


def augrc(
    lists: Any,
    y: Any,
    *,
    rule: Any = "zero-one",
    by: By = "confidence",
    sample_weight: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    space: Any = None,
) -> Estimate:
    """Area under the generalized risk-coverage curve (AUGRC), with its interval; lower is better.

    The generalized risk at a coverage is the mean over *all* cases of the scores of the accepted ones: with zero-one
    scores the probability that a case is accepted and wrong. Its area is the mean over pairs of cases of the score of
    the first, counted if the second is accepted later, and by half if both are accepted together; so equally uncertain
    lists need no order. Unlike the area under the mean score of accepted cases, it does not weigh the scores of the
    most confident cases more than others. Invalid lists count as their largest valid sublists, without penalty.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    rule : str or Rule, default "zero-one"
        The scoring rule; by default a score is 1 where the most confident class is wrong.
    by : {"confidence", "entropy"}, default "confidence"
        Which lists are accepted first: those with the largest top confidence, or with the least entropy under the rule.
    sample_weight : array-like, optional
        One weight per case.
    clusters : array-like, optional
        The cluster of each case, where cases depend on each other.
    level : float, default 0.95
        Confidence level of the interval.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    Estimate
        The area, from 0 to half of the largest score, and its interval: Student's t of what each case contributes to
        both sides of the pairs, which holds for many cases.

    References
    ----------
    .. [1] J. Traub et al. (2024), "Overcoming Common Flaws in the Evaluation of Selective Classification Systems",
       NeurIPS.

    Examples
    --------
    >>> made = augrc([{"a": 0.9}, {"a": 0.6}, {"b": 0.5}, {"b": 0.4}], ["a", "b", "b", "c"], space=10)
    >>> made.value
    0.1875
    """
    rule = as_padded_rule(rule, "AUGRC")
    valid, codes, weights = as_validation(lists, y, sample_weight, space)
    uncertainty = uncertainties(valid, by=by, rule=rule)
    order = np.argsort(uncertainty, kind="stable")
    ends = _last_of_levels(uncertainty[order])
    shares = (weights / weights.sum())[order]
    losses = np.where(shares > 0, plain_scores(valid, codes, rule)[order], 0.0)
    at = np.repeat(np.arange(len(ends)), np.diff(np.append(-1, ends)))
    mass, lost = (np.bincount(at, x, len(ends)) for x in (shares, shares * losses))
    later = np.cumsum(mass[::-1])[::-1] - mass / 2.0  # the share that is accepted later, and half of the level itself
    value = float(lost @ later)
    with np.errstate(invalid="ignore"):  # an infinite score has no interval
        before = np.cumsum(lost) - lost / 2.0
        influences = losses * later[at] + before[at] - 2.0 * value
    low, high = (bound / 2.0 for bound in rule.bounds())
    units = None if clusters is None else as_units(clusters, len(valid))[order]
    return mean_of_influences(value, influences, shares, clusters=units, level=level, bounds=(low, high))


def _last_of_levels(ordered: Floats) -> Ints:
    """Where the last of equally uncertain cases stands, for each level; differences that are rounding do not count."""
    new = ordered[1:] > ordered[:-1] + TINY * np.maximum(1.0, np.abs(ordered[:-1]))
    return np.append(np.flatnonzero(new), len(ordered) - 1)


@dataclass(frozen=True, slots=True)
class _RunningSums:
    """Sums over the least uncertain cases, up to the end of each level. Infinite scores are counted apart."""

    own: Floats
    none: Floats  # the score of the empty list
    weights: Floats
    ends: Ints

    def _sums(self, values: Any) -> Any:
        return np.append(0, np.cumsum(values))[self.ends]

    def _mixed(self, own: Any, none: Any) -> Any:
        """Sums of one column over the accepted cases and of another over the rejected ones."""
        return self._sums(own) + none.sum() - self._sums(none)

    def coverage(self) -> Floats:
        share: Floats = self._sums(self.weights) / self.weights.sum()
        return share

    def accepted(self) -> Floats:
        finite = np.isfinite(self.own)
        total, whole = self._sums(np.where(finite, self.own, 0.0) * self.weights), self._sums(self.weights)
        with np.errstate(invalid="ignore"):
            return np.where(self._sums(~finite & (self.weights > 0)) > 0, np.inf, total / whole)

    def overall(self) -> Floats:
        """Mean of the finite scores, relative to all cases."""
        total = self._mixed(*(np.where(np.isfinite(x), x, 0.0) * self.weights for x in (self.own, self.none)))
        mean: Floats = total / self.weights.sum()
        return mean

    def infinite(self) -> Ints:
        count: Ints = self._mixed(*(np.isinf(x) & (self.weights > 0) for x in (self.own, self.none)))
        return count

    def differences(self, best: int) -> tuple[Floats, Floats]:
        """Mean paired difference to the best, and its standard error: only cases between the two differ."""
        both = np.isfinite(self.own) & np.isfinite(self.none)
        with np.errstate(invalid="ignore"):
            d = np.where(both, self.own - self.none, 0.0)
        w = self.weights
        infinite = self._sums((np.isinf(self.own) != np.isinf(self.none)) & (w > 0))
        sums, first, second = (x - x[best] for x in map(self._sums, (w * d, w**2 * d, w**2 * d**2)))
        gap = sums / w.sum()
        sign = np.where(np.arange(len(gap)) >= best, 1.0, -1.0)  # behind the best more is accepted, before it less
        error = paired_error(gap, first, sign * second, w)
        one_infinite = infinite != infinite[best]
        return np.where(one_infinite, np.inf, gap), np.where(one_infinite, np.nan, error)
