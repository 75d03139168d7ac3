"""Large prediction files, made by a script: lists in Parquet in one order or shuffled, ranked CSV, long tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

K, CLASSES = 10, 1000
_PART = 500_000


def make_lists(path: Path, cases: int, seed: int, *, shuffled: bool = False) -> Path:
    """Lists of ten classes out of a thousand, as Parquet: case, classes, confidences."""
    schema = pa.schema(
        [("case", pa.int64()), ("classes", pa.list_(pa.int32())), ("confidences", pa.list_(pa.float32()))]
    )
    order = np.random.default_rng(seed).permutation(cases) if shuffled else np.arange(cases)
    with pq.ParquetWriter(path, schema) as writer:
        for ids, classes, confidences in _parts(order, seed):
            at = pa.array(np.arange(len(ids) + 1, dtype=np.int32) * K)
            columns = [
                pa.array(ids),
                pa.ListArray.from_arrays(at, classes.ravel()),
                pa.ListArray.from_arrays(at, confidences.ravel()),
            ]
            writer.write_table(pa.table(columns, schema=schema))
    return path


def make_truth(path: Path, cases: int) -> Path:
    """One outcome per case."""
    outcome = np.random.default_rng(99).integers(0, CLASSES, cases).astype(np.int32)
    pq.write_table(pa.table({"case": np.arange(cases), "outcome": outcome}), path)
    return path


def make_text(folder: Path, cases: int) -> dict[str, Path]:
    """The same kind of lists as ranked CSV, as long CSV and as a long Parquet table."""
    ids, classes, confidences = next(_parts(np.arange(cases), 0, part=cases))
    ranked = {"case": ids}
    for j in range(K):
        ranked |= {f"class_{j + 1}": classes[:, j], f"p_{j + 1}": confidences[:, j]}
    long = {"case": np.repeat(ids, K), "class": classes.ravel(), "confidence": confidences.ravel()}
    paths = {name: folder / name for name in ("ranked.csv", "long.csv", "long.parquet")}
    with duckdb.connect() as engine:
        for name, table in (("ranked.csv", pa.table(ranked)), ("long.csv", pa.table(long))):
            engine.register("made", table)
            engine.execute(f"COPY made TO '{paths[name]}' (HEADER)")
    pq.write_table(pa.table(long), paths["long.parquet"])
    return paths


def main() -> None:
    """`python -m benchmarks.files FOLDER CASES [shuffled]`: two models in the order of the truth, or one more."""
    folder, cases, shuffled = Path(sys.argv[1]), int(sys.argv[2]), "shuffled" in sys.argv[3:]
    for seed, name in enumerate(("a", "b")):
        make_lists(folder / f"{name}.parquet", cases, seed)
    if shuffled:
        make_lists(folder / "shuffled.parquet", cases, 1, shuffled=True)
    make_truth(folder / "truth.parquet", cases)


def _parts(
    order: NDArray[np.int64], seed: int, part: int = _PART
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]]:
    rng = np.random.default_rng(seed)
    for lo in range(0, len(order), part):
        ids = order[lo : lo + part]
        steps = rng.integers(1, CLASSES // K, (len(ids), K))
        classes = (rng.integers(0, CLASSES, (len(ids), 1)) + np.cumsum(steps, axis=1)) % CLASSES
        t = np.sort(rng.random((len(ids), K), dtype=np.float32) + np.float32(0.01), axis=1)[:, ::-1]
        yield ids, classes.astype(np.int32), np.ascontiguousarray(t / (1.1 * t.sum(axis=1, keepdims=True)))


if __name__ == "__main__":
    main()
