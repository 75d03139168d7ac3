"""Weights of a pool, fitted to outcomes: convex objectives, minimised over the simplex; stacks, scored out of fold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from toplist._files import from_json_number, read_json, to_json_number, write_json
from toplist._text import argument, first_of, label, probability, quote, significant
from toplist._typing import Floats
from toplist.core.arguments import as_count, as_number, as_sample_weight
from toplist.errors import MassError, RuleError, ShapeError, TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_single_outcomes
from toplist.lists.toplists import join
from toplist.postprocess.combination.pools import (
    Lists,
    Members,
    Union,
    by_name,
    geometric_pool,
    linear_pool,
    named_lists,
    unions,
)
from toplist.postprocess.selection import as_folds
from toplist.scoring.rules import as_rule
from toplist.scoring.scores import score

Pool = Literal["linear", "geometric"]
POOLS = {"linear": linear_pool, "geometric": geometric_pool}

_ZERO = 1e-12  # a smaller weight is none

Slope = tuple[float, Floats]  # the value of a function at some weights, and its gradient
Objective = Callable[[Floats], Slope]  # a convex function of weights


def minimise(function: Objective, count: int) -> Floats:
    """The weights of least value, by sequential quadratic programmes from equal ones."""
    start = np.full(count, 1.0 / count)
    sums_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like}
    options = {"ftol": 1e-15, "maxiter": 500}
    fitted = minimize(
        function, start, jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * count, constraints=sums_to_one, options=options
    ).x
    w = np.where(fitted < _ZERO, 0.0, fitted)
    w = w / w.sum()
    return w if function(w)[0] <= function(start)[0] else start


def inner_products(members: Members) -> Iterator[tuple[slice, Floats]]:
    r"""In blocks of cases: :math:`\langle \tilde p_i, \tilde p_j \rangle` for every case and two members, from k terms.

    The classes that no member lists are one term, however many they are.
    """
    for here, union in unions(members):
        t = union.values()
        proxy = np.stack([one.proxy for one in union.members])
        left = np.stack([one.rest for one in union.members]) * union.shares()
        out = np.empty((union.members.cases, len(members), len(members)))
        for i in range(len(members)):
            for j in range(i, len(members)):
                out[:, i, j] = out[:, j, i] = union.sums(t[i] * t[j]) + left[i] * proxy[j]
        yield here, out


@dataclass(frozen=True, slots=True, eq=False)
class BrierOfMean:
    """w'Aw - 2b'w + 1, where A holds mean inner products, and b the mean confidences of outcomes."""

    products: Floats
    outcome: Floats

    @classmethod
    def of(cls, members: Members, outcome: Floats, sample: Floats) -> BrierOfMean:
        """From the confidence of the outcome, per case and member, and the weights of cases, which add up to one."""
        products = np.zeros((len(members), len(members)))
        for here, block in inner_products(members):
            products += np.tensordot(sample[here], block, axes=1)
        return cls(products, sample @ outcome)

    def __call__(self, w: Floats) -> Slope:
        """The value and its gradient at some weights."""
        pull = self.products @ w
        return float(w @ pull - 2.0 * self.outcome @ w + 1.0), 2.0 * (pull - self.outcome)


@dataclass(frozen=True, slots=True, eq=False)
class LogOfMean:
    """The mean of -log(sum_j w_j q_j), q the confidence of the outcome; from its logarithms, so of any size."""

    ratio: Floats  # (cases, members), the largest of a case is one
    offset: float
    sample: Floats

    @classmethod
    def of(cls, log_outcome: Floats, sample: Floats) -> LogOfMean:
        """From cases whose outcome has a positive probability by at least one member."""
        top = log_outcome.max(axis=1)
        return cls(np.exp(log_outcome - top[:, None]), float(-sample @ top), sample)

    def __call__(self, w: Floats) -> Slope:
        """The value and its gradient at some weights."""
        mean = np.maximum(self.ratio @ w, 1e-300)  # weights that a line search tries may leave an outcome nothing
        return self.offset - float(self.sample @ np.log(mean)), -(self.sample / mean) @ self.ratio


@dataclass(frozen=True, slots=True, eq=False)
class LogOfProduct:
    """The mean of log Z(w) - sum_j w_j log q_j: the log score of a geometric pool, convex in the weights.

    The slopes are the means of the members' logarithms under the pool. A class that any member gives zero to is ruled
    out whatever its weight.
    """

    blocks: tuple[
        tuple[Union, Floats, Floats], ...
    ]  # logarithms by class, and of the mass of the classes that none lists
    log_outcome: Floats
    sample: Floats

    @classmethod
    def of(cls, members: Members, log_outcome: Floats, sample: Floats) -> LogOfProduct:
        """From finite logarithms of the confidence of the outcome; keeps all members' logarithms in memory."""
        return cls(tuple((u, u.logs(), u.log_rests()) for _, u in unions(members)), log_outcome, sample)

    def __call__(self, w: Floats) -> Slope:
        """The value and its gradient at some weights."""
        value, gradient, lo = -float(self.sample @ (self.log_outcome @ w)), -(self.sample @ self.log_outcome), 0
        for union, logs, rests in self.blocks:
            cases = union.members.cases
            sample, lo = self.sample[lo : lo + cases], lo + cases
            possible, left = np.isfinite(logs).all(axis=0), np.isfinite(rests).all(axis=0)
            listed, rest = np.where(possible, logs, 0.0), np.where(left, rests, 0.0)
            x, x_rest = np.where(possible, w @ listed, -np.inf), np.where(left, w @ rest, -np.inf)
            top = x_rest.copy()
            np.maximum.at(top, union.case, x)
            p, p_rest = np.exp(x - top[union.case]), np.exp(x_rest - top)
            total = p_rest + union.sums(p)
            p, p_rest = p / total[union.case], p_rest / total
            value += float(sample @ (top + np.log(total)))
            mean = np.stack([union.sums(p * logs) for logs in listed]) + p_rest * rest
            gradient = gradient + mean @ sample
        return value, gradient


