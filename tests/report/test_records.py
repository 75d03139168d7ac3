"""For programs: strict JSON that its schema describes, CSV that reads back, frames that agree."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example as such_as
from hypothesis import given

from tests.report.results import example
from tests.report.strategies import EVERY_NAME, clean, law, results
from toplist.errors import TopListError
from toplist.inference.results import Comparison, Group
from toplist.report.export import as_csv, as_dict, as_json, as_pandas, as_polars, rows, schema

RUNS = tuple("=+-@\t\r")
TEXTS = ("by", "group", "model", "rule", "mean_reason", "difference_reason")


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def parts(node: Any) -> Iterator[dict[str, Any]]:
    """Every object of a schema."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from parts(child)


@law
@given(results())
@such_as(EVERY_NAME)
def test_json_is_strict_and_as_its_schema_says(found: Comparison) -> None:
    validator: Any = pytest.importorskip("jsonschema").Draft202012Validator
    text = as_json(found)
    assert clean(text)
    assert text.isascii()
    read = json.loads(text, parse_constant=refuse)
    assert read == as_dict(found)
    validator(schema()).validate(read)


def test_the_schema_is_one() -> None:
    pytest.importorskip("jsonschema").Draft202012Validator.check_schema(schema())
    assert as_dict(example())["schema"] == schema()["properties"]["schema"]["const"]


def test_the_schema_describes_every_property_and_allows_no_other() -> None:
    for part in parts(schema()):
        for name, property_ in part.get("properties", {}).items():
            if isinstance(property_, dict):
                assert property_.get("description"), name
        if isinstance(part.get("properties"), dict) and part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert set(part["required"]) == set(part["properties"])


@law
@given(results())
@such_as(EVERY_NAME)
def test_rows_are_those_of_each_group_model_and_rule(found: Comparison) -> None:
    want = [
        (row.rank, mark.infinite)
        for s in (found.overall, *found.groups)
        for row in s.rows
        for mark in row.scores.values()
    ]
    assert [(row["rank"], row["infinite"]) for row in rows(found)] == want


@law
@given(results())
@such_as(EVERY_NAME)
def test_csv_reads_back_to_the_same_numbers_and_harmless_text(found: Comparison) -> None:
    header, *lines = csv.reader(io.StringIO(as_csv(found), newline=""), strict=True)
    want = rows(found)
    assert len(lines) == len(want)
    for line, row in zip(lines, want, strict=True):
        for name, cell in zip(header, line, strict=True):
            value = row[name]
            if name in TEXTS:
                assert not cell.startswith(RUNS)
                assert cell == ("'" if (value or "").startswith(RUNS) else "") + (value or "")
            else:
                assert (float(cell) if cell else None) == value


@law
@given(results())
@such_as(EVERY_NAME)
def test_frames_have_the_same_content(found: Comparison) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    pandas, polars = as_pandas(found), as_polars(found)
    assert list(pandas.columns) == polars.columns
    want = rows(found)
    assert polars.to_dicts() == want
    for name in polars.columns:
        cells = [
            None if cell != cell or cell is None else cell for cell in pandas[name].astype(object).fillna(math.nan)
        ]
        assert cells == [row[name] for row in want]


def test_a_frame_without_rows_has_its_columns() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    nobody = replace(example(), overall=Group(None, 0, ()), groups=())
    assert len(as_pandas(nobody)) == len(as_polars(nobody)) == 0
    assert "mean" in as_pandas(nobody).columns
    assert as_csv(nobody).startswith("by,group,rank,rank_low,rank_high,model")


@pytest.mark.parametrize(("package", "frame"), [("pandas", as_pandas), ("polars", as_polars)])
def test_without_the_package_the_error_says_what_to_install(
    package: str, frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TopListError, match=f"needs {package}: pip install {package}"):
        frame(example())


def test_nothing_optional_is_imported_before_it_is_asked_for() -> None:
    rooms = ", ".join(f"toplist.report.{room}" for room in ("text", "terminal", "markup", "export"))
    code = f"import sys, {rooms}; sys.exit(bool({{'rich', 'pandas', 'polars'}} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
