"""What a leaderboard shows without its cases: all that comes from sums, and calibration from mergeable bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from toplist.calibration.top_bins import BinnedCalibration, ReliabilityBins
from toplist.errors import TopListError
from toplist.evaluation.stream import ScoredBatch
from toplist.inference.results import Comparison, FileRecord, PartRecord

if TYPE_CHECKING:
    from toplist.report.html import Page, Provenance
    from toplist.report.plot import Plot

__all__ = ["ReliabilityBins", "ReliabilityWatcher", "SumDetails"]

_REMEDY = "run toplist compare on the files, or on a sample of their cases"
_NOT_SHOWN = (
    "This page is made from sums over cases: for isotonic reliability curves and the test of calibration, scores by "
    "class, confusions, single cases, scores against list length and measured next steps, compare the files "
    "themselves, or a sample of their cases."
)


@dataclass(slots=True)
class ReliabilityWatcher:
    """Adds up the reliability bins of one source, batch by batch, in any order and from any thread."""

    found: ReliabilityBins = field(default_factory=ReliabilityBins)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, seen: ScoredBatch) -> None:
        """The lists of the source for some cases."""
        part = ReliabilityBins.of(seen.lists, seen.scores.metrics["accuracy"])
        with self._lock:
            self.found = self.found + part


@dataclass(frozen=True, slots=True)
class SumDetails:
    """Stands in for the cases of a leaderboard that was made from sums: by an engine, or merged from partial results.

    What needs cases is refused, with what to run instead.
    """

    bins: Mapping[str, ReliabilityBins] = field(default_factory=dict)  # by model
    parts: tuple[PartRecord, ...] = ()
    files: tuple[FileRecord, ...] = ()

    @property
    def known(self) -> None:
        """Details of cases, which there never are."""
        return

    def scores(self) -> NoReturn:
        """Refuse: there are no scores case by case."""
        self.refuse("scores case by case")

    def details(self, *_: Any) -> NoReturn:
        """Refuse: there are no details of cases."""
        self.refuse("the details of cases")

    def refuse(self, what: str) -> NoReturn:
        """Raise an error that says what is missing, and what to run."""
        raise TopListError(f"this leaderboard is made from sums and has no cases: for {what}, {_REMEDY}.")

    def calibration(self, results: Comparison) -> dict[str, BinnedCalibration]:
        """The binned calibration of every model that names a class, in the order of the table.

        Where units are not cases, which then depend on each other, there are no intervals.
        """
        independent, found = results.unit == "case", {}
        for row in results.overall.rows:
            own = self.bins.get(row.name, ReliabilityBins()).calibration(results.level, independent=independent)
            if own is not None:
                found[row.name] = own
        return found

    def plot(self, kind: str, results: Comparison) -> Plot[Any]:
        """The reliability diagram, in bins; other figures of details need the cases."""
        from toplist.report import plot  # noqa: PLC0415 - figures are loaded when one is asked for

        if kind != "reliability":
            self.refuse(f"the plot {kind!r}")
        return plot.binned_reliability(self.calibration(results))

    def page(self, results: Comparison, provenance: Provenance) -> Page:
        """All that a report shows without cases; next steps would need them."""
        from toplist.evaluation.breakdown import groups_of_sums  # noqa: PLC0415 - workers do without
        from toplist.report.html import Page  # noqa: PLC0415 - templates are not for everyone

        groups = groups_of_sums(results)
        return Page(
            results,
            provenance=replace(provenance, files=self.files, parts=self.parts),
            breakdowns=() if groups is None else (groups,),
            binned=self.calibration(results),
            absent=_NOT_SHOWN,
        )
