"""Shorter predictions from a distribution: its k most probable classes, or the first alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def distributions(p: NDArray[Any]) -> NDArray[np.float64]:
    """Rows in double precision that sum to one."""
    rows: NDArray[np.float64] = p.astype(np.float64)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def top(p: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places and probabilities of the k largest entries, the first of equals first."""
    rows = distributions(p)
    places = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    return places.astype(np.int64), np.take_along_axis(rows, places, axis=1)
