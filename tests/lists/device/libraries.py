"""The array libraries beside numpy: how to make their arrays, and how to get them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

LIBRARIES = ["array_api_strict", "torch", "jax.numpy", "cupy"]


@dataclass(frozen=True)
class Library:
    """One array library."""

    name: str
    xp: Any

    def array(self, values: Any) -> Any:
        """A numpy array as one of this library's."""
        return self.xp.asarray(np.ascontiguousarray(values))

    def numpy(self, values: Any) -> Any:
        """And back."""
        if self.name == "torch":
            return values.detach().cpu().numpy()
        return values.get() if self.name == "cupy" else np.asarray(values)

    def owns(self, values: Any) -> bool:
        """Is this an array of this library?"""
        return isinstance(values, type(self.xp.asarray([1.0])))


@contextmanager
def library(name: str) -> Iterator[Library]:
    """The library of this name, or a skip where it is not installed or has no device; JAX in double precision."""
    xp = pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed")
    if name == "cupy" and not _has_gpu(xp):
        pytest.skip("cupy is installed, but there is no GPU")
    if name != "jax.numpy":
        with np.errstate(all="ignore"):  # array_api_strict is numpy inside; no other library warns of 0 * infinity
            yield Library(name, xp)
        return
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield Library(name, xp)
    finally:
        jax.config.update("jax_enable_x64", before)


def _has_gpu(cupy: Any) -> bool:
    try:
        return bool(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False
