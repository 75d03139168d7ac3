"""The image of the top-beta functional: which lists are in it, how long they can be, and why others are not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument
from toplist._typing import Floats
from toplist.core import kernel
from toplist.core.arguments import as_probability, as_whole
from toplist.errors import ConfidenceError, MassError, SpaceError, TopListError
from toplist.lists import DeviceLists, TopList, TopLists, require_lists
from toplist.lists.space import as_space

ROUNDING: Final = 1e-12  # sums this close to beta reach it, as when lists are truncated to a mass
_SINGLE: Final = 1e-6  # the same for confidences that came in single precision
REASONS: Final = ("invalid", "longer than the cap", "not minimal", "mass below beta")


def as_level(beta: Any) -> Fraction:
    """The mass to reach, between 0 and 1 and neither, as the decimal that it prints as."""
    if isinstance(beta, Fraction):
        if not 0 < beta < 1:
            raise TopListError(f"beta is between 0 and 1, not {beta}.")
        return beta
    return Fraction(repr(as_probability(beta, "beta")))


def longest(m: Any, beta: Any) -> Any:
    """The largest number of classes that a top-beta list can have: ceil(beta m).

    Parameters
    ----------
    m : int or inf
        The number of classes.
    beta : float or Fraction
        The mass to reach, between 0 and 1; a float is read as the decimal that it prints as, so that nine of ten
        classes are enough for 0.9.

    Returns
    -------
    int or inf
        The number; infinite for infinitely many classes.

    Examples
    --------
    >>> longest(10, 0.9), longest(1000, 0.5), longest(3, 0.01)
    (9, 500, 1)
    """
    space = as_space(m)
    if space.per_case:
        raise SpaceError("one number of classes is meant here, not one per case.")
    return space.size if space.size == math.inf else math.ceil(as_level(beta) * space.size)


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """Per case: whether the list is in the image of the functional, and if not, the first of `REASONS`.

    Attributes
    ----------
    beta, cap : float, int or None
        The functional.
    code : ndarray
        -1 inside, else an index into `REASONS`.
    inside : ndarray
        Which lists are a true top-beta list of some distribution.

    Examples
    --------
    >>> in_image(TopLists.from_dicts([{"a": 0.6}], 5), 0.8).counts()["mass below beta"]
    1
    """

    beta: float
    cap: int | None
    code: NDArray[np.int8]  # -1 inside, else an index into REASONS

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which lists are a true top-beta list of some distribution."""
        inside: NDArray[np.bool_] = self.code < 0
        return inside

    @property
    def why(self) -> tuple[str, ...]:
        """Per case the reason, empty for lists inside."""
        return tuple("" if code < 0 else REASONS[code] for code in self.code.tolist())

    def counts(self) -> dict[str, int]:
        """How many lists are outside, by reason."""
        return {reason: int(np.count_nonzero(self.code == at)) for at, reason in enumerate(REASONS)}

    def __len__(self) -> int:
        return len(self.code)


def in_image(lists: Any, beta: Any, cap: int | None = None) -> Image:
    """Whether each list is a top-beta list of some distribution, and if not, the reason.

    It is one if it is valid and its mass reaches beta, but not without its last class. With a cap K, lists of K classes
    may have less mass, and none may have more classes.

    Parameters
    ----------
    lists : TopLists, TopList or DeviceLists
        The lists.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list.

    Returns
    -------
    Image
        The result per case.

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {"a": 0.6}, {"a": 0.9, "b": 0.05}, {}], 5)
    >>> in_image(lists, 0.8).why
    ('', 'mass below beta', 'not minimal', 'mass below beta')
    >>> in_image(lists, 0.8, cap=1).why
    ('longer than the cap', '', 'longer than the cap', 'mass below beta')
    """
    level = as_level(beta)
    if isinstance(lists, DeviceLists):
        return _on_device(lists, level, cap)
    batch = lists.batch if isinstance(lists, TopList) else lists
    require_lists(batch)
    most = _most_classes(batch.space.size.tolist() if batch.space.per_case else [batch.space.size], level, cap)
    mass, before = _masses(batch.ordered())
    short = mass < float(level) - slack_of(batch)
    wrong = (~batch.is_valid(), batch.sizes > most, before >= float(level) - ROUNDING, short & (batch.sizes < most))
    return _first_reasons(float(level), cap, wrong)


