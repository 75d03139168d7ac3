"""From the sums that a read of logits leaves to log probabilities and to what rules need, many rows per program."""

from __future__ import annotations

import triton
import triton.language as tl

from toplist.integrations._logits import UNDEFINED

NO_DISTRIBUTION = tl.constexpr(UNDEFINED)
LN2 = tl.constexpr(0.6931471805599453)
NEAR_ZERO = tl.constexpr(1e-30)


@triton.jit
def twice_atanh(z):
    """2 atanh(z) = log((1 + z) / (1 - z)) by its series, for z from -1/3 to 1/3; the hardware's log is rough near 1."""
    w = z * z
    series = 1.0 / 17.0
    series = series * w + 1.0 / 15.0
    series = series * w + 1.0 / 13.0
    series = series * w + 1.0 / 11.0
    series = series * w + 1.0 / 9.0
    series = series * w + 1.0 / 7.0
    series = series * w + 1.0 / 5.0
    series = series * w + 1.0 / 3.0
    return 2.0 * z * (series * w + 1.0)


@triton.jit
def _log1p(x):
    """log(1 + x) for x from -0.5 to 0."""
    return twice_atanh(x / (2.0 + x))


@triton.jit
def _log_share(own, others):
    """log(own / (own + others)), accurate where it is near zero; NaN passes through."""
    total = own + others
    near = others < own
    ratio = own / total
    far = tl.where(ratio > NEAR_ZERO, tl.log(ratio), tl.log(own) - tl.log(total))
    return tl.where(near, _log1p(-tl.where(near, others, 0.0) / total), far)


@triton.jit
def _power(x, a: tl.constexpr):
    """x to the power a, for x from 0 on."""
    if a == 2:
        return x * x
    else:
        return tl.where(x > 0, tl.exp2(a * tl.log2(tl.where(x > 0, x, 1.0))), 0.0)


@triton.jit
def finish_lists(
    values, log_rest, ranks, sums, log_q, miss, squares, powers, number_of_cases, classes, scale,
    K: tl.constexpr, KP: tl.constexpr, KS: tl.constexpr, ROWS: tl.constexpr,
    OUTCOMES: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr,
):  # fmt: skip
    """Replace the logits of lists by log probabilities, and write what rules need of outcomes.

    That is, for lists cut to each length in KS and for the full distribution, in the last column: the log of the
    outcome's share, what that lacks to one, and sums of squares and powers over the other classes.
    """
    cases = tl.cast(number_of_cases, tl.int64)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    inside = row < cases
    place = tl.arange(0, KP)[None, :]
    listed = inside[:, None] & (place < K)
    nothing = -float("inf")
    v = tl.load(values + row[:, None] * K + place, mask=listed, other=nothing)
    shift = tl.load(sums + row, mask=inside, other=0.0)
    shift_others = tl.load(sums + cases + row, mask=inside, other=0.0)
    found = tl.load(sums + 2 * cases + row, mask=inside, other=1.0)
    same = shift == shift_others
    others = tl.where(same, found, found * tl.exp2(shift - shift_others))
    e = tl.where(listed, tl.exp2(tl.fma(v, scale, shift[:, None])), 0.0)
    first = tl.max(v, axis=1)
    own = tl.exp2(tl.fma(first, scale, shift))
    more = tl.sum(tl.where(place == 0, 0.0, e), axis=1)
    log_first = _log_share(own, more + others)
    logs = (v - first[:, None]) * (scale * LN2) + log_first[:, None]
    tl.store(values + row[:, None] * K + place, logs, mask=listed)
    far = tl.log(found) - tl.fma(first, scale, shift_others) * LN2 + log_first
    beyond = tl.where(same, _log_share(others, own + more), far)
    tl.store(log_rest + row, beyond, mask=inside)
    if OUTCOMES:
        rank = tl.load(ranks + row, mask=inside, other=0).to(tl.int32)
        xy = tl.load(sums + 3 * cases + row, mask=inside, other=0.0)
        unscored = rank <= 0
        nan = float("nan")
        columns: tl.constexpr = len(KS) + 1
        is_own = place == rank[:, None] - 1
        left = tl.where(is_own, 0.0, e)
        own = tl.exp2(tl.fma(xy, scale, shift))
        inner = rank <= K
        beside = tl.sum(left, axis=1) + tl.where(inner, others, tl.maximum(others - own, 0.0))
        total = own + beside
        near = own >= beside
        log_prob = tl.where(near, _log_share(own, beside), (xy - first) * (scale * LN2) + log_first)
        log_prob = tl.where(unscored, nan, log_prob)
        tl.store(ranks + row, NO_DISTRIBUTION, mask=inside & (rank > 0) & (log_prob != log_prob))
        at = row * columns + columns - 1
        tl.store(log_q + at, log_prob, mask=inside)
        tl.store(miss + at, tl.where(unscored, nan, beside / total), mask=inside)
        if SQUARES:
            unlisted2 = tl.load(sums + 4 * cases + row, mask=inside, other=0.0)
            sum2 = tl.sum(left * left, axis=1) + tl.where(inner, unlisted2, tl.maximum(unlisted2 - own * own, 0.0))
            tl.store(squares + at, tl.where(unscored, nan, sum2 / total / total), mask=inside)
        if POWER != 0:
            unlistedp = tl.load(sums + 5 * cases + row, mask=inside, other=0.0)
            ownp = tl.exp2(tl.fma(xy, scale, shift) * POWER)
            sump = tl.sum(_power(left, POWER), axis=1) + tl.where(inner, unlistedp, tl.maximum(unlistedp - ownp, 0.0))
            tl.store(powers + at, tl.where(unscored, nan, sump * tl.exp2(-POWER * tl.log2(total))), mask=inside)
        logs = tl.where(listed, logs, nothing)
        beside_list = tl.where(is_own, 0.0, tl.exp(logs))
        for j in tl.static_range(len(KS)):
            k = KS[j]
            hit = rank <= k
            unlisted = tl.maximum(classes - k, 1).to(tl.float32)
            tail = tl.where(place >= k, logs, nothing)
            top = tl.maximum(tl.max(tail, axis=1), beyond)
            top = tl.where(top == nothing, 0.0, top)
            log_rest_k = top + tl.log(tl.sum(tl.exp(tail - top[:, None]), axis=1) + tl.exp(beyond - top))
            rest = tl.exp(log_rest_k)
            kept = tl.where(place < k, beside_list, 0.0)
            share = tl.where(hit, 1.0, (unlisted - 1.0) / unlisted)  # of what is left over, that is not the outcome's
            share_log = tl.where(hit, log_prob, log_rest_k - tl.log(unlisted))
            at = row * columns + j
            tl.store(log_q + at, tl.where(unscored, nan, share_log), mask=inside)
            tl.store(miss + at, tl.where(unscored, nan, tl.sum(kept, axis=1) + rest * share), mask=inside)
            if SQUARES:
                sum2 = tl.sum(kept * kept, axis=1) + rest * share * (rest / unlisted)
                tl.store(squares + at, tl.where(unscored, nan, sum2), mask=inside)
            if POWER != 0:
                sump = tl.sum(_power(kept, POWER), axis=1) + unlisted * share * _power(rest / unlisted, POWER)
                tl.store(powers + at, tl.where(unscored, nan, sump), mask=inside)
