"""One type for a column, however it is encoded and whichever of several files it comes from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, as_numpy, blanks, kind_of, offsets_of

_NOT_TEXT = "this is not UTF-8 text."
_ENCODED = ("is_dictionary", "is_run_end_encoded")
_VIEWS = ("is_list_view", "is_large_list_view")
_LISTS = ("is_list", "is_large_list", "is_fixed_size_list", *_VIEWS)
_TEXT = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
_LARGE = ("is_large_list", "is_large_list_view", "is_large_string", "is_large_binary")


def is_any_list(kind: Any) -> bool:
    """Whether values are lists, in any layout of Arrow."""
    return _is(kind, _LISTS)


def is_large(kind: Any) -> bool:
    """Whether lists or text may hold more than two gigabytes."""
    return _is(kind, _LARGE)


def mapped(kind: Any, leaf: Callable[[Any], Any]) -> Any:
    """A type of lists or objects with others inside of it."""
    pa = need("pyarrow")
    if pa.types.is_list(kind):
        return pa.list_(mapped(kind.value_type, leaf))
    return pa.struct([(one.name, mapped(one.type, leaf)) for one in kind]) if pa.types.is_struct(kind) else leaf(kind)


def usual(kind: Any) -> Any:
    """The type that values are read as: encodings and views say how they are stored, and bytes are text."""
    pa = need("pyarrow")
    if _is(kind, _ENCODED):
        return usual(kind.value_type)
    if _is(kind, _LISTS):
        inner = usual(kind.value_type)
        if inner == kind.value_type and not _is(kind, _VIEWS):
            return kind
        return pa.large_list(inner) if _is(kind, _LARGE) else pa.list_(inner)
    return kind if not _is(kind, _TEXT) else pa.large_string() if is_large(kind) else pa.string()


def common(one: Any, other: Any, *, lenient: bool = False) -> Any:
    """The type that holds the values of both and means the same: text is no number, and a list no value.

    Where there is none, it is None, or, if `lenient`, the first one; objects may then have further fields.
    """
    pa = need("pyarrow")
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    wide = is_large(one) or is_large(other)
    if is_any_list(one) and is_any_list(other):
        inner = common(one.value_type, other.value_type, lenient=lenient)
        return None if inner is None else (pa.large_list if wide else pa.list_)(inner)
    if _is(one, _TEXT) and _is(other, _TEXT):
        return pa.large_string() if wide else pa.string()
    numbers = [(pa.types.is_integer(k), pa.types.is_floating(k), pa.types.is_decimal(k)) for k in (one, other)]
    if all(map(any, numbers)):
        return pa.int64() if all(whole for whole, _, _ in numbers) else pa.float64()
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        mine, theirs = ({field.name: field.type for field in kind} for kind in (one, other))
        if lenient or mine.keys() == theirs.keys():
            every = mine | {k: common(mine.get(k, t), t, lenient=lenient) for k, t in theirs.items()}
            return None if None in every.values() else pa.struct(list(every.items()))
    return one if lenient else None


def one_schema(parts: Iterable[tuple[str, Any]]) -> Any:
    """The schema that all files of one prediction have; a file with another column, or another type, is refused."""
    pa, home = need("pyarrow"), ""
    kinds: dict[str, Any] = {}
    for source, schema in parts:
        own = {name: usual(kind) for name, kind in zip(_names(schema, source), schema.types, strict=True)}
        if not home:
            home, kinds = source, own
            continue
        require_same_columns(own, source, kinds, home)
        for name, kind in own.items():
            both = common(kinds[name], kind)
            if both is None:
                raise FileError(
                    source, f"the column {quote(name)} holds {_differ(kind, kinds[name])} in {home}.{_REMEDY}"
                )
            kinds[name] = both
    return pa.schema(list(kinds.items()))


_REMEDY = " All files of a folder or a pattern are one prediction: write them in one way, or give them apart."


def require_same_columns(names: Iterable[str], source: str, known: Iterable[str], home: str) -> None:
    """A further column may be a class, or a rank, that the other files do not have: which, cannot be known."""
    mine, theirs = dict.fromkeys(names), dict.fromkeys(known)
    lacks = next((name for name in theirs if name not in mine), None)
    more = next((name for name in mine if name not in theirs), None)
    if lacks is not None:
        also = "" if more is None else f" It has a column {quote(more)} instead." if len(mine) == len(theirs) else ""
        raise FileError(source, f"there is no column {quote(lacks)}, which {home} has.{also}{_REMEDY}")
    if more is not None:
        raise FileError(source, f"there is a column {quote(more)}, which {home} does not have.{_REMEDY}")


def fitted(table: Any, schema: Any, source: str, start: int) -> Any:
    """The columns of a batch with the types of the schema; they are looked at first, since files may be damaged."""
    pa = need("pyarrow")
    columns = dict(zip(table.schema.names, table.columns, strict=True))
    for name, column in columns.items():
        kind = schema.field(name).type
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise _damage(str(error), column, source, start) from None
        if column.type != kind:
            values = decoded(column)
            if (at := _first_other(values, kind)) is not None:
                text = _is(kind, _TEXT) or (is_any_list(kind) and _is(kind.value_type, _TEXT))
                value = f"{quote(values[at].as_py())} in {quote(name)}"
                problem = _NOT_TEXT if text else f"{value} is not among the {kind_of(kind)} that the other files hold."
                raise FileError(source, problem, row=start + at + 1)
            columns[name] = values.cast(kind)
    return pa.record_batch(list(columns.values()), names=list(columns))


def _first_other(values: Any, kind: Any) -> int | None:
    """The place of the first value that has no value of another type, if any."""
    pa = need("pyarrow")
    try:
        values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        every = (pa.array([value.as_py()], values.type) for value in values) if len(values) > 1 else ()
        return next((at for at, value in enumerate(every) if _first_other(value, kind) is not None), 0)
    return None


def _damage(problem: str, column: Any, source: str, start: int) -> FileError:
    """What Arrow said; nothing in the column can be relied on."""
    if "utf8" not in problem.lower():
        return FileError(source, "this file is damaged: its columns do not fit together.")
    match, types = re.search(r"string index (\d+)", problem), need("pyarrow").types
    at = None if match is None or types.is_dictionary(column.type) else int(match.group(1))
    if at is not None and (types.is_list(column.type) or types.is_large_list(column.type)):
        at = int(np.searchsorted(as_numpy(column.offsets), at, side="right")) - 1
    row = None if at is None else start + min(max(at, 0), len(column) - 1) + 1
    return FileError(source, _NOT_TEXT, row=row)


def decoded(column: Any) -> Any:
    """The values of a column without encoding; Arrow casts neither run ends nor views of lists as it should."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_dictionary(column.type):
        return decoded(column.dictionary_decode())
    if pa.types.is_run_end_encoded(column.type):
        return decoded(pc.run_end_decode(column))
    if not _is(column.type, _LISTS) or usual(column.type) == column.type:
        return column
    nothing, sizes = blanks(column), as_numpy(pc.fill_null(pc.list_value_length(column), 0))
    values = decoded(pc.list_flatten(column))
    return pa.LargeListArray.from_arrays(as_arrow(offsets_of(sizes.astype(np.int64))), values, mask=as_arrow(nothing))


