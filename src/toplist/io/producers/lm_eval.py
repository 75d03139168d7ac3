"""lm-evaluation-harness: `samples_{task}_{date}.jsonl`, one record per document and filter.

A case is a document of a task, by the hash of the document, so that two runs of the same tasks have the same cases. The
task is in the name of the file; one file that is called otherwise is of one task without a name.
Its classes are the choices: by their texts where all questions of the task have the same ones, else by their places
from 0. The outcome is the target, which is believed only where it agrees with what the harness counted as correct.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._text import argument, quote
from toplist.io.producers.cases import HARD, Cases, NoListsError, about, add_answer, disagreement, letters, reading
from toplist.io.producers.likelihoods import MEANINGS, ScoredChoices
from toplist.io.producers.records import Record, mappings, records_in
from toplist.io.readers.json_lines import json_value

if TYPE_CHECKING:
    from toplist.io.options import Norm

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl(?:\.gz|\.zst)?", re.IGNORECASE)
_KEYS = ("doc_id", "arguments", "filtered_resps")
_OPTIONS = ("choices", "options", "choices.text")  # fields of a document that may hold the texts of lettered answers
_HASH = 16  # digits of the hash of a document in a case id
# What the harness counts as correct, and the distribution whose most probable choice it looks at.
_COUNTED: dict[str, Norm] = {
    "acc": "none",
    "acc_mutual_info": "unconditional",
    "acc_norm": "chars",
    "acc_bytes": "bytes",
}
_TIED = "whose most probable choices tie: accuracy shares the credit between them, and the harness counts the first"
_LOST = "with a choice that is so improbable that its probability is 0 in double precision"
_OTHER_LENGTH = ": the harness took another length of the choices"
_BLANK = re.compile(r" |\n+")
_LETTER = re.compile(r"\s*\(?([A-Z])\)?\s*")
_NUMBER = re.compile(r"\s*\d+\s*")


# Records


@dataclass(frozen=True, slots=True)
class _Sample:
    """One record: the choices and their log-likelihoods, or a generated answer, and what the harness counted."""

    record: Record = field(compare=False)  # nothing but its place: the document and the contexts are long
    filter: str
    document: str  # its hash, or its number where there is none
    targets: Sequence[str]  # what is correct
    counted: Mapping[str, Any]  # by the names of metrics
    options: int  # lettered options of the document; 0 where it has none, or it is not clear where
    choices: ScoredChoices  # none where the answer is generated; their texts are not known where contexts differ
    answer: Any  # generated

    @classmethod
    def of(cls, record: Record, delimiter: str | None) -> _Sample:
        """What each version of the harness writes, as one form; an error where it is none of the harness."""
        lacks = next((key for key in _KEYS if record.value.get(key) is None), None)
        if lacks is not None:
            raise record.error(f"this record of lm-evaluation-harness has no {quote(lacks)}.")
        answers, arguments = record.value["filtered_resps"], _arguments(record.value["arguments"])
        if not isinstance(answers, list) or arguments is None:
            raise record.error("'arguments' and 'filtered_resps' are not as lm-evaluation-harness writes them.")
        scored = bool(answers) and all(map(_is_pair, answers))
        metrics = record.value.get("metrics")
        lists = [texts for name in _OPTIONS if isinstance(texts := record.at(f"doc.{name}"), list)]
        return cls(
            record=replace(record, value=None),
            filter=str(record.value.get("filter", "none")),
            document=str(record.value.get("doc_hash") or record.value["doc_id"]),
            targets=_targets(record.value.get("target")),
            counted={name: record.value.get(name) for name in map(str, metrics if isinstance(metrics, list) else ())},
            options=len(lists[0]) if len(lists) == 1 and 2 <= len(lists[0]) <= 26 else 0,
            choices=_choices(record, answers, arguments, delimiter) if scored else ScoredChoices(()),
            answer=None if scored else answers[0] if len(answers) == 1 else answers,
        )

    @property
    def size(self) -> int:
        """How many choices have a log-likelihood."""
        return len(self.choices.loglikelihoods)


def _targets(value: Any) -> list[str]:
    """One value, or several that were written as a list."""
    if isinstance(value, str) and value.strip().startswith("["):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(value.strip())
    return list(dict.fromkeys(str(target).strip() for target in (value if isinstance(value, list) else [value])))


def _choices(record: Record, answers: list[Any], arguments: list[list[Any]], delimiter: str | None) -> ScoredChoices:
    """The choices, whose second half may be the first one again, without the question."""
    try:
        values = [float(answer[0]) for answer in answers]
    except (TypeError, ValueError):
        raise record.error("a log-likelihood in 'filtered_resps' is no number.") from None
    if len(arguments) != len(values) or not all(len(pair) >= 2 for pair in arguments):
        pairs = f"{len(arguments)} pairs of a context and a continuation"
        raise record.error(f"{len(values)} log-likelihoods, but {pairs}.")
    contexts, texts = [str(pair[0] or "") for pair in arguments], [str(pair[1]) for pair in arguments]
    half, unconditional = len(values) // 2, None
    before = texts[0][: len(texts[0]) - len(texts[half])]  # some versions repeat the delimiter with the choices
    again = texts[:half] == [before + text for text in texts[half:]]
    if half and again and _without_question(contexts[:half], contexts[half:]):
        values, unconditional = values[:half], values[half:]
        contexts, texts, delimiter = contexts[:half], texts[:half], before or delimiter
    by_context = len(set(texts)) == 1 and len(set(contexts)) > 1
    known = None if by_context else _without_delimiter(texts, delimiter)
    return ScoredChoices(values, known, None, unconditional, replace(record, value=None).error)  # its place is enough


def _arguments(value: Any) -> list[list[Any]] | None:
    """Contexts and continuations: a list of lists or, in later versions, `{"gen_args_0": {"arg_0": ...}}`."""
    if isinstance(value, Mapping):
        value = [value.get(f"gen_args_{at}") for at in range(len(value))]
    if not isinstance(value, list):
        return None
    pairs = [[of.get(f"arg_{at}") for at in range(len(of))] if isinstance(of, Mapping) else of for of in value]
    return pairs if all(isinstance(pair, list) for pair in pairs) else None


def _is_pair(value: Any) -> bool:
    """Whether this is a log-likelihood with whether the text is what greedy decoding gives."""
    return isinstance(value, list) and len(value) == 2 and str(value[1]) in ("True", "False")


def _without_question(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether contexts are empty or, as a task may set it, one and the same text in place of one question."""
    one_each = len(second) > 1 and len(set(first)) == 1 == len(set(second))
    return not any(second) or (one_each and first[0] != second[0])


