"""A merge tree on workers that are slow at times and fail: `python -m simulations.merge_tree --write docs/capacity.md`.

Tasks have lognormal times with mean 1, of which some are several times as long. An attempt fails at a constant rate
while it runs; that is noticed after a while, and the task is started again. With speculative copies, a worker that has
nothing to do starts a second attempt of the task that has run longest, once it has taken twice the median: the first to
end counts, the other runs on. As soon as there are as many results as the fan-in, any worker merges them; the last
merge leaves one. The ideal time is that of all tasks on all workers without a gap, failures or merging.
"""

from __future__ import annotations

import argparse
import heapq
import math
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path

import numpy as np

from simulations.page_tables import rewrite

SECTION = "merge tree"
DRAWS = 40


@dataclass(frozen=True)
class Setting:
    """Workers, tasks and what goes wrong; times are in units of a mean task."""

    workers: int = 100
    per_worker: int = 10  # tasks
    fan_in: int = 8
    spread: float = 0.3  # standard deviation of log times
    slow: float = 0.0  # share of attempts that are slow
    factor: float = 8.0  # how many times as long these take
    failures: float = 0.0  # of an attempt, per unit of time
    noticed: float = 0.5  # after which a failure is noticed
    copies: bool = False
    merge: float = 0.002  # time to merge one result into another: about 10 ms for tasks of 5 s

    @property
    def tasks(self) -> int:
        """How many there are."""
        return self.workers * self.per_worker

    @property
    def ideal(self) -> float:
        """Mean work by worker."""
        return self.per_worker * (1 + self.slow * (self.factor - 1))


@dataclass(frozen=True)
class Outcome:
    """What one run took."""

    time: float  # relative to the ideal
    waiting: int  # the most results that waited to be merged at one time
    attempts: float  # per task


@dataclass
class Run:
    """One run, event by event: workers take merges first, then tasks, then copies of tasks that take long."""

    setting: Setting
    rng: np.random.Generator
    now: float = 0.0
    results: int = 0  # that wait to be merged
    most: int = 0
    attempts: int = 0
    done: set[int] = field(default_factory=set)
    events: list[tuple[float, int, int, bool]] = field(default_factory=list)  # when, order, task or -count, success
    running: dict[int, list[float]] = field(default_factory=dict)  # starts of the attempts of a task

    def finish(self) -> Outcome:
        """Run all of it."""
        s = self.setting
        todo, idle, order, merging = deque(range(s.tasks)), s.workers, count(), 0
        while True:
            while idle:
                left = s.tasks - len(self.done)
                last = not left and not merging
                if self.results >= s.fan_in or (last and self.results > 1):
                    size = min(s.fan_in, self.results)
                    self.results -= size
                    merging += 1
                    heapq.heappush(self.events, (self.now + s.merge * size, next(order), -size, True))
                elif todo:
                    self._start(todo.popleft(), next(order))
                elif (late := self._late()) is not None:
                    self._start(late, next(order))
                else:
                    break
                idle -= 1
            self.now, _, what, success = heapq.heappop(self.events)
            idle += 1
            if what < 0:
                merging -= 1
                self.results += 1
            elif what not in self.done:
                self._end(what, success=success, todo=todo)
            self.most = max(self.most, self.results)
            if len(self.done) == s.tasks and self.results == 1 and not merging:
                return Outcome(self.now / s.ideal, self.most, self.attempts / s.tasks)

    def _end(self, task: int, *, success: bool, todo: deque[int]) -> None:
        """An attempt ended: a result, or the task is to be done again unless another attempt of it is under way."""
        if success:
            self.done.add(task)
            del self.running[task]
            self.results += 1
            return
        starts = self.running[task]
        starts.pop(0)
        if not starts:
            del self.running[task]
            todo.appendleft(task)

    def _start(self, task: int, order: int) -> None:
        s = self.setting
        took = float(self.rng.lognormal(-(s.spread**2) / 2, s.spread))
        if self.rng.random() < s.slow:
            took *= s.factor
        fails = float(self.rng.exponential(1 / s.failures)) if s.failures else math.inf
        ends = min(took, fails + s.noticed if fails < took else math.inf)
        self.attempts += 1
        self.running.setdefault(task, []).append(self.now)
        heapq.heappush(self.events, (self.now + ends, order, task, fails >= took))

    def _late(self) -> int | None:
        """The task that has run longest, once, if that is long; with copies only."""
        if not self.setting.copies:
            return None
        alone = [(starts[0], task) for task, starts in self.running.items() if len(starts) == 1]
        started, task = min(alone, default=(self.now, -1))
        return task if self.now - started > 2 * math.exp(-(self.setting.spread**2) / 2) else None


CALM = Setting()
WORLDS = {
    "tasks alike": CALM,
    "2 % of attempts take 8 times as long": replace(CALM, slow=0.02),
    "the same, 1 % of attempts fail": replace(CALM, slow=0.02, failures=0.01),
    "the same, 10 % of attempts fail": replace(CALM, slow=0.02, failures=0.1),
}
COLUMNS = ("workers", "fan-in", "what goes wrong", "time", "time, worst of 20", "with copies", "attempts", "waiting")


def rows() -> Iterator[tuple[str, Setting]]:
    """The settings of the table: what goes wrong, on 10 and 100 workers; then fan-ins, in the worst of it."""
    for workers, (name, world) in product((10, 100), WORLDS.items()):
        yield name, replace(world, workers=workers)
    *_, (name, world) = WORLDS.items()
    for fan_in in (2, 16, 64, 1000):
        yield name, replace(world, workers=100, fan_in=fan_in)


def simulate(setting: Setting, draws: int = DRAWS) -> list[Outcome]:
    """Runs with seeds of their own."""
    return [Run(setting, np.random.default_rng([17, seed])).finish() for seed in range(draws)]


def line(name: str, setting: Setting) -> str:
    """One row of the table."""
    plain, copied = simulate(setting), simulate(replace(setting, copies=True))
    times = sorted(one.time for one in plain)
    cells = (
        f"{setting.workers}",
        f"{setting.fan_in:,}",
        name,
        f"{np.mean(times):.2f}",
        f"{times[math.ceil(0.95 * len(times)) - 1]:.2f}",
        f"{np.mean([one.time for one in copied]):.2f}",
        f"{np.mean([one.attempts for one in copied]):.2f}",
        f"{max(one.waiting for one in plain)}",
    )
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """All rows."""
    head = f"| {' | '.join(COLUMNS)} |\n| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    return "\n".join([head, *(line(name, setting) for name, setting in rows())])


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m simulations.merge_tree", description="A merge tree on workers.")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    page = parser.parse_args().write
    if page is None:
        sys.stdout.write(table() + "\n")
    else:
        rewrite(page, SECTION, table())


if __name__ == "__main__":
    main()
