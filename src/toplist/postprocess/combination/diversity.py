"""Diversity of a pool: how much better the mean of models scores than they do on average."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toplist._text import significant
from toplist._typing import Floats
from toplist.errors import ShapeError
from toplist.postprocess.combination.members import Lists, Members, Weights, as_weights, unions
from toplist.postprocess.combination.pools import linear_pool
from toplist.scoring.scores import score


@dataclass(frozen=True, slots=True)
class MemberPair:
    """Two members, their mean squared distance, and the gain of the pool from it at their weights."""

    first: str
    second: str
    distance: float
    gain: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ambiguity:
    """The ambiguity decomposition of a linear pool: means over cases.

    Attributes
    ----------
    names, weights : tuple of str, ndarray
        The members.
    cases : int
        The number of cases.
    members : tuple of float or None
        The mean score of each member; None without outcomes.
    mean, pool : float or None
        The weighted mean of these, and the mean score of the pool, which is `mean` less `gain`.
    gain : float
        The gain from disagreement, the sum over `pairs`.
    pairs : tuple of MemberPair
        For each two members their `distance` and `gain`.
    gains : ndarray
        The gain of each case.
    """

    names: tuple[str, ...]
    weights: Floats
    cases: int
    members: tuple[float, ...] | None
    mean: float | None
    pool: float | None
    gain: float
    pairs: tuple[MemberPair, ...]
    gains: Floats = field(repr=False)

    def __repr__(self) -> str:
        of = f"{len(self.names)} members, {self.cases:,} cases"
        if self.mean is None or self.pool is None:
            return f"Ambiguity({of}: gain {significant(self.gain)} from disagreement)"
        parts = f"{significant(self.mean)} on average, gain {significant(self.gain)}, pool {significant(self.pool)}"
        return f"Ambiguity({of}: Brier score {parts})"


def ambiguity(lists: Lists, y: Any = None, *, weights: Weights = None, space: Any = None) -> Ambiguity:
    r"""Decompose the Brier score of a linear pool into the mean score of its members and the gain from disagreement.

    .. math:: S(\bar p, y) = \sum_j w_j S(p_j, y) - \sum_{i<j} w_i w_j \|\tilde p_i - \tilde p_j\|^2

    The gain does not depend on the outcome. Lists that are not valid count as their largest valid sublists, without
    penalties.

    Parameters
    ----------
    lists, weights, space
        The models, as in `linear_pool`.
    y : array-like, optional
        One outcome per case.

    Returns
    -------
    Ambiguity
        Scores of members and pool, and the gain by pair and by case.

    References
    ----------
    Krogh and Vedelsby (1995), Neural network ensembles, cross validation, and active learning, NIPS 7.

    Examples
    --------
    >>> found = ambiguity({"a": [{0: 0.8}], "b": [{0: 0.2, 1: 0.7}]}, [0], space=3)
    >>> round(found.mean, 3), round(found.gain, 3), round(found.pool, 3)
    (0.6, 0.18, 0.42)
    """
    members = Members.of(lists, space)
    w = as_weights(weights, members.names)
    if not members.cases:
        raise ShapeError("there are no cases, and so no means over them.")
    gains, totals = np.zeros(members.cases), np.zeros((len(members), len(members)))
    couples = [(i, j) for i in range(len(members)) for j in range(i + 1, len(members))]
    for here, union in unions(members):
        t, shares = union.values(), union.shares()
        for i, j in couples:
            apart = union.sums((t[i] - t[j]) ** 2) + _unlisted(union.members, shares, i, j)
            gains[here] += w[i] * w[j] * apart
            totals[i, j] += apart.sum()
    means = totals / members.cases
    pairs = [
        MemberPair(members.names[i], members.names[j], means[i, j].item(), float(w[i] * w[j] * means[i, j]))
        for i, j in couples
    ]
    scores = None if y is None else [float(score(one, y, penalty=0).mean()) for one in members]
    return Ambiguity(
        members.names,
        w,
        members.cases,
        None if scores is None else tuple(scores),
        None if scores is None else float(w @ scores),
        None if y is None else float(score(linear_pool(list(members), weights=w.tolist()), y, penalty=0).mean()),
        float(gains.mean()),
        tuple(pairs),
        gains,
    )


def _unlisted(members: Members, shares: Floats, i: int, j: int) -> Floats:
    """(m - u) (pi_i - pi_j)**2 as a mass times a share, which is zero among infinitely many classes."""
    a, b = members.lists[i], members.lists[j]
    out: Floats = (a.rest * shares[i] - b.rest * shares[j]) * (a.proxy - b.proxy)
    return out
