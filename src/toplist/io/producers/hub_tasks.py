"""What a hub declares and observed: the tasks of `hub-config/tasks.json`, and outcomes in `target-data/oracle-output`.

Versions of the schema from 0.0.0.9 to 6.0.0 differ in names only: the output type `pmf` was called `categorical`, and
its `output_type_id` was `type_id`. Values have one text, whether a file is CSV or Parquet: that of tasks.json.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from toplist._files import need, read_json
from toplist._text import listed, quote
from toplist.errors import FileError
from toplist.io.producers import fields
from toplist.io.producers.fields import FieldError
from toplist.io.readers.base import NOT_UTF8, opened, unreadable

TASKS = Path("hub-config") / "tasks.json"
ORACLE = Path("target-data") / "oracle-output"
TYPE, CLASS, VALUE = "output_type", "output_type_id", "value"
PMF = ("pmf", "categorical")  # what distributions over classes are called
ORACLE_VALUE, VERSION = "oracle_value", "as_of"
MISSING = "NA"  # as R and the hubs write what is not there
_TABLES = (".csv", ".parquet", ".pq", ".gz")


@dataclass(frozen=True, slots=True)
class HubTask:
    """A target of classes: the values that its task ids may have, and its classes in their order."""

    target: str
    key: Mapping[str, str]  # the task ids, with their values, that name the target
    values: Mapping[str, tuple[str, ...]]  # declared values by task id; none where the task id does not apply
    classes: tuple[str, ...]
    ordinal: bool
    round: str | None  # the id that names of files begin with, where no task id holds it


@dataclass(frozen=True)
class Hub:
    """A hub: where it is, and the tasks that ask for distributions over classes."""

    root: Path
    tasks: tuple[HubTask, ...]
    task_ids: tuple[str, ...]  # sorted
    declared: Mapping[str, Mapping[str, bool]]  # by column: the texts of its values, and whether each is a number
    round_column: str | None  # the task id with the round, where there is one

    @classmethod
    def of(cls, root: Path) -> Hub:
        """The hub of a folder, as its tasks.json declares it; its models share what was read, while nothing changes."""
        files = [root / TASKS, *_oracle_files(root / ORACLE)]
        return _known(root, tuple((str(path), info.st_mtime_ns, info.st_size) for path, info in _stats(files)))

    @cached_property
    def oracle(self) -> Oracle | None:
        """The outcomes, where the hub has them."""
        return Oracle.of(self)


@lru_cache(maxsize=2)
def _known(root: Path, _: tuple[tuple[str, int, int], ...]) -> Hub:
    path = root / TASKS
    config = read_json(path, "the tasks of a hub")
    try:
        return _hub(root, config)
    except FieldError as error:
        raise FileError(
            str(path), f"this is not a tasks.json as the schemas of the hubverse describe it: {error}."
        ) from None


def _stats(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    for path in paths:
        try:
            yield path, path.stat()
        except OSError as error:
            raise unreadable(error, path) from None


def hub_root(path: Path) -> Path | None:
    """The hub that a file is in: the next folder above it with a tasks.json."""
    return next((folder for folder in path.absolute().parents if (folder / TASKS).is_file()), None)


class _ModelTask(NamedTuple):
    """What a round asks for: declared values by task id, classes where they are asked for, and targets."""

    values: dict[str, dict[str, bool]]
    classes: dict[str, bool] | None
    targets: list[_Target]


class _Target(NamedTuple):
    name: str
    key: dict[str, str]
    ordinal: bool


def _hub(root: Path, config: Any) -> Hub:
    tasks: list[HubTask] = []
    declared: dict[str, dict[str, bool]] = {CLASS: {}}
    columns: set[str] = set()
    for round_id, from_column, asked in fields.each(config, "rounds", _round):
        columns |= {round_id} if from_column else set()
        for one in asked:
            for name, allowed in one.values.items():
                declared.setdefault(name, {}).update(allowed)
            if one.classes is None:
                continue
            declared[CLASS].update(one.classes)
            plain = {name: tuple(allowed) for name, allowed in one.values.items()}
            for target in one.targets:
                own = {**plain, **{column: (value,) for column, value in target.key.items()}}
                own_round = None if from_column else round_id
                tasks.append(HubTask(target.name, target.key, own, tuple(one.classes), target.ordinal, own_round))
    ids = declared.keys() - {CLASS}
    for name in [*columns, *(name for task in tasks for name in task.key)]:
        if name not in ids:
            raise FieldError("rounds", f"should have {quote(name)} among the task ids, which a round or a target names")
    column = next(iter(columns)) if len(columns) == 1 else None
    return Hub(root, tuple(tasks), tuple(sorted(ids)), declared, column)


def _round(one: Any) -> tuple[str, bool, list[_ModelTask]]:
    tasks = fields.each(one, "model_tasks", _model_task)
    return fields.known_text(one, "round_id"), fields.at(one, "round_id_from_variable") is True, tasks


def _model_task(one: Any) -> _ModelTask:
    values = fields.mapped(one, "task_ids", _values)
    asked = next((name for name in PMF if fields.at(one, f"output_type.{name}") is not None), None)
    if asked is None:
        return _ModelTask(values, None, [])
    named = CLASS if fields.at(one, f"output_type.{asked}.{CLASS}") is not None else "type_id"
    classes = fields.within(one, f"output_type.{asked}.{named}", _values)
    targets = fields.each(one, "target_metadata", _target)  # the first schemas say nothing of targets
    return _ModelTask(values, classes, targets or [_Target("", {}, ordinal=False)])


def _target(about: Any) -> _Target:
    known = fields.at(about, "target_keys") is not None
    key = fields.mapped(about, "target_keys", lambda value: text_of(_plain(value))) if known else {}
    name = ", ".join(key.values()) or fields.known_text(about, "target_id")
    return _Target(name, key, ordinal=fields.at(about, "target_type") == "ordinal")


def _values(allowed: Any) -> dict[str, bool]:
    """The texts of required and optional values, and whether each is a number."""
    every = [*fields.each(allowed, "required", _plain), *fields.each(allowed, "optional", _plain)]
    return {text_of(value): isinstance(value, int | float) and not isinstance(value, bool) for value in every}


def _plain(value: Any) -> Any:
    """A text, a number or a truth value."""
    if not (isinstance(value, int | float) or fields.is_text(value)):
        raise fields.expected("text or a number", value)
    return value


def text_of(value: Any) -> str:
    """A value as text; whole numbers are written without decimals, truth values as JSON has them.

    >>> text_of(0.0), text_of(2), text_of("01"), text_of(True)
    ('0', '2', '01', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)
    return str(value)


