"""Decisions about label sets by brute force, in exact arithmetic: every set is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

from hypothesis import strategies as st

import toplist as tl

Set = frozenset[int]
Belief = Mapping[Set, Fraction]


def every_set(width: int) -> list[Set]:
    """All subsets, from the smallest to the largest, and those of one size by their labels."""
    return [frozenset(s) for s in chain.from_iterable(combinations(range(width), r) for r in range(width + 1))]


def accuracy(x: Set, y: Set) -> Fraction:
    return Fraction(x == y)


def f1(x: Set, y: Set) -> Fraction:
    return Fraction(2 * len(x & y), len(x) + len(y)) if x or y else Fraction(1)


def jaccard(x: Set, y: Set) -> Fraction:
    return Fraction(len(x & y), len(x | y)) if x or y else Fraction(1)


def agreement(width: int) -> Callable[[Set, Set], Fraction]:
    """One minus the Hamming loss."""
    return lambda x, y: 1 - Fraction(len(x ^ y), max(width, 1))


def expected(metric: Callable[[Set, Set], Fraction], x: Set, p: Belief) -> Fraction:
    return sum((q * metric(x, y) for y, q in p.items() if q), Fraction(0))


def best(metric: Callable[[Set, Set], Fraction], p: Belief, tried: Iterable[Set]) -> Set:
    """The set with the highest expected metric; of several the first."""
    return max(tried, key=lambda x: expected(metric, x, p))


@dataclass(frozen=True)
class Drawn:
    """A list of label sets in exact numbers: `counts` out of `total`."""

    width: int
    empty: bool
    support: tuple[Set, ...] | None
    counts: Mapping[Set, int]
    total: int

    @property
    def space(self) -> tl.LabelSets:
        return tl.LabelSets(range(self.width), empty=self.empty, support=self.support)

    @property
    def lists(self) -> tl.TopLists:
        return tl.TopLists.from_dicts([{s: c / self.total for s, c in self.counts.items()}], self.space)

    @property
    def classes(self) -> list[Set]:
        """The sets of the space."""
        if self.support is not None:
            return [s for s in every_set(self.width) if s in self.support]
        return [s for s in every_set(self.width) if s or self.empty]

    def valid(self) -> dict[Set, Fraction]:
        """The largest valid sublist: the longest prefix, from the largest, whose last is not below the proxy."""
        falling = sorted(self.counts.items(), key=lambda item: -item[1])
        m = len(self.classes)
        for k in range(len(falling), 0, -1):
            first = {s: Fraction(c, self.total) for s, c in falling[:k]}
            if min(first.values()) * (m - k) >= 1 - sum(first.values()):
                return first
        return {}

    def padded(self) -> dict[Set, Fraction]:
        """The rest mass spread over the sets that are not listed."""
        listed: dict[Set, Fraction] = self.valid()
        others = [s for s in self.classes if s not in listed]
        share = (1 - sum(listed.values(), Fraction(0))) / len(others) if others else Fraction(0)
        return listed | dict.fromkeys(others, share)

    def renormalised(self) -> dict[Set, Fraction]:
        """The rest mass dropped."""
        mass = sum(self.counts.values())
        return {s: Fraction(c, mass) for s, c in self.counts.items()} if mass else {}


@st.composite
def drawn(draw: Any, widest: int = 4) -> Drawn:
    """Lists over small spaces of every kind, with many ties; valid, invalid, complete, empty."""
    width = draw(st.integers(0, widest))
    sets = every_set(width)
    support = None
    if draw(st.booleans()):
        support = tuple(draw(st.lists(st.sampled_from(sets), min_size=1, unique=True)))
    empty = draw(st.booleans()) or width == 0 or (support is not None and frozenset() in support)
    classes = [s for s in sets if (support is None or s in support) and (empty or s)]
    listed = draw(st.lists(st.sampled_from(classes), unique=True))
    counts = {s: draw(st.integers(0, 6)) for s in listed}
    rest = 0 if len(listed) == len(classes) else draw(st.integers(0, 12))
    if not sum(counts.values()) + rest:
        return Drawn(width, empty, support, {}, 1) if len(listed) < len(classes) else draw(drawn(widest))
    return Drawn(width, empty, support, counts, sum(counts.values()) + rest)
