"""Divergences between a teacher's lists and coarsened logits, with their gradients: one kernel, many rows per program.

The formulas are those of `toplist.integrations.torch.divergence`, over the listed classes and, in the column after
them, all others together.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from toplist.integrations.torch.kernels import NOT_FUSED
from toplist.integrations.torch.kernels.finish import twice_atanh

Tensor = torch.Tensor
NEAR = tl.constexpr(0.1)  # logs of ratios below this take the series
ENTRIES = 4096  # that a program holds at once


@triton.jit
def _log(x):
    """log(x), accurate near 1, where the hardware's is rough: by the series of 2 atanh((x - 1) / (x + 1))."""
    near = (x > 0.5) & (x < 2.0)
    z = tl.where(near, (x - 1.0) / (x + 1.0), 0.0)
    return tl.where(near, twice_atanh(z), tl.log(x))


@triton.jit
def _log1p(x):
    """log(1 + x), accurate near 0."""
    near = (x > -0.5) & (x < 1.0)
    return tl.where(near, twice_atanh(tl.where(near, x / (2.0 + x), 0.0)), tl.log(1.0 + x))


@triton.jit
def _expm1(x):
    """exp(x) - 1 for x from -1 to 1, by its series."""
    series = 1.0 / 3628800.0
    series = series * x + 1.0 / 362880.0
    series = series * x + 1.0 / 40320.0
    series = series * x + 1.0 / 5040.0
    series = series * x + 1.0 / 720.0
    series = series * x + 1.0 / 120.0
    series = series * x + 1.0 / 24.0
    series = series * x + 1.0 / 6.0
    series = series * x + 0.5
    return x * (series * x + 1.0)


@triton.jit
def _exp(x, a: tl.constexpr):
    """exp(a x)."""
    if a == 1:
        return tl.exp(x)
    else:
        return tl.exp(a * x)


@triton.jit
def _times_power(x, a: tl.constexpr, log_q):
    """x q**a, zero where x is."""
    return tl.where(x == 0, 0.0, x * _exp(log_q, a))


@triton.jit
def _difference_of_powers(a: tl.constexpr, log_p, log_q, ratio):
    """p**a - q**a."""
    near = tl.abs(ratio) * max(1.0, a) < 1.0
    power = _exp(log_q, a)
    close = tl.where(near, power, 0.0) * _expm1(a * tl.where(near, ratio, 0.0))
    return tl.where(near, close, _exp(log_p, a) - power)


@triton.jit
def _terms(a: tl.constexpr, log_p, log_q, ratio):
    """What each class adds to the divergence of q from p."""
    difference = _difference_of_powers(1.0, log_p, log_q, ratio)
    if a == 2:
        return difference * difference
    else:
        near = tl.abs(ratio) * max(1.0, a) < NEAR
        u = tl.where(near, ratio, 0.0)
        if a == 1:  # (a**n - a) / (a - 1) / n!
            series = 5.0 / 720.0
            series = series * u + 4.0 / 120.0
            series = series * u + 3.0 / 24.0
            series = series * u + 2.0 / 6.0
            series = series * u + 0.5
            p = tl.exp(log_p)
            far = tl.where(p == 0, tl.exp(log_q), p * ratio - difference)
        else:
            series = (a * a * a * a * a * a - a) / (a - 1.0) / 720.0
            series = series * u + (a * a * a * a * a - a) / (a - 1.0) / 120.0
            series = series * u + (a * a * a * a - a) / (a - 1.0) / 24.0
            series = series * u + (a * a * a - a) / (a - 1.0) / 6.0
            series = series * u + a / 2.0
            far = (_exp(log_p, a) - a * _times_power(tl.exp(log_p), a - 1.0, log_q)) / (a - 1.0) + _exp(log_q, a)
        return tl.where(near, _exp(log_q, a) * u * u * series, far)


@triton.jit
def _log_shares(z, place):
    """Log probabilities from logits, accurate where they are near zero."""
    largest = tl.max(z, axis=1)[:, None]
    first = tl.min(tl.where(z == largest, place, 0x7FFFFFFF), axis=1)[:, None]
    x = z - largest
    return x - _log1p(tl.sum(tl.where(place == first, 0.0, tl.exp(x)), axis=1))[:, None]


@triton.jit
def _log_norm(logs, a: tl.constexpr):
    """The log of the a-norm."""
    largest = tl.max(logs, axis=1)
    total = tl.sum(tl.exp(a * (logs - largest[:, None])), axis=1)
    return (largest + _log(total) / a)[:, None]


