"""Scores from sums over classes, in JAX: no branch depends on data, and gradients are finite where scores are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp

from toplist.errors import RuleError
from toplist.integrations._logits import SUPPORTED
from toplist.scoring.rules.base import Rule
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, name_of

Array = jax.Array
NEAR = 0.05  # of what an outcome lacks to one: below it, a series replaces a form that cancels
TERMS = 12  # of that series: NEAR**TERMS is below the rounding of float64


class OutcomeSums(NamedTuple):
    """What rules need of a distribution at an outcome.

    Powers are those of probabilities divided by the largest one, so that large exponents do not underflow.
    """

    log_q: Array  # the log of the outcome's probability
    miss: Array  # what that probability lacks to one
    powers: Mapping[float, Array]  # by exponent, sums over all other classes
    log_first: Array  # the log of the largest probability, without gradients


def score(rule: Rule, at: OutcomeSums) -> Array:
    """The scores of cases under one of the rules that `rules_by_name` lets through; lower is better.

    >>> half, one = jnp.array([0.5]), jnp.array([1.0])
    >>> score(Brier(), OutcomeSums(jnp.log(half), half, {2.0: one}, jnp.log(half)))
    Array([0.5], dtype=float32)
    """
    if isinstance(rule, Brier):
        found = at.miss * at.miss + _others(at, 2.0)
        return 0.5 * found if rule.scale_by_half else found
    if isinstance(rule, Log):
        return 0.0 - at.log_q
    if isinstance(rule, Power):
        return _power_of_outcome(float(rule.a), at.log_q, at.miss) + _others(at, float(rule.a))
    if isinstance(rule, PseudoSpherical):
        return _pseudospherical(rule, at)
    raise RuleError(f"{name_of(rule)} is not computed from logits; there are {SUPPORTED}.")


def _others(at: OutcomeSums, a: float) -> Array:
    """The sum of powers of the probabilities of all other classes."""
    return at.powers[a] * jnp.exp(a * at.log_first)


def _power_of_outcome(a: float, log_q: Array, miss: Array) -> Array:
    """[1 - a q**(a - 1) + (a - 1) q**a] / (a - 1); by its series where q is near 1 and the form cancels."""
    nothing, near = log_q == -jnp.inf, miss * max(1.0, abs(a - 2.0)) < NEAR
    e = jnp.expm1((a - 1.0) * jnp.where(nothing | near, -1.0, log_q))
    lack = jnp.where(near, 1.0, miss)
    far = jnp.where(nothing, 1.0 / (a - 1.0) if a > 1 else jnp.inf, e * (1.0 / (1.0 - a) - lack) - lack)
    d = jnp.where(near, miss, 0.0)
    return jnp.where(near, a * d * d * _series(a, d), far)


def _series(a: float, d: Array) -> Array:
    """The integral from 0 to d of x (1 - x)**(a - 2), over d**2, by the binomial series of the second factor."""
    unit = max(1.0, abs(a - 2.0))
    coefficients = [1.0]
    for j in range(1, TERMS):
        coefficients.append(coefficients[-1] * (j - 1.0 - (a - 2.0)) / (j * unit))
    total = jnp.zeros_like(d)
    for j, c in reversed(list(enumerate(coefficients))):
        total = total * (d * unit) + c / (j + 2.0)
    return total


def _pseudospherical(rule: PseudoSpherical, at: OutcomeSums) -> Array:
    """1 - (q**a / (q**a + others))**((a - 1) / a)."""
    a, unit = float(rule.a), rule.a - 1.0 if rule.normalized else 1.0
    log_own = a * (at.log_q - at.log_first)
    others = at.powers[a]
    total = jnp.exp(log_own) + others  # at least 1: the largest probability is among them
    share = others / total
    few = share < 0.5
    log = jnp.where(few, jnp.log1p(-jnp.where(few, share, 0.0)), log_own - jnp.log(total))
    return (0.0 - jnp.expm1((a - 1.0) / a * log)) / unit
