"""From what the caller names to a plan: sources opened, layouts recognised, classes declared; files as lists."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_array
from toplist._optional import need
from toplist._text import listed
from toplist._typing import Codes, Progress
from toplist.errors import FileError, SpaceError, TopListError
from toplist.io.align import MISSING, AlignedCases, OutOfStepError, silent
from toplist.io.batches import Batch
from toplist.io.encoding import EMPTY_REMEDY, ClassNames, CommonEncoder, Gathering, as_sets, has_integers
from toplist.io.lists import lists_of, require_all_columns
from toplist.io.options import ReadOptions
from toplist.io.readers import MemoryReader
from toplist.io.sources import OpenTable, open_sources, tell
from toplist.lists import TopList, TopLists
from toplist.lists.converters import as_lists
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs

_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "narwhals", "dask", "modin", "cudf", "ibis")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared with what, and how."""

    truth: OpenTable
    sources: tuple[OpenTable, ...]
    repairs: Mapping[str, Repairs]
    space: ClassSpace | None  # None: the column `sizes` of the truth says how many classes each case has
    sizes: str | None = None
    sets: str | None = None
    missing: str = "error"
    weight: str | None = None
    by: str | None = None
    cluster: str | None = None
    order: str | None = None
    ordered: bool = False  # whether cases are in the order of time: by the column `order`, or as they come
    keep: tuple[str, ...] = ()
    truth_repairs: Repairs = field(default_factory=Repairs)  # of a truth that is a distribution per case


def names_of(predictions: Any, least: int = 1) -> tuple[str, ...]:
    """Who predicts, each under a name of its own."""
    if not isinstance(predictions, Mapping) or len(predictions) < least:
        many = "one entry" if least == 1 else "two entries"
        raise TopListError(f"predictions are a mapping from names to what was predicted, with at least {many}.")
    names = tuple(str(name) for name in predictions)
    if len(set(names)) < len(names):
        raise TopListError(f"every model needs a name of its own, not {', '.join(map(repr, names))}.")
    return names


def as_tables(predictions: Mapping[str, Any], y: Any, space: Any) -> tuple[dict[str, Any], Any] | None:
    """Predictions and outcomes as tables, if any of them is a file or a frame; None if all are plain values.

    Plain values have no ids but those of their index or their own: they become tables with one row per case.
    """
    if not any(_is_table(value) for value in (*predictions.values(), y)):
        return None
    known = None if space is None else as_space(space)
    made = {
        str(name): what if _is_table(what) else _predicted(what, str(name), known) for name, what in predictions.items()
    }
    return made, y if y is None or _is_table(y) else _outcomes(y)


