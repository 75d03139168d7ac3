"""What a comparison found, as plain values: nothing here computes or draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its interval. `low` and `high` are None where no interval exists, and `why` says why not."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """How one predictor did under one rule; lower scores are better."""

    rule: str
    score: Estimate  # infinite where any score is
    unpenalised: float  # the same without the penalty for invalid lists
    infinite: int  # cases with an infinite score
    finite: float  # the mean over the others, a diagnostic; NaN where there are none
    skill: float | None  # 1 - mean / mean of the empty list, on the same cases
    reference_skill: float | None  # 1 - mean / mean of the reference, on the cases that both predict
    behind: Estimate | None  # paired difference to the leader on the cases of both; None for the leader
    relative: float | None  # geometric mean of the ratios of mean scores to all predictors, itself included, on the
    # cases of both, for missing="pairwise"; below 1 is better


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of a leaderboard."""

    rank: int
    name: str
    cases: int
    missing: int  # cases of the truth without a prediction
    marks: tuple[Mark, ...]  # one per rule, in the order of the leaderboard's rules
    accuracy: float
    top_k_error: Mapping[int, float]
    coverage: float  # how often what happened is listed
    mean_size: float
    mean_mass: float
    invalid: int  # lists with a confidence below the proxy
    invalid_rate: float


@dataclass(frozen=True, slots=True)
class Section:
    """The standings over one group of cases, or over all of them; best first."""

    group: str | None
    cases: int
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a predictor's lists came from, and what was done to them."""

    name: str
    source: str
    layout: str
    cases: int
    filled: int = 0  # absent predictions taken as empty lists
    left_out: int = 0  # cases that were not compared
    repairs: Mapping[str, int] = field(default_factory=dict)  # cases per repair that was asked for


@dataclass(frozen=True, slots=True)
class Results:
    """All that a leaderboard shows."""

    rules: tuple[str, ...]  # the first decides the order
    classes: str  # how many there are
    cases: int  # of the truth
    compared: int  # cases that count: fewer where missing="common" left some out
    missing: str  # "error", "common", "pairwise" or "reject"
    weighted: bool
    reference: str | None
    penalty: float | None  # None: the default of each rule
    level: float  # of the intervals
    method: str  # how the intervals were made, and what that assumes
    by: str | None  # what the groups are
    origins: tuple[Origin, ...]
    overall: Section
    groups: tuple[Section, ...] = ()
