"""Saved recalibrators: plain values under a schema, checked one by one when they are read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from toplist._text import quote
from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.scoring.rules import RULES, Rule, name_of

SCHEMA = "toplist.recalibrator/1"


@dataclass(frozen=True, slots=True)
class State:
    """The saved values of a fitted recalibrator; each is checked when it is read."""

    kind: str
    values: Mapping[str, Any]

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number."""
        value = self.get(name)
        if not _is_number(value) or not low <= value <= high:
            raise self.wrong(name, f"{quote(value)} where a number is expected")
        return float(value)

    def whole(self, name: str) -> int:
        """A whole number, zero or more."""
        value = self.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(name, f"{quote(value)} where a whole number is expected")
        return value

    def floats(self, name: str) -> Floats:
        """Finite numbers."""
        value = self.get(name)
        if not isinstance(value, list) or not all(map(_is_number, value)):
            raise self.wrong(name, "not a list of numbers")
        return np.array(value, dtype=np.float64)

    def parts(self, name: str) -> list[State]:
        """A list of records."""
        value = self.get(name)
        if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
            raise self.wrong(name, "not a list of records")
        return [State(self.kind, one) for one in value]

    def get(self, name: str) -> Any:
        """A value as it was saved."""
        if name not in self.values:
            raise self.wrong(name, "missing")
        return self.values[name]

    def wrong(self, name: str, what: str) -> TopListError:
        """The error that names the value."""
        return TopListError(f"the saved {self.kind} is damaged: {name} is {what}. Fit and save it again.")


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise TopListError(f"{value} cannot be saved: JSON has finite numbers only.")
        return float(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Rule):
        if name_of(value) not in RULES:
            raise TopListError(f"{value!r} cannot be saved; rules that can have a name: {', '.join(RULES)}.")
        return name_of(value)
    return _plain_parts(value)


def _plain_parts(value: Any) -> Any:
    if hasattr(value, "get_params"):
        options = {name: plain(option) for name, option in value.get_params().items()}
        return {"schema": SCHEMA, "kind": type(value).__name__, "params": options, "fitted": None}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(one) for name, one in asdict(value).items()}
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    raise TopListError(f"a {type(value).__name__} cannot be saved.")


def read(saved: Any, kinds: Mapping[str, type[Any]]) -> tuple[type[Any], dict[str, Any], State]:
    """The kind, its options and its state."""
    if not isinstance(saved, Mapping):
        raise TopListError(f"a saved recalibrator is a record with schema {SCHEMA!r}, not {type(saved).__name__}.")
    schema, name = saved.get("schema"), saved.get("kind")
    if schema != SCHEMA:
        raise TopListError(f"the schema is {quote(schema)}; this version of toplist reads {SCHEMA!r}.")
    if not isinstance(name, str) or name not in kinds:
        raise TopListError(f"no recalibrator is of kind {quote(name)}; there are {', '.join(sorted(kinds))}.")
    params, fitted = saved.get("params"), saved.get("fitted")
    if not isinstance(params, Mapping) or not isinstance(fitted, Mapping):
        raise TopListError(f"the saved {name} is damaged: params and fitted are records. Fit and save it again.")
    return kinds[name], dict(params), State(name, fitted)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
