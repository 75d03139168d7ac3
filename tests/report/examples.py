"""A leaderboard as people have them: five models, two rules, two groups, one of everything that can go wrong."""

from __future__ import annotations

import math
from itertools import combinations

from toplist.inference.results import (
    Comparison,
    ConfidenceSet,
    Estimate,
    Group,
    ModelRow,
    Pair,
    RuleScore,
    SequentialPath,
    SourceSummary,
)

NAMES = ("transformer-large (fine-tuned)", "gradient boosting", "random forest", "nearest neighbours", "hard labels")
BRIER = (0.31424, 0.31655, 0.35121, 0.40119, 0.52345)
LOG = (0.61218, 0.60944, 0.70112, 0.93345, math.inf)
TOO_FEW = "a single case has no spread"


def example(*, groups: bool = True, missing: str = "reject", reference: str | None = "random forest") -> Comparison:
    """Five models of 12,000 cases."""
    sections = [_section(None, 12_000, 0.0), _section("algebra", 7_400, 0.01), _section("geometry", 1, 0.02)]
    return Comparison(
        rules=("brier", "log"),
        k=(1, 5),
        classes="41",
        cases=12_000,
        compared=12_000,
        missing=missing,
        weighted=False,
        baseline=reference,
        penalty=None,
        level=0.95,
        method="normal approximation, cases are independent",
        by="subject" if groups else None,
        clusters=None,
        order=None,
        origins=tuple(
            SourceSummary(
                name,
                f"{name}.parquet",
                "wide",
                12_000,
                12 * (i == 1),
                0,
                {"renormalise": 40, "clip": 2} if i == 3 else {},
            )
            for i, name in enumerate(NAMES)
        ),
        overall=sections[0],
        groups=tuple(sections[1:]) if groups else (),
        pairs=tuple(
            _pair(rule, means, a, b)
            for rule, means in (("brier", BRIER), ("log", LOG))
            for a, b in combinations(range(len(NAMES)), 2)
        ),
        confidence_set=ConfidenceSet(
            "brier",
            0.95,
            NAMES[:2],
            dict(zip(NAMES, (1.0, 0.31, 0.0, 0.0, 0.0), strict=True)),
            12_000,
            "1,000 draws, seed 0; cases drawn one by one, which assumes that they are independent of each other",
            0,
        ),
        paths=(_path(),),
        seed=None,
    )


def _pair(rule: str, means: tuple[float, ...], a: int, b: int) -> Pair:
    """All but the first two are told apart; those with infinite means are not compared."""
    difference = _estimate(means[a] - means[b], 0.0042, 12_000)
    near = (a, b) == (0, 1)
    adjusted = None if difference.p is None else 0.28 if near else 0.0004
    more = None if difference.p is None else 23_456 if near else 0
    return Pair(rule, NAMES[a], NAMES[b], 12_000, difference, adjusted, more)


def _path() -> SequentialPath:
    """A path that ends with evidence beyond all doubt."""
    return SequentialPath(
        rule="brier",
        candidate=NAMES[0],
        baseline=NAMES[2],
        level=0.95,
        cases=12_000,
        at=(1, 100, 12_000),
        mean=(0.2, -0.03, -0.037),
        low=(-2.0, -0.4, -0.051),
        high=(2.0, 0.34, -0.023),
        log_evidence_better=(-0.1, 1.5, math.inf),
        log_evidence_worse=(0.1, -3.0, -9.0),
        separated=4_321,
        shown_better=3_210,
        shown_worse=None,
        method="empirical Bernstein sequence",
    )


def _section(group: str | None, cases: int, shift: float) -> Group:
    return Group(group, cases, tuple(_standing(i, cases, shift) for i in range(len(NAMES))))


def _standing(i: int, cases: int, shift: float) -> ModelRow:
    return ModelRow(
        rank=i + 1,
        name=NAMES[i],
        cases=cases,
        missing=12 * (i == 1),
        scores={rule: _rule_score(rule, means, i, cases, shift) for rule, means in (("brier", BRIER), ("log", LOG))},
        invalid=3 * (i == 2),
        metrics={
            "accuracy": Estimate(0.81 - 0.02 * i),
            "top_1_error": Estimate(0.19 + 0.02 * i),
            "top_5_error": Estimate(0.04 + 0.01 * i),
            "coverage": Estimate(0.97 - 0.03 * i),
            "mean_length": Estimate(10.0 if i < 4 else 1.0),
            "mean_mass": Estimate(0.99 if i < 4 else 1.0),
            "invalid_rate": Estimate(3 * (i == 2) / 12_000),
        },
    )


def _rule_score(rule: str, means: tuple[float, ...], i: int, cases: int, shift: float) -> RuleScore:
    mean, half = means[i] + shift, 0.0021 + 0.0004 * i
    away = mean - means[0] - shift
    return RuleScore(
        rule=rule,
        mean=_estimate(mean, half, cases),
        unpenalised=mean - 0.0001 * (i == 2),
        infinite=17 * math.isinf(mean),
        finite=0.75 if math.isinf(mean) else mean,
        skill=_skill(1 - mean / 0.9756, half, cases),
        baseline_skill=_skill(1 - mean / (means[2] + shift), half, cases),
        difference=_estimate(away, half * 1.2, cases) if i else None,
        relative=_estimate(0.9 + 0.07 * i, half, cases),
    )


def _estimate(value: float, half: float, cases: int) -> Estimate:
    if math.isinf(value):
        return Estimate(value, reason="the mean is infinite")
    if cases == 1:
        return Estimate(value, reason=TOO_FEW)
    return Estimate(value, value - half, value + half, error=half / 1.96, p=math.exp(-abs(value) / half))


def _skill(value: float, half: float, cases: int) -> Estimate | None:
    return None if math.isinf(value) else _estimate(value, half, cases)
