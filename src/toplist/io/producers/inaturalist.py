"""iNaturalist's computer vision: suggestions with a vision_score and a combined_score, both in percent.

Its own documentation says that none of the scores are probabilities. vision_score is read as what comes nearest, with
a warning; combined_score, which weighs in where and when other observations were made, only on request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.entries import Record, documents_of, matched, reader_of
from toplist.io.readers.base import FirstLook

_VISION, _COMBINED = "vision_score", "combined_score"
_CLASSES = ("taxon.name", "taxon.id")


def _open(request: Request) -> ProducedReader:
    score = request.options.confidence or _VISION
    if score not in (_VISION, _COMBINED):
        raise FileError(request.name, f"{argument('confidence', score)}: scores are {_VISION} and {_COMBINED}.")
    label = request.options.class_column or _CLASSES[0]
    if label not in _CLASSES:
        ways = " or ".join(argument("class_column", name) for name in _CLASSES)
        raise FileError(request.name, f"the class of a suggestion is {ways}, not {quote(label)}.")
    note = f"warning: {score} is in percent, but iNaturalist says that none of its scores are probabilities"
    return reader_of(request, _rows(request, score, label), [note])


def _rows(request: Request, score: str, label: str) -> Iterator[tuple[Record, Row]]:
    for record in documents_of(request):
        pairs = []
        for one in record.items(record.at("results"), "results"):
            if one.at(score) is None:
                raise record.error(
                    f"a suggestion has no {score}. {_COMBINED} is no probability; to trust it nevertheless, pass "
                    f"{argument('producer', 'inaturalist')} and {argument('confidence', _COMBINED)}."
                )
            pairs.append((one.at(label), one.at(score)))
        yield record, Row(record.response_id(), *record.entries(pairs, percent=True))


def _match(look: FirstLook, match: Match) -> Match | None:
    """Responses whose suggestions have a taxon and a score."""
    return matched(match, lambda path: _seen(at_path(look.first(path), "results.0")))


def _seen(one: Any) -> str:
    score = next((name for name in (_VISION, _COMBINED) if name in one), "")
    return f"its results have taxon and {score}" if score else ""


PRODUCER = Producer(_open, _match, options=("confidence", "class_column"))
