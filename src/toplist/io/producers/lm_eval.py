"""lm-evaluation-harness: `samples_{task}_{date}.jsonl`, one record per document and filter.

A case is a document of a task, by the hash of the document, so that two runs of the same tasks have the same cases. The
task is in the name of the file; one file that is called otherwise is of one task without a name.
Its classes are the choices: by their texts where all questions of the task have the same ones, else by their places
from 0. The outcome is the target, which is believed only where it agrees with what the harness counted as correct.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.conditions import RecordConditions
from toplist.io.producers.base import ProducedReader, Producer, Request, Row
from toplist.io.producers.harness import HARD, Cases, NoListsError, hard_label, known_of, letters, others, require_files
from toplist.io.producers.likelihoods import MEANINGS
from toplist.io.producers.lm_eval_samples import NAME, HarnessSample, Samples

if TYPE_CHECKING:
    from pathlib import Path

    from toplist.io.options import Norm

_HASH = 16  # digits of the hash of a document in a case id
# What the harness counts as correct, and the distribution whose most probable choice it looks at.
_COUNTED: dict[str, Norm] = {
    "acc": "none",
    "acc_mutual_info": "unconditional",
    "acc_norm": "chars",
    "acc_bytes": "bytes",
}
_LETTER = re.compile(r"\s*\(?([A-Z])\)?\s*")
_NUMBER = re.compile(r"\s*\d+\s*")


def _open(request: Request) -> ProducedReader:
    samples, cases = Samples(RecordConditions(request.options.where, request.name)), Cases(request)
    files = _of_one_model(request, require_files(request))
    for path in files:
        samples.add(path, alone=len(files) == 1)
    samples.conditions.require_met()
    cases.beside += samples.results
    for name, every in samples.tasks.items():
        try:
            task = _Task.of(name, every, request.options.norm)
            cases.rows += [(one.source, row) for one, row in zip(task.samples, task.rows, strict=True)]
            cases.notes += task.notes
        except NoListsError as error:
            cases.left_out[name] = str(error)
    kept = sum(map(len, samples.tasks.values())) + samples.repeated
    if kept < samples.total:
        cases.notes.append(f"{kept:,} of {samples.total:,} records fulfil {samples.conditions}.")
    if samples.repeated:
        cases.notes.append(f"{samples.repeated:,} records repeat others word for word, and count once.")
    nothing = f"none of {samples.total:,} records fulfils {samples.conditions}." if samples.total else ""
    return cases.reader(nothing or "there is no record here.")


def _of_one_model(request: Request, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files with samples; an error where they are in folders of several models."""
    files = tuple(path for path in paths if NAME.fullmatch(path.name)) or paths
    folders = {path.parent.name: path.parent for path in files}
    if len(folders) > 1:
        raise FileError(
            request.name,
            f"these are the samples of {len(folders)} models: {listed(list(folders))}. Name the folder of one of them, "
            f"such as {next(iter(folders.values()))}.",
        )
    return files


