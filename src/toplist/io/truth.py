"""The truth: its outcomes, weights, groups, clusters and times; and that which predictions carry, united by case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import AlignmentError, FileError, TopListError
from toplist.io.batches import Batch
from toplist.io.columns import as_arrow, as_numpy, identifiers, kind_of, numbers, plain, text_if_none
from toplist.io.encoding import EMPTY_REMEDY
from toplist.io.layout import Layout
from toplist.io.options import SAME, TRUTH, Truth
from toplist.io.producers.base import CLUSTER, GROUP, N_CLASSES
from toplist.io.readers import Reader, TableChunk
from toplist.io.readers.column_types import common
from toplist.io.sources import OpenTable
from toplist.lists.space import ClassSpace
from toplist.scoring.case_scores import Grouping

REMEDY = "write numbers, or dates that begin with the year, all in one form, such as 2024-01-31"
_YEAR = re.compile(r"\d{4}(?!\d{3})", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_OFFSET = re.compile(r"[T ]\d\d:?\d\d[^+-]*([+-]\d\d(?::?\d\d)?)$", re.ASCII)
BLANK = "(blank)"  # the group of those of whom nothing is said
MOST_GROUPS = 10_000
_GROUPS = range(2, 31)  # how many there are where they are shown without being asked for
# Columns that are used where they are called so.
_FOUND = {"cluster": CLUSTER, "time": "time", "group": GROUP, "n_classes": N_CLASSES}


@dataclass(frozen=True, slots=True)
class CarriedTruth:
    """The truth as a table, which of its columns are what, and the numbers of classes that cases have."""

    table: OpenTable
    outcomes: Any  # Arrow
    columns: Mapping[str, str | None]  # weight, group, cluster, time, n_classes
    sizes: frozenset[int] = frozenset()

    def one_space(self, sources: Sequence[OpenTable]) -> ClassSpace | None:
        """The classes, where all cases have the same: one number of them, and no more names than that in all."""
        return _one_space(sources, self.sizes, self.outcomes.unique().to_pylist())


def space_of_producers(sources: Sequence[OpenTable]) -> ClassSpace | None:
    """The classes that producers know, where all cases have the same; None where they do not say."""
    if not all(source.produced is not None and N_CLASSES in source.reader.schema.names for source in sources):
        return None
    pieces = (piece for source in sources for piece in source.pieces([N_CLASSES]))
    sizes = frozenset(size for piece in pieces for size in _whole_numbers(piece.table.column(0)))
    return _one_space(sources, sizes)


def _one_space(sources: Sequence[OpenTable], sizes: frozenset[int], names: Iterable[Any] = ()) -> ClassSpace | None:
    if len(sizes) != 1:
        return None
    (size,), pc = sizes, need("pyarrow.compute")
    seen = set(map(str, names))
    for source in sources:
        for piece in source.pieces(source.layout.classes):
            seen.update(map(str, pc.unique(pc.list_flatten(piece.table.column(0))).to_pylist()))
            if len(seen) > size:
                return None
    return ClassSpace(size)


def carried_truth(
    sources: Sequence[OpenTable], about: Truth, *, find: Sequence[str] = (), keep: Sequence[str] = ()
) -> CarriedTruth:
    """The outcomes that models carry, and what else they know of their cases.

    Where the truth is "same", the models that carry outcomes give them; where none is given, all models have to.
    `find` may hold "cluster", "time" and "group": columns with these names are used unless the caller names others, or
    none (""). Numbers of classes that a producer knows are used where no column is named. In memory are ids, outcomes
    and these columns, nothing else.
    """
    able = [source for source in sources if source.outcome is not None]
    if not able or (about.data is None and len(able) < len(sources)):
        raise TopListError(_not_carried(sources, able))
    by_name = _columns_by_name(able, about, find)
    columns: dict[str, str | None] = {what: value or by_name.get(what) for what, value in about.columns.items()}
    extra = tuple(dict.fromkeys(filter(None, (*columns.values(), *keep))))
    cases = _Cases.of(able, extra)
    unresolved = 0
    if all(source.produced is not None for source in able):  # producers know of questions that are still open
        resolved = cases.table.filter(cases.column().is_valid())
        unresolved = len(cases.table) - len(resolved) if len(resolved) else 0
        cases = replace(cases, table=resolved) if unresolved else cases
    cases.require_outcomes()
    if "group" in by_name and not _are_groups(cases.column(GROUP)):
        columns["group"], extra = None, tuple(name for name in extra if name != GROUP)
    first = able[0]
    layout = Layout("labels", first.layout.case, (str(first.outcome),), extra=extra)
    told = f"outcomes in {quote(first.outcome)} of these predictions"
    told += f"; also used: {listed(extra)}" if extra else ""
    told += f"; {unresolved:,} cases without an outcome are left out" if unresolved else ""
    sizes = frozenset() if columns["n_classes"] is None else _whole_numbers(cases.column(columns["n_classes"]))
    table = OpenTable(_TruthReader(cases), TRUTH, layout=layout, truth=True, told=told)
    return CarriedTruth(table, cases.column(), columns, sizes)


def _not_carried(sources: Sequence[OpenTable], able: Sequence[OpenTable]) -> str:
    """What to say where there is no truth: whose outcomes are lacking, and what to type."""
    lacking = [source.path for source in sources if source not in able]
    own = f"{argument('truth', SAME)} {argument('outcome')}"
    if able:
        ways = f"{argument('truth', SAME)} to take those of {listed([source.name for source in able], 3, str)} alone"
    else:
        ways = f"{own} if they are in a column of the predictions"
    return (
        f"what are the outcomes? {listed(lacking, 3, str)} {'carries' if len(lacking) == 1 else 'carry'} none that "
        f"can be recognised. Give a file with them, {argument('truth')}, or pass {ways}."
    )


def _columns_by_name(able: Sequence[OpenTable], about: Truth, find: Sequence[str]) -> dict[str, str]:
    """The columns that are used without being named, in all tables that carry outcomes.

    Groups change what the board shows, and numbers of classes every score: of a plain table, these columns are named.
    """
    named, produced = any((about.cluster, about.time)), all(source.produced is not None for source in able)
    return {
        what: name
        for what, name in _FOUND.items()
        if (what in find or what == "n_classes")
        and getattr(about, what) is None
        and (not named if what in ("cluster", "time") else produced)
        and _all_have(able, name)
    }


def _all_have(able: Sequence[OpenTable], name: str) -> bool:
    return all(name in source.reader.schema.names and name != source.outcome for source in able)


def _are_groups(column: Any) -> bool:
    """Whether values make a few groups, of several cases each on average."""
    many = need("pyarrow.compute").count_distinct(column).as_py()
    return many in _GROUPS and many < len(column)


def _whole_numbers(column: Any) -> frozenset[int]:
    """The values of a column of numbers of classes; whoever counts classes says what is wrong with others."""
    values = need("pyarrow.compute").unique(column).to_pylist()
    return frozenset(values) if all(isinstance(value, int) for value in values) else frozenset()


@dataclass(frozen=True, slots=True)
class _Cases:
    """What predictions say of their cases, each case once.

    The table has the id (the number of the row, where there are no ids), the outcome and further columns by their
    place among `names`, and the numbers of the file among `files`, which have their source beside them, and of the row
    in it.
    """

    table: Any  # Arrow
    names: tuple[str, ...]
    files: Sequence[tuple[OpenTable, str]]

    @classmethod
    def of(cls, sources: Sequence[OpenTable], extra: Sequence[str]) -> _Cases:
        """The cases of all, those of the first before the others; what they say of a case has to be the same.

        Every source is reduced to its cases before the next one is read: a long table has many rows of each.
        """
        files: list[tuple[OpenTable, str]] = []
        tables: list[Any] = []
        for source in sources:
            names = (str(source.outcome), *extra)
            rows = _rows_of(source, names, files)
            if source.layout.case is None and tables and len(rows) != len(tables[0]):
                raise AlignmentError(
                    f"without case ids, all files need the same number of rows: {sources[0].path} has "
                    f"{len(tables[0]):,}, {source.path} has {len(rows):,}. Give every file a column with case ids."
                )
            tables.append(cls(rows, names, files)._once().table)
        names = (str(sources[0].outcome), *extra)
        return cls(_concatenated(tables), names, files)._once()

    def column(self, name: str = "") -> Any:
        """A further column, or the outcomes."""
        return self.table[str(self.names.index(name) if name else 0)].combine_chunks()

    def _once(self) -> _Cases:
        """The same with one row per case, the first; blanks are filled by what other rows say of it."""
        pc, every = need("pyarrow.compute"), self.table.column_names
        said = [str(place) for place in range(len(self.names))]
        wanted = [(name, "first") for name in every[1:]] + [(name, "count_distinct") for name in said]  # of no blanks
        places = self.table.append_column("place", as_arrow(np.arange(len(self.table))))
        cases = places.group_by("id", use_threads=False).aggregate([*wanted, ("place", "min")]).sort_by("place_min")
        for place, name in zip(said, self.names, strict=True):
            several = cases["id"].filter(pc.greater(cases[f"{place}_count_distinct"], 1))
            if len(several):
                own = pc.and_(pc.equal(self.table["id"], several[0]), self.table[place].is_valid())
                raise self._disagreement(name, place, self.table.filter(own).to_pylist(), len(several))
        return replace(self, table=cases.select(["id", *(f"{name}_first" for name in every[1:])]).rename_columns(every))

    def _place(self, row: Mapping[str, Any]) -> tuple[str, int, str]:
        """The file and the row that say something, and what the case is called."""
        source, file = self.files[row["file"]]
        called = f"row {row['row']:,}" if source.layout.case is None else f"case {quote(row['id'])}"
        return file, row["row"], called

    def _disagreement(self, name: str, column: str, rows: Sequence[Mapping[str, Any]], many: int) -> TopListError:
        """That rows say different things of one case: which, what, where, and what to do about it."""
        first = rows[0]
        other = next(row for row in rows if row[column] != first[column])
        (file, line, _), (other_file, other_line, case) = self._place(first), self._place(other)
        more = f" ({many:,} such cases)" if many > 1 else ""
        remedy = f"Give the outcomes in a file of their own, {argument('truth')}."
        ignored = next((what for what, found in _FOUND.items() if found == name and what != "n_classes"), None)
        if column != "0" and ignored is not None:
            remedy = f"Leave it out with {argument(ignored, '')}."
        what = "the outcome" if column == "0" else quote(name)
        return AlignmentError(
            f"{what} of {case} is {quote(first[column])} in {file}, row {line:,}, and {quote(other[column])} in "
            f"{other_file}, row {other_line:,}{more}. {remedy}"
        )

    def require_outcomes(self) -> None:
        """Every case has an outcome."""
        lacking = self.table.filter(self.table["0"].is_null())
        if len(lacking):
            file, row, case = self._place(lacking.slice(0, 1).to_pylist()[0])
            of = "" if self.files[0][0].layout.case is None else f" of {case}"
            more = f" ({len(lacking):,} such cases)" if len(lacking) > 1 else ""
            problem = (
                f"there is no outcome{of}{more}. Leave such rows out with {argument('where')}, or give the outcomes in "
                f"a file of their own, {argument('truth')}."
            )
            raise FileError(file, problem, row=row)


def _rows_of(source: OpenTable, names: Sequence[str], files: list[tuple[OpenTable, str]]) -> Any:
    """The rows of a source as `_Cases` has them; its files are added to those before."""
    pa, case, known = need("pyarrow"), source.layout.case, source.reader.schema.names
    lacking = next((name for name in names if name not in known), None)
    if lacking is not None:
        near = did_you_mean(lacking, known) or f" The columns are {listed(known)}."
        raise FileError(source.path, f"there is no column {quote(lacking)}.{near}")
    tables, count = [], 0
    for piece in source.pieces(list(dict.fromkeys([*filter(None, [case]), *names]))):
        if not files or files[-1][0] is not source or files[-1][1] != piece.source:
            files.append((source, piece.source))
        rows = piece.row_numbers
        ids = as_arrow(np.arange(count, count + len(rows)))
        count += len(rows)
        columns = {"id": ids if case is None else identifiers(piece.table.column(case), piece.source, rows)}
        for place, name in enumerate(names):
            columns[str(place)] = _scalar(piece.table.column(name), name, piece.source)
        columns |= {"file": as_arrow(np.full(len(rows), len(files) - 1)), "row": as_arrow(rows)}
        tables.append(pa.table(columns))
    if not tables:
        raise FileError(source.path, "there are no cases.")
    return _concatenated(tables)


def _scalar(column: Any, name: str, source: str) -> Any:
    """A column with one value per case, as what it is; decimals, which Arrow does not group, are text."""
    types, values = need("pyarrow").types, text_if_none(plain(column))
    if types.is_nested(values.type):
        raise FileError(source, f"{quote(name)} holds {kind_of(values.type)}, not one value per case.")
    return values.cast("string") if types.is_decimal(values.type) else values


def _concatenated(tables: Sequence[Any]) -> Any:
    """Tables one after the other, with values of different types as what both can be: numbers stay numbers."""
    pa = need("pyarrow")
    kinds = {
        name: reduce(lambda one, other: common(one, other) or pa.string(), kinds)
        for name, *kinds in zip(tables[0].column_names, *(table.schema.types for table in tables), strict=True)
    }
    return pa.concat_tables([table.cast(pa.schema(kinds)) for table in tables])


class _TruthReader(Reader):
    """The united cases as a table, with the file and the row that each of them comes from."""

    paths = ()

    def __init__(self, cases: _Cases) -> None:
        case = cases.files[0][0].layout.case
        columns = {name: cases.column(name) for name in cases.names}
        columns |= {} if case is None else {case: cases.table["id"].combine_chunks()}
        paths = [source.path for source in {id(source): source for source, _ in cases.files}.values()]
        self.name, self.rows = listed(paths, 3, str), len(cases.table)
        self.batch = need("pyarrow").record_batch(columns)
        files = cases.table["file"].unique().to_pylist()
        one = len(files) == 1  # where there are several, rows are numbered through all of them
        self.source = cases.files[files[0]][1] if one else self.name
        self.numbers = as_numpy(cases.table["row"].combine_chunks()) if one else None

    @property
    def schema(self) -> Any:
        """Names and types."""
        return self.batch.schema

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns."""
        yield TableChunk(self.source, 0, self.batch.select(list(columns)), self.numbers)


