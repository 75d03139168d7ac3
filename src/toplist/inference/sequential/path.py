"""From case to case: the mean difference, its confidence sequence, and the evidence either way."""

from __future__ import annotations

import math

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
    half: float | None,
    level: float,
    rule: str,
    candidate: str,
    baseline: str,
    why: str = "",
    cases: int | None = None,
    unit: str = "case",
) -> SequentialPath:
    """What may be said after each case, from the scores of the candidate minus those of the baseline, in order.

    Where `unit` is a time point, these are means over its cases, and `cases` is the number of all cases.

    `loss` and `win` are the most that the candidate can lose and win against the baseline in each case, known before
    the outcome; `half` bounds the differences of all cases, and is None where nothing does, for which `why` says why.
    Intervals are not intersected over time: the average difference may change, and each interval is about its own.
    """
    n = len(difference)
    better, worse = log_evidence(-difference, loss, win), log_evidence(difference, win, loss)
    mean = running_mean(difference)
    needed = -math.log1p(-level)
    shown_better, shown_worse = first(better >= needed), first(worse >= needed)
    separated = None
    sequence = None if half is None else BernsteinSequence(half, level)
    spread = np.zeros(0)
    if sequence is not None:
        spread = sequence.spread(difference)
        separated = sequence.first_apart(np.cumsum(difference), spread)
    endless = [first(np.isinf(mean)), first(np.isnan(mean)), first(np.isinf(better)), first(np.isinf(worse))]
    at = times(n, separated, shown_better, shown_worse, *endless)
    where = at - 1
    radius = np.zeros(0) if sequence is None else sequence.radius(spread[where]) / at
    middle = mean[where] if sequence is not None else radius
    return SequentialPath(
        rule=rule,
        candidate=candidate,
        baseline=baseline,
        level=level,
        cases=n if cases is None else cases,
        unit=unit,
        at=tuple(at.tolist()),
        mean=tuple(mean[where].tolist()),
        low=tuple((middle - radius).tolist()),
        high=tuple((middle + radius).tolist()),
        log_evidence_better=tuple(better[where].tolist()),
        log_evidence_worse=tuple(worse[where].tolist()),
        separated=separated,
        shown_better=shown_better,
        shown_worse=shown_worse,
        method=_method(sequence is not None),
        reason=" ".join(
            filter(None, (why, _undefined(mean, unit), _without_bets(loss, win, candidate, baseline, unit)))
        ),
    )


def by_time_point(values: Floats, moments: NDArray[np.int64]) -> Floats:
    """The mean over the cases of each time point; NaN where infinite values of both signs meet.

    >>> by_time_point(np.array([1.0, 3.0, np.inf]), np.array([0, 0, 1]))
    array([ 2., inf])
    """
    with np.errstate(invalid="ignore"):
        return np.bincount(moments, values) / np.bincount(moments)


def running_mean(difference: Floats) -> Floats:
    """The mean so far; infinite once a difference was, and no number once there were infinite ones of both signs."""
    count = np.arange(1, len(difference) + 1)
    mean = np.cumsum(np.where(np.isfinite(difference), difference, 0.0)) / count
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


def _method(sequence: bool) -> str:
    betting = "evidence by betting with known largest losses (Waudby-Smith and Ramdas 2024; Henzi and Ziegel 2022)"
    if not sequence:
        return betting
    return f"empirical-Bernstein confidence sequence (Howard et al. 2021); {betting}"


def _undefined(mean: Floats, unit: str) -> str:
    since = first(np.isnan(mean))
    return (
        "" if since is None else f"From {unit} {since:,} on there is no mean difference: both mean scores are infinite."
    )


def _without_bets(loss: Floats, win: Floats, candidate: str, baseline: str, unit: str) -> str:
    """How often nothing could be bet, and why."""
    told = []
    for name, other, most in ((candidate, baseline, loss), (baseline, candidate, win)):
        endless = int(np.count_nonzero(most == np.inf))
        if endless:
            cases = f"1 {unit}" if endless == 1 else f"{endless:,} {unit}s"
            told.append(f"Nothing was bet on {name} in {cases}, where it can score infinitely worse than {other}.")
    idle = int(np.count_nonzero(np.isfinite(loss) & np.isfinite(win) & ~bettable(loss, win)))
    if idle:
        told.append(f"Nothing was bet in {idle:,} of {len(loss):,} {unit}s, where neither or only one can be better.")
    return " ".join(told)
