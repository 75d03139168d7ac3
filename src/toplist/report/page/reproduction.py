"""How to make the numbers again."""

from __future__ import annotations

from toplist.ranking.results import Results
from toplist.report.page.contents import Provenance
from toplist.report.page.grids import Cell, Grid, Head, counted, grid, named
from toplist.report.page.wording import name
from toplist.words.names import plain, visible
from toplist.words.series import listed as listed_text


def command(provenance: Provenance) -> str:
    """What was typed."""
    return visible(provenance.command)


def versions(provenance: Provenance, results: Results) -> list[tuple[str, str]]:
    """What was installed, and the seeds of what was drawn."""
    found = [(plain(key), plain(value, 120)) for key, value in provenance.versions.items()]
    return [*found, *([("seed", seeds)] if (seeds := _seeds(results)) else [])]


def _seeds(results: Results) -> str:
    """Every seed, with what it was for."""
    chosen = results.confidence_set
    uses: dict[int, list[str]] = {}
    for seed, use in ((results.seed, "intervals"), (None if chosen is None else chosen.seed, "confidence set")):
        if seed is not None:
            uses.setdefault(seed, []).append(f"the {use}")
    return "; ".join(f"{seed} for {listed_text(of)}" for seed, of in uses.items())


def files(provenance: Provenance) -> Grid | None:
    """Which bytes were read."""
    if not provenance.files:
        return None
    return grid(
        "files",
        "Files that were read",
        [
            (Head("file", "name"), [named(name(f.name)) for f in provenance.files]),
            (Head("path", "text"), [Cell(name(f.path, 60)) for f in provenance.files]),
            (Head("bytes"), [counted(f.bytes) for f in provenance.files]),
            (Head("SHA-256", "text"), [Cell(plain(f.sha256, 80)) for f in provenance.files]),
        ],
    )
