"""What all producers share: what they are recognised by, the table that each of them makes, and rows for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist._files import need
from toplist.io.readers.base import Reader, TableChunk
from toplist.io.readers.first_look import FirstLook

if TYPE_CHECKING:
    from toplist.io.options import ReadOptions

# The columns of the table that a producer makes; the first three are always there.
CASE, CLASSES, CONFIDENCES = "case", "classes", "confidences"
OUTCOME, N_CLASSES, CLUSTER, GROUP = "outcome", "n_classes", "cluster", "group"
ANSWER_MASS = "answer_mass"  # the probability of all declared answers together, before anything is done about the rest
LISTED_TOKENS = "listed_tokens"  # how many tokens a server listed at the position of the answer


def at_path(value: Any, path: str) -> Any:
    """What stands in nested objects at a path such as `response.body.choices.0`; None where nothing does.

    >>> at_path({"a": [{"b": 1}]}, "a.0.b"), at_path({"a": 1}, "a.b")
    (1, None)
    """
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


@dataclass(frozen=True, slots=True)
class Match:
    """The files of a producer, and what it was recognised by: "its records have doc_id, resps and filtered_resps"."""

    paths: tuple[Path, ...]
    reason: str
    notes: tuple[str, ...] = ()  # sentences about what was seen


def matched(match: Match, reason: Callable[[Path], str]) -> Match | None:
    """The files of a match for which there is a reason, and the first reason; None where there are none."""
    reasons = {path: why for path in match.paths if (why := reason(path))}
    return Match(tuple(reasons), next(iter(reasons.values()))) if reasons else None


@dataclass(frozen=True, slots=True)
class Request:
    """What a producer reads: files, or objects in memory, with the options of the caller."""

    name: str  # for messages
    options: ReadOptions
    paths: tuple[Path, ...] = ()
    data: Any = None  # objects in memory, where there are no files


@dataclass(frozen=True, slots=True)
class Producer:
    """A program that writes predictions: how its files become a table of lists.

    `match` looks closer than the entry of the table of producers: None, where these are not its files after all.
    """

    open: Callable[[Request], Reader]
    match: Callable[[FirstLook, Match], Match | None] = lambda look, match: match
    options: tuple[str, ...] = ()  # fields of ReadOptions that it uses beside those of every table
    files_only: bool = False  # whether it reads no objects in memory


@dataclass
class ProducedReader(Reader):
    """The table that a producer makes of its files: batches with the columns above, with one list per row.

    The rows of a batch have the numbers of the records that they were made of: records may be skipped. `notes` are
    sentences about what was read, which are told and shown in the report.
    """

    name: str
    batches: Sequence[TableChunk]
    paths: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    decimal: bool = False
    gaps: int = 0  # cases that are missing, of a table without ids

    @property
    def schema(self) -> Any:
        """Names and types."""
        return self.batches[0].table.schema

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        for chunk in self.batches:
            yield replace(chunk, table=chunk.table.select(list(columns)))


def columns_of(**further: Any) -> dict[str, Any]:
    """The columns of a produced table, with further ones and their types, as in `columns_of(outcome=pa.string())`."""
    pa = need("pyarrow")
    return {CASE: pa.string(), CLASSES: pa.list_(pa.string()), CONFIDENCES: pa.list_(pa.float64()), **further}
