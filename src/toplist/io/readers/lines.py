"""JSON, one object per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.optional import need
from toplist.io.readers import objects
from toplist.io.readers.base import Piece
from toplist.io.readers.streams import head_of, lines_of, opened

_BLOCK = 1 << 22  # bytes parsed at a time; no line may be longer
_PEEK = 100  # lines that tell which columns there are
_SEARCH = 20_000  # lines that are looked at as long as all lists are empty


@dataclass
class JsonReader:
    """One or more files of JSON lines with the same fields."""

    paths: tuple[Path, ...]
    name: str
    text: bool = False
    rows: int | None = field(default=None, init=False)
    floats: tuple[str, ...] = ()  # fields that hold 0.5 in one line and 1 in another
    _known: dict[Path, dict[str, Any]] = field(default_factory=dict, init=False)

    @property
    def schema(self) -> Any:
        """Names and types, by the first lines of the first file."""
        pa, kinds = need("pyarrow"), self._kinds(self.paths[0])
        return pa.schema([(key, pa.null() if kind is None else kind) for key, kind in kinds.items()])

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named fields, batch by batch."""
        pa, reader = need("pyarrow"), need("pyarrow.json")
        for path in self.paths:
            kinds = {**self._kinds(self.paths[0]), **self._kinds(path)}
            wanted = pa.schema([(n, objects.settled(kinds[n], floats=n in self.floats)) for n in columns])
            options = reader.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
            start = 0
            with opened(path) as source:
                try:
                    for batch in reader.open_json(source, reader.ReadOptions(block_size=_BLOCK), options):
                        yield Piece(str(path), start, batch.select(list(columns)))
                        start += len(batch)
                except pa.ArrowException as error:
                    raise _complaint(error, path, wanted, start) from None

    def _kinds(self, path: Path) -> dict[str, Any]:
        """The types of the fields, as far as the first lines tell."""
        if path not in self._known:
            kinds: dict[str, Any] = {}
            for row, line in enumerate(_first_lines(path), 1):
                record = objects.parse(line, str(path), row)
                kinds |= {key: objects.wider(kinds.get(key), objects.type_of(value)) for key, value in record.items()}
                if row >= _PEEK and not any(map(objects.is_open, kinds.values())):
                    break
            if not kinds:
                raise FileError(str(path), "there is no line in this file.")
            self._known[path] = kinds
        return self._known[path]


def _first_lines(path: Path) -> Iterator[bytes]:
    head = head_of(path, _BLOCK)
    if len(head) >= _BLOCK - 3 and b"\n" not in head:
        raise FileError(str(path), f"this line is longer than {_BLOCK:,} bytes.", row=1)
    for at, line in enumerate(lines_of(path)):
        if at >= _SEARCH:
            return
        if line.strip():
            yield line


def _complaint(error: BaseException, path: Path, wanted: Any, start: int) -> FileError:
    """What is wrong with the first line that cannot be read, found by reading again, line by line."""
    row = 0
    for line in lines_of(path):
        row += bool(line.strip())
        if row <= start or not line.strip():
            continue
        if len(line) > _BLOCK:
            return FileError(str(path), f"this line is longer than {_BLOCK:,} bytes.", row=row)
        record = objects.parse(line, str(path), row)
        for name, kind in zip(wanted.names, wanted.types, strict=True):
            problem = objects.misfit(record.get(name), kind)
            if problem:
                return FileError(str(path), f"{name!r} {problem}.", row=row)
    text = str(error).strip().partition("\n")[0]
    return FileError(str(path), f"this cannot be read: {text[:200].rstrip('.')}.")
