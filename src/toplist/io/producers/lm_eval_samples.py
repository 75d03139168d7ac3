"""Records of lm-evaluation-harness: what each version writes, as one form; records that are there twice."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._text import argument, quote
from toplist.errors import FileError, TopListError
from toplist.io.producers.base import at_path
from toplist.io.producers.harness import NoListsError
from toplist.io.producers.json_records import records
from toplist.io.producers.likelihoods import NormError, ScoredChoices
from toplist.io.readers.json_lines import json_value

if TYPE_CHECKING:
    from toplist.io.conditions import RecordConditions
    from toplist.io.options import Norm

NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl(?:\.gz|\.zst)?", re.IGNORECASE)
KEYS = ("doc_id", "arguments", "filtered_resps")
_OPTIONS = ("choices", "options", "choices.text")  # fields of a document that may hold the texts of lettered answers
_BLANK = re.compile(r" |\n+")
_NO_CHOICES = ScoredChoices(())


@dataclass(frozen=True, slots=True)
class HarnessSample:
    """One record: the choices and their log-likelihoods, or a generated answer, and what the harness counted."""

    source: str
    row: int
    document: str  # its hash, or its number where there is none
    number: str
    filter: str
    target: Any
    counted: Mapping[str, Any]  # metrics
    choices: ScoredChoices = _NO_CHOICES
    by_context: bool = False  # whether the contexts differ between choices, and the continuation does not
    answer: Any = None  # generated
    options: int = 0  # lettered options of the document

    @property
    def content(self) -> tuple[Any, ...]:
        """What two records of one document have in common if one of them repeats the other."""
        return self.target, self.counted, self.choices, self.answer

    @property
    def size(self) -> int:
        """How many choices have a log-likelihood."""
        return len(self.choices.loglikelihoods)

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
            raise NoListsError(str(error)) from None
        except TopListError as error:
            raise FileError(self.source, str(error), row=self.row) from None


@dataclass(slots=True)
class Samples:
    """The records of some files by their tasks; those that do not fulfil the conditions, or repeat others, counted."""

    conditions: RecordConditions
    tasks: dict[str, list[HarnessSample]] = field(default_factory=lambda: defaultdict(list))
    total: int = 0
    repeated: int = 0
    results: dict[Path, None] = field(default_factory=dict)  # files that say how tasks are configured
    _seen: dict[tuple[str, ...], HarnessSample] = field(default_factory=dict)

    def add(self, path: Path, *, alone: bool = False) -> None:
        """The records of one file; one that is alone and not called as the harness does may be called after a model."""
        name = NAME.fullmatch(path.name)
        task = name["task"] if name else "" if alone else path.name.partition(".")[0]
        results = path.parent / f"results_{name['date']}.json" if name else path
        delimiter = _configured_delimiter(results, task) if results.is_file() and name else None
        self.results |= {results: None} if delimiter is not None else {}
        for row, record in records(path):
            self.total += 1
            said = record.get("task")
            own = task if name or not isinstance(said, str) else said
            if self.conditions.hold({"task": own, **record}):
                self._keep(own, _sample(record, str(path), row, delimiter))

    def _keep(self, task: str, sample: HarnessSample) -> None:
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


def _configured_delimiter(results: Path, task: str) -> str | None:
    """What stands before each choice, as the results of the run say; None where they do not."""
    try:
        return str(json_value(results.read_bytes())["configs"][task]["target_delimiter"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _sample(record: Mapping[str, Any], source: str, row: int, delimiter: str | None) -> HarnessSample:
    """What a record says; an error where it is none of the harness."""
    lacks = next((key for key in KEYS if record.get(key) is None), None)
    if lacks is not None:
        raise FileError(source, f"this record of lm-evaluation-harness has no {quote(lacks)}.", row=row)
    names, document = record.get("metrics"), record.get("doc")
    about = HarnessSample(
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
        raise FileError(
            source, "'arguments' and 'filtered_resps' are not as lm-evaluation-harness writes them.", row=row
        )
    if not answers or not all(map(_is_pair, answers)):
        return replace(about, answer=answers[0] if len(answers) == 1 else answers, options=_options(document))
    try:
        values = tuple(float(one[0]) for one in answers)
    except (TypeError, ValueError):
        raise FileError(source, "a log-likelihood in 'filtered_resps' is no number.", row=row) from None
    if len(arguments) != len(values) or not all(len(one) >= 2 for one in arguments):
        pairs = f"{len(arguments)} pairs of a context and a continuation"
        raise FileError(source, f"{len(values)} log-likelihoods, but {pairs}.", row=row)
    return _scored(about, values, [one[0] for one in arguments], [str(one[1]) for one in arguments], delimiter)


def _scored(
    about: HarnessSample,
    values: tuple[float, ...],
    contexts: list[Any],
    continuations: list[str],
    delimiter: str | None,
) -> HarnessSample:
    """The choices: of mutual information, the second half are the same ones without the question."""
    half, unconditional = len(values) // 2, None
    before = _before_same(continuations[:half], continuations[half:])
    if before is not None and _without_question(contexts[:half], contexts[half:]):
        values, unconditional = values[:half], values[half:]
        contexts, continuations = contexts[:half], continuations[:half]
        delimiter = before or delimiter
    by_context = len(set(continuations)) == 1 and len(set(map(str, contexts))) > 1
    texts = None if by_context else _without_delimiter(continuations, delimiter)
    return replace(about, choices=ScoredChoices(values, texts, None, unconditional), by_context=by_context)


def _before_same(first: Sequence[str], second: Sequence[str]) -> str | None:
    """What precedes each of the second texts to make the first ones: nothing, a delimiter, or None if neither does.

    Some versions of the harness ask for the choices alone, others for the delimiter and the choices.
    """
    if not first or len(first) != len(second) or not first[0].endswith(second[0]):
        return None
    before = first[0].removesuffix(second[0]) if second[0] else first[0]
    return before if all(a == before + b for a, b in zip(first, second, strict=True)) else None


def _without_question(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether contexts are empty or, as a task may set it, one and the same text in place of one question."""
    one_each = len(second) > 1 and len(set(map(str, first))) == 1 == len(set(map(str, second)))
    return not any(second) or (one_each and first[0] != second[0])


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
    """How many lettered options a document has; 0 where it has none, or it is not clear where."""
    found = [one for one in (at_path(document, name) for name in _OPTIONS) if isinstance(one, list)]
    return len(found[0]) if len(found) == 1 and 2 <= len(found[0]) <= 26 else 0
