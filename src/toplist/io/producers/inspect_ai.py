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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from toplist._text import argument, listed, quote
from toplist.errors import CaseError, FileError
from toplist.io.answers import OTHER, AnswerSpace
from toplist.io.producers.base import ANSWER_MASS, LISTED_TOKENS, at_path
from toplist.io.producers.cases import Cases, NoListsError, Record, parsed, reading, records_in
from toplist.io.producers.choices import HARD, about, add_answer, letters
from toplist.io.producers.tokens import (
    NO_POSITION,
    FieldError,
    Position,
    Token,
    TokenColumns,
    Whole,
    after,
    as_position,
    notes_on,
    typed,
)
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
    """One log: its header, or all of it, where it is a document."""

    path: Path
    header: Record

    @classmethod
    def of(cls, path: Path) -> _Log:
        if path.suffix.lower() != ".eval":
            return cls(path, _as_object(next(records_in(path), Record(str(path), None, {}))))
        with members_of(path) as members:
            name = next((name for name in _HEADERS if name in members.names), None)
            if name is None:
                raise FileError(str(path), f"this is no log of inspect_ai: it has no {_HEADERS[0]}.")
            return cls(path, _member(path, name, members.read(name)))

    @property
    def task(self) -> str:
        return str(self.header.at("eval.task") or self.path.stem)

    @property
    def model(self) -> str:
        return str(self.header.at("eval.model"))

    def samples(self) -> Iterator[Record]:
        """The samples, one by one."""
        if self.path.suffix.lower() != ".eval":
            every = self.header.value.get("samples")
            for at, value in enumerate(every if isinstance(every, list) else (), 1):
                yield _as_object(Record(str(self.path), None, value, f"sample {at}"))
            return
        with members_of(self.path) as members:
            for name in filter(_SAMPLE.fullmatch, members.names):
                yield _member(self.path, name, members.read(name))


def _member(path: Path, name: str, data: bytes) -> Record:
    return _as_object(Record(str(path), None, parsed(data, Record(str(path), None, None, name)), name))


def _as_object(record: Record) -> Record:
    if not isinstance(record.value, Mapping):
        raise record.error("this is no JSON object.")
    return record


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
    epoch: str
    choices: Sequence[str]
    target: Any
    listed: bool  # whether top tokens are listed
    first: Position | None  # at the position that is asked for, or the first one
    later: Position | None  # after "ANSWER:", where no position is asked for
    problems: Sequence[str]  # why there is no such position
    answers: Mapping[str, str]  # by the names of scorers
    hits: Mapping[str, bool]
    shuffled: bool

    @classmethod
    def of(cls, record: Record, position: int | str, scorers: Sequence[str]) -> _Sample:
        try:
            logged = typed(record.value, _Logged)
        except FieldError as error:
            raise record.error(f"this is not as inspect_ai writes it: {error}.") from None
        positions = logged.output.positions() if logged.output else []
        generated = [one.token or "" for one in positions]
        place, problems = (position, []) if isinstance(position, int) else after(position, generated)
        later, said = after(_ANSWER, generated) if position == 0 else (None, [])
        scores = record.value.get("scores")
        scores = {name: scores[name] for name in scorers} if isinstance(scores, Mapping) else {}
        number, epoch = record.text("id"), str(logged.epoch or 1)
        hits = {name: _HITS.get(value) for name, one in scores.items() if _may_count(value := at_path(one, "value"))}
        return cls(
            Record(record.source, None, None, f"sample {number} in epoch {epoch}"),
            number,
            epoch,
            [str(one) for one in record.items("choices")],
            record.value.get("target"),
            any(one.listed() for one in positions),
            _item(positions, place),
            _item(positions, later),
            said if position == 0 else problems,
            {name: str(at_path(one, "answer") or "").strip() for name, one in scores.items()} or {"": _written(record)},
            {name: hit for name, hit in hits.items() if hit is not None},
            any(str(at_path(one, "explanation")).startswith(_SHUFFLED) for one in scores.values()),
        )

    def targets(self, space: AnswerSpace | None) -> list[str]:
        """The correct letters, or declared answers; none where the target is something else."""
        texts = [str(one).strip() for one in (self.target if isinstance(self.target, list) else [self.target])]
        if not self.choices:
            return [answer for text in texts if space and (answer := space.answer_of(text)) is not None]
        own = letters(len(self.choices))
        if len(texts) == 1 and texts[0].upper() not in own and list(self.choices).count(texts[0]) == 1:
            return [own[list(self.choices).index(texts[0])]]
        words = [word for text in texts for word in text.upper().replace(",", " ").split()]
        parts = [part for word in words for part in ([word] if word.isnumeric() else word)]
        return list(dict.fromkeys(parts)) if all(part in own for part in parts) else []


