"""SpeciesNet and Pl@ntNet: the most likely species of each picture.

SpeciesNet: lists are those of the classifier. The `prediction` of the ensemble is one class, often a higher taxon, and
is not used. Classes are texts such as "uuid;mammalia;carnivora;canidae;vulpes;vulpes;red fox", or the parts of them
that the caller asks for. Pl@ntNet: responses of its API as JSON, one per file or per line, and the CSV of its
benchmark; the class is the scientific name without its author. A response without results, and "Species not found", are
rejects: empty lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.producers.base import at_path
from toplist.io.producers.cases import Cases, reading
from toplist.io.producers.records import Record, number_of, rows_in, text_of
from toplist.io.readers.first_look import FirstLook
from toplist.io.words import CASE as CASE_NAMES
from toplist.io.words import named

_CLASSES, _SCORES = "classifications.classes", "classifications.scores"
_PARTS: dict[str, Callable[[list[str]], str]] = {
    "uuid": lambda parts: parts[0],
    "common_name": lambda parts: parts[-1],
    "scientific_name": lambda parts: " ".join(parts[4:6]).strip() or next(filter(None, parts[3:0:-1]), parts[-1]),
}
_NAME = "species.scientificNameWithoutAuthor"
_RANKED = re.compile(r"r(\d+) (name|score)")
_REJECT = ("empty list", "where nothing was recognised: rejects")


# SpeciesNet


def _read_speciesnet(cases: Cases) -> None:
    part = cases.request.options.class_column
    if part not in (None, *_PARTS):
        ways = " or ".join(argument("class_column", way) for way in _PARTS)
        raise FileError(cases.request.name, f"here, it can be {ways}, not {argument('class_column', part)}.")
    cases.say(
        "lists are those of the classifier: the prediction of the ensemble, which may be a higher taxon, is not used"
    )
    for record in (picture for document in cases.objects() for picture in document.inside("predictions")):
        case = record.text("filepath")
        if record.at("classifications") is None:
            if "CLASSIFIER" not in record.items("failures"):
                raise record.error(f"{quote(case)} has neither classifications nor a failure of the classifier.")
            cases.count("picture", "without a list, because the classifier failed: missing cases")
            continue
        names, scores = record.items(_CLASSES), record.items(_SCORES)
        if len(names) != len(scores) or record.at(_CLASSES) is None:  # a list that is not there is none that is empty
            raise record.error(f"the classifications of {quote(case)} are not as many classes as scores.")
        classes, values = record.entries(zip(names, scores, strict=True))
        cases.add(record, case, [_part_of(record, name, part) for name in classes] if part else classes, values)


def _part_of(record: Record, name: str, part: str) -> str:
    parts = name.split(";")
    if len(parts) != 7:
        raise record.error(f"the class {quote(name)} does not have seven parts.")
    return _PARTS[part](parts)


def _is_speciesnet(look: FirstLook, path: Path) -> str:
    picture = at_path(look.first(path), "predictions.0")
    if not isinstance(picture, Mapping):
        return ""
    own = "classifications" in picture or {"failures", "model_version"} <= picture.keys()
    return f"its predictions have {', '.join(list(picture)[:3])}" if own else ""


# Pl@ntNet


def _read_plantnet(cases: Cases) -> None:
    tables = [path for path in cases.request.paths if not text_of(path).lstrip().startswith(("{", "["))]
    for path in tables:
        for record in rows_in(path, ";"):
            _add_row(cases, record)
    for record in () if tables else cases.objects():
        results, status = record.at("results"), record.at("statusCode")
        if results is None and status not in (None, 200, 404):  # 404: species not found
            cases.count("request", "failed: missing cases")
            continue
        pairs = [] if results is None and status == 404 else record.pairs("results", _NAME, "score")
        pictures = " ".join(map(str, record.items("query.images")))
        cases.count(*_REJECT, not pairs)
        file = "" if record.row else Path(record.source).stem  # of a response that is alone in it
        cases.add(record, record.known_id() or file or pictures, *record.entries(pairs))


def _add_row(cases: Cases, record: Record) -> None:
    """A row of the benchmark: an id, and pairs of columns such as `r1 name` and `r1 score`."""
    columns = [column for name in record.value if (column := _RANKED.fullmatch(name))]
    ranks = sorted(int(column[1]) for column in columns if column[2] == "name")
    others = [name for name in record.value if not _RANKED.fullmatch(name)]
    if not ranks or not others:
        raise record.error("the columns should be an id, r1 name, r1 score, r2 name and so on.")
    cells = [(record.value[f"r{rank} name"].strip(), record.value.get(f"r{rank} score")) for rank in ranks]
    pairs = [(name, number_of(score)) for name, score in cells if name]
    cases.count(*_REJECT, not pairs)
    case = record.value[next(iter(named(others, CASE_NAMES)), others[0])].strip()
    cases.add(record, record.as_text(case, "the id"), *record.entries(pairs))


def _is_plantnet(look: FirstLook, path: Path) -> str:
    if path.suffix.lower() == ".csv":
        ranked = {"r1 name", "r1 score"} <= set(look.columns(path))
        return "it has the columns r1 name and r1 score" if ranked else ""
    first = look.first(path)
    if at_path(first, f"results.0.{_NAME}") is not None:
        return f"its results have {_NAME}"
    return "it has results and bestMatch" if at_path(first, "results") == [] and "bestMatch" in first else ""


PRODUCERS = {
    "speciesnet": reading(_read_speciesnet, written=True, sees=_is_speciesnet, options=("class_column",)),
    "plantnet": reading(_read_plantnet, written=True, sees=_is_plantnet),
}
