"""Stacking: pools with fitted weights, and out-of-fold pools of the same cases to score them by."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from toplist._files import read_json, write_json
from toplist._text import quote
from toplist.core.arguments import as_count
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.converters import as_single_outcomes
from toplist.postprocess.combination.members import Lists, Members, named_lists
from toplist.postprocess.combination.pools import together
from toplist.postprocess.combination.weights import Pool, PoolWeights, as_sample, in_order, pool_weights
from toplist.postprocess.selection import as_folds

SCHEMA = "toplist.pool/1"


class Recalibrates(Protocol):
    """The methods of a recalibrator that stacking uses."""

    def fit(self, lists: TopLists, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from lists and outcomes."""

    def transform(self, lists: TopLists) -> TopLists:
        """Recalibrated lists."""

    def to_dict(self) -> dict[str, Any]:
        """What was learned, as plain values."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stack:
    """A pool with fitted weights, and its out-of-fold lists for the cases that it was fitted to.

    Attributes
    ----------
    weights : PoolWeights
        Fitted to all cases.
    recalibrators : tuple or None
        One fitted recalibrator per member, if asked for.
    k : int or None
        The length of pooled lists.
    pooled : TopLists or None
        The lists of each fold pooled, and recalibrated, by fits to the other folds: their score is that of the method.
        None for a stack that was loaded, and so are `folds` and `fold`.
    folds : tuple of PoolWeights or None
        The weights of each fold.
    fold : ndarray or None
        The fold of each case.
    """

    weights: PoolWeights
    recalibrators: tuple[Recalibrates, ...] | None
    k: int | None
    pooled: TopLists | None = None
    folds: tuple[PoolWeights, ...] | None = field(default=None, repr=False)
    fold: NDArray[np.int64] | None = field(default=None, repr=False)

    def transform(self, lists: Lists, *, space: Any = None) -> TopLists:
        """The same members' lists for other cases, pooled: by name, or in the order of `weights.names`."""
        members = in_order(lists, self.weights.names, space)
        if self.recalibrators is not None:
            members = [own.transform(one) for own, one in zip(self.recalibrators, members, strict=True)]
        return self.weights.transform(members, k=self.k)

    def to_dict(self) -> dict[str, Any]:
        """All that `transform` needs, as plain values."""
        own = None if self.recalibrators is None else [one.to_dict() for one in self.recalibrators]
        return {"schema": SCHEMA, **self.weights.to_dict(), "recalibrators": own, "k": self.k}

    @classmethod
    def from_dict(cls, values: Any) -> Stack:
        """The stack of which `to_dict` gave these values."""
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            found = values.get("schema") if isinstance(values, dict) else type(values).__name__
            raise TopListError(f"expected a pool of schema {SCHEMA!r}, got {quote(found)}.")
        weights, own, k = PoolWeights.from_dict(values), values.get("recalibrators"), values.get("k")
        if own is not None and not isinstance(own, list):
            raise TopListError(f"the recalibrators of a pool are a list, one per member, not {quote(own)}.")
        made = None if own is None else tuple(map(_recalibrator, own))
        if made is not None and len(made) != len(weights.names):
            raise TopListError(f"{len(made)} recalibrators for {len(weights.names)} members.")
        return cls(weights, made, None if k is None else as_count(k))

    def save(self, path: Any) -> None:
        """Write it to a file as JSON."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: Any) -> Stack:
        """Read what `save` wrote."""
        return cls.from_dict(read_json(path, "a pool"))

    def __repr__(self) -> str:
        own = "" if self.recalibrators is None else f", {len(self.recalibrators)} recalibrators"
        k = "" if self.k is None else f", k = {self.k}"
        return f"Stack({self.weights!r}{own}{k})"


def stack(
    lists: Lists,
    y: Any,
    *,
    rule: Any = "brier",
    pool: Pool = "linear",
    folds: int = 5,
    seed: int = 0,
    recalibrate: Recalibrates | None = None,
    ridge: float = 1.0,
    k: int | None = None,
    clusters: Any = None,
    sample_weight: Any = None,
    space: Any = None,
) -> Stack:
    """Fit the weights of a pool to all cases, and to the cases outside each fold, to score it out of fold.

    Parameters
    ----------
    lists, space
        The models, as in `linear_pool`; use cases that they were not trained on.
    y : array-like
        One outcome per case.
    rule, pool, ridge
        As in `pool_weights`.
    folds, seed : int
        The number of folds, 5 by default, and the seed by which they are drawn.
    recalibrate : Recalibrator, optional
        A copy of it is fitted to each member before the weights are, within each fold too.
    k : int, optional
        Keep the k most confident classes only.
    clusters : array-like, optional
        Cases of one cluster stay in one fold.
    sample_weight : array-like, optional
        One weight per case.

    Returns
    -------
    Stack
        Its `transform` pools lists for other cases, its `pooled` are to be scored.

    Examples
    --------
    >>> stack({"a": [[0.7, 0.3]] * 20, "b": [[0.2, 0.8]] * 20}, [0, 1, 0, 0] * 5).pooled
    TopLists(20 cases, k = 2, 2 classes)
    """
    named = named_lists(lists, space)
    members, given = Members.of(named), tuple(named.values())  # recalibrators learn from lists as they are
    if not (recalibrate is None or (hasattr(recalibrate, "fit") and hasattr(recalibrate, "transform"))):
        raise TopListError(f"recalibrate is a recalibrator such as postprocess.Temperature(), not {recalibrate!r}.")
    n = members.cases
    sample, fold = as_sample(sample_weight, n), as_folds(n, folds, seed, clusters)
    as_single_outcomes(y, members.lists[0], "weights are fitted to")
    options: dict[str, Any] = {"rule": rule, "pool": pool, "ridge": ridge}

    def fitted(at: NDArray[np.intp]) -> Stack:
        some, outcomes, weight = [one[at] for one in given], _take(y, at), sample[at]
        own = None
        if recalibrate is not None:
            weighted = {} if sample_weight is None else {"sample_weight": weight}
            own = tuple(copy.deepcopy(recalibrate).fit(one, outcomes, **weighted) for one in some)
            some = [one.transform(lists) for one, lists in zip(own, some, strict=True)]
        found = pool_weights(dict(zip(members.names, some, strict=True)), outcomes, sample_weight=weight, **options)
        return Stack(found, own, None if k is None else as_count(k))

    parts, by_fold = [], []
    for one in range(int(fold.max()) + 1):
        made = fitted(np.flatnonzero(fold != one))
        by_fold.append(made.weights)
        parts.append(made.transform([held[fold == one] for held in given]))
    whole = fitted(np.arange(n))
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    pooled = together(parts, order, members)
    return Stack(whole.weights, whole.recalibrators, whole.k, pooled, tuple(by_fold), fold)


def _take(y: Any, where: NDArray[np.intp]) -> Any:
    """The outcomes of some cases, of whatever kind."""
    if isinstance(y, np.ndarray) or hasattr(y, "tocsr"):
        return y.tocsr()[where] if hasattr(y, "tocsr") else y[where]
    return y.take(where) if hasattr(y, "take") else [y[i] for i in where.tolist()]


def _recalibrator(values: Any) -> Recalibrates:
    from toplist.postprocess import recalibration  # noqa: PLC0415 - pools of plain lists do not wait for recalibrators

    made: Recalibrates = recalibration.Recalibrator.from_dict(values)
    return made
