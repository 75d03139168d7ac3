"""The divergence of logits from a teacher's lists as one operator with gradients, by kernels or in plain torch."""

from __future__ import annotations

from typing import Any

import torch

from toplist.integrations.torch.bregman import Form, divergence, log_shares
from toplist.integrations.torch.checks import masses, tolerance
from toplist.integrations.torch.coarsening import coarsen, coarsened, in_kernels, spread

Tensor = torch.Tensor
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

        about = Form(a, spherical, unit), rows.shape[1], padding, tolerance(log_probs, rest)
        if rest is None:
            found = masses(classes, log_probs, None, rows.shape[1], padding)
            rest = torch.where(found.full, -torch.inf, found.log_rest)
        teacher = classes.contiguous(), log_probs.contiguous(), rest.contiguous()
        return *bregman.diverge(teacher, (listed, log_rest), *about, reverse=reverse), log_rest, largest
    coarse = torch.cat([listed, log_rest[:, None]], dim=1)
    log_p = _coarse_teacher(classes, log_probs, rest, rows.shape[1], padding).to(coarse.dtype)
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


def _coarse_teacher(classes: Tensor, given: Tensor, rest: Tensor | None, width: int, padding: int) -> Tensor:
    """Logs of the teacher's probabilities of its listed classes and, last, of OTHER, which add up to one."""
    found = masses(classes, given, rest, width, padding)
    divide = torch.where(found.complete | (found.total > 1.0), found.total.log(), 0.0)
    log_rest = torch.where(found.full, -torch.inf, found.log_rest - divide)
    logs = torch.cat([found.logs - divide[:, None], log_rest[:, None]], dim=1)
    return torch.where(found.wrong[:, None], torch.nan, logs)
