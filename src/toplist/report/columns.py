"""A table as text, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column, the side where its cells stand, and whether a narrow page keeps it."""

    header: str
    align: Literal["left", "right"] = "right"
    essential: bool = False
    heading: bool = False  # its cells name the rows
    note: str = ""  # what it means, where that is not plain


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose every string is safe to show, but not escaped for any markup."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    leaders: frozenset[int] = frozenset()  # rows that rank first
    warnings: tuple[str, ...] = ()  # why the table may not be right, before all else that is said below it

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that stands below the table: warnings, the first note, what the columns mean, the other notes."""
        return (
            *self.warnings,
            *self.notes[:1],
            *(column.note for column in self.columns if column.note),
            *self.notes[1:],
        )
