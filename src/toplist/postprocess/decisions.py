"""Decisions: the action of least expected cost, what it may cost at worst, and when to decide nothing.

Sets as decisions: each class in the set has a price, and so has a miss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_floats, as_number, as_tuple
from toplist._typing import Floats
from toplist.errors import ShapeError, TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import UNLISTED, ClassSpace, show_size
from toplist.lists.truncate import first_where, keep_first
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

ASKED = 1 << 18  # cells of a table that a function is asked for


class Special(Enum):
    """Actions that are no class."""

    OTHER = "any class that is neither listed nor in the table"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs by (action, outcome), for any number of classes: exceptions, and two numbers for everything else.

    A pair that is not in the table costs `right` if the action is the outcome, and `default` if it is not. So the empty
    table is the zero-one loss.

    >>> CostTable({("leave", "fire"): 100.0}, default=1.0).default
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


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Decisions:
    """One action per case, and what it costs if the list is believed."""

    code: NDArray[np.int64]  # class code, place among the named actions, -1 for any other class, -2 for reject
    expected: Floats  # with the rest mass spread over the unlisted classes
    low: Floats  # with all of it on the unlisted class that is cheapest for this action
    high: Floats  # on the dearest
    sure: NDArray[np.bool_]  # it costs no more at most than any other at least: none is better, wherever the rest is
    space: ClassSpace
    names: tuple[Any, ...] | None  # of the actions; None where they are the classes

    def __len__(self) -> int:
        return len(self.code)

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Where nothing is decided."""
        rejected: NDArray[np.bool_] = self.code == REJECT
        return rejected

    @property
    def actions(self) -> tuple[Any, ...]:
        """The chosen actions by name; `Special.REJECT` and `Special.OTHER` are no class."""
        special: dict[int, Any] = {OTHER: Special.OTHER, REJECT: Special.REJECT}
        names = self.names

        def name(code: int) -> Any:
            if code in special:
                return special[code]
            return name_of(self.space, code) if names is None else names[code]

        return tuple(name(int(code)) for code in self.code)

    def __repr__(self) -> str:
        if not len(self):
            return "Decisions(0 cases)"
        sure, gone = int(self.sure.sum()), int(self.rejected.sum())
        mean = f"mean expected cost {self.expected.mean():.6g} ({self.low.mean():.6g} to {self.high.mean():.6g})"
        return f"Decisions({len(self):,} cases, {gone:,} rejected, {sure:,} sure, {mean})"


def decide(
    lists: TopLists, costs: Any, *, actions: Any = None, reject: float | None = None, unlisted: Any = None
) -> Decisions:
    """The action of least expected cost in each case, and whether it is surely best, wherever the rest mass may be.

    `costs` are an array (actions, classes); a mapping {(action, outcome): cost} or `CostTable`, where what is not in it
    costs 0 if right and 1 if not; a sparse matrix, where it costs 0; or a function cost(action, outcome). Actions
    are the classes unless they are named. `reject` is what deciding nothing costs (Chow's rule).

    The expected cost is that of the padded distribution; of an invalid list, of its largest valid sublist. `low` and
    `high` are exact over all distributions with the same listed confidences; a decision is `sure` if no other action
    can cost less than it may cost at most. A function is asked for every action and class if there are at most 2**18
    pairs. Beyond, only listed classes are asked for and, unless named, are the only actions, and `unlisted` says what a
    class that is not listed costs: a number, (least, mean, most), or a function of the action that gives one of these.
    Among equals the action given first wins, a listed class before an unlisted one, and any action before rejecting.

    >>> import toplist as tl
    >>> space = tl.ClassSpace(labels=["benign", "malign", "unclear"])
    >>> lists = tl.TopLists.from_dicts([{"benign": 0.95}, {"benign": 0.7, "malign": 0.2}], space)
    >>> decide(lists, [[0, 20, 5], [2, 0, 2]], actions=["wait", "operate"], reject=1.5).actions
    ('wait', <Special.REJECT: 'reject'>)
    """
    require_lists(lists)
    names = None if actions is None else as_tuple(actions, "actions", TopListError)
    if names is not None and (not names or len(set(names)) < len(names)):
        raise TopListError("actions are at least one, each named once.")
    price = None if reject is None else as_number(reject, "the cost to reject", -np.inf, np.inf)
    if price is not None and not np.isfinite(price):
        raise TopListError(f"the cost to reject is a finite number, not {price}; None never rejects.")
    table = _as_costs(costs, lists.space, names, unlisted)
    plain = lists.strictly_valid()
    parts, step = [_empty()], max(1, CELLS // table.width)
    for lo in range(0, len(plain), step):
        part = plain[lo : lo + step]
        charges = table.charge(part, lo)
        if price is not None:
            charges = ActionCosts.join(charges, ActionCosts.same(len(part), REJECT, price))
        require_candidates(charges, lo)
        parts.append(_least(charges))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    code, expected, low, high, sure = columns
    return Decisions(code, expected, low, high, sure, lists.space, names)


def _empty() -> tuple[NDArray[Any], ...]:
    return np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, bool)


