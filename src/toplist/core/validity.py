"""Validity of lists, and the largest valid sublist of an invalid one (paper, section 3).

A list is valid if no listed confidence is below the proxy, the share of the rest mass that each unlisted class
gets. Removing the smallest confidence until that holds leaves the one largest valid sublist. Lists with a confidence
that is too small to be a number are compared by logarithms.

Differences that rounding explains do not make a list invalid: `array_api.beyond` is the rule, and `inspect` here uses
in addition the decimals that the text of a file shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import array_api, flags, kernel
from toplist.core.kernel import Rows

SMALL: Final = 1e-290  # masses below this are better known by their logarithms
_SIX_DECIMALS: Final = 4.9e-7  # less than half a unit of the sixth
_LEAST: Final = {np.dtype(np.float64): math.log(SMALL), np.dtype(np.float32): math.log(1e-37)}


@dataclass(frozen=True, slots=True)
class Sublists:
    """For every listed class whether it stays; for every case what is then left over, and for how many classes."""

    keep: NDArray[np.bool_]
    rest: Floats
    log_rest: Floats | None  # where the producer gave it
    unlisted: Floats


def too_small(logs: Floats, dtype: Any) -> NDArray[np.bool_]:
    """Which logarithms are of confidences that numbers of this type hold not at all, or with fewer digits.

    >>> too_small(np.array([-np.inf, -3083.0, -1.0]), np.float64)
    array([False,  True, False])
    """
    small: NDArray[np.bool_] = (logs < _LEAST[np.dtype(dtype)]) & (logs > -np.inf)
    return small


def any_too_small(logs: NDArray[Any], dtype: Any) -> bool:
    """Whether there is any; most often one look at the least is enough."""
    return bool(logs.min(initial=0.0) < _LEAST[np.dtype(dtype)]) and bool(too_small(logs, dtype).any())


def doubles(rows: Rows) -> Floats:
    """The confidences in double precision, from their logarithms where the stored ones have lost digits."""
    t, logs = rows.confidences.astype(np.float64, copy=False), rows.log_confidences
    return t if logs is None else np.where(too_small(logs, rows.confidences.dtype), np.exp(logs), t)


def inspect(rows: Rows) -> tuple[Floats, NDArray[np.uint16], int]:
    """See `kernel.inspect`; whether a confidence that is no number is below the proxy, its logarithm says.

    Lists that the rounding of their text explains are not invalid.
    """
    signed_rest, found, seen = kernel.inspect(rows)
    if rows.shown is not None and seen & flags.INVALID:
        _forgive(rows, rows.shown, signed_rest, found)
        seen = int(np.bitwise_or.reduce(found))
    low = _with_small(rows)
    if not len(low):
        return signed_rest, found, seen
    some = gather(rows, low)
    sizes = np.diff(some.offsets)
    logs = np.zeros(0) if some.log_confidences is None else some.log_confidences
    unlisted, rest = some.size - sizes, signed_rest[low]
    log_rest = array_api.log_or(np, rest, -np.inf) if some.log_rest is None else some.log_rest
    log_rest = np.where(unlisted > 0, log_rest, -np.inf)
    least = np.minimum.reduceat(logs, some.offsets[:-1])
    below = _below(least, _log_count(unlisted, some.log_size), log_rest)
    # The penalty begins far above where numbers end, so that it needs no second look.
    found[low] = np.where(below, found[low] | flags.BELOW, found[low] & ~np.uint16(flags.BELOW | flags.INVALID))
    return signed_rest, found, int(np.bitwise_or.reduce(found))


def _forgive(rows: Rows, shown: Floats, signed_rest: Floats, found: NDArray[np.uint16]) -> None:
    """Take the mark of invalidity from lists that are valid within the rounding that their text shows.

    Numbers of more than six decimals were not cut at a decimal, but at a significant digit; with up to nine of these
    they may come from a float32, and are rounded at least as that is.
    """
    low = np.flatnonzero(found & flags.INVALID)
    some, (amount, share), rest = gather(rows, low), shown[low].T, signed_rest[low]
    t, starts, sizes = doubles(some), some.offsets[:-1], np.diff(some.offsets)
    amount = np.where(np.isnan(amount), last_places(t, some.offsets), amount)
    amount = np.where(amount < 0.5, amount, 0.0)  # a 0 or 1 without decimals is exact
    least, mass, unlisted = np.minimum.reduceat(t, starts), np.add.reduceat(t, starts), some.size - sizes
    off, rest_off = amount + share * least, sizes * amount + share * mass
    far = array_api.beyond(least, rest, unlisted, share=0.0, off=off, rest_off=rest_off + 1e-12)
    cut = far & (amount > 0) & (amount < _SIX_DECIMALS)
    if cut.any():
        share = 0.5 * 10.0 ** (1 - significant_digits(t, some.offsets))
        single = np.where(share > 0, np.maximum(1e-6, 4 * sizes * 2.0**-24), 0.0)
        rest_off = np.maximum(single, sizes * amount + share * mass) + 1e-12
        also = array_api.beyond(least, rest, unlisted, share=0.0, off=amount + share * least, rest_off=rest_off)
        far &= also | ~cut
    found[low[~far]] &= ~np.uint16(flags.INVALID)


def last_places(t: Floats, offsets: NDArray[np.int64]) -> Floats:
    """Half a unit of the last decimal of each row, of all that its numbers need: 0.5 for whole numbers.

    >>> last_places(np.array([0.25, 0.5, 1.0, 1 / 3]), np.array([0, 2, 3, 4]))
    array([5.e-03, 5.e-01, 5.e-18])
    """
    return 0.5 * 10.0 ** -_fewest(np.arange(11), lambda d: t * 10.0**d, t, offsets, otherwise=17.0)


def significant_digits(t: Floats, offsets: NDArray[np.int64]) -> Floats:
    """How many the numbers of each row need, up to nine; infinitely many if it is more.

    >>> significant_digits(np.array([0.991, 1.2e-05, 1 / 3]), np.array([0, 2, 3]))
    array([ 3., inf])
    """
    first = np.floor(np.log10(np.where(t > 0, t, 1.0)))
    return _fewest(np.arange(1, 10), lambda s: t * 10.0 ** (s - 1 - first), t, offsets, otherwise=np.inf)


def _fewest(
    digits: NDArray[Any], scaled: Callable[[Any], Floats], t: Floats, offsets: NDArray[np.int64], *, otherwise: float
) -> Floats:
    """The fewest digits with which all numbers of a row are whole when scaled, up to rounding."""
    found, starts = np.full(len(offsets) - 1, otherwise), offsets[:-1]
    for d in digits[::-1]:
        with np.errstate(over="ignore", invalid="ignore"):
            x = scaled(d)
            off = np.abs(x - np.rint(x)) > 2.0**-49 * np.abs(x)
        found[np.add.reduceat(off, starts, dtype=np.int64) == 0] = d
    return found


def largest_valid(rows: Rows, signed_rest: Floats, which: NDArray[np.bool_]) -> Sublists:
    """The largest valid sublists of some rows, without tolerance; the others stay as they are."""
    keep = np.ones(len(rows.confidences), dtype=bool)
    rest, unlisted = signed_rest.copy(), rows.size - np.diff(rows.offsets)
    given = None if rows.log_rest is None else rows.log_rest.copy()
    in_logs = np.zeros(len(rows), dtype=bool)
    in_logs[_with_small(rows)] = True
    for low, cut in ((which & ~in_logs, _cut), (which & in_logs, _cut_in_logs)):
        cases = np.flatnonzero(low)
        for at, part in kernel.by_length(gather(rows, cases)):
            here = cases[at]
            where = rows.offsets[here][:, None] + np.arange(part.confidences.shape[1])
            log_rest = array_api.log_or(np, rest[here], -np.inf) if part.log_rest is None else part.log_rest
            keep[where], rest[here], unlisted[here], log_rest = cut(
                rows, where, unlisted[here], part.log_size, rest[here], log_rest
            )
            if given is not None:
                given[here] = log_rest
    return Sublists(keep, rest, given, unlisted)


def gather(rows: Rows, at: NDArray[Any]) -> Rows:
    """Some of the rows, in any order."""
    sizes = rows.offsets[1:][at] - rows.offsets[:-1][at]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    where = np.repeat(rows.offsets[:-1][at] - offsets[:-1], sizes) + np.arange(offsets[-1])
    classes = None if rows.classes is None else rows.classes[where]
    logs = None if rows.log_confidences is None else rows.log_confidences[where]
    shown = None if rows.shown is None else rows.shown[at]
    return Rows(offsets, classes, rows.confidences[where], *rows.per_case(at), logs, rows.precision, shown)


Cut = tuple[NDArray[np.bool_], Floats, Floats, Floats]  # what is kept, the rest mass, for how many, its logarithm


def _cut(
    rows: Rows, where: NDArray[np.intp], unlisted: Floats, log_size: Floats, rest: Floats, log_rest: Floats
) -> Cut:
    t = rows.confidences[where].astype(np.float64)
    kept, rest, unlisted = array_api.cut(np, t, unlisted, log_size, rest, log_rest)
    return kept, rest, unlisted, array_api.log_or(np, rest, log_rest)


def _cut_in_logs(
    rows: Rows, where: NDArray[np.intp], unlisted: Floats, log_size: Floats, rest: Floats, log_rest: Floats
) -> Cut:
    """The same by logarithms: the smallest go while log c + log n < log(rest + all that went before)."""
    logs = np.zeros(where.shape) if rows.log_confidences is None else rows.log_confidences[where]
    up = np.sort(logs, axis=1)
    log_mass = np.logaddexp.accumulate(np.concatenate([log_rest[:, None], up], axis=1), axis=1)[:, :-1]
    count = _log_count(unlisted[:, None] + np.arange(up.shape[1]), np.broadcast_to(log_size, rest.shape)[:, None])
    stays = ~_below(up, count, log_mass)
    first = np.where(stays.any(axis=1), np.take_along_axis(up, stays.argmax(axis=1)[:, None], axis=1)[:, 0], np.inf)
    keep = logs >= first[:, None]  # equals stay or go together
    t = rows.confidences[where]
    left = rest + np.where(keep, 0.0, np.where(too_small(logs, t.dtype), np.exp(logs), t)).sum(axis=1)
    gone = np.logaddexp.reduce(np.where(keep, -np.inf, logs), axis=1)
    log_left = np.where(left > SMALL, array_api.log_or(np, left, 0.0), np.logaddexp(log_rest, gone))
    return keep, left, unlisted + (~keep).sum(axis=1), log_left


def _with_small(rows: Rows) -> NDArray[np.intp]:
    """The rows that list a confidence too small to be a number."""
    if rows.log_confidences is None:
        return np.zeros(0, np.intp)
    small = too_small(rows.log_confidences, rows.confidences.dtype)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(small)))
    return np.flatnonzero(np.diff(before[rows.offsets]))


def _log_count(count: Floats, log_size: Floats) -> Floats:
    """The log of a number of classes; beyond the largest float, that of all classes."""
    return np.where(np.isinf(count), log_size, array_api.log_or(np, count, -np.inf))


def _below(log_c: Floats, log_unlisted: Floats, log_rest: Floats) -> NDArray[np.bool_]:
    """Is a confidence below rest / unlisted? Never if nothing is left over, or infinitely many classes share it."""
    open_ended = np.isinf(log_unlisted)
    count = np.where(open_ended, 0.0, log_unlisted)
    below: NDArray[np.bool_] = ~open_ended & (log_rest > -np.inf) & (log_c + count < log_rest)
    return below
