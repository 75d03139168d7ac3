"""Partial results: the mergeable state of a comparison over some of its cases.

A part is scored anywhere, saved as bytes, and merged with others in any order; the leaderboard of the merge is that of
one run over all cases, to the last bit. Everything in it is a sum, a count, a maximum, a sample of cases by the hash of
their ids, or what was asked.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import reduce
from itertools import pairwise, permutations
from typing import Any, Final

from toplist._text import argument, quote
from toplist._typing import Progress
from toplist.calibration.binned import ReliabilityBins
from toplist.core.kernel import version
from toplist.errors import AlignmentError, SpaceError, TopListError
from toplist.evaluation.case_details import SumDetails
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.losses import Losses, PairLoss, pair_losses
from toplist.evaluation.ranking import Question, Scored, rank, spelled_in_files
from toplist.evaluation.samples import (
    ROOM,
    SampleCollector,
    SampledCases,
    columns_of,
    reading,
)
from toplist.evaluation.stream import (
    ReadSummary,
    ScoredRows,
    SumCollector,
    require_cases,
    run,
)
from toplist.inference.aggregates import Aggregates
from toplist.inference.aggregates import merge as merge_tallies
from toplist.inference.codec import from_bytes, to_bytes
from toplist.inference.diagnostics import SAMPLED
from toplist.inference.results import PartRecord, SourceSummary
from toplist.inference.settings import Inference, InferenceSettings
from toplist.io import ANSWER_MASS, Plan, require_few_groups, silent
from toplist.lists.space import show_size

SAMPLE: Final = 1000
"""Cases of a part that are kept to be examined, by default."""
MOST_MODELS: Final = 10
"""Models up to which the largest losses of all pairs are found beforehand."""
_MORE = 8  # smaller slopes of Chernoff's bound: other parts may have cases up to 2**8 times as heavy
_NAMES = 1000  # names of classes that are kept where no outcome is ever listed
Spelling = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of outcomes, and names of the classes of a model."""


@dataclass(frozen=True, slots=True)
class PartQuestion:
    """What is asked of all parts alike, as plain values: parts are merged where it is equal."""

    question: Question  # whose rules go by their names
    size: int | float  # the number of classes
    labels: str  # a digest of their names, or nothing
    repairs: Mapping[str, Any]  # what is repaired in the lists of each model, and in the truth
    ids: bool  # whether cases have ids, or go by their position
    weight: str | None
    group: str | None
    settings: InferenceSettings

    @classmethod
    def of(cls, question: Question, plan: Plan, settings: InferenceSettings) -> PartQuestion:
        """What is asked of the cases of a plan."""
        space = plan.space
        if space is None:
            raise ValueError("the number of classes differs from case to case: see `settings_of`")
        labels = "" if space.labels is None else "\n".join(f"{label!r}" for label in space.labels)
        inference = Inference(min_cases=question.inference.min_cases)  # all else is in the settings
        return cls(
            replace(question, scoring=replace(question.scoring, rules=()), inference=inference),
            space.size,
            hashlib.sha256(labels.encode("utf-8", "surrogatepass")).hexdigest() if labels else "",
            {name: asdict(one) for name, one in plan.repairs.items()} | {"": asdict(plan.truth_repairs)},
            plan.truth.layout.case is not None,
            plan.weight,
            plan.group,
            settings,
        )


