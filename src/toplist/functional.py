"""What lists are about: the top-k functional, its ties, and what it means to be calibrated, true, valid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from toplist.arguments import as_count, as_number, as_vector
from toplist.errors import TopListError
from toplist.lists import TopList


@dataclass(frozen=True, slots=True)
class TrueLists:
    """The set of true top-k lists of a distribution, enumerated only as far as one asks.

    >>> lists = true_lists([0.5, 0.2, 0.2, 0.1], 2)
    >>> len(lists), [t.classes for t in lists]
    (2, [(0, 1), (0, 2)])
    """

    p: Mapping[Any, float]
    space: Any
    sure: tuple[Any, ...]  # classes on every true list
    tied: tuple[Any, ...]  # classes of which `open` are on it
    open: int

    @property
    def count(self) -> int:
        """How many there are, however many that is."""
        return math.comb(len(self.tied), self.open)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[TopList]:
        for chosen in combinations(self.tied, self.open):
            yield TopList({c: self.p[c] for c in (*self.sure, *chosen)}, self.space)

    def __contains__(self, t: object) -> bool:
        return isinstance(t, TopList) and len(t) == len(self.sure) + self.open and is_true(t, self.p, tol=0.0)


def true_lists(p: Any, k: int, *, tol: float = 0.0, space: Any = None) -> TrueLists:
    """The top-k functional T_k(p): all lists of k most likely classes with their probabilities (paper, section 3).

    Probabilities within `tol` of each other at the cut count as tied; by default only equal ones do.
    """
    named, space = _named(p, space)
    if as_count(k) > len(named):
        raise TopListError(f"k is between 0 and the number of classes {len(named)}, not {k}.")
    if k == 0:
        return TrueLists(named, space, (), (), 0)
    cut = sorted(named.values(), reverse=True)[k - 1]
    sure = tuple(c for c, x in named.items() if x > cut + tol)
    tied = tuple(c for c, x in named.items() if abs(x - cut) <= tol)
    return TrueLists(named, space, sure, tied, k - len(sure))


def top_k(p: Any, k: int, *, space: Any = None) -> TopList:
    """One true top-k list, most likely first; ties go to the class that stands first.

    >>> top_k([0.2, 0.5, 0.3], 2)
    TopList({1: 0.5, 2: 0.3}, rest=0.2 over 1 class)
    """
    named, space = _named(p, space)
    if as_count(k) > len(named):
        raise TopListError(f"k is between 0 and the number of classes {len(named)}, not {k}.")
    order = sorted(named, key=lambda c: -named[c])
    return TopList({c: named[c] for c in order[:k]}, space)


def top_mass(p: Any, beta: float, *, space: Any = None) -> TopList:
    """One true top-beta list: as few of the most likely classes as it takes to reach the mass beta.

    >>> len(top_mass([0.5, 0.3, 0.2], 0.8)), len(top_mass([0.5, 0.3, 0.2], 0.81))
    (2, 3)
    """
    beta = as_number(beta, "beta", 0, 1)
    named, space = _named(p, space)
    running = np.cumsum(sorted(named.values(), reverse=True))
    k = 0 if beta == 0 else int(np.searchsorted(running, beta - 1e-12) + 1)
    return top_k(named, min(k, len(named)), space=space)


def is_calibrated(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Does every listed class have its true probability?"""
    _require_list(t)
    named, _ = _named(p, None)
    return all(abs(x - named.get(c, 0.0)) <= tol for c, x in t.confidences.items())


def is_true(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Is the list calibrated, and are its classes most likely ones?"""
    named, _ = _named(p, None)
    if not is_calibrated(t, p, tol=tol):
        return False
    others = [x for c, x in named.items() if c not in t.confidences]
    return not others or not len(t) or max(others) <= min(named.get(c, 0.0) for c in t.confidences) + tol


def is_valid(t: TopList) -> bool:
    """Is there a distribution with this as a true list?"""
    _require_list(t)
    return t.is_valid()


def _require_list(t: Any) -> None:
    if not isinstance(t, TopList):
        raise TopListError(f"expected one TopList, got {'nothing' if t is None else type(t).__name__}.")


def _named(p: Any, space: Any) -> tuple[dict[Any, float], Any]:
    """A distribution as a mapping from class to probability, complete, and the space it lives in."""
    if isinstance(p, TopList):
        p = {c: float(x) for c, x in enumerate(p.padded())} if p.space.labels is None else p.confidences
    named = dict(p) if isinstance(p, Mapping) else dict(enumerate(as_vector(p, "a distribution").tolist()))
    if abs(math.fsum(named.values()) - 1) > 1e-8 or min(named.values(), default=0.0) < 0:
        raise TopListError("a distribution has probabilities that are not negative and sum to one.")
    return named, len(named) if space is None else space
