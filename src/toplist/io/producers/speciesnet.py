"""SpeciesNet: the five most likely classes of each picture, from the classifier.

The `prediction` of the ensemble is not used: it is one class, often a higher taxon. Classes are texts such as
"uuid;mammalia;carnivora;canidae;vulpes;vulpes;red fox", or the parts of them that the caller asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.entries import Record, counted, documents_of, matched, reader_of
from toplist.io.readers.base import FirstLook

_FAILED = "CLASSIFIER"  # among the failures, where the classifier gave nothing
_PARTS: dict[str, Callable[[list[str]], str]] = {
    "uuid": lambda parts: parts[0],
    "common_name": lambda parts: parts[-1],
    "scientific_name": lambda parts: " ".join(parts[4:6]).strip() or next(filter(None, parts[3:0:-1]), parts[-1]),
}


def _open(request: Request) -> ProducedReader:
    asked = request.options.class_column
    if asked is not None and asked not in _PARTS:
        ways = " or ".join(argument("class_column", name) for name in _PARTS)
        raise FileError(request.name, f"classes are whole texts or parts of them: {ways}, not {quote(asked)}.")
    records = [
        one for document in documents_of(request) for one in document.items(document.at("predictions"), "predictions")
    ]
    rows = list(_rows(records, asked))
    notes = [
        "lists are those of the classifier: the prediction of the ensemble, which may be a higher taxon, is not used",
        *counted(len(records) - len(rows), "picture", "without a list, because the classifier failed: missing cases"),
    ]
    return reader_of(request, rows, notes)


def _rows(records: list[Record], asked: str | None) -> Iterator[tuple[Record, Row]]:
    for record in records:
        case = record.text(record.at("filepath"), "filepath")
        lists = record.at("classifications")
        if lists is None:
            failures = record.at("failures")
            if not isinstance(failures, list) or _FAILED not in failures:
                raise record.error(f"{quote(case)} has neither classifications nor a failure of the classifier.")
            continue
        classes, scores = at_path(lists, "classes"), at_path(lists, "scores")
        if not isinstance(classes, list) or not isinstance(scores, list) or len(classes) != len(scores):
            raise record.error(f"the classifications of {quote(case)} are not as many classes as scores.")
        named, values = record.entries(zip(classes, scores, strict=True))
        yield record, Row(case, [_named(record, name, asked) for name in named], values)


def _named(record: Record, name: str, asked: str | None) -> str:
    if asked is None:
        return name
    parts = name.split(";")
    if len(parts) != 7:
        raise record.error(f"the class {quote(name)} does not have seven parts.")
    return _PARTS[asked](parts)


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files whose pictures have what only SpeciesNet writes."""
    return matched(match, lambda path: _seen(at_path(look.first(path), "predictions.0")))


def _seen(picture: Any) -> str:
    if not isinstance(picture, Mapping):
        return ""
    own = "classifications" in picture or {"failures", "model_version"} <= picture.keys()
    return f"its predictions have {', '.join(list(picture)[:3])}" if own else ""


PRODUCER = Producer(_open, _match, options=("class_column",))