def _without_delimiter(texts: Sequence[str], delimiter: str | None) -> tuple[str, ...]:
    """The choices themselves: without the one blank, or what the task has in its place, that precedes all of them."""
    if delimiter is None:
        blank = _BLANK.match(texts[0])
        delimiter = blank[0] if blank else ""
    same = all(text.startswith(delimiter) for text in texts)
    return tuple(text.removeprefix(delimiter) if same else text for text in texts)


# Files


def _read(cases: Cases) -> None:
    tasks: dict[str, dict[tuple[str, ...], _Sample]] = defaultdict(dict)
    files = tuple(path for path in cases.request.paths if _NAME.fullmatch(path.name)) or cases.request.paths
    cases.require_one("models", [path.parent.name for path in files])
    for path in files:
        name = _NAME.fullmatch(path.name)
        alone = "" if len(cases.request.paths) == 1 else path.name.partition(".")[0]
        of_file = name["task"] if name else alone
        delimiter = _delimiter_of(path.with_name(f"results_{name['date']}.json"), of_file) if name else None
        for record in mappings(records_in(path)):
            said = record.value.get("task")
            task = of_file if name or not isinstance(said, str) else said
            if cases.conditions.keep({"task": task, **record.value}):
                sample = _Sample.of(record, delimiter)
                key = (sample.filter, sample.document, str(record.value["doc_id"]))
                first = tasks[task].setdefault(key, sample)
                if first != sample:
                    raise record.error(
                        f"this is the document of {first.record.place} in {first.record.source}, with another answer: "
                        "these are two runs of a task. Name the file of one, or choose its rows with "
                        f"{argument('where', 'FIELD=VALUE')}."
                    )
                cases.count("record", "repeated word for word: counted once", first is not sample)
    for task, samples in tasks.items():
        with cases.task(task):
            _add_task(cases, list(samples.values()))


