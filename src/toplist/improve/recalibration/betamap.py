"""Beta calibration: from a score to how often it is right (Kull, Silva Filho and Flach, AISTATS 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_STEPS = 100
_CLOSE = 1e-12  # of the loss, relative
_ROUGH = 1 << 17


@dataclass(frozen=True, slots=True)
class BetaMap:
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


def fit_beta(p: Floats, y: Bools, weight: Floats | None = None) -> BetaMap:
    """The slopes and the intercept of least log loss, with a, b >= 0; weights are in cases.

    Outcomes are softened as in Platt's calibration, to (s + 1) / (s + 2) for s successes and 1 / (f + 2) for f
    failures, so that the best slopes are finite where scores tell the two apart without a mistake. A score nearer to 0
    or 1 than half a case among all is taken as that far, so that a score of exactly 0 has a logarithm.

    The loss is convex: if one slope of the best fit is negative, the best with a, b >= 0 has it at zero; if both are,
    it is the better of the two fits with one slope.
    """
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    count = float(len(y)) if weight is None else float(weight.sum())
    hits = float(y.sum()) if weight is None else float(weight[y].sum())
    target = np.where(y, (hits + 1) / (hits + 2), 1 / (count - hits + 2))
    low = 0.5 / (count + 1)
    data = _Data(_features(p, low), target, weight)
    best, _ = _least_loss(data, (0, 1, 2))
    if (best[:2] < 0).any():
        tries = [_least_loss(data, (1 - slope, 2)) for slope in (0, 1) if best[slope] < 0]
        tries = [one for one in tries if (one[0][:2] >= 0).all()]
        best = min(tries, key=lambda one: one[1])[0] if tries else _least_loss(data, (2,))[0]
    a, b, c = best.tolist()
    return BetaMap(a, b, c, low)


def _features(p: Floats, low: float) -> Floats:
    inside = np.clip(p, low, 1 - low)
    return np.stack((np.log(inside), -np.log1p(-inside), np.ones(len(p))), axis=1)


@dataclass(frozen=True, slots=True)
class _Data:
    features: Floats
    target: Floats
    weight: Floats | None

    def thinned(self) -> _Data:
        step = len(self.target) // _ROUGH
        return _Data(self.features[::step], self.target[::step], None if self.weight is None else self.weight[::step])

    def loss(self, score: Floats) -> float:
        losses = np.logaddexp(0, score) - self.target * score
        return float(np.mean(losses) if self.weight is None else np.average(losses, weights=self.weight))


def _least_loss(data: _Data, used: tuple[int, ...]) -> tuple[Floats, float]:
    """The weights of least mean log loss, zero where not used, and that loss; where there are many, some go first."""
    start = np.zeros(3)
    if len(data.target) >= 2 * _ROUGH:
        start, _ = _descend(data.thinned(), used, start)
    return _descend(data, used, start)


def _descend(data: _Data, used: tuple[int, ...], start: Floats) -> tuple[Floats, float]:
    """Newton's method."""
    x, target, weights = data.features[:, used], data.target, start[list(used)]
    loss = data.loss(x @ weights)
    for _ in range(_STEPS):
        p = expit(x @ weights)
        off, curve = p - target, p * (1 - p)
        if data.weight is not None:
            off, curve = off * data.weight, curve * data.weight
        slope = x.T @ off
        bend = (x * curve[:, None]).T @ x
        step, before = np.linalg.lstsq(bend, slope, rcond=None)[0], loss
        while not (loss := data.loss(x @ (weights - step))) <= before and np.abs(step).max() > _CLOSE:
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
