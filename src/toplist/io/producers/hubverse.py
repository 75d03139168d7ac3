"""Hubverse: the folder of a model, `model-output/<team>-<model>/`, with one CSV or Parquet file per round.

A case is a combination of task ids. Rows of the output type pmf are its list; those of other types are counted.
Classes, their number and their order are declared in the hub's `hub-config/tasks.json`, and outcomes are in its
`target-data/oracle-output`. Values have one text, whether a file is CSV or Parquet: that of tasks.json.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, as_text, plain, truths
from toplist.io.producers.base import CLUSTER, GROUP, N_CLASSES, OUTCOME, at_path
from toplist.io.producers.cases import Cases, reading
from toplist.io.producers.records import Record, bytes_of, number_of
from toplist.io.readers.arrow import PARQUET
from toplist.io.readers.base import NOT_UTF8, opened
from toplist.io.readers.first_look import FirstLook
from toplist.io.readers.json_lines import read_json

TASKS = Path("hub-config") / "tasks.json"
ORACLE = Path("target-data") / "oracle-output"
TYPE, CLASS, VALUE = "output_type", "output_type_id", "value"
ORACLE_VALUE, VERSION = "oracle_value", "as_of"
_PMF = "pmf"
_MISSING = "NA"  # as R and the hubs write what is not there
_TABLES = (".csv", ".gz", *PARQUET.suffixes)
_PLACE = "location"  # what hubs call the task id of places
_TIME = "time"
_BY_ORDER = ": --rule rps does not, with --ordinal and --classes FILE, one class per line in this order"
_SHOWN = 7  # classes whose order is spelled out
Ids = Mapping[str, str | None]  # the task ids of a case


# What a hub declares


@dataclass(frozen=True, slots=True)
class _Task:
    """A target of classes: the values that its task ids may have, and its classes in their order."""

    target: str
    key: Mapping[str, str]  # the task ids, with their values, that name the target
    values: Mapping[str, frozenset[str]]  # declared values by task id; none where the task id does not apply
    classes: tuple[str, ...]
    ordinal: bool

    def is_of(self, ids: Ids) -> bool:
        """Whether a case is one of its target."""
        return all(ids.get(name) == value for name, value in self.key.items())

    def declares(self, ids: Ids) -> bool:
        """Whether a case has the values that are declared."""
        return all(ids[name] in values if values else ids[name] is None for name, values in self.values.items())


@dataclass(frozen=True, slots=True)
class _Hub:
    """A hub: the tasks that ask for distributions over classes, and what their task ids mean."""

    tasks: tuple[_Task, ...]
    declared: Mapping[str, Sequence[str]]  # texts of the values, by task id, and of the classes
    task_ids: tuple[str, ...]  # sorted
    round_column: str | None  # the task id with the round, where there is one
    place: str | None  # the task id whose values are clusters: places, or else rounds
    timed: bool  # whether rounds are days, beside places that are clusters


def _hub_root(path: Path) -> Path | None:
    """The hub that a file is in: the next folder above it with a tasks.json."""
    return next((folder for folder in path.absolute().parents if (folder / TASKS).is_file()), None)


@lru_cache(maxsize=2)
def _hub_of(root: Path, _: tuple[tuple[int, int], ...]) -> tuple[_Hub, _Oracle | None]:
    """The hub of a folder and its outcomes; the models of a hub share what was read, while nothing changes."""
    source = str(root / TASKS)
    config = Record(source, None, read_json(bytes_of(root / TASKS), source))
    tasks: list[_Task] = []
    rounds: dict[str, None] = {}
    declared: dict[str, dict[str, None]] = defaultdict(dict)
    for round_ in config.inside("rounds"):
        if round_.at("round_id_from_variable"):
            rounds[round_.text("round_id")] = None
        for asked in round_.inside("model_tasks"):
            values = {name: _allowed(asked, f"task_ids.{name}") for name in asked.mapping("task_ids")}
            classes = _allowed(asked, f"{TYPE}.{_PMF}.{CLASS}")
            for name, texts in (*values.items(), (CLASS, classes)):
                declared[name] |= dict.fromkeys(texts)
            for target in (asked.items("target_metadata") or [{}]) if classes else ():
                keys = replace(asked, value=target).mapping("target_keys")
                key = {name: _text_of(value) for name, value in keys.items()}
                every = {**values, **{name: (value,) for name, value in key.items()}}
                name = ", ".join(key.values()) or str(at_path(target, "target_id") or "")
                sets = {name: frozenset(texts) for name, texts in every.items()}
                tasks.append(_Task(name, key, sets, classes, at_path(target, "target_type") == "ordinal"))
    lacks = next((name for name in (*rounds, *(n for task in tasks for n in task.key)) if name not in declared), None)
    if lacks is not None:
        raise config.error(f"{quote(lacks)}, which a round or a target names, is not among the task ids.")
    round_column = next(iter(rounds)) if len(rounds) == 1 else None
    place = _PLACE if len(declared.get(_PLACE, ())) > 1 else round_column
    hub = _Hub(
        tasks=tuple(tasks),
        declared={name: tuple(texts) for name, texts in declared.items()},
        task_ids=tuple(sorted(name for name in declared if name != CLASS)),
        round_column=round_column,
        place=place,
        timed=round_column not in (None, place) and all(map(_is_day, declared[str(round_column)])),
    )
    files = _oracle_files(root / ORACLE)
    return hub, _Oracle.of(hub, files, root / ORACLE) if files else None


def _is_day(text: str) -> bool:
    with suppress(ValueError):
        return bool(date.fromisoformat(text))
    return False


def _allowed(asked: Record, path: str) -> tuple[str, ...]:
    """The values that a task may have, required or not."""
    return tuple(_text_of(value) for way in ("required", "optional") for value in asked.items(f"{path}.{way}"))


# Tables


def _text_of(value: Any) -> str:
    """A value of JSON as text; whole numbers are written without decimals.

    >>> _text_of(0.0), _text_of(2), _text_of("01"), _text_of(True)
    ('0', '2', '01', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _value_of(text: str) -> Any:
    """What texts of the same value have in common: a number, a truth value, or the text itself."""
    return text.lower() if text.lower() in ("true", "false") else number_of(text)


def _texts(column: Any, declared: Sequence[str]) -> list[str | None]:
    """A column as text, values of tasks.json as that has them; None for what is not there."""
    values = as_text(plain(column)).to_pylist()
    times = Counter(map(_value_of, declared))
    by_value = {_value_of(text): text for text in declared if times[_value_of(text)] == 1}
    texts: dict[str | None, str | None] = {text: by_value.get(_value_of(text), text) for text in {*values} - {None}}
    texts |= dict.fromkeys([None, "", _MISSING, "nan"])
    texts |= {text: text for text in declared}
    return [texts[value] for value in values]


def _rows_of_pmf(path: Path, hub: _Hub, value: str) -> tuple[list[dict[str, Any]], Counter[str], Sequence[str]]:
    """The rows about distributions, with texts, the number in `value` and their own; others counted; all columns."""
    table = _table_of(path, (*hub.task_ids, VERSION, TYPE, CLASS, value))
    names = table.schema.names
    lacks = next((name for name in (TYPE, CLASS, value) if name not in names), None)
    if lacks is not None:
        raise FileError(str(path), f"there is no column {quote(lacks)}, which tables of distributions in a hub have.")
    kinds = as_text(plain(table[TYPE])).fill_null(_MISSING)
    others = Counter[str]({count["values"]: count["counts"] for count in kinds.value_counts().to_pylist()})
    del others[_PMF]
    at = np.flatnonzero(truths(need("pyarrow.compute").equal(kinds, _PMF)))
    few = table.take(as_arrow(at))
    texts = [name for name in (*hub.task_ids, VERSION, CLASS) if name in names]
    columns: dict[str, list[Any]] = {name: _texts(few[name], hub.declared.get(name, ())) for name in texts}
    columns |= {value: list(map(number_of, few[value].to_pylist())), "row": (at + 1).tolist()}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    odd = next((row for row in rows if not isinstance(row[value], int | float | None)), None)
    if odd is not None:
        raise FileError(str(path), f"{value} is {quote(odd[value])}, which is no number.", row=odd["row"])
    return rows, others, names


def _table_of(path: Path, texts: Sequence[str]) -> Any:
    """A table whose named columns are text in CSV: hubs have thousands, too small to start DuckDB for each of them."""
    pa, csv = need("pyarrow"), need("pyarrow.csv")
    try:
        with opened(path) as stream:
            if path.suffix.lower() in PARQUET.suffixes:
                table = need("pyarrow.parquet").read_table(pa.BufferReader(stream.read()))
                table.validate(full=True)
            else:
                options = csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
                table = csv.read_csv(stream, convert_options=options)
            names = table.schema.names
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None
    twice = next((name for name in texts if names.count(name) > 1), None)
    if twice is not None:
        raise FileError(str(path), f"the column {quote(twice)} is there twice.")
    return table


# Outcomes


@dataclass(frozen=True, slots=True)
class _Oracle:
    """The outcomes of a hub: rows with value 1 for the class that was observed, by some of the task ids."""

    path: Path
    versioned: bool
    observed: Mapping[str, tuple[Sequence[str], Mapping[tuple[Any, ...], str]]]  # by target: task ids, classes by them

    @classmethod
    def of(cls, hub: _Hub, files: Sequence[Path], folder: Path) -> _Oracle:
        """The classes that were observed, by the latest version."""
        whole, rows = files[0] if len(files) == 1 else folder, list[dict[str, Any]]()
        for path in files:
            folders = path.relative_to(folder).parts[:-1] if folder in path.parents else ()
            pairs = [folder.partition("=") for folder in folders]  # such as target=peak%20week
            partition = {n: None if v == "__HIVE_DEFAULT_PARTITION__" else unquote(v) for n, mark, v in pairs if mark}
            rows += [{**partition, **row} for row in _rows_of_pmf(path, hub, ORACLE_VALUE)[0]]
        odd = next((row[ORACLE_VALUE] for row in rows if row[ORACLE_VALUE] not in (0, 1)), 0)
        if odd != 0:
            raise FileError(str(whole), f"a value of {ORACLE_VALUE} for the output type pmf is {odd}, not 0 or 1.")
        latest: dict[tuple[Any, ...], str] = defaultdict(str)
        keyed = [(tuple(row.get(name) for name in hub.task_ids), row.get(VERSION) or "", row) for row in rows]
        for key, version, _ in keyed:
            latest[key] = max(latest[key], version)
        happened = [row for key, version, row in keyed if row[ORACLE_VALUE] == 1 and version == latest[key]]
        observed = {}
        for task in hub.tasks:
            of_target = [row for row in happened if task.is_of({**task.key, **row})]
            names = [name for name in hub.task_ids if any(row.get(name) is not None for row in of_target)]
            classes: dict[tuple[Any, ...], str] = {}
            for row in of_target:
                key, label = tuple(row.get(name) for name in names), str(row[CLASS])
                if classes.setdefault(key, label) != label:
                    where, both = _case(dict(zip(names, key, strict=True))), listed(sorted([classes[key], label]))
                    problem = f"two classes, {both}, are said to have happened where {where}"
                    raise FileError(str(whole), f"{problem}: one has {ORACLE_VALUE} 1.")
            observed[task.target] = names, classes
        return cls(whole, any(VERSION in row for row in rows), observed)

    def outcome(self, task: _Task, ids: Ids) -> str | None:
        """The class that was observed for a case, by the task ids that the outcomes of its target have; or None."""
        names, classes = self.observed[task.target]
        return classes.get(tuple(ids[name] for name in names))


def _oracle_files(place: Path) -> list[Path]:
    """One file, or those of a folder of partitions."""
    ways = [place.with_name(place.name + suffix) for suffix in (".csv", ".parquet", ".csv.gz")]
    single = [way for way in ways if way.is_file()]
    if len(single) > 1:
        raise FileError(str(single[0]), f"{single[1].name} is beside it: which of them holds the outcomes? Keep one.")
    if single or not place.is_dir():
        return single
    return sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] not in "._" and p.suffix.lower() in _TABLES)


