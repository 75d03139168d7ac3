"""What a leaderboard shows without its cases: everything from sums, and calibration from mergeable bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from toplist.calibration.top_bins import BinnedCalibration, ReliabilityBins
from toplist.errors import TopListError
from toplist.evaluation.breakdown import groups_of_sums
from toplist.evaluation.stream import ScoredBatch
from toplist.inference.results import Comparison, FileRecord
from toplist.report.html import Page, PartRecord, Provenance

if TYPE_CHECKING:
    from toplist.report.plot import Plot

_PANELS = 4  # tied models whose curves are drawn, beside the two that are ranked last
_ABSENT = (
    "this result is made of sums and has no cases: run toplist compare on the files, or on a sample of their cases"
)
_NOT_SHOWN = (
    "This page is made of sums over cases, not of the cases: it has no isotonic reliability curves, test of "
    "calibration, scores by class, confusions, single cases, score against list length or measured next steps. "
    "For these run toplist compare --report on the files, or on a sample of their cases."
)


@dataclass(slots=True)
class ReliabilityWatcher:
    """Adds up the reliability bins of one source, batch by batch, in any order and from any thread."""

    found: ReliabilityBins = field(default_factory=ReliabilityBins)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, seen: ScoredBatch) -> None:
        """See `Collector.watchers`."""
        part = ReliabilityBins.of(seen.lists, seen.scores.metrics["accuracy"])
        with self._lock:
            self.found = self.found + part


@dataclass(frozen=True, slots=True)
class SumDetails:
    """Stands in for the cases of a comparison whose sums alone are at hand: made by engines, or merged from partials.

    What needs cases is refused, with what to run instead.
    """

    bins: Mapping[str, ReliabilityBins] = field(default_factory=dict)  # by model
    parts: tuple[PartRecord, ...] = ()
    files: tuple[FileRecord, ...] = ()

    @property
    def known(self) -> None:
        """No details are ever read."""
        return

    def scores(self) -> NoReturn:
        """There are none case by case."""
        raise TopListError(f"{_ABSENT} to have scores case by case.")

    def details(self, *_: Any) -> NoReturn:
        """There are none."""
        raise TopListError(f"{_ABSENT} for what depends on single cases.")

    def calibration(self, results: Comparison) -> dict[str, BinnedCalibration]:
        """The binned calibration of every model that names a class, in the order of the table.

        Where cases may depend on each other there are no intervals: see `ReliabilityBins.calibration`.
        """
        independent = results.unit == "case"
        made = {
            row.name: self.bins[row.name].calibration(results.level, independent=independent)
            for row in results.overall.rows
            if row.name in self.bins
        }
        return {name: one for name, one in made.items() if one is not None}

    def plot(self, kind: str, results: Comparison) -> Plot[Any]:
        """The figure of a board without cases: reliability alone."""
        from toplist.report import plot  # noqa: PLC0415 - figures are loaded when one is asked for

        if kind != "reliability":
            raise TopListError(f"{_ABSENT} to plot {kind}.")
        found = self.calibration(results)
        drawn = drawn_models(results)
        return plot.binned_reliability({who: found[who] for who in found if who in drawn}, len(found) - len(drawn))

    def page(self, results: Comparison, provenance: Provenance) -> Page:
        """All that a report shows without cases."""
        return Page(results, provenance=provenance)
