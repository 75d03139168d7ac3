"""Divergences of proper scores between distributions given by logs, with gradients, in plain torch.

The divergence of a rule is what a forecast q loses against the truth p on average: E_p S(q, Y) - E_p S(p, Y). For the
logarithmic, Brier and power scores it is a sum over classes of terms that are never negative, [p**a - a p q**(a - 1)
+ (a - 1) q**a] / (a - 1), with its limit p log(p / q) - p + q at a = 1; for the pseudospherical scores it is a multiple
of the same sum for vectors of unit a-norm. Terms are computed by a series where p and q are near each other, so that
nothing cancels, and no divergence is below zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from toplist.integrations._logits import exponent, require_divergence
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
