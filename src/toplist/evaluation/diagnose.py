"""Diagnose one model: data quality, calibration and the decomposition of its score, in memory or from files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from toplist._files import as_path
from toplist._typing import Progress
from toplist.core.arguments import as_probability, as_units, as_whole, is_several
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.evaluation.arrays import given
from toplist.evaluation.diagnosis import UNNAMED, Diagnosis, TableSummary, measure
from toplist.evaluation.samples import EXACT, CaseSample, CaseSampler, sample_cases, sample_of
from toplist.evaluation.stream import ScoringSpec, Taken, run
from toplist.inference.settings import Inference, as_inference
from toplist.io import (
    N_CLASSES,
    PER_CASE,
    ReadOptions,
    ReadRequest,
    Source,
    as_source,
    as_truth,
    check_file,
    has_tables,
    open_request,
    plan_of,
    silent,
    space_in_files,
    tell,
    with_indicators,
)
from toplist.lists import DeviceLists, TopList, TopLists
from toplist.lists.checks import BLOCKING, ListSummary, MemoryNames, QualityCounts, repaired_kinds
from toplist.lists.converters import is_soft, raw_rows
from toplist.lists.space import as_space, show_size
from toplist.scoring.rules import as_rule

MISSING: Final = ("error", "common")
SEVERAL: Final = "a number of classes per case"
_UNKNOWN: Final = "No outcomes were given, so nothing is said of calibration."

Checked = tuple[Diagnosis, CaseSample | None]
"""What is known of predictions before their calibration is measured, and cases with outcomes to measure it on."""


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
    >>> diagnosis = diagnose(lists, [0] * 140 + [1] * 60)
    >>> diagnosis.miscalibrated, diagnosis.verdict[:13]
    (True, 'Overconfident')
    """
    how, source, about = as_inference(inference), as_source(model), as_truth(truth)
    how.require_default("diagnose", "method", "horizon", "min_cases")
    band_level, draws = as_probability(band_level, "band_level"), as_whole(draws, "draws", 1)
    if missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    for what in ("weight", "group", "time"):
        if given(getattr(about, what)) is not None:
            raise TopListError(f"{what} has no effect on diagnose, where every case counts alike.")
    checked, sample = _checked(source, name, about, read, space, missing, progress)
    checked = replace(checked, level=how.level)
    if sample is None:
        return checked
    return replace(checked, **measure(sample, level=how.level, band_level=band_level, draws=draws, seed=how.seed))


