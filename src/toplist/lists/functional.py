"""The top-k functional, its ties, and what it means for a list to be calibrated, true or valid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from toplist._text import first_of, label
from toplist.core.arguments import as_count, as_number, as_vector
from toplist.errors import TopListError
from toplist.lists.log_space import log_rest
from toplist.lists.toplist import TopList
from toplist.lists.toplists import TopLists


@dataclass(frozen=True, slots=True, repr=False)
class TrueLists:
    """The set of true top-k lists of a distribution, enumerated only as far as it is iterated.

    Attributes
    ----------
    sure : tuple
        Classes that are on every true list.
    tied : tuple
        Classes that tie at the cut, of which `open` are on each list.
    open : int
        Number of tied classes on each list.
    count : int
        Number of true lists.

    Examples
    --------
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

    def __repr__(self) -> str:
        some = first_of([label(c) for c in self.tied])
        tied = f"; {self.open} of {len(self.tied):,} tied classes ({some})" if len(self.tied) > self.open else ""
        k = len(self.sure) + self.open
        return f"TrueLists({self.count:,} list{'' if self.count == 1 else 's'}, k = {k}{tied})"


def true_lists(p: Any, k: int, *, tol: float = 0.0, space: Any = None) -> TrueLists:
    """Top-k functional T_k(p): all lists of k most likely classes with their probabilities.

    Parameters
    ----------
    p : array-like, mapping or TopList
        One distribution: probabilities per class.
    k : int
        Length of the lists.
    tol : float, default 0.0
        Probabilities this close to each other at the cut count as tied.
    space : ClassSpace, int or sequence of labels, optional
        The classes; by default those of `p`.

    Returns
    -------
    TrueLists
        The true lists, several where classes tie at the cut.

    References
    ----------
    .. [1] J. Resin, "From Classification Accuracy to Proper Scoring Rules", section 3.

    Examples
    --------
    >>> true_lists([0.5, 0.2, 0.2, 0.1], 2).count
    2
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
    """One true top-k list, most likely class first; ties go to the class that stands first.

    Its rest mass is the sum of what is cut off, however small that is.

    Parameters
    ----------
    p : array-like, mapping or TopList
        One distribution: probabilities per class.
    k : int
        Length of the list.
    space : ClassSpace, int or sequence of labels, optional
        The classes; by default those of `p`.

    Returns
    -------
    TopList
        The list.

    Examples
    --------
    >>> top_k([0.2, 0.5, 0.3], 2)
    TopList(1 0.5, 2 0.3; unlisted 0.2 over 1 class)
    """
    whole = _distribution(p, space)
    return whole.cut(whole.order()[: _as_length(k, whole.named)])


def top_mass(p: Any, beta: float, *, space: Any = None) -> TopList:
    """One true top-beta list: the fewest most likely classes whose mass reaches beta.

    Parameters
    ----------
    p : array-like, mapping or TopList
        One distribution: probabilities per class.
    beta : float
        Mass to reach, from 0 to 1.
    space : ClassSpace, int or sequence of labels, optional
        The classes; by default those of `p`.

    Returns
    -------
    TopList
        The list.

    Examples
    --------
    >>> len(top_mass([0.5, 0.3, 0.2], 0.8)), len(top_mass([0.5, 0.3, 0.2], 0.81))
    (2, 3)
    """
    beta = as_number(beta, "beta", 0, 1)
    whole = _distribution(p, space)
    running = np.cumsum(sorted(whole.named.values(), reverse=True))
    k = 0 if beta == 0 else int(np.searchsorted(running, beta - 1e-12) + 1)
    return whole.cut(whole.order()[:k])


def is_calibrated(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Whether every listed class has its true probability.

    Parameters
    ----------
    t : TopList
        One list.
    p : array-like, mapping or TopList
        One distribution: probabilities per class.
    tol : float, default 1e-12
        Differences up to this count as rounding.

    Returns
    -------
    bool
        True if the list is calibrated.

    Examples
    --------
    >>> is_calibrated(TopList({0: 0.5}, 3), [0.5, 0.3, 0.2])
    True
    """
    _require_list(t)
    named = _distribution(p, None).named
    return all(abs(x - named.get(c, 0.0)) <= tol for c, x in t.confidences.items())


def is_true(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Whether the list is calibrated and its classes are most likely ones.

    Parameters
    ----------
    t : TopList
        One list.
    p : array-like, mapping or TopList
        One distribution: probabilities per class.
    tol : float, default 1e-12
        Differences up to this count as rounding.

    Returns
    -------
    bool
        True if the list is a true list of `p`.

    Examples
    --------
    >>> is_true(TopList({1: 0.3}, 3), [0.5, 0.3, 0.2])
    False
    """
    named = _distribution(p, None).named
    if not is_calibrated(t, p, tol=tol):
        return False
    others = [x for c, x in named.items() if c not in t.confidences]
    return not others or not len(t) or max(others) <= min(named.get(c, 0.0) for c in t.confidences) + tol


def is_valid(t: TopList) -> bool:
    """Whether some distribution has this as a true list.

    Parameters
    ----------
    t : TopList
        One list.

    Returns
    -------
    bool
        True if no listed confidence is below the proxy.

    Examples
    --------
    >>> is_valid(TopList({0: 0.1}, 3))
    False
    """
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
