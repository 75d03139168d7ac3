"""Scores from logits on a GPU, against eager and compiled torch and against a plain read: `python -m benchmarks.gpu`.

Times are the best of several replays of a CUDA graph, so that they are those of the device; the time of a call without
a graph is given beside them. Every answer is checked against the eager one. The exit status says whether all bounds are
met.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from benchmarks import gpu_losses
from toplist.integrations.torch import scores_from_logits

Tensor = torch.Tensor


@dataclass(frozen=True)
class Case:
    """Logits of a type and a shape, lists of some lengths, and what is promised."""

    dtype: torch.dtype
    rows: int
    width: int
    ks: tuple[int, ...]
    of_read: float  # at least this share of the read bandwidth
    of_eager: float  # at least so many times as fast as eager torch


CASES = (
    Case(torch.bfloat16, 8192, 128_256, (1, 5, 20), 0.6, 15),
    Case(torch.bfloat16, 4096, 256_000, (1, 5, 20), 0.6, 15),
    Case(torch.float32, 65_536, 1000, (1, 5), 0.5, 10),
    Case(torch.bfloat16, 8192, 50_304, (1, 5, 20), 0, 0),
    Case(torch.bfloat16, 8192, 50_257, (1, 5, 20), 0, 0),  # rows that start anywhere in 16 bytes; nothing is promised
)


@triton.jit
def _read(x, out, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], tl.int32)
    for step in tl.static_range(STEPS):
        total += tl.load(x + program * (BLOCK * STEPS) + step * BLOCK + tl.arange(0, BLOCK))
    tl.store(out + program, tl.sum(total, axis=0))


def read_once(x: Tensor) -> Callable[[], object]:
    """Read every byte, and add up what it holds as integers."""
    words = x.reshape(-1).view(torch.int32)
    programs = words.numel() // (1024 * 16)
    out = torch.empty(programs, dtype=torch.int32, device=x.device)
    return lambda: _read[(programs,)](words, out, BLOCK=1024, STEPS=16, num_warps=4)


def eager(x: Tensor, y: Tensor, ks: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Brier and logarithmic scores of padded lists and of the full distribution, as one writes them in torch."""
    p = torch.softmax(x.float(), dim=-1)
    values, classes = p.topk(max(ks), dim=-1)
    own, width = p.gather(1, y[:, None])[:, 0], x.shape[1]
    brier, log = [], []
    for k in ks:
        t = values[:, :k]
        rest = 1 - t.sum(dim=1)
        q = torch.where((classes[:, :k] == y[:, None]).any(dim=1), own, rest / (width - k))
        brier.append(1 - 2 * q + (t * t).sum(dim=1) + rest * rest / (width - k))
        log.append(-q.log())
    brier.append(1 - 2 * own + (p * p).sum(dim=1))
    log.append(-own.log())
    return torch.stack(brier, dim=1), torch.stack(log, dim=1)


def main() -> int:
    """Print a line per case."""
    if not torch.cuda.is_available():
        sys.stderr.write("benchmarks.gpu needs a CUDA device.\n")
        return 2
    met = True
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}")
    for case in CASES:
        met &= _measured(case)
    met &= gpu_losses.measured()
    return 0 if met else 1


def _measured(case: Case) -> bool:
    torch.manual_seed(0)
    x = torch.empty(case.rows, case.width, dtype=case.dtype, device="cuda")
    for part in x.split(1024):
        part.copy_(2 * torch.randn(part.shape, device="cuda"))
    y = torch.randint(0, case.width, (case.rows,), device="cuda")
    found = scores_from_logits(x, y, case.ks)
    brier, log = eager(x[:1024], y[:1024], case.ks)
    torch.testing.assert_close(found.padded["brier"][:1024], brier[:, :-1], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(found.full["log"][:1024], log[:, -1], rtol=1e-3, atol=1e-5)
    beside = gpu_losses.memory(lambda: scores_from_logits(x, y, case.ks))
    read, ours = gpu_losses.on_device(read_once(x)), gpu_losses.on_device(lambda: scores_from_logits(x, y, case.ks))
    call = gpu_losses.milliseconds(lambda: scores_from_logits(x, y, case.ks))
    plain = gpu_losses.milliseconds(lambda: eager(x, y, case.ks), 5)
    compiled = torch.compile(eager, dynamic=False)
    fast = gpu_losses.milliseconds(lambda: compiled(x, y, case.ks), 5)
    bytes_ = x.numel() * x.element_size()
    good = ours * case.of_read <= read and ours * case.of_eager <= plain
    print(
        f"{str(case.dtype)[6:]} {case.rows:,} x {case.width:,}, k = {max(case.ks)}: read {read:.3f} ms "
        f"({bytes_ / read / 1e9:.2f} TB/s), ours {ours:.3f} ms = {read / ours:.0%} of the read (at least "
        f"{case.of_read:.0%}), eager {plain:.2f} ms = {plain / ours:.1f} times (at least {case.of_eager:g}), compiled "
        f"{fast:.2f} ms = {fast / ours:.1f} times; a call without a graph {call:.3f} ms; memory beside the logits "
        f"{beside / 1e6:.1f} MB; {'met' if good else 'MISSED'}",
        flush=True,
    )
    return good


if __name__ == "__main__":
    raise SystemExit(main())