# The files of a model


def _read(cases: Cases) -> None:
    paths = [path for path in cases.request.paths if path.suffix.lower() in _TABLES]
    cases.require_one("models", [str(path.parent) for path in paths])
    root = _hub_root(paths[0]) if paths else None
    if root is None:
        raise FileError(
            cases.request.name,
            f"there is no {TASKS} in a folder above, in which a hub declares its classes. Read it as a table: "
            f"{argument('producer', 'none')} {argument('where', f'{TYPE}=pmf')} {argument('class_column', CLASS)} "
            f"{argument('confidence', VALUE)}, with the columns that make a case.",
        )
    stats = [path.stat() for path in (root / TASKS, *_oracle_files(root / ORACLE))]
    hub, oracle = _hub_of(root, tuple((stat.st_mtime_ns, stat.st_size) for stat in stats))
    cases.complete, cases.decimal = True, not any(path.suffix.lower() in PARQUET.suffixes for path in paths)
    others, ignored, targets = Counter[str](), set[str](), dict[str, _Task]()
    for path in paths:
        rows, of_file, names = _rows_of_pmf(path, hub, VALUE)
        others += of_file
        ignored |= {*names} - {*hub.task_ids, TYPE, CLASS, VALUE}
        by_case: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            by_case[tuple(row.get(name) for name in hub.task_ids)].append(row)
        for key, of_case in by_case.items():
            ids = dict(zip(hub.task_ids, key, strict=True))
            if cases.conditions.keep({**ids, TYPE: _PMF}):
                task = _add(cases, hub, oracle, Record(str(path), of_case[0]["row"], of_case), ids)
                targets.setdefault(task.target, task)
                lacks = next((name for name, values in task.values.items() if values and name not in names), None)
                if lacks is not None:
                    raise FileError(str(path), f"there is no column {quote(lacks)}, a task id of {quote(task.target)}.")
    cases.conditions.require_met()
    types = ", ".join(f"{count:,} {kind}" for kind, count in sorted(others.items()))
    if not cases.rows:
        raise FileError(
            cases.request.name,
            f"there are no rows of the output type pmf here; rows of other types: {types or 'none'}. Leave this model "
            f"out: toplist compare $(grep -rlw pmf {paths[0].parent.parent} | xargs -n 1 dirname | sort -u) names "
            "those that have some.",
        )
    if types:
        cases.say(f"rows of other output types are not used: {types}")
    _say(cases, hub, oracle, list(targets.values()))
    if ignored:
        cases.say(f"columns that tasks.json does not declare are ignored: {listed(sorted(ignored))}")


