"""Lists as columns, whatever the layout was: offsets, classes, confidences, and where in the file they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.columns import (
    Column,
    as_arrow,
    as_numpy,
    blanks,
    decimals,
    identifiers,
    is_list,
    kind_of,
    numbers,
    offsets_of,
    plain,
    text_if_none,
    truths,
)
from toplist.io.layout import Layout
from toplist.io.readers import TableChunk
from toplist.io.readers.base import connect, guarded

Halves = NDArray[np.int64] | None
_WIDE = " Every column but the case ids is taken for a class here: if that is wrong, name the columns."


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive cases of one source. `classes` is None where every class is listed in order."""

    source: str
    rows: NDArray[np.int64]  # of the file, counted from 1, where each case begins
    ids: Column | None
    offsets: NDArray[np.int64]
    classes: Column | None
    confidences: NDArray[Any]
    extra: Mapping[str, Column] = field(default_factory=dict)
    halves: Halves = None  # classes without a confidence, the reverse, and their first row, by case
    rounding: NDArray[np.float64] | None = None  # by case: half a unit of the last decimal shown, NaN: see the numbers
    precision: int | None = None  # significant bits of the numbers, where their type here has more
    files: Column | None = None  # by case, where they are of several files

    @property
    def shown(self) -> NDArray[np.float64] | None:
        """The rounding as `Rows` have it: by case an amount that each confidence may be off by, and a share of it."""
        return None if self.rounding is None else np.stack([self.rounding, np.zeros(len(self))], axis=1)

    @property
    def nbytes(self) -> int:
        """The memory of its lists."""
        classes = 0 if self.classes is None else self.classes.nbytes
        return int(self.confidences.nbytes + self.offsets.nbytes + self.rows.nbytes) + classes

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, case: int) -> tuple[str, int]:
        """The file of a case, and its row there."""
        return self.source if self.files is None else self.files[case].as_py(), int(self.rows[case])

    def error(self, problem: str, case: int) -> FileError:
        """What is wrong with a case, and where it stands."""
        source, row = self.place(case)
        return FileError(source, problem, row=row)

    def part(self, lo: int, hi: int) -> Batch:
        """Cases lo to hi."""
        if lo == 0 and hi == len(self):
            return self
        start, stop = int(self.offsets[lo]), int(self.offsets[hi])
        return self._with(lambda column: column[lo:hi], lambda column: column[start:stop], self.offsets[lo : hi + 1])

    def take(self, at: NDArray[Any]) -> Batch:
        """The cases with these numbers, in this order."""
        first = self.offsets[at]
        sizes = self.offsets[at + 1] - first
        offsets = offsets_of(sizes)
        entries = np.repeat(first - offsets[:-1], sizes) + np.arange(offsets[-1])
        return self._with(lambda column: _taken(column, at), lambda column: _taken(column, entries), offsets)

    def _with(self, cases: Callable[[Any], Any], entries: Callable[[Any], Any], offsets: NDArray[np.int64]) -> Batch:
        """The same with other columns by case and by entry; offsets may begin anywhere."""
        columns = {name: getattr(self, name) for name in ("rows", "ids", "files", "halves", "rounding")}
        return replace(
            self,
            **{name: cases(column) for name, column in columns.items() if column is not None},
            offsets=offsets - offsets[0],
            classes=None if self.classes is None else entries(self.classes),
            confidences=entries(self.confidences),
            extra={name: cases(column) for name, column in self.extra.items()},
        )


def _taken(column: Any, at: NDArray[Any]) -> Any:
    return column[at] if isinstance(column, np.ndarray) else column.take(as_arrow(at))


