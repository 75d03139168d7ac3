"""What becomes of scored cases: added up, kept side by side, or both."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist.errors import AlignmentError, FileError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, numbers, plain
from toplist.io.optional import need
from toplist.io.showing import shown
from toplist.ranking.panels import Panel, one_if_alike, side_by_side
from toplist.sheets import Sheet
from toplist.streaming import Plan, Sink
from toplist.tally import Grouping, Tally, merge, tally

S = TypeVar("S", bound=Sink)
T = TypeVar("T", bound=Sink)
_BLANK = "(blank)"


@dataclass(slots=True)
class Adding(Sink):
    """A sink that adds up."""

    plan: Plan
    tallies: dict[Hashable, Tally] = field(default_factory=dict)

    def make(
        self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]
    ) -> dict[Hashable, Tally]:
        """See `streaming.Sink`."""
        plan = self.plan
        clusters = None if plan.cluster is None or plan.missing == "pairwise" else plan.cluster
        return tally(
            sheets,
            present=present,
            weights=None if plan.weight is None else _weights(truth, plan.weight),
            groups=None if plan.by is None else _groups(truth.extra[plan.by]),
            clusters=None if clusters is None else _groups(truth.extra[clusters]),
        )

    def add(self, made: dict[Hashable, Tally]) -> None:
        """See `streaming.Sink`."""
        self.tallies = merge(self.tallies, made)


class Keeping(Sink):
    """A sink that keeps every score, in the order of the truth, in a file that has no name."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.file = tempfile.TemporaryFile(prefix="toplist-")  # noqa: SIM115  lives as long as this
        self.shape: tuple[int, ...] = ()
        self.columns: dict[str, list[Any]] = {"empty": [], "weight": [], "unit": [], "by": []}

    def __del__(self) -> None:
        self.file.close()  # what a panel maps of it stays

    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`."""
        plan, unit = self.plan, self.plan.order or self.plan.cluster
        columns = {
            "empty": _empty(sheets, present),
            "weight": None if plan.weight is None else _weights(truth, plan.weight),
            "unit": None if unit is None else truth.extra[unit] if plan.order is None else moments_of(truth, unit),
            "by": None if plan.by is None else truth.extra[plan.by],
        }
        return side_by_side(sheets, present), columns

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        scores, columns = made
        self.shape = scores.shape[1:]
        self.file.write(scores.tobytes())
        for name, column in columns.items():
            if column is not None:
                self.columns[name].append(column)

    def panel(self) -> Panel:
        """All cases, side by side."""
        self.file.flush()
        found = self.columns
        by = _groups(_whole(found["by"])) if found["by"] else None
        return Panel(
            np.memmap(self.file, np.float64, "r").reshape(-1, *self.shape),
            one_if_alike(found["empty"]),
            np.concatenate(found["weight"]) if found["weight"] else None,
            self._units(),
            self.plan.ordered,
            None if by is None or by.codes is None else by.codes.astype(np.int64),
            () if by is None else tuple(by.keys),
        )

    def _units(self) -> NDArray[np.int64] | None:
        parts = self.columns["unit"]
        if not parts:
            return None
        whole = _whole(parts)
        return _sorted_codes(whole) if self.plan.order is None else in_time(whole, self.plan.order)


@dataclass(frozen=True, slots=True)
class Both(Sink, Generic[S, T]):
    """Two sinks in one."""

    one: S
    other: T

    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`."""
        return self.one.make(truth, sheets, present), self.other.make(truth, sheets, present)

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        self.one.add(made[0])
        self.other.add(made[1])


def _empty(sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """What the empty list scores, from a predictor that has the case: it is the same for all who have it."""
    first: NDArray[np.float64] = sheets[0].empty.T
    if not present or first.strides[0] == 0:
        return first
    out = first.copy()
    for sheet, there in zip(sheets[1:], present[1:], strict=True):
        at = there & ~present[0]
        out[at] = sheet.empty.T[at]
    return out


def _whole(parts: list[Any]) -> Any:
    return need("pyarrow").chunked_array(parts).combine_chunks()


def moments_of(truth: Batch, name: str) -> Any:
    """When each case was, with no blank among them."""
    column = plain(truth.extra[name])
    blank = as_numpy(_is_blank(column))
    if blank.any():
        at = int(np.argmax(blank))
        raise FileError(
            truth.source, f"there is no value in {shown(name)}, which says the order.", row=int(truth.rows[at])
        )
    return column


def _is_blank(column: Any) -> Any:
    """Nothing, NaN, or text that says no more."""
    types, pc = need("pyarrow").types, need("pyarrow.compute")
    nothing = column.is_null(nan_is_null=True)
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return nothing
    said = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    empty = pc.or_(pc.equal(said, ""), pc.equal(said, "nan"))
    return pc.or_(nothing, pc.fill_null(empty, True))


def in_time(column: Any, name: str) -> NDArray[np.int64]:
    """The place of each case in time: numbers and dates by size; text as numbers if all of it is, or else as text."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError(f"{shown(name)} says the order, and has lists in it, not numbers, dates or text.")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        with suppress(pa.ArrowInvalid):
            column = pc.cast(pc.utf8_trim_whitespace(column), pa.float64())
    coded = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return as_numpy(coded).astype(np.int64) - 1


def _weights(truth: Batch, name: str) -> NDArray[np.float64]:
    column = truth.extra[name]
    values = numbers(column, truth.source, truth.rows, name).astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        told = "there is no weight" if not column[at].is_valid else f"the weight is {values[at]:g}"
        raise FileError(truth.source, f"{told}: weights are numbers, none below zero.", row=int(truth.rows[at]))
    return values


def _sorted_codes(column: Any) -> NDArray[np.int64]:
    """The clusters of cases as numbers, in the order of their names: which row comes first does not show."""
    found, types = _groups(column), need("pyarrow").types
    if found.codes is None:
        return np.zeros(len(column), np.int64)
    names = np.array(found.keys, dtype=np.str_)
    if types.is_integer(column.type) or types.is_floating(column.type):
        names = np.array([math.inf if name == _BLANK else float(str(name)) for name in found.keys])
    ranks = np.empty(len(names), np.int64)
    ranks[np.argsort(names, kind="stable")] = np.arange(len(names))
    return ranks[found.codes]


def _groups(column: Any) -> Grouping:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError("groups and clusters are columns of text or numbers, not of lists.")
    text = pc.fill_null(pc.cast(column, pa.string()), _BLANK).dictionary_encode()
    return Grouping(text.dictionary.to_pylist(), as_numpy(text.indices).astype(np.int32))
