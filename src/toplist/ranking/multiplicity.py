"""Many p values at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjusted so that, of all true hypotheses, any is rejected at a level with at most that probability (Holm 1979).

    The i-th smallest of n becomes (n - i + 1) times itself, at least its predecessor, at most one. What has no p value
    is not tested, and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    out: list[float | None] = [None] * len(values)
    known = sorted((p, at) for at, p in enumerate(values) if p is not None)
    most = 0.0
    for place, (p, at) in enumerate(known):
        most = max(most, min(1.0, (len(known) - place) * p))
        out[at] = most
    return out
