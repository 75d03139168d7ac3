"""Single cases worth showing: those that cost most, and the first list that is not valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.evidence.findings import Costly
from toplist.evidence.naming import Names
from toplist.io.showing import shown
from toplist.lists import TopLists
from toplist.space import show_size

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
MOST = 10  # costly cases
_LISTED = 3  # classes of each that are shown
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Costliest:
    """The cases with the largest scores, worst first; among equals those that stand first in the truth."""

    cases: tuple[tuple[int, Costly], ...] = ()  # with their positions in the truth

    def __add__(self, other: Costliest) -> Costliest:
        both = sorted((*self.cases, *other.cases), key=lambda one: (-one[1].score, one[0], one[1].case))
        return Costliest(tuple(both[:MOST]))

    @classmethod
    def of(cls, lists: TopLists, truth: Any, scores: Floats, position: Positions, names: Names) -> Costliest:
        """The costliest cases of a batch; `truth` are codes, or lists."""
        return cls(
            tuple(
                (int(position[at]), _costly(lists, truth, at, float(scores[at]), int(position[at]), names))
                for at in worst(scores, position, MOST).tolist()
            )
        )


def worst(scores: Floats, position: Positions, most: int) -> NDArray[np.intp]:
    """Where the largest scores are, largest first; equal ones in the order of their positions.

    >>> worst(np.array([1.0, 3.0, 2.0, 3.0]), np.array([0, 9, 2, 3]), 3)
    array([3, 1, 2])
    """
    cases = _candidates(scores, most)
    if len(cases) > most:
        last = np.partition(scores[cases], len(cases) - most)[len(cases) - most]
        above, equal = cases[scores[cases] > last], cases[scores[cases] == last]
        needed = most - len(above)
        if len(equal) > needed:
            equal = equal[np.argpartition(position[equal], needed)[:needed]]
        cases = np.concatenate([above, equal])
    return cases[np.lexsort((position[cases], -scores[cases]))]


def _candidates(scores: Floats, most: int) -> NDArray[np.intp]:
    """A few cases that have the largest scores among them: those that reach the `most`-th largest of all chunks."""
    chunks = len(scores) // _CHUNK
    if chunks <= most:
        return np.arange(len(scores))
    tops = scores[: chunks * _CHUNK].reshape(chunks, _CHUNK).max(axis=1)
    return np.flatnonzero(scores >= np.partition(tops, chunks - most)[chunks - most])


def _costly(lists: TopLists, truth: Any, at: int, score: float, position: int, names: Names) -> Costly:
    part = lists[at : at + 1]
    t = part.normalized_confidences
    first = np.argsort(-t, stable=True)[:_LISTED]
    called = names.classes(at, part.classes[first].tolist())
    return Costly(
        names.case(at, position),
        score,
        _outcome(truth, at, names),
        tuple(zip(called, t[first].tolist(), strict=True)),
        len(t),
        float(part.rest[0]),
    )


def _outcome(truth: Any, at: int, names: Names) -> str:
    if not isinstance(truth, TopLists):
        return names.outcome(at, int(truth[at]))
    part = truth[at : at + 1]
    t = part.normalized_confidences
    if not len(t):
        return "any class alike"
    likely = int(np.argmax(t))
    return f"{names.outcome(at, int(part.classes[likely]))} ({t[likely]:.3g})"


@dataclass(frozen=True, slots=True)
class FirstInvalid:
    """The first invalid list in words, and where it stands in the truth."""

    position: int | None = None
    words: str = ""

    def __add__(self, other: FirstInvalid) -> FirstInvalid:
        if self.position is None or other.position is None:
            return other if self.position is None else self
        return min(self, other, key=lambda one: (one.position or 0, one.words))

    @classmethod
    def of(cls, lists: TopLists, invalid: NDArray[Any], position: Positions, names: Names) -> FirstInvalid:
        """The first of a batch."""
        cases = np.flatnonzero(invalid)
        if not len(cases):
            return cls()
        at = int(cases[np.argmin(position[cases])])
        return cls(int(position[at]), _in_words(lists, at, int(position[at]), names))


def _in_words(lists: TopLists, at: int, position: int, names: Names) -> str:
    part = lists[at : at + 1]
    t = part.normalized_confidences
    least = int(np.argmin(t))
    size = lists.space.size[at] if lists.space.per_case else lists.space.size
    unlisted = int(size) - len(t)
    called = names.classes(at, [int(part.classes[least])])[0]
    low, proxy = _apart(float(t[least]), float(part.proxy[0]))
    others = f"each of the {show_size(unlisted)} unlisted classes" if unlisted > 1 else "the unlisted class"
    case = names.case(at, position)
    return f"case {case}: {shown(called)} has a confidence of {low}, below the {proxy} that {others} gets."


def _apart(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    texts = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (3, 6, 10, 17))
    return next((pair for pair in texts if pair[0] != pair[1]), (repr(a), repr(b)))
