"""Looking after every case: how often it misleads, and how long it takes, for toplist's methods and for the habit.

The habit is a t interval for the mean difference, or a t test, looked at after every case from the tenth on.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import toplist as tl
from simulations.rows import Row
from toplist.inference.sequential.confidence_sequence import BernsteinSequence
from toplist.inference.sequential.e_values import log_evidence
from toplist.scoring.bounds import largest_loss, subtract

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
ALPHA, CASES = 0.05, 2000
_FIRST = 10  # cases before the habit looks
_CLASSES = 4


def rows(draws: int, seed: int) -> list[Row]:
    """All measurements; those of power are medians, with the nominal value missing."""
    rng = np.random.default_rng(seed)
    return [*_coverage(draws, rng), *_false_alarms(draws, rng), *_power(draws, rng)]


# Differences with known means


def steady(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Independent, with one mean, at the bounds."""
    return rng.choice([-2.0, 2.0], n, p=[0.45, 0.55]), np.full(n, 0.2)


def drifting(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Independent, with a mean that comes and goes."""
    means = np.sin(np.arange(n) / 150)
    return means + rng.uniform(-1, 1, n), means


def autocorrelated(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Each mean is a part of the last difference."""
    noise, d, means = rng.uniform(-1, 1, n), np.zeros(n), np.zeros(n)
    for i in range(1, n):
        means[i] = 0.6 * d[i - 1]
        d[i] = means[i] + 0.8 * noise[i]
    return d, means


def _coverage(draws: int, rng: np.random.Generator) -> list[Row]:
    worlds: dict[str, World] = {"iid": steady, "drifting mean": drifting, "autocorrelated": autocorrelated}
    found = []
    for setting, world in worlds.items():
        ours, habit = 0, 0
        for _ in range(draws):
            d, means = world(rng, CASES)
            sequence = BernsteinSequence(2.0, 1 - ALPHA)
            off = np.abs(np.cumsum(d - means))
            ours += bool((off > sequence.radius(sequence.spread(d))).any())
            habit += bool((off > _habit(d, ALPHA / 2)).any())
        claim = "ever misses the average difference"
        found.append(_rate("confidence sequence", setting, claim, ours, draws))
        found.append(_rate("t interval after every case", setting, claim, habit, draws))
    return found


def _habit(d: Floats, tail: float) -> Floats:
    """How far the sum so far may be from its mean by Student's t; infinite for the first few cases."""
    n = np.arange(1, len(d) + 1)
    total, squares = np.cumsum(d), np.cumsum(d * d)
    variance = np.maximum(squares - total**2 / n, 0.0) / np.maximum(n - 1, 1)
    half = student.ppf(1 - tail, np.maximum(n - 1, 1)) * np.sqrt(variance * n)
    return np.where(n < _FIRST, np.inf, half)


# Two forecasters


def _gains(rng: np.random.Generator, rule: str, skill: float) -> tuple[Floats, Floats, Floats]:
    """What the candidate gains, and its bounds, where the truth is between the two: nearer to it if `skill` > 0.

    At skill 0 the outcome is drawn so that neither is better in any case: the edge of the null hypothesis.
    """
    p, q = (rng.dirichlet(np.full(_CLASSES, 2.0), size=CASES) for _ in range(2))
    a, b = tl.TopLists.from_proba(p), tl.TopLists.from_proba(q, k=2)
    q = b.padded()
    each = np.array(
        [-subtract(tl.score(a, [y] * CASES, rule=rule), tl.score(b, [y] * CASES, rule=rule)) for y in range(_CLASSES)]
    )
    mine, theirs = (p.T * each).sum(axis=0), (q.T * each).sum(axis=0)  # expected gains if one of them is right
    level = theirs / (theirs - mine)  # the share of p at which nobody is better
    share = np.clip(level + skill, 0, 1)[:, None]
    truth = share * p + (1 - share) * q
    y = (truth.cumsum(axis=1) < rng.random(CASES)[:, None]).sum(axis=1).clip(max=_CLASSES - 1)
    x = each[y, np.arange(CASES)]
    return x, largest_loss(a, b, rule=rule), largest_loss(b, a, rule=rule)


def _false_alarms(draws: int, rng: np.random.Generator) -> list[Row]:
    found = []
    for rule in ("brier", "log"):
        ours, habit = 0, 0
        for _ in range(draws):
            x, loss, win = _gains(rng, rule, 0.0)
            ours += bool((log_evidence(x, loss, win) >= -math.log(ALPHA)).any())
            habit += bool((np.cumsum(x) > _habit(x, ALPHA)).any())
        claim = "ever calls the candidate better where it is not"
        found.append(_rate("betting", rule, claim, ours, draws))
        found.append(_rate("t test after every case", rule, claim, habit, draws))
    return found


def _power(draws: int, rng: np.random.Generator) -> list[Row]:
    """The median number of cases until a difference is shown; one more than there are where it never is."""
    found = []
    for rule, skill in (("brier", 0.1), ("brier", 0.3), ("log", 0.1), ("log", 0.3)):
        times: dict[str, list[int]] = {"betting": [], "a fixed quarter of the largest bet": [], "a fixed half": []}
        if rule == "brier":
            times["confidence sequence"] = []
        for _ in range(draws):
            x, loss, win = _gains(rng, rule, skill)
            times["betting"].append(_until(log_evidence(x, loss, win) >= -math.log(ALPHA)))
            for name, part in (("a fixed quarter of the largest bet", 0.25), ("a fixed half", 0.5)):
                times[name].append(_until(np.cumsum(np.log1p(part * x / (2 * loss))) >= -math.log(ALPHA)))
            if rule == "brier":
                sequence = BernsteinSequence(2.0, 1 - ALPHA)
                times["confidence sequence"].append(_until(np.cumsum(x) > sequence.radius(sequence.spread(x))))
        for name, counts in times.items():
            spread = np.std([np.median(rng.choice(counts, draws)) for _ in range(200)])
            claim = "median cases until it is shown"
            found.append(
                Row(name, f"{rule}, skill {skill}", claim, math.nan, float(np.median(counts)), float(spread), draws)
            )
    return found


def _until(reached: NDArray[np.bool_]) -> int:
    return int(np.argmax(reached)) + 1 if reached.any() else len(reached) + 1


def _rate(method: str, setting: str, claim: str, count: int, draws: int) -> Row:
    share = count / draws
    return Row(method, setting, claim, ALPHA, share, math.sqrt(share * (1 - share) / draws), draws)
