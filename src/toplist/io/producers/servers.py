"""Files with answers of language-model servers, one per record: cases, further columns, and lists.

A server says with `Server` where its records have positions with top tokens. Everything else is common: fields at the
top of a record that hold one value are columns of the table. One that is called as ids are gives the case. Without
one, cases have no ids and go by their position, since the ids that servers give differ from run to run; answers that
are alone in their files are called as these are. A field that is called as outcomes are gives the outcome. `n_classes`
says how many of the declared answers a case has, and `answers`, a list, which ones.

Where a server names the path of its positions, lines of JSON are read by the compiled kernel or by Arrow, several times
as fast as one by one; what neither can read, or finds no positions in, is read one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist._typing import Ints
from toplist.errors import CaseError, FileError, TopListError
from toplist.io.answers import AnswerSpace
from toplist.io.columns import as_arrow, as_numpy, is_list, offsets_of
from toplist.io.paths import value_at
from toplist.io.producers.base import (
    ANSWER_MASS,
    CASE,
    CLASSES,
    CONFIDENCES,
    LISTED_TOKENS,
    N_CLASSES,
    OUTCOME,
    ProducedReader,
    Request,
    at_path,
    columns_of,
)
from toplist.io.producers.fields import FieldError
from toplist.io.producers.json_records import Record, is_document, line_blocks, lines_of, records
from toplist.io.producers.token_lines import parsed, trimmed
from toplist.io.producers.tokens import Position, Positions, Summary, as_position, nested, vocabulary_lists
from toplist.io.readers.base import head_of
from toplist.io.readers.json_lines import Fields, MisfitError, as_array, parse, settled
from toplist.io.top_tokens import SAMPLED, UNSORTED, TopTokens
from toplist.io.words import CASE as CASES
from toplist.io.words import CERTAIN_IDS, TRUTH, named, spelled

ANSWERS = "answers"
FAILED, REFUSED, WITHOUT = "failed", "refused", "without"  # in place of positions
_LOOKED = 20  # records whose fields are looked at
_ROWS = 4096  # records that are read one by one before they become a batch
_OWN = frozenset({CASE, CLASSES, CONFIDENCES, OUTCOME, N_CLASSES, ANSWER_MASS, LISTED_TOKENS})


def _as_they_are(numbered: Iterator[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    return numbered


@dataclass(frozen=True, slots=True)
class Server:
    """Where the records of a server have what."""

    positions: Callable[[Record], Sequence[Position] | str]  # or why there are none: failed, refused, without
    remedy: str  # what to ask the server for, where no record has log-probabilities
    paths: tuple[str, ...] = ()  # that may lead to the list of positions: `choices.0.logprobs.content`
    own_ids: tuple[str, ...] = ()  # fields that look like case ids, but are about a response, not about its question
    joined: Callable[[Iterator[tuple[int, Record]]], Iterator[tuple[int, Record]]] = _as_they_are
    note: Callable[[Record], str] = lambda record: ""  # what there is to say about a record, for the whole file


def open_answers(request: Request, server: Server) -> ProducedReader:
    """The table of all files, or of objects in memory; it is read once, and small beside them."""
    if isinstance(request.data, Iterator):
        request = replace(request, data=list(request.data))
    for ranked in (True, False):
        table = _Table(request, server, ranked)
        if not request.paths:
            table.add_objects(request.data)
        for path in request.paths:
            table.add_file(path)
        if not table.mistaken:
            break
    return table.reader()


def open_positions(request: Request, positions: Positions, remedy: str) -> ProducedReader:
    """The table of positions in memory, whose cases have numbers."""
    rows = np.arange(1, len(positions) + 1)
    for ranked in (True, False):
        table = _Table(request, Server(lambda record: WITHOUT, remedy), ranked)
        table.without_ids[request.name] = None
        table.add_block(_Block(request.name, rows, {}, positions), _Known({}, "", ""))
        if not table.mistaken:
            break
    return table.reader()


@dataclass(frozen=True, slots=True)
class _Block:
    """Records that were read: their rows, fields and positions."""

    source: str
    rows: Ints
    columns: dict[str, Any]
    positions: Positions
    end: int = 0  # the last row, whatever became of it


@dataclass(frozen=True)
class _Lines:
    """Lines of a file."""

    text: bytes
    source: str
    start: int  # rows before them

    @cached_property
    def every(self) -> list[bytes]:
        """One by one."""
        return lines_of(self.text)


@dataclass(slots=True)
class _Table:
    """The lists of all records, and what there is to say about them."""

    request: Request
    server: Server
    ranked: bool  # whether lists are of the most probable tokens
    space: AnswerSpace | None = field(init=False)
    position: int | str = field(init=False)
    batches: list[tuple[str, dict[str, Any]]] = field(init=False, default_factory=list)
    summary: Summary = field(init=False)
    skipped: Counter[str] = field(init=False, default_factory=Counter)
    fields: dict[str, Any] = field(init=False, default_factory=dict)
    without_ids: dict[str, None] = field(init=False, default_factory=dict)  # files whose records have none
    said: dict[str, None] = field(init=False, default_factory=dict)  # about records
    outcomes: dict[str, None] = field(init=False, default_factory=dict)  # fields that may hold the outcome

    def __post_init__(self) -> None:
        options = self.request.options
        self.space = None if options.answers is None else AnswerSpace.of(options.answers)
        self.position = as_position(options.position)
        self.summary = Summary(self.position)

    @property
    def mistaken(self) -> bool:
        """Whether tokens were taken for the most probable ones, and removed, that some case shows to be others."""
        return bool(self.summary.counts[UNSORTED] and self.summary.counts[SAMPLED])

    # Records

    def add_file(self, path: Path) -> None:
        """All records of a file."""
        head_of(path, 16)  # says what it is, where it is no text
        source = str(path)
        first = [record for _, record in islice(records(path), _LOOKED)]
        known = self._fields_of(first, source)
        at = next((one for one in self.server.paths if any(at_path(r, one) is not None for r in first)), None)
        streamed = len(list(self._joined(iter(enumerate(first, 1)), source))) < len(first)
        if at is None or streamed or is_document(path) or not (self.space is None or self.space.text_only):
            self._add_records(records(path), source, known)
            return
        start = 0
        for text in line_blocks(path):
            block = self._in_columns(_Lines(text, source, start), known, at)
            if block is not None:
                self.add_block(block, known)
                start = block.end
            elif lines := lines_of(text):
                numbered = ((row, parse(line, source, row)) for row, line in enumerate(lines, start + 1))
                self._add_records(numbered, source, known)
                start += len(lines)

    def add_objects(self, data: Any) -> None:
        """Objects in memory: mappings, or those of a client library that can be turned into them."""
        every = [data] if isinstance(data, Mapping) or hasattr(data, "model_dump") else data
        if isinstance(every, str | bytes) or not isinstance(every, Iterable):
            raise TopListError(f"{self.request.name}: give answers of the server, one per case, not {quote(data)}.")
        found = [(row, as_record(one, self.request.name)) for row, one in enumerate(every, 1)]
        self._add_records(
            iter(found), self.request.name, self._fields_of([one for _, one in found[:_LOOKED]], self.request.name)
        )

    def _add_records(self, numbered: Iterator[tuple[int, Record]], source: str, known: _Known) -> None:
        joined = self._joined(numbered, source)
        while some := list(islice(joined, _ROWS)):
            rows, cases, kept = [], [], []
            for row, record in some:
                found = self.positions(record, source, row)
                self.skipped.update([found] if isinstance(found, str) else [])
                if found != FAILED:
                    rows.append(row)
                    cases.append(() if isinstance(found, str) else found)
                    kept.append(record)
            columns = {
                name: _column([value_at(record, name) for record in kept], name, kind, source, rows)
                for name, kind in known.kinds.items()
            }
            self.add_block(_Block(source, np.array(rows, np.int64), columns, Positions.of(cases)), known)

    def positions(self, record: Record, source: str, row: int) -> Sequence[Position] | str:
        """The positions of a record, or why it has none."""
        try:
            found = self.server.positions(record)
            if found != FAILED:
                self.said.update(dict.fromkeys(filter(None, [self.server.note(record)])))
        except FieldError as error:
            raise _unlike(error, source, row) from None
        return found

    def _joined(self, numbered: Iterator[tuple[int, Record]], source: str) -> Iterator[tuple[int, Record]]:
        """Records with the chunks of a stream as one."""
        last = [0]

        def noted(pair: tuple[int, Record]) -> tuple[int, Record]:
            last[0] = pair[0]
            return pair

        try:
            yield from self.server.joined(map(noted, numbered))
        except FieldError as error:
            raise _unlike(error, source, last[0]) from None

    def _fields_of(self, some: Sequence[Record], source: str) -> _Known:
        """The fields that hold one value, by the first records, with their types."""
        seen, nested_too = Fields(), set[str]()
        for record in some:
            flat = {**record, **{f"metadata.{k}": v for k, v in _object(record.get("metadata")).items()}}
            nested_too.update(
                name for name, value in flat.items() if name != ANSWERS and isinstance(value, dict | list)
            )
            seen.add({name: v for name, v in flat.items() if v is not None and name not in nested_too})
        single = {name: kind for name, kind in seen.kinds.items() if name not in nested_too}
        kinds = {name: settled(kind) for name, kind in single.items() if name not in (CLASSES, CONFIDENCES)}
        pa = need("pyarrow")
        if pa.types.is_nested(kinds.get(ANSWERS, pa.null())) and kinds[ANSWERS] != pa.list_(pa.string()):
            del kinds[ANSWERS]
        for name in set(self.server.own_ids) - set((self.request.options.case or "").split(",")):
            kinds.pop(name, None)
        self.fields.update(kinds)
        case = next((name for name in named(list(kinds), CASES) if spelled(name) in CERTAIN_IDS), "")
        outcomes = named(list(kinds), TRUTH)
        if not case:
            self.without_ids[source] = None
        self.outcomes.update(dict.fromkeys(outcomes if len(outcomes) > 1 else []))
        return _Known(kinds, case, outcomes[0] if len(outcomes) == 1 else "")

    def _in_columns(self, lines: _Lines, known: _Known, path: str) -> _Block | None:
        """Lines as a block; None where they have to be read one by one."""
        made = self._parsed(lines.text, known, path)
        if made is None:
            return None
        columns, positions = made
        keep, skipped = np.ones(len(positions), bool), Counter[str]()
        for at in np.flatnonzero(np.diff(positions.offsets) == 0).tolist():
            row = lines.start + at + 1
            found = self.positions(parse(lines.every[at], lines.source, row), lines.source, row)
            if not isinstance(found, str):  # elsewhere than on the path
                return None
            skipped[found] += 1
            keep[at] = found != FAILED
        self.skipped.update(skipped)
        end = lines.start + len(keep)
        rows = np.arange(lines.start + 1, end + 1)[keep]
        if not keep.all():  # a record that failed has no positions: those of the others stay as they are
            positions = replace(positions, offsets=offsets_of(np.diff(positions.offsets)[keep]))
            columns = {name: column.filter(as_arrow(keep)) for name, column in columns.items()}
        return _Block(lines.source, rows, columns, positions, end)

    def _parsed(self, whole: bytes, known: _Known, path: str) -> tuple[dict[str, Any], Positions] | None:
        """The fields and positions of lines, with the bytes of tokens where a case lists a text twice."""
        text = trimmed(whole, self.position)
        made = parsed(text, known.kinds, path, with_bytes=False)
        tokens = None if made is None else made[1].at(self.position)[0]
        if tokens is None or tokens.text.null_count:
            return None
        return parsed(text, known.kinds, path, with_bytes=True) if tokens.repeats_text() else made

    # Lists

    def add_block(self, block: _Block, known: _Known) -> None:
        """The lists of a block, as columns."""
        if not len(block.rows):
            return
        tokens, counts = block.positions.at(self.position)
        try:
            made = self._lists(tokens, block, counts)
        except CaseError as error:
            row = None if error.case is None else int(block.rows[error.case])
            others = "" if not error.more else f" {error.more:,} more records have the same problem."
            raise FileError(block.source, f"{error.problem} {error.remedy}{others}", row=row) from None
        pa = need("pyarrow")
        if known.case:
            made[CASE] = block.columns[known.case].cast(pa.string())
        if known.outcome:
            made[OUTCOME] = block.columns[known.outcome].cast(pa.string())
            self._require_outcomes(made[OUTCOME], block)
        further = {name: block.columns[name] for name in _further(known.kinds)}
        self.batches.append((block.source, {**further, **made}))

    def _lists(self, tokens: TopTokens, block: _Block, counts: Counter[str]) -> dict[str, Any]:
        pa = need("pyarrow")
        if self.space is None:
            tokens, removed = tokens.cleaned(ranked=self.ranked)
            self.summary.add(len(tokens), counts + removed)
            sizes = {N_CLASSES: block.columns[N_CLASSES]} if N_CLASSES in block.columns else {}
            return {**vocabulary_lists(tokens), **sizes}
        numbers, allowed = block.columns.get(N_CLASSES), block.columns.get(ANSWERS)
        if numbers is not None and not pa.types.is_integer(numbers.type):
            raise FileError(block.source, f"{quote(N_CLASSES)} is the number of answers of a case, a whole number.")
        if allowed is not None and not is_list(allowed.type):
            allowed = None
        made = self.space.lists(
            tokens,
            n_answers=None if numbers is None else as_numpy(numbers.cast(pa.int64()).fill_null(0)),
            allowed=None if allowed is None else [one or () for one in allowed.to_pylist()],
            ranked=self.ranked,
        )
        self.summary.add(len(tokens), counts + made.counts, made.answer_mass)
        return {
            CLASSES: nested(made.offsets, made.classes),
            CONFIDENCES: nested(made.offsets, as_arrow(made.confidences)),
            N_CLASSES: as_arrow(made.n_classes.astype(np.int64)),
            ANSWER_MASS: pa.array(made.answer_mass, pa.float64(), mask=np.isnan(made.answer_mass)),
            LISTED_TOKENS: pa.array(made.listed, pa.int64(), mask=made.listed == 0),
        }

    def _require_outcomes(self, outcomes: Any, block: _Block) -> None:
        """Outcomes are declared answers."""
        if self.space is None:
            return
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        known = pc.is_in(outcomes, value_set=pa.array(self.space.classes, "string"))
        odd = np.flatnonzero(~as_numpy(pc.or_(known, outcomes.is_null()).cast(pa.int8())).astype(bool))
        if len(odd):
            name = outcomes[int(odd[0])].as_py()
            raise FileError(
                block.source,
                f"the outcome {quote(name)} is none of the answers {listed(self.space.classes)}."
                f"{did_you_mean(name, self.space.classes)}",
                row=int(block.rows[odd[0]]),
            )

    # The table

    def reader(self) -> ProducedReader:
        """The table, with notes."""
        self._require_answers()
        pa = need("pyarrow")
        further = _further(self.fields)
        kinds = {N_CLASSES: pa.int64(), ANSWER_MASS: pa.float64(), LISTED_TOKENS: pa.int64(), OUTCOME: pa.string()}
        made = {name: kind for name, kind in kinds.items() if any(name in batch for _, batch in self.batches)}
        columns = columns_of(**made, **further)
        if not self._called():
            del columns[CASE]
        schema = pa.schema(list(columns.items()))
        batches = [
            (source, pa.record_batch([_filled(batch, n, k) for n, k in columns.items()], schema=schema))
            for source, batch in self.batches
        ]
        notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in self._notes())
        reader = ProducedReader(self.request.name, lambda: iter(batches), columns, self.request.paths, notes)
        reader.gaps = 0 if CASE in columns else self.skipped[FAILED]
        return reader

    def _called(self) -> bool:
        """Whether cases have ids: those of their records, or the names of files with one answer each."""
        if not self.without_ids:
            return True
        files = Counter(source for source, batch in self.batches for _ in range(len(batch[CLASSES])))
        stems = {Path(source).name.partition(".")[0]: source for source in files}
        if len(files) > 1 and len(self.without_ids) == len(stems) == sum(files.values()):
            for source, batch in self.batches:
                batch[CASE] = need("pyarrow").array([Path(source).name.partition(".")[0]], "string")
            return True
        lacks = next(iter(self.without_ids))
        if any(CASE in batch for _, batch in self.batches):
            raise FileError(lacks, "the records of this file have no case id, but those of other files have one.")
        return False

    def _require_answers(self) -> None:
        name, cases = self.request.name, self.summary.cases
        if not cases:
            why = "every request failed" if self.skipped[FAILED] else "there is no answer in it"
            raise FileError(name, f"{why}: there is nothing to read.")
        if cases == self.skipped[WITHOUT] + self.skipped[REFUSED] and self.skipped[WITHOUT]:
            raise FileError(name, f"no answer has log-probabilities of the most probable tokens. {self.server.remedy}")
        if self.summary.nowhere == cases > self.skipped[REFUSED]:
            raise FileError(
                name,
                f"no answer has a token at {argument('position', self.position)}: name the position of the answer.",
            )

    def _notes(self) -> Iterator[str]:
        skipped, cases = self.skipped, self.summary.cases
        if self.without_ids and self.request.options.case is None and not any(CASE in b for _, b in self.batches):
            yield (
                "responses have no id of their question: cases go by the order of the records. Add a field with one, "
                "such as question_id, to match files in another order"
            )
        if self.outcomes:
            fields = listed(list(self.outcomes))
            yield f"several fields may hold the outcome ({fields}): name one, {argument('outcome')}"
        if skipped[FAILED]:
            yield f"{skipped[FAILED]:,} of {cases + skipped[FAILED]:,} requests failed: their cases are missing"
        if skipped[REFUSED]:
            yield f"{skipped[REFUSED]:,} of {cases:,} answers are refusals: their lists are empty"
        if skipped[WITHOUT]:
            yield f"{skipped[WITHOUT]:,} of {cases:,} answers have no log-probabilities: their lists are empty"
        if self.space is None:
            yield (
                "no answers are declared: classes are the tokens of a vocabulary. Declare answers "
                f"({argument('answers')}), or give the size of the vocabulary, or inf, as the number of classes"
            )
        yield from self.said
        explained = skipped[REFUSED] + skipped[WITHOUT]
        yield from self.summary.notes(explained)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the first records of a file tell."""

    kinds: dict[str, Any]  # of the fields that hold one value
    case: str  # the field with ids, if there is one
    outcome: str  # and the one with outcomes


