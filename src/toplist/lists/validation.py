"""Validation of lists, once, with the requested repairs; checked lists are flat columns with rest mass and flags.

A list is valid if no listed confidence is below the proxy, the share of the rest mass that each unlisted class
gets (paper, section 3). Removing the smallest confidence until that holds leaves the one largest valid sublist.

Differences that rounding explains do not make a list invalid: `array_api.beyond` is the rule, and `inspect` here uses
in addition the decimals that the text of a file shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Blanks, Duplicates, Floats, Scale
from toplist.core import array_api, flags, kernel
from toplist.core.array_api import log_or
from toplist.core.kernel import Rows
from toplist.errors import CaseError, ShapeError, TopListError
from toplist.lists.error_messages import SENTINEL, bad_case, complain, first_bad
from toplist.lists.space import ClassSpace

SMALL: Final = 1e-290  # masses below this are better known by their logarithms
_SIX_DECIMALS: Final = 4.9e-7  # less than half a unit of the sixth
UNDERFLOW: Final = "underflow to zero"  # among repairs: a probability below the smallest number is zero
_SINGLE: Final = math.log(1e-37)  # below this float32 loses digits


@dataclass(frozen=True, slots=True)
class Sublists:
    """For every listed class whether it stays; for every case what is then left over, and for how many classes."""

    keep: NDArray[np.bool_]
    rest: Floats
    log_rest: Floats | None  # where the producer gave it
    unlisted: Floats


def inspect(rows: Rows) -> tuple[Floats, NDArray[np.uint16], int]:
    """See `kernel.inspect`; lists that the rounding of their text explains are not invalid."""
    signed_rest, found, seen = kernel.inspect(rows)
    if rows.shown is not None and seen & flags.INVALID:
        _forgive(rows, rows.shown, signed_rest, found)
        seen = int(np.bitwise_or.reduce(found))
    return signed_rest, found, seen


def _forgive(rows: Rows, shown: Floats, signed_rest: Floats, found: NDArray[np.uint16]) -> None:
    """Take the mark of invalidity from lists that are valid within the rounding that their text shows.

    Numbers of more than six decimals were not cut at a decimal, but at a significant digit; with up to nine of these
    they may come from a float32, and are rounded at least as that is.
    """
    low = np.flatnonzero(found & flags.INVALID)
    some, (amount, share), rest = gather(rows, low), shown[low].T, signed_rest[low]
    t, starts, sizes = some.confidences.astype(np.float64), some.offsets[:-1], np.diff(some.offsets)
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
    cases = np.flatnonzero(which)
    for at, part in kernel.by_length(gather(rows, cases)):
        here = cases[at]
        where = rows.offsets[here][:, None] + np.arange(part.confidences.shape[1])
        log_rest = array_api.log_or(np, rest[here], -np.inf) if part.log_rest is None else part.log_rest
        keep[where], rest[here], unlisted[here] = array_api.cut(
            np, part.confidences.astype(np.float64), unlisted[here], part.log_size, rest[here], log_rest
        )
        if given is not None:
            given[here] = array_api.log_or(np, rest[here], log_rest)
    return Sublists(keep, rest, given, unlisted)


def gather(rows: Rows, at: NDArray[Any]) -> Rows:
    """Some of the rows, in any order."""
    sizes = rows.offsets[1:][at] - rows.offsets[:-1][at]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    where = np.repeat(rows.offsets[:-1][at] - offsets[:-1], sizes) + np.arange(offsets[-1])
    classes = None if rows.classes is None else rows.classes[where]
    shown = None if rows.shown is None else rows.shown[at]
    return Rows(offsets, classes, rows.confidences[where], *rows.per_case(at), rows.precision, shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Repairs that the caller asks for by name. Nothing is repaired otherwise."""

    scale: Scale = "probability"
    normalize: bool = False
    duplicates: Duplicates = "error"
    blanks: Blanks = "error"  # of files and frames: a class without a confidence, or a confidence without a class

    def __post_init__(self) -> None:
        if self.scale not in ("probability", "percent", "log"):
            raise TopListError(f'scale is "probability", "percent" or "log", not {self.scale!r}.')
        if not isinstance(self.normalize, bool):
            raise TopListError(f"normalize is True or False, not {self.normalize!r}.")
        if self.duplicates not in ("error", "sum"):
            raise TopListError(f'duplicates are an "error" or a "sum", not {self.duplicates!r}.')
        if self.blanks not in ("error", "drop"):
            raise TopListError(f'blanks are an "error", or one may "drop" them, not {self.blanks!r}.')


