"""Results of a comparison as plain frozen values, named as in JSON: nothing here estimates or draws.

The text beside a type is the description of the field in the JSON schema (`toplist.report.export.schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from toplist.calibration.pairs import Bin
from toplist.core.estimate import SPELLED
from toplist.core.estimate import Estimate as Estimate  # noqa: PLC0414  it is part of the results
from toplist.lists.checks import Issue


@dataclass(frozen=True, slots=True)
class RuleScore:
    """How one model did under one rule; lower scores are better."""

    rule: Annotated[str, "The scoring rule."]
    mean: Annotated[
        Estimate,
        "The mean score; its value is null where it is infinite, and then infinite is above zero. The leader of more "
        "than two models was selected by these data: its mean is too low on average, its interval too optimistic.",
    ]
    unpenalised: Annotated[float, "The mean score without the penalty for invalid lists."]
    infinite: Annotated[int, "Cases with an infinite score."]
    finite: Annotated[float, "The mean over the other cases, a diagnostic; null where there are none."]
    skill: Annotated[
        Estimate | None, "One minus the mean score over that of the uniform prediction, on the same cases."
    ]
    baseline_skill: Annotated[
        Estimate | None, "One minus the mean score over that of the baseline, on the cases that both predict."
    ]
    difference: Annotated[
        Estimate | None,
        "The mean paired difference to the leader on the cases of both, with an interval that holds for all tested "
        "pairs under the rule at once (over all groups, in a group); p is that of this pair alone. Null for the "
        "leader.",
    ]
    relative: Annotated[
        Estimate | None,
        "The geometric mean of the ratios of mean scores to all models, itself included, on the cases of both, where "
        "missing is pairwise; below 1 is better.",
    ]
    adjusted: Annotated[
        Estimate | None,
        "The mean score over all cases by two-way fixed effects (score = model + case), where missing is pairwise: it "
        "assumes that models differ by the same amount on every case.",
    ] = None
    adjusted_p: Annotated[
        float | None,
        "p of the difference by Holm's method over all tested pairs under the rule (over all groups, in a group); null "
        "where there is none.",
    ] = None


@dataclass(frozen=True, slots=True)
class ModelRow:
    """How one model did: a row of a leaderboard."""

    rank: Annotated[
        int | None,
        "Its place, 1 for the leader; models with the same score share a place. Null where it has fewer cases than "
        "min_cases.",
    ]
    name: Annotated[str, "The model, as it was named."]
    cases: Annotated[int, "Cases that it was scored on."]
    missing: Annotated[int, "Cases of the truth without a prediction."]
    invalid: Annotated[int, "Lists with a confidence below the proxy."]
    scores: Annotated[Mapping[str, RuleScore], "By the name of the rule, in the order of rules."]
    metrics: Annotated[Mapping[str, Estimate], "Means of accuracy and other metrics by name, without intervals."]
    rank_interval: Annotated[
        tuple[int, int] | None,
        "One plus the number of models that are significantly better under the first rule, and the number of ranked "
        "models less those that are significantly worse; infinite scores, which no test weighs, make no difference. "
        "All true ranks lie in their intervals at once, at the level of the intervals. Null where it has no rank, and "
        "where ranked models are compared on different cases.",
    ] = None


@dataclass(frozen=True, slots=True)
class Group:
    """The models over one group of cases, or over all of them."""

    group: Annotated[str | None, "The group; null for all cases."]
    cases: Annotated[int, "Cases of the group."]
    rows: Annotated[tuple[ModelRow, ...], "The models, best first."]
    pairs: Annotated[
        tuple[Pair, ...],
        "Every two models under every rule, on the cases of the group, adjusted for all groups and pairs; empty for "
        "all cases, whose pairs are beside the groups.",
    ] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models under one rule; a stands above b in the table."""

    rule: Annotated[str, "The scoring rule."]
    a: Annotated[str, "The one that stands higher."]
    b: Annotated[str, "The other."]
    cases: Annotated[int, "Cases that both predict."]
    difference: Annotated[
        Estimate, "The mean score of a minus that of b: below zero, a is better. Interval and p are of this pair alone."
    ]
    adjusted_p: Annotated[float | None, "p of the difference by Holm's method over all tested pairs under this rule."]
    extra_units: Annotated[
        int | None,
        "Extra units (cases, clusters, time points) with which the interval for all pairs at once would exclude zero 4 "
        "times in 5, if the true difference and spread are the observed ones: 0 where the difference is significant; "
        "null where it cannot be said.",
    ]
    simultaneous: Annotated[
        Estimate,
        "The difference with an interval that holds for all tested pairs under this rule at once (Bonferroni). "
        "Holm's method, which tests in steps, may find a difference significant whose interval contains zero.",
    ]
    lead: Annotated[
        float | None,
        "The sum of the weighted differences in units of the largest loss that one more case could bring to the model "
        "that leads: below 1, a single case could reverse the order. From 10 on it may be larger than given here. Null "
        "where there is no significant difference under the first rule, or it was not computed.",
    ] = None
    by_chance: Annotated[
        float | None,
        "A bound on how often such a lead comes up where the probabilities of the model that trails are right "
        "(Chernoff). Null where the lead is large, or lists are too many.",
    ] = None


