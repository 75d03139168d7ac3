"""Lists of label sets: from probabilities of labels, from scores of a support, or from draws of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from toplist._typing import Bools, Floats, Ints
from toplist.core import kernel, subset_search
from toplist.core.arguments import as_array, as_count, as_floats, as_vector, as_whole
from toplist.core.subset_search import Likeliest, Spelling
from toplist.errors import CaseError, ClassError, ConfidenceError, MassError, ShapeError, SpaceError, TopListError
from toplist.lists import TopLists, from_logs
from toplist.lists.labelsets import Codebook, LabelSets, Sets
from toplist.lists.space import UNLISTED
from toplist.lists.validation import over_rows

_LEAST = float(np.log(np.finfo(np.float64).tiny))  # the log of the smallest number that has all its digits


def as_space(space: Any, width: int, given: str, instead: str = "") -> LabelSets:
    """The space of sets of so many labels, which are named after their places by default.

    A space with a support is refused where `instead` says what serves it.
    """
    known = LabelSets(range(width)) if space is None else space
    if not isinstance(known, LabelSets):
        raise SpaceError(f"the classes are label sets; the space is a LabelSets, not {known!r}.")
    if len(known.names) != width:
        raise SpaceError(f"{given} {width} labels, and the space {len(known.names)}.")
    if instead and known.support is not None:
        raise SpaceError(f"this space has a support: {instead}.")
    return known


def offsets_of(sizes: NDArray[Any]) -> Ints:
    """Where rows of these sizes begin, and the end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def refuse(
    error: type[CaseError],
    wrong: Any,
    problem: str | Callable[[int], str],
    remedy: str = "",
    *,
    case: Ints | None = None,
) -> None:
    """Raise for the first entry that is wrong, if any is, and count the other cases; `case` is that of each entry."""
    at = np.flatnonzero(wrong)
    if len(at):
        cases = at if case is None else case[at]
        told = problem if isinstance(problem, str) else problem(int(at[0]))
        raise error(told, remedy, case=int(cases[0]), more=len(np.unique(cases)) - 1)


def no_sets(width: int) -> Sets:
    """No set of so many labels."""
    return Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), width)


def lists_of_sets(
    space: LabelSets,
    offsets: NDArray[Any],
    sets: Sets | tuple[Ints, Codebook | None],
    log_p: Floats,
    *,
    log_rest: Floats | None = None,
    ids: Any = None,
) -> TopLists:
    """Top lists whose case i has the sets offsets[i] to offsets[i + 1], given as sets or as codes with a codebook.

    A case whose most probable set is below the smallest number is refused: zeros would not tell its sets apart.
    """
    top = over_rows(np.maximum, log_p, offsets, -np.inf)
    refuse(
        MassError,
        (top > -np.inf) & (top < _LEAST),
        lambda at: f"the most probable set has the probability e^{top[at]:.6g}, which is below the smallest number.",
        "Make lists of sets of fewer labels: labels that are nearly independent can be scored in parts.",
    )
    if isinstance(sets, Sets):
        codes = space.encode(sets)
        book = Codebook.of(sets) if space.digests else None
    else:
        codes, book = sets
    known = space.with_book(book) if space.digests else space
    return from_logs(offsets, codes, log_p, known, log_rest=log_rest, ids=ids)


