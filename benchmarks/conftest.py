"""The race: two functions timed in turns, the best of each, and their ratio in a table at the end."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

SMALL = 20  # how many times smaller the data of a quick run are


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="small data, and no verdict on the ratios")


@dataclass
class Races:
    """What was measured so far."""

    quick: bool
    rows: list[tuple[str, float, str, bool]] = field(default_factory=list)

    def size(self, n: int) -> int:
        """The number of cases to run with."""
        return n // SMALL if self.quick else n

    def __call__(
        self,
        claim: str,
        ours: Callable[[], Any],
        baseline: Callable[[], Any],
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        rounds: int = 7,
    ) -> float:
        """Time both in turns; at_least: times as fast as the baseline, at_most: times as long."""
        best = [float("inf"), float("inf")]
        gc.collect()
        for turn in range(2 if self.quick else rounds):
            for side, run in enumerate((ours, baseline)):
                if side == 1 and turn >= 5 and best[1] > 0.5:
                    continue  # a slow baseline need not be repeated as often
                start = time.perf_counter()
                run()
                best[side] = min(best[side], time.perf_counter() - start)
        ratio = best[1] / best[0] if at_least is not None else best[0] / best[1]
        return self.record(claim, ratio, at_least=at_least, at_most=at_most)

    def record(self, claim: str, ratio: float, *, at_least: float | None = None, at_most: float | None = None) -> float:
        """Note a ratio, and hold it against its bound unless this is a quick run."""
        good = ratio >= at_least if at_least is not None else ratio <= (at_most or float("inf"))
        bound = "" if at_most is None else f"at most {at_most:g}"
        bound = bound if at_least is None else f"at least {at_least:g}"
        self.rows.append((claim, ratio, bound, good))
        assert good or self.quick, f"{claim}: {ratio:.2f}, should be {bound}"
        return ratio


@pytest.fixture(scope="session")
def race(request: pytest.FixtureRequest) -> Races:
    races = Races(request.config.getoption("--quick"))
    request.config.stash[_RACES] = races
    return races


_RACES: pytest.StashKey[Races] = pytest.StashKey()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    races = config.stash.get(_RACES, None)
    if races is None:
        return
    terminalreporter.section("ratios" + (" (quick: small data, no verdict)" if races.quick else ""))
    for claim, ratio, bound, good in races.rows:
        verdict = "" if good or races.quick else "MISSED"
        terminalreporter.write_line(f"{claim:<84} {ratio:9.2f}   {bound:<14} {verdict}")
