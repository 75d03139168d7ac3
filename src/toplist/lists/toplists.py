"""Batches of top lists, in Arrow's layout, and operations on them: parts, ranks, joins, masses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist import _html
from toplist._text import probability
from toplist._typing import Floats
from toplist.core import flags, kernel
from toplist.core.arguments import as_count, as_number, read_only
from toplist.core.kernel import Rows
from toplist.errors import TopListError
from toplist.lists.constructors import Constructors
from toplist.lists.device import DeviceLists
from toplist.lists.space import ClassSpace, show_size
from toplist.lists.toplist import TopList
from toplist.lists.validation import CheckedColumns, row_sums

_DENSE_LIMIT = 1 << 28  # entries of a padded matrix: 2 GiB
_CASES, _RANKS = 5, 3  # that a notebook shows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TopLists(Constructors):
    """A frozen batch of top lists; made by its `from_` constructors, which check every value.

    Hard labels are lists with confidence 1, distributions list every class, a rejection is the empty list.
    Classes and confidences are shared with the source, not copied, wherever its layout allows: writing to those arrays
    afterwards changes the lists, and nothing is checked again (scores may then be NaN). Offsets are a copy, and all
    arrays that the lists return are read-only.

    Attributes
    ----------
    space : ClassSpace
        The classes.
    ids : ndarray or None
        Case ids.
    offsets, classes, confidences : ndarray
        The entries as flat columns: case i has the entries offsets[i] to offsets[i + 1].
    sizes : ndarray
        Length of each list.
    mass, rest, proxy : ndarray
        Listed mass, unlisted mass, and the share of the latter for each unlisted class.

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"cat": 0.7, "dog": 0.1}, {}], 10)
    >>> lists
    TopLists(2 cases, k from 0 to 2, 10 classes)
    >>> lists.rest
    array([0.2, 1. ])
    """

    space: ClassSpace
    ids: NDArray[Any] | None
    checked: CheckedColumns

    @classmethod
    def _of(cls, space: ClassSpace, ids: NDArray[Any] | None, checked: CheckedColumns) -> Self:
        return cls(space, ids, checked)

    def __post_init__(self) -> None:
        if self.ids is not None:
            object.__setattr__(self, "ids", read_only(self.ids))

    # What is in it

    def __len__(self) -> int:
        return len(self.checked.rows)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each case starts in `classes` and `confidences`, and the end."""
        return read_only(self.checked.rows.offsets)

    @property
    def classes(self) -> NDArray[Any]:
        """The listed classes of all cases, one after the other."""
        return read_only(self.checked.classes)

    @property
    def confidences(self) -> NDArray[Any]:
        """The listed confidences as they were given, aligned with `classes`."""
        return read_only(self.checked.rows.confidences)

    @property
    def normalized_confidences(self) -> NDArray[np.float64]:
        """The listed confidences as they are scored: masses a rounding error above one are divided out."""
        return self.checked.normalized

    @property
    def log_rest(self) -> NDArray[np.float64] | None:
        """The log of the unlisted mass, where the producer knew it better than one minus the sum."""
        log_rest = self.checked.rows.log_rest
        return None if log_rest is None else read_only(log_rest)

    @property
    def repairs(self) -> Mapping[str, int]:
        """How many cases were repaired, by the repair that was asked for."""
        return MappingProxyType(self.checked.repairs)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each case lists."""
        return self.checked.sizes

    @property
    def rest(self) -> NDArray[np.float64]:
        """The mass that each case leaves unlisted."""
        return self.checked.rest

    @property
    def mass(self) -> NDArray[np.float64]:
        """The mass that each case lists."""
        return 1.0 - self.rest

    @property
    def proxy(self) -> NDArray[np.float64]:
        """The share pi(t) of the rest mass for an unlisted class; 0 where every class is listed (paper, section 3)."""
        unlisted = self.checked.rows.size - self.sizes
        return self.rest / np.where(unlisted > 0, unlisted, np.inf)

    def padded(self) -> NDArray[np.float64]:
        """The padded distributions t~ as a dense (n, m) array, for small m (paper, eq. 6)."""
        sizes = np.unique(np.asarray(self.space.size, dtype=object))
        if len(sizes) > 1:
            raise TopListError("the number of classes differs per case: pad one list at a time, lists[i].padded().")
        m = sizes[0] if len(sizes) else 0
        if m * max(len(self), 1) > _DENSE_LIMIT:
            raise TopListError(f"{len(self):,} x {show_size(m)} is too large to spread out; scoring does not need it.")
        out = np.repeat(self.proxy[:, None], m, axis=1)
        case = np.repeat(np.arange(len(self)), self.sizes)
        out[case, self.classes] = self.normalized_confidences
        return out

    # Validity

    def is_valid(self) -> NDArray[np.bool_]:
        """Per case: is no listed confidence below the proxy by more than the rounding of the input explains?"""
        valid: NDArray[np.bool_] = (self.checked.flags & flags.INVALID) == 0
        return valid

    def valid(self) -> TopLists:
        """The largest valid sublists t' (paper, section 3); valid lists stay as they are."""
        return self._with(self.checked.valid(flags.INVALID)) if self.checked.any(flags.INVALID) else self

    def repair(self) -> TopLists:
        """Valid lists on the same classes with the same padded distributions as `valid()`: k is kept."""
        return self._with(self.checked.repaired(flags.INVALID)) if self.checked.any(flags.INVALID) else self

    def strictly_valid(self) -> TopLists:
        """The largest sublists that are valid without any tolerance: what is scored."""
        return self._with(self.checked.valid(flags.BELOW)) if self.checked.any(flags.BELOW) else self

    def as_distributions(self) -> TopLists:
        """The same, standing for their padded distributions, valid or not: no sublist is taken."""
        return self._with(replace(self.checked, flags=self.checked.flags & np.uint16(flags.KNOWN_REST)))

    def _with(self, checked: CheckedColumns) -> Self:
        return self._of(self.space, self.ids, checked)

    # Selection

    def truncate(self, k: int | None = None, *, mass: float | None = None) -> Self:
        """The k most confident classes of each case, or as many as it takes to list `mass`; largest first.

        What is cut off joins the rest mass exactly. Ties go to the class that stands first.

        Parameters
        ----------
        k : int, optional
            Number of classes to keep.
        mass : float, optional
            Mass to reach.

        Returns
        -------
        TopLists
            The shorter lists.

        Examples
        --------
        >>> TopLists.from_proba([[0.2, 0.5, 0.3]]).truncate(mass=0.7)[0]
        TopList(1 0.5, 2 0.3; unlisted 0.2 over 1 class)
        """
        if (k is None) == (mass is None):
            raise TopListError("truncate to k classes or to a mass: give one of the two.")
        if k is not None:
            return self._with(self.checked.first(as_count(k)))
        return self._with(self.checked.reaching(as_number(mass, "mass", 0, 1)))

    def ordered(self) -> TopLists:
        """The same lists, the most confident class first; ties keep their order."""
        return self._with(self.checked.ordered())

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int | np.integer):
            case = int(at) + (len(self) if at < 0 else 0)
            if not 0 <= case < len(self):
                raise IndexError(f"case {at} of {len(self)}")
            return TopList.of(self[case : case + 1])
        if isinstance(at, slice) and at.step in (None, 1):
            lo, hi, _ = at.indices(len(self))
            return self._part(self.checked.between(lo, max(lo, hi)), slice(lo, max(lo, hi)))
        where = np.arange(len(self))[at if isinstance(at, slice) else np.asarray(at, dtype=_index_type(at))]
        return self._part(self.checked.at(where), where)

    def _part(self, checked: CheckedColumns, at: Any) -> TopLists:
        return TopLists(self.space.take(at), None if self.ids is None else self.ids[at], checked)

    def __iter__(self) -> Iterator[TopList]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopLists):
            return NotImplemented
        if self.space != other.space or not np.array_equal(self.offsets, other.offsets):
            return False
        return all(map(np.array_equal, self._by_class(), other._by_class()))

    __hash__ = None  # type: ignore[assignment]

    def _by_class(self) -> tuple[NDArray[Any], ...]:
        order = np.lexsort((self.classes, np.repeat(np.arange(len(self)), self.sizes)))
        return self.classes[order], self.normalized_confidences[order]

    def __repr__(self) -> str:
        sizes = self.sizes
        n = f"{len(self):,} case{'' if len(self) == 1 else 's'}"
        low, high = (int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0)
        k = f"k = {low}" if low == high else f"k from {low} to {high}"
        wrong = int(np.count_nonzero(~self.is_valid()))
        classes = f"{show_size(self.space.size)} classes"
        return f"TopLists({n}, {k}, {classes}{f', {wrong:,} invalid' if wrong else ''})"

    def _repr_html_(self) -> str:
        shown = self[:_CASES]
        ids = range(len(shown)) if shown.ids is None else shown.ids.tolist()
        most = min(_RANKS, int(shown.sizes.max(initial=0)))
        heads = [_html.TableHead("case", heading=True), *(_html.TableHead(f"rank {i + 1}") for i in range(most))]
        heads += [_html.TableHead("listed", number=True), _html.TableHead("unlisted", number=True)]
        rows = [
            (_html.name(case), *one.in_cells(most), f"{len(one):,}", probability(one.rest))
            for case, one in zip(ids, shown, strict=True)
        ]
        more = f"and {len(self) - len(shown):,} more cases"
        return _html.fragment(
            _html.paragraph(repr(self)),
            *([_html.table(heads, rows)] if rows else []),
            *([_html.paragraph(more, "muted")] if len(self) > len(shown) else []),
        )


