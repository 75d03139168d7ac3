"""What a file says, read slowly by other means: the csv and json modules, pyarrow and numpy row by row."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

Pairs = list[tuple[str, float]]
Said = dict[str, Pairs]  # by case, in text
CASE = ("case", "id", "image_id", "filename", "nr", "case id")
CLASS = ("class", "label", "prediction", "species")
CONFIDENCE = ("confidence", "p", "score", "prob", "certainty")


class UnreadableError(Exception):
    """The file does not say anything that makes sense."""


def said(path: Path, layout: str, labels: Sequence[str] | None = None, ids: Sequence[str] | None = None) -> Said:
    """The lists of all cases; where labels are known, other columns of a wide table are none.

    With `ids`, the file has none, and its rows are about these cases. A folder says what each of its files says.
    """
    try:
        if path.suffix in (".npz", ".npy"):
            return _unique(_arrays(path))
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [_records(part, short=layout == "ranked") for part in parts]
        if ids is not None:
            found = [[{"case": i, **record} for i, record in zip(ids, found[0], strict=True)]]
        return _unique([case for records in found for case in _cases(records, layout, labels)])
    except (UnreadableError, OSError, EOFError):
        raise
    except Exception as error:
        raise UnreadableError(str(error)) from error


def _records(path: Path, *, short: bool = False) -> list[dict[str, Any]]:
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".csv", ".tsv", ".jsonl", ".json")):
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if path.name.endswith(".gz") else raw
        if path.name.endswith(".zst"):
            raw = pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read()
        text = raw.decode("utf-8-sig")
        if name.endswith(".jsonl"):
            return _objects(json.loads(line, object_pairs_hook=_once) for line in text.split("\n") if line.strip())
        if name.endswith(".json"):
            return _objects(json.loads(text, object_pairs_hook=_once))
        return _rows(text, "\t" if name.endswith(".tsv") else None, short=short)
    if name.endswith(".parquet"):
        return list(pa.parquet.read_table(path, partitioning=None).to_pylist())
    data = path.read_bytes()
    table = (pa.ipc.open_file if data[:6] == b"ARROW1" else pa.ipc.open_stream)(pa.py_buffer(data)).read_all()
    table.validate(full=True)
    return list(table.to_pylist())


def _objects(values: Iterable[Any]) -> list[dict[str, Any]]:
    found = list(values)
    if not all(isinstance(one, dict) for one in found):
        raise UnreadableError("not all objects")
    names = list(dict.fromkeys(key for one in found for key in one))
    return [{name: one.get(name) for name in names} for one in found]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise UnreadableError("a field twice")
    return dict(pairs)


def _rows(text: str, delimiter: str | None, *, short: bool) -> list[dict[str, Any]]:
    lines = text.lstrip("\r\n")
    first = lines.splitlines()[0]
    mark = delimiter or max(",;\t|", key=first.count)
    header, *rows = [row for row in csv.reader(io.StringIO(lines, newline=""), delimiter=mark, strict=True) if row]
    if len(header) > 1 and all(name.startswith(" ") for name in header[1:]):
        header, rows = [name.strip() for name in header], [[cell.strip() for cell in row] for row in rows]
    # a delimiter too many at the end of a line is one too many, and no more
    rows = [row[:-1] if len(row) == len(header) + 1 and not row[-1] else row for row in rows]
    if short:  # a list may end early, but not where the file may have been cut
        whole = len(rows) - (not text.endswith(("\n", "\r")))
        rows = [row + [""] * (len(header) - len(row)) if at < whole else row for at, row in enumerate(rows)]
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows):
        raise UnreadableError("a crooked table")
    return [{name: cell or None for name, cell in zip(header, row, strict=True)} for row in rows]


def _cases(records: Sequence[dict[str, Any]], layout: str, labels: Sequence[str] | None) -> list[tuple[str, Pairs]]:
    if not records:
        return []
    names = list(records[0])
    known = {name.strip().lower(): name for name in names}
    case = _only(known, CASE)
    others = [name for name in names if name != case]
    if layout in ("long", "scattered"):
        keys = _only(known, CLASS), _only(known, CONFIDENCE)
        rows = [(_id(r[case]), *(r[key] for key in keys)) for r in records]
        return _gathered(rows)
    if layout == "lists":
        keys = [known.get("classes"), known.get("confidences")]
        free = [name for name in others if name not in keys and isinstance(records[0][name], list)]
        first, second = (key or free[0] for key in keys)
        return [(_id(r[case]), _zipped(r[first], r[second])) for r in records]
    if layout == "records":
        objects = known.get("results") or next(name for name in others if isinstance(records[0][name], list))
        lists = [(_id(r[case]), [one.get("value", one) for one in r[objects]]) for r in records]
        return [(i, _zipped([one.get("label") for one in x], [one.get("score") for one in x])) for i, x in lists]
    if layout == "labels":
        (label,) = [_only(known, CLASS)] if known.keys() & set(CLASS) else others
        return [(_id(r[case]), [] if r[label] is None else [(name_of(r[label]), 1.0)]) for r in records]
    if layout == "ranked":
        both = _ranks(records, known)
        return [(_id(r[case]), [_pair(r[c], r[p]) for c, p in both if (r[c], r[p]) != (None, None)]) for r in records]
    columns = [name for name in others if labels is None or name in labels]
    return [(_id(r[case]), [(name, _number(r[name])) for name in columns if r[name] is not None]) for r in records]


def _ranks(records: Sequence[dict[str, Any]], known: dict[str, str]) -> list[tuple[str, str]]:
    """Pairs of columns; one without its partner says nothing if it is blank, and makes no sense if it is not."""
    ranks = sorted({int(name.split("_")[1]) for name in known if re.fullmatch(r"(class|p)_\d+", name)})
    pairs = [(known.get(f"class_{i}"), known.get(f"p_{i}")) for i in ranks]
    for one, other in pairs:
        alone = one if other is None else other if one is None else None
        if alone is not None and any(record[alone] is not None for record in records):
            raise UnreadableError(f"{alone} alone")
    return [(one, other) for one, other in pairs if one is not None and other is not None]


def _only(known: dict[str, str], names: Sequence[str]) -> str:
    """The column of one of these names."""
    found = [known[name] for name in names if name in known]
    if len(found) != 1:
        raise UnreadableError(f"{len(found)} columns for {names[0]}")
    return found[0]


def _gathered(rows: list[tuple[str, Any, Any]]) -> list[tuple[str, Pairs]]:
    out: dict[str, list[Any]] = {}
    for case, name, value in rows:
        out.setdefault(case, []).append(None if (name, value) == (None, None) else _pair(name, value))
    if any(None in pairs and len(pairs) > 1 for pairs in out.values()):
        raise UnreadableError("an empty list with entries")
    return [(case, [pair for pair in pairs if pair is not None]) for case, pairs in out.items()]


def _zipped(classes: Any, values: Any) -> Pairs:
    if not isinstance(classes, list) or not isinstance(values, list) or len(classes) != len(values):
        raise UnreadableError("lists of two lengths")
    return [_pair(name, value) for name, value in zip(classes, values, strict=True)]


def _pair(name: Any, value: Any) -> tuple[str, float]:
    if name is None or value is None:
        raise UnreadableError("half a pair")
    return name_of(name), _number(value)


def _number(value: Any) -> float:
    if isinstance(value, bool | list | dict) or value is None:
        raise UnreadableError(f"{value!r} is no number")
    return float(value)


def name_of(value: Any) -> str:
    """A class, or a case, in text."""
    if isinstance(value, list | dict) or value is None:
        raise UnreadableError(f"{value!r} is no name")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.decode() if isinstance(value, bytes) else str(value)


def _id(value: Any) -> str:
    if isinstance(value, float) and not value.is_integer():
        raise UnreadableError("no id")
    return name_of(value)


def _arrays(path: Path) -> list[tuple[str, Pairs]]:
    with np.load(path, allow_pickle=False) as loaded:
        arrays = {key: loaded[key] for key in loaded.files}
    ids = [name_of(one) for one in arrays["ids" if "ids" in arrays else "case"].tolist()]
    flat = {"indptr", "indices", "data"} <= arrays.keys() or {"offsets", "classes", "confidences"} <= arrays.keys()
    if "probs" in arrays and not flat:
        known = np.ravel(arrays["classes"]) if "classes" in arrays else np.arange(arrays["probs"].shape[1])
        names = [str(name) for name in known.tolist()]
        rows = [list(zip(names, row, strict=True)) for row in arrays["probs"].astype(float).tolist()]
    elif not flat:
        both = arrays["classes"].tolist(), arrays["confidences"].astype(float).tolist()
        rows = [list(zip(map(name_of, c), p, strict=True)) for c, p in zip(*both, strict=True)]
    else:
        at = arrays.get("indptr", arrays.get("offsets")).tolist()
        classes = [name_of(c) for c in arrays.get("indices", arrays.get("classes")).tolist()]
        values = arrays.get("data", arrays.get("confidences")).astype(float).tolist()
        if at[0] != 0 or at[-1] != len(classes) or len(classes) != len(values) or sorted(at) != at:
            raise UnreadableError("offsets")
        rows = [list(zip(classes[lo:hi], values[lo:hi], strict=True)) for lo, hi in pairwise(at)]
    return list(zip(ids, rows, strict=True))


def _unique(cases: list[tuple[str, Pairs]]) -> Said:
    found = dict(cases)
    if len(found) < len(cases):
        raise UnreadableError("a case twice")
    return found


# What can be said about it


def flaw(lists: Said, cases: Sequence[str], m: int, labels: Sequence[str] | None) -> str:
    """Why these are no predictions for these cases, or nothing; "?" where rounding decides."""
    if set(lists) != set(cases):
        return "other cases"
    for pairs in lists.values():
        names, values = [name for name, _ in pairs], [t for _, t in pairs]
        total = math.fsum(values) if all(map(math.isfinite, values)) else math.nan
        if len(set(names)) < len(names) or len(names) > m:
            return "a class twice, or too many"
        if not all(0 <= t <= 1 for t in values) or math.isnan(total) or total > 1.001:
            return "?" if all(-1e-6 <= t <= 1.000001 for t in values) else "no probabilities"
        if total > 1 or (len(names) == m and total != 1):
            return "?" if abs(total - 1) < 1e-3 else "no distribution"
        if labels is not None and not set(names) <= set(labels):
            return "unknown classes"
    return ""


def mean_brier(lists: Said, outcomes: dict[str, str], m: int) -> float | None:
    """The mean padded Brier score by its definition; None where a list is invalid, and pays a penalty."""
    scores = []
    for case, y in outcomes.items():
        p = dict(lists[case])
        share = 0.0 if len(p) == m else max(0.0, 1 - math.fsum(p.values())) / (m - len(p))
        if any(t < share for t in p.values()):
            return None
        squares = math.fsum(t * t for t in p.values()) + (m - len(p)) * share * share
        scores.append(squares - 2 * p.get(y, share) + 1)
    return math.fsum(scores) / len(scores)
