"""A leaderboard: what a comparison found, to be read, printed and handed on."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._files import as_path, require_apart, require_place, write_bytes
from toplist._typing import Progress
from toplist.core.arguments import as_probability
from toplist.core.kernel import to_float, versions
from toplist.errors import TopListError
from toplist.evaluation.case_details import CaseDetails, CaseReader, SumDetails, against
from toplist.evaluation.next_steps import Invocation, actions
from toplist.inference.estimation import POWER
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import confidence_set, extra_of, judge
from toplist.inference.results import Comparison, ConfidenceSet, Estimate, Group, ModelDetails, ModelRow, Pair
from toplist.io import silent
from toplist.report import export, markup
from toplist.report.terminal import as_renderable, as_text
from toplist.scoring.case_scores import CaseScores

if TYPE_CHECKING:
    from toplist.report.plot import Plot


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """Models from best to worst, with scores, intervals and paired differences. Made by `compare`.

    Attributes
    ----------
    comparison : Comparison
        All results as plain values.
    scores : mapping from str to CaseScores
        Scores and metrics case by case, by model. Files are read again, at the first time of asking.

    Examples
    --------
    >>> import toplist as tl
    >>> board = tl.compare({"list": [{"a": 0.7, "b": 0.2}] * 2, "label": ["a", "b"]}, ["a", "b"], space=3)
    >>> board["label"].scores["brier"].mean.value, board["label"].metrics["accuracy"].value
    (0.0, 1.0)
    >>> board.scores["list"]["brier"].round(2).tolist()
    [0.14, 1.14]
    """

    comparison: Comparison
    _intervals: Intervals = field(compare=False)  # over all cases, with their exact sums
    _cases: CaseReader | SumDetails = field(compare=False)  # the cases, or what there is without them
    _inputs: tuple[Any, ...] = field(default=(), compare=False)  # files that were read: nothing is written over them
    _invocation: Invocation | None = field(default=None, compare=False)  # how these are written in a shell

    # What is in it

    def __iter__(self) -> Iterator[ModelRow]:
        return iter(self.comparison.overall.rows)

    def __len__(self) -> int:
        return len(self.comparison.overall.rows)

    def __getitem__(self, name: str | int) -> ModelRow:
        """One model, by name or by place (0 is the leader)."""
        rows = self.comparison.overall.rows
        if isinstance(name, int | np.integer):
            return rows[int(name)]
        by_name = {row.name: row for row in rows}
        if name not in by_name:
            raise KeyError(f"{name!r} is not among {', '.join(map(repr, by_name))}")
        return by_name[name]

    @property
    def groups(self) -> tuple[Group, ...]:
        """The standings of each group of cases."""
        return self.comparison.groups

    def difference(self, a: str, b: str, rule: str | None = None) -> Estimate:
        """The mean score of a minus that of b over the cases of both, with its interval: below zero, a is better.

        Interval and p value are those of this pair alone, for two models that were chosen before looking; those that
        hold for all pairs at once are in `pairwise`.
        """
        return self._intervals.difference(*self._places(a, b, rule))

    def _places(self, a: str, b: str, rule: str | None) -> tuple[int, int, int]:
        """Where a rule and two models stand among those that were compared."""
        names, rules = [source.name for source in self.comparison.sources], self.comparison.rules
        for name in (a, b):
            require_known(name, names, "model")
        chosen = require_known(rule or rules[0], rules, "rule")
        return rules.index(chosen), names.index(a), names.index(b)

    @property
    def pairwise(self) -> tuple[Pair, ...]:
        """Every two models under every rule: their difference alone and among all pairs, and Holm's p value."""
        return self.comparison.pairs

    def extra_units(self, a: str, b: str, rule: str | None = None, *, power: float = POWER) -> int | None:
        """How many units more would make the difference significant among all pairs, with this power.

        That is if the true difference and spread are the observed ones. Units are cases, clusters or time points, as
        for the intervals. 0 where the difference is significant already; None where it cannot be said.
        """
        difference, power = self.difference(a, b, rule), as_probability(power, "power")
        chosen, level = rule or self.comparison.rules[0], self.comparison.level
        pairs = [pair for pair in self.pairwise if pair.rule == chosen]
        if any(judge(pair, level).significant for pair in pairs if {pair.a, pair.b} == {a, b}):
            return 0
        tested = sum(pair.adjusted_p is not None for pair in pairs)
        return extra_of(self._intervals, self._places(a, b, rule), difference, 1 - (1 - level) / max(1, tested), power)

    def confidence_set(self, rule: str | None = None, *, level: float | None = None) -> ConfidenceSet:
        """The models that no other one is significantly better than, by Holm's method over all pairs under the rule.

        The best model is left out of such a set with at most the probability one minus the level.
        """
        if rule is not None:
            require_known(rule, self.comparison.rules, "rule")
        return confidence_set(self.comparison, rule, None if level is None else as_probability(level, "level"))

    @cached_property
    def scores(self) -> Mapping[str, CaseScores]:
        """Scores and metrics case by case, by model, in the order of the table; files are read again."""
        scores = self._cases.scores()
        return {row.name: scores[row.name] for row in self}

    def details(self, progress: Progress | None = None) -> CaseDetails:
        """Scores side by side, and what the lists show: files are read again, at the first time of asking.

        Parameters
        ----------
        progress : callable, optional
            Called with what is done, how much of it, and of how much.

        Returns
        -------
        CaseDetails
            Scores side by side, the details of every model, and the files with their digests.

        Raises
        ------
        TopListError
            Where predictions or outcomes have changed since they were compared.
        """
        return self._cases.details(self._agrees, against(self.comparison), progress or silent)

    def _agrees(self, details: CaseDetails) -> bool:
        """Whether reading again finds the scores of the comparison, up to rounding."""
        scores, sums = details.panel.scores, self._intervals.tally.sums["x"]
        weights = np.ones(len(scores)) if details.panel.weights is None else details.panel.weights
        for r, a in product(range(scores.shape[1]), range(scores.shape[2])):
            column = scores[:, r, a]
            again = float(np.dot(np.where(np.isfinite(column), column, 0.0), weights))
            if not math.isclose(again, to_float(sums[r, a, a]), rel_tol=1e-9, abs_tol=1e-9):
                return False
        return len(scores) == self.comparison.compared or self.comparison.missing == "pairwise"

    # For people

    def plot(self, kind: str = "intervals", *, rule: str | None = None) -> Plot[Any]:
        """A figure: intervals, pairs, groups, curves (score against k), reliability, or path.

        It shows itself in a notebook; `.save("board.svg")` writes it, `.figure()` is matplotlib's, `.data` its values.
        """
        from toplist.report import plot  # noqa: PLC0415 - figures are loaded when one is asked for

        if kind not in plot.PLOTS:
            raise TopListError(f"{kind!r} is no plot: there are {', '.join(plot.PLOTS)}.")
        results = self.comparison
        if kind == "groups" and not results.groups:
            raise TopListError("there are no groups here: tl.Truth(y, group=...) has them, and compare --group.")
        if kind in plot.OF_RESULTS:
            members = [self.confidence_set(rule).members] if kind == "groups" else []
            return plot.OF_RESULTS[kind](results, rule, *members)
        if rule not in (None, results.rules[0]):
            raise TopListError(f"{kind} is drawn for {results.rules[0]!r}, the rule that decides the order.")
        if kind == "path":
            if not results.paths:
                raise TopListError("there is no path here: tl.monitor(...) has them, and compare --sequential.")
            return plot.paths(results.paths)
        if not isinstance(self._cases, CaseReader):
            return self._cases.plot(kind, results)
        details = self.details()
        if kind == "reliability":
            calibration = details.calibration(results, seed=self._intervals.seed)
            return plot.reliability(calibration.curves, calibration.judged, len(self) - len(calibration.curves))
        return plot.curves(self._exhibits(details), self.confidence_set().members)

    def report(
        self,
        path: Any,
        *,
        title: str | None = None,
        command: str = "",
        progress: Progress | None = None,
        invocation: Invocation | None = None,
    ) -> None:
        """Write one HTML page with everything: who leads, what is significant, what to do next, what was compared.

        The page needs no network and no other file.

        Parameters
        ----------
        path : str or os.PathLike
            Where to write; its folder exists.
        title : str, optional
            The heading of the page; by default it names the leader and says how much was compared.
        command : str, default ""
            What was typed, to be shown under how to reproduce.
        progress : callable, optional
            Called with what is done, how much of it, and of how much.
        invocation : Invocation, optional
            How the files and options are written in a shell, for the commands that the page suggests.
        """
        from toplist.report.html import Page, Provenance, write  # noqa: PLC0415  templates are not for everyone

        require_apart([path], self._inputs)
        require_place(path)
        installed = {name: version for name, version in versions().items() if name != "threads"}  # which change nothing
        provenance, results = Provenance(command=command, versions=installed, written=_today()), self.comparison
        if not isinstance(self._cases, CaseReader):
            page = self._cases.page(results, provenance)
        else:
            details = self.details(progress)
            page = Page(
                results,
                self._exhibits(details),
                replace(provenance, files=details.files),
                **details.calibration(results, seed=self._intervals.seed)._asdict(),
                breakdowns=details.breakdowns(results, self._intervals),
                against=details.against(results),
                actions=actions(results, self._intervals, details, invocation or self._invocation),
            )
        write(replace(page, title=title or page.title), path)

    def _exhibits(self, details: CaseDetails) -> tuple[ModelDetails, ...]:
        """In the order of the table."""
        exhibits = {model.name: model for model in details.exhibits}
        return tuple(exhibits[row.name] for row in self)

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size((120, 24)).columns)

    def _repr_html_(self) -> str:
        return markup.as_html(self.comparison)

    def __rich__(self) -> Any:
        return as_renderable(self.comparison)

    # For other programs

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON."""
        return export.as_dict(self.comparison)

    def to_json(self) -> str:
        """The same as text."""
        return export.as_json(self.comparison)

    def to_csv(self) -> str:
        """One line per group, model and rule."""
        return export.as_csv(self.comparison)

    def to_text(self, width: int | None = None, *, detail: bool = False) -> str:
        """Plain tables; columns that do not fit the width are left out, and named."""
        return as_text(self.comparison, None if width is None else max(60, width), detail=detail)

    def to_markdown(self, *, detail: bool = False) -> str:
        """The verdict and the table for a README or a pull request; or all tables.

        Two models, or a baseline and others, make at most 12 lines. Cases that only one of two models has right are
        counted where cases were read for a report or for details before.
        """
        details = self._cases.known
        against = () if details is None or len(self) != 2 else details.against(self.comparison)
        return markup.as_markdown(self.comparison, detail=detail, against=against)

    def to_latex(self, *, detail: bool = False) -> str:
        """Tables for a paper, with booktabs."""
        return markup.as_latex(self.comparison, detail=detail)

    def to_html(self, *, detail: bool = False) -> str:
        """Tables for a page."""
        return markup.as_html(self.comparison, detail=detail)

    def to_pandas(self) -> Any:
        """A frame with one row per group, model and rule."""
        return export.as_pandas(self.comparison)

    def to_polars(self) -> Any:
        """The same for polars."""
        return export.as_polars(self.comparison)

    def log_to_mlflow(
        self, run: Any = None, *, prefix: str = "toplist", report: bool = True, nested: bool = False
    ) -> str:
        """Log metrics of every model, the settings, the table and the report to a run of MLflow; its id is returned.

        Parameters
        ----------
        run, prefix, report, nested
            As for `toplist.integrations.mlflow.log_leaderboard`, which says what is logged under which name.

        Returns
        -------
        str
            The id of the run.
        """
        from toplist.integrations.mlflow import log_leaderboard  # noqa: PLC0415 - only where it is asked for

        return log_leaderboard(self, run, prefix=prefix, report=report, nested=nested)

    def write(self, path: Any) -> None:
        """Write to a file in the format of its name: .json, .csv, .md, .tex, .html or .txt."""
        writers: dict[str, Callable[[], str]] = {
            ".json": self.to_json,
            ".csv": self.to_csv,
            ".md": self.to_markdown,
            ".tex": self.to_latex,
            ".html": self.to_html,
            ".txt": lambda: self.to_text() + "\n",
        }
        suffix = as_path(path).suffix.lower()
        if suffix not in writers:
            raise TopListError(f"a leaderboard is written as {', '.join(writers)}, not {suffix or 'without a suffix'}.")
        require_apart([path], self._inputs)
        write_bytes(path, writers[suffix]().encode("utf-8"))


def require_known(name: str, names: Sequence[str], what: str) -> str:
    """The name of a model or rule that is on the board."""
    if name not in names:
        raise TopListError(f"{name!r} is no {what} here: there are {', '.join(map(repr, names))}.")
    return name


def _today() -> str:
    """The date, or that of SOURCE_DATE_EPOCH, so that a page can be made again byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now().astimezone()
    return now.date().isoformat()
