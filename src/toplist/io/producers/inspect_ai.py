"""inspect_ai: logs `.eval` (a ZIP of JSON) and `.json` of multiple-choice tasks.

A case is a sample in an epoch; the sample is the cluster of its epochs. Its classes are the letters of the choices and
OTHER, which is what no choice is. With log-probabilities in the log, the tokens at the position of the answer are
added up by `AnswerSpace`; without, the answer that the scorer found is a hard label. Samples that ended in an error
are missing cases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from toplist._text import argument, listed, quote
from toplist.errors import CaseError, FileError
from toplist.io.answers import OTHER, AnswerSpace
from toplist.io.columns import as_numpy
from toplist.io.producers.base import ANSWER_MASS, CLASSES, CONFIDENCES, N_CLASSES, at_path
from toplist.io.producers.cases import HARD, Cases, NoListsError, about, add_answer, letters, reading
from toplist.io.producers.records import Record, mappings, parsed, records_in
from toplist.io.producers.tokens import (
    NO_POSITION,
    FieldError,
    Position,
    Token,
    Whole,
    after,
    as_position,
    typed,
)
from toplist.io.producers.top_tokens import TopTokens, answer_lists, notes_on
from toplist.io.producers.zip_members import members_of
from toplist.io.readers.first_look import FirstLook

_HEADERS = ("header.json", "_journal/start.json")  # the second one is there while a run goes on, and if it breaks off
_SAMPLE = re.compile(r"samples/.+\.json")
_ANSWER = "ANSWER:"  # precedes the answer in the template of multiple_choice
_ANSWERED = re.compile(r"answer\s*:\s*([a-z\d])\b", re.IGNORECASE)
_SHUFFLED = "Choices were shuffled before"
_HITS = {"C": True, "I": False, "N": False, 1: True, 0: False}


# Logs


@dataclass(frozen=True, slots=True)
class _Log:
    """One log: its header, or all of it, where it is a document; and its samples, one by one."""

    path: Path
    header: Record
    samples: Iterator[Record]

    @classmethod
    def of(cls, path: Path) -> _Log:
        records = mappings(_members(path) if path.suffix.lower() == ".eval" else _parts(path))
        return cls(path, next(records, Record(str(path), None, {})), records)

    @property
    def task(self) -> str:
        return str(self.header.at("eval.task") or self.path.stem)

    @property
    def model(self) -> str:
        return str(self.header.at("eval.model"))


def _members(path: Path) -> Iterator[Record]:
    """The header of a ZIP file, and its samples."""
    with members_of(path) as members:
        header = next((name for name in _HEADERS if name in members.names), None)
        if header is None:
            raise FileError(str(path), f"this is no log of inspect_ai: it has no {_HEADERS[0]}.")
        for name in (header, *filter(_SAMPLE.fullmatch, members.names)):
            place = Record(str(path), None, None, name)
            yield replace(place, value=parsed(members.read(name), place))


def _parts(path: Path) -> Iterator[Record]:
    """The whole of a document, and the samples in it."""
    for document in records_in(path):
        yield document
        for at, value in enumerate(document.items("samples"), 1):
            yield Record(str(path), None, value, f"sample {at}")


# Samples


class _Position(Position):
    top_logprobs: list[Token] | None = None  # nothing was cut out


class _Logprobs(Struct):
    content: list[_Position] | None = None


class _Choice(Struct):
    logprobs: _Logprobs | None = None


class _Output(Struct):
    choices: list[_Choice] | None = None

    def positions(self) -> list[_Position]:
        """What was generated, where that is logged."""
        first = self.choices[0].logprobs if self.choices else None
        return (first.content if first else None) or []


class _Logged(Struct):
    """What a sample has to have in its place: one with something else there is damaged, and not one without it."""

    output: _Output | None = None
    epoch: Whole | None = None


@dataclass(frozen=True, slots=True)
class _Sample:
    """What counts of a sample."""

    record: Record  # nothing but its place
    id: str
    case: str
    choices: Sequence[str]
    target: Any
    scores: Mapping[str, Any]  # by the names of scorers
    written: str  # the answer in the text
    listed: bool  # whether top tokens are listed
    first: Position | None  # at the position that is asked for, or the first one
    later: Position | None  # after "ANSWER:", where no position is asked for
    problems: Sequence[str]  # why there is no such position

    @classmethod
    def of(cls, record: Record, task: str, position: int | str, scores: Mapping[str, Any]) -> _Sample:
        try:
            logged = typed(record.value, _Logged)
        except FieldError as error:
            raise record.error(f"this is not as inspect_ai writes it: {error}.") from None
        positions = logged.output.positions() if logged.output else []
        generated = [token.token or "" for token in positions]
        place, problems = (position, []) if isinstance(position, int) else after(position, generated)
        later, why = after(_ANSWER, generated) if position == 0 else (None, problems)
        number, epoch = record.text("id"), str(logged.epoch or 1)
        text = record.at("output.completion") or record.at("output.choices.0.message.content") or ""
        return cls(
            record=Record(record.source, None, None, f"sample {number} in epoch {epoch}"),
            id=f"{task}/{number}",
            case=f"{task}/{number}_epoch_{epoch}",
            choices=list(map(str, record.items("choices"))),
            target=record.value.get("target"),
            scores=scores,
            written=next(reversed(_ANSWERED.findall(str(text))), "").upper(),
            listed=any(token.listed() for token in positions),
            first=_item(positions, place),
            later=_item(positions, later),
            problems=why,
        )

    def answer(self, scorer: str) -> str:
        """The answer that a scorer found, or where none looked for it, what stands after "ANSWER:"."""
        return str(at_path(self.scores[scorer], "answer") or "").strip() if self.scores else self.written

    def hit(self, scorer: str) -> bool | None:
        """Whether a scorer counts the answer as correct; None where it does not say."""
        value = at_path(self.scores.get(scorer), "value")
        return _HITS.get(value) if isinstance(value, str | int | float) else None

    def targets(self, space: AnswerSpace | None) -> list[str]:
        """The correct letters, or declared answers; none where the target is something else."""
        texts = [str(target).strip() for target in (self.target if isinstance(self.target, list) else [self.target])]
        if not self.choices:
            return [answer for text in texts if space and (answer := space.answer_of(text)) is not None]
        own = letters(len(self.choices))
        if len(texts) == 1 and texts[0].upper() not in own and list(self.choices).count(texts[0]) == 1:
            return [own[list(self.choices).index(texts[0])]]
        words = [word for text in texts for word in text.upper().replace(",", " ").split()]
        parts = [part for word in words for part in ([word] if word.isnumeric() else word)]
        return list(dict.fromkeys(parts)) if all(part in own for part in parts) else []


def _item(positions: Sequence[Position], place: int | None) -> Position | None:
    return positions[place] if place is not None and -len(positions) <= place < len(positions) else None


# Tasks


def _read(cases: Cases) -> None:
    logs = [_Log.of(path) for path in cases.request.paths]
    models = list(dict.fromkeys(log.model for log in logs))
    if len(models) > 1:
        problem = f"these are logs of {len(models)} models, {listed(models)}: name those of one."
        raise FileError(cases.request.name, problem)
    task, runs = next(iter(Counter(log.task for log in logs).most_common(1)), ("", 0))
    if runs > 1:
        files = listed([log.path.name for log in logs if log.task == task])
        problem = f"these are {runs} runs of the task {quote(task)}, {files}: name one of them."
        raise FileError(cases.request.name, problem)
    for log in logs:
        with cases.task(log.task):
            _add_log(cases, log)


def _add_log(cases: Cases, log: _Log) -> None:
    samples, position = [], as_position(cases.request.options.position)
    for record in log.samples:
        if record.value.get("error"):
            cases.count("sample", f"of task {quote(log.task)} ended in an error: missing cases")
            continue
        scores = record.at("scores") if isinstance(record.at("scores"), Mapping) else {}
        seen = {"task": log.task, **record.value}
        kept = cases.conditions.keep(*([{**seen, "scorer": name} for name in scores] or [seen]))
        if kept:
            chosen = {name: score for at, (name, score) in enumerate(scores.items()) if at in kept}
            samples.append(_Sample.of(record, log.task, position, chosen))
    status = log.header.value.get("status", "started")
    if status != "success":
        cases.say(f"the status of the run is {quote(status)}: samples may be missing")
    if not samples:
        raise NoListsError("there is no sample in it, or none that fulfils the conditions.")
    space = None if cases.request.options.answers is None else AnswerSpace.of(cases.request.options.answers)
    if any(sample.listed for sample in samples):
        _add_tokens(cases, samples, space)
        return
    if any(sample.first is not None for sample in samples):
        cases.say("only the sampled tokens have log-probabilities: ask for top_logprobs when the task is run")
    _add_answers(cases, log, samples, space)


def _add_tokens(cases: Cases, samples: Sequence[_Sample], declared: AnswerSpace | None) -> None:
    """Lists of the tokens with log-probabilities."""
    explained = ([str(at_path(score, "explanation")) for score in sample.scores.values()] for sample in samples)
    shuffled = sum(any(text.startswith(_SHUFFLED) for text in texts) for texts in explained)
    if shuffled:
        raise NoListsError(
            f"the choices of {shuffled:,} samples were shuffled by the solver: tokens are other letters than targets. "
            "Shuffle them when the dataset is read (shuffle_choices)."
        )
    space, sizes = _space(samples, declared)
    asked = position = as_position(cases.request.options.position)
    if asked == 0 and any(sample.later for sample in samples):
        position = _ANSWER
        cases.say(f"the answer is the token after {_ANSWER!r}")
    chosen = [sample.later if position != asked else sample.first for sample in samples]
    counts = Counter(problem for sample in samples for problem in sample.problems)
    if not isinstance(position, str):
        counts = Counter(NO_POSITION for place in chosen if place is None)
    tokens = TopTokens.of([place.listed() if place else () for place in chosen], space)
    try:
        lists, changes = answer_lists(tokens, space, n_answers=sizes)
    except CaseError as error:
        raise samples[error.case or 0].record.error(f"{error.problem} {error.remedy}".strip()) from None
    for note in notes_on(position, len(samples), counts + changes, as_numpy(lists[ANSWER_MASS])):
        cases.say(note)
    columns = {name: column.to_pylist() for name, column in lists.items()}
    for at, (sample, outcome) in enumerate(zip(samples, _outcomes(samples, space), strict=True)):
        known = {name: values[at] for name, values in columns.items()}
        entries, n_classes = (known.pop(CLASSES), known.pop(CONFIDENCES)), known.pop(N_CLASSES)
        cases.add(sample.record, sample.case, *entries, **about(outcome, n_classes, sample.id), **known)


def _space(samples: Sequence[_Sample], declared: AnswerSpace | None) -> tuple[AnswerSpace, Any]:
    """The declared answers, or the letters of the choices; and how many of them each sample has."""
    sizes = [len(sample.choices) for sample in samples]
    if not any(sizes):
        if declared is None:
            raise NoListsError(f"its samples have no choices: declare what may be answered with {argument('answers')}.")
        return declared, None
    if min(sizes) < 2:
        raise NoListsError(f"{samples[sizes.index(min(sizes))].record.name} has fewer than two choices.")
    space = declared or AnswerSpace(letters(max(sizes)))
    if max(sizes) > len(space.answers):
        raise NoListsError(f"a sample has {max(sizes)} choices, but {len(space.answers)} answers are declared.")
    return space, np.array(sizes)


def _add_answers(cases: Cases, log: _Log, samples: Sequence[_Sample], space: AnswerSpace | None) -> None:
    """Answers without probabilities."""
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.scores or ("",)))
    if len(scorers) > 1:
        way = argument("where", f"scorer={scorers[0]}")
        problem = f"samples have answers of several scorers, {listed(scorers)}: choose one with {way}."
        raise FileError(str(log.path), problem)
    if space is None and any(len(sample.choices) < 2 for sample in samples):
        raise NoListsError(
            "its samples have no choices and no log-probabilities: there is nothing to spread probability over."
        )
    for sample, outcome in zip(samples, _outcomes(samples, space), strict=True):
        choices = space.answers if space and not sample.choices else letters(len(sample.choices))
        text, hit = sample.answer(scorers[0]), sample.hit(scorers[0])
        answer = text if text in choices else (space.answer_of(text) if space else None) or OTHER
        if hit is not None and hit != (answer == outcome):
            raise NoListsError(
                f"the scorer {quote(scorers[0])} counts {sample.record.name} as {'correct' if hit else 'wrong'}, but "
                f"its answer is {quote(text)} and the target {quote(outcome)}."
            )
        add_answer(cases, sample.record, sample.case, answer, choices, outcome, sample.id)
    cases.say(f"{HARD}. Log-probabilities are in a log if the task is run with logprobs and top_logprobs")


def _outcomes(samples: Sequence[_Sample], space: AnswerSpace | None) -> list[str]:
    targets = [sample.targets(space) for sample in samples]
    several = sum(len(correct) > 1 for correct in targets)
    if several:
        raise NoListsError(f"{several:,} of {len(samples):,} samples have several correct answers.")
    odd = next((sample for sample, correct in zip(samples, targets, strict=True) if not correct), None)
    if odd is not None:
        raise NoListsError(f"the target {quote(odd.target)} of {odd.record.name} is none of its choices.")
    return [outcome for (outcome,) in targets]


def _is_log(look: FirstLook, path: Path) -> str:
    """Files called .eval, and JSON that begins as a log does: it may be too long to be read at first sight."""
    return "it is called .eval" if path.suffix.lower() == ".eval" else "it begins with version, status and eval"


PRODUCER = reading(_read, sees=_is_log, options=("answers", "position", "where"), files_only=True)
