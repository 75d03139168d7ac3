"""Lists as columns, whatever the layout was: offsets, classes, confidences, and where in the file they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import FileError
from toplist.io.layouts import Layout
from toplist.io.optional import need
from toplist.io.readers import Piece

Column = Any  # pyarrow.Array


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

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, lo: int, hi: int) -> Batch:
        """Cases lo to hi."""
        if lo == 0 and hi == len(self):
            return self
        start, stop = int(self.offsets[lo]), int(self.offsets[hi])
        return replace(
            self,
            rows=self.rows[lo:hi],
            ids=None if self.ids is None else self.ids.slice(lo, hi - lo),
            offsets=self.offsets[lo : hi + 1] - start,
            classes=None if self.classes is None else self.classes.slice(start, stop - start),
            confidences=self.confidences[start:stop],
            extra={name: column.slice(lo, hi - lo) for name, column in self.extra.items()},
        )


def to_batch(piece: Piece, layout: Layout) -> Batch:
    """One row, one case: every layout but the long one."""
    table = piece.table
    rows = _rows(piece)
    extra = {name: plain(table.column(name)) for name in layout.extra}
    ids = None if layout.case is None else identifiers(table.column(layout.case), piece.source, rows)
    offsets, classes, confidences = _MAKERS[layout.kind](table, layout, piece.source, rows)
    return Batch(piece.source, rows, ids, offsets, classes, confidences, extra)


def to_batches(pieces: Iterator[Piece], layout: Layout) -> Iterator[Batch]:
    """The long layout: rows of one case follow each other; lists come out with the most confident class first."""
    pa, carried = need("pyarrow"), None
    for piece in pieces:
        table, rows = piece.table, _rows(piece)
        if carried is not None and carried[0] != piece.source:
            yield _grouped(*carried, layout)
            carried = None
        if carried is not None:
            table = pa.concat_batches([carried[2], table])
            rows = np.concatenate([carried[1], rows])
        last = _last_run(table, layout)
        if last > 0:
            yield _grouped(piece.source, rows[:last], table.slice(0, last), layout)
        carried = (piece.source, rows[last:], table.slice(last))
    if carried is not None and len(carried[2]):
        yield _grouped(*carried, layout)


def _rows(piece: Piece) -> NDArray[np.int64]:
    start, n = piece.start, len(piece.table)
    return np.arange(start + 1, start + n + 1, dtype=np.int64) if piece.rows is None else piece.rows


def _last_run(table: Any, layout: Layout) -> int:
    """Where the last case begins: it may go on in the next batch."""
    starts = _starts(plain(table.column(layout.case)))
    return int(np.flatnonzero(starts)[-1]) if len(starts) else 0


def _starts(ids: Column) -> NDArray[np.bool_]:
    pc = need("pyarrow.compute")
    new = np.ones(len(ids), bool)
    if len(ids) > 1:
        same = pc.fill_null(pc.equal(ids.slice(1), ids.slice(0, len(ids) - 1)), False)
        new[1:] = ~same.to_numpy(zero_copy_only=False)
    return new


def _grouped(source: str, rows: NDArray[np.int64], table: Any, layout: Layout) -> Batch:
    pa = need("pyarrow")
    ids = identifiers(table.column(layout.case), source, rows)
    classes, t = plain(table.column(layout.classes[0])), table.column(layout.confidences[0])
    blank = _blanks(classes) & _blanks(t)
    _require_pairs(classes, t, source, rows)
    starts = _starts(ids)
    case = np.cumsum(starts) - 1
    sizes = np.bincount(case, minlength=int(starts.sum()))
    listed = np.bincount(case, weights=~blank, minlength=len(sizes)).astype(np.int64)
    odd = (listed < sizes) & (sizes > 1)
    if odd.any():
        row = int(rows[np.flatnonzero(blank & odd[case])[0]])
        raise FileError(source, "a blank row stands for an empty list, but the case has other rows.", row=row)
    values = numbers(t, source, rows)[~blank]
    kept = np.flatnonzero(~blank)
    order = np.lexsort((-values, case[kept]))
    firsts = np.flatnonzero(starts)
    return Batch(
        source,
        rows[firsts],
        ids.take(pa.array(firsts)),
        offsets_of(listed),
        classes.take(pa.array(kept[order])),
        values[order],
        {name: plain(table.column(name)).take(pa.array(firsts)) for name in layout.extra},
    )


def _from_lists(table: Any, layout: Layout, source: str, rows: NDArray[np.int64]) -> Any:
    columns = []
    for name in (layout.classes[0], layout.confidences[0]):
        column = table.column(name)
        if column.null_count:
            row = int(rows[np.flatnonzero(_blanks(column))[0]])
            raise FileError(source, f"{name!r} is null: an empty list is written [].", row=row)
        columns.append(_flat(column))
    (at, classes), (also, t) = columns
    if not np.array_equal(at, also):
        sizes, others = np.diff(at), np.diff(also)
        case = int(np.flatnonzero(sizes != others)[0])
        problem = f"{sizes[case]} classes but {others[case]} confidences."
        raise FileError(source, problem, row=int(rows[case]))
    for name, values in ((layout.classes[0], classes), (layout.confidences[0], t)):
        if values.null_count:
            case = int(np.searchsorted(at, np.flatnonzero(_blanks(values))[0], side="right")) - 1
            raise FileError(source, f"a value in {name!r} is null.", row=int(rows[case]))
    return at, classes, numbers(t, source, np.repeat(rows, np.diff(at)))


def _flat(column: Any) -> tuple[NDArray[np.int64], Column]:
    pa = need("pyarrow")
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
        return np.arange(len(column) + 1, dtype=np.int64) * width, plain(column.flatten())
    offsets = column.offsets.to_numpy().astype(np.int64, copy=False)
    values = plain(column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])))
    return offsets - offsets[0] if offsets[0] else offsets, values


def _from_labels(table: Any, layout: Layout, source: str, rows: NDArray[np.int64]) -> Any:
    pa, column = need("pyarrow"), table.column(layout.classes[0])
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return np.arange(len(column) + 1, dtype=np.int64), column, np.ones(len(column))
    classes = plain(column)
    blank = _blanks(classes)
    kept = classes if not blank.any() else classes.filter(pa.array(~blank))
    return offsets_of((~blank).astype(np.int64)), kept, np.ones(len(kept))


def _from_ranked(table: Any, layout: Layout, source: str, rows: NDArray[np.int64]) -> Any:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    n, k = len(table), len(layout.classes)
    columns = [plain(table.column(name)) for name in layout.classes]
    kinds = {column.type for column in columns}
    if len(kinds) > 1:
        columns = [pc.cast(column, pa.string()) for column in columns]
    values = np.empty((n, k))
    there = np.empty((n, k), bool)
    for i, (column, name) in enumerate(zip(columns, layout.confidences, strict=True)):
        t = table.column(name)
        _require_pairs(column, t, source, rows)
        there[:, i] = ~_blanks(column)
        values[:, i] = numbers(t, source, rows)
    # Column after column as Arrow has them; row after row as lists are.
    order = (np.arange(n)[:, None] + n * np.arange(k)).ravel()[there.ravel()]
    classes = pa.chunked_array(columns, columns[0].type).combine_chunks().take(pa.array(order))
    return offsets_of(there.sum(axis=1)), plain(classes), values.ravel()[there.ravel()]


def _from_wide(table: Any, layout: Layout, source: str, rows: NDArray[np.int64]) -> Any:
    pa, n, m = need("pyarrow"), len(table), len(layout.classes)
    columns = [table.column(name) for name in layout.classes]
    single = all(column.type == pa.float32() for column in columns)
    values = np.empty((n, m), np.float32 if single else np.float64)
    there = np.ones((n, m), bool)
    for i, column in enumerate(columns):
        values[:, i] = numbers(column, source, rows)
        if column.null_count:
            there[:, i] = ~_blanks(column)
    if there.all():
        return np.arange(n + 1, dtype=np.int64) * m, None, values.ravel()
    names = pa.array(layout.classes).take(pa.array(np.nonzero(there)[1]))
    return offsets_of(there.sum(axis=1)), names, values[there]


_MAKERS = {"lists": _from_lists, "labels": _from_labels, "ranked": _from_ranked, "wide": _from_wide}


def identifiers(column: Any, source: str, rows: NDArray[np.int64]) -> Column:
    """Case ids as integers or text."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    ids = plain(column)
    if ids.null_count:
        raise FileError(source, "there is no case id.", row=int(rows[np.flatnonzero(_blanks(ids))[0]]))
    if pa.types.is_integer(ids.type):
        return pc.cast(ids, pa.int64()) if not pa.types.is_uint64(ids.type) else pc.cast(ids, pa.string())
    if pa.types.is_string(ids.type):
        return ids
    if pa.types.is_floating(ids.type):
        whole = pc.equal(ids, pc.floor(ids))
        if not pc.all(whole, min_count=0).as_py():
            bad = np.flatnonzero(~whole.to_numpy(zero_copy_only=False))[0]
            raise FileError(
                source, f"{ids[int(bad)].as_py()!r} is no case id: text or whole numbers.", row=int(rows[bad])
            )
        return pc.cast(ids, pa.int64())
    if pa.types.is_temporal(ids.type) or pa.types.is_boolean(ids.type):
        return pc.cast(ids, pa.string())
    raise FileError(source, f"case ids are text or whole numbers, not {ids.type}.")