@dataclass(frozen=True, slots=True)
class ConfidenceSet:
    """The models that no other one is significantly better than: the best one is left out at most so often."""

    rule: Annotated[str, "The scoring rule."]
    level: Annotated[float, "The level of confidence."]
    members: Annotated[tuple[str, ...], "The models in it, best first."]
    p: Annotated[
        Mapping[str, float],
        "Of each ranked model, the least adjusted p of a pair in which the other one is better: 1 where there is none. "
        "It is a member where p is above one minus the level.",
    ]
    cases: Annotated[int, "Cases of the tested pair that has the fewest."]
    method: Annotated[str, "How it was made."]
    reason: Annotated[str, "Why there is no set, or which models or pairs were not tested; empty where all were."] = ""


@dataclass(frozen=True, slots=True)
class SequentialPath:
    """Two models compared after every step: what may be said at any time, however often one looks.

    A step is a case, a time point or a cluster. The columns have one entry for each number of steps in `at`, which ends
    with all of them and skips some where there are many.
    """

    rule: Annotated[str, "The scoring rule."]
    candidate: Annotated[str, "The model that is compared with the baseline."]
    baseline: Annotated[str, "The one that it is compared with."]
    level: Annotated[float, "The level of confidence, at all times at once, and of all candidates together."]
    cases: Annotated[int, "All cases."]
    at: Annotated[tuple[int, ...], "Numbers of steps after which the path is given; the last is all."]
    mean: Annotated[
        tuple[float, ...],
        "Mean difference over the cases so far, candidate minus baseline: below zero, the candidate is better; a case "
        "where both are infinite counts nothing.",
    ]
    low: Annotated[
        tuple[float, ...],
        "Lower ends of the confidence sequence for the mean over the cases so far of the expected differences, each "
        "given the past; infinite (null in JSON) where there is none, empty where there is no sequence at all.",
    ]
    high: Annotated[tuple[float, ...], "Upper ends."]
    log_evidence_better: Annotated[
        tuple[float, ...], "Log of the e-value against: the candidate was never better in expectation."
    ] = field(metadata=SPELLED)
    log_evidence_worse: Annotated[
        tuple[float, ...], "Log of the e-value against: the candidate was never worse in expectation."
    ] = field(metadata=SPELLED)
    separated: Annotated[int | None, "After how many steps the sequence first excluded zero."]
    shown_better: Annotated[
        int | None, "After how many steps the first e-value first reached the candidates over one minus the level."
    ]
    shown_worse: Annotated[int | None, "The same for the second."]
    method: Annotated[str, "How it was made, and what that assumes."]
    reason: Annotated[str, "Where there is no sequence, or no bet was possible; empty where all is well."] = ""
    unit: Annotated[
        str,
        "What a step is: a case, a time point (all cases with one value of the time) or a cluster, with the sum of its "
        "differences.",
    ] = "case"
    candidates: Annotated[int, "Number of candidates that share the level."] = 1


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """Where a model's lists came from, and what was done to them."""

    name: Annotated[str, "The model."]
    source: Annotated[str, "The file or object that the lists were read from."]
    layout: Annotated[str, "How the lists were laid out there."]
    cases: Annotated[int, "Cases found there."]
    filled: Annotated[int, "Missing predictions that were taken as empty lists."] = 0
    left_out: Annotated[int, "Cases that were not compared."] = 0
    repairs: Annotated[Mapping[str, int], "Cases changed by each repair that was asked for, by its name."] = field(
        default_factory=dict
    )
    reading: Annotated[
        str,
        "How the file was read: its layout, which column is what, which are ignored; or the program that wrote it. "
        "Empty for predictions in memory.",
    ] = ""
    notes: Annotated[tuple[str, ...], "Sentences about what was found in the file and done about it."] = ()
    answer_mass: Annotated[
        float | None,
        "Mean probability on declared answers over the cases found there; null where the lists are not made of the "
        "tokens of a language model.",
    ] = None
    median_answer_mass: Annotated[float | None, "The median of the same."] = None
    median_listed_tokens: Annotated[
        float | None, "Median number of tokens that a server listed, where lists over answers are made of them."
    ] = None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that was read: what it was called in the comparison, where it was, and which bytes it had."""

    name: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PartRecord:
    """Cases that were scored apart from others: what they were read from, and which of them."""

    name: str  # of the truth
    cases: int
    start: int | None = None  # the position of the first case, where there are no ids


@dataclass(frozen=True, slots=True)
class BoardWarning:
    """A reason to doubt that the right things were compared."""

    kind: Annotated[
        str,
        "What is doubtful: never listed, perfect, worse than uniform, below chance, same scores, leader beaten, leader "
        "with few cases, little mass, little answer mass, token lists differ, rare losses, few clusters, few time "
        "points, dominant weights, skewed differences, strong autocorrelation, seasonal or ignored dependence.",
    ]
    sentence: Annotated[str, "It in words, to be read after the names of the models."]
    models: Annotated[tuple[str, ...], "Whom it is about, in the order of the table."]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that was measured about what the intervals rest on."""

    kind: Annotated[str, "What was measured: skewness, autocorrelation or dependence."]
    what: Annotated[str, "Of what: two models, or a column of the truth."]
    value: Annotated[
        float,
        "The skewness of the differences; their first autocorrelation; or the standard error by that column in units "
        "of the one in use.",
    ]
    sentence: Annotated[str, "It in words."]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that a leaderboard shows. Lower scores are better."""

    rules: Annotated[tuple[str, ...], "The scoring rules; the first decides the order."]
    k: Annotated[tuple[int, ...], "The k of top-k errors."]
    classes: Annotated[str, "How many classes there are, in words where it is no single number."]
    cases: Annotated[int, "Cases of the truth."]
    compared: Annotated[int, "Cases that count: fewer than cases where missing is common and some were left out."]
    missing: Annotated[
        str,
        "What was done about missing predictions: error refuses them, common compares cases that every model has, "
        "pairwise those that two have, reject takes them as empty lists.",
    ]
    weighted: Annotated[bool, "Whether cases have weights."]
    baseline: Annotated[str | None, "The model that baseline_skill refers to; null if none was named."]
    penalty: Annotated[
        float | None, "What an invalid list pays: a number, the word infinite, or null for the default of each rule."
    ] = field(metadata=SPELLED)
    level: Annotated[float, "The level of the intervals."]
    method: Annotated[str, "How the intervals were made, and what that assumes."]
    group: Annotated[str | None, "What the groups are; null if there are none."]
    cluster: Annotated[str | None, "What makes cases belong together, empty if it has no name; null if nothing does."]
    time: Annotated[
        str | None, "What says how cases follow each other in time, empty if it has no name; null if nothing does."
    ]
    sources: Annotated[tuple[SourceSummary, ...], "Where the models' lists came from."]
    overall: Annotated[Group, "The models over all cases."]
    groups: Annotated[tuple[Group, ...], "The models over each group of cases."] = ()
    pairs: Annotated[tuple[Pair, ...], "Every two models under every rule, over all cases."] = ()
    confidence_set: Annotated[ConfidenceSet | None, "The confidence set of the best under the first rule."] = None
    paths: Annotated[tuple[SequentialPath, ...], "Anytime-valid paths, where they were asked for."] = ()
    seed: Annotated[int | None, "Of what was drawn for the intervals; null where nothing was."] = None
    weight: Annotated[str | None, "What the weights are, empty if they have no name; null if there are none."] = None
    unit: Annotated[
        str,
        "What is taken as independent, or follows in time: case, cluster or time point; time point where there are "
        "clusters too.",
    ] = "case"
    units: Annotated[int, "How many units there are."] = 0
    effective_units: Annotated[
        float | None,
        "What the units count like: the degrees of freedom plus one of the difference of the first two models, or of "
        "the mean if there is one model; their number for cases of equal weight. Null for time points.",
    ] = None
    truth_reading: Annotated[
        str,
        "How the truth was read: outcomes in a column, or a distribution per case. Empty for outcomes in memory.",
    ] = ""
    truth_repairs: Annotated[
        Mapping[str, int], "What was repaired in a truth with a distribution per case, and in how many cases."
    ] = field(default_factory=dict)
    warnings: Annotated[tuple[BoardWarning, ...], "Why the board may not be right: read these first."] = ()
    min_cases: Annotated[int | None, "Models with fewer compared cases are not ranked; null where all are."] = None
    diagnostics: Annotated[
        tuple[Diagnostic, ...], "What was measured about skewness and dependence of the leader's differences."
    ] = ()


RIGHT = 0.5
"""A top-1 prediction is right where the share of the true class in the first place is above this."""

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
class PredictionView:
    """One prediction of one case, as it is shown to people."""

    model: str
    score: float  # under the first rule
    right: float  # whether the top-1 prediction is the true class; ties share; nan where the truth is a distribution
    listed: tuple[tuple[str, float], ...]  # the most confident classes, most confident first, at most three
    true: float | None  # the probability of the true class, listed or padded; None where the truth is a distribution
    size: int  # listed classes
    rest: float  # unlisted probability


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its true class and what one model or two predicted."""

    case: str
    outcome: str
    predictions: tuple[PredictionView, ...]
    right: float = 0.0  # how many of the models that predict the case have the true class first; ties share
    models: int = 0  # how many models predict the case; 0 where it was not compared, or has no true class

    @property
    def apart(self) -> float:
        """How far apart the scores of two predictions are."""
        one, other = self.predictions
        return abs(one.score - other.score)


