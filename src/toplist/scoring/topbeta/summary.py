"""Summary of top-beta lists: coverage, length, share in the image, mean scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import norm

from toplist._typing import Floats
from toplist.core.arguments import as_probability, as_shares
from toplist.errors import SpaceError, TopListError
from toplist.lists import TopLists, require_lists
from toplist.scoring.case_scores import outcome_ranks
from toplist.scoring.scores import score as padded_score
from toplist.scoring.topbeta.image import in_image
from toplist.scoring.topbeta.levels import as_level
from toplist.scoring.topbeta.rank_conditioning import ConditioningWarning
from toplist.scoring.topbeta.scores import score


@dataclass(frozen=True, slots=True)
class TopBetaSummary:
    """Coverage against beta, mean length, share outside the image by reason, and two mean scores.

    Attributes
    ----------
    beta, cap, cases, level : float, int or None, int, float
        What was asked for.
    coverage, low, high : float
        Share of cases whose outcome is listed, with a Wilson interval.
    mass, size : float
        Mean listed mass and mean number of classes.
    outside : mapping
        Share of cases outside the image, by reason.
    brier, score : float, float or None
        Mean padded Brier score and mean top-beta score.
    why : str
        Why there is no top-beta score, or a caution about it.

    Examples
    --------
    >>> summarize(TopLists.from_dicts([{"a": 1.0}], 3), ["a"], 0.8).coverage
    1.0
    """

    beta: float
    cap: int | None
    cases: int
    coverage: float
    low: float  # an interval for the coverage (Wilson)
    high: float
    level: float
    mass: float  # the mean mass that the lists claim
    size: float  # the mean number of classes
    outside: Mapping[str, float]  # the share of cases, by reason
    brier: float  # the mean padded Brier score
    score: float | None  # the mean top-beta score
    why: str  # there is none, or how little to make of it

    def __str__(self) -> str:
        covers = f"{self.coverage:.1%} covered ({self.low:.1%} to {self.high:.1%}), {self.beta:.1%} asked for"
        wrong = [f"{share:.1%} {reason}" for reason, share in self.outside.items() if share > 0]
        lines = [
            f"{self.cases:,} cases: {covers}, {self.mass:.1%} claimed.",
            f"{self.size:.2f} classes on average.",
            f"Not top-beta lists: {', '.join(wrong)}." if wrong else "All are top-beta lists.",
            f"Padded Brier score {self.brier:.4f}"
            + ("." if self.score is None else f", top-beta score {self.score:.6g}."),
        ]
        return "\n".join([*lines, self.why] if self.why else lines)


def summarize(
    lists: TopLists,
    y: Any,
    beta: Any,
    *,
    cap: int | None = None,
    form: str = "N",
    a: Any = 2.0,
    level: float = 0.95,
    sample_weight: Any = None,
) -> TopBetaSummary:
    """Summarize top-beta lists: coverage with an interval, length, share outside the image, mean scores.

    True top-beta lists cover at least beta, and as much as their mass. The interval takes cases as independent.

    Parameters
    ----------
    lists : TopLists
        The lists.
    y : array-like
        Outcomes, one per case.
    beta : float or Fraction
        Mass to reach, between 0 and 1.
    cap : int, optional
        Largest length of a list.
    form : {"N", "M", "A"}, default "N"
        Form of the score.
    a : float or Fraction, default 2.0
        Parameter of form "A".
    level : float, default 0.95
        Level of the interval.
    sample_weight : array-like, optional
        Weight of each case.

    Returns
    -------
    TopBetaSummary
        The summary; `print` it.

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.6, "b": 0.3}, {"a": 0.9}, {"a": 0.7}, {"b": 1.0}], 3)
    >>> print(summarize(lists, ["a", "a", "c", "b"], 0.8))
    4 cases: 75.0% covered (30.1% to 95.4%), 80.0% asked for, 87.5% claimed.
    1.25 classes on average.
    Not top-beta lists: 25.0% mass below beta.
    Padded Brier score 0.3775, top-beta score -0.453884.
    """
    require_lists(lists)
    mass, level = as_level(beta), as_probability(level, "level")
    if not len(lists):
        raise TopListError("there are no cases to average over.")
    weight = None if sample_weight is None else as_shares(sample_weight, len(lists))
    covered = _mean(outcome_ranks(lists, y).listed, weight)
    low, high = _wilson(covered, len(lists) if weight is None else 1.0 / float(weight @ weight), level)
    image = in_image(lists, mass, cap)
    shares = {reason: _mean(image.code == at, weight) for at, reason in enumerate(image.counts())}
    mean, why = _mean_score(lists, y, weight, beta=mass, cap=cap, form=form, a=a)
    return TopBetaSummary(
        beta=float(mass),
        cap=cap,
        cases=len(lists),
        coverage=covered,
        low=low,
        high=high,
        level=level,
        mass=_mean(lists.mass, weight),
        size=_mean(lists.sizes, weight),
        outside=MappingProxyType(shares),
        brier=_mean(padded_score(lists, y), weight),
        score=mean,
        why=why,
    )


def _mean_score(lists: TopLists, y: Any, weight: Floats | None, **options: Any) -> tuple[float | None, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConditioningWarning)
        try:
            mean = _mean(score(lists, y, **options), weight)
        except SpaceError as error:
            return None, str(error)
    return mean, str(said[0].message) if said else ""


def _wilson(share: float, cases: float, level: float) -> tuple[float, float]:
    z = float(norm.ppf(0.5 + level / 2)) ** 2 / cases
    middle, half = share + z / 2, math.sqrt(z * share * (1 - share) + z * z / 4)
    return max((middle - half) / (1 + z), 0.0), min((middle + half) / (1 + z), 1.0)


def _mean(values: Any, weight: Floats | None) -> float:
    return float(np.average(np.asarray(values, dtype=np.float64), weights=weight))
