"""What is done with scores, and when it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from simulations import worlds
from simulations.worlds import World
from toplist.inference.confidence_set import confidence_set
from toplist.inference.ranking import ComparisonSpec, extra_units, pairs
from toplist.inference.results import Estimate
from toplist.inference.settings import IntervalMethod

ALPHA = 0.05
MISSES = "misses the true value"
REJECTS = "rejects where nothing differs"
Expected = Literal["holds", "short", "fails"]


@dataclass(frozen=True, slots=True)
class Method:
    """What is done with a world, and whether it goes wrong there.

    What is expected of it: that it holds; that it falls short, by a figure that is told; or that it fails, because it
    assumes what is not so.
    """

    name: str
    wrong: Callable[[World, int], bool]  # the number is a seed for what is drawn
    expected: Expected = "holds"
    claim: str = MISSES
    nominal: float = ALPHA


def _outside(found: Estimate | None, truth: float) -> bool:
    if found is None or found.low is None or found.high is None:
        return True
    return not found.low <= truth <= found.high


def _relative(scores: worlds.Floats) -> float:
    """The geometric mean of the ratios of the first one's scores to those of all, on common cases."""
    common = [~np.isnan(scores[0]) & ~np.isnan(other) for other in scores]
    ratios = [scores[0, at].sum() / other[at].sum() for other, at in zip(scores, common, strict=True)]
    return math.exp(float(np.mean(np.log(ratios))))


def interval(
    name: str,
    how: IntervalMethod,
    expected: Expected = "holds",
    *,
    quantity: str = "difference",
    apart: bool = False,
    **more: Any,
) -> Method:
    """An interval of a quantity; `apart` takes cases as independent, which they may not be."""

    def wrong(world: World, seed: int) -> bool:
        truth = world.truth[quantity]
        found = (world.apart() if apart else world).by(how, seed=seed, **more)
        if quantity == "mean":
            return _outside(found.mean(0, 0), truth)
        if quantity == "skill":
            return _outside(found.skill(0, 0), truth)
        if quantity == "skill over another":
            return _outside(found.baseline_skill(0, 0, len(world.scores) - 1), truth)
        if quantity == "relative":
            everyone = tuple(range(len(world.scores)))
            return _outside(found.relative(0, 0, _relative(world.scores), everyone), truth)
        return _outside(found.difference(0, 0, 1), truth)

    return Method(name, wrong, expected)


def p_value(name: str, how: IntervalMethod, expected: Expected = "holds", **more: Any) -> Method:
    """A test at 5%."""

    def wrong(world: World, seed: int) -> bool:
        p = world.by(how, seed=seed, **more).difference(0, 0, 1).p
        return p is not None and p <= ALPHA

    return Method(name, wrong, expected, REJECTS)


def family(name: str, expected: Expected, *, adjusted: bool) -> Method:
    """Whether any pair of equal models is told apart."""

    def wrong(world: World, seed: int) -> bool:
        sums = world.sums()
        names = tuple("abcdefgh"[: len(world.scores)])
        found = pairs(sums.tally, ComparisonSpec(names, ("rule",), (), None, False), sums, names, worlds.LEVEL)
        values = [pair.adjusted_p if adjusted else pair.difference.p for pair in found]
        return any(p is not None and p <= ALPHA for p in values)

    return Method(name, wrong, expected, "calls any of ten equal pairs different")


def left_out(name: str, expected: Expected, *, whom: int) -> Method:
    """Whether any of the best models, which are the first ones, is not in the confidence set."""

    def wrong(world: World, seed: int) -> bool:
        names = tuple("abcdefgh"[: len(world.scores)])
        found = confidence_set(
            world.panel(), 0, names=names, order=names, rule_name="rule", level=worlds.LEVEL, seed=seed
        )
        return not set(names[:whom]) <= set(found.members)

    return Method(name, wrong, expected, "leaves out a best model")


def separates(name: str) -> Method:
    """Whether as many cases as the power calculation asks for separate two models."""

    def right(world: World, seed: int) -> bool:
        return _outside(world.sums().difference(0, 0, 1), 0.0)

    return Method(name, right, "holds", "separates, 4 times in 5", 0.8)


def needed(difference: float) -> int:
    """How many cases tell these two apart, by the package's own reckoning from a hundred cases of variance one."""
    found = Estimate(difference, difference - 1, difference + 1, error=0.1)
    return 100 + (extra_units(found, 100, worlds.LEVEL) or 0)
