"""The members of a pool: models' lists for the same cases, their weights, and the union of the classes they list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Codes, Floats
from toplist.core.arguments import as_vector, is_several
from toplist.errors import AlignmentError, ShapeError, SpaceError
from toplist.lists import TopLists, as_lists, log_rest
from toplist.lists.labelsets import Codebook, LabelSets
from toplist.lists.space import ClassSpace

Lists = Sequence[Any] | Mapping[str, Any]  # each of them anything that `as_lists` takes
Weights = Sequence[float] | Mapping[str, float] | None
LONGEST = 1 << 31  # no pooled list is longer
_BLOCK = 1 << 19  # listed classes that are spread out at a time


def named_lists(lists: Any, space: Any = None) -> dict[str, TopLists]:
    """The lists of several models by name, over one space and for the same cases."""
    if isinstance(lists, TopLists) or hasattr(lists, "indptr") or len(getattr(lists, "shape", (0, 0, 0))) < 3:
        raise ShapeError("one model alone is no pool.", "Give several, as [a, b] or by name.")
    if not is_several(lists) or isinstance(lists, str):
        raise ShapeError(f"expected the lists of several models, by name or one after the other, got {lists!r}.")
    given = lists if isinstance(lists, Mapping) else {f"member {at}": one for at, one in enumerate(lists, 1)}
    if len(set(map(str, given))) < len(given):
        raise ShapeError("two members have the same name.", "Name each differently.")
    if not given:
        raise ShapeError("there is nothing to pool.")
    named = {str(name): as_lists(one, space) for name, one in given.items()}
    members = list(named.values())
    first, ids = members[0], _ids(members)
    for one in members[1:]:
        if one.space != first.space:
            raise SpaceError(f"the lists are over {first.space!r} and {one.space!r}: give all the same space.")
        if len(one) != len(first):
            raise ShapeError(f"the members have {len(first):,} and {len(one):,} lists; each case needs one of each.")
        if ids is not None and one.ids is not None and not np.array_equal(ids, one.ids):
            raise AlignmentError("the members are about different cases: bring their ids into one order.")
    return named


def _ids(members: Sequence[TopLists]) -> NDArray[Any] | None:
    return next((one.ids for one in members if one.ids is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Valid lists of several models over one space; of a list that is not valid, the largest valid sublist."""

    names: tuple[str, ...]
    lists: tuple[TopLists, ...]

    @classmethod
    def of(cls, lists: Any, space: Any = None) -> Members:
        """From the lists of several models, one after the other or by name."""
        named = named_lists(lists, space)
        return cls(tuple(named), tuple(one.strictly_valid() for one in named.values()))

    def __len__(self) -> int:
        return len(self.lists)

    def __iter__(self) -> Iterator[TopLists]:
        return iter(self.lists)

    def __getitem__(self, at: Any) -> Members:
        """Some of the cases of all members."""
        return Members(self.names, tuple(one[at] for one in self.lists))

    @property
    def cases(self) -> int:
        """The number of cases."""
        return len(self.lists[0])

    @property
    def ids(self) -> NDArray[Any] | None:
        """The ids of the cases, if any member has them."""
        return _ids(self.lists)

    @property
    def space(self) -> ClassSpace:
        """The common space; where codes are digests, with the codebooks of all members."""
        first = self.lists[0].space
        if not isinstance(first, LabelSets) or not first.digests:
            return first
        spaces = [one.space for one in self.lists]
        books = [space.book for space in spaces if isinstance(space, LabelSets) and space.book is not None]
        return first.with_book(Codebook.join(books) if books else None)


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


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The classes of each case, in order of their codes; and where each member's entries are among them."""

    members: Members
    offsets: Codes
    classes: Codes
    case: Codes  # of each class
    places: tuple[NDArray[np.intp], ...]  # of each member's entries

    @classmethod
    def of(cls, members: Members) -> Union:
        """All entries by case and class, equal ones together."""
        case = np.concatenate([np.repeat(np.arange(len(one)), one.sizes) for one in members])
        code = np.concatenate([one.classes.astype(np.int64, copy=False) for one in members])
        order = np.lexsort((code, case))
        case, code = case[order], code[order]
        new = np.ones(len(case), dtype=bool)
        new[1:] = (case[1:] != case[:-1]) | (code[1:] != code[:-1])
        place = np.empty(len(order), np.intp)
        place[order] = np.cumsum(new) - 1
        ends = np.cumsum([len(one.classes) for one in members])
        counts = np.bincount(case[new], minlength=members.cases)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
        return cls(members, offsets, code[new], case[new], tuple(np.split(place, ends[:-1])))

    @property
    def counts(self) -> Codes:
        """How many classes the members of each case list together."""
        return np.diff(self.offsets)

    def values(self) -> Floats:
        """The padded confidences of every class, one row per member."""
        return self._spread([(one.proxy, one.normalized_confidences) for one in self.members])

    def logs(self) -> Floats:
        """Their logarithms, of numbers of any size."""
        return self._spread([(log_proxy(one), logs_of(one)) for one in self.members])

    def _spread(self, columns: list[tuple[Floats, Floats]]) -> Floats:
        """Of each member the number of an unlisted class by case, where it has no listed one."""
        out = np.empty((len(self.members), len(self.classes)))
        for row, (unlisted, listed), place in zip(out, columns, self.places, strict=True):
            row[:] = unlisted[self.case]
            row[place] = listed
        return out

    def shares(self) -> Floats:
        """The share of each member's rest mass on classes that no member lists, one row per member."""
        return np.stack([share_left(one, self.counts) for one in self.members])

    def log_rests(self) -> Floats:
        """For each member log((m - u) pi), the mass of the classes that none lists; u classes are listed by any."""
        out = []
        with np.errstate(divide="ignore"):
            for one in self.members:
                nothing = self.members.lists[0].checked.rows.size == self.counts
                out.append(np.where(nothing, -np.inf, log_rest(one) + np.log(share_left(one, self.counts))))
        return np.stack(out)

    def sums(self, values: Floats) -> Floats:
        """Of one number per class, over the classes of each case."""
        out = np.zeros(self.members.cases)
        filled = self.counts > 0
        if filled.any():
            out[filled] = np.add.reduceat(values, self.offsets[:-1][filled])
        return out


def unions(members: Members) -> Iterator[tuple[slice, Union]]:
    """The cases in blocks, and the union of each."""
    entries = sum(len(one.classes) for one in members)
    step = max(1, _BLOCK * members.cases // max(1, entries))
    for lo in range(0, members.cases, step):
        here = slice(lo, min(lo + step, members.cases))
        yield here, Union.of(members[here] if here.stop - lo < members.cases else members)


def share_left(one: TopLists, counts: Codes) -> Floats:
    """(m - u) / (m - k), which is one among infinitely many classes."""
    size = one.checked.rows.size
    left = size - one.sizes
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(size), (size - counts) / np.where(left > 0, left, 1.0), 1.0)


def log_proxy(one: TopLists) -> Floats:
    """The log of the share of each unlisted class, for any number of them."""
    left = one.checked.rows.size - one.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        log_left = np.where(np.isfinite(left), np.log(left), one.checked.rows.log_size)
        rest = log_rest(one)
        return np.where((left > 0) & (rest > -np.inf), rest - log_left, -np.inf)


def logs_of(one: TopLists) -> Floats:
    """The logarithms of listed confidences."""
    with np.errstate(divide="ignore"):
        plain: Floats = np.log(one.normalized_confidences)
    return plain
