"""How to make the numbers again."""

from __future__ import annotations

from toplist.ranking.results import Results
from toplist.report.escape import plain, visible
from toplist.report.page.contents import Provenance
from toplist.report.page.grids import Cell, Grid, Head, counted, grid, named
from toplist.report.page.wording import name


def command(provenance: Provenance) -> str:
    """What was typed."""
    return visible(provenance.command)


def versions(provenance: Provenance, results: Results) -> list[tuple[str, str]]:
    """What was installed, and the seed where anything was drawn."""
    found = [(plain(key), plain(value, 120)) for key, value in provenance.versions.items()]
    if provenance.python and "python" not in provenance.versions:
        found.insert(0, ("python", plain(provenance.python)))
    chosen = results.confidence_set
    seeds = (results.seed, None if chosen is None else chosen.seed)
    seed = next((one for one in seeds if one is not None), None)
    if seed is not None:
        found.append(("seed", str(seed)))
    return found


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
