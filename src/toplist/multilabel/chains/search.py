"""Search for the most probable sets of a chain: by a beam, or exactly by branch and bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats, Ints
from toplist.errors import ConfidenceError
from toplist.multilabel.chains.models import ROWS, Bits, Links

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
