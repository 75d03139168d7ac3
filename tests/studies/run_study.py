"""Studies after they have run; tests that import this are skipped where the extras are absent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

for library in ("pyarrow", "duckdb", "typer", "rich", "jinja2", "matplotlib"):
    pytest.importorskip(library, reason="the command, its files and its report are extras")

from studies import folder  # noqa: E402
from studies.remarks import REMARKS, Reading  # noqa: E402
from studies.running import Board  # noqa: E402

DATA = folder.default()


@dataclass(frozen=True)
class Studied:
    """A study after its adapter and the command have run."""

    name: str
    folder: Path
    boards: list[Board]

    def reading(self, board: str) -> Reading:
        return Reading.of(next(one.record for one in self.boards if one.name == board))

    @property
    def remark(self) -> str:
        return REMARKS[self.name]({board.name: Reading.of(board.record) for board in self.boards})


Studying = Callable[[str], Studied]
