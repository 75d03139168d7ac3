"""Lists and statistics of rows of logits in one read: kernels for wide rows and for rows that fit into registers.

**Wide rows.** One program sweeps a row in tiles of `BLOCK` logits. Column i of all tiles is lane i. Per lane,
registers keep the largest logit and sums of exponentials. If at most KP lanes (the next power of two above k) have a
largest logit that reaches the k-th largest of all lanes, these lanes hold every logit of the list, and they are read
again; they are in the cache. If more lanes do, because logits tie, a second sweep finds in which tile each lane has
its largest logit first: now the lanes have a total order (value, then class index), and the first k of them hold the
list, since at most k logits come before any logit of it. The list is then found among the logits of these lanes:
first the largest of each, then the second of each, until what is left comes after the k-th.

Sums without the outcome, and without the list, add up other lanes and other logits of the lanes that were read again.
Nothing is subtracted, so that what is left over by a nearly certain list keeps its digits.

**Exponentials** are taken relative to the largest logit of the first tile. Where a later one is so much larger that
sums could overflow, the row is swept once more, relative to its largest logit.
"""

from __future__ import annotations

import triton
import triton.language as tl

LN2 = tl.constexpr(0.6931471805599453)
TINY = tl.constexpr(1e-30)  # sums below this may have lost digits to underflow
LEAST = tl.constexpr(-9223372036854775807)  # below the key of any logit


@triton.jit
def _ordered(x):
    """Integers that order as logits do."""
    bits = (x + 0.0).to(tl.int32, bitcast=True)  # -0 and 0 tie
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _keys(x, at):
    """Keys of logits that order as (value, then lower class index first): 32 bits of the value, 32 of the index."""
    return (_ordered(x).to(tl.int64) << 32) | (0x7FFFFFFF - at).to(tl.int64)


@triton.jit
def _lane_keys(m, lane, SHORT: tl.constexpr):
    """Keys of lanes that order as (largest logit, then lower lane first), in 32 bits for logits of 16 bits."""
    if SHORT:
        return (_ordered(m) & -8192) | (8191 - lane)  # the last 13 bits of these numbers are zero
    else:
        return _keys(m, lane)


@triton.jit
def _lane(key, SHORT: tl.constexpr):
    """The lane of a key."""
    if SHORT:
        return 8191 - (key & 8191)
    else:
        return _index(key)


@triton.jit
def _value(key):
    """The logit of a key."""
    ordered = (key >> 32).to(tl.int32)
    return (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)


@triton.jit
def _index(key):
    """The class index of a key."""
    return 0x7FFFFFFF - (key & 0x7FFFFFFF).to(tl.int32)


@triton.jit
def _exp(x, shift, scale):
    """The exponential of x / temperature, times a factor that all terms share: 2**(x * scale + shift)."""
    return tl.exp2(x * scale + shift)


@triton.jit
def _log1p(x):
    """log(1 + x) for x from -0.5 to 0, by the series of 2 atanh(x / (2 + x)); the hardware's log is rough near 1."""
    z = x / (2.0 + x)
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
def _log_share(own, others):
    """log(own / (own + others)), accurate where it is near zero; NaN passes through."""
    total = own + others
    near = others < own
    ratio = own / total
    far = tl.where(ratio > TINY, tl.log(ratio), tl.log(own) - tl.log(total))
    return tl.where(near, _log1p(-tl.where(near, others, 0.0) / total), far)


@triton.jit
def _above(x):
    """The least float32 above x."""
    bits = (x + 0.0).to(tl.int32, bitcast=True)
    return (bits + tl.where(bits < 0, -1, 1)).to(tl.float32, bitcast=True)


@triton.jit
def _sum_tile(x, shift, scale, s, q, r, SQUARES: tl.constexpr, POWER: tl.constexpr):
    """Add the exponentials of a tile, their squares and their powers to the sums of the lanes."""
    e = _exp(x, shift, scale)
    s += e
    if SQUARES:
        q += e * e
    if POWER != 0:
        r += _exp(x, shift * POWER, scale * POWER)
    return s, q, r