def require_outcomes(truth: Batch, sets: str | None) -> None:
    """Every case has an outcome."""
    sizes = np.diff(truth.offsets)
    if len(sizes) and sizes.min() < 1:
        problem = "there is no outcome." if sets is None else f"there is no outcome. {EMPTY_REMEDY}"
        raise truth.error(problem, int(np.argmin(sizes)))


def class_counts(truth: Batch, name: str) -> Any:
    """How many classes each case has, from a column of the truth."""
    sizes: list[int] = []
    for case, value in enumerate(truth.extra[name].to_pylist()):
        with suppress(TypeError, ValueError, OverflowError):
            sizes.append(int(value))
        if len(sizes) == case or sizes[case] < 1 or (isinstance(value, float) and value != sizes[case]):
            raise truth.error(f"{quote(value)} in {quote(name)} is no number of classes.", case)
    return np.array(sizes, dtype=np.int64 if max(sizes, default=0) < 2**53 else object)


def untimely(values: Sequence[str]) -> str | None:
    """The first of these texts that may stand in the wrong place if they are sorted; None if all are in order.

    Dates that begin with the year sort as they follow each other if they differ in digits alone: months have two, hours
    have no AM or PM, and the offset from UTC is the same.

    >>> untimely(["2024-01-31", "2023-12-01"]), untimely(["2024-01-31", "31/1/2024"])
    (None, '31/1/2024')
    >>> untimely(["2024-9-14", "2024-10-5"]), untimely(["2024-01-31T02:30+02:00", "2024-01-31T02:10+01:00"])
    ('2024-10-5', '2024-01-31T02:10+01:00')
    """
    return next((text for text in values if not _YEAR.match(text) or _form_of(text) != _form_of(values[0])), None)


