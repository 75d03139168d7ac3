"""Predictions in files and frames: looked at as they come, then read with the truth, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.annotations import filled
from toplist.diagnosis import Look, Oddity
from toplist.diagnosis.oddities import SERIOUS, seen_to
from toplist.diagnosis.oddities.classes import Classes
from toplist.errors import FileError, OutcomeError, TopListError
from toplist.evaluation import Scoring, Seen, require_all_columns
from toplist.evidence.looking import Looking
from toplist.evidence.naming import for_batch
from toplist.holding import Held, Holding
from toplist.io.batches import Batch
from toplist.io.coding import as_sets, empty_set_explained
from toplist.io.options import ReadOptions
from toplist.io.sources import Source, tell
from toplist.lists.door import Repairs
from toplist.planning import opened, plan_of
from toplist.rules import as_rule
from toplist.sheets import Sheet
from toplist.space import ClassSpace, as_space, show_size
from toplist.streaming import Plan, Progress, Sink, run


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns are what, where their names do not say it."""

    options: ReadOptions = field(default_factory=ReadOptions)
    sizes: str | None = None
    clusters: Any = None
    missing: str = "error"

    @property
    def sets(self) -> str | None:
        """The delimiter of label sets."""
        return self.options.sets


@dataclass(frozen=True, slots=True)
class Found:
    """What a file shows: its look, what is odd, and the cases with their outcomes, or why there are none."""

    look: Look
    oddities: tuple[Oddity, ...]
    classes: str
    held: Held | None
    why: str


def read(
    what: Any, y: Any, space: Any, repairs: Repairs, columns: Columns, name: str, limit: int, progress: Progress
) -> Found:
    """Look at every case as it comes; with outcomes, and where nothing stands against it, read them side by side."""
    known = None if space is None else as_sets(as_space(space), columns.sets)
    *_, source = opened({name: what}, y, known, columns.options, {name: repairs})
    if y is None:
        tell([source])
    looking, stopped = _look(source, known, repairs, columns.sets, progress)
    many = _many(known, source, columns)
    found = looking.findings(repaired=seen_to(repairs))
    if stopped is not None and not any(one.serious for one in found):
        raise stopped
    if any(one.serious for one in found):
        return Found(looking.found, found, many, None, str(stopped or "") or _unscored(found))
    if y is None:
        return Found(looking.found, found, many, None, "")
    plan = plan_of(
        {name: what}, y, space, Scoring((as_rule("brier"),), ()), {name: repairs}, columns.options,
        missing=columns.missing, sizes=columns.sizes, cluster=columns.clusters, look=("cluster",),
    )  # fmt: skip
    if plan.truth.layout.kind != "labels":
        raise OutcomeError(
            "calibration is about what happened, one outcome per case, not a distribution.",
            "Draw an outcome per case from it.",
        )
    with empty_set_explained(columns.sets):
        seen, _ = run(plan, lambda: _Reading(plan, limit), progress)
    look = replace(looking.found, classes=seen.reader.classes)
    many = many if plan.space is None else show_size(plan.space.size)
    return Found(look, look.findings(repaired=SERIOUS | seen_to(repairs)), many, seen.reader.holding.held(), "")


def _look(
    source: Source, space: ClassSpace | None, repairs: Repairs, sets: str | None, progress: Progress
) -> tuple[Looking, TopListError | None]:
    """A look at every case; and what stopped it, if something did."""
    known = ClassSpace(math.inf) if space is None else space
    if space is None and source.names:
        known = ClassSpace(labels=source.names)
    looking = Looking(source, known, repairs.units, sets)
    try:
        if space is not None:
            require_all_columns(source, space)
        with empty_set_explained(sets):
            for batch in source.batches(together=True, halves=True):
                looking.at(batch)
                progress("looking", looking.found.cases, source.reader.rows)
    except FileError as error:
        return looking, error
    return looking, None


def _unscored(found: Sequence[Oddity]) -> str:
    kinds = [one.kind for one in found if one.serious]
    return f"Nothing is said of calibration before this is repaired: {', '.join(kinds)}."


def _many(space: ClassSpace | None, source: Source, columns: Columns) -> str:
    if space is not None:
        return show_size(space.size)
    if source.names:
        return show_size(len(source.names))
    return "per case" if columns.sizes is not None else ""


@dataclass(slots=True)
class _Reader:
    """Sees each batch as it is scored: holds its cases by place, and counts which classes are listed and happen."""

    local: bool  # codes mean something else in every case
    cluster: str | None  # a column of the truth
    holding: Holding
    classes: Classes = field(default_factory=Classes)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, seen: Seen) -> None:
        clusters = None if self.cluster is None else filled(seen.truth, self.cluster, "cluster")
        self.holding.add(seen.lists, seen.y, seen.truth.rows, seen.truth.source, clusters)
        if self.local:
            return
        names = for_batch(seen.batch, seen.names, seen.codes, seen.truth, seen.truth_names, seen.outcomes)
        part = Classes.of(seen.lists.admitted.rows, np.asarray(seen.y), names)
        with self._lock:
            self.classes = self.classes + part


class _Reading(Sink):
    """A sink that keeps nothing of the scores: the reader has looked over the judge's shoulder."""

    __slots__ = ("name", "reader")

    def __init__(self, plan: Plan, limit: int) -> None:
        self.name = plan.sources[0].name
        self.reader = _Reader(plan.space is None, plan.cluster, Holding(limit))

    @property
    def watchers(self) -> Mapping[str, Callable[[Seen], None]]:
        """See `streaming.Sink`."""
        return {self.name: self.reader}

    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> None:
        """See `streaming.Sink`."""

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