def shrunk(objective: Objective, ridge: float) -> Objective:
    """An objective plus ridge times the squared distance to equal weights."""

    def penalised(w: Floats) -> Slope:
        (value, gradient), off = objective(w), w - 1.0 / len(w)
        return value + ridge * float(off @ off), gradient + 2.0 * ridge * off

    return penalised


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoolWeights:
    """Fitted weights of a pool.

    Attributes
    ----------
    names, weights : tuple of str, ndarray
        The members.
    rule, pool : str
        The scoring rule, and "linear" or "geometric".
    score, members : float, tuple of float
        Mean score of the pool on the cases it was fitted to, and of the members alone, without penalties.
    cases, impossible : int
        The cases that count, and those whose outcome every member gives zero to, which do not count and make the mean
        log score infinite.
    ridge : float
        The penalty, in cases.
    """

    names: tuple[str, ...]
    weights: Floats
    rule: str
    pool: Pool
    score: float
    members: tuple[float, ...]
    cases: int
    ridge: float
    impossible: int

    def transform(self, lists: Lists, *, k: int | None = None, space: Any = None) -> TopLists:
        """These members' lists for other cases, pooled: by name, or in the order of `names`."""
        return POOLS[self.pool](in_order(lists, self.names, space), weights=self.weights.tolist(), k=k)

    def to_dict(self) -> dict[str, Any]:
        """All attributes as plain values, numbers of members by name."""
        return {
            "pool": self.pool,
            "rule": self.rule,
            "weights": dict(zip(self.names, self.weights.tolist(), strict=True)),
            "score": to_json_number(self.score),
            "members": dict(zip(self.names, map(to_json_number, self.members), strict=True)),
            **{name: getattr(self, name) for name in _FIELDS},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PoolWeights:
        """The weights of which `to_dict` gave these values."""
        try:
            names = tuple(values["weights"])
            return cls(
                names,
                np.array([float(values["weights"][name]) for name in names]),
                str(values["rule"]),
                _as_pool(values["pool"]),
                float(from_json_number(values["score"])),
                tuple(float(from_json_number(values["members"][name])) for name in names),
                *(kind(values[name]) for name, kind in _FIELDS.items()),
            )
        except TopListError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise TopListError(f"these are not the weights of a pool: {error!r} is missing or wrong.") from None

    def __repr__(self) -> str:
        order = np.argsort(-self.weights, kind="stable")
        shown = first_of([f"{label(self.names[i])} {probability(float(self.weights[i]))}" for i in order])
        how = f"mean {self.rule} score {significant(self.score)} on {self.cases:,} cases"
        return f"PoolWeights({self.pool}: {shown}; {how})"


_FIELDS: dict[str, Any] = {"cases": int, "ridge": float, "impossible": int}


def pool_weights(
    lists: Lists,
    y: Any,
    *,
    rule: Any = "brier",
    pool: Pool = "linear",
    ridge: float = 1.0,
    sample_weight: Any = None,
    space: Any = None,
) -> PoolWeights:
    r"""Fit the weights of a pool, not negative and adding up to one, by least mean score.

    The Brier score of a linear pool is :math:`w'Aw - 2b'w + 1`, with mean inner products of padded distributions in A
    and mean confidences of the outcomes in b; the log score of either kind is convex in the weights too. The Brier
    score of a geometric pool is not, and is refused. A geometric pool leaves out members that gave zero to any outcome.

    Parameters
    ----------
    lists, space
        The models, as in `linear_pool`; use cases that they were not trained on.
    y : array-like
        One outcome per case.
    rule : {"brier", "log"}, default "brier"
        The scoring rule.
    pool : {"linear", "geometric"}, default "linear"
        The kind of pool.
    ridge : float, default 1.0
        The weight, in cases, of the squared distance to equal weights; 0 for none.
    sample_weight : array-like, optional
        One weight per case.

    Returns
    -------
    PoolWeights
        Its `transform` pools lists for other cases.

    Examples
    --------
    >>> pool_weights({"good": [[0.7, 0.3]] * 10, "bad": [[0.2, 0.8]] * 10}, [0] * 8 + [1] * 2, ridge=0).weights
    array([1., 0.])
    """
    members = Members.of(lists, space)
    rule, pool = as_rule(rule).name, _as_pool(pool)
    if rule not in ("brier", "log") or (rule, pool) == ("brier", "geometric"):
        remedy = f"Use {argument('rule', 'log')}, or a linear pool." if pool == "geometric" else 'Use "brier" or "log".'
        problem = "is not convex in the weights" if rule == "brier" else "is not a function that weights are fitted to"
        raise RuleError(f"the {rule} score of a {pool} pool {problem}. {remedy}")
    pull = as_number(ridge, "ridge", 0, np.finfo(np.float64).max)
    as_single_outcomes(y, members.lists[0], "weights are fitted to")
    sample = as_sample(sample_weight, members.cases)
    log_q = np.stack([-score(one, y, rule="log", penalty=0) for one in members], axis=1)
    each = -log_q if rule == "log" else np.stack([score(one, y, penalty=0) for one in members], axis=1)
    possible = np.ones(members.cases, dtype=bool) if rule == "brier" else (log_q > -np.inf).any(axis=1)
    counted = np.flatnonzero(possible & (sample > 0))
    impossible = int(np.count_nonzero(~possible & (sample > 0)))
    if not len(counted):
        raise MassError("every member gives zero to every outcome: no weights are better than others.")
    some = members if len(counted) == members.cases else members[counted]
    log_q, own = log_q[counted], sample[counted] / sample[counted].sum()
    used = _possible(log_q) if pool == "geometric" else np.arange(len(members))
    objective = _objective(some, log_q, own, rule, pool, used)
    w = np.zeros(len(members))
    w[used] = minimise(shrunk(objective, pull / float(sample[counted].sum())), len(used))
    reached = objective(w[used])[0]
    if pool == "geometric" and not w[used].all():  # members of weight zero rule nothing out any more
        used = np.flatnonzero(w)
        reached = _objective(some, log_q, own, rule, pool, used)(w[used])[0]
    alone = np.where((each[sample > 0] == np.inf).any(axis=0), np.inf, (sample / sample.sum()) @ _finite(each))
    return PoolWeights(
        members.names, w, rule, pool, np.inf if impossible else reached, tuple(alone.tolist()), len(counted),
        pull, impossible,
    )  # fmt: skip


def _objective(
    members: Members, log_q: Floats, sample: Floats, rule: str, pool: Pool, used: NDArray[np.intp]
) -> Objective:
    if pool == "geometric":
        some = Members(tuple(members.names[j] for j in used), tuple(members.lists[j] for j in used))
        return LogOfProduct.of(some, log_q[:, used], sample)
    return LogOfMean.of(log_q, sample) if rule == "log" else BrierOfMean.of(members, np.exp(log_q), sample)


def _possible(log_q: Floats) -> NDArray[np.intp]:
    """The members that gave zero to no outcome."""
    used = np.flatnonzero((log_q > -np.inf).all(axis=0))
    if not len(used):
        raise MassError(
            "every member gives zero to some outcome, and so does a geometric pool.",
            "Give each list some rest mass first (postprocess.RestFloor), or pool linearly.",
        )
    return used


def in_order(lists: Any, names: tuple[str, ...], space: Any = None) -> list[TopLists]:
    """Lists by name in the order of the names, or as many as there are names."""
    members = by_name(lists, names) if isinstance(lists, Mapping) else list(lists)
    if len(members) != len(names):
        raise ShapeError(f"{len(members)} members for a pool of {len(names)}.", f"It is of {', '.join(names)}.")
    return [as_lists(one, space) for one in members]


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
    joined = join(parts, [one.classes for one in parts], members.space.take(np.argsort(order)))[order]
    pooled = TopLists(members.space, members.ids, joined.checked)
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
