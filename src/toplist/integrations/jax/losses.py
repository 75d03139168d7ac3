"""Padded scores of logits at outcomes as losses, in JAX."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

from toplist.core.arguments import as_number
from toplist.integrations._logits import as_ignored, as_lengths, as_reduction, exponent, one_rule, score
from toplist.integrations.jax.logits import as_logits, as_outcomes, as_scalar
from toplist.integrations.jax.reduction import as_weights, reduce
from toplist.integrations.jax.statistics import LogitRows, at_outcomes, of_full_rows, of_lists, of_rows, ranks
from toplist.integrations.jax.vocabulary import Vocabulary
from toplist.scoring.rules.base import SumRule

Array = jax.Array


def score_loss(
    logits: Array,
    y: Array,
    *,
    rule: Any = "brier",
    k: int | None = None,
    temperature: float | Array = 1.0,
    label_smoothing: float = 0.0,
    sample_weight: Array | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    axis_name: str | None = None,
) -> Array:
    """The padded score of the k most likely classes at the outcomes, or the score of all classes: a training loss.

    Gradients are finite wherever the loss is. See `lists_from_logits` for types and infinities.

    Parameters
    ----------
    logits : Array of shape (..., classes)
        Unnormalised log probabilities, in any float type.
    y : Array of shape (...)
        Class indices of the outcomes. An index outside the classes is refused. Under a transformation such as `jit`,
        where values are not known, its loss is NaN.
    rule : str or Rule, default "brier"
        "brier", "log", "spherical", Power(a) or PseudoSpherical(a); static under `jit`.
    k : int, optional
        Score the padded list of so many classes; without it, the full distribution.
    temperature : float or Array of shape (), default 1.0
        Logits are divided by it. It may be traced, and has a gradient.
    label_smoothing : float, default 0.0
        With this probability, the outcome is any class with equal chances: the loss is the expected score.
    sample_weight : Array of shape (...), optional
        Weights, or booleans that say which rows count. Rows of weight zero have no effect, whatever they hold.
    ignore_index : int, default -100
        Outcomes with this value are not scored, and have no gradient, whatever their row holds.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean over scored outcomes weighted by `sample_weight`, the weighted sum, or one weighted value per row,
        which is zero for ignored outcomes.
    axis_name : str, optional
        Inside `shard_map`, the mesh axis over which the classes are split, into parts of equal size in their order.
        `y` has indices among all of them.

    Returns
    -------
    Array
        A number, or of shape (...) with "none".

    Examples
    --------
    >>> logits, y = jnp.array([[2.0, 0.0, 1.0]]), jnp.array([2])
    >>> score_loss(logits, y).round(2), jax.grad(score_loss)(logits, y).round(2)
    (Array(1.02, dtype=float32), Array([[ 0.53, -0.03, -0.5 ]], dtype=float32))
    """
    given, over = as_logits(logits), Vocabulary(axis_name)
    width, ignore = over.width(given), as_ignored(ignore_index)
    length = None if k is None or as_lengths((k,), width, width) == (width,) else int(k)
    outcomes = as_outcomes(y, given.shape[:-1], width, ignore)
    weights = as_weights(sample_weight, given.shape[:-1])
    smoothing = as_number(label_smoothing, "label_smoothing", 0.0, 1.0)
    found, how, warm = one_rule(rule), as_reduction(reduction), as_scalar(temperature, given)
    counted = outcomes != ignore if weights is None else (outcomes != ignore) * weights
    return reduce(_losses(given, outcomes, counted, warm, found, length, smoothing, over), counted, how)


@functools.partial(jax.jit, static_argnames=("rule", "k", "smoothing", "over"))
def _losses(
    logits: Array,
    y: Array,
    counted: Array,
    temperature: Array,
    rule: SumRule,
    k: int | None,
    smoothing: float,
    over: Vocabulary,
) -> Array:
    inside = (y >= 0) & (y < over.width(logits))
    at, exponents = jnp.where(inside, y, 0), tuple(a for a in (exponent(rule),) if a is not None)

    counting = jnp.where((counted == 0)[..., None], 0.0, logits)
    rows = of_full_rows(counting, temperature, over) if k is None else of_rows(counting, temperature, k, over)
    sums = at_outcomes(rows, at, exponents, over)
    if k is not None:
        sums = of_lists(rows, sums, ranks(rows, at, over), (k,), over)
    values = score(jnp, rule, sums)[..., 0]
    if smoothing:
        values = (1.0 - smoothing) * values + smoothing * rule.under_uniform(
            over.width(logits), lambda a: _sum_of(rows, k, a, over, scaled=rule.scale_free)
        )
    return jnp.where(inside, values, jnp.nan)


def _sum_of(rows: LogitRows, k: int | None, a: float, over: Vocabulary, *, scaled: bool) -> Array:
    """The sum over all classes of their probabilities to the power a; of their logs for a = 0.

    `scaled`: of probabilities divided by the largest one, which is taken as a constant, so that none underflows.
    """
    log_first, unlisted = jax.lax.stop_gradient(rows.log_confidences[..., 0]), over.width(rows.x) - (k or 0)
    if k is None:
        if a == 0:
            return over.sum(rows.z) - unlisted * rows.log_total
        found = over.sum(jnp.exp(a * rows.z)) * jnp.exp(a * (-rows.log_total - log_first))
    elif a == 0:
        return rows.log_confidences.sum(axis=-1) + unlisted * (rows.log_rest - math.log(unlisted))
    else:
        rest = a * (rows.log_rest - log_first) + (1.0 - a) * math.log(unlisted)
        found = jnp.exp(a * (rows.log_confidences - log_first[..., None])).sum(axis=-1) + jnp.exp(rest)
    return found if scaled else found * jnp.exp(a * log_first)
