"""What lists and scores need of rows of logits, in plain torch: the same numbers as the kernels give, on any device."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from toplist.integrations._logits import OUTSIDE, UNDEFINED

Tensor = torch.Tensor
CHUNK = 1 << 22  # logits that are worked on at once


class Wanted(NamedTuple):
    """What is asked of logits."""

    ks: tuple[int, ...]
    ignore: int | None
    squares: bool
    power: float  # a further exponent, or 0
    temperature: float
    classes: int

    @property
    def longest(self) -> int:
        """The longest list."""
        return max(self.ks)


class Statistics(NamedTuple):
    """Per row: the longest list, the outcome's rank; per row and length, with the full distribution last, sums."""

    classes: Tensor
    log_confidences: Tensor
    log_rest: Tensor
    rank: Tensor
    log_q: Tensor  # the log of the outcome's share
    miss: Tensor  # what that lacks to one
    squares: Tensor  # the sum of squares over all other classes
    powers: Tensor


def in_plain_torch(rows: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    """The statistics of all rows, in float64 for float64 logits and in float32 for all others."""
    return in_chunks(rows, outcomes, wanted, _of_rows, max(1, CHUNK // rows.shape[1]))


def in_chunks(
    rows: Tensor,
    outcomes: Tensor | None,
    wanted: Wanted,
    of_rows: Callable[[Tensor, Tensor | None, Wanted], Statistics],
    step: int,
) -> Statistics:
    """The statistics of all rows, `step` rows at a time."""
    parts = [
        of_rows(rows[at : at + step], None if outcomes is None else outcomes[at : at + step], wanted)
        for at in range(0, max(len(rows), 1), step)
    ]
    return parts[0] if len(parts) == 1 else Statistics(*(torch.cat(one) for one in zip(*parts, strict=True)))


def _of_rows(given: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    logits = given if given.dtype == torch.float64 else given.float()
    k, nan = wanted.longest, torch.nan
    classes = first_classes(logits, k)
    x = (logits - logits.amax(dim=1, keepdim=True)) / wanted.temperature
    e = x.exp()
    listed = x.gather(1, classes)
    own = listed.exp()
    rest = e.scatter(1, classes, 0.0).sum(dim=1)
    first = own[:, 0]
    beside = own[:, 1:].sum(dim=1) + rest
    log_first = log_share(first, beside)
    log_confidences = listed - listed[:, :1] + log_first[:, None]
    far = x.scatter(1, classes, -torch.inf).logsumexp(dim=1) + log_first  # where exponentials underflow
    log_rest = torch.where(rest < 1e-30, far, log_share(rest, own.sum(dim=1)))
    if outcomes is None:
        none = rest.new_empty(0)
        return Statistics(classes, log_confidences, log_rest, none, none, none, none, none)
    inside = (outcomes >= 0) & (outcomes < x.shape[1])
    scored = inside & (outcomes != wanted.ignore)
    y = torch.where(scored, outcomes, 0).long()[:, None]
    xy, own_logit = x.gather(1, y), logits.gather(1, y)
    ties = (logits == own_logit) & (torch.arange(x.shape[1], device=x.device) < y)
    ahead = (logits > own_logit) | ties  # of the logits themselves: differences to the largest may tie by rounding
    rank = torch.where(scored, ahead.sum(dim=1) + 1, torch.where(inside | (outcomes == wanted.ignore), 0, OUTSIDE))
    e = e.scatter(1, y, 0.0)
    own_y, others = xy[:, 0].exp(), e.sum(dim=1)
    total = own_y + others
    log_prob = torch.where(
        own_y >= others, log_share(own_y, others), xy[:, 0] - x.gather(1, classes[:, :1])[:, 0] + log_first
    )
    full = (
        log_prob,
        others / total,
        (e * e).sum(dim=1) / total / total if wanted.squares else total,
        (torch.where(e > 0, x * wanted.power, -torch.inf).exp()).sum(dim=1) / total**wanted.power
        if wanted.power
        else total,
    )
    columns = [_padded(j, log_confidences, log_rest, rank, log_prob, wanted) for j in wanted.ks]
    made = [torch.stack(one, dim=1) for one in zip(*columns, full, strict=True)]
    log_q, miss, squares, powers = (torch.where(scored[:, None], one, nan) for one in made)
    rank = torch.where(scored & log_prob.isnan(), UNDEFINED, rank)
    return Statistics(classes, log_confidences, log_rest, rank, log_q, miss, squares, powers)


def _padded(
    k: int, logs: Tensor, beyond: Tensor, rank: Tensor, log_prob: Tensor, wanted: Wanted
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The outcome's log share, what it lacks to one, and sums over the others, of lists cut to k classes."""
    hit, unlisted = rank <= k, max(wanted.classes - k, 1)
    log_rest = torch.logsumexp(torch.cat([logs[:, k:], beyond[:, None]], dim=1), dim=1)
    rest = log_rest.exp()
    own = torch.arange(k, device=logs.device) == rank[:, None] - 1
    listed = torch.where(own, 0.0, logs[:, :k].exp())
    share = 1.0 - (~hit).to(logs.dtype) / unlisted
    squares = (listed * listed).sum(dim=1) + rest * share * (rest / unlisted)
    powers = squares
    if wanted.power:
        powers = (listed**wanted.power).sum(dim=1) + unlisted * share * (rest / unlisted) ** wanted.power
    log_q = torch.where(
        hit, log_prob, log_rest - torch.tensor(float(unlisted), device=logs.device, dtype=logs.dtype).log()
    )
    return log_q, listed.sum(dim=1) + rest * share, squares, powers


def first_classes(x: Tensor, k: int) -> Tensor:
    """The k classes with the largest logits, the largest first; ties in the order of class indices.

    >>> first_classes(torch.tensor([[1.0, 2.0, 2.0]]), 2)
    tensor([[1, 2]])
    """
    if x.dtype == torch.float64:
        return x.sort(dim=1, descending=True, stable=True).indices[:, :k]
    bits = (x + 0.0).view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    keys = (ordered.long() << 32) | (0x7FFFFFFF - torch.arange(x.shape[1], device=x.device))
    return 0x7FFFFFFF - (keys.topk(k, dim=1).values & 0x7FFFFFFF)


def log_share(own: Tensor, others: Tensor) -> Tensor:
    """log(own / (own + others)), accurate where it is near zero.

    >>> log_share(torch.tensor(1.0), torch.tensor(1e-12))
    tensor(-1.0000e-12)
    """
    total = own + others
    near = others < own
    return torch.where(near, torch.log1p(-torch.where(near, others, 0.0) / total), torch.log(own / total))
