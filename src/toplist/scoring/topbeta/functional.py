"""The top-beta functional: the fewest most likely classes whose mass reaches beta."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.core.arguments import as_whole
from toplist.errors import ConfidenceError, MassError
from toplist.lists import TopList, require_lists
from toplist.lists.theory import TrueLists, top_mass, true_lists
from toplist.scoring.topbeta.image import as_level, slack_of


def top_beta(lists: Any, beta: Any, *, cap: int | None = None) -> Any:
    """Top-beta list of each case, from its full distribution or from a longer list.

    A list with too little mass that ends before the cap does not determine its top-beta list, and is an error. Ties go
    to the class that stands first.

    Parameters
    ----------
    lists : TopLists or TopList
        The lists.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list. Lists that reach it may have less mass.

    Returns
    -------
    TopLists or TopList
        The top-beta lists.

    Examples
    --------
    >>> import toplist as tl
    >>> top_beta(tl.TopLists.from_proba([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]]), 0.8).sizes
    array([2, 1])
    """
    if isinstance(lists, TopList):
        return TopList.of(top_beta(lists.batch, beta, cap=cap))
    require_lists(lists)
    level = float(as_level(beta))
    cut = lists.truncate(mass=level)
    if cap is not None:
        cut = cut.truncate(as_whole(cap, "cap", 1))
    short = cut.mass < level - slack_of(lists)
    if cap is not None:
        short &= cut.sizes < cap
    if short.any():
        case = int(np.argmax(short))
        raise MassError(
            f"the list has the mass {lists.mass[case]:.6g}, which is below beta = {level:g}: "
            "its top-beta list is not known.",
            "Give a longer list, a smaller beta, or a cap.",
            case=case,
            more=int(short.sum()) - 1,
        )
    wrong = ~cut.is_valid()
    if wrong.any():
        raise ConfidenceError(
            "a listed class is less likely than those that are not listed: its top-beta list is not known.",
            "Repair the lists first, lists.repair().",
            case=int(np.argmax(wrong)),
            more=int(wrong.sum()) - 1,
        )
    return cut


def true_top_beta(p: Any, beta: Any, cap: int | None = None, *, tol: float = 0.0, space: Any = None) -> TrueLists:
    """All true top-beta lists of one distribution, enumerated only as far as they are iterated.

    There are several if classes tie at the cut. Sums within 1e-12 of beta reach it, as in `top_mass`.

    Parameters
    ----------
    p : array-like, mapping or TopList
        One distribution.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list.
    tol : float, default 0.0
        Probabilities this close to each other at the cut count as tied.
    space : ClassSpace, int or sequence of labels, optional
        The classes; by default those of `p`.

    Returns
    -------
    TrueLists
        The true lists.

    Examples
    --------
    >>> [t.classes for t in true_top_beta([0.5, 0.2, 0.2, 0.1], 0.7)]
    [(0, 1), (0, 2)]
    >>> [t.classes for t in true_top_beta([0.5, 0.2, 0.2, 0.1], 0.7, cap=1)]
    [(0,)]
    """
    k = len(top_mass(p, float(as_level(beta)), space=space))
    return true_lists(p, k if cap is None else min(k, as_whole(cap, "cap", 1)), tol=tol, space=space)