def _may_count(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _item(positions: Sequence[Position], place: int | None) -> Position | None:
    return positions[place] if place is not None and -len(positions) <= place < len(positions) else None


def _written(record: Record) -> str:
    """The answer where no scorer looked for it: what stands after "ANSWER:"."""
    text = record.at("output.completion") or record.at("output.choices.0.message.content") or ""
    answers = _ANSWERED.findall(str(text))
    return answers[-1].upper() if answers else ""


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
    for record in log.samples():
        if record.value.get("error"):
            cases.count("sample", f"of task {quote(log.task)} ended in an error: missing cases")
            continue
        scores = record.value.get("scores")
        names = [*scores] if isinstance(scores, Mapping) and scores else [""]
        seen = {"task": log.task, **record.value}
        kept = cases.conditions.keep(*({**seen, "scorer": name} if name else seen for name in names))
        if kept:
            samples.append(_Sample.of(record, position, [names[at] for at in kept if names[at]]))
    status = log.header.value.get("status", "started")
    if status != "success":
        cases.say(f"the status of the run is {quote(status)}: samples may be missing")
    if not samples:
        raise NoListsError("there is no sample in it, or none that fulfils the conditions.")
    space = None if cases.request.options.answers is None else AnswerSpace.of(cases.request.options.answers)
    if any(sample.listed for sample in samples):
        _add_tokens(cases, log, samples, space)
        return
    if any(sample.first is not None for sample in samples):
        cases.say("only the sampled tokens have log-probabilities: ask for top_logprobs when the task is run")
    _add_answers(cases, log, samples, space)


def _add_tokens(cases: Cases, log: _Log, samples: Sequence[_Sample], declared: AnswerSpace | None) -> None:
    """Lists of the tokens with log-probabilities."""
    shuffled = sum(sample.shuffled for sample in samples)
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
        counts = Counter(NO_POSITION for one in chosen if one is None)
    columns = TokenColumns((one.listed() if one else () for one in chosen), with_bytes=space.uses_bytes)
    try:
        lists = space.lists(columns.made(), n_answers=sizes)
    except CaseError as error:
        raise samples[error.case or 0].record.error(f"{error.problem} {error.remedy}".strip()) from None
    for note in notes_on(position, len(samples), counts + lists.counts, lists.answer_mass):
        cases.say(note)
    bounds, classes, p = lists.offsets.tolist(), lists.classes.to_pylist(), lists.confidences.tolist()
    for at, (sample, outcome) in enumerate(zip(samples, _outcomes(samples, space), strict=True)):
        mass, entries = float(lists.answer_mass[at]), slice(bounds[at], bounds[at + 1])
        known = about(outcome, int(lists.n_classes[at]), f"{log.task}/{sample.id}")
        more = {ANSWER_MASS: None if np.isnan(mass) else mass, LISTED_TOKENS: int(lists.listed[at]) or None}
        cases.add(sample.record, _case(log, sample), classes[entries], p[entries], **known, **more)


def _case(log: _Log, sample: _Sample) -> str:
    return f"{log.task}/{sample.id}_epoch_{sample.epoch}"


def _space(samples: Sequence[_Sample], declared: AnswerSpace | None) -> tuple[AnswerSpace, Any]:
    """The declared answers, or the letters of the choices; and how many of them each sample has."""
    sizes = [len(sample.choices) for sample in samples]
    if not any(sizes):
        if declared is None:
            raise NoListsError(f"its samples have no choices: declare what may be answered with {argument('answers')}.")
        return declared, None
    if min(sizes) < 2:
        raise NoListsError(f"sample {samples[sizes.index(min(sizes))].id} has fewer than two choices.")
    space = declared or AnswerSpace(letters(max(sizes)))
    if max(sizes) > len(space.answers):
        raise NoListsError(f"a sample has {max(sizes)} choices, but {len(space.answers)} answers are declared.")
    return space, np.array(sizes)


def _add_answers(cases: Cases, log: _Log, samples: Sequence[_Sample], space: AnswerSpace | None) -> None:
    """Answers without probabilities."""
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.answers))
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
        text, hit = sample.answers[scorers[0]], sample.hits.get(scorers[0])
        answer = text if text in choices else (space.answer_of(text) if space else None) or OTHER
        if hit is not None and hit != (answer == outcome):
            raise NoListsError(
                f"the scorer {quote(scorers[0])} counts sample {sample.id} as {'correct' if hit else 'wrong'}, but its "
                f"answer is {quote(text)} and the target {quote(outcome)}."
            )
        add_answer(cases, sample.record, _case(log, sample), answer, choices, outcome, f"{log.task}/{sample.id}")
    cases.say(f"{HARD}. Log-probabilities are in a log if the task is run with logprobs and top_logprobs")


def _outcomes(samples: Sequence[_Sample], space: AnswerSpace | None) -> list[str]:
    targets = [sample.targets(space) for sample in samples]
    several = sum(len(one) > 1 for one in targets)
    if several:
        raise NoListsError(f"{several:,} of {len(samples):,} samples have several correct answers.")
    odd = next((sample for sample, one in zip(samples, targets, strict=True) if not one), None)
    if odd is not None:
        raise NoListsError(f"the target {quote(odd.target)} of sample {odd.id} is none of its choices.")
    return [one for (one,) in targets]


def _is_log(look: FirstLook, path: Path) -> str:
    """Files called .eval, and JSON that begins as a log does: it may be too long to be read at first sight."""
    return "it is called .eval" if path.suffix.lower() == ".eval" else "it begins with version, status and eval"


PRODUCER = reading(_read, sees=_is_log, options=("answers", "position", "where"), files_only=True)
