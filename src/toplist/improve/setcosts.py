"""Sets as decisions: each class in the set has a price, and so has a miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_number
from toplist.errors import TopListError
from toplist.improve.cutting import first_where, keep_first
from toplist.lists import TopLists, require_lists

Floats = NDArray[np.float64]


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
