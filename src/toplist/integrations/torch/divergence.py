"""Divergences of a student's distribution from a teacher's list: both coarsened to the listed classes and OTHER."""

from __future__ import annotations

from typing import Any

import torch

from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import as_ignored, as_reduction, as_temperature
from toplist.integrations.torch.bregman import form
from toplist.integrations.torch.checks import can_refuse, masses, refuse, refuse_tangents, warn_of_probabilities
from toplist.integrations.torch.distillation import diverge
from toplist.integrations.torch.padded import constant_rule
from toplist.integrations.torch.reduction import as_weights, reduce

Tensor = torch.Tensor


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
        refuse(classes, masses(classes, log_probs, rest, rows.shape[1], padding), rows.shape[1], padding)
    refuse_tangents(rows)
    warn_of_probabilities(rows.detach())
    about = *form(found), bool(reverse), as_temperature(temperature), padding
    values = diverge(rows, classes, log_probs, rest, *about)[0]
    return reduce(values, weights, as_reduction(reduction), student_logits.shape[:-1])


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