def _outcomes(y: Any) -> Any:
    """Outcomes in a list, an array or a Series as a table."""
    if _is_series(y):
        return y.to_frame("outcome")
    pa, problem = need("pyarrow"), "outcomes beside files and frames are a list, an array or a Series, one per case."
    try:
        array = as_array(y, "outcomes")
        if array.ndim != 1:
            raise TopListError(problem)
        return MemoryReader(pa.table({"outcome": pa.array(array.tolist())}), "memory", origin=y, bare=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise TopListError(problem) from None


def _predicted(what: Any, name: str, space: ClassSpace | None) -> Any:
    """Predictions in memory as a table: labels of a Series with its index, lists of anything else."""
    if _is_series(what):
        return what.to_frame("class")
    try:
        try:
            lists = as_lists(what, space)
        except SpaceError:
            if space is not None:
                raise
            lists = as_lists(what, math.inf)  # files and frames may name all classes
    except TopListError as error:
        error.args = (f"{name}: {error}",)
        raise
    return _table_of_lists(lists, name)


def _table_of_lists(lists: TopLists, name: str) -> Any:
    if isinstance(lists.space, LabelSets):
        raise TopListError(
            f"{name}: these are lists of label sets, which a table cannot hold beside files and frames: give all "
            "predictions and outcomes in memory."
        )
    if lists.log_rest is not None or lists.log_confidences is not None:
        raise TopListError(
            f"{name}: these lists know the mass that is not listed by its logarithm, which a table cannot hold: give "
            "all predictions and outcomes in memory."
        )
    pa, labels, at = need("pyarrow"), lists.space.labels, lists.offsets
    codes = lists.classes
    values = [labels[code] for code in codes.tolist()] if labels is not None else codes
    columns = {} if lists.ids is None else {"case": pa.array(lists.ids)}
    for what, column in (("classes", pa.array(values)), ("confidences", pa.array(lists.confidences))):
        columns[what] = pa.LargeListArray.from_arrays(pa.array(at), column)
    return MemoryReader(pa.table(columns), name, origin=lists, bare=lists.ids is None)


def _is_series(value: Any) -> bool:
    """A column of a dataframe that has an index."""
    return hasattr(value, "to_frame") and hasattr(value, "index") and not callable(value.index)


def with_indicators(predictions: Mapping[str, Any], y: Any, space: Any) -> tuple[dict[str, Any], Any]:
    """Frames of zeros and ones with a column per label as matrices, where the classes are label sets."""
    given = [space, *(one.space for one in predictions.values() if isinstance(one, TopLists | TopList))]
    known = next((one for one in given if one is not None), None)
    if not isinstance(known, LabelSets):
        return dict(predictions), y
    return {name: _indicators(one, known) for name, one in predictions.items()}, _indicators(y, known)


def _indicators(value: Any, space: LabelSets) -> Any:
    """A matrix with its columns in the order of the labels; anything else as it is."""
    if isinstance(value, os.PathLike | str) or not _is_table(value) or len(getattr(value, "shape", ())) != 2:
        return value
    columns = {str(name): place for place, name in enumerate(value.columns)}
    names = [str(name) for name in space.names]
    unnamed = list(columns) == list(map(str, range(len(names))))
    if value.shape[1] != len(names) or not (unnamed or columns.keys() == set(names)):
        return value
    matrix = np.asarray(value)
    if matrix.dtype.kind not in "biufO" or not np.isin(matrix, (0, 1)).all():
        return value
    order = range(len(names)) if unnamed and columns.keys() != set(names) else [columns[name] for name in names]
    return matrix[:, list(order)].astype(bool)


def _is_table(value: Any) -> bool:
    """A file, or a table in memory."""
    if isinstance(value, os.PathLike | str):
        return True
    if isinstance(value, list | tuple | np.ndarray | Mapping | TopLists | TopList) or value is None:
        return False
    if type(value).__module__.partition(".")[0] not in _FRAMES:
        return False
    return any(hasattr(type(value), name) for name in ("collect_schema", "columns", "column_names"))


def repairs_of(
    names: Sequence[str], *, units: Any, normalize: Any, duplicates: Any, layout: Any, blanks: Any = "error"
) -> dict[str, Repairs]:
    """What is repaired in each model's lists, from options for all or by name."""
    given = {"units": units, "normalize": normalize, "duplicates": duplicates, "layout": layout, "blanks": blanks}
    for what, option in given.items():
        stray = next((key for key in option if key not in names), None) if isinstance(option, Mapping) else None
        if stray is not None:
            raise TopListError(f"{what}= is given for {stray!r}, which is not among {', '.join(map(repr, names))}.")
    return {
        name: Repairs(
            units=option_of(units, name, "probability"),
            normalize=option_of(normalize, name, False),
            duplicates=option_of(duplicates, name, "error"),
            blanks=option_of(blanks, name, "error"),
        )
        for name in names
    }


def option_of(option: Any, name: str, default: Any) -> Any:
    """An option for all models, or by name."""
    return option.get(name, default) if isinstance(option, Mapping) else option


def plan_of(
    predictions: Mapping[str, Any],
    y: Any,
    space: Any,
    repairs: Mapping[str, Repairs],
    options: ReadOptions,
    *,
    missing: str,
    sizes: str | None = None,
    weight: Any = None,
    by: Any = None,
    cluster: Any = None,
    order: Any = None,
    keep: tuple[str, ...] = (),
    look: Sequence[str] = (),
) -> Plan:
    """A plan from what the caller named: files or frames, and columns of the truth.

    `look` may hold "cluster" and "order": columns of the truth with these names are what they say, the first that is
    there, unless the caller names one, or none (""). Weights, which change more than intervals, are always named.
    """
    named = (("sample_weight", weight), ("by", by), ("clusters", cluster), ("order", order), ("sizes", sizes))
    for what, value in named:
        if value is not None and not isinstance(value, str):
            raise TopListError(f"with files and frames, {what} names a column of the truth.")
    known = None if space is None else as_sets(as_space(space), options.sets)
    if known is not None and known.per_case:
        raise SpaceError(
            "with files and frames, sizes= names the column of the truth that says how many classes there are."
        )
    extra = _distinct(weight, by, cluster, order, sizes, *keep)
    truth, *sources = opened(predictions, y, known, options, repairs, extra)
    open_to = [name for name, given in (("cluster", cluster), ("order", order)) if name in look and given is None]
    told = None if cluster or order else next((name for name in open_to if name in truth.layout.ignored), None)
    if told is not None:
        cluster, order = (told, order) if told == "cluster" else (cluster, told)
        left = tuple(name for name in truth.layout.ignored if name != told)
        truth = replace(truth, layout=replace(truth.layout, extra=(*truth.layout.extra, told), ignored=left))
    tell([*sources, truth])
    if sizes is None and known is None:
        known = space_of_columns((*sources, truth))
        labels = [str(label) for label in known.labels or ()]
        if has_integers(truth) and not all(label.strip().isdigit() for label in labels):
            raise SpaceError(
                f"{truth.path}: the outcomes are numbers, but the classes have names ({listed(labels)}), and nobody "
                "has said which class is which number: give the outcomes as labels, or declare the labels in the "
                "order of the numbers with space= (--classes)."
            )
    columns = (weight or None, by, cluster or None, order or None)
    mend = Repairs(normalize=all(repairs[source.name].normalize for source in sources))
    return Plan(truth, tuple(sources), repairs, known, sizes, options.sets, missing, *columns, bool(order), keep, mend)


def opened(
    predictions: Mapping[str, Any],
    y: Any,
    space: ClassSpace | None,
    options: ReadOptions,
    repairs: Mapping[str, Repairs],
    extra: tuple[str, ...] = (),
) -> list[OpenTable]:
    """The sources of predictions, with the truth before them where there is one."""
    options.require_names([str(name) for name in predictions])
    marked = "" if options.sets is None and isinstance(space, LabelSets) else options.sets
    asked = {
        str(name): (what, options.of(str(name), space, marked, repairs[str(name)].blanks))
        for name, what in predictions.items()
    }
    return open_sources(asked, None if y is None else (y, options.of_truth(space, marked, extra)))


def _distinct(*names: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))


