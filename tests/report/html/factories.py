"""Results and exhibits by hand: consistent with each other, drawn from seeds, as large as a test wants them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.stats import t as student

from toplist.calibration.bins import Bin
from toplist.inference.results import (
    Comparison,
    ConfidenceSet,
    Estimate,
    FileRecord,
    Group,
    ModelDetails,
    ModelRow,
    Pair,
    PredictionType,
    RuleScore,
    SequentialPath,
    SourceSummary,
    WorstCase,
)
from toplist.report.html import Page, Provenance

NAMES = (
    "transformer-large (fine-tuned)",
    "gradient boosting",
    "random forest",
    "nearest neighbours",
    "vendor API, top 5",
    "hard labels",
)
SUBJECTS = ("algebra", "anatomy", "astronomy", "chemistry", "geometry", "law", "logic", "medicine", "music", "physics")
TESTED = "an infinite mean cannot be tested"


def many(n: int) -> tuple[str, ...]:
    return tuple(f"{NAMES[i % 6].split(' ')[0]} v{i // 6 + 1}.{i % 6}" for i in range(n))


class Draw:
    """Scores of some models on some cases; every number below comes from them."""

    def __init__(self, names: Sequence[str], cases: int, groups: int, seed: int, zeros: bool, apart: float):
        rng = np.random.default_rng(seed)
        self.names = tuple(names)
        self.cases = cases
        self.zeros = zeros and len(names) > 1
        self.group = np.arange(cases) % max(groups, 1)
        hard = rng.beta(0.5, 1.2, cases)
        skill = apart * np.sort(rng.gamma(1.5, 0.05, len(names)))
        noise = rng.normal(0, 0.16, (len(names), cases))
        self.brier = np.clip(hard * 1.1 + skill[:, None] + noise, 0, 2)
        self.log = -np.log(np.clip(1 - self.brier / 2.02, 1e-9, 1)) * 1.8
        self.spherical = self.brier / 2
        self.right = self.brier < 0.55 + 0.02 * np.arange(len(names))[::-1, None]
        self.seed = seed

    def infinite(self, i: int, rule: str, inside: np.ndarray) -> int:
        return int(self.zeros and rule == "log" and i == len(self.names) - 1) * max(int(inside.sum()) // 700, 1)


def results(
    names: Sequence[str] = NAMES,
    *,
    cases: int = 1200,
    groups: int = 0,
    rules: Sequence[str] = ("brier", "log"),
    zeros: bool = True,
    apart: float = 1.0,
    seed: int = 1,
    level: float = 0.95,
    missing: str = "reject",
    reference: str | None = None,
    paths: int = 1,
) -> Comparison:
    """A comparison as people have them."""
    draw = Draw(names, cases, groups, seed, zeros, apart)
    everything = np.ones(cases, dtype=bool)
    overall = _section(draw, None, everything, rules, level)
    order = [row.name for row in overall.rows]
    subjects = [SUBJECTS[g] if groups <= len(SUBJECTS) else f"subject {g:03d}" for g in range(groups)]
    return Comparison(
        rules=tuple(rules),
        k=(1, 5),
        classes="246",
        cases=cases,
        compared=cases,
        missing=missing,
        weighted=False,
        baseline=reference,
        penalty=None,
        level=level,
        method="paired t intervals, which assume that cases are independent of each other",
        by="subject" if groups else None,
        clusters=None,
        order=None,
        origins=tuple(_origin(name, i, cases) for i, name in enumerate(draw.names)),
        overall=overall,
        groups=tuple(_section(draw, g, draw.group == i, rules, level) for i, g in enumerate(subjects)),
        pairs=tuple(pair for rule in rules for pair in _pairs(draw, order, rule, level)),
        confidence_set=_confidence_set(draw, order, rules[0], level) if len(order) > 1 else None,
        paths=tuple(_path(draw, order[0], other, rules[0], level) for other in order[1 : 1 + paths]),
        seed=seed,
    )


def apart(found: Comparison, cases: Sequence[int]) -> Comparison:
    """The same, with so many cases for each model, in the order of the table; two share those of the smaller."""
    rows = [replace(row, cases=n) for row, n in zip(found.overall.rows, cases, strict=True)]
    own = {row.name: row.cases for row in rows}
    return replace(
        found,
        missing="pairwise",
        overall=replace(found.overall, rows=tuple(rows)),
        pairs=tuple(replace(pair, cases=min(own[pair.a], own[pair.b])) for pair in found.pairs),
    )


def exhibits(found: Comparison, *, seed: int = 2) -> tuple[ModelDetails, ...]:
    """What the lists of these models show."""
    return tuple(_exhibit(found, i, seed) for i in range(len(found.overall.rows)))


def provenance(found: Comparison) -> Provenance:
    files = tuple(FileRecord(o.name, o.source, 123_456 + i, f"{i:064x}") for i, o in enumerate(found.origins))
    return Provenance(
        command="toplist compare *.parquet --truth truth.csv --classes classes.txt --report board.html",
        versions={"python": "3.11.9", "toplist": "0.1.0", "numpy": "2.3.1", "scipy": "1.16.0"},
        files=files,
        written="2024-05-01",
    )


def page(found: Comparison | None = None, **options: object) -> Page:
    """A whole page."""
    made = results(**options) if found is None else found  # type: ignore[arg-type]
    return Page(made, exhibits(made), provenance(made), "Language identification, May 2024")


def _section(draw: Draw, group: str | None, inside: np.ndarray, rules: Sequence[str], level: float) -> Group:
    def place(i: int) -> tuple[int, float]:
        return draw.infinite(i, rules[0], inside), float(getattr(draw, rules[0])[i, inside].mean())

    order = sorted(range(len(draw.names)), key=place)
    standings = tuple(_standing(draw, i, rank, order[0], inside, rules, level) for rank, i in enumerate(order, 1))
    return Group(group, int(inside.sum()), standings)


def _standing(
    draw: Draw, i: int, rank: int, leader: int, inside: np.ndarray, rules: Sequence[str], level: float
) -> ModelRow:
    n = int(inside.sum())
    kind = _kind(i, len(draw.names))
    accuracy = float(draw.right[i, inside].mean())
    size = {"hard label": 1.0, "top list": 5.0, "distribution": 246.0}[kind]
    return ModelRow(
        rank=rank,
        name=draw.names[i],
        cases=n,
        missing=0,
        scores={rule: _rule_score(draw, i, leader, inside, rule, level) for rule in rules},
        invalid=7 * (i == 2),
        metrics={
            "accuracy": Estimate(accuracy),
            "top_1_error": Estimate(1 - accuracy),
            "top_5_error": Estimate((1 - accuracy) / 3),
            "coverage": Estimate(1.0 if kind == "distribution" else accuracy + 0.5 * (1 - accuracy) * (size > 1)),
            "mean_length": Estimate(size),
            "mean_mass": Estimate(0.97 if kind == "top list" else 1.0),
            "invalid_rate": Estimate(7 * (i == 2) / max(n, 1)),
        },
    )


def _rule_score(draw: Draw, i: int, leader: int, inside: np.ndarray, rule: str, level: float) -> RuleScore:
    scores = getattr(draw, rule)
    infinite = draw.infinite(i, rule, inside)
    own = scores[i, inside]
    mean = math.inf if infinite else float(own.mean())
    return RuleScore(
        rule=rule,
        mean=Estimate(math.inf, reason="infinite scores have no interval") if infinite else estimate(own, level),
        unpenalised=mean - 0.001 * (i == 2),
        infinite=infinite,
        finite=float(own.mean()),
        skill=None if infinite else estimate(1 - own / 0.9959, level),
        baseline_skill=None if infinite else estimate(1 - own / own.mean(), level),
        difference=None if i == leader else _difference(draw, i, leader, rule, inside, level),
        relative=Estimate(0.9 + 0.05 * i, 0.88 + 0.05 * i, 0.92 + 0.05 * i),
    )


def estimate(values: np.ndarray, level: float) -> Estimate:
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return Estimate(mean, reason="one case has no spread")
    error = float(values.std(ddof=1) / math.sqrt(n))
    half = float(student.ppf(0.5 + level / 2, n - 1)) * error
    p = float(2 * student.sf(abs(mean) / error, n - 1)) if error else float(mean == 0)
    return Estimate(mean, mean - half, mean + half, error=error, p=p)


def _difference(draw: Draw, i: int, j: int, rule: str, inside: np.ndarray, level: float) -> Estimate:
    a, b = draw.infinite(i, rule, inside), draw.infinite(j, rule, inside)
    if a or b:
        return Estimate(math.nan if a and b else math.inf if a else -math.inf, reason=TESTED)
    scores = getattr(draw, rule)
    return estimate(scores[i, inside] - scores[j, inside], level)


def _pairs(draw: Draw, order: Sequence[str], rule: str, level: float) -> list[Pair]:
    inside = np.ones(draw.cases, dtype=bool)
    at = {name: draw.names.index(name) for name in order}
    found = [(a, b, _difference(draw, at[a], at[b], rule, inside, level)) for a, b in combinations(order, 2)]
    adjusted = holm([d.p for _, _, d in found])
    return [
        Pair(rule, a, b, draw.cases, d, p, _more(d, draw.cases, level))
        for (a, b, d), p in zip(found, adjusted, strict=True)
    ]


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment of those that there are."""
    known = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    found: list[float | None] = [None] * len(ps)
    running = 0.0
    for step, (p, i) in enumerate(known):
        running = max(running, min(1.0, (len(known) - step) * p))
        found[i] = running
    return found


