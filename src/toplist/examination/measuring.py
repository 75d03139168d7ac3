"""From lists and outcomes to all that a diagnosis says of calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np

from toplist.diagnosis import (
    CalibrationError,
    CalibrationTest,
    Decomposition,
    Gap,
    Reliability,
    calibration_error,
    decompose,
    reliability,
)
from toplist.errors import TopListError
from toplist.holding import Held, judged

T = TypeVar("T")
BANDED: Final = 500_000
"""Listed classes up to which curves have bands; beyond, they are about as narrow as the line."""
_FULL: Final = 50_000  # listed classes up to which a band has all draws; then fewer, so that it takes a few seconds
_FEWEST: Final = 60  # draws that make a band
RANKS: Final = 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """Reliability of the most confident class, rank by rank, of all listed classes, and of the listed mass."""

    top: Reliability | None
    ranks: tuple[Reliability, ...]
    listed: Reliability | None
    mass: Reliability | None


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found, and in words what was not and why."""

    calibration: Calibration
    decomposition: Decomposition | None
    calibration_error: CalibrationError | None
    gap: Gap | None  # of the most confident class
    mass_gap: Gap | None
    test: CalibrationTest | None
    tested: int  # cases that the test is of
    clusters: int | None  # how many the cases are in
    notes: tuple[str, ...]


def measure(held: Held, *, level: float, band_level: float, draws: int, seed: int) -> Measured:
    """Exactly where all cases are held; from sums over bins elsewhere, with a test of the cases that are held.

    Sums do not say which cases belong together: with clusters, what has an interval is of the cases that are held.
    """
    lists, y, binned, units = held.lists, held.y, held.binned, held.units
    number = None if units is None else len(np.unique(units))
    if not len(lists):
        nothing = Calibration(None, (), None, None)
        return Measured(nothing, None, None, None, None, None, 0, number, ("There are no cases.",))
    notes: list[str] = []

    def ask(what: str, find: Callable[[], T]) -> T | None:
        try:
            return find()
        except TopListError as error:
            notes.append(f"There is no {what}: {error}")
            return None

    found, promised = _curves(held, band_level, draws, seed, notes)
    said = judged(held, level=level, draws=draws, seed=seed)
    if binned is not None:
        notes.append("All else is from sums over 200 bins of confidences, not case by case.")
    added = None if units is not None else binned

    def error() -> CalibrationError:
        if added is not None:
            return added.calibration_error("top", level=level)
        return calibration_error(lists, y, of="top", level=level, clusters=units)

    return Measured(
        found,
        ask("decomposition", binned.decompose if binned is not None else lambda: decompose(lists, y)),
        ask("calibration error", error) if promised else None,
        said.gap,
        said.mass_gap,
        said.test,
        said.tested,
        number,
        (*said.notes, *notes),
    )


def _curves(held: Held, level: float, draws: int, seed: int, notes: list[str]) -> tuple[Calibration, bool]:
    """The curves, and whether any list has a class."""
    lists, y, binned = held.lists, held.y, held.binned
    entries = len(lists.confidences)
    drawn: Any = "consistency" if entries <= BANDED and binned is None else None
    fewer = min(draws, max(_FEWEST, draws * _FULL // max(entries, 1)))
    longest = binned.longest if binned is not None else int(lists.strictly_valid().sizes.max(initial=0))

    def curve(of: str | int) -> Reliability:
        if binned is not None:
            return binned.reliability(of)
        return reliability(lists, y, of=of, band=drawn, level=level, draws=fewer, seed=seed)

    top = curve("top") if longest else None
    first = () if top is None else (replace(top, of=1),)
    if not longest:
        notes.append("Every list is empty: no class has a confidence that could be right or wrong.")
    elif drawn is None:
        notes.append("The curves have no bands: with so many cases these would be about as narrow as the line.")
    elif held.units is not None:
        notes.append("The bands of the curves take cases as independent, and are too narrow where clusters are not.")
    further = (curve(rank) for rank in range(2, min(RANKS, longest) + 1))
    found = Calibration(top, (*first, *further), curve("listed") if longest else None, curve("mass"))
    return found, longest > 0
