"""Scores averaged over all outcomes with equal chances, in JAX: what label smoothing adds to a loss."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from toplist.errors import RuleError
from toplist.integrations._logits import SUPPORTED
from toplist.integrations.jax.statistics import LogitRows
from toplist.integrations.jax.vocabulary import Vocabulary
from toplist.scoring.rules.base import Rule
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, name_of

Array = jax.Array


def mean_score(rule: Rule, rows: LogitRows, k: int | None, over: Vocabulary) -> Array:
    """The mean over all classes of the score of the list of k classes, or of the full row, if that class occurs."""
    width = over.width(rows.x)
    if isinstance(rule, Log):
        return -_sum_of_logs(rows, k, over) / width
    log_first = jax.lax.stop_gradient(rows.log_confidences[..., 0])
    if isinstance(rule, Brier):
        found = _powers(rows, k, 2.0, over) * jnp.exp(2.0 * log_first) + (1.0 - 2.0 / width)
        return 0.5 * found if rule.scale_by_half else found
    if not isinstance(rule, Power | PseudoSpherical):
        raise RuleError(f"{name_of(rule)} is not computed from logits; there are {SUPPORTED}.")
    a = float(rule.a)
    powers, lower = _powers(rows, k, a, over), _powers(rows, k, a - 1.0, over) / width
    if isinstance(rule, PseudoSpherical):
        unit = a - 1.0 if rule.normalized else 1.0
        return (1.0 - lower * powers ** ((1.0 - a) / a)) / unit
    return (1.0 - a * lower * jnp.exp((a - 1.0) * log_first)) / (a - 1.0) + powers * jnp.exp(a * log_first)


def _sum_of_logs(rows: LogitRows, k: int | None, over: Vocabulary) -> Array:
    """The sum of the logs of all probabilities."""
    width = over.width(rows.x)
    if k is None:
        return over.sum(rows.z) - width * rows.log_total
    unlisted = width - k
    return rows.log_confidences.sum(axis=-1) + unlisted * (rows.log_rest - math.log(unlisted))


def _powers(rows: LogitRows, k: int | None, a: float, over: Vocabulary) -> Array:
    """The sum of powers of all probabilities, divided by the largest one, which is taken as a constant."""
    log_first = jax.lax.stop_gradient(rows.log_confidences[..., 0])
    if k is None:
        return over.sum(jnp.exp(a * rows.z)) * jnp.exp(a * (-rows.log_total - log_first))
    rest = a * (rows.log_rest - log_first) + (1.0 - a) * math.log(over.width(rows.x) - k)
    return jnp.exp(a * (rows.log_confidences - log_first[..., None])).sum(axis=-1) + jnp.exp(rest)
