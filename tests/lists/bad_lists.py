"""A table of bad lists, and what must be said about each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import toplist as tl

NAN, INF = math.nan, math.inf

LEAVE_OUT = "Leave the class out of the list, or leave the case out on purpose: nothing is dropped silently."
LOGS = "If these are log-probabilities, pass scale='log'."
PROBABILITIES = "Confidences are probabilities, from 0 to 1."
SENTINEL = "Leave such entries out of the list: what is not listed shares the rest mass."
PERCENT = "If these are percentages, pass scale='percent'; unnormalised weights: normalize=True."
WEIGHTS = "If these are unnormalised weights, pass normalize=True."
ROUNDING = "If that is rounding, pass normalize=True to divide by the sum."
MARGINALS = (
    "Independent per-label scores (marginals) are not a distribution over classes: score label by label, "
    "or make lists of label sets with toplist.multilabel.best_sets. "
    "If these are unnormalised weights, pass normalize=True."
)
PADDING = "If negative codes pad short lists, leave them out and pass ragged lists (from_ragged, from_dicts)."
DECLARE = "Declare the right number of classes, or map the labels first."
SUM = "If its confidences add up, pass duplicates='sum'."
COMPLETE = "A complete list is a distribution: correct it, or pass normalize=True to divide by the sum."


@dataclass(frozen=True)
class Bad:
    """A bad list among `m` classes, and what must be said about it."""

    confidences: tuple[float, ...]
    error: type[tl.CaseError]
    problem: str
    remedy: str
    classes: tuple[int, ...] = (0, 1, 2)
    m: int = 6
    good: tuple[float, ...] = (0.5, 0.2, 0.1)


VALUES = {
    "NaN first": Bad((NAN, 0.2, 0.1), tl.ConfidenceError, "the confidence of class 0 is nan.", LEAVE_OUT),
    "NaN last": Bad((0.2, 0.1, NAN), tl.ConfidenceError, "the confidence of class 2 is nan.", LEAVE_OUT),
    "all NaN": Bad((NAN, NAN, NAN), tl.ConfidenceError, "the confidence of class 0 is nan.", LEAVE_OUT),
    "infinity": Bad((0.5, INF, 0.1), tl.ConfidenceError, "the confidence of class 1 is inf.", LEAVE_OUT),
    "log of zero": Bad((-0.7, -INF, -2.3), tl.ConfidenceError, "the confidence of class 1 is -inf.", LOGS),
    "negative": Bad(
        (0.5, -0.2, 0.1), tl.ConfidenceError, "the confidence of class 1 is negative: -0.2.", PROBABILITIES
    ),
    "logs": Bad((-0.7, -1.6, -2.5), tl.ConfidenceError, "the confidence of class 0 is negative: -0.7.", LOGS),
    "sentinel": Bad(
        (0.6, 0.2, -9999.0),
        tl.ConfidenceError,
        "the confidence of class 2 is -9999, a producer's mark for 'not in my top list'.",
        SENTINEL,
    ),
    "percent": Bad(
        (60.0, 30.0, 5.0), tl.ConfidenceError, "the confidence of class 0 is 60, which is above 1.", PERCENT
    ),
    "weights": Bad(
        (20.0, 400.0, 5.0), tl.ConfidenceError, "the confidence of class 1 is 400, which is above 1.", WEIGHTS
    ),
    "mass": Bad((0.6, 0.3, 0.125), tl.MassError, "the confidences sum to 1.025, which is above 1.", ROUNDING),
    "marginals": Bad((0.9, 0.8, 0.7), tl.MassError, "the confidences sum to 2.4, which is above 1.", MARGINALS),
    "incomplete": Bad(
        (0.5, 0.2, 0.2),
        tl.MassError,
        "all 3 classes are listed, but the confidences sum to 0.9.",
        COMPLETE,
        m=3,
        good=(0.5, 0.3, 0.2),
    ),
    "overcomplete": Bad(
        (0.5, 0.3, 0.25),
        tl.MassError,
        "all 3 classes are listed, but the confidences sum to 1.05.",
        COMPLETE,
        m=3,
        good=(0.5, 0.3, 0.2),
    ),
}
CODES = {
    "negative code": Bad(
        (0.5, 0.2, 0.1), tl.ClassError, "class -1 is not a class: codes start at 0.", PADDING, classes=(0, -1, 2)
    ),
    "outside": Bad(
        (0.5, 0.2, 0.1),
        tl.ClassError,
        "class 6 is outside the space of 6 classes (0 to 5).",
        DECLARE,
        classes=(0, 6, 2),
    ),
    "far outside": Bad(
        (0.5, 0.2, 0.1),
        tl.ClassError,
        "class 1099511627776 is outside the space of 6 classes (0 to 5).",
        DECLARE,
        classes=(0, 2**40, 2),
    ),
}
TWICE = {
    "twice": Bad((0.5, 0.2, 0.1), tl.ClassError, "class 4 is listed twice.", SUM, classes=(4, 0, 4)),
    "three times": Bad((0.1, 0.1, 0.1), tl.ClassError, "class 4 is listed twice.", SUM, classes=(4, 4, 4)),
}
