"""Triton kernels behind the functions of `toplist.integrations.torch`, imported only where they run.

In: tensors on a CUDA device (or on the CPU under Triton's interpreter), checked by the callers. Out: the same numbers
as the paths in plain torch, which serve every other device, and the few shapes for which there is no kernel.
"""

from __future__ import annotations

import functools
import importlib.util
import os

import torch

# What reads logits rounds products and sums once, together: exponents of large logits keep their digits.
FUSED = {"enable_fp_fusion": True}
# Elsewhere, threads that hold one sum of a row write it to the same place. Were a product fused into the sum of one of
# them, their last digits would differ, and which of them stays would be left to chance.
NOT_FUSED = {"enable_fp_fusion": False}
FARTHEST = 1 << 31  # offsets within a row have 32 bits
KERNEL_TYPES = (torch.float32, torch.bfloat16, torch.float16)  # float64 is computed in float64, in plain torch


OLDEST = (3, 3)  # version of Triton


@functools.cache
def _installed() -> bool:
    if importlib.util.find_spec("triton") is None:
        return False
    import triton  # noqa: PLC0415  takes its time

    return tuple(int(part) for part in triton.__version__.split(".")[:2]) >= OLDEST


def usable(x: torch.Tensor) -> bool:
    """Whether the kernels take this tensor: on a CUDA device, or under Triton's interpreter, and not in float64.

    >>> usable(torch.zeros(2, 3, dtype=torch.float64))
    False
    """
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return (x.is_cuda or interpreted) and x.dtype in KERNEL_TYPES and _installed()
