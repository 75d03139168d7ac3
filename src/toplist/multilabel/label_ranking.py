"""Ranking metrics of extreme multi-label classification: precision, nDCG and propensity-scored precision at k.

Scores and true labels are sparse: nothing is spread out over all labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist._typing import Floats, Ints
from toplist.core.arguments import as_array, as_number, as_vector, as_whole
from toplist.core.mean_interval import MeanInterval
from toplist.errors import ShapeError, TopListError
from toplist.lists.labelsets import Sets


@dataclass(frozen=True, slots=True)
class RankingMetrics:
    """Metrics at each k, with intervals over cases.

    Attributes
    ----------
    k : tuple of int
        The numbers of labels that count.
    precision, ndcg : dict from int to MeanInterval
        P@k and nDCG@k by k, from 0 to 1; higher is better.
    propensity_precision : dict from int to MeanInterval
        PSP@k by k; empty where no propensities were given.
    cases, without_labels : int
        How many cases count, and how many were left out because they have no true label.

    Examples
    --------
    >>> made = ranking_metrics([[0.9, 0.5, 0.1], [0.2, 0.7, 0.4]], [[1, 0, 1], [0, 1, 0]], k=(1, 2))
    >>> made.precision[2].value
    0.5
    """

    k: tuple[int, ...]
    precision: dict[int, MeanInterval]
    ndcg: dict[int, MeanInterval]
    propensity_precision: dict[int, MeanInterval]
    cases: int
    without_labels: int

    def __repr__(self) -> str:
        named = (("P", self.precision), ("nDCG", self.ndcg), ("PSP", self.propensity_precision))
        parts = [f"{name}@{k} {one.value:.4f}" for name, found in named for k, one in found.items()]
        left = f", {self.without_labels:,} without true labels" if self.without_labels else ""
        return f"RankingMetrics({', '.join(parts)}; {self.cases:,} cases{left})"


def ranking_metrics(
    scores: Any,
    y: Any,
    *,
    k: int | Sequence[int] = (1, 3, 5),
    propensities: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> RankingMetrics:
    """Precision, nDCG and propensity-scored precision at k of ranked labels, with intervals.

    P@k is the number of true labels among the k with the largest scores, by k. nDCG@k is the sum of 1 / log2(1 + rank)
    over them, by its largest possible value. PSP@k weighs each true label by one over its propensity, and is the total
    over the cases by the largest possible total (Jain et al. 2016). Labels that share a score share their places: each
    counts by the mean over all orders of such labels. Labels without a stored score rank below all others and count
    nothing, so that a case with fewer than k scores cannot reach a precision of one. Cases without a true label have no
    nDCG: they are left out of all three, and counted.

    Parameters
    ----------
    scores : sparse matrix, array of shape (n, L), or pair of arrays (labels, scores) of shape (n, k)
        A score for each case and label, larger is better. Of a sparse matrix the stored entries are those that are
        ranked, zeros too. In pairs, a label of -1 stands for none.
    y : Sets, sparse matrix or array of shape (n, L)
        The true labels: a matrix of zeros and ones, or label sets.
    k : int or sequence of int, default (1, 3, 5)
        How many labels count.
    propensities : array-like of shape (L,), optional
        The propensity of each label, as `label_propensities` has them; without them there is no PSP@k.
    sample_weight : array-like, optional
        One weight per case.
    clusters : array-like, optional
        The cluster of each case, where cases depend on each other.
    level : float, default 0.95
        Confidence level of the intervals: Student's t over cases or clusters; that of the ratio PSP@k is linearized.

    Returns
    -------
    RankingMetrics
        The metrics by k.

    References
    ----------
    .. [1] H. Jain, Y. Prabhu and M. Varma (2016), "Extreme Multi-label Loss Functions for Recommendation, Tagging,
       Ranking & Other Missing Label Applications", KDD.

    Examples
    --------
    >>> labels, values = np.array([[4, 1], [0, 3]]), np.array([[0.9, 0.2], [0.8, 0.7]])
    >>> truth = np.array([[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]])
    >>> ranking_metrics((labels, values), truth, k=2)
    RankingMetrics(P@2 0.7500, nDCG@2 0.8155; 2 cases)
    """
    true = y if isinstance(y, Sets) else Sets.from_indicators(y)
    ranked = _Ranked.of(scores, len(true), true.width)
    ks = tuple(dict.fromkeys(as_whole(one, "k", 1) for one in (k if isinstance(k, Sequence) else [k])))
    if not ks:
        raise TopListError("name at least one k.")
    inverse = None if propensities is None else _inverse(propensities, true.width)
    some = true.sizes > 0
    if not some.any():
        raise TopListError("no case has a true label, so that there is nothing to rank.")
    weights = np.ones(len(true)) if sample_weight is None else as_vector(sample_weight, "sample weights")
    if len(weights) != len(true):
        raise ShapeError(f"{len(weights):,} sample weights for {len(true):,} cases.", "One per case.")
    groups = None if clusters is None else as_array(clusters, "clusters")
    if groups is not None and len(groups) != len(true):
        raise ShapeError(f"{len(groups):,} clusters for {len(true):,} cases.", "One per case.")
    how: Any = {
        "sample_weight": weights[some],
        "clusters": None if groups is None else groups[some],
        "level": level,
        "bounds": (0.0, 1.0),
    }
    hit = ranked.true(true)
    precision, ndcg, weighted = {}, {}, {}
    for one in ks:
        share = ranked.within(one)
        precision[one] = MeanInterval.of_cases(ranked.sums(hit * share)[some] / one, **how)
        gain = ranked.sums(hit * ranked.discounts(one))[some] / _ideal(true.sizes[some], one)
        ndcg[one] = MeanInterval.of_cases(np.minimum(gain, 1.0), **how)
        if inverse is not None:
            found = ranked.sums(hit * share * inverse[ranked.labels])[some]
            weighted[one] = _ratio_interval(found, _largest(true, inverse, one)[some], how)
    return RankingMetrics(ks, precision, ndcg, weighted, int(some.sum()), int((~some).sum()))


def label_propensities(y: Any, *, a: float = 0.55, b: float = 1.5) -> Floats:
    """Propensity of each label: how likely a true label is to be recorded, from how often it is in training data.

    1 / (1 + C exp(-a log(N_l + b))) with C = (log N - 1) (1 + b)**a, for N cases of which N_l have label l.

    Parameters
    ----------
    y : Sets, sparse matrix or array of shape (n, L)
        The true labels of the training cases.
    a, b : float, default 0.55 and 1.5
        The constants of Jain et al.; they use 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray
        One propensity per label, above 0 and at most 1.

    Examples
    --------
    >>> label_propensities(np.eye(20)[[0] * 15 + [1] * 4 + [2]])[:4].round(4)
    array([0.5859, 0.436 , 0.3338, 0.2745])
    """
    true = y if isinstance(y, Sets) else Sets.from_indicators(y)
    a, b = as_number(a, "a", 0, math.inf), as_number(b, "b", 0, math.inf)
    if len(true) < 3:
        raise TopListError(f"{len(true)} training cases: propensities need three or more, since log N - 1 is positive.")
    counts = np.bincount(true.labels, minlength=true.width)
    c = (math.log(len(true)) - 1.0) * (1.0 + b) ** a
    with np.errstate(divide="ignore"):
        found: Floats = 1.0 / (1.0 + c * (counts + b) ** -a)
    return found


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Scored labels of all cases, one after the other, each case by decreasing score; those that tie are a run."""

    cases: int
    rows: Ints
    labels: Ints
    above: Ints  # how many labels of the case have a larger score
    equal: Ints  # how many have the same

    @classmethod
    def of(cls, scores: Any, cases: int, width: int) -> _Ranked:
        """Rank the labels of each case."""
        rows, labels, values, n = _entries(scores, width)
        if n != cases:
            raise ShapeError(f"scores of {n:,} cases for the true labels of {cases:,}.", "Each case needs both.")
        if len(labels) and (labels.min() < 0 or labels.max() >= width):
            odd = labels[(labels < 0) | (labels >= width)][0]
            raise ShapeError(f"label {odd} is scored, but the true labels are of {width:,} labels, from 0 on.")
        if np.isnan(values).any():
            raise ShapeError("a score is not a number.", case=int(rows[np.isnan(values)][0]))
        order = np.lexsort((labels, rows))
        same = (np.diff(rows[order]) == 0) & (np.diff(labels[order]) == 0)
        if same.any():
            at = int(order[np.argmax(same)])
            raise ShapeError(f"label {labels[at]} is scored twice.", case=int(rows[at]))
        order = np.lexsort((-values, rows))
        rows, labels, values = rows[order], labels[order], values[order]
        fresh = np.ones(len(rows), bool)
        fresh[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
        run = np.cumsum(fresh) - 1
        starts = np.searchsorted(rows, np.arange(cases))
        place = np.arange(len(rows)) - starts[rows]
        return cls(cases, rows, labels, place[fresh][run], np.bincount(run, minlength=1)[run])

    def true(self, truth: Sets) -> Floats:
        """1 for each scored label that is true, else 0."""
        width = max(truth.width, 1)
        theirs, mine = truth.rows * width + truth.labels, self.rows * width + self.labels
        return np.isin(mine, theirs).astype(np.float64)

    def within(self, k: int) -> Floats:
        """How likely each scored label is among the first k, over all orders of those that tie."""
        found: Floats = np.clip((k - self.above) / self.equal, 0.0, 1.0)
        return found

    def discounts(self, k: int) -> Floats:
        """The mean of 1 / log2(1 + rank) over all orders of those that tie; ranks beyond k count nothing."""
        longest = int((self.above + self.equal).max(initial=0))
        sums = np.zeros(longest + 1)
        first = np.arange(1, min(k, longest) + 1)
        sums[1 : len(first) + 1] = np.cumsum(1.0 / np.log2(1.0 + first))
        sums[len(first) + 1 :] = sums[len(first)]
        found: Floats = (sums[self.above + self.equal] - sums[self.above]) / self.equal
        return found

    def sums(self, values: Floats) -> Floats:
        """The sum over the labels of each case."""
        found: Floats = np.bincount(self.rows, values, self.cases).astype(np.float64)
        return found


def _entries(scores: Any, width: int) -> tuple[Ints, Ints, Floats, int]:
    """Case, label and score of each entry, and the number of cases."""
    if hasattr(scores, "tocoo"):
        if scores.shape[1] != width:
            raise ShapeError(f"scores of {scores.shape[1]:,} labels, true ones of {width:,}: both need the same.")
        coo = scores.tocsr().tocoo()
        return coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data.astype(np.float64), scores.shape[0]
    if isinstance(scores, tuple) and len(scores) == 2:
        labels, values = as_array(scores[0], "labels"), as_array(scores[1], "scores")
        if labels.shape != values.shape or labels.ndim != 2 or labels.dtype.kind not in "iu":
            raise ShapeError("labels and scores are two arrays of shape (n, k), and labels are whole numbers.")
        rows, columns = np.nonzero(labels >= 0)
        return rows, labels[rows, columns].astype(np.int64), values[rows, columns].astype(np.float64), len(labels)
    dense = as_array(scores, "scores")
    if dense.ndim != 2 or dense.shape[1] != width:
        raise ShapeError(
            f"scores of shape {dense.shape} for {width:,} labels.",
            "Give a sparse matrix or an array of shape (n, labels), or a pair (labels, scores) of shape (n, k).",
        )
    n = len(dense)
    return np.repeat(np.arange(n), width), np.tile(np.arange(width), n), dense.ravel().astype(np.float64), n


def _inverse(propensities: Any, width: int) -> Floats:
    given = as_vector(propensities, "propensities")
    if len(given) != width:
        raise ShapeError(f"{len(given):,} propensities for {width:,} labels.", "One per label: label_propensities(y).")
    if not ((given > 0) & (given <= 1)).all():
        raise TopListError("propensities are probabilities, above 0 and at most 1.")
    found: Floats = 1.0 / given
    return found


def _ideal(sizes: Ints, k: int) -> Floats:
    """The largest sum of discounts that so many true labels can have."""
    most = int(min(k, sizes.max(initial=0)))
    sums = np.append(0.0, np.cumsum(1.0 / np.log2(1.0 + np.arange(1, most + 1))))
    found: Floats = sums[np.minimum(sizes, most)]
    return found


def _largest(truth: Sets, inverse: Floats, k: int) -> Floats:
    """Per case the sum of the k largest inverse propensities of its true labels."""
    values = inverse[truth.labels]
    order = np.lexsort((-values, truth.rows))
    rows = truth.rows[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(len(truth)))[rows]
    first = place < k
    found: Floats = np.bincount(rows[first], values[order][first], len(truth)).astype(np.float64)
    return found


def _ratio_interval(found: Floats, largest: Floats, how: dict[str, Any]) -> MeanInterval:
    """The total by the largest possible total: its interval is that of found - ratio * largest, by the mean largest."""
    shares = how["sample_weight"] / how["sample_weight"].sum()
    mean = float(largest @ shares)
    ratio = float(found @ shares) / mean
    rest = {name: how[name] for name in ("clusters", "level", "bounds")}
    return MeanInterval.of_influences(ratio, (found - ratio * largest) / mean, shares, **rest)
