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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._text import argument, listed, quote
from toplist.errors import CaseError, FileError
from toplist.io.answers import OTHER, AnswerSpace
from toplist.io.conditions import RecordConditions
from toplist.io.producers import fields
from toplist.io.producers.base import ANSWER_MASS, LISTED_TOKENS, Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.fields import FieldError
from toplist.io.producers.harness import HARD, Cases, NoListsError, hard_label, known_of, letters, others, require_files
from toplist.io.producers.json_records import Record, records
from toplist.io.producers.openai import position_of
from toplist.io.producers.tokens import Position, Positions, Summary, after, as_position
from toplist.io.producers.zip_members import members_of
from toplist.io.readers.base import FirstLook
from toplist.io.readers.json_lines import RepeatedFieldError, json_value

if TYPE_CHECKING:
    from toplist.io.options import ReadOptions

_HEADERS = ("header.json", "_journal/start.json")  # the second one is there while a run goes on, and if it breaks off
_SAMPLE = re.compile(r"samples/.+\.json")
_ANSWER = "ANSWER:"  # precedes the answer in the template of multiple_choice
_ANSWERED = re.compile(r"answer\s*:\s*([a-z\d])\b", re.IGNORECASE)
_SHUFFLED = "Choices were shuffled before"
_HITS = {"C": True, "I": False, "N": False, 1: True, 0: False}


# Logs


@dataclass(frozen=True, slots=True)
class _Log:
    """One log: its header, and the samples in it."""

    path: Path
    header: Record
    document: Record | None = None  # of .json, all of it

    @classmethod
    def of(cls, path: Path) -> _Log:
        if path.suffix.lower() != ".eval":
            _, document = next(records(path), (0, {}))
            return cls(path, document, document)
        with members_of(path) as members:
            name = next((name for name in _HEADERS if name in members.names), None)
            if name is None:
                raise FileError(str(path), f"this is no log of inspect_ai: it has no {_HEADERS[0]}.")
            return cls(path, _parsed(members.read(name), path, name))

    @property
    def task(self) -> str:
        return str(at_path(self.header, "eval.task") or self.path.stem)

    @property
    def model(self) -> str:
        return str(at_path(self.header, "eval.model"))

    @property
    def status(self) -> str:
        return str(self.header.get("status", "started"))

    def samples(self) -> Iterator[Record]:
        """The samples, one by one."""
        if self.document is not None:
            every = self.document.get("samples")
            for at, one in enumerate(every if isinstance(every, list) else (), 1):
                yield _as_object(one, self.path, f"sample {at}")
            return
        with members_of(self.path) as members:
            for name in filter(_SAMPLE.fullmatch, members.names):
                yield _parsed(members.read(name), self.path, name)


def _parsed(data: bytes, path: Path, what: str) -> Record:
    try:
        return _as_object(json_value(data), path, what)
    except RepeatedFieldError as error:
        raise FileError(str(path), f"{what}: {error}") from None
    except (ValueError, RecursionError):
        raise FileError(str(path), f"{what} is no JSON.") from None


def _as_object(value: Any, path: Path, what: str) -> Record:
    if not isinstance(value, Mapping):
        raise FileError(str(path), f"{what} is no JSON object.")
    return value


# Samples


@dataclass(frozen=True, slots=True)
class _Sample:
    """What counts of a sample."""

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
        positions = fields.each(record, "output.choices.0.logprobs.content", position_of)
        generated = [one.sampled or "" for one in positions]
        place, problems = (position, []) if isinstance(position, int) else after(position, generated)
        later, said = after(_ANSWER, generated) if position == 0 else (None, [])
        scores = record.get("scores")
        scores = {name: one for name, one in scores.items() if name in scorers} if isinstance(scores, Mapping) else {}
        return cls(
            _id(record),
            str(fields.whole(record, "epoch") or 1),
            [str(one) for one in fields.items(record, "choices")],
            record.get("target"),
            any(one.top for one in positions),
            _item(positions, place),
            _item(positions, later),
            said if position == 0 else problems,
            {name: _answer(one, record) for name, one in scores.items()} or {"": _answer(None, record)},
            {name: hit for name, one in scores.items() for hit in [_hit(one)] if hit is not None},
            any(str(at_path(one, "explanation")).startswith(_SHUFFLED) for one in scores.values()),
        )


def _id(record: Record) -> str:
    found = record.get("id")
    if isinstance(found, bool) or not isinstance(found, int | str):
        raise fields.expected("text or a number", found, "id")
    return str(found)


def _item(positions: Sequence[Position], place: int | None) -> Position | None:
    return positions[place] if place is not None and -len(positions) <= place < len(positions) else None


def _answer(score: Any, record: Record) -> str:
    """What the scorer took for the answer; without a scorer, what stands after "ANSWER:"."""
    if score is not None:
        return str(at_path(score, "answer") or "").strip()
    text = at_path(record, "output.completion") or at_path(record, "output.choices.0.message.content") or ""
    found = _ANSWERED.findall(str(text))
    return found[-1].upper() if found else ""


