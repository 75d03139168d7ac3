"""What the documentation shows of the examples: tables, made of their results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies import documents
from studies.folder import ROOT
from studies.remarks.markdown import signed, table

Record = Mapping[str, Any]
PAGE = ROOT / "docs" / "accelerators-study.md"
RESULTS = Path(__file__).parent / "results.json"
SHOWN = (1, 2, 3, 5, 10, 20, 50, 100)


def tables(results: Record) -> str:
    """All tables, one below the other."""
    return documents.joined(TABLES, results)


def filled(text: str, results: Record) -> str:
    """A page with every table in its place."""
    return documents.filled(text, TABLES, results)


def write(results: Record) -> None:
    """Keep the results, and put the tables into the documentation."""
    documents.write(PAGE, RESULTS, TABLES, results, {})


def _classifier(results: Record) -> str:
    rows = []
    for wrong, version in results["classifier"].items():
        for row in version["rows"]:
            verdict = "" if row["name"] == "cross-entropy" else f"{row['better']} / {row['worse']}"
            rows.append(
                [
                    wrong,
                    row["name"],
                    f"{row['brier']:.4f}",
                    f"{row['log']:.4f}",
                    f"{100 * row['accuracy']:.1f} %",
                    f"{100 * row['bias']:+.1f}",
                    verdict,
                ]
            )
    return table(["wrong labels", "trained by", "Brier", "log", "accuracy", "overconfidence", "better / worse"], rows)


def _students(results: Record) -> str:
    return table(
        ["model", "Brier", "log", "log, all words", "coverage", "listed mass", "mass - coverage", "first - accuracy"],
        [
            [
                row["name"],
                _interval(row["brier"]),
                _interval(row["log"]),
                f"{row['full']:.3f}",
                f"{100 * row['coverage']:.1f} %",
                f"{100 * row['mass']:.1f} %",
                signed(_hundredfold(row["excess"]), 1),
                signed(_hundredfold(row["first"]), 1),
            ]
            for row in results["distillation"]["rows"]
        ],
    )


def _pairs(results: Record) -> str:
    return table(
        ["student", "against", "Brier", "log"],
        [
            [pair["a"], pair["b"], signed(pair["brier"], 4), signed(pair["log"], 3)]
            for pair in results["distillation"]["pairs"]
        ],
    )


def _seeds(results: Record) -> str:
    found = results["distillation"]["seeds"]
    count = len(next(iter(found.values())))
    return table(
        ["model", *(f"seed {seed}" for seed in range(count))],
        [[name, *(f"{value:.4f}" for value in values)] for name, values in found.items() if name != "teacher"],
    )


def _curve(results: Record) -> str:
    found = results["next_tokens"]
    rows = [
        [str(k), *(_with_error(found["curve"][str(k)][what]) for what in ("brier", "log", "coverage"))]
        for k in SHOWN
        if str(k) in found["curve"]
    ]
    rows.append(["all", *(_with_error(found["full"][rule]) for rule in ("brier", "log")), ""])
    return table(["k", "Brier", "log", "coverage"], rows)


def _board(results: Record) -> str:
    return f"```text\n{results['distillation']['board'].rstrip()}\n```"


def _interval(found: Record) -> str:
    return f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def _hundredfold(found: Record) -> dict[str, float]:
    return {name: 100 * found[name] for name in ("value", "low", "high")}


def _with_error(found: list[float]) -> str:
    return f"{found[0]:.4f} ± {found[1]:.4f}"


TABLES = {
    "classifier": _classifier,
    "students": _students,
    "pairs": _pairs,
    "seeds": _seeds,
    "board": _board,
    "curve": _curve,
}