@triton.jit
def _teacher(entry, given, rest, width, tolerance, place, K: tl.constexpr):
    """Logs of the teacher's probabilities of listed classes and of all others, which add up to one; or NaN."""
    nothing = -float("inf")
    logs = tl.where(entry, given, nothing)
    total = tl.sum(tl.exp(logs), axis=1) + tl.exp(rest)
    full = tl.sum(entry.to(tl.int32), axis=1) == width
    wrong = (total != total) | (tl.abs(total - 1.0) > tolerance) | (full & (tl.exp(rest) > tolerance))
    divide = _log(total)
    rest = tl.where(full, nothing, rest - divide)
    found = tl.where(place == K, rest[:, None], logs - divide[:, None])
    return tl.where(wrong[:, None] & (place <= K), float("nan"), found)


@triton.jit
def diverge_rows(
    classes, given, rest, listed, log_rest, values, listed_gradient, rest_gradient,
    cases, width, padding, tolerance, unit,
    A: tl.constexpr, SPHERICAL: tl.constexpr, REVERSE: tl.constexpr,
    K: tl.constexpr, KP: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Divergences of rows, and their gradients with respect to the listed logits and the log-sum-exp of all others."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    inside = row < cases
    place = tl.arange(0, KP)[None, :]
    here = inside[:, None] & (place < K)
    at = row[:, None] * K + place
    nothing = -float("inf")
    entry = here & (tl.load(classes + at, mask=here, other=padding) != padding)
    known = tl.load(rest + row, mask=inside, other=0.0).to(tl.float32)
    logs = tl.load(given + at, mask=here, other=nothing).to(tl.float32)
    log_p = _teacher(entry, logs, known, width, tolerance, place, K)
    own = tl.load(listed + at, mask=here, other=nothing)
    beside = tl.load(log_rest + row, mask=inside, other=0.0)
    log_q = _log_shares(tl.where(place == K, beside[:, None], own), place)
    q = tl.exp(log_q)
    factor = unit
    norm_p = tl.zeros([ROWS, 1], tl.float32)
    norm_q = tl.zeros([ROWS, 1], tl.float32)
    if SPHERICAL:
        norm_p = _log_norm(log_p, A)
        norm_q = _log_norm(log_q, A)
        log_p -= norm_p
        log_q -= norm_q
        factor = (A - 1.0) / A * unit
    ratio = tl.where(log_p == log_q, 0.0, log_p - log_q)
    if REVERSE:
        norm = tl.exp(norm_q)
        value = tl.sum(_terms(A, log_q, log_p, -ratio), axis=1)
        if A == 1:
            slope = tl.where(q == 0, 0.0, q * -ratio)
        else:
            slope = tl.where(q == 0, 0.0, q * _difference_of_powers(A - 1.0, log_q, log_p, -ratio))
            if not SPHERICAL:
                slope *= A / (A - 1.0)
        gradient = slope - q * tl.sum(slope, axis=1)[:, None]
    else:
        norm = tl.exp(norm_p)
        value = tl.sum(_terms(A, log_p, log_q, ratio), axis=1)
        slope = -_difference_of_powers(1.0, log_p, log_q, ratio)
        if A != 1:
            slope = _times_power(slope, A - 1.0, log_q)
        if SPHERICAL:
            slope *= (A - 1.0) * norm
            gradient = slope - _exp(log_q, A) * tl.sum(slope, axis=1)[:, None]
        else:
            if A != 1:
                slope *= A
            gradient = slope - q * tl.sum(slope, axis=1)[:, None]
    tl.store(values + row, tl.where(value < 0, 0.0, value * factor * tl.sum(norm, axis=1)), mask=inside)
    gradient *= unit
    tl.store(listed_gradient + at, gradient, mask=here)
    tl.store(rest_gradient + row, tl.sum(tl.where(place == K, gradient, 0.0), axis=1), mask=inside)


def diverge(
    teacher: tuple[Tensor, Tensor, Tensor | None],
    coarse: tuple[Tensor, Tensor],
    rule: tuple[float, bool, float],
    width: int,
    padding: int,
    tolerance: float,
    *,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Divergences, and their gradients with respect to listed logits and to the log-sum-exp of all others."""
    (classes, given, rest), (listed, log_rest), (a, spherical, unit) = teacher, coarse, rule
    n, k = classes.shape
    values, listed_gradient, rest_gradient = log_rest.new_empty(n), torch.empty_like(listed), log_rest.new_empty(n)
    padded = triton.next_power_of_2(k + 1)
    rows = max(1, ENTRIES // padded)
    with torch.cuda.device_of(listed):
        diverge_rows[(triton.cdiv(n, rows),)](
            classes, given, rest, listed, log_rest, values, listed_gradient, rest_gradient,
            n, width, padding, tolerance, unit, A=a, SPHERICAL=spherical, REVERSE=reverse,
            K=k, KP=padded, ROWS=rows, num_warps=4, **NOT_FUSED,
        )  # fmt: skip
    return values, listed_gradient, rest_gradient
