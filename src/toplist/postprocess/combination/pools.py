"""Linear and geometric pools, by the compiled kernel or class by class."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Codes, Floats
from toplist.core import kernel
from toplist.core.arguments import as_count
from toplist.core.flags import KNOWN_REST
from toplist.core.kernel import Rows
from toplist.errors import MassError
from toplist.lists import TopLists, log_rest
from toplist.lists.rows import to_rows
from toplist.lists.validation import UNDERFLOW, CheckedColumns, Repairs, exponentiate, underflows
from toplist.postprocess.combination.members import (
    LONGEST,
    Lists,
    Members,
    Union,
    Weights,
    as_weights,
    log_proxy,
    logs_of,
    share_left,
)

Entries = tuple[Codes, Floats, Floats | None]

LOG_SMALL = -600.0  # logarithms below this are not added up as masses
_BLOCK = 1 << 16  # listed classes in a block


def linear_pool(lists: Lists, *, weights: Weights = None, k: int | None = None, space: Any = None) -> TopLists:
    r"""The weighted mean of padded distributions, :math:`\sum_j w_j \tilde p_j`.

    Where a model does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. Under the Brier score the pool is in every case no worse than its members are on average.

    Parameters
    ----------
    lists : sequence or mapping
        The predictions of several models for the same cases, one after the other or by name; each a TopLists or
        anything that `toplist.as_lists` takes.
    weights : sequence or mapping, optional
        Weights that add up to one, one after the other or by name; equal by default.
    k : int, optional
        Keep the k most confident classes only.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    TopLists
        Valid lists on the union of the classes, the most confident class first.

    Examples
    --------
    >>> import toplist as tl
    >>> linear_pool([[{"cat": 0.6}], [{"cat": 0.4, "dog": 0.4}]], space=tl.ClassSpace(3, ["cat", "dog"]))[0]
    TopList(cat 0.5, dog 0.3; unlisted 0.2 over 1 class)
    """
    members = Members.of(lists, space)
    w = as_weights(weights, members.names)
    k = None if k is None else min(as_count(k), LONGEST)
    in_logs = any(map(_is_small, members))
    if kernel.NATIVE and not in_logs:
        return from_kernel(members, w, k, geometric=False)
    union = Union.of(members)
    t, left = _add_logs(union, w) if in_logs else _add(union, w)
    return from_union(union, t, left, k, in_logs=in_logs)


def geometric_pool(lists: Lists, *, weights: Weights = None, k: int | None = None, space: Any = None) -> TopLists:
    r"""The weighted geometric mean of padded distributions, :math:`\prod_j \tilde p_j^{w_j}`, made to add up to one.

    Where a model does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. A member with a positive weight that gives zero to a class rules it out; a case in which
    everything is ruled out is an error. With infinitely many classes it is the limit of ever more of them: only what
    all members list has any confidence, and the rest is the geometric mean of the rests.

    Parameters
    ----------
    lists : sequence or mapping
        The predictions of several models for the same cases, one after the other or by name; each a TopLists or
        anything that `toplist.as_lists` takes.
    weights : sequence or mapping, optional
        Weights that add up to one, one after the other or by name; equal by default.
    k : int, optional
        Keep the k most confident classes only.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    TopLists
        Valid lists on the union of the classes, the most confident class first.

    Examples
    --------
    >>> import toplist as tl
    >>> geometric_pool([[{"cat": 0.8}], [{"cat": 0.5, "dog": 0.4}]], space=tl.ClassSpace(3, ["cat", "dog"]))[0]
    TopList(cat 0.6783, dog 0.2145; unlisted 0.1072 over 1 class)
    """
    members = Members.of(lists, space)
    w = as_weights(weights, members.names)
    if w.max() == 1.0:
        return linear_pool(members.lists, weights=w.tolist(), k=k)  # one member alone, to the last digit
    k = None if k is None else min(as_count(k), LONGEST)
    if kernel.NATIVE:
        return from_kernel(members, w, k, geometric=True)
    union = Union.of(members)
    log_t, left = _multiply(union, w)
    return from_union(union, log_t, left, k, in_logs=True)


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """Pooled rows with their signed rest; the first case without a possible class, how many there are; underflows."""

    rows: Rows
    signed_rest: Floats
    vetoed: int | None
    vetoes: int
    lost: int  # cases with a confidence that is below the smallest number, and zero


def pool_rows(members: Members, w: Floats, k: int | None, *, geometric: bool) -> Pooled:
    """One list per case on the union of the classes, the most confident first, cut to k."""
    all_rows = [one.checked.rows for one in members]
    n, entries = members.cases, sum(len(rows.confidences) for rows in all_rows)
    counts, signed_rest, log_rest = np.zeros(n, np.int64), np.empty(n), np.empty(n)
    made = _Output(entries if k is None else min(entries, k * n))
    buffers: dict[int, Entries] = {}  # one per thread
    vetoed: dict[int, int] = {}
    lost: list[int] = []

    def work(lo: int, hi: int) -> None:
        blocks = [rows.block(lo, hi) for rows in all_rows]
        own = [
            _member(rows, one.checked.signed_rest[lo:hi], geometric) for rows, one in zip(blocks, members, strict=True)
        ]
        need = sum(len(one[2]) for one in own)
        need = need if k is None else min(need, k * (hi - lo))
        thread = threading.get_ident()
        if thread not in buffers or len(buffers[thread][0]) < need:
            buffers[thread] = _empty(need, logs=geometric)
        codes, t, logs = buffers[thread]
        used, small, first, vetoes = kernel.pool(
            geometric, own, w, blocks[0].size, blocks[0].log_size, -1 if k is None else k,
            codes, t, logs, counts[lo:hi], signed_rest[lo:hi], log_rest[lo:hi],
        )  # fmt: skip
        made.put(lo, hi, codes[:used], t[:used])
        if small and logs is not None:
            case = np.repeat(np.arange(lo, hi), counts[lo:hi])
            lost.append(len(np.unique(case[(t[:used] == 0) & (logs[:used] > -np.inf)])))
        if vetoes:
            vetoed[lo + first] = vetoes

    kernel.over_blocks(n, entries, work, block=max(1, min(kernel.BLOCK, _BLOCK * n // max(1, entries))))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    codes, t = made.arrays()
    rows = Rows(offsets, codes, t, log_rest, all_rows[0].size, all_rows[0].log_size)
    return Pooled(rows, signed_rest, min(vetoed, default=None), sum(vetoed.values()), sum(lost))


class _Output:
    """Blocks of cases written one after the other, in whatever order they are finished, into one allocation."""

    def __init__(self, most: int) -> None:
        self._codes, self._t = np.empty(most, np.int64), np.empty(most)
        self._waiting: dict[int, tuple[int, Codes, Floats]] = {}
        self._lock = threading.Lock()
        self._case = self._used = 0

    def put(self, lo: int, hi: int, codes: Codes, t: Floats) -> None:
        """Add the entries of cases lo to hi, which the caller may overwrite."""
        with self._lock:
            if lo != self._case:
                self._waiting[lo] = hi, codes.copy(), t.copy()
                return
            self._write(hi, codes, t)
            while self._case in self._waiting:
                self._write(*self._waiting.pop(self._case))

    def _write(self, hi: int, codes: Codes, t: Floats) -> None:
        here = slice(self._used, self._used + len(codes))
        self._codes[here], self._t[here] = codes, t
        self._case, self._used = hi, here.stop

    def arrays(self) -> tuple[Codes, Floats]:
        """All entries, in arrays of their length."""
        for array in (self._codes, self._t):
            array.resize(self._used, refcheck=False)
        return self._codes, self._t


def _empty(room: int, *, logs: bool) -> Entries:
    return np.empty(room, np.int64), np.empty(room), np.empty(room) if logs else None


def _member(
    rows: Rows, signed_rest: Floats, geometric: bool
) -> tuple[Codes, Codes | None, Floats, Floats, Floats | None]:
    """The offsets of a block, its entries in the types that the kernel takes, and its rest."""
    here = slice(rows.offsets[0], rows.offsets[-1])
    classes = None if rows.classes is None else np.ascontiguousarray(rows.classes[here], np.int64)
    t = np.ascontiguousarray(rows.confidences[here], np.float64)
    if not geometric:
        return rows.offsets, classes, t, signed_rest, None
    with np.errstate(divide="ignore"):
        log_rest = np.log(np.maximum(signed_rest, 0.0)) if rows.log_rest is None else rows.log_rest
        return rows.offsets, classes, np.log(t), signed_rest, log_rest


def from_kernel(members: Members, w: Floats, k: int | None, *, geometric: bool) -> TopLists:
    """Pools by the compiled kernel; pools of valid lists are valid, so that they are not checked again."""
    made = pool_rows(members, w, k, geometric=geometric)
    if made.vetoed is not None:
        raise vetoed(members, made.vetoed, made.vetoes)
    found = np.full(members.cases, KNOWN_REST, np.uint16)
    repairs = {UNDERFLOW: made.lost} if made.lost else {}
    return TopLists(members.space, members.ids, CheckedColumns(made.rows, made.signed_rest, found, repairs))


def from_union(union: Union, t: Floats, log_rest: Floats, k: int | None, *, in_logs: bool) -> TopLists:
    """Pooled class by class: the confidences, or their logarithms, and the log of the rest mass."""
    members = union.members
    rows = to_rows(union.offsets, union.classes, t, members.space, log_rest)  # codes, also where labels are numbers
    numbers = exponentiate(rows) if in_logs else rows
    lost = underflows(rows, numbers) if in_logs else {}
    pooled = TopLists._validated(numbers, members.space, members.ids, Repairs(), lost)
    ordered = pooled.as_distributions().ordered()  # not valid by a rounding error at most
    return ordered if k is None else ordered.truncate(k).as_distributions()


def together(parts: Sequence[TopLists], order: NDArray[np.intp], members: Members) -> TopLists:
    """Pools of different cases of the same members, one after the other and then brought into an order."""
    rows = [one.checked.rows for one in parts]
    sizes = np.concatenate([one.sizes for one in parts])
    space = members.space.take(np.argsort(order))
    made = Rows(
        np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64))),
        np.concatenate([one.classes for one in parts]),
        np.concatenate([one.confidences for one in rows]),
        np.concatenate([log_rest(one) for one in parts]),
        *space.as_floats,
    )
    signed_rest = np.concatenate([one.checked.signed_rest for one in parts])
    found = np.concatenate([one.checked.flags for one in parts])
    whole = TopLists(space, None, CheckedColumns(made, signed_rest, found, {}))[order]
    return TopLists(members.space, members.ids, whole.checked)


def vetoed(members: Members, case: int, cases: int) -> MassError:
    """The error that every class of a case is given zero by some member."""
    name = "" if members.ids is None else repr(members.ids[case : case + 1].tolist()[0])
    return MassError(
        "every class is given zero by some member, so that nothing is left of their product.",
        "Give each list some rest mass (postprocess.RestFloor), pool linearly, or give weight zero to that member.",
        case=case,
        name=name,
        more=cases - 1,
    )


def _add(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """Each entry adds what it has above its member's share, and all shares are added at the end; log of the rest."""
    t, base, rest = np.zeros(len(union.classes)), np.zeros(union.members.cases), np.zeros(union.members.cases)
    for weight, one, place in zip(w, union.members, union.places, strict=True):
        t[place] += weight * (one.normalized_confidences - np.repeat(one.proxy, one.sizes))
        base += weight * one.proxy
        rest += weight * one.rest * share_left(one, union.counts)
    with np.errstate(divide="ignore"):
        return np.maximum(t + base[union.case], 0.0), np.log(rest)


