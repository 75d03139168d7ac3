"""A leaderboard as people have them: five predictors, two rules, two groups, one of everything that can go wrong."""

from __future__ import annotations

import math

from toplist.ranking.results import Estimate, Mark, Origin, Results, Section, Standing

NAMES = ("transformer-large (fine-tuned)", "gradient boosting", "random forest", "nearest neighbours", "hard labels")
BRIER = (0.31424, 0.31655, 0.35121, 0.40119, 0.52345)
LOG = (0.61218, 0.60944, 0.70112, 0.93345, math.inf)
TOO_FEW = "a single case has no spread"


def example(*, groups: bool = True, missing: str = "reject", reference: str | None = "random forest") -> Results:
    """Five predictors of 12,000 cases."""
    sections = [_section(None, 12_000, 0.0), _section("algebra", 7_400, 0.01), _section("geometry", 1, 0.02)]
    return Results(
        rules=("brier", "log"),
        classes="41",
        cases=12_000,
        compared=12_000,
        missing=missing,
        weighted=False,
        reference=reference,
        penalty=None,
        level=0.95,
        method="normal approximation, cases are independent",
        by="subject" if groups else None,
        origins=tuple(
            Origin(
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
    )


def _section(group: str | None, cases: int, shift: float) -> Section:
    return Section(group, cases, tuple(_standing(i, cases, shift) for i in range(len(NAMES))))


def _standing(i: int, cases: int, shift: float) -> Standing:
    return Standing(
        rank=i + 1,
        name=NAMES[i],
        cases=cases,
        missing=12 * (i == 1),
        marks=(_mark("brier", BRIER, i, cases, shift), _mark("log", LOG, i, cases, shift)),
        accuracy=0.81 - 0.02 * i,
        top_k_error={1: 0.19 + 0.02 * i, 5: 0.04 + 0.01 * i},
        coverage=0.97 - 0.03 * i,
        mean_size=10.0 if i < 4 else 1.0,
        mean_mass=0.99 if i < 4 else 1.0,
        invalid=3 * (i == 2),
        invalid_rate=3 * (i == 2) / 12_000,
    )


def _mark(rule: str, means: tuple[float, ...], i: int, cases: int, shift: float) -> Mark:
    mean, half = means[i] + shift, 0.0021 + 0.0004 * i
    behind = mean - means[0] - shift
    return Mark(
        rule=rule,
        score=_estimate(mean, half, cases),
        unpenalised=mean - 0.0001 * (i == 2),
        infinite=17 * math.isinf(mean),
        finite=0.75 if math.isinf(mean) else mean,
        skill=1 - mean / 0.9756,
        reference_skill=1 - mean / (means[2] + shift),
        behind=_estimate(behind, half * 1.2, cases) if i else None,
        relative=0.9 + 0.07 * i,
    )


def _estimate(value: float, half: float, cases: int) -> Estimate:
    if math.isinf(value):
        return Estimate(value, why="the mean is infinite")
    return Estimate(value, value - half, value + half) if cases > 1 else Estimate(value, why=TOO_FEW)
