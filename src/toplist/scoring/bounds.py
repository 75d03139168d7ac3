"""The largest loss of a list against another one, over all outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import kernel
from toplist.errors import ShapeError, SpaceError
from toplist.lists import TopList, TopLists, require_lists
from toplist.lists.labelsets import LabelSets
from toplist.scoring.rules import Brier, Log, Rule, as_rule
from toplist.scoring.rules.ordinal import OrdinalRule, of_one_size
from toplist.scoring.scores import BatchCases, penalise, scored_as

Codes = NDArray[Any]
_BLOCK = 1 << 13  # cases whose classes are compared with each other at a time
_COMPARED = 1 << 10  # classes of one list times those of the other, up to which all are compared with all
_WHOLE = 1e-6  # of the mass of a distribution that may be missing
_SHAPES = 32  # pairs of lengths up to which lists are taken by their lengths


def largest_loss(a: Any, b: Any, *, rule: Any = "brier", penalty: float | None = None) -> Any:
    """Largest loss of each list of `a` against that of `b`: the maximum over outcomes y of S(a, y) - S(b, y).

    All classes that neither lists score alike, so that only the classes that either lists, and one other, are
    tried: O(k) per case. Under a rule of ordered classes they do not, and every class is tried. An outcome for which
    both scores are infinite counts zero.

    Parameters
    ----------
    a, b : TopLists or TopList
        Lists of the same cases over the same classes.
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest") or as an instance.
    penalty : float, optional
        What an invalid list pays beside the score of its largest valid sublist. By default a hundredth of the
        expected score of the empty list; 0 and infinity are allowed.

    Returns
    -------
    ndarray or float
        One value per case; a float for single lists.

    Examples
    --------
    >>> a, b = TopList({0: 0.6}, 3), TopList({0: 0.5, 1: 0.3}, 3)
    >>> round(largest_loss(a, b), 6), round(largest_loss(b, a), 6)
    (0.26, 0.14)
    """
    rule = as_rule(rule)
    if isinstance(a, TopList) and isinstance(b, TopList):
        return float(largest_loss(a.batch, b.batch, rule=rule, penalty=penalty)[0])
    require_lists(a)
    require_lists(b)
    if len(a) != len(b):
        raise ShapeError(f"{len(a)} lists against {len(b)}.", "Each case needs one of each.")
    if isinstance(rule, OrdinalRule):
        return _largest_in_order(a, b, rule, penalty)
    again = renumbering(a, b)
    mine, theirs = _scores(a, rule, penalty), _scores(b, rule, penalty)
    if again is None and (mine.dense or theirs.dense):
        return subtract(mine.spread(), theirs.spread()).max(axis=1)
    codes = theirs.lists.classes if again is None else again[theirs.lists.classes]
    return _join(mine, theirs, codes)


def _require_order(a: TopLists, b: TopLists, rule: OrdinalRule) -> None:
    """Refuse lists over classes that are not ordered, or not in the same order."""
    for lists in (a, b):
        rule.require(lists)
    again = renumbering(a, b)
    if again is not None and (np.diff(again) < 0).any():
        raise SpaceError(f"the lists are over {a.space!r} and {b.space!r}: both need the same order of the classes.")


def _largest_in_order(a: TopLists, b: TopLists, rule: OrdinalRule, penalty: float | None) -> Floats:
    """The same under a rule of ordered classes."""
    _require_order(a, b, rule)
    out = np.empty(len(a))
    mine, theirs = scored_as(a, rule), scored_as(b, rule)
    for at, m in of_one_size(mine):
        with np.errstate(all="ignore"):
            out[at] = subtract(rule.each_class(mine[at], m), rule.each_class(theirs[at], m)).max(axis=1)
    own, other = (penalise(np.zeros(len(lists)), lists, rule, penalty) for lists in (a, b))
    return out + subtract(own, other)


def most_lost(
    a: TopLists, b: TopLists, weights: Floats | None = None, *, rule: Any = "brier", penalty: float | None = None
) -> float:
    """The largest of the weighted largest losses of `a` against `b`: what one more such case could cost at most.

    It stops looking at the first case where it is infinite. Cases without weight do not count.

    >>> a, b = TopLists.from_dicts([{0: 0.6}, {0: 0.9}], 3), TopLists.from_dicts([{0: 0.5, 1: 0.3}, {0: 0.8}], 3)
    >>> round(most_lost(a, b), 6), round(most_lost(a, b, np.array([1.0, 3.0])), 6)
    (0.26, 0.765)
    """
    most, rule = -np.inf, as_rule(rule)
    closed = _closed_form(rule) if _complete(a) and _complete(b) and renumbering(a, b) is None else None
    for lo in range(0, len(a), _BLOCK):
        here = slice(lo, min(lo + _BLOCK, len(a)))
        if closed is not None:
            found = closed(*(x.confidences.reshape(len(x), -1) for x in (a[here], b[here])))
        else:
            found = largest_loss(a[here], b[here], rule=rule, penalty=penalty)
        if weights is not None:
            counted = weights[here] > 0
            found = found[counted] * weights[here][counted]
        most = max(most, float(found.max(initial=-np.inf)))
        if most == np.inf:
            break
    return most


def _complete(lists: TopLists) -> bool:
    """Whether every list is a distribution over all classes, in their order."""
    return lists.checked.rows.classes is None and len(lists) > 0 and bool((np.abs(lists.rest) < _WHOLE).all())


def _closed_form(rule: Rule) -> Callable[[Floats, Floats], Floats] | None:
    """The largest losses of distributions (n, m), where a formula has them."""

    def brier(p: Floats, q: Floats) -> Floats:
        squares = np.einsum("ij,ij->i", p, p, dtype=np.float64) - np.einsum("ij,ij->i", q, q, dtype=np.float64)
        found: Floats = squares + 2 * np.subtract(q, p, dtype=np.float64).max(axis=1)
        return found

    def log(p: Floats, q: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.divide(q, p, dtype=np.float64).max(axis=1)
            if np.isnan(ratio).any():  # a class has no probability in either
                ratio = np.fmax.reduce(np.divide(q, p, dtype=np.float64), axis=1)
            found: Floats = np.log(ratio)
        return found

    return log if type(rule) is Log else brier if isinstance(rule, Brier) and not rule.scale_by_half else None


def log_mean_gains(
    a: TopLists,
    b: TopLists,
    t: Floats,
    weights: Floats | None = None,
    *,
    rule: Any = "brier",
    penalty: float | None = None,
) -> Floats:
    """For each t and each case log E exp(t w (S(b, Y) - S(a, Y))), where Y has the distribution of b.

    Under the log score it is zero at t = 1 where b has no zero that a has not, and at most zero elsewhere: the ratio of
    the two probabilities has the mean one.

    >>> a, b = TopLists.from_dicts([{0: 0.6}], 3), TopLists.from_dicts([{0: 0.5, 1: 0.3}], 3)
    >>> log_mean_gains(a, b, np.array([0.5, 1.0, 2.0]), rule="log").round(6).tolist()
    [[-0.007355], [0.0], [0.05196]]
    """
    rule, out = as_rule(rule), np.empty((len(t), len(a)))
    if isinstance(rule, OrdinalRule):
        return _gains_in_order(a, b, t, weights, rule, penalty)
    again = renumbering(a, b)
    for lo in range(0, len(a), _BLOCK):
        here = slice(lo, min(lo + _BLOCK, len(a)))
        mine, theirs = _scores(a[here], rule, penalty), _scores(b[here], rule, penalty)
        codes = theirs.lists.classes if again is None else again[theirs.lists.classes]
        which, ours, others, confidence = _union(mine, theirs, codes)
        n, proxy = len(mine.lists), np.broadcast_to(theirs.lists.proxy, len(mine.lists))
        p = np.where(np.isnan(confidence), proxy[which], confidence)
        rest = np.maximum(1.0 - np.bincount(which, p, n), 0.0)
        w = np.ones(n) if weights is None else weights[here]
        gain, unlisted = w[which] * subtract(others, ours), w * subtract(theirs.unlisted, mine.unlisted)
        for at, slope in enumerate(t):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                each = np.where(p > 0, p * np.exp(slope * gain), 0.0)
                other = np.where(rest > 0, rest * np.exp(slope * unlisted), 0.0)
                out[at, here] = np.log(np.bincount(which, each, n) + other)
    return out


def _gains_in_order(
    a: TopLists, b: TopLists, t: Floats, weights: Floats | None, rule: OrdinalRule, penalty: float | None
) -> Floats:
    """The same under a rule of ordered classes, of which each may score another number."""
    _require_order(a, b, rule)
    mine, theirs = scored_as(a, rule), scored_as(b, rule)
    own, other = (penalise(np.zeros(len(lists)), lists, rule, penalty) for lists in (a, b))
    due, w = subtract(other, own), np.ones(len(a)) if weights is None else weights
    out = np.empty((len(t), len(a)))
    for some, m in of_one_size(mine):
        p = theirs[some].padded()
        with np.errstate(all="ignore"):
            gain = subtract(rule.each_class(theirs[some], m), rule.each_class(mine[some], m)) + due[some][:, None]
            for at, slope in enumerate(t):
                each = np.where(p > 0, p * np.exp(slope * w[some][:, None] * gain), 0.0)
                out[at, some] = np.log(each.sum(axis=1))
    return out


def subtract(x: Any, y: Any) -> Floats:
    """x - y, and zero where both are infinite.

    >>> subtract(np.array([np.inf, np.inf, 1.0]), np.array([np.inf, 1.0, np.inf]))
    array([  0.,  inf, -inf])
    """
    same = x == y
    out: Floats = np.subtract(x, y, out=np.zeros(np.shape(same)), where=~same)
    return out


@dataclass(frozen=True, slots=True)
class _Scores:
    """What lists score if one of their classes happens, and if another one does; the penalty is in both."""

    lists: TopLists  # as they are scored
    listed: Floats  # aligned with lists.classes
    unlisted: Floats  # one per case; no number where every class is listed

    @property
    def dense(self) -> bool:
        """Whether every class is listed, in order."""
        return self.lists.checked.rows.classes is None

    @property
    def case(self) -> Codes:
        """The case of every listed class."""
        return np.repeat(np.arange(len(self.lists)), self.lists.sizes)

    def spread(self) -> Floats:
        """All scores as (n, m)."""
        shape = len(self.lists), int(self.lists.checked.rows.size[0])
        if self.dense:
            return self.listed.reshape(shape)
        out = np.repeat(self.unlisted, shape[1]).reshape(shape)
        out[self.case, self.lists.classes] = self.listed
        return out


def _scores(lists: TopLists, rule: Rule, penalty: float | None) -> _Scores:
    plain = scored_as(lists, rule)
    listed, unlisted = np.empty(len(plain.confidences)), np.empty(len(plain))

    def work(lo: int, hi: int) -> None:
        start = plain.offsets[lo:hi]
        for at, table, _ in BatchCases(plain, None, lo, hi).tables():
            with np.errstate(all="ignore"):
                each, other = rule.each(table)
            listed[start[at][:, None] + np.arange(table.t.shape[1])] = each
            unlisted[lo + at] = other

    kernel.over_blocks(len(plain), len(plain.confidences), work)
    due = penalise(np.zeros(len(plain)), lists, rule, penalty)
    return _Scores(plain, listed + np.repeat(due, plain.sizes), unlisted + due)


def _join(mine: _Scores, theirs: _Scores, codes: Codes) -> Floats:
    """The largest difference of each case, over the classes of either and one other; `codes` are those of theirs."""
    ka, kb = mine.lists.sizes, theirs.lists.sizes
    shapes, which = np.unique(np.stack([ka, kb]), axis=1, return_inverse=True)
    if len(shapes.T) > _SHAPES or shapes.prod(axis=0).max(initial=0) > _COMPARED:
        return _join_sorted(mine, theirs, codes)
    out = np.empty(len(ka))
    for shape, (k, j) in enumerate(shapes.T):
        rows = np.flatnonzero(which.ravel() == shape)
        for lo in range(0, len(rows), _BLOCK):
            at = rows[lo : lo + _BLOCK]
            out[at] = _compared(mine, theirs, codes, at, int(k), int(j))
    return out


def _compared(mine: _Scores, theirs: _Scores, codes: Codes, at: Codes, k: int, j: int) -> Floats:
    """The same for cases with k classes in my lists and j in theirs: each class is compared with each."""
    own, their = (one.lists.offsets[at][:, None] + np.arange(size) for one, size in ((mine, k), (theirs, j)))
    same = mine.lists.classes[own][:, :, None] == codes[their][:, None, :]
    listed, other = mine.listed[own], theirs.listed[their]
    ours, others = mine.unlisted[at], theirs.unlisted[at]
    both = same.any(axis=2)
    against = np.repeat(others[:, None], k, axis=1)
    if j:
        against = np.where(both, np.take_along_axis(other, same.argmax(axis=2), axis=1), against)
    size = mine.lists.checked.rows.size
    apart = (size if len(size) == 1 else size[at]) > k + j - both.sum(axis=1)
    out = np.where(apart, subtract(ours, others), -np.inf)
    out = np.maximum(out, subtract(listed, against).max(axis=1, initial=-np.inf))
    only = np.where(same.any(axis=1), -np.inf, subtract(ours[:, None], other))
    return np.asarray(np.maximum(out, only.max(axis=1, initial=-np.inf)))


def _join_sorted(mine: _Scores, theirs: _Scores, codes: Codes) -> Floats:
    """The same for long lists, and for lists of many lengths."""
    which, ours, others, _ = _union(mine, theirs, codes)
    named = np.bincount(which, minlength=len(mine.lists))
    apart = mine.lists.checked.rows.size > named
    out = np.where(apart, subtract(mine.unlisted, theirs.unlisted), -np.inf)
    np.maximum.at(out, which, subtract(ours, others))
    return out


def _union(mine: _Scores, theirs: _Scores, codes: Codes) -> tuple[Codes, Floats, Floats, Floats]:
    """The classes that either lists: their cases, both scores, and the confidence in theirs, NaN where it has none."""
    k = len(mine.listed)
    case = np.concatenate([mine.case, theirs.case])
    _, code = np.unique(np.concatenate([mine.lists.classes, codes]), return_inverse=True)
    key = case * (int(code.max(initial=0)) + 1) + code
    order = np.argsort(key, stable=True)  # where both list a class, that of mine stands first
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.diff(key[order]) != 0
    which, place = case[order][fresh], np.cumsum(fresh) - 1
    ours, others = mine.unlisted[which], theirs.unlisted[which]
    of_mine = order < k
    ours[place[of_mine]] = mine.listed[order[of_mine]]
    others[place[~of_mine]] = theirs.listed[order[~of_mine] - k]
    confidence = np.full(len(which), np.nan)
    confidence[place[~of_mine]] = theirs.lists.confidences[order[~of_mine] - k]
    return which, ours, others, confidence


def renumbering(a: TopLists, b: TopLists) -> Codes | None:
    """For each code of `b` that of the same class in `a`; None where the codes are the same."""
    ours, theirs = a.space, b.space
    if np.any(ours.as_floats[1] != theirs.as_floats[1]):
        raise SpaceError(f"the lists are over {ours!r} and {theirs!r}: both need the same classes.")
    sets = isinstance(ours, LabelSets) or isinstance(theirs, LabelSets)
    if ours == theirs or (not sets and ours.labels == theirs.labels):
        return None
    bare, named = (a, theirs) if ours.labels is None else (b, ours)
    if sets or (bare.space.labels is None and len(bare.confidences) and not named.complete):
        raise SpaceError(f"which class of {ours!r} is which of {theirs!r}? Give both lists the same space.")
    if bare.space.labels is None:
        return None
    codes = dict(ours.codes)
    again = [codes.setdefault(label, len(codes)) for label in theirs.labels or ()]
    if np.any(len(codes) > np.asarray(ours.size, dtype=object)):
        raise SpaceError(f"{len(codes)} labels between {ours!r} and {theirs!r}, which is more than there are classes.")
    return np.array(again, np.int64)
