"""Pages of the documentation that hold what a study found: tables in their places, and the results beside the code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from studies.folder import ROOT

Record = Mapping[str, Any]
Tables = Mapping[str, Callable[[Record], str]]
_PLACE = re.compile(r"<!-- (?!end)(\w+) -->\n.*?<!-- end -->", re.DOTALL)


def joined(tables: Tables, results: Record) -> str:
    """All tables, one below the other."""
    return "\n\n".join(make(results) for make in tables.values())


def filled(text: str, tables: Tables, results: Record) -> str:
    """A page with every table in its place."""
    return _PLACE.sub(lambda m: f"<!-- {m[1]} -->\n\n{tables[m[1]](results)}\n\n<!-- end -->", text)


def write(page: Path, kept: Path, tables: Tables, results: Record, pictures: Mapping[str, Any]) -> None:
    """Keep the results, and put tables and figures into the documentation."""
    lines = [f"{json.dumps(name)}: {json.dumps(short(found))}" for name, found in results.items()]
    kept.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    page.write_text(filled(page.read_text(encoding="utf-8"), tables, results), encoding="utf-8")
    for name, plot in pictures.items():
        plot.save(ROOT / "docs" / "_static" / name)


def short(value: Any) -> Any:
    """The same with eight digits of every number.

    >>> short({"a": [1 / 3, "b"]})
    {'a': [0.33333333, 'b']}
    """
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, Mapping):
        return {key: short(one) for key, one in value.items()}
    return [short(one) for one in value] if isinstance(value, list) else value
