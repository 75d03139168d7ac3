"""Classes that are sets of labels: batches of such sets, the codebook of those that occurred, and their space."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import did_you_mean
from toplist.core.arguments import as_tuple
from toplist.errors import SpaceError
from toplist.lists.space import UNLISTED, ClassSpace, show_size

MASK_BITS = 62  # labels whose bit mask is a code, and can be told from UNLISTED
_DENSE_LIMIT = 1 << 32  # entries of an indicator matrix: 4 GiB


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sets:
    """A batch of label sets in CSR's layout: set i holds the labels offsets[i] to offsets[i + 1], in rising order.

    Labels are positions from 0 to `width` - 1; a `LabelSets` gives their names.

    Attributes
    ----------
    offsets : ndarray
        Where each set starts in `labels`, and the end.
    labels : ndarray
        Positions of the labels.
    width : int
        Number of labels there are.

    Examples
    --------
    >>> sets = Sets.from_indicators([[1, 0, 1], [0, 0, 0]])
    >>> sets
    Sets(2 sets of 3 labels)
    >>> sets.sizes, sets[0]
    (array([2, 0]), (0, 2))
    """

    offsets: NDArray[np.int64]
    labels: NDArray[np.int32]
    width: int

    @classmethod
    def from_indicators(cls, matrix: Any) -> Sets:
        """The rows of a matrix of zeros and ones: an array, a data frame, or any sparse matrix of scipy."""
        if hasattr(matrix, "tocsr"):
            return cls._from_csr(matrix.tocsr())
        dense = np.asarray(matrix)
        if dense.ndim != 2:
            raise SpaceError(f"an indicator matrix has a row per case and a column per label, not shape {dense.shape}.")
        if dense.dtype != np.bool_:
            known = np.isin(dense, (0, 1)) if dense.dtype.kind in "iufO" else np.zeros(dense.shape, dtype=bool)
            if not known.all():
                raise _other_values(dense, ~known)
            dense = dense.astype(bool)
        offsets = _offsets(np.count_nonzero(dense, axis=1))
        return cls(offsets, np.nonzero(dense)[1].astype(np.int32), dense.shape[1])

    @classmethod
    def _from_csr(cls, matrix: Any) -> Sets:
        if not np.isin(matrix.data, (0, 1)).all():
            raise SpaceError("an indicator matrix holds zeros and ones; these are other values.")
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if (matrix.data > 1).any():
            raise SpaceError("a label is there twice in one row of the indicator matrix.")
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.shape[1])

    @classmethod
    def join(cls, batches: Sequence[Sets]) -> Sets:
        """One batch after the other."""
        sizes = np.concatenate([one.sizes for one in batches])
        return cls(_offsets(sizes), np.concatenate([one.labels for one in batches]), batches[0].width)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many labels each set holds."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """For every entry of `labels` the set that it is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def indicators(self) -> NDArray[np.bool_]:
        """The sets as a dense matrix, a row per set and a column per label."""
        if len(self) * self.width > _DENSE_LIMIT:
            raise SpaceError(f"{len(self):,} x {self.width:,} is too large to spread out; take some of the sets.")
        out = np.zeros((len(self), self.width), dtype=bool)
        out[self.rows, self.labels] = True
        return out

    def take(self, at: Any) -> Sets:
        """Some of the sets, in any order."""
        where = np.arange(len(self))[at]
        sizes = self.sizes[where]
        offsets = _offsets(sizes)
        entries = np.repeat(self.offsets[:-1][where] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Sets(offsets, self.labels[entries], self.width)

    def fold(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each set the keys of its labels, combined by exclusive or: bit masks, or digests."""
        out = np.zeros(len(self), np.int64)
        filled = self.offsets[1:] > self.offsets[:-1]
        if filled.any():
            out[filled] = np.bitwise_xor.reduceat(keys[self.labels], self.offsets[:-1][filled])
        return out

    def __getitem__(self, at: int) -> tuple[int, ...]:
        case = int(at) + (len(self) if at < 0 else 0)
        if not 0 <= case < len(self):
            raise IndexError(f"set {at} of {len(self)}")
        return tuple(self.labels[self.offsets[case] : self.offsets[case + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sets):
            return NotImplemented
        same = self.width == other.width and np.array_equal(self.offsets, other.offsets)
        return same and np.array_equal(self.labels, other.labels)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sets({len(self):,} set{'' if len(self) == 1 else 's'} of {self.width:,} labels)"


def _other_values(dense: NDArray[Any], wrong: NDArray[np.bool_]) -> SpaceError:
    row, column = (int(at[0]) for at in np.nonzero(wrong))
    value = dense[row, column]
    said = (
        f"an indicator matrix holds zeros and ones; row {row} has {value.item() if hasattr(value, 'item') else value!r}"
    )
    if dense.dtype.kind == "f" and ((dense >= 0) & (dense <= 1)).all():
        return SpaceError(
            f"{said}. Probabilities per label are marginals: toplist.multilabel.best_sets lists sets of them."
        )
    if dense.dtype.kind in "if" and np.isin(dense, (-1, 1)).all():
        return SpaceError(f"{said}. If -1 means that a label is not there, give Y > 0.")
    return SpaceError(f"{said}.")


def from_rows(rows: NDArray[Any], labels: NDArray[Any], count: int, width: int) -> Sets:
    """Sets from pairs of set and label in any order, each pair once or more."""
    order = np.lexsort((labels, rows))
    rows, labels = rows[order], labels[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
    return Sets(_offsets(np.bincount(rows[new], minlength=count)), labels[new].astype(np.int32), width)


def keys(width: int) -> NDArray[np.int64]:
    """What each label adds to the code of a set: its bit where masks fit, 63 well-mixed bits beyond.

    A code is the exclusive or of the keys of its labels, so that flipping a label is one operation. Two given sets of
    many labels share a code with a chance of 2**-63.
    """
    if width <= MASK_BITS:
        return np.left_shift(np.int64(1), np.arange(width, dtype=np.int64))
    z = (np.arange(1, width + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


@dataclass(frozen=True, eq=False, repr=False)
class Codebook:
    """Codes, and the set of each: some base with the labels of `flips` flipped.

    The likely sets of one case are close to its likeliest, so a book of them holds that one once, as bits, and for
    each set only what differs. `base` says which row of `bits` a set starts from; -1 is the empty set.
    """

    codes: NDArray[np.int64]
    bits: NDArray[np.uint8]  # a row of packed bits per base, the first label lowest
    base: NDArray[np.int64]
    flips: Sets

    @classmethod
    def of(cls, sets: Sets) -> Codebook:
        """The book of sets as they are."""
        none = np.full(len(sets), -1, np.int64)
        return cls(sets.fold(keys(sets.width)), np.zeros((0, -(-sets.width // 8)), np.uint8), none, sets)

    @classmethod
    def join(cls, books: Sequence[Codebook]) -> Codebook:
        """One book of several."""
        starts = np.cumsum([0, *(len(book.bits) for book in books)])
        base = [np.where(book.base < 0, -1, book.base + start) for book, start in zip(books, starts, strict=False)]
        return cls(
            np.concatenate([book.codes for book in books]),
            np.concatenate([book.bits for book in books]),
            np.concatenate(base),
            Sets.join([book.flips for book in books]),
        )

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.codes, kind="stable")

    def find(self, codes: NDArray[np.int64]) -> Sets:
        """The sets of these codes; an error where one is not in the book."""
        if not len(codes):
            return Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), self.flips.width)
        ordered = self.codes[self._order]
        place = np.searchsorted(ordered, codes)
        known = place < len(ordered)
        known[known] = ordered[place[known]] == codes[known]
        if not known.all():
            code = int(codes[int(np.argmin(known))])
            raise SpaceError(f"{code} is the digest of a set that these lists do not hold; no set can be told from it.")
        return self._sets(self._order[place])

    def _sets(self, at: NDArray[np.intp]) -> Sets:
        flips, width = self.flips.take(at), self.flips.width
        based = np.flatnonzero(self.base[at] >= 0)
        if not len(based):
            return flips
        first, rows, labels = 0, [flips.rows], [flips.labels.astype(np.int64)]
        step = max(1, (1 << 24) // max(width, 1))
        while first < len(based):  # a few sets at a time: they are spread out on the way
            some = based[first : first + step]
            spread = np.unpackbits(self.bits[self.base[at[some]]], axis=1, count=width, bitorder="little")
            row, label = np.nonzero(spread)
            rows.append(some[row])
            labels.append(label)
            first += step
        return _odd(np.concatenate(rows), np.concatenate(labels), len(at), width)


def _odd(rows: NDArray[np.int64], labels: NDArray[np.int64], count: int, width: int) -> Sets:
    """Pairs that are there once: a label that is in the base and flipped is gone."""
    pair = rows * width + labels
    once, times = np.unique(pair, return_counts=True)
    once = once[times == 1]
    return from_rows(once // width, once % width, count, width)


class LabelSets(ClassSpace):
    """Classes that are sets of labels, for multi-label problems: 2**L of them, or a given support.

    The code of a set is its bit mask up to 62 labels, its place in `support` where one is given, and a 63-bit digest of
    the set beyond: no set is ever enumerated. Where codes are digests, lists that were made from sets carry a codebook
    that says which sets they are; it is no part of the identity of the space.

    Parameters
    ----------
    labels : iterable
        The labels.
    empty : bool, default True
        Whether the empty set is a class.
    support : iterable of sets, optional
        The sets that are possible.

    Examples
    --------
    >>> space = LabelSets(["a", "b", "c"])
    >>> space.size, space.encode([{"a", "c"}, set()])
    (8, array([5, 0]))
    >>> LabelSets(["a", "b", "c"], empty=False).size
    7
    >>> space.encode(space.split(["c;a", ""], sep=";"))
    array([5, 0])
    """

    names: tuple[Hashable, ...]
    empty: bool
    support: tuple[frozenset[Hashable], ...] | None
    book: Codebook | None

    def __init__(
        self,
        labels: Iterable[Hashable],
        *,
        empty: bool = True,
        support: Iterable[Iterable[Hashable]] | None = None,
    ) -> None:
        names = as_tuple(labels, "labels", SpaceError)
        if not (support is None or isinstance(support, Iterable)):
            raise SpaceError(f"the support must be a sequence of label sets, not {support!r}.")
        if len(set(names)) < len(names):
            raise SpaceError("a label is there twice; every label needs a name of its own.")
        object.__setattr__(self, "names", names)
        sets = None if support is None else tuple(_as_set(s, letters=self._letters) for s in support)
        if sets is not None:
            unknown = {label for s in sets for label in s} - set(names)
            if unknown:
                raise SpaceError(f"the support names {min(map(str, unknown))!r}, which is not a label.")
            if len(set(sets)) < len(sets):
                raise SpaceError("a label set is in the support twice.")
            if not empty and frozenset() in sets:
                raise SpaceError("the support holds the empty set, which empty=False excludes.")
        object.__setattr__(self, "empty", empty)
        object.__setattr__(self, "support", sets)
        object.__setattr__(self, "book", None)
        super().__init__(len(sets) if sets is not None else 2 ** len(names) - (not empty))

    def with_book(self, book: Codebook | None) -> LabelSets:
        """The same space, which can tell the sets of this book from their codes."""
        made = object.__new__(LabelSets)
        made.__dict__.update(self.__dict__)
        made.__dict__["book"] = book
        return made

    @cached_property
    def _place(self) -> Mapping[Hashable, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _letters(self) -> bool:
        """Whether labels are single letters, so that a text is a set of them."""
        return all(isinstance(name, str) and len(name) == 1 for name in self.names)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """What each label adds, by exclusive or, to the code of a set."""
        return keys(len(self.names))

    @property
    def masks(self) -> bool:
        """Whether codes are bit masks."""
        return self.support is None and len(self.names) <= MASK_BITS

    @property
    def digests(self) -> bool:
        """Whether codes are digests, from which a set can be told only with a book."""
        return self.support is None and len(self.names) > MASK_BITS

    @cached_property
    def codes(self) -> Mapping[Hashable, int]:
        """Label set to code, where there is a support."""
        return {s: code for code, s in enumerate(self.support or ())}

    @cached_property
    def _supported(self) -> tuple[Sets, NDArray[np.int64], NDArray[np.intp]]:
        """The sets of the support, their keys in rising order, and the places of these."""
        sets = self._read(self.support or ())
        folded = sets.fold(self.keys)
        order = np.argsort(folded, kind="stable")
        return sets, folded[order], order

    # Sets in

    def sets(self, y: Any) -> Sets:
        """Label sets of any form: an indicator matrix, dense or sparse, or a collection of labels per case.

        The columns of a data frame go by their names. Lists of zeros and ones, as many as there are labels, are rows of
        an indicator matrix, also where the labels are numbers.
        """
        if isinstance(y, Sets):
            sets = y
        elif hasattr(y, "columns") and len(getattr(y, "shape", ())) == 2:
            sets = Sets.from_indicators(self.by_name(y))
        elif hasattr(y, "tocsr") or len(getattr(y, "shape", ())) == 2 or _are_bits(y, len(self.names)):
            sets = Sets.from_indicators(y)
        else:
            return self._read(y)
        if sets.width != len(self.names):
            raise SpaceError(f"{sets.width} columns for {len(self.names)} labels; each label has a column.")
        return sets

    def by_name(self, frame: Any) -> NDArray[Any]:
        """The values of a data frame with its columns in the order of the labels; unnamed columns stay as they are."""
        columns = [*map(_plain, frame.columns)]
        values = np.asarray(frame)
        if columns == list(range(len(columns))) or len(columns) != len(self.names):
            return values
        place = {column: at for at, column in enumerate(columns)}
        by_text = {str(column): at for at, column in enumerate(columns)}
        found = [place.get(name, by_text.get(str(name))) for name in self.names]
        if None in found or len(place) < len(columns):
            lacking = self.names[found.index(None)] if None in found else columns[0]
            raise SpaceError(f"the columns of the frame are not the labels: none is called {lacking!r}.")
        chosen: NDArray[Any] = values[:, np.array(found, np.intp)]
        return chosen

    def split(self, texts: Iterable[str], *, sep: str) -> Sets:
        """Label sets written as one text per case, their labels between separators; an empty text is the empty set."""
        if not sep:
            raise SpaceError("labels in a text stand between separators; give one, such as sep=';'.")
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise SpaceError("texts are one per case, in a sequence.")
        named = {str(name): name for name in self.names}
        rows = []
        for text in texts:
            if not isinstance(text, str):
                raise SpaceError(f"{text!r} is not a text with labels in it.")
            parts = [part for part in map(str.strip, text.split(sep)) if part]
            rows.append([named.get(part, part) for part in parts])
        return self._read(rows)

    def _read(self, y: Any) -> Sets:
        if not isinstance(y, Iterable) or isinstance(y, str | Mapping):
            raise SpaceError("label sets are one per case, in a sequence.")
        place, rows, labels, count = self._place, [], [], 0
        for row, given in enumerate(y):
            one = _as_set(given, letters=self._letters)
            if not one <= place.keys():
                raise self._unknown(next(iter(one - place.keys())))
            rows += [row] * len(one)
            labels += [place[label] for label in one]
            count = row + 1
        return from_rows(np.array(rows, np.int64), np.array(labels, np.int64), count, len(self.names))

    def _unknown(self, label: Hashable) -> SpaceError:
        return SpaceError(f"{label!r} is not a label.{did_you_mean(str(label), map(str, self.names))}")

    # Codes out and in

    def encode(self, labels: Any) -> NDArray[np.int64]:
        """Codes of label sets, in any form that `sets` reads; `UNLISTED` for those that are not in the support."""
        sets = self.sets(labels)
        if not self.empty and (sets.sizes == 0).any():
            raise SpaceError("the empty set is not a class of this space; allow it with empty=True.")
        codes = sets.fold(self.keys)
        if self.support is not None:
            return self._places_in_support(codes)
        return codes - (not self.empty) if self.masks else codes

    def _places_in_support(self, folded: NDArray[np.int64]) -> NDArray[np.int64]:
        _, known, order = self._supported
        place = np.minimum(np.searchsorted(known, folded), len(known) - 1)
        return np.where(known[place] == folded, order[place], UNLISTED)

    def sets_of(self, codes: Any) -> Sets:
        """The label sets of codes, as a batch."""
        asked = np.asarray(codes, dtype=np.int64)
        if not self.digests and len(asked) and not 0 <= asked.min() <= asked.max() < self.size:
            code = int(asked[(asked < 0) | (asked >= self.size)][0])
            raise SpaceError(f"{code} is not the code of one of {show_size(self.size)} label sets.")
        if self.support is not None:
            return self._supported[0].take(asked)
        if self.digests:
            if self.book is None:
                raise SpaceError(f"the sets of {len(self.names)} labels cannot be told from their codes.")
            return self.book.find(asked)
        spread = (asked + (not self.empty))[:, None] >> np.arange(len(self.names)) & 1
        return Sets.from_indicators(spread.astype(bool))

    def named(self, sets: Any) -> list[frozenset[Hashable]]:
        """The sets, in any form that `sets` reads, by the names of their labels."""
        sets = self.sets(sets)
        return [frozenset(self.names[place] for place in sets[row]) for row in range(len(sets))]

    def decode(self, code: int) -> Any:
        """The label set of a code, where the code or the book still tells."""
        if self.digests:
            if self.book is None:
                return code
            try:
                return set(self.named(self.book.find(np.array([code], np.int64)))[0])
            except SpaceError:
                return code
        return set(self.named(self.sets_of([code]))[0])

    @property
    def complete(self) -> bool:
        """Every label set can be named."""
        return True

    def take(self, at: Any) -> ClassSpace:
        """The space of some of the cases: the same."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSets):
            return NotImplemented
        return (self.names, self.empty, self.support) == (other.names, other.empty, other.support)

    def __hash__(self) -> int:
        return hash((self.names, self.empty, self.support))

    def __repr__(self) -> str:
        kind = f"{len(self.names)} labels" + ("" if self.empty else ", not empty")
        return f"LabelSets({kind}{'' if self.support is None else f', support of {self.size}'})"


def _are_bits(y: Any, width: int) -> bool:
    """Whether these are rows of zeros and ones, as many as there are labels."""
    if not isinstance(y, list | tuple) or not y or width < 1:
        return False
    rows = all(isinstance(row, list | tuple | np.ndarray) and len(row) == width for row in y)
    return rows and all(isinstance(v, int | float | np.number | np.bool_) and v in (0, 1) for row in y for v in row)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _as_set(labels: Any, *, letters: bool) -> frozenset[Hashable]:
    if isinstance(labels, str) and not letters:
        raise SpaceError(
            f"{labels!r} is one text, not a set of labels; take texts apart with space.split(texts, sep=...)."
        )
    if isinstance(labels, Mapping):
        raise SpaceError(
            f"{labels!r} maps labels to values; give the labels that are there, or rows of zeros and ones."
        )
    if isinstance(labels, Iterable):
        try:
            return frozenset(labels)
        except TypeError:
            pass
    raise SpaceError(f"{labels!r} is not a set of labels.")
