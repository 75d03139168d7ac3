"""Files and frames as open tables with a layout, and the column of each that holds the case ids of them all."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from toplist._text import argument, listed, quote
from toplist._typing import Floats
from toplist.io import producers
from toplist.io.answers import AnswerSpace
from toplist.io.batches import Batch, case_by_case, of_one_kind, starts_of, to_batch, to_batches
from toplist.io.columns import CaseIndex, UniqueIds, are_text, as_arrow, as_numpy, identifiers, is_half, plain
from toplist.io.layout import Layout
from toplist.io.opening import open_table, require_effect
from toplist.io.options import ReadOptions, Truth
from toplist.io.producers.base import ANSWER_MASS, CLASSES, CONFIDENCES, LISTED_TOKENS, OUTCOME
from toplist.io.readers import Reader, TableChunk
from toplist.io.readers.soundness import sound
from toplist.io.recognition.case_ids import case_columns, require_whole_cases
from toplist.io.recognition.layouts import recognise, require_columns
from toplist.io.recognition.table import Produced, Table, matching
from toplist.io.views import View, view_of, with_columns
from toplist.io.words import TRUTH, named
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs

log = logging.getLogger("toplist")


@dataclass(frozen=True)
class OpenTable:
    """Where predictions, or the truth, come from."""

    name: str
    reader: Reader
    layout: Layout
    options: ReadOptions = field(default_factory=ReadOptions)
    truth: bool = False
    aligned: bool = True  # whether there are other files with the same cases
    produced: Produced | None = None
    remarks: tuple[str, ...] = ()  # sentences about what was read
    outcome: str | None = None  # of predictions: the column with outcomes that they carry
    told: str = ""  # how it is read, where the layout does not say it

    @property
    def path(self) -> str:
        """The file, or what the table was called."""
        return self.reader.name

    @property
    def names(self) -> tuple[str, ...]:
        """The classes of a wide table, in the order of its columns."""
        return self.layout.class_names

    @property
    def repairs(self) -> Repairs:
        """What is repaired in its lists; those of a producer are of probabilities."""
        made = self.options.repairs
        return made if self.produced is None else replace(made, scale="probability")

    @property
    def reading(self) -> str:
        """How it is read: the layout, which column is what, and which are ignored; or the producer."""
        how = self.told
        if not how and self.produced is not None:
            how = str(self.produced)
        how = how or self._described
        how = f"{how}; {self.reader.row}" if self.reader.row else how
        rows = self.reader.where if isinstance(self.reader, View) else ()
        return f"{how}; rows with {' and '.join(rows)}" if rows else how

    @property
    def _described(self) -> str:
        left = tuple(name for name in self.layout.ignored if name != self.outcome)
        used = tuple(name for name in self.layout.extra if name not in self.layout.ignored)  # not only looked at
        how = replace(self.layout, ignored=left, extra=used).describe(truth=self.truth, aligned=self.aligned)
        return how if self.outcome is None else f"{how}; outcome in {quote(self.outcome)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was read; how many rows conditions keep is known after the first pass."""
        kept = self.reader.filtering if isinstance(self.reader, View) else ""
        return (*self.remarks, f"Read: {kept}.") if kept else self.remarks

    @property
    def has_other(self) -> bool:
        """Whether a class of all that is no declared answer is among the classes: no outcome is of it."""
        declared, made = self.options.answers, ANSWER_MASS in self.reader.schema.names
        return made and (declared is None or AnswerSpace.of(declared).other == "class")

    def answer_mass(self) -> Floats:
        """The probability on declared answers, of each case where it is known."""
        return self._known(ANSWER_MASS)

    def listed_tokens(self) -> Floats:
        """How many tokens a server listed, of each case where it listed any."""
        return self._known(LISTED_TOKENS)

    def _known(self, column: str) -> Floats:
        if column not in self.reader.schema.names:
            return np.zeros(0)
        columns = [piece.table.column(0).drop_null() for piece in self.reader.pieces([column])]
        return np.concatenate([np.zeros(0), *map(as_numpy, columns)])

    def batches(self, *, halves: bool = False) -> Generator[Batch, None, None]:
        """The cases in the order of the file; those of a long table in the order of their first rows.

        With `halves`, what lacks its class or its confidence is left out and counted, not refused.
        """
        halves = halves or self.options.blanks == "drop"
        pieces = self.pieces(self.layout.columns)
        if self.layout.kind != "long":
            yield from self._rounded(of_one_kind(to_batch(piece, self.layout, halves=halves) for piece in pieces))
            return
        if not self._in_runs:
            pieces = case_by_case(pieces, self.layout, self.path)
        yield from self._rounded(of_one_kind(to_batches(pieces, self.layout, halves=halves)))

    @cached_property
    def _in_runs(self) -> bool:
        """Whether the rows of each case of a long table follow each other.

        Its ids are read once for that. Without it, cases would be scored before all of their rows are known.
        """
        unique = UniqueIds()
        for ids, _ in self._runs():
            unique.see(ids)
        return unique.rising or not len(CaseIndex((ids for ids, _ in self._runs()), text=self.ids_are_text).repeated)

    def _runs(self) -> Iterator[tuple[Any, Any]]:
        """The ids of a long table where they change, and their rows."""
        source, last = "", None
        for piece in self.pieces([str(self.layout.case)]):
            rows, column = piece.row_numbers, plain(piece.table.column(0))
            ids = identifiers(column, piece.source, rows)
            new = starts_of(ids)
            if len(ids) and piece.source == source and ids[0] == last:
                new[0] = False
            source, last = piece.source, ids[len(ids) - 1] if len(ids) else last
            yield ids.filter(as_arrow(new)), rows[new]

    @property
    def ids_are_text(self) -> bool:
        """Whether case ids are text, or else whole numbers."""
        return are_text([self.reader.schema.field(self.layout.case).type])

    def _rounded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Batches that know what their numbers were: text, as in JSON, or half floats."""
        columns = self.layout.classes if self.layout.kind == "wide" else self.layout.confidences
        kinds = [one.type for one in self.reader.schema if one.name in columns]
        half = bool(kinds) and all(map(is_half, kinds))
        for batch in batches:
            made = replace(batch, precision=11) if half else batch
            if self.reader.decimal and made.rounding is None and columns:
                made = replace(made, rounding=np.full(len(made), np.nan))
            yield made

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, with text and numbers of the usual kinds."""
        pieces = self.reader.pieces(columns)
        return pieces if self.reader.text else map(sound, pieces)

    def ids(self) -> Iterator[tuple[Any, Any]]:
        """The case ids alone, and the row where each case begins."""
        if self.layout.kind == "long":
            yield from self._runs() if self._in_runs else ((batch.ids, batch.rows) for batch in self.batches())
            return
        for piece in self.pieces([str(self.layout.case)]):
            yield identifiers(piece.table.column(0), piece.source, piece.row_numbers), piece.row_numbers


