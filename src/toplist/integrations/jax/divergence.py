"""Divergences of a student's distribution from a teacher's list: both coarsened to the listed classes and OTHER."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from toplist.errors import ClassError, ConfidenceError, MassError, ShapeError
from toplist.integrations._logits import as_ignored, as_reduction, one_rule
from toplist.integrations.jax.bregman import divergence
from toplist.integrations.jax.logits import as_indices, as_logits, as_scalar, is_known
from toplist.integrations.jax.reduction import as_weights, reduce
from toplist.integrations.jax.statistics import as_computed, relative, safe_log
from toplist.integrations.jax.vocabulary import Vocabulary
from toplist.scoring.rules.base import SumRule

Array = jax.Array


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
    teacher = _coarse_teacher(entries, log_probs, rest, over.width(logits))
    if is_known(teacher.log_p):
        _refuse(jax.tree.map(np.asarray, teacher), np.asarray(classes), over.width(logits), rest is not None)
    log_p = jnp.where(teacher.wrong[..., None], jnp.nan, teacher.log_p)
    values = _divergence(
        log_p, entries, logits, weights, as_scalar(temperature, logits), rule=found, reverse=bool(reverse), over=over
    )
    return reduce(values, weights, how)


class _Teacher(NamedTuple):
    """A teacher's list with OTHER in the last column, and what is wrong with it."""

    log_p: Array
    outside: Array
    twice: Array
    logs: Array  # as given, with the rest
    no_logs: Array
    total: Array
    no_mass: Array

    @property
    def wrong(self) -> Array:
        """Rows that are no distribution over classes."""
        return (self.outside | self.twice).any(axis=-1) | self.no_logs.any(axis=-1) | self.no_mass


@functools.partial(jax.jit, static_argnames=("width",))
def _coarse_teacher(classes: Array, given: Array, rest: Array | None, width: int) -> _Teacher:
    """Logs of the teacher's probabilities of its listed classes and of OTHER, which add up to one; -1 is no class."""
    entry, k = classes >= 0, classes.shape[-1]
    eps = max(float(jnp.finfo(one.dtype).eps) for one in (given, *([] if rest is None else [rest])))
    tolerance = 1e-5 + eps * (2.0 + math.log(max(1, k)))  # an entropy times the rounding of logs
    kind = given.dtype if given.dtype == jnp.float64 else jnp.float32
    logs = jnp.where(entry, given.astype(kind), -jnp.inf)
    mass = jnp.exp(logs).sum(axis=-1)
    if rest is None:
        entropy = jax.scipy.special.entr(jnp.exp(logs)).sum(axis=-1)
        rounding = 0.5 * eps * entropy + 2.0 * float(jnp.finfo(kind).eps)  # what is less is no rest
        log_rest = jnp.where(1.0 - mass > rounding, jnp.log1p(-jnp.minimum(mass, 1.0)), -jnp.inf)
    else:
        log_rest = rest.astype(kind)
    total = mass if rest is None else mass + jnp.exp(log_rest)
    full = entry.sum(axis=-1) == width
    complete = full if rest is None else jnp.ones_like(full)
    wrong = ~(total <= 1.0 + tolerance) | (complete & (total < 1.0 - tolerance))
    if rest is not None:
        wrong = wrong | (full & (jnp.exp(log_rest) > tolerance))
    excess = jnp.where(complete | (total > 1.0), jnp.log(total), 0.0)
    other = jnp.where(full, -jnp.inf, log_rest - excess)
    ordered = jnp.sort(classes, axis=-1)
    twice = jnp.concatenate([ordered[..., 1:] == ordered[..., :-1], jnp.zeros_like(entry[..., :1])], axis=-1)
    values = jnp.concatenate([logs, log_rest[..., None]], axis=-1)
    return _Teacher(
        jnp.concatenate([logs - excess[..., None], other[..., None]], axis=-1),
        classes >= width,
        twice & (ordered >= 0),
        values,
        ~(values <= 1e-3),  # what rounding explains is for the mass to judge
        total,
        wrong,
    )


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


def _refuse(teacher: Any, classes: NDArray[Any], width: int, known: bool) -> None:
    """Raise the error that names the first row that is no distribution over classes."""
    k = classes.shape[-1]
    rows = classes.reshape(-1, k)
    for wrong, problem, remedy in (
        (
            teacher.outside,
            f"is outside of the {width:,} classes.",
            "Class indices start at 0; ignore_index names what stands for no class.",
        ),
        (teacher.twice, "is listed twice.", "List each class once, with all of its probability."),
    ):
        if wrong.any():
            flat = wrong.reshape(-1, k)
            row, place = np.argwhere(flat)[0]
            named = rows[row] if wrong is teacher.outside else np.sort(rows[row])
            raise ClassError(
                f"class {int(named[place])} {problem}", remedy, case=int(row), more=int(flat.any(axis=1).sum()) - 1
            )
    if teacher.no_logs.any():
        flat = teacher.no_logs.reshape(-1, k + 1)
        row, place = np.argwhere(flat)[0]
        raise ConfidenceError(
            f"{float(teacher.logs.reshape(-1, k + 1)[row, place]):.6g} is no log probability.",
            "These are logs, at most 0: take log_softmax of logits, and the log of probabilities.",
            case=int(row),
            more=int(flat.any(axis=1).sum()) - 1,
        )
    if teacher.no_mass.any():
        row = int(np.argmax(teacher.no_mass.reshape(-1)))
        raise MassError(
            f"the listed probabilities {'and the rest ' if known else ''}add up to "
            f"{float(teacher.total.reshape(-1)[row]):.6g}.",
            "Take log probabilities over all classes, and as the rest the log of what the list leaves over.",
            case=row,
            more=int(teacher.no_mass.sum()) - 1,
        )
