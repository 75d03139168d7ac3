"""Partial results: the mergeable state of a comparison over some of its cases.

A part is scored anywhere, saved as bytes, and merged with others in any order; the leaderboard of the merge is that of
one run over all cases, to the last bit. Everything in it is a sum, a count, a maximum, a sample of cases by the hash of
their ids, or what was asked.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import permutations
from typing import Any, Final

import numpy as np

from toplist._arguments import as_whole
from toplist._text import argument, listed
from toplist._typing import Progress
from toplist.core.kernel import version
from toplist.errors import AlignmentError, TopListError
from toplist.evaluation.compare import Bounds, Question, Scored, rank, spelled_in_files
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.samples import (
    FileLosses,
    PairLoss,
    SampleCollector,
    SampledCases,
    columns_of,
    score_range,
)
from toplist.evaluation.stream import (
    ReadSummary,
    ScoringSpec,
    SumCollector,
    TeeCollector,
    most_repaired,
    require_cases,
    run,
)
from toplist.inference.aggregates import Aggregates
from toplist.inference.aggregates import merge as merge_tallies
from toplist.inference.diagnostics import SAMPLED
from toplist.inference.missing import Difficulty
from toplist.inference.results import SourceSummary
from toplist.inference.settings import Inference, InferenceSettings
from toplist.io.encoding import empty_set_explained
from toplist.io.lists import require_few_groups
from toplist.io.plan import Plan

SAMPLE: Final = 1000
"""Cases of a part that are kept to be examined, by default."""
MOST_MODELS: Final = 10
"""Models up to which the largest losses of all pairs are found beforehand."""
_MORE = 8  # smaller slopes of Chernoff's bound: other parts may have cases up to 2**8 times as heavy
_NAMES = 1000  # names of classes that are kept where no outcome is ever listed


@dataclass(frozen=True, slots=True)
class Cover:
    """Cases that a part covers: what they were read from, and which of them."""

    source: str
    cases: int
    start: int | None = None  # the position of the first case, where there are no ids
    digest: str = ""  # of what was found there


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A part of the input that was left out: what it is, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What a part is where it could not be scored."""

    skipped: tuple[SkippedPart, ...]

    @classmethod
    def of(cls, source: str, error: BaseException) -> Failure:
        """The failure of one part."""
        return cls((SkippedPart(source, str(error) or type(error).__name__),))


@dataclass(frozen=True, slots=True)
class PartQuestion:
    """What is asked of all parts alike, as plain values: parts are merged where it is equal."""

    models: tuple[str, ...]
    rules: tuple[str, ...]
    k: tuple[int, ...]
    penalty: float | None
    baseline: str | None
    missing: str
    classes: str  # how many there are, in a word
    size: int | float  # the same as a number
    labels: str  # a digest of their names, or nothing
    repairs: Mapping[str, Any]  # what is repaired in the lists of each model, and in the truth
    weight: str | None
    group: str | None
    settings: InferenceSettings
    min_cases: int | None
    bounds: Bounds  # of scores, by rule
    penalised: Bounds  # the same where invalid lists pay
    scale: float  # the range of the first rule

    @classmethod
    def of(cls, question: Question, plan: Plan, settings: InferenceSettings) -> PartQuestion:
        """What is asked of the cases of a plan."""
        space, scoring = plan.space, question.scoring
        if space is None:
            raise TopListError("a number of classes per case has no partial results: run compare without an engine.")
        labels = "" if space.labels is None else _digest("\n".join(f"{label!r}" for label in space.labels))
        repairs = {name: asdict(one) for name, one in plan.repairs.items()} | {"": asdict(plan.truth_repairs)}
        return cls(
            question.names,
            question.rules,
            scoring.ks,
            scoring.penalty,
            question.baseline,
            question.missing,
            plan.classes,
            space.size,
            labels,
            repairs,
            plan.weight,
            plan.group,
            settings,
            question.inference.min_cases,
            question.bounds(False),
            question.bounds(True),
            score_range(scoring.rules[0]),
        )

    @property
    def question(self) -> Question:
        """The same as `compare` takes it; rules go by their names."""
        how = self.settings
        inference = Inference(
            method=how.method, level=how.level, horizon=how.horizon, seed=how.seed, min_cases=self.min_cases
        )
        spec = ScoringSpec((), self.k, self.penalty, self.baseline)
        return Question(self.models, spec, self.rules, self.missing, inference)


