"""The reject option: lists that are not good enough become empty (paper, section 5.1).

The empty list scores the same whatever happens, 1 - 1/m in Brier score. By its own expectation no list is worse than
that, so rejecting pays only where lists are surer than they should be; recalibrating them first is better still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_number
from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.truncate import keep_entries
from toplist.postprocess.selection import TINY, as_validation
from toplist.scoring.rules import Rule, as_rule
from toplist.scoring.scores import entropy, plain_scores

By = Literal["entropy", "confidence"]


def reject_below(lists: TopLists, threshold: float, *, by: By = "confidence", rule: Any = "brier") -> TopLists:
    """Lists that are not good enough become empty: their top confidence is below the threshold.

    With by="entropy" the expected score by the list itself is not good enough: above the threshold. Lists that stay are
    as they were.

    >>> import toplist as tl
    >>> reject_below(tl.TopLists.from_dicts([{"a": 0.9}, {"a": 0.4, "b": 0.3}], 5), 0.5).sizes
    array([1, 0])
    """
    require_lists(lists)
    limit = as_number(threshold, "the threshold", -np.inf, np.inf)
    if by == "confidence" and 1 < limit < np.inf:
        raise TopListError(f"no confidence reaches {threshold!r}: a threshold for confidences is from 0 to 1.")
    quality = doubts(lists, by=by, rule=rule)
    refused = quality > (limit if by == "entropy" else -limit)
    return keep_entries(lists, ~np.repeat(refused, lists.sizes))


def doubts(lists: TopLists, *, by: By, rule: Any = "brier") -> Floats:
    """How doubtful each list is of itself, smallest first: its entropy, or minus its top confidence."""
    if by not in get_args(By):
        raise TopListError(f"lists are rejected by 'entropy' or 'confidence', not by {by!r}.")
    plain = lists.strictly_valid()
    if by == "entropy":
        own: Floats = entropy(plain.ordered(), rule=rule)  # not to depend on how a list is ordered, by a rounding error
        return own
    top, filled = np.zeros(len(plain)), plain.sizes > 0
    if filled.any():
        top[filled] = np.maximum.reduceat(plain.normalized_confidences, plain.offsets[:-1][filled])
    return -top


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RejectionCurve:
    """Score against coverage: the least doubtful lists are accepted first, equally doubtful ones together."""

    rule: str
    by: By
    cases: int
    threshold: Floats  # what is accepted: entropy up to, or top confidence from this value; infinite for nothing
    coverage: Floats  # the share of cases that are accepted
    accepted: Floats  # mean score of these; NaN where there are none
    overall: Floats  # mean score of all, rejected ones as empty lists
    gap: Floats  # overall minus that of the best threshold
    error: Floats  # standard error of that difference, paired by case; NaN where there is none
    area: float  # under `accepted` against `coverage`: the mean of accepted scores over all coverages
    best: int  # where `overall` is least
    chosen: int
    assessed_by: Rule  # whose entropy says how doubtful a list is

    def transform(self, lists: TopLists) -> TopLists:
        """Lists with those made empty that the chosen threshold rejects."""
        return reject_below(lists, float(self.threshold[self.chosen]), by=self.by, rule=self.assessed_by)

    def __repr__(self) -> str:
        head = (
            f"{'threshold':>10} {'coverage':>9} {'accepted':>10} {'overall':>10} {'above best':>11} {'std. error':>11}"
        )
        spread = np.linspace(0, len(self.coverage) - 1, min(9, len(self.coverage))).round().astype(int)
        marks = {self.chosen: "chosen", self.best: "best"}
        if self.best == self.chosen:
            marks = {self.best: "best, chosen"}
        columns = (self.threshold, self.coverage, self.accepted, self.overall, self.gap, self.error)
        lines = [
            "{:10.4f} {:9.4f} {:10.6f} {:10.6f} {:11.6f} {:11.6f}".format(*(x[i] for x in columns))
            + (f"  {marks[i]}" if i in marks else "")
            for i in sorted({*spread.tolist(), *marks})
        ]
        title = f"Rejection by {self.by}, {self.rule} score, {self.cases:,} cases, area {self.area:.6f}"
        return "\n".join([title, head, *lines])


def rejection_curve(
    lists: TopLists,
    y: Any,
    *,
    rule: Any = "brier",
    by: By = "entropy",
    one_se: bool = True,
    sample_weight: Any = None,
) -> RejectionCurve:
    """Mean score against coverage as doubtful lists are rejected, and the best threshold on these cases.

    With `one_se` the threshold that rejects fewest cases is chosen among those whose overall mean is within one
    standard error of the best, the error being that of the difference, paired by case. Rejected cases score as empty
    lists. Invalid lists count as their largest valid sublists, without penalty.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {"b": 0.5}], 10)
    >>> made = rejection_curve(lists, ["a", "a", "c"])
    >>> made.coverage.round(2), made.accepted.round(3)
    (array([0.  , 0.33, 0.67, 1.  ]), array([  nan, 0.011, 0.094, 0.452]))
    """
    rule = as_rule(rule)
    plain, codes, weights = as_validation(lists, y, sample_weight)
    doubt = doubts(plain, by=by, rule=rule)
    own = plain_scores(plain, codes, rule)
    none = plain_scores(plain.truncate(0), codes, rule)
    order = np.argsort(doubt, kind="stable")
    level = doubt[order]
    apart = level[1:] > level[:-1] + TINY * np.maximum(1.0, np.abs(level[:-1]))  # less is rounding
    ends = np.append(np.flatnonzero(apart), len(level) - 1)  # the last of each level of doubt
    run = _Running(own[order], none[order], weights[order], np.append(0, ends + 1))
    accepted, overall, infinite = run.accepted(), run.overall(), run.infinite()
    ranked = np.lexsort((overall, infinite))[0]
    tied = (infinite == infinite[ranked]) & (overall <= overall[ranked] + TINY)
    best = int(np.flatnonzero(tied)[-1])
    gap, error = run.differences(best)
    fit = gap <= np.where(np.isnan(error), -np.inf, error) + TINY
    chosen = int(np.flatnonzero(fit)[-1]) if one_se and fit.any() else best
    coverage = run.coverage()
    nothing, sign = (-np.inf, 1.0) if by == "entropy" else (np.inf, -1.0)
    return RejectionCurve(
        rule=rule.name,
        by=by,
        cases=len(plain),
        threshold=np.append(nothing, sign * level[ends]),
        coverage=coverage,
        accepted=accepted,
        overall=np.where(infinite > 0, np.inf, overall),
        gap=gap,
        error=error,
        area=_area(coverage, accepted),
        best=best,
        chosen=chosen,
        assessed_by=rule,
    )


def _area(coverage: Floats, accepted: Floats) -> float:
    width = np.diff(coverage)
    some = width > 0
    return float(width[some] @ accepted[1:][some])


@dataclass(frozen=True, slots=True)
class _Running:
    """Running sums over cases in order of doubt, read where levels of doubt end. Infinite scores are counted apart."""

    own: Floats
    none: Floats  # what the empty list scores
    weights: Floats
    at: NDArray[np.int64]

    def _sums(self, values: NDArray[Any]) -> Any:
        return np.append(0, np.cumsum(values))[self.at]

    def coverage(self) -> Floats:
        share: Floats = self._sums(self.weights) / self.weights.sum()
        return share

    def accepted(self) -> Floats:
        fine = np.isfinite(self.own)
        total, whole = self._sums(np.where(fine, self.own, 0.0) * self.weights), self._sums(self.weights)
        with np.errstate(invalid="ignore"):
            return np.where(self._sums(~fine & (self.weights > 0)) > 0, np.inf, total / whole)

    def overall(self) -> Floats:
        """Mean of the finite scores, relative to all cases."""
        own, none = (np.where(np.isfinite(x), x, 0.0) * self.weights for x in (self.own, self.none))
        mean: Floats = (self._sums(own) + none.sum() - self._sums(none)) / self.weights.sum()
        return mean

    def infinite(self) -> NDArray[np.int64]:
        own, none = (np.isinf(x) & (self.weights > 0) for x in (self.own, self.none))
        count: NDArray[np.int64] = self._sums(own) + none.sum() - self._sums(none)
        return count

    def differences(self, best: int) -> tuple[Floats, Floats]:
        """Mean paired difference to the best, and its standard error: only cases between the two differ."""
        both = np.isfinite(self.own) & np.isfinite(self.none)
        with np.errstate(invalid="ignore"):
            d = np.where(both, self.own - self.none, 0.0)
        w, whole, count = self.weights, self.weights.sum(), int(np.count_nonzero(self.weights))
        apart = self._sums((np.isinf(self.own) != np.isinf(self.none)) & (w > 0))
        sums, first, second = (self._sums(x) for x in (w * d, w**2 * d, w**2 * d**2))
        gap, first, second = (sums - sums[best]) / whole, first - first[best], second - second[best]
        sign = np.where(np.arange(len(gap)) >= best, 1.0, -1.0)  # behind the best more is accepted, before it less
        spread = np.maximum(sign * second - 2 * gap * first + gap**2 * (w**2).sum(), 0.0)
        error = np.sqrt(spread * count / (count - 1)) / whole if count > 1 else np.full(len(gap), np.nan)
        odd = apart != apart[best]
        return np.where(odd, np.inf, gap), np.where(odd, np.nan, error)
