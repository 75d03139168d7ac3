"""Score against k: what each further class on the list is worth, for every k in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_count, is_several
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.admitted import row_sums
from toplist.moments import Moments, Sum
from toplist.outcomes import as_codes
from toplist.rules import PseudoSpherical, Rule, as_rule
from toplist.rules.base import MANY
from toplist.scoring import entropy, plain_scores

Floats = NDArray[np.float64]
_CELLS = 1 << 20
_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class Curve:
    """Means over the cases, one entry per k."""

    rule: str
    ks: NDArray[np.int64]
    score: Floats | None  # mean score of the lists cut to k classes; None without outcomes
    entropy: Floats  # what the lists themselves expect
    coverage: Floats | None  # how often the outcome is listed
    rest: Floats  # mean mass not listed

    @property
    def gain(self) -> Floats:
        """Information gain: how much entropy each step to the next k takes away."""
        return -np.diff(self.entropy)

    def __repr__(self) -> str:
        head = f"{'k':>5} {'score':>12} {'entropy':>12} {'coverage':>9} {'rest':>9}"
        scores = np.full(len(self.ks), np.nan) if self.score is None else self.score
        cover = np.full(len(self.ks), np.nan) if self.coverage is None else self.coverage
        lines = [
            f"{k:5d} {s:12.6f} {e:12.6f} {c:9.4f} {r:9.4f}"
            for k, s, e, c, r in zip(self.ks, scores, self.entropy, cover, self.rest, strict=True)
        ]
        shown = lines if len(lines) <= 21 else [*lines[:10], "  ...", *lines[-10:]]
        return "\n".join([f"Curve of {self.rule}", head, *shown])


def curve(p: Any, y: Any = None, *, ks: Iterable[int] | None = None, rule: Any = "brier", space: Any = None) -> Curve:
    """Score, entropy, coverage and rest mass of the k most likely classes, for every k.

    `p` are distributions as an (n, m) array, or other predictions that `score` takes; lists are cut to at most their
    own length. Invalid lists
    count as their largest valid sublists, without penalty. Masses left over are summed from the back, so that the
    long end of the curve keeps its digits.

    >>> curve([[0.5, 0.3, 0.2]], [1]).score.round(4)
    array([0.6667, 0.875 , 0.78  , 0.78  ])
    """
    rule = as_rule(rule)
    lists = as_lists(p, space).strictly_valid()
    codes = None if y is None else as_codes(y, lists)
    if not len(lists):
        raise TopListError("there are no cases to average over.")
    longest = int(lists.sizes.max(initial=0))
    if ks is not None and not is_several(ks):
        raise TopListError(f"ks are numbers of classes, not {ks!r}.")
    asked = range(longest + 1) if ks is None else sorted({as_count(k) for k in ks})
    if asked and asked[-1] > _MOST:
        raise TopListError(f"ks are numbers of classes up to 2**62, not {asked[-1]}.")
    wanted = np.array(asked, dtype=np.int64)
    if _is_one_by_one(lists, rule):
        return _one_by_one(lists, codes, wanted, rule)
    used = np.minimum(wanted, longest)
    sums = np.zeros((4, len(wanted)))
    step = max(1, _CELLS // (longest + 2))
    for lo in range(0, len(lists), step):
        part = lists[lo : lo + step]
        with np.errstate(all="ignore"):
            block = _Block.of(part, None if codes is None else codes[lo : lo + step])
            sums[1] += rule.entropies(_Cuts(block, used, None)).sum(axis=0)
            sums[3] += block.tail(used).sum(axis=0)
            if codes is not None:
                sums[0] += rule.scores(_Cuts(block, used, block.rank)).sum(axis=0)
                sums[2] += (block.rank[:, None] < used).sum(axis=0)
    sums /= len(lists)
    known = codes is not None
    return Curve(rule.name, wanted, sums[0] if known else None, sums[1], sums[2] if known else None, sums[3])


def cut_scores(
    lists: TopLists, codes: NDArray[np.int64], ks: NDArray[np.int64], *, rule: Rule
) -> Iterator[tuple[slice, Floats]]:
    """Scores of every case cut to every k, without penalty: which cases, and their scores as (cases, ks).

    `lists` are strictly valid, `codes` are those of `as_codes`. Blocks keep the memory small whatever the number of k.
    """
    if _is_one_by_one(lists, rule):
        whole = [plain_scores(lists.truncate(int(k)), codes, rule) for k in ks]
        yield slice(0, len(lists)), np.array(whole).reshape(len(ks), len(lists)).T
        return
    longest = int(lists.sizes.max(initial=0))
    used, step = np.minimum(ks, longest), max(1, _CELLS // (longest + len(ks) + 1))
    for lo in range(0, len(lists), step):
        here = slice(lo, min(lo + step, len(lists)))
        with np.errstate(all="ignore"):
            block = _Block.of(lists[here], codes[here])
            yield here, np.asarray(rule.scores(_Cuts(block, used, block.rank)))


@dataclass(frozen=True, slots=True)
class _Block:
    """Some lists side by side, largest confidence first, short ones filled up with zeros."""

    t: Floats
    listed: NDArray[np.bool_]
    rest: Floats
    size: Floats
    log_size: Floats
    log_rest: Floats | None
    rank: NDArray[np.intp]  # of the outcome; beyond the last column if it is not listed

    @staticmethod
    def of(lists: TopLists, codes: NDArray[np.int64] | None) -> _Block:
        rows = lists.admitted.rows
        n, width = len(lists), int(lists.sizes.max(initial=0))
        t, same = np.zeros((n, width)), np.zeros((n, width), bool)
        listed = np.arange(width) < lists.sizes[:, None]
        t[listed] = lists.normalized_confidences
        if codes is not None:
            same[listed] = lists.classes == np.repeat(codes, lists.sizes)
        order = np.argsort(np.where(listed, -t, np.inf), axis=1, stable=True)
        t, same = np.take_along_axis(t, order, axis=1), np.take_along_axis(same, order, axis=1)
        rank = np.where(same.any(axis=1), same.argmax(axis=1), width) if width else np.zeros(n, np.intp)
        return _Block(t, listed, lists.rest, rows.size, rows.log_size, rows.log_rest, rank)

    def tail(self, ks: NDArray[np.int64]) -> Floats:
        """The mass not among the first k classes, summed from the back."""
        return np.cumsum(np.concatenate([self.rest[:, None], self.t[:, ::-1]], axis=1), axis=1)[:, ::-1][:, ks]

    @property
    def lack(self) -> Floats:
        """What each confidence lacks to one: for the first, which alone can be above a half, the mass behind it."""
        lack = 1.0 - self.t
        lack[:, :1] = np.where(
            self.t[:, :1] > 0.5, self.t[:, 1:].sum(axis=1, keepdims=True) + self.rest[:, None], lack[:, :1]
        )
        return lack

    def moments(self, of: Sum, ks: NDArray[np.int64], rank: NDArray[np.intp] | None) -> Moments:
        """Moments as (cases, ks); without a rank of the outcome the sums run over all that is listed."""
        n, width = self.t.shape
        place = np.full(n, width) if rank is None else rank
        own = np.arange(width) == place[:, None]
        tail = self.tail(ks)
        count = np.minimum(ks, self.listed.sum(axis=1)[:, None]).astype(np.float64)
        unlisted = self.size[:, None] - count + np.zeros((n, len(ks)))
        proxy = np.where(unlisted > 0, tail / np.where(unlisted > 0, unlisted, 1.0), 0.0)
        hit = place[:, None] < np.minimum(ks, width)
        q = np.take_along_axis(np.concatenate([self.t, self.rest[:, None]], axis=1), place[:, None], axis=1)
        others = np.where(own, 0.0, self.t).sum(axis=1, keepdims=True) + self.rest[:, None]
        total, ties = self._sums(of, own, ks)
        return Moments(
            np, np.where(hit, q, proxy), np.where(hit, others, 1.0 - proxy), hit, total, ties, tail, unlisted, proxy,
            self.log_size[:, None], None if self.log_rest is None else self.log_rest[:, None],
        )  # fmt: skip

    def _sums(self, of: Sum, own: NDArray[np.bool_], ks: NDArray[np.int64]) -> tuple[Floats, Floats]:
        n = len(self.t)
        if of.kind == "peak":
            top = np.concatenate([np.full((n, 1), -1.0), np.repeat(self.t[:, :1], self.t.shape[1], axis=1)], axis=1)
            equal = (self.t == self.t[:, :1]) & self.listed
            return top[:, ks], _running(equal.astype(np.float64))[:, ks]
        if of.kind == "none":
            return np.zeros((n, len(ks))), np.zeros((n, len(ks)))
        terms = np.where(self.listed & ~own, of.terms(np, self.t, self.lack), 0.0)
        return _running(terms)[:, ks], np.zeros((n, len(ks)))


@dataclass(frozen=True, slots=True)
class _Cuts:
    """A block cut to every k, as the rules take cases."""

    block: _Block
    ks: NDArray[np.int64]
    rank: NDArray[np.intp] | None

    def moments(self, of: Sum) -> Moments:
        return self.block.moments(of, self.ks, self.rank)

    def tables(self) -> Iterator[Any]:
        raise NotImplementedError("rules that need whole tables are scored for one k at a time")


def _running(x: Floats) -> Floats:
    return np.concatenate([np.zeros((len(x), 1)), np.cumsum(x, axis=1)], axis=1)


def _is_one_by_one(lists: TopLists, rule: Rule) -> bool:
    """Whether sums over all k at once do not do: for whole tables, and where confidences or their powers underflow."""
    many = isinstance(rule, PseudoSpherical) and bool((lists.space.as_floats[1] > MANY).any())
    return rule.tabular or many or lists.admitted.rows.log_confidences is not None


def _one_by_one(lists: TopLists, codes: NDArray[np.int64] | None, ks: NDArray[np.int64], rule: Rule) -> Curve:
    cut = [lists.truncate(int(k)) for k in ks]

    def mean(values: Any) -> float:
        return float(np.mean(values))

    scores = hits = None
    if codes is not None:
        scores = np.array([mean(plain_scores(c, codes, rule)) for c in cut])
        hits = np.array([mean(row_sums(c.classes == np.repeat(codes, c.sizes), c.offsets)) for c in cut])
    entropies = np.array([mean(entropy(c, rule=rule)) for c in cut])
    return Curve(rule.name, ks, scores, entropies, hits, np.array([mean(c.rest) for c in cut]))
