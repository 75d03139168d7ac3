"""The tables of a call, opened together: which column of each holds the case ids that mean the same in all of them.

Rows are matched by their position only where the caller asks for it, or where no column could hold ids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import AlignmentError
from toplist.io import producers
from toplist.io.layout import Layout
from toplist.io.opening import open_table, require_effect
from toplist.io.options import ReadOptions, Truth
from toplist.io.producers.base import CLASSES, CONFIDENCES, OUTCOME
from toplist.io.recognition import recognise, require_columns
from toplist.io.sources import OpenTable, Table, matching
from toplist.io.views import view_of, with_columns
from toplist.io.words import (
    CASE,
    CERTAIN_IDS,
    CLASS,
    CONFIDENCE,
    NEITHER,
    RUN,
    STRONG_IDS,
    TRUTH,
    is_named,
    named,
    numbered,
)
from toplist.lists.space import ClassSpace

_LOOKED = 1000  # rows whose ids are compared


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
    every = [replace(table, reader=view_of(table.reader, table.options, table.extra, composite)) for table in every]
    if truth is not None:
        every = [every[0], *(_apart(table, every[0]) for table in every[1:])]
    if carried is not None:
        every = [_with_outcome(table, carried) for table in every]
    for table in every:
        require_columns(table)
    _require_ignored(every)
    cases = case_columns(every)
    return [
        _open(table, case, [other for other in every if other is not table])
        for table, case in zip(every, cases, strict=True)
    ]


def _open(table: Table, case: str | None, others: Sequence[Table]) -> OpenTable:
    """The table with its layout, in which the reader takes note of what the columns mean."""
    layout = recognise(table, case)
    reader = with_columns(table.reader, layout.columns)
    both = next((name for name in layout.classes if name in layout.confidences), None)
    if both is not None:
        table.refuse(
            f"the column {quote(both)} cannot hold both the classes and the confidences: name one column for each."
        )
    reader.prepare(layout)
    if layout.case is None and others:
        _require_order(table)
    if layout.kind == "long":
        _require_one_list(table, layout, others)
    known = {field.name: getattr(table, field.name) for field in fields(table)}
    return OpenTable(**{**known, "reader": reader}, layout=layout, aligned=bool(others))


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


def _with_outcome(table: Table, about: Truth) -> Table:
    """Predictions that carry outcomes: these, and what is known beside them, are no predictions.

    Outcomes are in the column that is named; else a producer says where. Where the truth is "same", the only column
    with a usual name of outcomes holds them.
    """
    names = table.columns
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
        table.refuse(f"the truth, {truth.path}, is among these files: name the predictions without it.")
    outcome = truth.options.class_column
    if outcome is None:
        table.refuse(
            f"predictions and truth ({truth.path}) are the same file: say which column holds the outcomes, "
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
        if not any(matching(table.columns, pattern) for table in about):
            names = dict.fromkeys(name for table in about for name in table.columns)
            about[0].refuse(
                f"{argument('ignore', pattern)} has no effect: no column is called so. The columns are "
                f"{', '.join(map(quote, list(names)[:8]))}."
            )


def case_columns(tables: Sequence[Table]) -> list[str | None]:
    """The column of case ids of each table; None for all of them where rows are matched by their position.

    Ids are what the caller names; else a known name that all tables have; else the known name of each; else a column
    of the same name in all tables whose values are unique. Position is the last resort: it is taken where the caller
    asks for it, or where no table has a column that could be an id.
    """
    if _by_position(tables):
        return [None] * len(tables)
    named_by_caller = [table.options.case for table in tables if table.options.case is not None]
    known = [_known(table) if table.options.case is None else [table.options.case] for table in tables]
    unnamed = [names for table, names in zip(tables, known, strict=True) if table.options.case is None]
    shared = [name for name in unnamed[0] if all(name in names for names in unnamed)] if unnamed else []
    if shared and not named_by_caller:
        _require_one_pairing(tables, shared)
    elif not named_by_caller and all(known):
        _require_one_strong(tables, known)
    chosen = [
        table.options.case
        or next((name for name in named_by_caller if name in table.columns), None)
        or next(iter((*shared, *names)), None)
        for table, names in zip(tables, known, strict=True)
    ]
    if None not in chosen:
        return chosen
    key = None if named_by_caller else _unique_in_all(tables)
    if key is not None:
        return [key] * len(tables)
    if any(chosen):
        _refuse_some(tables, chosen)
    if len(tables) == 1 or len({table.files for table in tables}) > 1:
        _require_no_ids(tables)
    return [None] * len(tables)


def _by_position(tables: Sequence[Table]) -> bool:
    """Whether position is asked for, or some table is a list or an array, which goes by it; then no ids are named."""
    asked = any(table.options.by_position for table in tables)
    bare = next((table for table in tables if table.reader.bare), None) if len(tables) > 1 and not asked else None
    case = next((table.options.case for table in tables if table.options.case is not None), None)
    if asked and case is not None:
        both = f"{argument('by_position', True)} and {argument('case', case)}"
        raise AlignmentError(f"{both} contradict each other: give one of them.")
    if bare is None:
        return asked
    others = [table.name for table in tables if not table.reader.bare and _known(table)]
    if case is not None or len(others) > 1:
        what = f"{' and '.join(others[:2])} have some" if case is None else f"{argument('case', case)} has no effect"
        raise AlignmentError(
            f"{bare.name} is a list or an array, which has no case ids, but {what}. Give a frame or a Series with an "
            f"index, or pass {argument('by_position', True)} if all are in the same order."
        )
    return True


def _known(table: Table) -> list[str]:
    """The columns with known names of ids, the index of a dataframe first."""
    out = {table.options.class_column, table.options.confidence, *table.left_out}
    others, classes = ([name for name in table.columns if (name in table.labels) is side] for side in (False, True))
    all_classes = bool(classes) and len(classes) == len(table.labels)
    names = [*named(others, CASE), *([] if all_classes else named(classes, CASE))]
    reader = table.reader
    if reader.index is not None:  # before all names if it has one of its own, else after those that are certain
        names.insert(0 if reader.named_index else sum(is_named(name, CERTAIN_IDS) for name in names), reader.index)
    return [name for name in dict.fromkeys(names) if name not in out and _can_be_id(table, name)]


def _can_be_id(table: Table, name: str) -> bool:
    """A class that is called image, in a table with a column per class, holds fractions."""
    certain = name == table.reader.index or is_named(name, CERTAIN_IDS)
    return certain or (table.is_scalar(name) and not table.is_fraction(name))


def _unique_in_all(tables: Sequence[Table]) -> str | None:
    """A column of the same name in all tables that is nothing else, and whose values are unique.

    What programs write beside each list, such as the time, may be unique in each file and still be about the run.
    """
    if len(tables) < 2 or all(table.produced is not None for table in tables):
        return None
    able = [name for name in tables[0].columns if all(name in table.columns for table in tables)]
    able = [name for name in able if all(_is_key(table, name) for table in tables)]
    if len(able) > 1:
        ways = " or ".join(argument("case", name) for name in able[:4])
        raise AlignmentError(f"{listed(able)} could each be the case ids. Say which: {ways}.")
    return able[0] if able else None


def _is_key(table: Table, name: str) -> bool:
    """Whether a column is nothing else by its name, is not the only one, and its values tell cases apart.

    Those of a long table are there once per class.
    """
    if name in (table.options.class_column, table.options.confidence, *table.labels, *table.left_out):
        return False
    if is_named(name, (*CLASS, *CONFIDENCE, *TRUTH, *NEITHER)) or numbered([name], (*CLASS, *CONFIDENCE)):
        return False
    if not table.look(name).tells_apart or all(other in (name, *table.extra) for other in table.columns):
        return False
    long = not table.truth and bool(table.options.confidence or named(table.columns, CONFIDENCE))
    return long or table.has_unique(name)


def _require_one_pairing(tables: Sequence[Table], shared: Sequence[str]) -> None:
    """Two columns that could be ids mean the same cases: one may be the number of the row in each file."""
    nameless = {table.reader.index for table in tables if not table.reader.named_index}  # beside others, no id
    names = [name for name in shared if name not in nameless and all(table.is_scalar(name) for table in tables)][:2]
    if len(names) < 2 or len({table.files for table in tables}) == 1:
        return
    first, second = names
    ours = _pairs_of(tables[0], names, None)
    for table in tables[1:]:
        theirs = _pairs_of(table, names, set(ours))
        odd = next((key for key, value in theirs.items() if ours[key] != value), None)
        if odd is not None:
            raise AlignmentError(
                f"{quote(first)} and {quote(second)} are in all files, but do not go together in the same way: "
                f"{quote(odd)} stands beside {quote(ours[odd])} in {tables[0].path}, and beside "
                f"{quote(theirs[odd])} in {table.path}. Say which are the case ids: "
                f"{argument('case', first)} or {argument('case', second)}."
            )


def _pairs_of(table: Table, names: Sequence[str], wanted: set[str] | None) -> dict[str, str]:
    """What stands beside an id: of the first rows, or of ids that are wanted wherever they are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    pairs: dict[str, str] = {}
    for keys, values in table.texts(*names):
        if wanted is None:
            return dict(zip(keys[:_LOOKED].to_pylist(), values[:_LOOKED].to_pylist(), strict=True))
        inside = pc.is_in(keys, value_set=pa.array(list(wanted), pa.string()))
        pairs |= dict(zip(keys.filter(inside).to_pylist(), values.filter(inside).to_pylist(), strict=True))
    return pairs


