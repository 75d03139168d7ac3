"""Costs of actions under a list: expected, and at least and at most over all distributions that agree with the list.

Three forms of costs: a matrix, a table of exceptions, a function. Each gives the costs of every action that can be best
in every case of a batch. Lists are strictly valid. The expected cost spreads the rest mass evenly over the unlisted
classes, the least puts all of it on the cheapest of them, and the most on the dearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from toplist._typing import Bools, Codes, Floats
from toplist.errors import CaseError, TopListError
from toplist.lists import TopLists
from toplist.lists.space import ClassSpace

OTHER = -1  # any one of the classes that are neither listed nor in the table
REJECT = -2
CELLS = 1 << 20


@dataclass(frozen=True, slots=True)
class ActionCosts:
    """Candidate actions of some cases, a column each, and their costs; infinite where a case has no such action."""

    code: Codes  # (cases, actions)
    cost: Floats  # (3, cases, actions): expected, least and most

    @classmethod
    def join(cls, *parts: ActionCosts) -> ActionCosts:
        """Side by side."""
        return cls(np.concatenate([p.code for p in parts], axis=1), np.concatenate([p.cost for p in parts], axis=2))

    @classmethod
    def constant(cls, cases: int, code: int, cost: float) -> ActionCosts:
        """An action that always costs the same."""
        return cls(np.full((cases, 1), code), np.full((3, cases, 1), cost))


class Costs(Protocol):
    """What decisions need from costs."""

    @property
    def width(self) -> int:
        """The number of cells that one case takes."""
        ...

    def of_actions(self, lists: TopLists) -> ActionCosts:
        """The costs of the candidates in each case."""
        ...

    def most_above(self, lists: TopLists, a: Codes, b: Codes) -> Floats:
        """By how much an action of each case may cost more than another, wherever the rest is; infinite if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class MatrixCosts:
    """A cost for every action and class."""

    matrix: Floats  # (actions, classes)
    rising: NDArray[np.intp]  # the classes of each action, cheapest first

    @classmethod
    def of(cls, matrix: Floats) -> MatrixCosts:
        """Sorted once, for all cases."""
        return cls(matrix, np.argsort(matrix, axis=1, kind="stable"))

    @property
    def width(self) -> int:
        """See `Costs`."""
        return 4 * len(self.matrix) + int(self.matrix.shape[1])

    def of_actions(self, lists: TopLists) -> ActionCosts:
        """See `Costs`. The cheapest unlisted class is the first in order that is not listed: O(k) per action."""
        n, (count, m) = len(lists), self.matrix.shape
        listed = np.zeros((n, m), dtype=bool)
        listed[np.repeat(np.arange(n), lists.sizes), lists.classes] = True
        known, inside = (
            csr_array((values, lists.classes, lists.offsets), shape=(n, m)) @ self.matrix.T
            for values in (lists.normalized_confidences, np.ones(len(lists.classes)))
        )
        expected = known + lists.proxy[:, None] * (self.matrix.sum(axis=1) - inside)
        rest = lists.rest[:, None]
        open_ = (lists.rest > 0) & (lists.sizes < m)
        low, high = known.copy(), known.copy()
        low[open_] += rest[open_] * self._first_unlisted(listed[open_], self.rising)
        high[open_] += rest[open_] * self._first_unlisted(listed[open_], self.rising[:, ::-1])
        return ActionCosts(np.tile(np.arange(count), (n, 1)), np.stack([expected, low, high]))

    def most_above(self, lists: TopLists, a: Codes, b: Codes) -> Floats:
        """See `Costs`."""
        m = self.matrix.shape[1]
        return _most_above(lists, self.matrix, np.arange(m), lists.sizes < m, a, b)

    def _first_unlisted(self, listed: Bools, order: NDArray[np.intp]) -> Floats:
        """The cost of the first class in order that is not listed, as (cases, actions)."""
        depth = np.zeros((len(listed), len(order)), dtype=np.intp)
        case, action = (x.ravel() for x in np.indices(depth.shape))
        while len(case):
            hit = listed[case, order[action, depth[case, action]]]
            case, action = case[hit], action[hit]
            depth[case, action] += 1
        every = np.arange(len(order))
        costs: Floats = self.matrix[every, order[every, depth]]
        return costs


