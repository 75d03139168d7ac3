"""Decisions: the action, or the set of classes, of least expected cost; bounds on its cost; the reject option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from toplist._text import first_of, quote
from toplist._typing import Bools, Codes, Floats
from toplist.core.arguments import as_floats, as_number, as_tuple
from toplist.errors import ShapeError, TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import UNLISTED, ClassSpace, show_size
from toplist.lists.toplists import first_where, keep_first
from toplist.postprocess.costs import (
    CELLS,
    OTHER,
    REJECT,
    ActionCosts,
    CalledCosts,
    Costs,
    MatrixCosts,
    TableCosts,
    as_cost,
    name_of,
    require_candidates,
)

ASKED = 1 << 18  # the most pairs of action and class that a function is called for


class Special(Enum):
    """Actions that are no class: `OTHER`, any class that is neither listed nor in the table, and `REJECT`."""

    OTHER = "any class that is neither listed nor in the table"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, repr=False)
class CostTable:
    """Costs by (action, outcome), for any number of classes: exceptions, and two numbers for everything else.

    Parameters
    ----------
    entries : mapping, default empty
        From (action, outcome) to a cost. The empty table is the zero-one loss.
    default, right : float
        The cost of a pair that is not in the table: `right`, 0 by default, if the action is the outcome, and
        `default`, 1 by default, if it is not.

    Examples
    --------
    >>> CostTable({("leave", "fire"): 100.0}).default
    1.0
    """

    entries: Mapping[tuple[Any, Any], float] = field(default_factory=dict)
    default: float = 1.0
    right: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.entries, Mapping):
            raise TopListError(f"a table of costs maps (action, outcome) to a cost; this is {self.entries!r}.")
        wrong = next((key for key in self.entries if not (isinstance(key, tuple) and len(key) == 2)), None)
        if wrong is not None:
            raise TopListError(f"a table of costs maps (action, outcome) to a cost, not {wrong!r}.")
        made = {key: as_cost(value, *key) for key, value in self.entries.items()}
        object.__setattr__(self, "entries", MappingProxyType(made))
        object.__setattr__(self, "default", as_cost(self.default, "any action", "anything else"))
        object.__setattr__(self, "right", as_cost(self.right, "any class", "it"))

    def __repr__(self) -> str:
        shown = first_of([f"{quote(key)}: {value:g}" for key, value in self.entries.items()])
        return f"CostTable({{{shown}}}, default={self.default:g}, right={self.right:g})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Decisions:
    """One action per case, and its cost under the list.

    Attributes
    ----------
    code : ndarray of int
        The class code, or the place among the named actions; -1 for any other class, -2 for reject.
    expected, low, high : ndarray
        The cost with the rest mass spread over the unlisted classes, with all of it on the unlisted class that is
        cheapest for this action, and on the dearest.
    sure : ndarray of bool
        Whether no other action costs less, wherever the rest is. Exact for a matrix and for the actions of a table.
        Where one of the actions is any of the other classes (`Special.OTHER`), or costs are a function with `unlisted`,
        it is sufficient: that it costs no more at most than the other action at least.
    space : ClassSpace
        The classes.
    names : tuple or None
        The names of the actions; None where they are the classes.
    """

    code: Codes
    expected: Floats
    low: Floats
    high: Floats
    sure: Bools
    space: ClassSpace
    names: tuple[Any, ...] | None

    def __len__(self) -> int:
        return len(self.code)

    @property
    def rejected(self) -> Bools:
        """Where the decision is to reject."""
        rejected: Bools = self.code == REJECT
        return rejected

    @property
    def actions(self) -> tuple[Any, ...]:
        """The chosen actions by name; `Special.REJECT` and `Special.OTHER` are no class."""
        special = {OTHER: Special.OTHER, REJECT: Special.REJECT}
        name = self.names.__getitem__ if self.names is not None else lambda code: name_of(self.space, code)
        return tuple(special[code] if code in special else name(code) for code in self.code.tolist())

    def __repr__(self) -> str:
        if not len(self):
            return "Decisions(0 cases)"
        sure, gone = int(self.sure.sum()), int(self.rejected.sum())
        mean = f"mean expected cost {self.expected.mean():.6g} ({self.low.mean():.6g} to {self.high.mean():.6g})"
        return f"Decisions({len(self):,} cases, {gone:,} rejected, {sure:,} sure, {mean})"


def decide(
    lists: Any,
    costs: Any,
    *,
    actions: Any = None,
    reject: float | None = None,
    unlisted: Any = None,
    space: Any = None,
) -> Decisions:
    """The action of least expected cost in each case, and whether it is best wherever the rest mass may be.

    The expected cost is that of the padded distribution; of an invalid list, of its largest valid sublist. The least
    and the most are exact over all distributions with the same listed confidences. Among equals the action given first
    wins, a listed class before an unlisted one, and any action before rejecting.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    costs : array, mapping, CostTable, sparse matrix or callable
        An array (actions, classes); a mapping {(action, outcome): cost} or `CostTable`, where pairs that are not in it
        cost 0 if right and 1 if not; a sparse matrix, where they cost 0; or a function cost(action, outcome).
    actions : sequence, optional
        The names of the actions; by default they are the classes.
    reject : float, optional
        The cost of deciding nothing (Chow's rule); None never rejects.
    unlisted : float, (least, mean, most) or callable, optional
        The cost of a class that is not listed, or a function of the action that gives it. A cost function is called for
        every action and class if there are at most 2**18 pairs. Beyond, it needs `unlisted`, is called for listed
        classes only, and these are the only actions unless actions are named.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    Decisions
        One action per case, with its cost and the bounds of it.

    Examples
    --------
    >>> import toplist as tl
    >>> space = tl.ClassSpace(labels=["benign", "malign", "unclear"])
    >>> scans = [{"benign": 0.95}, {"benign": 0.7, "malign": 0.2}]
    >>> decide(scans, [[0, 20, 5], [2, 0, 2]], actions=["wait", "operate"], reject=1.5, space=space).actions
    ('wait', <Special.REJECT: 'reject'>)
    """
    lists = as_lists(lists, space)
    names = None if actions is None else as_tuple(actions, "actions", TopListError)
    if names is not None and (not names or len(set(names)) < len(names)):
        raise TopListError("actions are at least one, each named once.")
    price = None if reject is None else as_number(reject, "the cost to reject", -np.inf, np.inf)
    if price is not None and not np.isfinite(price):
        raise TopListError(f"the cost to reject is a finite number, not {price}; None never rejects.")
    table = _as_costs(costs, lists.space, names, unlisted)
    valid = lists.strictly_valid()
    parts, step = [(np.zeros(0, np.int64), np.zeros((3, 0)), np.zeros(0, bool))], max(1, CELLS // table.width)
    for lo in range(0, len(valid), step):
        part = valid[lo : lo + step]
        made = table.of_actions(part)
        if price is not None:
            made = ActionCosts.join(made, ActionCosts.constant(len(part), REJECT, price))
        require_candidates(made, lo)
        parts.append(_least(made, table, part))
    code, (expected, low, high), sure = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
    return Decisions(code, expected, low, high, sure, lists.space, names)


def _least(actions: ActionCosts, costs: Costs, lists: TopLists) -> tuple[Codes, Floats, Bools]:
    """The code and the costs of the first action of least expected cost, and whether no other is better anywhere."""
    at = actions.cost[0].argmin(axis=1)[:, None]
    code = np.take_along_axis(actions.code, at, axis=1)[:, 0]
    cost = np.take_along_axis(actions.cost, at[None], axis=2)[..., 0]
    others = actions.cost[1].copy()
    np.put_along_axis(others, at, np.inf, axis=1)
    open_ = (
        others < cost[2][:, None]
    )  # the bounds do not tell; they do where one of the two does not depend on the rest
    fixed = (actions.cost[1] == actions.cost[2]) | (cost[1] == cost[2])[:, None]
    sure = ~(open_ & fixed).any(axis=1)
    rows = np.flatnonzero(sure & open_.any(axis=1))
    while len(rows):  # the most threatening action of each case first: most cases end there
        rival = np.where(open_[rows], others[rows], np.inf).argmin(axis=1)
        sure[rows] = costs.most_above(lists[rows], code[rows], actions.code[rows, rival]) <= 0
        open_[rows, rival] = False
        rows = rows[sure[rows] & open_[rows].any(axis=1)]
    return code, cost, sure


def _as_costs(costs: Any, space: ClassSpace, names: tuple[Any, ...] | None, unlisted: Any) -> Costs:
    if unlisted is not None and not callable(costs):
        raise TopListError("unlisted= goes with a cost function; tables say themselves what unlisted classes cost.")
    if isinstance(costs, Mapping | CostTable):
        return _from_table(costs if isinstance(costs, CostTable) else CostTable(costs), space, names)
    if hasattr(costs, "tocsr"):
        return _from_sparse(costs.tocsr(), space, names)
    if callable(costs):
        return _from_function(costs, space, names, unlisted)
    matrix = as_floats(costs, "costs").astype(np.float64, copy=False)
    _require_shape(matrix.shape, space, names)
    if not np.isfinite(matrix).all():
        a, y = np.argwhere(~np.isfinite(matrix))[0].tolist()
        as_cost(matrix[a, y], a if names is None else names[a], name_of(space, y))
    return MatrixCosts.of(matrix)


def _require_shape(shape: tuple[int, ...], space: ClassSpace, names: tuple[Any, ...] | None) -> None:
    if space.per_case or len(shape) != 2 or shape[1] != space.size:
        sizes = show_size(space.size)
        problem = f"costs have shape {shape}, the lists are over {sizes} classes."
        raise ShapeError(problem, "A matrix has a row per action and a column per class; a CostTable fits any space.")
    if names is None and shape[0] != space.size:
        raise ShapeError(f"{shape[0]} rows for {space.size} classes.", "Name the actions: actions=[...].")
    if names is not None and shape[0] != len(names):
        raise ShapeError(f"{shape[0]} rows for {len(names)} actions.", "A row each.")


def _from_function(
    cost: Callable[[Any, Any], float], space: ClassSpace, names: tuple[Any, ...] | None, unlisted: Any
) -> Costs:
    count = space.size if names is None else len(names)
    if unlisted is None:
        # a function cannot be called with a label that is not known
        known = isinstance(space, LabelSets) or space.labels is None or space.complete
        if space.per_case or not known or count * space.size > ASKED:
            raise TopListError(
                f"a function cannot be asked for all of {show_size(space.size)} classes. Say what classes that are "
                "not listed cost, unlisted=(least, mean, most), or give a CostTable."
            )
        outcomes = [name_of(space, code) for code in range(space.size)]
        rows = outcomes if names is None else names
        return MatrixCosts.of(np.array([[as_cost(cost(a, y), a, y) for y in outcomes] for a in rows]))

    def triple(action: Any) -> tuple[float, float, float]:
        value = unlisted(action) if callable(unlisted) else unlisted
        three = tuple(value) if isinstance(value, Iterable) else (value,) * 3
        if len(three) != 3:
            raise TopListError(f"unlisted is a number or (least, mean, most), not {value!r}.")
        low, mean, high = (as_cost(x, action, "an unlisted class") for x in three)
        if not low <= mean <= high:
            raise TopListError(f"unlisted is (least, mean, most) in this order, not {value!r}.")
        return low, mean, high

    return CalledCosts(cost, triple, names)


def _from_table(table: CostTable, space: ClassSpace, names: tuple[Any, ...] | None) -> Costs:
    rows: dict[int, dict[int, float]] = {} if names is None else {place: {} for place in range(len(names))}
    place_of = {} if names is None else {name: place for place, name in enumerate(names)}
    for (action, outcome), cost in table.entries.items():
        if names is None:
            row = _code(action, space, "action")
        elif action in place_of:
            row = place_of[action]
        else:
            raise TopListError(f"the table has costs of {action!r}, which is not among the actions.")
        rows.setdefault(row, {})[_code(outcome, space, "outcome")] = cost
    own = {row: row if names is None else _class_or_none(names[row], space) for row in rows}
    for row, code in own.items():
        if code >= 0:
            rows[row].setdefault(code, table.right)
    return _table(rows, own, table.default, table.right, named=names is not None)


def _from_sparse(matrix: Any, space: ClassSpace, names: tuple[Any, ...] | None) -> Costs:
    _require_shape(matrix.shape, space, names)
    matrix.sum_duplicates()
    filled = np.flatnonzero(np.diff(matrix.indptr))
    empty = np.flatnonzero(np.diff(matrix.indptr) == 0)[:1]  # all alike: one stands for them
    rows: dict[int, dict[int, float]] = {}
    for row in np.sort(np.concatenate([filled, empty])).tolist():
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        rows[row] = {int(y): as_cost(c, row, int(y)) for y, c in zip(matrix.indices[at], matrix.data[at], strict=True)}
    return _table(rows, dict.fromkeys(rows, UNLISTED), 0.0, 0.0, named=True)


def _table(
    rows: Mapping[int, Mapping[int, float]], own: Mapping[int, int], default: float, right: float, *, named: bool
) -> TableCosts:
    return TableCosts(
        actions=np.array(list(rows), np.int64),
        is_class=np.array([own[row] for row in rows], np.int64),
        offsets=np.cumsum([0, *(len(row) for row in rows.values())], dtype=np.int64),
        classes=np.array([y for row in rows.values() for y in row], np.int64),
        values=np.array([cost for row in rows.values() for cost in row.values()], np.float64),
        default=default,
        right=right,
        named=named,
    )


def _code(name: Any, space: ClassSpace, what: str) -> int:
    code = _class_or_none(name, space)
    if code < 0:
        remedy = "Name the actions: actions=[...]." if what == "action" else space.suggest(name)
        raise TopListError(f"the {what} {name!r} of the table is not a class of {space!r}. {remedy}".rstrip())
    return code


def _class_or_none(name: Any, space: ClassSpace) -> int:
    """The code of a class, or -1."""
    if isinstance(space, LabelSets):
        is_set = isinstance(name, set | frozenset | tuple | list)
        return int(space.encode([tuple(name)])[0]) if is_set else UNLISTED
    if space.labels is not None and name in space.codes:
        return space.codes[name]
    whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
    plain = whole and space.labels is None and 0 <= name < np.max(space.size)
    return int(name) if plain else UNLISTED


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SetDecisions:
    """One set of classes per case.

    Attributes
    ----------
    lists : TopLists
        Lists cut to the set; whole lists where the set is the whole space.
    whole : ndarray of bool
        Where the best set is the whole space.
    expected : ndarray
        price * size + miss * probability that the outcome is not in the set.
    sure : ndarray of bool
        Whether no other set costs less, wherever the rest mass is.
    price, miss : float
        The costs.
    """

    lists: TopLists
    whole: Bools
    expected: Floats
    sure: Bools
    price: float
    miss: float

    def __repr__(self) -> str:
        if not len(self.lists):
            return "SetDecisions(0 cases)"
        some = self.lists.sizes[~self.whole]
        size = f", {some.mean():.3g} classes on average elsewhere" if len(some) else ""
        return f"SetDecisions({len(self.lists):,} cases, {int(self.whole.sum()):,} the whole space{size})"


def decide_sets(lists: Any, price: float, *, miss: float = 1.0, space: Any = None) -> SetDecisions:
    r"""The set A of least expected cost, :math:`price \cdot |A| + miss \cdot P(y \notin A)`.

    This elicits the classes :math:`\{p > price/miss\}`, which need not have any given mass; for sets that cover see
    `Conformal`. Where the share of each unlisted class is above price/miss, the set is the whole space.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    price, miss : float
        The cost of a class in the set, and that of a miss, 1 by default.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    SetDecisions
        One set per case, with its expected cost.

    Examples
    --------
    >>> decide_sets([{"a": 0.6, "b": 0.3, "c": 0.05}], 0.1, space=10).lists[0]
    TopList(a 0.6, b 0.3; unlisted 0.1 over 8 classes)
    """
    price = as_number(price, "the price of a class", 0, np.inf)
    miss = as_number(miss, "the cost of a miss", 0, np.inf)
    if not np.isfinite(price) or not 0 < miss < np.inf:
        raise TopListError("the price of a class is a finite number, and the cost of a miss one above zero.")
    plain = as_lists(lists, space).strictly_valid().ordered()
    size = plain.checked.rows.size + np.zeros(len(plain))
    left = size - plain.sizes
    whole = (left > 0) & ((plain.proxy * miss > price) | ((price == 0) & (plain.rest > 0)))  # shares may underflow
    counts = np.where(whole, plain.sizes, first_where(plain.normalized_confidences * miss <= price, plain))
    cut = keep_first(plain, counts)
    with np.errstate(invalid="ignore"):
        expected = np.where(whole, price * size if price else 0.0, price * cut.sizes + miss * cut.rest)
    sure = np.where((left > 1) & (price > 0), ~whole & (plain.rest * miss <= price), True)
    return SetDecisions(cut, whole, expected, sure, price, miss)
