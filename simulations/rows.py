"""One claim beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A method in a setting: what it claims, what was measured, and how exactly.

    Shares beside that are of all draws; None where they were not counted.
    """

    method: str
    setting: str
    claim: str
    nominal: float
    measured: float
    error: float  # the standard error of what was measured, by the number of draws
    draws: int
    below: float | None = None  # intervals that end below the true value
    above: float | None = None  # intervals that begin above it
    absent: float | None = None  # no statement was made, with a reason
    warned: float | None = None  # the output warns about its intervals
