"""The JSON of a board, read by names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """A board as `toplist compare --json` prints it."""

    record: Mapping[str, Any]

    @classmethod
    def of(cls, text: str) -> Reading:
        """From the text of the JSON."""
        return cls(json.loads(text))

    @property
    def names(self) -> list[str]:
        """The models, best first."""
        return [row["name"] for row in self.record["overall"]["rows"]]

    def row(self, name: str, group: str | None = None) -> Row:
        """One model, over all cases or in a group."""
        sections = [self.record["overall"]] if group is None else self.record["groups"]
        section = next(part for part in sections if part["group"] == group)
        return cast("Row", next(row for row in section["rows"] if row["name"] == name))

    def mark(self, name: str, rule: str = "brier", group: str | None = None) -> Row:
        """How one model did under one rule."""
        return cast("Row", self.row(name, group)["scores"][rule])

    def pairs(self, rule: str = "brier") -> Sequence[Row]:
        """Every two models; the first stands above the second."""
        return [pair for pair in self.record["pairs"] if pair["rule"] == rule]

    def pair(self, a: str, b: str, rule: str = "brier") -> Row:
        """These two, in the order of the table."""
        return next(pair for pair in self.pairs(rule) if {pair["a"], pair["b"]} == {a, b})

    def significant(self, pair: Row) -> bool:
        """Whether the difference has an adjusted p value of at most one minus the level."""
        p = pair["adjusted_p"]
        return p is not None and p <= 1 - self.record["level"] + 1e-12
