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
from toplist.inference.sequential import BernsteinSequence, log_evidence
from toplist.scoring.bounds import largest_loss, subtract

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, int], tuple[Floats, ...]]  # differences, means, and bounds unless 2
ALPHA, CASES = 0.05, 2000
_FIRST = 10  # cases before the habit looks
_CLASSES = 4


def rows(draws: int, seed: int) -> list[Row]:
    """All measurements; those of power are medians, with the nominal value missing."""
    rng = np.random.default_rng(seed)
    parts = (_coverage, _false_alarms, _days, _many, _persistent, _power)
    return [row for part in parts for row in part(draws, rng)]


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


def rare(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Small bounds, but for one case in fifty that can lose twenty times as much; bounds are known."""
    fall, rise = np.full(n, 0.2), np.where(rng.random(n) < 0.02, 4.0, 0.2)
    p = fall / (fall + rise) * rng.choice([0.5, 1.0], n)
    return np.where(rng.random(n) < p, rise, -fall), p * rise - (1 - p) * fall, fall, rise


def _coverage(draws: int, rng: np.random.Generator) -> list[Row]:
    worlds: dict[str, World] = {
        "iid": steady,
        "drifting mean": drifting,
        "autocorrelated": autocorrelated,
        "rare large losses": rare,
    }
    found = []
    for setting, world in worlds.items():
        ours, habit = np.zeros(2, int), np.zeros(2, int)
        for _ in range(draws):
            d, means, *bounds = world(rng, CASES)
            fall, rise = bounds or (np.full(CASES, 2.0),) * 2
            off = np.cumsum(d - means)
            ours += [_misses(d, means, fall, rise), _misses(-d, -means, rise, fall)]
            habit += [bool((sign * off > _habit(d, ALPHA / 2)).any()) for sign in (1, -1)]
        for side, end in enumerate(("above", "below")):
            claim = f"the interval is ever {end} the average difference"
            found.append(_rate("confidence sequence", setting, claim, ours[side], draws, ALPHA / 2))
            found.append(_rate("t interval after every case", setting, claim, habit[side], draws, ALPHA / 2))
    return found


def _misses(d: Floats, means: Floats, fall: Floats, rise: Floats) -> bool:
    """Whether the lower end of the confidence sequence is ever above the mean of the conditional means."""
    sequence = BernsteinSequence(d, fall, rise, alpha=ALPHA / 2)
    sequence.total -= np.cumsum(means)
    return sequence.first_apart() is not None


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
        ours, habit = np.zeros(3, int), np.zeros(2, int)
        for _ in range(draws):
            x, loss, win = _gains(rng, rule, 0.0)
            ours += _shown(x, loss, win)
            habit += [bool((sign * np.cumsum(x) > _habit(x, ALPHA)).any()) for sign in (1, -1)]
        for claim, method, count in zip(_CLAIMS, ("betting", "betting", "confidence sequence"), ours, strict=True):
            found.append(_rate(method, rule, claim, count, draws))
        for claim, count in zip(_CLAIMS, habit, strict=False):
            found.append(_rate("t test after every case", rule, claim, count, draws))
    return found


_CLAIMS = (
    "ever calls the candidate better where it is not",
    "ever calls the candidate worse where it is not",
    "the confidence sequence ever excludes zero where it should not",
)


def _shown(x: Floats, loss: Floats, win: Floats, candidates: int = 1) -> list[bool]:
    """Whether the gains of a candidate ever show that it is better, that it is worse, and either on average."""
    needed = math.log(candidates / ALPHA)
    alpha = ALPHA / 2 / candidates
    sides = ((x, loss, win), (-x, win, loss))
    ever = [bool((log_evidence(*side) >= needed).any()) for side in sides]
    return [*ever, any(BernsteinSequence(*side, alpha=alpha).first_apart() is not None for side in sides)]


# Steps of several cases, several candidates, outcomes that persist


def _coins(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Gains of one who says 0.7 against one who says 0.3, each for the side of a fair coin that chance names."""
    return rng.choice([-0.8, 0.8], n), np.full(n, 0.8)


def _days(draws: int, rng: np.random.Generator) -> list[Row]:
    """Equal models whose cases of a day share an outcome, with days as steps and with cases as steps."""
    found = []
    for each in (1, 5, 10, 50):
        methods = {"steps are days": np.zeros(3, int), "steps are cases, which is wrong": np.zeros(3, int)}
        for _ in range(draws):
            x, bound = _coins(rng, CASES // each)
            day, limit = np.repeat(x, each), np.repeat(bound, each)
            methods["steps are days"] += _shown(each * x, each * bound, each * bound)
            methods["steps are cases, which is wrong"] += _shown(day, limit, limit)
        for method, counts in methods.items():
            if each > 1 or method == "steps are days":
                found += [
                    _rate(method, f"{each} cases a day that share an outcome", claim, count, draws)
                    for claim, count in zip(_CLAIMS, counts, strict=True)
                ]
    return found


def _many(draws: int, rng: np.random.Generator, candidates: int = 19) -> list[Row]:
    """Candidates that all are as good as the baseline: whether any is shown to be better, or worse, or either."""
    together, alone = np.zeros(3, int), np.zeros(3, int)
    for _ in range(draws):
        gains = [_coins(rng, CASES // 4) for _ in range(candidates)]
        together += np.any([_shown(x, bound, bound, candidates) for x, bound in gains], axis=0)
        alone += np.any([_shown(x, bound, bound) for x, bound in gains], axis=0)
    return [
        _rate(method, f"{candidates} equal candidates", f"for any of them, {claim}", count, draws)
        for method, counts in (("level shared", together), ("each at the level, which is wrong", alone))
        for claim, count in zip(_CLAIMS, counts, strict=True)
    ]


def _persistent(draws: int, rng: np.random.Generator) -> list[Row]:
    """Constant forecasts 0.7 and 0.3 of an outcome that stays as it was: equal in the long run, not given the past."""
    found = []
    for stays in (0.8, 0.9, 0.95):
        given, ever = np.zeros(2, int), np.zeros(3, int)
        for _ in range(draws):
            y = (np.cumsum(rng.random(CASES) > stays) + rng.integers(2)) % 2
            x, bound = 1.6 * y - 0.8, np.full(CASES, 0.8)
            means = np.append(0.0, (2 * stays - 1) * x[:-1])
            given += [_misses(x, means, bound, bound), _misses(-x, -means, bound, bound)]
            ever += _shown(x, bound, bound)
        setting = f"outcomes that persist with probability {stays:g}"
        for side, end in enumerate(("above", "below")):
            claim = f"the interval is ever {end} the average difference given the past"
            found.append(_rate("confidence sequence", setting, claim, given[side], draws, ALPHA / 2))
        for claim, count in zip(("candidate better", "candidate worse", "either better on average"), ever, strict=True):
            found.append(_rate("read as of the long run, which is wrong", setting, f"ever {claim}", count, draws))
    return found


def _power(draws: int, rng: np.random.Generator) -> list[Row]:
    """The median number of cases until a difference is shown; one more than there are where it never is."""
    found = []
    for rule, skill in (("brier", 0.1), ("brier", 0.3), ("log", 0.1), ("log", 0.3)):
        times: dict[str, list[int]] = {}
        for _ in range(draws):
            x, loss, win = _gains(rng, rule, skill)
            until = {"betting": _until(log_evidence(x, loss, win) >= -math.log(ALPHA))}
            for name, part in (("a fixed quarter of the largest bet", 0.25), ("a fixed half", 0.5)):
                until[name] = _until(np.cumsum(np.log1p(part * x / (2 * loss))) >= -math.log(ALPHA))
            until["confidence sequence"] = _first(x, loss, win)
            if rule == "brier":
                until["confidence sequence with one bound for all cases"] = _first(x, *(np.full(CASES, 2.0),) * 2)
            for name, count in until.items():
                times.setdefault(name, []).append(count)
        for name, counts in times.items():
            spread = np.std([np.median(rng.choice(counts, draws)) for _ in range(200)])
            claim = "median cases until it is shown"
            found.append(
                Row(name, f"{rule}, skill {skill}", claim, math.nan, float(np.median(counts)), float(spread), draws)
            )
    return found


def _first(x: Floats, loss: Floats, win: Floats) -> int:
    """After how many cases the confidence sequence first has zero below it."""
    return BernsteinSequence(x, loss, win, alpha=ALPHA / 2).first_apart() or len(x) + 1


def _until(reached: NDArray[np.bool_]) -> int:
    return int(np.argmax(reached)) + 1 if reached.any() else len(reached) + 1


def _rate(method: str, setting: str, claim: str, count: int, draws: int, nominal: float = ALPHA) -> Row:
    share = float(count) / draws
    return Row(method, setting, claim, nominal, share, math.sqrt(share * (1 - share) / draws), draws)
