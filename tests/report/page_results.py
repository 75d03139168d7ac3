"""What a page shows beside its leaderboard, made by hand: classes, cases, confusions, pairs, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.report import results
from toplist.calibration.decomposition import Reliability, reliability
from toplist.calibration.miscalibration import CalibrationBias, CalibrationTest, CalibrationVerdict
from toplist.inference.results import (
    Breakdown,
    CaseView,
    Comparison,
    Confusion,
    PairCases,
    PredictionView,
)
from toplist.report.html import Page

CLASSES = ("cat", "dog", "bird", "ship")


def breakdown(
    models: Sequence[str],
    groups: Sequence[str] = CLASSES,
    *,
    by: str = "true class",
    spread: float = 0.02,
    least: float = 0.03,
    **changes: Any,
) -> Breakdown:
    """Means that differ more from model to model in later groups; differences from `least` on are significant."""
    count = len(models)
    means = [
        [0.3 - 0.05 * g / len(groups) + spread * (g + 1) * (m - (count - 1) / 2) for m in range(count)]
        for g in range(len(groups))
    ]
    differences = [[x - sum(row) / count for x in row] for row in means]
    base: dict[str, Any] = {
        "cases": tuple(100 + 10 * g for g in range(len(groups))),
        "means": tuple(map(tuple, means)),
        "accuracy": tuple(tuple(0.9 - x / 2 for x in row) for row in means),
        "differences": tuple(map(tuple, differences)),
        "significant": tuple(tuple(abs(x) >= least for x in row) for row in differences),
    }
    return Breakdown(by, tuple(groups), models=tuple(models), **(base | changes))


def prediction(
    model: str,
    listed: Sequence[tuple[str, float]] = (("dog", 0.98), ("cat", 0.02), ("bird", 0.0)),
    outcome: str = "cat",
    **changes: Any,
) -> PredictionView:
    """What a model predicted; the score is the Brier score of the listed classes."""
    own = dict(listed)
    score = sum(x * x for label, x in listed if label != outcome) + (1 - own.get(outcome, 0.0)) ** 2
    base: dict[str, Any] = {
        "score": score,
        "right": float(bool(listed) and listed[0][0] == outcome),
        "true": own.get(outcome, 0.0),
        "size": len(listed),
        "rest": max(0.0, 1 - sum(own.values())),
    }
    return PredictionView(model=model, listed=tuple(listed), **(base | changes))


def case(
    *predictions: PredictionView, called: str = "case 7", outcome: str = "cat", right: float = 1.0, models: int = 5
) -> CaseView:
    return CaseView(called, outcome, predictions, right, models)


def fixed(reference: str, candidate: str, called: str = "case 8", models: int = 2) -> CaseView:
    """A case that the candidate alone has right."""
    good, bad = (("cat", 0.95), ("dog", 0.05)), (("dog", 0.9), ("cat", 0.1))
    return case(prediction(reference, bad), prediction(candidate, good), called=called, models=models)


def pair(a: str, b: str, **changes: Any) -> PairCases:
    """Two models on 1,000 cases."""
    base: dict[str, Any] = {
        "cases": 1000,
        "both_right": 700,
        "only_a_right": 120,
        "only_b_right": 80,
        "both_wrong": 100,
        "a_better": 560,
        "b_better": 430,
        "equal": 10,
        "turning": 26,
        "for_a": (fixed(b, a),),
        "for_b": (fixed(a, b, "case 9"),),
    }
    return PairCases(a=a, b=b, **(base | changes))


def verdict(difference: float = 0.05, p: float = 0.001, cases: int = 1000) -> CalibrationVerdict:
    """A test with this p value, and a bias with an interval of two points to either side."""
    low, high = difference - 0.02, difference + 0.02
    bias = CalibrationBias("top", 0.8 + difference, 0.8, difference, low, high, cases, 0.95, 0.03)
    test = CalibrationTest(0.01, 0.002, p, 199, 0, p)
    return CalibrationVerdict(test, cases, bias, None, None)


def curve(seed: int = 0, n: int = 300) -> Reliability:
    p = np.random.default_rng(seed).dirichlet(np.ones(3), size=n)
    return reliability(p, np.arange(n) % 3, of="top", draws=39)


def confusions(classes: Sequence[str] = CLASSES) -> tuple[Confusion, ...]:
    return tuple(
        Confusion(a, b, 50 - 7 * i, 0.05 - 0.004 * i, 0.7 + 0.01 * i)
        for i, (a, b) in enumerate((a, b) for a in classes[:2] for b in classes if a != b)
    )


def whole(found: Comparison | None = None, *, classes: Sequence[str] = CLASSES, **options: Any) -> Page:
    """A page with all that a report shows."""
    page = results.page(found, **options)
    names = [row.name for row in page.results.overall.rows]
    lead, others = names[0], names[1:]
    details = tuple(
        replace(
            one,
            confusions=confusions(classes),
            worst=tuple(
                case(prediction(one.name), called=f"case {i}", right=float(i % 2), models=len(names)) for i in range(8)
            ),
        )
        for one in page.exhibits
    )
    by = [breakdown(names, classes)]
    if page.results.groups:
        own = [group.group or "" for group in page.results.groups]
        by.append(breakdown(names, own, by=page.results.group or "group"))
    return replace(
        page,
        exhibits=details,
        judged={name: verdict(0.02 * i, 0.6 if not i else 0.001) for i, name in enumerate(names)},
        curves={name: curve(i) for i, name in enumerate(names[:3])},
        breakdowns=tuple(by),
        against=tuple(pair(lead, other) for other in others),
    )