def open_source(what: Any, name: str, options: ReadOptions, space: ClassSpace | None = None) -> OpenTable:
    """A source from a path, a pattern, a folder, or a table in memory."""
    table = open_table(what, name, options)
    require_effect([table])
    return open_together([replace(table, space=space)])[0]


def open_together(models: Sequence[Table], truth: Table | None = None, carried: Truth | None = None) -> list[OpenTable]:
    """Tables that belong together, the truth before the others: which column is what is settled among all of them.

    Where there is no truth among them, `carried` says which columns of the predictions are about outcomes.
    """
    every = [_with_columns_of_producer(table) for table in (*filter(None, [truth]), *models)]
    composite = next((table.options.case for table in every[-len(models) :] if "," in (table.options.case or "")), None)
    every = [_viewed(table, composite) for table in every]
    if truth is not None:
        every = [every[0], *(_apart(table, every[0]) for table in every[1:])]
    if carried is not None:
        every = [_with_outcome(table, carried) for table in every]
    for table in every:
        require_columns(table)
    _require_ignored(every)
    return [
        _open(table, case, [other for other in every if other is not table])
        for table, case in zip(every, case_columns(every), strict=True)
    ]


def _open(table: Table, case: str | None, others: Sequence[Table]) -> OpenTable:
    """The table with its layout, in which the reader takes note of what the columns mean."""
    layout = recognise(table, case)
    reader = table.reader
    if not set(layout.columns) <= set(table.names):
        reader = with_columns(reader, layout.columns)
    both = next((name for name in layout.classes if name in layout.confidences), None)
    if both is not None:
        table.refuse(
            f"the column {quote(both)} cannot hold both the classes and the confidences: name one column for each."
        )
    reader.prepare(layout)
    require_whole_cases(table, layout, others)
    return OpenTable(
        table.name,
        reader,
        layout,
        table.options,
        table.truth,
        bool(others),
        table.produced,
        table.notes,
        table.outcome,
    )


