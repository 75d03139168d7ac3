"""Launches of the kernels for rows of logits: which one, with which blocks."""

from __future__ import annotations

import math

import torch
import triton

from toplist.integrations.torch.kernels import FARTHEST, FUSED, NOT_FUSED
from toplist.integrations.torch.kernels.finish import finish_lists
from toplist.integrations.torch.kernels.logits import narrow_rows, wide_rows
from toplist.integrations.torch.kernels.rows import aligned, group_of, offset_of
from toplist.integrations.torch.statistics import Statistics, Wanted, in_chunks

Tensor = torch.Tensor
NARROW = 2048  # rows of up to so many logits stay in registers
BLOCK, WARPS, UNROLL = 4096, 8, 4
WIDE, SHORT = FUSED | {"maxnreg": 128}, FUSED | {"maxnreg": 96}  # registers of a thread, so that several programs fit
ROWS = 128  # that finish at once
READ_AGAIN = 1 << 16  # logits of a row that are read again at most, held in registers
COPIED = 1 << 27  # bytes of wide rows that are copied at once, where logits of a row are apart in memory


def takes(rows: Tensor, k: int) -> bool:
    """Whether there is a kernel for lists of these rows."""
    (n, width), reach = rows.shape, rows.shape[1] * rows.stride(1)
    if width <= NARROW:
        return n > 0 and reach < FARTHEST
    _, _, tiles, units = _tiling(width, 16 // rows.element_size(), k)
    return n > 0 and units * tiles * (16 // rows.element_size()) <= READ_AGAIN


def _tiling(width: int, row_group: int, k: int) -> tuple[int, int, int, int]:
    """Logits of a tile, tiles of a row, the next power of two of those of a quarter, and units that are read again."""
    block = min(BLOCK, triton.next_power_of_2(width + 1) // 2)
    last = triton.cdiv(width + row_group - 1, block)
    return block, last, triton.next_power_of_2(triton.cdiv(last, 4)), triton.next_power_of_2(k + k // 4 + 4)


def statistics(rows: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    """The statistics of all rows, by one read of them; wide rows that are columns in memory are copied before."""
    if rows.shape[1] <= NARROW or rows.stride(1) == 1:
        return _one_read(rows, outcomes, wanted)
    step = max(1, COPIED // (rows.shape[1] * rows.element_size()))
    return in_chunks(rows, outcomes, wanted, lambda some, *others: _one_read(some.contiguous(), *others), step)


def _one_read(rows: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    (n, width), k = rows.shape, wanted.longest
    made = rows.new_empty
    classes = made((n, k), dtype=torch.int64)
    log_confidences, log_rest = made((n, k), dtype=torch.float32), made(n, dtype=torch.float32)
    rank, sums = made(n, dtype=torch.int64), made((6, n), dtype=torch.float32)
    tables = made((4, n, len(wanted.ks) + 1), dtype=torch.float32)
    scale = math.log2(math.e) / wanted.temperature
    padded = max(2, triton.next_power_of_2(k))
    size = rows.element_size()
    about = (rows, rank if outcomes is None else outcomes.contiguous(), classes, log_confidences, rank, sums)
    how = (scale, 0 if wanted.ignore is None else wanted.ignore)
    same = {"K": k, "KP": padded, "OUTCOMES": outcomes is not None, "SQUARES": wanted.squares, "POWER": wanted.power}
    with torch.cuda.device_of(rows):
        if width <= NARROW:
            block = max(2, triton.next_power_of_2(width))
            narrow_rows[(n,)](
                *about, n, *rows.stride(), *how, WIDTH=width, BLOCK=block, ALIGNED=aligned(rows),
                GROUP=max(1, min(16 // size, block // padded)), num_warps=max(1, min(8, block // 1024)), **SHORT,
                **same,
            )  # fmt: skip
        else:
            row_group = group_of(rows)
            block, last, tiles, units = _tiling(width, row_group, k)
            wide_rows[(n,)](
                *about, made((n, units), dtype=torch.int32), n, width, rows.stride(0), offset_of(rows),
                *how, 100.0 / max(2.0, wanted.power), WHOLE=width // block, LAST=last, QUARTER=triton.cdiv(last, 4),
                TILES=tiles, BLOCK=block, GROUP=16 // size, ROW_GROUP=row_group, UNROLL=UNROLL, num_warps=WARPS,
                **WIDE, **same | {"KP": units},
            )  # fmt: skip
        finish_lists[(triton.cdiv(n, ROWS),)](
            log_confidences, log_rest, rank, sums, *tables, n, width, scale,
            KS=wanted.ks, ROWS=ROWS, num_warps=4, **NOT_FUSED, **same,
        )  # fmt: skip
    return Statistics(classes, log_confidences, log_rest, rank, *tables)