def concat(batches: Sequence[Batch], source: str, names: Sequence[str] = ()) -> Batch:
    """All cases as one batch; `names` are the classes of a wide table."""
    if not batches:
        nothing = np.zeros(0, np.int64)
        return Batch(source, nothing, None, offsets_of(nothing), need("pyarrow").array([], "string"), np.zeros(0))
    if len(batches) == 1:
        return batches[0]

    def every(name: str, default: Callable[[Batch], Any] = lambda batch: None) -> Any:
        """A column of all cases, where it is there or where there is something to put in its place."""
        columns = [getattr(batch, name) for batch in batches]
        columns = [default(batch) if column is None else column for batch, column in zip(batches, columns, strict=True)]
        if any(column is None for column in columns):
            return None
        return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else _one_column(columns)

    of_one_file = len({batch.source for batch in batches}) == 1 and all(batch.files is None for batch in batches)
    rounded = any(batch.rounding is not None for batch in batches)
    return Batch(
        batches[0].source if of_one_file else source,
        every("rows"),
        every("ids"),
        offsets_of(np.concatenate([np.diff(batch.offsets) for batch in batches])),
        _classes_of(batches, names),
        every("confidences"),
        {name: _one_column([batch.extra[name] for batch in batches]) for name in batches[0].extra},
        every("halves"),
        every("rounding", lambda batch: np.zeros(len(batch))) if rounded else None,
        min((batch.precision for batch in batches if batch.precision is not None), default=None),
        None if of_one_file else every("files", _file_of_all),
    )


def _file_of_all(batch: Batch) -> Column:
    codes = need("pyarrow").array(np.zeros(len(batch), np.int32))
    return need("pyarrow").DictionaryArray.from_arrays(codes, [batch.source])


def _classes_of(batches: Sequence[Batch], names: Sequence[str]) -> Column | None:
    """The classes of all batches; a batch of a wide table that has no blank lists all of its columns."""
    if all(batch.classes is None for batch in batches):
        return None
    every = need("pyarrow").array(names, "string")
    columns = [
        every.take(as_arrow(np.tile(np.arange(len(names)), len(batch)))) if batch.classes is None else batch.classes
        for batch in batches
    ]
    return _one_column([column for column in columns if len(column)] or columns[:1])


def _one_column(columns: Sequence[Column]) -> Column:
    """One column of several, which may be whole numbers of several sizes, or text of more than two gigabytes."""
    pa = need("pyarrow")
    kinds = {column.type for column in columns}
    if pa.large_string() in kinds or (pa.string() in kinds and sum(column.nbytes for column in columns) >= 2**31):
        columns = [column.cast(pa.large_string()) for column in columns]
    elif len(kinds) > 1 and all(map(pa.types.is_integer, kinds)):
        columns = [column.cast(pa.int64()) for column in columns]
    return pa.concat_arrays(columns)


def to_batch(piece: TableChunk, layout: Layout, *, halves: bool = False) -> Batch:
    """One row, one case: every layout but the long one.

    With `halves`, a class without a confidence, or a confidence without a class, is left out and counted, not refused.
    """
    table, rows = piece.table, piece.row_numbers
    extra = {name: plain(table.column(name)) for name in layout.extra}
    ids = None if layout.case is None else identifiers(table.column(layout.case), piece.source, rows)
    missing = np.zeros((len(rows), 3), np.int64) if halves else None
    offsets, classes, confidences, rounding = _MAKERS[layout.kind](table, layout, piece.source, rows, missing)
    return Batch(piece.source, rows, ids, offsets, classes, confidences, extra, missing, rounding)


def to_batches(pieces: Iterator[TableChunk], layout: Layout, *, halves: bool = False) -> Iterator[Batch]:
    """The long layout: rows of one case follow each other; lists come out with the most confident class first."""
    pa, source = need("pyarrow"), ""
    table: Any = None
    rows = np.zeros(0, np.int64)  # those of the last case, which may go on in the next batch

    def ids() -> Column:
        return identifiers(table.column(layout.case), source, rows)

    for piece in pieces:
        if len(rows) and piece.source != source:
            yield _grouped(source, rows, table, ids(), layout, halves)
            rows = rows[:0]
        table = pa.concat_batches([table, piece.table]) if len(rows) else piece.table
        source, rows = piece.source, np.concatenate([rows, piece.row_numbers])
        every = ids()
        last = int(np.flatnonzero(starts_of(every))[-1]) if len(rows) else 0
        if last:
            yield _grouped(source, rows[:last], table.slice(0, last), every.slice(0, last), layout, halves)
        table, rows = table.slice(last), rows[last:]
    if len(rows):
        yield _grouped(source, rows, table, ids(), layout, halves)


