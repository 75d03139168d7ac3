"""Files and frames as open tables with a layout, which give their cases as batches of lists, as often as needed."""

from __future__ import annotations

import glob
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from toplist._optional import need
from toplist._text import argument, closest_file, quote
from toplist.errors import FileError, TopListError
from toplist.io.batches import Batch, to_batch, to_batches
from toplist.io.column_names import RUN, named
from toplist.io.columns import as_numpy, identifiers, is_half, kind_of, plain, text_if_none
from toplist.io.duckdb_engine import connect, guarded
from toplist.io.layouts import Layout, LayoutHints, ignored, require_columns, require_header
from toplist.io.matching import CaseColumnRequest, case_columns
from toplist.io.readers import FORMATS, Format, MemoryReader, Reader, TableChunk, open_frame
from toplist.io.readers.base import COMPRESSIONS
from toplist.io.tables import Table, sound


@dataclass(frozen=True, slots=True)
class FileSet:
    """One prediction, in one file or in several of the same kind that follow each other."""

    paths: tuple[Path, ...]
    format: Format


def open_path(path: str | os.PathLike[str]) -> Reader:
    """A reader for a file, a folder or a pattern."""
    found = find(path)
    for one in found.paths:
        if not os.access(one, os.R_OK):
            raise FileError(str(one), "this file may not be read.")
    return found.format.open(found.paths, os.fspath(path))


def stem_of(path: str | os.PathLike[str]) -> str:
    """What a file of predictions is called without the suffixes of its format.

    >>> stem_of("out/a.csv.gz"), stem_of("b.txt"), stem_of(".csv")
    ('a', 'b.txt', '.csv')
    """
    name = Path(path).name or os.fspath(path)
    known = "|".join(suffix[1:] for one in FORMATS if one.certain for suffix in one.suffixes)
    packed = "|".join(suffix[1:] for suffix in COMPRESSIONS)
    return re.sub(rf"(\.({known}))?(\.({packed}))?$", "", name, flags=re.IGNORECASE) or name


def find(path: str | os.PathLike[str]) -> FileSet:
    """A file, a folder of files, or a pattern such as `preds/*.parquet`."""
    text = os.fspath(path)
    place = Path(text)
    if not text or "\0" in text or len(text) > 4000:
        raise FileError(quote(text), "this is no path.")
    if "://" in text and not place.exists():
        raise FileError(text, "this is an address: toplist reads files of this machine.")
    try:
        found = _found(text, place)
    except OSError as error:
        raise FileError(quote(text), f"this cannot be opened: {error.strerror}.") from None
    odd = next((path for path in found.paths if not _is_text(str(path.absolute()))), None)
    if odd is not None and not found.format.any_path:
        raise FileError(str(odd), "the path of this file is not UTF-8 text: rename it.")
    return found


def _is_text(name: str) -> bool:
    """Whether a name is text: those of files may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _found(text: str, place: Path) -> FileSet:
    if place.is_dir():
        inside = sorted(p for p in place.iterdir() if p.is_file() and p.name[0] not in "._" and _is_table(p))
        if not inside:
            raise FileError(text, f"there is no file in this folder that toplist reads ({_known()}).")
        return _same_format(text, inside)
    if place.exists():
        if not place.is_file():
            raise FileError(text, "this is not a file.")
        return _same_format(text, [place])
    if any(mark in text for mark in "*?["):
        found = sorted(Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file())
        if not found:
            raise FileError(text, "no file matches this pattern.")
        return _same_format(text, found)
    if place.is_symlink():
        raise FileError(text, "this link leads to no file.")
    raise FileError(text, f"there is no such file.{_near(place)}")


def _is_table(path: Path) -> bool:
    """Whether a file in a folder is part of a table; a .txt beside it may be anything."""
    found = format_of(path)
    return found is not None and found.certain


def format_of(path: Path) -> Format | None:
    """The format by the file's name, compressed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    last = suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1] if suffixes and not packed else ""
    return next((one for one in FORMATS if last in one.suffixes and (one.compressed or not packed)), None)


