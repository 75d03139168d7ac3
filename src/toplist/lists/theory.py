"""The paper's definitions of lists of one distribution, majorization, and what a true list may lose to the truth.

J. Resin, "From Classification Accuracy to Proper Scoring Rules: Elicitability of Probabilistic Top List Predictions",
JMLR 24 (2023), by its numbers. m is the number of classes, t a list of k of them, p a distribution:

=========================  ================================================================================
section 3                  proxy pi(t): `TopLists.proxy`; calibrated, true, valid: `is_calibrated`, `is_true`,
                           `is_valid`; T_k(p): `true_lists`, `top_k`
eq. 6                      padded distribution: `TopLists.padded`
section 3, after Ex. 3.1   largest valid sublist t': `TopLists.valid`; in arrays: `core.array_api.cut`
eq. 2, 3, 11               logarithmic and (padded) Brier score: `Log`, `Brier`
eq. 7, 8, Proposition 4.1  rules from a concave entropy and a supergradient: `Savage`
section 4.2, Lemma 4.5     majorization: `majorizes`, `decreasing`
Lemma 4.3                  entropies rise as distributions are evened out: `toplist.entropy`
Lemma 5.2                  a calibrated valid list scores its entropy in expectation: `toplist.entropy`
eq. 12, Theorem 5.3        comparability: longer true lists score no worse: `toplist.curve`, `Truncation`
Theorem 5.4                padded symmetric scores are consistent on valid lists: `toplist.score`
eq. 13, Theorem 5.6        penalized extension to invalid lists: `toplist.score`, `default_penalty`
eq. 14, section 6          what a true list loses to the truth: `excess_bound`, `worst_excess`
section 7                  lists of a given mass: `top_mass`, and `toplist.scoring.topbeta` for a score of them
=========================  ================================================================================

Every numbered statement is a test in `tests/paper`; errata are in docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from toplist._text import first_of, label
from toplist._typing import Floats
from toplist.core.arguments import as_count, as_number, as_vector
from toplist.errors import ShapeError, TopListError
from toplist.lists.converters import as_lists
from toplist.lists.toplists import TopList, TopLists, log_rest
from toplist.lists.validation import row_sums


@dataclass(frozen=True, slots=True, repr=False)
class TrueLists:
    """The set T_k(p) of true top-k lists of a distribution (section 3), enumerated only as far as it is iterated.

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
        if not isinstance(t, TopList) or len(t) != len(self.sure) + self.open:
            return False
        listed = t.confidences
        able = {*self.sure, *self.tied}
        return set(self.sure) <= set(listed) <= able and all(self.p[c] == x for c, x in listed.items())

    def __repr__(self) -> str:
        some = first_of([label(c) for c in self.tied])
        tied = f"; {self.open} of {len(self.tied):,} tied classes ({some})" if len(self.tied) > self.open else ""
        k = len(self.sure) + self.open
        return f"TrueLists({self.count:,} list{'' if self.count == 1 else 's'}, k = {k}{tied})"


