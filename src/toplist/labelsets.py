"""Spaces whose classes are sets of labels, for multi-label problems."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_tuple
from toplist.errors import SpaceError
from toplist.space import UNLISTED, ClassSpace, show_size


class LabelSets(ClassSpace):
    """Classes that are sets of labels, for multi-label problems: 2**L of them, or a given support.

    A set's code is its bit mask while that fits 62 bits, its place in `support` where one is given, and a
    63-bit digest of the set beyond: no set is ever enumerated.

    >>> space = LabelSets(["a", "b", "c"])
    >>> space.size, space.encode([{"a", "c"}, set()])
    (8, array([5, 0]))
    >>> LabelSets(["a", "b", "c"], empty=False).size
    7
    """

    names: tuple[Hashable, ...]
    empty: bool
    support: tuple[frozenset[Hashable], ...] | None

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
        sets = None if support is None else tuple(map(_as_set, support))
        if len(set(names)) < len(names):
            raise SpaceError("a label is there twice; every label needs a name of its own.")
        if sets is not None:
            unknown = {label for s in sets for label in s} - set(names)
            if unknown:
                raise SpaceError(f"the support names {min(map(str, unknown))!r}, which is not a label.")
            if len(set(sets)) < len(sets):
                raise SpaceError("a label set is in the support twice.")
            if not empty and frozenset() in sets:
                raise SpaceError("the support holds the empty set, which empty=False excludes.")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "empty", empty)
        object.__setattr__(self, "support", sets)
        super().__init__(len(sets) if sets is not None else 2 ** len(names) - (not empty))

    @cached_property
    def _place(self) -> Mapping[Hashable, int]:
        return {name: i for i, name in enumerate(self.names)}

    @property
    def masks(self) -> bool:
        """Whether codes are bit masks."""
        return self.support is None and len(self.names) <= 62

    @cached_property
    def codes(self) -> Mapping[Hashable, int]:
        """Label set to code, where there is a support."""
        return {s: code for code, s in enumerate(self.support or ())}

    def encode(self, labels: Iterable[Any]) -> NDArray[np.int64]:
        """Codes of label sets, given as sets of labels or as the rows of an indicator matrix."""
        if isinstance(labels, np.ndarray) and labels.ndim == 2:
            if labels.shape[1] != len(self.names):
                raise SpaceError(f"{labels.shape[1]} columns for {len(self.names)} labels; each label has a column.")
            if not np.isin(labels, (0, 1)).all():
                raise SpaceError("an indicator matrix holds zeros and ones; these are other numbers.")
            names = np.array(self.names, dtype=object)
            labels = [frozenset(names[row.astype(bool)]) for row in labels]
        return np.fromiter((self._code(_as_set(s)) for s in labels), dtype=np.int64)

    def _code(self, labels: frozenset[Hashable]) -> int:
        if not labels <= self._place.keys():
            unknown = next(iter(labels - self._place.keys()))
            near = difflib.get_close_matches(str(unknown), [str(n) for n in self.names], n=1)
            raise SpaceError(f"{unknown!r} is not a label.{f' Did you mean {near[0]!r}?' if near else ''}")
        if not labels and not self.empty:
            raise SpaceError("the empty set is not a class of this space; allow it with empty=True.")
        if self.support is not None:
            return self.codes.get(labels, UNLISTED)
        mask = sum(1 << self._place[label] for label in labels)
        if self.masks:
            return mask - (not self.empty)
        import hashlib  # noqa: PLC0415 - only for more than 62 labels

        digest = hashlib.blake2b(mask.to_bytes(-(-len(self.names) // 8), "little"), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def decode(self, code: int) -> Any:
        """The label set of a code, where the code still tells."""
        if not 0 <= code < self.size and (self.masks or self.support is not None):
            raise SpaceError(f"{code} is not the code of one of {show_size(self.size)} label sets.")
        if self.support is not None:
            return set(self.support[code])
        if not self.masks:
            return code
        mask = code + (not self.empty)
        return {name for i, name in enumerate(self.names) if mask >> i & 1}

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


def _as_set(labels: Any) -> frozenset[Hashable]:
    if isinstance(labels, Iterable):
        with suppress(TypeError):
            return frozenset(labels)
    raise SpaceError(f"{labels!r} is not a set of labels.")