@dataclass(frozen=True, slots=True)
class Confusion:
    """A top-1 prediction where another class is true; of classes that tie, the one that is listed first."""

    true: str
    predicted: str
    cases: int
    share: float  # of the cases of the true class
    confidence: float  # mean confidence in the predicted class in these cases


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Mean scores under the first rule by model and by group of cases: true classes, or values of a column.

    Differences are paired, to the average of the ranked models without infinite scores in the group, over the cases
    that these all predict.
    """

    by: str  # "true class", or the name of the column
    groups: tuple[str, ...]  # hardest first; in order where they are numbers or dates
    cases: tuple[int, ...]  # of each group
    models: tuple[str, ...]  # in the order of the table
    means: tuple[tuple[float, ...], ...]  # by group and model; infinite where any score is, nan without cases
    accuracy: tuple[tuple[float, ...], ...]  # by group and model
    differences: tuple[tuple[float, ...], ...]  # by group and model: mean difference to the average; nan for none
    significant: tuple[tuple[bool, ...], ...]  # whether it is (Holm over all cells; over groups, of two ranked models)
    axis: tuple[float, ...] = ()  # where the groups lie, if they are numbers or dates (days since 1970-01-01)
    dates: bool = False  # whether they are dates
    left_out: int = 0  # groups that are not given, because there are too many
    reversals: tuple[tuple[str, str], ...] = ()  # (group, model) where a model is significantly better than the leader
    incomplete: tuple[str, ...] = ()  # groups with cases that a ranked model lacks: means are of different cases


@dataclass(frozen=True, slots=True)
class PairCases:
    """Two models case by case, on the cases of both, under the first rule.

    A top-1 prediction is right where its share of the first place is above one half: of classes that tie for it, none
    is predicted. Where the truth is a distribution, the four counts of right and wrong predictions are zero.
    """

    a: str  # the baseline if one was named, else the leader
    b: str
    cases: int
    both_right: int
    only_a_right: int  # broken, where a is the baseline
    only_b_right: int  # fixed, where a is the baseline
    both_wrong: int
    a_better: int  # cases with a lower score of a, by more than rounding
    b_better: int
    equal: int
    turning: int  # fewest cases without which the sum of weighted differences is zero or reversed; 0 for equal scores
    for_a: tuple[CaseView, ...]  # the five largest weighted advantages of a, each with the predictions of a and b
    for_b: tuple[CaseView, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the results suggest to do next, with what it is expected to gain."""

    kind: str  # recalibrate, pool, truncate, floor, plan, diagnose or label
    models: tuple[str, ...]  # whom it is about
    title: str  # "Recalibrate {0}": {0} stands for the first model, {1} for the second, {} for all in a row
    reason: str  # what was measured, in a sentence without a full stop, with the same places for names
    gain: Estimate | None = None  # change of the mean score under the first rule that was measured, below zero better
    command: str = ""  # for a shell, on the files that were read


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
    mass: tuple[Bin, ...]  # the listed mass, against how often the true class is listed
    sizes: tuple[tuple[int, int], ...]  # list lengths and how often they occur, the 40 most frequent ones
    shortest: int  # of all lengths
    longest: int
    shapes: tuple[PredictionType, ...]
    invalid: str  # the first invalid list in words, or nothing
    issues: tuple[Issue, ...] = ()  # data quality of the validated lists
    worst: tuple[CaseView, ...] = ()  # the ten largest scores, largest first, each with one prediction
    confusions: tuple[Confusion, ...] = ()  # the ten most frequent ones; empty where the truth is a distribution
