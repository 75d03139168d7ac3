"""Lists of label sets from draws of a model, by relative frequencies or by the model's probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats, Ints
from toplist.core.arguments import as_count, as_floats
from toplist.errors import ClassError, ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.space import UNLISTED
from toplist.multilabel.marginal_probabilities import no_sets
from toplist.multilabel.support import as_unseen, lists_of_sets, offsets_of

_ENTRIES = 1 << 24  # of the draws that are encoded at once
_SAME = 1e-6  # how far two log-probabilities of one set may be apart


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The different sets of each case, in the order in which they were drawn first."""

    case: Ints
    sets: Sets
    codes: Ints
    count: Ints  # how often each was drawn
    draw: Ints  # where it was drawn first, among the draws of all cases
    which: Ints  # for every draw the place of its set here


def sampled_sets(
    samples: Any,
    k: int | None = None,
    space: LabelSets | None = None,
    *,
    log_p: Any = None,
    unseen: Any = 0.0,
    ids: Any = None,
) -> TopLists:
    """Lists of the sets that were drawn, or of the k most probable of them.

    Confidences are relative frequencies, or exact with `log_p`. Ties go to the set that was drawn first. Frequencies
    add up to one, so that a set that was never drawn has probability zero and an infinite log score unless `unseen`
    leaves some mass to it.

    Parameters
    ----------
    samples : array-like or sequence
        Zeros and ones (cases, draws, labels), or per case anything that `space.sets` reads.
    k : int, optional
        The length of the lists; all sets that were drawn by default.
    space : LabelSets, optional
        The label sets; by default labels are named after their places.
    log_p : array-like or callable, optional
        The log-probability of each draw under the model, (cases, draws), or a function of the numbers of cases and as
        many sets, such as `lambda cases, sets: chain_log_p(chain, X[cases], sets)`. The rest is then one minus what is
        listed.
    unseen : float, array-like or "good-turing", default 0.0
        The mass of sets that were not drawn, taken from the frequencies in proportion: a number, one per case, or the
        share of draws whose set was drawn once (Good, 1953). Where that is all of them nothing is listed.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The sets of each case.

    Examples
    --------
    >>> draws = [[[1, 0], [1, 0], [0, 1], [1, 1]]]
    >>> sampled_sets(draws, 1, LabelSets("ab"), unseen=0.2)[0]
    TopList({a} 0.4; unlisted 0.6 over 3 classes)
    """
    sizes, batches, known = _as_draws(samples, space)
    table = None if log_p is None or callable(log_p) else _as_table(log_p, sizes)
    drawn = _count(sizes, batches, known)
    log_rest = None
    if log_p is None:
        hidden = _unseen(unseen, drawn, sizes, known)
        with np.errstate(divide="ignore"):
            logs = np.log(drawn.count / sizes[drawn.case]) + np.log1p(-hidden)[drawn.case]
    else:
        if isinstance(unseen, str) or np.any(unseen):
            raise TopListError("with log_p the mass of sets that were not drawn is known; leave unseen at 0.")
        logs = _called(log_p, drawn) if table is None else table[drawn.draw]
        _check_logs(logs, drawn, table)
    keep = _first(drawn.case, logs, None if k is None else as_count(k))
    if log_p is None:
        left = sizes - np.bincount(drawn.case[keep], drawn.count[keep], minlength=len(sizes))
        with np.errstate(divide="ignore"):
            log_rest = np.log(left / sizes * (1 - hidden) + hidden)
    offsets = offsets_of(np.bincount(drawn.case[keep], minlength=len(sizes)))
    listed: Any = drawn.sets.take(keep) if known.digests else (drawn.codes[keep], None)
    return lists_of_sets(known, offsets, listed, logs[keep], log_rest=log_rest, ids=ids)


def _first(case: Ints, logs: Floats, k: int | None) -> NDArray[np.intp]:
    """The k most probable of the possible sets of each case, in falling order; ties keep theirs."""
    order = np.lexsort((-logs, case))
    order = order[logs[order] > -np.inf]
    counts = np.bincount(case[order])
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order if k is None else order[place < k]


