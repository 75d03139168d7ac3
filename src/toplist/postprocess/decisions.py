"""Decisions: the action of least expected cost under a list, and the reject option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from toplist._typing import Bools, Codes, Floats
from toplist.core.arguments import as_floats, as_number, as_tuple
from toplist.errors import ShapeError, TopListError
from toplist.lists import as_lists
from toplist.lists.space import ClassSpace, show_size

REJECT = -1
_CELLS = 1 << 20  # costs that are held at once


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Decisions:
    """One action per case, and its expected cost under the list.

    Attributes
    ----------
    code : ndarray of int
        The row of the action in the matrix of costs; -1 where the decision is to reject.
    expected : ndarray
        The expected cost of the action.
    space : ClassSpace
        The classes.
    names : tuple or None
        The names of the actions; None where they are the classes.
    """

    code: Codes
    expected: Floats
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
        """The chosen actions by name; None where the decision is to reject."""
        name = self.space.decode if self.names is None else self.names.__getitem__
        return tuple(None if code == REJECT else name(code) for code in self.code.tolist())

    def __repr__(self) -> str:
        mean = f", mean expected cost {self.expected.mean():.6g}" if len(self) else ""
        return f"Decisions({len(self):,} cases, {int(self.rejected.sum()):,} rejected{mean})"


def decide(lists: Any, costs: Any, *, actions: Any = None, reject: float | None = None, space: Any = None) -> Decisions:
    """The action of least expected cost in each case.

    The expected cost is that of the padded distribution, which spreads the rest mass evenly over the unlisted classes;
    of an invalid list, that of its largest valid sublist. Among equals the first action wins, and any action before
    rejecting.

    Parameters
    ----------
    lists : TopLists or anything that `toplist.as_lists` takes
        The predictions.
    costs : array of shape (actions, classes)
        What each action costs for each class that may happen.
    actions : sequence, optional
        The names of the actions; by default they are the classes.
    reject : float, optional
        The cost of deciding nothing (Chow's rule); None never rejects.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    Decisions
        One action per case, with its expected cost.

    Examples
    --------
    >>> import toplist as tl
    >>> space = tl.ClassSpace(labels=["benign", "malign", "unclear"])
    >>> scans = [{"benign": 0.95}, {"benign": 0.7, "malign": 0.2}]
    >>> decide(scans, [[0, 20, 5], [2, 0, 2]], actions=["wait", "operate"], reject=1.5, space=space).actions
    ('wait', None)
    """
    valid = as_lists(lists, space).strictly_valid()
    names = None if actions is None else as_tuple(actions, "actions", TopListError)
    matrix = _as_matrix(costs, valid.space, names)
    if reject is not None and not np.isfinite(as_number(reject, "the cost to reject", -np.inf, np.inf)):
        raise TopListError(f"the cost to reject is a finite number, not {reject}; None never rejects.")
    code, expected = np.zeros(len(valid), np.int64), np.zeros(len(valid))
    step = max(1, _CELLS // len(matrix))
    for start in range(0, len(valid), step):
        part, here = valid[start : start + step], slice(start, start + step)
        above = part.normalized_confidences - np.repeat(part.proxy, part.sizes)  # of the share that all classes have
        listed = csr_array((above, part.classes, part.offsets), shape=(len(part), matrix.shape[1]))
        cost = listed @ matrix.T + part.proxy[:, None] * matrix.sum(axis=1)
        code[here], expected[here] = cost.argmin(axis=1), cost.min(axis=1)
    if reject is not None:
        code, expected = np.where(expected > reject, REJECT, code), np.minimum(expected, reject)
    return Decisions(code, expected, valid.space, names)


def _as_matrix(costs: Any, space: ClassSpace, names: tuple[Any, ...] | None) -> Floats:
    """A finite cost for every action and class."""
    if names is not None and (not names or len(set(names)) < len(names)):
        raise TopListError("actions are at least one, each named once.")
    matrix = as_floats(costs, "costs").astype(np.float64, copy=False)
    if space.per_case or matrix.ndim != 2 or matrix.shape[1] != space.size:
        problem = f"costs have shape {matrix.shape}, the lists are over {show_size(space.size)} classes."
        raise ShapeError(problem, "A matrix has a row per action and a column per class.")
    rows, known = len(matrix), space.size if names is None else len(names)
    if rows != known:
        what = "classes" if names is None else "actions"
        raise ShapeError(f"{rows} rows for {known} {what}.", "Name the actions, actions=[...], one for each row.")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0].tolist()
        action = space.decode(row) if names is None else names[row]
        problem = f"the cost of {action!r} when {space.decode(column)!r} happens is {matrix[row, column]}."
        raise TopListError(f"{problem} Costs are finite numbers; give what must not happen a large one.")
    return matrix
