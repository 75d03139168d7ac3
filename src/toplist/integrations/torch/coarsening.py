"""Logits coarsened to listed classes and all others: an operator with gradients, by kernels or in plain torch."""

from __future__ import annotations

from typing import Any

import torch

from toplist.errors import TopListError
from toplist.integrations.torch import kernels
from toplist.integrations.torch.checks import repeated
from toplist.integrations.torch.statistics import CHUNK

Tensor = torch.Tensor
LONGEST = 256  # classes of a list that the kernels take
WIDEST = 1 << 29  # logits of a row times classes of a list: one column of all tiles is compared with the list


def coarsened(rows: Tensor, classes: Tensor, temperature: float, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """Listed logits and the log-sum-exp of all others, in one read.

    Parameters
    ----------
    rows : Tensor of shape (n, width)
        Logits.
    classes : Tensor of shape (n, k)
        Listed classes as int64, each once; `padding` where a list is shorter.
    temperature : float
        Logits are divided by it.
    padding : int
        What is no class.

    Returns
    -------
    listed : Tensor of shape (n, k)
        The listed logits relative to the largest of the row, divided by the temperature; minus infinity for padding.
    log_rest : Tensor of shape (n,)
        The log-sum-exp of all other logits, relative and divided likewise; NaN where a class is listed twice or is
        outside of the row.
    largest : Tensor of shape (n,)
        The largest logit. It has no gradient of its own: what counts are differences of the other two.

    Examples
    --------
    >>> coarsened(torch.tensor([[2.0, 0.0, 1.0, 0.0]]), torch.tensor([[0, 2]]), 1.0, -100)
    (tensor([[ 0., -1.]]), tensor([-1.3069]), tensor([2.]))
    """
    if in_kernels(rows, classes):
        from toplist.integrations.torch.kernels import divergence  # noqa: PLC0415  needs Triton

        return divergence.coarsen(rows, classes.contiguous(), temperature, padding)
    kind = rows.dtype if rows.dtype == torch.float64 else torch.float32
    (n, width), k = rows.shape, classes.shape[1]
    listed, log_rest, largest = (rows.new_empty(shape, dtype=kind) for shape in ((n, k), (n,), (n,)))
    step = max(1, CHUNK // width)
    for at in range(0, n, step):
        here = slice(at, at + step)
        x, index, inside = _padded_rows(rows[here], classes[here], kind, padding)
        largest[here] = x[:, :width].amax(dim=1)
        x.sub_(largest[here, None]).div_(temperature)
        listed[here] = torch.where(inside, x.gather(1, index), -torch.inf)
        x[:, width] = -torch.inf
        log_rest[here] = x.scatter_(1, index, -torch.inf).logsumexp(dim=1)
        wrong = repeated(classes[here], inside) | ((classes[here] != padding) & ~inside).any(dim=1)
        log_rest[here].masked_fill_(wrong, torch.nan)
    return listed, log_rest, largest


coarsen = torch.library.custom_op("toplist::coarsen", coarsened, mutates_args=())
"""`coarsened` as an operator with gradients."""


@coarsen.register_fake
def _(rows: Tensor, classes: Tensor, temperature: float, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    kind = rows.dtype if rows.dtype == torch.float64 else torch.float32
    n = rows.shape[0]
    return (
        rows.new_empty((n, classes.shape[1]), dtype=kind),
        rows.new_empty((n,), dtype=kind),
        rows.new_empty((n,), dtype=kind),
    )


@torch.library.custom_op("toplist::spread", mutates_args=())
def spread(
    rows: Tensor,
    classes: Tensor,
    log_rest: Tensor,
    largest: Tensor,
    listed_gradient: Tensor,
    rest_gradient: Tensor,
    factor: Tensor | None,
    temperature: float,
    padding: int,
) -> Tensor:
    """Gradients of logits from those of the listed ones and of the log-sum-exp of all others: one read, one write.

    Parameters
    ----------
    rows, classes, temperature, padding
        As they were given to `coarsen`.
    log_rest, largest : Tensor of shape (n,)
        As it returned them.
    listed_gradient : Tensor of shape (n, k)
        With respect to `listed`.
    rest_gradient : Tensor of shape (n,)
        With respect to `log_rest`; where it is zero, so are the gradients of all classes beside the list.
    factor : Tensor of shape (n,), optional
        Both are multiplied by it; where it is zero, gradients are zero, whatever else.

    Returns
    -------
    Tensor of shape (n, width)
        In the type of the logits.

    Examples
    --------
    >>> x, classes = torch.tensor([[2.0, 0.0, 1.0, 0.0]]), torch.tensor([[0, 2]])
    >>> _, log_rest, largest = coarsen(x, classes, 1.0, -100)
    >>> spread(x, classes, log_rest, largest, torch.tensor([[3.0, 5.0]]), torch.tensor([8.0]), None, 1.0, -100)
    tensor([[3., 4., 5., 4.]])
    """
    if in_kernels(rows, classes):
        from toplist.integrations.torch.kernels import divergence  # noqa: PLC0415  needs Triton

        gradients = listed_gradient.contiguous(), rest_gradient.contiguous(), factor
        return divergence.spread(rows, classes.contiguous(), (log_rest, largest), gradients, temperature, padding)
    if factor is not None:
        listed_gradient = torch.where(factor[:, None] == 0, 0.0, listed_gradient * factor[:, None])
        rest_gradient = torch.where(factor == 0, 0.0, rest_gradient * factor)
    n, width = rows.shape
    out = rows.new_empty((n, width))
    step = max(1, CHUNK // width)
    base = torch.where(log_rest == -torch.inf, 0.0, log_rest)
    for at in range(0, n, step):
        here = slice(at, at + step)
        x, index, _ = _padded_rows(rows[here], classes[here], log_rest.dtype, padding)
        x.sub_(largest[here, None]).div_(temperature).sub_(base[here, None]).exp_()
        x.mul_(rest_gradient[here, None]).masked_fill_(rest_gradient[here, None] == 0, 0.0)
        x.scatter_(1, index, listed_gradient[here]).div_(temperature)
        out[here] = x[:, :width]
    return out


@spread.register_fake
def _(rows: Tensor, *others: object) -> Tensor:
    return rows.new_empty(rows.shape)


def _refuse(ctx: Any, *gradients: Tensor) -> Any:
    raise TopListError("there are no second derivatives of lists of logits: use score_loss without k.")


spread.register_autograd(_refuse)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    rows, classes, ctx.temperature, ctx.padding = inputs
    ctx.save_for_backward(rows, classes, output[1], output[2])
    ctx.mark_non_differentiable(output[2])


def _backward(ctx: Any, listed_gradient: Tensor, rest_gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
    rows, classes, log_rest, largest = ctx.saved_tensors
    found = spread(rows, classes, log_rest, largest, listed_gradient, rest_gradient, None, ctx.temperature, ctx.padding)
    return found, None, None, None


coarsen.register_autograd(_backward, setup_context=_keep)


def _padded_rows(rows: Tensor, classes: Tensor, kind: torch.dtype, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """A copy of logits with one column more, the columns of the listed classes, and whether they are classes.

    The last column is where padding goes.
    """
    n, width = rows.shape
    inside = (classes != padding) & (classes >= 0) & (classes < width)
    x = rows.new_empty((n, width + 1), dtype=kind)
    x[:, :width] = rows
    x[:, width] = 0.0
    return x, torch.where(inside, classes, width), inside


def in_kernels(rows: Tensor, classes: Tensor) -> bool:
    """Whether kernels take these rows: on their devices, with lists and strides that they can hold."""
    width, k = rows.shape[1], classes.shape[1]
    fits = width * rows.stride(1) < kernels.FARTHEST and width * max(k, 16) <= WIDEST
    return bool(rows.shape[0]) and 0 < k <= LONGEST and fits and kernels.usable(rows)
