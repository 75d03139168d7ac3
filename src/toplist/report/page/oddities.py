"""What is odd about the predictions of each file, though they could be scored."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.evidence.findings import Exhibit
from toplist.report.page.grids import Cell, Column, Grid, Head, counted, grid, named, shared
from toplist.report.page.sureness import Shown
from toplist.words.names import plain, visible

_WORDS = 400  # characters of what is said
_TOLD = frozenset({"invalid"})  # which has a column among the faults, and a sentence


def oddities(exhibits: Sequence[Exhibit], shown: Shown) -> Grid | None:
    """A row for each thing that is odd about a predictor; nothing where nothing is."""
    found = [(e, one) for e in exhibits for one in e.oddities if one.kind not in _TOLD]
    columns: list[Column] = [
        (Head("predictor", "name"), [named(shown[e.name]) for e, _ in found]),
        (Head("what is odd", "text"), [Cell(plain(one.kind, 40)) for _, one in found]),
        (Head("cases"), [counted(one.cases) for _, one in found]),
        (Head("share"), [shared(one.cases / one.of if one.of else None) for _, one in found]),
        (Head("in words", "text"), [Cell(plain(visible(one.words), _WORDS)) for _, one in found]),
    ]
    return grid("oddities", "What is odd about the predictions", columns) if found else None