def _require_one_strong(tables: Sequence[Table], known: Sequence[Sequence[str]]) -> None:
    """Ids that tables call differently go together where each table has one."""
    for at, names in enumerate(known):
        strong = [name for name in names if is_named(name, STRONG_IDS)]
        if len(strong) > 1:
            own, other = tables[at], 1 if at == 0 else 0
            raise AlignmentError(
                f"{listed(strong)} of {own.path} could each be the case ids that "
                f"{tables[other].path} has in {quote(known[other][0])}. Say which: "
                f"{argument('case', strong[0], own.name)} or {argument('case', strong[1], own.name)}."
            )


def _refuse_some(tables: Sequence[Table], chosen: Sequence[str | None]) -> None:
    """Some tables have ids, others have not."""
    lacks = next(table for table, name in zip(tables, chosen, strict=True) if name is None)
    has, name = next((table, name) for table, name in zip(tables, chosen, strict=True) if name is not None)
    raise AlignmentError(
        f"{lacks.path}: there is no column with case ids, but {has.path} has one ({quote(name)}). "
        f"Name it with {argument('case')} (for one file, {argument('case', file=lacks.name)}), or pass "
        f"{argument('by_position', True)} if all files are in the same order."
    )


def _require_no_ids(tables: Sequence[Table]) -> None:
    """Rows are matched by position, or a row is a list of one class, without a word only where no column may be ids.

    A producer knows which of its fields are ids.
    """
    for table in tables:
        if table.produced is not None:
            continue
        layout = recognise(table, None)
        a_row_is_a_list = layout.kind == "ranked" and len(layout.classes) == 1 and table.options.layout != "ranked"
        if len(tables) == 1 and not a_row_is_a_list:
            continue
        others = [
            name
            for name in layout.ignored
            if name not in table.left_out
            and not is_named(name, (*NEITHER, *TRUTH, *CONFIDENCE))
            and table.look(name).tells_apart
        ]
        if others:
            when = "every row is a case" if len(tables) == 1 else "all files are in the same order"
            raise AlignmentError(
                f"no column with case ids was found in {listed([table.path for table in tables], 3, str)}, and rows "
                f"are not taken by their position unless that is asked for: pass {argument('by_position', True)} if "
                f"{when}. Or name the ids, if {listed(others)} of {table.path} holds them: "
                f"{argument('case', others[0])}."
            )


