"""Training losses in JAX: padded scores of logits at outcomes, and divergences from the lists of a teacher.

The divergence of a rule is what a forecast q loses against the truth p on average: E_p S(q, Y) - E_p S(p, Y). For the
logarithmic, Brier and power scores it is a sum over classes of [p**a - a p q**(a - 1) + (a - 1) q**a] / (a - 1), with
the limit p log(p / q) - p + q at a = 1; for pseudospherical scores it is a multiple of that sum for vectors of unit
a-norm. Terms are never negative. Where p and q are near each other they come from a series, so that nothing cancels.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from toplist.core.arguments import as_number
from toplist.errors import ShapeError
from toplist.integrations._logits import (
    HIGHEST,
    Masses,
    as_ignored,
    as_lengths,
    as_reduction,
    exponent,
    masses,
    one_rule,
    reduce,
    refuse_lists,
    require_divergence,
    score,
)
from toplist.integrations.jax.logits import (
    LogitRows,
    Vocabulary,
    as_computed,
    as_indices,
    as_logits,
    as_outcomes,
    as_scalar,
    as_weights,
    at_outcomes,
    is_known,
    of_full_rows,
    of_lists,
    of_rows,
    ranks,
    relative,
    safe_log,
)
from toplist.scoring.rules.base import SumRule
from toplist.scoring.rules.standard import Brier, PseudoSpherical

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
    return reduce(jnp, _losses(given, outcomes, counted, warm, found, length, smoothing, over), counted, how)


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


def list_divergence(
    teacher_classes: Array,
    teacher_log_probs: Array,
    student_logits: Array,
    *,
    teacher_log_rest: Array | None = None,
    rule: Any = "log",
    reverse: bool = False,
    temperature: float | Array = 1.0,
    sample_weight: Array | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    axis_name: str | None = None,
) -> Array:
    """The divergence of a student's distribution from a teacher's, known by a list of its classes: a distillation loss.

    Both distributions are coarsened to the k listed classes and OTHER, which holds all other classes together, and
    their divergence under a proper scoring rule is returned: for the logarithmic score the Kullback-Leibler divergence
    with a bucket for the tail, for the Brier score the sum of squared differences. It is never negative, and zero only
    where the student gives every listed class the teacher's probability; how the student divides the rest among other
    classes is left to it. `toplist.integrations.torch.list_divergence` is the same function for torch.

    Float32, float16 and bfloat16 logits are computed in float32, float64 ones in float64. The teacher gets no gradient.

    Parameters
    ----------
    teacher_classes : Array of shape (..., k)
        Class indices, each once in a list. `ignore_index` where a list has fewer classes; such entries are left out,
        whatever their log probability. A row of nothing else is padding, and does not count.
    teacher_log_probs : Array of shape (..., k)
        Logs of their probabilities under the teacher.
    student_logits : Array of shape (..., classes)
        Unnormalised log probabilities; minus infinity for probability zero.
    teacher_log_rest : Array of shape (...), optional
        Log of the teacher's probability of all other classes together, as `lists_from_logits` returns it. Without it,
        the rest is one minus the listed probabilities, which has few digits where it is small, and is zero where it is
        less than rounding explains; give it for lists that hold nearly everything, and for `reverse`.
    rule : str or Rule, default "log"
        "log", "brier", "spherical", Power(a) or PseudoSpherical(a); static under `jit`.
    reverse : bool, default False
        Take the student as the truth and the teacher as the forecast: for "log" the reverse Kullback-Leibler
        divergence, which is infinite where the teacher's rest is zero and the student's is not.
    temperature : float or Array of shape (), default 1.0
        The student's logits are divided by it. The list is taken as it is: make it at the same temperature, by
        `lists_from_logits(teacher_logits, k, temperature=temperature)`.
    sample_weight : Array of shape (...), optional
        Weights, or booleans that say which rows count. Rows of weight zero have no effect, whatever they hold.
    ignore_index : int, default -100
        What stands for no class in `teacher_classes`.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean weighted by `sample_weight`, the weighted sum, or one weighted value per row.
    axis_name : str, optional
        Inside `shard_map`, the mesh axis over which the student's classes are split, into parts of equal size in their
        order. `teacher_classes` has indices among all of them.

    Returns
    -------
    Array
        A number, or of shape (...) with "none".

    Raises
    ------
    ClassError, ConfidenceError, MassError
        A class twice or outside of the logits, a log probability that is NaN or above zero, a list whose mass is above
        one (or, with `teacher_log_rest`, not one). Under a transformation such as `jit`, where values are not known,
        the divergence of such a row is NaN. What rounding explains is divided out.

    Examples
    --------
    >>> teacher, student = jnp.log(jnp.array([[0.7, 0.2]])), jnp.array([[2.0, 0.0, 1.0]])
    >>> list_divergence(jnp.array([[0, 2]]), teacher, student, rule="brier").round(4)
    Array(0.0033, dtype=float32)
    """
    logits, over = as_logits(student_logits), Vocabulary(axis_name)
    classes, log_probs = _as_list(teacher_classes, teacher_log_probs, logits)
    rest = None if teacher_log_rest is None else _as_rest(teacher_log_rest, logits)
    found, how = one_rule(rule), as_reduction(reduction)
    weights = as_weights(sample_weight, logits.shape[:-1])
    padding = as_ignored(ignore_index)
    entries = jnp.where(classes == padding, -1, jnp.where(classes < 0, over.width(logits), classes))
    if classes.shape[-1]:  # rows of nothing but padding do not count
        listed = (classes != padding).any(axis=-1)
        weights = listed if weights is None else weights * listed
    if weights is not None:  # rows that do not count may hold anything
        entries = jnp.where((weights == 0)[..., None], -1, entries)
        rest = None if rest is None else jnp.where(weights == 0, 0.0, rest)
    teacher, twice, log_p = _teacher(entries, log_probs, rest, over.width(logits))
    if is_known(log_p):
        refuse_lists(jnp, classes, entries >= 0, twice, teacher, over.width(logits), known=rest is not None)
    values = _divergence(
        log_p, entries, logits, weights, as_scalar(temperature, logits), rule=found, reverse=bool(reverse), over=over
    )
    return reduce(jnp, values, weights, how)


@functools.partial(jax.jit, static_argnames=("width",))
def _teacher(classes: Array, given: Array, rest: Array | None, width: int) -> tuple[Masses, Array, Array]:
    """What lists add up to, where a class is in one twice, and logs of their classes and of OTHER; NaN if wrong."""
    found = masses(jnp, classes >= 0, given, rest, width)
    ordered = jnp.sort(classes, axis=-1)
    twice = ((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)).any(axis=-1)
    above = ~(jnp.concatenate([found.logs, found.log_rest[..., None]], axis=-1) <= HIGHEST)
    wrong = found.wrong | (classes >= width).any(axis=-1) | twice | above.any(axis=-1)
    return found, twice, jnp.where(wrong[..., None], jnp.nan, found.divided(jnp))


@functools.partial(jax.jit, static_argnames=("rule", "reverse", "over"))
def _divergence(
    log_p: Array,
    classes: Array,
    logits: Array,
    weights: Array | None,
    temperature: Array,
    *,
    rule: SumRule,
    reverse: bool,
    over: Vocabulary,
) -> Array:
    counted = logits if weights is None else jnp.where((weights == 0)[..., None], 0.0, logits)
    log_q = _coarse_student(counted, classes, temperature, over)
    p = jax.lax.stop_gradient(log_p).astype(log_q.dtype)
    return divergence(rule, log_q, p) if reverse else divergence(rule, p, log_q)


def _coarse_student(logits: Array, classes: Array, temperature: Array, over: Vocabulary) -> Array:
    """Logs of the student's probabilities of the listed classes and of OTHER."""
    x, entry = as_computed(logits), (classes >= 0) & (classes < over.width(logits))
    left = over.without(x, jnp.where(entry, classes, -1))
    listed = jnp.where(entry, over.entries(x, jnp.where(entry, classes, 0)), -jnp.inf)
    most = over.max(left)[..., None]
    peak = jnp.maximum(jax.lax.stop_gradient(listed).max(axis=-1, keepdims=True, initial=-jnp.inf), most)
    peak = jnp.where(jnp.isfinite(peak), peak, jnp.nan)
    second = relative(most, peak, temperature)
    second = jax.lax.stop_gradient(jnp.where(second == -jnp.inf, 0.0, second))
    rest = safe_log(over.sum(jnp.exp(relative(left, peak, temperature) - second))) + second[..., 0]
    return _log_shares(jnp.concatenate([relative(listed, peak, temperature), rest[..., None]], axis=-1))


