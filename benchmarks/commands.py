"""Whole commands on large files, against reading the same columns and doing nothing with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import files
from benchmarks.race import Race

TOPLIST = str(Path(sys.executable).with_name("toplist"))

# What reading alone costs: every column of every file, batch by batch, the fastest way that pyarrow has.
READ = """
import sys, pyarrow.parquet as pq
for path in sys.argv[1:]:
    for batch in pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20).iter_batches(batch_size=1 << 17):
        pass
"""
DUCKDB = """
import sys, duckdb
for path in sys.argv[1:]:
    for batch in duckdb.connect().sql(f"SELECT * FROM '{path}'").to_arrow_reader(1 << 17):
        pass
"""
# What a user would write for lists of ten in any order: a join, and the formula of the padded Brier score, unchecked.
JOIN = """
import sys, duckdb
*models, truth, classes = sys.argv[1:]
for path in models:
    query = f"SELECT classes, confidences, outcome FROM '{path}' JOIN '{truth}' USING (\\"case\\")"
    total = cases = 0
    for batch in duckdb.connect().sql(query).to_arrow_reader(1 << 17):
        n, y = len(batch), batch.column("outcome").to_numpy()
        c, t = (batch.column(name).flatten().to_numpy().reshape(n, -1) for name in ("classes", "confidences"))
        rest = 1.0 - t.sum(axis=1, dtype=float)
        share = rest / (int(classes) - t.shape[1])
        hit = c == y[:, None]
        chosen = (t * hit).sum(axis=1) + share * ~hit.any(axis=1)
        total += float(((t * t).sum(axis=1) + rest * share + 1 - 2 * chosen).sum())
        cases += n
    print(total / cases)
"""


_LAUNCH = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""  # from a small process: the memory of the one that starts another would count as the other's


@dataclass(frozen=True)
class Run:
    seconds: float
    peak: float  # bytes


def run(command: Sequence[str | Path]) -> Run:
    """One process: how long it took, and the most memory it had. Its modules are compiled, as installed ones are."""
    words = [sys.executable, "-c", _LAUNCH, *(str(word) for word in command)]
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    told = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=compiled, check=True).stdout  # noqa: S603
    seconds, peak, code = map(float, told.split())
    if code:
        raise RuntimeError(f"exit code {code:.0f}: {' '.join(map(str, command))}")
    return Run(seconds, peak * 1024.0)


def best(command: Sequence[str | Path], rounds: int = 4) -> Run:
    runs = [run(command) for _ in range(rounds)]
    return Run(min(one.seconds for one in runs), max(one.peak for one in runs))


def reading(*paths: Path, code: str = READ) -> list[str | Path]:
    return [sys.executable, "-c", code, *paths]


def comparing(a: Path, b: Path, truth: Path) -> list[str | Path]:
    return [TOPLIST, "compare", a, b, "--truth", truth, "--classes", str(files.CLASSES)]


@dataclass(frozen=True)
class Large:
    a: Path
    b: Path
    truth: Path
    shuffled: Path  # where it was asked for


def made(folder: Path, cases: int, *more: str) -> Large:
    """Made by a process of its own: what this one has in memory would count as its children's."""
    folder.mkdir()
    run([sys.executable, "-m", "benchmarks.files", folder, str(cases), *more])
    return Large(*(folder / f"{name}.parquet" for name in ("a", "b", "truth", "shuffled")))


def comparing_against_reading(race: Race) -> None:
    large = made(race.folder / "large", race.size(10_000_000), "shuffled")
    read, compared = reading(large.a, large.b, large.truth), comparing(large.a, large.b, large.truth)
    ours, theirs = [], []
    for _ in range(2 if race.quick else 5):
        theirs.append(run(read))
        ours.append(run(compared))
    other = [run(comparing(large.a, large.shuffled, large.truth)) for _ in range(1 if race.quick else 3)]
    fastest = min(one.seconds for one in ours)
    race.record(
        "compare two files of 10M lists, k = 10, with truth: times as long as reading with pyarrow",
        fastest,
        min(one.seconds for one in theirs),
        at_most=2.5,
    )
    race.record(
        "compare with one file shuffled: times as long as in one order",
        min(one.seconds for one in other),
        fastest,
        at_most=4,
    )
    join = [*reading(large.a, large.shuffled, large.truth, code=JOIN), str(files.CLASSES)]
    race.record(
        "compare with one file shuffled: times as long as a join in DuckDB and the formula in numpy",
        min(one.seconds for one in other),
        min(run(join).seconds for _ in other),
        at_most=2.5,
    )
    small = max(one.peak for one in ours)
    race.record("peak memory of comparing 10M cases", small, None, unit="B", at_most=1.5e9)
    larger = made(race.folder / "larger", race.size(40_000_000))
    race.record(
        "peak memory at 40M cases: times as much as at 10M",
        run(comparing(larger.a, larger.b, larger.truth)).peak,
        small,
        unit="B",
        at_most=1.1,
    )


def text_and_long_tables_against_duckdb(race: Race) -> None:
    n = race.size(1_000_000)
    truth = files.make_truth(race.folder / "truth.parquet", n)
    for name, path in files.make_text(race.folder, n).items():
        ours = best([TOPLIST, "compare", path, "--truth", truth, "--classes", str(files.CLASSES)], 3)
        theirs = best(reading(path, code=DUCKDB), 3)
        claim = f"compare {name}, 1M cases, k = 10: times as long as reading with DuckDB"
        race.record(claim, ours.seconds, theirs.seconds)


def start_against_numpy(race: Race) -> None:
    n, folder = 1000, race.folder
    lists, truth = files.make_lists(folder / "few.parquet", n, 0), files.make_truth(folder / "few-truth.parquet", n)
    numpy = [sys.executable, "-c", "import numpy"]
    score = [TOPLIST, "score", lists, "--truth", truth, "--classes", "1000", "-o", folder / "scores.parquet"]
    race(
        "toplist --help: times as long as import numpy",
        lambda: run([TOPLIST, "--help"]),
        lambda: run(numpy),
        at_most=4,
    )
    race(
        "toplist score of 1,000 cases: times as long as import numpy",
        lambda: run(score),
        lambda: run(numpy),
        at_most=10,
    )


BENCHMARKS = (start_against_numpy, comparing_against_reading, text_and_long_tables_against_duckdb)
