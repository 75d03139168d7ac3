"""Files and frames as open tables with a layout, and the column of each that holds the case ids of them all."""

from __future__ import annotations

import logging
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from toplist._files import identity, need
from toplist._text import argument, listed, quote
from toplist._typing import Floats
from toplist.errors import AlignmentError, FileError
from toplist.io import producers
from toplist.io.answers import AnswerSpace
from toplist.io.batches import Batch, case_by_case, of_one_kind, to_batch, to_batches
from toplist.io.columns import (
    CASE,
    CERTAIN,
    CLASS,
    CONFIDENCE,
    NEITHER,
    RUN,
    TRUTH,
    FirstRows,
    Table,
    as_numpy,
    identifiers,
    is_half,
    is_named,
    named,
    numbered,
    plain,
    sound,
    spelled,
    unique_values,
)
from toplist.io.layouts import Layout, LayoutHints, ignored, recognise, require_columns, require_header
from toplist.io.opening import Opened, Produced, open_table, require_effect
from toplist.io.options import ReadOptions, Truth
from toplist.io.producers.base import ANSWER_MASS, CLASSES, CONFIDENCES, LISTED_TOKENS, OUTCOME
from toplist.io.readers import Reader, TableChunk
from toplist.io.views import View, view_of, with_columns
from toplist.lists.validation import Repairs

log = logging.getLogger("toplist")


@dataclass(frozen=True, slots=True)
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
        how = replace(self.layout, ignored=left).describe(truth=self.truth, aligned=self.aligned)
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

    def batches(self, *, together: bool = False, halves: bool = False) -> Generator[Batch, None, None]:
        """The cases in the order of the file; `together` brings rows of a long table together that are apart.

        With `halves`, what lacks its class or its confidence is left out and counted, not refused.
        """
        halves = halves or self.options.blanks == "drop"
        pieces = self.pieces(self.layout.columns)
        if self.layout.kind != "long":
            yield from self._rounded(of_one_kind(to_batch(piece, self.layout, halves=halves) for piece in pieces))
            return
        grouped = to_batches(
            case_by_case(pieces, self.layout, self.path) if together else pieces, self.layout, halves=halves
        )
        yield from self._rounded(of_one_kind(grouped))

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
        """The case ids alone, and their rows, of any layout but the long one."""
        for piece in self.pieces([str(self.layout.case)]):
            yield identifiers(piece.table.column(0), piece.source, piece.row_numbers), piece.row_numbers


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What is to be read, what is known of its layout, and how it is read."""

    data: Any
    hints: LayoutHints
    options: ReadOptions = field(default_factory=ReadOptions)


def open_source(what: Any, name: str, hints: LayoutHints, options: ReadOptions | None = None) -> OpenTable:
    """A source from a path, a pattern, a folder, or a table in memory."""
    return open_sources({name: TableRequest(what, hints, ReadOptions() if options is None else options)})[0]


def open_sources(
    asked: Mapping[str, TableRequest], truth: TableRequest | None = None, carried: Truth | None = None
) -> list[OpenTable]:
    """Sources that belong together, the truth before the others: which column is what is settled among all of them.

    Where there is no truth among them, `carried` says which columns of the predictions are about outcomes.
    """
    made = {name: open_table(one.data, name, one.options) for name, one in asked.items()}
    require_effect(made)
    opened = [_case_column_request(name, one, asked[name].hints) for name, one in made.items()]
    composite = next((one.hints.case for one in opened if "," in (one.hints.case or "")), None)
    opened = [one.viewed(composite) for one in opened]
    if truth is not None:
        options = truth.options
        if truth.hints.class_column is not None:
            options = replace(options, class_column=truth.hints.class_column)
        found = open_table(truth.data, "truth", options, truth=True)
        require_effect({"truth": found})
        own = _case_column_request("truth", found, truth.hints).viewed(composite)
        opened = [own, *(_apart(one, own) for one in opened)]
    opened = [one if carried is None else _with_outcome(one, carried) for one in opened]
    for one in opened:
        require_header(one.table)
        require_columns(one.table, one.hints)
    _require_ignored(opened)
    sources = []
    for one, case in zip(opened, case_columns(opened), strict=True):
        layout = one.layout(case)
        reader = one.table.reader
        if not set(layout.columns) <= set(one.table.names):
            reader = with_columns(reader, layout.columns)
        both = next((name for name in layout.classes if name in layout.confidences), None)
        if both is not None:
            raise FileError(
                reader.name,
                f"the column {quote(both)} cannot hold both the classes and the confidences: name one column for each.",
            )
        reader.prepare(layout)
        if layout.case is None and len(opened) > 1:
            _require_natural_order(reader)
            _require_no_gaps(one)
        if layout.kind == "long":
            _require_one_run(one, layout)
            if one.hints.case is None:
                _require_whole_ids(one, layout, [other for other in opened if other is not one])
        sources.append(
            OpenTable(
                one.name,
                reader,
                layout,
                one.opened.options,
                one.hints.truth,
                len(opened) > 1,
                one.opened.produced,
                one.opened.notes,
                one.outcome,
            )
        )
    return sources


def _case_column_request(name: str, opened: Opened, hints: LayoutHints) -> CaseColumnRequest:
    """A table with what is known of it; the columns of a producer's table have names of their own."""
    if opened.produced is not None and hints.truth:
        hints = replace(hints, class_column=OUTCOME)
    elif opened.produced is not None:
        hints = replace(hints, layout="lists", class_column=CLASSES, confidence=CONFIDENCES)
    return CaseColumnRequest(name, Table(opened.reader), hints, opened)


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


