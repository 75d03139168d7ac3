"""Why a mean score is what it is: miscalibration, discrimination, uncertainty, misses and penalties."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist.arguments import as_whole
from toplist.diagnosis.parts import Part, kept_in, layers, part_of, unlisted
from toplist.diagnosis.recalibrated import base_rates, recalibrated
from toplist.diagnosis.views import require_cases
from toplist.lists import TopLists
from toplist.promises import Promises, promises
from toplist.rules import Brier, Rule, as_rule, name_of
from toplist.scoring import penalise, score

RANKS = 10


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A mean score: miscalibration - discrimination + uncertainty + misses + penalty (+ within, if from bins).

    A part is None where infinite scores leave it without a value; `note` says so.
    """

    rule: str
    cases: int
    score: float
    miscalibration: float | None
    discrimination: float | None
    uncertainty: float
    misses: float  # what unlisted outcomes cost whatever the rest mass is
    penalty: float  # what invalid lists pay, on average
    parts: tuple[Part, ...]  # by rank, and the rest; empty where the rule has no such parts
    within: float = 0.0  # what bins hide
    note: str = ""


def decompose(
    lists: TopLists, y: Any, *, rule: Any = "brier", penalty: float | None = None, ranks: Any = RANKS
) -> Decomposition:
    """The mean score in parts that add up to it.

    The Brier score of a list is a sum over its ranks, the rest mass and misses:
    S = sum over r of (t_r - h_r)^2 + (a - u)^2 / n + u (1 - 1/n), where h_r says whether the class of rank r happened,
    u whether none did, a is the rest mass and n the number of classes that share it. Each square is split by isotonic
    regression (Dimitriadis, Gneiting and Jordan 2021), so that no part is negative; ranks beyond `ranks` are taken
    together. For other rules S is the mean score of the lists, C that of lists calibrated rank by rank in the same
    way, and R that of one list of base rates: miscalibration S - C, discrimination R - C, uncertainty R. The first
    two may then be negative, because what is calibrated by rank need not be so jointly.

    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {"b": 0.6}], 3)
    >>> made = decompose(lists, ["a", "a", "c"])
    >>> [round(x, 6) for x in (made.score, made.miscalibration, made.discrimination, made.uncertainty, made.misses)]
    [0.431667, 0.015, 0.083333, 0.333333, 0.166667]
    """
    rule, ranks, made = as_rule(rule), as_whole(ranks, "ranks", 1), promises(lists, y)
    require_cases(made)
    total = float(score(lists, y, rule=rule, penalty=penalty).mean())
    due = float(penalise(np.zeros(len(lists)), lists, rule, penalty).mean())
    if isinstance(rule, Brier):
        return _by_rank(made, rule, total, due, ranks)
    return _by_recalibration(lists, y, made, rule, total, due, ranks)


def sum_up(
    rule: Rule, cases: int, total: float, parts: tuple[Part, ...], misses: float, due: float, within: float = 0.0
) -> Decomposition:
    """The whole of its parts."""
    return Decomposition(
        name_of(rule),
        cases,
        total,
        math.fsum(p.miscalibration for p in parts),
        math.fsum(p.discrimination for p in parts),
        math.fsum(p.uncertainty for p in parts),
        misses,
        due,
        parts,
        within,
    )


def _by_rank(made: Promises, rule: Brier, total: float, due: float, ranks: int) -> Decomposition:
    cases, by = len(made.lists), 0.5 if rule.scale_by_half else 1.0
    parts = tuple(part_of(layer, kept_in(layer, made), cases).times(by) for layer in layers(made, ranks))
    misses = by * float((1.0 - 1.0 / unlisted(made)[made.missed]).sum()) / cases
    return sum_up(rule, cases, total, parts, misses, due)


def _by_recalibration(
    lists: TopLists, y: Any, made: Promises, rule: Rule, total: float, due: float, ranks: int
) -> Decomposition:
    s, c, r = (
        float(score(each, y, rule=rule, penalty=0.0).mean())
        for each in (lists, recalibrated(made, ranks), base_rates(made, ranks))
    )
    note = ""
    if math.isinf(c):
        note = (
            "the mean score is infinite whatever the confidences are, as with a miss among infinitely many classes: "
            "it has no parts."
        )
    elif math.isinf(s):
        note = "the mean score is infinite, and all of that is miscalibration."
    return Decomposition(
        name_of(rule), len(lists), total, _minus(s, c), _minus(r, c), r, 0.0, due, (), 0.0, note
    )  # fmt: skip


def _minus(a: float, b: float) -> float | None:
    return None if math.isinf(a) and math.isinf(b) else a - b
