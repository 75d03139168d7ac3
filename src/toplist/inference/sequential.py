"""Looking after every case: what may be said of two models at any time, however often one looks.

A confidence sequence for the average of differences whose bounds are known case by case.

If d_i >= -f_i, where f_i is known before d_i, and a guess g_i <= f_i / 4 is made before d_i is known, then with
c_i = 5 f_i / 4, any l >= 0 with l c_i < 1 for all i <= t, and m_i the mean of d_i given the past,

    exp(l * sum(d_i - m_i) - l^2 * sum(phi(l c_i) (d_i - g_i)^2)),    phi(x) = (-log(1 - x) - x) / x^2,

is a supermartingale that starts at one, and so is its average over a grid of l that is chosen before the first outcome,
where a point leaves the grid, and what it has made is lost, as soon as a case comes with l c_i > 0.9. By Ville's
inequality the average ever reaches 1 / alpha with probability at most alpha. So at all times the sum of the d_i is
above the sum of the m_i by less than the r at which the average is 1 / alpha; and for -d_i the other way round.
No bound for all cases is needed, the m_i may change from case to case, and cases may depend on those before. The proof
is in docs/sequential.md.

Evidence by betting: what one has made of one unit by betting, case by case, that a model is better.

If x_i is what the candidate gains on the baseline in case i and b_i the most that it can lose there, known before the
outcome, then with bets 0 <= l_i <= 1 / (2 b_i) that are made before the outcome the product of 1 + l_i x_i stays above
zero and is not expected to grow where the candidate is not better: an e-process (Waudby-Smith and Ramdas 2024; for
scores, Henzi and Ziegel 2022). It ever reaches 1 / alpha with probability at most alpha.

A bet of mean / variance grows fastest. What is not known is the mean in units of the standard deviation, so the unit is
shared among a few guesses at it. Where cases differ in kind, that standard deviation may be one for all, known from the
cases before, or of the size of b_i in each case: half of the unit goes with either. The variance begins with b_i times
what can be won, which no variance exceeds while the mean is zero (Bhatia and Davis 2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Floats
from toplist.inference.results import SequentialPath

ROUNDING = 1e-12  # lists whose scores differ by less are the same list, rounded
POINTS = 64  # of the grid: each is half of the one before, so that it is good for any bounds and any number of cases
_EVEN = 6  # points over which weights are about even: a / ((j + a) (j + a + 1)) adds up to one over all j
_MOST = 0.9  # the largest l c
_GUESS = 0.25  # guesses stay below this part of the bounds: c is smaller the less they may stray
_LEAST = 1 / 64  # the smallest bound, in parts of the bound on the other side
_SERIES, _TERMS = 1 / 8, 14  # up to which x, and by how many terms, phi is summed as powers of x: exact to 1e-13
_BLOCKS = 64

_AT = np.arange(POINTS)
LOG_WEIGHTS: Floats = np.log(_EVEN) - np.log((_AT + _EVEN) * (_AT + _EVEN + 1.0))
RATIOS = 0.4 ** np.arange(1, 7)  # means in standard deviations: good from some dozen to some hundred thousand cases
_BEGUN = 10  # cases that the initial estimate of the variance counts as
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
    method = ["evidence by betting with known largest losses (Waudby-Smith and Ramdas 2024; Henzi and Ziegel 2022)"]
    if sequence:
        method.insert(0, "empirical-Bernstein confidence sequence with the bounds of each case (Howard et al. 2021)")
    if candidates > 1:
        method.append(
            f"for {candidates} candidates together: each interval is at level 1 - {1 - level:.4g}/{candidates}, and an "
            f"e-value has to reach {candidates / (1 - level):.4g}"
        )
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
        method="; ".join(method),
        reason=" ".join(_caveats((above, below), (win, loss), (baseline, candidate), mean, unit)),
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


def first(true: Bools) -> int | None:
    """After how many cases something was true for the first time.

    >>> first(np.array([False, True, True])), first(np.array([False]))
    (2, None)
    """
    return int(np.argmax(true)) + 1 if true.any() else None


def _caveats(
    sides: Sequence[BernsteinSequence], most: Sequence[Floats], names: Sequence[str], mean: Floats, unit: str
) -> Iterator[str]:
    """Where there is no lower or upper bound, no mean, or no bet; `most` is what the model of each side can lose."""
    for end, side, loss, loser, other in zip(("lower", "upper"), sides, most, names, reversed(names), strict=True):
        if side.steps < len(loss):
            can = f"{loser} can score infinitely worse than {other} there"
            why = can if loss[side.steps] == np.inf else "a score there is infinite"
            yield f"From {unit} {side.steps + 1:,} on the confidence sequence has no {end} bound, since {why}."
    since = first(np.isnan(mean))
    if since is not None:
        yield f"From {unit} {since:,} on there is no mean difference: both mean scores are infinite."
    for loser, other, loss in zip(reversed(names), names, reversed(most), strict=True):
        endless = int(np.count_nonzero(loss == np.inf))
        if endless:
            steps = f"{endless:,} {unit}{'' if endless == 1 else 's'}"
            yield f"Nothing was bet on {loser} in {steps}, where it can score infinitely worse than {other}."
    win, loss = most
    idle = int(np.count_nonzero(np.isfinite(loss) & np.isfinite(win) & ~bettable(loss, win)))
    if idle:
        yield f"Nothing was bet in {idle:,} of {len(loss):,} {unit}s, where neither or only one can be better."


# Confidence sequences


class BernsteinSequence:
    """One side: how far the sum of `d` can be above that of its conditional means, at all times at once.

    `fall` and `rise` are how far below and above zero each difference can be, `cases` the number of cases that each is
    the sum of. It ends, with infinite radii, before the first step where `fall` or a difference is infinite.
    """

    def __init__(self, d: Floats, fall: Floats, rise: Floats, cases: Floats | None = None, *, alpha: float) -> None:
        endless = ~np.isfinite(d) | (fall == np.inf)
        self.steps = int(np.argmax(endless)) if endless.any() else len(d)
        d, fall, rise = d[: self.steps], fall[: self.steps], rise[: self.steps]
        count = np.ones(self.steps) if cases is None else cases[: self.steps]
        idle = np.maximum(fall, rise) <= ROUNDING
        d = np.where(idle, 0.0, d)
        self.slack = 2 * ROUNDING * np.cumsum(idle)
        self.total = np.cumsum(d)
        finite = np.where(np.isfinite(rise), rise, 0.0)
        bound = np.where(idle, 0.0, np.maximum(fall, np.maximum(_LEAST * finite, ROUNDING)))
        before = (self.total - d) / np.maximum(np.cumsum(count) - count, 1.0)
        self.squares = (d - np.minimum(count * before, _GUESS * bound)) ** 2
        self.squares[idle] = 0.0
        self.scale = (1.0 + _GUESS) * bound
        self.largest = np.maximum.accumulate(self.scale)
        first = self.scale[int(np.argmax(~idle))] if (~idle).any() else 1.0
        self.bets = (_MOST / first * 0.5**_AT).astype(np.float64)
        self.needed = -math.log(alpha)

    def radius(self, at: NDArray[np.int64]) -> Floats:
        """After each of these numbers of steps, the r at which the average is 1 / alpha; infinite after the end.

        The log of the average is convex and rises with r, so that Newton's method from above comes down to the root.

        >>> BernsteinSequence(np.zeros(9), np.ones(9), np.ones(9), alpha=0.025).radius(np.array([1, 9])).round(3)
        array([7.727, 7.727])
        """
        out = np.full(len(at), np.inf)
        v = self._paid(0, at[at <= self.steps])
        alive = np.isfinite(v).any(axis=1)
        if not alive.any():
            return out
        v = v[alive]
        r = ((self.needed - LOG_WEIGHTS + v) / self.bets).min(axis=1)  # one point alone suffices there
        while True:
            above, slope = self._evidence(r, v)
            lower = r - np.maximum(above, 0.0) / slope
            if not (lower < r * (1.0 - 1e-13)).any():
                break
            r = lower
        where = np.flatnonzero(alive)
        out[where] = r + self.slack[at[where] - 1]
        return out

    def first_apart(self) -> int | None:
        """After how many steps zero is first excluded: no root is needed for that."""
        return self._apart(0, self.steps, np.zeros(POINTS))

    def _apart(self, lo: int, hi: int, paid: Floats) -> int | None:
        """The same between two numbers of steps: blocks in which it cannot be are skipped."""
        if hi == lo:
            return None
        ends = lo + np.unique(np.linspace(0, hi - lo, min(hi - lo, _BLOCKS) + 1).astype(np.int64))[1:]
        starts, v = np.concatenate(([lo], ends[:-1])), paid + self._paid(lo, ends)
        if hi - lo <= _BLOCKS:
            above, _ = self._evidence((self.total - self.slack)[lo:hi], v)
            return lo + int(np.argmax(above > 0)) + 1 if (above > 0).any() else None
        before = np.concatenate((paid[None], v[:-1]))
        top = np.maximum.reduceat(self.total[:hi], starts)
        for at in np.flatnonzero(self._evidence(top, before)[0] > 0):
            found = self._apart(int(starts[at]), int(ends[at]), before[at])
            if found is not None:
                return found
        return None

    def _evidence(self, r: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The log of the average at a distance r of the sums, less what is needed; and its slope in r."""
        terms = self.bets * r[:, None] - v + LOG_WEIGHTS
        top = np.maximum(terms.max(axis=1), -1e300)
        weights = np.exp(terms - top[:, None])
        total = weights.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return top + np.log(total) - self.needed, weights @ self.bets / total

    def _paid(self, lo: int, at: NDArray[np.int64]) -> Floats:
        """l^2 times the sum of phi (d - g)^2 from `lo` on, for numbers of steps and points; infinite once one left."""
        out = np.zeros((len(at), POINTS))
        if not len(at) or not self.largest[at[-1] - 1]:
            return out
        hi, starts = int(at[-1]), np.concatenate(([0], at[:-1] - lo))
        scale, squares, largest = self.scale[lo:hi], self.squares[lo:hi], self.largest[hi - 1]
        near = self.bets * largest > _SERIES
        for j in np.flatnonzero(near):
            alive = int(np.searchsorted(self.largest, _MOST / self.bets[j] * (1 + 1e-12), side="right"))
            some = starts[starts < alive - lo]
            if len(some):
                paid = phi(self.bets[j] * scale[: alive - lo]) * squares[: alive - lo]
                out[: len(some), j] = np.add.reduceat(paid, some)
            out[at > alive, j] = np.inf
        x, power = self.bets[~near] * largest, squares
        for k in range(_TERMS):
            out[:, ~near] += np.add.reduceat(power, starts)[:, None] * x**k / (k + 2)
            power = power * (scale / largest)
        return np.cumsum(out * self.bets**2, axis=0)