def validate(rows: Rows, space: ClassSpace, *, ids: Any, repairs: Repairs) -> CheckedColumns:
    """Check every value of every row, or raise the error that names the first bad case."""
    _check_shapes(rows, space, ids)
    counts: dict[str, int] = {}
    if repairs.scale == "log":
        _refuse_sentinels(rows, space, ids)
        logs, rows = rows, exponentiate(rows)
        counts |= underflows(logs, rows)
    elif repairs.scale == "percent":
        rows = from_percent(rows)
    if repairs.scale != "probability":
        counts[f"scale: {repairs.scale}"] = len(rows)
    signed_rest, found, seen = inspect(rows)
    for bits, name, wanted, mend in (
        (flags.TINY_NEGATIVE, "rounded up to zero", True, _clip),
        (flags.TWICE, "duplicates summed", repairs.duplicates == "sum", _sum_duplicates),
        (flags.ABOVE_ONE | flags.MASS | flags.NOT_FULL, "normalized", repairs.normalize, _normalize),
    ):
        if wanted and seen & bits:
            bad = (found & bits != 0) & (found & (flags.NOT_FINITE | flags.NEGATIVE) == 0)
            counts[name] = int(np.count_nonzero(bad))
            rows = mend(rows, bad)
            signed_rest, found, seen = inspect(rows)
    if seen & flags.PROBLEMS:
        raise _complaint(rows, space, ids, found)
    return CheckedColumns(rows, signed_rest, found, counts)


def _complaint(rows: Rows, space: ClassSpace, ids: Any, found: NDArray[np.uint16]) -> CaseError:
    row, bit, more = first_bad(found)
    here = slice(rows.offsets[row], rows.offsets[row + 1])
    confidences = rows.confidences[here]
    classes = np.arange(len(confidences)) if rows.classes is None else rows.classes[here]
    log_rest = None if rows.log_rest is None else float(rows.log_rest[row])
    return complain(bit, bad_case(row, more, space, classes, confidences, ids=ids, log_rest=log_rest))


def _refuse_sentinels(rows: Rows, space: ClassSpace, ids: Any) -> None:
    """A mark such as -9999 among log-probabilities would turn into a listed zero."""
    marked = row_sums((rows.confidences <= SENTINEL) & np.isfinite(rows.confidences), rows.offsets) > 0
    if marked.any():
        raise _complaint(rows, space, ids, np.where(marked, np.uint16(flags.NEGATIVE), np.uint16(0)))


def _check_shapes(rows: Rows, space: ClassSpace, ids: Any) -> None:
    cases = len(rows)
    for name, values in (("ids", ids), ("log_rest", rows.log_rest), ("sizes", space.size if space.per_case else None)):
        if values is not None and len(values) != cases:
            raise ShapeError(f"{len(values)} {name} for {cases} cases.", "One per case.")


def _clip(rows: Rows, bad: NDArray[np.bool_]) -> Rows:
    t = rows.confidences
    near = np.repeat(bad, np.diff(rows.offsets)) & (t < 0)
    return replace(rows, confidences=np.where(near, t.dtype.type(0), t))


def _normalize(rows: Rows, bad: NDArray[np.bool_]) -> Rows:
    """Divide some rows by their mass; the others are held to the precision in which they were given, as before."""
    sizes, t = np.diff(rows.offsets), rows.confidences.astype(np.float64)
    with np.errstate(over="ignore"):
        mass = row_sums(t, rows.offsets)
        if rows.log_rest is not None:
            mass = mass + np.exp(rows.log_rest)
    if not np.isfinite(mass[bad]).all():  # weights too large to be added up
        smaller = np.where(bad, 2.0**-64, 1.0)
        log_rest = None if rows.log_rest is None else rows.log_rest + np.log(smaller)
        t = t * np.repeat(smaller, sizes)
        return _normalize(replace(rows, confidences=t, log_rest=log_rest, precision=rows.bits), bad)
    scale = np.where(bad & (mass > 0), mass, 1.0)
    return replace(
        rows,
        confidences=t / np.repeat(scale, sizes),
        log_rest=None if rows.log_rest is None else rows.log_rest - np.log(scale),
        precision=rows.bits,
        shown=None if rows.shown is None else rows.shown / np.stack([scale, np.ones(len(scale))], axis=1),
    )


