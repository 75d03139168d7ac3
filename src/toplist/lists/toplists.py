"""Batches of top lists, in Arrow's layout, single lists, and operations on them: parts, ranks, joins, masses, logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toplist import _html
from toplist._text import SHORTEST, label, probability
from toplist._typing import Floats
from toplist.core import flags, kernel
from toplist.core.arguments import as_count, as_number, read_only
from toplist.core.array_api import log_or
from toplist.core.kernel import Rows
from toplist.errors import TopListError
from toplist.lists.constructors import Constructors
from toplist.lists.device import DeviceLists
from toplist.lists.labelsets import LabelSets
from toplist.lists.rows import ragged
from toplist.lists.space import ClassSpace, show_size
from toplist.lists.validation import (
    SMALL,
    CheckedColumns,
    Repairs,
    exponentiate,
    row_log_sums,
    row_sums,
    underflows,
    validate,
)

_DENSE_LIMIT = 1 << 28  # entries of a padded matrix: 2 GiB
_CASES, _RANKS = 5, 3  # that a notebook shows
_SHOWN = 5  # classes in a representation as text
_ROWS = 10  # classes in a table


@dataclass(frozen=True, slots=True, eq=False)
class TopList:
    """A probabilistic top-k list: k classes, each with a confidence.

    Two lists are equal if they name the same classes with the same confidences, in whatever order.

    Parameters
    ----------
    confidences : mapping
        Class to confidence.
    space : ClassSpace, int or sequence of labels
        The classes: how many, or their labels.

    References
    ----------
    .. [1] J. Resin, "From Classification Accuracy to Proper Scoring Rules", section 3.

    Examples
    --------
    >>> t = TopList({"cat": 0.7, "dog": 0.1}, 10)
    >>> t
    TopList(cat 0.7, dog 0.1; unlisted 0.2 over 8 classes)
    >>> round(t.proxy, 6), t.is_valid()
    (0.025, True)
    """

    confidences: dict[Any, float]
    space: Any
    batch: TopLists = field(init=False, repr=False)

    def __post_init__(self) -> None:
        batch = TopLists.from_dicts([self.confidences], self.space)
        object.__setattr__(self, "batch", batch)
        object.__setattr__(self, "space", batch.space)
        sets = isinstance(batch.space, LabelSets)
        listed = {frozenset(c) if sets else c: float(t) for c, t in self.confidences.items()}
        object.__setattr__(self, "confidences", listed)

    @classmethod
    def of(cls, batch: TopLists) -> TopList:
        """The only list of a batch of one."""
        made = object.__new__(cls)
        space = batch.space
        values = batch.normalized_confidences
        named = {_hashable(space.decode(int(c))): float(t) for c, t in zip(batch.classes, values, strict=True)}
        object.__setattr__(made, "confidences", named)
        object.__setattr__(made, "space", space)
        object.__setattr__(made, "batch", batch)
        return made

    def __len__(self) -> int:
        return len(self.confidences)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The listed classes, in the order given."""
        return tuple(self.confidences)

    @property
    def size(self) -> Any:
        """The number of classes there are."""
        return self.space.size[0] if self.space.per_case else self.space.size

    @property
    def mass(self) -> float:
        """The listed mass."""
        return float(self.batch.mass[0])

    @property
    def rest(self) -> float:
        """The mass that is not listed."""
        return float(self.batch.rest[0])

    @property
    def proxy(self) -> float:
        """The share of the rest mass that each unlisted class gets; 0 if every class is listed."""
        return float(self.batch.proxy[0])

    def padded(self) -> NDArray[np.float64]:
        """The padded distribution over all classes."""
        row: NDArray[np.float64] = self.batch.padded()[0]
        return row

    def is_valid(self) -> bool:
        """Whether some distribution has this as a true list, up to rounding."""
        return bool(self.batch.is_valid()[0])

    def valid(self) -> TopList:
        """The largest valid sublist."""
        return TopList.of(self.batch.valid())

    def repair(self) -> TopList:
        """The valid list on the same classes that has the largest valid sublist's padded distribution."""
        return TopList.of(self.batch.repair())

    def truncate(self, k: int | None = None, *, mass: float | None = None) -> TopList:
        """The k most confident classes, or as many as it takes to reach `mass`."""
        return TopList.of(self.batch.truncate(k, mass=mass))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopList):
            return NotImplemented
        return self.confidences == other.confidences and self.size == other.size

    def __hash__(self) -> int:
        return hash((frozenset(self.confidences.items()), self.size))

    def __repr__(self) -> str:
        every = self._by_confidence()
        shown: list[str] = []
        for c, t in every[:_SHOWN]:
            shown.append(f"{_label(c, self.space)} {self._show(t)}")
            if t < SHORTEST <= every[0][1]:
                break
        more = f", … {len(every) - len(shown):,} more" if len(every) > len(shown) else ""
        return f"TopList({', '.join(shown) or 'empty'}{more}; unlisted {self._unlisted()}{self._over(' over ')})"

    def _repr_html_(self) -> str:
        rows = [
            (_html.name(_label(c, self.space, str)), _html.Html(_html.bar(t) + _html.safe(self._show(t))))
            for c, t in self._by_confidence()[:_ROWS]
        ]
        if len(self) > _ROWS:
            rest = sum(t for _, t in self._by_confidence()[_ROWS:])
            told = _html.Html(_html.bar(rest) + probability(rest))
            rows.append((_html.muted(f"and {len(self) - _ROWS:,} more"), told))
        unlisted = _html.Html(_html.bar(self.rest, rest=True) + _html.safe(self._unlisted()))
        rows.append((_html.muted(f"unlisted{self._over(': ')}"), unlisted))
        heads = (_html.TableHead("class", heading=True), _html.TableHead("probability"))
        return _html.fragment(_html.table(heads, rows))

    def in_cells(self, most: int) -> list[str]:
        """The most confident classes, each with a small bar, for so many cells of a table in a notebook."""
        found = self._by_confidence()[:most]
        named = [_html.name(_label(c, self.space, str), 24) for c, _ in found]
        bars = [(_html.bar(t, small=True), _html.muted(self._show(t))) for _, t in found]
        cells: list[str] = [_html.Html(f"{bar}{name} {t}") for (bar, t), name in zip(bars, named, strict=True)]
        return cells + [""] * (most - len(found))

    def _by_confidence(self) -> list[tuple[Any, float]]:
        """Classes with their confidences, the most confident first; ties keep their order."""
        return sorted(self.confidences.items(), key=lambda pair: -pair[1])

    def _unlisted(self) -> str:
        """The rest mass; by its logarithm where it is too small to be a number."""
        log_rest = self.batch.log_rest
        if log_rest is not None and self.size > len(self) and self.rest < SMALL and log_rest[0] > -np.inf:
            return f"e^{float(log_rest[0]):.6g}"
        return self._show(self.rest)

    def _show(self, x: float) -> str:
        """A probability, with digits where all are small."""
        small = 0 < max(self.confidences.values(), default=0.0) < SHORTEST
        return f"{x:.3g}" if small and x < SHORTEST else probability(x)

    def _over(self, before: str) -> str:
        left = self.size - len(self)
        return f"{before}{show_size(left)} class{'es' if left != 1 else ''}" if left else ""