def support_sets(
    log_scores: Any, support: Any, k: int, space: LabelSets, *, unseen: Any = 0.0, ids: Any = None
) -> TopLists:
    """The k most probable sets of a support: softmax(log_scores) * (1 - unseen), and `unseen` for all other sets.

    Ties go to the set that stands first. A list is valid unless more is unseen than its sets allow.

    Parameters
    ----------
    log_scores : array-like
        A row per case and a column per set of the support, in its order.
    support : Sets, matrix of zeros and ones, or collections of labels
        The sets, as `space.sets` reads them.
    k : int
        The length of the lists; the mass of other sets goes to the rest.
    space : LabelSets
        The label sets.
    unseen : float or array-like, default 0.0
        The mass of all sets outside the support, one number or one per case; 0 where the support is the whole space.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The most probable sets of each case.

    Examples
    --------
    >>> support_sets(np.log([[2, 1]]), [{"a"}, {"b"}], 2, LabelSets("ab"), unseen=0.1)[0]
    TopList({a} 0.6, {b} 0.3; unlisted 0.1 over 2 classes)
    """
    sets = _as_support(support, space)
    x = _as_log_scores(log_scores, len(sets))
    n, seen = x.shape
    k = min(as_count(k), seen)
    hidden = as_unseen(unseen, np.full(n, seen == space.size))
    columns, values, _ = kernel.select(x, k)
    np.put_along_axis(x, columns.astype(np.intp), -np.inf, axis=1)
    beyond = _log_sum(x)
    scale = np.log1p(-hidden) - np.logaddexp(beyond, _log_sum(values))
    with np.errstate(divide="ignore"):
        log_rest = np.logaddexp(np.log(hidden), beyond + scale)
    log_p = values + scale[:, None]
    possible = values > -np.inf
    offsets = offsets_of(possible.sum(axis=1))
    chosen = columns[possible].astype(np.int64)
    listed: Any = sets.take(chosen) if space.digests else (space.encode(sets)[chosen], None)
    return lists_of_sets(space, offsets, listed, log_p[possible], log_rest=log_rest, ids=ids)


def support_log_scores(marginals: Any, sets: Any) -> Floats:
    """The log-probability of each set under independent labels, sum_s log p + sum_(not s) log(1 - p).

    Parameters
    ----------
    marginals : array-like
        Probabilities with a row per case and a column per label.
    sets : Sets or matrix of zeros and ones
        The sets, with a column per label.

    Returns
    -------
    ndarray
        A row per case and a column per set.

    Examples
    --------
    >>> np.exp(support_log_scores([[0.5, 0.8]], [[1, 0], [1, 1]])).round(4)
    array([[0.1, 0.4]])
    """
    batch = sets if isinstance(sets, Sets) else Sets.from_indicators(sets)
    p = as_floats(marginals, "marginals").astype(np.float64, copy=False)
    if p.ndim != 2 or p.shape[1] != batch.width:
        raise ShapeError(f"marginals of shape {p.shape} for sets of {batch.width} labels.", "A column per label.")
    wrong = ~((p >= 0) & (p <= 1)).all(axis=1)
    refuse(ConfidenceError, wrong, "a marginal is no probability.", "They are from 0 to 1.")
    holds = sparse.csr_array((np.ones(len(batch.labels)), batch.labels, batch.offsets), (len(batch), batch.width))
    never, always = p == 0, p == 1
    with np.errstate(divide="ignore"):
        log_in, log_out = np.where(never, 0.0, np.log(p)), np.where(always, 0.0, np.log1p(-p))
    out: Floats = (holds @ (log_in - log_out).T).T + log_out.sum(axis=1, keepdims=True)
    if never.any() or always.any():
        wrong = (holds @ (never.astype(float) - always).T).T + always.sum(axis=1, keepdims=True)
        out[wrong > 0] = -np.inf
    return out


def _as_support(support: Any, space: Any) -> Sets:
    if not isinstance(space, LabelSets):
        raise SpaceError(f"a support is of label sets; the space is a LabelSets, not {space!r}.")
    sets = space.sets(support)
    codes = space.encode(sets)
    if (codes == UNLISTED).any():
        label = _named(space, sets, int(np.argmax(codes == UNLISTED)))
        raise SpaceError(f"{label} is scored, but is not in the support of the space.")
    if len(np.unique(codes)) < len(codes):
        raise SpaceError("a label set is in the support twice; its scores have one column.")
    return sets


def _named(space: LabelSets, sets: Sets, at: int) -> str:
    """One of some sets, by the names of its labels."""
    return f"{set(space.named(sets.take([at]))[0]) or '{}'}"


