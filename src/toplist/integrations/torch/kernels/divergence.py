"""Rows of logits coarsened to listed classes and all others, in one read; and the gradients, each written once.

**Forward.** One program sweeps a row in tiles of `BLOCK` logits; column i of all tiles is lane i. Per lane, registers
keep the largest logit and the sum of the exponentials of all others. The sum over all classes beside the list adds up
lanes without listed classes as they are. A lane with one listed class is its other part: if the class has the lane's
largest logit, the sum without that; if not, the class is subtracted from a sum that stays larger than what was
subtracted. A lane with several listed classes (about one per row for 64 classes and 2,048 lanes) is read again; it is
in the cache. So the mass beside the list keeps its digits however small it is.

**Backward.** Beside the list, a gradient is one coefficient times the share of the class in the mass beside the list;
the listed entries are computed outside. A program reads a part of a row, writes its gradients, waits for all of its
threads, and writes the listed entries over them: no atomics, and the same bits every time.

**Why the gradient is not written during the forward pass,** as some fused losses do. That would save one of two reads
where the factor that arrives in the backward pass is one. Any other factor (a weight beside another loss, steps of
gradient accumulation, loss scaling) would take one more read and one more write of the whole gradient, which would
have been rounded to 16 bits before it was scaled: in float16 it underflows, which loss scaling is there to prevent.
Here forward and backward read the logits once each and write the gradient once, whatever the factor, and a second
backward pass through the same graph is right too. With perfect use of memory this is two thirds of the bandwidth of
one read and one write.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from toplist.integrations.torch.kernels import FUSED
from toplist.integrations.torch.kernels.rows import group_of, inside, lead_of, load_places, offset_of

Tensor = torch.Tensor
LN2 = tl.constexpr(0.6931471805599453)
LOG2E = tl.constexpr(1.4426950408889634)
TINY = tl.constexpr(1e-30)  # sums below this may have lost digits to underflow
LOW = tl.constexpr(64)  # lanes are counted in a table with so many columns
BLOCK, WARPS, UNROLL = 2048, 8, 2
REGISTERS = FUSED | {"maxnreg": 64}  # of a thread, so that four programs fit
BACK_BLOCK, BACK_WARPS, BACK_TILES = 2048, 8, 16
EDGE_TILES = 2  # of a part, where the first and the last one of a row are written by single logits
LIMIT = 100.0  # exponents of two between the first tile and the largest logit, before sums could overflow


@triton.jit
def _add_tile(x, m, r, scale, shift):
    """The largest logit of each lane, and the sum of the exponentials of all others; NaN goes into the sum."""
    less = tl.where(x > m, m, x)
    return tl.maximum(m, x), r + tl.exp2(less * scale + shift)


@triton.jit
def _take_tile(start, at, lead, end, stride_column, m, r, scale, shift, ROW_GROUP: tl.constexpr):
    """`_add_tile` of a tile at an end of the row."""
    return _add_tile(load_places(start, at, lead, end, stride_column, ROW_GROUP).to(tl.float32), m, r, scale, shift)


@triton.jit
def _count_lanes(c, known, BLOCK: tl.constexpr):
    """How many listed classes each lane holds: a product of two tables of zeros and ones."""
    high = tl.arange(0, BLOCK // LOW)
    low = tl.arange(0, LOW)
    lane = c % BLOCK
    rows = ((lane // LOW)[None, :] == high[:, None]) & known[None, :]
    columns = (lane % LOW)[:, None] == low[None, :]
    return tl.reshape(tl.dot(rows.to(tl.float16), columns.to(tl.float16)), [BLOCK])


@triton.jit
def _without_list(start, at, lead, end, stride_column, classes, row, K: tl.constexpr, ROW_GROUP: tl.constexpr):
    """A tile of logits, minus infinity where a class is listed."""
    x = load_places(start, at, lead, end, stride_column, ROW_GROUP).to(tl.float32)
    for j in tl.range(0, K):
        x = tl.where(at - lead == tl.load(classes + row * K + j), -float("inf"), x)
    return x


@triton.jit
def coarsen_rows(
    logits, classes, listed, log_rest, largest_logit,
    width, stride_row, stride_column, offset, scale, limit, padding,
    K: tl.constexpr, KP: tl.constexpr, WHOLE: tl.constexpr, LAST: tl.constexpr, TILES: tl.constexpr,
    BLOCK: tl.constexpr, ROW_GROUP: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """One program per row: the listed logits, the log-sum-exp of all others, and the largest logit.

    The first two are relative to the largest logit and divided by the temperature; minus infinity where a list is
    padded. A class that is listed twice or is outside of the row makes the log-sum-exp NaN.
    """
    row = tl.program_id(0).to(tl.int64)
    lead = lead_of(row, stride_row, offset, ROW_GROUP)
    start = logits + row * stride_row - lead
    if ROW_GROUP > 1:
        start = tl.multiple_of(start, 16)
    end = width + lead
    lane = tl.arange(0, BLOCK)
    place = tl.arange(0, KP)
    given = tl.load(classes + row * K + place, mask=place < K, other=padding)
    known = (given != padding) & (given >= 0) & (given < width)
    wrong = tl.sum(((given != padding) & (known == 0)).to(tl.int32), axis=0)
    c = tl.where(known, given, 0).to(tl.int32) + lead
    own = tl.load(start + c * stride_column, mask=known, other=-float("inf")).to(tl.float32)

    tile = load_places(start, lane, lead, end, stride_column, ROW_GROUP)
    following = load_places(start, lane + BLOCK, lead, end, stride_column, ROW_GROUP)
    ref = tl.max(tile.to(tl.float32), axis=0)
    ref = tl.where(ref == -float("inf"), 0.0, ref)
    shift = -ref * scale
    m = tl.full([BLOCK], -float("inf"), tl.float32)
    r = tl.zeros([BLOCK], tl.float32)
    for t in tl.range(0, WHOLE, loop_unroll_factor=UNROLL):
        later = tl.load(start + (min(t + 2, WHOLE - 1) * BLOCK + lane) * stride_column)  # two tiles are under way
        m, r = _add_tile(tile.to(tl.float32), m, r, scale, shift)
        tile = following
        following = later
    for tail in tl.static_range(WHOLE, LAST):
        m, r = _take_tile(start, tail * BLOCK + lane, lead, end, stride_column, m, r, scale, shift, ROW_GROUP)
    largest = tl.max(m, axis=0)
    if tl.abs(largest - ref) * scale > limit:  # exponentials may overflow: add them up again
        shift = -largest * scale
        m = tl.full([BLOCK], -float("inf"), tl.float32)
        r = tl.zeros([BLOCK], tl.float32)
        for t in tl.range(0, LAST):
            m, r = _take_tile(start, t * BLOCK + lane, lead, end, stride_column, m, r, scale, shift, ROW_GROUP)

    count = _count_lanes(c, known, BLOCK)
    rest = tl.sum(tl.where(count == 0, tl.exp2(m * scale + shift) + r, 0.0), axis=0)
    lane_m = tl.gather(m, c % BLOCK, 0)
    lane_r = tl.gather(r, c % BLOCK, 0)
    alone = known & (tl.gather(count, c % BLOCK, 0) == 1)
    beside = tl.where(own == lane_m, lane_r, tl.exp2(lane_m * scale + shift) + (lane_r - tl.exp2(own * scale + shift)))
    rest += tl.sum(tl.where(alone, beside, 0.0), axis=0)
    tiles = tl.arange(0, TILES)
    pick = tl.max(tl.where(count > 1, lane, -1), axis=0)
    while pick >= 0:
        at = pick + tiles * BLOCK
        hits = tl.sum(((at[:, None] == c[None, :]) & known[None, :]).to(tl.int32), axis=1)
        wrong += tl.sum((hits > 1).to(tl.int32), axis=0)
        x = tl.load(start + at * stride_column, mask=inside(at, lead, end, ROW_GROUP), other=-float("inf")).to(
            tl.float32
        )
        rest += tl.sum(tl.where(hits == 0, tl.exp2(x * scale + shift), 0.0), axis=0)
        pick = tl.max(tl.where((count > 1) & (lane < pick), lane, -1), axis=0)

    total = tl.log2(rest) - (largest * scale + shift)
    if rest < TINY:  # relative to the largest of these
        second = -float("inf")
        for t in tl.range(0, LAST):
            at = t * BLOCK + lane
            beside_list = _without_list(start, at, lead, end, stride_column, classes, row, K, ROW_GROUP)
            second = tl.maximum(second, tl.max(beside_list, axis=0))
        base = tl.where(second == -float("inf"), 0.0, second)
        s = tl.zeros([BLOCK], tl.float32)
        for t in tl.range(0, LAST):
            at = t * BLOCK + lane
            beside_list = _without_list(start, at, lead, end, stride_column, classes, row, K, ROW_GROUP)
            s += tl.exp2((beside_list - base) * scale)
        total = tl.log2(tl.sum(s, axis=0)) + (base - largest) * scale
    tl.store(listed + row * K + place, (own - largest) * (scale * LN2), mask=place < K)
    tl.store(log_rest + row, tl.where(wrong > 0, float("nan"), total * LN2))
    tl.store(largest_logit + row, largest)


@triton.jit
def _share(x, largest, scale, rest):
    """What a class has of the mass beside the list: at most one, also where logits are so large that rounding shows."""
    d = (x - largest) * scale - rest
    return tl.exp2(tl.where(d > 0, 0.0, d))


@triton.jit
def spread_rows(
    logits, classes, log_rest, largest_logit, listed_gradient, rest_gradient, factor, out,
    width, stride_row, stride_column, stride_factor, scale, padding,
    K: tl.constexpr, KP: tl.constexpr, PART: tl.constexpr, BLOCK: tl.constexpr, ROW_GROUP: tl.constexpr,
    TOGETHER: tl.constexpr, FACTOR: tl.constexpr,
):  # fmt: skip
    """One program per part of a row: gradients of its logits from those of its listed classes and of all others.

    Places are those of the row of gradients; TOGETHER says that they are those of the row of logits too.
    """
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * (PART * BLOCK)
    lead = lead_of(row, width, 0, ROW_GROUP)
    start = logits + row * stride_row - lead * stride_column
    here = out + row * width - lead
    if ROW_GROUP > 1:
        here = tl.multiple_of(here, 16)
        if TOGETHER:
            start = tl.multiple_of(start, 16)
    end = width + lead
    lane = tl.arange(0, BLOCK)
    place = tl.arange(0, KP)
    largest = tl.load(largest_logit + row)
    rest = tl.load(log_rest + row) * LOG2E
    rest = tl.where(rest == -float("inf"), 0.0, rest)
    times = scale * LN2
    if FACTOR:
        times *= tl.load(factor + row * stride_factor).to(tl.float32)
    coefficient = tl.where(times == 0, 0.0, tl.load(rest_gradient + row) * times)
    nothing = coefficient == 0  # whatever the logits are
    if (first >= lead) & (first + PART * BLOCK <= end):
        for t in tl.range(0, PART, loop_unroll_factor=2):
            at = first + t * BLOCK + lane
            x = tl.load(start + at * stride_column).to(tl.float32)
            value = tl.where(nothing, 0.0, _share(x, largest, scale, rest) * coefficient)
            tl.store(here + at, value.to(out.dtype.element_ty))
    else:
        for t in tl.range(0, PART):
            at = first + t * BLOCK + lane
            some = inside(at, lead, end, ROW_GROUP)
            x = tl.load(start + at * stride_column, mask=some, other=-float("inf")).to(tl.float32)
            value = tl.where(nothing, 0.0, _share(x, largest, scale, rest) * coefficient)
            tl.store(here + at, value.to(out.dtype.element_ty), mask=some)
    given = tl.load(classes + row * K + place, mask=place < K, other=padding)
    listed = given + lead
    fits = (given != padding) & (given >= 0) & (given < width) & (listed >= first) & (listed < first + PART * BLOCK)
    entry = tl.where(times == 0, 0.0, tl.load(listed_gradient + row * K + place, mask=fits, other=0.0) * times)
    tl.debug_barrier()  # the listed entries come after what all threads of this program wrote there
    tl.store(here + tl.where(fits, listed, 0), entry.to(out.dtype.element_ty), mask=fits)


def coarsen(rows: Tensor, classes: Tensor, temperature: float, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """The listed logits, the log-sum-exp of all others, both relative to the largest logit, and that logit."""
    (n, width), k = rows.shape, classes.shape[1]
    listed, log_rest, largest = (rows.new_empty(shape, dtype=torch.float32) for shape in ((n, k), (n,), (n,)))
    block, group = min(BLOCK, max(1024, triton.next_power_of_2(width))), group_of(rows)
    last = triton.cdiv(width + group - 1, block)
    with torch.cuda.device_of(rows):
        coarsen_rows[(n,)](
            rows, classes, listed, log_rest, largest, width, *rows.stride(), offset_of(rows),
            math.log2(math.e) / temperature, LIMIT, padding, K=k, KP=_length(k), WHOLE=width // block, LAST=last,
            TILES=max(2, triton.next_power_of_2(last)), BLOCK=block, ROW_GROUP=group, UNROLL=UNROLL,
            num_warps=WARPS if block == BLOCK else WARPS // 2, **REGISTERS,
        )  # fmt: skip
    return listed, log_rest, largest


def spread(
    rows: Tensor,
    classes: Tensor,
    found: tuple[Tensor, Tensor],
    gradients: tuple[Tensor, Tensor, Tensor | None],
    temperature: float,
    padding: int,
) -> Tensor:
    """Gradients of the logits, from those of the listed ones and of the log-sum-exp of all others, times a factor."""
    (n, width), k, (listed, rest, factor) = rows.shape, classes.shape[1], gradients
    out = rows.new_empty((n, width))
    block, group = min(BACK_BLOCK, max(16, triton.next_power_of_2(width))), group_of(out)
    part = min(BACK_TILES if group == 1 else EDGE_TILES, triton.cdiv(width, block))
    together = rows.stride(1) == 1 and not offset_of(rows) and not (rows.stride(0) - width) % group
    with torch.cuda.device_of(rows):
        spread_rows[(n, triton.cdiv(width + group - 1, part * block))](
            rows, classes, *found, listed, rest, rest if factor is None else factor, out, width, *rows.stride(),
            0 if factor is None else factor.stride(0), math.log2(math.e) / temperature, padding, K=k, KP=_length(k),
            PART=part, BLOCK=block, ROW_GROUP=group, TOGETHER=together, FACTOR=factor is not None,
            num_warps=max(1, min(BACK_WARPS, block // 256)), **FUSED,
        )  # fmt: skip
    return out


def _length(k: int) -> int:
    """A power of two for the list; products of tables need sixteen."""
    return max(16, int(triton.next_power_of_2(k)))
