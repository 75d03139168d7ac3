"""Strictly consistent scores of top-beta lists: least in expectation for true lists, and for no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.arguments import as_number
from toplist.errors import TopListError
from toplist.lists import TopList, TopLists, require_lists
from toplist.lists.converters import as_single_outcomes, as_truth
from toplist.lists.toplists import beliefs
from toplist.scoring.topbeta import nested
from toplist.scoring.topbeta.additive import AdditiveForm, rank_weights, warn_if_unresolved
from toplist.scoring.topbeta.functional import top_beta
from toplist.scoring.topbeta.image import in_image
from toplist.scoring.topbeta.levels import as_form, as_level, longest_of, size_index, sizes_of

_OUTSIDE = 0.01  # of beta**2, the range of form N: what lists outside the image score


@dataclass(frozen=True, slots=True)
class _Options:
    """What the callers of the scores may choose, checked."""

    beta: Any
    form: str
    cap: int | None
    a: Any = 2.0
    constants: Any = "minimal"
    ties: str | None = None

    def __post_init__(self) -> None:
        as_level(self.beta)
        as_form(self.form)
        if self.ties not in (None, "fixed", "average"):
            raise TopListError(f'ties are "fixed" or "average", not {self.ties!r}.')
        if self.form == "N" and self.constants != "minimal":
            raise TopListError('form "N" has no constants: each list weights its ranks itself.')

    @property
    def averaged(self) -> bool:
        """Whether classes that tie share the mean of what they score: by default in form N alone."""
        return self.form == "N" if self.ties is None else self.ties == "average"

    def of_sizes(self, sizes: Sequence[Any]) -> list[AdditiveForm]:
        """Form M or A for each number of classes; nothing for form N, which does not depend on it."""
        if self.form == "N":
            for m in sizes:
                longest_of(m, as_level(self.beta), self.cap)
            return []
        return [AdditiveForm.of(m, self.beta, self.cap, self.form, self.a, self.constants) for m in sizes]


@dataclass(frozen=True, slots=True)
class _Table:
    """Some lists with what each outcome scores: a listed class, by rank and case, or any other."""

    part: nested.RankTable
    listed: Floats
    missed: Floats


def score(
    lists: Any,
    y: Any,
    beta: Any,
    *,
    form: str = "N",
    cap: int | None = None,
    a: Any = 2.0,
    constants: str | Sequence[Any] = "minimal",
    outside: float | None = None,
    ties: str | None = None,
) -> Any:
    """Score each case, strictly consistently for top-beta lists of at most `cap` classes; lower is better.

    With sorted confidences t_j, T_j = t_1 + ... + t_j, s_j = beta - T_{j-1} and L_j = 2 (1 - T_{j-1}) - t_j, form N has
    the entropy -V_1, where V_j = (s_j + V_{j+1} / 4)**2 / L_j, and the score is its tangent. Scores are between
    -beta**2, for a certain list that is right, and 0, for one that is wrong, with any number of classes, also
    infinitely many. Forms M and A sum over ranks with constants that fall fast, the faster the more classes there are:
    a `ConditioningWarning` is issued where doubles do not resolve them (docs/topbeta.md).

    Parameters
    ----------
    lists : TopLists or TopList
        The lists.
    y : array-like
        Outcomes: codes, labels or label sets, one per case.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    form : {"N", "M", "A"}, default "N"
        Form of the score.
    cap : int, optional
        Largest length of a list.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    constants : {"minimal", "simple"} or sequence of float, default "minimal"
        Weights of the ranks in forms "M" and "A".
    outside : float, optional
        Score of lists that are no top-beta list of any distribution; by default more than any other list can score.
    ties : {"fixed", "average"}, optional
        Classes that tie within a list count in their order there, the default in forms "M" and "A", or averaged over
        their orders, the default in form "N".

    Returns
    -------
    ndarray or float
        One score per case; a float for a single `TopList`.

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {"a": 0.6, "b": 0.3}, {"a": 0.4}], 5)
    >>> score(lists, ["a", "c", "a"], 0.8, cap=2).round(4)
    array([-0.5472, -0.3447,  0.0064])
    """
    batch, outcomes = (lists.batch, [y]) if isinstance(lists, TopList) else (lists, y)
    require_lists(batch)
    options = _Options(beta, form, cap, a, constants, ties)
    codes = as_single_outcomes(outcomes, batch, "top-beta scores need")
    inside, out = _outside(batch, options, outside)
    part = batch[inside].ordered()
    if form == "N":
        out[inside] = nested.scores(part, codes[inside], float(as_level(beta)), averaged=options.averaged)
    for table in _tables(part, options) if form != "N" else ():
        cases = inside[table.part.at]
        hit = (part.classes[table.part.where] == codes[cases]) & table.part.there
        out[cases] = np.where(hit.any(axis=0), np.where(hit, table.listed, 0.0).sum(axis=0), table.missed)
    return float(out[0]) if isinstance(lists, TopList) else out


def entropy(
    lists: Any, beta: Any, *, form: str = "N", cap: int | None = None, a: Any = 2.0, constants: Any = "minimal"
) -> Any:
    """Expected score of the true top-beta list, if the given distributions, or longer lists, are right.

    Parameters
    ----------
    lists : TopLists or TopList
        Distributions, or lists that are long enough to determine their top-beta lists.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    form : {"N", "M", "A"}, default "N"
        Form of the score.
    cap : int, optional
        Largest length of a list.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    constants : {"minimal", "simple"} or sequence of float, default "minimal"
        Weights of the ranks in forms "M" and "A".

    Returns
    -------
    ndarray or float
        One value per case, below zero; a float for a single `TopList`.

    Examples
    --------
    >>> entropy(TopLists.from_proba([[1.0, 0.0], [0.5, 0.5]]), 0.8).round(4)
    array([-0.64 , -0.476])
    """
    batch = lists.batch if isinstance(lists, TopList) else lists
    options = _Options(beta, form, cap, a, constants)
    cut = top_beta(batch, beta, cap=cap).ordered()
    out = np.zeros(len(cut))
    for table in _tables(cut, options):
        t = table.part.t
        out[table.part.at] = (t * table.listed).sum(axis=0) + np.maximum(1.0 - t.sum(axis=0), 0.0) * table.missed
    return float(out[0]) if isinstance(lists, TopList) else out


def divergence(
    lists: Any,
    p: Any,
    beta: Any,
    *,
    form: str = "N",
    cap: int | None = None,
    a: Any = 2.0,
    constants: str | Sequence[Any] = "minimal",
    outside: float | None = None,
) -> Any:
    """Expected score of each list minus that of the true top-beta list, if the outcome is drawn from `p`.

    It is zero for the true top-beta lists of `p`, and for no others.

    Parameters
    ----------
    lists : TopLists or TopList
        The lists.
    p : array-like or TopLists
        Distributions: an (n, m) array, one distribution for all cases, or lists that are long enough to determine
        their top-beta lists, which stand for their padded distributions.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    form : {"N", "M", "A"}, default "N"
        Form of the score.
    cap : int, optional
        Largest length of a list.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    constants : {"minimal", "simple"} or sequence of float, default "minimal"
        Weights of the ranks in forms "M" and "A".
    outside : float, optional
        Score of lists that are no top-beta list of any distribution; by default more than any other list can score.

    Returns
    -------
    ndarray or float
        One value per case, never negative; a float for a single `TopList`.

    Examples
    --------
    >>> divergence(TopList({0: 0.6}, 3), [0.6, 0.3, 0.1], 0.6)
    0.0
    >>> round(divergence(TopList({0: 0.59, 1: 0.3}, 3), [0.6, 0.3, 0.1], 0.6), 6)
    5.2e-05
    """
    batch = lists.batch if isinstance(lists, TopList) else lists
    require_lists(batch)
    truth = as_truth(p.batch if isinstance(p, TopList) else p, batch.space, len(batch))
    options = _Options(beta, form, cap, a, constants)
    inside, out = _outside(batch, options, outside)
    part = batch[inside].ordered()
    believed = beliefs(truth[inside], part)
    for table in _tables(part, options):
        expected = (believed.listed[table.part.where] * table.listed).sum(axis=0)
        out[inside[table.part.at]] = expected + believed.unlisted[table.part.at] * table.missed
    found = np.maximum(out - entropy(truth, beta, form=form, cap=cap, a=a, constants=constants), 0.0)
    return float(found[0]) if isinstance(lists, TopList) else found


def bound(
    m: Any,
    beta: Any,
    cap: int | None = None,
    form: str = "N",
    *,
    a: Any = 2.0,
    constants: str | Sequence[Any] = "minimal",
) -> float:
    """Upper bound on the top-beta score of a list in the image.

    In form N it is 0. In form M it is 2 (1 - beta) times the sum over ranks j > 1 of C_j s_j / (1 - beta + s_j),
    s_j = beta - (j - 1) / m.

    Parameters
    ----------
    m : int
        Number of classes.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list.
    form : {"N", "M", "A"}, default "N"
        Form of the score.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    constants : {"minimal", "simple"} or sequence of float, default "minimal"
        Weights of the ranks in forms "M" and "A".

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> bound(5, 0.8), round(bound(5, 0.8, 2, "M"), 4)
    (0.0, 0.088)
    """
    forms = _Options(beta, form, cap, a, constants).of_sizes([m])
    return forms[0].bound() if forms else 0.0


def _outside(lists: TopLists, options: _Options, due: float | None) -> tuple[NDArray[np.intp], Floats]:
    """Which lists are in the image, and what lists outside it score: one number per case."""
    sizes = sizes_of(lists)
    forms = options.of_sizes(sizes)
    warn_if_unresolved(forms)
    if due is not None:
        out = np.full(len(lists), as_number(due, "what lists outside the image score", 0, np.inf))
    elif forms:
        out = np.array([form.outside() for form in forms])[size_index(lists, sizes)]
    else:
        out = np.full(len(lists), _OUTSIDE * float(as_level(options.beta)) ** 2)
    return np.flatnonzero(in_image(lists, options.beta, options.cap).inside), out


def _tables(ordered: TopLists, options: _Options) -> Iterator[_Table]:
    """What lists in the image, most confident class first, score at each outcome."""
    sizes = sizes_of(ordered)
    forms, beta = options.of_sizes(sizes), float(as_level(options.beta))
    weights, which = rank_weights(forms, int(ordered.sizes.max(initial=0))), size_index(ordered, sizes)
    for part in nested.rank_tables(ordered, one_length=bool(forms)):
        if forms:
            rows = np.ascontiguousarray(part.t.T)
            by_case, missed = forms[0].table(rows, weights[which[part.at], : rows.shape[1]])
            listed = by_case.T
        else:
            listed, missed = nested.each(np, part.t, beta, part.sizes)
        if options.averaged:
            listed = nested.share_ties(np, part.key, listed)
        yield _Table(part, np.where(part.there, listed, 0.0), missed)
