"""From what the caller names to open tables: layouts recognised, classes declared, cases aligned."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, listed
from toplist._typing import Codes, Progress, Scale
from toplist.core.arguments import as_array
from toplist.errors import FileError, SpaceError, TopListError
from toplist.io.align import AlignedCases, silent
from toplist.io.batches import Batch, concat
from toplist.io.columns import Column
from toplist.io.encoding import ClassEncoder, has_integers, space_in_files
from toplist.io.lists import lists_of, repairs_made, require_all_columns
from toplist.io.opening import open_table, require_effect
from toplist.io.options import MISSING, TRUTH, ReadRequest
from toplist.io.producers.base import N_CLASSES
from toplist.io.readers import MemoryReader
from toplist.io.sources import OpenTable, tell
from toplist.io.tables import open_together
from toplist.io.truth import (
    by_appearance,
    carried_truth,
    clusters_in_order,
    filled,
    require_outcomes,
    space_of_producers,
    weights_of,
)
from toplist.lists import TopList, TopLists
from toplist.lists.converters import as_lists
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs

PER_CASE = "per case"  # in place of a number of classes
_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "narwhals", "dask", "modin", "cudf", "ibis")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared with what, and how."""

    truth: OpenTable
    sources: tuple[OpenTable, ...]
    space: ClassSpace | None  # None: the column `n_classes` of the truth says how many classes each case has
    _: KW_ONLY
    weight: str | None = None  # columns of the truth
    group: str | None = None
    cluster: str | None = None
    time: str | None = None
    n_classes: str | None = None
    keep: tuple[str, ...] = ()
    ordered: bool = False  # whether cases are in the order of time: by the column `time`, or as they come
    set_separator: str | None = None
    missing: str = "error"
    truth_repairs: Repairs = field(default_factory=Repairs)  # of a truth that is a distribution per case
    choices: tuple[str, ...] = MISSING  # what may be done about missing predictions

    @property
    def repairs(self) -> dict[str, Repairs]:
        """What is repaired in the lists of each model."""
        return {source.name: source.repairs for source in self.sources}

    @property
    def classes(self) -> str:
        """How many classes there are, in a word."""
        return PER_CASE if self.space is None else show_size(self.space.size)


def names_of(models: Any, least: int = 1) -> tuple[str, ...]:
    """The names of the models, each different from the others."""
    if not isinstance(models, Mapping) or len(models) < least:
        many = "one entry" if least == 1 else "two entries"
        raise TopListError(f"models are a mapping from names to predictions, with at least {many}.")
    names = tuple(str(name) for name in models)
    if len(set(names)) < len(names):
        raise TopListError(f"every model needs a name of its own, not {', '.join(map(repr, names))}.")
    return names


def has_tables(request: ReadRequest) -> bool:
    """Whether any of the data is a file or a frame, or else all are plain values."""
    read_by_producers = any(options.names_producer for options in request.options.values())
    return read_by_producers or any(map(_is_table, (request.truth.data, *request.models.values())))


def _as_tables(request: ReadRequest, space: ClassSpace | None) -> ReadRequest:
    """The request with plain values as tables with one row per case, whose only ids are those of an index or lists."""
    models, options, y = dict(request.models), dict(request.options), request.truth.data
    for name, what in request.models.items():
        if not (_is_table(what) or options[name].names_producer):
            models[name] = _predicted(what, name, space, options[name].scale)
            options[name] = replace(options[name], scale="probability")
    tabular = request.with_data(models, y if y is None or _is_table(y) else _outcomes(y))
    return replace(tabular, options=options)


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


def _predicted(what: Any, name: str, space: ClassSpace | None, scale: Scale) -> Any:
    """Predictions in memory as a table of probabilities: labels of a Series with its index, lists of anything else."""
    if _is_series(what):
        return what.to_frame("class")
    try:
        try:
            lists = as_lists(what, space, repairs=Repairs(scale=scale))
        except SpaceError:
            if space is not None:
                raise
            lists = as_lists(what, math.inf, repairs=Repairs(scale=scale))  # files and frames may name all classes
    except TopListError as error:
        error.args = (f"{name}: {error}",)
        raise
    return _table_of_lists(lists, name)