def _hit(score: Any) -> bool | None:
    """Whether a score counts as correct; None where it is something else."""
    value = at_path(score, "value")
    return _HITS.get(value) if isinstance(value, str | int | float) else None


# Tasks


@dataclass
class _Task:
    """The samples of a log as cases."""

    log: _Log
    options: ReadOptions
    conditions: RecordConditions
    samples: list[_Sample] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        total, failed = 0, 0
        for record in self.log.samples():
            total += 1
            if record.get("error"):
                failed += 1
                continue
            scores = record.get("scores")
            names = [*scores] if isinstance(scores, Mapping) and scores else [""]
            about = {"task": self.log.task, **record}
            kept = [name for name in names if self.conditions.hold({**about, "scorer": name} if name else about)]
            if kept:
                self.samples.append(self._sample(record, kept))
        if failed:
            self._say(f"{failed:,} of {total:,} samples ended in an error: they are missing.")
        if self.log.status != "success":
            self._say(f"the status of the run is {quote(self.log.status)}: samples may be missing.")
        if len(self.samples) < total - failed:
            kept_text = f"{len(self.samples):,} of {total - failed:,} samples fulfil"
            self._say(f"{kept_text} {self.conditions}.")

    def _sample(self, record: Record, scorers: Sequence[str]) -> _Sample:
        try:
            return _Sample.of(record, as_position(self.options.position), scorers)
        except FieldError as error:
            name = f"sample {record.get('id')} in epoch {record.get('epoch')}"
            raise FileError(str(self.log.path), f"{name} is not as inspect_ai writes it: {error}.") from None

    def _say(self, text: str) -> None:
        self.notes.append(f"task {quote(self.log.task)}: {text}")

    def rows(self) -> list[Row]:
        """One list for each sample."""
        if not self.samples:
            raise NoListsError(
                f"no sample fulfils {self.conditions}." if self.conditions.where else "there is no sample in it."
            )
        if any(one.listed for one in self.samples):
            return self._from_tokens()
        if any(one.first is not None for one in self.samples):
            self._say("only the sampled tokens have log-probabilities: ask for top_logprobs when the task is run.")
        return self._from_answers()

    def _row(self, one: _Sample, classes: Sequence[str], p: Sequence[float], outcome: str, m: int, **more: Any) -> Row:
        unit = f"{self.log.task}/{one.id}"
        known = known_of(outcome, m, task=self.log.task, unit=unit, **more)
        return Row(f"{unit}_epoch_{one.epoch}", classes, p, known)

    # Tokens with log-probabilities

    def _from_tokens(self) -> list[Row]:
        shuffled = sum(one.shuffled for one in self.samples)
        if shuffled:
            raise NoListsError(
                f"the choices of {shuffled:,} samples were shuffled by the solver: tokens are other letters than "
                "targets. Shuffle them when the dataset is read (shuffle_choices)."
            )
        space, sizes = self._space()
        position = as_position(self.options.position)
        if position == 0 and any(one.later for one in self.samples):
            position = _ANSWER
            self._say(f"the answer is the token after {_ANSWER!r}.")
        chosen = [
            one.later if position == _ANSWER and self.options.position == 0 else one.first for one in self.samples
        ]
        top, counts = Positions.of([[] if one is None else [one] for one in chosen]).at(0)
        if isinstance(position, str):  # why there is none is known here
            counts = Counter(problem for one in self.samples for problem in one.problems)
        try:
            made = space.lists(top, n_answers=sizes)
        except CaseError as error:
            sample = self.samples[error.case or 0]
            problem = f"sample {sample.id} in epoch {sample.epoch}: {error.problem} {error.remedy}"
            raise FileError(str(self.log.path), problem.strip()) from None
        summary = Summary(position)
        summary.add(len(self.samples), counts + made.counts, made.answer_mass)
        for note in summary.notes():
            self._say(note)
        outcomes = self._outcomes(space)
        bounds, classes = made.offsets.tolist(), made.classes.to_pylist()
        p, mass = made.confidences.tolist(), made.answer_mass.tolist()
        return [
            self._row(
                one,
                classes[bounds[at] : bounds[at + 1]],
                p[bounds[at] : bounds[at + 1]],
                outcomes[at],
                int(made.n_classes[at]),
                **{ANSWER_MASS: None if np.isnan(mass[at]) else mass[at], LISTED_TOKENS: int(made.listed[at]) or None},
            )
            for at, one in enumerate(self.samples)
        ]

    def _space(self) -> tuple[AnswerSpace, Any]:
        """The declared answers, or the letters of the choices; and how many of them each sample has."""
        declared = None if self.options.answers is None else AnswerSpace.of(self.options.answers)
        sizes = [len(one.choices) for one in self.samples]
        if not any(sizes):
            if declared is None:
                raise NoListsError(
                    f"its samples have no choices: declare what may be answered with {argument('answers')}."
                )
            return declared, None
        if min(sizes) < 2:
            odd = self.samples[sizes.index(min(sizes))]
            raise NoListsError(f"sample {odd.id} has fewer than two choices.")
        space = declared or AnswerSpace(letters(max(sizes)))
        if max(sizes) > len(space.answers):
            raise NoListsError(f"a sample has {max(sizes)} choices, but {len(space.answers)} answers are declared.")
        return space, np.array(sizes)

    # Answers without probabilities

    def _from_answers(self) -> list[Row]:
        scorer = self._scorer()
        space = None if self.options.answers is None else AnswerSpace.of(self.options.answers)
        if space is None and any(len(one.choices) < 2 for one in self.samples):
            raise NoListsError(
                "its samples have no choices and no log-probabilities: there is nothing to spread probability over."
            )
        outcomes = self._outcomes(space)
        made = []
        for one, outcome in zip(self.samples, outcomes, strict=True):
            choices = space.answers if space and not one.choices else letters(len(one.choices))
            found = one.answers[scorer]
            answer = found if found in choices else (space.answer_of(found) if space else None) or OTHER
            hit = one.hits.get(scorer)
            if hit is not None and hit != (answer == outcome):
                raise NoListsError(
                    f"the scorer {quote(scorer)} counts sample {one.id} as {'correct' if hit else 'wrong'}, but its "
                    f"answer is {quote(found)} and the target {quote(outcome)}."
                )
            made.append(self._row(one, *hard_label(answer, choices), outcome, len(choices) + 1))
        self._say(HARD + " Log-probabilities are in a log if the task is run with logprobs and top_logprobs.")
        self.notes += others(self.log.task, made)
        return made

    def _scorer(self) -> str:
        names = Counter(name for one in self.samples for name in one.answers)
        if len(names) > 1:
            raise FileError(
                str(self.log.path),
                f"samples have answers of several scorers, {listed(list(names))}: choose one with "
                f"{argument('where', f'scorer={next(iter(names))}')}.",
            )
        return next(iter(names))

    # Outcomes

    def _outcomes(self, space: AnswerSpace | None) -> list[str]:
        found = [_targets(one, space) for one in self.samples]
        several = sum(len(one) > 1 for one in found)
        if several:
            raise NoListsError(f"{several:,} of {len(found):,} samples have several correct answers.")
        odd = next((one for one, targets in zip(self.samples, found, strict=True) if not targets), None)
        if odd is not None:
            raise NoListsError(f"the target {quote(odd.target)} of sample {odd.id} is none of its choices.")
        return [one[0] for one in found]


