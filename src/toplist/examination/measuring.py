"""From lists and outcomes to all that a diagnosis says of calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from toplist.diagnosis import (
    CalibrationError,
    CalibrationTest,
    Decomposition,
    Gap,
    Reliability,
    calibration_error,
    calibration_test,
    confidence_gap,
    decompose,
    reliability,
)
from toplist.errors import TopListError
from toplist.examination.holding import Held, thinned

T = TypeVar("T")
TESTED: Final = 200_000
"""Listed classes up to which all cases are tested, and else every so many: a few seconds for 199 draws."""
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
    notes: tuple[str, ...]


def measure(held: Held, *, level: float, band_level: float, draws: int, seed: int) -> Measured:
    """Exactly where all cases are held; from sums over bins elsewhere, with a test of the cases that are held."""
    lists, y, binned = held.lists, held.y, held.binned
    notes: list[str] = []

    def ask(what: str, find: Callable[[], T]) -> T | None:
        try:
            return find()
        except TopListError as error:
            notes.append(f"There is no {what}: {error}")
            return None

    every, entries = thinned(lists, TESTED), len(lists.confidences)
    drawn: Any = "consistency" if entries <= BANDED and binned is None else None
    fewer = min(draws, max(_FEWEST, draws * _FULL // max(entries, 1)))
    longest = int(lists.strictly_valid().sizes.max(initial=0))  # of what is scored

    def curve(of: str | int) -> Reliability:
        if binned is not None:
            return binned.reliability(of)
        return reliability(lists, y, of=of, band=drawn, level=band_level, draws=fewer, seed=seed)

    top = curve("top") if longest else None
    first = () if top is None else (replace(top, of=1),)
    found = Calibration(
        top,
        (*first, *(curve(rank) for rank in range(2, min(RANKS, longest) + 1))),
        curve("listed") if longest else None,
        curve("mass") if len(lists) else None,
    )
    if not longest:
        notes.append("Every list is empty: no class has a confidence that could be right or wrong.")
    if drawn is None and longest:
        notes.append("The curves have no bands: with so many cases these would be about as narrow as the line.")
    some = slice(None, None, every)
    test = ask("test", lambda: calibration_test(lists[some], y[some], draws=draws, seed=seed))
    tested = len(lists[some]) if test is not None else 0
    if test is not None and (every > 1 or held.every > 1):
        notes.append(f"The test is of every {every * held.every:,}th case: {tested:,} cases.")
    if binned is not None:
        notes.append("All else is from sums over 200 bins of confidences, not case by case.")
        return Measured(
            found,
            ask("decomposition", binned.decompose),
            ask("calibration error", lambda: binned.calibration_error("top", level=level)) if longest else None,
            ask("difference", lambda: binned.gap("top", level=level)) if longest else None,
            ask("difference of the mass", lambda: binned.gap("mass", level=level)),
            test,
            tested,
            tuple(notes),
        )
    return Measured(
        found,
        ask("decomposition", lambda: decompose(lists, y)),
        ask("calibration error", lambda: calibration_error(lists, y, of="top", level=level)) if longest else None,
        ask("difference", lambda: confidence_gap(lists, y, of="top", level=level)) if longest else None,
        ask("difference of the mass", lambda: confidence_gap(lists, y, of="mass", level=level)),
        test,
        tested,
        tuple(notes),
    )