def _with_outcome(one: CaseColumnRequest, about: Truth) -> CaseColumnRequest:
    """Predictions that carry outcomes: these, and what is known beside them, are no predictions.

    Outcomes are in the column that is named; else a producer says where. Where the truth is "same", the only column
    with a usual name of outcomes holds them.
    """
    names = one.table.names
    if one.opened.produced is not None:
        outcome = OUTCOME if OUTCOME in names else None
        return replace(one, outcome=about.outcome if about.outcome in names else outcome)
    outcome = about.outcome if about.outcome in names else None
    if about.is_carried and about.outcome is None:
        able = named([name for name in names if name != one.hints.class_column], TRUTH)
        if len(able) > 1:
            ways = " or ".join(argument("outcome", name) for name in able)
            raise FileError(one.table.source, f"{listed(able)} may all hold outcomes. Say which: {ways}.")
        outcome = next(iter(able), None)
    known = [name for name in about.columns.values() if isinstance(name, str) and name in names]
    no_predictions = tuple(known if outcome is None else [outcome, *known])
    return replace(one, outcome=outcome, hints=replace(one.hints, ignore=(*one.hints.ignore, *no_predictions)))


def _apart(one: CaseColumnRequest, truth: CaseColumnRequest) -> CaseColumnRequest:
    """Predictions beside the truth; where both are in one file, the outcome is named, and is no prediction."""
    mine, theirs = one.files, truth.files
    if not mine & theirs:
        return one
    if mine != theirs:
        raise FileError(
            one.table.source, f"the truth, {truth.table.source}, is among these files: name the predictions without it."
        )
    outcome = truth.hints.class_column
    if outcome is None:
        raise FileError(
            one.table.source,
            f"predictions and truth ({truth.table.source}) are the same file: say which column holds the outcomes, "
            f"{argument('outcome')}.",
        )
    return replace(one, hints=replace(one.hints, ignore=(*one.hints.ignore, outcome)))


def _require_natural_order(reader: Reader) -> None:
    """Parts are read in the order of their names: without ids, part-10 would come before part-2."""
    names = [path.name for path in reader.paths]
    natural = sorted(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)])
    if natural != names:
        odd = next(place for place, name in enumerate(names) if name != natural[place])
        raise FileError(
            reader.name,
            f"without case ids, the order of the parts counts, and {quote(names[odd])} would be read where "
            f"{quote(natural[odd])} is meant: number the parts with leading zeros, or give each row a case id.",
        )


