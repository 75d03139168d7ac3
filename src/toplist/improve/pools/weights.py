"""How much each predictor should count in a pool, learned from outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_number, as_sample_weight
from toplist.errors import MassError, RuleError, ShapeError, TopListError
from toplist.improve.pools.geometric import geometric_pool
from toplist.improve.pools.linear import linear_pool
from toplist.improve.pools.members import Lists, Members
from toplist.improve.pools.objectives import BrierOfMean, LogOfMean, LogOfProduct, Objective, Pulled
from toplist.improve.pools.simplex import minimise
from toplist.io.records import spell, unspell
from toplist.lists import TopLists
from toplist.outcomes import as_happened
from toplist.rules import as_rule
from toplist.scoring import score

Floats = NDArray[np.float64]
Pool = Literal["linear", "geometric"]
POOLS = {"linear": linear_pool, "geometric": geometric_pool}


@dataclass(frozen=True, slots=True, eq=False)
class PoolWeights:
    """Weights by member, for a pool of their kind.

    `score` is the mean score of that pool on the cases it was fitted to, and `members` those of the members alone, all
    without penalties. No weights do better on the fitted objective by more than `gap`. It is not small where members of
    a geometric pool help by what they rule out alone: their best weight is next to zero, and with zero they rule out
    nothing. `impossible` counts cases that every member gives zero to, which have no say and make the mean log score
    infinite.
    """

    names: tuple[str, ...]
    weights: Floats
    rule: str
    pool: Pool
    score: float
    members: tuple[float, ...]
    cases: int
    ridge: float
    gap: float
    steps: int
    impossible: int

    def transform(self, lists: Lists, *, k: int | None = None) -> TopLists:
        """These members' lists for other cases, pooled: by name, or in the order of `names`."""
        return POOLS[self.pool](in_order(lists, self.names), weights=self.weights.tolist(), k=k)

    def to_dict(self) -> dict[str, Any]:
        """Names, weights and how they came about, as plain values."""
        return {
            "pool": self.pool,
            "rule": self.rule,
            "weights": dict(zip(self.names, self.weights.tolist(), strict=True)),
            "score": spell(self.score),
            "members": dict(zip(self.names, map(spell, self.members), strict=True)),
            "cases": self.cases,
            "ridge": self.ridge,
            "gap": self.gap,
            "steps": self.steps,
            "impossible": self.impossible,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PoolWeights:
        """What `to_dict` made."""
        try:
            names = tuple(values["weights"])
            return cls(
                names,
                np.array([float(values["weights"][name]) for name in names]),
                str(values["rule"]),
                _as_pool(values["pool"]),
                float(unspell(values["score"])),
                tuple(float(unspell(values["members"][name])) for name in names),
                *(kind(values[name]) for name, kind in _FIELDS.items()),
            )
        except TopListError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise TopListError(f"these are not the weights of a pool: {error!r} is missing or wrong.") from None


_FIELDS: dict[str, Any] = {"cases": int, "ridge": float, "gap": float, "steps": int, "impossible": int}


def pool_weights(
    lists: Lists,
    y: Any,
    *,
    rule: Any = "brier",
    pool: Pool = "linear",
    ridge: float = 1.0,
    sample_weight: Any = None,
) -> PoolWeights:
    r"""The weights, not negative and adding up to one, with which the pool scores best on these cases.

    The Brier score of a linear pool is :math:`w'Aw - 2b'w + 1`, with mean inner products of padded distributions in A
    and mean confidences of what happened in b; the log score of either kind is convex in the weights too. The Brier
    score of a geometric pool is not, and refused. `ridge` is how many cases the pull towards equal weights weighs
    (its square distance, per case); 0 for none. A geometric pool leaves out members that gave zero to something that
    happened. Use cases that the members were not trained on.

    >>> import toplist as tl
    >>> good, bad = tl.TopLists.from_proba([[0.7, 0.3]] * 10), tl.TopLists.from_proba([[0.2, 0.8]] * 10)
    >>> pool_weights({"good": good, "bad": bad}, [0] * 8 + [1] * 2, ridge=0).weights
    array([1., 0.])
    """
    members = Members.of(lists)
    rule, pool = as_rule(rule).name, _as_pool(pool)
    if rule not in ("brier", "log") or (rule, pool) == ("brier", "geometric"):
        remedy = 'Use rule="log", or a linear pool.' if pool == "geometric" else 'Use "brier" or "log".'
        problem = "is not convex in the weights" if rule == "brier" else "is not a function that weights are fitted to"
        raise RuleError(f"the {rule} score of a {pool} pool {problem}. {remedy}")
    pull = as_number(ridge, "ridge", 0, np.finfo(np.float64).max)
    as_happened(y, members.lists[0], "weights are fitted to")
    sample = as_sample(sample_weight, members.cases)
    log_q = np.stack([-score(one, y, rule="log", penalty=0) for one in members], axis=1)
    each = -log_q if rule == "log" else np.stack([score(one, y, penalty=0) for one in members], axis=1)
    possible = np.ones(members.cases, dtype=bool) if rule == "brier" else (log_q > -np.inf).any(axis=1)
    counted = np.flatnonzero(possible & (sample > 0))
    impossible = int(np.count_nonzero(~possible & (sample > 0)))
    if not len(counted):
        raise MassError("every member gives zero to everything that happened: no weights are better than others.")
    some = members if len(counted) == members.cases else members[counted]
    log_q, own = log_q[counted], sample[counted] / sample[counted].sum()
    used = _possible(log_q) if pool == "geometric" else np.arange(len(members))
    objective = _objective(some, log_q, own, rule, pool, used)
    found = minimise(Pulled(objective, pull / float(sample[counted].sum())), len(used))
    w, gap = np.zeros(len(members)), found.gap
    w[used] = found.weights
    reached = objective(w[used]).value
    if pool == "geometric" and not w[used].all():  # members without weight rule nothing out any more
        used = np.flatnonzero(w)
        limit, reached = reached, _objective(some, log_q, own, rule, pool, used)(w[used]).value
        gap += max(0.0, reached - limit)
    alone = np.where((each[sample > 0] == np.inf).any(axis=0), np.inf, (sample / sample.sum()) @ _finite(each))
    return PoolWeights(
        members.names, w, rule, pool, np.inf if impossible else reached, tuple(alone.tolist()), len(counted),
        pull, gap, found.steps, impossible,
    )  # fmt: skip


def _objective(
    members: Members, log_q: Floats, sample: Floats, rule: str, pool: Pool, used: NDArray[np.intp]
) -> Objective:
    if pool == "geometric":
        some = Members(tuple(members.names[j] for j in used), tuple(members.lists[j] for j in used))
        return LogOfProduct.of(some, log_q[:, used], sample)
    return LogOfMean.of(log_q, sample) if rule == "log" else BrierOfMean.of(members, np.exp(log_q), sample)


def _possible(log_q: Floats) -> NDArray[np.intp]:
    """The members that gave zero to nothing that happened."""
    used = np.flatnonzero((log_q > -np.inf).all(axis=0))
    if not len(used):
        raise MassError(
            "every member gives zero to something that happened, which a geometric pool cannot mend.",
            "Give each list some rest mass first (improve.RestFloor), or pool linearly.",
        )
    return used


def in_order(lists: Lists, names: tuple[str, ...]) -> list[TopLists]:
    """Lists by name in the order of the names, or as many as there are names."""
    if isinstance(lists, Mapping):
        named = {str(name): one for name, one in lists.items()}
        missing, extra = set(names) - set(named), set(named) - set(names)
        if missing or extra:
            wrong = f"{_named(missing)} missing" if missing else f"{_named(extra)} no member"
            raise ShapeError(f"the pool is of {', '.join(names)}; {wrong}.")
        return [named[name] for name in names]
    members = list(lists)
    if len(members) != len(names):
        raise ShapeError(f"{len(members)} members for a pool of {len(names)}.", f"It is of {', '.join(names)}.")
    return members


def _named(names: set[str]) -> str:
    return f"{', '.join(sorted(names))} {'is' if len(names) == 1 else 'are'}"


def _as_pool(pool: Any) -> Pool:
    if pool not in ("linear", "geometric"):
        raise TopListError(f'a pool is "linear" or "geometric", not {pool!r}.')
    return "linear" if pool == "linear" else "geometric"


def as_sample(sample_weight: Any, cases: int) -> Floats:
    """The weights of cases, ones by default; the ridge is weighed against their sum."""
    if not cases:
        raise ShapeError("there are no cases to learn weights from.")
    sample = as_sample_weight(sample_weight, cases)
    with np.errstate(over="ignore"):
        if not np.isfinite(sample.sum()):
            raise ShapeError("the sum of the sample weights is not finite.", "Divide all by their largest.")
    return sample


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)
