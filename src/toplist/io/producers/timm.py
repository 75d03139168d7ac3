"""Results of timm's inference.py: the k most likely classes of each picture, as CSV, Parquet or JSON.

There are columns for each rank (`label_0`, `index_0`, `prob_0`, ...), or lists in `label`, `index` and `prob`, which
CSV has as numpy prints them. The class is the index where there is one, and the label otherwise.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.entries import Record, matched, reader_of, records_in, rows_in, text_of
from toplist.io.readers.arrow import PARQUET
from toplist.io.readers.base import FirstLook

_CASE, _INDEX, _LABEL, _PROB, _LOGIT = "filename", "index", "label", "prob", "logit"
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_LOGITS = (
    "these are logits of the most likely classes only, of which no probabilities can be made: run inference.py with "
    "--output-type prob, its default."
)


def _open(request: Request) -> ProducedReader:
    records = [record for path in request.paths for record in _records(path)]
    if not records:
        raise FileError(request.name, "there is no row in this file.")
    chosen = _class_field(records[0], request)
    notes = [f"classes are the values of {chosen}"] if chosen else ["classes are numbered as the columns are"]
    seen: dict[str, Record] = {}
    rows = []
    for record in records:
        row = _row(record, chosen)
        if row.case in seen:
            raise record.error(
                f"the file name {quote(row.case)} is there twice: it is a name without its folder, and pictures of "
                "several folders may share it. Run inference.py with --fullname."
            )
        seen[row.case] = record
        rows.append((record, row))
    return reader_of(request, rows, notes)


def _class_field(record: Record, request: Request) -> str:
    """Which field holds the classes; none where there is a probability for each."""
    fields = {re.sub(r"_\d+$", "", name) for name in record.value}
    if _LOGIT in fields:
        raise FileError(record.source, _LOGITS)
    if _PROB not in fields or _CASE not in fields:
        raise FileError(record.source, f"there is no {_CASE}, or no {_PROB}, among {sorted(record.value)[:8]}.")
    asked = request.options.class_column
    if asked is not None:
        if asked not in fields & {_INDEX, _LABEL}:
            said = argument("class_column", asked)
            raise FileError(record.source, f"{said} is not there: run inference.py with --include-index for index.")
        return asked
    return next((name for name in (_INDEX, _LABEL) if name in fields), "")


def _row(record: Record, chosen: str) -> Row:
    case = record.text(record.value.get(_CASE), "the file name")
    values = [record.number(_number(one), "a probability") for one in _ranked(record, _PROB)]
    if not chosen:
        if values == sorted(values, reverse=True):
            raise record.error(
                "there are probabilities without their classes: run inference.py with --include-index, or for all "
                "classes with --topk 0."
            )
        return Row(case, [str(at) for at in range(len(values))], values)
    classes = [record.text(one, "a class") for one in _ranked(record, chosen)]
    if len(classes) != len(values):
        raise record.error(f"{len(classes)} classes for {len(values)} probabilities.")
    twice = next((name for at, name in enumerate(classes) if name in classes[:at]), None)
    if twice is not None:
        raise record.error(
            f"the class {quote(twice)} is listed twice: two classes of ImageNet have this name, and adding up their "
            "probabilities would make one class of two. Run inference.py with --include-index or --label-type name."
        )
    return Row(case, classes, values)


def _ranked(record: Record, field: str) -> Sequence[Any]:
    """The values of a field by their rank: of columns such as prob_0, of a list, or of a text that shows an array."""
    numbered = {
        int(name.rpartition("_")[2]): name for name in record.value if re.fullmatch(rf"{field}_\d{{1,9}}", name)
    }
    if numbered:
        if sorted(numbered) != list(range(len(numbered))):
            raise record.error(f"there are not all ranks of {field}, but {', '.join(sorted(numbered.values()))}.")
        return [record.value[numbered[rank]] for rank in sorted(numbered)]
    value = record.value.get(field)
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.strip().startswith("["):
        inside = value.strip()[1:].removesuffix("]")
        return [a or b for a, b in _QUOTED.findall(inside)] if field == _LABEL else inside.split()
    return [value]


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _records(path: Path) -> Iterator[Record]:
    """The rows of a file as mappings, whatever its format; JSON by its content, because CSV may have its suffix."""
    if path.suffix.lower() in PARQUET.suffixes:
        table = PARQUET.open((path,), str(path))
        rows = (one for piece in table.pieces(table.schema.names) for one in piece.table.to_pylist())
        yield from (Record(str(path), at, one) for at, one in enumerate(rows, 1))
        return
    yield from _of_json(path) if text_of(path).lstrip().startswith(("{", "[")) else rows_in(path)


def _of_json(path: Path) -> Iterator[Record]:
    """Rows under their names, as {"columns", "data"}, or one by one."""
    for record in records_in(path):
        value = record.value
        if not isinstance(value, Mapping):
            raise record.error(f"this is no row of results: {quote(value)}.")
        if value.keys() >= {"columns", "data"}:
            columns = [one.text(one.value, "a column") for one in record.items(value["columns"], "columns")]
            for row in record.items(value["data"], "data"):
                if not isinstance(row.value, list) or len(row.value) != len(columns):
                    raise row.error(f"this should be a list of {len(columns)} values, not {quote(row.value)}.")
                yield Record(row.source, row.row, dict(zip(columns, row.value, strict=True)))
        elif _CASE in value:
            yield record
        else:
            yield from (
                Record(record.source, at, {_CASE: name, **one} if isinstance(one, Mapping) else {})
                for at, (name, one) in enumerate(value.items(), 1)
            )


def _match(look: FirstLook, match: Match) -> Match | None:
    """Tables with the name of a file, and probabilities or logits of ranks or in lists."""
    return matched(match, lambda path: _seen(look, path))


def _seen(look: FirstLook, path: Path) -> str:
    row = _first_row(look.first(path)) if path.suffix.lower() == ".json" else dict.fromkeys(look.columns(path))
    numbered = next((f"{field}_0" for field in (_PROB, _LOGIT) if f"{field}_0" in row), "")
    single = next((field for field in (_PROB, _LOGIT) if field in row), "")
    if _CASE not in row:
        return ""
    if numbered:
        return f"it has the columns {_CASE} and {numbered}"
    lists = single and (isinstance(row[single], list) or _has_lists(look, path, single))
    return f"it has {_CASE} and lists in {single}" if lists else ""


def _has_lists(look: FirstLook, path: Path, column: str) -> bool:
    """Whether a column of a table holds lists, or texts that show arrays."""
    if path.suffix.lower() in PARQUET.suffixes:
        kind = PARQUET.open((path,), str(path)).schema.field(column).type
        return "list" in str(kind)
    rows = csv.reader(io.StringIO(look.head(path), newline=""))
    try:
        names, cells = next(rows, []), next(rows, [])
    except csv.Error:
        return False
    return column in names[: len(cells)] and cells[names.index(column)].startswith("[")


def _first_row(first: Any) -> Mapping[str, Any]:
    """The first row of a document, as `_of_json` has it."""
    if not isinstance(first, Mapping):
        return {}
    columns, data = first.get("columns"), at_path(first, "data.0")
    if isinstance(columns, list) and isinstance(data, list):
        return dict(zip(map(str, columns), data, strict=False))
    row = next(iter(first.values()), None)
    return {_CASE: None, **row} if isinstance(row, Mapping) else {}


PRODUCER = Producer(_open, _match, options=("class_column",), files_only=True)