def _label(c: Any, space: Any, show: Callable[[Any], str] = label) -> str:
    """A class; of a label set its labels in their own order."""
    if not isinstance(space, LabelSets) or not isinstance(c, frozenset):
        return show(c)
    held = [show(name) for name in space.names if name in c]
    more = f", … {len(held) - 10:,} more" if len(held) > 10 else ""
    return f"{{{', '.join(held[:10])}{more}}}"


def _hashable(label: Any) -> Any:
    return frozenset(label) if isinstance(label, set) else label


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
    logs, shown = None, None
    if any(one.log_rest is not None for one in parts):
        logs = np.concatenate([log_rest(one) if one.log_rest is None else one.log_rest for one in parts])
    if any(one.rows.shown is not None for one in every):
        exact = [np.zeros((len(one), 2)) if one.checked.rows.shown is None else one.checked.rows.shown for one in parts]
        shown = np.concatenate(exact)
    rows = Rows(
        offsets,
        np.concatenate(classes),
        np.concatenate([one.rows.confidences for one in every]),
        logs,
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


def from_logs(
    offsets: Any, classes: Any, log_confidences: Any, space: Any, *, log_rest: Any = None, ids: Any = None
) -> TopLists:
    """Lists as `TopLists.from_ragged` makes them with `scale="log"`, but no logarithm is taken for a mark.

    What is below the smallest number becomes zero, and is counted.

    >>> lists = from_logs([0, 2], [3, 1], [-0.5, -3085.5], 2**10000)
    >>> lists[0], dict(lists.repairs)
    (TopList(3 0.6065, 1 0; unlisted 0.3935 over about 2**10000 classes), {'underflow to zero': 1})
    """
    logs, known = ragged(offsets, classes, log_confidences, space, log_rest)
    rows = exponentiate(logs)
    return TopLists._validated(rows, known, ids, Repairs(), underflows(logs, rows))


def log_rest(lists: TopLists) -> NDArray[np.float64]:
    """The log of each rest mass, as its producer knew it; minus infinity where nothing is left.

    >>> log_rest(TopLists.from_dicts([{0: 1.0}, {}], 3))
    array([-inf,   0.])
    """
    with np.errstate(divide="ignore"):
        plain: NDArray[np.float64] = np.log(lists.rest)
    return plain if lists.log_rest is None else np.where(lists.checked.scaled, plain, lists.log_rest)


@dataclass(frozen=True, slots=True)
class Logs:
    """The log of every listed confidence; per case that of the rest mass, and of how many classes share it."""

    listed: Floats
    rest: Floats
    unlisted: Floats

    @classmethod
    def of(cls, lists: TopLists) -> Logs:
        """Minus infinity for zeros, and for the rest of a list of all classes."""
        checked, rows = lists.checked, lists.checked.rows
        listed = log_or(np, checked.normalized, -np.inf)
        left = rows.size - checked.sizes
        return cls(listed, log_rest(lists), np.where(np.isfinite(left), log_or(np, left, -np.inf), rows.log_size))


def normalised(lists: TopLists, listed: Floats, rest: Floats) -> TopLists:
    """Lists on the same classes whose masses are in proportion to what these are the logarithms of."""
    total = np.logaddexp(row_log_sums(listed, lists.offsets), rest)
    logs = listed - np.repeat(total, lists.sizes)
    return revalued(lists, np.exp(logs), rest - total)


def revalued(lists: TopLists, t: Floats, rest: Floats) -> TopLists:
    """Lists on the same classes with other confidences and the log of another rest, checked as all lists are."""
    rows = replace(lists.checked.rows, confidences=t, log_rest=rest)
    checked = validate(rows, lists.space, ids=lists.ids, repairs=Repairs())
    return lists._with(replace(checked, repairs=lists.checked.repairs))


def ranks(lists: TopLists) -> NDArray[np.int64]:
    """The place of each entry among the confidences of its case, from 0; ties keep their order."""
    t, sizes, place = lists.confidences, lists.sizes, ranks_in(lists)
    if not ((t[1:] > t[:-1]) & (place[1:] > 0)).any():
        return place
    out = np.empty(len(t), np.int64)
    if len(sizes) and (sizes == sizes[0]).all():
        order = np.argsort(-t.reshape(len(sizes), -1), axis=1, stable=True)
        np.put_along_axis(out.reshape(order.shape), order, np.arange(order.shape[1])[None, :], axis=1)
    else:
        out[np.lexsort((-t, np.repeat(np.arange(len(sizes)), sizes)))] = place
    return out
