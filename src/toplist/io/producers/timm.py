"""Results of timm's inference.py: the k most likely classes of each picture, as CSV, Parquet or JSON.

There are columns for each rank (`label_0`, `index_0`, `prob_0`, ...), or lists in `label`, `index` and `prob`, which
CSV has as numpy prints them. The class is the index where there is one, and the label otherwise.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.producers.base import at_path
from toplist.io.producers.cases import Cases, reading
from toplist.io.producers.records import Record, mappings, number_of, records_in, rows_in, text_of
from toplist.io.readers.arrow import PARQUET
from toplist.io.readers.first_look import FirstLook

_CASE, _INDEX, _LABEL, _PROB, _LOGIT = "filename", "index", "label", "prob", "logit"
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def _read(cases: Cases) -> None:
    records = [record for path in cases.request.paths for record in _records(path)]
    if not records:
        raise FileError(cases.request.name, "there is no row in this file.")
    chosen = _class_field(records[0], cases.request.options.class_column)
    cases.say(f"classes are the values of {chosen}" if chosen else "classes are numbered as the columns are")
    seen = set()
    for record in records:
        case = record.text(_CASE)
        if case in seen:
            raise record.error(
                f"the file name {quote(case)} is there twice: it is a name without its folder, and pictures of "
                "several folders may share it. Run inference.py with --fullname."
            )
        seen.add(case)
        cases.add(record, case, *_list_of(record, chosen))


def _class_field(record: Record, asked: str | None) -> str:
    """Which field holds the classes; none where there is a probability for each."""
    fields = {re.sub(r"_\d+$", "", name) for name in record.value}
    if _LOGIT in fields:
        raise FileError(
            record.source,
            "these are logits of the most likely classes only, of which no probabilities can be made: run inference.py "
            "with --output-type prob, its default.",
        )
    if not {_PROB, _CASE} <= fields:
        raise FileError(record.source, f"there is no {_CASE}, or no {_PROB}, among {sorted(record.value)[:8]}.")
    if asked is not None and asked not in fields & {_INDEX, _LABEL}:
        said = argument("class_column", asked)
        raise FileError(record.source, f"{said} is not there: run inference.py with --include-index for index.")
    return asked or next((name for name in (_INDEX, _LABEL) if name in fields), "")


def _list_of(record: Record, chosen: str) -> tuple[list[str], list[float]]:
    values = [record.as_number(number_of(value), "a probability") for value in _ranked(record, _PROB)]
    if not chosen:
        if values == sorted(values, reverse=True):
            raise record.error(
                "there are probabilities without their classes: run inference.py with --include-index, or for all "
                "classes with --topk 0."
            )
        return [str(place) for place in range(len(values))], values
    classes = [record.as_text(value, "a class") for value in _ranked(record, chosen)]
    if len(classes) != len(values):
        raise record.error(f"{len(classes)} classes for {len(values)} probabilities.")
    twice = next((name for at, name in enumerate(classes) if name in classes[:at]), None)
    if twice is not None:
        raise record.error(
            f"the class {quote(twice)} is listed twice: two classes of ImageNet have this name, and adding up their "
            "probabilities would make one class of two. Run inference.py with --include-index or --label-type name."
        )
    return classes, values


def _ranked(record: Record, field: str) -> list[Any]:
    """The values of a field by their rank: of columns such as prob_0, of a list, or of a text that shows an array."""
    names = {int(name.rpartition("_")[2]): name for name in record.value if re.fullmatch(rf"{field}_\d{{1,9}}", name)}
    if names:
        if sorted(names) != list(range(len(names))):
            raise record.error(f"there are not all ranks of {field}, but {', '.join(sorted(names.values()))}.")
        return [record.value[names[rank]] for rank in sorted(names)]
    value = record.value.get(field)
    if isinstance(value, str) and value.strip().startswith("["):
        inside = value.strip()[1:].removesuffix("]")
        return [a or b for a, b in _QUOTED.findall(inside)] if field == _LABEL else list(inside.split())
    return value if isinstance(value, list) else [value]


def _records(path: Path) -> Iterator[Record]:
    """The rows of a file; JSON by its content, because CSV may have its suffix."""
    if path.suffix.lower() in PARQUET.suffixes or not text_of(path).lstrip().startswith(("{", "[")):
        yield from rows_in(path)
        return
    for document in mappings(records_in(path)):
        if _CASE in document.value:
            yield document
        elif document.value.keys() >= {"columns", "data"}:
            columns = [document.as_text(name, "a column") for name in document.items("columns")]
            for row in document.inside("data"):
                if not isinstance(row.value, list) or len(row.value) != len(columns):
                    raise row.error(f"this should be a list of {len(columns)} values, not {quote(row.value)}.")
                yield Record(row.source, row.row, dict(zip(columns, row.value, strict=True)))
        else:
            for at, (name, row) in enumerate(document.value.items(), 1):
                yield Record(document.source, at, {_CASE: name, **row} if isinstance(row, Mapping) else {})


def _is_timm(look: FirstLook, path: Path) -> str:
    """A table with the name of a file, and probabilities or logits of ranks or in lists."""
    row = _first_row(look, path)
    numbered = next((f"{field}_0" for field in (_PROB, _LOGIT) if f"{field}_0" in row), "")
    single = next((field for field in (_PROB, _LOGIT) if field in row), "")
    if _CASE not in row or not (numbered or single):
        return ""
    if numbered:
        return f"it has the columns {_CASE} and {numbered}"
    return f"it has {_CASE} and lists in {single}" if str(row[single]).startswith(("[", "list<")) else ""


def _first_row(look: FirstLook, path: Path) -> Mapping[str, Any]:
    """The first row of a file, as `_records` has it."""
    if path.suffix.lower() in PARQUET.suffixes:
        names = look.columns(path)
        return {field.name: str(field.type) for field in PARQUET.open((path,), str(path)).schema} if names else {}
    if path.suffix.lower() != ".json":
        rows = csv.reader(io.StringIO(look.head(path), newline=""))
        with suppress(csv.Error):
            return {name.strip(): cell for name, cell in zip_longest(next(rows, []), next(rows, []), fillvalue="")}
        return {}
    first = look.first(path)
    if not isinstance(first, Mapping):
        return {}
    columns, data = first.get("columns"), at_path(first, "data.0")
    if isinstance(columns, list) and isinstance(data, list):
        return dict(zip(map(str, columns), data, strict=False))
    row = next(iter(first.values()), None)
    return {_CASE: None, **row} if isinstance(row, Mapping) else {}


PRODUCER = reading(_read, written=True, sees=_is_timm, options=("class_column",), files_only=True)
