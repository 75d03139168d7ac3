"""Rows of logits that start anywhere in memory, read by groups of 16 bytes.

The first group of a row starts at the multiple of 16 bytes at or before the start of the row. What it holds before the
row counts as minus infinity, like what the last one holds after it. A place is a class index plus the number of logits
before the row in its first group, its lead; places order as class indices do. Each group that is read holds a logit of
the row, so that no read leaves the memory that was allocated for it. (`compute-sanitizer --tool initcheck` names the
reads beyond the last logit of a tensor.) Rows whose places are class indices (those that start at a multiple of 16
bytes and have a multiple of 16 logits, or whose logits are apart in memory) have groups of one logit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

Tensor = torch.Tensor


def aligned(rows: Tensor) -> bool:
    """Whether logits of a row are neighbours in memory, and each row starts at a multiple of 16 bytes."""
    return rows.stride(1) == 1 and not (rows.stride(0) * rows.element_size() % 16 or rows.data_ptr() % 16)


def group_of(rows: Tensor) -> int:
    """Logits in 16 bytes, or one where places are class indices."""
    if rows.stride(1) != 1 or (aligned(rows) and not rows.shape[1] % 16):
        return 1
    return 16 // rows.element_size()


def offset_of(rows: Tensor) -> int:
    """Logits between the start of the first row and the multiple of 16 bytes before it."""
    return rows.data_ptr() // rows.element_size() % (16 // rows.element_size())


@triton.jit
def lead_of(row, stride_row, offset, ROW_GROUP: tl.constexpr):
    """How many logits there are before a row in its first group."""
    if ROW_GROUP == 1:
        return 0
    else:
        return ((offset + row * stride_row) % ROW_GROUP).to(tl.int32)


@triton.jit
def inside(at, lead, end, ROW_GROUP: tl.constexpr):
    """Which places are in the row."""
    if ROW_GROUP == 1:
        return at < end
    else:
        return (at >= lead) & (at < end)


@triton.jit
def load_places(start, at, lead, end, stride_column, ROW_GROUP: tl.constexpr):
    """Logits at some places; minus infinity outside of the row. Groups are loaded whole, and only those of the row."""
    if ROW_GROUP == 1:
        return tl.load(start + at * stride_column, mask=at < end, other=-float("inf"))
    else:
        x = tl.load(start + at, mask=at // ROW_GROUP < tl.cdiv(end, ROW_GROUP), other=-float("inf"))
        return tl.where(inside(at, lead, end, ROW_GROUP), x, tl.full(x.shape, -float("inf"), x.dtype))
