"""What a comparison found, as plain values: nothing here computes or draws.

What the lists of a model show, as plain values: nothing here computes or draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toplist.calibration.bins import Bin
from toplist.lists.checks import Issue


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its interval. `low` and `high` are None where no interval exists, and `why` says why not."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str = ""
    error: float | None = None  # the standard error
    p: float | None = None  # two-sided, that the true value is zero


@dataclass(frozen=True, slots=True)
class RuleScore:
    """How one model did under one rule; lower scores are better."""

    rule: str
    score: Estimate  # infinite where any score is
    unpenalised: float  # the same without the penalty for invalid lists
    infinite: int  # cases with an infinite score
    finite: float  # the mean over the others, a diagnostic; NaN where there are none
    skill: Estimate | None  # 1 - mean / mean of the empty list, on the same cases
    reference_skill: Estimate | None  # 1 - mean / mean of the reference, on the cases that both predict
    behind: Estimate | None  # paired difference to the leader on the cases of both; None for the leader
    relative: Estimate | None  # geometric mean of the ratios of mean scores to all models, itself included, on the
    # cases of both, for missing="pairwise"; below 1 is better


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One row of a leaderboard."""

    rank: int | None  # None: it has too few cases to be ranked
    name: str
    cases: int
    missing: int  # cases of the truth without a prediction
    marks: tuple[RuleScore, ...]  # one per rule, in the order of the leaderboard's rules
    accuracy: float
    top_k_error: Mapping[int, float]
    coverage: float  # how often what happened is listed
    mean_size: float
    mean_mass: float
    invalid: int  # lists with a confidence below the proxy
    invalid_rate: float


@dataclass(frozen=True, slots=True)
class Group:
    """The standings over one group of cases, or over all of them; best first."""

    group: str | None
    cases: int
    standings: tuple[ModelRow, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models under one rule; `a` stands above `b` in the table."""

    rule: str
    a: str
    b: str
    cases: int  # that both predict
    difference: Estimate  # mean score of a minus that of b: below zero, a is better
    adjusted: float | None  # p by Holm's method over all tested pairs under this rule
    more: int | None  # further units (cases, clusters, moments) that would separate them 4 times in 5, if nothing else
    # changes; 0 where they are separated


@dataclass(frozen=True, slots=True)
class ConfidenceSet:
    """The models among which the best one is, at a level of confidence (Hansen, Lunde and Nason 2011)."""

    rule: str
    level: float
    members: tuple[str, ...]  # in the order of the table
    p: Mapping[str, float]  # of every model; it is a member where p > 1 - level
    cases: int
    method: str  # how the cases were resampled, and what that assumes
    seed: int | None = None  # where anything was drawn
    why: str = ""  # why some or all have no p value


@dataclass(frozen=True, slots=True)
class SequentialPath:
    """Two models, looked at after every case: what may be said at any time, however often one looks.

    The columns have one entry for each number of cases in `at`, which ends with all of them and skips some where
    there are many.
    """

    rule: str
    candidate: str
    baseline: str
    level: float
    cases: int
    at: tuple[int, ...]
    mean: tuple[float, ...]  # mean difference so far, candidate minus baseline: below zero is better; a case where both
    # are infinite counts nothing
    low: tuple[float, ...]  # of the confidence sequence for the average difference; empty where there is none
    high: tuple[float, ...]
    better: tuple[float, ...]  # log of the e-value against "the candidate was never better in expectation"
    worse: tuple[float, ...]  # log of the e-value against "the baseline was never better in expectation"
    separated: int | None  # after how many cases the sequence first excluded zero
    shown_better: int | None  # after how many cases the first e-value first reached 1 / (1 - level)
    shown_worse: int | None
    method: str
    why: str = ""  # why there is no sequence, or where no bet was possible
    unit: str = "case"  # what `at`, `separated` and the others count: "moment" where cases share one


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """Where a model's lists came from, and what was done to them."""

    name: str
    source: str
    layout: str
    cases: int
    filled: int = 0  # absent predictions taken as empty lists
    left_out: int = 0  # cases that were not compared
    repairs: Mapping[str, int] = field(default_factory=dict)  # cases per repair that was asked for
    reading: str = ""  # how the file was read: layout, which column is what, which are ignored


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that was read: what it was called in the comparison, where it was, and which bytes it had."""

    name: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BoardWarning:
    """A reason to doubt that the right things were compared. `sentence` follows the names of the models."""

    kind: str
    sentence: str
    models: tuple[str, ...]  # that it is about, in the order of the table


@dataclass(frozen=True, slots=True)
class Comparison:
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
    clusters: str | None  # by what cases belong together: a name, empty where they were given without one
    order: str | None  # by what cases follow each other
    origins: tuple[SourceSummary, ...]
    overall: Group
    groups: tuple[Group, ...] = ()
    pairs: tuple[Pair, ...] = ()  # of all models, by rule
    confidence_set: ConfidenceSet | None = None  # where it was asked for
    paths: tuple[SequentialPath, ...] = ()  # where they were asked for
    seed: int | None = None  # where anything was drawn
    weight: str | None = None  # what the weights are
    unit: str = "case"  # what is taken as independent, or follows in time: "case", "cluster" or "moment"
    units: int = 0  # how many there are
    truth_reading: str = ""  # how the truth was read
    truth_repairs: Mapping[str, int] = field(default_factory=dict)  # cases per repair of a truth with distributions
    warnings: tuple[BoardWarning, ...] = ()  # why the board may not be right, shown before anything else
    min_cases: int | None = None  # models with fewer compared cases are not ranked


KINDS = ("empty list", "hard label", "top list", "distribution")
"""The shapes of predictions, from the shortest lists to the longest."""


@dataclass(frozen=True, slots=True)
class PredictionType:
    """Predictions of one shape: how many there are, and how they score."""

    kind: str  # one of KINDS
    cases: int
    score: float  # mean under the first rule; infinite where any is
    infinite: int


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A case that cost much."""

    case: str
    score: float
    outcome: str
    listed: tuple[tuple[str, float], ...]  # the most confident classes, at most three
    size: int
    rest: float


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """What one model's lists show."""

    name: str
    rule: str  # that scores below are of
    cases: int
    ks: tuple[int, ...]
    curve: tuple[float, ...]  # mean score of the lists cut to k classes, without penalty; empty for a soft truth
    listed: tuple[Bin, ...]  # all listed confidences
    top: tuple[Bin, ...]  # the most confident class alone
    mass: tuple[Bin, ...]  # the listed mass, against how often what happened is listed
    sizes: tuple[tuple[int, int], ...]  # list lengths and how often they occur, the 40 most frequent ones
    shortest: int  # of all lengths
    longest: int
    shapes: tuple[PredictionType, ...]
    costly: tuple[WorstCase, ...]  # worst first
    invalid: str  # the first invalid list in words, or nothing
    issues: tuple[Issue, ...] = ()  # data quality of the validated lists