def space_of_columns(sources: Sequence[OpenTable]) -> ClassSpace:
    """The classes of wide tables, whose columns name them all."""
    named = [source for source in sources if source.names]
    if not named:
        raise SpaceError("how many classes are there? Say so with space= (--classes): a number, labels, or infinity.")
    first = named[0]
    other = next((source for source in named if set(source.names) != set(first.names)), None)
    if other is not None:
        raise SpaceError(f"{first.path} and {other.path} have different columns: declare the classes.")
    return ClassSpace(labels=first.names)


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read. `layout` and `repairs` are one for all, or by the name of a file.

    `space` is a `ClassSpace` or the number of classes; wide tables that name all classes do without.
    """

    space: Any = None
    sets: str | None = None
    layout: Any = "auto"
    case: Any = None
    classes: Any = None
    confidences: Any = None
    outcome: str | None = None
    repairs: Repairs | Mapping[str, Repairs] = field(default_factory=Repairs)
    missing: str = "error"
    ignore: Any = ()
    by_position: bool = False

    def __post_init__(self) -> None:
        if self.missing not in MISSING[:2]:
            raise TopListError(f'missing is "error" or "common" here, not {self.missing!r}.')

    def open(self, predictions: Mapping[str, Any], truth: Any = None, *, counted: bool = True) -> AlignedFiles:
        """The files, with the truth before them where it is given; `counted`: the number of classes is needed."""
        known = None if self.space is None else as_sets(as_space(self.space), self.sets)
        if known is not None and known.per_case:
            raise SpaceError("files are changed with one number of classes for all cases, not one per case.")
        options = ReadOptions(
            self.layout,
            self.case,
            self.classes,
            self.confidences,
            self.outcome,
            self.ignore,
            self.by_position,
            self.sets,
        )
        repairs = {name: option_of(self.repairs, name, Repairs()) for name in predictions}
        sources = opened(predictions, truth, known, options, repairs)
        if truth is not None:
            sources[0] = _outcome_codes(sources[0])
        tell(sources)
        space = known
        if space is None:
            unnamed = not counted and not any(source.names for source in sources)
            space = ClassSpace(math.inf) if unnamed else space_of_columns(sources)
        for source in sources:
            require_all_columns(source, space)
        whole = self.sets is None and all(map(has_integers, sources))
        return AlignedFiles(
            AlignedCases(sources, self.missing),
            CommonEncoder(space, whole, self.sets),
            list(repairs.values()),
            truth is not None,
        )


@dataclass(slots=True)
class AlignedFiles:
    """Open files whose cases belong together."""

    cases: AlignedCases
    coder: CommonEncoder
    repairs: Sequence[Repairs]
    truth: bool
    repairs_made: dict[str, Counter[str]] = field(default_factory=dict)  # by `gather`, in how many cases

    @property
    def names(self) -> tuple[str, ...]:
        """Who predicts."""
        return tuple(source.name for source in self.cases.sources[self.truth :])

    @property
    def space(self) -> ClassSpace:
        """The classes."""
        return self.coder.space or ClassSpace(math.inf)

    def attempts(self) -> Iterator[Iterator[list[Batch]]]:
        """Ways through the cases: the second is for those who meet an `OutOfStepError` on the first."""
        return self.cases.attempts()

    def lists(self, batches: Sequence[Batch]) -> tuple[list[TopLists], Codes | None, ClassNames]:
        """The lists of each file, what happened if the truth is among them, and what codes are called."""
        columns = [source.names for source in self.cases.sources]
        if self.truth:
            _require_outcomes(batches[0], self.coder.sets)
        codes, names = self.coder.together(batches, columns, truth=self.truth)
        if self.truth:
            _require_inside(codes[0], batches[0], self.space)
        own = slice(1, None) if self.truth else slice(None)
        made = [
            lists_of(batch, column, code, self.space, repairs)
            for batch, column, code, repairs in zip(batches[own], columns[own], codes[own], self.repairs, strict=True)
        ]
        return made, codes[0] if self.truth else None, names

    def gather(self, progress: Progress = silent) -> tuple[dict[str, TopLists], NDArray[np.int64]]:
        """All lists of each file, and what happened, in memory and with codes that are the same throughout."""
        for way in self.attempts():
            everything = Gathering(self.space, len(self.names))
            self.repairs_made = {name: Counter() for name in self.names}
            try:
                for batches in way:
                    lists, outcomes, known = self.lists(batches)
                    everything.add(lists, outcomes, known)
                    for name, one, batch in zip(self.names, lists, batches[int(self.truth) :], strict=True):
                        self.repairs_made[name].update(repaired(one, batch))
                    progress("reading", everything.cases, self.cases.total)
            except OutOfStepError:
                continue
            break
        self.coder.finish()
        if not everything.cases:
            raise FileError(self.cases.sources[0].path, "there are no cases.")
        whole, y = everything.all()
        return dict(zip(self.names, whole, strict=True)), y


def repaired(lists: TopLists, batch: Batch) -> dict[str, int]:
    """How many cases were repaired, and in how many something was left out that lacks its class or its confidence."""
    halves = 0 if batch.halves is None else int(np.count_nonzero(batch.halves.any(axis=1)))
    return {**lists.repairs, **({"blanks left out": halves} if halves else {})}


def _outcome_codes(truth: OpenTable) -> OpenTable:
    if truth.layout.kind != "labels":
        problem = f"this is read as a distribution per case ({truth.layout.kind}); fitting needs one outcome per case"
        raise FileError(truth.path, f"{problem}. Name its column with --outcome.")
    return truth


def _require_outcomes(truth: Batch, sets: str | None) -> None:
    sizes = np.diff(truth.offsets)
    if len(sizes) and sizes.min() < 1:
        problem = "there is no outcome." if sets is None else f"there is no outcome. {EMPTY_REMEDY}"
        raise FileError(truth.source, problem, row=int(truth.rows[np.argmin(sizes)]))


def _require_inside(codes: Codes, truth: Batch, space: ClassSpace) -> None:
    outside = (codes < 0) | (codes >= space.as_floats[0][0])
    if outside.any():
        at = int(np.argmax(outside))
        problem = f"the outcome {codes[at]} is not among the {show_size(space.size)} classes, numbered from 0."
        raise FileError(truth.source, problem, row=int(truth.rows[at]))
