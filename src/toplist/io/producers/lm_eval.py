"""lm-evaluation-harness: `samples_{task}_{date}.jsonl`, one record per document and filter.

A case is a document of a task, by the hash of the document, so that two runs of the same tasks have the same cases.
Its classes are the choices: by their texts where all questions of the task have the same ones, else by their places
from 0. The outcome is the target, which is believed only where it agrees with what the harness counted as correct.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError, TopListError
from toplist.io.producers.base import (
    FirstLook,
    Match,
    ProducedReader,
    Producer,
    Request,
    Row,
    at_path,
    batches_of,
    columns_of,
)
from toplist.io.producers.conditions import Conditions
from toplist.io.producers.likelihoods import MEANINGS, NormError, ScoredChoices
from toplist.io.readers.base import lines_of
from toplist.io.readers.json_lines import parse

if TYPE_CHECKING:
    from toplist.io.options import Norm

_KEYS = ("doc_id", "arguments", "filtered_resps")
_NAME = re.compile(
    r"(?:samples_)?(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl(?:\.gz|\.zst)?", re.IGNORECASE
)
_HASH = 16  # digits of the hash of a document in a case id
# What the harness counts as correct, and the distribution whose most probable choice it looks at.
_COUNTED: dict[str, Norm] = {
    "acc": "none",
    "acc_mutual_info": "unconditional",
    "acc_norm": "chars",
    "acc_bytes": "bytes",
}
_OPTIONS = ("choices", "options", "choices.text")  # fields of a document that may hold the texts of lettered answers
_LETTER = re.compile(r"\s*\(?([A-Z])\)?\s*")
_NUMBER = re.compile(r"\s*\d+\s*")
_BLANK = re.compile(r" |\n+")


_NO_CHOICES = ScoredChoices(())  # where an answer was generated


class _NoListsError(Exception):
    """A task whose records are not about one correct choice of several; says why."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """One record: the choices and their log-likelihoods, or a generated answer, and what the harness counted."""

    source: str
    row: int
    document: str  # its hash, or its number where there is none
    number: str
    filter: str
    target: Any
    counted: Mapping[str, Any]
    choices: ScoredChoices = _NO_CHOICES
    by_context: bool = False  # whether the contexts differ between choices, and the continuation does not
    answer: Any = None  # generated
    options: int = 0  # lettered options of the document

    @property
    def content(self) -> tuple[Any, ...]:
        """What two records of one document have in common if one of them repeats the other."""
        return self.target, self.counted, self.choices, self.answer

    def best(self, norm: Norm) -> int:
        """The place of the most probable choice; of several, the first one, as the harness has it."""
        return int(np.argmax(self._of_choices("scores", norm)))

    def probabilities(self, norm: Norm) -> Any:
        """The distribution over the choices."""
        return self._of_choices("probabilities", norm)

    def _of_choices(self, what: str, norm: Norm) -> Any:
        try:
            return getattr(self.choices, what)(norm)
        except NormError as error:
            raise _NoListsError(str(error)) from None
        except TopListError as error:
            raise FileError(self.source, str(error), row=self.row) from None


@dataclass(slots=True)
class _Samples:
    """The records of some files by their tasks."""

    conditions: Conditions
    tasks: dict[str, list[_Sample]] = field(default_factory=lambda: defaultdict(list))
    repeated: int = 0
    filtered: int = 0
    total: int = 0
    _seen: dict[tuple[Any, ...], _Sample] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        """The records of one file that fulfil the conditions."""
        name = _NAME.fullmatch(path.name)
        task = name["task"] if name else path.stem
        delimiter = _configured_delimiter(path, task, name["date"] if name else None)
        fields: dict[str, None] = {}
        for row, line in enumerate(lines_of(path), 1):
            if not line.strip():
                continue
            record = parse(line, str(path), row)
            fields |= dict.fromkeys(record)
            self.total += 1
            if self.conditions.hold({"task": task, **record}):
                self._keep(task, _sample(record, str(path), row, delimiter))
            else:
                self.filtered += 1
        self.conditions.require_met(str(path), list(fields))

    def _keep(self, task: str, sample: _Sample) -> None:
        first = self._seen.setdefault((task, sample.filter, sample.document, sample.number), sample)
        if first is sample:
            self.tasks[task].append(sample)
        elif first.content == sample.content:
            self.repeated += 1
        elif first.source == sample.source:
            raise FileError(
                sample.source,
                f"this is the document of row {first.row:,} with another answer: a second run was appended to the "
                f"file. Keep the rows of one run, or choose them with {argument('where', 'FIELD=VALUE')}.",
                row=sample.row,
            )
        else:
            raise FileError(
                sample.source,
                f"this file and {first.source} are two runs of the task {quote(task)}, with other answers. Name the "
                "file of one of them.",
            )


def _open(request: Request) -> ProducedReader:
    files, norm = _sample_files(request), request.options.norm
    samples = _Samples(Conditions.of(request.options.where))
    for path in files:
        samples.add(path)
    rows: list[tuple[str, Row]] = []
    notes: list[str] = []
    refused: dict[str, str] = {}
    for name, every in samples.tasks.items():
        try:
            task = _Task.of(name, every, norm)
            rows += [(one.source, row) for one, row in zip(task.samples, task.rows, strict=True)]
            notes += task.notes
        except _NoListsError as error:
            refused[name] = str(error)
    if not rows:
        problems = [f"task {quote(name)}: {why}" for name, why in refused.items()]
        nothing = f"no record is left of {samples.total:,} by {argument('where', request.options.where)}."
        raise FileError(request.name, next(iter(problems), nothing if samples.total else "there is no record here."))
    if samples.filtered:
        kept = f"{samples.total - samples.filtered:,} of {samples.total:,}"
        notes.append(f"{kept} records fulfil {argument('where', request.options.where)}.")
    if samples.repeated:
        notes.append(f"{samples.repeated:,} records repeat others word for word, and count once.")
    notes += [f"task {quote(name)} is left out: {why}" for name, why in refused.items()]
    columns, rows = _completed(rows, len(samples.tasks) - len(refused) > 1)
    made = list(batches_of(rows, columns))
    return ProducedReader(request.name, lambda: iter(made), columns, files, tuple(dict.fromkeys(notes)))


def _sample_files(request: Request) -> tuple[Path, ...]:
    """The files with samples, of one model."""
    named = tuple(path for path in request.paths if path.name.startswith("samples_") and _NAME.fullmatch(path.name))
    files = named or request.paths
    folders = {path.parent.name: path.parent for path in files}
    if len(folders) > 1:
        raise FileError(
            request.name,
            f"these are the samples of {len(folders)} models: {listed(list(folders))}. Name the folder of one of them, "
            f"such as {next(iter(folders.values()))}.",
        )
    return files


def _configured_delimiter(path: Path, task: str, date: str | None) -> str | None:
    """What stands before each choice, as the results of the run say; None where there are none."""
    results = path.parent / f"results_{date}.json"
    try:
        config = json.loads(results.read_bytes())["configs"][task]
        return str(config["target_delimiter"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


# One record


def _sample(record: Mapping[str, Any], source: str, row: int, delimiter: str | None) -> _Sample:
    """What a record says; an error where it is none of the harness."""

    def odd(problem: str) -> FileError:
        return FileError(source, problem, row=row)

    lacks = next((key for key in _KEYS if record.get(key) is None), None)
    if lacks is not None:
        raise odd(f"this record of lm-evaluation-harness has no {quote(lacks)}.")
    names = record.get("metrics")
    about = _Sample(
        source,
        row,
        str(record.get("doc_hash") or record["doc_id"]),
        str(record["doc_id"]),
        str(record.get("filter", "none")),
        record.get("target"),
        {name: record.get(name) for name in names if isinstance(name, str)} if isinstance(names, list) else {},
    )
    answers, arguments = record["filtered_resps"], _arguments(record["arguments"])
    if not isinstance(answers, list) or arguments is None:
        raise odd("'arguments' and 'filtered_resps' are not as lm-evaluation-harness writes them.")
    if not answers or not all(_is_pair(one) for one in answers):
        return replace(about, answer=answers[0] if len(answers) == 1 else answers, options=_options(record.get("doc")))
    try:
        values = tuple(float(one[0]) for one in answers)
    except (TypeError, ValueError):
        raise odd("a log-likelihood in 'filtered_resps' is no number.") from None
    if len(arguments) != len(values) or not all(len(one) >= 2 for one in arguments):
        raise odd(f"{len(values)} log-likelihoods, but {len(arguments)} pairs of a context and a continuation.")
    contexts, continuations = [one[0] for one in arguments], [str(one[1]) for one in arguments]
    half, unconditional = len(values) // 2, None
    if len(values) % 2 == 0 and not any(contexts[half:]) and continuations[:half] == continuations[half:]:
        values, unconditional, contexts, continuations = (
            values[:half], values[half:], contexts[:half], continuations[:half],
        )  # fmt: skip
    by_context = len(set(continuations)) == 1 and len(set(map(str, contexts))) > 1
    texts = None if by_context else _without_delimiter(continuations, delimiter)
    return replace(about, choices=ScoredChoices(values, texts, None, unconditional), by_context=by_context)


def _arguments(value: Any) -> list[list[Any]] | None:
    """Contexts and continuations: a list of lists or, in later versions, `{"gen_args_0": {"arg_0": ...}}`."""
    if isinstance(value, Mapping):
        value = [value.get(f"gen_args_{at}") for at in range(len(value))]
    if not isinstance(value, list):
        return None
    every = [[one.get(f"arg_{at}") for at in range(len(one))] if isinstance(one, Mapping) else one for one in value]
    return every if all(isinstance(one, list) for one in every) else None


def _is_pair(value: Any) -> bool:
    """Whether this is a log-likelihood with whether the text is what greedy decoding gives."""
    return isinstance(value, list) and len(value) == 2 and str(value[1]) in ("True", "False")


def _without_delimiter(continuations: Sequence[str], delimiter: str | None) -> tuple[str, ...]:
    """The choices themselves: without the one blank, or what the task has in its place, that precedes all of them."""
    if delimiter is None:
        found = _BLANK.match(continuations[0])
        delimiter = found[0] if found else ""
    cut = len(delimiter) if all(one.startswith(delimiter) for one in continuations) else 0
    return tuple(one[cut:] for one in continuations)


def _options(document: Any) -> int:
    """How many lettered options a document has; 0 where it has none, or nobody can say."""
    found = [one for one in (at_path(document, name) for name in _OPTIONS) if isinstance(one, list)]
    return len(found[0]) if len(found) == 1 and 2 <= len(found[0]) <= 26 else 0


# One task


@dataclass
class _Task:
    """The samples of a task as cases."""

    name: str
    samples: Sequence[_Sample]
    norm: Norm
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, samples: Sequence[_Sample], norm: Norm) -> _Task:
        """The samples of the filter "none", or of the only one: a document is there once for each filter."""
        filters = Counter(one.filter for one in samples)
        chosen = "none" if "none" in filters else next(iter(filters))
        task = cls(name, [one for one in samples if one.filter == chosen], norm)
        if len(filters) > 1 and chosen != "none" and task.rows:
            raise FileError(
                samples[0].source,
                f"every document is there once for each of the filters {listed(list(filters))}: choose one with "
                f"{argument('where', f'filter={chosen}')}.",
            )
        if len(filters) > 1:
            others = len(samples) - filters[chosen]
            task.notes.append(f"task {quote(name)}: {others:,} records of other filters than 'none' are left out.")
        return task

    @cached_property
    def rows(self) -> list[Row]:
        """One list for each sample."""
        scored = [one for one in self.samples if one.choices.loglikelihoods]
        if len(scored) == len(self.samples):
            return self._choices()
        if scored:
            odd = next(one for one in self.samples if not one.choices.loglikelihoods)
            raise FileError(odd.source, "this record has no log-likelihoods, others of its task have.", row=odd.row)
        return self._letters()

    def _choices(self) -> list[Row]:
        """Distributions over the choices."""
        if min(len(one.choices.loglikelihoods) for one in self.samples) < 2:
            raise _NoListsError(
                "a question has the log-likelihood of one text, so there is nothing to choose from (output_type is "
                "loglikelihood, not multiple_choice)."
            )
        outcomes, names = self._outcomes(), self._names()
        self.notes.append(f"probabilities are {MEANINGS[self.norm]} ({argument('norm', self.norm)}).")
        made, tied, lost = [], 0, 0
        for sample, outcome in zip(self.samples, outcomes, strict=True):
            p = sample.probabilities(self.norm)
            classes = names or [str(place) for place in range(len(p))]
            made.append(self._row(sample, classes, p.tolist(), classes[outcome]))
            tied += int((p == p.max()).sum() > 1)
            lost += bool(((p == 0) & np.isfinite(sample.choices.loglikelihoods)).any())
        if tied:
            self.notes.append(
                f"task {quote(self.name)}: in {tied:,} question{'s' * (tied > 1)} the most probable choices tie. "
                "Accuracy shares the credit between them; the harness counts the first."
            )
        if lost:
            self.notes.append(
                f"task {quote(self.name)}: in {lost:,} question{'s' * (lost > 1)} a choice is so improbable that its "
                "probability is 0 in double precision."
            )
        self._compare_counts(outcomes)
        return made

    def _row(self, sample: _Sample, classes: Sequence[str], p: Sequence[float], outcome: str, m: int = 0) -> Row:
        known = {"outcome": outcome, "n_classes": m or len(classes), "cluster": sample.document, "group": self.name}
        return Row(f"{self.name}/{sample.document[:_HASH]}", classes, p, known)

    def _names(self) -> list[str] | None:
        """The texts of the choices, where all questions have the same ones."""
        every = {tuple(text.strip() for text in one.choices.texts or ()) for one in self.samples}
        texts = next(iter(every))
        shared = len(every) == 1 and len({one.document for one in self.samples}) > 1
        return list(texts) if shared and all(texts) and len(set(texts)) == len(texts) else None

    def _outcomes(self) -> list[int]:
        """The places of the correct choices."""
        if any(one.by_context for one in self.samples):
            return [self._by_count(one) for one in self.samples]
        readings = [found for found in (self._read(_by_place), self._read(_by_text)) if found is not None]
        if not readings:
            odd = next(one for one in self.samples if _by_place(one) is None and _by_text(one) is None)
            several = len(_targets(odd.target)) > 1
            raise _NoListsError(
                f"row {odd.row:,} has the target {quote(odd.target)}: "
                + ("several choices are correct." if several else "neither the place nor the text of a choice.")
            )
        fitting = [one for one in readings if not self._contradiction(one)]
        if not fitting:
            raise _NoListsError(f"{self._contradiction(readings[0])}.")
        if any(one != fitting[0] for one in fitting[1:]):
            raise _NoListsError("targets are numbers that may be the places or the texts of choices.")
        return fitting[0]

    def _read(self, reading: Any) -> list[int] | None:
        found = [reading(one) for one in self.samples]
        return None if any(place is None for place in found) else found

    def _by_count(self, sample: _Sample) -> int:
        """The correct choice where only the contexts differ: what the harness counted tells, if it tells."""
        hit, best, m = sample.counted.get("acc"), sample.best("none"), len(sample.choices.loglikelihoods)
        if hit in (0, 1) and (hit or m == 2):
            return best if hit else 1 - best
        raise _NoListsError(
            "the choices are in the contexts, and the records do not say which of them is correct where the most "
            "probable one is not."
        )

    def _contradiction(self, outcomes: Sequence[int]) -> str:
        """Where the harness counted otherwise than these outcomes say; or nothing."""
        metric = next((name for name in _COUNTED if name in self.samples[0].counted), None)
        if metric is None:
            return ""
        for sample, outcome in zip(self.samples, outcomes, strict=True):
            hit, mine = sample.counted.get(metric), sample.best(_COUNTED[metric]) == outcome
            if hit not in (0, 1):
                return f"{metric} of row {sample.row:,} is {quote(hit)}, neither a hit (1) nor a miss (0)"
            if hit != mine:
                return (
                    f"{metric} of row {sample.row:,} is {hit:g}, but its target is {'' if mine else 'not '}the most "
                    "probable choice: the task counts something else than one correct choice per question"
                )
        return ""

    def _compare_counts(self, outcomes: Sequence[int]) -> None:
        """Say so where the harness, with the same norm, counted another number of correct answers."""
        metric = next(name for name, norm in {**_COUNTED, "": self.norm}.items() if norm == self.norm)
        counted = [
            (one.counted.get(metric), one.best(self.norm) == at) for one, at in zip(self.samples, outcomes, strict=True)
        ]
        other = sum(hit in (0, 1) and hit != mine for hit, mine in counted)
        if other:
            self.notes.append(
                f"task {quote(self.name)}: {metric} of {other:,} records is another than {argument('norm', self.norm)} "
                "gives: the harness took another length of the choices."
            )

    def _letters(self) -> list[Row]:
        """Hard labels: generated letters, where the documents say how many options there are."""
        odd = next((one for one in self.samples if not isinstance(one.answer, str)), None)
        if odd is not None:
            raise _NoListsError("the records are neither log-likelihoods of choices nor one generated answer each.")
        letters = [_letter(one.target, one.options) for one in self.samples]
        if not all(letters):
            raise _NoListsError(
                "the answers are generated text, and the documents do not say from which answers they were chosen "
                "(no list of choices with a letter as the target): there is nothing to spread probability over."
            )
        self.notes.append(
            f"task {quote(self.name)}: answers are generated, so each list is one class with probability 1; a wrong "
            "one has an infinite log score."
        )
        made, none = [], 0
        for sample, target in zip(self.samples, letters, strict=True):
            answer = _letter(sample.answer, sample.options)
            none += not answer
            made.append(self._row(sample, [answer] if answer else [], [1.0] if answer else [], target, sample.options))
        if none:
            self.notes.append(
                f"task {quote(self.name)}: {none:,} answers are none of the options: their lists are empty, which is "
                "scored as the uniform distribution."
            )
        return made


def _targets(value: Any) -> list[Any]:
    """What is correct: one value, or several that were written as a list."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
    return list(dict.fromkeys(map(str, value))) if isinstance(value, list) else [value]


