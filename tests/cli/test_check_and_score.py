"""`check` and `convert` say no exactly where `score` does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.draws import draws

for library in ("pyarrow", "duckdb", "typer", "rich"):
    pytest.importorskip(library, reason="the command and its files are extras")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from tests.cli.messages import said  # noqa: E402

law = settings(deadline=None, max_examples=draws(25), derandomize=True, phases=(Phase.generate,))
CODES = st.sampled_from([0, 1, 2, 29, 30, 40, -1, -7, 2**63, 2**63 + 5])
NAMES = st.sampled_from(["0", "1", "29", "30", "-7", "007", "3.0", "3", "cat", "Cat", "2019"])
FORMATS = ("csv", "jsonl", "parquet")

Lists = list[tuple[int, list[Any]]]


def written(folder: Path, kind: str, cases: Lists) -> Path:
    """Lists of classes with small confidences, in one of the formats."""
    path = folder / f"p.{kind}"
    made = [{"case": i, "classes": cs, "confidences": [0.5 / (1 + j) ** 2 for j in range(len(cs))]} for i, cs in cases]
    if kind == "csv":
        rows = [f"{one['case']},{c},{t!r}" for one in made for c, t in zip(one["classes"], one["confidences"])]  # type: ignore[call-overload]  # noqa: B905
        path.write_text("\n".join(["case,class,confidence", *rows]))
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, made)))
    else:
        flat = [c for _, cs in cases for c in cs]
        text = any(isinstance(c, str) for c in flat)
        inner = pa.string() if text else pa.uint64() if flat and min(flat) >= 0 else pa.int64()
        classes = pa.array([one["classes"] for one in made], pa.list_(inner))
        pq.write_table(
            pa.table(
                {"case": [i for i, _ in cases], "classes": classes, "confidences": [one["confidences"] for one in made]}
            ),
            path,
        )
    return path


def says_yes(folder: Path, path: Path, cases: Lists, outcome: Any) -> tuple[bool, bool, bool]:
    """Whether check, score and convert take a file, beside a truth that nothing is wrong with."""
    text = isinstance(outcome, str) or path.suffix == ".csv"
    truth = folder / ("y.csv" if text else "y.parquet")
    ids = sorted({i for i, _ in cases})
    if text:
        truth.write_text("\n".join(["case,outcome", *(f"{i},{outcome}" for i in ids)]))
    else:
        pq.write_table(pa.table({"case": ids, "outcome": [outcome] * len(ids)}), truth)
    out = folder / "out.parquet"
    check = said("check", path, "-c", "30", "-q")[0]
    score = said("score", path, "-t", truth, "-c", "30", "-q")[0]
    convert = said("convert", path, out, "-c", "30", "-q")[0]
    assert out.exists() == (convert == 0)
    return check == 0, score == 0, convert == 0


@law
@given(st.sampled_from(FORMATS), st.lists(st.lists(CODES, min_size=1, max_size=3, unique=True), min_size=1, max_size=3))
def test_whole_numbers_are_codes_to_all_commands_in_all_formats(kind: str, classes: list[list[int]]) -> None:
    cases = list(enumerate(classes))
    if kind == "parquet" and any(c < 0 for one in classes for c in one):
        cases = [(i, [c for c in one if c < 2**63] or [0]) for i, one in cases]  # no type has both
    right = all(0 <= c < 30 for _, one in cases for c in one)
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), kind, cases)
        assert says_yes(Path(folder), path, cases, 1) == (right, right, right)


@law
@given(st.sampled_from(FORMATS), st.lists(st.lists(NAMES, min_size=1, max_size=3, unique=True), min_size=1, max_size=3))
def test_names_are_refused_by_all_commands_or_by_none(kind: str, classes: list[list[str]]) -> None:
    cases = list(enumerate(classes))
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), kind, cases)
        check, score, convert = says_yes(Path(folder), path, cases, classes[0][0])
    assert check == score == convert
    flat = {c for one in classes for c in one}
    if flat <= {"0", "1", "29", "3"} or flat & {"cat", "Cat", "007"}:
        assert check  # codes of the space; or names, whatever they look like
    elif flat <= {"0", "1", "29", "30", "-7", "3", "2019"}:
        assert not check


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_case_that_is_there_twice_is_refused_by_all_commands(kind: str, tmp_path: Path) -> None:
    cases: Lists = [(1, [0, 1]), (2, [1]), (1, [2])]
    path = written(tmp_path, kind, cases)
    assert says_yes(tmp_path, path, cases, 1) == (False, False, False)