@dataclass(frozen=True, slots=True, eq=False)
class PartialResult:
    """The mergeable state of a comparison over some of its cases. Made by `partial_result` and by engines.

    Parts of the same question are added with `+`; `leaderboard` is what the cases of all of them show.

    Parameters
    ----------
    question : PartQuestion
        What is asked of all parts alike.
    covers : tuple of PartRecord
        What the cases were read from.
    tallies : mapping of Aggregates
        Exact sums, by group.
    read : ReadSummary
        Counts of cases, missing predictions and repairs.
    heaviest : float
        The largest weight of a case.
    sample : SampledCases
        Cases that are examined for skewness and dependence.
    losses : mapping of PairLoss, optional
        The largest losses of every two models; None where they were not looked for.
    spelled : mapping, optional
        Names of outcomes and classes, of models on whose lists no outcome ever stands.
    bins : mapping of ReliabilityBins, optional
        By model, confidences of the first class.
    written : str, optional
        The version of the library.

    Examples
    --------
    >>> import pandas as pd
    >>> import toplist as tl
    >>> ids = pd.Index(["x", "y"], name="id")
    >>> truth, lists = pd.DataFrame({"outcome": ["a", "b"]}, ids), pd.DataFrame({"a": [0.7, 0.4], "b": [0.3, 0.6]}, ids)
    >>> one, other = (tl.partial_result({"m": lists[at : at + 1]}, truth[at : at + 1]) for at in (0, 1))
    >>> (one + other).leaderboard()["m"].cases
    2
    """

    question: PartQuestion
    covers: tuple[PartRecord, ...]
    tallies: Mapping[Hashable, Aggregates]  # exact sums, by group
    read: ReadSummary
    heaviest: float  # weight of a case
    sample: SampledCases
    losses: Mapping[tuple[str, str], PairLoss] | None = None  # None: they were not looked for
    spelled: Mapping[str, Spelling] = field(default_factory=dict)  # of models on whose lists no outcome ever stands
    bins: Mapping[str, ReliabilityBins] = field(default_factory=dict)  # by model: confidences of the first class
    written: str = field(default_factory=version)  # the version of the library

    def __add__(self, other: PartialResult) -> PartialResult:
        return merge([self, other])

    def leaderboard(self) -> Leaderboard:
        """What the cases show."""
        return finish(self)

    def to_bytes(self) -> bytes:
        """The same as bytes, for a file or another process: tens of kilobytes, and more with groups and clusters."""
        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "memory") -> PartialResult:
        """What `to_bytes` made.

        Parameters
        ----------
        data : bytes
            The bytes.
        source : str, default "memory"
            What they are called in errors.

        Returns
        -------
        PartialResult
            The same state.

        Raises
        ------
        FileError
            If the bytes are damaged, or of another format.
        """
        return from_bytes(data, cls, source)


