"""One predictor under the lens."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toplist.arguments import as_probability, as_units, as_whole, is_several
from toplist.diagnosis import Look
from toplist.diagnosis.oddities import SERIOUS, seen_to
from toplist.errors import ShapeError, SpaceError, TopListError
from toplist.evidence.naming import for_lists
from toplist.examination.measuring import measure
from toplist.examination.reading import Columns, read
from toplist.examination.results import UNNAMED, Diagnosis
from toplist.holding import EXACT, Held, by_place, held
from toplist.io.options import ReadOptions
from toplist.kernel import Rows
from toplist.lists import DeviceLists, TopList, TopLists
from toplist.lists.door import Blanks, Duplicates, Repairs, Units
from toplist.lists.raw import raw_rows
from toplist.outcomes import as_codes, is_soft
from toplist.planning import as_tables
from toplist.space import ClassSpace, show_size

MISSING: Final = ("error", "common")
_UNKNOWN = "No outcomes were given, so nothing is said of calibration."
_MEASURED = (
    "calibration", "decomposition", "calibration_error", "gap", "mass_gap", "test", "tested", "clusters", "notes",
)  # fmt: skip


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
        raise TopListError("one predictor at a time: diagnose each entry of the mapping by itself.")
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
        look, oddities, many, cases, why = found.look, found.oddities, found.classes, found.held, found.why
    elif blanks != "error":
        raise TopListError("blanks are about files and frames: leave out of lists in memory what is not known.")
    else:
        options.require_none("with predictions in memory")
        look, oddities, many, cases, why = _in_memory(predictions, y, space, repairs, clusters)
    made: dict[str, Any] = {}
    if cases is not None:
        measured = measure(cases, level=level, band_level=band_level, draws=draws, seed=seed)
        made = {field: getattr(measured, field) for field in _MEASURED} | {"exact": cases.binned is None}
    elif not why:
        why = _UNKNOWN
    return Diagnosis(called, look.cases, _classes(many), dict(look.sizes), oddities, why, level, **made)


def _name(predictions: Any) -> str:
    return Path(predictions).name if isinstance(predictions, str | os.PathLike) else UNNAMED


def _classes(many: str) -> str:
    if many == "per case":
        return "a number of classes per case"
    return f"{many} classes" if many else "an unknown number of classes"


def _in_memory(
    predictions: Any, y: Any, space: Any, repairs: Repairs, clusters: Any
) -> tuple[Look, tuple[Any, ...], str, Held | None, str]:
    """The look, what is odd, how many classes, and the cases with their outcomes or why there are none."""
    rows, known = raw_rows(predictions, space, units=repairs.units)
    declared = isinstance(predictions, TopLists) or space is not None or known.size != math.inf
    many = "per case" if known.per_case else show_size(known.size) if declared else ""
    try:
        lists = predictions if isinstance(predictions, TopLists) else _admitted(rows, known, repairs)
    except TopListError as error:
        look = Look.of(rows, known, units=repairs.units)
        found = look.findings()
        if not any(one.serious for one in found):
            raise
        return look, found, many, None, str(error)
    if y is None:
        look = _look(predictions, rows, known, repairs, lists, None)
        return look, look.findings(repaired=SERIOUS | seen_to(repairs)), many, None, ""
    if not declared:
        raise SpaceError(
            "how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...])."
        )
    _require_one_each(lists, y)
    units = None if clusters is None else as_units(clusters, len(lists))
    places = by_place(lists, y)
    look = _look(predictions, rows, known, repairs, lists, y)
    return look, look.findings(repaired=SERIOUS | seen_to(repairs)), many, held(*places, units, limit=EXACT), ""


def _look(predictions: Any, rows: Rows, space: ClassSpace, repairs: Repairs, lists: TopLists, y: Any) -> Look:
    codes = None if y is None else as_codes(y, lists)
    if isinstance(predictions, TopLists):
        return Look.at(lists, codes, names=for_lists(lists, y), local=space.per_case)
    return Look.of(rows, space, units=repairs.units, names=for_lists(lists, y), codes=codes, local=space.per_case)


def _admitted(rows: Rows, space: ClassSpace, repairs: Repairs) -> TopLists:
    if rows.classes is None:
        return TopLists._admit_whole(rows, space, None, replace(repairs, duplicates="error"))
    return TopLists._admit(rows, space, None, repairs)  # codes, also where labels are numbers


def _require_one_each(lists: TopLists, y: Any) -> None:
    if hasattr(y, "__len__") and is_several(y) and not is_soft(y, lists.space) and len(y) != len(lists):
        raise ShapeError(f"{len(y):,} outcomes for {len(lists):,} cases.", "Give one outcome per case.")
