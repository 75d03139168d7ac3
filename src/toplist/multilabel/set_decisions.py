"""Decisions about labels: the label set per case that is best for a metric under a top list, and marginals.

A list stands for its padded distribution. The option `rest` says what becomes of the rest mass: "spread" gives each
unlisted set its share, as scoring does, and takes an invalid list for its largest valid sublist; "drop" leaves the rest
mass out, and divides the listed probabilities by their sum. Most of 2**L sets hold about half of the labels, so that a
rest that is spread over them makes every label look half likely; by default it is dropped in spaces of more than
`SPREAD_LIMIT` = 2**8 sets (2**20 of a support). An empty list has nothing but rest mass: spread, all sets are equally
probable; dropped, there is nothing to decide from, and that is an error.

A decision is any set of labels, also one that is no class of the space: the best set for F1 may be one that never
occurs. Of equally good sets the smallest is taken, and of these the one whose labels stand first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Floats, Ints
from toplist.errors import MassError, SpaceError, TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.validation import over_rows, row_sums
from toplist.multilabel.sets import no_sets

Rest = Literal["spread", "drop"]

SPREAD_LIMIT = 1 << 8
"""In spaces of at most so many sets the rest mass is spread over all of them, in larger ones it is dropped."""

SUPPORT_LIMIT = 1 << 20
"""The same for spaces with a support, whose sets all occur."""

_ENTRIES = 1 << 22  # of a matrix with a column per label


@dataclass(frozen=True, slots=True)
class Pad:
    """All sets of a space, equally weighted: the share of those with label l and sizes[s] labels, and of the empty set.

    Without a support all labels are alike, and `joint` has one row for all of them.
    """

    joint: Floats
    sizes: Ints
    empty: float
    sets: Sets | None  # the support

    @classmethod
    def of(cls, space: LabelSets, rest: Rest) -> Pad:
        """The pad of a space; zero where the rest mass is dropped."""
        width = len(space.names)
        if rest == "drop" or not width:
            return cls(np.zeros((1, 0)), np.zeros(0, np.int64), float(rest == "spread"), None)
        if space.support is None:
            return cls(
                _fair_binomial(width - 1)[None] / 2, np.arange(1, width + 1), 0.5**width if space.empty else 0.0, None
            )
        sets = space.sets(space.support)
        sizes = np.unique(sets.sizes[sets.sizes > 0])
        joint = np.zeros((width, len(sizes)))
        np.add.at(joint, (sets.labels, np.searchsorted(sizes, np.repeat(sets.sizes, sets.sizes))), 1 / len(sets))
        return cls(joint, sizes, float(np.mean(sets.sizes == 0)), sets)

    @property
    def alike(self) -> bool:
        """Whether one row stands for all labels."""
        return self.sets is None

    @property
    def likely(self) -> Floats:
        """The share of the sets that hold a label, by label or for all."""
        found: Floats = self.joint.sum(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class WeightedSets:
    """Some cases: each listed set with its weight beyond that of the pad, and the weight of the pad by case."""

    first: int  # of the cases
    sets: Sets
    case: Ints  # of each set, from zero
    weight: Floats
    level: Floats

    def __len__(self) -> int:
        return len(self.level)

    @property
    def ends(self) -> NDArray[np.intp]:
        """Where the sets of each case begin, and the end."""
        return np.searchsorted(self.case, np.arange(len(self) + 1))


def as_set_lists(lists: Any, space: Any = None) -> tuple[TopLists, LabelSets]:
    """Predictions as lists of label sets, and their space."""
    lists = as_lists(lists, space)
    if not isinstance(lists.space, LabelSets):
        raise SpaceError(f"a decision about labels needs lists over LabelSets, not over {lists.space!r}.")
    return lists, lists.space


def decoded(space: LabelSets, codes: NDArray[Any]) -> Sets:
    """The sets of codes; for no codes no codebook is needed."""
    return space.sets_of(codes) if len(codes) else no_sets(len(space.names))


def as_rest(rest: Rest | None, space: LabelSets) -> Rest:
    """Whether the rest mass is spread or dropped; by default what suits the size of the space."""
    if rest is None:
        return "spread" if space.size <= (SPREAD_LIMIT if space.support is None else SUPPORT_LIMIT) else "drop"
    if rest not in ("spread", "drop"):
        raise TopListError(f'the rest mass is "spread" over the unlisted sets, or "drop"ped, not {rest!r}.')
    return rest


def weighted_sets(lists: TopLists, space: LabelSets, rest: Rest) -> Iterator[WeightedSets]:
    """Some cases at a time: the largest valid sublists with their pad, or the lists as they are without it."""
    spread, first = rest == "spread", 0
    width, count = len(space.names), 2 ** len(space.names) if space.support is None else space.size
    if spread:
        lists = lists.valid()
    else:
        _require_mass(lists)
    cost = np.cumsum(np.maximum(lists.sizes, 1) * max(width, 1))
    while first < len(lists):
        spent = cost[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(cost, spent + _ENTRIES, side="right")))
        part = lists[first:last]
        case = np.repeat(np.arange(len(part)), part.sizes)
        if spread:
            more = {int(k): count / (space.size - int(k)) if k < space.size else 0.0 for k in np.unique(part.sizes)}
            level = part.rest * np.array([more[int(k)] for k in part.sizes])
            weight = part.normalized_confidences - np.repeat(part.proxy, part.sizes)
        else:
            level = np.zeros(len(part))
            weight = _shares(part)
        keep = weight > 0
        yield WeightedSets(first, decoded(space, part.classes[keep]), case[keep], weight[keep], level)
        first = last


def _shares(lists: TopLists) -> Floats:
    """The confidences divided by their sum."""
    t = lists.normalized_confidences
    shares: Floats = t / np.repeat(row_sums(t, lists.offsets), lists.sizes)
    return shares


def _require_mass(lists: TopLists) -> None:
    bare = row_sums(lists.normalized_confidences > 0, lists.offsets) == 0
    if bare.any():
        row = int(np.argmax(bare))
        raise MassError(
            "no set is listed with a positive probability, and without the rest mass there is nothing to decide from.",
            'Leave rejects out, or pass rest="spread" to decide from the rest mass.',
            case=row,
            name="" if lists.ids is None else repr(lists.ids[row].item()),
            more=int(bare.sum()) - 1,
        )


def _fair_binomial(n: int) -> Floats:
    """The probabilities of 0 to n heads of n fair coins."""
    out = np.zeros(n + 1)
    out[0] = 1.0
    for i in range(n):
        out[1 : i + 2] = (out[1 : i + 2] + out[: i + 1]) / 2
        out[0] /= 2
    return out


Decide = Callable[[Ints, Ints, Floats, float], Ints]

TIE = 1e-12  # expected values that are closer than this are equal
_DENSE_LIMIT = 1 << 28  # entries of a matrix of marginals: 2 GiB
_SUPPORT_LIMIT = 1 << 27  # entries of a support as a matrix: 1 GiB
_EXCHANGED = 1 << 20  # labels of the sets that are tried by exchanging one label for another


def mode_sets(lists: Any, *, space: Any = None) -> Sets:
    """The most probable set of each list, best for set accuracy; of an empty list the smallest set of the space.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions over label sets.
    space : LabelSets, optional
        The label sets, where `lists` do not say.

    Returns
    -------
    Sets
        One set per case.

    Examples
    --------
    >>> import toplist as tl
    >>> list(mode_sets([{("a", "b"): 0.4, ("a",): 0.3}, {}], space=tl.LabelSets("abc")))
    [(0, 1), ()]
    """
    lists, known = as_set_lists(lists, space)
    lists = lists.valid()
    t = lists.normalized_confidences
    top = over_rows(np.maximum, t, lists.offsets, -np.inf)
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    at = np.flatnonzero((t == top[case]) & (top > lists.proxy * (1 + TIE))[case])
    tied = decoded(known, lists.classes[at])
    chosen = np.full(len(lists), len(at))  # the smallest set, which stands behind the tied ones
    owners, begin, times = np.unique(case[at], return_index=True, return_counts=True)
    chosen[owners] = begin
    for owner, start, several in zip(owners[times > 1], begin[times > 1], times[times > 1], strict=True):
        chosen[owner] = min(range(start, start + several), key=lambda i: (len(tied[i]), tied[i]))
    return Sets.join([tied, _smallest(known)]).take(chosen)


def marginals(lists: Any, *, rest: Rest | None = None, space: Any = None) -> Floats:
    """The probability of each label in each case.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions over label sets.
    rest : {"spread", "drop"}, optional
        Give each unlisted set its share of the rest mass, or leave the rest mass out; see the module.
    space : LabelSets, optional
        The label sets, where `lists` do not say.

    Returns
    -------
    ndarray
        A row per case and a column per label.

    Examples
    --------
    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{("a", "b"): 0.4, ("a",): 0.3}], tl.LabelSets("ab"))
    >>> marginals(lists), marginals(lists, rest="drop").round(4)
    (array([[0.7 , 0.55]]), array([[1.    , 0.5714]]))
    """
    lists, known = as_set_lists(lists, space)
    if len(lists) * len(known.names) > _DENSE_LIMIT:
        raise TopListError(f"{len(lists):,} x {len(known.names):,} marginals are too many at once; take some cases.")
    how = as_rest(rest, known)
    pad = Pad.of(known, how)
    out = np.zeros((len(lists), len(known.names)))
    for part in weighted_sets(lists, known, how):
        out[part.first : part.first + len(part)] = _marginals(part, pad)
    return out


def hamming_sets(lists: Any, *, rest: Rest | None = None, space: Any = None) -> Sets:
    """The labels that are more probable than not, best for the Hamming loss.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions over label sets.
    rest : {"spread", "drop"}, optional
        Give each unlisted set its share of the rest mass, or leave the rest mass out; see the module.
    space : LabelSets, optional
        The label sets, where `lists` do not say.

    Returns
    -------
    Sets
        One set per case.

    Examples
    --------
    >>> import toplist as tl
    >>> list(hamming_sets([{("a", "b"): 0.4, ("a",): 0.3, ("c",): 0.3}], space=tl.LabelSets("abc")))
    [(0,)]
    """
    lists, known = as_set_lists(lists, space)
    how = as_rest(rest, known)
    pad = Pad.of(known, how)
    parts = (_marginals(part, pad) > 0.5 + TIE for part in weighted_sets(lists, known, how))
    return Sets.join([no_sets(len(known.names)), *map(Sets.from_indicators, parts)])


def f1_sets(lists: Any, *, rest: Rest | None = None, space: Any = None) -> Sets:
    """The set with the highest expected instance F1, by the general F-measure maximizer.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions over label sets.
    rest : {"spread", "drop"}, optional
        Give each unlisted set its share of the rest mass, or leave the rest mass out; see the module.
    space : LabelSets, optional
        The label sets, where `lists` do not say.

    Returns
    -------
    Sets
        One set per case.

    References
    ----------
    Dembczynski, Waegeman, Cheng and Huellermeier (2011), An exact algorithm for F-measure maximization, NIPS 24.

    Examples
    --------
    >>> import toplist as tl
    >>> example = {(1, 2): 0.28, (1, 3): 0.24, (1, 4): 0.24, (1, 5): 0.24}
    >>> lists = tl.TopLists.from_dicts([example], tl.LabelSets(range(1, 6)))
    >>> lists.space.named(f1_sets(lists)), lists.space.named(mode_sets(lists))
    ([frozenset({1})], [frozenset({1, 2})])
    """
    lists, known = as_set_lists(lists, space)
    width, how = len(known.names), as_rest(rest, known)
    pad, flat = Pad.of(known, how), np.zeros(width)
    if how == "spread" and pad.alike:
        flat = np.array([(2.0 * pad.joint[0] / (pad.sizes + k)).sum() for k in range(1, width + 1)])
    return _by_case(lists, known, how, partial(_best_f1, pad=pad, flat=flat))


def jaccard_sets(lists: Any, *, rest: Rest | None = None, space: Any = None) -> Sets:
    """The set with the highest expected Jaccard index among those that are tried: a restricted search.

    Tried are the listed sets, the empty set, and for each k the k labels with the largest marginals; the best of them
    is then changed by one label at a time, added, removed or, if there are not too many, exchanged, as long as that is
    better. No closed form of the best of all sets is known. Of random lists of 30 sets over eight labels the search
    misses it in less than one of a hundred, where sets hold a label with probability 0.1 to 0.5, by 0.005 at most. With
    a support and rest="spread", what is tried is compared with every set of the support.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        Predictions over label sets.
    rest : {"spread", "drop"}, optional
        Give each unlisted set its share of the rest mass, or leave the rest mass out; see the module.
    space : LabelSets, optional
        The label sets, where `lists` do not say.

    Returns
    -------
    Sets
        One set per case.

    Examples
    --------
    >>> import toplist as tl
    >>> example = {(1, 2): 0.28, (1, 3): 0.24, (1, 4): 0.24, (1, 5): 0.24}
    >>> lists = tl.TopLists.from_dicts([example], tl.LabelSets(range(1, 6)))
    >>> lists.space.named(jaccard_sets(lists))
    [frozenset({1, 2})]
    """
    lists, known = as_set_lists(lists, space)
    width, how = len(known.names), as_rest(rest, known)
    index = PadJaccard.of(Pad.of(known, how), width)
    return _by_case(lists, known, how, partial(_best_jaccard, index=index, width=width))


def _by_case(lists: TopLists, space: LabelSets, rest: Rest, decide: Decide) -> Sets:
    """One decision per case, from the labels of the listed sets, their sizes and weights, and the weight of the pad."""
    rows: list[Ints] = []
    for part in weighted_sets(lists, space, rest):
        sets, sizes, ends = part.sets, part.sets.sizes, part.ends
        for case in range(len(part)):
            here = slice(ends[case], ends[case + 1])
            labels = sets.labels[sets.offsets[here.start] : sets.offsets[here.stop]]
            rows.append(decide(labels.astype(np.int64), sizes[here], part.weight[here], float(part.level[case])))
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Sets(offsets, np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int32), len(space.names))


def _best_f1(labels: Ints, sizes: Ints, weight: Floats, level: float, pad: Pad, flat: Floats) -> Ints:
    """The best set for F1 from the listed sets and the pad; `flat` is the part of the pad that all labels share."""
    empty = float(weight[sizes == 0].sum()) + level * pad.empty
    each, w = np.repeat(sizes, sizes), np.repeat(weight, sizes)
    width = len(flat)
    if level and not pad.alike:
        places, joint, met = np.arange(width), level * pad.joint, pad.sizes
        np.add.at(joint, (labels, np.searchsorted(met, each)), w)
    else:
        places, row = np.unique(labels, return_inverse=True)
        met, column = np.unique(each, return_inverse=True)
        joint = _sums(row * len(met) + column, w, (len(places), len(met)))
        flat = level * flat if level else np.zeros(len(places))
    rows, others = best_labels(joint, met, empty, flat)
    chosen = places[rows]
    if others:
        chosen = np.sort(np.concatenate((chosen, np.setdiff1d(np.arange(width), places)[:others])))
    return chosen


def best_labels(joint: Floats, sizes: Ints, empty: float, flat: Floats) -> tuple[NDArray[np.intp], int]:
    """The rows of `joint` that make the best set for F1, and how many labels without a row join them.

    With P[l, s] the probability of label l and s labels together, and D[l, k] = sum over s of 2 P[l, s] / (s + k), a
    set of k labels has as its expected F1 the sum of D[l, k] over them: for each k the k largest are best, and the best
    of those, and of the empty set, is best of all.

    `flat[k - 1]` is the part of the pad in D[l, k], the same for all labels; its length is the largest k that is tried.
    Among sets that are equally good the smallest is taken, and of the labels that are those that stand first.
    """
    rows, most = len(joint), len(flat)
    ks = np.arange(1, most + 1)
    weights = 2.0 / (sizes[:, None] + ks)
    # D summed over all labels falls with k, and no set of k labels is better.
    bound = joint.sum(axis=0) @ weights + most * flat
    values, step = np.array([empty]), 16
    while len(values) <= most and values.max() < bound[len(values) - 1]:
        done = len(values) - 1
        here = slice(done, min(done + step, most))
        falling = -np.sort(-(joint @ weights[:, here]), axis=0)
        running = np.concatenate((np.zeros((1, falling.shape[1])), np.cumsum(falling, axis=0)))
        k = ks[here]
        best = running[np.minimum(k, rows), np.arange(len(k))] + k * flat[here]
        values, step = np.concatenate((values, best)), 2 * step
    size = int(np.argmax(values >= values.max() - TIE))
    if not size:
        return np.zeros(0, np.intp), 0
    gain = joint @ weights[:, size - 1]
    return np.sort(leading(gain)[:size]), max(size - rows, 0)


def leading(values: Floats) -> NDArray[np.intp]:
    """Places from the largest value to the smallest; where values differ by rounding alone, as they stand."""
    top = values.max(initial=0.0)
    return np.argsort(-np.round(values / top, 12), kind="stable") if top > 0 else np.arange(len(values))


@dataclass(frozen=True, slots=True)
class PadJaccard:
    """The mean Jaccard index of sets with all sets of a space."""

    pad: Pad
    most: Floats  # a set of k labels cannot exceed it, from k = 1
    by_size: Floats  # the index of k labels, from k = 0, without a support
    support: Floats | None  # its sets, a row of zeros and ones each

    @classmethod
    def of(cls, pad: Pad, width: int) -> PadJaccard:
        """For the pad of a space of so many labels."""
        if pad.sets is None:
            return cls(pad, _most(pad, width), _by_size(width, pad.empty) if len(pad.sizes) else np.zeros(0), None)
        if len(pad.sets) * width > _SUPPORT_LIMIT:
            raise TopListError(
                f"a support of {len(pad.sets):,} sets of {width:,} labels is too large to be compared with every set "
                'that is tried: pass rest="drop".'
            )
        return cls(pad, _most(pad, width), np.zeros(0), pad.sets.indicators().astype(np.float64))

    def with_first(self, order: NDArray[np.intp]) -> Floats:
        """Of the first label of an order, the first two, and so on."""
        if self.support is None:
            return self.by_size[1 : len(order) + 1]
        found: Floats = _with_first(self.support[:, order], self.support.sum(axis=1)).mean(axis=0)
        return found

    def with_sets(self, sets: Floats) -> Floats:
        """Of sets, a row of zeros and ones each."""
        size = sets.sum(axis=1).astype(np.intp)
        found: Floats = self.by_size[size] if self.support is None else _index(sets, self.support).mean(axis=1)
        return found


def _best_jaccard(labels: Ints, sizes: Ints, weight: Floats, level: float, index: PadJaccard, width: int) -> Ints:
    """The best of the listed sets, the empty set, and for each k the k likeliest labels.

    `labels` are those of all listed sets, one set after the other, each with its weight beyond the pad's.
    """
    places, at = (np.arange(width), labels) if level else np.unique(labels, return_inverse=True)
    listed = np.zeros((len(sizes), len(places)))
    listed[np.repeat(np.arange(len(sizes)), sizes), at] = 1.0
    order = leading(weight @ listed + (level * index.pad.likely if level else 0.0))
    none = weight[sizes == 0].sum() + level * index.pad.empty
    met = np.asarray(listed.any(axis=0))
    own = _index(listed[:, met], listed[:, met]) @ weight
    if level:
        own = own + level * index.with_sets(listed)
    order = order[: _enough(sizes, weight, level * index.most[: len(order)], max(none, own.max(initial=0.0)))]
    first = weight @ _with_first(listed[:, order], sizes)
    if level:
        first = first + level * index.with_first(order)
    values = np.concatenate(([none], first, own))

    def members(i: int) -> list[int]:
        chosen = order[:i] if i <= len(order) else np.flatnonzero(listed[i - len(order) - 1])
        return sorted(places[chosen].tolist())

    tried = map(members, np.flatnonzero(values >= values.max() - TIE).tolist())
    best = min(tried, key=lambda one: (len(one), one))

    def value(sets: Floats) -> Floats:
        found: Floats = _index(sets, listed) @ weight
        return found + level * index.with_sets(sets) if level else found

    chosen = np.isin(places, best).astype(np.float64)
    return places[_climb(chosen, met, float(values.max()), value) > 0].astype(np.int64)


def _climb(chosen: Floats, met: Bools, reached: float, value: Callable[[Floats], Floats]) -> Floats:
    """A set, zeros and ones, with a label more, a label less or another in its place, until none is better.

    `met` are the labels that may be added.
    """
    while True:
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(met & (chosen == 0))
        less, more = np.repeat(inside, len(outside)), np.tile(outside, len(inside))
        if len(less) * len(chosen) > _EXCHANGED:
            less = more = less[:0]
        near = np.repeat(chosen[None], len(outside) + len(inside) + len(less), axis=0)
        row, one = np.arange(len(near)), len(outside) + len(inside)
        near[row[: len(outside)], outside] = 1.0
        near[row[len(outside) : one], inside] = 0.0
        near[row[one:], less], near[row[one:], more] = 0.0, 1.0
        if not len(near):
            return chosen
        found = value(near)
        at = int(np.argmax(found >= found.max() - TIE))
        if found[at] <= reached + TIE:
            return chosen
        chosen, reached = near[at], float(found[at])


def _enough(sizes: Ints, weight: Floats, more: Floats, found: float) -> int:
    """The largest k for which k labels might be as good as what is found; `more` is what the pad adds at most."""
    k = np.arange(1, len(more) + 1)
    bound = weight @ _nearness(sizes, k) + more
    return int(np.flatnonzero(bound >= found - TIE).max(initial=-1)) + 1


def _nearness(sizes: Ints, k: Ints) -> Floats:
    """The Jaccard index of nested sets of these sizes: no others do better."""
    found: Floats = np.minimum.outer(sizes, k) / np.maximum.outer(sizes, k)
    return found


def _most(pad: Pad, width: int) -> Floats:
    share = pad.joint.sum(axis=0) * (width if pad.alike else 1) / pad.sizes
    found = [share @ _nearness(pad.sizes, np.array([k]))[:, 0] for k in range(1, width + 1)]
    return np.array(found if len(share) else np.zeros(width))


def _index(x: Floats, y: Floats) -> Floats:
    """The Jaccard index of every x with every y, rows of zeros and ones; 1 of two empty sets."""
    shared = x @ y.T
    either = np.add.outer(x.sum(axis=1), y.sum(axis=1)) - shared
    found: Floats = np.where(either > 0, shared / np.maximum(either, 1.0), 1.0)
    return found


def _with_first(sets: Floats, sizes: Ints | Floats) -> Floats:
    """The Jaccard index of sets, rows of zeros and ones, with the first column, the first two, and so on."""
    shared = np.cumsum(sets, axis=1)
    either = sizes[:, None] + np.arange(1, sets.shape[1] + 1) - shared
    found: Floats = shared / either
    return found


def _by_size(width: int, empty: float) -> Floats:
    """The mean Jaccard index of k labels with all 2**width sets: (k / 2) E[1 / (k + B)], B heads of width - k coins."""
    out, coins = np.empty(width + 1), np.ones(1)
    out[0] = empty
    for k in range(width, 0, -1):
        out[k] = k / 2 * (coins / (k + np.arange(len(coins)))).sum()
        coins = (np.append(coins, 0.0) + np.append(0.0, coins)) / 2
    return out


def _marginals(part: WeightedSets, pad: Pad) -> Floats:
    """A row per case."""
    entry = part.case[part.sets.rows] * part.sets.width + part.sets.labels
    listed = _sums(entry, np.repeat(part.weight, part.sets.sizes), (len(part), part.sets.width))
    return listed + part.level[:, None] * pad.likely


def _sums(entry: Ints, weight: Floats, shape: tuple[int, int]) -> Floats:
    """Weights added up by the entry of a matrix that they belong to."""
    flat = np.bincount(entry, weights=weight, minlength=shape[0] * shape[1])
    return flat.astype(np.float64, copy=False).reshape(shape)


def _smallest(space: LabelSets) -> Sets:
    """The smallest set of a space; of several the one whose labels stand first."""
    if space.support is not None:
        sets = space.sets(space.support)
        return sets.take([min(range(len(sets)), key=lambda i: (len(sets[i]), sets[i]))])
    first = np.zeros((1, len(space.names)), dtype=bool)
    first[0, : 0 if space.empty else 1] = True
    return Sets.from_indicators(first)