def _require_no_gaps(one: CaseColumnRequest) -> None:
    """Without ids, answers after one that is missing would be taken for those of other questions."""
    gaps = getattr(one.opened.reader, "gaps", 0)
    if gaps:
        raise FileError(
            one.table.source,
            f"{gaps:,} request{'s' * (gaps > 1)} failed, and without case ids it is not known which question each of "
            "the other answers belongs to: add a field with an id to the records, or repeat these requests.",
        )


def _require_one_run(one: CaseColumnRequest, layout: Layout) -> None:
    """The rows of several models or runs in one long table would be put together into one list."""
    left = set(ignored(one.table.names, one.hints.ignore))
    for name in named([name for name in layout.ignored if name not in left], RUN):
        values = {
            value
            for piece in one.table.reader.pieces([name])
            for value in plain(piece.table.column(0)).unique().to_pylist()
        }
        if len(values) > 1:
            few = ", ".join(quote(value) for value in sorted(map(str, values))[:3])
            raise FileError(
                one.table.source,
                f"the column {quote(name)} holds {len(values):,} values ({few}): the rows of a case would be put "
                f"together into one list, whatever stands there. Give each its own file, or say "
                f"{argument('ignore', name)} if that is meant.",
            )


def _require_whole_ids(one: CaseColumnRequest, layout: Layout, others: Sequence[CaseColumnRequest]) -> None:
    """Rows that another column tells apart, as the day beside the site, would be put together into one list.

    Such a column is there in the truth too, where it is about the case.
    """
    left, case = set(ignored(one.table.names, one.hints.ignore)), str(layout.case)
    for name in layout.ignored:
        shared = bool(others) and all(name in other.table.names for other in others)
        if name in left or not one.table.is_scalar(name) or not shared:
            continue
        if is_named(name, TRUTH):
            continue
        found = _two_of_one(one.table, case, name)
        if found:
            both = argument("case", f"{name},{case}")
            remedy = f"say {both} if both tell cases apart"
            raise FileError(
                one.table.source,
                f"rows of case {quote(found[0])} have {quote(found[1])} and {quote(found[2])} in {quote(name)}, and "
                f"would be put together into one list: {remedy}, or {argument('ignore', name)} if that is meant.",
            )


def _two_of_one(table: Table, case: str, name: str) -> tuple[Any, ...]:
    """A case whose rows have two values in a column, and these; nothing where there is none."""
    pa = need("pyarrow")
    pairs = None
    for piece in table.reader.pieces([case, name]):
        columns = [need("pyarrow.compute").cast(plain(piece.table.column(at)), pa.string()) for at in (0, 1)]
        new = pa.table(columns, ["case", "value"])
        pairs = (new if pairs is None else pa.concat_tables([pairs, new])).group_by(["case", "value"]).aggregate([])
    if pairs is None:
        return ()
    pairs = pairs.filter(need("pyarrow.compute").is_valid(pairs["value"]))
    values = pairs.group_by("case").aggregate([("value", "min"), ("value", "max")])
    odd = values.filter(need("pyarrow.compute").not_equal(values["value_min"], values["value_max"]))
    return tuple(odd.slice(0, 1).to_pylist()[0][key] for key in ("case", "value_min", "value_max")) if len(odd) else ()


def _require_ignored(opened: Sequence[CaseColumnRequest]) -> None:
    """What is to be ignored is there, in some file at least."""
    every = dict.fromkeys(pattern for one in opened for pattern in one.hints.ignore)
    for pattern in every:
        about = [one for one in opened if pattern in one.hints.ignore]
        if not any(ignored(one.table.names, [pattern]) for one in about):
            names = dict.fromkeys(name for one in about for name in one.table.names)
            raise FileError(
                about[0].table.source,
                f"{argument('ignore', pattern)} has no effect: no column is called so. The columns are "
                f"{', '.join(map(quote, list(names)[:8]))}.",
            )


_LOOKED = 1000  # rows whose ids are compared
_STRONG = frozenset(CASE[: CASE.index("question")])  # names that say what a case is, not what is in it


