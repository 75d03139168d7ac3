"""Weights and reductions of losses, in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from toplist.errors import ConfidenceError, ShapeError
from toplist.integrations.jax.logits import is_known

Array = jax.Array


def as_weights(weights: Any, leading: tuple[int, ...]) -> Array | None:
    """One weight per row of logits, or none; if one is negative or not finite, refused, and NaN under `jit`.

    >>> as_weights(np.array([True, False]), (2,))
    Array([ True, False], dtype=bool)
    """
    if weights is None:
        return None
    if not isinstance(weights, jax.Array | np.ndarray) or tuple(weights.shape) != tuple(leading):
        given = tuple(weights.shape) if isinstance(weights, jax.Array | np.ndarray) else type(weights).__name__
        raise ShapeError(f"sample_weight is an array of the shape {tuple(leading)}, not {given}.")
    if is_known(weights):
        flat = np.asarray(weights).reshape(-1).astype(np.float64)
        wrong = ~((flat >= 0) & (flat < np.inf))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ConfidenceError(
                f"the weight {flat[row]} is negative or not finite.",
                "Weights are numbers from 0 on.",
                case=row,
                more=int(wrong.sum()) - 1,
            )
    found = jnp.asarray(weights)
    return found if found.dtype == bool else jnp.where((found >= 0) & (found < jnp.inf), found, jnp.nan)


def reduce(values: Array, weights: Array | None, reduction: str) -> Array:
    """The weighted mean, the weighted sum, or the weighted values; rows of weight zero count nothing, even if NaN.

    >>> reduce(jnp.array([1.0, jnp.nan, 4.0]), jnp.array([1.0, 0.0, 2.0]), "mean")
    Array(3., dtype=float32)
    """
    w = jnp.ones_like(values) if weights is None else _scaled(weights, reduction).astype(values.dtype)
    weighted = jnp.where(w == 0, 0.0, jnp.where(w == 0, 0.0, values) * w)
    if reduction == "none":
        return weighted
    return weighted.sum() if reduction == "sum" else weighted.sum() / w.sum()


def _scaled(weights: Array, reduction: str) -> Array:
    """Weights over the largest one where only their proportions count, so that huge and tiny ones have a sum."""
    if reduction != "mean" or weights.dtype == bool or not weights.size:
        return weights
    largest = jax.lax.stop_gradient(weights).max()
    return jnp.where(largest > 0, weights / jnp.where(largest > 0, largest, 1), weights)
