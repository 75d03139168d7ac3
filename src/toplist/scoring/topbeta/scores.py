"""Strictly consistent scores of top-beta lists: least in expectation for true lists, and for no others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_number
from toplist._typing import Floats
from toplist.core import kernel
from toplist.errors import TopListError
from toplist.lists import TopList, TopLists, require_lists
from toplist.lists.converters import as_single_outcomes
from toplist.scoring.topbeta.conditioning import RESOLVED, ConditioningWarning, advice
from toplist.scoring.topbeta.constants import KINDS, ratio, round_down
from toplist.scoring.topbeta.image import in_image
from toplist.scoring.topbeta.levels import as_a, as_finite, as_form, as_level, longest_of, size_index, sizes_of

_ENOUGH = 64  # ranks: with more than that the weights of the others are below 1e-60 together
_MARGIN = 0.01  # of beta**2 C_1, the scale of the score: what lists outside the image pay above the bound


@dataclass(frozen=True, slots=True)
class _Formula:
    """One score: its form, its parameters, and the weights of its ranks."""

    m: int
    beta: Fraction
    cap: Any
    form: str
    a: Fraction
    weights: str | tuple[float, ...]

    def first(self, ranks: int) -> tuple[float, ...]:
        """The weights of the first ranks."""
        if not isinstance(self.weights, str):
            return self.weights[:ranks]
        return _first(self.m, self.beta, min(ranks, self.cap), self.form, self.a, self.weights)

    def bound(self) -> float:
        """A number that no score of a list in the image exceeds."""
        c, rest = self.first(min(self.cap, _ENOUGH)), 1 - self.beta
        total = 0.0
        for j, weight in enumerate(c, start=1):
            left = max(self.beta - Fraction(j - 1, self.m), Fraction(0))
            if self.form == "M":
                most = 2 * rest * left / (rest + left) if j > 1 else Fraction(0)
            else:
                w = left / (self.a - Fraction(1, j))
                most = self.a * w**2 + 2 * rest * w if j > 1 else max(self.a * w**2 - 2 * self.beta * w, Fraction(0))
            total += weight * float(most)
        return total

    def outside(self) -> float:
        """What lists outside the image score: more than any inside."""
        return self.bound() * (1 + 1e-12) + _MARGIN * float(self.beta) ** 2 * self.first(1)[0]

    def table(self, t: Floats, c: Floats) -> tuple[Floats, Floats]:
        """The score of sorted lists, (n, k), if the class at each rank happens, and if none of them does."""
        beta, rest = float(self.beta), float(1 - self.beta)
        before = np.zeros_like(t)
        np.cumsum(t[:, :-1], axis=1, out=before[:, 1:])
        scale = float(self.a) if self.form == "A" else 2.0
        size = scale - t if self.form == "A" else 2.0 * (1.0 - before) - t
        w = np.maximum(beta - before, 0.0) / size
        early = c * (scale * w * w - 2.0 * beta * w)
        own = c * ((scale - 1.0) * w * w - 2.0 * beta * w)
        late = c * ((scale * w * w if self.form == "A" else 0.0) + 2.0 * rest * w)
        listed = own
        listed[:, 1:] += np.cumsum(early[:, :-1], axis=1)
        listed[:, :-1] += np.cumsum(late[:, :0:-1], axis=1)[:, ::-1]
        return listed, early.sum(axis=1)


def score(
    lists: Any,
    y: Any,
    beta: Any,
    *,
    form: str = "M",
    cap: int | None = None,
    a: Any = 2.0,
    constants: str | Sequence[Any] = "minimal",
    outside: float | None = None,
    ties: str = "fixed",
) -> Any:
    """Score each case, strictly consistently for top-beta lists of at most `cap` classes; experimental.

    With sorted confidences t_j, T_j = t_1 + ... + t_j, w_j = (beta - T_{j-1}) / L_j, L_j = 2 (1 - T_{j-1}) - t_j in
    form "M" and a - t_j in form "A", the score is the sum over ranks of C_j [w_j**2 l_j - 2 w_j (beta - h_j)]: h_j is 1
    if the outcome stands before rank j, and l_j what L_j is if the outcome is certain (docs/topbeta.md). C_1 = 1, and
    the others fall fast: a `ConditioningWarning` is issued where doubles do not resolve them.

    Parameters
    ----------
    lists : TopLists or TopList
        The lists.
    y : array-like
        Outcomes: codes, labels or label sets, one per case.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    form : {"M", "A"}, default "M"
        Form of the score.
    cap : int, optional
        Largest length of a list.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    constants : {"minimal", "simple"} or sequence of float, default "minimal"
        Weights of the ranks.
    outside : float, optional
        Score of lists that are no top-beta list of any distribution; by default more than any other list can score.
    ties : {"fixed", "average"}, default "fixed"
        Classes that tie within a list count in their order there, or averaged over their orders.

    Returns
    -------
    ndarray or float
        One score per case; a float for a single `TopList`.

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {"a": 0.6, "b": 0.3}, {"a": 0.4}], 5)
    >>> score(lists, ["a", "c", "a"], 0.8, cap=2).round(4)
    array([-0.5408, -0.3551,  0.0944])
    """
    batch = lists.batch if isinstance(lists, TopList) else lists
    require_lists(batch)
    outcomes = [y] if isinstance(lists, TopList) else y
    if ties not in ("fixed", "average"):
        raise TopListError(f'ties are "fixed" or "average", not {ties!r}.')
    codes = as_single_outcomes(outcomes, batch, "top-beta scores need")
    sizes = sizes_of(batch)
    formulas = [_formula(m, beta, cap, form, a, constants) for m in sizes]
    _warn(formulas)
    which = size_index(batch, sizes)
    if outside is None:
        due = np.array([formula.outside() for formula in formulas])
    else:
        due = np.full(len(sizes), as_number(outside, "what lists outside the image score", 0, np.inf))
    out: Floats = due[which]
    inside = np.flatnonzero(in_image(batch, beta, cap).inside)
    if len(inside):
        out[inside] = _inside(batch[inside].ordered(), codes[inside], formulas, which[inside], ties == "average")
    return float(out[0]) if isinstance(lists, TopList) else out


def bound(
    m: Any,
    beta: Any,
    cap: int | None = None,
    form: str = "M",
    *,
    a: Any = 2.0,
    constants: str | Sequence[Any] = "minimal",
) -> float:
    """Upper bound on the top-beta score of a list in the image; experimental.

    In form M it is 2 (1 - beta) times the sum over ranks j > 1 of C_j s_j / (1 - beta + s_j), s_j = beta - (j - 1) / m.

    Parameters
    ----------
    m : int
        Number of classes.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list.
    form : {"M", "A"}, default "M"
        Form of the score.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    constants : {"minimal", "simple"} or sequence of float, default "minimal"
        Weights of the ranks.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> bound(5, 0.8, 1), round(bound(5, 0.8, 2), 4)
    (0.0, 0.088)
    """
    return _formula(as_finite(m), beta, cap, form, a, constants).bound()


def _inside(
    ordered: TopLists, codes: NDArray[np.int64], formulas: list[_Formula], which: NDArray[np.intp], average: bool
) -> Floats:
    """The scores of lists that are in the image, most confident first."""
    longest = int(ordered.sizes.max())
    weights = np.zeros((len(formulas), longest))
    for row, formula in zip(weights, formulas, strict=True):
        first = formula.first(longest)
        row[: len(first)] = first
    out, t, classes = np.empty(len(ordered)), ordered.normalized_confidences, ordered.classes
    for at, part in kernel.by_length(ordered.checked.rows):
        where = ordered.offsets[at][:, None] + np.arange(part.confidences.shape[1])
        rows = t[where]
        listed, missed = formulas[0].table(rows, weights[which[at], : rows.shape[1]])
        hit = classes[where] == codes[at][:, None]
        if average:
            own = np.where(hit, rows, -1.0).max(axis=1)
            hit = rows == own[:, None]  # an order at random puts the outcome anywhere among its equals
        count = hit.sum(axis=1)
        kept = np.where(hit, listed, 0.0).sum(axis=1) / np.maximum(count, 1)
        out[at] = np.where(count > 0, kept, missed)
    return out


def _formula(m: Any, beta: Any, cap: int | None, form: str, a: Any, weights: Any) -> _Formula:
    size, level, form, a = as_finite(m), as_level(beta), as_form(form), as_a(a)
    most = longest_of(size, level, cap)
    if isinstance(weights, str):
        if weights not in KINDS:
            raise TopListError(f'constants are "minimal", "simple" or one number per rank, not {weights!r}.')
        return _Formula(size, level, most, form, a, weights)
    own = tuple(weights)
    if len(own) != most:
        raise TopListError(f"constants are one number per rank, {most:,} of them, not {len(own):,}.")
    if not all(isinstance(c, int | float | Fraction | np.number) and 0 < c < math.inf for c in own):
        raise TopListError("constants are positive numbers.")
    for i, (c, after) in enumerate(pairwise(own), start=1):
        needed = ratio(size, level, i, form, a=a)
        if _exact(c) < needed * _exact(after):
            raise TopListError(
                f"constant {i} is {float(c):.6g} and constant {i + 1} is {float(after):.6g}: with a ratio below "
                f"{float(needed):.6g} the score is not consistent. Take those of topbeta.constants."
            )
    return _Formula(size, level, most, form, a, tuple(float(c) for c in own))


def _exact(c: Any) -> Fraction:
    return c if isinstance(c, Fraction) else Fraction(c.item() if isinstance(c, np.generic) else c)


@lru_cache(maxsize=1024)
def _first(m: int, beta: Fraction, ranks: int, form: str, a: Fraction, kind: str) -> tuple[float, ...]:
    ratios = (ratio(m, beta, i, form, a=a, kind=kind) for i in range(1, ranks))
    return tuple(islice(round_down(ratios), ranks))


def _warn(formulas: list[_Formula]) -> None:
    """Warn once, about the most classes, if doubles do not resolve the ranks."""
    if not formulas:
        return
    worst = formulas[-1]
    if isinstance(worst.weights, str):
        said = advice(worst.m, worst.beta, worst.cap, worst.form, worst.a, worst.weights)
    else:
        apart = max(worst.weights) / min(worst.weights)
        said = f"the constants are {apart:.1g} apart, more than doubles resolve." if apart > 10**RESOLVED else ""
    if said:
        warnings.warn(said, ConditioningWarning, stacklevel=3)
