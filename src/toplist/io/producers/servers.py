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
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import MsgspecError

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist._typing import Ints
from toplist.errors import CaseError, FileError, TopListError
from toplist.io.answers import AnswerSpace
from toplist.io.columns import as_arrow, as_numpy, is_list
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
    columns_of,
)
from toplist.io.producers.records import is_document, lines, mappings, records_in
from toplist.io.producers.tokens import (
    FieldError,
    Position,
    Summary,
    Token,
    TokenColumns,
    as_position,
    chosen,
    cut,
    nested,
    vocabulary_lists,
)
from toplist.io.readers.base import TableChunk, head_of
from toplist.io.readers.json_lines import Fields, MisfitError, as_array, json_value, parse, settled
from toplist.io.top_tokens import SAMPLED, UNSORTED, TopTokens
from toplist.io.words import CASE as CASES
from toplist.io.words import CERTAIN_IDS, TRUTH, named, spelled

ANSWERS = "answers"
FAILED, REFUSED, WITHOUT = "failed", "refused", "without"  # in place of positions
Record = Mapping[str, Any]
Found = Sequence[Position] | str
Say = Callable[[str], None]
_LOOKED = 20  # records whose fields are looked at
_ROWS = 4096  # records of a block
_OWN = frozenset({CASE, CLASSES, CONFIDENCES, OUTCOME, N_CLASSES, ANSWER_MASS, LISTED_TOKENS})


@dataclass(frozen=True, slots=True)
class Server:
    """How the answers of a server are read."""

    read: Callable[[Any, Say], Found]  # the positions of a record, or why there are none; says what is noted
    remedy: str  # what to ask the server for, where no record has log-probabilities
    own_ids: tuple[str, ...] = ()  # fields that look like case ids, but are about a response, not about its question


def open_answers(request: Request, server: Server, objects: Iterable[Any] | None = None) -> ProducedReader:
    """The table of all files, or of objects in memory; it is read once, and small beside them."""
    table = _Table(request, server)
    for path in request.paths:
        head_of(path, 16)  # says what it is, where it is no text
        whole = ((record.row or 1, record.value) for record in mappings(records_in(path)))
        table.add(str(path), whole if is_document(path) else enumerate(lines(path), 1))
    if not request.paths:
        every = _responses(request) if objects is None else objects
        table.add(request.name, enumerate(every, 1))
    return table.reader()


def _responses(request: Request) -> Iterator[Record]:
    """Objects in memory, mappings or those of a client library, as mappings."""
    data = request.data
    every = [data] if isinstance(data, Mapping) or hasattr(data, "model_dump") else data
    if isinstance(every, str | bytes) or not isinstance(every, Iterable):
        raise TopListError(f"{request.name}: give answers of the server, one per case, not {quote(data)}.")
    for one in every:
        ways = (getattr(one, way, None) for way in ("model_dump", "to_dict", "to_json_dict"))
        record = one if isinstance(one, Mapping) else next((way() for way in ways if callable(way)), None)
        if not isinstance(record, Mapping):
            raise TopListError(f"{request.name}: {quote(one)} is no answer of a server.")
        yield record


@dataclass(frozen=True, slots=True)
class _Known:
    """What the first records of a file tell: fields that hold one value, with their types, the case, the outcome."""

    kinds: dict[str, Any]
    case: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    """Records that were read: their rows, fields and tokens, and how many of them have none for which reason."""

    source: str
    known: _Known
    rows: Ints
    columns: dict[str, Any]
    tokens: TopTokens
    counts: Counter[str]

    def error(self, problem: str, place: int) -> FileError:
        """The error about one of its cases."""
        return FileError(self.source, problem, row=int(self.rows[place]))


