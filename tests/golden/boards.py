"""Twelve boards of drawn predictions: everything that a comparison may have to say is on one of them.

Probabilities are quotients of whole numbers, as in `lists.py`, so that the same ones are drawn on every machine.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import toplist as tl

SEED = 20_260_102
FRUITS = ("apple", "banana", "cherry", "date", "elderberry", "fig", "grape", "hazelnut", "imbe", "jackfruit")
GRADES = ("poor", "fair", "good", "very good", "excellent")


class Draw:
    """Outcomes of some cases, and models that know more or less about them."""

    def __init__(self, number: int, cases: int, classes: int) -> None:
        self.rng = np.random.Generator(np.random.PCG64([SEED, number]))
        self.classes = classes
        self.outcomes = self.rng.integers(0, classes, cases)

    def probabilities(self, skill: int) -> NDArray[np.float64]:
        """A distribution per case: the larger the skill, the more goes to the outcome on average."""
        weights = self.rng.integers(1, 1000, (len(self.outcomes), self.classes))
        weights[np.arange(len(weights)), self.outcomes] += skill * self.rng.integers(0, 1000, len(weights))
        return weights / weights.sum(axis=1, keepdims=True)

    def lists(self, skill: int, k: int, space: Any = None) -> tl.TopLists:
        """Its most probable classes."""
        return tl.TopLists.from_proba(self.probabilities(skill), space, k)

    def choices(self, what: Any) -> list[Any]:
        """One of these for each case."""
        return [what[int(at)] for at in self.rng.integers(0, len(what), len(self.outcomes))]

    def named(self, names: tuple[str, ...]) -> list[str]:
        """The outcomes by name."""
        return [names[int(code)] for code in self.outcomes]

    def frame(self, skill: int, names: tuple[str, ...], lacks: int) -> pd.DataFrame:
        """A table of distributions by case, in another order, from which some cases are missing."""
        table = pd.DataFrame(self.probabilities(skill), columns=list(names), index=self.ids)
        order = self.rng.permutation(len(table))[lacks:]
        return table.iloc[order].rename_axis("case")

    @property
    def ids(self) -> list[str]:
        """Of the cases."""
        return [f"case-{number:03d}" for number in range(len(self.outcomes))]


def answers() -> tl.Leaderboard:
    """Two models, open-ended answers: infinitely many classes."""
    draw = Draw(1, 80, 10)
    right = draw.named(FRUITS)
    models = {}
    for name, skill in (("small", 2), ("large", 9)):
        p = draw.probabilities(skill)
        models[name] = [{FRUITS[int(row.argmax())]: float(row.max())} for row in p]
    return tl.compare(models, right, space=tl.ClassSpace(math.inf, FRUITS))


def shapes() -> tl.Leaderboard:
    """Labels, lists of several lengths, rejects and distributions, under five rules, with clusters."""
    draw = Draw(2, 150, 10)
    space = tl.ClassSpace(FRUITS)
    best = draw.probabilities(12)
    models = {
        "distributions": best,
        "labels": [FRUITS[int(code)] for code in draw.probabilities(9).argmax(axis=1)],
        "top 1": draw.lists(10, 1, space),
        "top 3 of distributions": tl.TopLists.from_proba(best, space, 3),
        "sure or silent": [
            {FRUITS[int(row.argmax())]: float(row.max())} if row.max() > 0.3 else {} for row in draw.probabilities(11)
        ],
    }
    truth = tl.Truth(draw.named(FRUITS), cluster=draw.choices(range(30)))
    rules = ("brier", "log", "spherical", "zero-one", "one-vs-rest")
    return tl.compare(models, truth, space=space, rules=rules, k=(1, 3))


def groups() -> tl.Leaderboard:
    """Groups, weights and a baseline."""
    draw = Draw(3, 180, 4)
    models = {name: draw.lists(skill, k) for name, skill, k in (("base", 4, 4), ("a", 3, 2), ("b", 8, 2), ("c", 6, 1))}
    truth = tl.Truth(
        draw.outcomes.tolist(), group=draw.choices(("north", "south", "west")), weight=draw.choices((1, 2, 5))
    )
    return tl.compare(models, truth, baseline="base")


def time() -> tl.Leaderboard:
    """Cases in time; infinite scores, since some classes have the probability zero."""
    draw = Draw(4, 200, 3)
    sure = draw.probabilities(20)
    sure = (sure >= sure.max(axis=1, keepdims=True)).astype(float)
    models = {"hedged": draw.probabilities(10), "sure": sure, "dull": draw.probabilities(1)}
    days = pd.date_range("2025-01-01", periods=100).repeat(2)
    return tl.compare(models, tl.Truth(draw.outcomes.tolist(), time=days), inference=0.9)


def common() -> tl.Leaderboard:
    """Models lack cases: those count that all have."""
    draw = Draw(5, 120, 5)
    models = {
        "all": draw.frame(7, GRADES, 0), "some": draw.frame(9, GRADES, 12), "half": draw.frame(5, GRADES, 40),
    }  # fmt: skip
    truth = pd.DataFrame({"case": draw.ids, "outcome": draw.named(GRADES)})
    return tl.compare(models, truth, missing="common")


def pairwise() -> tl.Leaderboard:
    """Models lack cases: every two are compared on those of both; with clusters, and a model without a rank."""
    draw = Draw(6, 120, 5)
    models = {
        "all": draw.frame(7, GRADES, 0), "some": draw.frame(9, GRADES, 12),
        "half": draw.frame(5, GRADES, 40), "few": draw.frame(12, GRADES, 100),
    }  # fmt: skip
    truth = pd.DataFrame({"case": draw.ids, "outcome": draw.named(GRADES), "ward": draw.choices(range(25))})
    return tl.compare(models, tl.Truth(truth, cluster="ward"), missing="pairwise", inference=tl.Inference(min_cases=50))


def penalty() -> tl.Leaderboard:
    """Invalid lists with a penalty beyond the bounds of the rule."""
    draw = Draw(7, 90, 4)
    some = [{int(row.argmax()): 0.5, int(row.argmin()): float(row.min()) / 8} for row in draw.probabilities(6)]
    most = [{0: 0.5, 1: 0.01 * (1 + at % 3)} for at in range(90)]
    models = {"valid": draw.lists(6, 2), "often invalid": some, "always invalid": most}
    return tl.compare(models, draw.outcomes.tolist(), space=4, penalty=5.0)


def ordinal() -> tl.Leaderboard:
    """Ordered classes, and the same predictions under two names."""
    draw = Draw(8, 100, 5)
    space = tl.ClassSpace(GRADES, ordinal=True)
    first = draw.lists(6, 3, space)
    models = {"one": first, "the same": first, "whole": draw.lists(7, 5, space), "label": draw.lists(9, 1, space)}
    rules = ("rps", "rps-normalized", "ranked_log", "brier")
    return tl.compare(models, draw.named(GRADES), space=space, rules=rules)


def soft() -> tl.Leaderboard:
    """Outcomes are distributions."""
    draw = Draw(9, 60, 3)
    models = {"sharp": draw.probabilities(12), "blunt": draw.probabilities(2), "listed": draw.lists(9, 1)}
    return tl.compare(models, draw.probabilities(15), space=3, baseline="blunt")


def many() -> tl.Leaderboard:
    """Forty models on few cases."""
    draw = Draw(10, 60, 4)
    models = {f"model {number:02d}": draw.lists(1 + number // 4, 1 + number % 4) for number in range(40)}
    return tl.compare(models, draw.outcomes.tolist(), rules="brier")


def sets() -> tl.Leaderboard:
    """Classes are sets of labels."""
    draw = Draw(11, 80, 16)
    labels = ("sun", "rain", "wind", "snow")
    every = [frozenset(name for at, name in enumerate(labels) if code >> at & 1) for code in range(16)]
    space = tl.LabelSets(labels)
    models: dict[str, Any] = {
        name: [{every[int(at)]: float(row[at]) for at in np.argsort(-row, kind="stable")[:k]} for row in p]
        for name, k, p in (("three", 3, draw.probabilities(40)), ("one", 1, draw.probabilities(60)))
    }
    models["set"] = [every[int(code)] for code in draw.probabilities(50).argmax(axis=1)]
    return tl.compare(models, [every[int(code)] for code in draw.outcomes], space=space, rules=("brier", "zero-one"))


def options() -> tl.Leaderboard:
    """The number of classes differs per case; bootstrap."""
    draw = Draw(12, 100, 3)
    space = tl.ClassSpace([3, 4, 5, 8] * 25)
    models: dict[str, Any] = {}
    for name, skill, k in (("guess", 1, 1), ("read", 8, 2), ("know", 20, 1)):
        p = draw.probabilities(skill)
        order = np.argsort(-p, axis=1, kind="stable")[:, :k]
        models[name] = tl.TopLists.from_topk(order, np.take_along_axis(p, order, axis=1), space)
    return tl.compare(models, draw.outcomes.tolist(), space=space, inference="bootstrap")


BOARDS = {
    board.__name__: board
    for board in (answers, shapes, groups, time, common, pairwise, penalty, ordinal, soft, many, sets, options)
}


@cache
def board(name: str) -> tl.Leaderboard:
    """A board by its name, compared once."""
    return BOARDS[name]()


@cache
def path() -> tl.Monitor:
    """Two models against a baseline, after every case."""
    draw = Draw(13, 150, 3)
    models = {"base": draw.lists(2, 2), "better": draw.lists(12, 2), "alike": draw.lists(2, 3)}
    return tl.monitor(models, draw.outcomes.tolist(), baseline="base")
