"""Intervals and tests at a time that is fixed beforehand: how often they miss what is true."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulations import worlds
from simulations.methods import Method, family, interval, left_out, needed, p_value, separates
from simulations.rows import Row
from simulations.worlds import Rng, World

_FEW, _FEWER = 0.2, 0.1  # of the draws, where every draw resamples


@dataclass(frozen=True, slots=True)
class Trial:
    """Methods in the same world."""

    setting: str
    world: Callable[[Rng], World]
    methods: tuple[Method, ...]
    share: float = 1.0  # of the draws


def run(trial: Trial, draws: int, seed: int) -> list[Row]:
    """Every trial has draws of its own, which do not depend on the other trials."""
    count = max(1, round(draws * trial.share))
    rng = np.random.default_rng([seed, *trial.setting.encode()])
    wrong = np.zeros(len(trial.methods))
    for i in range(count):
        world = trial.world(rng)
        wrong += [method.wrong(world, seed + i) for method in trial.methods]
    shares = (wrong / count).tolist()
    return [
        Row(method.name, trial.setting, method.claim, method.nominal, x, math.sqrt(x * (1 - x) / count), count)
        for method, x in zip(trial.methods, shares, strict=True)
    ]


def run_at(at: int, draws: int, seed: int) -> list[Row]:
    """One of the trials, by its place: what another process can be asked for."""
    return run(TRIALS[at], draws, seed)


def rows(draws: int, seed: int) -> list[Row]:
    """All trials, one after the other."""
    return [row for trial in TRIALS for row in run(trial, draws, seed)]


def _independent(n: int) -> list[Trial]:
    """Brier scores of forecasts are skewed: a few cases are far worse than most."""
    return [
        Trial(
            f"independent, n = {n}",
            lambda rng: worlds.independent(rng, n),
            (
                interval("t", "t", "short" if n < 1000 else "holds"),
                interval("t, of the mean", "t", quantity="mean"),
                interval("normal", "normal", "short" if n < 1000 else "holds"),
                interval("t, of skill over another", "t", quantity="skill over another"),
            ),
        ),
        Trial(
            f"independent, classes differ per case, n = {n}",
            lambda rng: worlds.uneven(rng, n),
            (interval("t, of skill", "t", "short" if n < 1000 else "holds", quantity="skill"),),
        ),
        Trial(
            f"independent, resampled, n = {n}",
            lambda rng: worlds.independent(rng, n),
            (interval("paired bootstrap", "bootstrap", "short" if n < 1000 else "holds"),),
            share=_FEW if n < 1000 else _FEWER,
        ),
        Trial(
            f"weights of log-normal size, n = {n}",
            lambda rng: worlds.independent(rng, n, weighted=True),
            (interval("weighted t", "t", "short"), interval("weighted t, of the mean", "t", "short", quantity="mean")),
        ),
    ]


def _clustered(groups: int) -> list[Trial]:
    return [
        Trial(
            f"{groups} clusters of 10, normal",
            lambda rng: worlds.clustered(rng, groups, even=True),
            (
                interval("cluster-robust t", "t"),
                interval("t, as if cases were independent", "t", "fails", apart=True),
            ),
        ),
        Trial(
            f"{groups} clusters of 2 to 20, skewed",
            lambda rng: worlds.clustered(rng, groups),
            (
                interval("cluster-robust t", "t", "short"),
                interval("t, as if cases were independent", "t", "fails", apart=True),
            ),
        ),
        Trial(
            f"{groups} clusters of 2 to 20, skewed, resampled",
            lambda rng: worlds.clustered(rng, groups),
            (interval("cluster bootstrap", "bootstrap", "short"),),
            share=_FEW,
        ),
    ]


def _timed(kind: str, n: int) -> list[Trial]:
    return [
        Trial(
            f"{kind}, n = {n}",
            lambda rng: worlds.timed(rng, n, kind),
            (
                interval("hac", "hac", "short"),
                interval("hac, horizon 5", "hac", "short", horizon=5),
                interval("ewc", "ewc", "short" if n < 300 else "holds"),
                interval("t, as if cases were independent", "t", "fails", apart=True),
            ),
        ),
        Trial(
            f"{kind}, resampled, n = {n}",
            lambda rng: worlds.timed(rng, n, kind),
            (
                interval("stationary bootstrap", "bootstrap", "short", draws=499),
                p_value("stationary bootstrap", "bootstrap", "short", draws=499),
            ),
            share=_FEWER,
        ),
    ]


def _rounds(n: int) -> Trial:
    return Trial(
        f"three rounds in ten missing, n = {n}",
        lambda rng: worlds.rounds(rng, n),
        (
            interval("t, of relative skill", "t", "short" if n < 300 else "holds", quantity="relative"),
            interval("t, of skill over another", "t", "short" if n < 300 else "holds", quantity="skill over another"),
        ),
    )


def _power(difference: float) -> Trial:
    n = needed(difference)
    return Trial(
        f"difference of {difference}, n = {n} by extra_units",
        lambda rng: worlds.apart(rng, n, difference),
        (separates("t"),),
    )


TRIALS: tuple[Trial, ...] = (
    *(trial for n in (30, 100, 1000) for trial in _independent(n)),
    Trial(
        "one event in fifty, n = 100",
        lambda rng: worlds.rare(rng, 100),
        (interval("t, of the mean", "t", "fails", quantity="mean"),),
    ),
    *(trial for groups in (10, 30, 100) for trial in _clustered(groups)),
    Trial(
        "independent in time, n = 300",
        lambda rng: worlds.apart(rng, 300, 0.0, ordered=True),
        (interval("hac", "hac", "short"), interval("ewc", "ewc")),
    ),
    *(trial for kind in ("AR(1) 0.5", "MA(4)") for n in (50, 300, 1000) for trial in _timed(kind, n)),
    Trial(
        "AR(1) 0.5, 300 time points of 5 cases",
        lambda rng: worlds.timed(rng, 300, "AR(1) 0.5", cases=5),
        (
            interval("hac", "hac", "short"),
            interval("ewc", "ewc"),
            interval("t, as if cases were independent", "t", "fails", apart=True),
        ),
    ),
    *map(_rounds, (50, 300)),
    Trial(
        "five equal models, n = 100",
        lambda rng: worlds.equals(rng, 100),
        (family("Holm", "holds", adjusted=True), family("p values as they are", "fails", adjusted=False)),
    ),
    Trial(
        "five equal models, resampled, n = 100",
        lambda rng: worlds.equals(rng, 100),
        (left_out("confidence set", "holds", whom=5),),
        share=_FEW,
    ),
    Trial(
        "one of five models slightly ahead, n = 100",
        lambda rng: worlds.equals(rng, 100, behind=0.1),
        (left_out("confidence set", "holds", whom=1),),
        share=_FEW,
    ),
    Trial(
        "five equal models, MA(4), n = 300",
        lambda rng: worlds.equals(rng, 300, ordered=True),
        (left_out("confidence set", "short", whom=5),),
        share=_FEWER,
    ),
    *map(_power, (0.1, 0.25)),
)
