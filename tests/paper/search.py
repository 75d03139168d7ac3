"""The search behind Theorems 5.4 and 5.6: every list against every distribution, on grids and off them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import toplist as tl
from tests.paper.grids import Bools, Floats, Grid, Ints, distributions, every_list, expected, subsets
from tests.paper.rules import Known

GRIDS = [(2, 12), (3, 10), (4, 6)]


def true_entropies(known: Known, p: Floats) -> Floats:
    """The entropy of the padded true list of every length, by definition: (distributions, lengths)."""
    m = p.shape[1]
    falling = -np.sort(-p, axis=1)
    rest = np.stack([falling[:, k:].sum(axis=1) / max(m - k, 1) for k in range(m + 1)], axis=1)
    padded = np.where(np.arange(m) < np.arange(m + 1)[:, None], falling[:, None, :], rest[:, :, None])
    return known.entropy(padded)


@dataclass(frozen=True)
class Losses:
    """How much worse than a true list of the same length each list is in expectation, and what it is."""

    loss: Floats
    true: Bools
    valid: Bools

    def best_is_true(self, tol: float, among: Bools) -> bool:
        """No list does better than a true one, and true lists are as good as their entropy says."""
        return bool((self.loss[among] >= -tol).all() and (abs(self.loss[self.true]) <= tol).all())

    def gap(self, among: Bools) -> float:
        """The least loss of a list that is not true."""
        return float(self.loss[among & ~self.true].min())


def on_grid(known: Known, m: int, unit: int, penalty: float) -> Losses:
    """All lists of all lengths, under all distributions: ties, zeros and the boundary of validity included."""
    grid: Grid = every_list(m, unit)
    p: Ints = distributions(m, unit)
    best = true_entropies(known, p / unit)[:, grid.sizes].T
    loss = expected(grid, p, known.rule, penalty) - best
    return Losses(loss, grid.true(p), np.broadcast_to(grid.valid[:, None], loss.shape))


def off_grid(known: Known, m: int, penalty: float, seed: int, truths: int = 40) -> Losses:
    """Random distributions in fiftieths, with ties and zeros, and lists on every set of classes, made to be tempting.

    For each set: the calibrated list, its repair (valid, with the padded distribution of the largest valid
    sublist), and calibrated confidences moved by noise of several sizes, each list by one full step at least.
    """
    rng = np.random.default_rng(seed)
    p = np.stack([rng.multinomial(50, rng.dirichlet(np.full(m, 0.8))) for _ in range(truths)]) / 50
    sets = subsets(m)[1:-1]
    listed = np.tile(sets, (truths, 1))
    truth = np.repeat(p, len(sets), axis=0)
    calibrated = _lists(listed, truth)
    padded = calibrated.repair().padded()
    tries = [np.where(listed, truth, 0.0), np.where(listed, padded, 0.0)]
    for size in (0.03, 0.1, 0.4):
        noise = rng.uniform(-size, size, size=truth.shape)
        noise[np.arange(len(noise)), listed.argmax(axis=1)] = rng.choice([-1, 1], size=len(noise)) * size
        t = np.where(listed, np.abs(truth + noise), 0.0)
        tries.append(t / np.maximum(t.sum(axis=1, keepdims=True), 1.0))
    t, on, y = np.concatenate(tries), np.tile(listed, (len(tries), 1)), np.tile(truth, (len(tries), 1))
    k = on.sum(axis=1)
    best = np.tile(np.repeat(true_entropies(known, p), len(sets), axis=0), (len(tries), 1))[np.arange(len(k)), k]
    loss = tl.expected_score(_lists(on, t), y, rule=known.rule, penalty=penalty) - best
    most = np.cumsum(-np.sort(-y, axis=1), axis=1)[np.arange(len(k)), k - 1]
    reached = np.where(on, y, 0.0).sum(axis=1)
    true = (~on | (abs(t - y) < 1e-12)).all(axis=1) & (reached > most - 1e-12)
    least = np.where(on, t, 1.0).min(axis=1)
    return Losses(loss, true, least * (m - k) >= 1 - t.sum(axis=1) - 1e-12)


def _lists(listed: Bools, t: Floats) -> tl.TopLists:
    offsets = np.concatenate(([0], np.cumsum(listed.sum(axis=1))))
    return tl.TopLists.from_ragged(offsets, np.nonzero(listed)[1], t[listed], listed.shape[1])
