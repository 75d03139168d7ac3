"""One claim beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A method in a setting: what it claims, what was measured, and how exactly."""

    method: str
    setting: str
    claim: str
    nominal: float
    measured: float
    error: float  # the standard error of what was measured, by the number of draws
    draws: int
