"""Models whose calibration is known, and lists that are hard to look at."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import toplist as tl
from tests.properties.cases import batches
from toplist.lists import from_logs

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Known:
    """Lists, and the distributions that outcomes are drawn from."""

    lists: tl.TopLists
    truth: np.ndarray

    def outcomes(self, rng: np.random.Generator) -> np.ndarray:
        """One draw per case."""
        passed = self.truth.cumsum(axis=1) <= rng.random(len(self.truth))[:, None]
        return np.minimum(passed.sum(axis=1), self.truth.shape[1] - 1)


def known(n: int, k: int = 3, m: int = 8, *, sharpen: float = 1.0, seed: int = 0, digits: int | None = None) -> Known:
    """Lists of the k likeliest classes; sharpened above 1 they are too sure, below 1 not sure enough."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(m, 0.5), n)
    if digits is not None:
        truth = np.round(truth, digits) + 10.0**-digits
        truth /= truth.sum(axis=1, keepdims=True)
    said = truth**sharpen
    said /= said.sum(axis=1, keepdims=True)
    return Known(tl.TopLists.from_proba(said).truncate(k), truth)


def rounded(seed: int, n: int, *, steps: int = 20) -> tuple[tl.TopLists, np.ndarray]:
    """Lists of any length whose confidences are on a grid of twentieths, over 40 classes, and any outcomes."""
    rng = np.random.default_rng(seed)
    listed = []
    for _ in range(n):
        cuts = np.sort(rng.integers(0, steps + 1, rng.integers(0, 8)))
        values = np.diff(np.concatenate(([0], cuts)))
        listed.append({int(c): v / steps for c, v in zip(rng.permutation(40), values[values > 1], strict=False)})
    lists = tl.TopLists.from_dicts(listed, 40)
    first = [next(iter(d), 0) for d in listed]
    return lists, np.where(rng.random(n) < 0.5, first, rng.integers(0, 40, n))


def special() -> dict[str, tuple[tl.TopLists, list[int]]]:
    """Hard labels, distributions, empty lists, endless spaces, differing spaces, and confidences that underflow."""
    small = from_logs([0, 2, 4, 5], [0, 1, 1, 0, 2], [-0.5, -800.0, -1e-9, -900.0, -750.0], 9)
    mixed = [{0: 0.5, 1: 0.25}, {2: 0.75}, {}]
    return {
        "hard labels": (tl.TopLists.from_labels([0, 1, 2, 2], 3), [0, 2, 2, 2]),
        "distributions": (tl.TopLists.from_proba([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]]), [0, 0, 2]),
        "empty lists": (tl.TopLists.from_dicts([{}, {}, {}], 4), [0, 1, 3]),
        "endless": (tl.TopLists.from_dicts(mixed, math.inf), [0, 9, 4]),
        "huge": (tl.TopLists.from_dicts(mixed, 2**10000), [1, 2, 4]),
        "differing": (tl.TopLists.from_dicts(mixed, tl.ClassSpace([3, 2**1100, 7])), [1, 2, 4]),
        "underflowing": (small, [0, 0, 1]),
        "invalid": (tl.TopLists.from_dicts([{0: 0.01, 1: 0.5}, {0: 0.9}, {0: 0.05}], 4), [1, 0, 2]),
        "one case": (tl.TopLists.from_dicts([{0: 0.7, 1: 0.2}], 4), [1]),
    }


SPECIAL = tuple(special())
anything = batches()
