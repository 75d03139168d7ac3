"""Evidence by betting: what one has made of one unit by betting, case by case, that a model is better.

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

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.inference.sequential.confidence_sequence import ROUNDING

RATIOS = 0.4 ** np.arange(1, 7)  # means in standard deviations: good from some dozen to some hundred thousand cases
_BEGUN = 10  # cases that the initial estimate of the variance counts as


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


def bettable(loss: Floats, win: Floats) -> NDArray[np.bool_]:
    """In which cases a bet makes sense."""
    makes_sense: NDArray[np.bool_] = (loss > ROUNDING) & np.isfinite(loss) & (win > ROUNDING)
    return makes_sense


def _unit(x: Floats, loss: Floats, win: Floats, open_: NDArray[np.bool_]) -> Floats:
    """One over the standard deviation, as it was guessed before each case."""
    cases = np.cumsum(open_)
    first = np.where(open_, loss * np.where(np.isfinite(win), win, loss), 0.0)
    guess = np.cumsum(first) / np.maximum(cases, 1)
    before = np.concatenate(([0.0], np.cumsum(x * x)))[:-1]
    variance = (before + _BEGUN * guess) / (cases - open_ + _BEGUN)
    return 1.0 / np.sqrt(np.where(variance > 0, variance, np.inf))