def _as_log_scores(log_scores: Any, seen: int) -> Floats:
    x = as_floats(log_scores, "log scores").astype(np.float64)
    if x.ndim != 2 or x.shape[1] != seen:
        raise ShapeError(f"log scores of shape {x.shape} for {seen} sets.", "A row per case, a column per set.")
    wrong = np.isnan(x).any(axis=1) | np.isposinf(x).any(axis=1) | np.isneginf(x).all(axis=1)
    refuse(ConfidenceError, wrong, "a log score is NaN or infinite, or all are minus infinity.")
    return x


def as_unseen(unseen: Any, everything: Bools) -> Floats:
    """The mass of unseen sets in each case; it must be zero where every set is seen."""
    u = np.full(len(everything), unseen, np.float64) if isinstance(unseen, int | float) else as_vector(unseen, "unseen")
    if len(u) != len(everything):
        raise ShapeError(f"{len(u)} masses of unseen sets for {len(everything)} cases.", "One number, or one per case.")
    wrong = ~((u >= 0) & (u < 1))
    refuse(ConfidenceError, wrong, lambda at: f"unseen is {u[at]:g}.", "It is a mass from 0 to below 1.")
    remedy = "Leave unseen at 0, or take the space of all label sets."
    refuse(MassError, everything & (u > 0), "every set of the space is there, so that none is unseen.", remedy)
    return u


