"""Files with answers of language-model servers, one per record: cases, further columns, and lists.

A server says with `Server` how the positions with top tokens are found in a record. Everything else is common: fields
at the top of a record that hold one value are columns of the table. One that is called as ids are gives the case.
Without one, cases have no ids and go by their position, since the ids that servers give differ from run to run; answers
that are alone in their files are called as these are. A field that is called as outcomes are gives the outcome.
`n_classes` says how many of the declared answers a case has, and `answers`, a list, which ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist._typing import Floats
from toplist.errors import CaseError, FileError, TopListError
from toplist.io.answers import AnswerSpace
from toplist.io.columns import as_numpy
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
)
from toplist.io.producers.records import is_document, line_blocks, lines, lines_of, mappings, records_in
from toplist.io.producers.tokens import (
    FAILED,
    INSIDE,
    NO_POSITION,
    NO_TEXT,
    REFUSED,
    WITHOUT,
    FieldError,
    Position,
    Token,
    as_position,
    chosen,
    cut,
)
from toplist.io.producers.top_tokens import SAMPLED, UNSORTED, TopTokens, answer_lists, notes_on, vocabulary_lists
from toplist.io.readers.base import TableChunk, head_of
from toplist.io.readers.column_types import common
from toplist.io.readers.json_lines import MisfitError, as_array, parse, settled, type_of
from toplist.io.words import CASE as CASES
from toplist.io.words import CERTAIN_IDS, TRUTH, named, spelled

ANSWERS, _ALLOWED = "answers", "the answers of each case"  # a field, and its column, where it is a list of them
Record = Mapping[str, Any]
Found = Sequence[Position] | str
Say = Callable[[str], object]
_LOOKED = 20  # records whose fields are looked at
_ROWS = 4096  # records of a block
_OWN = (CASE, CLASSES, CONFIDENCES, N_CLASSES, ANSWER_MASS, LISTED_TOKENS, OUTCOME)


@dataclass(frozen=True, slots=True)
class Server:
    """How the answers of a server are read."""

    read: Callable[[Any, Say], Found]  # the positions of a record, or why there are none; says what is noted
    remedy: str  # what to ask the server for, where no record has log-probabilities
    own_ids: tuple[str, ...] = ()  # fields that look like case ids, but are about a response, not about its question


def open_answers(request: Request, server: Server) -> ProducedReader:
    """The table of all files, or of objects in memory; it is read once, and small beside them."""
    table = _Table(request, server)
    for path in request.paths:
        head_of(path, 16)  # says what it is, where it is no text
        if is_document(path):
            objects = [record.value for record in mappings(records_in(path))]
            table.add(str(path), [objects], objects[:_LOOKED])
        else:
            first = [parse(line, str(path), row) for row, line in enumerate(islice(lines(path), _LOOKED), 1)]
            table.add(str(path), line_blocks(path), first)
    if not request.paths:
        objects = list(_responses(request))
        table.add(request.name, [objects], objects[:_LOOKED])
    return table.reader()


def _responses(request: Request) -> Iterator[Record]:
    """Objects in memory, mappings or those of a client library, as mappings."""
    data = request.data
    every = [data] if isinstance(data, Mapping) or hasattr(data, "model_dump") else data
    if isinstance(every, str | bytes) or not isinstance(every, Iterable):
        raise TopListError(f"{request.name}: give answers of the server, one per case, not {quote(data)}.")
    for response in every:
        ways = (getattr(response, way, None) for way in ("model_dump", "to_dict", "to_json_dict"))
        record = response if isinstance(response, Mapping) else next((way() for way in ways if callable(way)), None)
        if not isinstance(record, Mapping):
            raise TopListError(f"{request.name}: {quote(response)} is no answer of a server.")
        yield record


# The row of a record, its columns, and the tokens at the position of the answer.
_Answer = tuple[int, tuple[Any, ...], Sequence[Token]]


@dataclass(frozen=True, slots=True)
class _Block:
    """Some records that were read: their rows, their columns, and the tokens at the position of the answer."""

    source: str
    rows: list[int]
    columns: dict[str, Any]
    tokens: TopTokens


@dataclass(slots=True)
class _Table:
    """The answers of all files, and what there is to say about them."""

    request: Request
    server: Server
    space: AnswerSpace | None = field(init=False)
    position: int | str = field(init=False)
    blocks: list[_Block] = field(init=False, default_factory=list)
    counts: Counter[str] = field(init=False, default_factory=Counter)
    without_ids: list[str] = field(init=False, default_factory=list)  # files whose records have none
    said: dict[str, None] = field(init=False, default_factory=dict)  # about records
    outcomes: dict[str, None] = field(init=False, default_factory=dict)  # fields that may hold the outcome

    def __post_init__(self) -> None:
        options = self.request.options
        self.space = None if options.answers is None else AnswerSpace.of(options.answers)
        self.position = as_position(options.position)

    # Records

    def add(self, source: str, blocks: Iterable[Any], first: Sequence[Record]) -> None:
        """Blocks of lines, or of objects, of which the first ones were read."""
        columns = self._columns_of(first, source)
        answers = self._answers(source, blocks, [name for _, name, _ in columns])
        for first_answer in answers:
            self._add_block(source, chain([first_answer], islice(answers, _ROWS - 1)), columns)

    def _columns_of(self, some: Sequence[Record], source: str) -> list[tuple[str, str, Any]]:
        """The columns, with the fields that they are, which hold one value in the first records, and their types."""
        values_of: dict[str, list[Any]] = {}
        for record in map(_flat, some):
            for name, value in record.items():
                values_of.setdefault(name, []).extend(() if value is None else (value,))
        nested = {n for n, v in values_of.items() if n != ANSWERS and any(isinstance(x, dict | list) for x in v)}
        asked = (self.request.options.case or "").split(",")
        ignored = nested | {CLASSES, CONFIDENCES} | {name for name in self.server.own_ids if name not in asked}
        kinds = {name: settled(type_of(v)) for name, v in values_of.items() if v and name not in ignored}
        pa = need("pyarrow")
        fields = {name: name for name in kinds if name not in _OWN or name == N_CLASSES}
        if kinds.get(ANSWERS) == pa.list_(pa.string()):
            fields[_ALLOWED] = fields.pop(ANSWERS)
        elif ANSWERS in kinds and pa.types.is_nested(kinds[ANSWERS]):
            del fields[ANSWERS]
        case = next((name for name in named(list(kinds), CASES) if spelled(name) in CERTAIN_IDS), "")
        outcomes = named(list(kinds), TRUTH)
        if case:
            fields[CASE] = case
        else:
            self.without_ids.append(source)
        if len(outcomes) == 1:
            fields[OUTCOME] = outcomes[0]
        else:
            self.outcomes.update(dict.fromkeys(outcomes))
        return [(column, name, kinds[name]) for column, name in fields.items()]

    def _answers(self, source: str, blocks: Iterable[Any], fields: Sequence[str]) -> Iterator[_Answer]:
        """Those of objects, or of lines, apart from requests that failed; a line that is odd is read whole."""
        row = 0
        for block in blocks:
            objects, lists = block, list[bytes]()
            if isinstance(block, bytes):
                try:
                    objects, lists = cut(block)
                except (ValueError, RecursionError):
                    objects = lines_of(block)
            for place, line in enumerate(objects):
                row += 1
                record = parse(line, source, row) if isinstance(line, bytes) else line
                try:
                    try:
                        tokens, reasons = self._tokens(record, lists)
                    except (FieldError, ValueError, RecursionError):
                        record = parse(lines_of(block)[place], source, row) if lists else record
                        tokens, reasons = self._tokens(record)
                except FieldError as error:
                    raise FileError(source, f"this is no answer of the server: {error}.", row=row) from None
                if reasons:
                    self.counts.update(reasons)
                if FAILED not in reasons:
                    yield row, tuple(map(_flat(record).get, fields)), tokens

    def _tokens(self, record: Record, lists: Sequence[bytes] = ()) -> tuple[Sequence[Token], Sequence[str]]:
        """Those at the position of the answer, and what there is to say about them."""
        positions = self.server.read(record, self.said.setdefault)
        return ((), [positions]) if isinstance(positions, str) else chosen(self.position, positions, lists)

    def _add_block(self, source: str, answers: Iterable[_Answer], columns: Sequence[tuple[str, str, Any]]) -> None:
        """Some answers, of which only what counts is kept."""
        rows, values = list[int](), list[tuple[Any, ...]]()

        def tokens() -> Iterator[Sequence[Token]]:
            for row, fields, tokens in answers:
                rows.append(row)
                values.append(fields)
                yield tokens

        try:
            table = TopTokens.of(tokens(), self.space)
        except CaseError as error:
            raise FileError(source, error.problem, row=rows[error.case or 0]) from None
        made = {}
        for (column, name, kind), cells in zip(columns, zip(*values, strict=True), strict=True):
            try:
                made[column] = as_array(cells, kind)
            except MisfitError as error:
                raise FileError(source, f"{quote(name)} {error.problem}.", row=rows[error.place]) from None
        made |= {name: made[name].cast(need("pyarrow").string()) for name in (CASE, OUTCOME) if name in made}
        self.blocks.append(_Block(source, rows, made, table))
        self._require_declared(self.blocks[-1])

    # Lists

    def reader(self) -> ProducedReader:
        """The table, with notes."""
        for ranked in (True, False):
            made = [self._lists(block, ranked=ranked) for block in self.blocks]
            counts = sum((changes for _, changes in made), Counter[str]())
            if not (counts[UNSORTED] and counts[SAMPLED]):
                break  # else tokens were removed as those of the most probable ones, which some case shows they are not
        self.counts += counts
        self._require_answers()
        parts = [columns for columns, _ in made]
        called = self._called(parts)
        pa, kinds = need("pyarrow"), dict[str, Any]()
        for part in parts:
            for name, column in part.items():
                kinds[name] = common(kinds.get(name, column.type), column.type) or pa.string()
        kinds = {name: kinds.pop(name) for name in _OWN if name in kinds} | kinds
        schema, chunks = pa.schema(list(kinds.items())), []
        for block, part in zip(self.blocks, parts, strict=True):
            n = len(block.rows)
            columns = [part[k].cast(kind) if k in part else pa.nulls(n, kind) for k, kind in kinds.items()]
            chunks.append(TableChunk(block.source, 0, pa.record_batch(columns, schema=schema), np.array(block.rows)))
        mass = np.concatenate([as_numpy(part[ANSWER_MASS]) for part in parts]) if self.space else None
        notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in self._notes(mass, called=called))
        reader = ProducedReader(self.request.name, chunks, self.request.paths, notes)
        reader.gaps = 0 if called else self.counts[FAILED]
        return reader

    def _lists(self, block: _Block, *, ranked: bool) -> tuple[dict[str, Any], Counter[str]]:
        """The columns of a block with its lists, and what was changed in these."""
        columns = dict(block.columns)
        allowed, numbers = columns.pop(_ALLOWED, None), columns.get(N_CLASSES)
        try:
            if self.space is None:
                lists, changes = vocabulary_lists(block.tokens, ranked=ranked)
            else:
                lists, changes = answer_lists(
                    block.tokens,
                    self.space,
                    n_answers=None if numbers is None else as_numpy(numbers.cast("int64").fill_null(0)),
                    allowed=None if allowed is None else [names or () for names in allowed.to_pylist()],
                    ranked=ranked,
                )
        except CaseError as error:
            others = "" if not error.more else f" {error.more:,} more records have the same problem."
            problem = f"{error.problem} {error.remedy}{others}"
            raise FileError(block.source, problem, row=block.rows[error.case or 0]) from None
        return columns | lists, changes

    # What is refused, and what is said

    def _require_declared(self, block: _Block) -> None:
        """Outcomes are declared answers, and the number of these is one."""
        pa, classes = need("pyarrow"), () if self.space is None else self.space.classes
        if classes and N_CLASSES in block.columns and not pa.types.is_integer(block.columns[N_CLASSES].type):
            raise FileError(block.source, f"{quote(N_CLASSES)} is the number of answers of a case, a whole number.")
        outcomes = block.columns[OUTCOME].to_pylist() if OUTCOME in block.columns and classes else []
        for row, name in zip(block.rows, outcomes, strict=False):
            if name is not None and name not in classes:
                problem = f"the outcome {quote(name)} is none of the answers {listed(classes)}."
                raise FileError(block.source, f"{problem}{did_you_mean(name, classes)}", row=row)

    def _called(self, parts: Sequence[dict[str, Any]]) -> bool:
        """Whether cases have ids: those of their records, or the names of files with one answer each."""
        if not self.without_ids:
            return True
        stems = {Path(block.source).name.partition(".")[0] for block in self.blocks}
        if self._cases == len(stems) == len(self.without_ids) > 1:
            for block, part in zip(self.blocks, parts, strict=True):
                part[CASE] = need("pyarrow").array([Path(block.source).name.partition(".")[0]], "string")
            return True
        if any(CASE in part for part in parts):
            problem = "the records of this file have no case id, but those of other files have one."
            raise FileError(self.without_ids[0], problem)
        return False

    @property
    def _cases(self) -> int:
        return sum(len(block.rows) for block in self.blocks)

    def _require_answers(self) -> None:
        name, cases, counts = self.request.name, self._cases, self.counts
        if not cases:
            why = "every request failed" if counts[FAILED] else "there is no answer in it"
            raise FileError(name, f"{why}: there is nothing to read.")
        nothing = counts[WITHOUT] + counts[REFUSED]
        if cases == nothing > counts[REFUSED]:
            problem = "no answer has log-probabilities of the most probable tokens."
            raise FileError(name, f"{problem} {self.server.remedy}")
        if cases == nothing + counts[NO_POSITION] + counts[NO_TEXT] + counts[INSIDE] > nothing:
            place = argument("position", self.position)
            raise FileError(name, f"no answer has a token at {place}: name the position of the answer.")

    def _notes(self, mass: Floats | None, *, called: bool) -> Iterator[str]:
        counts, cases = self.counts, self._cases
        if not called and self.request.options.case is None:
            yield (
                "responses have no id of their question: cases go by the order of the records. Add a field with one, "
                "such as question_id, to match files in another order"
            )
        if self.outcomes:
            names = listed(list(self.outcomes))
            yield f"several fields may hold the outcome ({names}): name one, {argument('outcome')}"
        if counts[FAILED]:
            yield f"{counts[FAILED]:,} of {cases + counts[FAILED]:,} requests failed: their cases are missing"
        if self.space is None:
            yield (
                "no answers are declared: classes are the tokens of a vocabulary. Declare answers "
                f"({argument('answers')}), or give the size of the vocabulary, or inf, as the number of classes"
            )
        yield from self.said
        yield from notes_on(self.position, cases, counts, mass)


def _flat(record: Any) -> Record:
    """A record with the fields in its object `metadata` beside the others."""
    metadata = record.get("metadata")
    return {**record, **{f"metadata.{k}": v for k, v in metadata.items()}} if isinstance(metadata, dict) else record