def _targets(sample: _Sample, space: AnswerSpace | None) -> list[str]:
    """The correct letters, or declared answers; none where the target is something else."""
    target = sample.target if isinstance(sample.target, list) else [sample.target]
    texts = [str(one).strip() for one in target]
    if not sample.choices:
        found = [space.answer_of(text) for text in texts] if space else []
        return [one for one in found if one is not None]
    own = letters(len(sample.choices))
    if len(texts) == 1 and texts[0].upper() not in own and list(sample.choices).count(texts[0]) == 1:
        return [own[list(sample.choices).index(texts[0])]]
    parts = [part for text in texts for word in text.upper().replace(",", " ").split() for part in _letters_in(word)]
    return list(dict.fromkeys(parts)) if all(part in own for part in parts) else []


def _letters_in(word: str) -> list[str]:
    return [word] if word.isnumeric() else list(word)


# All logs


def _open(request: Request) -> ProducedReader:
    logs, cases = [_Log.of(path) for path in require_files(request)], Cases(request)
    models = list(dict.fromkeys(one.model for one in logs))
    if len(models) > 1:
        raise FileError(request.name, f"these are logs of {len(models)} models, {listed(models)}: name those of one.")
    twice = next((name for name, count in Counter(one.task for one in logs).items() if count > 1), None)
    if twice is not None:
        files = [one.path.name for one in logs if one.task == twice]
        raise FileError(
            request.name, f"these are {len(files)} runs of the task {quote(twice)}, {listed(files)}: name one of them."
        )
    conditions = RecordConditions(request.options.where, request.name)
    for log in logs:
        try:
            task = _Task(log, request.options, conditions)
            cases.rows += [(str(log.path), row) for row in task.rows()]
            cases.notes += task.notes
        except NoListsError as error:
            cases.left_out[log.task] = str(error)
    conditions.require_met()
    return cases.reader("there is no log here.")


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files called .eval, and JSON that begins as a log does: it may be too long to be read at first sight."""
    packed = match.paths[0].suffix.lower() == ".eval"
    return Match(match.paths, "it is called .eval" if packed else "it begins with version, status and eval")


PRODUCER = Producer(open=_open, match=_match, options=("answers", "position", "where"))
