"""How far apart the weights of the ranks of a top-beta score are, and how many ranks doubles resolve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from toplist.lists.space import show_size
from toplist.scoring.topbeta.levels import ADDITIVE, as_a, as_additive, as_finite, as_level, longest_of
from toplist.scoring.topbeta.rank_constants import constants, log10, ratio

# Scores are rounded to about 1e-16 of the weight of rank 1. An error d in the confidence at the last rank costs about
# d**2 of its weight: with weights 1e8 apart an error of 1e-4 is just seen, and beyond that none that anybody makes.
RESOLVED: Final = 8


class ConditioningWarning(UserWarning):
    """The weights of the ranks are too far apart: classes listed last hardly change the score."""


@dataclass(frozen=True, slots=True)
class Conditioning:
    """How far apart the weights of the ranks 1 to `cap` are, and how many ranks doubles resolve.

    Attributes
    ----------
    m, beta, cap, form : int, float, int, str
        The score.
    log10 : float
        Decimal logarithm of C_1 / C_cap.
    resolved : int
        Largest cap whose weights are within 1e8.
    verdict : str
        The same as a sentence.

    Examples
    --------
    >>> conditioning(10, 0.9).fine
    True
    """

    m: int
    beta: float
    cap: int
    form: str
    log10: float  # of C_1 / C_cap
    resolved: int  # the largest cap with weights that are within 1e8
    verdict: str

    @property
    def fine(self) -> bool:
        """Whether doubles resolve all ranks."""
        return self.resolved >= self.cap

    def __str__(self) -> str:
        head = f"top-{self.beta:g} lists over {show_size(self.m)} classes, up to {self.cap:,} ranks, form {self.form}"
        return f"{head}: {self.verdict}"


def conditioning(m: Any, beta: Any, cap: int | None = None, form: str = "M", *, a: Any = 2.0) -> Conditioning:
    """How far the weights of the ranks are apart, log10 C_1 / C_K, with a verdict.

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

    Returns
    -------
    Conditioning
        The spread of the weights.

    Examples
    --------
    >>> conditioning(10, 0.9).verdict
    'the last rank weighs 1 in 10^6.0; doubles resolve it, but any difference at rank 1 hides it.'
    >>> conditioning(100, 0.9, 10).verdict
    'the last rank weighs 1 in 10^16.4; doubles resolve 5 ranks and no more.'
    """
    found = constants(m, beta, cap, form, a=a)
    apart = -found.log10[-1] or 0.0
    seen = resolved(found.m, found.beta, found.cap, found.form, found.a)
    weighs = f"the last rank weighs 1 in 10^{apart:.1f}"
    if seen < found.cap:
        verdict = f"{weighs}; doubles resolve {seen} rank{'s' if seen > 1 else ''} and no more."
    elif apart > 2:  # of two lists that differ at both ranks, rank 1 decides for any number of cases that people have
        verdict = f"{weighs}; doubles resolve it, but any difference at rank 1 hides it."
    else:
        verdict = f"{weighs}; it counts if there are many cases." if apart > 0 else "all ranks weigh about the same."
    return Conditioning(found.m, float(found.beta), found.cap, found.form, apart, seen, verdict)


def resolved(m: Any, beta: Any, cap: Any, form: str, a: Any = 2.0, *, kind: str = "minimal") -> int:
    """The largest number of ranks, up to a cap, whose weights are within 1e8."""
    size, level, form, a = as_finite(m), as_level(beta), as_additive(form), as_a(a)
    most = longest_of(size, level, cap)
    apart, rank = 0.0, 1
    while rank < most:
        apart += log10(ratio(size, level, rank, form, a=a, kind=kind))
        if apart > RESOLVED:
            break
        rank += 1
    return rank


def advice(m: int, beta: Fraction, cap: Any, form: str, a: Fraction, kind: str) -> str:
    """What to tell people whose score is not resolved; nothing if it is."""
    most, seen = longest_of(m, beta, cap), resolved(m, beta, cap, form, a, kind=kind)
    if seen >= most:
        return ""
    other = next(f for f in ADDITIVE if f != form)
    more = resolved(m, beta, cap, other, a)
    instead = f'form="{other}" ({more} ranks), ' if more > seen else ""
    return (
        f"top-{float(beta):g} lists over {show_size(m)} classes have up to {show_size(most)} ranks, of which the score "
        f"resolves {seen} in double precision: what is listed after that hardly counts. Give cap={seen} or less, "
        f"{instead}or score lists of a fixed length with tl.score and truncate them afterwards."
    )
