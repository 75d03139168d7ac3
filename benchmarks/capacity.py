"""What large comparisons cost: constants measured here, and the tables of docs/capacity.md that follow from them.

`python -m benchmarks.capacity --measure` measures the constants on one core and keeps them in capacity.json;
`python -m benchmarks.capacity --write docs/capacity.md` makes the tables of the page again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from simulations.page_tables import rewrite

HERE = Path(__file__).with_name("capacity.json")
MODELS, CASES, ROUNDS = 2, 1_000_000, 3
PARTIALS = ((2, 0, 0), (10, 0, 0), (2, 100, 0), (2, 0, 1_000), (2, 0, 100_000))  # models, groups, clusters


@dataclass(frozen=True)
class Constants:
    """Bytes and nanoseconds of processor time per case on one core; lists of ten classes of a thousand."""

    list_bytes: float  # per case and model, in Parquet: id, ten classes, ten confidences in single precision
    truth_bytes: float  # id and outcome
    read_ns: float  # per case and model
    truth_ns: float
    score_ns: float  # per case and model: checks, Brier and log, accuracy, top-5 error, coverage
    sum_ns: float  # per case, of two models: exact sums of scores, their squares and their products
    whole_ns: float  # per case, of two models: the comparison as a whole
    partials: dict[str, dict[str, float]]  # bytes, and milliseconds to merge one into another

    @classmethod
    def load(cls) -> Constants:
        """As they were measured last."""
        return cls(**json.loads(HERE.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Assumptions:
    """What was not measured."""

    storage: float = 100e6  # bytes per second that one worker reads from an object store
    store: float = 10e9  # bytes per second that the store gives to all
    part: float = 10.0  # seconds
    fan_in: int = 16
    sample: int = 125_000  # cases that a merged result keeps for the diagnostics, at most
    tail: float = 1.2  # stragglers and failures
    hour: float = 0.05  # dollars of one worker, one core of a virtual machine


def best(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The least processor time of several runs, in seconds."""
    found = math.inf
    for _ in range(rounds):
        start = time.process_time()
        run()
        found = min(found, time.process_time() - start)
    return found


