"""Leaderboards for programs: JSON, CSV, frames.

What the JSON of a leaderboard looks like, for those who read it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from toplist._optional import load
from toplist.inference.results import (
    BoardWarning,
    Comparison,
    ConfidenceSet,
    Estimate,
    Group,
    ModelRow,
    Pair,
    RuleScore,
    SequentialPath,
    SourceSummary,
)

SCHEMA = "toplist.leaderboard/1"
_RUNS = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet take text for a formula


def as_dict(results: Comparison) -> dict[str, Any]:
    """All of the results in types that JSON has, as `schema()` describes them.

    JSON has no infinity: a mean that is infinite is null, and `infinite` beside it is above zero. What does not exist
    is null too.
    """
    return {
        "schema": SCHEMA,
        "rules": [_text(rule) for rule in results.rules],
        "classes": _text(results.classes),
        "cases": int(results.cases),
        "compared": int(results.compared),
        "missing": results.missing,
        "weighted": bool(results.weighted),
        "weight": _text(results.weight),
        "reference": _text(results.reference),
        "penalty": "infinite" if results.penalty == math.inf else results.penalty,
        "level": float(results.level),
        "method": _text(results.method),
        "by": _text(results.by),
        "clusters": _text(results.clusters),
        "order": _text(results.order),
        "unit": _text(results.unit),
        "units": int(results.units),
        "seed": results.seed,
        "min_cases": results.min_cases,
        "warnings": [_warning(one) for one in results.warnings],
        "origins": [_origin(origin) for origin in results.origins],
        "truth_reading": _text(results.truth_reading),
        "truth_repairs": {_text(name): int(n) for name, n in results.truth_repairs.items()},
        "overall": _section(results.overall),
        "groups": [_section(section) for section in results.groups],
        "pairs": [_pair(pair) for pair in results.pairs],
        "confidence_set": None if results.confidence_set is None else _confidence_set(results.confidence_set),
        "paths": [path_record(path) for path in results.paths],
    }


def as_json(results: Comparison) -> str:
    """The same as a document in ASCII, without control characters but the ends of lines."""
    return json.dumps(as_dict(results), indent=2, allow_nan=False).replace("\x7f", "\\u007f")


def rows(results: Comparison) -> list[dict[str, Any]]:
    """A flat record for each group, model and rule; those over all cases have neither `by` nor `group`."""
    sizes = _sizes(results)
    return [
        {
            "by": None if section is results.overall else _text(results.by),
            "group": _text(section.group),
            "rank": row.rank,
            "model": _text(row.name),
            "cases": int(row.cases),
            "missing": int(row.missing),
            **_flat(mark),
            "accuracy": _known(row.accuracy),
            **{f"top_{k}_error": _known(row.top_k_error.get(k)) for k in sizes},
            "coverage": _known(row.coverage),
            "mean_size": _known(row.mean_size),
            "mean_mass": _known(row.mean_mass),
            "invalid": int(row.invalid),
            "invalid_rate": _known(row.invalid_rate),
        }
        for section in (results.overall, *results.groups)
        for row in section.standings
        for mark in row.marks
    ]


def as_csv(results: Comparison) -> str:
    """The rows with commas: nothing where there is no value, an apostrophe before text that a spreadsheet would run."""
    header = [_line(_types(results))]
    return "\n".join(header + [_line(map(_harmless, row.values())) for row in rows(results)]) + "\n"


def as_pandas(results: Comparison) -> Any:
    """The rows as a pandas frame."""
    pandas = load("pandas", "a pandas frame needs pandas: pip install pandas")
    columns = _columns(results)
    whole = "Int64" if None in columns["rank"] else "int64"
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


def _types(results: Comparison) -> dict[str, type]:
    """The fields of a row, in order."""
    texts = dict.fromkeys(("by", "group", "model", "rule", "why", "behind_why"), str)
    counts = dict.fromkeys(("rank", "cases", "missing", "infinite", "invalid"), int)
    known: dict[str, type] = {**texts, **counts}
    order = ["by", "group", "rank", "model", "cases", "missing", *_FLAT, "accuracy"]
    order += [f"top_{k}_error" for k in _sizes(results)]
    order += ["coverage", "mean_size", "mean_mass", "invalid", "invalid_rate"]
    return {name: known.get(name, float) for name in order}


def _columns(results: Comparison) -> dict[str, list[Any]]:
    found = rows(results)
    return {name: [row[name] for row in found] for name in _types(results)}


def _sizes(results: Comparison) -> list[int]:
    return sorted({int(k) for s in (results.overall, *results.groups) for row in s.standings for k in row.top_k_error})


def _flat(mark: RuleScore) -> dict[str, Any]:
    behind = mark.behind or Estimate(math.nan)
    values = (
        *(_text(mark.rule), _known(mark.score.value), _known(mark.score.low), _known(mark.score.high)),
        *(_text(mark.score.why), _known(mark.unpenalised), int(mark.infinite), _known(mark.finite)),
        *_ends(mark.skill),
        *_ends(mark.reference_skill),
        *(_known(behind.value), _known(behind.low), _known(behind.high), _known(behind.p), _text(behind.why)),
        *_ends(mark.relative),
    )
    return dict(zip(_FLAT, values, strict=True))


_FLAT = (
    *("rule", "mean", "low", "high", "why", "unpenalised", "infinite", "mean_of_finite"),
    *("skill", "skill_low", "skill_high", "reference_skill", "reference_skill_low", "reference_skill_high"),
    *("behind", "behind_low", "behind_high", "behind_p", "behind_why"),
    *("relative", "relative_low", "relative_high"),
)


def _ends(found: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if found is None else (_known(found.value), _known(found.low), _known(found.high))


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RUNS) else cell


def _line(cells: Iterable[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)  # with this end, and no other, a lone CR is quoted
    return buffer.getvalue()[:-2]


def _warning(found: BoardWarning) -> dict[str, Any]:
    return {
        "kind": _text(found.kind),
        "sentence": _text(found.sentence),
        "models": [_text(name) for name in found.models],
    }


def _section(section: Group) -> dict[str, Any]:
    standings = [_standing(row) for row in section.standings]
    return {"group": _text(section.group), "cases": int(section.cases), "standings": standings}


def _standing(row: ModelRow) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "name": _text(row.name),
        "cases": int(row.cases),
        "missing": int(row.missing),
        "marks": [_mark(mark) for mark in row.marks],
        "accuracy": _finite(row.accuracy),
        "top_k_error": {str(int(k)): _finite(value) for k, value in row.top_k_error.items()},
        "coverage": _finite(row.coverage),
        "mean_size": _finite(row.mean_size),
        "mean_mass": _finite(row.mean_mass),
        "invalid": int(row.invalid),
        "invalid_rate": _finite(row.invalid_rate),
    }


def _mark(mark: RuleScore) -> dict[str, Any]:
    return {
        "rule": _text(mark.rule),
        "score": _estimate(mark.score),
        "unpenalised": _finite(mark.unpenalised),
        "infinite": int(mark.infinite),
        "finite": _finite(mark.finite),
        **_interval("skill", mark.skill),
        **_interval("reference_skill", mark.reference_skill),
        "behind": None if mark.behind is None else _estimate(mark.behind),
        **_interval("relative", mark.relative),
    }


def _interval(name: str, found: Estimate | None) -> dict[str, float | None]:
    """A number with its interval beside it."""
    values = (None, None, None) if found is None else (found.value, found.low, found.high)
    return {key: _finite(x) for key, x in zip((name, f"{name}_low", f"{name}_high"), values, strict=True)}


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "rule": _text(pair.rule),
        "a": _text(pair.a),
        "b": _text(pair.b),
        "cases": int(pair.cases),
        "difference": _estimate(pair.difference),
        "adjusted_p": _finite(pair.adjusted),
        "further": pair.more,
    }


def _confidence_set(found: ConfidenceSet) -> dict[str, Any]:
    return {
        "rule": _text(found.rule),
        "level": float(found.level),
        "members": [_text(name) for name in found.members],
        "p": {_text(name): float(p) for name, p in found.p.items()},
        "cases": int(found.cases),
        "method": _text(found.method),
        "seed": found.seed,
        "why": _text(found.why),
    }


def path_record(path: SequentialPath) -> dict[str, Any]:
    """An anytime-valid path in types that JSON has: evidence that is infinite is the word."""
    return {
        "rule": _text(path.rule),
        "candidate": _text(path.candidate),
        "baseline": _text(path.baseline),
        "level": float(path.level),
        "cases": int(path.cases),
        "unit": path.unit,
        "at": [int(n) for n in path.at],
        "mean": [_finite(x) for x in path.mean],
        "low": [_finite(x) for x in path.low],
        "high": [_finite(x) for x in path.high],
        "log_evidence_better": [_evidence(x) for x in path.better],
        "log_evidence_worse": [_evidence(x) for x in path.worse],
        "separated": path.separated,
        "shown_better": path.shown_better,
        "shown_worse": path.shown_worse,
        "method": _text(path.method),
        "why": _text(path.why),
    }


def _evidence(x: float) -> float | str:
    return "infinite" if math.isinf(x) else float(x)


def _estimate(e: Estimate) -> dict[str, Any]:
    return {
        "value": _finite(e.value),
        "low": _finite(e.low),
        "high": _finite(e.high),
        "why": _text(e.why),
        "error": _finite(e.error),
        "p": _finite(e.p),
    }


def _origin(origin: SourceSummary) -> dict[str, Any]:
    return {
        "name": _text(origin.name),
        "source": _text(origin.source),
        "layout": _text(origin.layout),
        "cases": int(origin.cases),
        "filled": int(origin.filled),
        "left_out": int(origin.left_out),
        "repairs": {_text(name): int(n) for name, n in origin.repairs.items()},
        "reading": _text(origin.reading),
    }


def _text(text: str | None) -> str | None:
    """Names of files may hold bytes that are no text, which neither frames nor files take."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _known(x: float | None) -> float | None:
    return None if x is None or math.isnan(x) else float(x)


def _finite(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(x)


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `records.as_dict`.

    >>> schema()["title"]
    'toplist.leaderboard/1'
    """
    text = files("toplist.report").joinpath("leaderboard.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
