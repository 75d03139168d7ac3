"""What the documentation shows of the study: tables, made of the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies import documents
from studies.folder import ROOT
from studies.remarks.markdown import chance, signed, table

Record = Mapping[str, Any]
PAGE = ROOT / "docs" / "topbeta-study.md"
RESULTS = Path(__file__).parent / "results.json"


def tables(results: Record) -> str:
    """All tables, one below the other."""
    return documents.joined(TABLES, results)


def filled(text: str, results: Record) -> str:
    """A page with every table in its place."""
    return documents.filled(text, TABLES, results)


def write(results: Record) -> None:
    """Keep the results, and put the tables into the documentation."""
    documents.write(PAGE, RESULTS, TABLES, results, {})


def _board(results: Record) -> str:
    rows = results["board"]["rows"]
    ranked = sorted(row["brier"] for row in rows)
    return table(
        ["network", "top-beta", "rank", "Brier", "rank", "coverage", "listed mass", "length"],
        [
            [
                row["name"],
                f"{row['topbeta']:.4f}",
                str(place),
                f"{row['brier']:.4f}",
                str(1 + ranked.index(row["brier"])),
                f"{row['coverage']:.3f}",
                f"{row['mass']:.3f}",
                f"{row['length']:.2f}",
            ]
            for place, row in enumerate(rows, start=1)
        ],
    )


def _opposed(results: Record) -> str:
    return table(
        ["better by top-beta", "better by Brier", "top-beta", "adjusted p", "Brier", "adjusted p"],
        [
            [
                row["better"],
                row["worse"],
                f"{row['topbeta']:.4f}",
                chance(row["topbeta_p"]),
                f"{row['brier']:.4f}",
                chance(row["brier_p"]),
            ]
            for row in results["board"]["opposed"]
        ],
    )


def _stretched(results: Record) -> str:
    return table(
        ["model", "temperature", "lists", "length", "Brier, expected", "Brier", "top-beta, expected", "top-beta"],
        [
            [
                row["name"],
                f"{row['temperature']:.2f}",
                f"{100 * row['share']:.1f} %",
                f"{row['length']['true']:.2f} to {row['length']['stretched']:.2f}",
                f"{1000 * row['brier']['expected']:+.3f}",
                signed(_thousands(row["brier"]["happened"]), 2),
                f"{1000 * row['topbeta']['expected']:+.3f}",
                signed(_thousands(row["topbeta"]["happened"]), 2),
            ]
            for row in results["stretched"]
        ],
    )


def _thousands(estimate: Record) -> dict[str, float]:
    return {name: 1000 * value for name, value in estimate.items()}


TABLES = {"board": _board, "opposed": _opposed, "stretched": _stretched}
