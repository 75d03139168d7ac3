"""`decode_predictions` of Keras, saved as JSON: [[["n02123045", "tabby", 0.9], ...], ...], a list per picture.

The class is the WordNet id: names of ImageNet are not unique.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from toplist._text import quote
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row
from toplist.io.producers.entries import Record, matched, reader_of, records_of
from toplist.io.readers.base import FirstLook

_WORDNET = re.compile(r"n\d{8}")


def _open(request: Request) -> ProducedReader:
    return reader_of(request, _rows(request), ["classes are WordNet ids, because names of ImageNet are not unique"])


def _rows(request: Request) -> Iterator[tuple[Record, Row]]:
    for record in records_of(request):
        if not _is_decoded(record.value):
            raise record.error(f'this is no list of ["n02123045", "tabby", 0.9]: {quote(record.value)}.')
        yield record, Row("", *record.entries((wnid, score) for wnid, _, score in record.value))


def _is_decoded(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, list | tuple) and len(one) == 3 and _WORDNET.fullmatch(str(one[0])) for one in value
    )


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files whose lists are of triples that begin with a WordNet id."""
    reason = "its lists are of WordNet ids, names and numbers"
    return matched(match, lambda path: reason if _is_decoded(look.first(path)) else "")


PRODUCER = Producer(_open, _match)
