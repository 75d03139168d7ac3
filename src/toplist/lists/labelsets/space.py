"""Spaces whose classes are sets of labels, for multi-label problems."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import did_you_mean
from toplist.core.arguments import as_tuple
from toplist.errors import SpaceError
from toplist.lists.labelsets.batch import MASK_BITS, Sets, from_rows, keys
from toplist.lists.labelsets.codebook import Codebook
from toplist.lists.space import UNLISTED, ClassSpace, show_size


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