def _same_format(text: str, paths: list[Path]) -> FileSet:
    found = {path: format_of(path) for path in paths}
    odd = next((path for path, one in found.items() if one is None), None)
    if odd is not None:
        hint = " JSON is read line by line: write one object per line, as .jsonl." if odd.suffix == ".json" else ""
        raise FileError(str(odd), f"toplist reads {_known()}, not {odd.suffix or 'files without a suffix'}.{hint}")
    formats = {one.name: one for one in found.values() if one is not None}
    if len(formats) > 1:
        raise FileError(text, f"files of different formats ({', '.join(sorted(formats))}) in one place.")
    return FileSet(tuple(paths), *formats.values())


def _known() -> str:
    return f"{', '.join(one.described or one.suffixes[0] for one in FORMATS)}; text also as .gz or .zst"


def _near(place: Path) -> str:
    try:
        names = [p.name for p in place.parent.iterdir()]
    except OSError:
        return ""
    near = closest_file(place.name, names)
    return f" Did you mean {str(place.parent / near)!r}?" if near is not None else ""


log = logging.getLogger("toplist")


@dataclass(frozen=True, slots=True)
class OpenTable:
    """Where predictions, or the truth, come from."""

    name: str
    reader: Reader
    layout: Layout
    drops: bool = False  # what lacks its class or its confidence, and counts it
    truth: bool = False
    aligned: bool = True  # whether there are other files with the same cases

    @property
    def path(self) -> str:
        """The file, or what the table was called."""
        return self.reader.name

    @property
    def names(self) -> tuple[str, ...]:
        """The classes of a wide table, in the order of its columns."""
        return self.layout.class_names

    @property
    def reading(self) -> str:
        """How it is read: the layout, which column is what, and which are ignored."""
        return self.layout.describe(truth=self.truth, aligned=self.aligned)

    def batches(self, *, together: bool = False, halves: bool = False) -> Iterator[Batch]:
        """The cases in the order of the file; `together` brings rows of a long table together that are apart.

        With `halves`, what lacks its class or its confidence is left out and counted, not refused.
        """
        halves = halves or self.drops
        pieces = self._pieces(self.layout.columns)
        if self.layout.kind != "long":
            yield from self._rounded(_of_one_kind(to_batch(piece, self.layout, halves=halves) for piece in pieces))
            return
        grouped = to_batches(_case_by_case(pieces, self) if together else pieces, self.layout, halves=halves)
        yield from self._rounded(_of_one_kind(grouped))

    def _rounded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Batches that know what their numbers were: text, as in JSON, or half floats."""
        columns = self.layout.classes if self.layout.kind == "wide" else self.layout.confidences
        kinds = [field.type for field in self.reader.schema if field.name in columns]
        half = bool(kinds) and all(map(is_half, kinds))
        for batch in batches:
            made = replace(batch, precision=11) if half else batch
            if self.reader.decimal and made.rounding is None and columns:
                made = replace(made, rounding=np.full(len(made), np.nan))
            yield made

    def _pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        pieces = self.reader.pieces(columns)
        return pieces if self.reader.text else map(sound, pieces)

    def ids(self) -> Iterator[tuple[Any, Any]]:
        """The case ids alone, and their rows, of any layout but the long one."""
        for piece in self._pieces([str(self.layout.case)]):
            yield identifiers(piece.table.column(0), piece.source, piece.row_numbers), piece.row_numbers


def open_source(what: Any, name: str, hints: LayoutHints) -> OpenTable:
    """A source from a path, a pattern, a folder, or a table in memory."""
    return open_sources({name: (what, hints)})[0]


def open_sources(
    asked: Mapping[str, tuple[Any, LayoutHints]], truth: tuple[Any, LayoutHints] | None = None
) -> list[OpenTable]:
    """Sources that belong together, the truth before the others: which column is what is settled among all of them."""
    opened = [CaseColumnRequest(name, Table(_reader(what, name)), hints) for name, (what, hints) in asked.items()]
    if truth is not None:
        what, hints = truth
        own = CaseColumnRequest("truth", Table(_reader(what, "truth")), hints)
        opened = [own, *(_apart(one, own) for one in opened)]
    for one in opened:
        require_header(one.table)
        require_columns(one.table, one.hints)
    _require_ignored(opened)
    sources = []
    for one, case in zip(opened, case_columns(opened), strict=True):
        layout, reader = one.layout(case), one.table.reader
        both = next((name for name in layout.classes if name in layout.confidences), None)
        if both is not None:
            raise FileError(
                reader.name,
                f"the column {quote(both)} cannot hold both the classes and the confidences: name one column for each.",
            )
        reader.prepare(layout)
        if layout.case is None and len(opened) > 1:
            _require_natural_order(reader)
        if layout.kind == "long":
            _require_one_run(one, layout)
        drops = one.hints.blanks == "drop"
        sources.append(OpenTable(one.name, reader, layout, drops, one.hints.truth, len(opened) > 1))
    return sources


def tell(sources: Sequence[OpenTable]) -> None:
    """Log how each source is read."""
    for source in sources:
        log.info("%s%s: %s", "truth: " if source.truth else "", source.path, source.reading)


def _reader(what: Any, name: str) -> Reader:
    if isinstance(what, str | os.PathLike):
        return open_path(what)
    if what is None:
        raise TopListError(f"{name}: nothing was given.")
    return what if isinstance(what, MemoryReader) else open_frame(what, name)


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


def _of_one_kind(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Files that belong together name classes in one way."""
    types, known = need("pyarrow").types, None
    for batch in batches:
        if batch.classes is not None and len(batch.classes):
            whole = types.is_integer(batch.classes.type)
            if known not in (None, whole):
                other = "text in the files before it" if whole else "whole numbers in the files before it"
                raise FileError(batch.source, f"classes are {'whole numbers' if whole else 'text'} here, but {other}.")
            known = whole
        yield batch


