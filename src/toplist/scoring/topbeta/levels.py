"""What callers say about a top-beta list: the mass beta, the cap, the form of the score."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from toplist.core.arguments import as_probability, as_whole
from toplist.errors import SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.space import as_space

FORMS: Final = ("N", "M", "A")
ADDITIVE: Final = ("M", "A")  # a sum over ranks with weights that depend on the number of classes


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
    size = as_size(m)
    return size if size == math.inf else math.ceil(as_level(beta) * size)


def longest_of(m: Any, beta: Any, cap: Any) -> Any:
    """The most classes that a list has if it is also capped."""
    most = longest(m, beta)
    return most if cap is None else min(as_whole(cap, "cap", 1), most)


def as_level(beta: Any) -> Fraction:
    """The mass to reach, between 0 and 1 and neither, as the decimal that it prints as."""
    if isinstance(beta, Fraction):
        if not 0 < beta < 1:
            raise TopListError(f"beta is between 0 and 1, not {beta}.")
        return beta
    return Fraction(repr(as_probability(beta, "beta")))


def as_form(form: Any) -> str:
    """The form of the score."""
    if form not in FORMS:
        raise TopListError(f'the form of a top-beta score is "N", "M" or "A", not {form!r}.')
    return str(form)


def as_additive(form: Any) -> str:
    """A form whose ranks have weights that do not depend on the list."""
    if as_form(form) not in ADDITIVE:
        raise TopListError(
            'form "N" has no constants: each list weights its ranks itself. Look at topbeta.rank_weights(lists, beta).'
        )
    return str(form)


def as_a(a: Any) -> Fraction:
    """The parameter of form A, above one, as the decimal that it prints as."""
    known = isinstance(a, int | float | Fraction | np.number) and not isinstance(a, bool)
    if not known or not 1 < a < math.inf:
        raise TopListError(f"a is a number above 1, not {a!r}.")
    return a if isinstance(a, Fraction) else Fraction(repr(float(a)))


def as_size(m: Any) -> Any:
    """A number of classes: an int of any magnitude, or infinity."""
    space = as_space(m)
    if space.per_case:
        raise SpaceError("one number of classes is meant here, not one per case.")
    return space.size


def as_finite(m: Any) -> int:
    """A finite number of classes, which the scores need."""
    size = as_size(m)
    if size == math.inf:
        raise SpaceError(
            "forms M and A of the top-beta score need finitely many classes, because their constants grow with that "
            'number. Take form="N", which is for any number of classes.'
        )
    return int(size)


def sizes_of(lists: TopLists) -> list[Any]:
    """The numbers of classes that occur: one, or those of all cases, each once and in order."""
    size = lists.space.size
    return sorted(set(size.tolist())) if lists.space.per_case else [size]


def size_index(lists: TopLists, sizes: list[Any]) -> Any:
    """Per case, where its number of classes stands in `sizes`."""
    if not lists.space.per_case:
        return np.zeros(len(lists), np.intp)
    place = {size: at for at, size in enumerate(sizes)}
    return np.array([place[size] for size in lists.space.size.tolist()], dtype=np.intp)
