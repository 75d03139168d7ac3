"""The test of calibration and the differences of the means, of cases that are held: for a diagnosis and a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist.diagnosis import Gap, calibration_test, confidence_gap
from toplist.diagnosis.judging import SIGNIFICANT, Judged
from toplist.errors import TopListError
from toplist.holding.cases import Held, thinned

T = TypeVar("T")
Places = NDArray[np.intp]
DRAWS: Final = 199
TESTED: Final = 200_000
"""Listed classes up to which all cases are tested, and else every so many: a few seconds for 199 draws."""
TESTED_EACH: Final = TESTED // 8
"""The same with clusters, of which one case each is tested many times over."""


def judged(held: Held, *, level: float, draws: int = DRAWS, seed: int = 0) -> Judged:
    """Of all cases, or of some: the test is of one in so many where there are many, differences are from sums then.

    Sums do not say which cases belong together: with clusters, differences are of the cases that are held.
    """
    lists, y, units = held.lists, held.y, held.units
    number = None if units is None else len(np.unique(units))
    if not len(lists):
        return Judged(None, 0, None, None, number, ("There are no cases.",))
    notes: list[str] = []

    def ask(what: str, find: Callable[[], T]) -> T | None:
        try:
            return find()
        except TopListError as error:
            notes.append(f"There is no {what}: {error}")
            return None

    some, clusters = _some(held, notes)
    test = ask("test", lambda: calibration_test(lists[some], y[some], draws=draws, seed=seed, clusters=clusters))
    least = (1 if clusters is None else 2) / (draws + 1)
    if test is None:
        notes[:] = notes[-1:]
    elif least > SIGNIFICANT:
        notes.insert(0, f"With {draws:,} draws p is never below {least:.2g}, and nothing is found: ask for more.")
    added = None if units is not None else held.binned

    def gap(of: str) -> Gap:
        if added is not None:
            return added.gap(of, level=level)
        return confidence_gap(lists, y, of=of, level=level, clusters=units)

    first = ask("difference", lambda: gap("top")) if _promised(held) else None
    mass = ask("difference of the mass", lambda: gap("mass"))
    return Judged(test, 0 if test is None else len(some), first, mass, number, tuple(notes))


def _promised(held: Held) -> bool:
    """Whether any list has a class."""
    if held.binned is not None:
        return held.binned.longest > 0
    return int(held.lists.strictly_valid().sizes.max(initial=0)) > 0


def _some(held: Held, notes: list[str]) -> tuple[Places, Places | None]:
    """The cases that are tested, and their clusters; which of all cases these are does not depend on who holds them."""
    lists, units = held.lists, held.units
    alone = units is None or int(units.max()) + 1 == len(units)
    every = thinned(lists.sizes, held.rows, TESTED, held.every)
    some = np.flatnonzero(held.rows % every == 0)
    if alone or units is None:
        if every > 1:
            notes.append(f"The test is of one case in {every:,}: {len(some):,} cases.")
        return some, None
    _, own = np.unique(units[some], return_inverse=True)
    number, many = int(own.max()) + 1, 1
    entries = int(lists.sizes[some].sum()) * number // len(some)  # with one case of each
    while entries > many * TESTED_EACH and many < number:
        many *= 2
    kept = own % many == 0
    some = some[kept]
    if many > 1:
        notes.append(f"The test is of one cluster in {many:,}: {len(some):,} cases.")
    if held.every > 1:
        notes.append(f"The test and what has an interval are of one case in {held.every:,}: {len(lists):,} cases.")
    if every > held.every:
        notes.append(f"The test is of one case in {every:,}: {len(some):,} cases.")
    return some, own[kept]
