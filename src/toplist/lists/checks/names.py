"""Names of cases, classes and outcomes for messages; looked up for the few cases that a message is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists


class Names(Protocol):
    """The names behind the codes of one batch, which may mean something else in the next."""

    def case(self, at: int, position: int) -> str:
        """The id of a case, or its position."""
        ...

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """The names of classes that a case lists."""
        ...

    def outcome(self, at: int, code: int) -> str:
        """The name of the outcome of a case."""
        ...


def text(value: Any) -> str:
    """A name on one line; label sets in the order of their labels, whatever order they came in.

    >>> text({"b", "a"}), text(3), text(np.str_("x"))
    ('{a, b}', '3', 'x')
    """
    if isinstance(value, set | frozenset | list | tuple):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """Names of predictions in memory: classes by the labels of their space, cases by their ids or positions.

    >>> names = MemoryNames(ClassSpace(labels=["cat", "dog"]), y=["fox"])
    >>> names.case(0, 41), names.classes(0, [1]), names.outcome(0, -1)
    ('41', ['dog'], 'fox')
    """

    space: ClassSpace
    ids: Any = None
    y: Any = None  # outcomes as they were given, which may be no class that is listed

    def case(self, at: int, position: int) -> str:
        """See `Names`."""
        return str(position) if self.ids is None else text(self.ids[at])

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """See `Names`."""
        return [text(self.space.decode(int(code))) for code in codes]

    def outcome(self, at: int, code: int) -> str:
        """See `Names`."""
        space, y = self.space, self.y
        digest = isinstance(space, LabelSets) and space.digests
        if (code >= 0 and not digest) or y is None or isinstance(y, TopLists):
            return self.classes(at, [code])[0] if code >= 0 else "a class that is never listed"
        if isinstance(space, LabelSets) and (isinstance(y, Sets) or hasattr(y, "tocsr")):
            return text(space.named(space.sets(y).take([at]))[0])
        given = y[at] if isinstance(y, list | tuple) else np.asarray(y)[at]
        if isinstance(space, LabelSets) and isinstance(given, np.ndarray):
            given = {name for name, there in zip(space.names, given, strict=True) if there}
        return text(given)