def _least(charges: ActionCosts) -> tuple[NDArray[Any], ...]:
    """The first action of least expected cost."""
    at = charges.expected.argmin(axis=1)[:, None]
    code, expected, low, high = (
        np.take_along_axis(x, at, axis=1)[:, 0] for x in (charges.code, charges.expected, charges.low, charges.high)
    )
    others = charges.low.copy()
    np.put_along_axis(others, at, np.inf, axis=1)
    return code, expected, low, high, high <= others.min(axis=1)


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
        # a label that is not known cannot be handed to a function
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
    """One set of classes per case."""

    lists: TopLists  # cut to the set; whole lists where the set is the whole space
    whole: NDArray[np.bool_]  # where the best set is the whole space
    expected: Floats  # price * size + miss * chance that the outcome is not in the set
    sure: NDArray[np.bool_]  # no other set costs less, wherever the rest mass is
    price: float
    miss: float

    def __repr__(self) -> str:
        if not len(self.lists):
            return "SetDecisions(0 cases)"
        some = self.lists.sizes[~self.whole]
        size = f", {some.mean():.3g} classes on average elsewhere" if len(some) else ""
        return f"SetDecisions({len(self.lists):,} cases, {int(self.whole.sum()):,} the whole space{size})"


def decide_sets(lists: TopLists, price: float, *, miss: float = 1.0) -> SetDecisions:
    r"""The set A of least expected cost, :math:`price \cdot |A| + miss \cdot P(y \notin A)`.

    So a set costs what its classes cost to look at, and what it costs to miss. This elicits the classes
    :math:`\{p > price/miss\}`, which need not have any given mass; for sets that cover see `Conformal`. Where each
    unlisted class is above price/miss by its share of the rest mass, the set is the whole space.

    >>> import toplist as tl
    >>> decide_sets(tl.TopLists.from_dicts([{"a": 0.6, "b": 0.3, "c": 0.05}], 10), 0.1).lists[0]
    TopList({'a': 0.6, 'b': 0.3}, rest=0.1 over 8 classes)
    """
    require_lists(lists)
    price = as_number(price, "the price of a class", 0, np.inf)
    miss = as_number(miss, "the cost of a miss", 0, np.inf)
    if not np.isfinite(price) or not 0 < miss < np.inf:
        raise TopListError("the price of a class is a finite number, and the cost of a miss one above zero.")
    plain = lists.strictly_valid().ordered()
    size = plain.admitted.rows.size + np.zeros(len(plain))
    left = size - plain.sizes
    whole = (left > 0) & ((plain.proxy * miss > price) | ((price == 0) & (plain.rest > 0)))  # shares may underflow
    counts = np.where(whole, plain.sizes, first_where(plain.normalized_confidences * miss <= price, plain))
    cut = keep_first(plain, counts)
    with np.errstate(invalid="ignore"):
        expected = np.where(whole, price * size if price else 0.0, price * cut.sizes + miss * cut.rest)
    sure = np.where((left > 1) & (price > 0), ~whole & (plain.rest * miss <= price), True)
    return SetDecisions(cut, whole, expected, sure, price, miss)