@dataclass(frozen=True)
class CaseColumnRequest:
    """A table, and what the caller says about it."""

    name: str
    table: Table
    hints: LayoutHints
    opened: Opened
    outcome: str | None = None  # the column with outcomes of predictions that carry them

    def viewed(self, composite: str | None) -> CaseColumnRequest:
        """The same with the paths, conditions and composite ids that are asked for, or that other tables have."""
        hints, produced = self.hints, self.opened.produced
        if produced is not None and "where" in producers.load(produced.name).options:
            hints = replace(hints, where=())
        named = {hints.case, hints.class_column, hints.confidence, *hints.extra} - {None}
        if not (hints.where or hints.records or composite) and named <= set(self.table.names):
            return self
        return replace(self, table=Table(view_of(self.table.reader, hints, composite)))

    @property
    def called(self) -> str:
        """The name of the table, for options that are about it alone."""
        return "truth" if self.hints.truth else self.name

    @cached_property
    def without_ids(self) -> Layout:
        """The layout of the table if no column holds case ids."""
        return recognise(self.table, self.hints, None)

    def layout(self, case: str | None) -> Layout:
        """The layout of the table if this column holds case ids, or none."""
        return self.without_ids if case is None else recognise(self.table, self.hints, case)

    @property
    def files(self) -> frozenset[Any]:
        """What is read, however it is called: files, or a table in memory."""
        reader = self.table.reader
        if not reader.paths:
            return frozenset([id(reader if reader.origin is None else reader.origin)])
        return frozenset(identity(path) for path in reader.paths)


def case_columns(asked: Sequence[CaseColumnRequest]) -> list[str | None]:
    """The column of case ids of each table; None for all of them where rows are matched by their position.

    Ids are what the caller names; else a known name that all tables have; else the known name of each; else a column
    of the same name in all tables whose values are unique. Position is the last resort: it is taken where the caller
    asks for it, or where no table has a column that could be an id.
    """
    told = next((one for one in asked if one.hints.case is not None), None)
    if any(one.hints.by_position for one in asked):
        if told is not None:
            both = f"{argument('by_position', True)} and {argument('case', told.hints.case)}"
            raise AlignmentError(f"{both} contradict each other: give one of them.")
        return [None] * len(asked)
    bare = next((one for one in asked if one.table.bare), None)
    if bare is not None and len(asked) > 1:
        others = [one for one in asked if not one.table.bare and _known(one)]
        if told is None and len(others) > 1:
            raise AlignmentError(
                f"{bare.name} is a list or an array, which has no case ids, but {others[0].name} and "
                f"{others[1].name} have some. Give a frame or a Series with an index, or pass "
                f"{argument('by_position', True)} if all are in the same order."
            )
        if told is not None:
            raise AlignmentError(
                f"{argument('case', told.hints.case)} has no effect: {bare.name} is a list or an array, which has no "
                "case ids and is matched by position. Give a frame or a Series with an index."
            )
        return [None] * len(asked)
    chosen = [one.hints.case for one in asked]
    open_ = [at for at, name in enumerate(chosen) if name is None]
    known = {at: _known(asked[at]) for at in open_}
    said = [name for name in chosen if name is not None]
    shared = [name for name in _common([known[at] for at in open_]) if open_]
    if not said and len(asked) > 1:
        loose = {one.table.index for one in asked if not one.table.named_index}  # says little beside another id
        scalar = [n for n in shared if n not in loose and all(one.table.is_scalar(n) for one in asked)]
        _require_one_pairing(asked, scalar[:2])
    if not said and not shared and len(asked) > 1:
        _require_one_strong(asked, known)
    for at in open_:
        mine = next((name for name in said if name in asked[at].table.names), None)
        chosen[at] = mine or next(iter(shared), None) or next(iter(known[at]), None)
    if all(name is not None for name in chosen):
        return chosen
    if not said:
        key = _key(asked)
        if key is not None:
            return [key] * len(asked)
    if any(name is not None for name in chosen):
        _refuse_some(asked, chosen)
    if len({one.files for one in asked}) > 1:
        _require_nothing_else(asked)
    elif len(asked) == 1:
        _require_rows(asked[0])
    return [None] * len(asked)


