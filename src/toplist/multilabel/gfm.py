"""The set with the best expected F1: the general F-measure maximizer of Dembczynski, Waegeman, Cheng, Huellermeier.

With P[l, s] the probability that label l is there and s labels are, and D[l, k] = sum over s of 2 P[l, s] / (s + k), a
set of k labels has as its expected F1 the sum of D[l, k] over them: for each k the k largest are best, and what is best
of those, and of the empty set, is best of all (NIPS 24, 2011).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TIE = 1e-12  # expected values that are closer than this are equal


def best_labels(joint: Floats, sizes: NDArray[np.int64], empty: float, flat: Floats) -> tuple[NDArray[np.intp], int]:
    """The rows of `joint` that make the best set, and how many labels without a row join them.

    `flat[k - 1]` is what the pad adds to D[l, k], the same for all labels; its length is the largest k that is tried.
    Among sets that are equally good the smallest is taken, and of the labels that are those that stand first.
    """
    rows, most = len(joint), len(flat)
    ks = np.arange(1, most + 1)
    weights = 2.0 / (sizes[:, None] + ks)
    # D summed over all labels falls with k, and no set of k labels is better.
    bound = joint.sum(axis=0) @ weights + most * flat
    values, step = np.array([empty]), 16
    while len(values) <= most and values.max() < bound[len(values) - 1]:
        done = len(values) - 1
        here = slice(done, min(done + step, most))
        falling = -np.sort(-(joint @ weights[:, here]), axis=0)
        running = np.concatenate((np.zeros((1, falling.shape[1])), np.cumsum(falling, axis=0)))
        k = ks[here]
        best = running[np.minimum(k, rows), np.arange(len(k))] + k * flat[here]
        values, step = np.concatenate((values, best)), 2 * step
    size = int(np.argmax(values >= values.max() - TIE))
    if not size:
        return np.zeros(0, np.intp), 0
    gain = joint @ weights[:, size - 1]
    return np.sort(leading(gain)[:size]), max(size - rows, 0)


def leading(values: Floats) -> NDArray[np.intp]:
    """Places from the largest value to the smallest; where values differ by rounding alone, as they stand."""
    top = values.max(initial=0.0)
    return np.argsort(-np.round(values / top, 12), kind="stable") if top > 0 else np.arange(len(values))
