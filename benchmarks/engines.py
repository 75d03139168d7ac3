"""The local engine: two workers against one on compute-bound input, and memory from 10 to 100 million cases.

Memory is sampled from /proc: the anonymous memory of the driver, and that of the largest worker. The driver is a
process of its own, `python -m benchmarks.engines FOLDER WORKERS`.
"""

from __future__ import annotations

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
COMPUTE, ROUNDS = 4_000_000, 5
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


def seconds(command: list[str]) -> float:
    """How long it says that it took, without the start of its own process."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return float(done.stdout.splitlines()[-1])


def two_workers(race: Race) -> None:
    """Compute-bound: all rules."""
    folder = make(race.folder / "made", race.size(COMPUTE))
    one, two = float("inf"), float("inf")
    for _ in range(2 if race.quick else ROUNDS):
        one = min(one, seconds(driving(folder, 1, *RULES)))
        two = min(two, seconds(driving(folder, WORKERS, *RULES)))
    race.record("local, 4M cases, five rules: two workers times as fast as one", two, one, at_least=1.6)


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
    from toplist.engines import Local

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