def _known(one: CaseColumnRequest) -> list[str]:
    """The columns with known names of ids, the index of a dataframe first."""
    table, hints = one.table, one.hints
    out = {hints.class_column, hints.confidence, *ignored(table.names, hints.ignore)}
    labels = set(hints.labels or ())
    others = [name for name in table.names if name not in labels]
    all_classes = bool(labels) and len(table.names) - len(others) == len(labels)
    names = [*named(others, CASE), *([] if all_classes else named([n for n in table.names if n in labels], CASE))]
    if table.index is not None:  # before all names if it has one of its own, else after those that are certain
        at = 0 if table.named_index else sum(spelled(name) in CERTAIN for name in names)
        names.insert(at, table.index)
    return [name for name in dict.fromkeys(names) if name not in out and _can_be_id(table, name)]


def _can_be_id(table: Table, name: str) -> bool:
    """A class that is called image, in a table with a column per class, holds fractions."""
    certain = name == table.index or spelled(name) in CERTAIN
    return certain or (table.is_scalar(name) and not table.is_fraction(name))


def _common(lists: Sequence[list[str]]) -> list[str]:
    """The names in all lists, in the order of the first."""
    return [name for name in (lists[0] if lists else []) if all(name in other for other in lists)]


def _key(asked: Sequence[CaseColumnRequest]) -> str | None:
    """A column of the same name in all tables that is nothing else, and whose values are unique.

    What programs write beside each list, such as the time, may be unique in each file and still be about the run.
    """
    if len(asked) < 2 or all(one.opened.produced is not None for one in asked):
        return None
    found = [name for name in asked[0].table.names if all(_may_be_key(one, name) for one in asked)]
    found = [name for name in found if all(_is_key(one, name) for one in asked)]
    if len(found) > 1:
        ways = " or ".join(argument("case", name) for name in found[:4])
        raise AlignmentError(f"{listed(found)} could each be the case ids. Say which: {ways}.")
    return found[0] if found else None


def _may_be_key(one: CaseColumnRequest, name: str) -> bool:
    table, hints = one.table, one.hints
    if name not in table.names or not table.is_scalar(name):
        return False
    if name in (hints.class_column, hints.confidence) or name in ignored(table.names, hints.ignore):
        return False
    if name in (hints.labels or ()) or is_named(name, (*CLASS, *CONFIDENCE, *TRUTH, *NEITHER)):
        return False
    if numbered([name], (*CLASS, *CONFIDENCE)):
        return False
    return any(other not in (name, *hints.extra) for other in table.names)


def _is_key(one: CaseColumnRequest, name: str) -> bool:
    """Whether the values tell cases apart; those of a long table are there once per class."""
    if not _tells_apart(one.table.look(name)):
        return False
    long = not one.hints.truth and bool(one.hints.confidence or named(one.table.names, CONFIDENCE))
    return long or unique_values(one.table, name)


def _require_one_pairing(asked: Sequence[CaseColumnRequest], names: Sequence[str]) -> None:
    """Two columns that could be ids mean the same cases: one may be the number of the row in each file."""
    if len(names) < 2 or len({one.files for one in asked}) == 1:
        return
    first, second = names
    ours = _pairs_of(asked[0].table, names, None)
    for one in asked[1:]:
        theirs = _pairs_of(one.table, names, set(ours))
        odd = next((key for key, value in theirs.items() if ours[key] != value), None)
        if odd is not None:
            raise AlignmentError(
                f"{quote(first)} and {quote(second)} are in all files, but do not go together in the same way: "
                f"{quote(odd)} stands beside {quote(ours[odd])} in {asked[0].table.source}, and beside "
                f"{quote(theirs[odd])} in {one.table.source}. Say which are the case ids: "
                f"{argument('case', first)} or {argument('case', second)}."
            )


def _require_one_strong(asked: Sequence[CaseColumnRequest], known: Mapping[int, list[str]]) -> None:
    """Ids that tables call differently go together where each table has one."""
    if not all(known.values()):
        return
    for at, names in known.items():
        strong = [name for name in names if spelled(name) in _STRONG]
        if len(strong) > 1:
            other = next(one for one in asked if one is not asked[at])
            own = asked[at].called
            raise AlignmentError(
                f"{listed(strong)} of {asked[at].table.source} could each be the case ids that "
                f"{other.table.source} has in {quote(known[asked.index(other)][0])}. Say which: "
                f"{argument('case', strong[0], own)} or {argument('case', strong[1], own)}."
            )


