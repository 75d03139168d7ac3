"""`python -m simulations [--draws N] [--seed N] [--write PAGE]`: run all of it, print the table, write the page."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from simulations import calibration, fixed, sequential
from simulations.page import CALIBRATION, page, table
from simulations.rows import Row

DRAWS = 4_000
_CHEAP = 2  # times as many for calibration, which takes less time
_ONE_PATH = 4  # draws for one path of a sequence, which takes far longer than a comparison


def measure(draws: int, seed: int, workers: int) -> tuple[list[tuple[str, Row]], list[Row]]:
    """At a time that is fixed beforehand, each row with its section, and at all times."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        paths: Future[list[Row]] = pool.submit(sequential.rows, max(1, draws // _ONE_PATH), seed)
        parts = [
            *((trial.section, fixed.run_at, at, draws) for at, trial in enumerate(fixed.TRIALS)),
            *((CALIBRATION, calibration.run_at, at, _CHEAP * draws) for at in range(len(calibration.TRIALS))),
        ]
        made = [(section, pool.submit(run, at, count, seed)) for section, run, at, count in parts]
        found: list[tuple[str, Row]] = []
        for section, part in made:
            sys.stdout.write(table(part.result(), head=not found) + "\n")
            sys.stdout.flush()
            found += [(section, row) for row in part.result()]
        sys.stdout.write(table(paths.result(), head=False) + "\n")
        return found, paths.result()


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m simulations", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each setting; fewer where each takes long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", type=Path, help="a Markdown page, such as docs/coverage.md")
    asked = parser.parse_args()
    at_once, always = measure(asked.draws, asked.seed, asked.workers)
    if asked.write is not None:
        asked.write.write_text(
            page(at_once, always, seed=asked.seed, draws=None if asked.draws == DRAWS else asked.draws),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
