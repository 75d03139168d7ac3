"""Round the lists of one softmax in every way and see that rounding is not taken for dishonesty.

    python -m tests.oracle.rounded [lists] [--seed SEED]

The lists are true ones (the k most likely classes of a softmax) and such whose last confidence was pushed below the
proxy. Every way of rounding is a row of the table: invalid lists that are valid unrounded, invalid lists that are found
again, and the largest rise of the expected score from one k to the next, as a share of what rounding allows.
The exit status is 1 if any valid list is called invalid or a score rises further.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

import toplist as tl

Floats = NDArray[np.float64]
DTYPES = ("float64", "float32", "float16")
DECIMALS = (2, 3, 4, 5, 6)
ROUNDINGS = (*DTYPES, *DECIMALS)
SHAPES = ((10, (1, 2, 3, 5, 8, 9)), (100, (1, 3, 10, 30)), (1000, (2, 5, 20)))
TEMPERATURES = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, slots=True)
class Found:
    """Of one way of rounding."""

    honest: int = 0
    accused: int = 0  # valid unrounded, invalid rounded
    dishonest: int = 0
    caught: int = 0
    rise: float = 0.0  # of the expected score, relative to what rounding allows

    def __add__(self, other: Found) -> Found:
        return Found(
            self.honest + other.honest, self.accused + other.accused, self.dishonest + other.dishonest,
            self.caught + other.caught, max(self.rise, other.rise),
        )  # fmt: skip


def softmax(rng: np.random.Generator, n: int, m: int, temperature: float) -> Floats:
    """Distributions, sorted: the class with the code 0 is the likeliest."""
    z = rng.normal(size=(n, m)) * 2 / temperature
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return -np.sort(-e / e.sum(axis=1, keepdims=True), axis=1)


def pushed(rng: np.random.Generator, t: Floats, m: int) -> Floats:
    """The same lists with a last confidence of a share of the proxy."""
    n, k = t.shape
    rest = 1 - t[:, :-1].sum(axis=1)
    share = rng.random(n) * 0.9
    # c = share * (rest - c) / (m - k)
    c = share * rest / (m - k + share)
    return np.concatenate([t[:, :-1], c[:, None]], axis=1)


def lists_of(t: Floats, m: int, rounding: str | int) -> tl.TopLists:
    """Rounded lists: as arrays of a type, or read from a file that shows so many decimals."""
    n, k = t.shape
    classes = np.broadcast_to(np.arange(k), (n, k))
    if isinstance(rounding, str):
        made: tl.TopLists = tl.TopLists.from_topk(classes, t.astype(rounding), m, normalize=True)
        return made
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lists.csv"
        columns: dict[str, Any] = {}
        for i in range(k):
            columns[f"class{i + 1}"] = np.full(n, i)
            columns[f"p{i + 1}"] = np.char.mod(f"%.{rounding}f", t[:, i])
        csv.write_csv(pa.table({"id": np.arange(n), **columns}), path)
        return tl.read_lists(path, m, normalize=True)


def allowed(t: Floats, m: int, rounding: str | int) -> Floats:
    """How far the squared distance of the padded distributions may grow by rounding.

    Rounding changes listed confidences by at most d each, and the proxy by the sum of that. The changes are orthogonal
    to what a true list lacks, so that their squares are all that is added to the expected score; where the mass is
    above one and divided out, every confidence changes again by its share of the sum.
    """
    if isinstance(rounding, str):
        unit = {"float64": 2.0**-50, "float32": 2.0**-24, "float16": 2.0**-11}[rounding]
        d = unit * t + (2.0**-25 if rounding == "float16" else 0.0)
    else:
        d = np.full(t.shape, 0.5 * 10.0**-rounding)
    total = d.sum(axis=1)
    return np.asarray(2 * (d**2).sum(axis=1) + 3 * total**2 + 1e-14)  # and what adding up scores loses


def check(rng: np.random.Generator, n: int, m: int, ks: Sequence[int], rounding: str | int) -> Found:
    """All k of softmaxes of every temperature in one rounding."""
    p = np.concatenate([softmax(rng, n, m, temperature) for temperature in TEMPERATURES])
    truth = tl.TopLists.from_proba(p, m, normalize=True)
    found, before = Found(), None
    for k in ks:
        t = p[:, :k]
        made = lists_of(np.concatenate([t, pushed(rng, t, m)]), m, rounding)  # one file: opening it takes the time
        true, false = made[: len(p)], made[len(p) :]
        expected = tl.score(true, truth)
        if before is not None:
            rise = float(((expected - before) / allowed(t, m, rounding)).max())
            found += Found(rise=rise)
        before = expected
        wrong, caught = int((~true.is_valid()).sum()), int((~false.is_valid()).sum())
        found += Found(len(p), wrong, len(p), caught)
    return found


def draws(n: int) -> Iterator[tuple[int, int, Sequence[int]]]:
    """How many softmaxes of each shape and temperature make n true lists together."""
    lists = len(TEMPERATURES) * sum(len(ks) for _, ks in SHAPES)
    for m, ks in SHAPES:
        yield -(-n // lists), m, ks


def run(n: int, seed: int, rounding: str | int) -> Found:
    """About n true lists and as many false ones."""
    found = Found()
    for i, (cases, m, ks) in enumerate(draws(n)):
        found += check(np.random.default_rng((seed, i)), cases, m, ks, rounding)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.rounded", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lists", nargs="?", type=int, default=100_000, help="true lists per rounding (100,000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(
        f"{'rounding':<12} {'true lists':>10} {'invalid':>8} {'false lists':>12} {'invalid':>8} {'rise / allowed':>15}"
    )
    bad = False
    for rounding in ROUNDINGS:
        one = run(options.lists, options.seed, rounding)
        name = rounding if isinstance(rounding, str) else f"{rounding} decimals"
        print(f"{name:<12} {one.honest:>10,} {one.accused:>8,} {one.dishonest:>12,} {one.caught:>8,} {one.rise:>15.3f}")
        bad = bad or one.accused > 0 or one.rise > 1
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
