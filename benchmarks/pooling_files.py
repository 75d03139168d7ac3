"""`toplist pool` on large files, against reading them with pyarrow and merging dicts in Python."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import files
from benchmarks.baselines import pool_files_as_dicts
from benchmarks.commands import TOPLIST, best, run
from benchmarks.race import Race

MEMBERS = 5
PART = 20  # the baseline runs on a part of the cases: its time is proportional to their number


def pool_against_merged_dicts(race: Race) -> None:
    n, folder = race.size(1_000_000), race.folder
    few = [files.make_lists(folder / f"few-{seed}.parquet", n // PART, seed) for seed in range(MEMBERS)]
    options = ["--classes", str(files.CLASSES), "-k", str(files.K), "-o"]
    run([TOPLIST, "pool", *few, *options, folder / "few.parquet"])
    pool_files_as_dicts(few, folder / "dicts.parquet", files.CLASSES, files.K)
    require_equal(folder / "few.parquet", folder / "dicts.parquet")
    many = [files.make_lists(folder / f"{seed}.parquet", n, seed) for seed in range(MEMBERS)]
    ours, theirs = [], []
    for _ in range(2 if race.quick else 5):
        start = time.perf_counter()
        pool_files_as_dicts(few, folder / "dicts.parquet", files.CLASSES, files.K)
        theirs.append((time.perf_counter() - start) * PART)
        ours.append(run([TOPLIST, "pool", *many, *options, folder / "pool.parquet"]))
    fastest = min(one.seconds for one in ours)
    race.record(
        "toplist pool of 5 files of 1M lists, k = 10: times as fast as dicts in Python",
        fastest,
        min(theirs),
        at_least=20,
    )
    peak = max(one.peak for one in ours)
    race.record("peak memory of pooling 5 files of 1M lists", peak, None, unit="B", at_most=1.5e9)
    many[1] = files.make_lists(folder / "shuffled.parquet", n, 1, shuffled=True)
    other = best([TOPLIST, "pool", *many, *options, folder / "pool.parquet"], 1 if race.quick else 2)
    race.record("toplist pool with one file shuffled: times as long as in one order", other.seconds, fastest)


def require_equal(ours: Path, theirs: Path) -> None:
    """Both keep the same classes with the same confidences, but for rounding and ties."""
    a, b = (pq.read_table(path) for path in (ours, theirs))
    assert a["case"].to_pylist() == b["case"].to_pylist()
    values = [np.sort(np.array(table["confidences"].to_pylist()), axis=1) for table in (a, b)]
    np.testing.assert_allclose(*values, atol=1e-7)


BENCHMARKS = (pool_against_merged_dicts,)