def _with_columns_of_producer(table: Table) -> Table:
    """The columns of a producer's table have names of their own; some producers fulfil conditions themselves."""
    if table.produced is None:
        return table
    columns: dict[str, Any] = {"class_column": OUTCOME}
    if not table.truth:
        columns = {"layout": "lists", "class_column": CLASSES, "confidence": CONFIDENCES}
    if "where" in producers.load(table.produced.name).options:
        columns["where"] = ()
    return replace(table, options=replace(table.options, **columns))


def _viewed(table: Table, composite: str | None) -> Table:
    """The same with the paths, conditions and composite ids that are asked for, or that other tables have."""
    options = table.options
    named = {options.case, options.class_column, options.confidence, *table.extra} - {None}
    if not (options.where or options.records or composite) and named <= set(table.names):
        return table
    view = view_of(table.reader, options, table.extra, composite)
    return replace(table, reader=view, _looks={})


def _with_outcome(table: Table, about: Truth) -> Table:
    """Predictions that carry outcomes: these, and what is known beside them, are no predictions.

    Outcomes are in the column that is named; else a producer says where. Where the truth is "same", the only column
    with a usual name of outcomes holds them.
    """
    names = table.names
    outcome = about.outcome if about.outcome in names else None
    if table.produced is not None:
        return replace(table, outcome=outcome or (OUTCOME if OUTCOME in names else None))
    if about.is_carried and about.outcome is None:
        able = named([name for name in names if name != table.options.class_column], TRUTH)
        if len(able) > 1:
            ways = " or ".join(argument("outcome", name) for name in able)
            table.refuse(f"{listed(able)} may all hold outcomes. Say which: {ways}.")
        outcome = next(iter(able), None)
    known = [name for name in about.columns.values() if isinstance(name, str) and name in names]
    return _without(replace(table, outcome=outcome), *(known if outcome is None else [outcome, *known]))


def _apart(table: Table, truth: Table) -> Table:
    """Predictions beside the truth; where both are in one file, the outcome is named, and is no prediction."""
    if not table.files & truth.files:
        return table
    if table.files != truth.files:
        table.refuse(f"the truth, {truth.source}, is among these files: name the predictions without it.")
    outcome = truth.options.class_column
    if outcome is None:
        table.refuse(
            f"predictions and truth ({truth.source}) are the same file: say which column holds the outcomes, "
            f"{argument('outcome')}."
        )
    return _without(table, outcome)


def _without(table: Table, *names: str) -> Table:
    """The table with these columns left aside."""
    return replace(table, options=replace(table.options, ignore=(*table.options.ignore, *names)))


def _require_ignored(tables: Sequence[Table]) -> None:
    """What is to be ignored is there, in some file at least."""
    for pattern in dict.fromkeys(pattern for table in tables for pattern in table.options.ignore):
        about = [table for table in tables if pattern in table.options.ignore]
        if not any(matching(table.names, pattern) for table in about):
            names = dict.fromkeys(name for table in about for name in table.names)
            about[0].refuse(
                f"{argument('ignore', pattern)} has no effect: no column is called so. The columns are "
                f"{', '.join(map(quote, list(names)[:8]))}."
            )


def tell(sources: Sequence[OpenTable]) -> None:
    """Log how each source is read: those that are read alike in one line, and then what is to be noted of each."""
    alike: dict[tuple[bool, str], list[str]] = {}
    for source in sorted(sources, key=lambda one: one.truth):
        alike.setdefault((source.truth, source.reading), []).append(source.path)
    for (truth, reading), paths in alike.items():
        which = paths[0] if len(paths) == 1 else f"{len(paths):,} files ({listed(paths, 3, str)})"
        log.info("%s%s: %s", "truth: " if truth else "", which, reading)
    noted: dict[str, list[str]] = {}
    for source in sources:
        for note in source.notes:
            noted.setdefault(note, []).append(source.path)
    for note, paths in noted.items():
        log.info("%s: %s", listed(paths, 3, str), note)
