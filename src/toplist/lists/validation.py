"""Validation of lists, once, with the requested repairs; checked lists are flat columns with rest mass and flags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Blanks, Duplicates, Floats, Scale
from toplist.core import flags, kernel
from toplist.core.array_api import log_or
from toplist.core.kernel import Rows
from toplist.core.validity import SMALL, any_too_small, doubles, gather, inspect, largest_valid, last_places, too_small
from toplist.errors import CaseError, ShapeError, TopListError
from toplist.lists.error_messages import SENTINEL, bad_case, complain, first_bad
from toplist.lists.space import ClassSpace


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
        rows = exponentiate(rows)
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
    if rows.log_confidences is not None:
        return _normalize_in_logs(rows, rows.log_confidences, bad)
    sizes, t = np.diff(rows.offsets), doubles(rows)
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


def _normalize_in_logs(rows: Rows, logs: NDArray[np.float64], bad: NDArray[np.bool_]) -> Rows:
    """The same where the mass itself may be too small to be a number."""
    log_mass = row_log_sums(logs, rows.offsets)
    if rows.log_rest is not None:
        log_mass = np.logaddexp(log_mass, rows.log_rest)
    bad = bad & (log_mass > -np.inf)
    scale = np.where(bad, log_mass, 0.0)
    sizes = np.diff(rows.offsets)
    logs = logs - np.repeat(scale, sizes)
    t = np.where(np.repeat(bad, sizes), np.exp(logs), doubles(rows))
    return keep_logs(
        replace(
            rows,
            confidences=t,
            log_rest=None if rows.log_rest is None else rows.log_rest - scale,
            precision=rows.bits,
        ),
        logs,
    )


def _sum_duplicates(rows: Rows, _: NDArray[np.bool_]) -> Rows:
    if rows.classes is None:
        return rows
    t, classes, logs = doubles(rows), rows.classes, rows.log_confidences
    case = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))
    order = np.lexsort((np.arange(len(t)), classes, case))
    new = np.ones(len(t), dtype=bool)
    new[1:] = (case[order][1:] != case[order][:-1]) | (classes[order][1:] != classes[order][:-1])
    starts = np.flatnonzero(new)
    sums = np.add.reduceat(t[order], starts) if len(t) else t
    first = order[new]
    back = np.argsort(first, stable=True)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(case[first], minlength=len(rows)))))
    made = replace(
        rows,
        offsets=offsets,
        classes=classes[first[back]],
        confidences=sums[back],
        precision=rows.bits,
        shown=_shown_of_sums(rows, offsets),
    )
    return made if logs is None else keep_logs(made, np.logaddexp.reduceat(logs[order], starts)[back])


def _shown_of_sums(rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """What sums of entries may be off by, if every entry that went was added to one of those that stayed."""
    if rows.shown is None:
        return None
    gone = np.diff(rows.offsets) - np.diff(offsets)
    return rows.shown * np.stack([1.0 + gone, np.ones(len(rows))], axis=1)


def exponentiate(rows: Rows) -> Rows:
    """Rows whose confidences were given by their logarithms; what rounds these off is a share of the confidences."""
    logs, shown = rows.confidences, _shown(rows)
    if rows.precision is not None:
        shown = np.full((len(rows), 2), [16 * 2.0**-rows.precision, 0.0])  # of a logarithm down to -16
    if shown is not None:
        shown = np.stack([np.zeros(len(rows)), np.expm1(np.minimum(shown[:, 0], 1.0))], axis=1)
    return keep_logs(replace(rows, confidences=np.exp(logs), shown=shown), logs)


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


def keep_logs(rows: Rows, logs: NDArray[Any]) -> Rows:
    """Rows with the logarithms of their confidences beside them, if any confidence is too small to be a number."""
    needed = any_too_small(logs, rows.confidences.dtype)
    return replace(rows, log_confidences=logs.astype(np.float64, copy=False) if needed else None)


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
    def rest(self) -> Floats:
        """The mass that each case leaves unlisted."""
        scaled = self.scaled
        return np.where(scaled, 0.0, self.signed_rest) if scaled.any() else self.signed_rest.copy()

    @property
    def normalized(self) -> Floats:
        """The confidences as they are scored."""
        scale = np.where(self.scaled, 1.0 - self.signed_rest, 1.0)
        t: Floats = doubles(self.rows) / np.repeat(scale, self.sizes)
        return t

    @property
    def normalized_logs(self) -> Floats | None:
        """Their logarithms, where these are kept."""
        logs = self.rows.log_confidences
        if logs is None:
            return None
        scaled: Floats = logs - np.repeat(np.log1p(np.where(self.scaled, -self.signed_rest, 0.0)), self.sizes)
        return scaled

    @property
    def small_logs(self) -> Floats | None:
        """The logarithms of confidences that are too small to be numbers, 0 for the others; None if there are none."""
        logs, own = self.normalized_logs, self.rows.log_confidences
        if logs is None or own is None:
            return None
        return np.where(too_small(own, self.rows.confidences.dtype), logs, 0.0)

    def log_outcomes(self, codes: NDArray[np.int64]) -> Floats | None:
        """The log of each outcome's confidence where that is listed and too small to be a number; 0 elsewhere."""
        logs = self.small_logs
        if logs is None:
            return None
        case = np.repeat(np.arange(len(self.rows)), self.sizes)
        own = np.flatnonzero((logs < 0) & (self.classes == codes[case]))
        out = np.zeros(len(self.rows))
        out[case[own]] = logs[own]
        return out

    def lack(self, t: Floats) -> Floats:
        """What each confidence lacks to one: where mass is divided out, the mass of the others for a large one."""
        lack = 1.0 - t
        large = (t > 0.5) & np.repeat(self.scaled, self.sizes)
        if large.any():
            others = row_sums(np.where(large, 0.0, t), self.rows.offsets)
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
            log_confidences=_some(self.rows.log_confidences, cut.keep),
        )
        return self._cut(rows, cut.rest, which)

    def repaired(self, which: int) -> CheckedColumns:
        """Valid lists on the same classes, with the padded distributions of the largest valid sublists."""
        low = (self.flags & which) != 0
        cut = largest_valid(self.rows, self.signed_rest, low)
        proxy = cut.rest / np.where(cut.unlisted > 0, cut.unlisted, np.inf)
        t = np.where(cut.keep, doubles(self.rows), np.repeat(proxy, self.sizes))
        logs = self.rows.log_confidences
        if logs is not None:
            logs = np.where(cut.keep, logs, np.repeat(log_or(np, proxy, -np.inf), self.sizes))
        left = self.rows.size - self.sizes
        few = np.isfinite(left)  # of more classes than a double counts, those that stay hold next to nothing
        rest = np.where(low, np.where(few, proxy * np.where(few, left, 0.0), cut.rest), self.signed_rest)
        log_rest = self.rows.log_rest
        if log_rest is not None:
            log_rest = np.where(low, log_or(np, rest, -np.inf), log_rest)
        return self._cut(replace(self.rows, confidences=t, log_rest=log_rest, log_confidences=logs), rest, which)

    def _cut(self, rows: Rows, signed_rest: Floats, which: int) -> CheckedColumns:
        found = np.where((self.flags & which) != 0, np.uint16(0), self.flags)
        return CheckedColumns(rows, signed_rest, found, self.repairs)

    def ordered(self) -> CheckedColumns:
        """The same lists, the most confident class first; ties keep their order."""
        rows = self.rows
        t = rows.confidences if rows.log_confidences is None else rows.log_confidences
        falling = np.ones(len(t), dtype=bool)
        falling[1:] = t[1:] <= t[:-1]
        falling[rows.offsets[:-1][self.sizes > 0]] = True
        if falling.all():
            return self
        order = np.lexsort((-t, np.repeat(np.arange(len(rows)), self.sizes)))
        logs = _some(rows.log_confidences, order)
        made = replace(rows, classes=self.classes[order], confidences=rows.confidences[order], log_confidences=logs)
        return replace(self, rows=made)

    def first(self, k: int) -> CheckedColumns:
        """The k most confident classes of each case."""
        if self.rows.classes is None and k < self.rows.size[0] and self.rows.log_confidences is None:
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
        logs = self.normalized_logs
        if logs is not None and (rest < SMALL).any():
            log_rest = self._log_rest_with(np.where(keep, -np.inf, logs), rest)
        kept = replace(
            rows,
            offsets=_offsets(row_sums(keep, rows.offsets)),
            classes=self.classes[keep],
            confidences=t[keep],
            log_rest=log_rest,
            log_confidences=_some(logs, keep),
        )
        return self._leaving(kept, rest)

    def _log_rest_with(self, dropped: Floats, rest: Floats) -> Floats:
        """The log of the rest mass when some entries join it, added up in logarithms where it is no number."""
        before = log_or(np, self.rest, -np.inf)
        if self.rows.log_rest is not None:
            before = np.where(self.scaled | (self.rest > SMALL), before, self.rows.log_rest)
        together = np.logaddexp(before, row_log_sums(dropped, self.rows.offsets))
        return np.where(rest < SMALL, together, log_or(np, rest, -np.inf))

    def _first_of_all(self, k: int) -> CheckedColumns:
        n = len(self.rows)
        codes, t, tail = kernel.select(self.rows.confidences.reshape(n, int(self.rows.size[0])), k)
        scale = 1.0 - self.signed_rest
        offsets = np.arange(n + 1, dtype=np.int64) * k
        rows = replace(self.rows, offsets=offsets, classes=codes.ravel(), confidences=(t / scale[:, None]).ravel())
        return self._leaving(rows, tail / scale)

    def _leaving(self, rows: Rows, rest: Floats) -> CheckedColumns:
        """Rows whose rest mass is known better than one minus the sum."""
        known = rows if rows.log_rest is not None else replace(rows, log_rest=log_or(np, rest, -np.inf))
        return CheckedColumns(rows, rest, inspect(known)[1], self.repairs)

    def between(self, lo: int, hi: int) -> CheckedColumns:
        """Cases lo to hi, without a copy of their entries."""
        block = self.rows.block(lo, hi)
        start, stop = block.offsets[0], block.offsets[-1]
        rows = replace(
            block,
            offsets=block.offsets - start,
            classes=None if block.classes is None else block.classes[start:stop],
            confidences=block.confidences[start:stop],
            log_confidences=_some(block.log_confidences, slice(start, stop)),
        )
        return CheckedColumns(rows, self.signed_rest[lo:hi], self.flags[lo:hi], self.repairs)

    def at(self, where: NDArray[np.intp]) -> CheckedColumns:
        """Some of the cases, in any order."""
        return CheckedColumns(gather(self.rows, where), self.signed_rest[where], self.flags[where], self.repairs)


def row_sums(values: NDArray[Any], offsets: NDArray[np.int64]) -> Floats:
    """Sum of each row of flat values; empty rows sum to zero."""
    out = np.zeros(len(offsets) - 1)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        out[filled] = np.add.reduceat(values.astype(np.float64, copy=False), offsets[:-1][filled])
    return out


def row_log_sums(logs: Floats, offsets: NDArray[np.int64]) -> Floats:
    """log(sum(exp(logs))) of each row; minus infinity for empty ones."""
    out = np.full(len(offsets) - 1, -np.inf)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        out[filled] = np.logaddexp.reduceat(logs, offsets[:-1][filled])
    return out


def _some(values: Floats | None, at: Any) -> Floats | None:
    return None if values is None else values[at]


def _offsets(sizes: Floats) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes).astype(np.int64)))
