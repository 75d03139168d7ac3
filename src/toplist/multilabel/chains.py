"""Classifier chains: lists of their most probable label sets, the probabilities of given sets, and draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit

from toplist._typing import Floats, Ints
from toplist.core.arguments import as_count, as_floats, as_whole
from toplist.errors import ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.sets import lists_of_sets, no_sets

Bits = NDArray[np.uint8]

ROWS = 1 << 17  # prefixes that are followed at once
_ENTRIES = 1 << 24  # of the features that a model is called with at once
_ROWS = 1 << 13  # of scores at once: they should stay in the cache
_TRIED = (-3.0, -0.5, 0.25, 2.0)  # scores
_FLAT = 1e-100


class Conditionals(Protocol):
    """The protocol of a user's chain: a model of the next label, given a case and the labels before it.

    `order[d]` is the label that the chain decides at depth d. `conditional(X, prefixes)` takes one row of X and one row
    of zeros and ones (rows, d) per prefix, in the order of the chain, and returns P(next label = 1) for each.
    """

    order: Any

    def conditional(self, X: Any, prefixes: Bits, /) -> Any:
        """P(next label = 1) after each prefix."""


class ChainModel(Protocol):
    """A chain of any kind."""

    @property
    def order(self) -> Ints:
        """The label that is decided at each depth."""

    def over(self, X: Any, first: int, /) -> Links:
        """Its links on some cases; `first` is the number of the first of them."""


class Links(Protocol):
    """The conditional distributions of a chain on some cases, which are counted from 0."""

    def next_label(self, case: Ints, bits: Bits) -> tuple[Floats, Floats]:
        """log P(next label = 0) and log P(next label = 1), given a case and the labels before: one row a prefix."""

    def ceiling(self, case: Ints, depth: int) -> Floats:
        """What the labels from this depth on can add to a log-probability at most, whatever comes before them."""

    def bound(self, case: Ints, bits: Bits) -> Floats:
        """What the labels that are still to come can add at most, after these prefixes."""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The links of any models, which have no bounds on the labels to come."""

    features: Any
    first: int  # the number of the first case, for errors
    ask: Callable[[Any, Bits], tuple[Any, Any]]  # P(0) and P(1) of the next label, from rows of X and prefixes

    def next_label(self, case: Ints, bits: Bits) -> tuple[Floats, Floats]:
        """See `Links`; models are called with as many rows at once as fit."""
        out = np.empty((2, len(case)))
        width = (self.features.shape[1] if self.features.ndim == 2 else 1) + bits.shape[1]
        step = max(1, _ENTRIES // max(1, width))
        for lo in range(0, len(case), step):
            here = slice(lo, lo + step)
            out[:, here] = self.ask(self.features[case[here]], bits[here])
        bad = ~((out >= 0) & (out <= 1)).all(axis=0)
        if bad.any():
            at = int(np.argmax(bad))
            raise ConfidenceError(
                f"the chain gives {out[1, at]:g} for the label at place {bits.shape[1]} of its order, after "
                f"{bits[at].tolist()}: no probability.",
                "P(next label = 1) is from 0 to 1.",
                case=self.first + int(case[at]),
                more=len(np.unique(case[bad])) - 1,
            )
        with np.errstate(divide="ignore"):
            np.log(out, out=out)
        return out[0], out[1]

    def ceiling(self, case: Ints, depth: int) -> Floats:
        """Zero: a probability of one is possible."""
        return np.zeros(len(case))

    def bound(self, case: Ints, bits: Bits) -> Floats:
        """Zero as well."""
        return np.zeros(len(case))


@dataclass(frozen=True, slots=True)
class OwnChain:
    """A user's chain, see `Conditionals`."""

    order: Ints
    chain: Conditionals

    def over(self, X: Any, first: int) -> Links:
        """The chain on some cases."""
        return Unbounded(X, first, self._ask)

    def _ask(self, rows: Any, bits: Bits) -> tuple[Any, Any]:
        p = np.asarray(self.chain.conditional(rows, bits), dtype=np.float64)
        if p.shape != (len(bits),):
            raise ShapeError(f"conditional gives {p.shape} for {len(bits)} prefixes.", "One probability per prefix.")
        return 1.0 - p, p


@dataclass(frozen=True, slots=True)
class FittedChain:
    """A chain of scikit-learn: the estimator at depth d sees X and the d labels before, in the order of the chain."""

    order: Ints
    estimators: tuple[Any, ...]

    def over(self, X: Any, first: int) -> Links:
        """The chain on some cases."""
        return Unbounded(X, first, self._ask)

    def _ask(self, rows: Any, bits: Bits) -> tuple[Any, Any]:
        return both(self.estimators[bits.shape[1]], beside(rows, bits))


def beside(rows: Any, bits: Bits) -> Any:
    """Features, with the labels before as further features."""
    if not bits.shape[1]:
        return rows
    if sparse.issparse(rows):
        return sparse.hstack((rows, sparse.csr_array(bits.astype(np.float64))), format="csr")
    return np.hstack((rows, bits.astype(np.float64)))


def both(estimator: Any, rows: Any) -> tuple[Any, Any]:
    """P(0) and P(1); an estimator that was trained on one class only has one column."""
    p = np.asarray(estimator.predict_proba(rows))
    none = np.zeros(len(p))
    column = {int(name): p[:, i] for i, name in enumerate(estimator.classes_)}
    return column.get(0, none), column.get(1, none)


@dataclass(frozen=True, slots=True)
class LogisticChain:
    """P(label at depth j = 1) = 1 / (1 + exp(-score)), score = intercept + X w + sum of `weights[i, j]` over i < j.

    The score is known up to the labels that are still open, each of which adds its weight or nothing. So it is in an
    interval, `middle` +- `half` about the score of what is fixed, and the label's probability, whichever way it goes,
    is largest at one of the two ends.
    """

    order: Ints
    features: Floats  # (features, L)
    intercepts: Floats
    weights: Floats  # (L, L), above the diagonal
    middle: Floats  # (L + 1, L): at depth d, half the sum of the weights of labels d to j - 1 in the score of j
    half: Floats  # ... and half the sum of their sizes

    def over(self, X: Any, _: int) -> Links:
        """The chain on some cases."""
        base = np.asarray(X @ self.features) + self.intercepts
        most = log_expit(np.abs(base + self.middle[0]) + self.half[0])
        ceilings = np.zeros((len(base), len(self.order) + 1))
        ceilings[:, :-1] = np.cumsum(most[:, ::-1], axis=1)[:, ::-1]
        return _LogisticLinks(self, base, ceilings)


@dataclass(frozen=True, slots=True)
class _LogisticLinks:
    chain: LogisticChain
    base: Floats  # (cases, L): the scores of the features alone
    ceilings: Floats

    def next_label(self, case: Ints, bits: Bits) -> tuple[Floats, Floats]:
        depth = bits.shape[1]
        score = self.base[case, depth]
        if depth:
            weights = self.chain.weights[:depth, depth]
            for lo in range(0, len(case), _ROWS):
                score[lo : lo + _ROWS] += bits[lo : lo + _ROWS].astype(np.float64) @ weights
        return log_expit(-score), log_expit(score)

    def ceiling(self, case: Ints, depth: int) -> Floats:
        found: Floats = self.ceilings[case, depth]
        return found

    def bound(self, case: Ints, bits: Bits) -> Floats:
        depth = bits.shape[1]
        base = self.base[:, depth:] + self.chain.middle[depth, depth:]
        weights, half = self.chain.weights[:depth, depth:], self.chain.half[depth, depth:]
        out = np.empty(len(case))
        for lo in range(0, len(case), _ROWS):
            score = bits[lo : lo + _ROWS].astype(np.float64) @ weights
            score += base[case[lo : lo + _ROWS]]
            np.abs(score, out=score)
            score += half
            out[lo : lo + _ROWS] = log_expit(score, out=score).sum(axis=1)
        return out


def as_logistic(chain: FittedChain, features: int) -> LogisticChain | None:
    """The chain as one of logistic models, if that is what all its estimators are."""
    width = len(chain.order)
    weights, shown, intercepts = np.zeros((width, width)), np.zeros((features, width)), np.zeros(width)
    for depth, estimator in enumerate(chain.estimators):
        line = np.asarray(getattr(estimator, "coef_", None))
        start = np.ravel(getattr(estimator, "intercept_", ()))
        if line.shape != (1, features + depth) or len(start) != 1 or len(estimator.classes_) != 2:
            return None
        shown[:, depth], weights[:depth, depth], intercepts[depth] = line[0, :features], line[0, features:], start[0]
        if not _is_logistic(estimator, line[0].astype(np.float64), intercepts[depth]):
            return None
    middle, half = np.zeros((width + 1, width)), np.zeros((width + 1, width))
    middle[:-1] = np.cumsum(weights[::-1], axis=0)[::-1] / 2
    half[:-1] = np.cumsum(np.abs(weights)[::-1], axis=0)[::-1] / 2
    return LogisticChain(chain.order, shown, intercepts, weights, middle, half)


def _is_logistic(estimator: Any, line: Floats, start: float) -> bool:
    """Whether its probabilities are the logistic function of its score, tried at known scores."""
    steep = float(line @ line)
    scores = np.array(_TRIED) if steep > _FLAT else np.full(1, start)
    rows = np.outer(scores - start, line / steep if steep > _FLAT else np.zeros_like(line))
    return bool(np.allclose(both(estimator, rows)[1], expit(scores), rtol=1e-6, atol=0))


def as_chain(chain: Any, X: Any) -> tuple[ChainModel, Any]:
    """The chain, as the fastest kind it can be, and the features with a row per case."""
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim < 1:
        raise ShapeError("X has a row per case.")
    if hasattr(chain, "conditional") and hasattr(chain, "order"):
        return OwnChain(_as_order(chain.order), chain), rows
    if not (hasattr(chain, "estimators_") and hasattr(chain, "order_")):
        unfitted = " Fit it first." if hasattr(chain, "fit") else ""
        raise TopListError(
            f"expected a fitted ClassifierChain, or an object with `order` and `conditional(X, prefixes)`, "
            f"got {type(chain).__name__}.{unfitted}"
        )
    fitted = _as_fitted(chain)
    rows = rows if sparse.issparse(rows) else as_floats(rows, "X")
    wanted = getattr(fitted.estimators[0], "n_features_in_", None)
    if rows.ndim != 2 or (wanted is not None and rows.shape[1] != wanted):
        raise ShapeError(f"X has shape {rows.shape}; the chain was trained on {wanted} features.", "One row per case.")
    _check_finite(rows)
    return as_logistic(fitted, rows.shape[1]) or fitted, rows


def chunks(chain: ChainModel, X: Any, each: int) -> Iterator[tuple[int, Links, int]]:
    """The first of some cases at a time, their links, and their number: `each` rows for every case."""
    cases, step = X.shape[0], max(1, ROWS // max(1, each))
    for first in range(0, cases, step):
        yield first, chain.over(X[first : first + step], first), min(step, cases - first)


def _as_fitted(chain: Any) -> FittedChain:
    """The parts of a fitted `ClassifierChain`, checked to be classifiers of zeros and ones."""
    estimators, order = tuple(chain.estimators_), _as_order(chain.order_)
    if not len(order) or len(estimators) != len(order):
        raise ShapeError(f"the chain has {len(estimators)} estimators for {len(order)} labels.")
    if getattr(chain, "cv", None) is not None and getattr(chain, "chain_method_", "predict") != "predict":
        raise TopListError(
            f"this chain was trained on {chain.chain_method_} of earlier labels, not on the labels; "
            'fit it with chain_method="predict" or without cv.'
        )
    for label, estimator in zip(order.tolist(), estimators, strict=True):
        if not hasattr(estimator, "predict_proba"):
            kind = type(estimator).__name__
            raise TopListError(
                f"{kind}, which decides label {label}, has no predict_proba: a list needs probabilities."
            )
        if not np.isin(np.asarray(estimator.classes_), (0, 1)).all():
            shown = np.asarray(estimator.classes_).tolist()
            raise SpaceError(f"label {label} of the chain is one of {shown}; a label is there or not, 1 or 0.")
    return FittedChain(order, estimators)


def _as_order(order: Any) -> Ints:
    """A permutation of the labels."""
    found = np.asarray(order)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not np.array_equal(np.sort(found), np.arange(len(found))):
        raise TopListError(f"the order of a chain names each label once, by its place; this one is {order!r}.")
    return found.astype(np.int64)


def _check_finite(X: Any) -> None:
    """Raise for features that scikit-learn would refuse, and name the case."""
    bad = ~np.isfinite(X.data if sparse.issparse(X) else X)
    if bad.any():
        case = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad] if sparse.issparse(X) else np.nonzero(bad)[0]
        more = len(np.unique(case)) - 1
        raise ConfidenceError("a feature is NaN or infinite.", "The chain needs numbers.", case=int(case[0]), more=more)


_SLACK = 1e-9  # of a log-probability: what rounding may do to a bound


@dataclass(frozen=True, slots=True)
class Frontier:
    """Prefixes of one depth with their log-probabilities, the cases in rising order."""

    case: Ints
    bits: Bits  # (rows, depth), in the order of the chain
    log_p: Floats

    @classmethod
    def roots(cls, cases: int) -> Frontier:
        """The empty prefix of each case."""
        return cls(np.arange(cases), np.zeros((cases, 0), np.uint8), np.zeros(cases))

    def __len__(self) -> int:
        return len(self.case)

    @property
    def depth(self) -> int:
        """The number of labels that are decided."""
        return int(self.bits.shape[1])

    def take(self, at: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Frontier:
        """Some of the prefixes."""
        return Frontier(self.case[at], self.bits[at], self.log_p[at])

    def children(self, links: Links) -> Floats:
        """The log-probabilities of all longer prefixes: row 2 r is prefix r without the next label, 2 r + 1 with it."""
        out = np.empty((len(self), 2))
        out[:, 0], out[:, 1] = links.next_label(self.case, self.bits)
        out += self.log_p[:, None]
        return out.ravel()

    def grown(self, child: NDArray[np.intp], log_p: Floats) -> Frontier:
        """Some of the children, by their rows."""
        bits = np.empty((len(child), self.depth + 1), np.uint8)
        bits[:, :-1], bits[:, -1] = self.bits[child >> 1], child & 1
        return Frontier(self.case[child >> 1], bits, log_p)

    def halves(self) -> tuple[Frontier, Frontier]:
        """The first cases and the last; of one case alone, that and nothing."""
        at = int(np.searchsorted(self.case, self.case[len(self) // 2]))
        at = at or int(np.searchsorted(self.case, self.case[0], side="right"))
        return self.take(slice(0, at)), self.take(slice(at, None))


def log_sums(case: Ints, log_p: Floats, cases: int) -> Floats:
    """log(sum(exp(log_p))) of each case; minus infinity where there is nothing."""
    top = np.full(cases, -np.inf)
    np.maximum.at(top, case, log_p)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.bincount(case, np.exp(log_p - top[case]), minlength=cases)
        return np.where(np.isfinite(top), top + np.log(total), top)


def largest(case: Ints, key: Floats, room: Ints) -> NDArray[np.bool_]:
    """The entries with the largest keys, `room[i]` of them for case i; ties go to what stands first."""
    counts = np.bincount(case, minlength=len(room))
    keep = np.ones(len(case), dtype=bool)
    full = counts > room
    if not full.any():
        return keep
    rows = np.flatnonzero(full[case])
    number = np.cumsum(full) - 1
    line, wide = number[case[rows]], int(counts[full].max())
    starts = np.cumsum(counts[full]) - counts[full]
    place = np.arange(len(rows)) - starts[line]
    keys = np.full((int(full.sum()), wide), -np.inf)
    keys[line, place] = key[rows]
    want = room[full][:, None]
    if (want == want[0]).all():
        least = np.partition(keys, wide - int(want[0, 0]), axis=1)[:, wide - int(want[0, 0])][:, None]
    else:
        least = np.take_along_axis(np.sort(keys, axis=1), wide - want, axis=1)
    above, tied = keys > least, keys == least
    tied &= np.cumsum(tied, axis=1) <= want - above.sum(axis=1, keepdims=True)
    keep[rows] = (above | tied)[line, place]
    return keep


@dataclass(frozen=True, slots=True)
class Tree:
    """The prefixes of all sets of some cases."""

    links: Links
    cases: int
    depth: int
    empty: bool  # whether the empty set is one of the sets

    def children(self, front: Frontier) -> tuple[NDArray[np.intp], Floats, NDArray[np.bool_]]:
        """The longer prefixes that are possible, by their rows, their log-probabilities, and which to follow anyhow.

        Without the empty set the prefixes of zeros are followed to their end, so that no mass is closed with its own.
        """
        log_p = front.children(self.links)
        follow = np.zeros(len(log_p), dtype=bool)
        if not self.empty:
            follow[::2] = ~front.bits.any(axis=1)
            if front.depth + 1 == self.depth:
                log_p[follow] = -np.inf
        at = np.flatnonzero(log_p > -np.inf)
        return at, log_p[at], follow[at]


@dataclass(frozen=True, slots=True)
class FoundSets:
    """The sets that were found, most probable first in each case, and the log of the mass of all others."""

    sets: Frontier
    log_rest: Floats
    short: NDArray[np.bool_]  # cases where a set that was not tried may be more probable than one that is listed


@dataclass(slots=True)
class _SearchState:
    """Per case the log of the pruned mass, the bound of what was left untried, and the prefixes followed."""

    pruned: Floats
    untried: Floats
    followed: Ints

    @classmethod
    def new(cls, cases: int) -> _SearchState:
        return cls(np.full(cases, -np.inf), np.full(cases, -np.inf), np.zeros(cases, np.int64))

    def prune(self, case: Ints, log_p: Floats) -> None:
        if len(case):
            self.pruned = np.logaddexp(self.pruned, log_sums(case, log_p, len(self.pruned)))


def follow_beam(tree: Tree, k: int, width: int) -> FoundSets:
    """The k most probable of the sets that a beam ends with: it keeps the `width` most probable prefixes of a case.

    Of the prefixes it drops only the mass is known.
    """
    front, state = Frontier.roots(tree.cases), _SearchState.new(tree.cases)
    room = np.full(tree.cases, width + (not tree.empty))
    while front.depth < tree.depth:
        at, log_p, follow = tree.children(front)
        case = front.case[at >> 1]
        keep = largest(case, np.where(follow, np.inf, log_p), room)
        state.prune(case[~keep], log_p[~keep])
        front = front.grown(at[keep], log_p[keep])
    sets = _first(front, k, state)
    return FoundSets(sets, state.pruned, np.zeros(tree.cases, dtype=bool))


def search_exactly(tree: Tree, k: int, most: int) -> FoundSets:
    """The k most probable sets.

    A beam finds k sets. All sets that are more probable than the last of them have prefixes that can still reach its
    probability, so all of those are followed, and no others, depth by depth. A prefix can reach its own probability
    times the bound of the links. At each depth at most 1 / P(k-th set) prefixes are followed, because they share a mass
    of one.

    A case has `most` prefixes to follow in all. Where there are more, those that can reach most go first.
    """
    least = max(k, 1)
    beam = follow_beam(tree, least, 2 * least)
    goal = _last(beam.sets, least, tree.cases)
    goal -= _SLACK * (1 + np.abs(goal))
    state = _SearchState.new(tree.cases)
    open_, done = [Frontier.roots(tree.cases)], []
    while open_:
        front = open_.pop()
        while front.depth < tree.depth:
            if len(front) > ROWS and front.case[0] != front.case[-1]:
                front, later = front.halves()
                open_.append(later)
            else:
                front = _deeper(tree, front, goal, least, most, state)
        done.append(_first(front, k, state))
    sets = _joined(done)
    short = state.untried > _last(sets, k, tree.cases)
    found = FoundSets(sets, state.pruned, short)
    return _better(found, beam) if short.any() else found


def given_not_empty(found: FoundSets, first: int) -> FoundSets:
    """The same given that the set is not empty: the search neither listed that one nor left it to the rest."""
    sets = found.sets
    total = np.logaddexp(found.log_rest, log_sums(sets.case, sets.log_p, len(found.log_rest)))
    if (total == -np.inf).any():
        raise ConfidenceError(
            "the chain gives probability one to the empty set, which is not a class of this space.",
            "Allow it with empty=True.",
            case=first + int(np.argmin(total)),
            more=int(np.count_nonzero(total == -np.inf)) - 1,
        )
    scaled = Frontier(sets.case, sets.bits, sets.log_p - total[sets.case])
    return FoundSets(scaled, found.log_rest - total, found.short)


def _deeper(tree: Tree, front: Frontier, goal: Floats, least: int, most: int, state: _SearchState) -> Frontier:
    """One label further, with all prefixes that can reach the goal of their case."""
    state.followed += np.bincount(front.case, minlength=tree.cases)
    at, log_p, follow = tree.children(front)
    case, depth = front.case[at >> 1], front.depth + 1
    able = (log_p + tree.links.ceiling(case, depth) >= goal[case]) | follow
    state.prune(case[~able], log_p[~able])
    front, follow = front.grown(at[able], log_p[able]), follow[able]
    if depth == tree.depth:
        return front
    reach = front.log_p + tree.links.bound(front.case, front.bits)
    reach[follow] = np.inf
    able = reach >= goal[front.case]
    state.prune(front.case[~able], front.log_p[~able])
    front, reach = front.take(able), reach[able]
    keep = largest(front.case, reach, np.maximum(least + 1, (most - state.followed) // (tree.depth - depth)))
    if keep.all():
        return front
    np.maximum.at(state.untried, front.case[~keep], reach[~keep])
    state.prune(front.case[~keep], front.log_p[~keep])
    return front.take(keep)


def _first(front: Frontier, k: int, state: _SearchState) -> Frontier:
    """The k most probable of each case in falling order; the others are pruned."""
    order = np.lexsort((-front.log_p, front.case))
    counts = np.bincount(front.case, minlength=len(state.pruned))
    place = np.arange(len(front)) - np.repeat(np.cumsum(counts) - counts, counts)
    others = order[place >= k]
    state.prune(front.case[others], front.log_p[others])
    return front.take(order[place < k])


def _last(sets: Frontier, k: int, cases: int) -> Floats:
    """The log-probability of the k-th set of each case: minus infinity where there are fewer, infinity for none."""
    counts = np.bincount(sets.case, minlength=cases)
    out = np.full(cases, -np.inf if k else np.inf)
    if k:
        out[counts >= k] = sets.log_p[(np.cumsum(counts) - counts + k - 1)[counts >= k]]
    return out


def _better(found: FoundSets, beam: FoundSets) -> FoundSets:
    """Where a search was cut short, the beam may have the better list."""
    cases = len(found.log_rest)
    fewer = np.bincount(found.sets.case, minlength=cases) < np.bincount(beam.sets.case, minlength=cases)
    less = log_sums(found.sets.case, found.sets.log_p, cases) < log_sums(beam.sets.case, beam.sets.log_p, cases)
    swap = found.short & (fewer | less)
    both = _joined([found.sets.take(~swap[found.sets.case]), beam.sets.take(swap[beam.sets.case])])
    order = np.argsort(both.case, kind="stable")
    return FoundSets(both.take(order), np.where(swap, beam.log_rest, found.log_rest), found.short)


def _joined(parts: list[Frontier]) -> Frontier:
    return Frontier(
        np.concatenate([part.case for part in parts]),
        np.concatenate([part.bits for part in parts]),
        np.concatenate([part.log_p for part in parts]),
    )


MOST = 100_000  # prefixes per case that an exact search follows by default


class SearchCutShort(UserWarning):
    """Warns that the search reached its limit: probabilities are exact, but more probable sets may be missing."""


def chain_sets(
    chain: Any,
    X: Any,
    k: int,
    space: LabelSets | None = None,
    *,
    search: Literal["exact", "beam"] = "exact",
    width: int | None = None,
    most: int | None = None,
    ids: Any = None,
) -> TopLists:
    """The k most probable label sets of each case under a chain, P(y | x) = prod_j P(y_j | x, y_1 .. y_(j-1)).

    Confidences are the chain's own probabilities, and the rest mass is that of all other sets, added up in logarithms.
    A space without the empty set has them given that the set is not empty. Sets of probability zero are not listed.

    Parameters
    ----------
    chain : ClassifierChain or object
        A fitted `ClassifierChain` of scikit-learn whose estimators have `predict_proba` (linear logistic models are
        recognised, and are much faster than others), or any object with an `order` of labels and
        `conditional(X, prefixes)`, the probability that the next label is 1 for rows of X and the labels before.
    X : array or sparse matrix
        Features with a row per case.
    k : int
        The length of the lists.
    space : LabelSets, optional
        The label sets; by default labels are named after their places.
    search : {"exact", "beam"}, default "exact"
        "exact" finds the true top k unless it reaches its limit. "beam" keeps the `width` most probable prefixes: its
        time is known beforehand, but the list need not be the true top k, and so need not be valid.
    width : int, optional
        The width of the beam, 2 k by default.
    most : int, optional
        The limit of an exact search: about so many prefixes per case, 100,000 by default and never fewer than a beam
        takes; each needs one conditional probability.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The sets of each case.

    Warns
    -----
    SearchCutShort
        If an exact search reached its limit; those lists are the best that were found.

    Examples
    --------
    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> chain_sets(Weather(), np.array([[0.3]]), 1, LabelSets(["wind", "rain"]))[0]
    TopList({} 0.56; unlisted 0.44 over 3 classes)
    """
    model, rows = as_chain(chain, X)
    known = _as_space(space, len(model.order))
    k = as_count(k)
    beam = _beam_width(search, width, most, k)
    limit = MOST if most is None else as_whole(most, "most", 1)
    offsets, parts, log_ps, rests, short = [np.zeros(1, np.int64)], [], [], [], 0
    for first, links, cases in chunks(model, rows, 2 * (beam or 2 * k + 2)):
        tree = Tree(links, cases, len(model.order), known.empty)
        found = search_exactly(tree, k, limit) if beam is None else follow_beam(tree, k, beam)
        found = found if known.empty else given_not_empty(found, first)
        offsets.append(offsets[-1][-1] + np.cumsum(np.bincount(found.sets.case, minlength=cases)))
        parts.append(_in_label_order(found.sets.bits, model.order))
        log_ps.append(found.sets.log_p)
        rests.append(found.log_rest)
        short += int(found.short.sum())
    if short:
        warnings.warn(
            f"{short:,} of {rows.shape[0]:,} searches ended after {limit:,} prefixes: a set that is more probable than "
            f"one that is listed may be missing there. Raise most=, list fewer sets, or take a beam.",
            SearchCutShort,
            stacklevel=2,
        )
    return lists_of_sets(
        known,
        np.concatenate(offsets),
        Sets.join([no_sets(len(model.order)), *parts]),
        np.concatenate([np.zeros(0), *log_ps]),
        log_rest=np.concatenate([np.zeros(0), *rests]),
        ids=ids,
    )


def chain_log_p(chain: Any, X: Any, sets: Any) -> Floats:
    """The log-probability of one label set per case under a chain.

    Parameters
    ----------
    chain, X
        As in `chain_sets`.
    sets : Sets or matrix of zeros and ones
        One set per case, with a column per label.

    Returns
    -------
    ndarray
        One log-probability per case.

    Examples
    --------
    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> np.exp(chain_log_p(Weather(), np.array([[0.3]]), [[0, 0]])).round(2)
    array([0.56])
    """
    model, rows = as_chain(chain, X)
    batch = sets if isinstance(sets, Sets) else Sets.from_indicators(sets)
    if batch.width != len(model.order) or len(batch) != rows.shape[0]:
        raise ShapeError(
            f"{len(batch)} sets of {batch.width} labels for {rows.shape[0]} cases and a chain of {len(model.order)}."
        )
    out = np.zeros(len(batch))
    for first, links, cases in chunks(model, rows, 1):
        bits = batch.take(slice(first, first + cases)).indicators()[:, model.order].astype(np.uint8)
        case = np.arange(cases)
        for depth in range(len(model.order)):
            log_p = links.next_label(case, bits[:, :depth])
            out[first : first + cases] += np.where(bits[:, depth], log_p[1], log_p[0])
    return out


def chain_samples(chain: Any, X: Any, draws: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Label sets drawn from a chain.

    Parameters
    ----------
    chain, X
        As in `chain_sets`.
    draws : int
        The number of draws per case.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    ndarray of bool
        (cases, draws, labels).

    Examples
    --------
    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> chain_samples(Weather(), np.array([[0.3]]), 5, rng=np.random.default_rng(0)).shape
    (1, 5, 2)
    """
    model, rows = as_chain(chain, X)
    draws = as_whole(draws, "draws", 1)
    out = np.empty((rows.shape[0], draws, len(model.order)), dtype=bool)
    for first, links, cases in chunks(model, rows, draws):
        case = np.repeat(np.arange(cases), draws)
        bits = np.zeros((len(case), len(model.order)), np.uint8)
        for depth in range(len(model.order)):
            bits[:, depth] = rng.random(len(case)) < np.exp(links.next_label(case, bits[:, :depth])[1])
        out[first : first + cases][:, :, model.order] = bits.reshape(cases, draws, -1)
    return out


def _as_space(space: LabelSets | None, width: int) -> LabelSets:
    known = LabelSets(range(width)) if space is None else space
    if not isinstance(known, LabelSets):
        raise SpaceError(f"the classes of a chain are label sets; the space is a LabelSets, not {known!r}.")
    if len(known.names) != width:
        raise SpaceError(f"the chain has {width} labels, and the space {len(known.names)}.")
    if known.support is not None:
        raise SpaceError(
            "a chain gives a probability to every set, also outside the support; list in the space of all sets, "
            "or score the support with chain_log_p and support_sets."
        )
    return known


def _beam_width(search: str, width: int | None, most: int | None, k: int) -> int | None:
    """The width of a beam, or None for an exact search."""
    if search not in ("exact", "beam"):
        raise TopListError(f'search is "exact" or "beam", not {search!r}.')
    if search == "exact":
        if width is not None:
            raise TopListError('the width is that of a beam; pass search="beam" with it.')
        return None
    if most is not None:
        raise TopListError("most is the limit of an exact search; a beam has its width.")
    found = max(1, 2 * k) if width is None else as_whole(width, "width", 1)
    if found < k:
        raise TopListError(f"a beam of width {found} ends with {found} sets; {k} need one of {k} at least.")
    return found


def _in_label_order(bits: NDArray[np.uint8], order: NDArray[np.int64]) -> Sets:
    spread = np.zeros(bits.shape, dtype=bool)
    spread[:, order] = bits
    return Sets.from_indicators(spread)
