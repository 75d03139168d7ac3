"""What the lists of a predictor show, as plain values: nothing here computes or draws."""

from __future__ import annotations

from dataclasses import dataclass

from toplist.diagnosis.bins import Bin
from toplist.diagnosis.oddities import Oddity

KINDS = ("empty list", "hard label", "top list", "distribution")
"""The shapes of predictions, from the shortest lists to the longest."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Predictions of one shape: how many there are, and how they score."""

    kind: str  # one of KINDS
    cases: int
    score: float  # mean under the first rule; infinite where any is
    infinite: int


@dataclass(frozen=True, slots=True)
class Costly:
    """A case that cost much."""

    case: str
    score: float
    outcome: str
    listed: tuple[tuple[str, float], ...]  # the most confident classes, at most three
    size: int
    rest: float


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What one predictor's lists show."""

    name: str
    rule: str  # that scores below are of
    cases: int
    ks: tuple[int, ...]
    curve: tuple[float, ...]  # mean score of the lists cut to k classes, without penalty; empty for a soft truth
    listed: tuple[Bin, ...]  # all listed confidences
    top: tuple[Bin, ...]  # the most confident class alone
    mass: tuple[Bin, ...]  # the listed mass, against how often what happened is listed
    sizes: tuple[tuple[int, int], ...]  # list lengths and how often they occur, the 40 most frequent ones
    shortest: int  # of all lengths
    longest: int
    shapes: tuple[Shape, ...]
    costly: tuple[Costly, ...]  # worst first
    invalid: str  # the first invalid list in words, or nothing
    oddities: tuple[Oddity, ...] = ()  # what is odd about lists that passed the door
