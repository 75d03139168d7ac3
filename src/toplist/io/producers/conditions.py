"""Conditions on records: which of them a producer reads, as in `where="filter=none"`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toplist._text import argument, did_you_mean, quote
from toplist.errors import FileError, TopListError
from toplist.io.producers.base import at_path

_FORM = re.compile(r"\s*(?P<name>.+?)\s*(?P<sign>!=|=)\s*(?P<value>.*?)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Condition:
    text: str
    name: str
    value: str
    negated: bool

    def holds(self, record: Mapping[str, Any]) -> bool:
        return (_text(self.found(record)) == _text(self.value)) != self.negated

    def found(self, record: Mapping[str, Any]) -> Any:
        return record[self.name] if self.name in record else at_path(record, self.name.replace("[", ".").rstrip("]"))


@dataclass(slots=True)
class Conditions:
    """What records fulfil, all of it; and whether any record has the fields that are named."""

    every: tuple[_Condition, ...]
    _met: set[str] = field(default_factory=set)
    _fields: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, where: str | Sequence[str]) -> Conditions:
        """Texts such as "filter=none", "doc.subject!=law"."""
        return cls(tuple(map(_parsed, (where,) if isinstance(where, str) else where)))

    def __str__(self) -> str:
        return " and ".join(argument("where", one.text) for one in self.every)

    def hold(self, record: Mapping[str, Any]) -> bool:
        """Whether a record fulfils all of them."""
        for one in self.every:
            self._fields |= dict.fromkeys(record)
            if one.text not in self._met and one.found(record) is not None:
                self._met.add(one.text)
        return all(one.holds(record) for one in self.every)

    def require_met(self, source: str) -> None:
        """Once all records are read: every field that is named was there."""
        odd = next((one for one in self.every if one.text not in self._met), None)
        if odd is not None and self._fields:
            near = did_you_mean(odd.name, self._fields)
            raise FileError(source, f"{argument('where', odd.text)}: no record has {quote(odd.name)}.{near}")


def _parsed(text: str) -> _Condition:
    found = _FORM.fullmatch(text)
    if found is None:
        raise TopListError(f"{argument('where', text)} is no condition: write 'FIELD=VALUE' or 'FIELD!=VALUE'.")
    return _Condition(text, found["name"], found["value"], found["sign"] == "!=")


def _text(value: Any) -> str:
    """A value as it is compared: whole numbers and truth values as they are written most simply."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()