def _most_classes(sizes: list[Any], level: Fraction, cap: Any) -> Floats:
    """The most classes that a list has for each number of classes, as a float: beyond 2**62 it is no limit."""
    allowed = math.inf if cap is None else as_whole(cap, "cap", 1)
    by_size = {m: float(min(longest(m, level), allowed, 1 << 62)) for m in set(sizes)}
    return np.array([by_size[m] for m in sizes])


def _masses(ordered: TopLists) -> tuple[Floats, Floats]:
    """The mass of each list, added up class by class as in `TopLists.truncate`, and without its last class."""
    mass, before = np.zeros(len(ordered)), np.zeros(len(ordered))
    for at, part in kernel.by_length(ordered.checked.rows):
        if part.confidences.shape[1]:
            t = part.confidences / ordered.checked.scales[at][:, None]
            mass[at] = np.cumsum(t, axis=1)[:, -1]
            before[at] = mass[at] - t[:, -1]
    return mass, before


def _on_device(lists: DeviceLists, level: Fraction, cap: int | None) -> Image:
    """The same for lists on a device, of which four masks are copied."""
    xp, k = lists.xp, lists.confidences.shape[1]
    most = _most_classes([m if m == math.inf else int(m) for m in lists.space.as_floats[0]], level, cap)
    mass = xp.sum(lists.confidences, axis=1)
    before = mass - xp.min(lists.confidences, axis=1) if k else mass
    slack = _SINGLE if lists.bits <= 24 else ROUNDING
    invalid, late, short = (
        np.array([bool(x) for x in mask])
        for mask in (~lists.is_valid(), before >= float(level) - slack / 4, mass < float(level) - slack)
    )
    return _first_reasons(float(level), cap, (invalid, k > most + np.zeros(len(lists)), late, short & (k < most)))


def _first_reasons(level: float, cap: int | None, wrong: Sequence[NDArray[np.bool_]]) -> Image:
    code = np.full(len(wrong[0]), -1, np.int8)
    for at in reversed(range(len(wrong))):
        code[wrong[at]] = at
    return Image(level, cap, code)


def require_image(lists: TopLists | DeviceLists, beta: Any, cap: int | None = None) -> None:
    """Refuse lists that are no top-beta lists, with the first case and what to do about it."""
    code = in_image(lists, beta, cap).code
    bad = np.flatnonzero(code >= 0)
    if not len(bad):
        return
    case, level = int(bad[0]), float(as_level(beta))
    why = int(code[case])
    where: dict[str, Any] = {"case": case, "more": int(np.count_nonzero(code == why)) - 1}
    part = None if isinstance(lists, DeviceLists) else lists[case : case + 1]
    holds = "" if part is None else f" {float(part.mass[0]):.6g}"
    given = argument("mass", level)
    cut = f"toplist truncate {given}" if given.startswith("-") else f"lists.truncate({given})"
    named = f"this is no top-{level:g} list"
    if REASONS[why] == "invalid":
        raise ConfidenceError(
            f"{named}: a listed class is less likely than those that are not listed.",
            f"Cut full distributions at the mass, {cut}, or score the lists by another rule.",
            **where,
        )
    if REASONS[why] == "longer than the cap":
        if cap is None:  # the most that equal confidences need to reach the mass
            raise MassError(f"{named}: it has more classes than any such list.", f"Cut the lists: {cut}.", **where)
        raise MassError(
            f"{named} of at most {cap} classes: it has more.", f"Truncate it to {cap} classes, or allow more.", **where
        )
    if REASONS[why] == "not minimal":
        raise MassError(
            f"{named}: its classes hold the mass{holds}, and {level:g} or more without the last of them.",
            f"Cut the lists at the mass first: {cut}.",
            **where,
        )
    raise MassError(
        f"{named}: its classes hold the mass{holds} only.",
        f"Give longer lists, a smaller mass, or a cap on the number of classes (topbeta:{level:g}:5 for five).",
        **where,
    )


def slack_of(lists: TopLists) -> float:
    """How far below beta a mass may be and still reach it: more for confidences in single precision."""
    return _SINGLE if lists.confidences.dtype == np.float32 else ROUNDING
