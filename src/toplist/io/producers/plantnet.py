"""Pl@ntNet: responses of its API as JSON, one per file or per line, and the CSV of its benchmark.

The class is the scientific name without its author. A response without results, and the answer "Species not found",
are rejects: empty lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.entries import Record, counted, documents_of, matched, reader_of, rows_in, text_of
from toplist.io.readers.base import FirstLook
from toplist.io.recognition.words import CASE as CASE_NAMES
from toplist.io.recognition.words import named

_NAME = "species.scientificNameWithoutAuthor"
_RANKED = re.compile(r"r(\d+) (name|score)")


def _open(request: Request) -> ProducedReader:
    seen = Counter[str]()
    tables = [path for path in request.paths if not text_of(path).lstrip().startswith(("{", "["))]
    rows = [row for path in tables for row in _of_table(path, seen)] if tables else [*_of_responses(request, seen)]
    notes = [
        *counted(seen["rejected"], "empty list", "where nothing was recognised: rejects"),
        *counted(seen["failed"], "request", "failed: missing cases"),
    ]
    return reader_of(request, rows, notes)


def _of_responses(request: Request, seen: Counter[str]) -> Iterator[tuple[Record, Row]]:
    for record in documents_of(request):
        results, case = record.at("results"), _case(record)
        if results is None and record.at("statusCode") not in (None, 200):
            if record.at("statusCode") != 404:
                seen["failed"] += 1
                continue
            results = []  # species not found
        pairs = [(one.at(_NAME), one.at("score")) for one in record.items(results, "results")]
        seen["rejected"] += not pairs
        yield record, Row(case, *record.entries(pairs))


def _case(record: Record) -> str:
    """An id of its own, or the pictures of the query."""
    pictures = record.at("query.images")
    return record.response_id() or (" ".join(map(str, pictures)) if isinstance(pictures, list) else "")


def _of_table(path: Path, seen: Counter[str]) -> Iterator[tuple[Record, Row]]:
    for record in rows_in(path, ";"):
        columns = [found for name in record.value if (found := _RANKED.fullmatch(name))]
        ranks = sorted(int(found[1]) for found in columns if found[2] == "name")
        others = [name for name in record.value if not _RANKED.fullmatch(name)]
        if not ranks or not others:
            raise record.error("the columns should be an id, r1 name, r1 score, r2 name and so on.")
        cells = [(record.at(f"r{rank} name"), record.at(f"r{rank} score")) for rank in ranks]
        pairs = [(name.strip(), _number(score)) for name, score in cells if (name or "").strip()]
        seen["rejected"] += not pairs
        case = record.value[next(iter(named(others, CASE_NAMES)), others[0])].strip()
        yield record, Row(record.text(case, "the id"), *record.entries(pairs))


def _number(text: str | None) -> Any:
    try:
        return float(text or "")
    except ValueError:
        return text


def _match(look: FirstLook, match: Match) -> Match | None:
    """Responses with species, or tables of ranks."""
    return matched(match, lambda path: _seen(look, path))


def _seen(look: FirstLook, path: Path) -> str:
    if path.suffix.lower() == ".csv":
        ranked = {"r1 name", "r1 score"} <= set(look.columns(path))
        return "it has the columns r1 name and r1 score" if ranked else ""
    first = look.first(path)
    species = at_path(first, f"results.0.{_NAME}") is not None
    empty = at_path(first, "results") == [] and isinstance(first, Mapping) and "bestMatch" in first
    return f"its results have {_NAME}" if species else "it has results and bestMatch" if empty else ""


PRODUCER = Producer(_open, _match)