def _as_draws(samples: Any, space: Any) -> tuple[Ints, Iterator[Sets], LabelSets]:
    """How many draws each case has, the draws of some cases at a time, and the space."""
    if not (space is None or isinstance(space, LabelSets)):
        raise SpaceError(f"draws are label sets; the space is a LabelSets, not {space!r}.")
    cube = _as_cube(samples)
    if cube is not None:
        cases, draws, width = cube.shape
        known = _as_space(space, width)
        step = max(1, _ENTRIES // max(1, draws * width))
        parts = (cube[at : at + step] for at in range(0, cases, step))
        sizes, batches = np.full(cases, draws), (Sets.from_indicators(part.reshape(-1, width)) for part in parts)
    else:
        known, each = _as_batches(samples, space)
        sizes, batches = np.array([len(sets) for sets in each], np.int64), (sets for sets in each)
    if (sizes == 0).any():
        case, more = int(np.argmin(sizes)), int(np.count_nonzero(sizes == 0)) - 1
        raise ShapeError("there are no draws.", "A case needs one at least.", case=case, more=more)
    return sizes, batches, known


def _as_cube(samples: Any) -> NDArray[Any] | None:
    """The draws as one array of numbers, where that is what they are."""
    if not hasattr(samples, "__array__") and not isinstance(samples, list | tuple):
        return None
    if not hasattr(samples, "__array__") and any(isinstance(draws, Sets) for draws in samples):
        return None
    try:
        cube = np.asarray(samples)
    except ValueError:  # as many draws as there happen to be
        return None
    if cube.dtype.kind not in "biuf" or not len(cube):
        return None
    if cube.ndim != 3:
        raise ShapeError(f"draws are an array (cases, draws, labels), not one of shape {cube.shape}.")
    return cube


def _as_batches(samples: Any, space: LabelSets | None) -> tuple[LabelSets, list[Sets]]:
    if isinstance(samples, str | Mapping | Sets) or not isinstance(samples, Iterable):
        kind = type(samples).__name__
        raise ShapeError(f"draws are an array (cases, draws, labels), or label sets for each case, not {kind}.")
    each = list(samples)
    if space is None:
        if not each or not all(isinstance(draws, Sets) for draws in each):
            raise SpaceError("draws of any form need a space=LabelSets(...) that says which labels there are.")
        space = LabelSets(range(each[0].width))
    return space, [space.sets(draws) for draws in each]


def _as_space(space: LabelSets | None, width: int) -> LabelSets:
    known = LabelSets(range(width)) if space is None else space
    if len(known.names) != width:
        raise SpaceError(f"the draws have {width} labels, and the space {len(known.names)}.")
    return known


def _count(sizes: Ints, batches: Iterator[Sets], space: LabelSets) -> _Drawn:
    """The different sets of each case. Only one batch of draws is held as sets."""
    case_of = np.repeat(np.arange(len(sizes)), sizes)
    start, place, parts = 0, 0, []
    which = np.empty(len(case_of), np.int64)
    for batch in batches:
        case = case_of[start : start + len(batch)]
        codes = _encode(space, batch, case)
        order = np.lexsort((codes, case))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (codes[order][1:] != codes[order][:-1]) | (case[order][1:] != case[order][:-1])
        first = order[new]  # the earliest draw of each set: equal ones keep their order
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        which[start + order] = place + rank[np.cumsum(new) - 1]
        first = np.sort(first)
        parts.append((case[first], batch.take(first), codes[first], start + first))
        start, place = start + len(batch), place + len(first)
    none = np.zeros(0, np.int64)
    case, codes, draw = (np.concatenate([none, *(part[i] for part in parts)]) for i in (0, 2, 3))
    return _Drawn(
        case,
        Sets.join([no_sets(len(space.names)), *(part[1] for part in parts)]),
        codes,
        np.bincount(which),
        draw,
        which,
    )


def _encode(space: LabelSets, sets: Sets, case: Ints) -> Ints:
    codes = space.encode(sets)
    out = codes == UNLISTED
    if out.any():
        shown, more = space.named(sets.take([int(np.argmax(out))]))[0], len(np.unique(case[out])) - 1
        raise ClassError(
            f"{set(shown) or '{}'} was drawn, which is not in the support of the space.",
            "Take the space of all label sets.",
            case=int(case[np.argmax(out)]),
            more=more,
        )
    return codes


def _unseen(unseen: Any, drawn: _Drawn, sizes: Ints, space: LabelSets) -> Floats:
    """The mass of sets that were not drawn, for each case."""
    different = np.bincount(drawn.case, minlength=len(sizes))
    everything = different == space.size if space.size <= sizes.max(initial=0) else np.zeros(len(sizes), dtype=bool)
    if isinstance(unseen, str):
        if unseen != "good-turing":
            raise TopListError(f'unseen is a number or "good-turing", not {unseen!r}.')
        return np.where(everything, 0.0, np.bincount(drawn.case, drawn.count == 1, minlength=len(sizes)) / sizes)
    return as_unseen(unseen, everything)


def _as_table(log_p: Any, sizes: Ints) -> Floats:
    """The log-probabilities of all draws, one after the other."""
    rows = [np.ravel(as_floats(row, "log_p")).astype(np.float64) for row in log_p]
    lengths = np.array([len(row) for row in rows], np.int64)
    if not np.array_equal(lengths, sizes):
        raise ShapeError("log_p has a number for each draw of each case.", "An array (cases, draws), or a function.")
    return np.concatenate([np.zeros(0), *rows])


def _called(log_p: Any, drawn: _Drawn) -> Floats:
    found = as_floats(log_p(drawn.case, drawn.sets), "log_p").astype(np.float64)
    if found.shape != drawn.case.shape:
        raise ShapeError(f"log_p gives {found.shape} for {len(drawn.case)} sets.", "One log-probability per set.")
    return found


def _check_logs(logs: Floats, drawn: _Drawn, table: Floats | None) -> None:
    """Raise if a set that was drawn has probability zero, or one set two probabilities."""
    bad = ~((logs > -np.inf) & (logs <= _SAME))
    if bad.any():
        at, more = int(np.argmax(bad)), len(np.unique(drawn.case[bad])) - 1
        raise ConfidenceError(
            f"log_p is {logs[at]:g} for a set that was drawn.",
            "It is the logarithm of a probability above 0.",
            case=int(drawn.case[at]),
            more=more,
        )
    if table is None:
        return
    own = logs[drawn.which]
    apart = ~(np.abs(table - own) <= _SAME * (1 + np.abs(own)))
    if apart.any():
        at, cases = int(np.argmax(apart)), drawn.case[drawn.which]
        raise ConfidenceError(
            f"one set has two log-probabilities, {own[at]:g} and {table[at]:g}.",
            "log_p is that of the whole set, not of one draw's way to it.",
            case=int(cases[at]),
            more=len(np.unique(cases[apart])) - 1,
        )