def _case_by_case(pieces: Iterator[TableChunk], source: OpenTable) -> Iterator[TableChunk]:
    """The rows of a long table, case by case in the order of their first rows."""
    pa, layout = need("pyarrow"), source.layout
    names = [f"c{i}" for i in range(len(layout.columns))]
    case = names[layout.columns.index(str(layout.case))]
    first = next(pieces, None)
    if first is None:
        return
    files: list[str] = []

    def numbered() -> Iterator[Any]:
        for piece in chain([first], pieces):
            if not files or files[-1] != piece.source:
                files.append(piece.source)
            rows = piece.row_numbers
            columns = [_cast(*pair, piece.source) for pair in zip(piece.table.columns, schema, strict=False)]
            columns += [pa.array(rows), pa.array(np.full(len(rows), len(files) - 1, np.int32))]
            yield pa.record_batch(columns, schema=schema)

    kinds = [text_if_none(plain(column.slice(0, 0))).type for column in first.table.columns]
    schema = pa.schema([*zip(names, kinds, strict=True), ("row", pa.int64()), ("file", pa.int32())])
    with connect() as engine, guarded(numbered(), schema, engine, source.path) as stream:  # noqa: F841
        engine.execute("CREATE TEMP TABLE raw AS SELECT *, row_number() OVER () AS seq FROM stream")
        # A case that goes on in another file stays with the file, and the row, where it began.
        engine.execute(
            f"CREATE TEMP TABLE firsts AS SELECT {case}, min(seq) AS f, arg_min(file, seq) AS home, "
            f"arg_min(row, seq) AS head FROM raw GROUP BY {case}"
        )
        query = (
            f"SELECT {', '.join(f'raw.{name}' for name in names)}, if(raw.file = home, raw.row, head) AS row, home "
            f"FROM raw LEFT JOIN firsts ON raw.{case} IS NOT DISTINCT FROM firsts.{case} ORDER BY firsts.f, raw.seq"
        )
        for batch in engine.sql(query).to_arrow_reader(1 << 17):
            home = as_numpy(batch.column("home"))
            cuts = [0, *(np.flatnonzero(np.diff(home)) + 1).tolist(), len(batch)]
            for lo, hi in pairwise(cuts):
                part = batch.slice(lo, hi - lo)
                table = part.select(names).rename_columns(layout.columns)
                yield TableChunk(files[int(home[lo])], 0, table, as_numpy(part.column("row")))


def _cast(column: Any, field: Any, source: str) -> Any:
    pa, values = need("pyarrow"), text_if_none(plain(column))
    try:
        return values if values.type == field.type else values.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        kinds = f"{kind_of(values.type)} here, but {kind_of(field.type)} in the files before it"
        raise FileError(source, f"a column holds {kinds}.") from None
