"""Weights and reductions of losses."""

from __future__ import annotations

from typing import Any

import torch

from toplist.errors import ConfidenceError, ShapeError
from toplist.integrations.torch.checks import can_refuse

Tensor = torch.Tensor


def as_weights(weights: Any, leading: torch.Size, device: torch.device) -> Tensor | None:
    """One weight per case, or none; if one is negative or not finite, refused on the CPU, and NaN elsewhere."""
    if weights is None:
        return None
    if not isinstance(weights, Tensor) or weights.shape != leading or weights.device != device:
        given = f"{tuple(weights.shape)} on {weights.device}" if isinstance(weights, Tensor) else type(weights).__name__
        raise ShapeError(f"sample_weight is a tensor of the shape {tuple(leading)} on {device}, not {given}.")
    flat = weights.reshape(-1)
    if flat.dtype != torch.bool:
        wrong = ~((flat >= 0) & (flat < torch.inf))
        if not can_refuse(flat):
            flat = torch.where(wrong, torch.nan, flat)
        elif bool(wrong.any()):
            row = int(wrong.nonzero()[0])
            raise ConfidenceError(
                f"the weight {float(flat[row])} is negative or not finite.",
                "Weights are numbers from 0 on.",
                case=row,
                more=int(wrong.sum()) - 1,
            )
    return flat


def reduce(values: Tensor, weights: Tensor | None, reduction: str, leading: torch.Size) -> Tensor:
    """The weighted mean, the weighted sum, or the weighted values; rows of weight zero count nothing, even if NaN.

    >>> values = torch.tensor([1.0, torch.nan, 4.0])
    >>> reduce(values, torch.tensor([1.0, 0.0, 2.0]), "mean", values.shape)
    tensor(3.)
    """
    w = None if weights is None else _scaled(weights, reduction).to(values.dtype)
    weighted = values if w is None else torch.where(w == 0, 0.0, values * w)
    if reduction == "none":
        return weighted.reshape(leading)
    total = weighted.sum()
    if reduction == "sum":
        return total
    return total / (values.shape[0] if w is None else w.sum())


def _scaled(weights: Tensor, reduction: str) -> Tensor:
    """Weights over the largest one where only their proportions count, so that huge and tiny ones have a sum."""
    if reduction != "mean" or weights.dtype == torch.bool or not weights.numel():
        return weights
    largest = weights.detach().max()
    return torch.where(largest > 0, weights / largest, weights)
