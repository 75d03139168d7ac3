"""Beta calibration of the scores of one label (Kull, Silva Filho and Flach, AISTATS 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_STEPS = 100
_CLOSE = 1e-12  # of the loss, relative


@dataclass(frozen=True, slots=True)
class Beta:
    """1 / (1 + exp(-(c + a log p - b log(1 - p)))), with slopes a, b >= 0; p is taken between `low` and 1 - `low`."""

    a: float
    b: float
    c: float
    low: float

    def __call__(self, p: Floats) -> Floats:
        """The calibrated probabilities."""
        features = _features(p, self.low)
        calibrated: Floats = expit(features @ np.array([self.a, self.b, self.c]))
        return calibrated


def fit_beta(p: Floats, y: Bools) -> Beta:
    """The slopes and the intercept of least log loss, with a, b >= 0.

    Outcomes are softened as in Platt's calibration, to (s + 1) / (s + 2) for s successes and 1 / (f + 2) for f
    failures, so that the best slopes are finite where scores tell the two apart without a mistake. A score nearer to 0
    or 1 than half a case among all is taken as that far, so that a score of exactly 0 has a logarithm.

    The loss is convex: if one slope of the best fit is negative, the best with a, b >= 0 has it at zero; if both are,
    it is the better of the two fits with one slope.
    """
    hits = int(y.sum())
    target = np.where(y, (hits + 1) / (hits + 2), 1 / (len(y) - hits + 2))
    low = 0.5 / (len(y) + 1)
    features = _features(p, low)
    best, _ = _least_loss(features, target, (0, 1, 2))
    if (best[:2] < 0).any():
        tries = [_least_loss(features, target, (1 - slope, 2)) for slope in (0, 1) if best[slope] < 0]
        tries = [one for one in tries if (one[0][:2] >= 0).all()]
        best = min(tries, key=lambda one: one[1])[0] if tries else _least_loss(features, target, (2,))[0]
    a, b, c = best.tolist()
    return Beta(a, b, c, low)


def _features(p: Floats, low: float) -> Floats:
    inside = np.clip(p, low, 1 - low)
    return np.stack((np.log(inside), -np.log1p(-inside), np.ones(len(p))), axis=1)


def _least_loss(features: Floats, target: Floats, used: tuple[int, ...]) -> tuple[Floats, float]:
    """The weights of least mean log loss by Newton's method, zero where not used, and that loss."""
    x, weights = features[:, used], np.zeros(len(used))
    loss = _loss(x @ weights, target)
    for _ in range(_STEPS):
        p = expit(x @ weights)
        slope = x.T @ (p - target)
        bend = (x * (p * (1 - p))[:, None]).T @ x
        step, before = np.linalg.lstsq(bend, slope, rcond=None)[0], loss
        while not (loss := _loss(x @ (weights - step), target)) <= before and np.abs(step).max() > _CLOSE:
            step = step / 2
        if not loss < before:
            loss = before
            break
        weights = weights - step
        if before - loss <= _CLOSE * before:
            break
    found = np.zeros(3)
    found[list(used)] = weights
    return found, float(loss)


def _loss(score: Floats, target: Floats) -> float:
    return float(np.mean(np.logaddexp(0, score) - target * score))
