"""Divergences of proper scores between distributions given by their logs, in JAX.

The divergence of a rule is what a forecast q loses against the truth p on average: E_p S(q, Y) - E_p S(p, Y). For the
logarithmic, Brier and power scores it is a sum over classes of [p**a - a p q**(a - 1) + (a - 1) q**a] / (a - 1), with
the limit p log(p / q) - p + q at a = 1; for pseudospherical scores it is a multiple of that sum for vectors of unit
a-norm. Terms are never negative. Where p and q are near each other they come from a series, so that nothing cancels.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from toplist.integrations._logits import exponent, require_divergence
from toplist.integrations.jax.statistics import safe_log
from toplist.scoring.rules.base import SumRule
from toplist.scoring.rules.standard import Brier, PseudoSpherical

Array = jax.Array
NEAR = 0.5  # logs of ratios below this take the series
LAST = 18  # its last power: NEAR**LAST over the factorial of LAST is below the rounding of float64


def divergence(rule: SumRule, log_p: Array, log_q: Array) -> Array:
    """The divergence of q from p under one of the rules that `rules_by_name` lets through; classes are the last axis.

    >>> p, q = jnp.array([0.5, 0.5]), jnp.array([0.75, 0.25])
    >>> divergence(Brier(), jnp.log(p), jnp.log(q))
    Array(0.125, dtype=float32)
    """
    a = exponent(require_divergence(rule)) or 1.0
    if isinstance(rule, PseudoSpherical):
        norm_p, norm_q = (_log_norm(a, logs) for logs in (log_p, log_q))
        unit = (a - 1.0) / (a * (a - 1.0 if rule.normalized else 1.0))
        return unit * jnp.exp(norm_p[..., 0]) * _terms(a, log_p - norm_p, log_q - norm_q).sum(axis=-1)
    found = _terms(a, log_p, log_q).sum(axis=-1)
    return 0.5 * found if isinstance(rule, Brier) and rule.scale_by_half else found


def _terms(a: float, log_p: Array, log_q: Array) -> Array:
    """What each class adds to the divergence of q from p; arguments are finite where a branch is not taken."""
    no_p, no_q = log_p == -jnp.inf, log_q == -jnp.inf
    p, q = jnp.exp(log_p), jnp.exp(log_q)
    u = jnp.where(no_p | no_q, 1.0, log_p - log_q)
    near = jnp.abs(u) * max(1.0, a) < NEAR
    x = jnp.where(near, u * max(1.0, a), 0.0)
    far_p, far_q = (jnp.where(no, -1.0, logs) for no, logs in ((no_p, log_p), (no_q, log_q)))
    close = jnp.exp(a * jnp.where(near, log_q, 0.0)) * x * x * _series(a, x)
    if a == 1:
        both = p * (far_p - far_q) - p + q
    else:
        both = (jnp.exp(a * far_p) - a * jnp.exp(far_p + (a - 1.0) * far_q)) / (a - 1.0) + jnp.exp(a * far_q)
    missed = jnp.exp(a * far_p) / (a - 1.0) if a > 1 else jnp.where(p > 0, jnp.inf, 0.0)
    alone = jnp.where(no_p, jnp.exp(a * log_q), missed)
    found = jnp.where(near, close, jnp.where(no_p | no_q, alone, both))
    return jnp.where(no_p & no_q, 0.0, found)


def _series(a: float, x: Array) -> Array:
    """[exp(a u) - a exp(u) + a - 1] / ((a - 1) x**2) near 0, which is a term over q**a x**2; x is u times max(1, a)."""
    unit = max(1.0, a)
    total = jnp.zeros_like(x)
    for n in range(LAST, 1, -1):
        power = (n - 1.0) if a == 1 else ((a / unit) ** n - a / unit**n) / (a - 1.0)
        total = total * x + power / math.factorial(n)
    return total


def _log_norm(a: float, logs: Array) -> Array:
    """The log of the a-norm of a distribution."""
    top = jax.lax.stop_gradient(logs.max(axis=-1, keepdims=True))
    return safe_log(jnp.exp(a * (logs - top)).sum(axis=-1, keepdims=True)) / a + top