@dataclass(frozen=True, slots=True)
class TableCosts:
    """Costs of exceptions, by action and class, and of everything else: `right` if the action is the class, `default`.

    Without `named` actions all classes are actions. Of those that are not in the table only the best listed one
    can be best, or any one of the unlisted ones, which are all alike.
    """

    actions: Codes  # codes in results: those of classes, or places among named actions
    is_class: Codes  # the class that each action is, or -1
    offsets: Codes  # where the exceptions of each action begin
    classes: Codes  # of each exception
    values: Floats
    default: float
    right: float
    named: bool

    @property
    def width(self) -> int:
        """See `Costs`."""
        return len(self.classes) + len(self.actions) + 4

    def of_actions(self, lists: TopLists) -> ActionCosts:
        """See `Costs`."""
        tabled = self._tabled(lists)
        return tabled if self.named else ActionCosts.join(self._listed(lists), tabled, self._others(lists))

    def most_above(self, lists: TopLists, a: Codes, b: Codes) -> Floats:
        """See `Costs`; known for two actions of the table, of which all other classes cost the default."""
        columns, at = np.unique(self.classes, return_inverse=True)
        matrix = np.full((len(self.actions), len(columns) + 1), self.default)
        matrix[np.repeat(np.arange(len(self.actions)), np.diff(self.offsets)), at] = self.values
        known, found = np.isin(a, self.actions) & np.isin(b, self.actions), np.full(len(lists), np.inf)
        if known.any():
            part, order = lists[np.flatnonzero(known)], np.argsort(self.actions)
            rows = [order[np.searchsorted(self.actions[order], x[known])] for x in (a, b)]
            size = part.checked.rows.size + np.zeros(len(part))
            free = ~_looked_up(part, columns)[1] & (columns < size[:, None])
            other = size - part.sizes > free.sum(axis=1)  # there is an unlisted class that is not in the table
            found[known] = _most_above(part, matrix, columns, other, *rows)
        return found

    def _tabled(self, lists: TopLists) -> ActionCosts:
        n, size = len(lists), lists.checked.rows.size + np.zeros(len(lists))
        columns, at = np.unique(self.classes, return_inverse=True)
        t, listed = _looked_up(lists, columns)
        exists = (columns < size[:, None])[:, at]
        t, free = t[:, at], ~listed[:, at] & exists
        known = self.default * lists.mass[:, None] + self._sums(t * (self.values - self.default))
        rest, proxy = lists.rest[:, None], lists.proxy[:, None]
        expected = known + rest * self.default + proxy * self._sums(np.where(free, self.values - self.default, 0.0))
        usual = (size - lists.sizes)[:, None] > self._sums(
            free.astype(np.float64)
        )  # an unlisted class costs the default
        low, high = (
            known
            + _times(rest, self._reduced(which, np.where(free, self.values, none), np.where(usual, self.default, none)))
            for which, none in ((np.minimum, np.inf), (np.maximum, -np.inf))
        )
        gone = self.is_class >= size[:, None]  # where the number of classes differs, some are not there
        return ActionCosts(np.tile(self.actions, (n, 1)), np.where(gone, np.inf, np.stack([expected, low, high])))

    def _listed(self, lists: TopLists) -> ActionCosts:
        """The best of the listed classes that are not in the table; its cost does not depend on the rest."""
        cost = self.default + (self.right - self.default) * lists.normalized_confidences
        cost[np.isin(lists.classes, self.is_class)] = np.inf
        code, value = np.full(len(lists), OTHER), np.full(len(lists), np.inf)
        order = np.lexsort((cost, np.repeat(np.arange(len(lists)), lists.sizes)))
        filled = lists.sizes > 0
        first = order[lists.offsets[:-1][filled]]
        code[filled], value[filled] = lists.classes[first], cost[first]
        return ActionCosts(code[:, None], np.tile(value[:, None], (3, 1, 1)))

    def _others(self, lists: TopLists) -> ActionCosts:
        """Any one of the other classes, twice if there are two: one alone may be sure, of two neither."""
        size = lists.checked.rows.size + np.zeros(len(lists))
        tabled = np.unique(self.is_class[self.is_class >= 0])
        _, listed = _looked_up(lists, tabled)
        count = size - lists.sizes - (~listed & (tabled < size[:, None])).sum(axis=1)
        off = self.right - self.default
        expected = self.default + off * lists.proxy
        ends = np.stack([self.default + off * lists.rest, np.full(len(lists), self.default)])
        ends = np.where(size - lists.sizes > 1, ends, expected)
        one = np.stack([expected, ends.min(axis=0), ends.max(axis=0)])
        return ActionCosts(
            np.full((len(lists), 2), OTHER), np.where(count[:, None] >= np.array([1, 2]), one[:, :, None], np.inf)
        )

    def _sums(self, values: Floats) -> Floats:
        return self._reduced(np.add, values, np.zeros((len(values), len(self.actions))))

    def _reduced(self, which: np.ufunc, values: Floats, start: Floats) -> Floats:
        """Values of the exceptions brought together by action."""
        filled = np.flatnonzero(np.diff(self.offsets))
        if len(filled):
            start[:, filled] = which(start[:, filled], which.reduceat(values, self.offsets[filled], axis=1))
        return start