def measure(cases: int = CASES) -> Constants:
    """All constants, on one core."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import toplist as tl
    from benchmarks import files
    from toplist.core import kernel
    from toplist.inference.aggregates import tally

    if not kernel.NATIVE:
        raise RuntimeError("the kernel is not compiled here: what is measured would be that of pure Python")
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory(prefix="toplist-capacity-") as made, kernel.one_thread():
        folder = Path(made)
        paths = {name: files.make_lists(folder / f"{name}.parquet", cases, seed) for seed, name in enumerate("ab")}
        truth = files.make_truth(folder / "truth.parquet", cases)

        def read(path: Path) -> int:
            file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
            return sum(batch.nbytes for batch in file.iter_batches(batch_size=1 << 17, use_threads=False))

        some = min(cases, 1 << 17)
        batch = next(pq.ParquetFile(paths["a"]).iter_batches(batch_size=some))
        y = np.asarray(next(pq.ParquetFile(truth).iter_batches(batch_size=some))["outcome"])
        lists = {name: np.asarray(batch[name].flatten()) for name in ("classes", "confidences")}
        at = np.arange(some + 1, dtype=np.int64) * files.K

        def scored() -> Any:
            return tl.score_cases(tl.TopLists.from_ragged(at, *lists.values(), files.CLASSES), y)

        one = scored()
        return Constants(
            list_bytes=paths["a"].stat().st_size / cases,
            truth_bytes=truth.stat().st_size / cases,
            read_ns=1e9 * best(lambda: read(paths["a"])) / cases,
            truth_ns=1e9 * best(lambda: read(truth)) / cases,
            score_ns=1e9 * best(scored) / some,
            sum_ns=1e9 * best(lambda: tally([one, one])) / some,
            whole_ns=1e9 * best(lambda: tl.compare(paths, truth, space=files.CLASSES)) / cases,
            partials={_key(*shape): measure_partial(*shape) for shape in PARTIALS},
        )


def _key(models: int, groups: int, clusters: int) -> str:
    return f"{models} models, {groups} groups, {clusters} clusters"


def measure_partial(models: int, groups: int, clusters: int) -> dict[str, float]:
    """How large a partial result is, and how long it takes to merge one into another from its bytes."""
    import numpy as np
    import pyarrow as pa

    import toplist as tl
    from toplist.evaluation.partials import PartialResult

    cases = 4 * max(1_000, groups, clusters)
    rng, at = np.random.default_rng(0), np.arange(cases)
    columns = {"outcome": rng.integers(0, 5, cases)}
    columns |= {"group": at % groups} if groups else {}
    columns |= {"cluster": at % clusters} if clusters else {}

    def part(first: int) -> bytes:
        """Of cases with ids of their own."""
        ids = at + first
        lists = {}
        for model in range(models):
            proba = rng.dirichlet(np.ones(5), cases)
            lists[f"model {model}"] = pa.table({"case": ids} | {str(code): proba[:, code] for code in range(5)})
        truth = tl.Truth(pa.table({"case": ids} | columns), group="group" if groups else None)
        return tl.partial_result(lists, truth, space=5).to_bytes()

    parts = [part(0), part(cases)]

    def merged() -> bytes:
        return (PartialResult.from_bytes(parts[0]) + PartialResult.from_bytes(parts[1])).to_bytes()

    return {"bytes": len(parts[0]), "merge_ms": 1e3 * best(merged) / 2}


def constants_table(c: Constants) -> str:
    """What was measured."""
    rows = (
        ("a list in Parquet: id, ten classes, ten confidences (float32)", f"{c.list_bytes:.0f} bytes"),
        ("id and outcome in Parquet", f"{c.truth_bytes:.1f} bytes"),
        ("read a list", f"{c.read_ns:.0f} ns"),
        ("read an outcome", f"{c.truth_ns:.0f} ns"),
        ("check and score a list (Brier, log, four metrics)", f"{c.score_ns:.0f} ns"),
        ("add the scores of two models exactly, with squares and products", f"{c.sum_ns:.0f} ns"),
        ("a case of two models as a whole", f"{c.whole_ns:.0f} ns"),
    )
    return "\n".join(["| per case | measured |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows)])


def partials_table(c: Constants) -> str:
    """Sizes of partial results."""
    rows = [f"| {key} | {_bytes(one['bytes'])} | {one['merge_ms']:.1f} ms |" for key, one in c.partials.items()]
    return "\n".join(["| partial result | size | merge one into another |", "| --- | ---: | ---: |", *rows])


def costs_table(c: Constants, a: Assumptions) -> str:
    """What 10^9 and 10^12 cases of two models take."""
    columns = "bytes", "parts", "processors", "storage", "time", "at a merge", "cost"
    head = f"| cases | workers | {' | '.join(columns)} |"
    rows = [_cost(c, a, cases, workers) for cases in (10**9, 10**12) for workers in (1, 10, 100)]
    return "\n".join([head, "| --- |" + " ---: |" * 8, *rows])


def _cost(c: Constants, a: Assumptions, cases: int, workers: int) -> str:
    total = cases * (MODELS * c.list_bytes + c.truth_bytes)
    work = cases * c.whole_ns / 1e9
    processors, storage = work / workers, total / min(workers * a.storage, a.store)
    parts = max(workers, math.ceil(work / a.part))
    part = c.partials[_key(MODELS, 0, 0)]
    levels = math.ceil(math.log(max(parts, 2), a.fan_in))
    merging = part["merge_ms"] / 1e3 * (parts / workers + a.fan_in * levels)
    elapsed = a.tail * max(processors, storage) + merging
    cells = (
        f"10^{round(math.log10(cases))}",
        f"{workers}",
        _bytes(total),
        f"{parts:,}",
        _time(processors),
        _time(storage),
        _time(elapsed),
        _bytes(a.fan_in * part["bytes"] + a.sample * (16 + 8 * MODELS)),  # two hashes, and a score of each model
        f"${elapsed * workers / 3600 * a.hour:,.2f}",
    )
    return f"| {' | '.join(cells)} |"


def _bytes(n: float) -> str:
    """Two or three digits and a unit.

    >>> _bytes(4800), _bytes(1.23e14)
    ('4.8 kB', '123 TB')
    """
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n:.0f} B"


def _time(seconds: float) -> str:
    """A time that people read.

    >>> _time(45), _time(600), _time(7200), _time(1e6)
    ('45 s', '10 min', '2 h', '11.6 d')
    """
    for scale, unit in ((86400.0 * 2, "d"), (7200.0, "h"), (120.0, "min")):
        if seconds >= scale:
            return f"{seconds / (86400.0 if unit == 'd' else 3600.0 if unit == 'h' else 60.0):.3g} {unit}"
    return f"{seconds:.3g} s"


def tables() -> dict[str, str]:
    """Every table of the page, by its section."""
    c = Constants.load()
    return {
        "constants": constants_table(c),
        "partial results": partials_table(c),
        "costs": costs_table(c, Assumptions()),
    }


def main() -> None:
    """Measure, write, or print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description="What large comparisons cost.")
    parser.add_argument("--measure", action="store_true", help="measure the constants first")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables into a page")
    asked = parser.parse_args()
    if asked.measure:
        HERE.write_text(json.dumps(asdict(measure()), indent=1) + "\n", encoding="utf-8")
    for section, table in tables().items():
        if asked.write is None:
            sys.stdout.write(f"{table}\n\n")
        else:
            rewrite(asked.write, section, table)


if __name__ == "__main__":
    main()
