"""Lists, ranks and padded scores from logits, in JAX: pure functions for `jit`, `vmap`, `grad` and `shard_map`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import (
    COLDEST,
    HOTTEST,
    OUTSIDE,
    UNDEFINED,
    LogitLists,
    LogitScores,
    as_ignored,
    as_lengths,
    as_temperature,
    exponent,
    outcome_outside,
    require_cases,
    rules_by_name,
    score,
)
from toplist.integrations.jax.statistics import LogitRows, at_outcomes, of_lists, of_rows, ranks
from toplist.integrations.jax.vocabulary import Vocabulary
from toplist.scoring.rules.base import SumRule

Array = jax.Array


def lists_from_logits(
    logits: Array, k: int, *, temperature: float | Array = 1.0, axis_name: str | None = None
) -> LogitLists:
    """The k most likely classes of each row of logits, their log probabilities, and the log of what is left over.

    Float32, float16 and bfloat16 logits are computed in float32, float64 ones in float64. A class whose logit is minus
    infinity has probability zero, and is a class all the same. A row with NaN, with plus infinity or without any finite
    logit gives NaN. Log confidences and the log of the rest have gradients.

    Parameters
    ----------
    logits : Array of shape (..., classes)
        Unnormalised log probabilities, in any float type.
    k : int
        Length of the lists, at most the number of classes; static under `jit`.
    temperature : float or Array of shape (), default 1.0
        Logits are divided by it. It may be traced, and has a gradient.
    axis_name : str, optional
        Inside `shard_map`, the mesh axis over which the classes are split, into parts of equal size in their order.

    Returns
    -------
    LogitLists
        Classes, log confidences and the log of the rest mass.

    Examples
    --------
    >>> lists = lists_from_logits(jnp.array([[2.0, 0.0, 1.0]]), 2)
    >>> lists.classes, jnp.exp(lists.log_confidences).round(3)
    (Array([[0, 2]], dtype=int32), Array([[0.665, 0.245]], dtype=float32))
    """
    given, over = as_logits(logits), Vocabulary(axis_name)
    (k,) = as_lengths((k,), over.width(given), over.width(given))
    return _lists(given, as_scalar(temperature, given), k, over)


def scores_from_logits(
    logits: Array,
    y: Array,
    ks: Sequence[int] = (1, 5, 20),
    rules: Any = ("brier", "log"),
    *,
    temperature: float | Array = 1.0,
    ignore_index: int = -100,
    axis_name: str | None = None,
) -> LogitScores:
    """Padded scores of the lists of each length and of the full distributions at the outcomes, and their ranks.

    Scores have gradients, which are finite wherever the scores are. See `lists_from_logits` for types and infinities.

    Parameters
    ----------
    logits : Array of shape (..., classes)
        Unnormalised log probabilities, in any float type.
    y : Array of shape (...)
        Class indices of the outcomes. An index outside the classes is refused. Under a transformation such as `jit`,
        where values are not known, its rank is -1 and its scores are NaN.
    ks : sequence of int, default (1, 5, 20)
        Lengths of the lists, each at most the number of classes; static under `jit`.
    rules : str, Rule or a sequence of them, default ("brier", "log")
        Of "brier", "log", "spherical", Power(a) and PseudoSpherical(a); static under `jit`.
    temperature : float or Array of shape (), default 1.0
        Logits are divided by it. It may be traced, and has a gradient.
    ignore_index : int, default -100
        Outcomes with this value are not scored: their rank is 0 and their scores are NaN.
    axis_name : str, optional
        Inside `shard_map`, the mesh axis over which the classes are split, into parts of equal size in their order.
        `y` has indices among all of them.

    Returns
    -------
    LogitScores
        Lists of the largest length, ranks, log probabilities and scores.

    Examples
    --------
    >>> scores = scores_from_logits(jnp.array([[2.0, 0.0, 1.0]]), jnp.array([2]), ks=(1, 2))
    >>> scores.rank, scores.padded["brier"].round(2), scores.full["log"].round(2)
    (Array([2], dtype=int32), Array([[1.16, 1.02]], dtype=float32), Array([1.41], dtype=float32))
    """
    given, over = as_logits(logits), Vocabulary(axis_name)
    width = over.width(given)
    lengths, asked = as_lengths(ks, width, width), tuple(rules_by_name(rules).items())
    ignore = as_ignored(ignore_index)
    outcomes = as_outcomes(y, given.shape[:-1], width, ignore)
    found = _scores(given, outcomes, as_scalar(temperature, given), jnp.int32(ignore), lengths, asked, over)
    padded, full = ({name: part[name] for name, _ in asked} for part in (found.padded, found.full))  # jit sorts names
    return found._replace(padded=padded, full=full)


@functools.partial(jax.jit, static_argnames=("k", "over"))
def _lists(logits: Array, temperature: Array, k: int, over: Vocabulary) -> LogitLists:
    return _as_lists(of_rows(logits, temperature, k, over))


@functools.partial(jax.jit, static_argnames=("ks", "rules", "over"))
def _scores(
    logits: Array,
    y: Array,
    temperature: Array,
    ignore: Array,
    ks: tuple[int, ...],
    rules: tuple[tuple[str, SumRule], ...],
    over: Vocabulary,
) -> LogitScores:
    rows = of_rows(logits, temperature, max(ks), over)
    inside, ignored = (y >= 0) & (y < over.width(logits)), y == ignore
    scored = inside & ~ignored
    exponents = tuple(sorted({a for a in (exponent(rule) for _, rule in rules) if a is not None}))
    at = jnp.where(scored, y, 0)
    rank = ranks(rows, at, over)
    sums = of_lists(rows, at_outcomes(rows, at, exponents, over), rank, ks, over)
    log_prob = jnp.where(scored, sums.log_q[..., -1], jnp.nan)
    made = {name: jnp.where(scored[..., None], score(jnp, rule, sums), jnp.nan) for name, rule in rules}
    return LogitScores(
        _as_lists(rows),
        jnp.where(scored, jnp.where(jnp.isnan(log_prob), UNDEFINED, rank), jnp.where(ignored, 0, OUTSIDE)),
        log_prob,
        {name: one[..., :-1] for name, one in made.items()},
        {name: one[..., -1] for name, one in made.items()},
        ks,
    )


jax.tree_util.register_pytree_node(
    LogitScores, lambda scores: (scores[:5], scores[5:]), lambda known, arrays: LogitScores(*arrays, *known)
)
"""The lengths and the temperature are no arrays."""


def _as_lists(rows: LogitRows) -> LogitLists:
    return LogitLists(rows.classes, rows.log_confidences, rows.log_rest)


def as_logits(logits: Any) -> Array:
    """Logits as a JAX array of floating-point numbers.

    >>> as_logits(np.zeros((2, 3), np.float32)).shape
    (2, 3)
    """
    if not isinstance(logits, jax.Array | np.ndarray) or not jnp.issubdtype(logits.dtype, jnp.floating):
        kind = logits.dtype if isinstance(logits, jax.Array | np.ndarray) else type(logits).__name__
        raise ShapeError(f"logits are a JAX array of floating-point numbers, not {kind}.")
    if logits.ndim < 1 or not logits.shape[-1]:
        raise ShapeError(f"logits have the shape (..., classes), not {tuple(logits.shape)}.")
    return jnp.asarray(logits)


def as_scalar(temperature: Any, beside: Array) -> Array:
    """A temperature as an array in the type in which these logits are computed; refused, or NaN under `jit`.

    >>> as_scalar(2, jnp.zeros(3, jnp.bfloat16))
    Array(2., dtype=float32)
    """
    kind = beside.dtype if beside.dtype == jnp.float64 else jnp.float32
    if not isinstance(temperature, jax.Array):
        return jnp.asarray(as_temperature(temperature), kind)
    if temperature.shape != () or not jnp.issubdtype(temperature.dtype, jnp.floating):
        raise ShapeError(f"temperature is one number, not {temperature.dtype}{tuple(temperature.shape)}.")
    if is_known(temperature) and not COLDEST <= float(temperature) <= HOTTEST:
        raise TopListError(f"temperature is a number from {COLDEST:g} to {HOTTEST:g}, not {float(temperature)!r}.")
    warm = temperature.astype(kind)
    return jnp.where((warm >= COLDEST) & (warm <= HOTTEST), warm, jnp.nan)


def as_outcomes(y: Any, leading: tuple[int, ...], width: int, ignore: int) -> Array:
    """Outcomes as signed integers; those outside the classes are refused where values are known.

    >>> as_outcomes(jnp.array([0, 2], jnp.uint8), (2,), 3, -100)
    Array([0, 2], dtype=int32)
    """
    if not isinstance(y, jax.Array | np.ndarray) or not jnp.issubdtype(y.dtype, jnp.integer):
        kind = y.dtype if isinstance(y, jax.Array | np.ndarray) else type(y).__name__
        raise ShapeError(f"y is a JAX array of class indices, not {kind}.")
    require_cases(tuple(y.shape), tuple(leading))
    if is_known(y):
        flat = np.asarray(y).reshape(-1)
        outside = (flat != ignore) & ((flat < 0) | (flat >= width))
        if outside.any():
            row = int(np.argmax(outside))
            raise outcome_outside(int(flat[row]), width, row, int(outside.sum()) - 1)
    return as_indices(y)


def as_indices(values: Any) -> Array:
    """Class indices as signed integers; those beyond the type that JAX has switched on stay beyond all classes.

    >>> as_indices(np.array([3, 2**40]))
    Array([         3, 2147483647], dtype=int32)
    """
    most = jnp.iinfo(jnp.int32)
    if isinstance(values, np.ndarray):
        return jnp.asarray(np.clip(values, most.min, most.max).astype(np.int32))
    if values.dtype.itemsize < 4:
        return values.astype(jnp.int32)
    if jnp.issubdtype(values.dtype, jnp.unsignedinteger):
        return jnp.minimum(values, most.max).astype(jnp.int32)
    return jnp.clip(values, most.min, most.max).astype(jnp.int32)


def is_known(x: Any) -> bool:
    """Whether the values of an array can be looked at here: not under a transformation, nor on other machines."""
    return not isinstance(x, jax.core.Tracer) and (isinstance(x, np.ndarray) or bool(x.is_fully_addressable))
