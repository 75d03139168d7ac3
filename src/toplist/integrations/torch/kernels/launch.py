"""Launches of the kernels for rows of logits: which one, with which blocks."""

from __future__ import annotations

import math

import torch
import triton

from toplist.integrations.torch.kernels.logits import narrow_rows, padded_sums, wide_rows
from toplist.integrations.torch.statistics import Statistics, Wanted

Tensor = torch.Tensor
NARROW = 2048  # rows of up to so many logits stay in registers
BLOCK, GROUP, WARPS, UNROLL = 2048, 8, 8, 4
WIDE: dict[str, int] = {}
ROWS = 16


def one_read(rows: Tensor, outcomes: Tensor | None, wanted: Wanted) -> Statistics:
    """The statistics of all rows, by one read of them."""
    (n, width), k = rows.shape, wanted.longest
    made = rows.new_empty
    classes = made((n, k), dtype=torch.int64)
    log_confidences, log_rest = made((n, k), dtype=torch.float32), made(n, dtype=torch.float32)
    rank = made(n, dtype=torch.int64)
    log_prob, miss, squares, powers = made((4, n), dtype=torch.float32)
    scale = math.log2(math.e) / wanted.temperature
    padded = max(2, triton.next_power_of_2(k))
    about = (
        rows, rank if outcomes is None else outcomes, classes, log_confidences, log_rest, rank, log_prob, miss, squares,
        powers,
    )  # fmt: skip
    how = (*rows.stride(), scale, 0 if wanted.ignore is None else wanted.ignore)
    shared = {
        "K": k, "KP": padded, "OUTCOMES": outcomes is not None, "SQUARES": wanted.squares, "POWER": wanted.power,
    }  # fmt: skip
    with torch.cuda.device_of(rows):
        if width <= NARROW:
            block = max(2, triton.next_power_of_2(width))
            warps = max(1, min(8, block // 1024))
            group = max(1, min(8, block // padded))
            narrow_rows[(n,)](*about, *how, WIDTH=width, BLOCK=block, GROUP=group, num_warps=warps, **shared)
        else:
            limit = 100.0 / max(2.0, wanted.power)
            tiles = triton.next_power_of_2(triton.cdiv(width, BLOCK))
            wide_rows[(n,)](
                *about,
                width,
                *how,
                limit,
                SHORT=rows.dtype != torch.float32,
                WHOLE=width // BLOCK,
                TILES=tiles,
                BLOCK=BLOCK,
                GROUP=GROUP,
                UNROLL=UNROLL,
                num_warps=WARPS,
                **WIDE,
                **shared,
            )
        if outcomes is None:
            return Statistics(classes, log_confidences, log_rest, rank, log_prob, miss, squares, powers)
        tables = made((4, n, len(wanted.ks) + 1), dtype=torch.float32)
        padded_sums[(triton.cdiv(n, ROWS),)](
            log_confidences, log_rest, rank, log_prob, miss, squares, powers, *tables, n, wanted.classes,
            K=k, KP=padded, KS=wanted.ks, ROWS=ROWS, SQUARES=wanted.squares, POWER=wanted.power, num_warps=4,
        )  # fmt: skip
    return Statistics(classes, log_confidences, log_rest, rank, *tables)
