"""One label set per case, the best for a metric if a top list is believed.

A list stands for its padded distribution. The option `rest` says what becomes of the rest mass: "spread" gives each
unlisted set its share, as scoring does, and takes an invalid list for its largest valid sublist; "drop" leaves the rest
mass out, and divides the listed probabilities by their sum. Most of 2**L sets hold about half of the labels, so that a
rest that is spread over them makes every label look half likely; by default it is dropped in spaces of more than
`SPREAD_LIMIT` = 2**8 sets (2**20 of a support). A reject has nothing but rest mass: spread, all sets are alike;
dropped, nothing is left to decide from, and that is an error.

A decision is any set of labels, also one that is no class of the space: the best set for F1 may be one that never
happens. Equally good sets give way to the smallest, and this to the one whose labels stand first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toplist.errors import TopListError
from toplist.labelsets import LabelSets, Sets
from toplist.lists import TopLists
from toplist.multilabel.beliefs import Beliefs, Floats, Pad, Rest, beliefs, row_tops, space_of, told, treatment
from toplist.multilabel.gfm import TIE, best_labels
from toplist.multilabel.overlaps import best_overlap, overlap_of

Places = NDArray[np.int64]
Decide = Callable[[Places, NDArray[np.int64], Floats, float], Places]

_DENSE_LIMIT = 1 << 28  # entries of a matrix of marginals: 2 GiB


def mode_sets(lists: TopLists) -> Sets:
    """The most likely set of each list, best for set accuracy; of a reject the smallest set of the space.

    >>> import toplist as tl
    >>> space = tl.LabelSets("abc")
    >>> lists = tl.TopLists.from_dicts([{("a", "b"): 0.4, ("a",): 0.3}, {}], space)
    >>> list(mode_sets(lists))
    [(0, 1), ()]
    """
    space, lists = space_of(lists), lists.valid()
    t = lists.normalized_confidences if lists.log_confidences is None else lists.log_confidences
    top = row_tops(t, lists.offsets)
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    at = np.flatnonzero((t == top[case]) & _stands_out(lists, top)[case])
    tied = told(space, lists.classes[at])
    chosen = np.full(len(lists), len(at))  # the smallest set, which stands behind the tied ones
    owners, begin, times = np.unique(case[at], return_index=True, return_counts=True)
    chosen[owners] = begin
    for owner, start, several in zip(owners[times > 1], begin[times > 1], times[times > 1], strict=True):
        chosen[owner] = min(range(start, start + several), key=lambda i: (len(tied[i]), tied[i]))
    return Sets.join([tied, _smallest(space)]).take(chosen)


def marginals(lists: TopLists, *, rest: Rest | None = None) -> Floats:
    """The probability of each label in each case, a row per case and a column per label.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{("a", "b"): 0.4, ("a",): 0.3}], tl.LabelSets("ab"))
    >>> marginals(lists), marginals(lists, rest="drop").round(4)
    (array([[0.7 , 0.55]]), array([[1.    , 0.5714]]))
    """
    space = space_of(lists)
    if len(lists) * len(space.names) > _DENSE_LIMIT:
        raise TopListError(f"{len(lists):,} x {len(space.names):,} marginals are too many at once; take some cases.")
    how = treatment(space, rest)
    pad = Pad.of(space, how)
    out = np.zeros((len(lists), len(space.names)))
    for part in beliefs(lists, how):
        out[part.first : part.first + len(part)] = _marginals(part, pad)
    return out


def hamming_sets(lists: TopLists, *, rest: Rest | None = None) -> Sets:
    """The labels that are more likely than not, best for the Hamming loss.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{("a", "b"): 0.4, ("a",): 0.3, ("c",): 0.3}], tl.LabelSets("abc"))
    >>> list(hamming_sets(lists))
    [(0,)]
    """
    space = space_of(lists)
    how = treatment(space, rest)
    pad = Pad.of(space, how)
    none = Sets.from_indicators(np.zeros((0, len(space.names)), dtype=bool))
    parts = (_marginals(part, pad) > 0.5 + TIE for part in beliefs(lists, how))
    return Sets.join([none, *map(Sets.from_indicators, parts)])


def f1_sets(lists: TopLists, *, rest: Rest | None = None) -> Sets:
    """The set with the highest expected instance F1, by the general F-measure maximizer (`gfm.py`).

    >>> import toplist as tl
    >>> example = {(1, 2): 0.28, (1, 3): 0.24, (1, 4): 0.24, (1, 5): 0.24}
    >>> lists = tl.TopLists.from_dicts([example], tl.LabelSets(range(1, 6)))
    >>> lists.space.named(f1_sets(lists)), lists.space.named(mode_sets(lists))
    ([frozenset({1})], [frozenset({1, 2})])
    """
    space = space_of(lists)
    width, how = len(space.names), treatment(space, rest)
    pad, flat = Pad.of(space, how), np.zeros(width)
    if how == "spread" and pad.alike:
        flat = np.array([(2.0 * pad.joint[0] / (pad.sizes + k)).sum() for k in range(1, width + 1)])

    def decide(labels: Places, sizes: NDArray[np.int64], weight: Floats, level: float) -> Places:
        return _best_f1(labels, sizes, weight, level, pad, flat)

    return _by_case(lists, space, how, decide)


def jaccard_sets(lists: TopLists, *, rest: Rest | None = None) -> Sets:
    """The set with the highest expected Jaccard index among those that are tried: a restricted search.

    Tried are the listed sets, the empty set, and for each k the k labels with the largest marginals; no closed form of
    the best of all sets is known. Of random lists of eight labels the search misses it in at most one of thirty, by a
    few hundredths at most. With a support and rest="spread", what is tried is held against every set of the support.

    >>> import toplist as tl
    >>> example = {(1, 2): 0.28, (1, 3): 0.24, (1, 4): 0.24, (1, 5): 0.24}
    >>> lists = tl.TopLists.from_dicts([example], tl.LabelSets(range(1, 6)))
    >>> lists.space.named(jaccard_sets(lists))
    [frozenset({1, 2})]
    """
    space = space_of(lists)
    width, how = len(space.names), treatment(space, rest)
    overlap = overlap_of(Pad.of(space, how), width)

    def decide(labels: Places, sizes: NDArray[np.int64], weight: Floats, level: float) -> Places:
        return best_overlap(labels, sizes, weight, level, overlap, width)

    return _by_case(lists, space, how, decide)


def _by_case(lists: TopLists, space: LabelSets, rest: Rest, decide: Decide) -> Sets:
    """One decision per case, from the labels of the listed sets, their sizes and weights, and the level of the pad."""
    rows: list[Places] = []
    for part in beliefs(lists, rest):
        sets, sizes, ends = part.sets, part.sets.sizes, part.ends
        for case in range(len(part)):
            here = slice(ends[case], ends[case + 1])
            labels = sets.labels[sets.offsets[here.start] : sets.offsets[here.stop]]
            rows.append(decide(labels.astype(np.int64), sizes[here], part.weight[here], float(part.level[case])))
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Sets(offsets, np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int32), len(space.names))


def _best_f1(labels: Places, sizes: NDArray[np.int64], weight: Floats, level: float, pad: Pad, flat: Floats) -> Places:
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


def _marginals(part: Beliefs, pad: Pad) -> Floats:
    """A row per case."""
    entry = part.case[part.sets.rows] * part.sets.width + part.sets.labels
    listed = _sums(entry, np.repeat(part.weight, part.sets.sizes), (len(part), part.sets.width))
    return listed + part.level[:, None] * pad.likely


def _sums(entry: NDArray[np.int64], weight: Floats, shape: tuple[int, int]) -> Floats:
    """Weights added up by the entry of a matrix that they belong to."""
    flat = np.bincount(entry, weights=weight, minlength=shape[0] * shape[1])
    return flat.astype(np.float64, copy=False).reshape(shape)


def _stands_out(lists: TopLists, top: Floats) -> NDArray[np.bool_]:
    """Whether the most likely set is likelier than those that are not listed; else all sets of the space are alike."""
    if lists.log_confidences is None:
        return np.greater(top, lists.proxy * (1 + TIE))
    size, log_size = lists.space.as_floats
    left = size - lists.sizes
    with np.errstate(divide="ignore"):
        log_left = np.where(left < 1e15, np.log(left), log_size)
        log_rest = np.log(lists.rest) if lists.log_rest is None else lists.log_rest
    return np.equal(left, 0) | np.greater(top, log_rest - log_left + TIE)


def _smallest(space: LabelSets) -> Sets:
    """The smallest set of a space; of several the one whose labels stand first."""
    if space.support is not None:
        sets = space.sets(space.support)
        return sets.take([min(range(len(sets)), key=lambda i: (len(sets[i]), sets[i]))])
    first = np.zeros((1, len(space.names)), dtype=bool)
    first[0, : 0 if space.empty else 1] = True
    return Sets.from_indicators(first)
