"""Chains of logistic models: scores from products of matrices, and how likely the rest of a set can be at best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from toplist.multilabel.chains.links import Bits, FittedChain, Floats, Ints, Links, both

_ROWS = 1 << 13  # of scores that are held at once: they should stay in the cache
_TRIED = (-3.0, -0.5, 0.25, 2.0)  # scores
_FLAT = 1e-100


@dataclass(frozen=True, slots=True)
class LogisticChain:
    """P(label at depth j = 1) = 1 / (1 + exp(-score)), score = intercept + X w + sum of `weights[i, j]` over i < j.

    The score is known up to the labels that are still open, each of which adds its weight or nothing. So it is in an
    interval, `middle` +- `half` about the score of what is fixed, and the label's probability, whichever way it goes,
    is largest at one of the two ends.
    """

    order: Ints
    features: Floats  # (features, L)
    intercepts: Floats
    weights: Floats  # (L, L), above the diagonal
    middle: Floats  # (L + 1, L): at depth d, half the sum of the weights of labels d to j - 1 in the score of j
    half: Floats  # ... and half the sum of their sizes

    def over(self, X: Any, _: int) -> Links:
        """The chain on some cases."""
        base = np.asarray(X @ self.features) + self.intercepts
        most = log_expit(np.abs(base + self.middle[0]) + self.half[0])
        ceilings = np.zeros((len(base), len(self.order) + 1))
        ceilings[:, :-1] = np.cumsum(most[:, ::-1], axis=1)[:, ::-1]
        return _LogisticLinks(self, base, ceilings)


@dataclass(frozen=True, slots=True)
class _LogisticLinks:
    chain: LogisticChain
    base: Floats  # (cases, L): the scores of the features alone
    ceilings: Floats

    def next_label(self, case: Ints, bits: Bits) -> tuple[Floats, Floats]:
        depth = bits.shape[1]
        score = self.base[case, depth]
        if depth:
            weights = self.chain.weights[:depth, depth]
            for lo in range(0, len(case), _ROWS):
                score[lo : lo + _ROWS] += bits[lo : lo + _ROWS].astype(np.float64) @ weights
        return log_expit(-score), log_expit(score)

    def ceiling(self, case: Ints, depth: int) -> Floats:
        found: Floats = self.ceilings[case, depth]
        return found

    def bound(self, case: Ints, bits: Bits) -> Floats:
        depth = bits.shape[1]
        base = self.base[:, depth:] + self.chain.middle[depth, depth:]
        weights, half = self.chain.weights[:depth, depth:], self.chain.half[depth, depth:]
        out = np.empty(len(case))
        for lo in range(0, len(case), _ROWS):
            score = bits[lo : lo + _ROWS].astype(np.float64) @ weights
            score += base[case[lo : lo + _ROWS]]
            np.abs(score, out=score)
            score += half
            out[lo : lo + _ROWS] = log_expit(score, out=score).sum(axis=1)
        return out


def as_logistic(chain: FittedChain, features: int) -> LogisticChain | None:
    """The chain as one of logistic models, if that is what all its estimators are."""
    width = len(chain.order)
    weights, seen, intercepts = np.zeros((width, width)), np.zeros((features, width)), np.zeros(width)
    for depth, estimator in enumerate(chain.estimators):
        line = np.asarray(getattr(estimator, "coef_", None))
        start = np.ravel(getattr(estimator, "intercept_", ()))
        if line.shape != (1, features + depth) or len(start) != 1 or len(estimator.classes_) != 2:
            return None
        seen[:, depth], weights[:depth, depth], intercepts[depth] = line[0, :features], line[0, features:], start[0]
        if not _is_logistic(estimator, line[0].astype(np.float64), intercepts[depth]):
            return None
    middle, half = np.zeros((width + 1, width)), np.zeros((width + 1, width))
    middle[:-1] = np.cumsum(weights[::-1], axis=0)[::-1] / 2
    half[:-1] = np.cumsum(np.abs(weights)[::-1], axis=0)[::-1] / 2
    return LogisticChain(chain.order, seen, intercepts, weights, middle, half)


def _is_logistic(estimator: Any, line: Floats, start: float) -> bool:
    """Whether its probabilities are the logistic function of its score: it is asked where the score is known."""
    steep = float(line @ line)
    scores = np.array(_TRIED) if steep > _FLAT else np.full(1, start)
    rows = np.outer(scores - start, line / steep if steep > _FLAT else np.zeros_like(line))
    return bool(np.allclose(both(estimator, rows)[1], expit(scores), rtol=1e-6, atol=0))
