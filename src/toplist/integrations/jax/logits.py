"""Lists, ranks and padded scores from logits, in JAX: pure functions for `jit`, `vmap`, `grad` and `shard_map`.

Logits are taken relative to the largest one of their row. Sums without the outcome, and without the list, leave these
classes out; nothing is subtracted, so that what is left over by a nearly certain list keeps its digits, and so do
gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import (
    COLDEST,
    HOTTEST,
    OUTSIDE,
    UNDEFINED,
    LogitLists,
    LogitScores,
    OutcomeSums,
    as_ignored,
    as_lengths,
    as_temperature,
    exponent,
    outcome_outside,
    refuse_weights,
    require_cases,
    rules_by_name,
    score,
)
from toplist.scoring.rules.base import SumRule

Array = jax.Array


@dataclass(frozen=True)
class Vocabulary:
    """The last axis of logits; `axis_name` is the mesh axis over which `shard_map` splits it, if it does.

    Shards hold equally many neighbouring classes, in the order of the mesh axis.
    """

    axis_name: str | None = None

    def width(self, x: Array) -> int:
        """The number of classes of all shards."""
        shards = 1 if self.axis_name is None else int(jax.lax.psum(1, self.axis_name))
        return int(x.shape[-1]) * shards

    def index(self, x: Array) -> Array:
        """The class index of each entry of a row."""
        here = jnp.arange(x.shape[-1])
        return here if self.axis_name is None else here + x.shape[-1] * jax.lax.axis_index(self.axis_name)

    def sum(self, x: Array) -> Array:
        """The sum over the classes."""
        part = jnp.sum(x, axis=-1)
        return part if self.axis_name is None else jax.lax.psum(part, self.axis_name)

    def max(self, x: Array) -> Array:
        """The largest entry, without gradients."""
        part = jax.lax.stop_gradient(x).max(axis=-1)
        return part if self.axis_name is None else jax.lax.pmax(part, self.axis_name)

    def min(self, x: Array) -> Array:
        """The smallest entry, without gradients."""
        part = jax.lax.stop_gradient(x).min(axis=-1)
        return part if self.axis_name is None else jax.lax.pmin(part, self.axis_name)

    def without(self, x: Array, classes: Array) -> Array:
        """Logits with minus infinity at some classes, of which -1 is none."""
        start = 0 if self.axis_name is None else x.shape[-1] * jax.lax.axis_index(self.axis_name)
        here = (classes >= start) & (classes < start + x.shape[-1])

        def of_row(row: Array, places: Array) -> Array:
            return row.at[places].set(-jnp.inf, mode="drop")

        for _ in range(x.ndim - 1):
            of_row = jax.vmap(of_row)
        return of_row(x, jnp.where(here, classes - start, x.shape[-1]))

    def entries(self, x: Array, classes: Array) -> Array:
        """The entries of some classes: `classes` has the shape (..., k), and so has the result."""
        if self.axis_name is None:
            return jnp.take_along_axis(x, classes, axis=-1)
        local = classes - x.shape[-1] * jax.lax.axis_index(self.axis_name)
        here = (local >= 0) & (local < x.shape[-1])
        found = jnp.take_along_axis(x, jnp.where(here, local, 0), axis=-1)
        return jax.lax.psum(jnp.where(here, found, 0), self.axis_name)

    def first(self, x: Array, k: int) -> tuple[Array, Array]:
        """The k largest entries, without gradients, and their classes; ties in the order of classes.

        Zeros must have one sign: -0 comes after 0.
        """
        x = jax.lax.stop_gradient(x)
        if self.axis_name is None:
            values, classes = jax.lax.top_k(x, k)
            return values, classes
        values, places = jax.lax.top_k(x, min(k, x.shape[-1]))
        values, classes = (_beside(part, self.axis_name) for part in (values, self.index(x)[places]))
        values, places = jax.lax.top_k(values, k)
        return values, jnp.take_along_axis(classes, places, axis=-1)


def _beside(part: Array, axis_name: str) -> Array:
    """What all shards hold, one after the other, and known to be the same on each of them."""
    shards, here = int(jax.lax.psum(1, axis_name)), jax.lax.axis_index(axis_name)
    places = jnp.where(jnp.arange(shards)[:, None] == here, part[..., None, :], 0)
    return jax.lax.psum(places, axis_name).reshape(*part.shape[:-1], -1)


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
        refuse_weights(np, np.asarray(weights).reshape(-1).astype(np.float64))
    found = jnp.asarray(weights)
    return found if found.dtype == bool else jnp.where((found >= 0) & (found < jnp.inf), found, jnp.nan)


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
