"""Results for programs: plain values, JSON with its schema, CSV, frames."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from toplist._files import load
from toplist.inference.ranking import metrics_of
from toplist.inference.results import Comparison, Estimate, RuleScore

SCHEMA = "toplist.leaderboard/1"
_RUNS = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet take text for a formula
_PARTS = {  # of estimates, beside their values, in rows
    "mean": ("low", "high", "reason"),
    "skill": ("low", "high"),
    "baseline_skill": ("low", "high"),
    "difference": ("low", "high", "p", "reason"),
    "relative": ("low", "high"),
    "adjusted": ("low", "high"),
}
_COUNTS = ("rank", "rank_low", "rank_high", "cases", "missing", "invalid", "infinite")


def to_plain(value: Any, infinity: str | None = None) -> Any:
    """A value in types that JSON has: dataclasses are objects under the names of their fields.

    JSON has no infinity: what is infinite or not a number is null, unless the metadata of a field (`infinity`) says by
    which word infinite values go.

    >>> to_plain(Estimate(math.inf, reason="infinite scores have no interval"))["value"] is None
    True
    """
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name), one.metadata.get("infinity")) for one in fields(value)}
    if isinstance(value, Mapping):
        return {_text(str(key)): to_plain(one, infinity) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(one, infinity) for one in value]
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        x = float(value)
        return _finite(x) if infinity is None or not math.isinf(x) else infinity if x > 0 else f"-{infinity}"
    raise TypeError(f"a {type(value).__name__} is no plain value.")


def as_dict(results: Comparison) -> dict[str, Any]:
    """All of the results in types that JSON has, as `schema()` describes them."""
    return {"schema": SCHEMA, **to_plain(results)}


def as_json(results: Comparison) -> str:
    """The same as text."""
    return to_json(as_dict(results))


def to_json(values: Mapping[str, Any]) -> str:
    """Plain values as a document in ASCII, without control characters but the ends of lines."""
    return json.dumps(values, indent=2, allow_nan=False).replace("\x7f", "\\u007f")


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `as_dict`, from the fields of the results and their descriptions.

    >>> schema()["title"]
    'toplist.leaderboard/1'
    """
    kinds: dict[str, Any] = {}
    made = _object(Comparison, kinds)
    name = {"description": "The name and version of this format.", "const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('.', ':').replace('/', ':')}",
        "title": SCHEMA,
        **made,
        "description": "A leaderboard. Lower scores are better. JSON has no infinity: a number that is infinite, or "
        "that does not exist, is null.",
        "required": ["schema", *made["required"]],
        "properties": {"schema": name, **made["properties"]},
        "$defs": kinds,
    }


def _object(kind: type, kinds: dict[str, Any]) -> dict[str, Any]:
    """The schema of a dataclass; those of the dataclasses in it go to `kinds`."""
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for one in fields(kind):
        hint, description = get_args(hints[one.name])
        found[one.name] = {"description": description, **_kind(hint, one.metadata.get("infinity"), kinds)}
    return {
        "description": (kind.__doc__ or "").partition("\n")[0],
        "type": "object",
        "additionalProperties": False,
        "required": list(found),
        "properties": found,
    }


def _kind(hint: Any, infinity: str | None, kinds: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return {"anyOf": [_kind(one, infinity, kinds) for one in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _kind(inner[0], infinity, kinds)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _kind(inner[1], infinity, kinds)}
    if isinstance(hint, type) and is_dataclass(hint):
        if hint.__name__ not in kinds:
            kinds[hint.__name__] = {}  # before its own fields, which may have it in them
            kinds[hint.__name__] = _object(hint, kinds)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if hint is float:
        number: dict[str, Any] = {"type": ["number", "null"]}
        return number if infinity is None else {"anyOf": [number, {"enum": [infinity, f"-{infinity}"]}]}
    return {"type": {int: "integer", str: "string", bool: "boolean", NoneType: "null"}[hint]}


def rows(results: Comparison) -> list[dict[str, Any]]:
    """A flat record for each group, model and rule; those over all cases have neither `by` nor `group`."""
    metrics = [metric.name for metric in metrics_of(results)]
    return [
        {
            "by": None if section is results.overall else _text(results.group),
            "group": _text(section.group),
            "rank": row.rank,
            "rank_low": None if row.rank_interval is None else row.rank_interval[0],
            "rank_high": None if row.rank_interval is None else row.rank_interval[1],
            "model": _text(row.name),
            "cases": int(row.cases),
            "missing": int(row.missing),
            "invalid": int(row.invalid),
            **_flat(score),
            **{name: _known(row.metrics[name].value) for name in metrics},
        }
        for section in (results.overall, *results.groups)
        for row in section.rows
        for score in row.scores.values()
    ]


def _flat(score: RuleScore) -> dict[str, Any]:
    """A score with its estimates side by side."""
    found: dict[str, Any] = {}
    for one in fields(RuleScore):
        value = getattr(score, one.name)
        if one.name not in _PARTS:
            found[one.name] = value if isinstance(value, int) else _plain(value)
            continue
        estimate = Estimate(math.nan) if value is None else value
        found[one.name] = _known(estimate.value)
        found |= {f"{one.name}_{part}": _plain(getattr(estimate, part)) for part in _PARTS[one.name]}
    return found


def _types(results: Comparison) -> dict[str, type]:
    """The fields of a row, in order."""
    names = ["by", "group", "rank", "rank_low", "rank_high", "model", "cases", "missing", "invalid"]
    for one in fields(RuleScore):
        names += [one.name, *(f"{one.name}_{part}" for part in _PARTS.get(one.name, ()))]
    names += [metric.name for metric in metrics_of(results)]
    texts = ("by", "group", "model", "rule")
    return {
        name: str if name in texts or name.endswith("_reason") else int if name in _COUNTS else float for name in names
    }


def as_csv(results: Comparison) -> str:
    """The rows with commas: nothing where there is no value, an apostrophe before text that a spreadsheet would run."""
    header = [_line(_types(results))]
    return "\n".join(header + [_line(map(_harmless, row.values())) for row in rows(results)]) + "\n"


def as_pandas(results: Comparison) -> Any:
    """The rows as a pandas frame."""
    pandas = load("pandas", "a pandas frame needs pandas: pip install pandas")
    columns = _columns(results)
    whole = "Int64" if None in columns["rank"] + columns["rank_low"] else "int64"
    types = {str: "string", int: whole, float: "float64"}
    return pandas.DataFrame(
        {name: pandas.Series(columns[name], dtype=types[kind]) for name, kind in _types(results).items()}
    )


def as_polars(results: Comparison) -> Any:
    """The rows as a polars frame."""
    polars = load("polars", "a polars frame needs polars: pip install polars")
    types = {str: polars.String, int: polars.Int64, float: polars.Float64}
    return polars.DataFrame(
        _columns(results), schema={name: types[kind] for name, kind in _types(results).items()}, strict=True
    )


def _columns(results: Comparison) -> dict[str, list[Any]]:
    found = rows(results)
    return {name: [row[name] for row in found] for name in _types(results)}


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RUNS) else cell


def _line(cells: Iterable[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)  # with this end, and no other, a lone CR is quoted
    return buffer.getvalue()[:-2]


def _text(text: str | None) -> str | None:
    """Names of files may hold bytes that are no text, which neither frames nor files take."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    return _text(value) if isinstance(value, str) else _known(value)


def _known(x: float | None) -> float | None:
    return None if x is None or math.isnan(x) else float(x)


def _finite(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(x)
