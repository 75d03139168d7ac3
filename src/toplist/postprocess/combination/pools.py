"""Linear and geometric pools of several models' lists for the same cases, and the gain of a pool from disagreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import significant
from toplist._typing import Codes, Floats
from toplist.core import kernel
from toplist.core.arguments import as_count, as_vector, is_several
from toplist.core.flags import KNOWN_REST
from toplist.core.kernel import Rows
from toplist.errors import AlignmentError, MassError, ShapeError, SpaceError
from toplist.lists import TopLists, as_lists, log_rest
from toplist.lists.labelsets import Codebook, LabelSets
from toplist.lists.rows import to_rows
from toplist.lists.space import ClassSpace
from toplist.lists.validation import UNDERFLOW, CheckedColumns, Repairs, exponentiate, row_sums, underflows
from toplist.scoring.scores import score

Lists = Sequence[Any] | Mapping[str, Any]  # each of them anything that `as_lists` takes
Weights = Sequence[float] | Mapping[str, float] | None
LONGEST = 1 << 31  # no pooled list is longer
_UNION_BLOCK = 1 << 19  # listed classes that are spread out at a time


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


def by_name(given: Mapping[Any, Any], names: Sequence[str]) -> list[Any]:
    """What is given for each member, in the order of the names."""
    named = {str(name): value for name, value in given.items()}
    for odd, what in ((set(names) - set(named), "missing"), (set(named) - set(names), "no member")):
        if odd:
            wrong = f"{', '.join(sorted(odd))} {'is' if len(odd) == 1 else 'are'} {what}"
            raise ShapeError(f"the pool is of {', '.join(names)}; {wrong}.")
    return [named[name] for name in names]


def as_weights(weights: Weights, names: Sequence[str]) -> Floats:
    """Weights that add up to one, one after the other or by the names of the members; equal ones by default."""
    count = len(names)
    if weights is None:
        return np.full(count, 1.0 / count)
    if isinstance(weights, Mapping):
        weights = by_name(weights, names)
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
        return row_sums(values, self.offsets)


def unions(members: Members) -> Iterator[tuple[slice, Union]]:
    """The cases in blocks, and the union of each."""
    entries = sum(len(one.classes) for one in members)
    step = max(1, _UNION_BLOCK * members.cases // max(1, entries))
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


LOG_SMALL = -600.0  # logarithms below this are not added up as masses
_BLOCK = 1 << 16  # listed classes in a block


def linear_pool(lists: Lists, *, weights: Weights = None, k: int | None = None, space: Any = None) -> TopLists:
    r"""The weighted mean of padded distributions, :math:`\sum_j w_j \tilde p_j`.

    Where a model does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. Under the Brier score the pool is in every case no worse than its members are on average.

    Parameters
    ----------
    lists : sequence or mapping
        The predictions of several models for the same cases, one after the other or by name; each a TopLists or
        anything that `toplist.as_lists` takes.
    weights : sequence or mapping, optional
        Weights that add up to one, one after the other or by name; equal by default.
    k : int, optional
        Keep the k most confident classes only.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    TopLists
        Valid lists on the union of the classes, the most confident class first.

    Examples
    --------
    >>> import toplist as tl
    >>> linear_pool([[{"cat": 0.6}], [{"cat": 0.4, "dog": 0.4}]], space=tl.ClassSpace(3, ["cat", "dog"]))[0]
    TopList(cat 0.5, dog 0.3; unlisted 0.2 over 1 class)
    """
    members = Members.of(lists, space)
    w = as_weights(weights, members.names)
    k = None if k is None else min(as_count(k), LONGEST)
    in_logs = any(map(_is_small, members))
    if kernel.NATIVE and not in_logs:
        return from_kernel(members, w, k, geometric=False)
    union = Union.of(members)
    if not in_logs:
        return from_union(union, *_add(union, w), k, in_logs=False)
    with np.errstate(divide="ignore"):
        log_t, left = (np.logaddexp.reduce(np.log(w)[:, None] + logs) for logs in (union.logs(), union.log_rests()))
    return from_union(union, log_t, left, k, in_logs=True)


def geometric_pool(lists: Lists, *, weights: Weights = None, k: int | None = None, space: Any = None) -> TopLists:
    r"""The weighted geometric mean of padded distributions, :math:`\prod_j \tilde p_j^{w_j}`, made to add up to one.

    Where a model does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. A member with a positive weight that gives zero to a class rules it out; a case in which
    everything is ruled out is an error. With infinitely many classes it is the limit of ever more of them: only what
    all members list has any confidence, and the rest is the geometric mean of the rests.

    Parameters
    ----------
    lists : sequence or mapping
        The predictions of several models for the same cases, one after the other or by name; each a TopLists or
        anything that `toplist.as_lists` takes.
    weights : sequence or mapping, optional
        Weights that add up to one, one after the other or by name; equal by default.
    k : int, optional
        Keep the k most confident classes only.
    space : int, ClassSpace or LabelSets, optional
        The classes, where `lists` do not say.

    Returns
    -------
    TopLists
        Valid lists on the union of the classes, the most confident class first.

    Examples
    --------
    >>> import toplist as tl
    >>> geometric_pool([[{"cat": 0.8}], [{"cat": 0.5, "dog": 0.4}]], space=tl.ClassSpace(3, ["cat", "dog"]))[0]
    TopList(cat 0.6783, dog 0.2145; unlisted 0.1072 over 1 class)
    """
    members = Members.of(lists, space)
    w = as_weights(weights, members.names)
    if w.max() == 1.0:
        return linear_pool(members.lists, weights=w.tolist(), k=k)  # one member alone, to the last digit
    k = None if k is None else min(as_count(k), LONGEST)
    if kernel.NATIVE:
        return from_kernel(members, w, k, geometric=True)
    union = Union.of(members)
    log_t, left = _multiply(union, w)
    return from_union(union, log_t, left, k, in_logs=True)


def from_kernel(members: Members, w: Floats, k: int | None, *, geometric: bool) -> TopLists:
    """Pools by the compiled kernel; pools of valid lists are valid, so that they are not checked again."""
    columns = [one.checked for one in members]
    first, n, entries = columns[0].rows, members.cases, sum(len(one.rows.confidences) for one in columns)
    counts, signed_rest, log_rest = np.zeros(n, np.int64), np.empty(n), np.empty(n)
    blocks: dict[int, tuple[Codes, Floats]] = {}  # classes and confidences, by the first case of a block
    ruled_out: dict[int, int] = {}  # by the first case without a possible class, how many there are in its block
    lost: list[int] = []  # cases with a confidence that is below the smallest number, and zero

    def work(lo: int, hi: int) -> None:
        block = first.block(lo, hi)
        given = [_member(one.rows.block(lo, hi), one.signed_rest[lo:hi], geometric) for one in columns]
        need = sum(len(t) for _, _, t, _, _ in given)
        need = need if k is None else min(need, k * (hi - lo))
        codes, t, logs = np.empty(need, np.int64), np.empty(need), np.empty(need) if geometric else None
        used, small, vetoed, vetoes = kernel.pool(
            geometric, given, w, block.size, block.log_size, -1 if k is None else k,
            codes, t, logs, counts[lo:hi], signed_rest[lo:hi], log_rest[lo:hi],
        )  # fmt: skip
        blocks[lo] = codes[:used].copy(), t[:used].copy()
        if small and logs is not None:
            case = np.repeat(np.arange(lo, hi), counts[lo:hi])
            lost.append(len(np.unique(case[(t[:used] == 0) & (logs[:used] > -np.inf)])))
        if vetoes:
            ruled_out[lo + vetoed] = vetoes

    kernel.over_blocks(n, entries, work, block=max(1, min(kernel.BLOCK, _BLOCK * n // max(1, entries))))
    if ruled_out:
        raise _nothing_left(members, min(ruled_out), sum(ruled_out.values()))
    none = np.zeros(0, np.int64), np.zeros(0)
    codes, t = (np.concatenate(parts) for parts in zip(none, *(blocks[lo] for lo in sorted(blocks)), strict=True))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    rows = Rows(offsets, codes, t, log_rest, first.size, first.log_size)
    repairs = {UNDERFLOW: sum(lost)} if any(lost) else {}
    return TopLists(
        members.space, members.ids, CheckedColumns(rows, signed_rest, np.full(n, KNOWN_REST, np.uint16), repairs)
    )


def _member(
    rows: Rows, signed_rest: Floats, geometric: bool
) -> tuple[Codes, Codes | None, Floats, Floats, Floats | None]:
    """The offsets of a block, its entries in the types that the kernel takes, and its rest."""
    here = slice(rows.offsets[0], rows.offsets[-1])
    classes = None if rows.classes is None else np.ascontiguousarray(rows.classes[here], np.int64)
    t = np.ascontiguousarray(rows.confidences[here], np.float64)
    if not geometric:
        return rows.offsets, classes, t, signed_rest, None
    with np.errstate(divide="ignore"):
        log_rest = np.log(np.maximum(signed_rest, 0.0)) if rows.log_rest is None else rows.log_rest
        return rows.offsets, classes, np.log(t), signed_rest, log_rest


def from_union(union: Union, t: Floats, log_rest: Floats, k: int | None, *, in_logs: bool) -> TopLists:
    """Pooled class by class: the confidences, or their logarithms, and the log of the rest mass."""
    members = union.members
    rows = to_rows(union.offsets, union.classes, t, members.space, log_rest)  # codes, also where labels are numbers
    numbers = exponentiate(rows) if in_logs else rows
    lost = underflows(rows, numbers) if in_logs else {}
    pooled = TopLists._validated(numbers, members.space, members.ids, Repairs(), lost)
    ordered = pooled.as_distributions().ordered()  # not valid by a rounding error at most
    return ordered if k is None else ordered.truncate(k).as_distributions()


def _nothing_left(members: Members, case: int, cases: int) -> MassError:
    """The error that every class of a case is given zero by some member."""
    name = "" if members.ids is None else repr(members.ids[case : case + 1].tolist()[0])
    return MassError(
        "every class is given zero by some member, so that nothing is left of their product.",
        "Give each list some rest mass (postprocess.RestFloor), pool linearly, or give weight zero to that member.",
        case=case,
        name=name,
        more=cases - 1,
    )


def _add(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """Each entry adds what it has above its member's share, and all shares are added at the end; log of the rest."""
    t, base, rest = np.zeros(len(union.classes)), np.zeros(union.members.cases), np.zeros(union.members.cases)
    for weight, one, place in zip(w, union.members, union.places, strict=True):
        t[place] += weight * (one.normalized_confidences - np.repeat(one.proxy, one.sizes))
        base += weight * one.proxy
        rest += weight * one.rest * share_left(one, union.counts)
    with np.errstate(divide="ignore"):
        return np.maximum(t + base[union.case], 0.0), np.log(rest)


