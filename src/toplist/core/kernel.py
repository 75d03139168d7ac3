"""Choice of kernel: compiled where it was built, the array-API one elsewhere; in blocks and threads; what is installed.

Every kernel is a function of rows that do not depend on each other. A batch is cut into blocks that fit the cache,
and large batches are shared among threads; the result does not depend on the blocks. Sums over rows are exact: integers
in units of the smallest double, so that they do not depend on the order of rows either.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import array_api
from toplist.core.array_api import RowSums

if TYPE_CHECKING:
    from toplist.core.subset_search import Likeliest


_compiled: Any = None
if not os.environ.get("TOPLIST_PURE_PYTHON"):
    with suppress(ImportError):  # built without a compiler
        _compiled = import_module("toplist._kernel")

NATIVE: Final[bool] = _compiled is not None

BLOCK: Final = 1 << 14  # rows: a block's vectors stay in the second-level cache
_SET: Final = 72  # block lengths leave this modulo 512, so that a block's vectors start in different cache sets
_THREADED: Final = 1 << 17  # listed classes below which a second thread costs more than it brings
_SET_COST: Final = 32  # what listing one label set costs, in labels that are read
_SETS_BLOCK: Final = 1 << 22  # labels read, or sets listed at that price, in a block
_KINDS: Final = {"none": 0, "squares": 1, "powers": 2, "peak": 3}
Integers = NDArray[np.object_]  # of Python integers
BITS = 1074  # the smallest double is 2**-1074
UNIT = 1 << BITS
_EXACT = 2.0**-960  # below this the rounding error of a product is no double itself
_SPLIT = 134217729.0  # 2**27 + 1 cuts a double into two halves whose products are exact
_HALF = 27
_NONE = np.zeros(0, np.int32)
_COMPANIONS = ("numpy", "scipy", "narwhals", "array-api-compat", "pyarrow", "duckdb", "matplotlib", "jinja2")


@dataclass(frozen=True, slots=True)
class Rows:
    """What a kernel sees of a batch. `classes` is None where every class is listed in order."""

    offsets: NDArray[np.int64]
    classes: NDArray[Any] | None
    confidences: NDArray[Any]
    log_rest: Floats | None
    size: Floats  # one entry, or one per case; infinite from about 1e308 on
    log_size: Floats
    precision: int | None = None  # significant bits of the numbers as they were given, where the type has more
    shown: Floats | None = None  # (rows, 2): what each confidence may be off by as its text shows: an amount, a share

    @property
    def bits(self) -> int:
        """The significant bits of the numbers as they were given."""
        own = 24 if self.confidences.dtype == np.float32 else 53
        return own if self.precision is None else min(own, self.precision)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def block(self, lo: int, hi: int) -> Rows:
        """Rows lo to hi; the flat arrays stay whole, the offsets say where they are."""
        log_rest, size, log_size = self.per_case(slice(lo, hi))
        shown = None if self.shown is None else self.shown[lo:hi]
        offsets = self.offsets[lo : hi + 1]
        return Rows(offsets, self.classes, self.confidences, log_rest, size, log_size, self.precision, shown)

    def per_case(self, at: Any) -> tuple[Floats | None, Floats, Floats]:
        """The log of the rest mass, the size and its logarithm of some rows."""
        log_rest = None if self.log_rest is None else self.log_rest[at]
        return (
            (log_rest, self.size[at], self.log_size[at]) if len(self.size) > 1 else (log_rest, self.size, self.log_size)
        )


_here = threading.local()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this, and in this thread, batches are not shared: for callers who share out whole batches."""
    before, _here.alone = getattr(_here, "alone", False), True
    try:
        yield
    finally:
        _here.alone = before


