"""Scores of one model case by case in a file: `toplist score` writes it, and a gate takes it as its baseline.

A Parquet file says of itself all that a gate must know to compare its scores with others: rules, penalty, number of
classes, how many predictions were filled in, and what was doubtful about them. Beside the scores of a case stand
digests of its outcome and of its list: predictions that are the same are told from those that only score the same.
Files in CSV or JSON lines have the scores alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._files import as_path, as_remote, from_json_number, need, shown, to_json_number
from toplist._text import argument, quote
from toplist._typing import Codes, Floats, Progress
from toplist.core.kernel import mix, version
from toplist.errors import AlignmentError, FileError, TopListError
from toplist.evaluation.case_details import Looks, looks_in_files
from toplist.evaluation.model_details import Look, distinct
from toplist.evaluation.ranking import Question, Scored, doubts, judged, planned
from toplist.evaluation.stream import (
    POSITION,
    MatrixCollector,
    ReadSummary,
    ScoredRows,
    SumCollector,
    class_texts,
    run,
    text_hashes,
)
from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.results import Comparison
from toplist.io import (
    Batch,
    Plan,
    ReadRequest,
    Writer,
    as_arrow,
    as_numpy,
    random_access,
    silent,
    transferred,
)
from toplist.lists.checks import text
from toplist.lists.space import show_size
from toplist.report.text import noun, number_of
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import ORDINAL_RULES, name_of

MISSING = ("error", "common", "uniform")  # the other ways take the prediction of one model for that of another
SCHEMA = "toplist.scores/1"
OUTCOME = "outcome_digest"  # the column with a hash of the outcome of each case and of its number of classes
LISTS = "lists_digest"  # the column with what tells lists apart
_KEY = b"toplist.scores"  # under which Parquet keeps what a file says of itself
_SHOWN = 3  # ids in a message
_REMEDY = (
    "Score the baseline again by what the gate asks for, as in: toplist score old.csv --truth y.csv --classes CLASSES "
    "--rule RULE --penalty PENALTY -o old.parquet"
)


# Writing


class ScoreWriter:
    """Writes the scores of each case to a file."""

    def __init__(self, path: str | os.PathLike[str], plan: Plan, rules: Sequence[str]) -> None:
        self.writer, self.plan, self.rules = Writer(path), plan, tuple(rules)
        self.described = self.writer.path.suffix.lower() in (".parquet", ".pq")
        self.by_position = False

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`. One file alone has no case without a prediction that counts."""
        truth, (sheet,) = rows.truth, rows.scores
        self.by_position = truth.ids is None
        columns: dict[str, Any] = {"case": truth.extra[POSITION] if truth.ids is None else truth.ids}
        columns |= {name: as_arrow(score) for name, score in zip(self.rules, sheet.scores, strict=True)}
        for name, metric in sheet.metrics.items():  # yes and no may be shares in the next batch, where classes tie
            columns[name] = as_arrow(metric if metric.dtype.kind in "iu" else metric.astype(np.float64))
        if self.described:
            names = [source.name for source in self.plan.sources]
            outcomes, lists = digests(looks_in_files(rows, self.plan), names, len(truth))
            columns |= {OUTCOME: as_arrow(outcomes), LISTS: as_arrow(lists[:, 0])}
        for name in self.plan.keep:
            columns[name if name not in columns else f"{name}_"] = truth.extra[name]
        return need("pyarrow").table(columns)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        self.writer.write(made)

    def describe(self, filled: int, penalty: float | None, warnings: Mapping[str, tuple[str, ...]]) -> None:
        """Say in the file what it holds, after the last case."""
        cost = None if penalty is None else to_json_number(penalty)
        plan, order = self.plan, order_of(self.plan.space)
        about = About(self.rules, plan.classes, order, cost, self.by_position, filled, warnings, version(), SCHEMA)
        if self.described:
            self.writer.describe({_KEY: need("msgspec").json.encode(about)})


@dataclass(frozen=True, slots=True)
class ScoredModel:
    """One model with its mean scores, as a leaderboard has them, and what makes them doubtful."""

    results: Comparison
    tally: Aggregates
    read: ReadSummary