def read_table(path: Path, texts: Sequence[str]) -> Any:
    """The table of a CSV or Parquet file; the named columns of a CSV file are read as text."""
    with readable(path):
        table = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path, texts)
        names = table.schema.names
        kinds = {name: table.schema.field(name).type for name in set(names) if names.count(name) == 1}
    twice = next((name for name in texts if names.count(name) > 1), None)
    if twice is not None:
        raise FileError(str(path), f"two columns are called {quote(twice)}.")
    nested = next((name for name in texts if name in kinds and need("pyarrow").types.is_nested(kinds[name])), None)
    if nested is not None:
        raise FileError(str(path), f"the column {quote(nested)} holds {kinds[nested]}, not one value per row.")
    return table


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What Arrow says of bytes that it cannot read, as an error about the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None
    except (need("pyarrow").ArrowException, OSError) as error:
        raise unreadable(error, path) from None


def _parquet(path: Path) -> Any:
    return need("pyarrow.parquet").read_table(path, partitioning=None)


def _csv(path: Path, texts: Sequence[str]) -> Any:
    csv = need("pyarrow.csv")
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(texts, need("pyarrow").string()),
        null_values=["", MISSING],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    with opened(path) as stream:
        return csv.read_csv(stream, convert_options=options)


def as_texts(column: Any, declared: Mapping[str, bool]) -> Any:
    """A column as text: dates as ISO 8601 has them, numbers as tasks.json has them; null for what is not there.

    >>> import pyarrow as pa
    >>> as_texts(pa.array([0.0, 1.0, None]), {"0": True, "1": True}).to_pylist()
    ['0', '1', None]
    >>> as_texts(pa.array(["01", "NA", "2.0"]), {"01": False, "2": True}).to_pylist()
    ['01', None, '2']
    """
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    if pa.types.is_timestamp(whole.type):
        days = pc.floor_temporal(whole, unit="day")
        whole = whole.cast(pa.date32()) if pc.all(pc.equal(whole, days)).as_py() is not False else whole
    typed = pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type)
    if not (typed or pa.types.is_boolean(whole.type)):
        whole = whole.cast(pa.string())
    encoded = pc.dictionary_encode(whole)
    numbers = _numbers(text for text, is_number in declared.items() if is_number or typed)
    texts = [_text(value, declared, numbers) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _numbers(texts: Iterable[str]) -> dict[float, str | None]:
    """The texts that are numbers, by their values; None where two have the same."""
    found: dict[float, str | None] = {}
    for text in texts:
        number = number_of(text)
        if number is not None:
            found[number] = None if number in found else text
    return found


def number_of(text: str) -> float | None:
    """The number that a text is, if it is a finite one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text(value: Any, declared: Mapping[str, bool], numbers: Mapping[float, str | None]) -> str | None:
    if value is None or value != value:
        return None
    text = text_of(value)
    if text in declared:
        return text
    if text in ("", MISSING):
        return None
    number = number_of(text)
    if number is not None and numbers.get(number) is not None:
        return numbers[number]
    return next((one for one in declared if one.lower() == text.lower()), text) if text.lower() in _TRUTH else text


_TRUTH = ("true", "false")


def joined(columns: Mapping[str, Any], names: Sequence[str], rows: int) -> Any:
    """One text per row: the named columns with their values, as in `horizon=0, location=US`."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if not names:
        return pa.array([""] * rows, pa.string())
    parts: list[Any] = []
    for name in names:
        parts += [f"{', ' if parts else ''}{name}=", columns[name].fill_null(MISSING)]
    return pc.binary_join_element_wise(*parts, "")


@dataclass(frozen=True)
class Oracle:
    """The outcomes of a hub: rows with value 1 for the class that was observed, by some of the task ids."""

    path: Path
    columns: Mapping[str, Any]  # texts of the task ids and of the class
    observed: Any  # whether each row is of the class that happened
    versioned: bool

    @classmethod
    def of(cls, hub: Hub) -> Oracle | None:
        """The rows about distributions over classes, in the latest version; None where the hub has no outcomes."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        files = _oracle_files(hub.root / ORACLE)
        if not files:
            return None
        texts = [*hub.task_ids, TYPE, CLASS, VERSION, ORACLE_VALUE]
        parts = [_with_partition(read_table(path, texts), path, hub.root / ORACLE) for path in files]
        place = files[0] if len(files) == 1 else hub.root / ORACLE
        lacks = next(
            (name for name in (TYPE, CLASS, ORACLE_VALUE) for part in parts if name not in part.schema.names), None
        )
        if lacks is not None:
            raise FileError(
                str(place),
                f"there is no column {quote(lacks)}, without which outcomes that are classes cannot be told.",
            )
        known = [name for name in (*hub.task_ids, TYPE, CLASS, VERSION) if all(name in p.schema.names for p in parts)]
        pairs = list(zip(parts, files, strict=True))
        with readable(place):
            texts_of = {n: [as_texts(part[n], hub.declared.get(n, {})) for part in parts] for n in known}
            columns = {name: pa.concat_arrays(every) for name, every in texts_of.items()}
            value = pa.concat_arrays([as_numbers(part[ORACLE_VALUE], ORACLE_VALUE, path) for part, path in pairs])
        kept = pc.is_in(columns[TYPE], value_set=pa.array(PMF))
        columns, value = {name: one.filter(kept) for name, one in columns.items()}, value.filter(kept)
        odd = pc.invert(pc.fill_null(pc.is_in(value, value_set=pa.array([0.0, 1.0])), False))
        if pc.any(odd).as_py():
            raise FileError(
                str(place), f"a value of {ORACLE_VALUE} for the output type pmf is {value.filter(odd)[0]}, not 0 or 1."
            )
        versioned = VERSION in columns
        if versioned:
            latest = _latest(columns, [name for name in hub.task_ids if name in columns])
            columns, value = {name: one.filter(latest) for name, one in columns.items()}, value.filter(latest)
        return cls(place, columns, pc.equal(value, 1.0), versioned)

    def outcomes(self, task: HubTask, cases: Mapping[str, Any], rows: int) -> Any:
        """The class that was observed for each case of a target, by the task ids that the outcomes have; or null."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        mine = self.observed
        for name, value in task.key.items():
            if name in self.columns:
                mine = pc.and_(mine, pc.fill_null(pc.equal(self.columns[name], value), False))
        own = {name: column.filter(mine) for name, column in self.columns.items()}
        names = [name for name in sorted(cases) if name in own and own[name].null_count < len(own[name])]
        keys, classes = joined(own, names, len(own[CLASS])), own[CLASS]
        both = pa.table({"key": keys, "class": classes}).group_by(["key", "class"]).aggregate([])
        counts = pc.value_counts(both["key"])
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            where = twice.field("values")[0].as_py()
            found = both.filter(pc.equal(both["key"], where))["class"].to_pylist()
            raise FileError(
                str(self.path),
                f"two classes, {listed(sorted(map(str, found)))}, are said to have happened where {where}: one has "
                f"{ORACLE_VALUE} 1.",
            )
        at = pc.index_in(joined(cases, names, rows), value_set=both["key"].combine_chunks())
        return both["class"].combine_chunks().take(at)


def _oracle_files(place: Path) -> list[Path]:
    """One file, or those of a folder of partitions."""
    single = [
        one for suffix in (".csv", ".parquet", ".csv.gz") if (one := place.with_name(place.name + suffix)).is_file()
    ]
    if len(single) > 1:
        raise FileError(str(single[0]), f"{single[1].name} is beside it: which of them holds the outcomes? Keep one.")
    if single or not place.is_dir():
        return single
    return sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] not in "._" and p.suffix.lower() in _TABLES)