def _delimiter_of(results: Path, task: str) -> str | None:
    """What stands before each choice, as the results of the run say; None where they do not."""
    try:
        return str(json_value(results.read_bytes())["configs"][task]["target_delimiter"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


# Tasks


def _add_task(cases: Cases, samples: list[_Sample]) -> None:
    """The cases of the filter "none", or of the only one: a document is there once for each filter."""
    filters = Counter(sample.filter for sample in samples)
    chosen = "none" if "none" in filters else next(iter(filters))
    of_filter = [sample for sample in samples if sample.filter == chosen]
    if any(sample.size for sample in of_filter):
        _add_probabilities(cases, of_filter)
    else:
        _add_letters(cases, of_filter)
    if chosen != "none":  # which is worth refusing only of a task that has lists
        cases.require_one("filters of each document", filters, "filter")
    elif len(filters) > 1:
        cases.say(f"{len(samples) - len(of_filter):,} records of other filters than 'none' are left out")


def _add_probabilities(cases: Cases, samples: list[_Sample]) -> None:
    odd = next((sample for sample in samples if not sample.size), None)
    if odd is not None:
        raise odd.record.error("this record has no log-likelihoods, others of its task have.")
    if min(sample.size for sample in samples) < 2:
        raise NoListsError(
            "a question has the log-likelihood of one text, so there is nothing to choose from (output_type is "
            "loglikelihood, not multiple_choice)."
        )
    norm = cases.request.options.norm
    metric = next((name for name, counted in _COUNTED.items() if counted == norm), "")
    outcomes, names = _outcomes(samples), _names(samples)
    cases.notes.append(f"probabilities are {MEANINGS[norm]} ({argument('norm', norm)})")
    for sample, outcome in zip(samples, outcomes, strict=True):
        case, p = cases.numbered(sample.document[:_HASH]), sample.choices.probabilities(norm)
        classes = names or [str(place) for place in range(len(p))]
        cases.add(sample.record, case, classes, p.tolist(), **about(classes[outcome], len(p), sample.document))
        tied, lost = (p == p.max()).sum() > 1, ((p == 0) & np.isfinite(sample.choices.loglikelihoods)).any()
        hit = sample.counted.get(metric)
        other = hit in (0, 1) and hit != (sample.choices.best(norm) == outcome)
        cases.count("question", _TIED, int(tied))
        cases.count("question", _LOST, int(lost))
        cases.count("record", f"with another {metric} than {argument('norm', norm)} gives{_OTHER_LENGTH}", other)


def _names(samples: Sequence[_Sample]) -> list[str] | None:
    """The texts of the choices, where all questions have the same ones."""
    every = {tuple(text.strip() for text in sample.choices.texts or ()) for sample in samples}
    texts = next(iter(every))
    shared = len(every) == 1 and len({sample.document for sample in samples}) > 1
    return list(texts) if shared and all(texts) and len(set(texts)) == len(texts) else None


def _outcomes(samples: Sequence[_Sample]) -> list[int]:
    """The places of the correct choices."""
    if any(sample.choices.texts is None for sample in samples):
        return [_by_count(sample) for sample in samples]
    readings = [[by(sample) for sample in samples] for by in (_by_place, _by_text)]
    whole = [[place for place in reading if place is not None] for reading in readings if None not in reading]
    if not whole:
        odd = max(samples, key=lambda sample: (_by_place(sample) is None) + (_by_text(sample) is None))
        target = quote(", ".join(odd.targets))
        raise NoListsError(f"{odd.record.place} has the target {target}, not the place or the text of one choice.")
    fitting = [reading for reading in whole if not _contradiction(samples, reading)]
    if not fitting:
        raise NoListsError(f"{_contradiction(samples, whole[0])}.")
    if fitting[0] != fitting[-1]:
        raise NoListsError("targets are numbers that may be the places or the texts of choices.")
    return fitting[0]


def _by_place(sample: _Sample) -> int | None:
    """The place that the target is, if it is one."""
    targets = sample.targets
    place = int(targets[0]) if len(targets) == 1 and _NUMBER.fullmatch(targets[0]) else -1
    return place if 0 <= place < sample.size else None


def _by_text(sample: _Sample) -> int | None:
    """The place of the choice whose text is the target, if there is one."""
    places = [at for at, text in enumerate(sample.choices.texts or ()) if [text.strip()] == sample.targets]
    return places[0] if len(places) == 1 else None


def _by_count(sample: _Sample) -> int:
    """The correct choice where only the contexts differ: what the harness counted tells, if it tells."""
    hit, best = sample.counted.get("acc"), sample.choices.best("none")
    if hit in (0, 1) and (hit or sample.size == 2):
        return best if hit else 1 - best
    raise NoListsError(
        "the choices are in the contexts, and the records do not say which of them is correct where the most probable "
        "one is not."
    )


def _contradiction(samples: Sequence[_Sample], outcomes: Sequence[int]) -> str:
    """Where the harness counted otherwise than these outcomes say; or nothing."""
    metric = next((name for name in _COUNTED if name in samples[0].counted), "")
    for sample, outcome in zip(samples, outcomes, strict=True) if metric else ():
        hit, counted = sample.counted.get(metric), f"{metric} of {sample.record.place}"
        if hit not in (0, 1):
            return f"{counted} is {quote(hit)}, neither a hit (1) nor a miss (0)"
        if why := disagreement(counted, hit, str(sample.choices.best(_COUNTED[metric])), str(outcome)):
            return why
    return ""


def _add_letters(cases: Cases, samples: Sequence[_Sample]) -> None:
    """Hard labels, where the documents say from how many options a letter was chosen."""
    if not all(isinstance(sample.answer, str) for sample in samples):
        raise NoListsError("the records are neither log-likelihoods of choices nor one generated answer each.")
    targets = [_letter(", ".join(sample.targets), sample.options) for sample in samples]
    if not all(targets):
        raise NoListsError(
            "the answers are generated text, and the documents do not say from which answers they were chosen "
            "(no list of choices with a letter as the target): there is nothing to spread probability over."
        )
    cases.say(HARD)
    for sample, target in zip(samples, targets, strict=True):
        case = cases.numbered(sample.document[:_HASH])
        answer, options = _letter(sample.answer, sample.options), letters(sample.options)
        add_answer(cases, sample.record, case, answer, options, target, sample.document)


def _letter(value: Any, options: int) -> str:
    """A letter of one of the options, in parentheses or not; or nothing."""
    letter = _LETTER.fullmatch(str(value))
    return letter[1] if letter and letter[1] in letters(options) else ""


PRODUCER = reading(_read, options=("norm", "where"), files_only=True)