def score_model(
    request: ReadRequest,
    space: Any,
    question: Question,
    *,
    keep: tuple[str, ...] = (),
    output: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> ScoredModel:
    """Score every case of one file, and write the scores of the cases where an `output` is named."""
    plan, settings = planned(request, space, question, ("cluster", "time"), MISSING, keep)
    sums, matrix = SumCollector(plan), None if settings.by_sums else MatrixCollector(plan)
    writer = None if output is None else ScoreWriter(output, plan, question.rules)
    with nullcontext() if writer is None else writer.writer:
        read = run(plan, question.scoring, list(filter(None, (writer, sums, matrix))), progress)
        panel = None if matrix is None else matrix.panel()
        scored = Scored.of_files(plan, question, settings, sums.tallies, panel, read)
        if writer is not None:
            doubtful = doubts(question, scored, sums.tallies)[question.names[0]]
            writer.describe(read.origins[0].filled, question.scoring.penalty, doubtful)
    results = judged(question, scored)
    return ScoredModel(results, overall(sums.tallies), read)


def ids_of(truth: Batch) -> list[str]:
    """The ids of cases, or their positions, as text."""
    ids = class_texts(truth.extra[POSITION] if truth.ids is None else truth.ids, None).to_pylist()
    return cast("list[str]", ids)


def order_of(space: Any) -> str:
    """A digest of the names of ordered classes from the lowest to the highest; empty where they have no order."""
    ordered = space is not None and space.ordinal
    return f"{int(text_hashes([repr(list(map(text, space.labels or ())))])[0]):016x}" if ordered else ""


# Digests


Hashes = NDArray[np.uint64]
UNKNOWN = 0
_BITS = 30  # of a confidence that count


def digests(looks: Looks, names: Sequence[str], cases: int) -> tuple[Hashes, Hashes]:
    """What tells the outcomes of so many cases apart, and by model their lists; unknown where a model has none."""
    outcomes, lists = np.zeros(cases, np.uint64), np.full((cases, len(names)), UNKNOWN, np.uint64)
    for look, places in looks:
        here = np.flatnonzero(places >= 0)
        if look.name == names[0]:
            outcomes[places[here]] = text_hashes(outcome_texts(look))[here]
        if not look.imputed:
            lists[places[here], names.index(look.name)] = list_digests(look)[here]
    return outcomes, lists


def outcome_texts(look: Look) -> list[str]:
    """The outcome of each case by the name of its class, or as a distribution, and the number of classes."""
    n, size, truth = len(look.lists), look.lists.space.size, look.truth
    if look.hard:
        names = look.names.outcomes(np.arange(n), truth)
    else:
        classes = look.names.outcomes(np.repeat(np.arange(n), truth.sizes), truth.classes)
        pairs = list(zip(classes, truth.confidences.astype(np.float64).tolist(), strict=True))
        names = [
            " ".join(f"{name}={share!r}" for name, share in sorted(pairs[lo:hi]) if share)
            for lo, hi in pairwise(truth.offsets.tolist())
        ]
    sizes = size.tolist() if look.lists.space.per_case else [size] * n
    return [f"{name} of {show_size(many)}" for name, many in zip(names, sizes, strict=True)]


def list_digests(look: Look) -> Hashes:
    """What tells each list apart.

    A list is the same as another if it has the same classes, by their names, with the same confidences up to the ninth
    digit, in whatever order; classes of confidence zero are not listed.

    >>> from toplist import TopLists
    >>> from toplist.evaluation.model_details import ArrayNames
    >>> one, two = (
    ...     TopLists.from_dicts(lists, 9)
    ...     for lists in ([{"a": 0.7, "b": 0.2}, {"c": 0.4}], [{"b": 0.2, "a": 0.7}, {"c": 0.5}])
    ... )
    >>> looks = [Look("", lists, None, None, ArrayNames(lists.space), np.arange(2)) for lists in (one, two)]
    >>> (list_digests(looks[0]) == list_digests(looks[1])).tolist()
    [True, False]
    """
    lists = look.lists
    cases = np.repeat(np.arange(len(lists)), lists.sizes)
    first, which = distinct(lists.space.per_case, lists.classes)
    hashes = text_hashes(look.names.predicted(cases[first], lists.classes[first]))[which]
    share, exponent = np.frexp(np.asarray(lists.confidences, np.float64))
    rounded = np.ldexp(np.rint(share * 2.0**_BITS), exponent - _BITS)
    each = np.where(rounded == 0, np.uint64(0), mix(hashes ^ mix(rounded.view(np.uint64))))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    found = mix(sums[lists.offsets[1:]] - sums[lists.offsets[:-1]])
    return np.where(found == UNKNOWN, np.uint64(1), found)


# Reading


def is_score_file(data: Any) -> bool:
    """Whether this is the path of a Parquet file that says that it holds scores, of whatever version."""
    if not isinstance(data, str | os.PathLike):
        return False
    remote = as_remote(data)
    if not (os.path.isfile(data) if remote is None else remote.is_file()):  # a folder, or a pattern
        return False
    try:
        with random_access(as_path(data)) as file:
            return file.read(4) == b"PAR1" and _KEY in (need("pyarrow.parquet").read_metadata(file).metadata or ())
    except (OSError, need("pyarrow").ArrowException):
        return False


@dataclass(frozen=True)
class About:
    """How scores were made, as their file says it."""

    rules: tuple[str, ...]
    classes: str  # how many there are; "per case" where it differs
    order: str  # a digest of it, where the classes have one
    penalty: float | str | None
    by_position: bool  # whether cases have no ids
    filled: int  # missing predictions that were taken as empty lists
    warnings: Mapping[str, tuple[str, ...]]  # what was doubtful about the predictions, by rule
    toplist: str  # the version of the library
    schema: str


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """The scores of one model case by case, and how they were made."""

    about: About
    cases: tuple[str, ...]  # ids or positions, in the order of the file
    outcomes: Hashes
    lists: Hashes  # what tells lists apart
    scores: Mapping[str, Floats]  # by rule

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ScoreFile:
        """The scores of a file, or why it cannot be a baseline."""
        name, pa, parquet, msgspec = shown(path), need("pyarrow"), need("pyarrow.parquet"), need("msgspec")
        try:
            with transferred(as_path(path)), random_access(as_path(path)) as file:
                table = parquet.ParquetFile(file, page_checksum_verification=True)
                described = json.loads(table.metadata.metadata[_KEY])
                if described["schema"] != SCHEMA:
                    problem = f"these scores have the format {described['schema']}, and this version of toplist reads"
                    raise FileError(name, f"{problem} {SCHEMA} alone: score the baseline again.")
                about = msgspec.convert(described, About)
                read = table.read(columns=["case", OUTCOME, LISTS, *about.rules])
                columns = {column: read[column].combine_chunks() for column in read.column_names}
                outcomes, lists, *values = (as_numpy(columns[column]) for column in (OUTCOME, LISTS, *about.rules))
                cases = tuple(map(str, class_texts(columns["case"], None).to_pylist()))
                lacking = not cases or any(np.isnan(score).any() for score in values)
        except TopListError:
            raise
        except (pa.ArrowException, msgspec.MsgspecError, OSError, ValueError, TypeError, KeyError) as error:
            raise _damaged(name, "it cannot be read") from error
        scores = dict(zip(about.rules, values, strict=True))
        for why, wrong in (
            ("what was doubtful is not there", not scores.keys() <= about.warnings.keys()),
            ("a case has no score", lacking),
            ("a case is there twice", len(set(cases)) < len(cases)),
            ("its rows are in another order", about.by_position and cases != tuple(map(str, range(len(cases))))),
        ):
            if wrong:
                raise _damaged(name, why)
        return cls(about, cases, outcomes, lists, scores)

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each case is."""
        return {case: at for at, case in enumerate(self.cases)}


def _damaged(path: str, why: str) -> FileError:
    return FileError(path, f"these scores are damaged ({why}): restore the file, or make it again with toplist score.")


# In the place of predictions


@dataclass(slots=True)
class BaselineScores:
    """The scores of a baseline, matched with the cases that are read."""

    name: str
    file: ScoreFile
    question: Question
    met: int = 0
    lacking: list[str] = field(default_factory=list)  # cases that the file lacks
    changed: list[str] = field(default_factory=list)  # cases with another outcome

    def require_same_question(self, classes: str, space: Any) -> None:
        """Refuse scores by another rule, with another penalty, or of other classes."""
        about, asked = self.file.about, [name_of(rule) for rule in self.question.scoring.rules]
        penalties = (_penalty(from_json_number(about.penalty)), _penalty(self.question.scoring.penalty))
        order = "this" if order_of(space) == about.order or not set(asked) & set(ORDINAL_RULES) else "another"
        for theirs, ours in (
            *((f"by {', '.join(about.rules)}", f"by {rule}") for rule in asked if rule not in about.rules),
            penalties,
            (f"of {about.classes} classes", f"of {classes} classes"),
            (f"of classes in {order} order", "of classes in this order"),
        ):
            if theirs != ours:
                raise AlignmentError(f"the scores of {self.name} are {theirs}, not {ours}. {_REMEDY}.")

    def look_up(self, ids: Sequence[str], outcomes: Hashes, *, by_position: bool) -> Codes:
        """Where these cases are in the file, -1 where it lacks them; what does not match is counted."""
        if by_position != self.file.about.by_position:
            has, lack = ("ids", "positions") if by_position else ("positions", "ids")
            raise AlignmentError(
                f"the scores of {self.name} know their cases by {has}, and these have {lack}: score the baseline again "
                "from predictions and outcomes with the same ids."
            )
        places = self.file.places
        at = np.fromiter((places.get(case, -1) for case in ids), np.int64, len(ids))
        self.met += int(np.count_nonzero(at >= 0))
        self.lacking += [ids[i] for i in np.flatnonzero(at < 0).tolist()]
        self.changed += [ids[i] for i in np.flatnonzero((at >= 0) & (self.file.outcomes[at] != outcomes)).tolist()]
        return at

    def require_same_cases(self, *, all_known: bool = False) -> tuple[str, ...]:
        """Refuse other outcomes and, where no choice was made, other cases; else what was left out."""
        name, beyond = self.name, len(self.file.cases) - self.met
        if self.changed:
            raise AlignmentError(
                f"the scores of {name} were made with other outcomes, or other numbers of classes, in "
                f"{_cases(self.changed)}: score it again with this truth."
            )
        lines = [f"the scores of {name} lack {_cases(self.lacking)}"] if self.lacking else []
        if beyond:
            lines.append(
                f"the scores of {name} have {number_of(beyond, 'case')} that {noun(beyond, 'is', 'are')} not here"
            )
        if not self.met:
            raise AlignmentError(f"the scores of {name} have no case in common with these predictions.")
        if not lines:
            return ()
        if self.question.missing == "error" or (self.lacking and (all_known or self.question.missing == "uniform")):
            remedy = f"To take the cases that all have, pass {argument('missing', 'common')}."
            if all_known and self.lacking:
                remedy = "Leave them out of the predictions and the outcomes, or score the baseline again."
            raise AlignmentError(f"{'; '.join(lines)}. {remedy}")
        return tuple(f"{line}: left out." for line in lines)

    def scores(self, at: Codes, like: CaseScores) -> CaseScores:
        """The scores of cases at these places, beside those of a model that was read."""
        scores = np.stack([self.file.scores[rule][at] for rule in like.rules])
        return CaseScores(like.rules, scores, scores, like.empty, {})


def _penalty(penalty: float | None) -> str:
    return f"with {'the default penalty' if penalty is None else f'a penalty of {penalty:g}'}"


def _cases(ids: Sequence[str]) -> str:
    some = ", ".join(map(quote, ids[:_SHOWN]))
    return f"{number_of(len(ids), 'case')} ({some}{', ...' if len(ids) > _SHOWN else ''})"
