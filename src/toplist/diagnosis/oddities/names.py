"""What cases and classes are called by those who gave them; asked for the few that are spoken of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toplist.space import ClassSpace


class Names(Protocol):
    """The names behind the codes of one batch, which may mean something else in the next."""

    def case(self, at: int, position: int) -> str:
        """What a case is called: its id, or where it stands."""
        ...

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """What classes that a case lists are called."""
        ...

    def outcome(self, at: int, code: int) -> str:
        """What happened in a case."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """Classes by the labels of their space, cases by their ids or their places."""

    space: ClassSpace
    ids: Any = None
    y: Any = None  # outcomes as they were given

    def case(self, at: int, position: int) -> str:
        """See `Names`."""
        return str(position) if self.ids is None else str(self.ids[at])

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """See `Names`."""
        return [str(self.space.decode(code)) for code in codes]

    def outcome(self, at: int, code: int) -> str:
        """See `Names`."""
        return self.classes(at, [code])[0] if code >= 0 or self.y is None else str(self.y[at])
