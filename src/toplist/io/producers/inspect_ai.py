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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from toplist._text import argument, quote
from toplist.errors import CaseError, FileError
from toplist.io.answers import OTHER, AnswerSpace
from toplist.io.columns import as_numpy
from toplist.io.producers.base import ANSWER_MASS, CLASSES, CONFIDENCES, N_CLASSES, at_path
from toplist.io.producers.cases import HARD, Cases, NoListsError, about, add_answer, disagreement, letters, reading
from toplist.io.producers.records import Record, mappings, records_in
from toplist.io.producers.tokens import (
    FieldError,
    Position,
    Token,
    Whole,
    as_position,
    chosen,
    typed,
)
from toplist.io.producers.top_tokens import TopTokens, answer_lists, notes_on
from toplist.io.producers.zip_members import members_of
from toplist.io.readers.first_look import FirstLook
from toplist.io.readers.json_lines import read_json

_HEADERS = ("header.json", "_journal/start.json")  # the second one is there while a run goes on, and if it breaks off
_SAMPLE = re.compile(r"samples/.+\.json")
_ANSWER = "ANSWER:"  # precedes the answer in the template of multiple_choice
_ANSWERED = re.compile(r"answer\s*:\s*([a-z\d])\b", re.IGNORECASE)
_SHUFFLED = "Choices were shuffled before"
_HITS = {"C": True, "I": False, "N": False, 1: True, 0: False}


# Logs


def _members(path: Path) -> Iterator[Record]:
    """The header of a ZIP file, and its samples."""
    with members_of(path) as members:
        header = next((name for name in _HEADERS if name in members), None)
        if header is None:
            raise FileError(str(path), f"this is no log of inspect_ai: it has no {_HEADERS[0]}.")
        for name in (header, *filter(_SAMPLE.fullmatch, members)):
            yield Record(str(path), None, read_json(members[name](), f"{path}, {name}"), name)


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
    logged: bool  # whether there are log-probabilities
    listed: bool  # whether there are some of top tokens
    answers: Sequence[tuple[Sequence[Token], list[str]]]  # the tokens at each position that may be the answer's

    @classmethod
    def of(cls, record: Record, task: str, positions: Sequence[int | str], scores: Mapping[str, Any]) -> _Sample:
        try:
            logged = typed(record.value, _Logged)
        except FieldError as error:
            raise record.error(f"this is not as inspect_ai writes it: {error}.") from None
        generated = logged.output.positions() if logged.output else []
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
            logged=bool(generated),
            listed=any(token.listed() for token in generated),
            answers=[chosen(position, generated) for position in positions],
        )

    def answer(self, scorer: str, space: AnswerSpace | None) -> str:
        """The answer that a scorer found, or where none looked for it, what stands after "ANSWER:"."""
        text = str(at_path(self.scores[scorer], "answer") or "").strip() if self.scores else self.written
        return text if text in self.classes(space) else (space.answer_of(text) if space else None) or OTHER

    def classes(self, space: AnswerSpace | None) -> Sequence[str]:
        """The letters of the choices, or the declared answers where there are none."""
        return space.answers if space and not self.choices else letters(len(self.choices))

    def outcome(self, space: AnswerSpace | None) -> str:
        """The correct letter, or declared answer."""
        texts = [str(target).strip() for target in (self.target if isinstance(self.target, list) else [self.target])]
        own = letters(len(self.choices))
        if not self.choices:
            parts = [answer for text in texts if space and (answer := space.answer_of(text)) is not None]
        elif len(texts) == 1 and texts[0].upper() not in own and list(self.choices).count(texts[0]) == 1:
            parts = [own[list(self.choices).index(texts[0])]]
        else:
            words = [word for text in texts for word in text.upper().replace(",", " ").split()]
            parts = [part for word in words for part in ([word] if word.isnumeric() else word)]
        if len({*parts}) != 1 or parts[0] not in self.classes(space):
            raise NoListsError(f"the target {quote(self.target)} of {self.record.place} is not one of its choices.")
        return parts[0]


# Tasks


def _read(cases: Cases) -> None:
    logs: list[tuple[str, Record, Iterator[Record]]] = []  # the task, the header, and the samples
    for path in cases.request.paths:
        records = mappings(_members(path) if path.suffix.lower() == ".eval" else _parts(path))
        header = next(records, Record(str(path), None, {}))
        logs.append((str(header.at("eval.task") or path.stem), header, records))
    cases.require_one("models", [str(header.at("eval.model")) for _, header, _ in logs])
    for task, header, samples in logs:
        runs = [Path(other.source).name for name, other, _ in logs if name == task]
        cases.require_one(f"runs of the task {quote(task)}", runs)
        with cases.task(task):
            _add_log(cases, task, str(header.value.get("status", "started")), samples)