def _add_logs(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """The same in logarithms, where numbers underflow."""
    log_t, left = np.full(len(union.classes), -np.inf), np.full(union.members.cases, -np.inf)
    with np.errstate(divide="ignore"):
        for log_w, one, place in zip(np.log(w), union.members, union.places, strict=True):
            mine = log_proxy(one)[union.case]
            mine[place] = logs_of(one)
            log_t = np.logaddexp(log_t, log_w + mine)
            left = np.logaddexp(left, log_w + log_rest(one) + np.log(share_left(one, union.counts)))
    return log_t, left


def _is_small(one: TopLists) -> bool:
    """Whether some of its rest masses are too small to be added up as they are."""
    given = one.log_rest
    return given is not None and bool(((given > -np.inf) & (given < LOG_SMALL)).any())


def _multiply(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """The logarithms of the pooled confidences and of the rest mass; members of weight zero do not count."""
    some = w > 0
    log_t, left = (_products(logs[some], w[some]) for logs in (union.logs(), union.log_rests()))
    top = left.copy()
    np.maximum.at(top, union.case, log_t)
    nothing = top == -np.inf
    if nothing.any():
        raise vetoed(union.members, int(np.argmax(nothing)), int(nothing.sum()))
    with np.errstate(divide="ignore"):
        total = top + np.log(np.exp(left - top) + union.sums(np.exp(log_t - top[union.case])))
    return log_t - total[union.case], left - total


def _products(logs: Floats, w: Floats) -> Floats:
    """Weighted sums over members; one that is minus infinity is so whatever the others are."""
    possible = logs > -np.inf
    return np.where(possible.all(axis=0), w @ np.where(possible, logs, 0.0), -np.inf)