def _by_place(sample: _Sample) -> int | None:
    targets = _targets(sample.target)
    if len(targets) != 1 or not _NUMBER.fullmatch(str(targets[0])):
        return None
    place = int(targets[0])
    return place if place < len(sample.choices.loglikelihoods) else None


def _by_text(sample: _Sample) -> int | None:
    targets, texts = _targets(sample.target), [text.strip() for text in sample.choices.texts or ()]
    found = [at for at, text in enumerate(texts) if [text] == [str(one).strip() for one in targets]]
    return found[0] if len(found) == 1 else None


def _letter(value: Any, options: int) -> str:
    """A letter of one of the options, in parentheses or not; or nothing."""
    found = _LETTER.fullmatch(str(value))
    return found[1] if found and ord(found[1]) - ord("A") < options else ""


# All tasks


def _completed(rows: list[tuple[str, Row]], grouped: bool) -> tuple[dict[str, Any], list[tuple[str, Row]]]:
    """Columns and rows: a task is a group where there are several, a document a cluster where it is in several cases.

    Documents that are in a task more than once are told apart by a number.
    """
    pa = need("pyarrow")
    documents = Counter(row.known["cluster"] for _, row in rows)
    known = {"outcome": pa.string(), "n_classes": pa.int64()}
    known |= {"group": pa.string()} if grouped else {}
    known |= {"cluster": pa.string()} if max(documents.values()) > 1 else {}
    return columns_of(**known), list(_numbered(rows))


def _numbered(rows: list[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    met: Counter[str] = Counter()
    for source, row in rows:
        met[row.case] += 1
        yield source, replace(row, case=f"{row.case}/{met[row.case]}") if met[row.case] > 1 else row


def _match(look: FirstLook, match: Match) -> Match | None:
    """All files whose first record is one of the harness."""
    found = tuple(path for path in match.paths if _is_sample(next(iter(look.records(path)), None)))
    return Match(found, match.reason) if found else None


def _is_sample(record: Any) -> bool:
    return isinstance(record, Mapping) and all(record.get(key) is not None for key in _KEYS)


PRODUCER = Producer(open=_open, match=_match, options=("norm", "where"))
