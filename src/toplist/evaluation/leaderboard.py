"""A leaderboard: what a comparison found, to be read, printed and handed on."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from toplist._arguments import as_probability, as_whole
from toplist._files import require_apart, require_place, write_bytes
from toplist._optional import has_arch
from toplist._typing import Progress
from toplist.core.exact_sums import to_float
from toplist.errors import TopListError
from toplist.evaluation.case_details import CaseDetails
from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.confidence_set import confidence_set
from toplist.inference.intervals import Intervals
from toplist.inference.pairwise import POWER, extra_units
from toplist.inference.ranking import ComparisonSpec
from toplist.inference.results import Comparison, ConfidenceSet, Estimate, Group, ModelDetails, ModelRow, Pair
from toplist.report import export, markup, plot
from toplist.report.plot import Plot
from toplist.report.terminal import as_renderable, as_text
from toplist.report.versions import versions


@dataclass(frozen=True, slots=True, repr=False)
class Leaderboard:
    """Models from best to worst, with scores, intervals and paired differences. Made by `compare`."""

    results: Comparison
    tallies: Mapping[Hashable, Aggregates]  # exact sums, by group
    terms: ComparisonSpec
    inference: Intervals = field(compare=False)  # over all cases
    again: Callable[[Progress], CaseDetails] = field(compare=False)  # looks at the cases once more
    seed: int = 0  # of what is drawn
    inputs: tuple[Any, ...] = field(default=(), compare=False)  # files that were read: nothing is written over them
    _kept: list[CaseDetails] = field(default_factory=list, compare=False)

    # What is in it

    def __iter__(self) -> Iterator[ModelRow]:
        return iter(self.results.overall.rows)

    def __len__(self) -> int:
        return len(self.results.overall.rows)

    def __getitem__(self, name: str | int) -> ModelRow:
        """One model, by name or by place (0 is the leader)."""
        rows = self.results.overall.rows
        if isinstance(name, int | np.integer):
            return rows[int(name)]
        found = next((one for one in rows if one.name == name), None)
        if found is None:
            raise KeyError(f"{name!r} is not among {', '.join(repr(one.name) for one in rows)}")
        return found

    @property
    def groups(self) -> tuple[Group, ...]:
        """The standings of each group of cases."""
        return self.results.groups

    def difference(self, a: str, b: str, rule: str | None = None) -> Estimate:
        """The mean score of a minus that of b over the cases of both, with its interval: below zero, a is better."""
        names, rules = self.terms.names, self.terms.rules
        for name, known, what in ((a, names, "model"), (b, names, "model"), (rule or rules[0], rules, "rule")):
            if name not in known:
                raise TopListError(f"{name!r} is no {what} here: there are {', '.join(map(repr, known))}.")
        at = rules.index(rule or rules[0])
        return self.inference.difference(at, names.index(a), names.index(b))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every two models under every rule: their difference, its p value by Holm's method, what it would take."""
        return self.results.pairs

    def extra_units(self, a: str, b: str, rule: str | None = None, *, power: float = POWER) -> int | None:
        """How many units more would tell a and b apart with this power, if difference and spread stay as they are.

        Units are cases, or the clusters or moments that the intervals go by. 0 where a and b are told apart already;
        None where there is no difference to go by.
        """
        found = self.difference(a, b, rule)
        at = self.terms.rules.index(rule or self.terms.rules[0])
        units = self.inference.units(at, self.terms.names.index(a), self.terms.names.index(b))
        return extra_units(found, units, self.results.level, power=as_probability(power, "power"))

    def confidence_set(
        self, rule: str | None = None, *, level: float | None = None, seed: int | None = None
    ) -> ConfidenceSet:
        """The models among which the best one is (Hansen, Lunde and Nason 2011), on the cases that all have.

        The seed is that of the comparison, if none is given.
        """
        chosen = self.terms.rules[0] if rule is None else rule
        if chosen not in self.terms.rules:
            raise TopListError(f"{chosen!r} is no rule here: there are {', '.join(map(repr, self.terms.rules))}.")
        return confidence_set(
            self.material().panel,
            self.terms.rules.index(chosen),
            names=self.terms.names,
            order=[row.name for row in self],
            rule_name=chosen,
            level=self.results.level if level is None else as_probability(level, "level"),
            seed=self.seed if seed is None else as_whole(seed, "seed", 0),
        )

    def material(self, progress: Progress = lambda what, done, total: None) -> CaseDetails:
        """Scores case by case, and what the lists show: files are read once more, at the first time of asking."""
        if not self._kept:
            found = self.again(progress)
            if not self._agrees(found):
                raise TopListError("the predictions or outcomes have changed since they were compared: compare again.")
            self._kept.append(found)
        return self._kept[0]

    def _agrees(self, found: CaseDetails) -> bool:
        """Whether a second look finds the scores of the first, up to rounding."""
        scores, x = found.panel.scores, overall(self.tallies).sums["x"]
        weights = np.ones(len(scores)) if found.panel.weights is None else found.panel.weights
        for r in range(len(self.terms.rules)):
            for a in range(len(self.terms.names)):
                column = scores[:, r, a]
                again = float(np.dot(np.where(np.isfinite(column), column, 0.0), weights))
                if not math.isclose(again, to_float(x[r, a, a]), rel_tol=1e-9, abs_tol=1e-9):
                    return False
        return len(scores) == self.results.compared or self.results.missing == "pairwise"

    def showing(self, **found: Any) -> Leaderboard:
        """The same board with these fields of its results replaced, such as `confidence_set` or `paths`."""
        return replace(self, results=replace(self.results, **found))

    # For people

    def plot(self, kind: str = "intervals", *, rule: str | None = None) -> Plot[Any]:
        """A figure: intervals, pairs, groups, curves (score against k), reliability, shapes, or path.

        It shows itself in a notebook; `.save("board.svg")` writes it, `.figure()` is matplotlib's, `.data` its values.
        """
        if kind not in plot.PLOTS:
            raise TopListError(f"{kind!r} is no plot: there are {', '.join(plot.PLOTS)}.")
        if kind in plot.OF_RESULTS:
            return plot.OF_RESULTS[kind](self.results, rule)
        if rule not in (None, self.results.rules[0]):
            raise TopListError(f"{kind} is drawn for {self.results.rules[0]!r}, the rule that decides the order.")
        if kind in plot.OF_EXHIBITS:
            return plot.OF_EXHIBITS[kind](self._exhibits(self.material()))
        if not self.results.paths:
            raise TopListError("there is no path here: tl.monitor(...) has them, and compare --sequential.")
        return plot.paths(self.results.paths)

    def report(self, path: Any, *, title: str | None = None, command: str = "", progress: Any = None) -> None:
        """Write one HTML page with everything: what was compared, who is ahead, what is sure, what was wrong.

        The page needs no network and no other file. `command` is what was typed, to be shown under how to reproduce.
        """
        from toplist.report.html import Page, Provenance, write  # noqa: PLC0415  templates are not for everyone
        from toplist.report.statements import MOST, disagreeing  # noqa: PLC0415

        require_apart([path], self.inputs)
        require_place(path)
        material = self.material(progress or (lambda what, done, total: None))
        board = self
        if self.results.confidence_set is None and has_arch():
            board = self.showing(confidence_set=self.confidence_set())
        installed = {name: what for name, what in versions().items() if name != "threads"}  # which change nothing
        made = Provenance(command=command, versions=installed, files=material.files)
        exhibits = self._exhibits(material)
        names = self.terms.names
        split = [one.verdict for one in disagreeing(self.results)[0][:MOST]]
        pairs = [(names.index(v.worse or ""), names.index(v.better or "")) for v in split]
        decided = material.decided(pairs, names, self.terms.rules[0], 5)
        judged = material.judged([row.name for row in self], level=self.results.level, seed=self.seed)
        named = {} if title is None else {"title": title}
        write(Page(board.results, exhibits, made, decided=decided, judged=judged, **named), path)

    def _exhibits(self, material: CaseDetails) -> tuple[ModelDetails, ...]:
        """In the order of the table."""
        found = {one.name: one for one in material.exhibits}
        return tuple(found[row.name] for row in self)

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def _repr_html_(self) -> str:
        return markup.as_html(self.results)

    def __rich__(self) -> Any:
        return as_renderable(self.results)

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON."""
        return export.as_dict(self.results)

    def to_json(self) -> str:
        """The same as text."""
        return export.as_json(self.results)

    def to_csv(self) -> str:
        """One line per group, model and rule."""
        return export.as_csv(self.results)

    def to_text(self, width: int | None = None, *, detail: bool = False) -> str:
        """Plain tables; columns that do not fit the width are left out, and named."""
        return as_text(self.results, None if width is None else max(60, width), detail=detail)

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
        """A frame with one row per group, model and rule."""
        return export.as_pandas(self.results)

    def to_polars(self) -> Any:
        """The same for polars."""
        return export.as_polars(self.results)

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
        require_apart([path], self.inputs)
        write_bytes(path, made[suffix]().encode("utf-8"))
