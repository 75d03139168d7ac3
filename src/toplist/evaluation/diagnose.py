"""Diagnose one model: data quality, calibration and the decomposition of its score, in memory or from files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toplist._files import as_path
from toplist._typing import Progress
from toplist.core.arguments import as_probability, as_units, as_whole, is_several
from toplist.core.kernel import Rows
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.evaluation.arrays import given
from toplist.evaluation.diagnosis import UNNAMED, Diagnosis, TableSummary, measure
from toplist.evaluation.samples import EXACT, CaseSample, CaseSampler, sample_cases
from toplist.evaluation.stream import Collector, ScoredRows, ScoringSpec, run
from toplist.inference.settings import Inference, as_inference
from toplist.io import (
    N_CLASSES,
    OpenTable,
    Plan,
    ReadOptions,
    ReadRequest,
    as_source,
    as_tables,
    as_truth,
    check_file,
    empty_set_explained,
    filled,
    open_request,
    plan_of,
    silent,
    space_in_files,
    tell,
)
from toplist.lists import DeviceLists, TopList, TopLists
from toplist.lists.checks import BLOCKING, Issue, ListSummary, QualityCounts, repaired_kinds
from toplist.lists.checks.detect import MemoryNames
from toplist.lists.converters import is_soft, raw_rows
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs
from toplist.scoring.rules import as_rule

Checked = tuple[Diagnosis, CaseSample | None]
"""What is known of predictions before their calibration is measured, and cases with outcomes to measure it on."""


def _in_files(
    request: ReadRequest, called: str, space: Any, *, missing: str, progress: Progress, outcomes: bool
) -> Checked:
    """Check every case of a file or frame; with outcomes, and without blocking issues, read both side by side.

    Outcomes that a producer's file carries are used where no truth is given, unless `outcomes` says otherwise.
    """
    separator = request.set_separator
    known = None if space is None else space_in_files(as_space(space), separator)
    *_, source = open_request(request, known)
    unread = request.truth.data is None and not (outcomes and source.outcome is not None)
    if unread:
        tell([source])
    repairs = source.repairs
    checks = check_file(source, known, repairs, separator, progress)
    issues = checks.issues()
    many = _many(known, source, request.truth.n_classes)
    table = TableSummary(source.path, source.layout.kind, tuple(source.layout.columns), source.notes)
    reason = checks.unreadable or _unscored(issues)
    found = _checks(called, many, checks.counts, issues, checks.scorable, reason, table)
    if unread or reason:
        return found, None
    plan = plan_of(request, space, missing=missing, find=("cluster",))
    if plan.truth.layout.kind != "labels":
        raise OutcomeError(
            "calibration needs one outcome per case, not a distribution.",
            "Draw an outcome per case from it.",
        )
    with empty_set_explained(separator):
        cases = _Sampling(plan, EXACT)
        run(plan, ScoringSpec((as_rule("brier"),), ()), [cases], progress)
    issues = checks.counts.issues(repaired={*BLOCKING, *repaired_kinds(repairs)})
    many = many if plan.space is None else show_size(plan.space.size)
    return replace(found, issues=issues, classes=_classes(many), reason=""), cases.sampler.sample()


def _checks(
    called: str,
    many: str,
    counts: QualityCounts,
    issues: tuple[Issue, ...],
    scorable: ListSummary,
    reason: str = "",
    table: TableSummary | None = None,
) -> Diagnosis:
    """What the checks found; nothing is said of calibration."""
    reason = reason or _UNKNOWN
    return Diagnosis(called, counts.cases, _classes(many), dict(counts.sizes), issues, scorable, table, reason)


def _unscored(found: Sequence[Issue]) -> str:
    kinds = ", ".join(one.kind for one in found if one.blocking)
    return f"Nothing is said of calibration before this is repaired: {kinds}." if kinds else ""


def _many(space: ClassSpace | None, source: OpenTable, n_classes: str | None) -> str:
    if space is not None:
        return show_size(space.size)
    if source.names:
        return show_size(len(source.names))
    return "per case" if n_classes is not None or N_CLASSES in source.reader.schema.names else ""


class _Sampling(Collector):
    """Samples the cases of one model, and keeps nothing of their scores."""

    __slots__ = ("cluster", "sampler")

    def __init__(self, plan: Plan, limit: int) -> None:
        self.cluster, self.sampler = plan.cluster, CaseSampler(limit)

    def make(self, rows: ScoredRows) -> CaseSample:
        """See `Collector`."""
        (scored,), cluster = rows.lists, self.cluster
        truth = scored.truth
        clusters = None if cluster is None else filled(truth, cluster, "cluster")
        return CaseSample.of(scored.lists, scored.y, truth.rows, clusters, truth.source)

    def add(self, made: CaseSample) -> None:
        """See `Collector`."""
        self.sampler.add(made)


MISSING: Final = ("error", "common")
SEVERAL: Final = "a number of classes per case"
_UNKNOWN = "No outcomes were given, so nothing is said of calibration."


def diagnose(
    model: Any,
    truth: Any = None,
    *,
    space: Any = None,
    name: str | None = None,
    missing: str = "error",
    band_level: float = 0.9,
    draws: int = 199,
    inference: Inference | float = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Diagnosis:
    """Diagnose one model: data quality and, with outcomes, calibration and what its score is made of.

    Predictions that cannot be scored are checked all the same.

    Parameters
    ----------
    model : predictions or Source
        Lists, or anything that makes some: an (n, m) array, classes and confidences as a pair, dicts, labels, a sparse
        matrix, in the order of the outcomes. Or a file or a dataframe.
    truth : Truth, path, table or array-like, optional
        One outcome per case. Outcomes of cases that belong together may depend on each other: with the `cluster` of a
        `Truth`, the test, the differences and the calibration error go by clusters. "same", or None where a producer's
        file carries outcomes, takes those of the predictions.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are.
    name : str, optional
        What the model is called; by default the name of its file.
    missing : {"error", "common"}, default "error"
        What to do about cases that only one of the two files has: refuse them, or leave them out.
    band_level : float, default 0.9
        The level of the consistency band around the reliability curve.
    draws : int, default 199
        Outcomes drawn for the band and for the Monte Carlo test of calibration.
    inference : Inference or float, default Inference()
        The level of the intervals, and the seed of what is drawn.
    read : ReadOptions, default ReadOptions()
        How files and dataframes are read, where a `Source` does not say otherwise.
    progress : callable, optional
        Called with what is being done, the rows done so far, and the number of rows where it is known.

    Returns
    -------
    Diagnosis
        Issues of the data, the reliability curve, the test, the decomposition of the score.

    Raises
    ------
    TopListError
        If something cannot be read or aligned.

    Examples
    --------
    >>> lists = TopLists.from_topk([[0]] * 200, [[0.9]] * 200, 3)
    >>> found = diagnose(lists, [0] * 140 + [1] * 60)
    >>> found.miscalibrated, found.verdict[:13]
    (True, 'Overconfident')
    """
    asked, source, about = as_inference(inference), as_source(model), as_truth(truth)
    asked.require_default("diagnose", "method", "horizon", "min_cases")
    band_level, draws = as_probability(band_level, "band_level"), as_whole(draws, "draws", 1)
    if missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    for what in ("weight", "group", "time"):
        if given(getattr(about, what)) is not None:
            raise TopListError(f"{what} has no effect on diagnose, where every case counts alike.")
    called = _name(source.data) if name is None else str(name)
    request = _one_model(ReadRequest.of({called: source}, about, read), called)
    found, sample = _checked(request, called, space, missing, progress)
    found = replace(found, level=asked.level)
    if sample is None:
        return found
    return replace(found, **measure(sample, level=asked.level, band_level=band_level, draws=draws, seed=asked.seed))


def check(
    model: Any,
    *,
    space: Any = None,
    name: str | None = None,
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Diagnosis:
    """The data quality of one model, as `diagnose` has it, whatever outcomes its file carries."""
    source = as_source(model)
    called = _name(source.data) if name is None else str(name)
    request = _one_model(ReadRequest.of({called: source}, None, read), called)
    found, _ = _checked(request, called, space, "error", progress, outcomes=False)
    return found


def _checked(
    request: ReadRequest,
    called: str,
    space: Any,
    missing: str,
    progress: Progress | None,
    *,
    outcomes: bool = True,
) -> Checked:
    """Predictions in memory or in files, after the checks."""
    tables = as_tables(request, space)
    if tables is None:
        request.require_memory()
        return _in_memory(request, called, space)
    return _in_files(tables, called, space, missing=missing, progress=progress or silent, outcomes=outcomes)


def _one_model(request: ReadRequest, name: str) -> ReadRequest:
    """The predictions of one model, and one list as lists of one case."""
    model, y = request.models[name], request.truth.data
    if isinstance(model, DeviceLists):
        raise TopListError("lists on a device cannot be diagnosed: bring classes and confidences to the host first.")
    if isinstance(model, Mapping) and not request.options[name].names_producer:
        raise TopListError("one model at a time: diagnose each entry of the mapping by itself.")
    if isinstance(model, TopList):
        return request.with_data({name: model.batch}, None if y is None else [y])
    return request


def _name(predictions: Any) -> str:
    return as_path(predictions).name if isinstance(predictions, str | os.PathLike) else UNNAMED


def _classes(many: str) -> str:
    if many == "per case":
        return SEVERAL
    return f"{many} classes" if many else "an unknown number of classes"


def _in_memory(request: ReadRequest, name: str, space: Any) -> Checked:
    """Check predictions in memory; with outcomes, and without blocking issues, hold the cases."""
    predictions, y, repairs = request.models[name], request.truth.data, request.repairs[name]
    clusters = given(request.truth.cluster)
    rows, known = raw_rows(predictions, space, scale=repairs.scale)
    declared = isinstance(predictions, TopLists) or space is not None or known.size != math.inf
    many = "per case" if known.per_case else show_size(known.size) if declared else ""
    try:
        lists = predictions if isinstance(predictions, TopLists) else _admitted(rows, known, repairs)
    except TopListError as error:
        counts = QualityCounts.of(rows, known, scale=repairs.scale)
        issues = counts.issues()
        if not any(one.blocking for one in issues):
            raise
        return _checks(name, many, counts, issues, ListSummary(), str(error)), None
    sample = None
    if y is not None:
        if not declared:
            raise SpaceError(
                "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...])."
            )
        _require_one_each(lists, y)
        units = None if clusters is None else as_units(clusters, len(lists))
        sample = sample_cases(lists, y, units, limit=EXACT)
    names = MemoryNames(lists.space, lists.ids, y)
    if isinstance(predictions, TopLists):
        counts = QualityCounts.of(lists.checked.rows, lists.space, names=names)
    else:
        counts = QualityCounts.of(rows, known, scale=repairs.scale, names=names)
    issues = counts.issues(repaired={*BLOCKING, *repaired_kinds(repairs)})
    found = _checks(name, many, counts, issues, ListSummary.of(lists))
    return (found if sample is None else replace(found, reason="")), sample


def _admitted(rows: Rows, space: ClassSpace, repairs: Repairs) -> TopLists:
    if rows.classes is None:
        return TopLists._validated_whole(rows, space, None, replace(repairs, duplicates="error"))
    return TopLists._validated(rows, space, None, repairs)  # codes, also where labels are numbers


def _require_one_each(lists: TopLists, y: Any) -> None:
    if hasattr(y, "__len__") and is_several(y) and not is_soft(y, lists.space) and len(y) != len(lists):
        raise ShapeError(f"{len(y):,} outcomes for {len(lists):,} cases.", "Give one outcome per case.")