@dataclass(frozen=True, slots=True, eq=False)
class PartialResult:
    """The mergeable state of a comparison over some of its cases. Made by `partial_result` and by engines.

    Parts of the same question are added; `leaderboard` is what the cases of all of them show.
    """

    question: PartQuestion
    covers: tuple[Cover, ...]
    tallies: Mapping[Hashable, Aggregates]  # exact sums, by group
    read: ReadSummary
    heaviest: float  # weight of a case
    sample: SampledCases
    losses: Mapping[tuple[str, str], PairLoss] | None = None  # None: they were not looked for
    spelled: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    skipped: tuple[SkippedPart, ...] = ()
    written: str = field(default_factory=version)  # the version of the library

    def __add__(self, other: PartialResult) -> PartialResult:
        return merge([self, other])

    def leaderboard(self) -> Leaderboard:
        """What the cases show."""
        return finish(self)


def require_sums(settings: InferenceSettings, missing: str, *, per_case: bool) -> None:
    """Refuse what needs all cases at once: partial results are sums."""
    alone = "or run compare without an engine"
    if settings.ordered:
        time = f"{argument('time', '')} if cases are independent, " if settings.time is not None else ""
        raise TopListError(
            f"{argument('method', settings.method)} needs all cases in their order, and parts are merged from sums: "
            f"pass {time}{argument('method', 't')}, {alone}."
        )
    if not settings.by_sums:
        raise TopListError(
            f"{argument('method', settings.method)} needs all cases at once, and parts are merged from sums: pass "
            f"{argument('method', 'poisson')} or {argument('method', 't')}, {alone}."
        )
    if missing == "pairwise":
        raise TopListError(
            f"{argument('missing', 'pairwise')} needs all cases at once, and parts are merged from sums: choose "
            f"{argument('missing', 'common')}, {alone}."
        )
    if per_case:
        raise TopListError(
            "a number of classes per case needs all cases at once, and parts are merged from sums: run compare without "
            "an engine."
        )


def settings_of(plan: Plan, question: Question) -> InferenceSettings:
    """How intervals are made of the sums of parts, or an error that says what to choose instead."""
    settings = question.inference.settings(plan.cluster, plan.time, weighted=plan.weight is not None)
    require_sums(settings, question.missing, per_case=plan.space is None)
    return settings


def score_part(
    plan: Plan,
    question: Question,
    *,
    covers: Sequence[Cover] = (),
    total: int | None = None,
    start: int = 0,
    sample: int = SAMPLE,
    columns: Sequence[str] | None = None,
    losses: bool = True,
    progress: Progress = lambda what, done, total: None,
) -> PartialResult:
    """Score the cases of a plan, as a part of more.

    Parameters
    ----------
    plan : Plan
        The open files of this part.
    question : Question
        What is asked of all parts.
    covers : sequence of Cover, optional
        What is covered, for merges and for people.
    total : int, optional
        How many cases there are in all parts, where that is known: the sample is then what one run would draw.
    start : int, default 0
        The position of the first case among those of all parts, where there are no ids.
    sample : int, default 1000
        How many cases are kept to be examined, where `total` is not known.
    columns : sequence of str, optional
        The columns of the truth that are kept of sampled cases; by default those that `columns_of` finds.
    losses : bool, default True
        Whether the largest losses are looked for beforehand; if not, they need another pass after the merge.
    progress : callable, optional
        Called with what is done, how much of it, and of how much.

    Returns
    -------
    PartialResult
        The state of these cases.
    """
    settings = settings_of(plan, question)
    plan = replace(plan, time=settings.time, ordered=settings.ordered)
    asked = PartQuestion.of(question, plan, settings)
    drawn: Any = {"limit": sample} if total is None else {"threshold": min(1.0, SAMPLED / max(total, 1))}

    def collector() -> TeeCollector[SumCollector, SampleCollector]:
        return TeeCollector(SumCollector(plan, settings.set_seed), SampleCollector(plan, start=start, **drawn))

    with empty_set_explained(plan.set_separator):
        both, read = run(plan, question.scoring, collector, progress, part=True)
        kept = both.other
        names = columns_of(plan, settings, repeated=False) if columns is None else columns
        found = PartialResult(
            asked,
            tuple(covers),
            both.one.tallies,
            read,
            kept.heaviest,
            kept.cases(names),
            spelled=_spelled(plan, both.one.tallies),
        )
        return replace(found, losses=_losses(plan, question, found)) if losses else found