def is_nested_dictionary(kind: Any) -> bool:
    """Whether a list holds encoded values, which pyarrow cannot read across row groups of Parquet."""
    return _is(kind, _LISTS) and (_is(kind.value_type, _ENCODED) or is_nested_dictionary(kind.value_type))


def _is(kind: Any, tests: Sequence[str]) -> bool:
    types = need("pyarrow").types
    return any(getattr(types, test)(kind) for test in tests)


def _names(schema: Any, source: str) -> list[str]:
    try:
        names = [str(name) for name in schema.names]
    except UnicodeDecodeError:
        raise FileError(source, "the name of a column is not UTF-8 text.") from None
    require_once(names, source)
    return names


def require_once(names: Sequence[str], source: str) -> None:
    """Columns are told apart by their names."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise FileError(source, f"the column {quote(twice)} is there twice.")


def _differ(kind: Any, other: Any) -> str:
    """What differs, in words, or by the names of the types where the words are the same."""
    mine, theirs = _words(kind), _words(other)
    return f"{mine}, but {theirs}" if mine != theirs else f"{kind}, but {other}"


def _words(kind: Any) -> str:
    return f"lists of {_words(kind.value_type)}" if _is(kind, _LISTS) else "text" if _is(kind, _TEXT) else kind_of(kind)
