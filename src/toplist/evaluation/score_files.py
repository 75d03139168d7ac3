"""Scores of one model case by case in a file: `toplist score` writes it, and a gate takes it as its baseline.

A Parquet file says of itself all that a gate must know to compare its scores with others: rules, penalty, number of
classes, how many predictions were filled in, and what was doubtful about them. Beside the scores of a case stand
digests of its outcome and of its list: predictions that are the same are told from those that only score the same.
Files in CSV or JSON lines have the scores alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._files import as_path, as_remote, from_json_number, need, shown, to_json_number
from toplist._text import argument, quote
from toplist._typing import Codes, Floats, Progress
from toplist.core.kernel import mix, version
from toplist.errors import AlignmentError, FileError, TopListError
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.case_details import places_of, true_names
from toplist.evaluation.model_details import ArrayNames
from toplist.evaluation.ranking import Question, Scored, doubts, judged, planned
from toplist.evaluation.stream import (
    POSITION,
    Collector,
    MatrixCollector,
    ReadSummary,
    ScoredBatch,
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
    class_counts,
    plain,
    random_access,
    silent,
    transferred,
)
from toplist.lists import TopLists
from toplist.lists.checks.detect import text
from toplist.lists.converters import as_codes, as_truth, is_soft
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


class ScoreWriter(Collector):
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
            columns[OUTCOME] = as_arrow(text_hashes(outcome_texts(truth, self.plan)))
            columns[LISTS] = as_arrow(list_digests(rows, self.plan)[:, 0])
        for name in self.plan.keep:
            columns[name if name not in columns else f"{name}_"] = truth.extra[name]
        return need("pyarrow").table(columns)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        self.writer.write(made)

    def describe(self, filled: int, penalty: float | None, warnings: Mapping[str, tuple[str, ...]]) -> None:
        """Say in the file what it holds, after the last case."""
        about = {
            "schema": SCHEMA,
            "toplist": version(),
            "model": self.plan.sources[0].name,
            "rules": self.rules,
            "penalty": None if penalty is None else to_json_number(penalty),
            "classes": self.plan.classes,
            "order": order_of(self.plan.space),
            "by_position": self.by_position,
            "filled": filled,
            "warnings": warnings,
        }
        if self.described:
            self.writer.describe({_KEY: json.dumps(about).encode("ascii")})


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
        scored = Scored.of_files(
            plan, question, settings, sums.tallies, None if matrix is None else matrix.panel(), None, read
        )
        if writer is not None:
            doubtful = doubts(question, scored, sums.tallies)[question.names[0]]
            writer.describe(read.origins[0].filled, question.scoring.penalty, doubtful)
    results, _ = judged(question, scored)
    return ScoredModel(results, overall(sums.tallies), read)


def outcome_texts(truth: Batch, plan: Plan) -> list[str]:
    """The outcome of each case by the name of its class, and the number of classes."""
    many = [plan.classes] * len(truth)
    if plan.space is None:
        many = list(map(show_size, class_counts(truth, str(plan.n_classes)).tolist()))
    names: Sequence[Any] = plan.truth.names if truth.classes is None else true_names(truth, plan).to_pylist()
    if plan.truth.layout.kind != "labels":
        columns = names
        names = distribution_texts(truth, names.__getitem__ if truth.classes is not None else lambda case: columns)
    return outcomes_of(names, many)


def outcomes_in_memory(held: ArrayModels) -> list[str]:
    """What `outcome_texts` are, of models in memory."""
    lists = next(iter(held.lists.values()))
    n, space = len(lists), lists.space
    many = [show_size(one) for one in space.size.tolist()] if space.per_case else [show_size(space.size)] * n
    if is_soft(held.y, space):
        truth = as_truth(held.y, space, n)
        classes = ArrayNames(space).classes(0, truth.classes.tolist())
        return outcomes_of(distribution_texts(truth, classes.__getitem__), many)
    codes = as_codes(held.y, lists)
    return outcomes_of(ArrayNames(space, None, held.y).outcomes(np.arange(n), codes), many)


def ids_of(truth: Batch) -> list[str]:
    """The ids of cases, or their positions, as text."""
    ids = class_texts(truth.extra[POSITION] if truth.ids is None else truth.ids, None).to_pylist()
    return cast("list[str]", ids)


def order_of(space: Any) -> str:
    """A digest of the names of ordered classes from the lowest to the highest; empty where they have no order."""
    ordered = space is not None and space.ordinal
    return f"{int(text_hashes([repr(list(map(text, space.labels or ())))])[0]):016x}" if ordered else ""


def distribution_texts(truth: TopLists | Batch, classes: Callable[[slice], Sequence[Any]]) -> list[str]:
    """Distributions over the classes as text, whatever the order of these."""
    texts = []
    for case in starmap(slice, pairwise(truth.offsets.tolist())):
        shares = np.asarray(truth.confidences[case], np.float64).tolist()
        pairs = sorted(zip(map(text, classes(case)), shares, strict=True))
        texts.append(" ".join(f"{name}={share!r}" for name, share in pairs if share))
    return texts


def outcomes_of(names: Sequence[str], sizes: Sequence[str]) -> list[str]:
    """Outcomes with the numbers of classes of their cases."""
    return [f"{name} of {size}" for name, size in zip(names, sizes, strict=True)]


# Digests


Hashes = NDArray[np.uint64]
UNKNOWN = 0
_BITS = 30  # of a confidence that count


def digests_of_lists(lists: TopLists) -> Hashes:
    """What tells each list in memory apart.

    A list is the same as another if it has the same classes, by their names, with the same confidences up to the ninth
    digit, in whatever order; classes of confidence zero are not listed.


    >>> one = TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9)
    >>> other = TopLists.from_dicts([{"b": 0.2, "a": 0.7}, {"c": 0.5}], 9)
    >>> (digests_of_lists(one) == digests_of_lists(other)).tolist()
    [True, False]
    """
    classes, codes = np.unique(lists.classes, return_inverse=True)
    names = [text(lists.space.decode(int(code))) for code in classes]
    return _digests(lists.offsets, text_hashes(names)[codes], lists)


def _digests_of_batch(scored: ScoredBatch, separator: str | None) -> Hashes:
    """The same of lists in a file, as they were scored."""
    batch, lists, codes = scored.batch, scored.lists, scored.codes
    if batch.classes is None:
        hashes = text_hashes(scored.names)
    else:
        coded = class_texts(plain(batch.classes), separator).dictionary_encode()
        hashes = text_hashes(coded.dictionary.to_pylist())[as_numpy(coded.indices)]
    if not lists.space.per_case and len(codes) == len(hashes):  # a code is one class throughout
        classes, first = np.unique(codes, return_index=True)
        return _digests(lists.offsets, hashes[first][np.searchsorted(classes, lists.classes)], lists)
    hashes = np.tile(hashes, len(batch)) if batch.classes is None else hashes
    return _digests(batch.offsets, hashes, lists if np.array_equal(lists.offsets, batch.offsets) else batch)


def _digests(offsets: Codes, hashes: Hashes, of: TopLists | Batch) -> Hashes:
    share, exponent = np.frexp(np.asarray(of.confidences, np.float64))
    rounded = np.ldexp(np.rint(share * 2.0**_BITS), exponent - _BITS)
    each = np.where(rounded == 0, np.uint64(0), mix(hashes ^ mix(rounded.view(np.uint64))))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    digests = mix(sums[offsets[1:]] - sums[offsets[:-1]])
    return np.where(digests == UNKNOWN, np.uint64(1), digests)


def list_digests(rows: ScoredRows, plan: Plan) -> Hashes:
    """What tells the lists of all models apart, by case; unknown where a model has none.

    A missing prediction that was taken as an empty list has no id, and is not the same as any other.
    """
    digests = np.full((len(rows.truth), len(plan.sources)), UNKNOWN, np.uint64)
    names = [source.name for source in plan.sources]
    for lists in (lists for lists in rows.lists if lists.truth.ids is None or lists.batch.ids is not None):
        places = places_of(lists.truth.rows, rows.truth.rows)
        some = places >= 0
        digests[places[some], names.index(lists.name)] = _digests_of_batch(lists, plan.set_separator)[some]
    return digests


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


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """The scores of one model case by case, and how they were made."""

    path: str
    rules: tuple[str, ...]
    classes: str  # how many there are; "per case" where it differs
    order: str  # a digest of it, where the classes have one
    penalty: float | None
    by_position: bool  # whether cases have no ids
    filled: int  # missing predictions that were taken as empty lists
    warnings: Mapping[str, tuple[str, ...]]  # what was doubtful about the predictions, by rule
    version: str  # of the library that made it
    cases: tuple[str, ...]  # ids or positions, in the order of the file
    outcomes: Hashes
    lists: Hashes  # what tells lists apart
    scores: Mapping[str, Floats]  # by rule

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ScoreFile:
        """The scores of a file, or why it cannot be a baseline."""
        name, pa, parquet = shown(path), need("pyarrow"), need("pyarrow.parquet")
        try:
            with transferred(as_path(path)), random_access(as_path(path)) as file:
                table = parquet.ParquetFile(file, page_checksum_verification=True)
                about = json.loads(table.metadata.metadata[_KEY])
                if about["schema"] != SCHEMA:
                    problem = f"these scores have the format {about['schema']}, and this version of toplist reads"
                    raise FileError(name, f"{problem} {SCHEMA} alone: score the baseline again.")
                read = cls._of_columns(name, about, table.read(columns=["case", OUTCOME, LISTS, *about["rules"]]))
                scored = bool(read.cases and read.scores) and not any(map(np.any, map(np.isnan, read.scores.values())))
        except TopListError:
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise _damaged(name, "it cannot be read") from error
        if not scored:
            raise _damaged(name, "a case has no score")
        if len(read.places) < len(read.cases):
            raise _damaged(name, "a case is there twice")
        return read

    @classmethod
    def _of_columns(cls, name: str, about: Mapping[str, Any], table: Any) -> ScoreFile:
        penalty, positions = about["penalty"], np.arange(len(table))
        if about["by_position"] and not np.array_equal(as_numpy(table["case"].combine_chunks()), positions):
            raise _damaged(name, "its rows are in another order")
        ids = positions if about["by_position"] else class_texts(table["case"].combine_chunks(), None).to_pylist()
        return cls(
            name,
            tuple(about["rules"]),
            about["classes"],
            about["order"],
            None if penalty is None else float(from_json_number(penalty)),
            about["by_position"],
            about["filled"],
            {rule: tuple(about["warnings"][rule]) for rule in about["rules"]},
            about["toplist"],
            tuple(map(str, ids)),
            as_numpy(table[OUTCOME].combine_chunks()),
            as_numpy(table[LISTS].combine_chunks()),
            {rule: as_numpy(table[rule].combine_chunks()) for rule in about["rules"]},
        )

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
    lacking: list[str] = field(default_factory=list)  # cases that the file lacks, the first ones
    lacks: int = 0
    changed: list[str] = field(default_factory=list)  # cases with another outcome
    changes: int = 0

    def require_same_question(self, classes: str, space: Any) -> None:
        """Refuse scores by another rule, with another penalty, or of other classes."""
        file = self.file
        for rule in map(name_of, self.question.scoring.rules):
            if rule not in file.rules:
                have = ", ".join(file.rules)
                raise AlignmentError(f"the scores of {self.name} are by {have}, not by {rule}. {_REMEDY}.")
        if self.question.scoring.penalty != file.penalty:
            ours, theirs = (_penalty(one) for one in (self.question.scoring.penalty, file.penalty))
            raise AlignmentError(f"the scores of {self.name} were made with {theirs}, not with {ours}. {_REMEDY}.")
        if classes != file.classes:
            raise AlignmentError(
                f"the scores of {self.name} are of {file.classes} classes, these predictions of {classes}. {_REMEDY}."
            )
        if order_of(space) != file.order and any(
            name_of(rule) in ORDINAL_RULES for rule in self.question.scoring.rules
        ):
            raise AlignmentError(f"the scores of {self.name} are of classes in another order. {_REMEDY}.")

    def look_up(self, ids: Sequence[str], outcomes: Sequence[str], *, by_position: bool) -> Codes:
        """Where these cases are in the file, -1 where it lacks them; what does not match is counted."""
        if by_position != self.file.by_position:
            has, lack = ("positions", "ids") if self.file.by_position else ("ids", "positions")
            raise AlignmentError(
                f"the scores of {self.name} know their cases by {has}, and these have {lack}: score the baseline again "
                "from predictions and outcomes with the same ids."
            )
        places = self.file.places
        at = np.fromiter((places.get(case, -1) for case in ids), np.int64, len(ids))
        changed = (at >= 0) & (self.file.outcomes[at] != text_hashes(outcomes))
        absent, other = ([ids[i] for i in np.flatnonzero(there).tolist()] for there in (at < 0, changed))
        self.met += len(ids) - len(absent)
        self.lacks, self.changes = self.lacks + len(absent), self.changes + len(other)
        self.lacking, self.changed = (self.lacking + absent)[:_SHOWN], (self.changed + other)[:_SHOWN]
        return at

    def require_same_cases(self, *, all_known: bool = False) -> tuple[str, ...]:
        """Refuse other outcomes and, where no choice was made, other cases; else what was left out."""
        name, beyond = self.name, len(self.file.cases) - self.met
        if self.changes:
            raise AlignmentError(
                f"the scores of {name} were made with other outcomes, or other numbers of classes, in "
                f"{_cases(self.changes, self.changed)}: score it again with this truth."
            )
        lines = []
        if self.lacks:
            lines.append(f"the scores of {name} lack {_cases(self.lacks, self.lacking)}")
        if beyond:
            lines.append(
                f"the scores of {name} have {number_of(beyond, 'case')} that {noun(beyond, 'is', 'are')} not here"
            )
        if not self.met:
            raise AlignmentError(f"the scores of {name} have no case in common with these predictions.")
        if not lines:
            return ()
        if self.question.missing == "error" or (all_known and self.lacks):
            remedy = f"To take the cases that all have, pass {argument('missing', 'common')}."
            if all_known and self.lacks:
                remedy = "Leave them out of the predictions and the outcomes, or score the baseline again."
            raise AlignmentError(f"{'; '.join(lines)}. {remedy}")
        if self.lacks and self.question.missing == "uniform":
            raise AlignmentError(
                f"{lines[0]}: score it again with {argument('missing', 'uniform')}, or pass "
                f"{argument('missing', 'common')}."
            )
        return tuple(f"{line}: left out." for line in lines)

    def scores(self, at: Codes, like: CaseScores) -> CaseScores:
        """The scores of cases at these places, beside those of a model that was read."""
        scores = np.stack([self.file.scores[rule][at] for rule in like.rules])
        return CaseScores(like.rules, scores, scores, like.empty, {})


def _penalty(penalty: float | None) -> str:
    return "the default penalty" if penalty is None else f"a penalty of {penalty:g}"


def _cases(many: int, some: Sequence[str]) -> str:
    ids = ", ".join(map(quote, some))
    return f"{number_of(many, 'case')} ({ids}{', ...' if many > len(some) else ''})"
