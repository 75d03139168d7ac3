"""Predictions to be diagnosed, of every kind that a diagnosis has something else to say of."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import toplist as tl
from toplist.lists import from_logs

CLASSES = 6


def drawn(n: int = 600, power: float = 1.0, seed: int = 0, k: int = CLASSES) -> tuple[tl.TopLists, Any]:
    """Lists that are true for power 1, overconfident above and underconfident below."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6] * CLASSES, size=n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    raised = p**power
    return tl.TopLists.from_proba(raised / raised.sum(axis=1, keepdims=True)).truncate(k), y


def both_directions() -> tl.Diagnosis:
    """One half is overconfident, the other underconfident."""
    n, odd = 400, np.arange(400) % 2
    y = np.where(odd, np.arange(n) % 10 < 6, np.arange(n) % 20 < 16).astype(int)
    return tl.diagnose(tl.TopLists.from_topk(np.ones((n, 1), int), np.where(odd, 0.9, 0.5)[:, None], 2), y)


def first(condition: Callable[[tl.Diagnosis], bool], **options: Any) -> tl.Diagnosis:
    """The first one of drawn lists of which this is true."""
    diagnoses = (tl.diagnose(*drawn(seed=seed, **options), draws=39) for seed in range(40))
    return next(diagnosis for diagnosis in diagnoses if condition(diagnosis))


def is_undecided(diagnosis: tl.Diagnosis) -> bool:
    bias = diagnosis.bias
    return not diagnosis.miscalibrated and bias is not None and not bias.low <= 0 <= bias.high  # type: ignore[operator]


def per_case() -> tl.Diagnosis:
    lists = tl.TopLists.from_topk([[0], [1]] * 15, [[0.6], [0.5]] * 15, tl.ClassSpace([2, 5] * 15))
    return tl.diagnose(lists, [0, 3] * 15)


def of_any_number(classes: float) -> tl.Diagnosis:
    return tl.diagnose(
        tl.TopLists.from_dicts([{"x": 0.7, "y": 0.2}, {"z": 0.4}, {}] * 10, classes), ["x", "w", "z"] * 10
    )


def sets() -> tl.Diagnosis:
    space = tl.LabelSets([f"label {number}" for number in range(100)])
    return tl.diagnose([{"label 1"}, {"label 2", "label 3"}] * 10, [{"label 1"}, {"label 2"}] * 10, space=space)


def unscorable(**options: Any) -> tl.Diagnosis:
    return tl.diagnose([{"a": 0.7, "b": 0.5}, {"a": 0.2}, {"a": 0.3}], ["a", "a", "b"], space=3, **options)


DIAGNOSES: dict[str, Callable[[], tl.Diagnosis]] = {
    "overconfident": lambda: tl.diagnose(*drawn(power=3.0, k=3)),
    "underconfident": lambda: tl.diagnose(*drawn(power=0.4)),
    "both-directions": both_directions,
    "no-evidence": lambda: tl.diagnose(*drawn()),
    "undecided": lambda: first(is_undecided, n=300, power=1.2),
    "error-below-zero": lambda: first(lambda diagnosis: diagnosis.calibration_error.value < 0),  # type: ignore[union-attr]
    "beyond-what-is-possible": lambda: tl.diagnose(
        tl.TopLists.from_topk([[0]] * 4, [[0.9]] * 4, 2), [0, 0, 0, 1], draws=39
    ),
    "array": lambda: tl.diagnose(drawn(30)[0].padded(), [0, 1, 3] * 10, space=CLASSES),
    "pair": lambda: tl.diagnose((np.zeros((30, 1), int), np.full((30, 1), 0.5)), [0, 1, 3] * 10, space=CLASSES),
    "dicts": lambda: tl.diagnose([{0: 0.5, 1: 0.2}] * 30, [0, 1, 3] * 10, space=CLASSES),
    "labels": lambda: tl.diagnose([0, 1, 2] * 10, [0, 1, 3] * 10, space=CLASSES),
    "sparse": lambda: tl.diagnose(csr_array(np.array([[0.5, 0.2, 0.3], [0.0, 1.0, 0.0]])), [0, 1]),
    "sets": sets,
    "one-list": lambda: tl.diagnose(tl.TopList({0: 0.5}, 3), 0),
    "no-cases": lambda: tl.diagnose(tl.TopLists.from_dicts([], 3), []),
    "empty-lists": lambda: tl.diagnose(tl.TopLists.from_dicts([{}] * 20, 3), [0, 1] * 10),
    "invalid": lambda: tl.diagnose(
        tl.TopLists.from_dicts([{"x": 0.5, "y": 0.2}, {"x": 0.0, "y": 0.9}] * 10, 3), ["x", "y"] * 10
    ),
    "invalid-alone": lambda: tl.diagnose(tl.TopLists.from_dicts([{"x": 0.0}] * 10, 3), ["y"] * 10),
    "2-to-the-10000": lambda: of_any_number(2**10000),
    "infinitely-many": lambda: of_any_number(math.inf),
    "per-case": per_case,
    "underflow": lambda: tl.diagnose(from_logs([0, 1, 2], [0, 1], [-3083.0, -0.5], 2**10000), [0, 5]),
    "unscorable": unscorable,
    "repaired": lambda: unscorable(read=tl.ReadOptions(normalize=True)),
    "percent": lambda: tl.diagnose([[70.0, 30.0], [20.0, 80.0]], [0, 1], read=tl.ReadOptions(scale="percent")),
    "without-outcomes": lambda: tl.diagnose([{"a": 0.6, "b": 0.0}] * 20),
}


@cache
def diagnosis(name: str) -> tl.Diagnosis:
    """By its name, made once."""
    return DIAGNOSES[name]()
