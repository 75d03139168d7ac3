"""Lists and statistics of rows of logits in one read: kernels for wide rows and for rows that fit into registers.

**Wide rows.** One program sweeps a row in tiles of `BLOCK` logits. Column i of all tiles is lane i. Per lane,
registers keep the largest logit and sums of exponentials. If at most KP lanes (the next power of two above k) have a
largest logit that reaches the k-th largest of all lanes, these lanes hold every logit of the list, and they are read
again; they are in the cache. If more lanes do, because logits tie, a second sweep finds in which tile each lane has
its largest logit first: now the lanes have a total order (value, then class index), and the first k of them hold the
list, since at most k logits come before any logit of it. The list is then found among the logits of these lanes:
first the largest of each, then the second of each, until what is left comes after the k-th.

Sums beside the list add up other lanes and other logits of the lanes that were read again. Nothing is subtracted, so
that what a nearly certain list leaves over keeps its digits. `finish` adds the listed classes to them, without the
outcome; only an unlisted outcome is subtracted, which is harmless where listed classes are more likely.

**Exponentials** are taken relative to the largest logit of the first tile. Where a later one is so much larger that
sums could overflow, the row is swept once more, relative to its largest logit.
"""

from __future__ import annotations

import triton
import triton.language as tl

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
def _lane_value(key, SHORT: tl.constexpr):
    """The largest logit of a lane, of its key."""
    if SHORT:
        ordered = (key & -8192) | tl.where(key < 0, 8191, 0)
        return (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    else:
        return _value(key)


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
def _take_tile(x, t, y, xy, above, shift, scale, m, s, q, r, before, BLOCK: tl.constexpr, GROUP: tl.constexpr,
               OUTCOMES: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr):  # fmt: skip
    """Take one tile into what lanes keep: their largest logits, sums, and how many come before the outcome."""
    x = x.to(tl.float32)
    m = tl.maximum(m, x)
    s, q, r = _sum_tile(x, shift, scale, s, q, r, SQUARES, POWER)
    if OUTCOMES:
        ahead = (x >= tl.where((t + 1) * BLOCK <= y, xy, above)).to(tl.int32)
        before += tl.sum(tl.reshape(ahead, [BLOCK // GROUP, GROUP]), axis=1)
    return m, s, q, r, before


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
    logits, outcomes, classes, values, ranks, sums, cases,
    width, stride_row, stride_column, scale, ignore, limit,
    K: tl.constexpr, KP: tl.constexpr, WHOLE: tl.constexpr, TILES: tl.constexpr, BLOCK: tl.constexpr,
    GROUP: tl.constexpr, SHORT: tl.constexpr, ALIGNED: tl.constexpr, OUTCOMES: tl.constexpr, SQUARES: tl.constexpr,
    POWER: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """One program per row of at least BLOCK logits; see the module for the method."""
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride_row
    if ALIGNED:
        start = tl.multiple_of(start, 16)
    lane = tl.arange(0, BLOCK)
    y = 0
    xy = 0.0
    above = 0.0
    asked = True
    scored = True
    if OUTCOMES:
        given = tl.load(outcomes + row)
        asked = given != ignore
        scored = asked & (given >= 0) & (given < width)
        y = tl.where(scored, given, 0).to(tl.int32)
        xy = tl.load(start + y * stride_column).to(tl.float32)
        above = _above(xy)
    tile = tl.load(start + lane * stride_column)
    second = tl.load(start + (min(1, WHOLE - 1) * BLOCK + lane) * stride_column)
    ref = tl.max(tile.to(tl.float32), axis=0)
    ref = tl.where(ref == -float("inf"), 0.0, ref)
    shift = -ref * scale
    m = tl.full([BLOCK], -float("inf"), tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    q = tl.zeros([BLOCK], tl.float32)
    r = tl.zeros([BLOCK], tl.float32)
    before = tl.zeros([BLOCK // GROUP], tl.int32)
    for t in tl.range(0, WHOLE, loop_unroll_factor=UNROLL):
        third = tl.load(start + (min(t + 2, WHOLE - 1) * BLOCK + lane) * stride_column)  # two tiles are under way
        m, s, q, r, before = _take_tile(
            tile, t, y, xy, above, shift, scale, m, s, q, r, before, BLOCK, GROUP, OUTCOMES, SQUARES, POWER
        )  # fmt: skip
        tile = second
        second = third
    at = WHOLE * BLOCK + lane
    x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
    m = tl.maximum(m, x)
    s, q, r = _sum_tile(x, shift, scale, s, q, r, SQUARES, POWER)
    rank = 0
    if OUTCOMES:  # the last tile, and ties with the outcome in its own tile
        at = y // BLOCK * BLOCK + lane
        same = tl.load(start + at * stride_column, mask=at < y, other=float("nan")).to(tl.float32)
        rank = tl.sum(before, axis=0) + tl.sum((x > xy).to(tl.int32) + (same == xy).to(tl.int32), axis=0)
        tl.store(ranks + row, tl.where(scored, rank + 1, tl.where(asked, -1, 0)).to(tl.int64))
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
    kth = _lane_value(tl.sum(tl.where(place == K - 1, first, 0), axis=0), SHORT)
    used = _lane_value(first, SHORT) >= kth
    outer = ~(m >= kth)  # of NaN too, so that it shows
    if tl.sum((m >= kth).to(tl.int32), axis=0) > KP:  # find the first tile in which each lane has its largest logit
        found = tl.full([BLOCK], WHOLE, tl.int32)
        for t in tl.range(0, WHOLE):
            x = tl.load(start + (t * BLOCK + lane) * stride_column).to(tl.float32)
            found = tl.where((x == m) & (t < found), t, found)
        exact = _keys(m, found * BLOCK + lane)
        best = _first_lanes(exact, KP, BLOCK, GROUP, False)
        lanes = _index(best) % BLOCK
        used = place >= 0
        outer = exact < tl.min(best, axis=0)
    cells = lanes[:, None] + tl.arange(0, TILES)[None, :] * BLOCK
    fits = used[:, None] & (cells < width)
    again = tl.load(start + cells * stride_column, mask=fits, other=-float("inf")).to(tl.float32)
    candidates = tl.where(fits, _keys(again, cells), LEAST)
    top, last = _first_keys(candidates, K, KP)
    tl.store(classes + row * K + place, _index(top).to(tl.int64), mask=place < K)
    tl.store(values + row * K + place, _value(top), mask=place < K)
    e = tl.where(fits & (candidates < last), _exp(again, shift, scale), 0.0)
    others = tl.sum(tl.where(outer, s, 0.0), axis=0) + tl.sum(tl.sum(e, axis=1), axis=0)
    if SQUARES:
        found2 = tl.sum(tl.where(outer, q, 0.0), axis=0) + tl.sum(tl.sum(e * e, axis=1), axis=0)
        tl.store(sums + 4 * cases + row, found2)
    if POWER != 0:
        raised = tl.where(e > 0, _exp(again, shift * POWER, scale * POWER), 0.0)
        foundp = tl.sum(tl.where(outer, r, 0.0), axis=0) + tl.sum(tl.sum(raised, axis=1), axis=0)
        tl.store(sums + 5 * cases + row, foundp)
    shift_others = shift
    if others < TINY:  # relative to the largest of these
        nearest = -float("inf")
        for t in tl.range(0, WHOLE + 1):
            at = t * BLOCK + lane
            x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
            nearest = tl.maximum(nearest, tl.max(tl.where(_keys(x, at) < last, x, -float("inf")), axis=0))
        if nearest > -float("inf"):
            shift_others = -nearest * scale
            s2 = tl.zeros([BLOCK], tl.float32)
            for t in tl.range(0, WHOLE + 1):
                at = t * BLOCK + lane
                x = tl.load(start + at * stride_column, mask=at < width, other=-float("inf")).to(tl.float32)
                s2 += tl.where((at < width) & (_keys(x, at) < last), _exp(x, shift_others, scale), 0.0)
            others = tl.sum(s2, axis=0)
    tl.store(sums + row, shift)
    tl.store(sums + cases + row, shift_others)
    tl.store(sums + 2 * cases + row, others)
    tl.store(sums + 3 * cases + row, xy)


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
    logits, outcomes, classes, values, ranks, sums, cases,
    stride_row, stride_column, scale, ignore,
    WIDTH: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr,
    ALIGNED: tl.constexpr, OUTCOMES: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr,
):  # fmt: skip
    """One program per row of at most BLOCK logits, which stay in registers."""
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride_row
    if ALIGNED:
        start = tl.multiple_of(start, 16)
    lane = tl.arange(0, BLOCK)
    x = tl.load(start + lane * stride_column, mask=lane < WIDTH, other=-float("inf")).to(tl.float32)
    y = 0
    xy = 0.0
    if OUTCOMES:
        given = tl.load(outcomes + row)
        asked = given != ignore
        scored = asked & (given >= 0) & (given < WIDTH)
        y = tl.where(scored, given, 0).to(tl.int32)
        xy = tl.load(start + y * stride_column).to(tl.float32)
    place = tl.arange(0, KP)
    groups: tl.constexpr = BLOCK // GROUP
    if K <= 8 and KP < groups:  # noqa: SIM300
        # The list is in the k groups of neighbours that come first.
        group = _extract(tl.max(tl.reshape(x, [groups, GROUP]), axis=1), tl.arange(0, groups), K, KP)
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
    tl.store(classes + row * K + place, _index(top).to(tl.int64), mask=place < K)
    tl.store(values + row * K + place, _value(top), mask=place < K)
    last = tl.sum(tl.where(place == K - 1, top, 0), axis=0)
    least = _value(last)
    shift = -_value(tl.max(top, axis=0)) * scale
    left = (x < tl.where(lane > _index(last), _above(least), least)) | (x != x)  # NaN shows
    e = tl.where(left, _exp(x, shift, scale), 0.0)
    others = tl.sum(e, axis=0)
    if SQUARES:
        tl.store(sums + 4 * cases + row, tl.sum(e * e, axis=0))
    if POWER != 0:
        tl.store(sums + 5 * cases + row, tl.sum(tl.where(left, _exp(x, shift * POWER, scale * POWER), 0.0), axis=0))
    if OUTCOMES:
        rank = tl.sum((x >= tl.where(lane < y, xy, _above(xy))).to(tl.int32), axis=0)
        tl.store(ranks + row, tl.where(scored, rank + 1, tl.where(asked, -1, 0)).to(tl.int64))
    shift_others = shift
    if others < TINY:  # relative to the largest of these
        kept = (lane < WIDTH) & left
        nearest = tl.max(tl.where(kept, x, -float("inf")), axis=0)
        if nearest > -float("inf"):
            shift_others = -nearest * scale
            others = tl.sum(tl.where(kept, _exp(x, shift_others, scale), 0.0), axis=0)
    tl.store(sums + row, shift)
    tl.store(sums + cases + row, shift_others)
    tl.store(sums + 2 * cases + row, others)
    tl.store(sums + 3 * cases + row, xy)
