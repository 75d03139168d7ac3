"""Scores of lists: what happened, what is expected to, what a list thinks of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import flags, kernel
from toplist.arguments import as_number
from toplist.cases import BatchCases, DeviceCases
from toplist.lists import DeviceLists, TopList, TopLists, as_lists
from toplist.outcomes import as_codes, as_truth, is_soft
from toplist.pairing import beliefs
from toplist.rules import Rule, as_rule
from toplist.rules.base import MANY

Floats = NDArray[np.float64]
_PENALTY = 0.01  # of the entropy of the uniform distribution


def score(lists: Any, y: Any, *, rule: Any = "brier", penalty: float | None = None, space: Any = None) -> Any:
    """One score per case, lower is better (paper, sections 5.1 and 5.2).

    `lists` are lists, or whatever `compare` takes in memory: an (n, m) array of distributions, a CSR matrix, mappings,
    labels; `space` says how many classes there are, where the predictions do not.
    A valid list scores as its padded distribution. An invalid one scores as its largest valid sublist plus the
    penalty: by default a hundredth of what the empty list scores in expectation; 0 and infinity are allowed.
    `y` are codes, labels or label sets; a distribution per case, as an (n, m) array or lists, gives expected scores.

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
    many = bool((lists.space.as_floats[1] > MANY).any())
    in_python = rule.spread or many or lists.admitted.rows.log_confidences is not None
    plain = lists.strictly_valid() if in_python else lists
    out = np.empty(len(lists))

    def work(lo: int, hi: int) -> None:
        with np.errstate(all="ignore"):
            out[lo:hi] = rule.scores(BatchCases(plain, codes, lo, hi))

    kernel.over_blocks(len(lists), len(plain.confidences), work)
    return out


def entropy(lists: Any, *, rule: Any = "brier", space: Any = None) -> Any:
    """The expected score of each list if it is right: the entropy of its padded distribution (paper, Lemma 5.2).

    >>> float(entropy(TopList({0: 0.5}, 3)))
    0.625
    """
    rule = as_rule(rule)
    if isinstance(lists, TopList):
        return float(entropy(lists.batch, rule=rule)[0])
    if isinstance(lists, DeviceLists):
        return rule.entropies(DeviceCases(lists, None))
    lists = as_lists(lists, space)
    plain = lists.strictly_valid()
    out = np.empty(len(lists))

    def work(lo: int, hi: int) -> None:
        with np.errstate(all="ignore"):
            out[lo:hi] = rule.entropies(BatchCases(plain, None, lo, hi))

    kernel.over_blocks(len(lists), len(plain.confidences), work)
    return out


def expected_score(lists: Any, p: Any, *, rule: Any = "brier", penalty: float | None = None, space: Any = None) -> Any:
    """The expected score of each list if the outcome is drawn from `p`.

    `p` is an (n, m) array, one distribution for all cases, or lists, which stand for their padded distributions.
    A class of probability zero counts nothing, even where its score is infinite.

    >>> round(expected_score(TopList({0: 0.5}, 5), [0.5, 0.44, 0.03, 0.02, 0.01], rule="log"), 6)
    1.386294
    """
    rule = as_rule(rule)
    if isinstance(lists, TopList):
        return float(expected_score(lists.batch, p, rule=rule, penalty=penalty)[0])
    lists = as_lists(lists, space)
    plain = lists.strictly_valid()
    believed = beliefs(as_truth(p.batch if isinstance(p, TopList) else p, lists.space, len(lists)), plain)
    out = np.empty(len(lists))

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
    """How much worse than the truth each list is in expectation, if `p` is the truth: never negative.

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
    """What an invalid list pays by default: a hundredth of the entropy of the uniform distribution."""
    if not isinstance(lists, DeviceLists):
        lists = as_lists(lists)
    rule, space = as_rule(rule), lists.space
    cases = len(lists) if space.per_case else 1
    none = TopLists.from_ragged(np.zeros(cases + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), space)
    due = _PENALTY * entropy(none, rule=rule)
    return due if space.per_case else float(due[0])


def penalise(out: Floats, lists: TopLists, rule: Rule, penalty: float | None) -> Floats:
    """Add to unpenalised scores, in place, what invalid lists pay."""
    penalty = None if penalty is None else as_number(penalty, "the penalty for invalid lists", 0, np.inf)
    invalid = (lists.admitted.flags & flags.INVALID) != 0
    if invalid.any() and penalty != 0:
        due = default_penalty(lists, rule=rule) if penalty is None else penalty
        out[invalid] += due[invalid] if isinstance(due, np.ndarray) else due
    return out


def _score_on_device(lists: DeviceLists, y: Any, rule: Rule, penalty: float | None) -> Any:
    xp, valid = lists.xp, lists.is_valid()
    penalty = None if penalty is None else as_number(penalty, "the penalty for invalid lists", 0, np.inf)
    out = rule.scores(DeviceCases(lists, lists.codes(y)))
    if bool(xp.all(valid)):
        return out
    due = penalty if penalty is not None else default_penalty(lists, rule=rule)
    if isinstance(due, np.ndarray):
        due = lists.beside(due.tolist(), out.dtype)
    return xp.where(valid, out, out + due)
