"""The race: ours and a baseline timed in turns, the best of each, and their ratio held against a bound."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SMALL = 20  # how many times smaller the data of a quick run are

# A bound missed by no more than this share of it is reported and does not fail the command. On a machine with other
# work, repeated ratios of the best times lay within 3 % (Brier to numpy, 6 repeats) and 10 % (log to Brier, 9 of 10
# repeats; the tenth was 50 % off). So a wider miss may still be noise where the machine is busy: run it again.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Row:
    """One line of the table: two numbers and their bound, or what went wrong."""

    claim: str
    ours: float | None = None
    baseline: float | None = None
    unit: str = "s"
    at_least: float | None = None  # times as fast as the baseline
    at_most: float | None = None  # times as much as the baseline, or as it is where there is none
    judged: bool = True
    trouble: str = ""

    @property
    def value(self) -> float:
        """What the bound is about: the ratio, or our number where there is no baseline."""
        if self.ours is None:
            return math.nan
        if self.baseline is None:
            return self.ours
        return self.baseline / self.ours if self.at_least is not None else self.ours / self.baseline

    @property
    def missed_by(self) -> float:
        """The share of the bound by which it is missed: 0 where it is met, or where there is none."""
        if self.at_least is not None:
            return max(0.0, 1 - self.value / self.at_least)
        return 0.0 if self.at_most is None else max(0.0, self.value / self.at_most - 1)

    @property
    def failed(self) -> bool:
        """A crash, a wrong result, or a bound missed by more than the tolerance."""
        return bool(self.trouble) or (self.judged and self.missed_by > TOLERANCE)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.trouble:
            return self.trouble
        if not self.judged or self.at_least is self.at_most is None:
            return ""
        return f"missed by {100 * self.missed_by:.2g} %" if self.missed_by else "met"


@dataclass(frozen=True)
class Race:
    """What a benchmark gets: how large its data shall be, a folder of its own, and where its rows go."""

    quick: bool
    folder: Path
    report: Callable[[Row], None]

    def size(self, n: int) -> int:
        """The number of cases to run with."""
        return n // SMALL if self.quick else n

    def times(self, ours: Callable[[], Any], baseline: Callable[[], Any], rounds: int = 7) -> tuple[float, float]:
        """The shortest time of each in seconds, measured in turns."""
        best = [math.inf, math.inf]
        gc.collect()
        for turn in range(2 if self.quick else rounds):
            for side, run in enumerate((ours, baseline)):
                if side == 1 and turn >= 5 and best[1] > 0.5:
                    continue  # a slow baseline need not be repeated as often
                start = time.perf_counter()
                run()
                best[side] = min(best[side], time.perf_counter() - start)
        return best[0], best[1]

    def __call__(
        self,
        claim: str,
        ours: Callable[[], Any],
        baseline: Callable[[], Any],
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        rounds: int = 7,
    ) -> None:
        """Time both in turns; at_least: times as fast as the baseline, at_most: times as long."""
        self.record(claim, *self.times(ours, baseline, rounds), at_least=at_least, at_most=at_most)

    def record(
        self,
        claim: str,
        ours: float,
        baseline: float | None,
        *,
        unit: str = "s",
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Note what was measured, in seconds or bytes; a quick run does not hold it against its bound."""
        for number in (ours, 1.0 if baseline is None else baseline):
            if not 0 < number < math.inf:  # NaN would meet every bound
                raise ValueError(f"{number} is no measurement: {claim}")
        self.report(Row(claim, ours, baseline, unit, at_least, at_most, judged=not self.quick))