def _index_type(at: Any) -> Any:
    kind = np.asarray(at).dtype.kind
    if kind not in "iub" and np.size(at):
        raise IndexError("cases are selected by number, slice, mask, or an array of numbers.")
    return np.bool_ if kind == "b" else np.intp


def require_lists(lists: Any) -> None:
    """Raise if these are not lists, with the ways to make some."""
    if isinstance(lists, DeviceLists):
        raise TopListError("this works on lists in memory, not on a device: make them from numpy arrays.")
    if not isinstance(lists, TopLists):
        got = "nothing" if lists is None else type(lists).__name__
        raise TopListError(
            f"expected TopLists, got {got}. Make them with TopLists.from_proba (distributions), from_topk (lists), "
            "from_labels (hard predictions) or from_dicts."
        )


def keep_first(lists: TopLists, counts: Any) -> TopLists:
    """The first `counts[i]` classes of each list, in the order they stand in."""
    return keep_entries(lists, ranks_in(lists) < np.repeat(np.asarray(counts), lists.sizes))


def keep_entries(lists: TopLists, keep: NDArray[np.bool_]) -> TopLists:
    """Some of the entries, in the order they stand in; what is left out joins the rest mass exactly."""
    return lists if keep.all() else replace(lists, checked=lists.checked._keep(keep))