def true_lists(p: Any, k: int, *, tol: float = 0.0, space: Any = None) -> TrueLists:
    """Top-k list functional T_k(p): all lists of k most likely classes with their probabilities.

    It is elicitable (Theorem 3.2): `toplist.score` with a strictly proper rule and a penalty elicits it (Theorem 5.6).

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
    """One true top-beta list: the fewest most likely classes whose mass reaches beta, up to 1e-12 (section 7).

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
    """Whether every listed class has its true probability: t is calibrated relative to p (section 3).

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
    whole = _distribution(p, None)
    foreign = [c for c in t.confidences if c not in whole.named]
    if foreign and whole.log_beyond > -math.inf:
        raise TopListError(
            f"the distribution does not name {label(foreign[0])}, but leaves mass to classes without a name: declare "
            "the labels of all classes."
        )
    return all(abs(x - whole.named.get(c, 0.0)) <= tol for c, x in t.confidences.items())


def is_true(t: TopList, p: Any, *, tol: float = 1e-12) -> bool:
    """Whether the list is calibrated and its classes are most likely ones: t is in T_k(p) (section 3).

    Of the calibrated valid lists of its length, its padded distribution majorizes all others (Lemma 4.5).

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
    """Whether some distribution has this as a true list, which is so where min t >= pi(t) (section 3).

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


def decreasing(v: Any) -> Floats:
    """Decreasing rearrangement v_[1] >= ... >= v_[m] of a vector (section 4.2).

    Parameters
    ----------
    v : array-like
        A vector.

    Returns
    -------
    ndarray
        The entries, largest first.

    Examples
    --------
    >>> decreasing([0.2, 0.5, 0.3])
    array([0.5, 0.3, 0.2])
    """
    return np.sort(as_vector(v, "a vector"))[::-1]


def majorizes(v: Any, w: Any, *, tol: float = 1e-12) -> bool:
    """Whether v majorizes w: equal sums, and every sum of the largest entries at least as large (section 4.2).

    The more certain distribution then has the smaller entropy under every symmetric proper rule, strictly so under a
    strictly proper one unless it is a permutation of the other (Lemma 4.3).

    Parameters
    ----------
    v, w : array-like
        Vectors of one length.
    tol : float, default 1e-12
        Differences of sums up to this count as rounding.

    Returns
    -------
    bool
        True if v majorizes w.

    Examples
    --------
    >>> majorizes([1, 0, 0], [0.5, 0.3, 0.2]), majorizes([0.5, 0.3, 0.2], [1, 0, 0])
    (True, False)
    """
    a, b = decreasing(v), decreasing(w)
    if a.shape != b.shape:
        raise ShapeError(f"majorization compares vectors of one length, not {len(a)} and {len(b)}.")
    top, other = np.cumsum(a), np.cumsum(b)
    if not len(a):
        return True
    return bool(abs(top[-1] - other[-1]) <= tol and (top >= other - tol).all())


def excess_bound(lists: Any) -> Any:
    """Bound on the relative excess of the expected Brier score of a true list over that of the true distribution.

    For t in T_k(q) and the entropy G(q) = 1 - sum of q**2 (eq. 9), the excess (G(t~) - G(q)) / G(q) is below the rest
    mass alpha where 0 < alpha < min t (eq. 14), and 0 for alpha = 0. Where alpha >= min t the paper gives none, and
    this is infinity (see `worst_excess`). The logarithmic score has no such bound at all.

    Parameters
    ----------
    lists : TopLists, TopList or array-like
        Lists, or whatever `as_lists` takes.

    Returns
    -------
    ndarray or float
        One bound per case; a float for a single `TopList`.

    References
    ----------
    .. [1] J. Resin, "From Classification Accuracy to Proper Scoring Rules", section 6.

    Examples
    --------
    >>> round(excess_bound(TopList({0: 0.6, 1: 0.3}, 5)), 6)
    0.1
    """
    if isinstance(lists, TopList):
        return float(excess_bound(lists.batch)[0])
    lists = as_lists(lists)
    rest, least = lists.rest, _least(lists)
    return np.where((rest == 0) | (rest < least), rest, np.inf)


def worst_excess(lists: Any) -> Any:
    """Exact worst case of the relative excess that `excess_bound` bounds, with or without its assumption (eq. 14).

    The worst of all q with t in T_k(q) majorizes the others, and so has the least entropy (Lemma 4.3): it puts the rest
    mass on as few classes as possible, none above the smallest listed confidence. An invalid list counts as its largest
    valid sublist.

    Parameters
    ----------
    lists : TopLists, TopList or array-like
        Lists, or whatever `as_lists` takes.

    Returns
    -------
    ndarray or float
        One value per case; infinite where the worst distribution is certain, as for the empty list, and 0 where it is
        the only one, as for the empty list over one class. A float for a single `TopList`.

    Examples
    --------
    >>> round(worst_excess(TopList({0: 0.99}, 5)), 8)
    0.00378788
    """
    if isinstance(lists, TopList):
        return float(worst_excess(lists.batch)[0])
    lists = as_lists(lists)
    plain: TopLists = lists.valid()
    t, rest, least = plain.normalized_confidences, plain.rest, _least(plain)
    with np.errstate(over="ignore"):
        heaps = np.floor(np.where(least > 0, rest / np.where(least > 0, least, 1.0), 0.0) * (1 + 1e-15))
    few = np.isfinite(heaps)
    heaped = np.where(few, np.where(few, heaps, 0.0) * least, rest)
    left = np.maximum(rest - heaped, 0.0)
    squares = heaped * least + left**2
    over = squares - rest * plain.proxy
    # 1 - sum of squares as a sum of t (1 - t), which keeps its digits for lists that are nearly sure
    best = row_sums(t * (1.0 - t), plain.offsets) + heaped * (1.0 - least) + left * (1.0 - left)
    worst = np.where(best > 0, over / np.where(best > 0, best, 1.0), np.where(over > 0, np.inf, 0.0))
    return np.where(rest > 0, np.maximum(worst, 0.0), 0.0)


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
        if p.space.labels is None or p.space.complete:
            p = dict(zip(p.space.labels or range(p.space.size), p.padded().tolist(), strict=True))
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


def _least(lists: TopLists) -> Floats:
    """The smallest listed confidence; 1 for the empty list, whose classes are not bounded by any."""
    out, filled = np.ones(len(lists)), lists.sizes > 0
    if filled.any():
        out[filled] = np.minimum.reduceat(lists.normalized_confidences, lists.offsets[:-1][filled])
    return out
