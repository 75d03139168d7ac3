"""JAX in double precision, where a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lists.device.libraries import library

pytest.importorskip("jax", reason="jax is not installed")


@pytest.fixture
def x64() -> Iterator[None]:
    """Float64 is switched on for one test."""
    with library("jax.numpy"):
        yield


@pytest.fixture
def _quick() -> Iterator[None]:
    """Compiling takes nearly all the time of some tests: leave out the passes that make programs faster."""
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
