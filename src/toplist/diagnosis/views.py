"""What can be read of promises: all that is listed, the top class, one rank, or the listed mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import TopListError
from toplist.promises import MISSED, Promises

Floats = NDArray[np.float64]
Of = str | int
NAMES = ("listed", "top", "mass")


@dataclass(frozen=True, slots=True)
class View:
    """Some promises: how large each is, whether it was kept, and which case made it."""

    of: Of
    promised: Floats
    kept: NDArray[np.bool_]
    case: NDArray[np.intp]
    _starts: NDArray[np.int64] | None  # of each case among the entries, where all are seen

    def happening(self, place: NDArray[np.int64]) -> NDArray[Any]:
        """The promises that would be kept if these were the places of what happened: a mask, or numbers."""
        hit: NDArray[np.bool_] = place != MISSED
        if self._starts is not None:
            at: NDArray[np.int64] = self._starts[hit] + place[hit]
            return at
        if self.of == "mass":
            return hit
        kept: NDArray[np.bool_] = place[self.case] == _rank(self.of)
        return kept


def as_of(of: Any) -> Of:
    """The name of a view, or a rank from 1.

    >>> as_of(np.int64(2))
    2
    """
    if isinstance(of, str) and of in NAMES:
        return of
    if isinstance(of, int | np.integer) and not isinstance(of, bool) and of >= 1:
        return int(of)
    raise TopListError(f"look at 'listed', 'top', 'mass' or a rank from 1 on, not at {of!r}.")


def view(made: Promises, of: Any) -> View:
    """The promises of one kind; an error where nothing of the kind was promised."""
    of, lists = as_of(of), made.lists
    require_cases(made)
    if of == "mass":
        return View(of, made.mass, ~made.missed, np.arange(len(lists)), None)
    sizes = lists.sizes
    if not sizes.any():
        raise TopListError("every list is empty: there is no confidence to look at, only the mass (of='mass').")
    if of == "listed":
        return View(of, made.confidence, made.kept, made.case, lists.offsets[:-1])
    rank = _rank(of)
    case = np.flatnonzero(sizes > rank)
    if not len(case):
        raise TopListError(f"no list has a rank {of}: the longest has {int(sizes.max())}.")
    return View(of, made.confidence[lists.offsets[:-1][case] + rank], made.place[case] == rank, case, None)


def require_cases(made: Promises) -> None:
    """Raise if there are none."""
    if not len(made.lists):
        raise TopListError("there are no cases, and so nothing was promised or kept.")


def _rank(of: Of) -> int:
    return 0 if isinstance(of, str) else of - 1
