"""What becomes of scored cases: added up, kept side by side, or both."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist.annotations import clusters_in_order, filled, groups_of, in_time, require_few_groups, weights_of
from toplist.io.batches import Batch
from toplist.io.optional import need
from toplist.io.temporary import room
from toplist.ranking.panels import Panel, one_if_alike, side_by_side
from toplist.sheets import Sheet
from toplist.streaming import Plan, Sink
from toplist.tally import Grouping, Tally, merge, tally

S = TypeVar("S", bound=Sink)
T = TypeVar("T", bound=Sink)


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
            weights=None if plan.weight is None else weights_of(truth, plan.weight),
            groups=None if plan.by is None else self._groups(truth.extra[plan.by]),
            clusters=None if clusters is None else groups_of(filled(truth, clusters, "cluster")),
        )

    def _groups(self, column: Any) -> Grouping:
        found = groups_of(column)
        require_few_groups(found.keys, self.plan.by)
        return found

    def add(self, made: dict[Hashable, Tally]) -> None:
        """See `streaming.Sink`."""
        self.tallies = merge(self.tallies, made)
        require_few_groups(self.tallies, self.plan.by)


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
            "weight": None if plan.weight is None else weights_of(truth, plan.weight),
            "unit": None if unit is None else filled(truth, unit, "cluster" if plan.order is None else "time"),
            "by": None if plan.by is None else truth.extra[plan.by],
        }
        return side_by_side(sheets, present), columns

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        scores, columns = made
        self.shape = scores.shape[1:]
        with room():
            self.file.write(scores.tobytes())
        for name, column in columns.items():
            if column is not None:
                self.columns[name].append(column)

    def panel(self) -> Panel:
        """All cases, side by side."""
        with room():
            self.file.flush()
        found = self.columns
        by = groups_of(_whole(found["by"])) if found["by"] else None
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
        return clusters_in_order(whole) if self.plan.order is None else in_time(whole, self.plan.order)


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