def mass_before(lists: TopLists) -> Floats:
    """For each entry the mass of the entries before it."""
    t = lists.normalized_confidences
    out = np.empty(len(t))
    for where in rectangles(lists):
        out[where] = np.cumsum(t[where], axis=1) - t[where]
    return out


def mass_from(lists: TopLists) -> Floats:
    """For each entry its own mass and all that comes after it, the rest mass too, summed from the back."""
    t, rest, case = lists.normalized_confidences, lists.rest, np.repeat(np.arange(len(lists)), lists.sizes)
    out = np.empty(len(t))
    for where in rectangles(lists):
        out[where] = np.cumsum(t[where][:, ::-1], axis=1)[:, ::-1] + rest[case[where]]
    return out


def first_where(mask: NDArray[np.bool_], lists: TopLists) -> NDArray[np.int64]:
    """Per case the place of the first entry with a mark; the length of the list if there is none."""
    out = lists.sizes.copy()
    at = np.flatnonzero(mask)[::-1]  # later assignments win: the first mark of a case stands
    out[np.repeat(np.arange(len(lists)), lists.sizes)[at]] = ranks_in(lists)[at]
    return out


def rectangles(lists: TopLists) -> list[NDArray[np.int64]]:
    """Where the entries of lists of one length stand, for each length but zero."""
    groups = kernel.by_length(lists.checked.rows)
    return [lists.offsets[at][:, None] + np.arange(k) for at, part in groups if (k := part.confidences.shape[1])]


