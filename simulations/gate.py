"""`python -m simulations.gate [--draws N] [--write PAGE]`: how often a gate passes a model whose loss is at the margin.

A model whose true mean loss is exactly the margin must pass in at most one minus the level of all data sets. Settings
are scores of known distributions, and real differences: pairs of networks whose 10,000 cases are the population.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from studies import folder

import toplist as tl
from simulations import worlds
from simulations.worlds import FIRST, SECOND, Codes, Floats, Rng, World
from toplist.inference.estimation import required_units
from toplist.inference.results import Estimate

DRAWS = 1_000
LEVEL = 0.95
NETS = "cifar10_14nets.npz"
REAL = (("resnet18", "resnet50"), ("mobilenet_v2", "densenet161"), ("vgg11_bn", "vgg13_bn"))
_MARK = re.compile(r"(?<=<!-- simulation -->\n).*?(?=<!-- end of simulation -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GateTrial:
    """A gate in a world, whose margin is the true loss; where `power`, models are equal, and cases as planned."""

    setting: str
    world: Callable[[Rng], World]
    method: str = "auto"
    power: bool = False
    share: float = 1.0  # of the draws


@dataclass(frozen=True, slots=True)
class GateRow:
    """What was measured: shares of all data sets."""

    setting: str
    method: str
    power: bool
    draws: int
    passed: float
    silent: float  # passed without a warning
    failed: float
    warned: float

    @property
    def error(self) -> float:
        """The standard error of the share that passed."""
        return math.sqrt(self.passed * (1 - self.passed) / self.draws)


def run(trial: GateTrial, draws: int, seed: int) -> GateRow:
    """Gates of as many data sets, which do not depend on the other trials."""
    count = max(1, round(draws * trial.share))
    rng = np.random.default_rng([seed, *trial.setting.encode()])
    found = [judged(trial.world(rng), trial.method) for _ in range(count)]
    shares = [sum(chosen) / count for chosen in zip(*map(_answers, found), strict=True)]
    return GateRow(trial.setting, trial.method, trial.power, count, *shares)


def judged(world: World, method: str = "auto") -> tl.GateReport:
    """The gate at the margin that the world names: its true loss, unless it says otherwise."""
    limit = world.truth.get("margin", world.means[0] - world.means[1] if world.means else math.nan)
    truth = tl.Truth(world.outcomes, **world.about)
    return tl.gate(
        world.models[FIRST],
        world.models[SECOND],
        truth,
        max_loss=limit,
        rule=world.rule,
        inference=method,
        **world.options,
    )


def _answers(found: tl.GateReport) -> tuple[bool, bool, bool, bool]:
    about_models = tuple(f"{name}: " for name in (found.new, found.baseline))  # whose predictions need not make sense
    warned = any(not one.startswith(about_models) for one in found.warnings)
    return found.passed, found.passed and not warned, found.verdict == "fail", warned


# Worlds


def shaped(rng: Rng, n: int, kind: str) -> World:
    """Losses of mean 0.1 and standard deviation 0.5."""
    drawn: Floats
    if kind == "normal":
        drawn = rng.normal(size=n)
    elif kind == "bimodal":
        drawn = np.where(rng.random(n) < 0.5, -1.0, 1.0) + 0.1 * rng.normal(size=n)
    elif kind == "skewed to losses":
        drawn = rng.exponential(size=n) - 1
    elif kind == "skewed to gains":
        drawn = 1 - rng.exponential(size=n)
    else:
        drawn = (rng.lognormal(size=n) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
    return worlds.two(rng, 0.1 + 0.5 * drawn, 0.1)


def labels(rng: Rng, n: int, lost: float, won: float, classes: int = 10) -> World:
    """Hard labels under the Brier score: losses are 2, 0 and -2, where a model breaks some cases and fixes others."""
    drawn, y = rng.random(n), rng.integers(0, classes, n)
    wrong = (y + 1) % classes
    neither = (drawn > 0.9) & (drawn > lost + won)
    new = np.where((drawn < lost) | neither, wrong, y)
    old = np.where(((drawn >= lost) & (drawn < lost + won)) | neither, wrong, y)
    models = {FIRST: new, SECOND: old}
    return World(models, y, "brier", (2 * (lost - won), 0.0), options={"space": classes})


def rare(rng: Rng, n: int, rate: float) -> World:
    """Two soft classifiers; the new one is certain and wrong in rare cases, which cost it nearly 2 each."""
    p = 0.85 + 0.1 * rng.random((2, n))
    y = np.zeros(n, np.int64)
    p[0] = np.where(rng.random(n) < rate, 1e-3, p[0])
    models = {name: np.stack([own, 1 - own], axis=1) for name, own in zip((FIRST, SECOND), p, strict=True)}
    usual = 2 * (0.1**2 + 0.1**2 / 12)
    return World(models, y, "brier", (rate * (2 * 0.999**2 - usual), 0.0))


def as_good(rng: Rng, n: int, rate: float, groups: int = 1) -> World:
    """Other lists with the same scores, but for rare cases that lose nearly 2; with groups, these are in the first."""
    y = np.zeros(n * groups, np.int64)
    old, new = np.tile([0.8, 0.2, 0.0], (len(y), 1)), np.tile([0.8, 0.0, 0.2], (len(y), 1))
    new[:n][rng.random(n) < rate] = [0.0, 0.0, 1.0]
    about = {"group": np.arange(groups).repeat(n)} if groups > 1 else {}
    margin = rate * (2 - 2 * 0.2**2)
    return World({FIRST: new, SECOND: old}, y, "brier", (), {"margin": margin}, about)


def bad_clusters(rng: Rng, groups: int, rate: float, size: int = 20, loss: float = 0.9) -> World:
    """Two soft classifiers that are equally good, but for rare clusters in which the new one loses in every case."""
    p = 0.85 + 0.1 * rng.random((2, groups * size))
    usual = 2 * (0.1**2 + 0.1**2 / 12)
    bad = (rng.random(groups) < rate).repeat(size)
    p[0] = np.where(bad, 1 - math.sqrt((loss + usual) / 2), p[0])
    models = {name: np.stack([own, 1 - own], axis=1) for name, own in zip((FIRST, SECOND), p, strict=True)}
    cluster = np.arange(groups).repeat(size)
    return World(models, np.zeros(groups * size, np.int64), "brier", (rate * loss, 0.0), about={"cluster": cluster})


def bad_days(rng: Rng, days: int, rate: float) -> World:
    """The same of days on which all of 20 sites are predicted: cases depend by day and by site."""
    found = bad_clusters(rng, days, rate)
    about = {"time": np.arange(days).repeat(20), "cluster": np.tile(np.arange(20), days)}
    return replace(found, about=about)


def skewed_group(rng: Rng, n: int) -> World:
    """Three groups, of which one has log-normal losses of mean 0.1, and the others gains."""
    losses = [0.1 + 0.5 * (rng.lognormal(size=n) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)]
    losses += [0.5 * rng.normal(size=n) - 1 for _ in range(2)]
    found = worlds.two(rng, np.concatenate(losses), 0.0)
    return replace(found, means=(), truth={"margin": 0.1}, about={"group": np.arange(3).repeat(n)})


def clusters(rng: Rng, groups: int, kind: str, shape: str) -> World:
    """Losses of mean 0.1 that share three tenths of their variance in a cluster."""
    return worlds.clustered(rng, groups, kind, shape)


def in_time(rng: Rng, n: int, rho: float) -> World:
    """Losses of mean 0.2 that depend on their past."""
    found = worlds.series(rng, n, 1, f"AR(1) {rho}")[0]
    return worlds.two(rng, 0.2 + found, 0.2, time=np.arange(n))


@cache
def nets() -> dict[str, Any]:
    """The networks, and the labels of the cases."""
    with np.load(folder.default() / NETS) as found:
        return {
            name: np.asarray(found[name], np.float64 if found[name].ndim == 2 else np.int64)
            for name in {*(one for pair in REAL for one in pair), "labels"}
        }


@cache
def _population(a: str, b: str, hard: bool) -> tuple[Any, Any, Codes, float]:
    """Two networks, the worse one first, and the true mean loss."""
    y = nets()["labels"]
    p, q = (one / one.sum(axis=1, keepdims=True) for one in (nets()[a], nets()[b]))
    if hard:
        p, q = p.argmax(axis=1), q.argmax(axis=1)
    loss = float((tl.score(p, y, space=10) - tl.score(q, y, space=10)).mean())
    return (p, q, y, loss) if loss > 0 else (q, p, y, -loss)


def real(rng: Rng, n: int, pair: tuple[str, str], *, hard: bool = False) -> World:
    """Cases of two networks, drawn with replacement."""
    p, q, y, loss = _population(*pair, hard)
    at = rng.integers(0, len(y), n)
    return World({FIRST: p[at], SECOND: q[at]}, y[at], "brier", (loss, 0.0), options={"space": 10})


def equal(rng: Rng, n: int, margin: float) -> World:
    """Equally good models with losses of variance one."""
    found = worlds.two(rng, worlds.noise(rng, n), 0.0)
    return World(found.models, found.outcomes, found.rule, (), {"margin": margin})


def planned(margin: float) -> int:
    """How many cases the plan asks for, from a hundred of variance one."""
    needed = required_units(Estimate(0.0, -1.0, 1.0, error=0.1, freedom=99), 100, margin, level=2 * LEVEL - 1)
    return needed or 0


def trials() -> Iterator[GateTrial]:
    """All settings; those on real differences where there are data."""
    for kind, sizes in (
        ("normal", (20, 100)),
        ("bimodal", (20, 100)),
        ("skewed to gains", (20, 100)),
        ("skewed to losses", (20, 100, 1000)),
        ("log-normal losses", (20, 100, 1000)),
    ):
        for n in sizes:
            yield GateTrial(f"{kind}, n = {n}", partial(shaped, n=n, kind=kind))
    for n in (20, 100):
        yield GateTrial(f"skewed to losses, n = {n}", partial(shaped, n=n, kind="skewed to losses"), "bootstrap")
    for n in (200, 500, 2000):
        yield GateTrial(f"hard labels, 3% broken, 2% fixed, n = {n}", partial(labels, n=n, lost=0.03, won=0.02))
    for n in (100, 300, 1000):
        yield GateTrial(f"0.5% lose nearly 2, n = {n}", partial(rare, n=n, rate=0.005))
    for n in (100, 300):
        yield GateTrial(f"0.5% lose nearly 2, n = {n}", partial(rare, n=n, rate=0.005), "bounded", share=0.25)
    for method in ("auto", "bounded"):
        for n, lost in ((50, 0.01), (100, 0.01), (200, 0.005)):
            setting = f"identical but for {lost:.1%} that lose 2, n = {n}"
            share = 0.25 if method == "bounded" else 1.0
            yield GateTrial(setting, partial(labels, n=n, lost=lost, won=0.0), method, share=share)
        for n, rate in ((20, 0.05), (50, 0.01), (200, 0.01)):
            setting = f"the same scores but for {rate:.0%} that lose 2, n = {n}"
            share = 0.25 if method == "bounded" else 1.0
            yield GateTrial(setting, partial(as_good, n=n, rate=rate), method, share=share)
    for n in (1, 100):
        setting = f"the same scores in 3 groups but for 1% of one that lose 2, n = {n} each"
        yield GateTrial(setting, partial(as_good, n=n, rate=0.01, groups=3))
    for groups, rate in ((40, 0.02), (100, 0.01), (100, 0.02)):
        setting = f"{groups} clusters of 20, of which {rate:.0%} lose 0.9"
        yield GateTrial(setting, partial(bad_clusters, groups=groups, rate=rate))
    yield GateTrial("60 days of 20 sites, of which days 2% lose 0.9", partial(bad_days, days=60, rate=0.02))
    yield GateTrial("3 groups of 40, one with log-normal losses", partial(skewed_group, n=40))
    for groups, kind, shape in ((10, "even", "normal"), (10, "2 to 20", "skewed"), (100, "2 to 20", "skewed")):
        yield GateTrial(f"{groups} clusters, {kind}, {shape}", partial(clusters, groups=groups, kind=kind, shape=shape))
    for n, rho in ((100, 0.5), (300, 0.5)):
        yield GateTrial(f"AR(1) {rho}, n = {n}", partial(in_time, n=n, rho=rho))
    margin = 0.25
    yield GateTrial(
        f"equal models, margin {margin:g}, n = {planned(margin)} by the plan",
        partial(equal, n=planned(margin), margin=margin),
        power=True,
    )
    if (folder.default() / NETS).exists():
        for pair in REAL:
            for n in (200, 1000):
                yield GateTrial(f"{' and '.join(pair)}, n = {n}", partial(real, n=n, pair=pair))
        yield GateTrial(f"labels of {' and '.join(REAL[1])}, n = 1000", partial(real, n=1000, pair=REAL[1], hard=True))


def run_at(at: int, draws: int, seed: int) -> GateRow:
    """One of the trials, by its place: what another process can be asked for."""
    return run(list(trials())[at], draws, seed)


# The table


def table(rows: Sequence[GateRow]) -> str:
    """A line for each."""
    head = "| setting | method | passes | passes without a warning | fails | warns | draws |"
    lines = [head, "| --- | --- | --: | --: | --: | --: | --: |"]
    for row in rows:
        passes = f"{row.passed:.1%} ± {row.error:.1%}"
        cells = (row.setting, "default" if row.method == "auto" else row.method, passes)
        shares = (f"{one:.1%}" for one in (row.silent, row.failed, row.warned))
        lines.append(f"| {' | '.join((*cells, *shares, f'{row.draws:,}'))} |")
    return "\n".join(lines)


def merged(page: str, rows: Sequence[GateRow]) -> str:
    """The page with these rows in its table, in the order of the trials; other settings keep theirs."""
    (old,) = _MARK.findall(page)
    head, rule, *lines = table(rows).splitlines()
    known = {tuple(line.split("|")[1:3]): line for line in (*old.splitlines()[2:], *lines)}
    order = [(f" {one.setting} ", f" {'default' if one.method == 'auto' else one.method} ") for one in trials()]
    found = "\n".join([head, rule, *(known[key] for key in order if key in known)])
    return _MARK.sub(lambda _: f"{found}\n", page)


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m simulations.gate", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each setting; fewer where each takes long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", type=Path, help="the page whose table is replaced, such as docs/gate.md")
    parser.add_argument("--only", default="", help="settings that have this pattern in them; others keep their rows")
    asked = parser.parse_args()
    wanted = [at for at, one in enumerate(trials()) if re.search(asked.only, one.setting)]
    with ProcessPoolExecutor(asked.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        made = [pool.submit(run_at, at, asked.draws, asked.seed) for at in wanted]
        rows = []
        for one in made:
            rows.append(one.result())
            sys.stdout.write(table(rows).splitlines()[-1] + "\n")
            sys.stdout.flush()
    if asked.write is not None:
        asked.write.write_text(merged(asked.write.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
