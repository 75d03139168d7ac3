"""Score a million random lists and hold every score against the oracle in doubled precision.

    python -m tests.oracle.million [lists] [--seed SEED]

A table of the worst relative error per rule and precision goes to standard output, progress to standard error; the
exit status is 1 if any error exceeds 1e-12.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import toplist as tl
from tests.oracle import bulk
from tests.oracle.draws import Draw, draw
from tests.oracle.exact import DEFINITIONS

TOLERANCE = 1e-12
CHUNK = 12_000
DTYPES = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error so far, and how to find its list again."""

    error: float = -1.0
    kind: str = ""
    seed: tuple[int, int] = (0, 0)
    row: int = 0


def lists_of(cases: Draw) -> tl.TopLists:
    """A draw, as the library takes it."""
    offsets, classes, confidences = cases.ragged
    return tl.TopLists.from_ragged(offsets, classes, confidences, tl.ClassSpace(cases.sizes))


def worst_of(seed: tuple[int, int], n: int, dtype: str) -> dict[str, Worst]:
    """The largest error of every rule over one chunk."""
    cases = draw(np.random.default_rng(seed), n, np.dtype(dtype))
    lists, exact = lists_of(cases), bulk.sums(cases, dtype)
    out = {}
    for name in bulk.RULES:
        off = bulk.errors(name, tl.score(lists, cases.outcomes, rule=DEFINITIONS[name][0]), exact)
        row = int(np.argmax(off))
        out[name] = Worst(float(off[row]), str(cases.kinds[row]), seed, row)
    return out


def run(n: int, seed: int) -> dict[tuple[str, str], Worst]:
    """The largest error per rule and precision over n lists."""
    found = {(name, dtype): Worst() for name in bulk.RULES for dtype in DTYPES}
    start, size = time.monotonic(), min(CHUNK, -(-n // len(DTYPES)))
    for i in range(-(-n // size)):
        dtype = DTYPES[i % len(DTYPES)]
        for name, worst in worst_of((seed, i), size, dtype).items():
            found[name, dtype] = max(found[name, dtype], worst, key=lambda w: w.error)
        done, seconds = min((i + 1) * size, n), time.monotonic() - start
        print(f"\r{done:,} of {n:,} lists, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.million", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lists", nargs="?", type=int, default=1_000_000, help="how many, two or more (1,000,000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found = run(options.lists, options.seed)
    print(f"{'rule':<22} {'precision':<9} {'worst error':>11}  kind of list, seed and row of the chunk's draw")
    for (name, dtype), worst in found.items():
        mark = f"  above {TOLERANCE}" if worst.error > TOLERANCE else ""
        print(f"{name:<22} {dtype:<9} {worst.error:11.1e}  {worst.kind}, {worst.seed}, {worst.row}{mark}")
    return int(any(worst.error > TOLERANCE for worst in found.values()))


if __name__ == "__main__":
    sys.exit(main())