def _pairs_of(table: Table, names: Sequence[str], wanted: set[str] | None) -> dict[str, str]:
    """What stands beside an id: of the first rows, or of ids that are wanted wherever they are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    found: dict[str, str] = {}
    for piece in table.reader.pieces(list(names)):
        keys, values = (pc.cast(plain(piece.table.column(at)), pa.string()) for at in (0, 1))
        if wanted is None:
            return dict(zip(keys[:_LOOKED].to_pylist(), values[:_LOOKED].to_pylist(), strict=True))
        inside = pc.is_in(keys, value_set=pa.array(list(wanted), pa.string()))
        found |= dict(zip(keys.filter(inside).to_pylist(), values.filter(inside).to_pylist(), strict=True))
    return found


def _refuse_some(asked: Sequence[CaseColumnRequest], chosen: Sequence[str | None]) -> None:
    """Some tables have ids, others have not."""
    lacks = next(one for one, name in zip(asked, chosen, strict=True) if name is None)
    has, name = next((one, name) for one, name in zip(asked, chosen, strict=True) if name is not None)
    raise AlignmentError(
        f"{lacks.table.source}: there is no column with case ids, but {has.table.source} has one ({quote(name)}). "
        f"Name it with {argument('case')} (for one file, {argument('case', file=lacks.called)}), or pass "
        f"{argument('by_position', True)} if all files are in the same order.{_unique(lacks)}"
    )


def _require_nothing_else(asked: Sequence[CaseColumnRequest]) -> None:
    """Rows are matched by position without a word only where no column could be an id."""
    paths = listed([one.table.source for one in asked], 3, str)
    for one in asked:
        others = _unexplained(one)
        if others:
            raise AlignmentError(
                f"no column with case ids was found in {paths}, and rows are not matched by position unless that is "
                f"asked for: pass {argument('by_position', True)} if all files are in the same order. Or name the "
                f"ids, if {listed(others)} of {one.table.source} holds them: {argument('case', others[0])}."
                f"{_unique(one)}"
            )


def _require_rows(one: CaseColumnRequest) -> None:
    """A row is a list of one class only where no column could say which rows belong together."""
    layout = one.without_ids
    if layout.kind == "ranked" and len(layout.classes) == 1 and one.hints.layout != "ranked":
        others = _unexplained(one)
        if others:
            raise AlignmentError(
                f"{one.table.source}: no column with case ids was found. Name it, if {listed(others)} holds them: "
                f"{argument('case', others[0])}; or pass {argument('by_position', True)} if every row is a case."
            )


def _unexplained(one: CaseColumnRequest) -> list[str]:
    """The columns that nothing is known of, and that could be ids; a producer knows which of its fields are ids."""
    if one.opened.produced is not None:
        return []
    table, left = one.table, set(ignored(one.table.names, one.hints.ignore))
    return [name for name in one.without_ids.ignored if name not in left and _could_be_id(table, name)]


def _could_be_id(table: Table, name: str) -> bool:
    if not table.is_scalar(name) or is_named(name, (*NEITHER, *TRUTH, *CONFIDENCE)):
        return False
    return _tells_apart(table.look(name))


def _tells_apart(look: FirstRows) -> bool:
    """Whether values are such as ids are: neither blank nor fractions nor zeros and ones."""
    return not (look.blank or look.fractional or (look.number and look.low >= 0 and look.high <= 1))


def _unique(one: CaseColumnRequest) -> str:
    """The columns of a table whose values are unique, as a hint."""
    if one.opened.produced is not None:
        return ""
    names = [name for name in one.table.names if _may_be_key(one, name) and _could_be_id(one.table, name)]
    found = [name for name in names[:5] if unique_values(one.table, name)]
    return f" The values of {listed(found)} are unique." if found else ""
