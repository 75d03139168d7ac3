"""A condition is about the value, not about how a format spells it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from toplist.io.views import RecordConditions, conditions_of

NOON = datetime(2024, 1, 2, 12, 30)
MIDNIGHT = datetime(2024, 1, 2)
COLUMNS: dict[str, tuple[list[Any], dict[str, list[bool]]]] = {
    "booleans": ([True, False, None], {"true": [True, False, False], "FALSE": [False, True, False]}),
    "booleans of pandas": (["True", "False", ""], {"true": [True, False, False], "False": [False, True, False]}),
    "booleans of spreadsheets": (["TRUE", "FALSE", ""], {"true": [True, False, False]}),
    "dates": ([date(2024, 1, 2), date(2024, 1, 3)], {"2024-01-02": [True, False], "2024-01-02T00:00": [True, False]}),
    "times": (
        [NOON, MIDNIGHT],
        {"2024-01-02T12:30:00": [True, False], "2024-01-02 12:30": [True, False], "2024-01-02": [False, True]},
    ),
    "times in UTC": (
        [NOON.replace(tzinfo=UTC), MIDNIGHT.replace(tzinfo=UTC)],
        {"2024-01-02T12:30:00Z": [True, False], "2024-01-02": [False, True]},
    ),
    "times as text": (
        ["2024-01-02T12:30:00.000", "2024-01-02 00:00:00", "no time"],
        {"2024-01-02 12:30": [True, False, False], "2024-01-02": [False, True, False]},
    ),
    "numbers as text": (["0.50", "5e-1", "half"], {".5": [True, True, False]}),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_value_is_found_however_it_is_spelled(name: str) -> None:
    """In tables and in records alike; `!=` keeps all other rows, and no others."""
    values, wanted = COLUMNS[name]
    table = pa.table({"x": values})
    for text, equal in wanted.items():
        for sign, kept in (("=", equal), ("!=", [not one for one in equal])):
            ((condition, _),) = conditions_of((f"x{sign}{text}",), table.schema, "here").items()
            assert condition.holds(table["x"].combine_chunks(), "here").tolist() == kept, (sign, text)
            if not isinstance(values[0], date):  # records are JSON
                records = RecordConditions((f"x{sign}{text}",), "here")
                assert [records.hold({"x": value}) for value in values] == kept, (sign, text)
