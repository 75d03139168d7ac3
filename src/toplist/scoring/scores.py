"""Scores of lists against outcomes, expected and highest scores, entropy, divergence, the penalty for invalid lists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import array_api, flags, kernel
from toplist.core.arguments import as_number
from toplist.core.array_api import CaseStatistics, ScoreTable, Sum, exclusive_sums
from toplist.lists import DeviceLists, TopList, TopLists, as_lists
from toplist.lists.converters import as_codes, as_truth, is_soft
from toplist.lists.toplists import beliefs
from toplist.lists.validation import row_sums
from toplist.scoring.rules import Log, RankedProbability, Rule, as_rule
from toplist.scoring.rules.base import MANY
from toplist.scoring.rules.ordinal import OrdinalRule

Array = Any


@dataclass(frozen=True, slots=True)
class BatchCases:
    """Cases lo to hi of a batch in memory.

    Sums of Python functions and tables want `lists.strictly_valid()`.
    """

    lists: TopLists
    codes: NDArray[np.int64] | None
    lo: int
    hi: int

    @property
    def part(self) -> tuple[TopLists, NDArray[np.int64] | None]:
        """The lists of these cases and their outcomes, for a rule that scores lists of all lengths at once."""
        return self.lists[self.lo : self.hi], None if self.codes is None else self.codes[self.lo : self.hi]

    def statistics(self, of: Sum) -> CaseStatistics:
        """See `CaseColumns`."""
        kind = "none" if of.kind == "terms" else of.kind
        here, checked = slice(self.lo, self.hi), self.lists.checked
        rows = checked.rows.block(self.lo, self.hi)
        codes = None if self.codes is None else self.codes[here]

        def reduce(*, narrow: bool) -> array_api.RowSums:
            return kernel.reduce(
                rows, checked.signed_rest[here], checked.flags[here], codes, kind, of.exponent, narrow=narrow
            )

        if of.kind in ("none", "squares", "powers") and kernel.NATIVE:
            return CaseStatistics.narrow(reduce(narrow=True), lambda: reduce(narrow=False), rows)
        sums = reduce(narrow=False)
        total = self._sum_terms(of, codes) if of.kind == "terms" else sums.total
        return CaseStatistics(
            np, sums.outcome, sums.miss, sums.hit, total, sums.ties, sums.rest, sums.unlisted, sums.proxy,
            rows.size, rows.log_size, rows.log_rest,
        )  # fmt: skip

    def _sum_terms(self, of: Sum, codes: NDArray[np.int64] | None) -> NDArray[np.float64]:
        part = self.lists[self.lo : self.hi]
        t = part.checked.normalized
        values = np.array(of.terms(np, t, part.checked.lack(t)), dtype=np.float64)
        if codes is not None:
            values[part.classes == np.repeat(codes, part.sizes)] = 0.0
        return row_sums(values, part.offsets)

    def tables(self) -> Iterator[tuple[Any, ScoreTable, Array | None]]:
        """See `CaseColumns`."""
        part = self.lists[self.lo : self.hi]
        rest = part.rest
        scaled = part.normalized_confidences
        for at, group in kernel.by_length(part.checked.rows):
            k = group.confidences.shape[1]
            where = part.offsets[at][:, None] + np.arange(k)
            place = None
            if self.codes is not None:
                codes = self.codes[self.lo : self.hi][at][:, None]
                same = (np.arange(k) if group.classes is None else group.classes) == codes
                place = np.where(same.any(axis=1), same.argmax(axis=1), k) if k else np.zeros(len(at), np.intp)
            unlisted = group.size - k + np.zeros(len(at))
            yield at, ScoreTable(np, scaled[where], rest[at], unlisted, group.log_size, group.log_rest), place


@dataclass(frozen=True, slots=True)
class DeviceCases:
    """All cases of a rectangular batch on a device."""

    lists: DeviceLists
    codes: Array | None

    def statistics(self, of: Sum) -> CaseStatistics:
        """See `CaseColumns`."""
        d = self.lists
        size, log_size = d.sizes_on_device()
        kind = "none" if of.kind == "terms" else of.kind
        sums = array_api.reduce(
            d.xp,
            kind,
            of.exponent,
            d.classes,
            d.confidences,
            d.log_rest,
            size,
            log_size,
            d.signed_rest,
            d.flags,
            self.codes,
        )
        total = sums.total
        if of.kind == "terms":
            table, kept = self._repaired()
            if self.codes is not None:
                kept = kept & (d.classes != d.xp.expand_dims(self.codes, axis=1))
            lack = exclusive_sums(d.xp, table.t) + d.xp.expand_dims(table.rest, axis=1)
            total = d.xp.sum(d.xp.where(kept, of.terms(d.xp, table.t, lack), 0.0), axis=1)
        return CaseStatistics(
            d.xp, sums.outcome, sums.miss, sums.hit, total, sums.ties, sums.rest, sums.unlisted, sums.proxy,
            size, log_size, d.log_rest,
        )  # fmt: skip

    def _repaired(self) -> tuple[ScoreTable, Array]:
        """The confidences as they are scored, the dropped ones at the proxy, and which were kept."""
        d, xp = self.lists, self.lists.xp
        size, log_size = d.sizes_on_device()
        valid = array_api.largest_valid(xp, d.confidences, d.log_rest, size, log_size, d.signed_rest, d.flags)
        unlisted = size - d.confidences.shape[1] + 0 * d.signed_rest
        t = xp.where(valid.keep, valid.t, xp.expand_dims(valid.proxy, axis=1))
        rest = xp.where(valid.unlisted == unlisted, valid.rest, valid.proxy * unlisted)
        return ScoreTable(xp, t, rest, unlisted, log_size, d.log_rest), valid.keep

    def tables(self) -> Iterator[tuple[Any, ScoreTable, Array | None]]:
        """See `CaseColumns`: one table, with invalid lists repaired so that they keep their length."""
        d, xp = self.lists, self.lists.xp
        table, _ = self._repaired()
        place = None
        if self.codes is not None:
            same = d.classes == xp.expand_dims(self.codes, axis=1)
            same = same if table.t.shape[1] else xp.ones_like(xp.expand_dims(self.codes, axis=1)) == 1
            place = xp.where(xp.any(same, axis=1), xp.argmax(xp.astype(same, xp.int32), axis=1), table.t.shape[1])
        yield slice(None), table, place


_PENALTY = 0.01  # of the entropy of the uniform distribution


def score(lists: Any, y: Any, *, rule: Any = "brier", penalty: float | None = None, space: Any = None) -> Any:
    """Score each case; lower is better.

    A valid list t is scored as its padded distribution, S(t, y) = S(t~, y). An invalid one is scored as its largest
    valid sublist t', plus the penalty: S(t, y) = S(t', y) + c (paper, eq. 13). If the rule is symmetric and proper (not
    one of ordered classes), no list of k classes has a lower expected score than the true ones (Theorem 5.4, Theorem
    5.6); if it is strictly proper, c > 0, and expected scores are finite, all others have a higher one. Under such a
    rule, longer true lists score no worse (comparability, Theorem 5.3).

    Parameters
    ----------
    lists : TopLists, TopList, DeviceLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    y : array-like
        Outcomes: codes, labels or label sets, one per case. A distribution per case, as an (n, m) array or lists,
        gives expected scores.
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest", "topbeta:0.9"; "rps",
        "rps-normalized" and "ranked_log" for ordered classes, `ClassSpace(..., ordinal=True)`) or as a `Rule`.
    penalty : float, optional
        What an invalid list pays beside the score of its largest valid sublist. By default a hundredth of the
        expected score of the empty list; 0 and infinity are allowed.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    ndarray or float
        One score per case; a float for a single `TopList`; an array on the device for `DeviceLists`.

    References
    ----------
    .. [1] J. Resin, "From Classification Accuracy to Proper Scoring Rules: Elicitability of Probabilistic Top List
       Predictions", sections 5.1 and 5.2.

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {"a": 0.6, "b": 0.3}, {}], 5)
    >>> score(lists, ["a", "c", "a"]).round(6)
    array([0.253333, 1.386667, 0.8     ])
    >>> score([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [0, 2]).round(6)
    array([0.14, 1.46])
    """
    rule = as_rule(rule)
    if isinstance(lists, TopList):
        return float(score(lists.batch, [y], rule=rule, penalty=penalty)[0])
    if isinstance(lists, DeviceLists):
        return _score_on_device(lists, y, rule, penalty)
    lists = as_lists(lists, space)
    if is_soft(y, lists.space):
        return expected_score(lists, y, rule=rule, penalty=penalty)
    return penalise(plain_scores(lists, as_codes(y, lists), rule), lists, rule, penalty)


def plain_scores(lists: TopLists, codes: NDArray[np.int64], rule: Rule) -> Floats:
    """Scores without penalty, for outcomes that are codes already; -1 is one that no list can name."""
    rule.require(lists)
    many = bool((lists.space.as_floats[1] > MANY).any())
    plain = scored_as(lists, rule) if rule.spread or many else lists
    out = np.empty(len(lists))

    def work(lo: int, hi: int) -> None:
        with np.errstate(all="ignore"):
            out[lo:hi] = rule.scores(BatchCases(plain, codes, lo, hi))

    kernel.over_blocks(len(lists), len(plain.confidences), work)
    return out


def scored_as(lists: TopLists, rule: Rule) -> TopLists:
    """The lists whose confidences a rule sees: largest valid sublists t', unless it scores none but valid lists."""
    return lists.strictly_valid() if rule.padded else lists


def entropy(lists: Any, *, rule: Any = "brier", space: Any = None) -> Any:
    """Expected score of each list if it is right: the entropy G(t~) of its padded distribution.

    A calibrated valid list has this expected score whatever else is true of the distribution (paper, Lemma 5.2), and
    the more certain a list is, the smaller it is: G of a symmetric rule falls in majorization (Lemma 4.3). An invalid
    list, which cannot be right, counts as its largest valid sublist, without penalty.

    Parameters
    ----------
    lists : TopLists, TopList, DeviceLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest", "topbeta:0.9") or as a `Rule`.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    ndarray or float
        One value per case; a float for a single `TopList`.

    References
    ----------
    .. [1] J. Resin, "From Classification Accuracy to Proper Scoring Rules", Lemma 5.2.

    Examples
    --------
    >>> float(entropy(TopList({0: 0.5}, 3)))
    0.625
    """
    rule = as_rule(rule)
    if isinstance(lists, TopList):
        return float(entropy(lists.batch, rule=rule)[0])
    if isinstance(lists, DeviceLists):
        rule.require_classes(lists)
        return rule.entropies(DeviceCases(lists, None))
    lists = as_lists(lists, space)
    rule.require_classes(lists)
    plain = lists.strictly_valid()
    out = np.empty(len(lists))

    def work(lo: int, hi: int) -> None:
        with np.errstate(all="ignore"):
            out[lo:hi] = rule.entropies(BatchCases(plain, None, lo, hi))

    kernel.over_blocks(len(lists), len(plain.confidences), work)
    return out


def expected_score(lists: Any, p: Any, *, rule: Any = "brier", penalty: float | None = None, space: Any = None) -> Any:
    """Expected score of each list if the outcome is drawn from `p`.

    A class of probability zero contributes nothing, even where its score is infinite.

    Parameters
    ----------
    lists : TopLists, TopList, DeviceLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    p : array-like or TopLists
        Distributions: an (n, m) array, one distribution for all cases, or lists, which stand for their padded
        distributions.
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest", "topbeta:0.9") or as a `Rule`.
    penalty : float, optional
        What an invalid list pays beside the score of its largest valid sublist. By default a hundredth of the
        expected score of the empty list; 0 and infinity are allowed.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    ndarray or float
        One value per case; a float for a single `TopList`.

    Examples
    --------
    >>> round(expected_score(TopList({0: 0.5}, 5), [0.5, 0.44, 0.03, 0.02, 0.01], rule="log"), 6)
    1.386294
    """
    rule = as_rule(rule)
    if isinstance(lists, TopList):
        return float(expected_score(lists.batch, p, rule=rule, penalty=penalty)[0])
    lists = as_lists(lists, space)
    rule.require(lists)
    plain = scored_as(lists, rule)
    truth = as_truth(p.batch if isinstance(p, TopList) else p, lists.space, len(lists))
    out = np.empty(len(lists))
    if isinstance(rule, OrdinalRule):
        with np.errstate(all="ignore"):
            return penalise(rule.expected(plain, truth), lists, rule, penalty)
    believed = beliefs(truth, plain)

    def work(lo: int, hi: int) -> None:
        start = plain.offsets[lo:hi]
        for at, table, _ in BatchCases(plain, None, lo, hi).tables():
            with np.errstate(all="ignore"):
                listed, unlisted = rule.each(table)
                weights = believed.listed[start[at][:, None] + np.arange(table.t.shape[1])]
                apart = believed.unlisted[lo:hi][at]
                inner = np.where(weights > 0, weights * listed, 0.0).sum(axis=1)
                out[lo + at] = inner + np.where(apart > 0, apart * unlisted, 0.0)

    kernel.over_blocks(len(lists), len(plain.confidences), work)
    return penalise(out, lists, rule, penalty)


def divergence(lists: Any, p: Any, *, rule: Any = "brier", penalty: float | None = None, space: Any = None) -> Any:
    """Expected score of each list minus that of the distribution `p` itself, if the outcome is drawn from `p`.

    This is E_p S(t, Y) - G(p), which a proper rule keeps from being negative (paper, eq. 1).

    Parameters
    ----------
    lists : TopLists, TopList, DeviceLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    p : array-like or TopLists
        Distributions, as in `expected_score`.
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest", "topbeta:0.9") or as a `Rule`.
    penalty : float, optional
        What an invalid list pays beside the score of its largest valid sublist. By default a hundredth of the
        expected score of the empty list; 0 and infinity are allowed.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    ndarray or float
        One value per case, never negative; a float for a single `TopList`.

    Examples
    --------
    >>> round(divergence(TopList({0: 0.5}, 3), [0.5, 0.3, 0.2]), 6)
    0.005
    """
    if isinstance(lists, TopList):
        return float(divergence(lists.batch, p, rule=rule, penalty=penalty)[0])
    lists = as_lists(lists, space)
    truth = as_truth(p.batch if isinstance(p, TopList) else p, lists.space, len(lists))
    expected = expected_score(lists, truth, rule=rule, penalty=penalty)
    infinite = np.isinf(expected)
    return np.where(infinite, np.inf, np.maximum(np.where(infinite, 0.0, expected) - entropy(truth, rule=rule), 0.0))


def default_penalty(lists: Any, *, rule: Any = "brier") -> Any:
    """Default penalty c of an invalid list (paper, eq. 13): a hundredth of the entropy of the uniform distribution.

    Any c > 0 keeps a strictly proper rule strict on all lists (Theorem 5.6); c = 0 does not (Example 5.5).

    Parameters
    ----------
    lists : TopLists, TopList, DeviceLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest", "topbeta:0.9") or as a `Rule`.

    Returns
    -------
    float or ndarray
        One number; one per case where the number of classes differs per case.

    Examples
    --------
    >>> default_penalty(TopLists.from_dicts([{}], 5))
    0.008
    """
    if not isinstance(lists, DeviceLists):
        lists = as_lists(lists)
    rule, space = as_rule(rule), lists.space
    cases = len(lists) if space.per_case else 1
    none = TopLists.from_ragged(np.zeros(cases + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), space)
    due = _PENALTY * entropy(none, rule=rule)
    return due if space.per_case else float(due[0])


def as_penalty(penalty: Any) -> float | None:
    """What an invalid list pays: a number, zero or more; None is the default of each rule."""
    return None if penalty is None else as_number(penalty, "the penalty for invalid lists", 0, np.inf)


def penalise(out: Floats, lists: TopLists, rule: Rule, penalty: float | None) -> Floats:
    """Add to unpenalised scores, in place, what invalid lists pay: S(t, y) = S(t', y) + c (paper, eq. 13)."""
    penalty = as_penalty(penalty)
    invalid = (lists.checked.flags & flags.INVALID) != 0
    if invalid.any() and penalty != 0:
        due = default_penalty(lists, rule=rule) if penalty is None else penalty
        out[invalid] += due[invalid] if isinstance(due, np.ndarray) else due
    return out


def highest_score(lists: TopLists, *, rule: Any = "brier", penalty: float | None = None) -> float:
    """A bound on the score that any outcome of any case could bring, cheap to have; infinite where none is known.

    The log score ends at the smallest probability: of a listed class, or of an unlisted one; the ranked probability
    score at the number of thresholds. In a sublist that is
    scored in place of an invalid list, no probability is below both.

    >>> round(highest_score(TopLists.from_dicts([{0: 0.6}, {0: 0.9}], 3), rule="log"), 4)
    2.9957
    """
    rule = as_rule(rule)
    high: float = rule.bounds()[1]
    if isinstance(rule, Log) and len(lists):
        partial = lists.checked.rows.size > lists.sizes
        proxy = lists.proxy if partial.all() else lists.proxy[partial]
        least = min(float(proxy.min(initial=1.0)), float(lists.confidences.min(initial=1.0)))
        high = -math.log(least) if least > 0 else math.inf
    if isinstance(rule, RankedProbability) and len(lists):
        high = float(rule.scaled(lists.checked.rows.size - 1.0, lists.checked.rows.size).max())
    if not lists.checked.any(flags.INVALID):
        return high
    return high + float(np.max(default_penalty(lists, rule=rule) if penalty is None else penalty))


def _score_on_device(lists: DeviceLists, y: Any, rule: Rule, penalty: float | None) -> Any:
    xp, valid = lists.xp, lists.is_valid()
    penalty = as_penalty(penalty)
    rule.require(lists)
    out = rule.scores(DeviceCases(lists, lists.codes(y)))
    if bool(xp.all(valid)):
        return out
    due = penalty if penalty is not None else default_penalty(lists, rule=rule)
    if isinstance(due, np.ndarray):
        due = lists.beside(due.tolist(), out.dtype)
    return xp.where(valid, out, out + due)