@triton.jit
def _store_list(classes, log_confidences, row, key, others, first, shift, scale, K: tl.constexpr, KP: tl.constexpr):
    """Write one list; give the log probability of its first class and that of all others together.

    `others` is the sum of exponentials beside the list, `first` the largest logit.
    """
    place = tl.arange(0, KP)
    listed = place < K
    e = tl.where(listed, _exp(_value(key), shift, scale), 0.0)
    beside = tl.sum(tl.where(place == 0, 0.0, e), axis=0) + others
    log_first = _log_share(_exp(first, shift, scale), beside)
    logs = (_value(key) - first) * (scale * LN2) + log_first
    tl.store(classes + row * K + place, _index(key).to(tl.int64), mask=listed)
    tl.store(log_confidences + row * K + place, logs, mask=listed)
    return log_first, _log_share(others, tl.sum(e, axis=0))


@triton.jit
def _store_outcome(
    ranks, log_probs, misses, squares, powers, row, scored, asked, rank, xy, own, beside, e2, ep, first, log_first,
    scale,
    SQUARES: tl.constexpr, POWER: tl.constexpr,
):  # fmt: skip
    """Write what rules need of an outcome: rank, log probability, and sums over the other classes."""
    nan = float("nan")
    total = own + beside
    log_prob = tl.where(own >= beside, _log_share(own, beside), (xy - first) * (scale * LN2) + log_first)
    tl.store(ranks + row, tl.where(scored, rank + 1, tl.where(asked, -1, 0)).to(tl.int64))
    tl.store(log_probs + row, tl.where(scored, log_prob, nan))
    tl.store(misses + row, tl.where(scored, beside / total, nan))
    if SQUARES:
        tl.store(squares + row, tl.where(scored, e2 / total / total, nan))
    if POWER != 0:
        tl.store(powers + row, tl.where(scored, ep * tl.exp2(-POWER * tl.log2(total)), nan))