@dataclass(frozen=True, slots=True)
class CalledCosts:
    """A function of action and class, which is called for listed classes only, as there are many."""

    cost: Callable[[Any, Any], float]
    unlisted: Callable[[Any], tuple[float, float, float]]  # least, mean and most that an unlisted class costs
    names: tuple[Any, ...] | None

    @property
    def width(self) -> int:
        """See `Costs`."""
        return 64

    def of_actions(self, lists: TopLists) -> ActionCosts:
        """See `Costs`. Without names the candidates are the listed classes."""
        count = int(lists.sizes.max(initial=0)) if self.names is None else len(self.names)
        code = np.full((len(lists), count), OTHER)
        table = np.full((3, len(lists), count), np.inf)
        space, t, rest = lists.space, lists.normalized_confidences, lists.rest
        asked: dict[Any, float] = {}
        for case in range(len(lists)):
            here = slice(lists.offsets[case], lists.offsets[case + 1])
            outcomes = [name_of(space, int(c)) for c in lists.classes[here]]
            actions = outcomes if self.names is None else self.names
            code[case, : len(actions)] = lists.classes[here] if self.names is None else np.arange(count)
            for place, action in enumerate(actions):
                known = 0.0
                for outcome, x in zip(outcomes, t[here], strict=True):
                    key = (action, outcome)
                    if key not in asked:
                        asked[key] = as_cost(self.cost(action, outcome), action, outcome)
                    known += x * asked[key]
                low, mean, high = self.unlisted(action) if rest[case] > 0 else (0.0, 0.0, 0.0)
                table[:, case, place] = known + rest[case] * np.array([mean, low, high])
        return ActionCosts(code, table)

    def most_above(self, lists: TopLists, a: Codes, b: Codes) -> Floats:
        """See `Costs`: of unlisted classes no more than the bounds are known."""
        return np.full(len(lists), np.inf)


def _most_above(lists: TopLists, matrix: Floats, columns: Codes, other: Bools, a: Codes, b: Codes) -> Floats:
    """The largest difference of the costs of two rows, over the places of the rest: classes of columns, and others.

    Classes beyond the columns have the costs of one more column, if the matrix has it; `other`: is one unlisted?
    """
    out, step, width = np.empty(len(lists)), max(1, CELLS // matrix.shape[1]), len(columns)
    for lo in range(0, len(lists), step):
        part, here = lists[lo : lo + step], slice(lo, lo + step)
        gap = matrix[a[here]] - matrix[b[here]]
        t, listed = _looked_up(part, columns)
        size = part.checked.rows.size + np.zeros(len(part))
        free = ~listed & (columns < size[:, None])
        known = (t * gap[:, :width]).sum(axis=1)
        if matrix.shape[1] > width:
            known += gap[:, width] * (part.mass - t.sum(axis=1))
            free = np.concatenate([free, other[here][:, None]], axis=1)
        worst = np.where(free, gap, -np.inf).max(axis=1, initial=-np.inf)
        out[here] = known + _times(part.rest, worst)
    return out


def name_of(space: ClassSpace, code: int) -> Any:
    """The label of a class, or its code; a label set as a frozen one."""
    name = space.decode(code)
    return frozenset(name) if isinstance(name, set) else name


def as_cost(value: Any, action: Any, outcome: Any) -> float:
    """A finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        remedy = "Costs are finite numbers; give what must not happen a large one."
        raise TopListError(f"the cost of {action!r} when {outcome!r} happens is {value!r}. {remedy}")
    return found


def require_candidates(actions: ActionCosts, first: int) -> None:
    """Raise for cases without an action; `first` is the number of the first case."""
    none = ~np.isfinite(actions.cost[0]).any(axis=1)
    if none.any():
        remedy = "Name the actions, actions=[...], or give the cost to reject."
        case, more = first + int(np.argmax(none)), int(none.sum()) - 1
        raise CaseError("there is no action to choose.", remedy, case=case, more=more)


def _looked_up(lists: TopLists, columns: Codes) -> tuple[Floats, Bools]:
    """Confidences of some classes, sorted by code, in each case, 0 where not listed; and whether they are listed."""
    t, listed = np.zeros((len(lists), len(columns))), np.zeros((len(lists), len(columns)), dtype=bool)
    if len(columns):
        place = np.minimum(np.searchsorted(columns, lists.classes), len(columns) - 1)
        hit = columns[place] == lists.classes
        case = np.repeat(np.arange(len(lists)), lists.sizes)[hit]
        t[case, place[hit]], listed[case, place[hit]] = lists.normalized_confidences[hit], True
    return t, listed


def _times(rest: Floats, cost: Floats) -> Floats:
    """The rest mass times a cost; zero without rest mass, also where there is no class that it could be on."""
    return np.where(rest > 0, rest * np.where(np.isfinite(cost), cost, 0.0), 0.0)
