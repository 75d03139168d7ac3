"""Results made by hand, for every test of reports: from means, from scores drawn from a seed, or one of everything.

`board` has models with given means; all numbers of `drawn` come from the same scores, so that they are consistent;
`example` has one of everything that can go wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

import toplist as tl
from toplist.calibration.pairs import Bin
from toplist.inference.ranking import confidence_set, judge, with_rank_intervals
from toplist.inference.results import (
    CaseView,
    Comparison,
    Estimate,
    FileRecord,
    Group,
    ModelDetails,
    ModelRow,
    Pair,
    PredictionType,
    PredictionView,
    RuleScore,
    SequentialPath,
    SourceSummary,
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
CLASSES = 10
SUBJECTS = ("algebra", "anatomy", "astronomy", "chemistry", "geometry", "law", "logic", "medicine", "music", "physics")
HOSTILE = (
    "<script>alert(1)</script>",
    "$x^2$ and $",
    r"\frac{1}{2} C:\models\new",
    "\"quoted\" & 'single' ]]> <!-- -->",
    "bidi\u202egnp.exe\u2066\u200b",
    "escape\x1b[31m\x00\x07\nnext\tline\r\u2028",
    "n" * 10_000,
    "",
    "   ",
    "日本語のモデル 🤖👩‍🔬 한국어 العربية עברית",
    "W" * 60,
    "\ud800 lone",
    "e" + "\u0301" * 500,
    "url(http://example.org/x) javascript:alert(1) style=",
    "{0} %s {name} %(x)s",
)


# What all of them are made of


def comparison(overall: Group, **changes: Any) -> Comparison:
    """A comparison of one rule and nothing beside its rows, but for the changes."""
    base: dict[str, Any] = {
        "rules": ("brier",),
        "classes": "10",
        "cases": overall.cases,
        "compared": overall.cases,
        "missing": "error",
        "k": (),
        "weighted": False,
        "baseline": None,
        "penalty": None,
        "level": 0.95,
        "method": "normal approximation, cases are independent",
        "group": None,
        "cluster": None,
        "time": None,
        "sources": (),
        "overall": overall,
        "groups": (),
        "pairs": (),
        "confidence_set": None,
    }
    return Comparison(**(base | changes))


def placed(found: Group, pairs: Sequence[Pair], rule: str, level: float = 0.95) -> Group:
    """With the rank intervals that follow from the pairs."""
    verdicts = [judge(pair, level) for pair in pairs if pair.rule == rule]
    return replace(found, rows=with_rank_intervals(found.rows, verdicts))


def concluded(found: Comparison) -> Comparison:
    """With the rank intervals and the confidence set that follow from the pairs."""
    first = found.rules[0]
    found = replace(
        found,
        overall=placed(found.overall, found.pairs, first, found.level),
        groups=tuple(placed(one, one.pairs, first, found.level) for one in found.groups),
    )
    return replace(found, confidence_set=confidence_set(found) if found.pairs else None)


def standing(
    rank: int,
    name: str,
    marks: Sequence[RuleScore],
    cases: int = 1000,
    missing: int = 0,
    invalid: int = 0,
    **metrics: float,
) -> ModelRow:
    scores = {one.rule: one for one in marks}
    return ModelRow(rank, name, cases, missing, invalid, scores, {key: Estimate(x) for key, x in metrics.items()})


def mark(rule: str, value: float, half: float | None = 0.004, **changes: Any) -> RuleScore:
    infinite = 17 if math.isinf(value) else 0
    base: dict[str, Any] = {"unpenalised": value, "infinite": infinite, "finite": 0.7 if infinite else value}
    base |= {"mean": estimate(value, half), **dict.fromkeys(("skill", "baseline_skill", "difference", "relative"))}
    return RuleScore(rule=rule, **(base | changes))


def estimate(value: float, half: float | None = 0.004, reason: str = "no interval") -> Estimate:
    """With an interval of this half width, or without one and with the reason."""
    if not math.isfinite(value) or half is None:
        return Estimate(value, reason=reason)
    return Estimate(value, value - half, value + half, error=half / 2, p=0.5)


def path(
    n: int = 200, *, candidate: str = "new", baseline: str = "old", drift: float = -0.02, band: bool = True
) -> SequentialPath:
    at = tuple(range(5, 5 * n + 1, 5))
    mean = tuple(drift + 0.1 * math.sin(i) / math.sqrt(i) for i in at)
    low = tuple(m - 1.5 / math.sqrt(i) for m, i in zip(mean, at, strict=True))
    high = tuple(m + 1.5 / math.sqrt(i) for m, i in zip(mean, at, strict=True))
    better = tuple(-drift * 0.6 * i - 0.3 * math.log(i) for i in at)
    worse = tuple(drift * 0.6 * i - 0.3 * math.log(i) for i in at)
    limit = math.log(20)
    return SequentialPath(
        rule="brier",
        candidate=candidate,
        baseline=baseline,
        level=0.95,
        cases=at[-1],
        at=at,
        mean=mean,
        low=low if band else (),
        high=high if band else (),
        log_evidence_better=better,
        log_evidence_worse=worse,
        separated=next((i for i, a, b in zip(at, low, high, strict=True) if a > 0 or b < 0), None) if band else None,
        shown_better=next((i for i, e in zip(at, better, strict=True) if e >= limit), None),
        shown_worse=next((i for i, e in zip(at, worse, strict=True) if e >= limit), None),
        method="empirical Bernstein",
        reason="" if band else "scores have no known bound",
    )


def bins(count: int = 10, bend: float = 0.1) -> tuple[Bin, ...]:
    return tuple(
        Bin(
            i / count,
            (i + 1) / count,
            1 + 37 * (i - count // 3) ** 2,
            (i + 0.5) / count,
            min(1.0, max(0.0, (i + 0.5) / count + bend * math.sin(3 * i / count))),
        )
        for i in range(count)
    )


def exhibit(
    name: str,
    *,
    ks: Sequence[int] = (1, 2, 3, 5, 10),
    curve: Sequence[float] | None = None,
    place: int = 0,
    count: int = 10,
    shapes: Sequence[PredictionType] | None = None,
    **changes: Any,
) -> ModelDetails:
    curve = [0.3 + 0.02 * place + 0.2 / (k + 1) for k in ks] if curve is None else curve
    kinds = (
        PredictionType("empty list", 30 + place, 0.9, 0),
        PredictionType("hard label", 200, 0.5 - 0.01 * place, 0),
        PredictionType("top list", 600, 0.3 + 0.01 * place, 0),
        PredictionType("distribution", 170 - place, 0.25, 0),
    )
    base: dict[str, Any] = {"rule": "brier", "cases": 1000, "invalid": ""}
    base |= {"listed": bins(count, 0.1), "top": bins(count, -0.15), "mass": bins(count, 0.05)}
    base |= {"sizes": ((0, 30), (1, 200), (5, 600), (10, 170)), "shortest": 0, "longest": 10}
    own = kinds if shapes is None else tuple(shapes)
    return ModelDetails(name=name, ks=tuple(ks), curve=tuple(curve), shapes=own, **(base | changes))


# From means


def board(
    who: Sequence[str] = ("a", "b", "c"),
    means: Sequence[float] | None = None,
    *,
    half: float | None = 0.004,
    groups: Sequence[str] = (),
    members: int | None = None,
    rules: Sequence[str] = ("brier",),
) -> Comparison:
    """Models with these means, best first; the groups shift them. So many are members of the confidence set."""
    means = [0.3 + 0.013 * i + 0.002 * (i % 3) for i in range(len(who))] if means is None else means

    def section(group: str | None, means: Sequence[float]) -> Group:
        order = sorted(range(len(who)), key=lambda i: (math.isnan(means[i]), means[i]))
        marks = [[mark(rule, means[i] * (1 + j), half) for j, rule in enumerate(rules)] for i in order]
        rows = (standing(r, who[i], own) for r, (i, own) in enumerate(zip(order, marks, strict=True), 1))
        return Group(group, 1000, tuple(rows))

    overall = section(None, means)
    made = []
    for rule in rules:
        for (i, a), (j, b) in combinations(enumerate(overall.rows), 2):
            value = a.scores[rule].mean.value - b.scores[rule].mean.value
            adjusted = min(1.0, 3 * math.exp(-abs(value) / 0.004)) if math.isfinite(value) else None
            if members is not None and adjusted is not None:
                adjusted = 0.01 if i < members <= j else 0.5
            made.append(Pair(rule, a.name, b.name, 1000, estimate(value), adjusted, 0, estimate(value)))
    found = comparison(
        overall,
        rules=tuple(rules),
        group="group" if groups else None,
        groups=tuple(
            section(g, [m * (1 + 0.3 * math.sin(j + i / 3)) for i, m in enumerate(means)]) for j, g in enumerate(groups)
        ),
        pairs=tuple(made),
    )
    return concluded(found)


def related(found: Comparison, first: float) -> Comparison:
    """The same where cases differ: the first has this relative score, the next ones more."""

    def of(part: Group) -> Group:
        rows = tuple(
            replace(
                row,
                scores={
                    rule: replace(one, relative=None if one.infinite else estimate(first + i))
                    for rule, one in row.scores.items()
                },
            )
            for i, row in enumerate(part.rows)
        )
        return replace(part, rows=rows)

    return replace(found, missing="pairwise", overall=of(found.overall), groups=tuple(map(of, found.groups)))


# One of everything that can go wrong

FIVE = (*NAMES[:4], NAMES[5])
BRIER = (0.31424, 0.31655, 0.35121, 0.40119, 0.52345)
LOG = (0.61218, 0.60944, 0.70112, 0.93345, math.inf)


def example(*, groups: bool = True, missing: str = "uniform", reference: str | None = "random forest") -> Comparison:
    """A leaderboard as people have them: five models of 12,000 cases, two rules, two groups."""
    overall, *sections = (
        _example_section(None, 12_000, 0.0),
        _example_section("algebra", 7_400, 0.01),
        _example_section("geometry", 1, 0.02),
    )
    repairs = {"renormalise": 40, "clip": 2}
    ends = {"separated": 4_321, "shown_better": 3_210, "shown_worse": None, "method": "empirical Bernstein sequence"}
    beyond_doubt = replace(
        path(1, candidate=FIVE[0], baseline=FIVE[2]),
        cases=12_000,
        at=(1, 100, 12_000),
        mean=(0.2, -0.03, -0.037),
        low=(-2.0, -0.4, -0.051),
        high=(2.0, 0.34, -0.023),
        log_evidence_better=(-0.1, 1.5, math.inf),
        log_evidence_worse=(0.1, -3.0, -9.0),
        **ends,
    )
    found = comparison(
        overall,
        rules=("brier", "log"),
        classes="41",
        k=(1, 5),
        missing=missing,
        baseline=reference,
        group="subject" if groups else None,
        sources=tuple(
            SourceSummary(name, f"{name}.parquet", "wide", 12_000, 12 * (i == 1), 0, repairs if i == 3 else {})
            for i, name in enumerate(FIVE)
        ),
        groups=tuple(sections) if groups else (),
        pairs=tuple(
            _example_pair(rule, means, a, b)
            for rule, means in (("brier", BRIER), ("log", LOG))
            for a, b in combinations(range(len(FIVE)), 2)
        ),
        paths=(beyond_doubt,),
        seed=None,
    )
    return concluded(found)


def _example_pair(rule: str, means: tuple[float, ...], a: int, b: int) -> Pair:
    """All but the first two are significantly different; those with infinite means are not compared."""
    difference = _example_estimate(means[a] - means[b], 0.0042, 12_000)
    near = (a, b) == (0, 1)
    adjusted = None if difference.p is None else 0.28 if near else 0.0004
    more = None if difference.p is None else 23_456 if near else 0
    return Pair(rule, FIVE[a], FIVE[b], 12_000, difference, adjusted, more, difference)


def _example_section(group: str | None, cases: int, shift: float) -> Group:
    rows = tuple(
        standing(
            i + 1,
            FIVE[i],
            (_example_mark("brier", BRIER, i, cases, shift), _example_mark("log", LOG, i, cases, shift)),
            cases,
            missing=12 * (i == 1),
            accuracy=0.81 - 0.02 * i,
            top_1_error=0.19 + 0.02 * i,
            top_5_error=0.04 + 0.01 * i,
            coverage=0.97 - 0.03 * i,
            mean_length=10.0 if i < 4 else 1.0,
            mean_mass=0.99 if i < 4 else 1.0,
            invalid=3 * (i == 2),
            invalid_rate=3 * (i == 2) / 12_000,
        )
        for i in range(len(FIVE))
    )
    return Group(group, cases, rows)


def _example_mark(rule: str, means: tuple[float, ...], i: int, cases: int, shift: float) -> RuleScore:
    mean, half = means[i] + shift, 0.0021 + 0.0004 * i

    def skill(value: float) -> Estimate | None:
        return None if math.isinf(value) else _example_estimate(value, half, cases)

    return mark(
        rule,
        mean,
        mean=_example_estimate(mean, half, cases),
        unpenalised=mean - 0.0001 * (i == 2),
        finite=0.75 if math.isinf(mean) else mean,
        skill=skill(1 - mean / 0.9756),
        baseline_skill=skill(1 - mean / (means[2] + shift)),
        difference=_example_estimate(mean - means[0] - shift, half * 1.2, cases) if i else None,
        adjusted_p=None if not i or cases == 1 or math.isinf(mean) else 0.28 if i == 1 else 0.0004,
        relative=_example_estimate(0.9 + 0.07 * i, half, cases),
    )


def _example_estimate(value: float, half: float, cases: int) -> Estimate:
    if math.isinf(value):
        return Estimate(value, reason="the mean is infinite")
    if cases == 1:
        return Estimate(value, reason="a single case has no spread")
    return replace(estimate(value, half), error=half / 1.96, p=math.exp(-abs(value) / half))


# From scores that are drawn from a seed


def many(n: int) -> tuple[str, ...]:
    return tuple(f"{NAMES[i % 6].split(' ')[0]} v{i // 6 + 1}.{i % 6}" for i in range(n))


def drawn(
    names: Sequence[str] = NAMES,
    *,
    cases: int = 1200,
    groups: int = 0,
    rules: Sequence[str] = ("brier", "log"),
    zeros: bool = True,
    apart: float = 1.0,
    seed: int = 1,
    level: float = 0.95,
    missing: str = "uniform",
    reference: str | None = None,
    paths: int = 1,
) -> Comparison:
    """A comparison as people have them: the later a model, the less it knows, and the last one has infinite scores."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, cases)
    shared = rng.normal(size=(cases, CLASSES))
    models = {}
    for i, name in enumerate(names):
        weights = np.exp(shared + 0.4 * rng.normal(size=shared.shape))
        weights[np.arange(cases), y] *= math.exp(2.5 - 0.2 * apart * i)
        if zeros and 0 < i == len(names) - 1:
            weights[range(max(cases // 700, 1)), y[: max(cases // 700, 1)]] = 0.0
        models[name] = weights / weights.sum(axis=1, keepdims=True)
    subjects = [SUBJECTS[g] if groups <= len(SUBJECTS) else f"subject {g:03d}" for g in range(groups)]
    truth = tl.Truth(y, group=[subjects[at % groups] for at in range(cases)]) if groups else y
    board = tl.compare(models, truth, rules=tuple(rules), k=(1, 5), baseline=reference, inference=level)
    first, *others = (row.name for row in board)
    invalid = names[2] if len(names) > 2 else None
    rows = tuple(replace(row, invalid=7 * (row.name == invalid)) for row in board)
    monitors = [
        tl.monitor({name: models[name] for name in (first, other)}, y, baseline=other) for other in others[:paths]
    ]
    return replace(
        board.comparison,
        missing=missing,
        overall=replace(board.comparison.overall, rows=rows),
        group="subject" if groups else None,
        sources=tuple(_origin(name, i, cases) for i, name in enumerate(names)),
        paths=tuple(monitor.paths[0] for monitor in monitors),
        seed=seed,
        warnings=(),
    )


def apart(found: Comparison, cases: Sequence[int]) -> Comparison:
    """The same, with so many cases for each model, in the order of the table; two share those of the smaller."""
    rows = [
        replace(
            row,
            cases=n,
            scores={rule: replace(one, relative=estimate(0.9 + 0.05 * i, 0.02)) for rule, one in row.scores.items()},
        )
        for i, (row, n) in enumerate(zip(found.overall.rows, cases, strict=True))
    ]
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
    files = tuple(FileRecord(o.name, o.source, 123_456 + i, f"{i:064x}") for i, o in enumerate(found.sources))
    return Provenance(
        command="toplist compare *.parquet --truth truth.csv --classes classes.txt --report board.html",
        versions={"python": "3.11.9", "toplist": "0.1.0", "numpy": "2.3.1", "scipy": "1.16.0"},
        files=files,
        written="2024-05-01",
    )


def page(found: Comparison | None = None, **options: object) -> Page:
    """A whole page."""
    made = drawn(**options) if found is None else found  # type: ignore[arg-type]
    return Page(made, exhibits(made), provenance(made), "Language identification, May 2024")


def _kind(i: int, n: int) -> str:
    return "hard label" if i == n - 1 else "top list" if i % 3 == 1 else "distribution"


def _origin(name: str, i: int, cases: int) -> SourceSummary:
    layout = ("wide", "lists", "long")[i % 3]
    repairs = {"normalize": 40, "duplicates": 2} if i == 3 else {}
    return SourceSummary(name, f"predictions/{i:02d}.parquet", layout, cases, 12 * (i == 1), 0, repairs)


def _exhibit(found: Comparison, i: int, seed: int) -> ModelDetails:
    row = found.overall.rows[i]
    rng = np.random.default_rng((seed, i))
    at = [o.name for o in found.sources].index(row.name)
    kind = _kind(at, len(found.sources))
    mean = row.scores["brier"].mean.value if math.isfinite(row.scores["brier"].mean.value) else 1.2
    ks = (1,) if kind == "hard label" else (1, 2, 3, 4, 5) if kind == "top list" else (1, 2, 3, 5, 10, 20, 50, 246)
    rejects = 12 * (at == 1)
    shapes = (
        *((PredictionType("empty list", rejects, 0.996, 0),) if rejects else ()),
        PredictionType(kind, row.cases - rejects, row.scores["brier"].mean.value, row.scores["brier"].infinite),
    )
    listed = (("gl", 0.93), ("es", 0.05), ("ca", 0.01))
    worst = tuple(
        CaseView(
            f"case-{rng.integers(9999):04d}",
            "pt",
            (PredictionView(row.name, 1.99 - 0.02 * j, 0.0, listed, 0.01 / 241, 5, 0.01),),
            models=len(found.overall.rows),
        )
        for j in range(10)
    )
    return exhibit(
        row.name,
        ks=ks,
        curve=[float(mean + 0.25 / k - 0.25 / ks[-1]) for k in ks],
        shapes=shapes,
        rule=found.rules[0],
        cases=row.cases,
        listed=_drawn_bins(rng, row.cases * 3, 0.02 * i),
        top=_drawn_bins(rng, row.cases, 0.03 * i),
        mass=_drawn_bins(rng, row.cases, 0.01 * i),
        sizes=((ks[-1], row.cases),),
        shortest=ks[-1],
        longest=ks[-1],
        worst=worst,
        invalid="case-0113: gl has 0.001, less than the 0.0021 of each class that is not listed" if row.invalid else "",
    )


def _drawn_bins(rng: np.random.Generator, total: int, over: float) -> tuple[Bin, ...]:
    edges = np.linspace(0, 1, 11)
    counts = rng.multinomial(total, np.array([5, 3, 2, 1, 1, 1, 1, 2, 3, 6]) / 25)
    found = []
    for low, high, n in zip(edges, edges[1:], counts.tolist(), strict=False):
        middle = float((low + high) / 2)
        kept = float(np.clip(middle - over * middle + rng.normal(0, 0.01), 0, 1))
        found.append(Bin(float(low), float(high), int(n), middle, kept))
    return tuple(found)
