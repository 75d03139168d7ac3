"""What a producer makes of files, as plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toplist.io import opening
from toplist.io.options import ReadOptions
from toplist.io.producers import load
from toplist.io.producers.base import Match, Request
from toplist.io.readers.first_look import FirstLook


def recognised(path: Path | str) -> tuple[str, Match] | None:
    """The producer of these files, and what it was recognised by."""
    return opening.recognised(FirstLook(str(path)))


def produced(path: Path | str, producer: str = "auto", **options: Any) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """One record per case, and the notes."""
    name, paths = producer, FirstLook(str(path)).files
    if producer == "auto":
        found = recognised(path)
        assert found is not None, f"{path} is not recognised"
        name, paths = found[0], found[1].paths
    reader = load(name).open(Request(str(path), ReadOptions(**options), paths))
    return [row for piece in reader.batches for row in piece.table.to_pylist()], tuple(getattr(reader, "notes", ()))


def recognised_as(path: Path | str) -> str | None:
    """The name of the producer of these files."""
    found = recognised(path)
    return None if found is None else found[0]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """JSON Lines again."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