@dataclass
class _Task:
    """The samples of a task as cases."""

    name: str
    samples: Sequence[HarnessSample]
    norm: Norm
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, samples: Sequence[HarnessSample], norm: Norm) -> _Task:
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
            task._say(f"{others:,} records of other filters than 'none' are left out.")
        return task

    @cached_property
    def rows(self) -> list[Row]:
        """One list for each sample."""
        if all(one.size for one in self.samples):
            return self._with_probabilities()
        odd = next(one for one in self.samples if not one.size)
        if any(one.size for one in self.samples):
            raise FileError(odd.source, "this record has no log-likelihoods, others of its task have.", row=odd.row)
        return self._with_letters()

    def _say(self, text: str) -> None:
        self.notes.append(f"task {quote(self.name)}: {text}" if self.name else text)

    @cached_property
    def _ids(self) -> list[str]:
        """A case by its document; a document that is there again has a number, too."""
        met: Counter[str] = Counter()
        found = []
        for one in self.samples:
            met[one.document] += 1
            again = f"/{met[one.document]}" if met[one.document] > 1 else ""
            found.append(f"{self.name}/{one.document[:_HASH]}{again}".removeprefix("/"))
        return found

    # Choices with log-likelihoods

    def _with_probabilities(self) -> list[Row]:
        if min(one.size for one in self.samples) < 2:
            raise NoListsError(
                "a question has the log-likelihood of one text, so there is nothing to choose from (output_type is "
                "loglikelihood, not multiple_choice)."
            )
        outcomes, names = self._outcomes(), self._names()
        self.notes.append(f"probabilities are {MEANINGS[self.norm]} ({argument('norm', self.norm)}).")
        made, tied, lost = [], 0, 0
        for case, sample, outcome in zip(self._ids, self.samples, outcomes, strict=True):
            p = sample.probabilities(self.norm)
            classes = names or [str(place) for place in range(len(p))]
            known = known_of(classes[outcome], len(p), task=self.name, unit=sample.document)
            made.append(Row(case, classes, p.tolist(), known))
            tied += int((p == p.max()).sum() > 1)
            lost += bool(((p == 0) & np.isfinite(sample.choices.loglikelihoods)).any())
        if tied:
            self._say(
                f"in {tied:,} question{'s' * (tied > 1)} the most probable choices tie. Accuracy shares the credit "
                "between them; the harness counts the first."
            )
        if lost:
            self._say(
                f"in {lost:,} question{'s' * (lost > 1)} a choice is so improbable that its probability is 0 in double "
                "precision."
            )
        self._compare_counts(outcomes)
        return made

    def _names(self) -> list[str] | None:
        """The texts of the choices, where all questions have the same ones."""
        every = {tuple(text.strip() for text in one.choices.texts or ()) for one in self.samples}
        texts = next(iter(every))
        shared = len(every) == 1 and len({one.document for one in self.samples}) > 1
        return list(texts) if shared and all(texts) and len(set(texts)) == len(texts) else None

    def _outcomes(self) -> list[int]:
        """The places of the correct choices."""
        if any(one.by_context for one in self.samples):
            return [_by_count(one) for one in self.samples]
        readings = [found for found in map(self._read, (_by_place, _by_text)) if found]
        if not readings:
            odd = max(self.samples, key=lambda one: (_by_place(one) is None) + (_by_text(one) is None))
            several = len(_targets(odd.target)) > 1
            raise NoListsError(
                f"row {odd.row:,} has the target {quote(odd.target)}: "
                + ("several choices are correct." if several else "neither the place nor the text of a choice.")
            )
        fitting = [one for one in readings if not self._contradiction(one)]
        if not fitting:
            raise NoListsError(f"{self._contradiction(readings[0])}.")
        if fitting[0] != fitting[-1]:
            raise NoListsError("targets are numbers that may be the places or the texts of choices.")
        return fitting[0]

    def _read(self, reading: Callable[[HarnessSample], int | None]) -> list[int]:
        found = [place for place in map(reading, self.samples) if place is not None]
        return found if len(found) == len(self.samples) else []

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
        metric = next((name for name, norm in _COUNTED.items() if norm == self.norm), "")
        pairs = zip(self.samples, outcomes, strict=True)
        counted = [(one.counted.get(metric), one.best(self.norm) == outcome) for one, outcome in pairs]
        other = sum(hit in (0, 1) and hit != mine for hit, mine in counted)
        if other:
            self._say(
                f"{metric} of {other:,} records is another than {argument('norm', self.norm)} gives: the harness took "
                "another length of the choices."
            )

    # Generated answers

    def _with_letters(self) -> list[Row]:
        """Hard labels, where the documents say from how many options a letter was chosen."""
        if not all(isinstance(one.answer, str) for one in self.samples):
            raise NoListsError("the records are neither log-likelihoods of choices nor one generated answer each.")
        targets = [_letter(one.target, one.options) for one in self.samples]
        if not all(targets):
            raise NoListsError(
                "the answers are generated text, and the documents do not say from which answers they were chosen "
                "(no list of choices with a letter as the target): there is nothing to spread probability over."
            )
        self._say(HARD)
        answers = [_letter(one.answer, one.options) for one in self.samples]
        rows = [
            Row(
                case,
                *hard_label(answer, letters(one.options)),
                known_of(target, one.options + 1, task=self.name, unit=one.document),
            )
            for case, one, answer, target in zip(self._ids, self.samples, answers, targets, strict=True)
        ]
        self.notes += others(self.name, rows)
        return rows


def _targets(value: Any) -> list[str]:
    """What is correct: one value, or several that were written as a list."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
    return list(dict.fromkeys(str(one).strip() for one in value)) if isinstance(value, list) else [str(value).strip()]


def _by_place(sample: HarnessSample) -> int | None:
    """The place that the target is, if it is one."""
    targets = _targets(sample.target)
    place = int(targets[0]) if len(targets) == 1 and _NUMBER.fullmatch(targets[0]) else -1
    return place if 0 <= place < sample.size else None


def _by_text(sample: HarnessSample) -> int | None:
    """The place of the choice whose text is the target, if there is one."""
    targets = _targets(sample.target)
    found = [at for at, text in enumerate(sample.choices.texts or ()) if [text.strip()] == targets]
    return found[0] if len(found) == 1 else None


def _by_count(sample: HarnessSample) -> int:
    """The correct choice where only the contexts differ: what the harness counted tells, if it tells."""
    hit, best = sample.counted.get("acc"), sample.best("none")
    if hit in (0, 1) and (hit or sample.size == 2):
        return best if hit else 1 - best
    raise NoListsError(
        "the choices are in the contexts, and the records do not say which of them is correct where the most probable "
        "one is not."
    )


def _letter(value: Any, options: int) -> str:
    """A letter of one of the options, in parentheses or not; or nothing."""
    found = _LETTER.fullmatch(str(value))
    return found[1] if found and found[1] in letters(options) else ""


PRODUCER = Producer(open=_open, options=("norm", "where"))
