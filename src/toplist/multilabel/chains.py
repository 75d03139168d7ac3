"""Classifier chains: lists of their most probable label sets, the probabilities of given sets, and draws."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats, Ints
from toplist.core.arguments import as_count, as_whole
from toplist.errors import ConfidenceError, ShapeError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.chain_models import ROWS, AnyLinks, Bits, as_chain, chunks
from toplist.multilabel.sets import as_space, lists_of_sets, no_sets, refuse

_SLACK = 1e-9  # of a log-probability: what rounding may do to a bound


@dataclass(frozen=True, slots=True)
class Frontier:
    """Prefixes of one depth with their log-probabilities, the cases in rising order."""

    case: Ints
    bits: Bits  # (rows, depth), in the order of the chain
    log_p: Floats

    def __len__(self) -> int:
        return len(self.case)

    @property
    def depth(self) -> int:
        """The number of labels that are decided."""
        return int(self.bits.shape[1])

    def take(self, at: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Frontier:
        """Some of the prefixes."""
        return Frontier(self.case[at], self.bits[at], self.log_p[at])

    def grown(self, child: NDArray[np.intp], log_p: Floats) -> Frontier:
        """Some of the longer prefixes: number 2 r is prefix r without the next label, 2 r + 1 with it."""
        bits = np.empty((len(child), self.depth + 1), np.uint8)
        bits[:, :-1], bits[:, -1] = self.bits[child >> 1], child & 1
        return Frontier(self.case[child >> 1], bits, log_p)

    def halves(self) -> tuple[Frontier, Frontier]:
        """The first cases and the last; of one case alone, that and nothing."""
        at = int(np.searchsorted(self.case, self.case[len(self) // 2]))
        at = at or int(np.searchsorted(self.case, self.case[0], side="right"))
        return self.take(slice(0, at)), self.take(slice(at, None))

    @classmethod
    def join(cls, parts: list[Frontier]) -> Frontier:
        """One after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))


@dataclass(frozen=True, slots=True)
class FoundSets:
    """The sets that were found, most probable first in each case, and the log of the mass of all others."""

    sets: Frontier
    log_rest: Floats
    short: NDArray[np.bool_]  # cases where a set that was not tried may be more probable than one that is listed

    @property
    def masses(self) -> Floats:
        """The log of the mass of the sets of each case."""
        return _log_sums(self.sets.case, self.sets.log_p, len(self.log_rest))

    @property
    def counts(self) -> Ints:
        """How many sets each case has."""
        return np.bincount(self.sets.case, minlength=len(self.log_rest))

    def last(self, k: int) -> Floats:
        """The log-probability of the k-th set of each case: minus infinity where there are fewer, infinity for none."""
        counts = self.counts
        out = np.full(len(counts), -np.inf if k else np.inf)
        if k:
            out[counts >= k] = self.sets.log_p[(np.cumsum(counts) - counts + k - 1)[counts >= k]]
        return out