def _table_of_lists(lists: TopLists, name: str) -> Any:
    if isinstance(lists.space, LabelSets) or lists.log_rest is not None:
        what = "are lists of label sets"
        if lists.log_rest is not None:
            what = "know the mass that is not listed by its logarithm"
        raise TopListError(
            f"{name}: these {what}, which a table cannot hold beside files and frames: give all predictions and "
            "outcomes in memory."
        )
    pa, labels, codes = need("pyarrow"), lists.space.labels, lists.classes
    columns = {} if lists.ids is None else {"case": pa.array(lists.ids)}
    named = codes if labels is None else [labels[code] for code in codes.tolist()]
    for what, column in (("classes", named), ("confidences", lists.confidences)):
        columns[what] = pa.LargeListArray.from_arrays(pa.array(lists.offsets), pa.array(column))
    return MemoryReader(pa.table(columns), name, origin=lists, bare=lists.ids is None)


def _is_series(value: Any) -> bool:
    """A column of a dataframe that has an index."""
    return hasattr(value, "to_frame") and hasattr(value, "index") and not callable(value.index)


def with_indicators(request: ReadRequest, space: Any) -> ReadRequest:
    """The request with frames of zeros and ones, a column per label, as matrices where the classes are label sets."""
    spaces = [space, *(data.space for data in request.models.values() if isinstance(data, TopLists | TopList))]
    known = next(filter(None, spaces), None)
    if request.set_separator is not None or not isinstance(known, LabelSets):
        return request
    models = {name: _indicators(data, known) for name, data in request.models.items()}
    return request.with_data(models, _indicators(request.truth.data, known))


def _indicators(value: Any, space: LabelSets) -> Any:
    """A matrix with its columns in the order of the labels; anything else as it is."""
    if isinstance(value, os.PathLike | str) or not _is_table(value) or len(getattr(value, "shape", ())) != 2:
        return value
    columns, names = ([str(name) for name in every] for every in (value.columns, space.names))
    if sorted(columns) == sorted(names):
        order = [columns.index(name) for name in names]
    elif columns == [str(place) for place in range(len(names))]:
        order = list(range(len(names)))
    else:
        return value
    matrix = np.asarray(value)
    if matrix.dtype.kind not in "biufO" or not np.isin(matrix, (0, 1)).all():
        return value
    return matrix[:, order].astype(bool)


def _is_table(value: Any) -> bool:
    """A file, or a table in memory."""
    if isinstance(value, os.PathLike | str):
        return True
    if isinstance(value, list | tuple | np.ndarray | Mapping | TopLists | TopList) or value is None:
        return False
    if type(value).__module__.partition(".")[0] not in _FRAMES:
        return False
    return any(hasattr(type(value), name) for name in ("collect_schema", "columns", "column_names"))


def plan_of(
    request: ReadRequest, space: Any, *, missing: str, find: Sequence[str] = (), keep: tuple[str, ...] = ()
) -> Plan:
    """A plan from files or frames, and columns of the truth.

    `find` may hold "cluster" and "time": columns of the truth with these names are what they say, unless the caller
    names one of the two, or ignores it (""). Weights, which change more than intervals, are always named.
    """
    truth, sources, columns, known = _opened(request, space, find, keep)
    if truth is None:
        raise ValueError("the truth is opened, or united from what predictions carry")
    return Plan(
        truth,
        sources,
        known,
        **columns,
        keep=keep,
        ordered=columns["time"] is not None,
        set_separator=request.set_separator,
        missing=missing,
        truth_repairs=Repairs(normalize=request.truth.is_separate and request.truth_normalized),
    )


def open_request(request: ReadRequest, space: Any, keep: Sequence[str] = ()) -> list[OpenTable]:
    """The tables of predictions, with the truth before them where it is a table of its own.

    `keep` are columns of the truth that are read beside those that it says something of.
    """
    request.truth.require_columns()
    request = _as_tables(request, None if space is None else as_space(space))
    about, space = request.truth, None if space is None else space_in_files(space, request.set_separator)
    sets = request.set_separator is not None or isinstance(space, LabelSets)
    models = [open_table(data, name, request.options[name]) for name, data in request.models.items()]
    require_effect(models)
    models = [replace(table, space=space, sets=sets) for table in models]
    if not about.is_separate:
        return open_together(models, carried=about)
    options = request.truth_options
    options = replace(options, class_column=about.outcome or options.class_column)
    truth = open_table(about.data, TRUTH, options, truth=True)
    require_effect([truth])
    extra = tuple(dict.fromkeys(filter(None, (*about.columns.values(), *keep))))
    return open_together(models, replace(truth, space=space, sets=sets, truth=True, extra=extra))


