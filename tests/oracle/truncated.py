"""Distributions that are nearly certain, cut to their first classes: the rest mass is known, and far below the rounding
of the largest confidence.

The oracle cuts the exact distribution: what is scored is the padded distribution of the rationals, or of the
exponentials of the logits in long decimals, not that of the rounded confidences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

import toplist as tl
from tests.oracle.exact import DIGITS, Padded

Floats = NDArray[np.float64]


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