class _Search:
    """A search of the prefixes of all sets of some cases, and the mass of those that it does not follow."""

    def __init__(self, links: AnyLinks, cases: int, depth: int, *, empty: bool) -> None:
        self.links, self.cases, self.depth, self.empty = links, cases, depth, empty
        self.pruned = np.full(cases, -np.inf)  # log of the mass
        self.untried = np.full(cases, -np.inf)  # bound of what was left because there was too much
        self.followed = np.zeros(cases, np.int64)  # prefixes

    def roots(self) -> Frontier:
        """The empty prefix of each case."""
        return Frontier(np.arange(self.cases), np.zeros((self.cases, 0), np.uint8), np.zeros(self.cases))

    def children(self, front: Frontier) -> tuple[NDArray[np.intp], Floats, NDArray[np.bool_]]:
        """The longer prefixes that are possible, by their numbers, their log-probabilities, and which to follow anyhow.

        Without the empty set the prefixes of zeros are followed to their end, so that no mass is closed with its own.
        """
        log_p = (np.stack(self.links.next_label(front.case, front.bits), axis=1) + front.log_p[:, None]).ravel()
        follow = np.zeros(len(log_p), dtype=bool)
        if not self.empty:
            follow[::2] = ~front.bits.any(axis=1)
            if front.depth + 1 == self.depth:
                log_p[follow] = -np.inf
        at = np.flatnonzero(log_p > -np.inf)
        return at, log_p[at], follow[at]

    def kept(self, front: Frontier, keep: NDArray[Any]) -> Frontier:
        """The prefixes that are followed further; the others are pruned."""
        if keep.all():
            return front
        self.prune(front.case[~keep], front.log_p[~keep])
        return front.take(keep)

    def prune(self, case: Ints, log_p: Floats) -> None:
        """Add the mass of prefixes that are not followed."""
        if len(case):
            self.pruned = np.logaddexp(self.pruned, _log_sums(case, log_p, self.cases))

    def first(self, front: Frontier, k: int) -> Frontier:
        """The k most probable of each case in falling order; the others are pruned."""
        order, counts = np.lexsort((-front.log_p, front.case)), np.bincount(front.case)
        place = np.arange(len(front)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.kept(front.take(order), place < k)

    def beam(self, k: int, width: int) -> FoundSets:
        """The k most probable of the sets that a beam ends with: it keeps the `width` most probable prefixes of a case.

        Of the prefixes it drops only the mass is known.
        """
        front, room = self.roots(), np.full(self.cases, width + (not self.empty))
        while front.depth < self.depth:
            child, log_p, follow = self.children(front)
            case = front.case[child >> 1]
            keep = _largest(case, np.where(follow, np.inf, log_p), room)
            self.prune(case[~keep], log_p[~keep])
            front = front.grown(child[keep], log_p[keep])
        return FoundSets(self.first(front, k), self.pruned, np.zeros(self.cases, dtype=bool))

    def exact(self, k: int, most: int, beam: FoundSets) -> FoundSets:
        """The k most probable sets, from those of a beam: as many, and at least one.

        All sets that are more probable than the last of them have prefixes that can still reach its probability, so all
        of those are followed, and no others, depth by depth. A prefix can reach its own probability times the bound of
        the links. At each depth at most 1 / P(k-th set) prefixes are followed, because they share a mass of one.

        A case has `most` prefixes to follow in all. Where there are more, those that can reach most go first.
        """
        least = max(k, 1)
        goal = beam.last(least)
        goal -= _SLACK * (1 + np.abs(goal))
        open_, done = [self.roots()], []
        while open_:
            front = open_.pop()
            while front.depth < self.depth:
                if len(front) > ROWS and front.case[0] != front.case[-1]:
                    front, later = front.halves()
                    open_.append(later)
                else:
                    front = self._deeper(front, goal, least, most)
            done.append(self.first(front, k))
        found = FoundSets(Frontier.join(done), self.pruned, np.zeros(self.cases, dtype=bool))
        short = self.untried > found.last(k)
        if not short.any():
            return found
        swap = short & ((found.counts < beam.counts) | (found.masses < beam.masses))  # the beam has the better list
        both = Frontier.join([found.sets.take(~swap[found.sets.case]), beam.sets.take(swap[beam.sets.case])])
        sets = both.take(np.argsort(both.case, kind="stable"))
        return FoundSets(sets, np.where(swap, beam.log_rest, found.log_rest), short)

    def _deeper(self, front: Frontier, goal: Floats, least: int, most: int) -> Frontier:
        """One label further, with all prefixes that can reach the goal of their case."""
        self.followed += np.bincount(front.case, minlength=self.cases)
        child, log_p, follow = self.children(front)
        case, depth = front.case[child >> 1], front.depth + 1
        able = (log_p + self.links.ceiling(case, depth) >= goal[case]) | follow
        self.prune(case[~able], log_p[~able])
        front, follow = front.grown(child[able], log_p[able]), follow[able]
        if depth == self.depth:
            return front
        reach = front.log_p + self.links.bound(front.case, front.bits)
        reach[follow] = np.inf
        able = reach >= goal[front.case]
        front, reach = self.kept(front, able), reach[able]
        keep = _largest(front.case, reach, np.maximum(least + 1, (most - self.followed) // (self.depth - depth)))
        np.maximum.at(self.untried, front.case[~keep], reach[~keep])
        return self.kept(front, keep)


def _given_not_empty(found: FoundSets, first: int) -> FoundSets:
    """The same given that the set is not empty: the search neither listed that one nor left it to the rest."""
    sets, total = found.sets, np.logaddexp(found.log_rest, found.masses)
    problem = "the chain gives probability one to the empty set, which is not a class of this space."
    case = first + np.arange(len(total))
    refuse(ConfidenceError, total == -np.inf, problem, "Allow it with empty=True.", case=case)
    scaled = Frontier(sets.case, sets.bits, sets.log_p - total[sets.case])
    return FoundSets(scaled, found.log_rest - total, found.short)


def _log_sums(case: Ints, log_p: Floats, cases: int) -> Floats:
    """log(sum(exp(log_p))) of each case; minus infinity where there is nothing."""
    top = np.full(cases, -np.inf)
    np.maximum.at(top, case, log_p)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.bincount(case, np.exp(log_p - top[case]), minlength=cases)
        return np.where(np.isfinite(top), top + np.log(total), top)


def _largest(case: Ints, key: Floats, room: Ints) -> NDArray[np.bool_]:
    """The entries with the largest keys, `room[i]` of them for case i; ties go to what stands first."""
    counts = np.bincount(case, minlength=len(room))
    # By a partition: a sort of all takes 2.6 times as long, and a beam three times.
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


_SUPPORTED = (
    "a chain gives a probability to every set; list in the space of all sets, or score the support with chain_log_p "
    "and support_sets"
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
    known = as_space(space, len(model.order), "the chain has", _SUPPORTED)
    k = as_count(k)
    beam = _beam_width(search, width, most, k)
    limit = MOST if most is None else as_whole(most, "most", 1)
    offsets, parts, log_ps, rests, short = [np.zeros(1, np.int64)], [], [], [], 0
    for first, links, cases in chunks(model, rows, 2 * (beam or 2 * k + 2)):
        start = partial(_Search, links, cases, len(model.order), empty=known.empty)
        if beam is None:
            found = start().exact(k, limit, start().beam(max(k, 1), 2 * max(k, 1)))
        else:
            found = start().beam(k, beam)
        found = found if known.empty else _given_not_empty(found, first)
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
