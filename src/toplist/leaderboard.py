"""A leaderboard: what a comparison found, to be read, printed and handed on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toplist.errors import TopListError
from toplist.ranking.intervals import difference
from toplist.ranking.results import Estimate, Results, Section, Standing
from toplist.ranking.standings import Terms
from toplist.report import markup, records, terminal, text
from toplist.tally import Tally, overall


@dataclass(frozen=True, slots=True, repr=False)
class Leaderboard:
    """Predictors from best to worst, with scores, intervals and paired differences. Made by `compare`."""

    results: Results
    tallies: Mapping[Hashable, Tally]  # exact sums, by group
    terms: Terms

    # What is in it

    def __iter__(self) -> Iterator[Standing]:
        return iter(self.results.overall.standings)

    def __len__(self) -> int:
        return len(self.results.overall.standings)

    def __getitem__(self, name: str | int) -> Standing:
        """One predictor, by name or by place (0 is the leader)."""
        standings = self.results.overall.standings
        if isinstance(name, int | np.integer):
            return standings[int(name)]
        found = next((one for one in standings if one.name == name), None)
        if found is None:
            raise KeyError(f"{name!r} is not among {', '.join(repr(one.name) for one in standings)}")
        return found

    @property
    def groups(self) -> tuple[Section, ...]:
        """The standings of each group of cases."""
        return self.results.groups

    def difference(self, a: str, b: str, rule: str | None = None) -> Estimate:
        """The mean score of a minus that of b over the cases of both, with its interval: below zero, a is better."""
        names, rules = self.terms.names, self.terms.rules
        for name, known, what in ((a, names, "predictor"), (b, names, "predictor"), (rule or rules[0], rules, "rule")):
            if name not in known:
                raise TopListError(f"{name!r} is no {what} here: there are {', '.join(map(repr, known))}.")
        at = rules.index(rule or rules[0])
        return difference(overall(self.tallies), at, names.index(a), names.index(b), self.terms.level)

    # For people

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def _repr_html_(self) -> str:
        return markup.as_html(self.results)

    def __rich__(self) -> Any:
        return terminal.as_renderable(self.results)

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON."""
        return records.as_dict(self.results)

    def to_json(self) -> str:
        """The same as text."""
        return records.as_json(self.results)

    def to_csv(self) -> str:
        """One line per group, predictor and rule."""
        return records.as_csv(self.results)

    def to_text(self, width: int | None = None, *, detail: bool = False) -> str:
        """Plain tables; columns that do not fit the width are left out, and named."""
        return text.as_text(self.results, None if width is None else max(60, width), detail=detail)

    def to_markdown(self, *, detail: bool = False) -> str:
        """Tables for a README or an issue."""
        return markup.as_markdown(self.results, detail=detail)

    def to_latex(self, *, detail: bool = False) -> str:
        """Tables for a paper, with booktabs."""
        return markup.as_latex(self.results, detail=detail)

    def to_html(self, *, detail: bool = False) -> str:
        """Tables for a page."""
        return markup.as_html(self.results, detail=detail)

    def to_pandas(self) -> Any:
        """A frame with one row per group, predictor and rule."""
        return records.as_pandas(self.results)

    def to_polars(self) -> Any:
        """The same for polars."""
        return records.as_polars(self.results)

    def write(self, path: Any) -> None:
        """Write to a file in the format of its name: .json, .csv, .md, .tex, .html or .txt."""
        made: dict[str, Callable[[], str]] = {
            ".json": self.to_json,
            ".csv": self.to_csv,
            ".md": self.to_markdown,
            ".tex": self.to_latex,
            ".html": self.to_html,
            ".txt": lambda: self.to_text() + "\n",
        }
        suffix = Path(path).suffix.lower()
        if suffix not in made:
            raise TopListError(f"a leaderboard is written as {', '.join(made)}, not {suffix or 'without a suffix'}.")
        Path(path).write_text(made[suffix](), encoding="utf-8", newline="")
