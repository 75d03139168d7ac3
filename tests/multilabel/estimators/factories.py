"""Problems whose labels go together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PROTOTYPES = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 1]])


class Problem(NamedTuple):
    X: NDArray[Any]
    Y: NDArray[np.int64]
    X_test: NDArray[Any]
    Y_test: NDArray[np.int64]


def clusters(cases: int = 150, tests: int = 100, *, flips: float = 0.03, seed: int = 0) -> Problem:
    """Four kinds of cases, each with its label set, of which few labels are flipped; features tell them apart badly."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(PROTOTYPES), 4))
    kind = rng.integers(len(PROTOTYPES), size=cases + tests)
    x = centres[kind] + rng.normal(size=(cases + tests, 4))
    y = PROTOTYPES[kind] ^ (rng.random((cases + tests, PROTOTYPES.shape[1])) < flips)
    return Problem(x[:cases], y[:cases], x[cases:], y[cases:])
