"""What each of two processes does: it scores its part of the cases and adds up those of both."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
from torch import distributed

from toplist.errors import TopListError
from toplist.integrations.torch import StreamingScores

KS = (1, 3)
CASES = 90


def cases() -> tuple[Any, Any, Any]:
    """All cases."""
    draw = torch.Generator().manual_seed(3)
    y = torch.randint(0, 9, (CASES,), generator=draw)
    y[:4] = -100
    return 2 * torch.randn(CASES, 9, generator=draw), y, torch.rand(CASES, generator=draw) + 0.1


def part(rank: int, address: str) -> dict[str, Any]:
    """Score a part of the cases in parts of unequal size, and add up those of both processes."""
    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2, timeout=timedelta(seconds=100))
    try:
        own = slice(0, 20) if rank == 0 else slice(20, CASES)
        batch = [one[own] for one in cases()]
        state = StreamingScores(KS)
        state.update(*batch)
        local = state.result().cases
        state.all_reduce()
        found: dict[str, Any] = {"local": local, "streamed": state.result(), "again": _refusal(state.all_reduce)}
        found["differ"] = _refusal(StreamingScores(KS, temperature=1.0 + rank).all_reduce)
        distributed.barrier()
        return found
    finally:
        distributed.destroy_process_group()


def _refusal(call: Any) -> str:
    try:
        call()
    except TopListError as error:
        return str(error)
    return ""


def child(address: str, answers: Any) -> None:
    """The second process."""
    try:
        answers.put(part(1, address))
    except BaseException as error:
        answers.put(repr(error))
        raise
