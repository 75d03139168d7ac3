"""Who is pooled: predictors' lists for the same cases, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_vector, is_several
from toplist.errors import AlignmentError, ShapeError, SpaceError
from toplist.labelsets import Book, LabelSets
from toplist.lists import TopLists, require_lists
from toplist.space import ClassSpace

Floats = NDArray[np.float64]
Lists = Sequence[TopLists] | Mapping[str, TopLists]
Weights = Sequence[float] | Mapping[str, float] | None
LONGEST = 1 << 31  # no pooled list is longer


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Valid lists of several predictors over one space; of a list that is not valid, the largest valid sublist."""

    names: tuple[str, ...]
    lists: tuple[TopLists, ...]

    @classmethod
    def of(cls, lists: Any) -> Members:
        """From lists one after the other, or by name."""
        if isinstance(lists, TopLists):
            raise ShapeError("one predictor alone is no pool.", "Give several, as [a, b] or by name.")
        if not is_several(lists):
            raise ShapeError(
                f"expected the lists of several predictors, by name or one after the other, got {lists!r}."
            )
        named = lists if isinstance(lists, Mapping) else {f"member {at}": one for at, one in enumerate(lists, 1)}
        if len(set(map(str, named))) < len(named):
            raise ShapeError("two members have the same name.", "Name each differently.")
        if not named:
            raise ShapeError("there is nothing to pool.")
        members = list(named.values())
        for one in members:
            require_lists(one)
        first = members[0]
        ids = next((one.ids for one in members if one.ids is not None), None)
        for one in members[1:]:
            if one.space != first.space:
                raise SpaceError(f"the lists are over {first.space!r} and {one.space!r}: give all the same space.")
            if len(one) != len(first):
                raise ShapeError(
                    f"the members have {len(first):,} and {len(one):,} lists; each case needs one of each."
                )
            if ids is not None and one.ids is not None and not np.array_equal(ids, one.ids):
                raise AlignmentError("the members are about different cases: bring their ids into one order.")
        return cls(tuple(map(str, named)), tuple(one.strictly_valid() for one in members))

    def __len__(self) -> int:
        return len(self.lists)

    def __iter__(self) -> Iterator[TopLists]:
        return iter(self.lists)

    def __getitem__(self, at: Any) -> Members:
        """Some of the cases of all."""
        return Members(self.names, tuple(one[at] for one in self.lists))

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.lists[0])

    @property
    def ids(self) -> NDArray[Any] | None:
        """The ids of the cases, if any member knows them."""
        return next((one.ids for one in self.lists if one.ids is not None), None)

    @property
    def space(self) -> ClassSpace:
        """The space of all; where codes are digests, with the books of all."""
        first = self.lists[0].space
        if not isinstance(first, LabelSets) or not first.digests:
            return first
        spaces = [one.space for one in self.lists]
        books = [space.book for space in spaces if isinstance(space, LabelSets) and space.book is not None]
        return first.with_book(Book.join(books) if books else None)

    @property
    def in_logs(self) -> bool:
        """Whether some confidences are kept by their logarithms."""
        return any(one.log_confidences is not None for one in self.lists)


def as_weights(weights: Weights, names: Sequence[str]) -> Floats:
    """Weights that add up to one, one after the other or by the names of the members; equal ones by default."""
    count = len(names)
    if weights is None:
        return np.full(count, 1.0 / count)
    if isinstance(weights, Mapping):
        given = {str(name): weight for name, weight in weights.items()}
        odd = sorted(given.keys() ^ set(names))
        if odd:
            raise ShapeError(f"weights and members differ in {odd[0]!r}.", f"The members are {', '.join(names)}.")
        weights = [given[name] for name in names]
    w = as_vector(weights, "weights")
    if len(w) != count:
        raise ShapeError(f"{len(w)} weights for {count} members.", "One each.")
    total = float(w.sum())
    if not (w >= 0).all() or not abs(total - 1.0) <= 1e-9:
        remedy = f"Divide each by {total:g}." if (w >= 0).all() and 0 < total < np.inf else ""
        raise ShapeError(f"weights are not negative and add up to one; these add up to {total:g}.", remedy)
    return np.divide(w, total)