def _add(cases: Cases, hub: _Hub, oracle: _Oracle | None, record: Record, ids: Ids) -> _Task:
    """The case of some rows, and its task."""
    task = _task_of(cases, hub, record, ids)
    places = {label: at for at, label in enumerate(task.classes)}
    odd = next((row for row in record.value if row[CLASS] not in places), None)
    if odd is not None:
        raise replace(record, row=odd["row"]).error(
            f"the class {quote(odd[CLASS])} is not among those that {TASKS} declares for {quote(task.target)} "
            f"({listed(task.classes, 5)}): if the classes were others in this round, read it with the tasks.json of "
            f"its time, or choose other rows with {argument('where', 'TASK_ID=VALUE')}."
        )
    rows = sorted(record.value, key=lambda row: places[row[CLASS]])
    known = {**ids, TYPE: _PMF, N_CLASSES: len(task.classes), GROUP: task.target}
    if hub.place is not None:
        known[CLUSTER] = ids[hub.place] or _MISSING
    if hub.timed:
        known[_TIME] = ids[str(hub.round_column)]
    if oracle is not None:
        known[OUTCOME] = oracle.outcome(task, ids)
        cases.count("case", f"without an outcome in {oracle.path.name}", known[OUTCOME] is None)
    cases.add(record, _case(ids), [row[CLASS] for row in rows], [row[VALUE] for row in rows], **known)
    return task


