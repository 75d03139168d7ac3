"""Classification services: responses of Rekognition and Comprehend, Vertex AI and Azure AI Language, as JSON.

A file holds one response, or one per line; several cases of one response (documents of Azure, predictions of a Vertex
endpoint) are cases of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toplist._text import quote
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.entries import Record, documents_of, matched, reader_of
from toplist.io.readers.base import FirstLook
from toplist.lists.pipelines import PER_LABEL, Remedy

_NOT_EXCLUSIVE = (
    "warning: labels of Rekognition are not exclusive, because a picture may show several things, and its confidences "
    "are not said to be probabilities"
)
_REKOGNITION = Remedy(marginals=f"Labels of Rekognition are not exclusive, and their confidences {PER_LABEL}")
_OTHERS = Remedy(marginals=f"Confidences of a multi-label project {PER_LABEL}")


def _open(request: Request) -> ProducedReader:
    notes: set[str] = set()
    rows = [row for record in documents_of(request) for row in _rows(record, request, notes)]
    return reader_of(request, rows, sorted(notes))


def _rows(record: Record, request: Request, notes: set[str]) -> Iterator[tuple[Record, Row]]:
    case = record.response_id()
    if at_path(record.at("Labels"), "0.Score") is not None:
        raise record.error(f"this is of a multi-label classifier. Its scores {PER_LABEL}")
    if isinstance(record.at("Labels"), list) or isinstance(record.at("CustomLabels"), list):
        custom = record.at("CustomLabels") is not None
        pairs = _pairs(record, record.at("CustomLabels" if custom else "Labels"), "Name", "Confidence")
        notes.add(_NOT_EXCLUSIVE)
        yield record, _row(record, request, case, pairs, _REKOGNITION, percent=True)
    elif record.at("Classes") is not None:
        case = f"{record.at('File')}#{record.at('Line')}" if record.at("File") is not None else case
        yield record, _row(record, request, case, _pairs(record, record.at("Classes"), "Name", "Score"))
    elif isinstance(scores := record.at("SentimentScore"), Mapping):
        yield record, _row(record, request, case, list(scores.items()))
    elif record.at("prediction") is not None:
        own = record.at("instance.content") or record.at("instance.key") or case
        yield record, _row(record, request, str(own), _side_by_side(record, record.at("prediction")))
    elif isinstance(record.at("predictions"), list):
        for number, one in enumerate(record.value["predictions"]):
            several = f"{case}#{number}" if len(record.value["predictions"]) > 1 else case
            yield record, _row(record, request, several, _side_by_side(record, one))
    else:
        for document in _documents(record):
            own = document.text(document.at("id"), "the id of a document")
            pairs = _pairs(document, document.at("class"), "category", "confidenceScore")
            yield document, _row(document, request, own, pairs)


def _row(
    record: Record, request: Request, case: str, pairs: Any, remedy: Remedy = _OTHERS, *, percent: bool = False
) -> Row:
    classes, values = record.entries(pairs, percent=percent)
    if not request.options.normalize:
        record.require_probabilities(classes, values, remedy)
    return Row(case, classes, values)


def _pairs(record: Record, entries: Any, label: str, score: str) -> list[tuple[Any, Any]]:
    return [(one.at(label), one.at(score)) for one in record.items(entries, "the list of classes")]


def _side_by_side(record: Record, one: Any) -> list[tuple[Any, Any]]:
    """Vertex AI: names, or ids where names are not unique, beside confidences; or classes beside scores."""
    ids, names = at_path(one, "ids"), at_path(one, "displayNames") or at_path(one, "classes")
    scores = at_path(one, "confidences") or at_path(one, "scores")
    if isinstance(names, list) and isinstance(ids, list) and len(set(map(str, names))) < len(names):
        names = ids
    if not isinstance(names, list) or not isinstance(scores, list) or len(names) != len(scores):
        raise record.error(f"this has not as many classes as confidences: {quote(one)}.")
    return list(zip(names, scores, strict=True))


def _documents(record: Record) -> Iterator[Record]:
    """Azure AI Language: the documents of one result, or of each task."""
    tasks = record.at("tasks.items")
    results = [at_path(task, "results") for task in tasks] if isinstance(tasks, list) else [record.at("results")]
    for result in results:
        documents = at_path(result, "documents")
        if documents is None:
            raise record.error("this is no response of Rekognition, Comprehend, Vertex AI or Azure AI Language.")
        yield from record.items(documents, "documents")


# What only the responses of a service have.
_SERVICES = {
    "Rekognition": ("Labels.0.Confidence", "CustomLabels.0.Confidence"),
    "Comprehend": ("Classes.0.Score", "Labels.0.Score", "SentimentScore.Positive"),
    "Vertex AI": ("prediction.displayNames", "predictions.0.displayNames"),
    "Azure AI Language": (
        "results.documents.0.class.0.confidenceScore",
        "tasks.items.0.results.documents.0.class.0.confidenceScore",
    ),
}


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files of one service."""
    return matched(match, lambda path: _seen(look.first(path)))


def _seen(first: Any) -> str:
    for service, keys in _SERVICES.items():
        key = next((key for key in keys if at_path(first, key) is not None), None)
        if key is not None:
            return f"it has {key}, as responses of {service} have"
    return ""


PRODUCER = Producer(_open, _match)
