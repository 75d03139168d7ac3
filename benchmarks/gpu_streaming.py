"""Streams of scores on a GPU: what sums cost beside the scores, and how far they are from those of the CPU.

`python -m benchmarks.gpu_streaming` prints, for each shape, milliseconds of `scores_from_logits`, and of
`StreamingScores.update_scores` with and without weights, and the largest relative difference between its means and
those of the CPU.
"""

from __future__ import annotations

import torch

from benchmarks.gpu_losses import milliseconds
from toplist.integrations.torch import LogitScores, StreamingScores, scores_from_logits

SHAPES = ((8192, 128_256, torch.bfloat16), (65_536, 1000, torch.float32))


def on_the_cpu(scores: LogitScores) -> LogitScores:
    """A copy of the scores."""
    padded, full = ({name: one.cpu() for name, one in side.items()} for side in (scores.padded, scores.full))
    lists = type(scores.lists)(*(one.cpu() for one in scores.lists))
    return LogitScores(lists, scores.rank.cpu(), scores.log_prob.cpu(), padded, full, *scores[5:])


def main() -> None:
    """Measure both shapes."""
    for rows, width, dtype in SHAPES:
        logits = torch.randn(rows, width, device="cuda", dtype=dtype)
        y = torch.randint(0, width, (rows,), device="cuda")
        weight = torch.rand(rows, device="cuda") + 0.1
        scores = scores_from_logits(logits, y)
        state = StreamingScores()
        times = [
            milliseconds(lambda logits=logits, y=y: scores_from_logits(logits, y)),
            milliseconds(lambda state=state, scores=scores: state.update_scores(scores)),
            milliseconds(lambda state=state, scores=scores, weight=weight: state.update_scores(scores, weight)),
        ]
        there, here = StreamingScores(), StreamingScores()
        there.update_scores(scores, weight)
        here.update_scores(on_the_cpu(scores), weight.cpu())
        pairs = zip(there.result().named.values(), here.result().named.values(), strict=True)
        apart = max(abs(gpu.value / cpu.value - 1) for gpu, cpu in pairs)
        print(f"{rows:,} x {width:,} {dtype}, milliseconds:")
        print(f"  scores {times[0]:.3f}, sums {times[1]:.3f}, weighted sums {times[2]:.3f}")
        print(f"  relative difference to the CPU: {apart:.1e}")


if __name__ == "__main__":
    main()
