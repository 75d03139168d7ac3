"""Hubverse: the folder of a model, `model-output/<team>-<model>/`, with one CSV or Parquet file per round.

A case is a combination of task ids. Rows of the output type pmf are its list; those of other types are counted.
Classes, their number and their order are declared in the hub's tasks.json, and outcomes are in its oracle-output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import as_path, need
from toplist._text import argument, listed, quote
from toplist._typing import Bools, Ints
from toplist.errors import FileError
from toplist.io.conditions import Condition, conditions_of
from toplist.io.producers.base import (
    CASE,
    CLASSES,
    CLUSTER,
    CONFIDENCES,
    GROUP,
    N_CLASSES,
    OUTCOME,
    Match,
    ProducedReader,
    Producer,
    Request,
    columns_of,
)
from toplist.io.producers.hub_tasks import (
    CLASS,
    MISSING,
    ORACLE,
    PMF,
    TASKS,
    TYPE,
    VALUE,
    Hub,
    HubTask,
    as_numbers,
    as_texts,
    hub_root,
    joined,
    read_table,
    readable,
)
from toplist.io.readers.base import FirstLook

_BINARY = (".parquet", ".pq")
_OUTPUT = (TYPE, CLASS, VALUE)
_PLACE = "location"  # what hubs call the task id of places
_TIME = "time"
_BY_ORDER = ": --rule rps does not, with --ordinal and --classes FILE, one class per line in this order"
_SHOWN = 7  # classes whose order is spelled out


def _open(request: Request) -> ProducedReader:
    paths = tuple(path for path in request.paths if path.suffix.lower() in (".csv", ".gz", *_BINARY))
    if not paths:
        raise FileError(request.name, "there is no CSV or Parquet file of model output here.")
    folders = sorted({str(path.parent) for path in paths})
    if len(folders) > 1:
        raise FileError(
            request.name,
            f"these are the files of {len(folders)} models ({listed([Path(f).name for f in folders], 3)}): name one "
            f"folder per model, as in toplist compare '{as_path(folders[0]).parent}/*/'.",
        )
    root = hub_root(paths[0])
    if root is None:
        raise FileError(
            request.name,
            f"there is no {TASKS} in a folder above, in which a hub declares its classes. Read it as a table: "
            f"{argument('producer', 'none')} {argument('where', f'{TYPE}=pmf')} {argument('class_column', CLASS)} "
            f"{argument('confidence', VALUE)}, with the columns that make a case.",
        )
    made = _Folder(Hub.of(root), request, paths)
    batches = [(str(path), made.batch(path)) for path in paths]
    if not any(len(batch) for _, batch in batches):
        raise FileError(request.name, made.nothing)
    notes = tuple(made.notes(sum(len(batch) for _, batch in batches)))
    reader = ProducedReader(request.name, lambda: iter(batches), made.columns, paths=paths, notes=notes)
    reader.decimal = not any(path.suffix.lower() in _BINARY for path in paths)
    return reader


@dataclass
class _Folder:
    """The files of one model, as they are read one after the other."""

    hub: Hub
    request: Request
    paths: tuple[Path, ...]
    others: Counter[str] = field(default_factory=Counter)  # rows by output type
    ignored: Counter[str] = field(default_factory=Counter)  # files by column
    undeclared: int = 0  # rows with task ids that are not declared
    unresolved: int = 0  # cases without an outcome
    targets: dict[str, HubTask] = field(default_factory=dict)  # those that occurred

    @cached_property
    def where(self) -> tuple[Condition, ...]:
        """Conditions on task ids."""
        pa = need("pyarrow")
        schema = pa.schema([(name, pa.string()) for name in (*self.hub.task_ids, TYPE)])
        return tuple(conditions_of(self.request.options.where, schema, self.request.name))

    @cached_property
    def grouped(self) -> bool:
        """Whether the hub has several targets among those that are asked for: the same for all its models."""
        return len({task.target for task in self.hub.tasks if all(self._may_hold(one, task) for one in self.where)}) > 1

    def _may_hold(self, condition: Condition, task: HubTask) -> bool:
        """Whether a condition on what names a target leaves a task."""
        pa, name = need("pyarrow"), condition.name
        return name not in task.key or bool(condition.holds(pa.array([task.key[name]]), self.request.name)[0])

    @cached_property
    def place(self) -> str | None:
        """The task id whose values are clusters: places, or else rounds."""
        return _PLACE if len(self.hub.declared.get(_PLACE, ())) > 1 else self.hub.round_column

    @cached_property
    def timed(self) -> bool:
        """Whether rounds are days, beside places that are clusters."""
        column = self.hub.round_column
        return column not in (None, self.place) and all(map(_is_day, self.hub.declared[str(column)]))

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Names and types of what is made, the same for all models of a hub."""
        pa = need("pyarrow")
        known = {N_CLASSES: pa.int64()}
        known |= {} if self.hub.oracle is None else {OUTCOME: pa.string()}
        known |= {GROUP: pa.string()} if self.grouped else {}
        known |= {} if self.place is None else {CLUSTER: pa.string()}
        known |= {_TIME: pa.string()} if self.timed else {}
        return columns_of(**known, **{name: pa.string() for name in (*self.hub.task_ids, TYPE) if name not in known})

    def batch(self, path: Path) -> Any:
        """The cases of one file."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        table = read_table(path, (*self.hub.task_ids, *_OUTPUT))
        lacks = next((name for name in _OUTPUT if name not in table.schema.names), None)
        if lacks is not None:
            raise FileError(str(path), f"there is no column {quote(lacks)}, which model output of a hub has.")
        self.ignored.update(name for name in table.schema.names if name not in (*self.hub.task_ids, *_OUTPUT))
        with readable(path):
            rows, texts = self._distributions(table)
            values = as_numbers(table[VALUE].take(rows), VALUE, path, rows)
        task = self._tasks(path, texts, rows, table.schema.names)
        rank = self._ranks(path, texts[CLASS], task, rows)
        encoded = pc.dictionary_encode(joined(texts, self.hub.task_ids, len(rows)))
        code = encoded.indices.to_numpy(zero_copy_only=False)
        first = np.unique(code, return_index=True)[1]
        order = np.lexsort((rank, code))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(code, minlength=len(first))))).astype(np.int32)
        made = {
            CASE: encoded.dictionary,
            CLASSES: pa.ListArray.from_arrays(offsets, texts[CLASS].take(order)),
            CONFIDENCES: pa.ListArray.from_arrays(offsets, values.take(order)),
        }
        made |= self._known({name: texts[name].take(first) for name in (*self.hub.task_ids, TYPE)}, task[first])
        return pa.record_batch([made[name] for name in self.columns], schema=pa.schema(list(self.columns.items())))

    def _distributions(self, table: Any) -> tuple[Ints, dict[str, Any]]:
        """The rows of the output type pmf that fulfil the conditions, and their columns as text; others are counted."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        kind = as_texts(table[TYPE], {})
        kept = pc.fill_null(pc.is_in(kind, value_set=pa.array(PMF)), False)
        self.others.update(pc.fill_null(kind.filter(pc.invert(kept)), "no output type").to_pylist())
        rows = np.flatnonzero(kept.to_numpy(zero_copy_only=False))
        texts = {}
        for name in (*self.hub.task_ids, TYPE, CLASS):
            there = name in table.schema.names
            declared = self.hub.declared.get(name, {})
            texts[name] = as_texts(table[name].take(rows), declared) if there else pa.nulls(len(rows), pa.string())
        meant = np.ones(len(rows), dtype=bool)
        for one in self.where:
            meant &= one.holds(texts[one.name], self.request.name)
        return rows[meant], {name: one.filter(pa.array(meant)) for name, one in texts.items()}

    def _tasks(self, path: Path, texts: Mapping[str, Any], rows: Ints, columns: Sequence[str]) -> Ints:
        """The task of each row: the one that declares its task ids, or else the one of its target."""
        tasks = self.hub.tasks
        found = self._fitting(path, texts, rows, loose=False)
        if (found < 0).any():
            self.undeclared += int(np.count_nonzero(found < 0))
            found = np.where(found < 0, self._fitting(path, texts, rows, loose=True), found)
        if (found < 0).any():
            odd = int(np.argmax(found < 0))
            names = dict.fromkeys(name for task in tasks for name in task.key)
            what = ", ".join(f"{name} {quote(texts[name][odd].as_py())}" for name in names) or "this"
            raise FileError(
                str(path), f"{what} is no target with classes (pmf) in the {TASKS} of this hub.", row=int(rows[odd]) + 1
            )
        for at in np.unique(found).tolist():
            self.targets.setdefault(tasks[at].target, tasks[at])
            lacks = next((name for name, values in tasks[at].values.items() if values and name not in columns), None)
            if lacks is not None:
                raise FileError(
                    str(path), f"there is no column {quote(lacks)}, a task id of {quote(tasks[at].target)}."
                )
        return found

    def _fitting(self, path: Path, texts: Mapping[str, Any], rows: Ints, *, loose: bool) -> Ints:
        """The number of the task whose declared values each row has, or whose target, where that is `loose`; or -1."""
        tasks, found = self.hub.tasks, np.full(len(rows), -1, dtype=np.int64)
        for at, task in enumerate(tasks):
            fits = _fits(task, texts, path, len(rows), loose=loose)
            others = np.unique(found[fits & (found >= 0)]).tolist()
            if any(tasks[other].classes != task.classes for other in others):
                row = int(rows[np.argmax(fits & (found >= 0))]) + 1
                why = "its task ids are not declared, and its target is declared" if loose else "it is declared"
                raise FileError(str(path), f"{why} twice in {TASKS}, with different classes.", row=row)
            found[fits & (found < 0)] = at
        return found

    def _ranks(self, path: Path, classes: Any, task: Ints, rows: Ints) -> Ints:
        """The place of each row's class among those of its task."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        rank = np.full(len(rows), -1, dtype=np.int64)
        for at in np.unique(task).tolist():
            mine = np.flatnonzero(task == at)
            places = pc.index_in(classes.take(mine), value_set=pa.array(self.hub.tasks[at].classes, pa.string()))
            rank[mine] = pc.fill_null(places, -1).to_numpy(zero_copy_only=False)
        if (rank < 0).any():
            odd = int(np.argmax(rank < 0))
            about = self.hub.tasks[task[odd]]
            others = [key for one in self.hub.tasks if one.key != about.key for key in one.key.items()]
            ways = f" or targets, as in {argument('where', '='.join(others[0]))}" if others else ""
            raise FileError(
                str(path),
                f"the class {quote(classes[odd].as_py())} is not among those that {TASKS} declares for "
                f"{quote(about.target)} ({listed(list(about.classes), 5)}): if the classes were others in this round, "
                f"read it with the tasks.json of its time, or choose other rounds{ways}.",
                row=int(rows[odd]) + 1,
            )
        return rank

    def _known(self, texts: Mapping[str, Any], task: Ints) -> dict[str, Any]:
        """What is known of the cases beside their lists."""
        pa, tasks = need("pyarrow"), self.hub.tasks
        known = {**texts, N_CLASSES: pa.array([len(tasks[at].classes) for at in task.tolist()], pa.int64())}
        known[GROUP] = pa.array([tasks[at].target for at in task.tolist()], pa.string())
        known |= {} if self.place is None else {CLUSTER: texts[self.place].fill_null(MISSING)}
        known |= {} if self.hub.round_column is None else {_TIME: texts[self.hub.round_column]}
        if self.hub.oracle is None:
            return known
        outcome = np.full(len(task), None, dtype=object)
        for at in np.unique(task).tolist():
            mine = np.flatnonzero(task == at)
            own = {name: texts[name].take(mine) for name in self.hub.task_ids}
            outcome[mine] = self.hub.oracle.outcomes(tasks[at], own, len(mine)).to_numpy(zero_copy_only=False)
        self.unresolved += sum(one is None for one in outcome)
        known[OUTCOME] = pa.array(outcome, pa.string())
        return known

    @property
    def nothing(self) -> str:
        """Why there is no case at all, and which models have some."""
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.others.items())) or "none"
        asked = "".join(f" with {one.text}" for one in self.where)
        place = self.paths[0].parent.parent
        return (
            f"there are no rows of the output type pmf{asked} here; rows of other types: {counts}. Leave this model "
            f"out: toplist compare $(grep -rlw pmf {place} | xargs -n 1 dirname | sort -u) names those that have some."
        )

    def notes(self, cases: int) -> Iterator[str]:
        """What is to be said of the folder."""
        if self.others:
            counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.others.items()))
            yield f"rows of other output types are not used: {counts}"
        same = len({task.classes for task in self.targets.values()}) == 1
        remedy = _BY_ORDER if same else ""
        for task in self.targets.values():
            if task.ordinal:
                order = " < ".join(task.classes) if len(task.classes) <= _SHOWN else f"{len(task.classes)} classes"
                yield (
                    f"ordinal target: Brier and log scores ignore the order of the classes ({task.target}: {order}), "
                    f"so that a near miss costs as much as a far one{remedy}"
                )
        if self.hub.oracle is None:
            yield f"there is no {ORACLE} in the hub: outcomes have to be given"
        elif self.unresolved:
            yield f"{self.unresolved:,} of {cases:,} cases have no outcome in {self.hub.oracle.path.name}"
        if self.hub.oracle is not None and self.hub.oracle.versioned:
            yield "outcomes are those of the latest version (as_of)"
        if self.undeclared:
            yield f"{self.undeclared:,} rows have task ids that tasks.json does not declare: their target counts"
        if self.ignored:
            yield f"columns that tasks.json does not declare are ignored: {listed(sorted(self.ignored))}"
        if self.place is not None:
            both = f", and of one {self.hub.round_column} by time" if _TIME in self.columns else ""
            yield f"cases of one {self.place} depend on each other and are a cluster{both}"


def _fits(task: HubTask, texts: Mapping[str, Any], path: Path, rows: int, *, loose: bool) -> Bools:
    """Which rows have the values that a task declares, or at least its target."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    fits = np.ones(rows, dtype=bool)
    if task.round is not None and not loose and not path.name.startswith(task.round):
        return ~fits
    for name, values in task.values.items():
        if not loose or name in task.key:
            there = (
                pc.is_in(texts[name], value_set=pa.array(values, pa.string())) if values else pc.is_null(texts[name])
            )
            fits &= pc.fill_null(there, False).to_numpy(zero_copy_only=False)
    return fits


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files of these columns that are in a hub."""
    root = hub_root(match.paths[0])
    return None if root is None else Match(match.paths, f"{match.reason}, and {root.name or root} has {TASKS}")


PRODUCER = Producer(open=_open, match=_match, options=("where",), files_only=True)
