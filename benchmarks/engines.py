"""The local engine: two workers against one on compute-bound input, and memory from 10 to 100 million cases.

Memory is sampled from /proc: the anonymous memory of the driver, and that of the largest worker. The driver is a
process of its own, `python -m benchmarks.engines FOLDER WORKERS`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks import files
from benchmarks.race import Race

WORKERS, MODELS = 2, ("a", "b")
SIZES = (10_000_000, 30_000_000, 100_000_000)
COMPUTE, ROUNDS = 20_000_000, 3  # enough that starting two processes, a second or two, does not decide
RULES = ("brier", "log", "spherical", "zero-one", "one-vs-rest")  # more to compute for each list that is read
_EVERY = 0.05  # seconds between samples
_ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB", re.MULTILINE)


def make(folder: Path, cases: int) -> Path:
    """Two models in the order of the truth."""
    folder.mkdir()
    for seed, name in enumerate(MODELS):
        files.make_lists(folder / f"{name}.parquet", cases, seed)
    files.make_truth(folder / "truth.parquet", cases)
    return folder


def driving(folder: Path, workers: int, *rules: str) -> list[str]:
    """The command that compares the files of a folder."""
    return [sys.executable, "-m", "benchmarks.engines", str(folder), str(workers), *rules]


def seconds(command: list[str], **environment: str) -> float:
    """How long it says that it took, without the start of its own process."""
    known = {**os.environ, **environment}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=known)  # noqa: S603
    return float(done.stdout.splitlines()[-1])


def two_workers(race: Race) -> None:
    """Compute-bound: all rules. One worker has one thread, as each of two has; alone it would take all cores."""
    cases = race.size(COMPUTE)
    folder = make(race.folder / "made", cases)
    two, one, all_cores = (float("inf"),) * 3
    for _ in range(2 if race.quick else ROUNDS):
        two = min(two, seconds(driving(folder, WORKERS, *RULES)))
        one = min(one, seconds(driving(folder, 1, *RULES), TOPLIST_THREADS="1", OMP_NUM_THREADS="1"))
        all_cores = min(all_cores, seconds(driving(folder, 1, *RULES)))
    what = f"local, {cases / 1e6:g}M cases, five rules: two workers times as fast as one"
    race.record(f"{what} with one thread", two, one, at_least=1.6)
    race.record(f"{what} with a thread per core", two, all_cores)


def peaks(command: list[str]) -> tuple[float, float]:
    """The most anonymous memory of a driver, and of the largest of its workers, in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    driver = worker = 0.0
    while process.poll() is None:
        driver = max(driver, _anonymous(process.pid))
        worker = max([worker, *map(_anonymous, _below(process.pid))])
        time.sleep(_EVERY)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}")
    return driver, worker


def _anonymous(process: int) -> float:
    """Bytes; none of a process that has ended."""
    with suppress(OSError):
        found = _ANONYMOUS.search(Path(f"/proc/{process}/status").read_text())
        return 1024.0 * int(found[1]) if found else 0.0
    return 0.0


def _below(process: int) -> list[int]:
    """All processes that it started, and those that these started."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *_below(child)]
    return found


def memory(race: Race) -> None:
    """Flat: ten times as many cases take at most a quarter more."""
    found = {}
    for cases in map(race.size, SIZES):
        folder = make(race.folder / str(cases), cases)
        found[cases] = peaks(driving(folder, WORKERS))
        for path in folder.iterdir():
            path.unlink()
    least, *more = found
    for cases in more:
        for who, few, many in zip(("driver", "largest worker"), found[least], found[cases], strict=True):
            claim = f"local, memory of the {who}: {cases:,} cases, times that of {least:,}"
            race.record(claim, many, few, unit="B", at_most=1.25)


BENCHMARKS = (two_workers, memory)


def main() -> None:
    """Compare with a local engine, and print the seconds that it took."""
    import toplist as tl
    from toplist.core.memory import keep_freed_memory
    from toplist.engines import Local

    keep_freed_memory()  # as the command does
    folder, workers, *rules = sys.argv[1:]
    models = {name: Path(folder, f"{name}.parquet") for name in MODELS}
    start = time.perf_counter()
    engine = Local(workers=int(workers))
    tl.compare(
        models, Path(folder, "truth.parquet"), space=files.CLASSES, rules=rules or ("brier", "log"), engine=engine
    )
    sys.stdout.write(f"{time.perf_counter() - start}\n")


if __name__ == "__main__":
    main()