def starts_of(ids: Column) -> NDArray[np.bool_]:
    """Where in a column of ids another one begins."""
    pc = need("pyarrow.compute")
    new = np.ones(len(ids), bool)
    if len(ids) > 1:
        new[1:] = truths(pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1)))
    return new


def _grouped(source: str, rows: NDArray[np.int64], table: Any, ids: Column, layout: Layout, halves: bool) -> Batch:
    classes, t = text_if_none(plain(table.column(layout.classes[0]))), table.column(layout.confidences[0])
    firsts = np.flatnonzero(starts_of(ids))
    sizes = np.diff(firsts, append=len(ids))
    case = np.repeat(np.arange(len(firsts)), sizes)
    missing = np.zeros((len(firsts), 3), np.int64) if halves else None
    offsets, listed, values, rounding = _paired(
        classes, t, offsets_of(sizes), lambda: (case, rows), missing, source, layout.confidences
    )
    if len(values) < len(rows):
        odd = np.flatnonzero(blanks(classes) & blanks(t) & (sizes[case] > 1))
        if len(odd):
            problem = "a blank row stands for an empty list, but the case has other rows."
            raise FileError(source, problem, row=int(rows[odd[0]]))
        case = np.repeat(np.arange(len(firsts)), np.diff(offsets))
    if not ((values[1:] <= values[:-1]) | (case[1:] != case[:-1])).all():  # most files have them in order
        order = np.lexsort((-values, case))
        values, listed = values[order], listed.take(as_arrow(order))
    extra = {name: plain(table.column(name)).take(as_arrow(firsts)) for name in layout.extra}
    ids = ids.take(as_arrow(firsts))
    return Batch(source, rows[firsts], ids, offsets, listed, values, extra, missing, rounding)


def _paired(
    classes: Column | None,
    t: Any,
    offsets: NDArray[np.int64],
    entries: Callable[[], tuple[NDArray[np.int64], NDArray[np.int64]]],
    halves: Halves,
    source: str,
    names: Sequence[str],
    order: NDArray[np.int64] | None = None,
    *,
    padded: bool = True,
    hint: str = "",
) -> tuple[NDArray[np.int64], Column, NDArray[Any], NDArray[np.float64] | None]:
    """Offsets, classes, confidences and rounding of what has both a class and a confidence.

    What lacks one of them is an error, unless it is counted. What lacks both is a place that is not taken, if lists
    are `padded`. `entries` makes the case and the row of each entry; `order` is that of the lists. Where `classes` are
    None, those of a wide table, their places among all entries stand for them.
    """
    if t.null_count or (classes is not None and classes.null_count):
        (case, rows), no_number = entries(), blanks(t)
        no_class = no_number if classes is None else blanks(classes)
        lacking = no_class | no_number
        odd = no_class != no_number if padded else lacking
        if odd.any() and halves is None:
            at = int(np.argmax(odd))
            what = "class" if no_class[at] else "confidence"
            how = " ({} for an empty label set)" if padded and no_class[at] else ""
            remedy = f"Fill it in{how}, or pass {argument('blanks', 'drop')} to leave out what lacks one of the two."
            raise FileError(source, f"the {what} is blank. {remedy}", row=int(rows[at]))
        if halves is not None:
            halves[:, 0] = np.bincount(case[odd & no_number], minlength=len(halves))
            halves[:, 1] = np.bincount(case[odd & ~no_number], minlength=len(halves))
            which, where = np.unique(case[odd], return_index=True)
            halves[which, 2] = rows[odd][where]
        order = np.flatnonzero(~lacking) if order is None else order[~lacking[order]]
        offsets = offsets_of(np.bincount(case[order], minlength=len(offsets) - 1))
    values, places = numbers(t, source, lambda: entries()[1], names, hint), decimals(t)
    if classes is None:
        classes = order
    elif order is not None:
        classes = classes.take(as_arrow(order))
    if order is not None:
        values, places = values[order], None if places is None else places[order]
    return offsets, classes, values, _last(places, offsets)


