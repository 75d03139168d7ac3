"""Lists and statistics of rows of logits in one read: kernels for wide rows and for rows that fit into registers.

**Wide rows.** One program sweeps a row in tiles of `BLOCK` logits. A group is what one thread loads of a tile at once,
16 bytes, and a place is where a logit is, counted from the first group of the row on (see `rows`). A unit is one group
of each tile in a quarter of the row. Registers keep, per unit, the largest logit and sums of exponentials. The units
whose largest logit reaches the k-th largest of all units hold every logit of the list. A threshold at or below that is
found among the largest logits of many units together; if at most KP units reach it, a power of two somewhat above k,
these are read again: a few sectors of memory each. If more do, because logits tie or many of the largest are
neighbours, a second sweep finds which class has the largest logit of each unit first: now the units have a total order
(value, then class index), and the first KP of them hold the list, since fewer than k logits come before any logit of
it. The list is then found among the logits of these units: first the largest of each, then the second of each, until
what is left comes after the k-th.

Sums beside the list add up other units, and other logits of the units that were read again. Nothing is subtracted, so
that what a nearly certain list leaves over keeps its digits. `finish` adds the listed classes to them, without the
outcome; only an unlisted outcome is subtracted, which is harmless where listed classes are more likely.

**Exponentials** are taken relative to the largest logit of the first tile. Where a later one is so much larger that
sums could overflow, the row is swept once more, relative to its largest logit.
"""

from __future__ import annotations

import triton
import triton.language as tl

from toplist.integrations.torch.kernels.rows import inside, lead_of, load_places

TINY = tl.constexpr(1e-30)  # sums below this may have lost digits to underflow
LEAST = tl.constexpr(-(2**63))  # below the key of any logit
FEW = tl.constexpr(32)  # lists of up to so many keys are found by comparing each with each


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
def _power(x, shift, scale, POWER: tl.constexpr):
    """A power of that."""
    return tl.exp2((x * scale + shift) * POWER)


@triton.jit
def _above(x):
    """The least float32 above x."""
    bits = (x + 0.0).to(tl.int32, bitcast=True)
    return (bits + tl.where(bits < 0, -1, 1)).to(tl.float32, bitcast=True)


