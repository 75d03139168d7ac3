"""The same cases of several tables, in the order of the first one: as they are read, or else looked up by their ids."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import disk_full_explained, need, temporary_folder
from toplist._text import argument, listed, quote, spelling_difference
from toplist.errors import AlignmentError, FileError
from toplist.io.batches import Batch, concat
from toplist.io.columns import CaseIndex, Column, UniqueIds, as_arrow, same_ids
from toplist.io.options import MISSING
from toplist.io.sources import OpenTable

_FEW = 20  # ids of a table that the first one lacks, to be shown or compared with
_HEAD = 1000  # ids of the first table that these are compared with
_PART = 1 << 17  # cases that are looked up at a time
_BLOCK = 1 << 22  # cases that are kept together: many are taken at once of each of a few
_IN_MEMORY = 1 << 31  # bytes of the lists of all tables that are looked up; more goes to disk


@dataclass(frozen=True, slots=True)
class Cases:
    """Consecutive cases of the first table, and those of them that each other table has, in the same order.

    `present` says by table which of the cases it has; it is empty where all have all.
    """

    first: Batch
    others: tuple[Batch, ...]
    present: tuple[NDArray[np.bool_], ...] = ()

    def __len__(self) -> int:
        return len(self.first)

    def first_of(self, other: int) -> Batch:
        """What the first table says of the cases that another one has."""
        return self.first.take(np.flatnonzero(self.present[other])) if self.present else self.first

    def common(self) -> list[Batch]:
        """The cases that all tables have, of each."""
        if not self.present:
            return [self.first, *self.others]
        keep = np.logical_and.reduce(self.present)
        others = (
            batch.take(np.flatnonzero(keep[there])) for batch, there in zip(self.others, self.present, strict=True)
        )
        return [self.first.take(np.flatnonzero(keep)), *others]


@dataclass(slots=True)
class AlignedCases:
    """Tables about the same cases; the first one, the truth if it is among them, gives their order.

    Of what can be done about cases that a table lacks, `choices` names what is open here. Of a `part` of all cases a
    table may lack all.
    """

    sources: Sequence[OpenTable]
    missing: str = "error"
    choices: Sequence[str] = MISSING[:2]
    part: bool = False
    unknown: Counter[str] = field(default_factory=Counter)  # by table: cases that the first one lacks
    left_out: Counter[str] = field(default_factory=Counter)  # by table: cases that `common` passed over

    @property
    def total(self) -> int | None:
        """How many rows the first table has, where that is known."""
        return self.sources[0].reader.rows

    def cases(self) -> Iterator[Cases]:
        """The cases some at a time, each once.

        As long as the next ids of all tables are the same, cases go on as they are read; so they do where no table has
        ids. From the first difference on, the rest of each table is looked up.
        """
        without = [source.path for source in self.sources if source.layout.case is None]
        if 0 < len(without) < len(self.sources):
            raise AlignmentError(
                f"{listed(without, 3, str)}: there is no column with case ids, but the other files have one. "
                f"Name it with {argument('case')}, or give all files in the same order without ids."
            )
        first, unique, done = self.sources[0], UniqueIds(), 0
        with ExitStack() as opened:  # whatever ends the reading, files and temporary folders are closed at once
            streams = [opened.enter_context(closing(_Stream(source, len(self.sources)))) for source in self.sources]
            while True:
                heads = [head for stream in streams if (head := stream.head()) is not None]
                count = min(map(len, heads), default=0)
                batches = [head.part(0, count) for head in heads]
                ids = None if not batches else batches[0].ids
                same = ids is None or all(same_ids(ids, batch.ids) for batch in batches[1:])
                if len(heads) < len(streams) or not same:
                    break
                for stream in streams:
                    stream.skip(count)
                if batches[0].ids is not None:
                    unique.see(batches[0].ids)
                done += count
                yield Cases(batches[0], tuple(batches[1:]))
            if heads:
                yield from self._looked_up(streams, done)
            else:
                require_unique(first, unique)

    def common(self, most: int = 1 << 15) -> Iterator[list[Batch]]:
        """The cases that all tables have, so few at a time that their lists stay in the cache."""
        names, counts, compared = [source.name for source in self.sources], Counter[str](), 0
        for cases in self.cases():
            batches = cases.common()
            present = cases.present or [np.ones(len(cases), bool)] * len(cases.others)
            counts += Counter(dict(zip(names, (len(cases), *(int(each.sum()) for each in present)), strict=True)))
            compared += len(batches[0])
            for lo in range(0, len(batches[0]), most):
                yield [batch.part(lo, min(lo + most, len(batch))) for batch in batches]
        self.left_out = counts + self.unknown
        self.left_out -= Counter(dict.fromkeys(names, compared))
        if counts and not compared:
            remedy = "Leave out a file with other cases, or see whether ids differ."
            raise AlignmentError(f"there is no case that all files have. {remedy}")

    def _looked_up(self, streams: Sequence[_Stream], done: int) -> Iterator[Cases]:
        """The cases after those that were the same in all tables."""
        first, *others = streams
        source = first.source
        if source.layout.case is None:
            (ended, *_), (longer, *_) = (
                [stream.source.path for stream in streams if (stream.head() is None) is over] for over in (True, False)
            )
            raise AlignmentError(
                f"without case ids, all files need the same number of rows: {ended} has {done:,}, {longer} has more. "
                "Give every file a column with case ids, or the same cases in the same order."
            )
        text = any(each.ids_are_text for each in self.sources)
        index = CaseIndex((ids for ids, _ in source.ids()), text=text)
        _require_once(source, index)
        with temporary_folder() as folder:
            rests = [
                _Rest(stream, index, done, folder / str(at), _IN_MEMORY // len(others))
                for at, stream in enumerate(others)
            ]
            self.unknown.update({rest.source.name: rest.unknown for rest in rests})
            self._require_same_cases(index, rests, done)
            for batch in first.rest():
                for lo in range(0, len(batch), _PART):
                    part = batch.part(lo, min(lo + _PART, len(batch)))
                    present, batches = zip(*(rest.of(part, done) for rest in rests), strict=True)
                    yield Cases(part, batches, () if all(each.all() for each in present) else present)
                    done += len(part)

    def _require_same_cases(self, index: CaseIndex, rests: Sequence[_Rest], done: int) -> None:
        """Where no choice was made, refuse tables that lack cases of the first one, or have others.

        A table that shares no case with the first one is refused in any case.
        """
        if self.part and self.missing != "error":
            return
        first = self.sources[0]
        if not len(index) and not self.part:
            raise FileError(first.path, "there are no cases.")
        called = "the truth" if first.truth else first.name
        lines, more, apart = [], [], []
        for rest in rests:
            name, lacking = rest.source.name, done + np.flatnonzero(rest.rows[done:] < 0)
            if len(lacking):
                lines.append(f"{name} lacks {_count(len(lacking), index.names(lacking[:3]))} that {called} has")
            if rest.unknown:
                more.append(f"{name} has {_count(rest.unknown, rest.some_unknown)} that {called} lacks")
            if len(lacking) == len(index):
                apart.append(rest)
        if (lines or more) and self.missing == "error":
            common = argument("missing", "common")
            remedy = f"To take the cases that all have, pass {common}."
            if len(self.choices) > 2:
                remedy = f"Choose what to do about it: {common} (cases that all have), {_others(self.choices)}."
            hint = next(filter(None, (_hint(index, called, rest.some_unknown) for rest in apart)), "")
            raise AlignmentError(f"{'; '.join([*lines, *more])}.{hint} {remedy}")
        if apart and len(index):
            name, ids = apart[0].source.name, apart[0].some_unknown
            theirs = ", ".join(map(quote, index.names(np.arange(min(3, len(index))))))
            own = ", ".join(map(quote, ids[:3]))
            looks = f" Its ids are such as {own}, those of {called} such as {theirs}." if own else ""
            raise AlignmentError(f"{name} has none of the cases of {called}.{_hint(index, called, ids)}{looks}")


def _others(choices: Sequence[str]) -> str:
    """What else may be done about missing predictions than to refuse them, or to take the cases that all have.

    >>> _others(("error", "common", "uniform"))
    'or uniform (what a missing prediction counts as)'
    """
    *most, last = [one for one in choices if one in ("uniform", "worst", "baseline")]
    imputed = f"or {', '.join(most)}{' or ' if most else ''}{last} (what a missing prediction counts as)"
    return f"pairwise (relative skill), {imputed}" if "pairwise" in choices else imputed


def _count(count: int, ids: Sequence[Any]) -> str:
    some = ", ".join(map(quote, ids[:3])) + (", ..." if count > len(ids[:3]) else "")
    return f"{count:,} case{'' if count == 1 else 's'} ({some})"


class _Stream:
    """The batches of a table, which are used up in parts."""

    def __init__(self, source: OpenTable, beside: int) -> None:
        self.source, self._batches = source, source.batches(beside=beside)
        self._head: Batch | None = None

    def head(self) -> Batch | None:
        """The batch that is next, which has cases."""
        while self._head is None or not len(self._head):
            self._head = next(self._batches, None)
            if self._head is None:
                break
        return self._head

    def skip(self, count: int) -> None:
        """Go on by so many cases of the head."""
        if self._head is not None:
            self._head = self._head.part(count, len(self._head)) if count < len(self._head) else None

    def rest(self) -> Iterator[Batch]:
        """What was not used up."""
        while (head := self.head()) is not None:
            yield head
            self._head = None

    def close(self) -> None:
        """Read no more."""
        self._batches.close()


def _hint(index: CaseIndex, called: str, unknown: Sequence[Any]) -> str:
    """How ids that the first table lacks may be written otherwise there, or nothing."""
    known = map(str, index.names(np.arange(min(_HEAD, len(index)))))
    near = spelling_difference(map(str, unknown), known, ids=True)
    called = called.removeprefix("the ")
    return "" if near is None else f" {quote(near[0])} and {quote(near[1])} ({called}) differ in {near[2]}."


def require_unique(source: OpenTable, ids: UniqueIds) -> None:
    """After all ids of a table: no case may be there twice. Those that do not rise are read again."""
    if not ids.rising and source.layout.kind != "long":  # whose cases are brought together
        _require_once(source, CaseIndex((ids for ids, _ in source.ids()), text=source.ids_are_text))


def _require_once(source: OpenTable, index: CaseIndex) -> None:
    """No id of a table may be there twice."""
    count = len(index.repeated)
    if count:
        rows = np.concatenate([rows for _, rows in source.ids()])[index.repeated]
        name, times = index.names(index.repeated[:1])[0], "twice" if count == 2 else f"{count:,} times"
        problem = f"case {quote(name)} is there {times}, first in row {rows[0]:,}.{_perhaps_long(source)}"
        raise FileError(source.path, problem, row=int(rows[-1]))


def _perhaps_long(source: OpenTable) -> str:
    """What may be wrong where a row was taken for a case."""
    if source.layout.kind == "labels":
        confidence = argument("confidence", file="truth" if source.truth else source.name)
        return f" If this is a long table, name its confidences: {confidence}."
    return f" If {quote(source.layout.case)} is no case id, name the column that is: {argument('case')}."


def silent(what: str, done: int, total: int | None) -> None:
    """No progress shown."""


class _Rest:
    """What a table has from the first difference on, of which any cases can be taken, with where they are.

    It is kept in memory, and beyond some bytes in mapped files.
    """

    def __init__(self, stream: _Stream, index: CaseIndex, done: int, folder: Path, room: int) -> None:
        self.source, self._folder, self._room = stream.source, folder, room
        self._batches: list[Batch] = []
        ids: list[Column] = []
        some: list[Batch] = []
        for batch in stream.rest():
            ids.append(batch.ids)
            some.append(replace(batch, ids=None))  # those of the first table are the same
            if sum(map(len, some)) >= _BLOCK:
                self._keep(some)
                some = []
        if some or not self._batches:
            self._keep(some)
        places, unknown = index.places(ids)
        self.unknown, self.some_unknown = len(unknown), unknown.slice(0, _FEW).to_pylist()
        self._require_once(ids, places, done)
        self.rows = np.full(len(index), -1)  # by place in the first table, where each case is here
        there = np.flatnonzero(places >= 0)
        self.rows[places[there]] = there

    def _require_once(self, ids: Sequence[Column], places: NDArray[np.int64], done: int) -> None:
        """No case may be there twice, nor among those that all tables had in the same order."""
        there = np.flatnonzero(places >= 0)
        times = np.bincount(places[there], minlength=done)
        times[:done] += 1
        if times.max(initial=0) < 2:
            return
        order = there[np.argsort(places[there], stable=True)]
        again = places[order] < done
        again[1:] |= np.diff(places[order]) == 0
        at = order[again].min(keepdims=True)
        name = need("pyarrow").chunked_array(ids)[int(at[0])].as_py()
        problem = f"case {quote(name)} is there twice.{_perhaps_long(self.source)}"
        raise self._take(at).error(problem, 0)

    def of(self, first: Batch, start: int) -> tuple[NDArray[np.bool_], Batch]:
        """Which cases of the first table, from a place on, are here, and what is said of these."""
        rows = self.rows[start : start + len(first)]
        present = rows >= 0
        ids = first.ids if present.all() or first.ids is None else first.ids.filter(as_arrow(present))
        return present, replace(self._take(rows[present]), ids=ids)

    def _keep(self, batches: Sequence[Batch]) -> None:
        block = concat(batches, self.source.path, self.source.names)
        self._room -= block.nbytes
        self._batches.append(block if self._room >= 0 else self._written(block))

    def _written(self, batch: Batch) -> Batch:
        """The same batch, of which the system decides what is in memory."""
        buffers: list[pickle.PickleBuffer] = []
        content, path = pickle.dumps(batch, 5, buffer_callback=buffers.append), self._folder / str(len(self._batches))
        spans = []
        with disk_full_explained():
            self._folder.mkdir(exist_ok=True)
            with path.open("wb") as file:
                for buffer in buffers:
                    start = file.tell()
                    file.write(buffer.raw())
                    spans.append(slice(start, file.tell()))
                    file.write(bytes(-file.tell() % 64))  # numbers stand where they would in memory
        with path.open("rb") as file:
            mapped = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        written: Batch = pickle.loads(content, buffers=[mapped[span] for span in spans])  # noqa: S301 -- our own
        return written

    def _take(self, at: NDArray[np.int64]) -> Batch:
        """The cases with these numbers, in this order."""
        starts = np.cumsum([0, *map(len, self._batches)])
        home = np.searchsorted(starts, at, side="right") - 1
        parts = [batch.take(at[home == which] - starts[which]) for which, batch in enumerate(self._batches)]
        order = np.argsort(home, kind="stable")
        every = concat(parts, self.source.path, self.source.names)
        return every if len(parts) == 1 else every.take(np.argsort(order, kind="stable"))
