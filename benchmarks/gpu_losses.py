"""Distillation from lists on a GPU: forward and backward, against eager torch and a read and a write of the logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  as everybody writes it

from toplist.integrations.torch import list_divergence, lists_from_logits

ROWS, WIDTH, K = 8192, 128_256, 64


def eager_divergence(classes: torch.Tensor, log_probs: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """The Kullback-Leibler divergence with a bucket for the tail, as one writes it in torch."""
    student = F.log_softmax(logits.float(), dim=-1).gather(-1, classes)
    log_rest = torch.log1p(-student.exp().sum(dim=-1).clamp(max=1 - 1e-6))
    teacher_rest = torch.log1p(-log_probs.exp().sum(dim=-1).clamp(max=1 - 1e-6))
    listed = (log_probs.exp() * (log_probs - student)).sum(dim=-1)
    return (listed + teacher_rest.exp() * (teacher_rest - log_rest)).mean()


def fused(
    classes: torch.Tensor, log_probs: torch.Tensor, logits: torch.Tensor, log_rest: torch.Tensor, rule: Any = "log"
) -> torch.Tensor:
    """Ours."""
    return list_divergence(classes, log_probs, logits, teacher_log_rest=log_rest, rule=rule)


def forward_and_backward(
    loss: Callable[..., torch.Tensor], logits: torch.Tensor, *others: Any, before: tuple[Any, ...] = ()
) -> Callable[[], None]:
    """A step of training, as far as it is ours."""

    def step() -> None:
        logits.grad = None
        loss(*before, logits, *others).backward()

    return step


def milliseconds(step: Callable[[], object], repeats: int = 20) -> float:
    """The median over repeats, by events on the device."""
    for _ in range(3):
        step()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[repeats // 2]


def make(rows: int, width: int, k: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Logits of a student, and lists of a teacher whose logits are not far from those."""
    torch.manual_seed(0)
    logits = torch.empty(rows, width, dtype=dtype, device="cuda")
    classes = torch.empty(rows, k, dtype=torch.int64, device="cuda")
    log_probs, log_rest = torch.empty(rows, k, device="cuda"), torch.empty(rows, device="cuda")
    for at in range(0, rows, 1024):
        here = slice(at, at + 1024)
        logits[here] = 3 * torch.randn(logits[here].shape, device="cuda")
        found = lists_from_logits(logits[here] + torch.randn_like(logits[here]), k)
        classes[here], log_probs[here], log_rest[here] = found
    return classes, log_probs, log_rest, logits.requires_grad_()


def compare(rows: int = ROWS, width: int = WIDTH, k: int = K, dtype: torch.dtype = torch.bfloat16) -> dict[str, float]:
    """Milliseconds of a copy (a read and a write), of forward alone, of forward and backward, and of the eager loss."""
    classes, log_probs, log_rest, logits = make(rows, width, k, dtype)
    found = {"copy": milliseconds(logits.detach().clone)}
    with torch.no_grad():
        found["forward"] = milliseconds(lambda: fused(classes, log_probs, logits, log_rest))
    for rule in ("log", "brier", "spherical"):
        step = forward_and_backward(fused, logits, log_rest, rule, before=(classes, log_probs))
        found[rule] = milliseconds(step)
    logits.grad = None
    found["eager"] = milliseconds(forward_and_backward(eager_divergence, logits, before=(classes, log_probs)), 5)
    return found


def main() -> None:
    """One line for each."""
    found = compare()
    size = 2 * ROWS * WIDTH * 2 / 1e9
    for name, ms in found.items():
        moved = size / 2 if name == "forward" else size
        print(f"{name:10} {ms:8.3f} ms  {moved / ms * 1000:8.0f} GB/s  {found['copy'] / ms:6.1%} of copy")
    print(f"eager / ours: {found['eager'] / found['log']:.1f}")
    assert math.isfinite(found["log"])


if __name__ == "__main__":
    main()