def threads() -> int:
    """How many threads share a large batch: TOPLIST_THREADS, or the cores this process may use."""
    if getattr(_here, "alone", False):
        return 1
    wanted = os.environ.get("TOPLIST_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_blocks(rows: int, weight: int, work: Callable[[int, int], None], *, block: int = BLOCK) -> None:
    """Call work(lo, hi) for blocks that cover all rows, from several threads if the batch weighs enough."""
    workers = max(1, min(threads(), weight // _THREADED))
    blocks = -(-rows // block)
    blocks += -blocks % workers  # each thread gets as many as the others
    step = max(1, -(-rows // blocks)) if blocks else 1
    step += (_SET - step) % 512 if step > 512 else 0
    starts = range(0, rows, step)

    def share(worker: int) -> None:
        for lo in starts[worker::workers]:
            work(lo, min(lo + step, rows))

    failures: list[BaseException] = []

    def guarded(worker: int) -> None:
        try:
            share(worker)
        except BaseException as failure:  # raised again below, in the caller's thread
            failures.append(failure)

    helpers = [threading.Thread(target=guarded, args=(worker,)) for worker in range(1, workers)]
    for helper in helpers:
        helper.start()
    guarded(0)
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]


def inspect(rows: Rows) -> tuple[Floats, NDArray[np.uint16], int]:
    """The signed rest mass and the flags of every row, and all flags ored together."""
    signed_rest, flags = np.empty(len(rows)), np.empty(len(rows), np.uint16)
    seen = [0]

    def work(lo: int, hi: int) -> None:
        r = rows.block(lo, hi)
        if _compiled is not None:
            seen.append(
                _compiled.inspect(
                    r.offsets, r.classes, r.confidences, r.log_rest, r.size, r.log_size, r.bits,
                    signed_rest[lo:hi], flags[lo:hi],
                )
            )  # fmt: skip
            return
        for at, part in by_length(r):
            signed_rest[lo + at], found = part.inspect(r.bits)
            flags[lo + at] = found
            seen.append(int(np.bitwise_or.reduce(found)))

    over_blocks(len(rows), len(rows.confidences), work)
    return signed_rest, flags, int(np.bitwise_or.reduce(seen))


def reduce(
    rows: Rows,
    signed_rest: Floats,
    flags: NDArray[np.uint16],
    outcomes: NDArray[np.int64] | None,
    kind: str,
    exponent: float,
    *,
    narrow: bool = False,
) -> RowSums:
    """The reduction over one block of rows. `narrow`: only outcome, miss and total, where that is faster."""
    n, narrow = len(rows), narrow and _compiled is not None
    out, hit = np.empty((3 if narrow else 7, n)), np.empty(0 if narrow else n, np.uint8)
    if _compiled is not None:
        _compiled.reduce(
            _KINDS[kind], exponent, rows.offsets, rows.classes, rows.confidences, rows.log_rest, rows.size,
            rows.log_size, signed_rest, flags, outcomes, out, hit,
        )  # fmt: skip
    else:
        for at, part in by_length(rows):
            codes = None if outcomes is None else outcomes[at]
            sums = part.reduce(kind, exponent, signed_rest[at], flags[at], codes)
            for column, value in enumerate(sums[:7]):
                out[column, at] = value
            hit[at] = sums.hit
    if narrow:
        return RowSums(out[0], out[1], out[2], None, None, None, None, None)
    outcome, miss, total, ties, rest, unlisted, proxy = out
    return RowSums(outcome, miss, total, ties, rest, unlisted, proxy, hit.view(np.bool_))


def select(p: NDArray[Any], k: int) -> tuple[NDArray[np.int32], Floats, Floats]:
    """The k largest entries of each row of a dense matrix, largest first, and the mass that is left."""
    n = len(p)
    classes, values, tail = np.empty((n, k), np.int32), np.empty((n, k)), np.empty(n)

    def work(lo: int, hi: int) -> None:
        if _compiled is not None:
            _compiled.select(p[lo:hi], classes[lo:hi], values[lo:hi], tail[lo:hi])
        else:
            order = np.argsort(-p[lo:hi], axis=1, stable=True)
            ordered = np.take_along_axis(p[lo:hi], order, axis=1)
            classes[lo:hi], values[lo:hi] = order[:, :k], ordered[:, :k]
            tail[lo:hi] = ordered[:, k:].sum(axis=1, dtype=np.float64)

    over_blocks(n, p.size, work)
    return classes, values, tail


def best_sets(
    p: NDArray[Any], keys: NDArray[np.int64], k: int, *, logit: bool, empty: bool, spelled: bool
) -> Likeliest:
    """The k likeliest sets of labels that have these probabilities, or log-odds, independently of each other."""
    from toplist.core import subset_search  # noqa: PLC0415 - who scores does not wait for what only this needs

    n, width = p.shape
    run: Any = subset_search.best_sets if _compiled is None else _compiled.best_sets
    counts, codes, log_p, log_rest = np.zeros(n, np.int32), np.empty((n, k), np.int64), np.empty((n, k)), np.empty(n)
    bits, flip_counts = np.empty((n, -(-width // 8)), np.uint8), np.zeros((n, k if spelled else 0), np.uint8)
    filled = (counts, codes, log_p, log_rest, *((bits, flip_counts) if spelled else ()))
    most_flips = (k + 1).bit_length() - 1  # all sets with fewer of a set's flips come before it
    rooms: dict[int, NDArray[np.int32]] = {}  # for the flips of a block: one per thread
    flips: dict[int, NDArray[np.int32]] = {}
    refused = [(n, subset_search.FINE)]

    def work(lo: int, hi: int) -> None:
        here = [out[lo:hi] for out in filled]
        if spelled:
            thread, need = threading.get_ident(), (hi - lo) * k * most_flips
            if thread not in rooms or len(rooms[thread]) < need:
                rooms[thread] = np.empty(need, np.int32)
            row, why, used = run(p[lo:hi], keys, logit, empty, *here, rooms[thread])
            flips[lo] = rooms[thread][:used] if hi - lo == n else rooms[thread][:used].copy()
        else:
            row, why, _ = run(p[lo:hi], keys, logit, empty, *here, None, None, None)
        if why:
            refused.append((lo + row, why))

    cost = width + _SET_COST * k
    over_blocks(n, n * cost, work, block=max(1, _SETS_BLOCK // cost))
    parts = [flips[lo] for lo in sorted(flips)] or [np.empty(0, np.int32)]
    labels = np.concatenate(parts) if len(parts) > 1 else parts[0]
    spelling = subset_search.Spelling(bits, flip_counts, labels) if spelled else None
    return subset_search.Likeliest(counts, codes, log_p, log_rest, spelling, min(refused))


def places(rows: Rows, outcomes: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """How many listed confidences are above the outcome's, and how many equal it: none where it is not listed."""
    above, equal = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)

    def work(lo: int, hi: int) -> None:
        r = rows.block(lo, hi)
        if _compiled is not None:
            _compiled.places(r.offsets, r.classes, r.confidences, outcomes[lo:hi], above[lo:hi], equal[lo:hi])
            return
        for at, part in by_length(r):
            own, t = outcomes[lo + at][:, None], part.confidences
            same = (np.arange(t.shape[1]) if part.classes is None else part.classes) == own
            listed = same.any(axis=1, keepdims=True)
            mine = np.where(same, t, -np.inf).max(axis=1, initial=-np.inf)[:, None]
            above[lo + at] = ((t > mine) & listed).sum(axis=1)
            equal[lo + at] = ((t == mine) & listed).sum(axis=1)

    over_blocks(len(rows), len(rows.confidences), work)
    return above, equal


def pool(geometric: bool, members: list[tuple[Any, ...]], *arguments: Any) -> tuple[int, bool, int, int]:
    """One block of several lists per case; for compiled kernels only. See `postprocess.combination.pools`."""
    used, small, vetoed, vetoes = _compiled.pool(geometric, members, *arguments)
    return used, small, vetoed, vetoes


def accumulate(
    columns: Floats, left: NDArray[np.int32], right: NDArray[np.int32], codes: NDArray[np.int32] | None, groups: int
) -> NDArray[np.uint8] | None:
    """Exact sums of columns and products as integers in bytes, by group; None without a compiled kernel."""
    if _compiled is None:
        return None
    out = np.empty((groups, len(columns) + len(left), _compiled.EXACT_BYTES), np.uint8)
    _compiled.accumulate(columns, left, right, codes, out)
    return out


Hashes = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WORD = 8  # bytes of a text that go into its hash at a time


def mix(x: Hashes) -> Hashes:
    """Every bit of the result depends on all bits (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def hash_text(data: NDArray[np.uint8], offsets: NDArray[np.int64], seed: int = 0) -> Hashes:
    """A hash of each text in `data` from one offset to the next: the same on every machine and in every version.

    >>> texts = np.frombuffer(b"77x", np.uint8)
    >>> first, second, third = hash_text(texts, np.array([0, 1, 2, 3])).tolist()
    >>> first == second, first == third, [first] == hash_integers(np.array([7])).tolist()
    (True, False, True)
    """
    seed %= 1 << 64
    if _compiled is None:
        return _hash_text(data, offsets, seed)
    out = np.empty(max(len(offsets) - 1, 0), np.uint64)
    _compiled.hash_text(data, offsets, seed, out)
    return out


def hash_integers(values: NDArray[Any], seed: int = 0) -> Hashes:
    """The hash of the decimal text of each whole number, of any integer type."""
    kind = np.uint64 if values.dtype == np.uint64 else np.int64
    values, seed = np.ascontiguousarray(values, kind), seed % (1 << 64)
    if _compiled is not None:
        out = np.empty(len(values), np.uint64)
        _compiled.hash_integers(values, seed, out)
        return out
    text = values.astype("S21")
    lengths = np.char.str_len(text).astype(np.int64)
    data = text.view(np.uint8).reshape(len(text), 21)[np.arange(21) < lengths[:, None]]
    return _hash_text(data, np.concatenate([[0], np.cumsum(lengths)]), seed)


def _hash_text(data: NDArray[np.uint8], offsets: NDArray[np.int64], seed: int) -> Hashes:
    starts, lengths = offsets[:-1], np.diff(offsets)
    out = mix(np.uint64(seed) ^ mix(lengths.astype(np.uint64) + GOLDEN))
    padded = np.concatenate([data, np.zeros(_WORD, np.uint8)])
    done, rows = 0, np.flatnonzero(lengths)
    while len(rows):
        bytes_ = padded[(starts[rows] + done)[:, None] + np.arange(_WORD)]
        bytes_[np.arange(_WORD) >= (lengths[rows] - done)[:, None]] = 0
        out[rows] = mix(out[rows] ^ bytes_.view("<u8")[:, 0])
        done += _WORD
        rows = rows[lengths[rows] > done]
    return out


def uniform(hashes: Hashes) -> Floats:
    """Numbers from zero to below one, spread evenly, one for each hash.

    >>> uniform(np.array([0, 2**64 - 1], np.uint64)).tolist()
    [0.0, 0.9999999999999999]
    """
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53)


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Rows of one length, as (rows, k) arrays."""

    classes: NDArray[Any] | None
    confidences: NDArray[Any]
    log_rest: Floats | None
    size: Floats
    log_size: Floats

    def inspect(self, bits: int) -> tuple[Floats, NDArray[np.int32]]:
        """See `array_api.inspect`; tolerances follow the given precision, arithmetic is in double."""
        t = self.confidences.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):  # weights too large to be added up
            return array_api.inspect(np, self.classes, t, self.log_rest, self.size, self.log_size, bits=bits)

    def reduce(
        self,
        kind: str,
        exponent: float,
        signed_rest: Floats,
        flags: NDArray[np.uint16],
        codes: NDArray[np.int64] | None,
    ) -> RowSums:
        """See `array_api.reduce`."""
        t = self.confidences.astype(np.float64, copy=False)
        return array_api.reduce(
            np, kind, exponent, self.classes, t, self.log_rest, self.size, self.log_size, signed_rest, flags, codes
        )


def by_length(rows: Rows) -> list[tuple[NDArray[np.intp], Rectangle]]:
    """The rows grouped by their length: where they stand, and the rectangle that they make."""
    sizes = np.diff(rows.offsets)
    groups = []
    for k in np.unique(sizes):
        at = np.flatnonzero(sizes == k)
        where = rows.offsets[at][:, None] + np.arange(k)
        classes = None if rows.classes is None else rows.classes[where]
        groups.append((at, Rectangle(classes, rows.confidences[where], *rows.per_case(at))))
    return groups


A = TypeVar("A")


B = TypeVar("B")


def parallel_map(work: Callable[[A], B], items: Iterator[A]) -> Iterator[B]:
    """The results of work on each item, in order, by as many threads as there are; few items wait at a time."""
    workers = threads()

    def alone(item: A) -> B:
        with one_thread():
            return work(item)

    if workers == 1:  # nothing runs beside this thread
        yield from map(alone, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[B]] = deque()
        for item in items:
            waiting.append(pool.submit(alone, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def exact_sums(
    columns: Floats,
    products: Sequence[tuple[int, int]] = (),
    codes: NDArray[Any] | None = None,
    groups: int = 1,
) -> Integers:
    """The sum of each column and of each product of two columns, by group: shape (groups, columns + products).

    >>> exact_sums(np.array([[1e16, 1.0, -1e16]]))[0, 0] == UNIT
    True
    """
    left, right = (np.array([pair[side] for pair in products], np.int32) for side in (0, 1))
    out = np.zeros((groups, len(columns) + len(left)), object)
    lock = threading.Lock()

    def work(lo: int, hi: int) -> None:
        here, local = np.zeros(1, np.intp), None
        if codes is not None:
            here, inverse = np.unique(codes[lo:hi], return_inverse=True)
            local = inverse.astype(np.int32)
        part = columns[:, lo:hi]
        made = accumulate(part, left, right, local, len(here))
        sums = _in_python(part, left, right, local, len(here)) if made is None else _from_bytes(made)
        with lock:
            out[here] += sums

    over_blocks(columns.shape[1], columns.shape[1] * out.shape[1], work)
    return out


FIXED_BITS: Final = 60  # of a fraction in `fixed_sums`
FIXED_MOST: Final = 2.0**30  # the largest number in `fixed_sums`
_FIXED_ROWS: Final = 1 << 17  # whose sums no integer of 64 bits overflows
_STEPS: Final = 14  # bits of a fraction in the first of the two integers that make up such a sum


def fixed_sums(columns: Floats, codes: NDArray[np.int32], groups: int) -> Integers:
    """The sum of each column by group in units of 2**-60, where each number is cut off: shape (groups, columns).

    No number may be larger than 2**30. These sums do not depend on the order of rows either, and are shorter and
    faster than `exact_sums` where groups are many.

    >>> fixed_sums(np.array([[0.5, 2.0**-70, -1.0]]), np.array([1, 1, 0], np.int32), 2).ravel() / 2**60
    array([-1.0, 0.5], dtype=object)
    """
    out = np.zeros((groups, len(columns)), object)
    for lo in range(0, columns.shape[1], _FIXED_ROWS):
        x, at = columns[:, lo : lo + _FIXED_ROWS], np.ascontiguousarray(codes[lo : lo + _FIXED_ROWS])
        made = np.zeros((groups, len(columns), 2), np.int64)
        if _compiled is not None:
            _compiled.fixed_sums(np.ascontiguousarray(x), at, made)
        else:
            steps = np.trunc(x * 2.0**_STEPS)
            rest = np.trunc((x - steps / 2.0**_STEPS) * 2.0**FIXED_BITS)
            np.add.at(made, at, np.stack([steps, rest], axis=2).astype(np.int64).swapaxes(0, 1))
        used = made.any(axis=(1, 2))
        first, second = (made[used, :, side].astype(object) for side in (0, 1))
        out[used] += (first << (FIXED_BITS - _STEPS)) + second
    return out


def to_float(total: int) -> float:
    """A sum, rounded once.

    >>> to_float(3 * UNIT)
    3.0
    """
    return total / UNIT


def _from_bytes(made: NDArray[np.uint8]) -> Integers:
    groups, width, size = made.shape
    raw = made.tobytes()
    flat = [int.from_bytes(raw[at : at + size], "little", signed=True) for at in range(0, len(raw), size)]
    out = np.empty(groups * width, object)
    out[:] = flat
    return out.reshape(groups, width)


def _in_python(columns: Floats, left: Any, right: Any, codes: NDArray[np.int32] | None, groups: int) -> Integers:
    out = np.zeros((groups, len(columns) + len(left)), object)
    for at, x in enumerate(columns):
        _add(out[:, at], x, codes)
    for at, (i, j) in enumerate(zip(left, right, strict=True), len(columns)):
        product, error = _exact_product(columns[i], columns[j])
        _add(out[:, at], product, codes)
        _add(out[:, at], error, codes)
    return out


def _add(to: Integers, x: Floats, codes: NDArray[np.int32] | None) -> None:
    """Sum the halves of the mantissas by exponent: these sums are exact in floating point."""
    fraction, exponent = np.frexp(x)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    place = exponent.astype(np.int64) - 53 + BITS
    low = np.minimum(place, 0)  # subnormal numbers end in zeros, which are shifted out
    mantissa >>= -low
    place -= low
    keys, where = np.unique(place if codes is None else place + 4096 * codes, return_inverse=True)
    upper = np.bincount(where, weights=mantissa >> _HALF, minlength=len(keys))
    lower = np.bincount(where, weights=mantissa & ((1 << _HALF) - 1), minlength=len(keys))
    for key, high, rest in zip(keys.tolist(), upper.tolist(), lower.tolist(), strict=True):
        to[key // 4096] += ((int(high) << _HALF) + int(rest)) << key % 4096


def _exact_product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The rounded product, and what rounding took away (Dekker 1971)."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    error = b * d - (((product - a * c) - b * c) - a * d)
    return product, np.where(np.abs(product) >= _EXACT, error, 0.0)


def _halves(x: Floats) -> tuple[Floats, Floats]:
    wide = _SPLIT * x
    upper = wide - (wide - x)
    return upper, x - upper


def sums_by(columns: Floats, codes: NDArray[np.int32] | None, groups: int) -> Integers:
    """The exact sum of each column by group, as (groups, columns); codes are from zero to groups, few of them."""
    made = accumulate(columns, _NONE, _NONE, codes, groups)
    if made is None:
        return exact_sums(columns, (), codes, groups)
    raw, size = made.tobytes(), made.shape[2]
    out = np.empty(groups * len(columns), object)
    out[:] = [int.from_bytes(raw[at : at + size], "little", signed=True) for at in range(0, len(raw), size)]
    return out.reshape(groups, len(columns))


def mean(total: int, count: int) -> float:
    """An exact sum over a count, rounded once."""
    return total / (count * UNIT)


def robust_squares(squares: Any, units: Any) -> Any:
    """Squared deviations summed over G units, times G / (G - 1); a unit is a case, or the sum over a cluster."""
    return squares * units / np.maximum(units - 1, 1)


def standard_error(squares: Any, units: Any, total: Any = 1.0) -> Any:
    """The cluster-robust standard error of a weighted mean; NaN for fewer than two units.

    `squares` is the sum over units of their squared weighted deviations from the mean, `total` the sum of the weights.

    >>> float(standard_error(2.0, 2, 2.0)), float(standard_error(2.0, 1))
    (1.0, nan)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.greater(units, 1), np.sqrt(robust_squares(squares, units)) / total, np.nan)


def version() -> str:
    """The version of this installation."""
    from importlib import metadata  # noqa: PLC0415  not cheap to import

    return metadata.version("toplist")


def versions() -> dict[str, str]:
    """Names and versions of what takes part."""
    import platform  # noqa: PLC0415  only here
    from importlib import metadata  # noqa: PLC0415  not cheap to import

    found = {"toplist": version(), "kernel": "native (C++)" if NATIVE else "pure Python (array API)"}
    found["threads"] = str(threads())
    found["python"] = sys.version.split()[0]
    found["platform"] = platform.platform()
    for name in _COMPANIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Print what is installed, and which kernel is in use, for a bug report.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.show_versions()  # doctest: +ELLIPSIS
               toplist: ...
    """
    for name, what in versions().items():
        print(f"{name:>18}: {what}")  # noqa: T201