@dataclass(slots=True)
class PartSums(SumCollector):
    """Adds up exactly, and puts the confidences of the first classes into bins."""

    bins: dict[str, ReliabilityBins] = field(default_factory=dict)  # by model

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`."""
        bins = [(lists.name, ReliabilityBins.of(lists.lists, lists.scores.metrics["accuracy"])) for lists in rows.lists]
        return SumCollector.make(self, rows), bins

    def add(self, made: Any) -> None:
        """See `Collector`."""
        tallies, bins = made
        SumCollector.add(self, tallies)
        for name, one in bins:
            self.bins[name] = self.bins.get(name, ReliabilityBins()) + one


def settings_of(plan: Plan, question: Question) -> InferenceSettings:
    """How intervals are made of the sums of parts, or an error that says what to choose instead."""
    settings = question.inference.settings(plan.cluster, plan.time, weighted=plan.weight is not None)
    method, t, poisson = (argument("method", name) for name in (settings.method, "t", "poisson"))
    time = "" if settings.time is None else f"{argument('time', '')} if cases are independent, "
    tokens = any(ANSWER_MASS in source.reader.schema.names for source in plan.sources)
    for needs, what, remedy in (
        (settings.ordered, method, f"pass {time}{t}, or "),
        (not settings.by_sums, method, f"pass {poisson} or {t}, or "),
        (
            question.missing == "pairwise",
            argument("missing", "pairwise"),
            f"choose {argument('missing', 'common')}, or ",
        ),
        (plan.space is None, "a number of classes per case", ""),
        (tokens, "the median mass on answers made of tokens", "convert the files first, or "),
    ):
        if needs:
            problem = f"{what} needs all cases at once, and parts are merged from sums"
            raise TopListError(f"{problem}: {remedy}run compare without an engine.")
    return settings


def score_part(
    plan: Plan,
    question: Question,
    *,
    total: int | None = None,
    start: int = 0,
    sample: int = SAMPLE,
    columns: Sequence[str] | None = None,
    losses: bool = True,
    progress: Progress = silent,
) -> PartialResult:
    """Score the cases of a plan, as a part of more.

    Parameters
    ----------
    plan : Plan
        The open files of this part.
    question : Question
        What is asked of all parts.
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
    names = columns_of(plan, settings, repeated=False) if columns is None else columns
    sums, kept = PartSums(plan, settings.method == "poisson"), SampleCollector(plan, names, **drawn)
    read = run(reading(plan, names), question.scoring, [sums, kept], progress, part=True, start=start)
    part = PartialResult(
        asked,
        (PartRecord(plan.truth.path, read.cases, None if asked.ids else start),),
        sums.tallies,
        read,
        kept.heaviest,
        kept.cases().in_order(),
        spelled=_spelled(plan, sums.tallies),
        bins={name: one for name, one in sums.bins.items() if one.cases},
    )
    if not losses or len(question.names) > MOST_MODELS:
        return part
    pairs = [*permutations(question.names, 2)] if read.compared else []
    more = _MORE if plan.weight else 0
    return replace(part, losses=pair_losses(plan, question.scoring, pairs, kept.heaviest, more))


def _spelled(plan: Plan, tallies: Mapping[Hashable, Aggregates]) -> dict[str, Spelling]:
    """How outcomes and classes are written, of the models on whose lists no outcome ever stands."""
    out = {}
    for a, source in enumerate(plan.sources):
        sums = [one.sums for one in tallies.values()]
        if sums and not any(one["coverage"][a] for one in sums):
            outcomes, classes = spelled_in_files(plan, source.name)
            out[source.name] = tuple(outcomes[:_NAMES]), tuple(classes[:_NAMES])
    return out


# Merging


def merge(parts: Iterable[PartialResult], names: Sequence[str] = ()) -> PartialResult:
    """The state of the cases of all parts together; the order of the parts does not show.

    Parameters
    ----------
    parts : iterable of PartialResult
        Parts of the same question, without cases in common.
    names : sequence of str, optional
        What the parts are called in errors.

    Returns
    -------
    PartialResult
        The state of all cases.

    Raises
    ------
    TopListError
        If there are none, or two of them do not belong together; the message names them and says what differs.
    """
    results = list(parts)
    called = list(names) or [f"part {at}" for at in range(1, len(results) + 1)]
    if not results:
        raise TopListError("there are no partial results to merge.")
    for other, part in zip(called[1:], results[1:], strict=True):
        _require_same_question(called[0], results[0].question, other, part.question)
    _require_apart(dict(zip(called, results, strict=True)))
    read: ReadSummary = reduce(_both, (one.read for one in results))
    highest = {name: max(one.read.highest[name] for one in results) for name in read.highest}
    tallies = merge_tallies(*(one.tallies for one in results))
    require_few_groups(tallies, results[0].question.group)
    return PartialResult(
        results[0].question,
        tuple(
            sorted(
                (cover for one in results for cover in one.covers),
                key=lambda one: (one.name, one.start or 0, one.cases),
            )
        ),
        tallies,
        replace(read, highest=highest),
        max(one.heaviest for one in results),
        _samples([one.sample for one in results], read.cases),
        None if any(one.losses is None for one in results) else reduce(_both, (one.losses for one in results)),
        _both_spelled([one.spelled for one in results if one.tallies]),
        reduce(_both, (one.bins for one in results)),
        max(one.written for one in results),
    )


def _samples(samples: Sequence[SampledCases], cases: int) -> SampledCases:
    """The sampled cases of all parts, at the least threshold."""
    least = min(1.0, ROOM * SAMPLED / max(cases, 1), *(one.threshold for one in samples))
    return SampledCases.concat(samples, least).in_order()


def _both(one: Any, other: Any) -> Any:
    """What two parts say as one: texts are each there once, and all else is added, whatever holds it."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, str):
        return one if one == other else _SEVERAL.join(sorted({*one.split(_SEVERAL), *other.split(_SEVERAL)}))
    if isinstance(one, Mapping):
        return {key: _both(one.get(key), other.get(key)) for key in sorted({*one, *other})}
    if isinstance(one, tuple):
        texts = all(isinstance(part, str) for part in (*one, *other))
        return tuple(sorted({*one, *other}) if texts else map(_both, one, other))
    if hasattr(one, "__add__"):
        return one + other
    if isinstance(one, SourceSummary) and not (one.cases and other.cases):
        told = one if one.cases else other  # a table without cases does not tell how others are read
        one, other = (replace(x, layout=told.layout, reading=told.reading, notes=told.notes) for x in (one, other))
    return replace(one, **{of.name: _both(getattr(one, of.name), getattr(other, of.name)) for of in fields(one)})


def _told(source: str) -> str:
    """Where predictions came from, in a word: of many files, the first and how many more."""
    first, *others = source.split(_SEVERAL)
    return source if len(others) < _MANY else f"{first} and {len(others):,} more"


_SEVERAL = " | "
_MANY = 4  # files that are not all named


def _both_spelled(parts: Sequence[Mapping[str, Spelling]]) -> dict[str, Spelling]:
    """Names of outcomes and classes of the models that list no outcome in any part."""
    out: dict[str, Spelling] = {}
    for name in parts[0] if parts else ():
        if all(name in one for one in parts):
            outcomes, classes = (sorted({text for one in parts for text in one[name][side]}) for side in (0, 1))
            out[name] = tuple(outcomes[:_NAMES]), tuple(classes[:_NAMES])
    return out


_ARGUMENTS = {"names": "models", "ks": "k", "size": "number of classes"}  # where fields are called otherwise


def _asked(record: Any) -> Iterator[tuple[str, Any]]:
    """What is asked, by what it is called."""
    for one in fields(record):
        value = getattr(record, one.name)
        yield from _asked(value) if is_dataclass(value) else [(_ARGUMENTS.get(one.name, one.name), value)]


def _require_same_question(one: str, first: PartQuestion, other: str, second: PartQuestion) -> None:
    """Refuse parts that do not belong together, with what differs."""
    for (name, x), (_, y) in zip(_asked(first), _asked(second), strict=True):
        if x != y:
            said = {
                "ids": "only one of them has case ids, and the other goes by the position of cases",
                "labels": f"their classes have other names, or another order: declare them with {argument('space')}",
                "repairs": "their lists or outcomes were read with different options",
            }.get(name, f"{name} is {quote(x)} in the first, and {quote(y)} in the second")
            raise AlignmentError(f"{one} and {other} do not belong together: {said}.")


def _require_apart(found: Mapping[str, PartialResult]) -> None:
    """Refuse parts that have cases in common, as far as what they cover and the sampled cases tell."""
    names = list(found)
    ranges = [
        (cover.start, cover.start + cover.cases, name)
        for name, one in found.items()
        for cover in one.covers
        if cover.start is not None and cover.cases
    ]
    for (_, end, here), (start, last, there) in pairwise(sorted(ranges)):
        if start < end and here != there:
            first, second = sorted((here, there), key=names.index)
            raise AlignmentError(
                f"{first} and {second} both have cases {start:,} to {min(end, last) - 1:,}, by their position: say "
                f"where each part begins with {argument('start')}, or give cases ids."
            )
    owner: dict[bytes, str] = {}
    shared = Counter((owner.setdefault(bytes(key), name), name) for name in names for key in found[name].sample.keys)
    for (first, second), cases in shared.items():
        if first != second:
            raise AlignmentError(
                f"{first} and {second} have cases in common ({cases:,} of those that were examined): every case "
                "belongs to one part."
            )


# The leaderboard


def finish(result: PartialResult, inputs: Sequence[str] = ()) -> Leaderboard:
    """The leaderboard of all cases of a result; nothing is written over the files of `inputs`, which were read."""
    asked, read = result.question, read_in_all(result)
    read = replace(read, origins=tuple(replace(one, source=_told(one.source)) for one in read.origins))
    scored = Scored(
        result.tallies,
        None,
        read,
        asked.settings,
        show_size(asked.size),
        asked.size,
        asked.weight,
        asked.group,
        SumDetails(result.bins, result.covers),
        lambda name: result.spelled.get(name, ((), ())),
        result.sample.drawn(read.cases),
        Losses(asked.question.bounds[0], result.heaviest, read.highest.__getitem__, lambda sums: result.losses or {}),
    )
    return replace(rank(asked.question, scored), _inputs=tuple(inputs))


def read_in_all(result: PartialResult) -> ReadSummary:
    """What was read of all cases, or an error that shows in no single part."""
    asked, read = result.question, result.read
    require_cases("the truth", read.cases, read.compared)
    for name, seen in zip(asked.question.names, read.names, strict=True):
        problem = seen.problem(asked.size)
        if problem is not None:
            raise type(problem)(f"{name}: {problem}") if isinstance(problem, SpaceError) else problem
    for origin in read.origins:
        if not origin.cases:
            raise AlignmentError(f"{origin.name} has none of the cases of the truth.")
    complete = all(origin.cases == read.cases for origin in read.origins)
    return replace(read, difficulty=None) if complete else read
