"""Distillation from lists on a GPU: forward and backward, against eager torch and a read and a write of the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  as everybody writes it

from toplist.integrations.torch import list_divergence, lists_from_logits

K = 64
WIDTHS = {128_256: 0.5, 50_257: 0.0}  # the share of the bandwidth of one read and one write that is promised


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


def memory(step: Callable[[], object]) -> int:
    """Bytes that a step takes at most at once, beside what there is."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return torch.cuda.max_memory_allocated() - before


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


def on_device(step: Callable[[], object], repeats: int = 30) -> float:
    """Milliseconds on the device: the best of replays of a graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return min(milliseconds(graph.replay, 3) for _ in range(repeats // 3))


def measured() -> bool:
    """Whether every width has the bandwidth that is promised for it."""
    met = True
    for width, share in WIDTHS.items():
        met &= _measured(8192, width, torch.bfloat16, share)
    return met


def _measured(rows: int, width: int, dtype: torch.dtype, share: float) -> bool:
    """Print a line for each rule: which share of the bandwidth of a read and a write forward and backward have."""
    classes, log_probs, log_rest, logits = make(rows, width, K, dtype)
    eager = forward_and_backward(eager_divergence, logits, before=(classes, log_probs))
    eager()
    want, plain = logits.grad.float(), milliseconds(eager, 5)
    logits.grad = None
    copy = on_device(logits.detach().clone)
    print(f"list_divergence, {str(dtype)[6:]} {rows:,} x {width:,}, k = {K}: a read and a write {copy:.3f} ms")
    met = True
    for rule in ("log", "brier", "spherical"):
        step = forward_and_backward(fused, logits, log_rest, rule, before=(classes, log_probs))
        logits.grad = None
        beside = memory(step) - logits.numel() * logits.element_size()
        if rule == "log":
            torch.testing.assert_close(logits.grad.float(), want, rtol=2e-2, atol=1e-6)
            del want
        logits.grad = None
        call, ours = milliseconds(step), on_device(step)
        good = copy >= share * ours
        met &= good
        print(
            f"  {rule}: forward and backward {ours:.3f} ms = {copy / ours:.0%} of it (at least {share:.0%}), a call "
            f"without a graph {call:.3f} ms; eager torch (log) {plain:.1f} ms = {plain / ours:.1f} times; memory "
            f"beside the logits and the gradient {beside / 1e6:.1f} MB; {'met' if good else 'MISSED'}",
            flush=True,
        )
    return met


def main() -> int:
    """The exit status says whether the bounds are met."""
    return 0 if measured() else 1


if __name__ == "__main__":
    raise SystemExit(main())
