"""Lists of the next word for every length from 1 to 100, scored in one pass over the logits.

What does a longer list add? `StreamingScores` keeps the sums of all lengths, and of full distributions, at once:
`python -m examples.accelerator next_tokens`.
"""

from __future__ import annotations

from typing import Any

import torch
from examples.accelerator.words import Model, Text

from toplist.integrations.torch import StreamingScores

LONGEST = 100


@torch.no_grad()
def run(text: Text, model: Model, *, longest: int = LONGEST) -> dict[str, Any]:
    """Mean padded scores of lists of every length on the held-out modules; errors are by module."""
    scores = StreamingScores(ks=range(1, longest + 1), unit="sequence")
    before, y = (part.reshape(text.modules, -1, *part.shape[1:]) for part in (text.test.before, text.test.y))
    for some, outcomes in zip(before.split(8), y.split(8), strict=True):
        logits = model(some.reshape(-1, some.shape[-1])).reshape(*outcomes.shape, text.classes)
        scores.update(logits, outcomes)
    result = scores.result()
    state = scores.state_dict()
    curve = {
        str(k): {
            **{rule: _mean(result.padded[rule][k]) for rule in ("brier", "log")},
            "coverage": _mean(result.coverage[k]),
        }
        for k in range(1, longest + 1)
    }
    return {
        "cases": result.cases,
        "kilobytes": round(sum(state[name].numel() * 8 for name in ("sums", "counts")) / 1024),
        "curve": curve,
        "full": {rule: _mean(result.full[rule]) for rule in ("brier", "log")},
    }


def _mean(found: Any) -> list[float]:
    return [found.value, found.error]
