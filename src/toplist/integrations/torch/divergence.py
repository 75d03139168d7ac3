"""Divergences of a student's distribution from a teacher's list: both coarsened to the listed classes and OTHER.

The divergence of a rule is what a forecast q loses against the truth p on average: E_p S(q, Y) - E_p S(p, Y). For the
logarithmic, Brier and power scores it is a sum over classes of terms that are never negative, [p**a - a p q**(a - 1)
+ (a - 1) q**a] / (a - 1), with its limit p log(p / q) - p + q at a = 1; for the pseudospherical scores it is a multiple
of the same sum for vectors of unit a-norm. Terms are computed by a series where p and q are near each other, so that
nothing cancels, and no divergence is below zero.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import (
    as_ignored,
    as_reduction,
    as_temperature,
    exponent,
    masses,
    refuse_lists,
    require_divergence,
    tolerance,
)
from toplist.integrations.torch.checks import (
    as_weights,
    can_refuse,
    constant_rule,
    reduced,
    refuse_tangents,
    repeated,
    warn_of_probabilities,
)
from toplist.integrations.torch.coarsening import coarsen, coarsened, in_kernels, spread
from toplist.scoring.rules.base import SumRule
from toplist.scoring.rules.standard import Brier, PseudoSpherical

Tensor = torch.Tensor
NEAR = 0.1  # logs of ratios below this take the series


class Form(NamedTuple):
    """Which divergence."""

    a: float  # the exponent; 1 for the logarithmic score
    spherical: bool  # pseudospherical, not power
    unit: float  # what it is multiplied by


def form(rule: SumRule) -> Form:
    """The form of a rule's divergence.

    Parameters
    ----------
    rule : Rule
        One of those that `rules_by_name` lets through.

    Returns
    -------
    Form
        Its exponent, family and unit.

    Examples
    --------
    >>> from toplist.scoring.rules.standard import Brier
    >>> form(Brier())
    Form(a=2.0, spherical=False, unit=1.0)
    """
    require_divergence(rule)
    if isinstance(rule, PseudoSpherical):
        return Form(float(rule.a), True, 1.0 / (rule.a - 1.0) if rule.normalized else 1.0)
    return Form(exponent(rule) or 1.0, False, 0.5 if isinstance(rule, Brier) and rule.scale_by_half else 1.0)


class LogPair(NamedTuple):
    """Two rows of logs, what they are logs of, and differences that keep their digits."""

    log_p: Tensor
    log_q: Tensor
    p: Tensor
    q: Tensor
    ratio: Tensor  # log p - log q, zero where both are minus infinity
    difference: Tensor  # p - q

    @classmethod
    def of(cls, log_p: Tensor, log_q: Tensor) -> LogPair:
        """From the two logs."""
        p, q = log_p.exp(), log_q.exp()
        ratio = torch.where(log_p == log_q, 0.0, log_p - log_q)
        near = ratio.abs() < 1.0
        return cls(log_p, log_q, p, q, ratio, torch.where(near, q * torch.where(near, ratio, 0.0).expm1(), p - q))

    def swapped(self) -> LogPair:
        """The second first."""
        return LogPair(self.log_q, self.log_p, self.q, self.p, -self.ratio, -self.difference)


def divergence(form: Form, log_p: Tensor, log_q: Tensor, reverse: bool) -> tuple[Tensor, Tensor]:
    """The divergence of q from p, or of p from q, and its gradient with respect to logits of q.

    Parameters
    ----------
    form : Form
        Of a rule.
    log_p, log_q : Tensor of shape (n, classes)
        Logs of distributions.
    reverse : bool
        Take q as the truth and p as the forecast.

    Returns
    -------
    value : Tensor of shape (n,)
        At least 0.
    gradient : Tensor of shape (n, classes)
        With respect to logits of which q is the softmax.

    Examples
    --------
    >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.75, 0.25]])
    >>> divergence(Form(2.0, False, 1.0), p.log(), q.log(), False)
    (tensor([0.1250]), tensor([[ 0.1875, -0.1875]]))
    """
    a, spherical, unit = form
    value, gradient = (_pseudospherical if spherical else _power)(a, log_p, log_q, reverse)
    return torch.where(value < 0, 0.0, unit * value), unit * gradient  # below zero by rounding of subnormal numbers


def log_shares(z: Tensor) -> Tensor:
    """Log probabilities from logits, accurate where they are near zero.

    >>> log_shares(torch.tensor([[0.0, -20.0]]))
    tensor([[-2.0612e-09, -2.0000e+01]])
    """
    largest, at = z.detach().max(dim=1, keepdim=True)
    x = z - largest
    first = torch.arange(z.shape[1], device=z.device) == at
    return x - torch.where(first, x.expm1(), x.exp()).sum(dim=1, keepdim=True).log1p()


def _power(a: float, log_p: Tensor, log_q: Tensor, reverse: bool) -> tuple[Tensor, Tensor]:
    """Sums of terms over classes."""
    pair = LogPair.of(log_p, log_q)
    value = _terms(a, pair.swapped() if reverse else pair).sum(dim=1)
    if not reverse:
        slope = -pair.difference if a == 1 else -a * _times_power(pair.difference, a - 1.0, pair.log_q)
    elif a == 1:
        slope = _times(pair.q, -pair.ratio)
    else:
        slope = a / (a - 1.0) * _times(pair.q, _difference_of_powers(a - 1.0, pair.swapped()))
    return value, _through_softmax(slope, pair.q)


def _through_softmax(slope: Tensor, q: Tensor) -> Tensor:
    """The gradient with respect to logits from that with respect to logs of probabilities."""
    return slope - q * slope.sum(dim=1, keepdim=True)


def _pseudospherical(a: float, log_p: Tensor, log_q: Tensor, reverse: bool) -> tuple[Tensor, Tensor]:
    """||p|| - sum of p (q / ||q||)**(a - 1), which is ||p|| (a - 1) / a times the terms of p / ||p|| and q / ||q||."""
    norm_p, norm_q = ((a * logs).logsumexp(dim=1, keepdim=True) / a for logs in (log_p, log_q))
    pair = LogPair.of(log_p - norm_p, log_q - norm_q)
    share = (a - 1.0) / a
    if reverse:
        value = share * norm_q[:, 0].exp() * _terms(a, pair.swapped()).sum(dim=1)
        q = log_q.exp()
        return value, _through_softmax(_times(q, _difference_of_powers(a - 1.0, pair.swapped())), q)
    value = share * norm_p[:, 0].exp() * _terms(a, pair).sum(dim=1)
    slope = -_times_power(pair.difference, a - 1.0, pair.log_q) * (a - 1.0) * norm_p.exp()
    return value, slope - (a * pair.log_q).exp() * slope.sum(dim=1, keepdim=True)


def _terms(a: float, pair: LogPair) -> Tensor:
    """What each class adds to the divergence of q from p."""
    p, q, u = pair.p, pair.q, pair.ratio
    if a == 2:
        return pair.difference * pair.difference
    near = u.abs() * max(1.0, a) < NEAR
    x = torch.where(near, u, 0.0)
    last = 11 if x.dtype == torch.float64 else 7
    factors = [_growth(a, n) / math.factorial(n) for n in range(2, last)]
    series = torch.full_like(x, factors[-1])
    for factor in reversed(factors[:-1]):
        series = series * x + factor
    if a == 1:
        far = torch.where(p == 0, q, p * u - pair.difference)
        return torch.where(near, q * x * x * series, far)
    power_p, power_q = (a * pair.log_p).exp(), (a * pair.log_q).exp()
    far = (power_p - a * _times_power(p, a - 1.0, pair.log_q)) / (a - 1.0) + power_q
    return torch.where(near, power_q * x * x * series, far)


def _growth(a: float, n: int) -> float:
    """(a**n - a) / (a - 1), and its limit at a = 1."""
    return n - 1.0 if a == 1 else (a**n - a) / (a - 1.0)


def _times(q: Tensor, x: Tensor) -> Tensor:
    """q x, zero where q is."""
    return torch.where(q == 0, 0.0, q * x)


def _times_power(x: Tensor, a: float, log_q: Tensor) -> Tensor:
    """x q**a, zero where x is."""
    return torch.where(x == 0, 0.0, x * (log_q if a == 1 else a * log_q).exp())


def _difference_of_powers(a: float, pair: LogPair) -> Tensor:
    """p**a - q**a."""
    if a == 1:
        return pair.difference
    near = pair.ratio.abs() < 1.0
    power = (a * pair.log_q).exp()
    close = torch.where(near, power, 0.0) * (a * torch.where(near, pair.ratio, 0.0)).expm1()
    return torch.where(near, close, (a * pair.log_p).exp() - power)


Found = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


@torch.library.custom_op("toplist::diverge", mutates_args=())
def diverge(
    rows: Tensor,
    classes: Tensor,
    log_probs: Tensor,
    rest: Tensor | None,
    a: float,
    spherical: bool,
    unit: float,
    reverse: bool,
    temperature: float,
    padding: int,
) -> Found:
    """Divergences of rows of logits from lists, both over the listed classes and all others together.

    Parameters
    ----------
    rows : Tensor of shape (n, width)
        Logits of the student.
    classes, log_probs : Tensor of shape (n, k)
        The teacher's lists: classes as int64, each once, `padding` where a list is shorter; logs of probabilities.
    rest : Tensor of shape (n,), optional
        Logs of what the teacher gives to all other classes.
    a, spherical, unit : float, bool, float
        The fields of a `Form`.
    reverse : bool
        The divergence of the teacher from the student.
    temperature : float
        Logits are divided by it.
    padding : int
        What is no class.

    Returns
    -------
    values : Tensor of shape (n,)
        NaN where a list is no distribution.
    listed_gradient, rest_gradient, log_rest, largest : Tensor
        For the backward pass: see `spread`.

    Examples
    --------
    >>> x, classes = torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([[0, 2]])
    >>> diverge(x, classes, torch.tensor([[0.7, 0.2]]).log(), None, 1.0, False, 1.0, False, 1.0, -100)[0]
    tensor([0.0058])
    """
    listed, log_rest, largest = coarsened(rows, classes, temperature, padding)
    if in_kernels(rows, classes):
        from toplist.integrations.torch.kernels import bregman  # noqa: PLC0415  needs Triton

        about = Form(a, spherical, unit), rows.shape[1], padding, tolerance(torch, log_probs, rest)
        if rest is None:
            found = masses(torch, classes != padding, log_probs, None, rows.shape[1])
            rest = torch.where(found.full, -torch.inf, found.log_rest)
        lists = classes.contiguous(), log_probs.contiguous(), rest.contiguous()
        return *bregman.diverge(lists, (listed, log_rest), *about, reverse=reverse), log_rest, largest
    coarse = torch.cat([listed, log_rest[:, None]], dim=1)
    teacher = masses(torch, classes != padding, log_probs, rest, rows.shape[1])
    log_p = torch.where(teacher.wrong[:, None], torch.nan, teacher.divided(torch)).to(coarse.dtype)
    values, gradient = divergence(Form(a, spherical, unit), log_p, log_shares(coarse), reverse)
    own, beside = (part.clone(memory_format=torch.contiguous_format) for part in (gradient[:, :-1], gradient[:, -1]))
    return values, own, beside, log_rest, largest


@diverge.register_fake
def _(rows: Tensor, classes: Tensor, *others: object) -> Found:
    listed, log_rest, largest = coarsen(rows, classes, 1.0, 0)
    return torch.empty_like(log_rest), listed, torch.empty_like(log_rest), log_rest, largest


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Found) -> None:
    rows, classes = inputs[:2]
    ctx.temperature, ctx.padding = inputs[-2:]
    ctx.save_for_backward(rows, classes, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _backward(ctx: Any, factor: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
    rows, classes, listed_gradient, rest_gradient, log_rest, largest = ctx.saved_tensors
    gradients = listed_gradient, rest_gradient, factor
    found = spread(rows, classes, log_rest, largest, *gradients, ctx.temperature, ctx.padding)
    return found, *[None] * 9


diverge.register_autograd(_backward, setup_context=_keep)


def list_divergence(
    teacher_classes: Tensor,
    teacher_log_probs: Tensor,
    student_logits: Tensor,
    *,
    teacher_log_rest: Tensor | None = None,
    rule: Any = "log",
    reverse: bool = False,
    temperature: float = 1.0,
    sample_weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """The divergence of a student's distribution from a teacher's, known by a list of its classes: a distillation loss.

    Both distributions are coarsened to the k listed classes and OTHER, which holds all other classes together, and
    their divergence under a proper scoring rule is returned: for the logarithmic score the Kullback-Leibler divergence
    with a bucket for the tail, for the Brier score the sum of squared differences. It is never negative, and zero only
    where the student gives every listed class the teacher's probability; how the student divides the rest among other
    classes is left to it. See the page on distillation for proofs, and for what the list loses.

    The logits are read once, without storing probabilities; the backward pass reads them once more and writes each
    gradient once, in the type of the logits. Float32, float16 and bfloat16 logits are computed in float32, float64
    ones in float64. The teacher gets no gradient.

    Parameters
    ----------
    teacher_classes : Tensor of shape (..., k)
        Class indices, each once in a list. `ignore_index` where a list has fewer classes; such entries are left out,
        whatever their log probability. A row of nothing else is padding, and does not count.
    teacher_log_probs : Tensor of shape (..., k)
        Logs of their probabilities under the teacher.
    student_logits : Tensor of shape (..., classes)
        Unnormalised log probabilities, with any strides; minus infinity for probability zero.
    teacher_log_rest : Tensor of shape (...), optional
        Log of the teacher's probability of all other classes together, as `lists_from_logits` returns it. Without it,
        the rest is one minus the listed probabilities, which has few digits where it is small, and is zero where it is
        less than rounding explains; give it for lists that hold nearly everything, and for `reverse`.
    rule : str or Rule, default "log"
        "log", "brier", "spherical", Power(a) or PseudoSpherical(a).
    reverse : bool, default False
        Take the student as the truth and the teacher as the forecast: for "log" the reverse Kullback-Leibler
        divergence, which is infinite (with NaN gradients) where the teacher's rest is zero and the student's is not.
    temperature : float, default 1.0
        The student's logits are divided by it. The list is taken as it is: make it at the same temperature, by
        `lists_from_logits(teacher_logits, k, temperature=temperature)`. It cannot be tempered afterwards, because the
        rest at another temperature depends on how it is divided among the classes that are not listed.
    sample_weight : Tensor of shape (...), optional
        Weights, or booleans that say which rows count. Rows of weight zero have no effect, whatever they hold.
    ignore_index : int, default -100
        What stands for no class in `teacher_classes`.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean weighted by `sample_weight`, the weighted sum, or one weighted value per row.

    Returns
    -------
    Tensor
        A number, or of shape (...) with "none".

    Raises
    ------
    ClassError, ConfidenceError, MassError
        On the CPU: a class twice or outside of the logits, a log probability that is NaN or above zero, a list whose
        mass is above one (or, with `teacher_log_rest`, not one). On another device, where the check would wait for the
        device, and in compiled code, the divergence of such a row is NaN, and so are its gradients. What rounding
        explains is divided out.

    Examples
    --------
    >>> teacher = torch.tensor([[0.7, 0.2]]).log()
    >>> student = torch.tensor([[2.0, 0.0, 1.0]], requires_grad=True)
    >>> loss = list_divergence(torch.tensor([[0, 2]]), teacher, student)
    >>> loss.backward()
    >>> loss.detach(), student.grad
    (tensor(0.0058), tensor([[-0.0348, -0.0100,  0.0447]]))
    """
    found, padding = constant_rule(rule), as_ignored(ignore_index)
    rows, classes, log_probs = _as_rows(teacher_classes, teacher_log_probs, student_logits)
    rest = None if teacher_log_rest is None else _as_rest(teacher_log_rest, student_logits)
    weights = as_weights(sample_weight, student_logits.shape[:-1], student_logits.device)
    if classes.shape[1]:  # rows of nothing but padding do not count
        listed = (classes != padding).any(dim=1)
        weights = listed if weights is None else weights * listed
    if weights is not None:  # rows that do not count may hold anything
        classes = torch.where(weights[:, None] == 0, padding, classes)
        rest = None if rest is None else torch.where(weights == 0, 0.0, rest)
    if can_refuse(log_probs):
        entry, width = classes != padding, rows.shape[1]
        sums, twice = masses(torch, entry, log_probs, rest, width), repeated(classes, entry)
        refuse_lists(torch, classes, entry, twice, sums, width, known=rest is not None)
    refuse_tangents(rows)
    warn_of_probabilities(rows.detach())
    about = *form(found), bool(reverse), as_temperature(temperature), padding
    values = diverge(rows, classes, log_probs, rest, *about)[0]
    return reduced(values, weights, as_reduction(reduction), student_logits.shape[:-1])


class ListDivergence(torch.nn.Module):
    """`list_divergence` as a module.

    Parameters
    ----------
    rule, reverse, temperature, ignore_index, reduction
        See `list_divergence`.

    Examples
    --------
    >>> loss = ListDivergence("brier")
    >>> classes, student = torch.tensor([[0, 2]]), torch.tensor([[2.0, 0.0, 1.0]])
    >>> loss(classes, torch.tensor([[0.7, 0.2]]).log(), student)
    tensor(0.0033)
    """

    def __init__(
        self,
        rule: Any = "log",
        *,
        reverse: bool = False,
        temperature: float = 1.0,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.rule = constant_rule(rule)
        self.reverse = reverse
        self.temperature = as_temperature(temperature)
        self.ignore_index = as_ignored(ignore_index)
        self.reduction = as_reduction(reduction)

    def forward(
        self,
        teacher_classes: Tensor,
        teacher_log_probs: Tensor,
        student_logits: Tensor,
        teacher_log_rest: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss; see `list_divergence`."""
        return list_divergence(
            teacher_classes,
            teacher_log_probs,
            student_logits,
            teacher_log_rest=teacher_log_rest,
            rule=self.rule,
            reverse=self.reverse,
            temperature=self.temperature,
            sample_weight=sample_weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


def _as_rows(classes: Any, log_probs: Any, logits: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, classes and log probabilities as matrices, of the same rows and on one device."""
    for name, value, floating in (
        ("teacher_classes", classes, False),
        ("teacher_log_probs", log_probs, True),
        ("student_logits", logits, True),
    ):
        if not isinstance(value, Tensor) or value.dtype.is_floating_point != floating or value.dtype == torch.bool:
            kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
            raise ShapeError(f"{name} is a torch tensor of {'floats' if floating else 'class indices'}, not {kind}.")
    if logits.ndim < 1 or not logits.shape[-1]:
        raise ShapeError(f"student_logits have the shape (..., classes), not {tuple(logits.shape)}.")
    if classes.shape != log_probs.shape or classes.shape[:-1] != logits.shape[:-1] or not classes.ndim:
        raise ShapeError(
            f"teacher_classes {tuple(classes.shape)} and teacher_log_probs {tuple(log_probs.shape)} have one shape, "
            f"(..., k), and student_logits {tuple(logits.shape)} the shape (..., classes)."
        )
    if not classes.device == log_probs.device == logits.device:
        raise ShapeError(
            f"teacher_classes are on {classes.device}, teacher_log_probs on {log_probs.device} and student_logits on "
            f"{logits.device}: move them with .to()."
        )
    if log_probs.requires_grad:
        raise TopListError("teacher_log_probs get no gradient; pass teacher_log_probs.detach().")
    rows = logits.reshape(-1, logits.shape[-1])
    shape = (len(rows), classes.shape[-1])  # lists may be empty
    return rows, classes.reshape(shape).long(), log_probs.reshape(shape)


def _as_rest(rest: Any, logits: Tensor) -> Tensor:
    if not isinstance(rest, Tensor) or not rest.dtype.is_floating_point or rest.shape != logits.shape[:-1]:
        shape = tuple(rest.shape) if isinstance(rest, Tensor) else type(rest).__name__
        raise ShapeError(f"teacher_log_rest is a tensor of floats, one for each row of the logits, not {shape}.")
    if rest.requires_grad:
        raise TopListError("teacher_log_rest gets no gradient; pass teacher_log_rest.detach().")
    return rest.reshape(-1)