def _say(cases: Cases, hub: _Hub, oracle: _Oracle | None, targets: Sequence[_Task]) -> None:
    """Notes about the targets that occurred, and what is known of their cases."""
    remedy = _BY_ORDER if len({task.classes for task in targets}) == 1 else ""
    for task in targets:
        if task.ordinal:
            order = " < ".join(task.classes) if len(task.classes) <= _SHOWN else f"{len(task.classes)} classes"
            cases.say(
                f"ordinal target: Brier and log scores ignore the order of the classes ({task.target}: {order}), so "
                f"that a near miss costs as much as a far one{remedy}"
            )
    if oracle is None:
        cases.say(f"there is no {ORACLE} in the hub: outcomes have to be given")
    elif oracle.versioned:
        cases.say("outcomes are those of the latest version (as_of)")
    if hub.place is not None:
        both = f", and of one {hub.round_column} by time" if hub.timed else ""
        cases.say(f"cases of one {hub.place} depend on each other and are a cluster{both}")


def _task_of(cases: Cases, hub: _Hub, record: Record, ids: Ids) -> _Task:
    """The task of a case: the one that declares its task ids, or else the one of its target."""
    of_target = [task for task in hub.tasks if task.is_of(ids)]
    declaring = [task for task in of_target if task.declares(ids)]
    fitting = declaring or of_target
    if not fitting:
        names = dict.fromkeys(name for task in hub.tasks for name in task.key)
        what = ", ".join(f"{name} {quote(ids[name])}" for name in names) or "this"
        raise record.error(f"{what} is no target with classes (pmf) in the {TASKS} of this hub.")
    if len({task.classes for task in fitting}) > 1:
        why = "it is declared" if declaring else "its task ids are not declared, and its target is declared"
        raise record.error(f"{why} twice in {TASKS}, with different classes.")
    note = f"with task ids that {TASKS.name} does not declare: the target counts"
    cases.count("row", note, 0 if declaring else len(record.value))
    return fitting[0]


def _case(ids: Ids) -> str:
    """The id of a case: the task ids with their values, as in `horizon=0, location=US`."""
    return ", ".join(f"{name}={_MISSING if value is None else value}" for name, value in ids.items())


def _is_hub(look: FirstLook, path: Path) -> str:
    """Files of these columns that are in a hub."""
    root = _hub_root(path)
    return f"it has the columns {listed([TYPE, CLASS, VALUE])}, and {root.name or root} has {TASKS}" if root else ""


PRODUCER = reading(_read, sees=_is_hub, options=("where",), files_only=True)
