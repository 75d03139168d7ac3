"""Hubverse: the folder of a model, `model-output/<team>-<model>/`, with one CSV or Parquet file per round.

A case is a combination of task ids. Rows of the output type pmf are its list; those of other types are counted.
Classes, their number and their order are declared in the hub's `hub-config/tasks.json`, and outcomes are in its
`target-data/oracle-output`. Values have one text, whether a file is CSV or Parquet: that of tasks.json.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from msgspec import Struct, ValidationError, convert

from toplist._files import as_path, need
from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, as_text, plain
from toplist.io.producers.base import CLUSTER, GROUP, N_CLASSES, OUTCOME
from toplist.io.producers.cases import Cases, reading
from toplist.io.producers.records import Record, number_of, parsed, text_of
from toplist.io.readers.arrow import PARQUET
from toplist.io.readers.base import NOT_UTF8, opened
from toplist.io.readers.first_look import FirstLook

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


class _Values(Struct):
    required: list[str | int | float | bool] | None = None
    optional: list[str | int | float | bool] | None = None

    def texts(self) -> tuple[str, ...]:
        return tuple(map(_text_of, (*(self.required or ()), *(self.optional or ()))))


class _Pmf(Struct):
    output_type_id: _Values


class _Outputs(Struct):
    pmf: _Pmf | None = None


class _Target(Struct):
    target_id: str = ""
    target_keys: dict[str, str | int | float | bool] | None = None
    target_type: str | None = None


class _ModelTask(Struct):
    task_ids: dict[str, _Values]
    output_type: _Outputs
    target_metadata: list[_Target] = []


class _Round(Struct):
    round_id: str
    model_tasks: list[_ModelTask]
    round_id_from_variable: bool = False


class _Config(Struct):
    rounds: list[_Round]


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
        return all(ids[name] == value for name, value in self.key.items())

    def declares(self, ids: Ids) -> bool:
        """Whether a case has the values that are declared."""
        return all(ids[name] in values if values else ids[name] is None for name, values in self.values.items())


@dataclass(frozen=True)
class _Hub:
    """A hub: where it is, and the tasks that ask for distributions over classes."""

    root: Path
    tasks: tuple[_Task, ...]
    declared: Mapping[str, tuple[str, ...]]  # texts of the values, by task id, and of the classes
    round_column: str | None  # the task id with the round, where there is one

    @cached_property
    def task_ids(self) -> tuple[str, ...]:
        """The names of task ids, sorted."""
        return tuple(sorted(name for name in self.declared if name != CLASS))

    @cached_property
    def oracle(self) -> _Oracle | None:
        """The outcomes, where the hub has them."""
        files = _oracle_files(self.root / ORACLE)
        return _Oracle(self, files) if files else None

    @cached_property
    def place(self) -> str | None:
        """The task id whose values are clusters: places, or else rounds."""
        return _PLACE if len(self.declared.get(_PLACE, ())) > 1 else self.round_column

    @cached_property
    def timed(self) -> bool:
        """Whether rounds are days, beside places that are clusters."""
        return self.round_column not in (None, self.place) and all(map(_is_day, self.declared[str(self.round_column)]))


def _hub_root(path: Path) -> Path | None:
    """The hub that a file is in: the next folder above it with a tasks.json."""
    return next((folder for folder in path.absolute().parents if (folder / TASKS).is_file()), None)


def _hub_of(root: Path) -> _Hub:
    """The hub of a folder; the models of a hub share what was read, while nothing changes."""
    stats = [path.stat() for path in (root / TASKS, *_oracle_files(root / ORACLE))]
    return _hub(root, tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats))


@lru_cache(maxsize=2)
def _hub(root: Path, _: tuple[tuple[int, int, int], ...]) -> _Hub:
    place = Record(str(root / TASKS), None, None)
    try:
        config = convert(parsed(text_of(root / TASKS), place), _Config)
    except ValidationError as error:
        raise place.error(f"this is not a tasks.json as the schemas of the hubverse describe it: {error}.") from None
    tasks: list[_Task] = []
    declared: dict[str, dict[str, None]] = defaultdict(dict)
    for asked in (task for each in config.rounds for task in each.model_tasks):
        values = {name: allowed.texts() for name, allowed in asked.task_ids.items()}
        pmf = asked.output_type.pmf
        classes = pmf.output_type_id.texts() if pmf else ()
        for name, texts in (*values.items(), (CLASS, classes)):
            declared[name].update(dict.fromkeys(texts))
        for target in (asked.target_metadata or [_Target()]) if pmf else ():
            key = {name: _text_of(value) for name, value in (target.target_keys or {}).items()}
            every = {name: frozenset(texts) for name, texts in values.items()}
            every |= {name: frozenset([value]) for name, value in key.items()}
            name = ", ".join(key.values()) or target.target_id
            tasks.append(_Task(name, key, every, classes, target.target_type == "ordinal"))
    rounds = dict.fromkeys(each.round_id for each in config.rounds if each.round_id_from_variable)
    lacks = next((name for name in (*rounds, *(n for task in tasks for n in task.key)) if name not in declared), None)
    if lacks is not None:
        raise place.error(f"{quote(lacks)}, which a round or a target names, is not among the task ids.")
    columns = {name: tuple(texts) for name, texts in declared.items()}
    return _Hub(root, tuple(tasks), columns, next(iter(rounds)) if len(rounds) == 1 else None)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


# Tables


def _text_of(value: str | float | bool) -> str:
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


def _table_of(path: Path, texts: Sequence[str]) -> Any:
    """The table of a CSV or Parquet file; of CSV, the named columns are text. A hub has very many, small files."""
    pa, csv = need("pyarrow"), need("pyarrow.csv")
    options = csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
    try:
        with opened(path) as stream:
            if path.suffix.lower() in PARQUET.suffixes:
                table = need("pyarrow.parquet").read_table(pa.BufferReader(stream.read()))
                table.validate(full=True)
            else:
                table = csv.read_csv(stream, convert_options=options)
            names = table.schema.names
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None
    twice = next((name for name in texts if names.count(name) > 1), None)
    if twice is not None:
        raise FileError(str(path), f"two columns are called {quote(twice)}.")
    return table


def _rows_of_pmf(
    path: Path, hub: _Hub, value: str, extra: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], Counter[str], list[str]]:
    """The rows about distributions, with texts, the number in `value` and their own; others counted; all columns."""
    ids = (*hub.task_ids, *extra)
    table = _table_of(path, (*ids, TYPE, CLASS, value))
    names = table.schema.names
    lacks = next((name for name in (TYPE, CLASS, value) if name not in names), None)
    if lacks is not None:
        raise FileError(str(path), f"there is no column {quote(lacks)}, which tables of distributions in a hub have.")
    kinds = _texts(table[TYPE], ())
    rows = [row for row, kind in enumerate(kinds, 1) if kind == _PMF]
    few = table.take(as_arrow(np.array(rows, np.int64) - 1))
    columns = {name: _texts(few[name], hub.declared.get(name, ())) for name in (*ids, CLASS) if name in names}
    numbers = [number_of(number) for number in few[value].to_pylist()]
    for number, row in zip(numbers, rows, strict=True):
        if number is not None and not isinstance(number, int | float):
            raise FileError(str(path), f"{value} is {quote(number)}, which is no number.", row=row)
    every = {**columns, value: numbers, "row": rows}
    others = Counter(kind or "no output type" for kind in kinds if kind != _PMF)
    return [dict(zip(every, cells, strict=True)) for cells in zip(*every.values(), strict=True)], others, names


# Outcomes


class _Oracle:
    """The outcomes of a hub: rows with value 1 for the class that was observed, by some of the task ids."""

    def __init__(self, hub: _Hub, files: Sequence[Path]) -> None:
        self.path = files[0] if len(files) == 1 else hub.root / ORACLE
        rows: list[dict[str, Any]] = []
        for path in files:
            folders = path.relative_to(hub.root / ORACLE).parts[:-1] if hub.root / ORACLE in path.parents else ()
            pairs = [folder.partition("=") for folder in folders]  # such as target=peak%20week
            partition = {n: None if v == "__HIVE_DEFAULT_PARTITION__" else unquote(v) for n, mark, v in pairs if mark}
            rows += [{**partition, **row} for row in _rows_of_pmf(path, hub, ORACLE_VALUE, [VERSION])[0]]
        odd = next((row[ORACLE_VALUE] for row in rows if row[ORACLE_VALUE] not in (0, 1)), 0)
        if odd != 0:
            problem = f"a value of {ORACLE_VALUE} for the output type pmf is {odd}, not 0 or 1."
            raise FileError(str(self.path), problem)
        self.versioned = any(VERSION in row for row in rows)
        latest = defaultdict[tuple[Any, ...], str](str)
        keys = [tuple(row.get(name) for name in hub.task_ids) for row in rows]
        for key, row in zip(keys, rows, strict=True):
            latest[key] = max(latest[key], row.get(VERSION) or "")
        newest = ((row, latest[key]) for key, row in zip(keys, rows, strict=True))
        self._happened = [r for r, version in newest if r[ORACLE_VALUE] == 1 and (r.get(VERSION) or "") == version]
        self._by_target: dict[str, tuple[list[str], dict[tuple[Any, ...], str]]] = {}

    def outcome(self, task: _Task, ids: Ids) -> str | None:
        """The class that was observed for a case, by the task ids that the outcomes of its target have; or None."""
        if task.target not in self._by_target:
            self._by_target[task.target] = self._of(task, sorted(ids))
        names, classes = self._by_target[task.target]
        return classes.get(tuple(ids[name] for name in names))

    def _of(self, task: _Task, ids: Sequence[str]) -> tuple[list[str], dict[tuple[Any, ...], str]]:
        rows = [row for row in self._happened if all(row.get(name, own) == own for name, own in task.key.items())]
        names = [name for name in ids if any(row.get(name) is not None for row in rows)]
        classes: dict[tuple[Any, ...], str] = {}
        for row in rows:
            key, label = tuple(row.get(name) for name in names), str(row[CLASS])
            if classes.setdefault(key, label) != label:
                where, both = _case(dict(zip(names, key, strict=True))), listed(sorted([classes[key], label]))
                raise FileError(
                    str(self.path),
                    f"two classes, {both}, are said to have happened where {where}: one has {ORACLE_VALUE} 1.",
                )
        return names, classes


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
    name = cases.request.name
    paths = tuple(path for path in cases.request.paths if path.suffix.lower() in _TABLES)
    if not paths:
        raise FileError(name, "there is no CSV or Parquet file of model output here.")
    folders = sorted({str(path.parent) for path in paths})
    if len(folders) > 1:
        raise FileError(
            name,
            f"these are the files of {len(folders)} models ({listed([Path(f).name for f in folders], 3)}): name one "
            f"folder per model, as in toplist compare '{as_path(folders[0]).parent}/*/'.",
        )
    root = _hub_root(paths[0])
    if root is None:
        raise FileError(
            name,
            f"there is no {TASKS} in a folder above, in which a hub declares its classes. Read it as a table: "
            f"{argument('producer', 'none')} {argument('where', f'{TYPE}=pmf')} {argument('class_column', CLASS)} "
            f"{argument('confidence', VALUE)}, with the columns that make a case.",
        )
    cases.complete = True
    cases.decimal = not any(path.suffix.lower() in PARQUET.suffixes for path in paths)
    folder = _Folder(_hub_of(root), cases)
    for path in paths:
        folder.add(path)
    cases.conditions.require_met()
    types = ", ".join(f"{count:,} {kind}" for kind, count in sorted(folder.others.items()))
    if not cases.rows:
        raise FileError(
            name,
            f"there are no rows of the output type pmf here; rows of other types: {types or 'none'}. Leave this model "
            f"out: toplist compare $(grep -rlw pmf {paths[0].parent.parent} | xargs -n 1 dirname | sort -u) names "
            "those that have some.",
        )
    if types:
        cases.say(f"rows of other output types are not used: {types}")
    for note in folder.notes():
        cases.say(note)


@dataclass
class _Folder:
    """The files of one model, as they are read one after the other."""

    hub: _Hub
    cases: Cases
    others: Counter[str] = field(default_factory=Counter)  # rows by output type
    ignored: set[str] = field(default_factory=set)  # columns
    targets: dict[str, _Task] = field(default_factory=dict)  # those that occurred

    def add(self, path: Path) -> None:
        """The cases of one file."""
        hub = self.hub
        rows, others, names = _rows_of_pmf(path, hub, VALUE)
        self.others += others
        self.ignored |= set(names) - {*hub.task_ids, TYPE, CLASS, VALUE}
        by_case: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            by_case[tuple(row.get(name) for name in hub.task_ids)].append(row)
        for key, own in by_case.items():
            ids = dict(zip(hub.task_ids, key, strict=True))
            if not self.cases.conditions.keep({**ids, TYPE: _PMF}):
                continue
            first = Record(str(path), own[0]["row"], None)
            task = self._task(first, ids, len(own))
            lacks = next((name for name, values in task.values.items() if values and name not in names), None)
            if lacks is not None:
                raise FileError(str(path), f"there is no column {quote(lacks)}, a task id of {quote(task.target)}.")
            places = {label: at for at, label in enumerate(task.classes)}
            odd = next((row for row in own if row[CLASS] not in places), None)
            if odd is not None:
                raise self._not_declared(Record(str(path), odd["row"], odd[CLASS]), task)
            own.sort(key=lambda row: places[row[CLASS]])
            classes, p = [row[CLASS] for row in own], [row[VALUE] for row in own]
            self.cases.add(first, _case(ids), classes, p, **{**self._known(ids, task), TYPE: _PMF})

    def _task(self, record: Record, ids: Ids, rows: int) -> _Task:
        """The task of a case: the one that declares its task ids, or else the one of its target."""
        of_target = [task for task in self.hub.tasks if task.is_of(ids)]
        declaring = [task for task in of_target if task.declares(ids)]
        fitting = declaring or of_target
        if not fitting:
            names = dict.fromkeys(name for task in self.hub.tasks for name in task.key)
            what = ", ".join(f"{name} {quote(ids[name])}" for name in names) or "this"
            raise record.error(f"{what} is no target with classes (pmf) in the {TASKS} of this hub.")
        if len({task.classes for task in fitting}) > 1:
            why = "it is declared" if declaring else "its task ids are not declared, and its target is declared"
            raise record.error(f"{why} twice in {TASKS}, with different classes.")
        note = f"with task ids that {TASKS.name} does not declare: the target counts"
        self.cases.count("row", note, 0 if declaring else rows)
        return self.targets.setdefault(fitting[0].target, fitting[0])

    def _not_declared(self, record: Record, task: _Task) -> FileError:
        others = [key for other in self.hub.tasks if other.key != task.key for key in other.key.items()]
        ways = f" or targets, as in {argument('where', '='.join(others[0]))}" if others else ""
        return record.error(
            f"the class {quote(record.value)} is not among those that {TASKS} declares for {quote(task.target)} "
            f"({listed(list(task.classes), 5)}): if the classes were others in this round, read it with the tasks.json "
            f"of its time, or choose other rounds{ways}."
        )

    def _known(self, ids: Ids, task: _Task) -> dict[str, Any]:
        """What is known of a case beside its list."""
        hub = self.hub
        known = {**ids, N_CLASSES: len(task.classes), GROUP: task.target}
        if hub.place is not None:
            known[CLUSTER] = ids[hub.place] or _MISSING
        if hub.timed:
            known[_TIME] = ids[str(hub.round_column)]
        if hub.oracle is not None:
            known[OUTCOME] = hub.oracle.outcome(task, ids)
            self.cases.count("case", f"without an outcome in {hub.oracle.path.name}", known[OUTCOME] is None)
        return known

    def notes(self) -> Iterator[str]:
        """What is to be said of the folder."""
        remedy = _BY_ORDER if len({task.classes for task in self.targets.values()}) == 1 else ""
        for task in self.targets.values():
            if task.ordinal:
                order = " < ".join(task.classes) if len(task.classes) <= _SHOWN else f"{len(task.classes)} classes"
                yield (
                    f"ordinal target: Brier and log scores ignore the order of the classes ({task.target}: {order}), "
                    f"so that a near miss costs as much as a far one{remedy}"
                )
        if self.hub.oracle is None:
            yield f"there is no {ORACLE} in the hub: outcomes have to be given"
        elif self.hub.oracle.versioned:
            yield "outcomes are those of the latest version (as_of)"
        if self.ignored:
            yield f"columns that tasks.json does not declare are ignored: {listed(sorted(self.ignored))}"
        if self.hub.place is not None:
            both = f", and of one {self.hub.round_column} by time" if self.hub.timed else ""
            yield f"cases of one {self.hub.place} depend on each other and are a cluster{both}"


def _case(ids: Ids) -> str:
    """The id of a case: the task ids with their values, as in `horizon=0, location=US`."""
    return ", ".join(f"{name}={_MISSING if value is None else value}" for name, value in ids.items())


def _is_hub(look: FirstLook, path: Path) -> str:
    """Files of these columns that are in a hub."""
    root = _hub_root(path)
    return f"it has the columns {listed([TYPE, CLASS, VALUE])}, and {root.name or root} has {TASKS}" if root else ""


PRODUCER = reading(_read, sees=_is_hub, options=("where",), files_only=True)
