"""Lists, ranks and padded scores from logits, in one read of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from toplist.errors import ShapeError
from toplist.integrations._logits import (
    LogitLists,
    LogitScores,
    OutcomeSums,
    as_ignored,
    as_lengths,
    as_temperature,
    exponent,
    outcome_outside,
    require_cases,
    rules_by_name,
    score,
)
from toplist.integrations.torch import kernels
from toplist.integrations.torch.checks import can_refuse, warn_of_probabilities
from toplist.integrations.torch.statistics import Statistics, Wanted, in_plain_torch

Tensor = torch.Tensor
LONGEST = 128  # the kernels keep a list in registers


def lists_from_logits(logits: Tensor, k: int, *, temperature: float = 1.0) -> LogitLists:
    """The k most likely classes of each row of logits, their log probabilities, and the log of what is left over.

    On a CUDA device the logits are read once, and probabilities are not stored. Rows of more than 2,048 logits are
    copied before, at most 128 MiB at a time, where logits of a row are not neighbours in memory. Plain torch, which
    does it elsewhere, reads logits several times, in chunks.
    Float32, float16 and bfloat16 logits are computed in float32, float64 ones in float64. A class whose logit is minus
    infinity has probability zero, and is a class all the same. A row with NaN or plus infinity gives NaN. There are no
    gradients; `toplist.integrations.torch` has losses.

    Parameters
    ----------
    logits : Tensor of shape (..., classes)
        Unnormalised log probabilities, in any float type and with any strides.
    k : int
        Length of the lists, at most 128 and at most the number of classes.
    temperature : float, default 1.0
        Logits are divided by it.

    Returns
    -------
    LogitLists
        Classes, log confidences and the log of the rest mass.

    Examples
    --------
    >>> lists = lists_from_logits(torch.tensor([[2.0, 0.0, 1.0]]), 2)
    >>> lists.classes, lists.log_confidences.exp(), lists.log_rest.exp()
    (tensor([[0, 2]]), tensor([[0.6652, 0.2447]]), tensor([0.0900]))
    """
    rows, leading = _as_rows(logits)
    (k,) = as_lengths((k,), rows.shape[1], LONGEST)
    found = _statistics(rows, None, Wanted((k,), None, False, 0.0, as_temperature(temperature), rows.shape[1]))
    return _lists(found, leading)


def scores_from_logits(
    logits: Tensor,
    y: Tensor,
    ks: Sequence[int] = (1, 5, 20),
    rules: Any = ("brier", "log"),
    *,
    temperature: float = 1.0,
    ignore_index: int = -100,
) -> LogitScores:
    """Padded scores of the lists of each length and of the full distributions at the outcomes, and their ranks.

    One pass serves the Brier, logarithmic and spherical scores and one further exponent; each exponent more takes one
    more pass. See `lists_from_logits` for devices, types and infinities.

    Parameters
    ----------
    logits : Tensor of shape (..., classes)
        Unnormalised log probabilities, in any float type and with any strides.
    y : Tensor of shape (...)
        Class indices of the outcomes. An index outside the classes is refused on the CPU. On another device, where the
        check would wait for the device, its rank is -1 and its scores are NaN.
    ks : sequence of int, default (1, 5, 20)
        Lengths of the lists, each at most 128 and at most the number of classes.
    rules : str, Rule or a sequence of them, default ("brier", "log")
        Of "brier", "log", "spherical", Power(a) and PseudoSpherical(a).
    temperature : float, default 1.0
        Logits are divided by it.
    ignore_index : int, default -100
        Outcomes with this value are not scored: their rank is 0 and their scores are NaN.

    Returns
    -------
    LogitScores
        Lists of the largest length, ranks, log probabilities and scores.

    Examples
    --------
    >>> scores = scores_from_logits(torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([2]), ks=(1, 2))
    >>> scores.rank, scores.padded["brier"], scores.full["log"]
    (tensor([2]), tensor([[1.1638, 1.0211]]), tensor([1.4076]))
    """
    rows, leading = _as_rows(logits)
    lengths, asked = as_lengths(ks, rows.shape[1], LONGEST), rules_by_name(rules)
    ignored = as_ignored(ignore_index)
    outcomes = as_outcomes(y, logits, rows.shape[1], ignored)
    exponents = sorted({a for a in map(exponent, asked.values()) if a is not None})
    squares, powers = 2.0 in exponents, [a for a in exponents if a != 2.0]
    warm = as_temperature(temperature)
    found = [
        _statistics(rows, outcomes, Wanted(lengths, ignored, squares and not i, a, warm, rows.shape[1]))
        for i, a in enumerate(powers or [0.0])
    ]
    first, others = found[0], {a: one.powers for a, one in zip(powers, found, strict=False)}
    if squares:
        others[2.0] = first.squares
    sums = OutcomeSums(first.log_q, first.miss, others)
    made = {name: score(torch, rule, sums) for name, rule in asked.items()}
    return LogitScores(
        _lists(first, leading),
        first.rank.reshape(leading),
        first.log_q[:, -1].reshape(leading),
        {name: one[:, :-1].reshape(*leading, len(lengths)) for name, one in made.items()},
        {name: one[:, -1].reshape(leading) for name, one in made.items()},
        lengths,
        warm,
    )


def _statistics(rows: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    if kernels.usable(rows):
        from toplist.integrations.torch.kernels import launch  # noqa: PLC0415  needs Triton

        if launch.takes(rows, wanted.longest):
            return launch.statistics(rows, outcomes, wanted)
    return in_plain_torch(rows, outcomes, wanted)


def _lists(found: Statistics, leading: torch.Size) -> LogitLists:
    k = found.classes.shape[1]
    shape = (*leading, k)
    return LogitLists(
        found.classes.reshape(shape), found.log_confidences.reshape(shape), found.log_rest.reshape(leading)
    )


def _as_rows(logits: Any) -> tuple[Tensor, torch.Size]:
    """Logits as a matrix without gradients, and the shape of what they are logits of."""
    if not isinstance(logits, Tensor) or not logits.dtype.is_floating_point:
        kind = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
        raise ShapeError(f"logits are a torch tensor of floating-point numbers, not {kind}.")
    if logits.ndim < 1 or not logits.shape[-1]:
        raise ShapeError(f"logits have the shape (..., classes), not {tuple(logits.shape)}.")
    rows = logits.detach().reshape(-1, logits.shape[-1])
    warn_of_probabilities(rows)
    return rows, logits.shape[:-1]


def as_outcomes(y: Any, logits: Tensor, width: int, ignore: int) -> Tensor:
    """Class indices of outcomes as a vector; refused on the CPU where one is no class and not `ignore`.

    >>> as_outcomes(torch.tensor([[2, -100]]), torch.zeros(1, 2, 3), 3, -100)
    tensor([   2, -100])
    """
    if not isinstance(y, Tensor) or y.dtype.is_floating_point or y.dtype.is_complex or y.dtype == torch.bool:
        kind = y.dtype if isinstance(y, Tensor) else type(y).__name__
        raise ShapeError(f"y is a torch tensor of class indices, not {kind}.")
    require_cases(tuple(y.shape), tuple(logits.shape[:-1]))
    if y.device != logits.device:
        raise ShapeError(f"y is on {y.device}, and logits are on {logits.device}: move one with .to().")
    flat = y.reshape(-1).long()
    if can_refuse(flat):
        outside = (flat != ignore) & ((flat < 0) | (flat >= width))
        if bool(outside.any()):
            row = int(outside.nonzero()[0, 0])
            raise outcome_outside(int(flat[row]), width, row, int(outside.sum()) - 1)
    return flat
