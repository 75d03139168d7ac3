"""From step to step: the mean difference, its confidence sequence, and the evidence either way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.inference.results import SequentialPath
from toplist.inference.sequential.confidence_sequence import BernsteinSequence
from toplist.inference.sequential.e_values import bettable, log_evidence

_ALL, _STEP = 200, 1.03  # every number of cases up to the first, then in steps by the second


def follow(
    difference: Floats,
    loss: Floats,
    win: Floats,
    *,
    level: float,
    rule: str,
    candidate: str,
    baseline: str,
    sizes: Floats | None = None,
    unit: str = "case",
    candidates: int = 1,
) -> SequentialPath:
    """What may be said after each step, from the scores of the candidate minus those of the baseline, in order.

    A step is a case, or, where `unit` says so, a time point or a cluster: then these are sums over its cases, of which
    `sizes` says how many there are, and means are still means over cases.

    `loss` and `win` are the most that the candidate can lose and win against the baseline in each step, known before
    its outcomes. The level is that of `candidates` paths together: each has its part of what may err.
    Intervals are not intersected over time: the average difference may change, and each interval is about its own.
    """
    n = len(difference)
    cases = np.arange(1.0, n + 1) if sizes is None else np.cumsum(sizes)
    better, worse = log_evidence(-difference, loss, win), log_evidence(difference, win, loss)
    mean = running_mean(difference, cases)
    needed = math.log(candidates) - math.log1p(-level)
    shown_better, shown_worse = first(better >= needed), first(worse >= needed)
    alpha = (1.0 - level) / candidates / 2.0
    above = BernsteinSequence(difference, win, loss, sizes, alpha=alpha)  # how far the mean may be above what it is of
    below = BernsteinSequence(-difference, loss, win, sizes, alpha=alpha)
    apart = [side.first_apart() for side in (above, below)]
    separated = min((when for when in apart if when is not None), default=None)
    changes = [first(np.isinf(mean)), first(np.isnan(mean)), first(np.isinf(better)), first(np.isinf(worse))]
    ends = [side.steps + 1 for side in (above, below) if side.steps < n]
    at = times(n, separated, shown_better, shown_worse, *changes, *ends)
    where = at - 1
    down, up = (side.radius(at) / cases[where] for side in (above, below))
    middle = np.where(np.isfinite(mean[where]), mean[where], 0.0)
    sequence = bool(np.isfinite(down).any() or np.isfinite(up).any())
    return SequentialPath(
        rule=rule,
        candidate=candidate,
        baseline=baseline,
        level=level,
        cases=int(cases[-1]),
        unit=unit,
        at=tuple(at.tolist()),
        mean=tuple(mean[where].tolist()),
        low=tuple((middle - down).tolist()) if sequence else (),
        high=tuple((middle + up).tolist()) if sequence else (),
        log_evidence_better=tuple(better[where].tolist()),
        log_evidence_worse=tuple(worse[where].tolist()),
        separated=separated,
        shown_better=shown_better,
        shown_worse=shown_worse,
        method=_method(sequence, candidates, level),
        reason=" ".join(
            [
                *_ends((above, below), (win, loss), (baseline, candidate), unit),
                *_undefined(mean, unit),
                *_without_bets(loss, win, candidate, baseline, unit),
            ]
        ),
        candidates=candidates,
    )


def by_step(values: Floats, steps: NDArray[np.int64]) -> Floats:
    """The sum over the cases of each step; NaN where infinite values of both signs meet.

    >>> by_step(np.array([1.0, 3.0, np.inf]), np.array([0, 0, 1]))
    array([ 4., inf])
    """
    with np.errstate(invalid="ignore"):
        return np.bincount(steps, values).astype(np.float64)


def running_mean(difference: Floats, cases: Floats) -> Floats:
    """The mean over the cases so far; infinite once a difference was, no number after infinite ones of both signs."""
    mean = np.cumsum(np.where(np.isfinite(difference), difference, 0.0)) / cases
    both = np.isnan(difference)
    above, below = (np.logical_or.accumulate((difference == end) | both) for end in (np.inf, -np.inf))
    mean[above], mean[below] = np.inf, -np.inf
    mean[above & below] = np.nan
    return mean


def times(n: int, *others: int | None) -> NDArray[np.int64]:
    """Numbers of cases at which a path is told: the first ones all, later ones in steps, the last, and some others.

    >>> times(300, 250)[-6:].tolist()
    [258, 266, 274, 283, 292, 300]
    """
    told = [*range(1, min(n, _ALL) + 1), n, *(t for t in others if t is not None)]
    later = _ALL
    while (later := math.ceil(later * _STEP)) < n:
        told.append(later)
    return np.unique(np.array(told, np.int64))


def first(true: NDArray[np.bool_]) -> int | None:
    """After how many cases something was true for the first time.

    >>> first(np.array([False, True, True])), first(np.array([False]))
    (2, None)
    """
    return int(np.argmax(true)) + 1 if true.any() else None


def _method(sequence: bool, candidates: int, level: float) -> str:
    betting = "evidence by betting with known largest losses (Waudby-Smith and Ramdas 2024; Henzi and Ziegel 2022)"
    bernstein = "empirical-Bernstein confidence sequence with the bounds of each case (Howard et al. 2021)"
    together = (
        f"for {candidates} candidates together: each interval is at level 1 - {1 - level:.4g}/{candidates}, and an "
        f"e-value has to reach {candidates / (1 - level):.4g}"
    )
    return "; ".join([*([bernstein] if sequence else []), betting, *([together] if candidates > 1 else [])])


def _ends(sides: Sequence[BernsteinSequence], most: Sequence[Floats], names: Sequence[str], unit: str) -> Iterator[str]:
    """From when on the confidence sequence has no lower or upper bound, and why."""
    for end, side, bound, loser, other in zip(("lower", "upper"), sides, most, names, reversed(names), strict=True):
        if side.steps < len(bound):
            can = f"{loser} can score infinitely worse than {other} there"
            why = can if bound[side.steps] == np.inf else "a score there is infinite"
            yield f"From {unit} {side.steps + 1:,} on the confidence sequence has no {end} bound, since {why}."


def _undefined(mean: Floats, unit: str) -> Iterator[str]:
    since = first(np.isnan(mean))
    if since is not None:
        yield f"From {unit} {since:,} on there is no mean difference: both mean scores are infinite."


def _without_bets(loss: Floats, win: Floats, candidate: str, baseline: str, unit: str) -> Iterator[str]:
    """How often nothing could be bet, and why."""
    for name, other, most in ((candidate, baseline, loss), (baseline, candidate, win)):
        endless = int(np.count_nonzero(most == np.inf))
        if endless:
            cases = f"1 {unit}" if endless == 1 else f"{endless:,} {unit}s"
            yield f"Nothing was bet on {name} in {cases}, where it can score infinitely worse than {other}."
    idle = int(np.count_nonzero(np.isfinite(loss) & np.isfinite(win) & ~bettable(loss, win)))
    if idle:
        yield f"Nothing was bet in {idle:,} of {len(loss):,} {unit}s, where neither or only one can be better."