def _last(places: NDArray[np.int64] | None, offsets: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Half a unit of the last decimal that any confidence of a case shows."""
    if places is None:
        return None
    most, some = np.zeros(len(offsets) - 1), offsets[1:] > offsets[:-1]
    if some.any():
        most[some] = np.maximum.reduceat(places, offsets[:-1][some])
    last: NDArray[np.float64] = 0.5 * 10.0**-most
    return last


def _from_lists(table: Any, layout: Layout, source: str, rows: NDArray[np.int64], halves: Halves) -> Any:
    columns = []
    for name in (layout.classes[0], layout.confidences[0]):
        column = table.column(name)
        if column.null_count:
            row = int(rows[np.flatnonzero(blanks(column))[0]])
            raise FileError(source, f"{quote(name)} is null: an empty list is written [].", row=row)
        if not is_list(column.type):
            raise FileError(source, f"the values in {quote(name)} are {kind_of(column.type)}, but lists elsewhere.")
        columns.append(flat_lists(column))
    (at, classes), (also, t) = columns
    if not np.array_equal(at, also):
        sizes, others = np.diff(at), np.diff(also)
        if halves is None:
            case = int(np.flatnonzero(sizes != others)[0])
            problem = f"{sizes[case]} classes but {others[case]} confidences."
            raise FileError(source, problem, row=int(rows[case]))
        longer = offsets_of(np.maximum(sizes, others))
        classes, t, at = _filled_up(classes, at, longer), _filled_up(t, also, longer), longer

    def entries() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        case = np.repeat(np.arange(len(rows)), np.diff(at))
        return case, rows[case]

    return _paired(text_if_none(classes), t, at, entries, halves, source, layout.confidences, padded=False)


def _filled_up(values: Column, starts: NDArray[np.int64], longer: NDArray[np.int64]) -> Column:
    """What is in lists, with nulls behind it until they are as long as others."""
    sizes = np.diff(longer)
    within = np.arange(longer[-1]) - np.repeat(longer[:-1], sizes)
    beyond = within >= np.repeat(np.diff(starts), sizes)
    return values.take(need("pyarrow").array(np.where(beyond, 0, np.repeat(starts[:-1], sizes) + within), mask=beyond))


def flat_lists(column: Any) -> tuple[NDArray[np.int64], Column]:
    """Where each list of a column begins, and what is in all of them, without a copy."""
    pa = need("pyarrow")
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
        return np.arange(len(column) + 1, dtype=np.int64) * width, plain(column.flatten())
    offsets = as_numpy(column.offsets).astype(np.int64, copy=False)
    values = plain(column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])))
    return offsets - offsets[0] if offsets[0] else offsets, values


def _from_labels(table: Any, layout: Layout, source: str, rows: NDArray[np.int64], halves: Halves) -> Any:
    pa, column = need("pyarrow"), table.column(layout.classes[0])
    if is_list(column.type):
        return np.arange(len(column) + 1, dtype=np.int64), column, np.ones(len(column)), None
    classes = text_if_none(plain(column))
    blank = blanks(classes)
    kept = classes if not blank.any() else classes.filter(pa.array(~blank))
    return offsets_of((~blank).astype(np.int64)), kept, np.ones(len(kept)), None


def _from_columns(table: Any, layout: Layout, source: str, rows: NDArray[np.int64], halves: Halves) -> Any:
    """Columns side by side: confidences with their classes beside them, or under the names of their classes."""
    pa, n, k, wide = need("pyarrow"), len(table), len(layout.classes), layout.kind == "wide"
    names = layout.classes if wide else layout.confidences
    columns = [table.column(name) for name in names]
    if len({column.type for column in columns}) > 1:
        columns = [
            pa.array(
                numbers(column, source, lambda: rows, [name], _WIDE if wide else ""), pa.float64(), mask=blanks(column)
            )
            for column, name in zip(columns, names, strict=True)
        ]
    # Columns are read as one: 10,000 of them, one by one, made reading a third slower.
    offsets, listed, values, rounding = _paired(
        None if wide else plain(pa.chunked_array(_class_columns(table, layout, source))),
        pa.concat_arrays(columns),
        np.arange(n + 1, dtype=np.int64) * k,
        lambda: (np.tile(np.arange(n), k), np.tile(rows, k)),
        halves,
        source,
        names,
        np.arange(n * k).reshape(k, n).T.ravel(),  # column after column as Arrow has them; row after row as lists are
        hint=_WIDE if wide else "",
    )
    if not wide:
        return offsets, listed, values.astype(np.float64, copy=False), rounding
    every = pa.array(layout.class_names, pa.string())
    return offsets, None if len(listed) == n * k else every.take(as_arrow(listed // max(n, 1))), values, rounding


def _class_columns(table: Any, layout: Layout, source: str) -> list[Column]:
    """Columns of classes, all of one type."""
    types, pc = need("pyarrow").types, need("pyarrow.compute")
    columns = [text_if_none(plain(table.column(name))) for name in layout.classes]
    kinds = {column.type for column in columns}
    nested = next((kind for kind in kinds if types.is_nested(kind)), None)
    if nested is not None:
        raise FileError(source, f"classes are text or numbers, not {kind_of(nested)}.")
    return columns if len(kinds) == 1 else [pc.cast(column, "string") for column in columns]


_MAKERS = {"lists": _from_lists, "labels": _from_labels, "ranked": _from_columns, "wide": _from_columns}


def of_one_kind(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Files that belong together name classes in one way."""
    types, known = need("pyarrow").types, None
    for batch in batches:
        if batch.classes is not None and len(batch.classes):
            whole = types.is_integer(batch.classes.type)
            if known not in (None, whole):
                other = "text in the files before it" if whole else "whole numbers in the files before it"
                raise FileError(batch.source, f"classes are {'whole numbers' if whole else 'text'} here, but {other}.")
            known = whole
        yield batch


def case_by_case(pieces: Iterator[TableChunk], layout: Layout, source: str) -> Iterator[TableChunk]:
    """The rows of a long table, case by case in the order of their first rows."""
    pa = need("pyarrow")
    names = [f"c{i}" for i in range(len(layout.columns))]
    case = names[layout.columns.index(str(layout.case))]
    first = next(pieces, None)
    if first is None:
        return
    files: list[str] = []

    def numbered() -> Iterator[Any]:
        for piece in chain([first], pieces):
            if not files or files[-1] != piece.source:
                files.append(piece.source)
            rows = piece.row_numbers
            columns = [_as_type(*pair, piece.source) for pair in zip(piece.table.columns, schema, strict=False)]
            columns += [pa.array(rows), pa.array(np.full(len(rows), len(files) - 1, np.int32))]
            yield pa.record_batch(columns, schema=schema)

    kinds = [text_if_none(plain(column.slice(0, 0))).type for column in first.table.columns]
    schema = pa.schema([*zip(names, kinds, strict=True), ("row", pa.int64()), ("file", pa.int32())])
    with connect(source) as engine, guarded(numbered(), schema, engine):
        # Tables, not parts of one query, which takes more than twice as long.
        engine.execute("CREATE TEMP TABLE raw AS SELECT *, row_number() OVER () AS seq FROM stream")
        # A case that goes on in another file stays with the file, and the row, where it began.
        engine.execute(
            f"CREATE TEMP TABLE firsts AS SELECT {case}, min(seq) AS f, arg_min(file, seq) AS home, "
            f"arg_min(row, seq) AS head FROM raw GROUP BY {case}"
        )
        query = (
            f"SELECT {', '.join(f'raw.{name}' for name in names)}, if(raw.file = home, raw.row, head) AS row, home "
            f"FROM raw LEFT JOIN firsts ON raw.{case} IS NOT DISTINCT FROM firsts.{case} ORDER BY firsts.f, raw.seq"
        )
        for batch in engine.sql(query).to_arrow_reader(1 << 17):
            home = as_numpy(batch.column("home"))
            cuts = [0, *(np.flatnonzero(np.diff(home)) + 1).tolist(), len(batch)]
            for lo, hi in pairwise(cuts):
                part = batch.slice(lo, hi - lo)
                table = part.select(names).rename_columns(layout.columns)
                yield TableChunk(files[int(home[lo])], 0, table, as_numpy(part.column("row")))


def _as_type(column: Any, field: Any, source: str) -> Any:
    pa, values = need("pyarrow"), text_if_none(plain(column))
    try:
        return values if values.type == field.type else values.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        kinds = f"{kind_of(values.type)} here, but {kind_of(field.type)} in the files before it"
        raise FileError(source, f"a column holds {kinds}.") from None
