"""Kernels compile for a GPU where there is none, and read logits by 16 bytes: the interpreter checks neither."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="Triton is not installed")

from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from toplist.integrations.torch.statistics import Wanted

pytestmark = pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") == "1", reason="kernels are interpreted in this process"
)


class Hopper:
    """What Triton asks of the driver of a GPU before it compiles for it."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The PTX of kernels by their names: they are compiled for tensors on the CPU, and not started."""
    found: dict[str, str] = {}

    def only_compile(kernel: Any, grid: Any) -> Any:
        def compile_for(*arguments: Any, **options: Any) -> None:
            found[kernel.__name__] = kernel.run(*arguments, grid=grid, warmup=True, **options).asm["ptx"]

        return compile_for

    monkeypatch.setattr(driver, "_active", Hopper())
    monkeypatch.setattr(JITFunction, "__getitem__", only_compile)
    return found


def of_16_bytes(ptx: str, what: str) -> int:
    return len(re.findall(rf"{what}\.global\S*\.v4\.b32", ptx))


@pytest.mark.parametrize(
    ("dtype", "width", "ks", "power"),
    [
        (torch.bfloat16, 128_256, (1, 5, 20), 0.0),
        (torch.bfloat16, 50_257, (1, 20), 1.5),
        (torch.float32, 50_257, (128,), 0.0),
    ],
    ids=str,
)
def test_wide_rows_of_any_width_are_read_by_16_bytes(
    dtype: torch.dtype, width: int, ks: tuple[int, ...], power: float, compiled: dict[str, str]
) -> None:
    from toplist.integrations.torch.kernels import launch

    outcomes = torch.zeros(2, dtype=torch.int64)
    launch.statistics(torch.zeros(2, width, dtype=dtype), outcomes, Wanted(ks, -100, True, power, 1.0, width))
    assert set(compiled) == {"wide_rows", "finish_lists"}
    assert of_16_bytes(compiled["wide_rows"], "ld") >= 10


@pytest.mark.parametrize(("dtype", "width", "k"), [(torch.float32, 1000, 5), (torch.bfloat16, 2000, 100)], ids=str)
def test_narrow_rows_compile(dtype: torch.dtype, width: int, k: int, compiled: dict[str, str]) -> None:
    from toplist.integrations.torch.kernels import launch

    outcomes = torch.zeros(2, dtype=torch.int64)
    launch.statistics(torch.zeros(2, width, dtype=dtype), outcomes, Wanted((1, k), -100, True, 0.0, 1.0, width))
    assert set(compiled) == {"narrow_rows", "finish_lists"}
    assert of_16_bytes(compiled["narrow_rows"], "ld") >= 1


def test_divergences_are_read_and_written_by_16_bytes(compiled: dict[str, str]) -> None:
    from toplist.integrations.torch.kernels import bregman, divergence

    width = 50_257
    rows, classes = torch.zeros(2, width, dtype=torch.bfloat16), torch.arange(128).reshape(2, 64)
    listed, log_rest, largest = divergence.coarsen(rows, classes, 1.0, -100)
    teacher = classes, torch.zeros(2, 64), torch.zeros(2)
    for rule in ((1.0, False, 1.0), (2.0, True, 1.0)):
        found = bregman.diverge(teacher, (listed, log_rest), rule, width, -100, 1e-6, reverse=False)
    divergence.spread(rows, classes, (log_rest, largest), (*found[1:], torch.ones(2)), 1.0, -100)
    assert set(compiled) == {"coarsen_rows", "diverge_rows", "spread_rows"}
    assert of_16_bytes(compiled["coarsen_rows"], "ld") >= 5
    assert of_16_bytes(compiled["spread_rows"], "ld") >= 2
    assert of_16_bytes(compiled["spread_rows"], "st") >= 2
