"""Results, exhibits and paths made by hand: what the figures are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from toplist.calibration.bins import Bin
from toplist.inference.results import (
    Comparison,
    ConfidenceSet,
    Estimate,
    Group,
    ModelDetails,
    ModelRow,
    Pair,
    PredictionType,
    RuleScore,
    SequentialPath,
)

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


def names(n: int) -> tuple[str, ...]:
    return tuple(f"model {i + 1}" for i in range(n))


def estimate(value: float, half: float | None = 0.004) -> Estimate:
    if not math.isfinite(value) or half is None:
        return Estimate(value, reason="no interval")
    return Estimate(value, value - half, value + half, error=half / 2, p=0.5)


def mark(rule: str, value: float, half: float | None = 0.004) -> RuleScore:
    infinite = 17 if math.isinf(value) else 0
    return RuleScore(rule, estimate(value, half), value, infinite, 0.7 if infinite else value, None, None, None, None)


def standing(rank: int, name: str, marks: Sequence[RuleScore], cases: int = 1000) -> ModelRow:
    return ModelRow(rank, name, cases, 0, 0, {one.rule: one for one in marks}, {})


def section(
    group: str | None, who: Sequence[str], means: Sequence[float], half: float | None, rules: Sequence[str] = ("brier",)
) -> Group:
    order = sorted(range(len(who)), key=lambda i: (math.isnan(means[i]), means[i]))
    rows = tuple(
        standing(r, who[i], [mark(rule, means[i] * (1 + j), half) for j, rule in enumerate(rules)])
        for r, i in enumerate(order, 1)
    )
    return Group(group, 1000, rows)


def results(
    who: Sequence[str] = ("a", "b", "c"),
    means: Sequence[float] | None = None,
    *,
    half: float | None = 0.004,
    groups: Sequence[str] = (),
    members: int | None = None,
    rules: Sequence[str] = ("brier",),
) -> Comparison:
    """Models with these means, best first; the groups shift them."""
    means = [0.3 + 0.013 * i + 0.002 * (i % 3) for i in range(len(who))] if means is None else means
    overall = section(None, who, means, half, rules)
    table = [s.name for s in overall.rows]
    found = None
    if members is not None:
        p = {name: 0.5 if i < members else 0.01 for i, name in enumerate(table)}
        found = ConfidenceSet(rules[0], 0.95, tuple(table[:members]), p, 1000, "stationary bootstrap", 1)
    return Comparison(
        rules=tuple(rules),
        k=(),
        classes="10",
        cases=1000,
        compared=1000,
        missing="error",
        weighted=False,
        baseline=None,
        penalty=None,
        level=0.95,
        method="normal approximation, cases are independent",
        by="group" if groups else None,
        clusters=None,
        order=None,
        origins=(),
        overall=overall,
        groups=tuple(
            section(g, who, [m * (1 + 0.3 * math.sin(j + i / 3)) for i, m in enumerate(means)], half, rules)
            for j, g in enumerate(groups)
        ),
        pairs=pairs(overall, rules),
        confidence_set=found,
    )


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


def pairs(overall: Group, rules: Sequence[str]) -> tuple[Pair, ...]:
    made = []
    for rule in rules:
        for a, b in combinations(overall.rows, 2):
            value = a.scores[rule].mean.value - b.scores[rule].mean.value
            adjusted = min(1.0, 3 * math.exp(-abs(value) / 0.004)) if math.isfinite(value) else None
            made.append(Pair(rule, a.name, b.name, 1000, estimate(value), adjusted, 0))
    return tuple(made)


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
) -> ModelDetails:
    curve = [0.3 + 0.02 * place + 0.2 / (k + 1) for k in ks] if curve is None else curve
    kinds = (
        PredictionType("empty list", 30 + place, 0.9, 0),
        PredictionType("hard label", 200, 0.5 - 0.01 * place, 0),
        PredictionType("top list", 600, 0.3 + 0.01 * place, 0),
        PredictionType("distribution", 170 - place, 0.25, 0),
    )
    return ModelDetails(
        name=name,
        rule="brier",
        cases=1000,
        ks=tuple(ks),
        curve=tuple(curve),
        listed=bins(count, 0.1),
        top=bins(count, -0.15),
        mass=bins(count, 0.05),
        sizes=((0, 30), (1, 200), (5, 600), (10, 170)),
        shortest=0,
        longest=10,
        shapes=kinds if shapes is None else tuple(shapes),
        costly=(),
        invalid="",
    )


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
