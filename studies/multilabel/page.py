"""What the documentation shows of the study: tables and figures, made of the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from studies import documents
from studies.folder import ROOT
from studies.multilabel import figures
from studies.multilabel.data import SOURCES
from studies.multilabel.figures import against
from studies.multilabel.measuring import MAIN, REFERENCE, contradicted
from studies.remarks.markdown import chance, table

Record = Mapping[str, Any]
PAGE = ROOT / "docs" / "multilabel-study.md"
RESULTS = Path(__file__).parent / "results.json"
RERANK = "BR-rerank"


def tables(results: Record) -> str:
    """All tables, one below the other."""
    return documents.joined(TABLES, results)


def filled(text: str, results: Record) -> str:
    """A page with every table in its place."""
    return documents.filled(text, TABLES, results)


def write(results: Record) -> None:
    """Keep the results, and put tables and figures into the documentation."""
    documents.write(PAGE, RESULTS, TABLES, results, pictures(results))


def pictures(results: Record) -> dict[str, Any]:
    """The figures by the names of their files."""
    return {
        "multilabel-lengths.svg": figures.lengths(results),
        "multilabel-reliability.svg": figures.calibration(results, REFERENCE, RERANK),
        "multilabel-differences.svg": figures.differences(results, REFERENCE),
    }


def _data(results: Record) -> str:
    rows = [
        [
            name,
            SOURCES[name].about,
            f"{found['training']:,}",
            f"{found['cases']:,}",
            str(found["labels"]),
            f"{found['per case']:.2f}",
            f"{100 * found['unseen']:.1f} %",
        ]
        for name, found in results.items()
    ]
    return table(["data", "labels are", "training", "test", "labels", "per case", "unseen sets"], rows)


def _main(results: Record) -> str:
    rows = []
    for name, found in results.items():
        for i, (method, row) in enumerate(found["lengths"][str(MAIN)].items()):
            metrics = found["metrics"][method]
            rows.append(
                [
                    "" if i else name,
                    method,
                    f"{row['brier']['value']:.4f}",
                    "" if method == REFERENCE else _signed(against(found, REFERENCE, method, "brier")),
                    _log(row),
                    f"{metrics['set_accuracy']:.3f}",
                    f"{metrics['instance_f1']:.3f}",
                    f"{metrics['best f1']:.3f}",
                    f"{100 * row['invalid']:.1f} %",
                    "yes" if method in found["set"] else "",
                ]
            )
    header = ["data", "method", "padded Brier", f"against {REFERENCE}", "padded log", "set accuracy"]
    return table([*header, "F1", "F1, own set", "invalid", "in the set"], rows)


def _lengths(results: Record) -> str:
    forms = list(next(iter(results.values()))["lengths"])
    rows = [
        [name if not i else "", method, *(f"{found['lengths'][form][method]['brier']['value']:.4f}" for form in forms)]
        for name, found in results.items()
        for i, method in enumerate((REFERENCE, RERANK))
    ]
    return table(["data", "method", *(f"k = {form}" if form.isdigit() else form for form in forms)], rows)


def _crossed(results: Record) -> str:
    rows = [
        [
            name,
            pair["a"],
            pair["b"],
            _signed([pair["brier"][end] for end in ("value", "low", "high")]),
            chance(pair["brier"]["adjusted"]),
            f"{-pair['zero-one']['value']:+.3f}",
            chance(pair["zero-one"]["p"]),
            f"{-pair['f1']['value']:+.3f}",
            chance(pair["f1"]["p"]),
        ]
        for name, found in results.items()
        for pair in found["crossed"]
    ]
    header = ["data", "better score", "than", "Brier difference", "adjusted p", "set accuracy", "p", "F1", "p"]
    return table(header, rows) if rows else "There are none."


def _calibration(results: Record) -> str:
    """Of the most probable set: the confidence that it was given on average, and how often it is true."""
    rows = [
        [method, *(f"{figures.rates(found['reliability'][method]['top'])}" for found in results.values())]
        for method in next(iter(results.values()))["metrics"]
    ]
    return table(["method", *results], rows)


def _case(results: Record) -> str:
    """One case of the first pair that accuracy significantly ranks the other way: what both predict."""
    name, pair = next(
        (name, pair) for name, found in results.items() for pair in found["crossed"] if contradicted(pair, "zero-one")
    )
    case = pair["case"]
    rows = [
        [method if not i else "", _set(labels), f"{t:.3f}", f"{case['scores'][method]:.3f}" if not i else ""]
        for method, said in case["says"].items()
        for i, (labels, t) in enumerate(said)
    ]
    head = f"{name}, test case {case['case']}, whose labels are {_set(case['true'])}:"
    return f"{head}\n\n{table(['method', 'set', 'confidence', 'padded Brier'], rows)}"


def _set(labels: list[str]) -> str:
    return f"{{{', '.join(labels)}}}"


def _log(row: Record) -> str:
    if row["log"]["value"] is None:
        return f"inf ({row['infinite']:,})"
    return f"{row['log']['value']:.2f}"


def _signed(ends: Any) -> str:
    value, low, high = ends
    return f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"


TABLES: Mapping[str, Callable[[Record], str]] = {
    "data": _data,
    "main": _main,
    "lengths": _lengths,
    "calibration": _calibration,
    "crossed": _crossed,
    "case": _case,
}
