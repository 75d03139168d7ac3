"""Pools with fitted weights whose scores are honest: each case is pooled by weights that never saw it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_count
from toplist._files import read_json, write_json
from toplist._text import quote
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.outcomes import as_happened
from toplist.postprocess.combination.members import Lists, Members
from toplist.postprocess.combination.pools import together
from toplist.postprocess.combination.weights import Pool, PoolWeights, as_sample, in_order, pool_weights
from toplist.postprocess.selection import as_folds

SCHEMA = "toplist.pool/1"


class Recalibrates(Protocol):
    """What is needed of a recalibrator."""

    def fit(self, lists: TopLists, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from outcomes."""

    def transform(self, lists: TopLists) -> TopLists:
        """Better lists."""

    def to_dict(self) -> dict[str, Any]:
        """What was learned, as plain values."""


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """A pool that is ready for other cases, and what it would have said of its own.

    `pooled` are out of fold: the lists of each fold were pooled, and recalibrated, by what the other folds taught. So
    their score is that of the method, while `weights` were fitted to all cases. `folds` has the weights of each fold,
    `fold` the fold of each case. A stack that was loaded has no cases, and None for these.
    """

    weights: PoolWeights
    recalibrators: tuple[Recalibrates, ...] | None
    k: int | None
    pooled: TopLists | None = None
    folds: tuple[PoolWeights, ...] | None = field(default=None, repr=False)
    fold: NDArray[np.int64] | None = field(default=None, repr=False)

    def transform(self, lists: Lists) -> TopLists:
        """The same members' lists for other cases, pooled: by name, or in the order of `weights.names`."""
        members = in_order(lists, self.weights.names)
        if self.recalibrators is not None:
            members = [own.transform(one) for own, one in zip(self.recalibrators, members, strict=True)]
        return self.weights.transform(members, k=self.k)

    def to_dict(self) -> dict[str, Any]:
        """All that `transform` needs, as plain values."""
        own = None if self.recalibrators is None else [one.to_dict() for one in self.recalibrators]
        return {"schema": SCHEMA, **self.weights.to_dict(), "recalibrators": own, "k": self.k}

    @classmethod
    def from_dict(cls, values: Any) -> Stack:
        """What `to_dict` made."""
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
        """Write it down as JSON."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: Any) -> Stack:
        """Read what `save` wrote."""
        return cls.from_dict(read_json(path, "a pool"))


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
) -> Stack:
    """Fit the weights of a pool to all cases, and fold by fold to the others, so that its score can be told.

    Folds are drawn at random from `seed`; cases of one of the `clusters` stay in one fold. `recalibrate` is a
    recalibrator; a copy of it is fitted to each member before the weights are, within each fold too. Use cases that the
    members were not trained on.

    >>> import toplist as tl
    >>> a, b = tl.TopLists.from_proba([[0.7, 0.3]] * 20), tl.TopLists.from_proba([[0.2, 0.8]] * 20)
    >>> stack({"a": a, "b": b}, [0, 1, 0, 0] * 5).pooled
    TopLists(20 cases, k = 2, 2 classes)
    """
    members = Members.of(lists)
    given = tuple(lists.values() if isinstance(lists, Mapping) else lists)  # recalibrators see lists as they are
    if not (recalibrate is None or (hasattr(recalibrate, "fit") and hasattr(recalibrate, "transform"))):
        raise TopListError(f"recalibrate is a recalibrator such as improve.Temperature(), not {recalibrate!r}.")
    n = members.cases
    sample, fold = as_sample(sample_weight, n), as_folds(n, folds, seed, clusters)
    as_happened(y, members.lists[0], "weights are fitted to")
    options: dict[str, Any] = {"rule": rule, "pool": pool, "ridge": ridge}

    def fitted(at: NDArray[np.intp]) -> Stack:
        some, seen, weight = [one[at] for one in given], _some(y, at), sample[at]
        own = None
        if recalibrate is not None:
            weighed = {} if sample_weight is None else {"sample_weight": weight}
            own = tuple(copy.deepcopy(recalibrate).fit(one, seen, **weighed) for one in some)
        better = some if own is None else [one.transform(mine) for one, mine in zip(own, some, strict=True)]
        named = dict(zip(members.names, better, strict=True))
        return Stack(
            pool_weights(named, seen, sample_weight=weight, **options), own, None if k is None else as_count(k)
        )

    parts, by_fold = [], []
    for one in range(int(fold.max()) + 1):
        made = fitted(np.flatnonzero(fold != one))
        by_fold.append(made.weights)
        parts.append(made.transform([held[fold == one] for held in given]))
    whole = fitted(np.arange(n))
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    pooled = together(parts, order, members)
    return Stack(whole.weights, whole.recalibrators, whole.k, pooled, tuple(by_fold), fold)


def _some(y: Any, where: NDArray[np.intp]) -> Any:
    """The outcomes of some cases, of whatever kind."""
    if isinstance(y, np.ndarray) or hasattr(y, "tocsr"):
        return y.tocsr()[where] if hasattr(y, "tocsr") else y[where]
    return y.take(where) if hasattr(y, "take") else [y[i] for i in where.tolist()]


def _recalibrator(values: Any) -> Recalibrates:
    from toplist.postprocess import recalibration  # noqa: PLC0415 - pools of plain lists do not wait for recalibrators

    made: Recalibrates = recalibration.Recalibrator.from_dict(values)
    return made