def _opened(
    request: ReadRequest,
    space: Any,
    find: Sequence[str],
    keep: Sequence[str] = (),
    *,
    carried: bool = True,
    counted: bool = True,
) -> tuple[OpenTable | None, tuple[OpenTable, ...], dict[str, Any], ClassSpace | None]:
    """The truth, the tables of predictions, which column of the truth is what, and the classes.

    Where there is no table of outcomes, those that predictions carry are united if `carried` is true. Without a space,
    a column of the truth says how many classes each case has. `counted` says that their number is needed.
    """
    about, columns = request.truth, request.truth.columns
    known = None if space is None else space_in_files(space, request.set_separator)
    if known is not None and known.per_case:
        raise SpaceError(
            "with files and frames, a number of classes is declared for all cases, not one per case: n_classes names "
            "the column of the truth that says how many classes there are."
        )
    tables, truth, from_models = open_request(request, space, keep), None, None
    if about.is_separate:
        truth, *tables = tables
        if not (about.cluster or about.time):
            unread = truth.layout.ignored
            names = [name for name in ("cluster", "time") if name in find and columns[name] is None and name in unread]
            columns |= {name: name for name in names}
            left = tuple(name for name in unread if name not in names)
            truth = replace(truth, layout=replace(truth.layout, extra=(*truth.layout.extra, *names), ignored=left))
    elif carried:
        from_models = carried_truth(tables, about, find=find, keep=keep)
        truth, columns = from_models.table, dict(from_models.columns)
    every = tables if truth is None else [*tables, truth]
    tell(every)
    if known is None and from_models is not None and columns["n_classes"] is not None:
        known = None if about.n_classes else from_models.one_space(tables)
    elif known is None and not about.n_classes:
        known = space_of_producers(tables)
        if known is None:
            endless = not counted and not any(table.names for table in tables)
            known = ClassSpace(math.inf) if endless else space_of_columns(every)
        if about.is_separate:
            _require_same_names(every[-1], known)
    if known is not None:
        columns["n_classes"] = about.n_classes
    return truth, tuple(tables), {what: name or None for what, name in columns.items()}, known


def _require_same_names(truth: OpenTable, space: ClassSpace) -> None:
    labels = [str(label) for label in space.labels or ()]
    if has_integers(truth) and not all(label.strip().isdigit() for label in labels):
        raise SpaceError(
            f"{truth.path}: the outcomes are numbers, but the classes have names ({listed(labels)}), and nobody "
            "has said which class is which number: give the outcomes as labels, or declare the labels in the "
            f"order of the numbers with {argument('space')}."
        )


def space_of_columns(sources: Sequence[OpenTable]) -> ClassSpace:
    """The classes of wide tables, whose columns name them all."""
    named = [source for source in sources if source.names]
    if not named:
        remedy = "a number, labels, or infinity"
        if any(source.produced is not None and N_CLASSES in source.reader.schema.names for source in sources):
            remedy = "these files have other classes in every case, so name a column of the truth with their number"
        raise SpaceError(f"how many classes are there? Say so with {argument('space')}: {remedy}.")
    first = named[0]
    other = next((source for source in named if set(source.names) != set(first.names)), None)
    if other is not None:
        raise SpaceError(f"{first.path} and {other.path} have different columns: declare the classes.")
    return ClassSpace(labels=first.names)


