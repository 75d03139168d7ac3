"""Padded scores of lists and scores of distributions in plain torch, with gradients of every finite value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from toplist.integrations._logits import OutcomeSums, exponent, one_rule, score
from toplist.scoring.rules.base import SumRule

Tensor = torch.Tensor
constant_rule: Callable[[Any], SumRule] = torch.compiler.assume_constant_result(one_rule)  # type: ignore[no-untyped-call]


class LogLists(NamedTuple):
    """Lists by their logs; a distribution is a list of all classes.

    Attributes
    ----------
    logs : Tensor of shape (n, k)
        Log confidences; minus infinity where a list is padded.
    entry : Tensor of shape (n, k), or None
        Which of them are listed; all of them where it is None.
    log_rest : Tensor of shape (n,), or None
        The log of what is left over; None where every class is listed.
    unlisted : Tensor of shape (n,)
        How many classes are not listed.
    """

    logs: Tensor
    entry: Tensor | None
    log_rest: Tensor | None
    unlisted: Tensor

    @property
    def log_proxy(self) -> tuple[Tensor, Tensor]:
        """The log of what each unlisted class is given, minus infinity where there is none; the log of their number."""
        log_n = self.unlisted.clamp(min=1).log()
        rest = self.unlisted.new_full((), -torch.inf) if self.log_rest is None else self.log_rest
        return torch.where(self.unlisted > 0, rest - log_n, -torch.inf), log_n


def padded_score(rule: SumRule, lists: LogLists, own: Tensor) -> Tensor:
    """The scores of lists at outcomes.

    Parameters
    ----------
    rule : SumRule
        One of those that `rules_by_name` lets through.
    lists : LogLists
        The lists.
    own : Tensor of shape (n, k)
        Which entry is the outcome; none where it is not listed.

    Returns
    -------
    Tensor of shape (n,)
        Scores, lower is better.

    Examples
    --------
    >>> from toplist.scoring.rules import as_rule
    >>> lists = LogLists(torch.tensor([[0.5]]).log(), None, torch.tensor([0.5]).log(), torch.tensor([2.0]))
    >>> padded_score(as_rule("brier"), lists, torch.tensor([[True]]))
    tensor([0.3750])
    """
    power, beside = exponent(rule), torch.where(own, -torch.inf, lists.logs)
    a = 1.0 if power is None else power
    log_q = torch.where(own, lists.logs, 0.0).sum(dim=1)
    miss = beside.exp().sum(dim=1)
    powers = miss if power is None else (a * beside).exp().sum(dim=1)
    if lists.log_rest is not None:
        hit, (log_proxy, log_n) = own.any(dim=1), lists.log_proxy
        others = torch.where(hit, lists.unlisted, lists.unlisted - 1.0).clamp(min=0.0)
        log_q = torch.where(hit, log_q, log_proxy)
        miss = miss + others * log_proxy.exp()
        powers = powers + others / lists.unlisted.clamp(min=1) * (a * log_proxy + log_n).exp()
    scores: Tensor = score(torch, rule, OutcomeSums(log_q, miss, {a: powers}))
    return scores


def uniform_score(rule: SumRule, lists: LogLists, classes: int) -> Tensor:
    """The mean of the scores of lists over all classes as outcomes, for label smoothing.

    Parameters
    ----------
    rule : SumRule
        One of those that `rules_by_name` lets through.
    lists : LogLists
        The lists.
    classes : int
        The number of classes.

    Returns
    -------
    Tensor of shape (n,)
        Means of scores.

    Examples
    --------
    >>> from toplist.scoring.rules import as_rule
    >>> lists = LogLists(torch.tensor([[0.5]]).log(), None, torch.tensor([0.5]).log(), torch.tensor([2.0]))
    >>> uniform_score(as_rule("brier"), lists, 3)
    tensor([0.7083])
    """
    mean: Tensor = rule.under_uniform(classes, lambda a: _sum_over_classes(lists, a))
    return mean


def _sum_over_classes(lists: LogLists, a: float) -> Tensor:
    """The sum over all classes of their padded confidences to the power a; of their logs for a = 0."""
    log_proxy, log_n = lists.log_proxy
    logs = lists.logs if lists.entry is None else torch.where(lists.entry, lists.logs, 0.0)
    terms = logs if a == 0 else (a * logs).exp()
    if lists.entry is not None:
        terms = torch.where(lists.entry, terms, 0.0)
    found = terms.sum(dim=1)
    if lists.log_rest is None:
        return found
    some = lists.unlisted > 0
    proxy = torch.where(some, log_proxy, 0.0)
    beyond = lists.unlisted * proxy if a == 0 else (a * proxy + log_n).exp()
    return found + torch.where(some, beyond, 0.0)


def largest_valid(lists: LogLists, classes: int) -> tuple[LogLists, Tensor]:
    """The largest valid sublists, as `toplist.score` takes them, and which entries are in them.

    A list is valid if no listed class has less than an unlisted one is given. What is dropped goes to the rest.

    Parameters
    ----------
    lists : LogLists
        The lists, with `entry` and `log_rest`.
    classes : int
        The number of classes.

    Returns
    -------
    lists : LogLists
        The sublists, in the same places.
    kept : Tensor of shape (n, k)
        Which entries are in them.

    Examples
    --------
    >>> logs, entry = torch.tensor([[0.5, 0.1]]).log(), torch.tensor([[True, True]])
    >>> lists = LogLists(logs, entry, torch.tensor([0.4]).log(), torch.tensor([2.0]))
    >>> largest_valid(lists, 4)[1]
    tensor([[ True, False]])
    """
    if lists.entry is None or lists.log_rest is None:
        return lists, torch.ones_like(lists.logs, dtype=torch.bool)
    logs, log_rest = lists.logs.detach(), lists.log_rest.detach()
    k = logs.shape[1]
    ordered, order = logs.sort(dim=1, descending=True)
    upward = torch.cat([log_rest[:, None], ordered.flip(1)], dim=1).logcumsumexp(dim=1)
    left = upward[:, :k].flip(1)  # what is left over by the first j
    size = torch.arange(1, k + 1, device=logs.device)
    counts = (classes - size).clamp(min=0).to(logs.dtype)
    valid = (ordered + counts.log() >= left) & lists.entry.gather(1, order)
    kept = torch.zeros_like(lists.entry).scatter(1, order, valid.cummin(dim=1).values)
    dropped = torch.where(lists.entry & ~kept, lists.logs, -torch.inf)
    unlisted = classes - kept.sum(dim=1).to(logs.dtype)
    rest = _log_add(lists.log_rest, dropped)
    return LogLists(torch.where(kept, lists.logs, -torch.inf), kept, rest, unlisted), kept


def _log_add(first: Tensor, others: Tensor) -> Tensor:
    """The log of a sum given by logs; zero gradients where all are minus infinity."""
    both = torch.cat([first[:, None], others], dim=1)
    none = (both == -torch.inf).all(dim=1)
    return torch.where(none, -torch.inf, torch.where(none[:, None], 0.0, both).logsumexp(dim=1))
