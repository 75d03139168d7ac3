"""Validation of lists, once; the requested repairs are applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Blanks, Duplicates, Scale
from toplist.core import flags
from toplist.core.kernel import Rows
from toplist.core.validity import doubles, inspect
from toplist.errors import CaseError, ShapeError, TopListError
from toplist.lists.columns import CheckedColumns, row_log_sums, row_sums
from toplist.lists.error_messages import SENTINEL, bad_case, complain, first_bad
from toplist.lists.flatten import exponentiate, from_percent, keep_logs
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