def losses_of(
    plan: Plan, question: Question, pairs: Sequence[tuple[str, str]], heaviest: float, more: int = 0
) -> dict[tuple[str, str], PairLoss]:
    """The largest losses of some pairs over the cases of a plan, where the heaviest of all cases has this weight."""
    if plan.missing in ("uniform", "worst", "baseline"):
        return {}
    asked = {name for pair in pairs for name in pair}
    names = tuple(one.name for one in plan.sources if plan.missing == "common" or one.name in asked)
    return FileLosses(plan, question.scoring, heaviest=heaviest).of(pairs, names, more)


def _losses(plan: Plan, question: Question, found: PartialResult) -> dict[tuple[str, str], PairLoss] | None:
    """Those of all pairs, where these are few enough."""
    names = question.names
    if not found.read.compared or len(names) > MOST_MODELS:
        return None if len(names) > MOST_MODELS else {}
    return losses_of(plan, question, [*permutations(names, 2)], found.heaviest, _MORE if plan.weight else 0)


def _spelled(plan: Plan, tallies: Mapping[Hashable, Aggregates]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """How outcomes and classes are written, of the models on whose lists no outcome ever stands."""
    out = {}
    for a, source in enumerate(plan.sources):
        sums = [one.sums for one in tallies.values()]
        if sums and not any(one["coverage"][a] for one in sums):
            outcomes, classes = spelled_in_files(plan, source.name)
            out[source.name] = tuple(outcomes[:_NAMES]), tuple(classes[:_NAMES])
    return out


# Merging


def merge(parts: Iterable[PartialResult | Failure]) -> PartialResult:
    """The state of the cases of all parts together; the order of the parts does not show."""
    given = list(parts)
    found = [one for one in given if isinstance(one, PartialResult)]
    skipped = [one for part in given if isinstance(part, Failure) for one in part.skipped]
    if not found:
        raise TopListError(
            "there are no partial results to merge." if not skipped else f"no part could be scored: {skipped[0].reason}"
        )
    first = found[0]
    for other in found[1:]:
        require_same_question(first, other)
    _require_apart(found)
    tallies = reduce(merge_tallies, (one.tallies for one in found))
    require_few_groups(tallies, first.question.group)
    read = reduce(_both_read, (one.read for one in found))
    losses: dict[tuple[str, str], PairLoss] | None = {}
    for one in found:
        if one.losses is None or losses is None:
            losses = None
            continue
        losses = {
            pair: losses.get(pair, PairLoss()) + one.losses.get(pair, PairLoss())
            for pair in (*losses, *(pair for pair in one.losses if pair not in losses))
        }
    return PartialResult(
        first.question,
        tuple(sorted({cover for one in found for cover in one.covers}, key=_place)),
        tallies,
        read,
        max(one.heaviest for one in found),
        _samples(found, read.cases),
        losses,
        _both_spelled(found),
        tuple(
            sorted(
                {*skipped, *(each for one in found for each in one.skipped)}, key=lambda one: (one.source, one.reason)
            )
        ),
        max(one.written for one in found),
    )


def _place(cover: Cover) -> tuple[str, int, str]:
    return cover.source, -1 if cover.start is None else cover.start, cover.digest


def _samples(found: Sequence[PartialResult], cases: int) -> SampledCases:
    """The sampled cases of all parts, at the least threshold."""
    from toplist._files import need  # noqa: PLC0415

    pa = need("pyarrow")
    room = 1.25 * SAMPLED / max(cases, 1)
    least = min([room, *(one.sample.threshold for one in found)])
    samples = [one.sample.below(least) for one in found]
    names = [tuple(one.columns) for one in samples if len(one)]
    alike = all(one == names[0] for one in names)
    common: Sequence[str] = () if not names else names[0] if alike else sorted(set.intersection(*map(set, names)))
    return SampledCases(
        min(least, 1.0),
        np.concatenate([one.keys for one in samples]),
        np.concatenate([one.scores for one in samples]),
        None
        if samples[0].weights is None
        else np.concatenate([one.weights for one in samples if one.weights is not None]),
        {
            name: pa.chunked_array([one.columns[name] for one in samples if len(one)], pa.string()).combine_chunks()
            for name in common
        },
    ).in_order()


def _both_read(one: ReadSummary, other: ReadSummary) -> ReadSummary:
    """What was read of both."""
    difficulty = (
        one.difficulty
        if other.difficulty is None
        else other.difficulty
        if one.difficulty is None
        else one.difficulty + other.difficulty
    )
    repaired = tuple(_counts(x, y) for x, y in zip(one.repaired, other.repaired, strict=True))
    return ReadSummary(
        tuple(_both_sources(x, y) for x, y in zip(one.origins, other.origins, strict=True)),
        one.cases + other.cases,
        one.compared + other.compared,
        _either(one.truth, other.truth),
        most_repaired(repaired),
        {name: max(one.highest[name], other.highest[name]) for name in one.highest},
        difficulty,
        repaired,
        tuple(x + y for x, y in zip(one.matched, other.matched, strict=True)),
    )


def _counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(one) + Counter(other)).items()))


