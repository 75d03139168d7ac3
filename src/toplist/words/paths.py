"""What anytime-valid comparisons say, in one set of sentences for tables, pages and figures."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from toplist.ranking.results import Estimate, SequentialPath
from toplist.words.counts import number_of
from toplist.words.names import visible

T = TypeVar("T")
_ASSUMED = {
    "case": "All this takes for granted that the outcome of each case is known before the next prediction is made.",
    "moment": "Cases share moments, so that a step is a moment, with the mean of its differences. All this takes for "
    "granted that the outcomes of each moment are known before the predictions of the next are made.",
}


def assumed(paths: Sequence[SequentialPath]) -> str:
    """What is taken for granted, and by which steps the paths go."""
    units = dict.fromkeys(path.unit for path in paths) or {"case": None}
    return " ".join(_ASSUMED[unit] for unit in units)


def ending(path: SequentialPath) -> Estimate:
    """The mean difference after all cases, with the interval that holds however often one looks."""
    if not path.mean:
        return Estimate(math.nan, why=path.why or "there are no cases")
    low, high = (path.low[-1], path.high[-1]) if path.low else (None, None)
    return Estimate(path.mean[-1], low, high, path.why)


def ended(path: SequentialPath, called: Callable[[str], T], rule: str, value: str, between: str = "") -> list[T | str]:
    """Where the path ends, in parts of a sentence: names as `called` writes them, the value `between` two ends."""
    return [
        *(f"after {number_of(path.at[-1], path.unit)}, the mean {rule} score of ", called(path.candidate)),
        *(" minus that of ", called(path.baseline), f" is {value}"),
        f", between {between} however often one looks" if between else "",
    ]


def findings(path: SequentialPath, called: Callable[[str], T]) -> list[list[T | str]]:
    """What was shown and when, in parts of sentences: who was better at some time, and who on average."""
    a, b = path.candidate, path.baseline
    found = [
        _shown(when, path.unit, called(one), called(other), "at some time")
        for one, other, when in ((a, b, path.shown_better), (b, a, path.shown_worse))
        if when is not None
    ]
    if path.separated is not None:
        mean = path.mean[min(bisect_left(path.at, path.separated), len(path.at) - 1)]
        better, other = (a, b) if mean < 0 else (b, a)
        found.append(_shown(path.separated, path.unit, called(better), called(other), "on average"))
    return found or [
        ["no difference to ", called(b), f" is shown in {number_of(path.at[-1] if path.at else 0, path.unit)}"]
    ]


def reason(path: SequentialPath) -> str:
    """Why nothing more may be said, without the full stop; or nothing."""
    return visible(path.why).strip().rstrip(".")


def _shown(when: int, unit: str, better: T, other: T, how: str) -> list[T | str]:
    return [f"after {number_of(when, unit)} ", better, " was shown to be better than ", other, f" {how}"]