@triton.jit
def _first_lanes(keys, KP: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr, SHORT: tl.constexpr):
    """The KP lanes that come first: among those of the KP groups of neighbouring lanes that come first."""
    top = tl.topk(tl.max(tl.reshape(keys, [BLOCK // GROUP, GROUP]), axis=1), KP)
    near = (_lane(top, SHORT) % BLOCK // GROUP)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    return tl.topk(tl.gather(keys, tl.reshape(near, [KP * GROUP]), 0), KP)


@triton.jit
def _first_keys(cells, K: tl.constexpr, KP: tl.constexpr):
    """The KP keys that come first, of which K are exact, of the keys of some lanes, one lane per row.

    The largest of each lane, then the second of each, as long as one of these comes before the K-th.
    """
    place = tl.arange(0, KP)
    layer = tl.max(cells, axis=1)
    top = tl.sort(layer, descending=True)
    last = tl.sum(tl.where(place == K - 1, top, 0), axis=0)
    layer = tl.max(tl.where(cells < layer[:, None], cells, LEAST), axis=1)
    while tl.max(layer, axis=0) > last:
        top = tl.topk(tl.reshape(tl.join(top, layer), [2 * KP]), KP)
        last = tl.sum(tl.where(place == K - 1, top, 0), axis=0)
        layer = tl.max(tl.where(cells < layer[:, None], cells, LEAST), axis=1)
    return top, last


@triton.jit
def wide_rows(
    logits, outcomes, classes, log_confidences, log_rest, ranks, log_probs, misses, squares, powers,
    width, stride_row, stride_column, scale, ignore, limit,
    K: tl.constexpr, KP: tl.constexpr, WHOLE: tl.constexpr, TILES: tl.constexpr, BLOCK: tl.constexpr,
    GROUP: tl.constexpr, SHORT: tl.constexpr, OUTCOMES: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """One program per row of at least BLOCK logits; see the module for the method."""
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride_row
    lane = tl.arange(0, BLOCK)
    y = 0
    xy = 0.0
    above = 0.0
    if OUTCOMES:
        given = tl.load(outcomes + row)
        scored = (given != ignore) & (given >= 0) & (given < width)
        y = tl.where(scored, given, 0).to(tl.int32)
        xy = tl.load(start + y * stride_column).to(tl.float32)
        above = _above(xy)
    ref = tl.max(tl.load(start + lane * stride_column).to(tl.float32), axis=0)
    ref = tl.where(ref == -float("inf"), 0.0, ref)
    shift = -ref * scale
    m = tl.full([BLOCK], -float("inf"), tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    q = tl.zeros([BLOCK], tl.float32)
    r = tl.zeros([BLOCK], tl.float32)
    before = tl.zeros([BLOCK], tl.int32)
    for t in tl.range(0, WHOLE, loop_unroll_factor=UNROLL):
        x = tl.load(start + (t * BLOCK + lane) * stride_column).to(tl.float32)
        m = tl.maximum(m, x)
        s, q, r = _sum_tile(x, shift, scale, s, q, r, SQUARES, POWER)
        if OUTCOMES:
            before += (x >= tl.where((t + 1) * BLOCK <= y, xy, above)).to(tl.int32)
    at = WHOLE * BLOCK + lane
    x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
    m = tl.maximum(m, x)
    s, q, r = _sum_tile(x, shift, scale, s, q, r, SQUARES, POWER)
    if OUTCOMES:  # ties with the outcome in its own tile follow
        before += (x > xy).to(tl.int32)
    largest = tl.max(m, axis=0)
    if tl.abs(largest - ref) * scale > limit:  # exponentials may overflow: add them up again
        shift = -largest * scale
        s = tl.zeros([BLOCK], tl.float32)
        q = tl.zeros([BLOCK], tl.float32)
        r = tl.zeros([BLOCK], tl.float32)
        for t in tl.range(0, WHOLE + 1):
            at = t * BLOCK + lane
            x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
            s, q, r = _sum_tile(x, shift, scale, s, q, r, SQUARES, POWER)
    place = tl.arange(0, KP)
    keys = _lane_keys(m, lane, SHORT)
    first = _first_lanes(keys, KP, BLOCK, GROUP, SHORT)
    lanes = _lane(first, SHORT) % BLOCK
    kth = tl.sum(tl.where(place == K - 1, first, 0), axis=0)
    tied = tl.sum((m >= tl.max(tl.where(keys == kth, m, -float("inf")), axis=0)).to(tl.int32), axis=0)
    inner = tl.sum(tl.where(keys < tl.min(first, axis=0), s, 0.0), axis=0)
    if tied > KP:  # find the first tile in which each lane has its largest logit
        tile = tl.full([BLOCK], WHOLE, tl.int32)
        for t in tl.range(0, WHOLE):
            x = tl.load(start + (t * BLOCK + lane) * stride_column).to(tl.float32)
            tile = tl.where((x == m) & (t < tile), t, tile)
        exact = _keys(m, tile * BLOCK + lane)
        best = _first_lanes(exact, KP, BLOCK, GROUP, False)
        lanes = _index(best) % BLOCK
        inner = tl.sum(tl.where(exact < tl.min(best, axis=0), s, 0.0), axis=0)
    tiles = tl.arange(0, TILES)
    cells = lanes[:, None] + tiles[None, :] * BLOCK
    fits = cells < width
    again = tl.load(start + cells * stride_column, mask=fits, other=-float("inf")).to(tl.float32)
    candidates = tl.where(fits, _keys(again, cells), LEAST)
    top, last = _first_keys(candidates, K, KP)
    cut = fits & (candidates < last)
    others = inner + tl.sum(tl.sum(tl.where(cut, _exp(again, shift, scale), 0.0), axis=1), axis=0)
    log_first, log_others = _store_list(classes, log_confidences, row, top, others, largest, shift, scale, K, KP)
    if others < TINY:  # relative to the largest of these
        second = -float("inf")
        for t in tl.range(0, WHOLE + 1):
            at = t * BLOCK + lane
            x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
            second = tl.maximum(second, tl.max(tl.where(_keys(x, at) < last, x, -float("inf")), axis=0))
        s2 = tl.zeros([BLOCK], tl.float32)
        for t in tl.range(0, WHOLE + 1):
            at = t * BLOCK + lane
            x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
            s2 += tl.where((at < width) & (_keys(x, at) < last), _exp(x, -second * scale, scale), 0.0)
        log_others = (second - largest) * (scale * LN2) + tl.log(tl.sum(s2, axis=0)) + log_first
        log_others = tl.where(second == -float("inf"), second, log_others)
    tl.store(log_rest + row, log_others)
    if OUTCOMES:
        elsewhere = lane != y % BLOCK
        column = y % BLOCK + tiles * BLOCK
        kept = (column != y) & (column < width)
        own = tl.load(start + column * stride_column, mask=kept, other=-float("inf")).to(tl.float32)
        e = tl.where(kept, _exp(own, shift, scale), 0.0)
        beside = tl.sum(tl.where(elsewhere, s, 0.0), axis=0) + tl.sum(e, axis=0)
        e2 = 0.0
        ep = 0.0
        if SQUARES:
            e2 = tl.sum(tl.where(elsewhere, q, 0.0), axis=0) + tl.sum(e * e, axis=0)
        if POWER != 0:
            raised = tl.where(kept, _exp(own, shift * POWER, scale * POWER), 0.0)
            ep = tl.sum(tl.where(elsewhere, r, 0.0), axis=0) + tl.sum(raised, axis=0)
        at = y // BLOCK * BLOCK + lane
        x = tl.load(start + at * stride_column, mask=at < y, other=float("nan")).to(tl.float32)
        rank = tl.sum(before + (x == xy).to(tl.int32), axis=0)
        _store_outcome(
            ranks, log_probs, misses, squares, powers, row, scored, given != ignore, rank, xy, _exp(xy, shift, scale),
            beside, e2, ep, largest, log_first, scale, SQUARES, POWER,
        )  # fmt: skip


@triton.jit
def _extract(x, at, K: tl.constexpr, KP: tl.constexpr):
    """The class indices of the K logits that come first, and their places in x marked, one after the other."""
    place = tl.arange(0, KP)
    found = tl.zeros([KP], tl.int32)
    o = _ordered(x)
    for j in tl.static_range(K):
        best = tl.max(o, axis=0)
        index = tl.min(tl.where(o == best, at, 0x7FFFFFFF), axis=0)
        found = tl.where(place == j, index, found)
        o = tl.where(at == index, -2147483648, o)
    return found


@triton.jit
def narrow_rows(
    logits, outcomes, classes, log_confidences, log_rest, ranks, log_probs, misses, squares, powers,
    stride_row, stride_column, scale, ignore,
    WIDTH: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr,
    OUTCOMES: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr,
):  # fmt: skip
    """One program per row of at most BLOCK logits, which stay in registers."""
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride_row
    lane = tl.arange(0, BLOCK)
    x = tl.load(start + lane * stride_column, mask=lane < WIDTH, other=-float("inf")).to(tl.float32)
    ref = tl.max(x, axis=0)
    shift = -ref * scale
    e = _exp(x, shift, scale)
    place = tl.arange(0, KP)
    groups: tl.constexpr = BLOCK // GROUP
    if K <= 8 and groups > KP:
        # The list is in the k groups of neighbours that come first.
        largest = tl.max(tl.reshape(x, [groups, GROUP]), axis=1)
        group = _extract(largest, tl.arange(0, groups), K, KP)
        near = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
        near = tl.reshape(tl.where((place < K)[:, None], near, BLOCK), [KP * GROUP])
        some = tl.load(start + near * stride_column, mask=near < WIDTH, other=-float("inf")).to(tl.float32)
        listed = _extract(some, near, K, KP)
        top = _keys(tl.load(start + listed * stride_column).to(tl.float32), listed)
    elif KP * GROUP < BLOCK:
        top = tl.topk(tl.max(tl.reshape(_keys(x, lane), [groups, GROUP]), axis=1), KP)
        near = (_index(top) // GROUP)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
        near = tl.reshape(near, [KP * GROUP])
        some = tl.load(start + near * stride_column, mask=near < WIDTH, other=-float("inf")).to(tl.float32)
        top = tl.topk(_keys(some, near), KP)
    else:
        top = tl.topk(_keys(x, lane), KP)
    last = tl.sum(tl.where(place == K - 1, top, 0), axis=0)
    least = _value(last)
    left = (x < least) | ((x == least) & (lane > _index(last)))
    others = tl.sum(tl.where(left, e, 0.0), axis=0)
    log_first, log_others = _store_list(classes, log_confidences, row, top, others, ref, shift, scale, K, KP)
    if others < TINY:  # relative to the largest of these
        left = left & (lane < WIDTH)
        second = tl.max(tl.where(left, x, -float("inf")), axis=0)
        total = tl.sum(tl.where(left, _exp(x, -second * scale, scale), 0.0), axis=0)
        log_others = (second - ref) * (scale * LN2) + tl.log(total) + log_first
        log_others = tl.where(second == -float("inf"), second, log_others)
    tl.store(log_rest + row, log_others)
    if OUTCOMES:
        given = tl.load(outcomes + row)
        scored = (given != ignore) & (given >= 0) & (given < WIDTH)
        y = tl.where(scored, given, 0).to(tl.int32)
        xy = tl.load(start + y * stride_column).to(tl.float32)
        e = tl.where(lane == y, 0.0, e)
        e2 = 0.0
        ep = 0.0
        if SQUARES:
            e2 = tl.sum(e * e, axis=0)
        if POWER != 0:
            ep = tl.sum(tl.where(lane == y, 0.0, _exp(x, shift * POWER, scale * POWER)), axis=0)
        rank = tl.sum((x >= tl.where(lane < y, xy, _above(xy))).to(tl.int32), axis=0)
        _store_outcome(
            ranks, log_probs, misses, squares, powers, row, scored, given != ignore, rank, xy, _exp(xy, shift, scale),
            tl.sum(e, axis=0), e2, ep, ref, log_first, scale, SQUARES, POWER,
        )  # fmt: skip


@triton.jit
def _power(x, a: tl.constexpr):
    """x to the power a, for x from 0 on."""
    if a == 2:
        return x * x
    else:
        return tl.where(x > 0, tl.exp2(a * tl.log2(tl.where(x > 0, x, 1.0))), 0.0)


@triton.jit
def padded_sums(
    log_confidences, log_rest, ranks, log_probs, misses, full_squares, full_powers, log_q, miss, squares, powers,
    cases, classes,
    K: tl.constexpr, KP: tl.constexpr, KS: tl.constexpr, ROWS: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr,
):  # fmt: skip
    """What rules need of lists cut to each length in KS and of the full distribution, in the last column.

    The log of the outcome's share, what that lacks to one, and sums of squares and powers over the other classes.
    """
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    inside = row < cases
    place = tl.arange(0, KP)[None, :]
    nothing = -float("inf")
    logs = tl.load(log_confidences + row[:, None] * K + place, mask=inside[:, None] & (place < K), other=nothing)
    beyond = tl.load(log_rest + row, mask=inside, other=nothing)
    rank = tl.load(ranks + row, mask=inside, other=0).to(tl.int32)
    log_prob = tl.load(log_probs + row, mask=inside, other=0.0)
    ignored = rank <= 0
    beside = tl.where(place == rank[:, None] - 1, 0.0, tl.exp(logs))
    columns: tl.constexpr = len(KS) + 1
    for j in tl.static_range(len(KS)):
        k = KS[j]
        hit = rank <= k
        unlisted = tl.maximum(classes - k, 1).to(tl.float32)
        tail = tl.where(place >= k, logs, nothing)
        top = tl.maximum(tl.max(tail, axis=1), beyond)
        top = tl.where(top == nothing, 0.0, top)
        log_rest_k = top + tl.log(tl.sum(tl.exp(tail - top[:, None]), axis=1) + tl.exp(beyond - top))
        rest = tl.exp(log_rest_k)
        listed = tl.where(place < k, beside, 0.0)
        share = tl.where(hit, 1.0, (unlisted - 1.0) / unlisted)  # of what is left over, that is not the outcome's
        own = tl.where(hit, log_prob, log_rest_k - tl.log(unlisted))
        nan = float("nan")
        at = row * columns + j
        tl.store(log_q + at, tl.where(ignored, nan, own), mask=inside)
        tl.store(miss + at, tl.where(ignored, nan, tl.sum(listed, axis=1) + rest * share), mask=inside)
        if SQUARES:
            found = tl.sum(listed * listed, axis=1) + rest * share * (rest / unlisted)
            tl.store(squares + at, tl.where(ignored, nan, found), mask=inside)
        if POWER != 0:
            found = tl.sum(_power(listed, POWER), axis=1) + unlisted * share * _power(rest / unlisted, POWER)
            tl.store(powers + at, tl.where(ignored, nan, found), mask=inside)
    at = row * columns + columns - 1
    tl.store(log_q + at, log_prob, mask=inside)
    tl.store(miss + at, tl.load(misses + row, mask=inside), mask=inside)
    if SQUARES:
        tl.store(squares + at, tl.load(full_squares + row, mask=inside), mask=inside)
    if POWER != 0:
        tl.store(powers + at, tl.load(full_powers + row, mask=inside), mask=inside)