@triton.jit
def _groups(x, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    """A tile by groups."""
    return tl.reshape(x, [BLOCK // GROUP, GROUP])


@triton.jit
def _sums(x, shift, scale, BLOCK: tl.constexpr, GROUP: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr):
    """The exponentials of a tile, their squares and their powers, added up by groups."""
    e = _groups(_exp(x, shift, scale), BLOCK, GROUP)
    s = tl.sum(e, axis=1)
    q = s
    r = s
    if SQUARES:
        q = tl.sum(e * e, axis=1)
    if POWER != 0:
        r = tl.sum(_groups(_power(x, shift, scale, POWER), BLOCK, GROUP), axis=1)
    return s, q, r


@triton.jit
def _take(x, shift, scale, m, s, q, r, BLOCK: tl.constexpr, GROUP: tl.constexpr, SQUARES: tl.constexpr,
          POWER: tl.constexpr):  # fmt: skip
    """Take a tile into the largest logits and the sums of units."""
    more_s, more_q, more_r = _sums(x, shift, scale, BLOCK, GROUP, SQUARES, POWER)
    return tl.maximum(m, tl.max(_groups(x, BLOCK, GROUP), axis=1)), s + more_s, q + more_q, r + more_r


@triton.jit
def _ahead(x, t, y, xy, above, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    """How many logits of tile t come before the outcome, by groups; ties in the outcome's own tile are left out."""
    ahead = (x >= tl.where((t + 1) * BLOCK <= y, xy, above)).to(tl.float32)  # fewer instructions than integers
    return tl.sum(_groups(ahead, BLOCK, GROUP), axis=1)


@triton.jit
def _sweep(start, tile, second, before, lead, end, y, xy, above, shift, scale,
           FROM: tl.constexpr, TO: tl.constexpr, WHOLE: tl.constexpr, LAST: tl.constexpr, BLOCK: tl.constexpr,
           GROUP: tl.constexpr, ROW_GROUP: tl.constexpr, OUTCOMES: tl.constexpr, SQUARES: tl.constexpr,
           POWER: tl.constexpr, UNROLL: tl.constexpr):  # fmt: skip
    """A quarter of a row: the largest logits and sums of its units, and how many come before the outcome by groups."""
    lane = tl.arange(0, BLOCK)
    m = tl.full([BLOCK // GROUP], -float("inf"), tl.float32)
    s = tl.zeros([BLOCK // GROUP], tl.float32)
    q = tl.zeros([BLOCK // GROUP], tl.float32)
    r = tl.zeros([BLOCK // GROUP], tl.float32)
    for t in tl.range(FROM, min(TO, WHOLE), loop_unroll_factor=UNROLL):
        third = tl.load(start + min(t + 2, WHOLE - 1) * BLOCK + lane)  # two tiles are under way
        m, s, q, r = _take(tile.to(tl.float32), shift, scale, m, s, q, r, BLOCK, GROUP, SQUARES, POWER)
        if OUTCOMES:
            before += _ahead(tile.to(tl.float32), t, y, xy, above, BLOCK, GROUP)
        tile = second
        second = third
    for t in tl.static_range(WHOLE, LAST):  # what is left of the row
        if t >= FROM and t < TO:
            x = load_places(start, t * BLOCK + lane, lead, end, 1, ROW_GROUP).to(tl.float32)
            m, s, q, r = _take(x, shift, scale, m, s, q, r, BLOCK, GROUP, SQUARES, POWER)
            if OUTCOMES:
                before += _ahead(x, t, y, xy, above, BLOCK, GROUP)
    return m, s, q, r, before, tile, second


@triton.jit
def _quarters(a, b, c, d, UNITS: tl.constexpr):
    """What the quarters of a row have by groups as one row of units: unit 4 g + c is group g of quarter c."""
    return tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), [UNITS])


@triton.jit
def _first(keys, KP: tl.constexpr):
    """The KP largest keys in their order; few of them by comparing each with each. Only LEAST may be there twice."""
    if KP > FEW:
        return tl.topk(keys, KP)
    else:
        rank = tl.sum((keys[None, :] > keys[:, None]).to(tl.int32), axis=1)
        return tl.sum(tl.where(rank[:, None] == tl.arange(0, KP)[None, :], keys[:, None], 0), axis=0)


@triton.jit
def _bound(o, used, K: tl.constexpr, KP: tl.constexpr):
    """A bound that at least K of the integers in use reach, and at most KP unless they tie; or all, if they are fewer.

    By bisection: sorting takes Triton half a minute to compile.
    """
    high = tl.max(o, axis=0)
    low = tl.min(tl.where(used, o, high), axis=0)
    count = tl.sum(used.to(tl.int32), axis=0)
    while (low < high) & (count > KP):
        middle = (low | high) - ((low ^ high) >> 1)  # their mean, rounded up, without overflow
        more = tl.sum((used & (o >= middle)).to(tl.int32), axis=0)
        enough = more >= K
        count = tl.where(enough, more, count)
        low = tl.where(enough, middle, low)
        high = tl.where(enough, high, middle - 1)
    return low


@triton.jit
def _reach(m, K: tl.constexpr, KP: tl.constexpr, UNITS: tl.constexpr):
    """Units whose largest logit reaches a threshold that at least K units reach, and hardly more."""
    if KP > FEW:
        o = _ordered(m)
        return o >= _bound(o, o == o, K, KP)
    else:  # the K-th of the largest logits of sets of units
        sets: tl.constexpr = min(4 * KP, UNITS)
        v = tl.max(tl.reshape(m, [sets, UNITS // sets]), axis=1)
        larger = tl.sum((v[None, :] > v[:, None]).to(tl.int32), axis=1)
        return m >= tl.min(tl.where(larger < K, v, float("inf")), axis=0)


@triton.jit
def _first_keys(cells, place, K: tl.constexpr, KP: tl.constexpr):
    """The KP keys that come first, of which K are exact, of the keys of some units, one unit per row.

    The largest of each unit, then the second of each, as long as one of these comes before the K-th.
    """
    top = LEAST + (0x7FFFFFFF - place).to(tl.int64)  # all different
    last = tl.min(top, axis=0)
    layer = tl.max(cells, axis=1)
    while tl.max(layer, axis=0) > last:
        top = _first(tl.reshape(tl.join(top, layer), [2 * KP]), KP)
        last = tl.max(tl.where(place == K - 1, top, LEAST), axis=0)
        layer = tl.max(tl.where(cells < layer[:, None], cells, LEAST), axis=1)
    return top, last


@triton.jit
def wide_rows(
    logits, outcomes, classes, values, ranks, sums, scratch, number_of_cases,
    width, stride_row, offset, scale, ignore, limit,
    K: tl.constexpr, KP: tl.constexpr, WHOLE: tl.constexpr, LAST: tl.constexpr, QUARTER: tl.constexpr,
    TILES: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr, ROW_GROUP: tl.constexpr, OUTCOMES: tl.constexpr,
    SQUARES: tl.constexpr, POWER: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """One program per row of at least BLOCK logits. See the module for the method.

    GROUP is the number of logits in 16 bytes, and ROW_GROUP is `group_of` the rows.
    """
    row = tl.program_id(0).to(tl.int64)
    cases = tl.cast(number_of_cases, tl.int64)
    lead = lead_of(row, stride_row, offset, ROW_GROUP)
    start = tl.multiple_of(logits + row * stride_row - lead, 16)
    end = width + lead
    lane = tl.arange(0, BLOCK)
    nothing = -float("inf")
    units: tl.constexpr = 4 * (BLOCK // GROUP)
    y = 0
    xy = 0.0
    above = 0.0
    if OUTCOMES:
        given = tl.load(outcomes + row)
        asked = given != ignore
        scored = asked & (given >= 0) & (given < width)
        y = tl.where(scored, given, 0).to(tl.int32) + lead
        xy = tl.load(start + y).to(tl.float32)
        above = _above(xy)
    tile = tl.load(start + lane)
    if ROW_GROUP > 1:
        tile = tl.where(lane >= lead, tile, tl.full([BLOCK], -float("inf"), tile.dtype))
    second = tl.load(start + min(1, WHOLE - 1) * BLOCK + lane)
    ref = tl.max(tile.to(tl.float32), axis=0)
    ref = tl.where(ref == nothing, 0.0, ref)
    shift = -ref * scale
    before = tl.zeros([BLOCK // GROUP], tl.float32)
    m0, s0, q0, r0, before, tile, second = _sweep(
        start, tile, second, before, lead, end, y, xy, above, shift, scale,
        0, QUARTER, WHOLE, LAST, BLOCK, GROUP, ROW_GROUP, OUTCOMES, SQUARES, POWER, UNROLL,
    )  # fmt: skip
    m1, s1, q1, r1, before, tile, second = _sweep(
        start, tile, second, before, lead, end, y, xy, above, shift, scale,
        QUARTER, 2 * QUARTER, WHOLE, LAST, BLOCK, GROUP, ROW_GROUP, OUTCOMES, SQUARES, POWER, UNROLL,
    )  # fmt: skip
    m2, s2, q2, r2, before, tile, second = _sweep(
        start, tile, second, before, lead, end, y, xy, above, shift, scale,
        2 * QUARTER, 3 * QUARTER, WHOLE, LAST, BLOCK, GROUP, ROW_GROUP, OUTCOMES, SQUARES, POWER, UNROLL,
    )  # fmt: skip
    m3, s3, q3, r3, before, tile, second = _sweep(
        start, tile, second, before, lead, end, y, xy, above, shift, scale,
        3 * QUARTER, 4 * QUARTER, WHOLE, LAST, BLOCK, GROUP, ROW_GROUP, OUTCOMES, SQUARES, POWER, UNROLL,
    )  # fmt: skip
    m = _quarters(m0, m1, m2, m3, units)
    s = _quarters(s0, s1, s2, s3, units)
    q = _quarters(q0, q1, q2, q3, units)
    r = _quarters(r0, r1, r2, r3, units)
    if OUTCOMES:  # and ties with the outcome in its own tile
        at = y // BLOCK * BLOCK + lane
        same = tl.load(start + at, mask=(at >= lead) & (at < y), other=float("nan")).to(tl.float32)
        before += tl.sum(_groups((same == xy).to(tl.float32), BLOCK, GROUP), axis=1)
        rank = tl.sum(before.to(tl.int32), axis=0)
        if ROW_GROUP > 1:  # what precedes the row in its first tile ties with minus infinity
            rank -= tl.where((xy == nothing) & (y >= BLOCK), lead, 0)
        tl.store(ranks + row, tl.where(scored, rank + 1, tl.where(asked, -1, 0)).to(tl.int64))
    largest = tl.max(m, axis=0)
    quarter = tl.arange(0, 4)[None, :]
    if tl.abs(largest - ref) * scale > limit:  # exponentials may overflow: add them up again
        shift = -largest * scale
        ss = tl.zeros([units // 4, 4], tl.float32)
        qq = tl.zeros([units // 4, 4], tl.float32)
        rr = tl.zeros([units // 4, 4], tl.float32)
        for t in tl.range(0, LAST):
            at = t * BLOCK + lane
            x = load_places(start, at, lead, end, 1, ROW_GROUP).to(tl.float32)
            more_s, more_q, more_r = _sums(x, shift, scale, BLOCK, GROUP, SQUARES, POWER)
            ss += tl.where(quarter == t // QUARTER, more_s[:, None], 0.0)
            qq += tl.where(quarter == t // QUARTER, more_q[:, None], 0.0)
            rr += tl.where(quarter == t // QUARTER, more_r[:, None], 0.0)
        s = tl.reshape(ss, [units])
        q = tl.reshape(qq, [units])
        r = tl.reshape(rr, [units])
    place = tl.arange(0, KP)
    unit = tl.arange(0, units)
    reach = _reach(m, K, KP, units)
    if tl.sum(reach.to(tl.int32), axis=0) > KP:  # find which class has the largest logit of each unit first
        mm = tl.reshape(m, [units // 4, 4])
        found = tl.full([units // 4, 4], 0x7FFFFFFF, tl.int32)
        for t in tl.range(0, LAST):
            at = t * BLOCK + lane
            x = load_places(start, at, lead, end, 1, ROW_GROUP).to(tl.float32)
            here = quarter == t // QUARTER
            largest_here = tl.max(tl.where(here, mm, nothing), axis=1)
            is_it = _groups(x, BLOCK, GROUP) == largest_here[:, None]
            is_it &= _groups(inside(at, lead, end, ROW_GROUP), BLOCK, GROUP)
            first = tl.min(tl.where(is_it, _groups(at, BLOCK, GROUP), 0x7FFFFFFF), axis=1)
            found = tl.minimum(found, tl.where(here, first[:, None], 0x7FFFFFFF))
        by_unit = tl.reshape(found, [units])
        exact = _keys(m, by_unit)
        some_class = by_unit < end  # a unit may be empty, or all NaN
        reach = some_class & (exact >= _bound(exact, some_class, K, KP))
    outer = ~reach
    number = tl.cumsum(reach.to(tl.int32), axis=0)
    tl.store(scratch + row * KP + number - 1, unit, mask=reach)
    tl.debug_barrier()  # wait for what all threads of this program write
    used = place < tl.max(number, axis=0)
    again = tl.load(scratch + row * KP + place, mask=used, other=0)
    first_cell = (again // 4 * GROUP + again % 4 * (QUARTER * BLOCK))[:, None, None]
    step = tl.arange(0, TILES)[None, :, None]
    some = used[:, None, None] & (step < QUARTER) & (first_cell + step * BLOCK < end)  # groups of the row
    cells = first_cell + step * BLOCK + tl.arange(0, GROUP)[None, None, :]
    x2 = tl.load(start + cells, mask=some, other=nothing).to(tl.float32)
    fits = some & inside(cells, lead, end, ROW_GROUP)
    x2 = tl.where(fits, x2, nothing)
    candidates = tl.reshape(tl.where(fits, _keys(x2, cells), LEAST), [KP, TILES * GROUP])
    top, last = _first_keys(candidates, place, K, KP)
    listed = tl.maximum(_index(top) - lead, 0)
    listed = tl.minimum(listed, width - 1)  # a row of NaN has no list, but classes all the same
    tl.store(classes + row * K + place, listed.to(tl.int64), mask=place < K)
    tl.store(values + row * K + place, _value(top), mask=place < K)
    x3 = tl.reshape(x2, [KP, TILES * GROUP])
    left = ((candidates > LEAST) & (candidates < last)) | (x3 != x3)  # NaN shows, even where it is listed
    e = tl.where(left, _exp(x3, shift, scale), 0.0)
    others = tl.sum(tl.where(outer, s, 0.0), axis=0) + tl.sum(tl.sum(e, axis=1), axis=0)
    if SQUARES:
        others2 = tl.sum(tl.where(outer, q, 0.0), axis=0) + tl.sum(tl.sum(e * e, axis=1), axis=0)
        tl.store(sums + 4 * cases + row, others2)
    if POWER != 0:
        e = tl.where(left, _power(x3, shift, scale, POWER), 0.0)
        othersp = tl.sum(tl.where(outer, r, 0.0), axis=0) + tl.sum(tl.sum(e, axis=1), axis=0)
        tl.store(sums + 5 * cases + row, othersp)
    shift_others = shift
    if others < TINY:  # relative to the largest of these
        nearest = -float("inf")
        for t in tl.range(0, LAST):
            at = t * BLOCK + lane
            x = load_places(start, at, lead, end, 1, ROW_GROUP).to(tl.float32)
            nearest = tl.maximum(nearest, tl.max(tl.where(_keys(x, at) < last, x, nothing), axis=0))
        if nearest > nothing:
            shift_others = -nearest * scale
            near_s = tl.zeros([BLOCK], tl.float32)
            for t in tl.range(0, LAST):
                at = t * BLOCK + lane
                x = load_places(start, at, lead, end, 1, ROW_GROUP).to(tl.float32)
                after = inside(at, lead, end, ROW_GROUP) & (_keys(x, at) < last)
                near_s += tl.where(after, _exp(x, shift_others, scale), 0.0)
            others = tl.sum(near_s, axis=0)
    tl.store(sums + row, shift)
    tl.store(sums + cases + row, shift_others)
    tl.store(sums + 2 * cases + row, others)
    tl.store(sums + 3 * cases + row, xy)


@triton.jit
def _extract(x, at, K: tl.constexpr, KP: tl.constexpr):
    """The class indices of the K logits that come first, found one after the other."""
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
    logits, outcomes, classes, values, ranks, sums, number_of_cases,
    stride_row, stride_column, scale, ignore,
    WIDTH: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr,
    ALIGNED: tl.constexpr, OUTCOMES: tl.constexpr, SQUARES: tl.constexpr, POWER: tl.constexpr,
):  # fmt: skip
    """One program per row of at most BLOCK logits, which stay in registers."""
    row = tl.program_id(0).to(tl.int64)
    cases = tl.cast(number_of_cases, tl.int64)
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
        listed = tl.minimum(_extract(some, near, K, KP), WIDTH - 1)  # of a row of NaN, padding comes first
        top = _keys(tl.load(start + listed * stride_column).to(tl.float32), listed)
    elif KP * GROUP < BLOCK:
        top = tl.topk(tl.max(tl.reshape(_keys(x, lane), [groups, GROUP]), axis=1), KP)
        near = (_index(top) // GROUP)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
        near = tl.reshape(near, [KP * GROUP])
        some = tl.load(start + near * stride_column, mask=near < WIDTH, other=-float("inf")).to(tl.float32)
        top = tl.topk(_keys(some, near), KP)
    else:
        top = tl.topk(_keys(x, lane), KP)
    tl.store(classes + row * K + place, tl.minimum(_index(top), WIDTH - 1).to(tl.int64), mask=place < K)
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
        tl.store(sums + 5 * cases + row, tl.sum(tl.where(left, _power(x, shift, scale, POWER), 0.0), axis=0))
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
