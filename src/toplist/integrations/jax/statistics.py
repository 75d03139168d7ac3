"""What lists and scores need of rows of logits, in JAX.

Logits are taken relative to the largest one of their row. Sums without the outcome, and without the list, leave these
classes out; nothing is subtracted, so that what is left over by a nearly certain list keeps its digits, and so do
gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from toplist.integrations._logits import OutcomeSums
from toplist.integrations.jax.vocabulary import Vocabulary

Array = jax.Array


class LogitRows(NamedTuple):
    """Rows of logits and their lists of k classes."""

    x: Array  # logits to be compared
    z: Array  # logits relative to the largest, divided by the temperature
    log_total: Array  # the log of the sum of the exponentials of z
    classes: Array
    log_confidences: Array
    log_rest: Array


def as_computed(logits: Array) -> Array:
    """Logits in the type in which they are computed.

    >>> as_computed(jnp.array([1.0, 2.0], jnp.bfloat16)).dtype
    dtype('float32')
    """
    return logits if logits.dtype == jnp.float64 else logits.astype(jnp.float32)


def as_ordered(x: Array) -> Array:
    """Logits to be compared: zeros have one sign, and there are no gradients.

    >>> as_ordered(jnp.array([-0.0, 1.0]))
    Array([0., 1.], dtype=float32)
    """
    x = jax.lax.stop_gradient(x)
    return jnp.where(x == 0, jnp.zeros_like(x), x)


def relative(x: Array, peak: Array, temperature: Array) -> Array:
    """Logits relative to a peak, over the temperature; minus infinity stays what it is, and has no gradient."""
    masked = x == -jnp.inf
    return jnp.where(masked, -jnp.inf, (jnp.where(masked, 0.0, x) - peak) / temperature)


def safe_log(x: Array) -> Array:
    """The log of sums from zero on, without a gradient where it is minus infinity.

    >>> jax.grad(safe_log)(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    some = x != 0
    return jnp.where(some, jnp.log(jnp.where(some, x, 1.0)), -jnp.inf)


def of_rows(logits: Array, temperature: Array, k: int, over: Vocabulary) -> LogitRows:
    """The lists of k classes of rows of logits. A row with NaN, plus infinity or no finite logit gives NaN."""
    given = as_computed(logits)
    x, width = as_ordered(given), over.width(given)
    values, classes = over.first(x, min(k + 1, width))
    proper = jnp.isfinite(values[..., :1])
    peak, classes = jnp.where(proper, values[..., :1], jnp.nan), classes[..., :k]
    z = relative(given, peak, temperature)
    listed = over.entries(z, classes)
    own = jnp.exp(listed)
    last = values[..., k - 1 : k]
    left = (x < last) | ((x == last) & (over.index(x) > classes[..., -1:])) | jnp.isnan(x)
    second = relative(values[..., k : k + 1], peak, temperature) if k < width else jnp.zeros_like(peak)
    second = jax.lax.stop_gradient(jnp.where(second == -jnp.inf, 0.0, second))
    scaled = over.sum(jnp.exp(jnp.where(left, z - second, -jnp.inf)))  # does not underflow, as the rest itself may
    rest = scaled * jnp.exp(second[..., 0])
    beside = own[..., 1:].sum(axis=-1) + rest
    total = jnp.where(proper[..., 0], own[..., 0] + beside, jnp.nan)
    log_total = jnp.log(total)
    log_first = jnp.where(proper[..., 0], -jnp.log1p(beside / own[..., 0]), jnp.nan)
    share = own.sum(axis=-1) / total
    few = share < 0.5
    near, far = jnp.log1p(-jnp.where(few, share, 0.0)), safe_log(scaled) + second[..., 0] - log_total
    return LogitRows(
        x,
        z,
        log_total,
        classes,
        jnp.concatenate([log_first[..., None], listed[..., 1:] - log_total[..., None]], axis=-1),
        jnp.where(few, near, far),
    )


def of_full_rows(logits: Array, temperature: Array, over: Vocabulary) -> LogitRows:
    """The most likely class of each row alone, without a search for lists; the log of the rest is left at zero."""
    x = as_computed(logits)
    most = over.max(x)[..., None]
    proper = jnp.isfinite(most)
    z = relative(x, jnp.where(proper, most, jnp.nan), temperature)
    first = over.min(jnp.where(jax.lax.stop_gradient(x) == most, over.index(x), over.width(x) - 1))[..., None]
    own = jnp.exp(over.entries(z, first)[..., 0])
    beside = over.sum(jnp.where(over.index(x) == first, 0.0, jnp.exp(z)))
    total = jnp.where(proper[..., 0], own + beside, jnp.nan)
    log_first = jnp.where(proper[..., 0], -jnp.log1p(beside / own), jnp.nan)
    return LogitRows(x, z, jnp.log(total), first, log_first[..., None], jnp.zeros_like(total))


def at_outcomes(rows: LogitRows, y: Array, exponents: tuple[float, ...], over: Vocabulary) -> OutcomeSums:
    """Sums of rows at outcomes inside the classes."""
    z, log_first = rows.z, jax.lax.stop_gradient(rows.log_confidences[..., 0])
    others = jnp.where(over.index(z) == y[..., None], -jnp.inf, z)
    scale = -rows.log_total - log_first  # zero, with a gradient
    found = OutcomeSums(
        jnp.where(
            rows.classes[..., 0] == y,
            rows.log_confidences[..., 0],
            over.entries(z, y[..., None])[..., 0] - rows.log_total,
        ),
        over.sum(jnp.exp(others)) * jnp.exp(-rows.log_total),
        {a: over.sum(jnp.exp(a * others)) * jnp.exp(a * scale) for a in exponents},
        log_first,
    )
    return jax.tree.map(lambda part: part[..., None], found)


def ranks(rows: LogitRows, y: Array, over: Vocabulary) -> Array:
    """The places of outcomes inside the classes, from 1 on; ties in the order of class indices."""
    x, xy = rows.x, over.entries(rows.x, y[..., None])
    return over.sum(((x > xy) | ((x == xy) & (over.index(x) < y[..., None]))).astype(jnp.int32)) + 1


def of_lists(rows: LogitRows, full: OutcomeSums, rank: Array, ks: tuple[int, ...], over: Vocabulary) -> OutcomeSums:
    """Sums of the lists of each length, each with a column of its own, and of the full rows last."""
    padded = _padded(np.array(ks), over.width(rows.x), rows, rank[..., None], full)
    log_q, miss, powers = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), padded[:3], full[:3])
    return OutcomeSums(log_q, miss, powers, full.log_first)