def ranks_in(lists: TopLists) -> NDArray[np.int64]:
    """The place of each entry in its list, from 0: its rank, where lists begin with the most confident class."""
    ranks: NDArray[np.int64] = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], lists.sizes)
    return ranks


def join(parts: Sequence[TopLists], classes: Sequence[NDArray[Any]], space: ClassSpace) -> TopLists:
    """The cases of all parts, one after the other; `classes` are the codes that those of each part have in the space.

    A rest mass that a part knows by its logarithm only is known so afterwards.

    >>> a, b = TopLists.from_dicts([{"x": 0.7}], 3), TopLists.from_dicts([{"y": 0.5, "x": 0.4}], 3)
    >>> join([a, b], [a.classes, b.classes[::-1]], ClassSpace(labels=["x", "y", "z"]))[1]
    TopList(y 0.5, x 0.4; unlisted 0.1 over 1 class)
    """
    every = [one.checked for one in parts]
    sizes = np.concatenate([one.sizes for one in parts])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    log_rest, shown = None, None
    if any(one.log_rest is not None for one in parts):
        log_rest = np.concatenate([_log(one.rest) if one.log_rest is None else one.log_rest for one in parts])
    if any(one.rows.shown is not None for one in every):
        exact = [np.zeros((len(one), 2)) if one.checked.rows.shown is None else one.checked.rows.shown for one in parts]
        shown = np.concatenate(exact)
    rows = Rows(
        offsets,
        np.concatenate(classes),
        np.concatenate([one.rows.confidences for one in every]),
        log_rest,
        *space.as_floats,
        min((one.rows.bits for one in every), default=None),
        shown,
    )
    signed_rest, found = (
        np.concatenate([one.signed_rest for one in every]),
        np.concatenate([one.flags for one in every]),
    )
    return TopLists(
        space, None, CheckedColumns(rows, signed_rest, found, {})
    )  # they are checked, and stay what they are


def _log(x: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(x.astype(np.float64, copy=False))
    return found


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """The probability that `truth` gives to each class that `lists` has, and to all that it has not."""

    listed: Floats  # aligned with lists.classes
    unlisted: Floats  # one per case


def beliefs(truth: TopLists, lists: TopLists) -> ClassProbabilities:
    """Look up padded probabilities: O(listed classes), or O(n m) where `truth` is dense."""
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    if truth.checked.rows.classes is None:
        p = truth.normalized_confidences.reshape(len(truth), int(truth.checked.rows.size[0]))
        listed = p[case, lists.classes]
        if lists.checked.rows.classes is None:
            return ClassProbabilities(listed, np.zeros(len(lists)))
        left = p.copy()
        left[case, lists.classes] = 0.0
        return ClassProbabilities(listed, left.sum(axis=1))
    return _join(truth, lists, case)


def _join(truth: TopLists, lists: TopLists, case: NDArray[np.intp]) -> ClassProbabilities:
    theirs = truth.normalized_confidences
    their_case = np.repeat(np.arange(len(truth)), truth.sizes)
    _, code = np.unique(np.concatenate([lists.classes, truth.classes]), return_inverse=True)
    width = int(code.max(initial=0)) + 1
    wanted, there = case * width + code[: len(case)], their_case * width + code[len(case) :]
    order = np.argsort(there)
    at = np.searchsorted(there[order], wanted)
    at = np.minimum(at, max(len(there) - 1, 0))
    found = there[order][at] == wanted if len(there) else np.zeros(len(wanted), bool)
    listed = np.where(found, theirs[order][at] if len(there) else 0.0, truth.proxy[case])
    shared = np.zeros(len(there), bool)
    shared[order[at[found]]] = True
    neither = truth.checked.rows.size - truth.sizes - row_sums(~found, lists.offsets)
    apart = np.where(neither > 0, truth.proxy * np.where(np.isfinite(neither), neither, 0.0), 0.0)
    apart = np.where(np.isinf(neither), truth.rest, apart)
    return ClassProbabilities(listed, row_sums(np.where(shared, 0.0, theirs), truth.offsets) + apart)
