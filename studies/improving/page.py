"""What the documentation shows of the study: tables and figures, made of the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from studies import documents
from studies.folder import ROOT
from studies.remarks.markdown import chance, signed, table

Record = Mapping[str, Any]
PAGE = ROOT / "docs" / "gallery.md"
RESULTS = Path(__file__).parent / "results.json"


def tables(results: Record) -> str:
    """All tables, one below the other."""
    return documents.joined(TABLES, results)


def filled(text: str, results: Record) -> str:
    """A page with every table in its place."""
    return documents.filled(text, TABLES, results)


def write(results: Record, pictures: Mapping[str, Any]) -> None:
    """Keep the results, and put tables and figures into the documentation."""
    documents.write(PAGE, RESULTS, TABLES, results, pictures)


def _recalibration(results: Record) -> str:
    rows = []
    seen: set[str] = set()
    for row in results["recalibration"]:
        rows.append(
            [
                "" if row["data"] in seen else row["data"],
                row["name"],
                f"{row['confidence']:.3f}",
                f"{row['hit_rate']:.3f}",
                chance(row["p"]),
                _kinds(row["chosen"]),
                f"{row['brier']['before']:.4f}",
                f"{row['brier']['after']:.4f}",
                signed(row["difference"], 4),
            ]
        )
        seen.add(row["data"])
    header = ["data", "model", "confidence", "hit rate", "p", "chosen", "before", "after", "difference"]
    return table(header, rows)


def _kinds(chosen: list[str]) -> str:
    """What the folds chose, the most frequent first."""
    counts = {kind: chosen.count(kind) for kind in chosen}
    ordered = sorted(counts, key=lambda kind: (-counts[kind], kind))
    return ", ".join(kind if counts[kind] == len(chosen) else f"{kind} ({counts[kind]})" for kind in ordered)


def _parts(results: Record) -> str:
    rows = [
        [
            row["name"] if row["name"] != "a classifier" else row["data"],
            *(f"{row[part]:.4f}" for part in ("uncertainty", "discrimination")),
            f"{row['miscalibration']['before']:.5f}",
            f"{row['miscalibration']['after']:.5f}",
        ]
        for row in results["recalibration"]
    ]
    header = ["model", "uncertainty", "discrimination", "miscalibration", "after recalibration"]
    return table(header, rows)


def _pool(results: Record) -> str:
    found = results["pool"]
    rows = [
        [name, f"{found['scores'][name]:.4f}", f"{found['accuracy'][name]:.4f}", signed(found["against best"][name], 4)]
        for name in found["against best"]
    ]
    best = found["best"]
    rows.append(
        [f"{best}, lowest mean of the networks", f"{found['scores'][best]:.4f}", f"{found['accuracy'][best]:.4f}", ""]
    )
    return table(["pool", "padded Brier", "accuracy", f"against {best}"], rows)


def _steps(results: Record) -> str:
    rows = [[*one["pools"], signed(one, 4), chance(one["adjusted"])] for one in results["pool"]["steps"]]
    return table(["pool", "against", "difference", "adjusted p"], rows)


def _gain(results: Record) -> str:
    """The ambiguity identity, in words."""
    found = results["pool"]
    return (
        f"On average a network scores {found['members']:.4f}. Their mean scores {found['pool']:.4f}: the difference,\n"
        f"{found['gain']:.4f}, is what their disagreement gains, whatever the outcomes (`ambiguity`)."
    )


def _weights(results: Record) -> str:
    weights = sorted(results["pool"]["weights"].items(), key=lambda one: -one[1])
    return table(["network", "weight"], [[name, f"{weight:.3f}"] for name, weight in weights])


def _truncation(results: Record) -> str:
    rows = [
        [
            row["data"],
            row["name"],
            str(row["best"]),
            str(row["chosen"]),
            f"{row['brier']['all']:.4f}",
            f"{row['brier']['cut']:.4f}",
            signed(row["difference"], 4),
        ]
        for row in results["truncation"]
    ]
    return table(["data", "model", "best k", "chosen k", "all classes", "cut", "difference"], rows)


def _rejection(results: Record) -> str:
    rows = [
        [row["data"], row["name"], f"{row['all']:.4f}", f"{row['least']:.4f}", f"{row['best']:.3f}"]
        for row in results["rejection"]
    ]
    return table(["data", "model", "nothing rejected", "at best", "at coverage"], rows)


def _conformal(results: Record) -> str:
    rows = [
        [
            row["data"],
            f"{row['nominal']:.2f}",
            f"{row['covered']:.4f}",
            f"{row['size']:.2f}",
            f"{row['top-beta']['covered']:.4f}",
            f"{row['top-beta']['size']:.2f}",
        ]
        for row in results["conformal"]
    ]
    header = ["data", "nominal", "conformal covers", "mean size", "own mass covers", "mean size"]
    return table(header, rows)


TABLES: Mapping[str, Callable[[Record], str]] = {
    "recalibration": _recalibration,
    "parts": _parts,
    "pool": _pool,
    "steps": _steps,
    "gain": _gain,
    "weights": _weights,
    "truncation": _truncation,
    "rejection": _rejection,
    "conformal": _conformal,
}