def _further(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are columns as they are, with their types."""
    return {name: kind for name, kind in kinds.items() if name not in _OWN and not is_list(kind)}


def _filled(batch: Mapping[str, Any], name: str, kind: Any) -> Any:
    """A column of a batch; of nulls where it has none."""
    pa = need("pyarrow")
    if name not in batch:
        return pa.nulls(len(batch[CLASSES]), kind)
    return batch[name] if batch[name].type == kind else batch[name].cast(kind)


def _column(values: list[Any], name: str, kind: Any, source: str, rows: Sequence[int]) -> Any:
    try:
        return as_array(values, kind)
    except MisfitError as error:
        raise FileError(source, f"{quote(name)} {error.problem}.", row=rows[error.place]) from None


def as_record(one: Any, name: str) -> Record:
    """An object of a client library as a mapping."""
    if isinstance(one, Mapping):
        return one
    for way in ("model_dump", "to_dict", "to_json_dict"):
        if callable(getattr(one, way, None)):
            made = getattr(one, way)()
            if isinstance(made, Mapping):
                return made
    raise TopListError(f"{name}: {quote(one)} is no answer of a server.")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _unlike(error: FieldError, source: str, row: int) -> FileError:
    return FileError(source, f"this is no answer of the server: {error}.", row=row)