def _with_partition(table: Any, path: Path, place: Path) -> Any:
    """A table with the columns that names of folders such as `target=peak%20week` hold."""
    pa = need("pyarrow")
    folders = path.relative_to(place).parts[:-1] if place in path.parents else ()
    for folder in folders:
        name, mark, value = folder.partition("=")
        if mark and name not in table.schema.names:
            text = None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)
            table = table.append_column(name, pa.array([text] * len(table), pa.string()))
    return table


def as_numbers(column: Any, name: str, path: Path, rows: Any = None) -> Any:
    """A column as numbers, null for what is not there; `rows` are the places of its values in the file."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_string(whole.type):
        return whole.cast(pa.float64())
    text = pc.utf8_trim_whitespace(whole)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        odd = next(at for at, one in enumerate(text.to_pylist()) if one is not None and number_of(one) is None)
        row = odd if rows is None else int(rows[odd])
        raise FileError(str(path), f"{name} is {quote(text[odd].as_py())}, which is no number.", row=row + 1) from None


def _latest(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Which rows are of the latest version of their case."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    keys = joined(columns, names, len(columns[CLASS]))
    version = columns[VERSION].fill_null("")
    last = pa.table({"key": keys, "version": version}).group_by("key").aggregate([("version", "max")])
    own = last["version_max"].combine_chunks().take(pc.index_in(keys, value_set=last["key"].combine_chunks()))
    return pc.equal(version, own)
