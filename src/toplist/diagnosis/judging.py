"""Over- or underconfident, by the test of calibration: one verdict for a diagnosis and for a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from toplist.diagnosis.calibration import Gap
from toplist.diagnosis.testing import CalibrationTest

Direction = Literal["over", "under", "mass over", "mass under", "mixed", "none"]
SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Judged:
    """The test of calibration, and mean confidence minus frequency: of the first class, and of the listed mass."""

    test: CalibrationTest | None
    tested: int  # cases that the test is of
    gap: Gap | None
    mass_gap: Gap | None
    clusters: int | None  # how many the cases that are held are in; None where cases are taken as independent
    notes: tuple[str, ...] = ()  # what is missing or approximate, and why

    def direction(self, p: float | None = None) -> Direction | None:
        """What may be said at 5 %, by this p value instead of the test's own if it is given; None without a test.

        Only what the test finds is called over- or underconfident, in the direction of an interval without zero: of
        the first class, or else of the listed mass; where neither interval leaves zero out, it is mixed.
        """
        if self.test is None:
            return None
        if (self.test.p if p is None else p) > SIGNIFICANT:
            return "none"
        if self.gap is not None and sure(self.gap):
            return "over" if self.gap.difference > 0 else "under"
        if self.mass_gap is not None and sure(self.mass_gap):
            return "mass over" if self.mass_gap.difference > 0 else "mass under"
        return "mixed"


def sure(gap: Gap) -> bool:
    """Whether the interval leaves zero out."""
    return gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
