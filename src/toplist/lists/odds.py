"""Decimal odds as probabilities: their reciprocals, without the overround by which these add up to more than one.

`proportional` divides the reciprocals r of a case by their sum. `power` takes the power c with sum(r**c) = 1, which
takes more from long odds than from short ones. Sums below one, which no single bookmaker offers but the best odds of
several may have, are raised to one in the same way. Every class of a case needs odds: from some of them the overround
cannot be told from the probability of the others.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats, Overround
from toplist.core.kernel import Rows
from toplist.errors import ConfidenceError, MassError, TopListError
from toplist.lists.error_messages import bad_case
from toplist.lists.space import ClassSpace, show_size

_STEPS = 200  # of Newton's method; some ten are the rule
_CLOSE = 4 * np.finfo(np.float64).eps


def fair_probabilities(odds: Floats, offsets: NDArray[np.int64], overround: Overround = "proportional") -> Floats:
    """Probabilities of cases that each have one class or more, of odds above one.

    >>> fair_probabilities(np.array([1.8, 3.6, 3.6]), np.array([0, 3]))
    array([0.5 , 0.25, 0.25])
    >>> fair_probabilities(np.array([2.0, 4.0, 4.0]), np.array([0, 3]), "power")
    array([0.5 , 0.25, 0.25])
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    p = 1.0 / odds
    if overround == "power":
        p = np.exp(np.repeat(_powers(np.log(p), offsets), sizes) * np.log(p))
    fair: Floats = p / np.repeat(np.add.reduceat(p, starts), sizes)
    return fair


def _powers(logs: Floats, offsets: NDArray[np.int64]) -> Floats:
    """The power of each case with which what these are the logarithms of adds up to one.

    f(c) = log(sum(exp(c l))) is convex in c, and falls, as every l is negative. A tangent of a convex function lies
    below it, so that Newton's method never passes the root from where f is not negative, as it is not at c = 0: it
    needs no safeguard.
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    c = np.where(np.add.reduceat(np.exp(logs), starts) >= 1.0, 1.0, 0.0)
    for _ in range(_STEPS):
        mass = np.exp(np.repeat(c, sizes) * logs)
        total = np.add.reduceat(mass, starts)
        step = np.log(total) * total / -np.add.reduceat(mass * logs, starts)
        c = c + step
        if (np.abs(step) <= _CLOSE * np.maximum(c, 1.0)).all():
            break
    return c


def require_odds(rows: Rows, space: ClassSpace, ids: Any) -> None:
    """Odds are finite and above one, and there are some for every class of a case."""
    odds, sizes = rows.confidences, np.diff(rows.offsets)
    bad = ~(np.isfinite(odds) & (odds > 1.0))
    if bad.any():
        case = np.repeat(np.arange(len(rows)), sizes)
        wrong = np.unique(case[bad])
        row = int(wrong[0])
        at = int(np.flatnonzero(bad)[0] - rows.offsets[row])
        about = _about(rows, space, ids, row, len(wrong) - 1)
        raise ConfidenceError(
            f"the odds of {about.show(at)} are {about.confidences[at]:g}.",
            "Decimal odds are what is paid for a stake of one, above 1; convert fractional or American odds first, and "
            "leave out cases without odds.",
            case=row,
            name=about.name,
            more=about.more,
        )
    short = np.flatnonzero(sizes < rows.size)
    if len(short):
        row = int(short[0])
        about = _about(rows, space, ids, row, len(short) - 1)
        raise MassError(
            f"there are odds for {sizes[row]} of {show_size(about.size)} classes.",
            "The overround can be removed where all classes of a case have odds: give those of the others, or leave "
            "the case out.",
            case=row,
            name=about.name,
            more=about.more,
        )


def _about(rows: Rows, space: ClassSpace, ids: Any, row: int, more: int) -> Any:
    here = slice(rows.offsets[row], rows.offsets[row + 1])
    listed = rows.confidences[here]
    classes = np.arange(len(listed)) if rows.classes is None else rows.classes[here]
    return bad_case(row, more, space, classes, listed, ids=ids)


def require_overround(overround: Any, scale: str) -> None:
    """The name of a removal, which has an effect on odds only."""
    known = get_args(Overround)
    if overround not in known:
        raise TopListError(f"overround is {' or '.join(map(repr, known))}, not {overround!r}.")
    if overround != known[0] and scale != "odds":
        raise TopListError(f"overround={overround!r} has no effect on this scale: it is about odds, scale='odds'.")