def _require_order(table: Table) -> None:
    """Without ids, part-10 would come before part-2, and what follows a missing answer would be about other cases."""
    names = [path.name for path in table.reader.paths]
    natural = sorted(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)])
    odd = next((at for at, name in enumerate(names) if name != natural[at]), None)
    if odd is not None:
        table.refuse(
            f"without case ids, the order of the parts counts, and {quote(names[odd])} would be read where "
            f"{quote(natural[odd])} is meant: number the parts with leading zeros, or give each row a case id."
        )
    if table.gaps:
        table.refuse(
            f"{table.gaps:,} request{'s' * (table.gaps > 1)} failed, and without case ids it is not known which "
            "question each of the other answers belongs to: add a field with an id to the records, or repeat these "
            "requests."
        )


def _require_one_list(table: Table, layout: Layout, others: Sequence[Table]) -> None:
    """Rows that another column tells apart, as the model or the day beside the site, would be put into one list.

    Such a column has the name of what tells models and runs apart, or is there in the truth too, where it is about the
    case.
    """
    case, ids_found = str(layout.case), table.options.case is None and bool(others)
    for name in layout.ignored:
        shared = ids_found and all(name in other.columns for other in others) and not is_named(name, TRUTH)
        if name in table.left_out or not table.is_scalar(name) or not (shared or is_named(name, RUN)):
            continue
        odd = _two_of_one(table, case, name)
        if odd:
            table.refuse(
                f"rows of case {quote(odd[0])} have {quote(odd[1])} and {quote(odd[2])} in {quote(name)}, and "
                f"would be put together into one list: give each its own file, or say "
                f"{argument('case', f'{name},{case}')} if both tell cases apart, or {argument('ignore', name)} if that "
                "is meant."
            )


def _two_of_one(table: Table, case: str, name: str) -> tuple[Any, ...]:
    """A case whose rows have two values in a column, and these; nothing where there is none."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    pairs = None
    for columns in table.texts(case, name):
        new = pa.table(columns, ["case", "value"])
        pairs = (new if pairs is None else pa.concat_tables([pairs, new])).group_by(["case", "value"]).aggregate([])
    if pairs is None:
        return ()
    values = pairs.group_by("case").aggregate([("value", "min"), ("value", "max")])
    odd = values.filter(pc.not_equal(values["value_min"], values["value_max"]))
    return tuple(odd.slice(0, 1).to_pylist()[0][key] for key in ("case", "value_min", "value_max")) if len(odd) else ()