def phi(x: Floats) -> Floats:
    """(-log(1 - x) - x) / x^2, which is 1/2 at zero.

    >>> phi(np.array([0.0, 1e-9, 0.5])).round(6)
    array([0.5     , 0.5     , 0.772589])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = (np.log1p(-x) + x) / (-x * x)
    return np.where(x > 1e-4, exact, 0.5 + x / 3 + x * x / 4)


# Evidence


def log_evidence(x: Floats, loss: Floats, win: Floats) -> Floats:
    """The log of the e-process after every case, from gains and their bounds -loss <= x <= win.

    Nothing is bet where the loss has no bound, and where nothing can be lost or nothing won. A gain without bound is
    evidence without bound, and stays it.

    >>> one = np.ones(3)
    >>> log_evidence(np.array([1.0, 1.0, np.inf]), one, np.array([1.0, 1.0, np.inf])).round(3)
    array([0.105, 0.226,   inf])
    """
    open_ = bettable(loss, win)
    most = 0.5 / np.where(open_, loss, np.inf)
    known = _unit(np.where(open_ & np.isfinite(x), x, 0.0), np.where(open_, loss, 0.0), win, open_)
    out = np.full(len(x), -np.inf)
    for unit in (known, 2.0 * most):
        for ratio in RATIOS:
            bet = np.minimum(ratio * unit, most)
            gained = np.multiply(bet, x, out=np.zeros(len(x)), where=bet > 0)
            np.logaddexp(out, np.cumsum(np.log1p(gained)), out=out)
    out -= np.log(2 * len(RATIOS))
    out[~np.logical_or.accumulate(open_)] = 0.0  # without rounding, where nothing was bet so far
    return out


def bettable(loss: Floats, win: Floats) -> Bools:
    """In which cases a bet makes sense."""
    makes_sense: Bools = (loss > ROUNDING) & np.isfinite(loss) & (win > ROUNDING)
    return makes_sense


def _unit(x: Floats, loss: Floats, win: Floats, open_: Bools) -> Floats:
    """One over the standard deviation, as it was guessed before each case."""
    cases = np.cumsum(open_)
    first = np.where(open_, loss * np.where(np.isfinite(win), win, loss), 0.0)
    guess = np.cumsum(first) / np.maximum(cases, 1)
    before = np.concatenate(([0.0], np.cumsum(x * x)))[:-1]
    variance = (before + _BEGUN * guess) / (cases - open_ + _BEGUN)
    return 1.0 / np.sqrt(np.where(variance > 0, variance, np.inf))
