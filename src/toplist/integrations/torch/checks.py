"""Checks of arguments, refused on the CPU, and marked where a check would wait for a device; weights and reductions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from toplist.errors import ShapeError, TopListError
from toplist.integrations._logits import one_rule, reduce, refuse_weights
from toplist.scoring.rules.base import SumRule

Tensor = torch.Tensor
constant_rule: Callable[[Any], SumRule] = torch.compiler.assume_constant_result(one_rule)  # type: ignore[no-untyped-call]
NEAR_ONE = 1e-2  # by which probabilities of 16 bits miss it


def can_refuse(x: Tensor) -> bool:
    """Whether values can be looked at without waiting for a device or breaking a compiled graph.

    >>> can_refuse(torch.zeros(1))
    True
    """
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def warn_of_probabilities(rows: Tensor) -> None:
    """Warn where rows of logits look like probabilities, whose softmax is nearly uniform.

    >>> warn_of_probabilities(torch.zeros(2, 3))
    """
    if len(rows) < 2 or rows.shape[1] < 3 or not can_refuse(rows) or not _add_up_to_one(rows[:1]):
        return
    if _add_up_to_one(rows):
        warnings.warn(
            "these logits are nonnegative and add up to one: if they are probabilities, pass their logs.", stacklevel=3
        )


def _add_up_to_one(rows: Tensor) -> bool:
    return bool((rows >= 0).all()) and bool(((rows.sum(dim=1, dtype=torch.float64) - 1).abs() < NEAR_ONE).all())


def refuse_tangents(x: Tensor) -> None:
    """Refuse forward-mode derivatives, which the operators do not have: torch would take them for zero.

    >>> refuse_tangents(torch.zeros(1))
    """
    if torch.compiler.is_compiling():
        return
    tangent = forward_ad.unpack_dual(x).tangent  # type: ignore[no-untyped-call]
    if tangent is not None:
        raise TopListError(
            "there are no forward-mode derivatives of lists of logits: use backward(), torch.autograd.grad, or "
            "score_loss without k."
        )


def repeated(classes: Tensor, entry: Tensor) -> Tensor:
    """Whether a row lists a class twice.

    >>> repeated(torch.tensor([[3, 1, 3]]), torch.tensor([[True, True, True]]))
    tensor([True])
    """
    ordered, order = classes.sort(dim=1)
    return ((ordered[:, 1:] == ordered[:, :-1]) & entry.gather(1, order)[:, 1:]).any(dim=1)


def as_weights(weights: Any, leading: torch.Size, device: torch.device) -> Tensor | None:
    """One weight per case, or none; if one is negative or not finite, refused on the CPU, and NaN elsewhere."""
    if weights is None:
        return None
    if not isinstance(weights, Tensor) or weights.shape != leading or weights.device != device:
        given = f"{tuple(weights.shape)} on {weights.device}" if isinstance(weights, Tensor) else type(weights).__name__
        raise ShapeError(f"sample_weight is a tensor of the shape {tuple(leading)} on {device}, not {given}.")
    flat = weights.reshape(-1)
    if flat.dtype == torch.bool:
        return flat
    if can_refuse(flat):
        refuse_weights(torch, flat)
        return flat
    return torch.where((flat >= 0) & (flat < torch.inf), flat, torch.nan)


def reduced(values: Tensor, weights: Tensor | None, reduction: str, leading: torch.Size) -> Tensor:
    """The weighted mean, the weighted sum, or the weighted values; rows of weight zero count nothing, even if NaN.

    >>> reduced(torch.tensor([1.0, torch.nan]), torch.tensor([2.0, 0.0]), "none", torch.Size([1, 2]))
    tensor([[2., 0.]])
    """
    total: Tensor = reduce(torch, values, weights, reduction)
    return total.reshape(leading) if reduction == "none" else total