def numbers(column: Any, source: str, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Confidences as float32 or float64; nulls, which others have dealt with, as NaN."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    kind = column.type
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if pa.types.is_float16(kind):
        return pc.cast(column, pa.float32()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    text = plain(column)
    if not pa.types.is_string(text.type):
        raise FileError(source, f"confidences are numbers, not {kind}.")
    trimmed = pc.utf8_trim_whitespace(text)
    try:
        return pc.cast(trimmed, pa.float64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    except pa.ArrowInvalid:
        bad = next(i for i, value in enumerate(trimmed.to_pylist()) if value is not None and not _is_number(value))
        value = text[bad].as_py()
        shown = value if len(value) <= 40 else value[:37] + "..."
        raise FileError(source, f"{shown!r} is no number.", row=int(rows[bad])) from None


def _is_number(value: str) -> bool:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    try:
        pc.cast(pa.array([value]), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def plain(column: Any) -> Column:
    """One array, not chunked or encoded; text as Arrow's string."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.string())
    return column


def offsets_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Where each list begins, and the end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def _blanks(column: Any) -> NDArray[np.bool_]:
    blanks: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return blanks


def _require_pairs(classes: Column, t: Any, source: str, rows: NDArray[np.int64]) -> None:
    odd = _blanks(classes) != _blanks(t)
    if odd.any():
        at = int(np.flatnonzero(odd)[0])
        lacks = "class" if not classes[at].is_valid else "confidence"
        raise FileError(source, f"the {lacks} is blank.", row=int(rows[at]))
