"""Distributions that are nearly certain, cut to their first classes: the rest mass is known, and far below the rounding
of the largest confidence.

    python -m tests.oracle.truncated [distributions] [--seed SEED]

prints the worst relative error of scores and entropies per rule and way to cut; the exit status is 1 above 1e-12.

The oracle cuts the exact distribution: what is scored is the padded distribution of the rationals, or of the
exponentials of the logits in long decimals, not that of the rounded confidences.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

import toplist as tl
from tests.oracle.exact import DEFINITIONS, DIGITS, Padded, entropy, relative_error, score_padded

Floats = NDArray[np.float64]
TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Truncated:
    """One distribution, by its probabilities and by its logits, how many classes are kept, and the outcome."""

    p: Floats
    logits: Floats
    k: int
    outcome: int


def draws(rng: np.random.Generator, n: int, *, least: float = 1e-14) -> Iterator[Truncated]:
    """Distributions over 2 to 12 classes of which the most likely one lacks between 0.1 and `least` to one."""
    for _ in range(n):
        m = int(rng.integers(2, 13))
        lack = np.exp(rng.uniform(np.log(least), np.log(0.1)))
        others = np.maximum(rng.dirichlet(np.full(m - 1, 0.7)), 1e-3)
        p = np.concatenate(([1.0 - lack], lack * others / others.sum()))[rng.permutation(m)]
        outcome = int(p.argmax()) if rng.random() < 0.6 else int(rng.integers(m))
        yield Truncated(p, np.log(p) + rng.normal(), int(rng.integers(1, m)), outcome)


WAYS: dict[str, Callable[[Truncated], tl.TopLists]] = {
    "a distribution": lambda c: tl.TopLists.from_proba(c.p[None]).truncate(c.k),
    "a list": lambda c: tl.TopLists.from_dicts([dict(enumerate(c.p.tolist()))], len(c.p)).truncate(c.k),
    "twice": lambda c: tl.TopLists.from_proba(c.p[None]).truncate(c.k + 1).truncate(c.k),
    "logits": lambda c: tl.TopLists.from_logits(c.logits[None], k=c.k),
}


def rationals(logits: Sequence[float]) -> list[Fraction]:
    """The exponentials of logits, in long decimals."""
    with mp.workdps(DIGITS):
        powers = [mp.exp(mp.mpf(x)) for x in logits]
        return [Fraction(int(x.man)) * Fraction(2) ** int(x.exp) for x in powers]


def pad_exactly(case: Truncated, way: str) -> Padded:
    """The padded distribution of the k most likely classes, of the numbers as they were given."""
    values = rationals(case.logits.tolist()) if way == "logits" else [Fraction(x) for x in case.p.tolist()]
    total = sum(values, Fraction(0))
    values = [x / total for x in values]
    given = case.logits if way == "logits" else case.p
    kept = np.argsort(-given, kind="stable")[: case.k].tolist()
    proxy = (1 - sum((values[i] for i in kept), Fraction(0))) / (len(values) - case.k)
    hit = case.outcome in kept
    return Padded(
        tuple(values[i] for i in kept), proxy, len(values) - case.k, values[case.outcome] if hit else proxy, hit, False
    )


def run(n: int, seed: int) -> dict[tuple[str, str], tuple[float, float]]:
    """The worst error of scores and of entropies, by rule and way, over n distributions."""
    worst = {(name, way): (0.0, 0.0) for name in DEFINITIONS for way in WAYS}
    for done, case in enumerate(draws(np.random.default_rng(seed), n), start=1):
        for way, cut in WAYS.items():
            lists, padded = cut(case), pad_exactly(case, way)
            for name, (rule, _) in DEFINITIONS.items():
                made = tl.score(lists, [case.outcome], rule=rule)[0], tl.entropy(lists, rule=rule)[0]
                right = score_padded(name, padded), entropy(name, padded)
                off = [relative_error(float(x), y) for x, y in zip(made, right, strict=True)]
                worst[name, way] = max(worst[name, way][0], off[0]), max(worst[name, way][1], off[1])
        print(f"\r{done:,} of {n:,} distributions", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return worst


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.truncated")
    parser.add_argument("distributions", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    worst = run(options.distributions, options.seed)
    print(f"{'rule':<22} {'cut':<15} {'scores':>8} {'entropies':>9}")
    for (name, way), (scores, entropies) in worst.items():
        mark = f"  above {TOLERANCE}" if max(scores, entropies) > TOLERANCE else ""
        print(f"{name:<22} {way:<15} {scores:8.1e} {entropies:9.1e}{mark}")
    return int(max(map(max, worst.values())) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