def _both_sources(one: SourceSummary, other: SourceSummary) -> SourceSummary:
    """Where the predictions of both parts came from."""
    return replace(
        one,
        source=_either(one.source, other.source),
        layout=_either(one.layout, other.layout),
        cases=one.cases + other.cases,
        filled=one.filled + other.filled,
        left_out=one.left_out + other.left_out,
        repairs=_counts(one.repairs, other.repairs),
        reading=_either(one.reading, other.reading),
        notes=tuple(sorted({*one.notes, *other.notes})),
    )


def _either(one: str, other: str) -> str:
    """One text, or both where they differ: each once, in order."""
    return _SEVERAL.join(sorted({*one.split(_SEVERAL), *other.split(_SEVERAL)}))


_SEVERAL = " | "


def _both_spelled(
    found: Sequence[PartialResult],
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Names of outcomes and classes of the models that list no outcome in any part."""
    parts = [one.spelled for one in found if one.tallies]
    out = {}
    for name in parts[0] if parts else ():
        if all(name in one for one in parts):
            outcomes, classes = (
                sorted({text for one in parts for text in one[name][side]})[:_NAMES] for side in (0, 1)
            )
            out[name] = tuple(outcomes), tuple(classes)
    return out


def require_same_question(one: PartialResult, other: PartialResult) -> None:
    """Refuse parts that do not belong together, with what differs."""


def _require_apart(found: Sequence[PartialResult]) -> None:
    """Refuse parts that have cases in common."""


# The leaderboard


@dataclass(frozen=True, slots=True)
class PartLosses:
    """The largest losses that parts found, or that another pass finds where they were not looked for."""

    scores: Mapping[str, float]
    heaviest: float
    low: float
    scale: float
    known: Mapping[tuple[str, str], PairLoss] | None
    again: Callable[[Sequence[tuple[str, str]], float], Mapping[tuple[str, str], PairLoss]] | None = None

    def highest(self, name: str) -> float:
        """See `diagnostics.Highest`."""
        return self.heaviest * (self.scores[name] - self.low)

    def lost(self, sums: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], tuple[float, float | None]]:
        """See `diagnostics.Lost`."""
        known = self.known
        if known is None:
            known = {} if self.again is None else self.again([*sums], self.heaviest)
        return {
            pair: known[pair].result(total, self.scale, self.heaviest) for pair, total in sums.items() if pair in known
        }


def finish(
    result: PartialResult,
    *,
    cases: Any = None,
    losses: Callable[[Sequence[tuple[str, str]], float], Mapping[tuple[str, str], PairLoss]] | None = None,
    spelled: Any = None,
    inputs: Sequence[str] = (),
) -> Leaderboard:
    """The leaderboard of all cases of a result.

    Parameters
    ----------
    result : PartialResult
        The merged state of all parts.
    cases : CaseReader, optional
        What reads the cases again, where the files are at hand.
    losses : callable, optional
        Another pass over the parts, for the largest losses of some pairs with the weight of the heaviest case.
    spelled : callable, optional
        What says how outcomes and classes are written, by model; by default what the parts kept.
    inputs : sequence of str, optional
        The files that were read: nothing is written over them.
    """
    asked, read = result.question, result.read
    require_cases("the truth", read.cases, read.compared)
    apart = next((name for name, count in zip(asked.models, read.matched, strict=True) if not count), None)
    if apart is not None:
        raise AlignmentError(f"{apart} has none of the cases of the truth.")
    if all(count == read.cases for count in read.matched):
        read = replace(read, difficulty=None)
    scored = Scored(
        result.tallies,
        None,
        read,
        asked.settings,
        asked.classes,
        asked.size,
        asked.weight,
        asked.group,
        cases,
        spelled or (lambda name: result.spelled.get(name, ((), ()))),
        result.sample.drawn(read.cases),
        PartLosses(read.highest, result.heaviest, asked.bounds[0][0], asked.scale, result.losses, losses),
        lambda penalised: asked.penalised if penalised else asked.bounds,
    )
    return rank(asked.question, scored, tuple(inputs))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
