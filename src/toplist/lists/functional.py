"""What lists are about: the top-k functional, its ties, and what it means to be calibrated, true, valid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from toplist._arguments import as_count, as_number, as_vector
from toplist.errors import TopListError
from toplist.lists.log_space import log_rest
from toplist.lists.toplist import TopList
from toplist.lists.toplists import TopLists


@dataclass(frozen=True, slots=True)
class TrueLists:
    """The set of true top-k lists of a distribution, enumerated only as far as one asks.

    >>> lists = true_lists([0.5, 0.2, 0.2, 0.1], 2)
    >>> len(lists), [t.classes for t in lists]
    (2, [(0, 1), (0, 2)])
    """

    p: Mapping[Any, float]
    space: Any
    log_beyond: float  # the log of the mass of classes that `p` does not name
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
            yield _Distribution(self.p, self.space, self.log_beyond).cut((*self.sure, *chosen))

    def __contains__(self, t: object) -> bool:
        return isinstance(t, TopList) and len(t) == len(self.sure) + self.open and is_true(t, self.p, tol=0.0)


def true_lists(p: Any, k: int, *, tol: float = 0.0, space: Any = None) -> TrueLists:
    """The top-k functional T_k(p): all lists of k most likely classes with their probabilities (paper, section 3).

    Probabilities within `tol` of each other at the cut count as tied; by default only equal ones do.
    """
    whole = _distribution(p, space)
    named = whole.named
    if _as_length(k, named) == 0:
        return TrueLists(named, whole.space, whole.log_beyond, (), (), 0)
    cut = sorted(named.values(), reverse=True)[k - 1]
    sure = tuple(c for c, x in named.items() if x > cut + tol)
    tied = tuple(c for c, x in named.items() if abs(x - cut) <= tol)
    return TrueLists(named, whole.space, whole.log_beyond, sure, tied, k - len(sure))


def top_k(p: Any, k: int, *, space: Any = None) -> TopList:
    """One true top-k list, most likely first; ties go to the class that stands first.

    Its rest mass is the sum of what is cut off, however small that is.

    >>> top_k([0.2, 0.5, 0.3], 2)
    TopList({1: 0.5, 2: 0.3}, rest=0.2 over 1 class)
    """
    whole = _distribution(p, space)
    return whole.cut(whole.order()[: _as_length(k, whole.named)])


def top_mass(p: Any, beta: float, *, space: Any = None) -> TopList:
    """One true top-beta list: as few of the most likely classes as it takes to reach the mass beta.

    >>> len(top_mass([0.5, 0.3, 0.2], 0.8)), len(top_mass([0.5, 0.3, 0.2], 0.81))
    (2, 3)
    """
    beta = as_number(beta, "beta", 0, 1)
    whole = _distribution(p, space)
    running = np.cumsum(sorted(whole.named.values(), reverse=True))
    k = 0 if beta == 0 else int(np.searchsorted(running, beta - 1e-12) + 1)
    return whole.cut(whole.order()[:k])


def is_calibrated(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Does every listed class have its true probability?"""
    _require_list(t)
    named = _distribution(p, None).named
    return all(abs(x - named.get(c, 0.0)) <= tol for c, x in t.confidences.items())


def is_true(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Is the list calibrated, and are its classes most likely ones?"""
    named = _distribution(p, None).named
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


def _as_length(k: Any, named: Mapping[Any, float]) -> int:
    if as_count(k) > len(named):
        raise TopListError(f"k is between 0 and the number of classes {len(named)}, not {k}.")
    return int(k)


@dataclass(frozen=True, slots=True)
class _Distribution:
    """The probability of each class, the space, and the log of the mass of classes that are not named one by one."""

    named: Mapping[Any, float]
    space: Any
    log_beyond: float

    def order(self) -> list[Any]:
        """The classes, most likely first; ties keep their order."""
        return sorted(self.named, key=lambda c: -self.named[c])

    def cut(self, classes: Sequence[Any]) -> TopList:
        """The list of some of the classes. What is cut off is added up, not inferred from what is kept."""
        kept = {c: self.named[c] for c in classes}
        tail = math.fsum(x for c, x in self.named.items() if c not in kept)
        rest = np.logaddexp(math.log(tail) if tail else -math.inf, self.log_beyond)
        return TopList.of(TopLists.from_dicts([kept], self.space, log_rest=[rest]))


def _distribution(p: Any, space: Any) -> _Distribution:
    """A distribution as a mapping from class to probability; a sum that is off by rounding is divided out."""
    log_beyond = -math.inf
    if isinstance(p, TopList):
        space = p.space if space is None else space
        if p.space.labels is None:
            p = {c: float(x) for c, x in enumerate(p.padded())}
        else:
            log_beyond = float(log_rest(p.batch)[0])
            p = p.confidences
    named = dict(p) if isinstance(p, Mapping) else dict(enumerate(as_vector(p, "a distribution").tolist()))
    numbers = all(isinstance(x, int | float | np.number) for x in named.values())
    total = math.fsum([*named.values(), math.exp(log_beyond)]) if numbers else math.nan
    if not abs(total - 1) <= 1e-8 or min(named.values(), default=0.0) < 0:
        raise TopListError("a distribution has probabilities that are not negative and sum to one.")
    if total != 1:
        named, log_beyond = {c: x / total for c, x in named.items()}, log_beyond - math.log(total)
    return _Distribution(named, len(named) if space is None else space, log_beyond)
