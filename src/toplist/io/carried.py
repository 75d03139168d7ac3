"""The truth that predictions carry: the outcomes of all models, united by case, and refused where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import AlignmentError, FileError, SpaceError, TopListError
from toplist.io.columns import as_arrow, as_numpy, blanks, identifiers, kind_of, plain, text_if_none, truths
from toplist.io.layout import Layout
from toplist.io.options import SAME, TRUTH, Truth
from toplist.io.producers.base import CLUSTER, GROUP, N_CLASSES
from toplist.io.readers import Reader, TableChunk
from toplist.io.sources import OpenTable
from toplist.lists.space import ClassSpace

_GROUPS = range(2, 31)  # how many there are where they are shown without being asked for
_FOUND = {"cluster": CLUSTER, "time": "time", "group": GROUP}  # columns that are used where they are called so


@dataclass(frozen=True, slots=True)
class CarriedTruth:
    """The truth as a table, which of its columns are what, and the numbers of classes that cases have."""

    table: OpenTable
    outcomes: Any  # Arrow
    columns: Mapping[str, str | None]  # weight, group, cluster, time, n_classes
    sizes: frozenset[int] = frozenset()

    def require_one_space(self) -> None:
        """Say why there is no number of classes for all cases, though there is one for each."""
        if self.sizes:
            low, high = min(self.sizes), max(self.sizes)
            each = f"{low:,} classes each, but not the same ones" if low == high else f"{low:,} to {high:,} classes"
            raise SpaceError(
                f"{self.table.path}: cases have {each}, and files are changed with one set of classes for all cases. "
                "Give the cases of one task alone."
            )

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
        resolved = cases.table.filter(cases.outcomes.is_valid())
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
    return CarriedTruth(table, cases.outcomes, columns, sizes)


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
    """The columns that are used without being named, in all tables that carry outcomes."""
    named = any((about.cluster, about.time))
    found = {
        what: name
        for what, name in _FOUND.items()
        if what in find and getattr(about, what) is None and not (named and what != "group") and _all_have(able, name)
    }
    if "group" in found and not all(source.produced is not None for source in able):
        del found["group"]  # what shows groups changes the board: of a plain table, the column is named
    if about.n_classes is None and all(source.produced is not None for source in able) and _all_have(able, N_CLASSES):
        found["n_classes"] = N_CLASSES
    return found


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
    place among `names`, and the numbers of the source, of the file among `files`, and of the row in it.
    """

    table: Any  # Arrow
    names: tuple[str, ...]
    files: Sequence[str]
    sources: Sequence[OpenTable]

    @classmethod
    def of(cls, sources: Sequence[OpenTable], extra: Sequence[str]) -> _Cases:
        """The cases of all, those of the first before the others; what they say of a case has to be the same.

        Every source is reduced to its cases before the next one is read: a long table has many rows of each.
        """
        files: list[str] = []
        names = (str(sources[0].outcome), *extra)
        tables: list[Any] = []
        for number, source in enumerate(sources):
            rows = _rows_of(source, number, (str(source.outcome), *extra), files)
            if source.layout.case is None and tables and len(rows) != len(tables[0]):
                raise AlignmentError(
                    f"without case ids, all files need the same number of rows: {sources[0].path} has "
                    f"{len(tables[0]):,}, {source.path} has {len(rows):,}. Give every file a column with case ids."
                )
            tables.append(cls(rows, (str(source.outcome), *extra), files, sources)._once().table)
        return cls(_concatenated(tables), names, files, sources)._once()

    def column(self, name: str) -> Any:
        return _array(self.table, str(self.names.index(name)))

    @property
    def outcomes(self) -> Any:
        return _array(self.table, "0")

    def _once(self) -> _Cases:
        """The same with one row per case, the first; blanks are filled by what other rows say of it."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        case = as_numpy(_array(self.table, "id").dictionary_encode().indices)
        _, first = np.unique(case, return_index=True)  # numbered in the order in which they appear
        if len(first) == len(case):
            return self
        table = self.table.take(as_arrow(first))
        for place in map(str, range(len(self.names))):
            column = _array(self.table, place)
            filled = np.flatnonzero(~blanks(column))
            which, at = np.unique(case[filled], return_index=True)
            said = np.full(len(first), -1)  # the first row of each case that says something
            said[which] = filled[at]
            before = said[case]
            differs = pc.not_equal(column, column.take(pa.array(before, mask=before < 0)))
            odd = np.flatnonzero(truths(pc.fill_null(differs, False)))
            if len(odd):
                many = len(np.unique(case[odd]))
                raise self._disagreement(self.names[int(place)], column, int(before[odd[0]]), int(odd[0]), many)
            values = column.take(pa.array(said, mask=said < 0))
            table = table.set_column(table.schema.get_field_index(place), place, values)
        return replace(self, table=table)

    def _place(self, at: int) -> tuple[str, int, str]:
        """The file and the row that say something, and what the case is called."""
        row = self.table.slice(at, 1).to_pylist()[0]
        has_ids = self.sources[row["source"]].layout.case is not None
        called = f"case {quote(row['id'])}" if has_ids else f"row {row['row']:,}"
        return self.files[row["file"]], row["row"], called

    def _disagreement(self, name: str, column: Any, first: int, other: int, many: int) -> TopListError:
        """That two rows say different things of one case: which, what, where, and what to do about it."""
        values = [quote(column[at].as_py()) for at in (first, other)]
        (source, _, _), (other_source, row, case) = self._place(first), self._place(other)
        if len(self.table["source"].unique()) == 1:
            return FileError(other_source, f"{case} has {values[1]} and {values[0]} in {quote(name)}.", row=row)
        more = f" ({many:,} such cases)" if many > 1 else ""
        is_outcome = name == self.names[0]
        remedy = f"Give the outcomes in a file of their own, {argument('truth')}."
        if not is_outcome and name in _FOUND.values():
            remedy = f"Leave it out with {argument(next(w for w, n in _FOUND.items() if n == name), '')}."
        what = "the outcome" if is_outcome else quote(name)
        return AlignmentError(
            f"{what} of {case} is {values[0]} in {source} and {values[1]} in {other_source}{more}. {remedy}"
        )

    def require_outcomes(self) -> None:
        """Every case has an outcome."""
        lacking = np.flatnonzero(blanks(self.outcomes))
        if len(lacking):
            source, row, case = self._place(int(lacking[0]))
            of = f" of {case}" if self.sources[0].layout.case is not None else ""
            more = f" ({len(lacking):,} such cases)" if len(lacking) > 1 else ""
            problem = (
                f"there is no outcome{of}{more}. Leave such rows out with {argument('where')}, or give the outcomes in "
                f"a file of their own, {argument('truth')}."
            )
            raise FileError(source, problem, row=row)


def _rows_of(source: OpenTable, number: int, names: Sequence[str], files: list[str]) -> Any:
    """The rows of a source as `_Cases` has them; its files are added to those before."""
    pa, case, known = need("pyarrow"), source.layout.case, source.reader.schema.names
    lacking = next((name for name in names if name not in known), None)
    if lacking is not None:
        near = did_you_mean(lacking, known) or f" The columns are {listed(known)}."
        raise FileError(source.path, f"there is no column {quote(lacking)}.{near}")
    tables, count = [], 0
    for piece in source.pieces(list(dict.fromkeys([*filter(None, [case]), *names]))):
        if not files or files[-1] != piece.source:
            files.append(piece.source)
        rows = piece.row_numbers
        ids = as_arrow(np.arange(count, count + len(rows)))
        count += len(rows)
        columns = {"id": ids if case is None else identifiers(piece.table.column(case), piece.source, rows)}
        for place, name in enumerate(names):
            columns[str(place)] = _scalar(piece.table.column(name), name, piece.source)
        for what, value in (("source", number), ("file", len(files) - 1)):
            columns[what] = as_arrow(np.full(len(rows), value))
        tables.append(pa.table({**columns, "row": as_arrow(rows)}))
    if not tables:
        raise FileError(source.path, "there are no cases.")
    return _concatenated(tables)


def _array(table: Any, name: str) -> Any:
    """A column in one piece."""
    chunks = table.column(name).chunks
    return chunks[0] if len(chunks) == 1 else need("pyarrow").concat_arrays(chunks)


def _scalar(column: Any, name: str, source: str) -> Any:
    """A column with one value per case, as what it is; bytes of it that belong to others are not kept."""
    values = text_if_none(plain(column))
    if need("pyarrow").types.is_nested(values.type):
        raise FileError(source, f"{quote(name)} holds {kind_of(values.type)}, not one value per case.")
    return values


def _concatenated(tables: Sequence[Any]) -> Any:
    """Tables one after the other, with values of different types as what both can be."""
    pa = need("pyarrow")
    kinds = [(name, _common([table.schema.field(name).type for table in tables])) for name in tables[0].schema.names]
    return pa.concat_tables([table.cast(pa.schema(kinds)) for table in tables])


def _common(kinds: Sequence[Any]) -> Any:
    """A type for values of several: numbers stay numbers."""
    pa = need("pyarrow")
    if len(set(kinds)) == 1:
        return kinds[0]
    if all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    return pa.float64() if all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds) else pa.string()


class _TruthReader(Reader):
    """The united cases as a table, with the file and the row that each of them comes from."""

    paths = ()

    def __init__(self, cases: _Cases) -> None:
        case = cases.sources[0].layout.case
        columns = {name: cases.column(name) for name in cases.names}
        columns |= {} if case is None else {case: _array(cases.table, "id")}
        self.name, self.rows = listed([source.path for source in cases.sources], 3, str), len(cases.table)
        self.batch = need("pyarrow").record_batch(columns)
        files = cases.table["file"].unique().to_pylist()
        one = len(files) == 1  # where there are several, rows are numbered through all of them
        self.source = cases.files[files[0]] if one else self.name
        self.numbers = as_numpy(_array(cases.table, "row")) if one else None

    @property
    def schema(self) -> Any:
        """Names and types."""
        return self.batch.schema

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns."""
        yield TableChunk(self.source, 0, self.batch.select(list(columns)), self.numbers)