def _form_of(time: str) -> str:
    """What times that sort as they follow each other have in common: all but the digits, and the offset from UTC."""
    offset = _OFFSET.search(time)
    end = len(time) if offset is None else offset.start(1)
    return _DIGIT.sub("0", time[:end]) + time[end:]


def filled(truth: Batch, name: str, what: str) -> Any:
    """A column that says something of every case: when it was, or what it belongs to."""
    column = plain(truth.extra[name])
    blank = as_numpy(_is_blank(column))
    if blank.any():
        at = int(np.argmax(blank))
        raise truth.error(f"there is no {what} in {quote(name)}.", at)
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
    """The place of each case in time: numbers and dates by size; text as numbers if all of it is, or else as dates."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError(f"{quote(name)} says the order, and has lists in it, not numbers, dates or text.")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        for kind in (pa.int64(), pa.float64()):  # 20240131093000121 is no double
            with suppress(pa.ArrowInvalid):
                column = pc.cast(column, kind)
                break
        else:
            odd = untimely(pc.unique(column).to_pylist())
            if odd is not None:
                raise AlignmentError(f"{quote(name)} says the order, and {quote(odd)} in it does not: {REMEDY}.")
    return _ranks(column)


def _ranks(column: Any) -> NDArray[np.int64]:
    """The place of each value among the different ones, from the smallest on."""
    ranks = need("pyarrow.compute").rank(column, sort_keys="ascending", tiebreaker="dense")
    return as_numpy(ranks).astype(np.int64) - 1


def weights_of(truth: Batch, name: str) -> NDArray[np.float64]:
    """How much each case counts."""
    column = truth.extra[name]
    values = numbers(column, truth.source, lambda: truth.rows, [name]).astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        problem = "there is no weight" if not column[at].is_valid else f"the weight is {values[at]:g}"
        raise truth.error(f"{problem}: weights are numbers, none below zero.", at)
    return values


def clusters_in_order(column: Any) -> NDArray[np.int64]:
    """The clusters of cases as numbers, in the order of their names: which row comes first does not show."""
    _require_flat(column)
    return _ranks(column)


def by_appearance(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same clusters, numbered as they first appear, so that folds do not depend on how they are called.

    >>> by_appearance(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def groups_of(column: Any) -> Grouping:
    """Cases by what a column says of them; where it says nothing, that is a group too."""
    _require_flat(column)
    text = need("pyarrow.compute").cast(column, "string").fill_null(BLANK).dictionary_encode()
    return Grouping(text.dictionary.to_pylist(), as_numpy(text.indices).astype(np.int32))


def _require_flat(column: Any) -> None:
    if need("pyarrow").types.is_nested(column.type):
        raise AlignmentError("groups and clusters are columns of text or numbers, not of lists.")


def require_few_groups(groups: Sized, name: str | None) -> None:
    """Refuse more groups than a leaderboard can show: each has a table and intervals of its own."""
    if len(groups) > MOST_GROUPS:
        of = f" {quote(name)}" if name else ""
        raise AlignmentError(
            f"the groups by{of} are more than {MOST_GROUPS:,}, too many for a table each: group by a column with fewer "
            "values, such as a range of these."
        )