def _more(d: Estimate, cases: int, level: float) -> int | None:
    if d.error is None or d.value == 0:
        return None
    if d.p is not None and d.p <= 1 - level:
        return 0
    return max(0, math.ceil(cases * (2.8 * d.error / abs(d.value)) ** 2) - cases)


def _confidence_set(draw: Draw, order: Sequence[str], rule: str, level: float) -> ConfidenceSet:
    inside = np.ones(draw.cases, dtype=bool)
    at = draw.names.index(order[0])
    p = {order[0]: 1.0}
    for name in order[1:]:
        found = _difference(draw, draw.names.index(name), at, rule, inside, level).p
        p[name] = 0.0 if found is None else min(found * 2, 1.0, *p.values())
    members = tuple(name for name in order if p[name] > 1 - level)
    method = f"10,000 draws, seed {draw.seed}; cases drawn one by one, which assumes that they are independent"
    return ConfidenceSet(rule, level, members, p, draw.cases, method, draw.seed)


def _path(draw: Draw, candidate: str, baseline: str, rule: str, level: float) -> SequentialPath:
    i, j = draw.names.index(candidate), draw.names.index(baseline)
    scores = getattr(draw, rule)
    d = scores[i] - scores[j]
    at = np.unique(np.linspace(1, draw.cases, min(draw.cases, 150)).astype(int))
    mean = np.cumsum(d)[at - 1] / at
    half = d.std() * np.sqrt(2 * np.log(np.log(at + 2) + 1) / at + 8 / at)
    low, high = mean - half, mean + half
    bets = np.cumsum(np.log1p(-np.clip(d, -1, 1) * 0.2))[at - 1]
    other = np.cumsum(np.log1p(np.clip(d, -1, 1) * 0.2))[at - 1]

    def first(where: np.ndarray) -> int | None:
        return int(at[np.argmax(where)]) if where.any() else None

    return SequentialPath(
        rule,
        candidate,
        baseline,
        level,
        draw.cases,
        tuple(at.tolist()),
        tuple(mean.tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        tuple(bets.tolist()),
        tuple(other.tolist()),
        first((low > 0) | (high < 0)),
        first(bets >= -math.log(1 - level)),
        first(other >= -math.log(1 - level)),
        "empirical Bernstein confidence sequence, scores from 0 to 2",
    )


def _kind(i: int, n: int) -> str:
    return "hard label" if i == n - 1 else "top list" if i % 3 == 1 else "distribution"


def _origin(name: str, i: int, cases: int) -> SourceSummary:
    layout = ("wide", "lists", "long")[i % 3]
    repairs = {"normalize": 40, "duplicates": 2} if i == 3 else {}
    return SourceSummary(name, f"predictions/{i:02d}.parquet", layout, cases, 12 * (i == 1), 0, repairs)


def _exhibit(found: Comparison, i: int, seed: int) -> ModelDetails:
    row = found.overall.rows[i]
    rng = np.random.default_rng((seed, i))
    at = [o.name for o in found.origins].index(row.name)
    kind = _kind(at, len(found.origins))
    mean = row.scores["brier"].mean.value if math.isfinite(row.scores["brier"].mean.value) else 1.2
    ks = (1,) if kind == "hard label" else (1, 2, 3, 4, 5) if kind == "top list" else (1, 2, 3, 5, 10, 20, 50, 246)
    rejects = 12 * (at == 1)
    shapes = (
        *((PredictionType("empty list", rejects, 0.996, 0),) if rejects else ()),
        PredictionType(kind, row.cases - rejects, row.scores["brier"].mean.value, row.scores["brier"].infinite),
    )
    listed = (("gl", 0.93), ("es", 0.05), ("ca", 0.01))
    costly = tuple(
        WorstCase(f"case-{rng.integers(9999):04d}", 1.99 - 0.02 * j, "pt", listed, 5, 0.01) for j in range(10)
    )
    return ModelDetails(
        name=row.name,
        rule=found.rules[0],
        cases=row.cases,
        ks=ks,
        curve=tuple(float(mean + 0.25 / k - 0.25 / ks[-1]) for k in ks),
        listed=_bins(rng, row.cases * 3, 0.02 * i),
        top=_bins(rng, row.cases, 0.03 * i),
        mass=_bins(rng, row.cases, 0.01 * i),
        sizes=((ks[-1], row.cases),),
        shortest=ks[-1],
        longest=ks[-1],
        shapes=shapes,
        costly=costly,
        invalid="case-0113: gl has 0.001, less than the 0.0021 of each class that is not listed" if row.invalid else "",
    )


def _bins(rng: np.random.Generator, total: int, over: float) -> tuple[Bin, ...]:
    edges = np.linspace(0, 1, 11)
    counts = rng.multinomial(total, np.array([5, 3, 2, 1, 1, 1, 1, 2, 3, 6]) / 25)
    found = []
    for low, high, n in zip(edges, edges[1:], counts.tolist(), strict=False):
        middle = float((low + high) / 2)
        kept = float(np.clip(middle - over * middle + rng.normal(0, 0.01), 0, 1))
        found.append(Bin(float(low), float(high), int(n), middle, kept))
    return tuple(found)
