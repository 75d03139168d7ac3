"""What each case says about one model: its scores, and what people know beside them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists import TopLists
from toplist.lists.lookup import beliefs
from toplist.lists.outcomes import as_truth, is_soft
from toplist.scoring import accuracy
from toplist.scoring.rules import Rule
from toplist.scoring.scores import entropy, penalise, score

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class CaseScores:
    """One entry per case in every column; whole numbers are kept as such."""

    scores: NDArray[np.float64]  # (rules, cases)
    unpenalised: NDArray[np.float64]  # the same without the penalty for invalid lists
    empty: NDArray[np.float64]  # what the empty list scores in expectation, for skill
    hit: Column  # is the most confident class what happened? Ties share the credit
    missed: tuple[Column, ...]  # for each k: is what happened not among the k most confident?
    listed: Column
    sizes: Column
    mass: Column
    invalid: Column

    def __len__(self) -> int:
        return len(self.sizes)

    def some(self, at: NDArray[np.intp]) -> CaseScores:
        """Some of the cases."""
        scores, unpenalised, empty = (part[:, at] for part in (self.scores, self.unpenalised, self.empty))
        missed = tuple(column[at] for column in self.missed)
        return CaseScores(
            scores,
            unpenalised,
            empty,
            self.hit[at],
            missed,
            self.listed[at],
            self.sizes[at],
            self.mass[at],
            self.invalid[at],
        )


def sheet(lists: TopLists, y: Any, rules: Sequence[Rule], *, tops: Sequence[int], penalty: float | None) -> CaseScores:
    """Score lists by every rule; `tops` are the k of top-k errors."""
    n = len(lists)
    soft = is_soft(y, lists.space)
    y = as_truth(y, lists.space, n) if soft else y
    plain = np.array([score(lists, y, rule=rule, penalty=0) for rule in rules]).reshape(len(rules), n)
    valid = lists.is_valid()
    full = plain
    if not valid.all():
        full = np.array([penalise(s.copy(), lists, rule, penalty) for rule, s in zip(rules, plain, strict=True)])
    hit, missed, listed = _expected_places(lists, y, tops) if soft else accuracy.places(lists, y, tops)
    return CaseScores(
        full, plain, _empty(lists, rules), hit, missed, listed, lists.sizes, lists.mass, (~valid).view(np.int8)
    )


def _empty(lists: TopLists, rules: Sequence[Rule]) -> NDArray[np.float64]:
    n = len(lists)
    cases = n if lists.space.per_case else min(n, 1)
    none = TopLists.from_ragged(np.zeros(cases + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), lists.space)
    each = np.array([entropy(none, rule=rule) for rule in rules]).reshape(len(rules), cases)
    return np.broadcast_to(each, (len(rules), n))


def _expected_places(
    lists: TopLists, truth: TopLists, tops: Sequence[int]
) -> tuple[Column, tuple[Column, ...], Column]:
    """The same where what happened is a distribution: probabilities of a hit, of a miss, of being listed."""
    ordered = lists.ordered()
    believed = beliefs(truth, ordered).listed
    case, offsets = np.repeat(np.arange(len(lists)), lists.sizes), ordered.offsets
    t = ordered.confidences if ordered.log_confidences is None else ordered.log_confidences
    place = np.arange(len(t)) - offsets[case]
    starts = np.ones(len(t), bool)
    starts[1:] = (t[1:] != t[:-1]) | (case[1:] != case[:-1])
    run = np.cumsum(starts) - 1
    first, ties = place[starts][run] if len(t) else place, np.bincount(run, minlength=1)[run]

    def within(k: int) -> Column:
        share = np.clip((k - first) / ties, 0.0, 1.0)
        return np.bincount(case, weights=share * believed, minlength=len(lists))

    total = np.bincount(case, weights=believed, minlength=len(lists))
    return within(1), tuple(1.0 - within(k) for k in tops), total


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which group each case belongs to: `codes` into `keys`. One key: all cases together."""

    keys: Sequence[Hashable]
    codes: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, values: Any) -> Grouping:
        """The groups of an array of numbers or strings.

        >>> Grouping.of(np.array(["b", "a", "b"])).keys
        ['a', 'b']
        """
        keys, codes = np.unique(values, return_inverse=True)
        return cls(keys.tolist(), codes.astype(np.int32))