def _add_log(cases: Cases, task: str, status: str, records: Iterator[Record]) -> None:
    samples, asked = list[_Sample](), as_position(cases.request.options.position)
    positions: Sequence[int | str] = (_ANSWER, 0) if asked == 0 else (asked,)
    for record in records:
        if record.value.get("error"):
            cases.count("sample", f"of task {quote(task)} ended in an error: missing cases")
            continue
        scores = record.at("scores") if isinstance(record.at("scores"), Mapping) else {}
        seen = {"task": task, **record.value}
        kept = cases.conditions.keep(*([{**seen, "scorer": name} for name in scores] or [seen]))
        if kept:
            of_scorers = {name: score for at, (name, score) in enumerate(scores.items()) if at in kept}
            samples.append(_Sample.of(record, task, positions, of_scorers))
    if status != "success":
        cases.say(f"the status of the run is {quote(status)}: samples may be missing")
    if not samples:
        raise NoListsError("there is no sample in it, or none that fulfils the conditions.")
    space = None if cases.request.options.answers is None else AnswerSpace.of(cases.request.options.answers)
    if any(sample.listed for sample in samples):
        _add_tokens(cases, samples, space, positions)
        return
    if any(sample.logged for sample in samples):
        cases.say("only the sampled tokens have log-probabilities: ask for top_logprobs when the task is run")
    _add_answers(cases, samples, space)


def _add_tokens(
    cases: Cases, samples: Sequence[_Sample], declared: AnswerSpace | None, positions: Sequence[int | str]
) -> None:
    """Lists of the tokens with log-probabilities."""
    for sample in samples:
        if any(str(at_path(score, "explanation")).startswith(_SHUFFLED) for score in sample.scores.values()):
            raise NoListsError(
                f"the choices of {sample.record.place} were shuffled by the solver: tokens are other letters than "
                "targets. Shuffle them when the dataset is read (shuffle_choices)."
            )
    space, sizes = _space(samples, declared)
    at = next((at for at in range(len(positions)) if any(sample.answers[at][0] for sample in samples)), -1)
    if len(positions) > 1 and positions[at] == _ANSWER:
        cases.say(f"the answer is the token after {_ANSWER!r}")
    try:
        tokens = TopTokens.of((sample.answers[at][0] for sample in samples), space)
        lists, changes = answer_lists(tokens, space, n_answers=sizes)
    except CaseError as error:
        raise samples[error.case or 0].record.error(f"{error.problem} {error.remedy}".strip()) from None
    counts = Counter(problem for sample in samples for problem in sample.answers[at][1])
    for note in notes_on(positions[at], len(samples), counts + changes, as_numpy(lists[ANSWER_MASS])):
        cases.say(note)
    columns = {name: column.to_pylist() for name, column in lists.items()}
    for place, sample in enumerate(samples):
        known = {name: values[place] for name, values in columns.items()}
        entries, n_classes = (known.pop(CLASSES), known.pop(CONFIDENCES)), known.pop(N_CLASSES)
        cases.add(
            sample.record, sample.case, *entries, **about(sample.outcome(declared), n_classes, sample.id), **known
        )


@cache
def _letters(count: int) -> AnswerSpace:
    """The first letters as answers, which many small logs share: spelling their variants takes longer than a log."""
    return AnswerSpace(letters(count))


def _space(samples: Sequence[_Sample], declared: AnswerSpace | None) -> tuple[AnswerSpace, Any]:
    """The declared answers, or the letters of the choices; and how many of them each sample has."""
    sizes = [len(sample.choices) for sample in samples]
    if not any(sizes):
        if declared is None:
            raise NoListsError(f"its samples have no choices: declare what may be answered with {argument('answers')}.")
        return declared, None
    if min(sizes) < 2:
        raise NoListsError(f"{samples[sizes.index(min(sizes))].record.name} has fewer than two choices.")
    space = declared or _letters(max(sizes))
    if max(sizes) > len(space.answers):
        raise NoListsError(f"a sample has {max(sizes)} choices, but {len(space.answers)} answers are declared.")
    return space, np.array(sizes)


def _add_answers(cases: Cases, samples: Sequence[_Sample], space: AnswerSpace | None) -> None:
    """Answers without probabilities."""
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.scores or ("",)))
    cases.require_one("scorers", scorers, "scorer")
    if space is None and any(len(sample.choices) < 2 for sample in samples):
        raise NoListsError(
            "its samples have no choices and no log-probabilities: there is nothing to spread probability over."
        )
    for sample in samples:
        answer, outcome = sample.answer(scorers[0], space), sample.outcome(space)
        score = at_path(sample.scores.get(scorers[0]), "value")
        hit = _HITS.get(score) if isinstance(score, str | int | float) else None
        if why := disagreement(f"the score of {sample.record.place} by {quote(scorers[0])}", hit, answer, outcome):
            raise NoListsError(f"{why}.")
        add_answer(cases, sample.record, sample.case, answer, sample.classes(space), outcome, sample.id)
    cases.say(f"{HARD}. Log-probabilities are in a log if the task is run with logprobs and top_logprobs")


def _is_log(look: FirstLook, path: Path) -> str:
    """Files called .eval, and JSON that begins as a log does: it may be too long to be read at first sight."""
    return "it is called .eval" if path.suffix.lower() == ".eval" else "it begins with version, status and eval"


PRODUCER = reading(_read, sees=_is_log, options=("answers", "position", "where"), files_only=True)
