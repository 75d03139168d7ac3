"""A layout: which columns of a table are what, and how that is said in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toplist._text import listed, quote

# In the order in which they are tried: told apart by types first, then by numbers in names, then by names. Ranked
# comes before long, since class_1 beside class_2 says more than one column that is called class.
Kind = Literal["lists", "ranked", "long", "labels", "wide"]
KEYS = ".keys()"  # behind the path of an object whose keys are classes


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table by what they mean."""

    kind: Kind
    case: str | None  # None: cases are told apart by their row
    classes: tuple[str, ...]
    confidences: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of a wide table: what the classes are called, where that is not the column's name
    ignored: tuple[str, ...] = ()  # columns that are not read
    records: str | None = None  # the column or path with the objects that lists are read from

    @property
    def columns(self) -> list[str]:
        """All that are read, each once."""
        return list(dict.fromkeys([*filter(None, [self.case]), *self.classes, *self.confidences, *self.extra]))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes of a wide table, in the order of its columns."""
        return (self.names or self.classes) if self.kind == "wide" else ()

    def describe(self, *, truth: bool = False, aligned: bool = True) -> str:
        """How the table is read, in one line that names every column."""
        how = self._how()
        if truth:
            labels = self.kind == "labels"
            how = f"labels in column {listed(self.classes)}" if labels else f"distributions ({how}), expected scores"
        parts = [how]
        if self.case is not None:
            parts.append(f"case id in {quote(self.case)}")
        elif aligned:
            parts.append("no case id, so matched by position")
        used = [name for name in self.extra if name not in (*self.classes, self.case)]
        if used:
            parts.append(f"also used: {listed(used)}")
        if self.ignored:
            parts.append(f"ignored: {listed(self.ignored)}")
        return "; ".join(parts)

    def _how(self) -> str:
        classes, confidences = listed(self.classes), listed(self.confidences)
        if self.records is not None:
            inside = [quote(name[len(self.records) + 1 :]) for name in (*self.classes, *self.confidences)]
            if self.classes[0] == f"{self.records}{KEYS}":
                return f"objects in {quote(self.records)}: classes are the keys, confidences the values"
            return f"records in {quote(self.records)}: class in {inside[0]}, confidence in {inside[1]}"
        if self.kind == "labels":
            return f"hard labels in {classes}"
        if self.kind == "wide":
            called = f", called {listed(self.names)}" if self.names else ""
            return f"wide, a column for each of {len(self.classes):,} classes: {classes}{called}"
        if self.kind == "ranked" and len(self.classes) == 1 and self.case is None:
            return f"one class per row: class in {classes}, confidence in {confidences}"
        many = self.kind in ("lists", "ranked")
        return (
            f"{self.kind}, class{'es' if many else ''} in {classes}, confidence{'s' if many else ''} in {confidences}"
        )
