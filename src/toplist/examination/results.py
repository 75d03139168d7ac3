"""A diagnosis: what was found, to be read, drawn and handed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toplist import plot
from toplist.diagnosis import CalibrationError, CalibrationTest, Decomposition, Gap, Oddity
from toplist.diagnosis.judging import SIGNIFICANT, Judged
from toplist.errors import TopListError
from toplist.examination import records
from toplist.examination.measuring import Calibration
from toplist.examination.words import page, verdict
from toplist.plot import Plot

UNNAMED: Final = "predictions"
PLOTS: Final = ("reliability", "ranks", "listed", "mass", "decomposition", "sizes")


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """What is odd about predictions and, with outcomes, how calibrated they are. Made by `diagnose`.

    What needs outcomes is None without them, and `why` says so; `notes` say what else is missing or approximate.
    """

    name: str
    cases: int
    classes: str  # how many there are, in words
    sizes: Mapping[int, int]  # how many lists have each length
    oddities: tuple[Oddity, ...]
    why: str = ""  # why there is nothing about calibration
    level: float = 0.95
    exact: bool = True  # whether every case was held, rather than added up in bins
    calibration: Calibration | None = None
    decomposition: Decomposition | None = None
    calibration_error: CalibrationError | None = None
    gap: Gap | None = None  # promised minus kept, of the most confident class
    mass_gap: Gap | None = None  # the same of the listed mass
    test: CalibrationTest | None = None
    tested: int = 0  # cases that the test is of
    clusters: int | None = None  # how many the cases that are held are in; None where cases are taken as independent
    notes: tuple[str, ...] = ()

    @property
    def serious(self) -> bool:
        """Whether something must be repaired before these predictions can be scored."""
        return any(found.serious for found in self.oddities)

    @property
    def miscalibrated(self) -> bool | None:
        """Whether calibrated lists would look like this in at most 5% of all samples; None without a test."""
        return None if self.test is None else self.test.p <= SIGNIFICANT

    @property
    def judged(self) -> Judged:
        """The test and the differences, from which the words follow."""
        return Judged(self.test, self.tested, self.gap, self.mass_gap, self.clusters)

    @property
    def verdict(self) -> str:
        """The diagnosis in one sentence."""
        return verdict(self)

    def plot(self, name: str = "reliability") -> Plot[Any]:
        """A figure: reliability (of the first class), ranks, listed, mass, decomposition or sizes."""
        if name not in PLOTS:
            raise TopListError(f"{name!r} is no plot of a diagnosis: there are {', '.join(PLOTS)}.")
        if name == "sizes":
            return plot.sizes(self.sizes)
        found = self.calibration
        curve = (
            None if found is None else {"reliability": found.top, "listed": found.listed, "mass": found.mass}.get(name)
        )
        if curve is not None:
            return plot.calibration({self.name: curve} if self.name != UNNAMED else curve)
        if name == "ranks" and found is not None and found.ranks:
            return plot.calibration(found.ranks)
        if name == "decomposition" and self.decomposition is not None:
            return plot.decomposition({self.name: self.decomposition})
        raise TopListError(f"there is no {name} to draw. {self.why or ' '.join(self.notes)}".rstrip())

    @property
    def plots(self) -> tuple[str, ...]:
        """The figures that can be drawn of it."""
        found = self.calibration
        there = {
            "reliability": found is not None and found.top is not None,
            "ranks": found is not None and bool(found.ranks),
            "listed": found is not None and found.listed is not None,
            "mass": found is not None and found.mass is not None,
            "decomposition": self.decomposition is not None,
            "sizes": True,
        }
        return tuple(name for name in PLOTS if there[name])

    def __repr__(self) -> str:
        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values under a versioned schema, fit for JSON."""
        return records.as_dict(self)