def _log_sum(x: Floats) -> Floats:
    """log(sum(exp(x))) of each row."""
    top = x.max(axis=1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        log: Floats = np.log(np.exp(x - top).sum(axis=1)) + top[:, 0]
    return log


Scale = Literal["probability", "logit"]

_MOST = 1 << 27  # sets of one case


def best_sets(
    marginals: Any, k: int, space: LabelSets | None = None, *, scale: Scale = "probability", ids: Any = None
) -> TopLists:
    """The k most probable label sets of each case under independent labels: P(S) = prod p_in prod (1 - p_out).

    The rest mass is that of all other sets, without cancellation. Where the space has no empty set, probabilities are
    given that the set is not empty. A set of probability zero is never listed, so that a list may have fewer than k
    sets. Of equally probable sets, those that differ in fewer labels from the most probable one (the labels with a
    probability above 1/2) come first, and among labels equally close to 1/2 the one that stands first is flipped first.
    A case takes time of the order of L + k log k.

    Parameters
    ----------
    marginals : array-like or data frame
        Probabilities of labels, (cases, labels); the columns of a data frame go by their names.
    k : int
        The length of the lists, at least 1.
    space : LabelSets, optional
        The label sets; by default labels are named after the columns.
    scale : {"probability", "logit"}, default "probability"
        "logit" takes log-odds, which keep the digits of probabilities next to one.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The most probable sets of each case.

    Examples
    --------
    >>> lists = best_sets([[0.9, 0.2, 0.4]], 3, LabelSets(["a", "b", "c"]))
    >>> [sorted(lists.space.decode(code)) for code in lists.classes], lists.confidences.round(3)
    ([['a'], ['a', 'c'], ['a', 'b']], array([0.432, 0.288, 0.108]))
    """
    if hasattr(marginals, "columns"):
        space = LabelSets(marginals.columns) if space is None else space
        marginals = space.by_name(marginals) if isinstance(space, LabelSets) else marginals
    p = _as_matrix(marginals)
    if scale not in ("probability", "logit"):
        raise TopListError(f'scale is "probability" or "logit", not {scale!r}.')
    known = as_space(space, p.shape[1], "the marginals have", "support_sets lists the most probable of its sets")
    most = min(as_whole(k, "k", 1), known.size)
    if most > _MOST:
        raise TopListError(f"k is at most {_MOST:,} label sets of a case, not {k:,}.")
    names = None if ids is None else as_array(ids, "ids")
    found = kernel.best_sets(p, known.keys, most, logit=scale == "logit", empty=known.empty, spelled=known.digests)
    row, reason = found.refused
    if reason:
        raise _refusal(p, row, reason, scale, known, names)
    codes, log_p = found.listed(found.codes), found.listed(found.log_p)
    if known.masks and not known.empty:
        codes -= 1
    book = None if found.spelling is None else _book(found, found.spelling, codes, p.shape[1])
    return lists_of_sets(known, offsets_of(found.counts), (codes, book), log_p, log_rest=found.log_rest, ids=names)


def _as_matrix(marginals: Any) -> NDArray[Any]:
    p = as_floats(marginals, "marginals")
    if p.ndim != 2:
        raise ShapeError(
            f"marginals are a (cases, labels) array, not one of shape {p.shape}.", "One case is one row: [[0.9, 0.2]]."
        )
    return p


def _book(found: Likeliest, spelling: Spelling, codes: NDArray[np.int64], width: int) -> Codebook:
    """Which sets these are: the likeliest of their case, with some labels flipped."""
    flips = Sets(offsets_of(found.listed(spelling.counts)), spelling.flips, width)
    return Codebook(codes, spelling.bits, np.repeat(np.arange(len(found.counts)), found.counts), flips)


def _refusal(p: NDArray[Any], row: int, reason: int, scale: str, space: LabelSets, ids: Any) -> CaseError:
    """The error for the first case that has no sets."""
    name = "" if ids is None or row >= len(ids) else repr(ids[row].item() if hasattr(ids[row], "item") else ids[row])
    if reason == subset_search.ONLY_EMPTY:
        none = p <= (-subset_search.CERTAIN if scale == "logit" else 0.0)
        return only_empty(np.all(none, axis=1), name)
    bad = np.isnan(p) if scale == "logit" else ~((p >= 0) & (p <= 1))
    label = int(np.argmax(bad[row]))
    value, more = float(p[row, label]), int(np.count_nonzero(bad.any(axis=1))) - 1
    what = "log-odds" if scale == "logit" else "probability"
    problem = f"the {what} of label {space.names[label]!r} {'are' if scale == 'logit' else 'is'} {value:g}."
    return ConfidenceError(problem, _remedy(p, value), case=row, name=name, more=more)


def only_empty(none: NDArray[np.bool_], name: str = "") -> ConfidenceError:
    """The error for cases in which no label is possible, where there is no empty set."""
    problem = "every label has probability zero, and the empty set is not a class of this space."
    case, more = int(np.argmax(none)), int(np.count_nonzero(none)) - 1
    return ConfidenceError(problem, "Allow it with empty=True.", case=case, name=name, more=more)


def _remedy(p: NDArray[Any], value: float) -> str:
    if np.isnan(value):
        return "Leave the case out on purpose: nothing is dropped silently."
    if np.nanmin(p) >= 0 and np.nanmax(p) <= 100:
        return 'If these are percentages, divide them by 100; if they are log-odds, pass scale="logit".'
    return 'Probabilities are from 0 to 1. If these are log-odds, pass scale="logit".'


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
        known = as_space(space, width, "the draws have")
        step = max(1, _ENTRIES // max(1, draws * width))
        parts = (cube[at : at + step] for at in range(0, cases, step))
        sizes, batches = np.full(cases, draws), (Sets.from_indicators(part.reshape(-1, width)) for part in parts)
    else:
        known, each = _as_batches(samples, space)
        sizes, batches = np.array([len(sets) for sets in each], np.int64), (sets for sets in each)
    refuse(ShapeError, sizes == 0, "there are no draws.", "A case needs one at least.")
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
    refuse(
        ClassError,
        codes == UNLISTED,
        lambda at: f"{_named(space, sets, at)} was drawn, which is not in the support of the space.",
        "Take the space of all label sets.",
        case=case,
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
    refuse(
        ConfidenceError,
        ~((logs > -np.inf) & (logs <= _SAME)),
        lambda at: f"log_p is {logs[at]:g} for a set that was drawn.",
        "It is the logarithm of a probability above 0.",
        case=drawn.case,
    )
    if table is None:
        return
    own = logs[drawn.which]
    refuse(
        ConfidenceError,
        ~(np.abs(table - own) <= _SAME * (1 + np.abs(own))),
        lambda at: f"one set has two log-probabilities, {own[at]:g} and {table[at]:g}.",
        "log_p is that of the whole set, not of one draw's way to it.",
        case=drawn.case[drawn.which],
    )
