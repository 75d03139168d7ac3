"""Predictions whose true mean scores are known: in worlds where methods should hold, and in others that break them.

Most worlds begin with scores. Under the log score, a forecast that gives what happens the probability exp(-s) scores
s, so that any scores above zero are those of predictions, which go through `compare` as a user's would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rng = np.random.Generator
LEVEL = 0.95
CLASSES = 5
SHARPNESS = 0.3  # of Dirichlet forecasts: most of them are nearly certain
FIRST, SECOND = "m00", "m01"


def names(k: int) -> list[str]:
    """Of so many models, in the order of their numbers."""
    return [f"m{a:02}" for a in range(k)]


@dataclass(frozen=True, slots=True)
class World:
    """Predictions of models by name, what happened, what is known of the cases, and what is true of the scores."""

    models: Mapping[str, Any]
    outcomes: Any
    rule: str
    means: tuple[float, ...] = ()  # the true mean score of each model, up to a number that is the same for all
    truth: Mapping[str, float] = field(default_factory=dict)  # the true values of other quantities
    about: Mapping[str, Any] = field(default_factory=dict)  # weight, group, cluster and time of the cases
    options: Mapping[str, Any] = field(default_factory=dict)  # of the comparison

    def compare(self, inference: Any = "auto", *, without: Sequence[str] = (), **options: Any) -> tl.Leaderboard:
        """As a user would; `without` leaves out what is known of the cases."""
        known = {name: value for name, value in self.about.items() if name not in without}
        truth = tl.Truth(self.outcomes, **known)
        asked = {"rules": self.rule, "k": 1, **self.options, **options}
        return tl.compare(self.models, truth, inference=inference, **asked)


def of_scores(scores: Floats, means: Sequence[float], truth: Mapping[str, float] | None = None, **about: Any) -> World:
    """Models with these scores, one row each, all above zero, under the log score."""
    listed = np.exp(-scores)
    models = {name: np.stack([p, 1 - p], axis=1) for name, p in zip(names(len(scores)), listed, strict=True)}
    return World(models, np.zeros(scores.shape[1], np.int64), "log", tuple(means), truth or {}, about)


def two(rng: Rng, difference: Floats, mean: float, *, spread: float = 1.0, **about: Any) -> World:
    """Two models whose scores differ by this much from case to case, the first minus the second.

    How hard a case is for both varies by `spread`, and hides the difference.
    """
    hard = spread * rng.exponential(size=len(difference)) + 10
    return of_scores(np.stack([hard + difference, hard]), (10 + spread + mean, 10 + spread), **about)


def noise(rng: Rng, size: Any, shape: str = "normal") -> Floats:
    """Of mean zero and variance one: normal, or skewed as an exponential distribution is."""
    drawn: Floats = rng.normal(size=size) if shape == "normal" else rng.exponential(size=size) - 1
    return drawn


# Independent cases


def forecasts(
    rng: Rng, n: int, blur: float = 0.6, sizes: Codes | None = None, sharpness: float = SHARPNESS
) -> tuple[Floats, Floats, Codes]:
    """Probabilities, the same moved towards equal ones, and outcomes that follow the former."""
    p = rng.standard_gamma(sharpness, size=(n, CLASSES if sizes is None else int(sizes.max())))
    many = np.full((n, 1), CLASSES) if sizes is None else sizes[:, None]
    there = np.arange(p.shape[1]) < many
    p = np.where(there, p + 1e-300, 0.0)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=p.shape[1] - 1)
    return p, np.where(there, blur * p + (1 - blur) / many, 0.0), np.minimum(y, many[:, 0] - 1)


def expected(m: float, blur: float = 0.6) -> tuple[float, float]:
    """The true mean Brier scores of these: E sum p^2 is (a + 1) / (a m + 1) for a Dirichlet distribution."""
    squares = (SHARPNESS + 1) / (SHARPNESS * m + 1)
    return 1 - squares, 1 - (2 * blur - blur**2) * squares - (1 - blur) ** 2 / m


def independent(rng: Rng, n: int, *, weighted: bool = False) -> World:
    """Brier scores of forecasts over five classes; weights are log-normal."""
    a, b = expected(CLASSES)
    known, blurred, y = forecasts(rng, n)
    truth = {"mean": a, "baseline skill": 1 - a / b}
    about = {"weight": rng.lognormal(size=n)} if weighted else {}
    return World({FIRST: known, SECOND: blurred}, y, "brier", (a, b), truth, about)


@cache
def _entropies(sharpness: float, blur: float) -> tuple[float, float]:
    """The true mean log scores of forecasts and of blurred ones, by very many of them."""
    p, q, _ = forecasts(np.random.default_rng(0), 400_000, blur, sharpness=sharpness)
    own = np.where(p > 0, -p * np.log(np.maximum(p, 1e-300)), 0.0).sum(axis=1)
    return float(own.mean()), float((-p * np.log(q)).sum(axis=1).mean())


def logarithmic(rng: Rng, n: int) -> World:
    """Log scores of forecasts over five classes that are seldom certain."""
    known, blurred, y = forecasts(rng, n, sharpness=2.0)
    return World({FIRST: known, SECOND: blurred}, y, "log", _entropies(2.0, 0.6))


def uneven(rng: Rng, n: int) -> World:
    """Brier scores where every case has its own number of classes, from two to nine."""
    sizes = rng.integers(2, 10, n)
    known, blurred, y = forecasts(rng, n, sizes=sizes)
    mean = float(np.mean([expected(m)[0] for m in range(2, 10)]))
    empty = float(np.mean([1 - 1 / m for m in range(2, 10)]))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    at = np.nonzero(np.arange(known.shape[1]) < sizes[:, None])
    space = tl.ClassSpace(sizes)
    models = {
        name: tl.TopLists.from_ragged(offsets, at[1], p[at], space) for name, p in ((FIRST, known), (SECOND, blurred))
    }
    return World(models, y, "brier", truth={"skill": 1 - mean / empty})


def apart(rng: Rng, n: int, difference: float, *, shape: str = "skewed", timed: bool = False) -> World:
    """Two models whose scores differ by noise of variance one around this difference."""
    about: dict[str, Any] = {"time": np.arange(n)} if timed else {}
    return two(rng, difference + noise(rng, n, shape), difference, **about)


_PARETO = 0.002  # the unit, so small that no score becomes infinite


def skewed(rng: Rng, n: int, kind: str) -> World:
    """Differences with a long tail."""
    if kind == "exponential":
        return two(rng, rng.exponential(size=n), 1.0)
    if kind == "log-normal(1)":
        return two(rng, rng.lognormal(size=n), float(np.exp(0.5)))
    return two(rng, _PARETO * (1 + rng.pareto(1.5, size=n)), 3 * _PARETO, spread=_PARETO)


WEIGHTS = ("3 cases hold 80%", "1 case holds half", "Pareto(1.1)", "log-normal(1)")


def weights(rng: Rng, n: int, kind: str) -> Floats:
    """Weights of which few count."""
    if kind == "Pareto(1.1)":
        return 1 + rng.pareto(1.1, size=n)
    if kind == "log-normal(1)":
        return rng.lognormal(size=n)
    few, share = (3, 0.8) if kind == "3 cases hold 80%" else (1, 0.5)
    return np.where(np.arange(n) < few, share / few, (1 - share) / (n - few))


def weighted(rng: Rng, n: int, kind: str, shape: str) -> World:
    """Differences with weights that do not depend on them."""
    return two(rng, 0.1 + noise(rng, n, shape), 0.1, weight=weights(rng, n, kind))


# Rare disasters


def rare(rng: Rng, n: int) -> World:
    """Brier scores of "never" where one case in fifty happens, against "one in fifty" every time."""
    happened = (rng.random(n) < 0.02).astype(np.int64)
    never, often = np.tile([1.0, 0.0], (n, 1)), np.tile([0.98, 0.02], (n, 1))
    return World({FIRST: never, SECOND: often}, happened, "brier", (0.04, 2 * 0.02 * 0.98), {"mean": 0.04})


_NODES, _SHARES = np.polynomial.legendre.leggauss(40)
_JITTER = 0.2  # a rest is up to this much larger or smaller from case to case


def _jittered(rng: Rng, n: int, rest: float) -> Floats:
    return rest * (1 + _JITTER * rng.uniform(-1, 1, n))


def _average(value: Any, rest: float) -> float:
    """The mean of a function of a jittered rest."""
    return float((value(rest * (1 + _JITTER * _NODES)) * _SHARES).sum() / 2)


def overconfident(rng: Rng, n: int, accuracy: float, rests: tuple[float, float], classes: int = 100) -> World:
    """Two classifiers that name the same class and leave different rests for all others, under the log score."""
    guess = rng.integers(0, classes, n)
    y = np.where(rng.random(n) < accuracy, guess, (guess + rng.integers(1, classes, n)) % classes)
    models = {
        name: tl.TopLists.from_topk(guess[:, None], 1 - _jittered(rng, n, rest)[:, None], classes)
        for name, rest in zip((FIRST, SECOND), rests, strict=True)
    }
    means = [
        _average(lambda r: -accuracy * np.log1p(-r) - (1 - accuracy) * np.log(r / (classes - 1)), rest)
        for rest in rests
    ]
    return World(models, y, "log", tuple(means))


def never(rng: Rng, n: int, rate: float) -> World:
    """A forecaster who says "never" against one who gives about the true rate, under the Brier score."""
    happened = (rng.random(n) < rate).astype(np.int64)
    said = _jittered(rng, n, rate)
    models = {FIRST: np.tile([1.0, 0.0], (n, 1)), SECOND: np.stack([1 - said, said], axis=1)}
    means = (2 * rate, _average(lambda r: 2 * (rate * (1 - r) ** 2 + (1 - rate) * r**2), rate))
    return World(models, happened, "brier", means)


@cache
def _hard_means(sharpness: float) -> tuple[float, float]:
    """The true mean Brier scores of hard labels and of the distributions that they are the modes of."""
    p = np.random.default_rng(0).dirichlet(np.full(CLASSES, sharpness), size=1_000_000)
    return float(2 - 2 * p.max(axis=1).mean()), 1 - (sharpness + 1) / (sharpness * CLASSES + 1)


def hard(rng: Rng, n: int, sharpness: float) -> World:
    """A hard label against the distribution that it is the mode of, under the Brier score."""
    p, _, y = forecasts(rng, n, sharpness=sharpness)
    label = np.eye(CLASSES)[p.argmax(axis=1)]
    return World({FIRST: label, SECOND: p}, y, "brier", _hard_means(sharpness))


# Clusters

SIZES = ("even", "2 to 20", "log-normal(1)", "one with half of all cases", "400/rank")


def sizes_of(rng: Rng, groups: int, kind: str) -> Codes:
    """How many cases each cluster has."""
    if kind == "even":
        return np.full(groups, 10)
    if kind == "2 to 20":
        return rng.integers(2, 21, groups)
    if kind == "log-normal(1)":
        return np.ceil(10 * rng.lognormal(size=groups)).astype(np.int64)
    if kind == "400/rank":
        return 400 // np.arange(1, groups + 1)
    return np.where(np.arange(groups) == 0, 10 * (groups - 1), 10)


def clustered(rng: Rng, groups: int, kind: str = "2 to 20", shape: str = "skewed", share: float = 0.3) -> World:
    """Differences in a cluster share three tenths of their variance."""
    units = np.repeat(np.arange(groups), sizes_of(rng, groups, kind))
    shared, own = noise(rng, groups, shape), noise(rng, len(units), shape)
    return two(rng, 0.1 + np.sqrt(share) * shared[units] + np.sqrt(1 - share) * own, 0.1, cluster=units)


def as_groups(rng: Rng, make: Callable[[Rng], World]) -> World:
    """A world whose clusters are known as groups of cases, by which nobody says that they depend on each other."""
    world = make(rng)
    return replace(world, about={"group": world.about["cluster"]})


# Time


def series(rng: Rng, n: int, k: int, kind: str) -> Floats:
    """Rows of noise that depends on its past; mean zero, variance one.

    "AR(1) 0.8", with ", skewed" innovations; "seasonal AR 0.8", which depends on what was 12 time points ago; "MA(4)".
    """
    if kind == "MA(4)":
        drawn = rng.normal(size=(k, n + 4))
        summed: Floats = np.stack([drawn[:, i : n + i] for i in range(5)]).sum(axis=0) / np.sqrt(5)
        return summed
    from scipy.signal import lfilter  # noqa: PLC0415

    name, _, shape = kind.partition(", ")
    lag, rho = 12 if name.startswith("seasonal") else 1, float(name.split()[-1])
    before = 300 * lag if shape else 0  # so long ago that the start no longer shows
    drawn = np.sqrt(1 - rho**2) * noise(rng, (k, before + n), shape or "normal")
    drawn[:, :lag] /= np.sqrt(1 - rho**2)  # normal noise has the variance of the long run from its start
    made: Floats = lfilter([1.0], [1.0, *np.zeros(lag - 1), -rho], drawn)[:, before:]
    return made


def timed(rng: Rng, n: int, kind: str, *, cases: int = 1) -> World:
    """Time points one after the other, with so many cases each, which share the difference of their time point.

    How hard a case is for both differs more than that, and does not depend on the past: it hides what does.
    """
    difference = np.repeat(series(rng, n, 1, kind)[0], cases) + noise(rng, n * cases) * (cases > 1)
    return two(rng, difference, 0.0, spread=3.0, time=np.repeat(np.arange(n), cases))


def crossed(rng: Rng, places: int, weeks: int, place: float, week: float, rho: float) -> World:
    """Every place in every week; effects of places, and of weeks that depend on their past, beside noise of variance 1.

    `place` and `week` are standard deviations.
    """
    at_place, at_week = (x.ravel() for x in np.meshgrid(np.arange(places), np.arange(weeks), indexing="ij"))
    effects = series(rng, weeks, 1, f"AR(1) {rho}")[0]
    difference = place * rng.normal(size=places)[at_place] + week * effects[at_week] + rng.normal(size=len(at_place))
    return two(rng, difference, 0.0, cluster=at_place, time=at_week)


# Boards of many models


def equals(rng: Rng, n: int, k: int = 5, *, kind: str = "skewed", behind: Sequence[float] = ()) -> World:
    """As many models, equally good unless some are behind, with noise of their own and hard cases that all share.

    `kind` is the shape of noise, or how it depends on the past.
    """
    about: dict[str, Any] = {}
    if kind in ("normal", "skewed"):
        own = noise(rng, (k, n), kind)
    else:
        own, about = series(rng, n, k, kind), {"time": np.arange(n)}
    shift = np.array(behind) if len(behind) else np.zeros(k)
    scores = own + rng.exponential(size=n) + shift[:, None] + 9
    return of_scores(scores, (10 + shift).tolist(), **about)


def grouped(rng: Rng, groups: int, each: int, k: int = 5) -> World:
    """Equally good models in every group of cases."""
    return replace(equals(rng, groups * each, k), about={"group": np.arange(groups * each) % groups})


# Missing rounds


def rounds(rng: Rng, n: int) -> World:
    """Four models, each of which misses three rounds in ten; scores are in fixed proportions on average."""
    import pyarrow as pa  # noqa: PLC0415

    level = np.array([0.8, 1.0, 1.1, 1.4])
    scores = level[:, None] * rng.gamma(2.0, size=n) * rng.gamma(2.0, 0.5, size=(4, n))
    models = {}
    for name, s in zip(names(4), scores, strict=True):
        there = np.flatnonzero(rng.random(n) >= 0.3)
        p = np.exp(-s[there])
        models[name] = pa.table({"id": there, "a": p, "b": 1 - p})
    outcomes = pa.table({"id": np.arange(n), "outcome": ["a"] * n})
    ratio = float(level[0] / np.exp(np.log(level).mean()))
    truth = {"relative": ratio, "baseline skill": 1 - level[0] / level[3]}
    return World(models, outcomes, "log", truth=truth, options={"missing": "pairwise", "baseline": "m03"})