def _padded(ks: NDArray[np.int_], width: int, rows: LogitRows, rank: Array, full: OutcomeSums) -> OutcomeSums:
    """Sums of the lists cut to each length; all other classes share what is left over."""
    kind, shift = rows.log_rest.dtype, full.log_first
    logs, place = rows.log_confidences[..., None, :], np.arange(rows.classes.shape[-1])
    inside, hit = place < ks[:, None], rank <= ks
    unlisted = np.maximum(width - ks, 1).astype(float)
    log_unlisted = np.log(unlisted).astype(kind)
    log_rest = _log_sum(jnp.where(inside, -jnp.inf, logs), rows.log_rest[..., None])
    listed = jnp.where(inside & (place != rank[..., None] - 1), logs, -jnp.inf)
    share = jnp.where(hit, 1.0, ((unlisted - 1) / unlisted).astype(kind)).astype(kind)
    powers = {
        a: jnp.exp(a * (listed - shift[..., None])).sum(axis=-1)
        + share * jnp.exp(a * (log_rest - shift) + (1.0 - a) * log_unlisted)
        for a in full.powers
    }
    miss = jnp.exp(listed).sum(axis=-1) + share * jnp.exp(log_rest)
    return OutcomeSums(jnp.where(hit, full.log_q, log_rest - log_unlisted), miss, powers, shift)


def _log_sum(logs: Array, more: Array) -> Array:
    """The log of sums of exponentials and of one more, without a gradient where it is minus infinity."""
    top = jax.lax.stop_gradient(jnp.maximum(logs.max(axis=-1), more))
    top = jnp.where(top == -jnp.inf, 0.0, top)
    return safe_log(jnp.exp(logs - top[..., None]).sum(axis=-1) + jnp.exp(more - top)) + top
