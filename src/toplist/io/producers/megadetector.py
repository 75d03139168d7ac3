"""The format of MegaDetector: classifications of the detections in each picture or video.

A case is a detection, `file#number` with numbers from 0, and the detections of a file are a cluster. The column `file`
has the ids for a truth by file, where each file has one detection. The number of classes is that of
classification_categories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from toplist._files import need
from toplist._text import argument, quote
from toplist.io.producers.base import CLUSTER, N_CLASSES, ProducedReader, Producer, Request, Row
from toplist.io.producers.entries import Record, counted, documents_of, reader_of

FILE = "file"
_CATEGORIES = "classification_categories"


def _open(request: Request) -> ProducedReader:
    pa, seen = need("pyarrow"), Counter[str]()
    rows = [row for document in documents_of(request) for row in _rows(document, seen)]
    notes = [
        *counted(seen["failed"], "file", "could not be processed: missing cases"),
        *counted(seen["bare"], "detection", "without classifications, which are no cases"),
        *counted(seen["ids"], "file", f"in which names of {_CATEGORIES} are not unique: classes are their numbers"),
    ]
    known = {N_CLASSES: pa.int64(), CLUSTER: pa.string()}
    if len({row.known[FILE] for _, row in rows}) == len(rows):
        known[FILE] = pa.string()
        notes.append(
            f"cases are detections, file#number: for a truth with a row per file, pass {argument('case', FILE)}"
        )
    return reader_of(request, rows, notes, **known)


def _rows(document: Record, seen: Counter[str]) -> Iterator[tuple[Record, Row]]:
    found = document.at(_CATEGORIES)
    if not isinstance(found, Mapping) or not found:
        raise document.error(f"there are no {_CATEGORIES}: detections alone are no predictions of classes.")
    names = {code: document.text(name, f"the name of category {quote(code)}") for code, name in found.items()}
    unique = len(set(names.values())) == len(names)
    seen["ids"] += not unique
    for picture in document.items(document.at("images"), "images"):
        file = picture.text(picture.at("file"), "file")
        if picture.at("failure") is not None:
            seen["failed"] += 1
            continue
        for number, detection in enumerate(picture.items(picture.at("detections"), f"the detections of {quote(file)}")):
            lists = detection.at("classifications")
            if not isinstance(detection.value, Mapping):
                raise picture.error(f"a detection of {quote(file)} should be an object, not {quote(detection.value)}.")
            if lists is None or lists == []:
                seen["bare"] += 1
                continue
            classes, values = picture.entries(_pairs(picture, lists))
            odd = next((code for code in classes if code not in names), None)
            if odd is not None:
                raise picture.error(f"the category {quote(odd)} of {quote(file)} is not among {_CATEGORIES}.")
            named = [names[code] for code in classes] if unique else classes
            yield picture, Row(f"{file}#{number}", named, values, {N_CLASSES: len(names), CLUSTER: file, FILE: file})


def _pairs(picture: Record, lists: object) -> Iterator[tuple[object, object]]:
    for one in picture.items(lists, "classifications"):
        if not isinstance(one.value, list) or len(one.value) != 2:
            raise picture.error(f"a classification is a category and a number, not {quote(one.value)}.")
        yield one.value[0], one.value[1]


PRODUCER = Producer(_open)