def _log_shares(z: Array) -> Array:
    """Log probabilities from logits of which some are finite, accurate where they are near zero.

    >>> _log_shares(jnp.array([0.0, -20.0]))
    Array([-2.0611537e-09, -2.0000000e+01], dtype=float32)
    """
    masked = z == -jnp.inf
    at = jnp.argmax(z, axis=-1, keepdims=True)
    first = jnp.arange(z.shape[-1]) == at
    x = jnp.where(masked, 0.0, z) - jax.lax.stop_gradient(jnp.take_along_axis(z, at, axis=-1))
    log_total = jnp.log1p(
        jnp.where(masked, 0.0, jnp.where(first, jnp.expm1(x), jnp.exp(x))).sum(axis=-1, keepdims=True)
    )
    return jnp.where(masked, -jnp.inf, x - log_total)


def _as_list(classes: Any, log_probs: Any, logits: Array) -> tuple[Array, Array]:
    for name, value, kind, what in (
        ("teacher_classes", classes, jnp.integer, "class indices"),
        ("teacher_log_probs", log_probs, jnp.floating, "floats"),
    ):
        if not isinstance(value, jax.Array | np.ndarray) or not jnp.issubdtype(value.dtype, kind):
            given = value.dtype if isinstance(value, jax.Array | np.ndarray) else type(value).__name__
            raise ShapeError(f"{name} is a JAX array of {what}, not {given}.")
    if classes.shape != log_probs.shape or classes.shape[:-1] != logits.shape[:-1] or classes.ndim != logits.ndim:
        raise ShapeError(
            f"teacher_classes {tuple(classes.shape)} and teacher_log_probs {tuple(log_probs.shape)} have the same "
            f"shape (..., k), and student_logits {tuple(logits.shape)} the shape (..., classes)."
        )
    return as_indices(classes), jnp.asarray(log_probs)


def _as_rest(rest: Any, logits: Array) -> Array:
    if not isinstance(rest, jax.Array | np.ndarray) or not jnp.issubdtype(rest.dtype, jnp.floating):
        given = rest.dtype if isinstance(rest, jax.Array | np.ndarray) else type(rest).__name__
        raise ShapeError(f"teacher_log_rest is a JAX array of floats, not {given}.")
    if rest.shape != logits.shape[:-1]:
        raise ShapeError(f"teacher_log_rest {tuple(rest.shape)} is one number for each row of the logits.")
    return jnp.asarray(rest)
