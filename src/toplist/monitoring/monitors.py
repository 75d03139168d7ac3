"""What monitoring found: to be read, printed and handed on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toplist.plot import Plot, paths
from toplist.ranking.results import SequentialPath
from toplist.report.paths import paths_table
from toplist.report.records import path_record
from toplist.report.text import PAGE, page
from toplist.words.counts import count
from toplist.words.names import plain

SCHEMA = "toplist.monitor/1"


@dataclass(frozen=True, slots=True, repr=False)
class Monitor:
    """Predictors against a baseline, looked at after every case. Made by `monitor`."""

    rule: str
    baseline: str
    level: float
    classes: str  # how many there are
    cases: int  # of the truth
    left_out: Mapping[str, int]  # by candidate: cases of the truth that it or the baseline lacks
    unknown: Mapping[str, int]  # by predictor: predictions for cases that the truth does not have
    paths: tuple[SequentialPath, ...]  # one for each candidate

    # What is in it

    def __iter__(self) -> Iterator[SequentialPath]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, name: str) -> SequentialPath:
        """The path of one candidate."""
        found = next((path for path in self.paths if path.candidate == name), None)
        if found is None:
            raise KeyError(f"{name!r} is not among {', '.join(repr(path.candidate) for path in self.paths)}")
        return found

    # For people

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def to_text(self, width: int | None = None) -> str:
        """A line for each candidate, and a sentence that says what may be concluded."""
        made = paths_table(self.paths)
        return page(replace(made, notes=(*made.notes, *self._left_out())), max(60, width or PAGE))

    def _left_out(self) -> list[str]:
        away = [f"{plain(name)} {count(n)}" for name, n in self.left_out.items() if n]
        beyond = [f"{plain(name)} {count(n)}" for name, n in self.unknown.items() if n]
        return [
            *([f"Cases left out, which the candidate or the baseline lacks: {', '.join(away)}."] if away else []),
            *([f"Predictions without a truth left out: {', '.join(beyond)}."] if beyond else []),
        ]

    def plot(self) -> Plot[Any]:
        """The paths: mean differences with their bands, and the evidence below."""
        return paths(self.paths)

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; paths as in the JSON of a leaderboard."""
        return {
            "schema": SCHEMA,
            "rule": self.rule,
            "baseline": self.baseline,
            "level": self.level,
            "classes": self.classes,
            "cases": self.cases,
            "left_out": dict(self.left_out),
            "unknown": dict(self.unknown),
            "paths": [path_record(path) for path in self.paths],
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False).replace("\x7f", "\\u007f")