def first_of_each(rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Entries in the order of their cases and classes, and which of them are the first of their class in their case."""
    codes = np.zeros(0, np.int64) if rows.classes is None else rows.classes
    case = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))
    order = np.lexsort((np.arange(len(case)), codes, case))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(case[order]) != 0) | (np.diff(codes[order]) != 0)
    return order, first


def once(rows: Rows, order: NDArray[np.intp], first: NDArray[np.bool_]) -> Rows:
    """Rows that have each class once, as it comes first."""
    kept = np.zeros(len(order), dtype=bool)
    kept[order[first]] = True
    classes = None if rows.classes is None else rows.classes[kept]
    return replace(
        rows, offsets=_offsets(row_sums(kept, rows.offsets)), classes=classes, confidences=rows.confidences[kept]
    )


def _sum_duplicates(rows: Rows, _: NDArray[np.bool_]) -> Rows:
    if rows.classes is None:
        return rows
    t = rows.confidences.astype(np.float64)
    order, first = first_of_each(rows)
    t[order[first]] = np.add.reduceat(t[order], np.flatnonzero(first)) if len(t) else t
    merged = once(replace(rows, confidences=t, precision=rows.bits), order, first)
    if rows.shown is None:
        return merged
    gone = np.diff(rows.offsets) - np.diff(merged.offsets)  # each may have been added to any of those that stayed
    return replace(merged, shown=rows.shown * np.stack([1.0 + gone, np.ones(len(rows))], axis=1))


def exponentiate(rows: Rows) -> Rows:
    """Rows whose confidences were given by their logarithms; what rounds these off is a share of the confidences.

    Below about e^-745 there is no number, and the confidence is zero: `underflows` counts it.
    """
    logs, shown, precision = rows.confidences, _shown(rows), rows.precision
    if logs.dtype == np.float32 and ((logs < _SINGLE) & (logs > -np.inf)).any():
        logs, precision = logs.astype(np.float64), rows.bits
    if rows.precision is not None:
        shown = np.full((len(rows), 2), [16 * 2.0**-rows.precision, 0.0])  # of a logarithm down to -16
    if shown is not None:
        shown = np.stack([np.zeros(len(rows)), np.expm1(np.minimum(shown[:, 0], 1.0))], axis=1)
    return replace(rows, confidences=np.exp(logs), shown=shown, precision=precision)


def underflows(logs: Rows, rows: Rows) -> dict[str, int]:
    """How many cases have a probability that is positive by its logarithm, and zero as a number; nothing if none."""
    lost = (rows.confidences == 0) & (logs.confidences > -np.inf)
    return {UNDERFLOW: int(np.count_nonzero(row_sums(lost, rows.offsets)))} if lost.any() else {}


def from_percent(rows: Rows) -> Rows:
    """Rows whose confidences were given in percent."""
    t, shown = rows.confidences, _shown(rows)
    return replace(rows, confidences=t / t.dtype.type(100), shown=None if shown is None else shown / 100)


def _shown(rows: Rows) -> NDArray[np.float64] | None:
    """What the text shows, in the units that it is in."""
    if rows.shown is None or not np.isnan(rows.shown).any():
        return rows.shown
    shown, filled = rows.shown.copy(), np.flatnonzero(np.diff(rows.offsets) > 0)
    some = gather(rows, filled)
    found = np.zeros(len(rows))
    found[filled] = last_places(some.confidences.astype(np.float64), some.offsets)
    shown[:, 0] = np.where(np.isnan(shown[:, 0]), found, shown[:, 0])
    return shown


@dataclass(frozen=True, slots=True)
class CheckedColumns:
    """Checked rows. `signed_rest` is the rest mass; a mass above one, or of a complete list, is divided out."""

    rows: Rows
    signed_rest: Floats
    flags: NDArray[np.uint16]
    repairs: dict[str, int]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each case lists."""
        return np.diff(self.rows.offsets)

    @property
    def scaled(self) -> NDArray[np.bool_]:
        """Which cases have their mass divided out."""
        scaled: NDArray[np.bool_] = (self.signed_rest < 0) | (self.rows.size == self.sizes)
        return scaled

    @property
    def rest_is_known(self) -> NDArray[np.bool_]:
        """Which cases have a rest mass that is known better than as one minus the listed mass."""
        known: NDArray[np.bool_] = (self.flags & flags.KNOWN_REST) != 0
        return known

    @property
    def rest(self) -> Floats:
        """The mass that each case leaves unlisted."""
        scaled = self.scaled
        return np.where(scaled, 0.0, self.signed_rest) if scaled.any() else self.signed_rest.copy()

    @property
    def scales(self) -> Floats:
        """What the confidences of each case are divided by."""
        return np.where(self.scaled, 1.0 - self.signed_rest, 1.0)

    @property
    def normalized(self) -> Floats:
        """The confidences as they are scored."""
        t: Floats = self.rows.confidences / np.repeat(self.scales, self.sizes)
        return t

    def lack(self, t: Floats) -> Floats:
        """What each confidence lacks to one: for a large one the mass of all others, where that is more accurate.

        It is where the mass is divided out, and where the rest mass is known better than as one minus the listed mass.
        """
        lack = 1.0 - t
        large = (t > 0.5) & np.repeat(self.scaled | self.rest_is_known, self.sizes)
        if large.any():
            others = row_sums(np.where(large, 0.0, t), self.rows.offsets) + self.rest
            lack[large] = np.repeat(others, self.sizes)[large]
        return lack

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, spelled out where they are all of them."""
        if self.rows.classes is not None:
            return self.rows.classes
        return np.tile(np.arange(int(self.rows.size[0]), dtype=np.int32), len(self.rows))

    def any(self, which: int) -> bool:
        """Does any list have a flag?"""
        return bool((self.flags & which).any())

    def valid(self, which: int) -> CheckedColumns:
        """The largest valid sublists of the lists with a flag, `BELOW` or `INVALID`."""
        cut = largest_valid(self.rows, self.signed_rest, (self.flags & which) != 0)
        rows = replace(
            self.rows,
            offsets=_offsets(row_sums(cut.keep, self.rows.offsets)),
            classes=self.classes[cut.keep],
            confidences=self.rows.confidences[cut.keep],
            log_rest=cut.log_rest,
        )
        return self._cut(rows, cut.rest, which)

    def repaired(self, which: int) -> CheckedColumns:
        """Valid lists on the same classes, with the padded distributions of the largest valid sublists."""
        low = (self.flags & which) != 0
        cut = largest_valid(self.rows, self.signed_rest, low)
        proxy = cut.rest / np.where(cut.unlisted > 0, cut.unlisted, np.inf)
        t = np.where(cut.keep, self.rows.confidences.astype(np.float64), np.repeat(proxy, self.sizes))
        left = self.rows.size - self.sizes
        few = np.isfinite(left)  # of more classes than a double counts, those that stay hold next to nothing
        rest = np.where(low, np.where(few, proxy * np.where(few, left, 0.0), cut.rest), self.signed_rest)
        log_rest = self.rows.log_rest
        if log_rest is not None:
            log_rest = np.where(low, log_or(np, rest, -np.inf), log_rest)
        return self._cut(replace(self.rows, confidences=t, log_rest=log_rest), rest, which)

    def _cut(self, rows: Rows, signed_rest: Floats, which: int) -> CheckedColumns:
        found = np.where((self.flags & which) != 0, self.flags & np.uint16(flags.KNOWN_REST), self.flags)
        return CheckedColumns(rows, signed_rest, found, self.repairs)

    def ordered(self) -> CheckedColumns:
        """The same lists, the most confident class first; ties keep their order."""
        rows, t = self.rows, self.rows.confidences
        falling = np.ones(len(t), dtype=bool)
        falling[1:] = t[1:] <= t[:-1]
        falling[rows.offsets[:-1][self.sizes > 0]] = True
        if falling.all():
            return self
        order = np.lexsort((-t, np.repeat(np.arange(len(rows)), self.sizes)))
        return replace(self, rows=replace(rows, classes=self.classes[order], confidences=t[order]))

    def first(self, k: int) -> CheckedColumns:
        """The k most confident classes of each case."""
        if self.rows.classes is None and k < self.rows.size[0]:
            return self._first_of_all(k)
        ordered = self.ordered()
        place = np.arange(len(ordered.rows.confidences)) - np.repeat(ordered.rows.offsets[:-1], ordered.sizes)
        return ordered._keep(place < k)

    def reaching(self, mass: float) -> CheckedColumns:
        """As many of the most confident classes as it takes to list `mass`."""
        ordered = self.ordered()
        t = ordered.normalized
        keep = np.ones(len(t), dtype=bool)
        for at, part in kernel.by_length(ordered.rows):
            where = ordered.rows.offsets[at][:, None] + np.arange(part.confidences.shape[1])
            keep[where] = np.cumsum(t[where], axis=1) - t[where] < mass - 1e-12
        return ordered._keep(keep)

    def _keep(self, keep: NDArray[np.bool_]) -> CheckedColumns:
        """Some of the entries of lists in order; what is dropped joins the rest mass."""
        t, rows = self.normalized, self.rows
        dropped = row_sums(np.where(keep, 0.0, t), rows.offsets)
        rest = self.rest + dropped
        log_rest = rows.log_rest
        if log_rest is not None:
            log_rest = np.where(dropped > 0, log_or(np, rest, -np.inf), log_rest)
        kept = replace(
            rows,
            offsets=_offsets(row_sums(keep, rows.offsets)),
            classes=self.classes[keep],
            confidences=t[keep],
            log_rest=log_rest,
        )
        return self._leaving(kept, rest, (dropped > 0) | self.scaled | self.rest_is_known)

    def _first_of_all(self, k: int) -> CheckedColumns:
        n = len(self.rows)
        codes, t, tail = kernel.select(self.rows.confidences.reshape(n, int(self.rows.size[0])), k)
        scale = 1.0 - self.signed_rest
        offsets = np.arange(n + 1, dtype=np.int64) * k
        rows = replace(self.rows, offsets=offsets, classes=codes.ravel(), confidences=(t / scale[:, None]).ravel())
        return self._leaving(rows, tail / scale, np.ones(n, dtype=bool))

    def _leaving(self, rows: Rows, rest: Floats, known: NDArray[np.bool_]) -> CheckedColumns:
        """Rows with this rest mass; which of them know it better than as one minus the listed mass."""
        given = rows if rows.log_rest is not None else replace(rows, log_rest=log_or(np, rest, -np.inf))
        found = inspect(given)[1]
        return CheckedColumns(rows, rest, np.where(known, found, found & ~np.uint16(flags.KNOWN_REST)), self.repairs)

    def between(self, lo: int, hi: int) -> CheckedColumns:
        """Cases lo to hi, without a copy of their entries."""
        block = self.rows.block(lo, hi)
        start, stop = block.offsets[0], block.offsets[-1]
        rows = replace(
            block,
            offsets=block.offsets - start,
            classes=None if block.classes is None else block.classes[start:stop],
            confidences=block.confidences[start:stop],
        )
        return CheckedColumns(rows, self.signed_rest[lo:hi], self.flags[lo:hi], self.repairs)

    def at(self, where: NDArray[np.intp]) -> CheckedColumns:
        """Some of the cases, in any order."""
        return CheckedColumns(gather(self.rows, where), self.signed_rest[where], self.flags[where], self.repairs)


def over_rows(reduce: np.ufunc, values: NDArray[Any], offsets: NDArray[np.int64], empty: float) -> NDArray[Any]:
    """A reduction of each row of flat values, such as `np.maximum`, and a number for empty rows."""
    out = np.full(len(offsets) - 1, empty, values.dtype)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        out[filled] = reduce.reduceat(values, offsets[:-1][filled])
    return out


def row_sums(values: NDArray[Any], offsets: NDArray[np.int64]) -> Floats:
    """Sum of each row of flat values; empty rows sum to zero."""
    return over_rows(np.add, values.astype(np.float64, copy=False), offsets, 0.0)


def row_log_sums(logs: Floats, offsets: NDArray[np.int64]) -> Floats:
    """log(sum(exp(logs))) of each row; minus infinity for empty ones."""
    return over_rows(np.logaddexp, logs, offsets, -np.inf)


def _offsets(sizes: Floats) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes).astype(np.int64)))