def check(
    model: Any,
    *,
    space: Any = None,
    name: str | None = None,
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Diagnosis:
    """The data quality of one model, as `diagnose` has it, whatever outcomes its file carries."""
    return _checked(as_source(model), name, None, read, space, "error", progress, outcomes=False)[0]


def _checked(
    source: Source,
    name: str | None,
    truth: Any,
    read: ReadOptions,
    space: Any,
    missing: str,
    progress: Progress | None,
    *,
    outcomes: bool = True,
) -> Checked:
    """Predictions in memory or in files, after the checks; `outcomes` that a producer's file carries may be used."""
    model = source.data
    if name is None:
        name = as_path(model).name if isinstance(model, str | os.PathLike) else UNNAMED
    request = ReadRequest.of({str(name): source}, truth, read)
    if isinstance(model, DeviceLists):
        raise TopListError("lists on a device cannot be diagnosed: bring classes and confidences to the host first.")
    if isinstance(model, Mapping) and not request.options[str(name)].names_producer:
        raise TopListError("one model at a time: diagnose each entry of the mapping by itself.")
    if isinstance(model, TopList):  # a list is lists of one case
        y = request.truth.data
        request = request.with_data({str(name): model.batch}, None if y is None else [y])
    request = with_indicators(request, space)
    if has_tables(request):
        return _in_files(request, space, missing, progress or silent, outcomes=outcomes)
    request.require_memory()
    return _in_memory(request, space)


def _in_files(request: ReadRequest, space: Any, missing: str, progress: Progress, *, outcomes: bool) -> Checked:
    """Check every case of a file or frame; with outcomes, and without blocking issues, read both side by side."""
    (name,), separator = request.models, request.set_separator
    declared = None if space is None else space_in_files(as_space(space), separator)
    *_, source = open_request(request, space)
    unread = request.truth.data is None and not (outcomes and source.outcome is not None)
    if unread:
        tell([source])
    checks = check_file(source, declared, source.repairs, separator, progress)
    table = TableSummary(source.path, source.layout.kind, tuple(source.layout.columns), source.notes)
    many = ""
    if declared is not None:
        many = show_size(declared.size)
    elif source.names:
        many = show_size(len(source.names))
    elif request.truth.n_classes is not None or N_CLASSES in source.reader.schema.names:
        many = PER_CASE
    counts, issues = checks.counts, checks.issues()
    reason, kinds = checks.unreadable, ", ".join(issue.kind for issue in issues if issue.blocking)
    if kinds and not reason:
        reason = f"Nothing is said of calibration before this is repaired: {kinds}."
    reason = reason or (_UNKNOWN if unread else "")
    words, sizes = _classes(many), dict(counts.sizes)
    checked = Diagnosis(name, counts.cases, words, sizes, issues, checks.scorable, table, reason)
    if reason:
        return checked, None
    plan = plan_of(request, space, missing=missing, find=("cluster",))
    if plan.truth.layout.kind != "labels":
        raise OutcomeError(
            "calibration needs one outcome per case, not a distribution.",
            "Draw an outcome per case from it.",
        )
    sampler = CaseSampler(EXACT)
    collector = Taken(lambda rows: sample_of(rows.lists[0], plan.cluster), sampler.add)
    run(plan, ScoringSpec((as_rule("brier"),), ()), [collector], progress)
    issues = counts.issues(repaired={*BLOCKING, *repaired_kinds(source.repairs)})
    classes = checked.classes if plan.space is None else _classes(show_size(plan.space.size))
    return replace(checked, issues=issues, classes=classes), sampler.sample()


def _in_memory(request: ReadRequest, space: Any) -> Checked:
    """Check predictions in memory; with outcomes, and without blocking issues, hold the cases."""
    ((name, predictions),), y = request.models.items(), request.truth.data
    repairs, clusters = request.repairs[name], given(request.truth.cluster)
    rows, classes = raw_rows(predictions, space)
    declared = isinstance(predictions, TopLists) or space is not None or classes.size != math.inf
    words = _classes(PER_CASE if classes.per_case else show_size(classes.size) if declared else "")
    try:
        checked_before = isinstance(predictions, TopLists)  # others are codes now, also where labels are numbers
        lists = predictions if checked_before else TopLists._validated(rows, classes, None, repairs)
    except TopListError as error:
        counts = QualityCounts.of(rows, classes, scale=repairs.scale)
        checked = Diagnosis(name, counts.cases, words, dict(counts.sizes), counts.issues(), reason=str(error))
        if not checked.blocking:
            raise
        return checked, None
    sample = None
    if y is not None:
        if not declared:
            raise SpaceError(
                "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...])."
            )
        if hasattr(y, "__len__") and is_several(y) and not is_soft(y, lists.space) and len(y) != len(lists):
            raise ShapeError(f"{len(y):,} outcomes for {len(lists):,} cases.", "Give one outcome per case.")
        units = None if clusters is None else as_units(clusters, len(lists))
        sample = sample_cases(lists, y, units, limit=EXACT)
    names = MemoryNames(lists.space, lists.ids, y)
    if isinstance(predictions, TopLists):
        counts = QualityCounts.of(lists.checked.rows, lists.space, names=names)
    else:
        counts = QualityCounts.of(rows, classes, scale=repairs.scale, names=names)
    issues = counts.issues(repaired={*BLOCKING, *repaired_kinds(repairs)})
    sizes, reason = dict(counts.sizes), _UNKNOWN if sample is None else ""
    return Diagnosis(name, counts.cases, words, sizes, issues, ListSummary.of(lists), reason=reason), sample


def _classes(many: str) -> str:
    if many == PER_CASE:
        return SEVERAL
    return f"{many} classes" if many else "an unknown number of classes"