@dataclass(slots=True)
class _Table:
    """The answers of all files, and what there is to say about them."""

    request: Request
    server: Server
    space: AnswerSpace | None = field(init=False)
    position: int | str = field(init=False)
    blocks: list[_Block] = field(init=False, default_factory=list)
    batches: list[tuple[str, dict[str, Any]]] = field(init=False, default_factory=list)
    summary: Summary = field(init=False)
    skipped: Counter[str] = field(init=False, default_factory=Counter)
    fields: dict[str, Any] = field(init=False, default_factory=dict)
    without_ids: list[str] = field(init=False, default_factory=list)  # files whose records have none
    said: dict[str, None] = field(init=False, default_factory=dict)  # about records
    outcomes: dict[str, None] = field(init=False, default_factory=dict)  # fields that may hold the outcome

    def __post_init__(self) -> None:
        options = self.request.options
        self.space = None if options.answers is None else AnswerSpace.of(options.answers)
        self.position = as_position(options.position)

    # Records

    def add(self, source: str, numbered: Iterator[tuple[int, Any]]) -> None:
        """The records of a file, with their rows."""
        first = list(islice(numbered, _LOOKED))
        some = [parse(one, source, row) if isinstance(one, bytes) else one for row, one in first]
        known = self._fields_of([_flat(record) for record in some], source)
        every = chain(first, numbered)
        while self._add_block(islice(every, _ROWS), source, known):
            pass

    def _fields_of(self, some: Sequence[Record], source: str) -> _Known:
        """The fields that hold one value, by the first records, with their types."""
        seen, nested_too = Fields(), set[str]()
        for record in some:
            nested_too |= {name for name, value in record.items() if name != ANSWERS and isinstance(value, dict | list)}
            seen.add({name: v for name, v in record.items() if v is not None and name not in nested_too})
        ignored = nested_too | {CLASSES, CONFIDENCES}
        ignored |= set(self.server.own_ids) - set((self.request.options.case or "").split(","))
        kinds = {name: settled(kind) for name, kind in seen.kinds.items() if name not in ignored}
        pa = need("pyarrow")
        if pa.types.is_nested(kinds.get(ANSWERS, pa.null())) and kinds[ANSWERS] != pa.list_(pa.string()):
            del kinds[ANSWERS]
        self.fields.update(kinds)
        case = next((name for name in named(list(kinds), CASES) if spelled(name) in CERTAIN_IDS), "")
        outcomes = named(list(kinds), TRUTH)
        if not case:
            self.without_ids.append(source)
        self.outcomes.update(dict.fromkeys(outcomes if len(outcomes) > 1 else []))
        return _Known(kinds, case, outcomes[0] if len(outcomes) == 1 else "")

    def _add_block(self, some: Iterator[tuple[int, Any]], source: str, known: _Known) -> bool:
        """Some records, of which only what counts is kept; whether there were any."""
        row, rows, values, cases, counts = (
            0,
            list[int](),
            list[list[Any]](),
            TokenColumns(with_bytes=self.space is not None and self.space.uses_bytes),
            Counter[str](),
        )
        for row, answer in some:
            record, found, tokens, why = self._read(answer, source, row)
            if isinstance(found, str):
                self.skipped[found] += 1
            if found != FAILED:
                counts.update(why)
                rows.append(row)
                flat = _flat(record)
                values.append([flat.get(name) for name in known.kinds])
                cases.add(tokens)
        if not rows:
            return bool(row)
        columns = {}
        for at, (name, kind) in enumerate(known.kinds.items()):
            try:
                columns[name] = as_array([fields[at] for fields in values], kind)
            except MisfitError as error:
                raise FileError(source, f"{quote(name)} {error.problem}.", row=rows[error.place]) from None
        try:
            top = cases.made()
        except CaseError as error:
            raise FileError(source, error.problem, row=rows[error.case or 0]) from None
        self.blocks.append(_Block(source, known, np.array(rows, np.int64), columns, top, counts))
        return True

    def _read(self, answer: Any, source: str, row: int) -> tuple[Any, Found, Sequence[Token], list[str]]:
        """A record, what was found in it, the tokens at the position of the answer, and what is said of that."""
        if isinstance(answer, bytes):
            outside, lists = cut(answer)
            with suppress(FieldError, ValueError, RecursionError, MsgspecError):  # then it is read whole
                return self._found(json_value(outside), lists)
            answer = parse(answer, source, row)
        try:
            return self._found(answer)
        except FieldError as error:
            raise FileError(source, f"this is no answer of the server: {error}.", row=row) from None

    def _found(self, record: Any, lists: Sequence[bytes] = ()) -> tuple[Any, Found, Sequence[Token], list[str]]:
        found = self.server.read(record, lambda note: self.said.update({note: None}))
        return record, found, *chosen(self.position, () if isinstance(found, str) else found, lists)

    # Lists

    def _add_batch(self, block: _Block, *, ranked: bool) -> None:
        """The lists of a block, as columns."""
        try:
            made = self._lists(block, ranked=ranked)
        except CaseError as error:
            others = "" if not error.more else f" {error.more:,} more records have the same problem."
            raise block.error(f"{error.problem} {error.remedy}{others}", error.case or 0) from None
        further = {name: block.columns[name] for name in _further(block.known.kinds)}
        pa = need("pyarrow")
        if block.known.case:
            made[CASE] = block.columns[block.known.case].cast(pa.string())
        if block.known.outcome:
            made[OUTCOME] = block.columns[block.known.outcome].cast(pa.string())
            self._require_outcomes(made[OUTCOME], block)
        self.batches.append((block.source, {**further, **made}))

    def _lists(self, block: _Block, *, ranked: bool) -> dict[str, Any]:
        pa, numbers, allowed = need("pyarrow"), block.columns.get(N_CLASSES), block.columns.get(ANSWERS)
        if self.space is None:
            tokens, removed = block.tokens.cleaned(ranked=ranked)
            self.summary.add(len(tokens), block.counts + removed)
            return {**vocabulary_lists(tokens), **({} if numbers is None else {N_CLASSES: numbers})}
        if numbers is not None and not pa.types.is_integer(numbers.type):
            raise FileError(block.source, f"{quote(N_CLASSES)} is the number of answers of a case, a whole number.")
        made = self.space.lists(
            block.tokens,
            n_answers=None if numbers is None else as_numpy(numbers.cast(pa.int64()).fill_null(0)),
            allowed=[one or () for one in allowed.to_pylist()]
            if allowed is not None and is_list(allowed.type)
            else None,
            ranked=ranked,
        )
        self.summary.add(len(block.rows), block.counts + made.counts, made.answer_mass)
        return {
            CLASSES: nested(made.offsets, made.classes),
            CONFIDENCES: nested(made.offsets, as_arrow(made.confidences)),
            N_CLASSES: as_arrow(made.n_classes.astype(np.int64)),
            ANSWER_MASS: pa.array(made.answer_mass, pa.float64(), mask=np.isnan(made.answer_mass)),
            LISTED_TOKENS: pa.array(made.listed, pa.int64(), mask=made.listed == 0),
        }

    def _require_outcomes(self, outcomes: Any, block: _Block) -> None:
        """Outcomes are declared answers."""
        classes = () if self.space is None else self.space.classes
        for name in outcomes.unique().to_pylist() if classes else ():
            if name is not None and name not in classes:
                problem = f"the outcome {quote(name)} is none of the answers {listed(classes)}."
                raise block.error(f"{problem}{did_you_mean(name, classes)}", outcomes.to_pylist().index(name))

    # The table

    def reader(self) -> ProducedReader:
        """The table, with notes."""
        for ranked in (True, False):
            self.summary = Summary(self.position)
            self.batches.clear()
            for block in self.blocks:
                self._add_batch(block, ranked=ranked)
            if not (self.summary.counts[UNSORTED] and self.summary.counts[SAMPLED]):
                break  # else tokens were removed as those of the most probable ones, which some case shows they are not
        self._require_answers()
        pa = need("pyarrow")
        kinds = {N_CLASSES: pa.int64(), ANSWER_MASS: pa.float64(), LISTED_TOKENS: pa.int64(), OUTCOME: pa.string()}
        made = {name: kind for name, kind in kinds.items() if any(name in batch for _, batch in self.batches)}
        columns = columns_of(**made, **_further(self.fields))
        if not self._called():
            del columns[CASE]
        schema = pa.schema(list(columns.items()))
        tables = [
            pa.record_batch([_filled(batch, n, k) for n, k in columns.items()], schema=schema)
            for _, batch in self.batches
        ]
        chunks = [TableChunk(b.source, 0, table, b.rows) for b, table in zip(self.blocks, tables, strict=True)]
        notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in self._notes())
        reader = ProducedReader(self.request.name, chunks, self.request.paths, notes)
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
        if any(CASE in batch for _, batch in self.batches):
            problem = "the records of this file have no case id, but those of other files have one."
            raise FileError(self.without_ids[0], problem)
        return False

    def _require_answers(self) -> None:
        name, cases, skipped = self.request.name, self.summary.cases, self.skipped
        if not cases:
            why = "every request failed" if skipped[FAILED] else "there is no answer in it"
            raise FileError(name, f"{why}: there is nothing to read.")
        if cases == skipped[WITHOUT] + skipped[REFUSED] and skipped[WITHOUT]:
            problem = "no answer has log-probabilities of the most probable tokens."
            raise FileError(name, f"{problem} {self.server.remedy}")
        if self.summary.nowhere == cases > skipped[REFUSED]:
            place = argument("position", self.position)
            raise FileError(name, f"no answer has a token at {place}: name the position of the answer.")

    def _notes(self) -> Iterator[str]:
        skipped, cases = self.skipped, self.summary.cases
        if self.without_ids and self.request.options.case is None and not any(CASE in b for _, b in self.batches):
            yield (
                "responses have no id of their question: cases go by the order of the records. Add a field with one, "
                "such as question_id, to match files in another order"
            )
        if self.outcomes:
            names = listed(list(self.outcomes))
            yield f"several fields may hold the outcome ({names}): name one, {argument('outcome')}"
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
        yield from self.summary.notes(skipped[REFUSED] + skipped[WITHOUT])


def _flat(record: Any) -> Record:
    """A record with the fields in its object `metadata` beside the others; nothing of what is no mapping."""
    if not isinstance(record, Mapping):
        return {}
    metadata = record.get("metadata")
    return {**record, **{f"metadata.{k}": v for k, v in metadata.items()}} if isinstance(metadata, dict) else record


def _further(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are columns as they are, with their types."""
    return {name: kind for name, kind in kinds.items() if name not in _OWN and not is_list(kind)}


def _filled(batch: Mapping[str, Any], name: str, kind: Any) -> Any:
    """A column of a batch; of nulls where it has none."""
    if name not in batch:
        return need("pyarrow").nulls(len(batch[CLASSES]), kind)
    return batch[name] if batch[name].type == kind else batch[name].cast(kind)
