"""Comparisons at a time that is fixed beforehand: how often what they claim is wrong, and whether they warn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

import toplist as tl
from simulations import worlds
from simulations.methods import (
    Claim,
    Expected,
    Found,
    Method,
    at_once,
    behind,
    interval,
    leader,
    left_out,
    needed,
    ranks,
    separates,
    shares,
    stars,
    unadjusted,
    unqualified,
    warned,
    wrong_way,
)
from simulations.rows import Row
from simulations.worlds import Rng, World


@dataclass(frozen=True, slots=True)
class Trial:
    """Methods in the same world."""

    section: str
    setting: str
    world: Callable[[Rng], World]
    methods: tuple[Method, ...]
    share: float = 1.0  # of the draws: fewer where each takes long
    harmless: bool = False  # there is nothing to warn of


def run(trial: Trial, draws: int, seed: int) -> list[Row]:
    """Every trial has draws of its own, which do not depend on the other trials."""
    count = max(1, round(draws * trial.share))
    rng = np.random.default_rng([seed, *trial.setting.encode()])
    found: list[list[list[Found]]] = [[[] for _ in method.claims] for method in trial.methods]
    cautions = np.zeros(len(trial.methods))
    for _ in range(count):
        world = trial.world(rng)
        for at, method in enumerate(trial.methods):
            board = method.run(world)
            cautions[at] += board is not None and warned(board)
            for claim, answers in zip(method.claims, found[at], strict=True):
                answers.append("absent" if board is None else claim.look(world, board))
    return [
        _row(trial, method, claim, answers, float(share))
        for method, own, share in zip(trial.methods, found, cautions / count, strict=True)
        for claim, answers in zip(method.claims, own, strict=True)
    ]


def _row(trial: Trial, method: Method, claim: Claim, answers: list[Found], cautions: float) -> Row:
    draws, wrong, each = shares(answers)
    return Row(
        method.label(claim),
        trial.setting,
        claim.text,
        claim.nominal,
        wrong,
        math.sqrt(wrong * (1 - wrong) / max(1, draws)),
        draws,
        each.get("below", 0.0) if claim.sided else None,
        each.get("above", 0.0) if claim.sided else None,
        each.get("absent", 0.0),
        cautions,
    )


def run_at(at: int, draws: int, seed: int) -> list[Row]:
    """One of the trials, by its place: what another process can be asked for."""
    return run(TRIALS[at], draws, seed)


DIFFERENCE = (interval(),)
BASELINE = {"baseline": worlds.SECOND}
ALONE = "as if cases were independent"
CASES, SKEWED, RARE, WEIGHTS = "Independent cases", "Skewed differences", "Rare large losses", "Weights"
CLUSTERS, TIME, CROSSED, BOARDS = "Clusters", "Time", "Clusters and time", "Boards of many models"
MISSING, POWER = "Missing predictions", "How many cases it takes"


def _default(*claims: Claim) -> Method:
    return Method("default", claims or DIFFERENCE)


def _other(name: str, inference: str, expected: Expected, *without: str) -> Method:
    return Method(name, DIFFERENCE, inference, expected, without)


def _independent(n: int) -> Iterable[Trial]:
    """Brier scores of forecasts are skewed: a few cases are far worse than most."""
    claims = (interval(), interval("mean"), interval("baseline skill"))
    yield Trial(
        CASES,
        f"Brier scores of forecasts, n = {n}",
        partial(worlds.independent, n=n),
        (
            Method("default", claims, options=BASELINE),
            _other("normal", "normal", "short" if n < 1000 else "holds"),
        ),
        harmless=n >= 100,
    )
    yield Trial(
        CASES,
        f"Brier scores of forecasts, resampled, n = {n}",
        partial(worlds.independent, n=n),
        (_other("bootstrap", "bootstrap", "short" if n < 1000 else "holds"),),
        share=0.125,
    )
    yield Trial(
        CASES,
        f"classes differ per case, n = {n}",
        partial(worlds.uneven, n=n),
        (_default(interval("skill")),),
        share=0.5,
    )


def _cases() -> Iterable[Trial]:
    for n in (10, 20, 30, 100):
        yield Trial(
            CASES,
            f"normal, n = {n}",
            partial(worlds.apart, n=n, difference=0.25, shape="normal"),
            (_default(),),
            harmless=n >= 30,
        )
    for n in (10, 20):
        yield Trial(CASES, f"Brier scores of forecasts, n = {n}", partial(worlds.independent, n=n), (_default(),))
    for n in (30, 100, 1000):
        yield from _independent(n)
    yield Trial(
        CASES,
        "log scores of forecasts, n = 200",
        partial(worlds.logarithmic, n=200),
        (_default(interval(), wrong_way()),),
        harmless=True,
    )
    for n in (100, 1000):
        yield Trial(
            CASES,
            f"Brier scores of forecasts, sets resampled, n = {n}",
            partial(worlds.independent, n=n),
            (_other("poisson", "poisson", "short" if n < 1000 else "holds"),),
            share=0.25,
        )


def _skewed() -> Iterable[Trial]:
    for kind, n in product(("exponential", "log-normal(1)", "Pareto(1.5)"), (10, 20, 50, 200)):
        yield Trial(SKEWED, f"{kind}, n = {n}", partial(worlds.skewed, n=n, kind=kind), (_default(),))
        if n < 200:
            yield Trial(
                SKEWED,
                f"{kind}, resampled, n = {n}",
                partial(worlds.skewed, n=n, kind=kind),
                (_other("bootstrap", "bootstrap", "short"),),
                share=0.5,
            )
    for kind, n in (("exponential", 50), ("log-normal(1)", 50), ("log-normal(1)", 200)):
        yield Trial(
            SKEWED,
            f"{kind}, sets resampled, n = {n}",
            partial(worlds.skewed, n=n, kind=kind),
            (_other("poisson", "poisson", "short"),),
            share=0.25,
        )


def _rare() -> Iterable[Trial]:
    claims = (interval(), wrong_way(), unqualified("holds"))
    bounded = Method("bounded", (interval(), wrong_way()), "bounded", "holds")
    yield Trial(RARE, "one event in fifty, n = 100", partial(worlds.rare, n=100), (_default(interval("mean")),))
    for accuracy, rests, ns in (
        (0.97, (1e-3, 0.05), (50, 100, 200, 1000)),
        (0.995, (1e-4, 0.01), (100, 200, 500, 1000)),
        (0.999, (1e-5, 0.002), (200, 500, 1000, 5000)),
    ):
        for n in ns:
            yield Trial(
                RARE,
                f"log, accuracy {accuracy}, rest {rests[0]:g} or {rests[1]:g}, n = {n}",
                partial(worlds.overconfident, n=n, accuracy=accuracy, rests=rests),
                (_default(*claims),),
                share=0.5 if n < 5000 else 0.25,
            )
    for rate, few in ((0.02, (50, 100, 200)), (0.002, (100, 500, 1000))):
        for n in few:
            yield Trial(
                RARE,
                f'Brier, "never" against {rate:.1%}, n = {n}',
                partial(worlds.never, n=n, rate=rate),
                (_default(*claims), bounded),
                share=0.5,
            )
    for n in (10, 20, 30, 50):
        yield Trial(
            RARE,
            f"Brier, hard labels against Dirichlet(0.05), n = {n}",
            partial(worlds.hard, n=n, sharpness=0.05),
            (_default(*claims), bounded),
            share=0.5,
        )
    yield Trial(
        RARE,
        'Brier, "never" against 2.0%, sets resampled, n = 200',
        partial(worlds.never, n=200, rate=0.02),
        (_other("poisson", "poisson", "short"),),
        share=0.25,
    )


def _weights() -> Iterable[Trial]:
    for kind, shape, n in product(worlds.WEIGHTS, ("normal", "skewed"), (20, 50, 200)):
        yield Trial(
            WEIGHTS,
            f"{kind}, {shape}, n = {n}",
            partial(worlds.weighted, n=n, kind=kind, shape=shape),
            (_default(),),
            share=0.5,
        )
    for n in (30, 100, 1000):
        yield Trial(
            WEIGHTS,
            f"log-normal(1), Brier scores of forecasts, n = {n}",
            partial(worlds.independent, n=n, weighted=True),
            (_default(interval(), interval("mean")),),
            share=0.5,
            harmless=n == 1000,
        )


def _clusters() -> Iterable[Trial]:
    for kind, shape, groups in product(worlds.SIZES, ("normal", "skewed"), (5, 10, 20)):
        yield _clustered(kind, shape, groups, _default(), share=0.5)
        if groups == 10:
            yield _clustered(kind, shape, groups, _other("wild", "wild", "short"), share=0.125, more=", resampled")
    for kind, shape, groups in (
        ("even", "normal", 30),
        ("2 to 20", "skewed", 30),
        ("even", "normal", 100),
        ("2 to 20", "skewed", 100),
    ):
        yield _clustered(
            kind,
            shape,
            groups,
            _default(),
            _other(ALONE, "t", "fails", "cluster"),
            share=0.5,
            harmless=groups == 100 and shape == "normal",
        )
        yield _clustered(
            kind, shape, groups, _other("bootstrap", "bootstrap", "short"), share=0.125, more=", resampled"
        )
    for kind, shape, groups in (("even", "normal", 30), ("2 to 20", "skewed", 100)):
        poisson = _other("poisson", "poisson", "short")
        yield _clustered(kind, shape, groups, poisson, share=0.25, more=", sets resampled")


def _clustered(
    kind: str, shape: str, groups: int, *methods: Method, share: float, more: str = "", harmless: bool = False
) -> Trial:
    return Trial(
        CLUSTERS,
        f"{groups} clusters, {kind}, {shape}{more}",
        partial(worlds.clustered, groups=groups, kind=kind, shape=shape),
        methods,
        share,
        harmless,
    )


def _time() -> Iterable[Trial]:
    yield Trial(
        TIME,
        "independent in time, n = 300",
        partial(worlds.apart, n=300, difference=0.0, timed=True),
        (_default(), _other("hac", "hac", "short")),
        harmless=True,
    )
    for kind, n in product(("AR(1) 0.5", "MA(4)"), (20, 50, 100, 300, 1000)):
        timed = (_other("hac", "hac", "short"), _other(ALONE, "t", "fails")) if n in (50, 300, 1000) else ()
        yield Trial(
            TIME,
            f"{kind}, n = {n}",
            partial(worlds.timed, n=n, kind=kind),
            (_default(), *timed),
            share=0.5,
            harmless=n >= 300,
        )
    for kind, n in product(
        ("AR(1) 0.8", "AR(1) 0.8, skewed", "AR(1) 0.95", "seasonal AR 0.8"), (20, 50, 100, 200, 500)
    ):
        yield Trial(
            TIME,
            f"{kind}, n = {n}",
            partial(worlds.timed, n=n, kind=kind),
            (_default(), *((_other(ALONE, "t", "fails"),) if n == 100 else ())),
            share=0.5,
        )
    yield Trial(
        TIME,
        "AR(1) 0.5, horizon 5, n = 100",
        partial(worlds.timed, n=100, kind="AR(1) 0.5"),
        (Method("default", DIFFERENCE, tl.Inference(horizon=5)),),
        share=0.5,
    )
    yield Trial(
        TIME,
        "AR(1) 0.5, 300 time points of 5 cases",
        partial(worlds.timed, n=300, kind="AR(1) 0.5", cases=5),
        (_default(), _other(ALONE, "t", "fails")),
        share=0.5,
        harmless=True,
    )


def _crossed() -> Iterable[Trial]:
    for name, places, weeks, place, week, rho in (
        ("50 places x 30 weeks, both 0.3, AR 0.5", 50, 30, 0.3, 0.3, 0.5),
        ("50 places x 30 weeks, both 0.3, weeks independent", 50, 30, 0.3, 0.3, 0.0),
        ("10 places x 30 weeks, both 0.5, AR 0.5", 10, 30, 0.5, 0.5, 0.5),
        ("50 places x 8 weeks, both 0.3, AR 0.5", 50, 8, 0.3, 0.3, 0.5),
        ("50 places x 30 weeks, places 0.3", 50, 30, 0.3, 0.0, 0.0),
        ("50 places x 104 weeks, both 0.3, AR 0.8", 50, 104, 0.3, 0.3, 0.8),
        ("50 places x 50 weeks, no effects", 50, 50, 0.0, 0.0, 0.0),
    ):
        dependent = bool(place or week)
        ignoring: Expected = "short" if dependent else "holds"
        yield Trial(
            CROSSED,
            name,
            partial(worlds.crossed, places=places, weeks=weeks, place=place, week=week, rho=rho),
            (
                _default(),
                _other("clusters only", "t", ignoring),
                _other("time only", "auto", ignoring, "cluster"),
                _other(ALONE, "t", "fails" if dependent else "holds", "cluster", "time"),
            ),
            share=0.25,
            harmless=not dependent,
        )

    yield Trial(
        CROSSED,
        "30 clusters, even, normal, which are taken for groups only",
        partial(worlds.as_groups, make=partial(worlds.clustered, groups=30, kind="even", shape="normal")),
        (_other(ALONE, "auto", "promised"),),
        share=0.05,
    )
    yield Trial(
        CROSSED,
        "30 groups of 10, independent",
        partial(worlds.as_groups, make=partial(worlds.clustered, groups=30, kind="even", shape="normal", share=0.0)),
        (_default(),),
        share=0.05,
        harmless=True,
    )


def _boards() -> Iterable[Trial]:
    whole = (stars("holds"), behind("holds"), at_once("holds"), ranks("holds"), left_out(), leader(), unadjusted())
    for kind, n, k in (
        ("normal", 100, 2),
        ("normal", 10, 5),
        ("normal", 20, 5),
        ("normal", 30, 5),
        ("skewed", 100, 5),
        ("normal", 100, 10),
        ("normal", 30, 20),
        ("normal", 100, 20),
        ("skewed", 100, 20),
    ):
        yield Trial(
            BOARDS,
            f"{k} equal models, {kind}, n = {n}",
            partial(worlds.equals, n=n, k=k, kind=kind),
            (_default(*(whole if k > 2 else whole[:-2])),),
            share=0.5 if k <= 5 else 0.25,
        )
    for kind, n, k in (
        ("AR(1) 0.5", 100, 5),
        ("AR(1) 0.8", 100, 5),
        ("AR(1) 0.8", 300, 5),
        ("AR(1) 0.8", 100, 20),
        ("MA(4)", 300, 5),
    ):
        yield Trial(
            BOARDS,
            f"{k} equal models, {kind}, n = {n}",
            partial(worlds.equals, n=n, k=k, kind=kind),
            (_default(stars(), ranks(), left_out()),),
            share=0.5 if k <= 5 else 0.125,
        )
    for name, shifts in (
        ("one of 5 models 0.1 ahead", [0.0, 0.1, 0.1, 0.1, 0.1]),
        ("20 models, 0 to 0.1 apart", np.linspace(0, 0.1, 20).tolist()),
        ("20 models in four tiers", np.repeat([0.0, 0.3, 0.6, 0.9], 5).tolist()),
    ):
        yield Trial(
            BOARDS,
            f"{name}, n = 100",
            partial(worlds.equals, n=100, k=len(shifts), behind=shifts),
            (_default(behind("holds"), at_once("holds"), ranks("holds"), left_out("holds"), wrong_way("holds")),),
            share=0.5 if len(shifts) <= 5 else 0.25,
        )
    for k, groups in ((2, 10), (5, 10)):
        yield Trial(
            BOARDS,
            f"{k} equal models in {groups} groups of 50",
            partial(worlds.grouped, groups=groups, each=50, k=k),
            (_default(stars("holds"), stars("holds", groups=True)),),
            share=0.25,
        )


def _rounds(n: int) -> Trial:
    return Trial(
        MISSING,
        f"three rounds in ten missing, n = {n}",
        partial(worlds.rounds, n=n),
        (_default(interval("relative"), interval("baseline skill")),),
        share=0.125,
    )


def _power(difference: float) -> Trial:
    n = needed(difference)
    return Trial(
        POWER,
        f"difference of {difference}, n = {n} by extra_units",
        partial(worlds.apart, n=n, difference=difference),
        (_default(separates()),),
    )


TRIALS: tuple[Trial, ...] = (
    *_cases(),
    *_skewed(),
    *_rare(),
    *_weights(),
    *_clusters(),
    *_time(),
    *_crossed(),
    *_boards(),
    *map(_rounds, (50, 300)),
    *map(_power, (0.1, 0.25)),
)
