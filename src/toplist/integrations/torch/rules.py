"""Scores and their statistics in plain torch: no branch depends on data, so that they can be compiled and traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from toplist.errors import RuleError
from toplist.integrations._logits import SUPPORTED, one_rule
from toplist.scoring.rules.base import Rule
from toplist.scoring.rules.standard import Brier, Log, Power, PseudoSpherical, name_of

Tensor = torch.Tensor
constant_rule: Callable[[Any], Rule] = torch.compiler.assume_constant_result(one_rule)  # type: ignore[no-untyped-call]


def score(rule: Rule, log_q: Tensor, miss: Tensor, others: Mapping[float, Tensor]) -> Tensor:
    """The scores of cases.

    Parameters
    ----------
    rule : Rule
        One of those that `rules_by_name` lets through.
    log_q, miss : Tensor
        The log of the outcome's probability, and what that probability lacks to one.
    others : mapping of float to Tensor
        By exponent, the sum of powers of the probabilities of all other classes.

    Returns
    -------
    Tensor
        Scores, lower is better.

    Examples
    --------
    >>> half = torch.tensor([0.5])
    >>> score(Brier(), half.log(), half, {2.0: torch.tensor([0.125])})
    tensor([0.3750])
    """
    if isinstance(rule, Brier):
        found = miss * miss + others[2.0]
        return 0.5 * found if rule.scale_by_half else found
    if isinstance(rule, Log):
        return 0.0 - log_q
    if isinstance(rule, Power):
        return _power_of_outcome(rule.a, log_q, miss) + others[float(rule.a)]
    if isinstance(rule, PseudoSpherical):
        return _pseudospherical(rule, log_q, others[float(rule.a)])
    raise RuleError(f"{name_of(rule)} is not computed from logits; there are {SUPPORTED}.")


def _power_of_outcome(a: float, log_q: Tensor, miss: Tensor) -> Tensor:
    """[1 - a q**(a - 1) + (a - 1) q**a] / (a - 1); by its series where q is near 1 and the form cancels."""
    nothing = log_q == -torch.inf
    e = torch.expm1((a - 1.0) * torch.where(nothing, 0.0, log_q))
    zero = 1.0 / (a - 1.0) if a > 1 else torch.inf
    far = torch.where(nothing, zero, e * (1.0 / (1.0 - a) - miss) - miss)
    d = torch.where(miss * max(1.0, abs(a - 2.0)) < 0.05, miss, 0.0)
    # a * integral from 0 to d of x (1 - x)**(a - 2), by the binomial series of the second factor
    term, total = torch.ones_like(d), torch.full_like(d, 0.5)
    for j in range(1, 9):
        term = term * d * ((j - 1.0 - (a - 2.0)) / j)
        total = total + term / (j + 2.0)
    return torch.where(d > 0, a * d * d * total, torch.where(miss > 0, far, miss))


def _pseudospherical(rule: PseudoSpherical, log_q: Tensor, others: Tensor) -> Tensor:
    """1 - (q**a / (q**a + others))**((a - 1) / a)."""
    a, unit = rule.a, rule.a - 1.0 if rule.normalized else 1.0
    total = torch.exp(a * log_q) + others
    some = total > 0
    safe = torch.where(some, total, 1.0)
    share = others / safe
    few = share < 0.5
    log = torch.where(few, torch.log1p(-torch.where(few, share, 0.0)), a * log_q - torch.log(safe))
    found = (0.0 - torch.expm1((a - 1.0) / a * log)) / unit
    return torch.where(some | torch.isnan(total), found, 1.0 / unit)
