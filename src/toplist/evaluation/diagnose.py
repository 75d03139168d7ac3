"""Diagnose one model: data quality, calibration, and the decomposition of its score."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_probability, as_units, as_whole, is_several
from toplist._typing import Progress
from toplist.core.kernel import Rows
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.evaluation.case_sample import EXACT, CaseSample, CaseSampler, by_place, sample_cases
from toplist.evaluation.diagnosis import UNNAMED, Diagnosis, TableSummary, measure
from toplist.evaluation.stream import Collector, ScoredBatch, ScoringSpec, run
from toplist.io.batches import Batch
from toplist.io.checks import check_file
from toplist.io.encoding import as_sets, empty_set_explained
from toplist.io.metadata import filled
from toplist.io.naming import for_batch
from toplist.io.options import ReadOptions
from toplist.io.plan import Plan, as_tables, opened, plan_of
from toplist.io.sources import OpenTable, tell
from toplist.lists import DeviceLists, TopList, TopLists
from toplist.lists.checks import BLOCKING, Issue, ListSummary, QualityCounts, repaired_kinds
from toplist.lists.checks.detect import Classes
from toplist.lists.checks.names import MemoryNames
from toplist.lists.converters import raw_rows
from toplist.lists.outcomes import as_codes, is_soft
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Blanks, Duplicates, Repairs, Units
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import as_rule


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
class Checked:
    """Predictions after the checks: their issues, and the cases with their outcomes, or the reason for none."""

    counts: QualityCounts
    issues: tuple[Issue, ...]
    scorable: ListSummary
    classes: str
    held: CaseSample | None = None
    reason: str = ""
    table: TableSummary | None = None


def read(
    what: Any, y: Any, space: Any, repairs: Repairs, columns: Columns, name: str, limit: int, progress: Progress
) -> Checked:
    """Check every case of a file or frame; with outcomes, and without blocking issues, read both side by side."""
    known = None if space is None else as_sets(as_space(space), columns.sets)
    *_, source = opened({name: what}, y, known, columns.options, {name: repairs})
    if y is None:
        tell([source])
    checks = check_file(source, known, repairs, columns.sets, progress)
    issues = checks.issues()
    reason = checks.unreadable or _unscored(issues)
    table = TableSummary(source.path, source.layout.kind, tuple(source.layout.columns))
    found = Checked(checks.counts, issues, checks.scorable, _many(known, source, columns), reason=reason, table=table)
    if y is None or reason:
        return found
    scoring = ScoringSpec((as_rule("brier"),), ())
    plan = plan_of(
        {name: what}, y, space, {name: repairs}, columns.options,
        missing=columns.missing, sizes=columns.sizes, cluster=columns.clusters, look=("cluster",),
    )  # fmt: skip
    if plan.truth.layout.kind != "labels":
        raise OutcomeError(
            "calibration is about what happened, one outcome per case, not a distribution.",
            "Draw an outcome per case from it.",
        )
    with empty_set_explained(columns.sets):
        seen, _ = run(plan, scoring, lambda: _Reading(plan, limit), progress)
    counts = replace(checks.counts, classes=seen.reader.classes)
    issues = counts.issues(repaired={*BLOCKING, *repaired_kinds(repairs)})
    many = found.classes if plan.space is None else show_size(plan.space.size)
    return replace(found, counts=counts, issues=issues, classes=many, held=seen.reader.sampler.sample())


def _unscored(found: Sequence[Issue]) -> str:
    kinds = ", ".join(one.kind for one in found if one.blocking)
    return f"Nothing is said of calibration before this is repaired: {kinds}." if kinds else ""


def _many(space: ClassSpace | None, source: OpenTable, columns: Columns) -> str:
    if space is not None:
        return show_size(space.size)
    if source.names:
        return show_size(len(source.names))
    return "per case" if columns.sizes is not None else ""


@dataclass(slots=True)
class _Reader:
    """Called with every scored batch: samples its cases, and counts which classes are listed and which are outcomes."""

    local: bool  # codes mean something else in every case
    cluster: str | None  # a column of the truth
    sampler: CaseSampler
    classes: Classes = field(default_factory=Classes)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, seen: ScoredBatch) -> None:
        clusters = None if self.cluster is None else filled(seen.truth, self.cluster, "cluster")
        self.sampler.add(seen.lists, seen.y, seen.truth.rows, seen.truth.source, clusters)
        if self.local:
            return
        names = for_batch(seen.batch, seen.names, seen.codes, seen.truth, seen.truth_names, seen.outcomes)
        part = Classes.of(seen.lists.admitted.rows, np.asarray(seen.y), names)
        with self._lock:
            self.classes = self.classes + part


class _Reading(Collector):
    """A collector that keeps nothing of the scores; its watcher samples the cases."""

    __slots__ = ("name", "reader")

    def __init__(self, plan: Plan, limit: int) -> None:
        self.name = plan.sources[0].name
        self.reader = _Reader(plan.space is None, plan.cluster, CaseSampler(limit))

    @property
    def watchers(self) -> Mapping[str, Callable[[ScoredBatch], None]]:
        """See `Collector`."""
        return {self.name: self.reader}

    def make(self, truth: Batch, sheets: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> None:
        """See `Collector`."""

    def add(self, made: Any) -> None:
        """See `Collector`."""


MISSING: Final = ("error", "common")
_UNKNOWN = "No outcomes were given, so nothing is said of calibration."


def diagnose(
    predictions: Any,
    y: Any = None,
    *,
    space: Any = None,
    name: str | None = None,
    level: float = 0.95,
    band_level: float = 0.9,
    draws: int = 199,
    seed: int = 0,
    clusters: Any = None,
    missing: str = "error",
    units: Units = "probability",
    normalize: bool = False,
    duplicates: Duplicates = "error",
    blanks: Blanks = "error",
    layout: str = "auto",
    case: str | Mapping[str, str] | None = None,
    classes: str | None = None,
    confidences: str | None = None,
    ignore: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    by_position: bool = False,
    outcome: str | None = None,
    sizes: str | None = None,
    sets: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Diagnosis:
    """What is odd about predictions and, with outcomes, how calibrated they are and what their score is made of.

    `predictions` are lists, or anything that makes some: an (n, m) array, classes and confidences as a pair, dicts,
    labels, a sparse matrix; with `y` in the same order. Or a file or frame, and then `y` is one too, and `layout`,
    `case`, `classes`, `confidences`, `outcome` and `sizes` say which columns are what. Predictions that cannot be
    scored are looked at all the same. Cases that only one of the two files has are an error, or left aside with
    missing="common". The test of calibration is a Monte Carlo test with so many `draws`.

    Outcomes of cases that belong together may depend on each other: `clusters` says what each case belongs to, one
    name per case or, for files, a column of the truth (one called cluster is found; "" is none). The test, the
    differences and the calibration error then go by clusters.

    >>> lists = TopLists.from_topk([[0]] * 200, [[0.9]] * 200, 3)
    >>> found = diagnose(lists, [0] * 140 + [1] * 60)
    >>> found.miscalibrated, found.verdict[:13]
    (True, 'Overconfident')
    """
    if isinstance(predictions, DeviceLists):
        raise TopListError("lists on a device cannot be diagnosed: bring classes and confidences to the host first.")
    if isinstance(predictions, Mapping):
        raise TopListError("one model at a time: diagnose each entry of the mapping by itself.")
    if isinstance(predictions, TopList):
        predictions, y = predictions.batch, None if y is None else [y]
    level, band_level = as_probability(level, "level"), as_probability(band_level, "band_level")
    draws, seed = as_whole(draws, "draws", 1), as_whole(seed, "seed", 0)
    if missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    if y is None and clusters is not None:
        raise TopListError("clusters say how outcomes hang together: give the outcomes too.")
    repairs = Repairs(units=units, normalize=normalize, duplicates=duplicates, blanks=blanks)
    called = _name(predictions) if name is None else str(name)
    options = ReadOptions(layout, case, classes, confidences, outcome, ignore, by_position, sets)
    tables = as_tables({called: predictions}, y, space)
    if tables is not None:
        (what,), y = tables[0].values(), tables[1]
        columns = Columns(options, sizes, clusters, missing)
        tell = progress or (lambda what, done, total: None)
        found = read(what, y, space, repairs, columns, called, EXACT, tell)
    elif blanks != "error":
        raise TopListError("blanks are about files and frames: leave out of lists in memory what is not known.")
    else:
        options.require_none("with predictions in memory")
        found = _in_memory(predictions, y, space, repairs, clusters)
    made: dict[str, Any] = {}
    if found.held is not None:
        made = measure(found.held, level=level, band_level=band_level, draws=draws, seed=seed)
    return Diagnosis(
        called,
        found.counts.cases,
        _classes(found.classes),
        dict(found.counts.sizes),
        found.issues,
        found.scorable,
        found.table,
        found.reason or (_UNKNOWN if found.held is None else ""),
        level,
        **made,
    )


def _name(predictions: Any) -> str:
    return Path(predictions).name if isinstance(predictions, str | os.PathLike) else UNNAMED


def _classes(many: str) -> str:
    if many == "per case":
        return "a number of classes per case"
    return f"{many} classes" if many else "an unknown number of classes"


def _in_memory(predictions: Any, y: Any, space: Any, repairs: Repairs, clusters: Any) -> Checked:
    """Check predictions in memory; with outcomes, and without blocking issues, hold the cases."""
    rows, known = raw_rows(predictions, space, units=repairs.units)
    declared = isinstance(predictions, TopLists) or space is not None or known.size != math.inf
    many = "per case" if known.per_case else show_size(known.size) if declared else ""
    try:
        lists = predictions if isinstance(predictions, TopLists) else _admitted(rows, known, repairs)
    except TopListError as error:
        counts = QualityCounts.of(rows, known, units=repairs.units)
        issues = counts.issues()
        if not any(one.blocking for one in issues):
            raise
        return Checked(counts, issues, ListSummary(), many, reason=str(error))
    held = codes = None
    if y is not None:
        if not declared:
            raise SpaceError(
                "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...])."
            )
        _require_one_each(lists, y)
        units = None if clusters is None else as_units(clusters, len(lists))
        held, codes = sample_cases(*by_place(lists, y), units, limit=EXACT), as_codes(y, lists)
    names = MemoryNames(lists.space, lists.ids, y)
    if isinstance(predictions, TopLists):
        counts = QualityCounts.at(lists, codes, names=names, local=known.per_case)
    else:
        counts = QualityCounts.of(rows, known, units=repairs.units, names=names, codes=codes, local=known.per_case)
    issues = counts.issues(repaired={*BLOCKING, *repaired_kinds(repairs)})
    return Checked(counts, issues, ListSummary.of(lists), many, held)


def _admitted(rows: Rows, space: ClassSpace, repairs: Repairs) -> TopLists:
    if rows.classes is None:
        return TopLists._admit_whole(rows, space, None, replace(repairs, duplicates="error"))
    return TopLists._admit(rows, space, None, repairs)  # codes, also where labels are numbers


def _require_one_each(lists: TopLists, y: Any) -> None:
    if hasattr(y, "__len__") and is_several(y) and not is_soft(y, lists.space) and len(y) != len(lists):
        raise ShapeError(f"{len(y):,} outcomes for {len(lists):,} cases.", "Give one outcome per case.")