def open_aligned(
    request: ReadRequest,
    space: Any = None,
    *,
    missing: str = "error",
    counted: bool = True,
    columns: Sequence[str] = (),
    outcomes: bool = False,
) -> AlignedFiles:
    """The files whose cases belong together, with the truth where it is a table of its own.

    `counted` says that the number of classes is needed, `outcomes` that those are read which predictions carry where
    there is no other truth. `columns` may hold "weight" and "cluster": what of the truth is read beside the outcomes.
    A column that is called cluster is found, as `plan_of` does.

    `space` is a `ClassSpace` or the number of classes; wide tables that name all classes do without.
    """
    if missing not in MISSING[:2]:
        raise TopListError(f'missing is "error" or "common" here, not {missing!r}.')
    idle = next(
        (what for what, name in request.truth.columns.items() if name is not None and what not in columns), None
    )
    if idle is not None:
        raise TopListError(f"{idle} has no effect here: every case counts alike.")
    truth, sources, by_name, known = _opened(request, space, columns, carried=outcomes, counted=counted)
    if truth is not None and truth.layout.kind != "labels":
        raise FileError(
            truth.path,
            f"this is read as a distribution per case ({truth.layout.kind}); fitting needs one outcome per case. Name "
            f"its column with {argument('outcome')}.",
        )
    if known is None:
        raise SpaceError(
            f"{(truth or sources[0]).path}: cases have different classes, or different numbers of them, and files are "
            "changed with one set of classes for all cases. Give the cases of one task alone."
        )
    sources = sources if truth is None else (truth, *sources)  # in whose order cases are read
    for source in sources:
        require_all_columns(source, known)
    coder = ClassEncoder(known, sources, request.set_separator)
    return AlignedFiles(
        AlignedCases(sources, missing), coder, truth is not None, request.truth.weight, by_name["cluster"]
    )


@dataclass(slots=True)
class AlignedFiles:
    """Open files whose cases belong together."""

    cases: AlignedCases
    coder: ClassEncoder
    truth: bool  # whether it is the first of them
    weight: str | None = None  # columns of the truth
    cluster: str | None = None
    weights: NDArray[np.float64] | None = None  # of all cases, by `gather`
    clusters: Codes | None = None  # the number of the cluster of each case, by `gather`
    repairs_made: dict[str, dict[str, int]] = field(default_factory=dict)  # by `gather`, in how many cases

    @property
    def names(self) -> tuple[str, ...]:
        """Who predicts."""
        return tuple(source.name for source in self.cases.sources[self.truth :])

    @property
    def space(self) -> ClassSpace:
        """The classes."""
        return self.coder.space or ClassSpace(math.inf)

    def lists(self, batches: Sequence[Batch]) -> tuple[list[TopLists], Codes | None, Column | None]:
        """The lists of each file, the outcomes if the truth is among them, and what codes are called."""
        columns = [source.names for source in self.cases.sources]
        if self.truth:
            require_outcomes(batches[0], self.coder.sets)
        codes, names = self.coder.in_order(batches, columns, truth=0 if self.truth else None)
        if self.truth:
            _require_inside(codes[0], batches[0], self.space)
        lists = [
            lists_of(batch, source.names, code, self.space, source.repairs)
            for batch, source, code in list(zip(batches, self.cases.sources, codes, strict=True))[self.truth :]
        ]
        return lists, codes[0] if self.truth else None, names

    def gather(self, progress: Progress = silent) -> tuple[dict[str, TopLists], NDArray[np.int64]]:
        """All lists of each file, and the outcomes, in memory."""
        sources, parts, done = self.cases.sources, list[list[Batch]](), 0
        for batches in self.cases.common():
            parts.append(batches)
            done += len(batches[0])
            progress("reading", done, self.cases.total)
        if not done:
            raise FileError(sources[0].path, "there are no cases.")
        whole = [
            concat(of_one, one.path, one.names) for one, of_one in zip(sources, zip(*parts, strict=True), strict=True)
        ]
        lists, outcomes, _ = self.lists(whole)
        self.coder.finish()
        pairs = zip(self.names, lists, whole[self.truth :], strict=True)
        self.repairs_made = {name: repairs_made(of_model, batch) for name, of_model, batch in pairs}
        if self.weight is not None:
            self.weights = weights_of(whole[0], self.weight)
        if self.cluster is not None:
            self.clusters = by_appearance(clusters_in_order(filled(whole[0], self.cluster, "cluster")))
        return dict(zip(self.names, lists, strict=True)), np.zeros(0, np.int64) if outcomes is None else outcomes


def _require_inside(codes: Codes, truth: Batch, space: ClassSpace) -> None:
    outside = (codes < 0) | (codes >= space.as_floats[0][0])
    if outside.any():
        at = int(np.argmax(outside))
        problem = f"the outcome {codes[at]} is not among the {show_size(space.size)} classes, numbered from 0."
        raise truth.error(problem, at)