def _is_small(one: TopLists) -> bool:
    """Whether some of its rest masses are too small to be added up as they are."""
    given = one.log_rest
    return given is not None and bool(((given > -np.inf) & (given < LOG_SMALL)).any())


def _multiply(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """The logarithms of the pooled confidences and of the rest mass; members of weight zero do not count."""
    some = w > 0
    log_t, left = (_products(logs[some], w[some]) for logs in (union.logs(), union.log_rests()))
    top = left.copy()
    np.maximum.at(top, union.case, log_t)
    nothing = top == -np.inf
    if nothing.any():
        raise _nothing_left(union.members, int(np.argmax(nothing)), int(nothing.sum()))
    with np.errstate(divide="ignore"):
        total = top + np.log(np.exp(left - top) + union.sums(np.exp(log_t - top[union.case])))
    return log_t - total[union.case], left - total


def _products(logs: Floats, w: Floats) -> Floats:
    """Weighted sums over members; one that is minus infinity is so whatever the others are."""
    possible = logs > -np.inf
    return np.where(possible.all(axis=0), w @ np.where(possible, logs, 0.0), -np.inf)


@dataclass(frozen=True, slots=True)
class MemberPair:
    """Two members, their mean squared distance, and the gain of the pool from it at their weights."""

    first: str
    second: str
    distance: float
    gain: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ambiguity:
    """The ambiguity decomposition of a linear pool: means over cases.

    Attributes
    ----------
    names, weights : tuple of str, ndarray
        The members.
    cases : int
        The number of cases.
    members : tuple of float or None
        The mean score of each member; None without outcomes.
    mean, pool : float or None
        The weighted mean of these, and the mean score of the pool, which is `mean` less `gain`.
    gain : float
        The gain from disagreement, the sum over `pairs`.
    pairs : tuple of MemberPair
        For each two members their `distance` and `gain`.
    gains : ndarray
        The gain of each case.
    """

    names: tuple[str, ...]
    weights: Floats
    cases: int
    members: tuple[float, ...] | None
    mean: float | None
    pool: float | None
    gain: float
    pairs: tuple[MemberPair, ...]
    gains: Floats = field(repr=False)

    def __repr__(self) -> str:
        of = f"{len(self.names)} members, {self.cases:,} cases"
        if self.mean is None or self.pool is None:
            return f"Ambiguity({of}: gain {significant(self.gain)} from disagreement)"
        parts = f"{significant(self.mean)} on average, gain {significant(self.gain)}, pool {significant(self.pool)}"
        return f"Ambiguity({of}: Brier score {parts})"


def ambiguity(lists: Lists, y: Any = None, *, weights: Weights = None, space: Any = None) -> Ambiguity:
    r"""Decompose the Brier score of a linear pool into the mean score of its members and the gain from disagreement.

    .. math:: S(\bar p, y) = \sum_j w_j S(p_j, y) - \sum_{i<j} w_i w_j \|\tilde p_i - \tilde p_j\|^2

    The gain does not depend on the outcome. Lists that are not valid count as their largest valid sublists, without
    penalties.

    Parameters
    ----------
    lists, weights, space
        The models, as in `linear_pool`.
    y : array-like, optional
        One outcome per case.

    Returns
    -------
    Ambiguity
        Scores of members and pool, and the gain by pair and by case.

    References
    ----------
    Krogh and Vedelsby (1995), Neural network ensembles, cross validation, and active learning, NIPS 7.

    Examples
    --------
    >>> found = ambiguity({"a": [{0: 0.8}], "b": [{0: 0.2, 1: 0.7}]}, [0], space=3)
    >>> round(found.mean, 3), round(found.gain, 3), round(found.pool, 3)
    (0.6, 0.18, 0.42)
    """
    members = Members.of(lists, space)
    w = as_weights(weights, members.names)
    if not members.cases:
        raise ShapeError("there are no cases, and so no means over them.")
    gains, totals = np.zeros(members.cases), np.zeros((len(members), len(members)))
    couples = [(i, j) for i in range(len(members)) for j in range(i + 1, len(members))]
    for here, union in unions(members):
        t, shares = union.values(), union.shares()
        rest, proxy = [one.rest for one in union.members], [one.proxy for one in union.members]
        for i, j in couples:
            # (m - u) (pi_i - pi_j)**2 as a mass times a share, which is zero among infinitely many classes
            unlisted = (rest[i] * shares[i] - rest[j] * shares[j]) * (proxy[i] - proxy[j])
            apart = union.sums((t[i] - t[j]) ** 2) + unlisted
            gains[here] += w[i] * w[j] * apart
            totals[i, j] += apart.sum()
    means = totals / members.cases
    pairs = [
        MemberPair(members.names[i], members.names[j], means[i, j].item(), float(w[i] * w[j] * means[i, j]))
        for i, j in couples
    ]
    scores = None if y is None else [float(score(one, y, penalty=0).mean()) for one in members]
    return Ambiguity(
        members.names,
        w,
        members.cases,
        None if scores is None else tuple(scores),
        None if scores is None else float(w @ scores),
        None if y is None else float(score(linear_pool(list(members), weights=w.tolist()), y, penalty=0).mean()),
        float(gains.mean()),
        tuple(pairs),
        gains,
    )
