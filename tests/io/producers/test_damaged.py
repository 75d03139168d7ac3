"""Damaged files of producers that were checked by samples: they end in rows, or in an error that says what is wrong.

A value of a document, a cell of a table, some bytes or the rest of a file is replaced. The samples are the smallest
ones that have all that a producer reads; what becomes of sound files is in the tests of each producer.
"""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.producers import answers_of_servers as servers
from tests.io.producers.damage import JUNK, damaged
from tests.io.producers.reading import produced
from tests.io.producers.token_oracle import Listed
from toplist.errors import TopListError

DOCUMENTS = {
    "openai-legacy": servers.legacy([("A", [Listed("A", -0.25), Listed("B", -2.0), Listed("<think>", -4.0)])]),
    "simple-evals": {"score": 0.8, "score:std": 0.4, "chars": 210.0},
}
TABLES = {  # the name of the file, and its cells
    "football": (
        "E0.csv",
        [
            ["Div", "Date", "HomeTeam", "AwayTeam", "FTR", "B365H", "B365D", "B365A"],
            ["E0", "17/08/2024", "Arsenal", "Wolves", "H", "1.17", "8.00", "15.00"],
            ["E0", "17/08/2024", "Everton", "Brighton", "A", "3.00", "3.40", "2.40"],
        ],
    ),
    "metaculus": (
        "forecast_data.csv",
        [
            ["Question ID", "Forecaster Username", "Start Time", "End Time", "Probability Yes Per Category"],
            ["1", "ann", "2026-06-02 12:00:00+00:00", "", "[0.5, 0.3, 0.2]"],
        ],
    ),
    "map-at-k": ("submission.csv", [["id", "labels"], ["1", "a b c"], ["2", "c a b"]]),
    "birdnet": (
        "birds.csv",
        [
            ["Start (s)", "End (s)", "Scientific name", "Common name", "Confidence"],
            ["0", "3", "Parus major", "Tit", "0.9"],
        ],
    ),
    "extreme": ("xmc.txt", [["2 5"], ["1:0.5 3:0.25"], ["0:0.125 2:0.5"]]),
}
QUESTIONS = [
    ["Question ID", "Post ID", "Question Type", "MC Options", "Actual Close Time", "Resolution"],
    ["1", "10", "multiple_choice", "['Ada', 'Bob', 'Other']", "2026-06-10 12:00:00+00:00", "Bob"],
]


def as_csv(cells: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(cells)
    return out.getvalue().encode()


@st.composite
def damaged_bytes(draw: Any, data: bytes) -> bytes:
    """Some bytes replaced, or the rest cut off."""
    at = draw(st.integers(0, len(data)))
    if draw(st.integers(0, 4)) == 0:
        return data[:at]
    return data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 6)) :]


@st.composite
def damaged_cells(draw: Any, cells: list[list[str]]) -> bytes:
    """A cell replaced or left out, or bytes."""
    if draw(st.integers(0, 3)) == 0:
        return draw(damaged_bytes(as_csv(cells)))
    cells = [list(row) for row in cells]
    row = draw(st.sampled_from(cells))
    place = draw(st.integers(0, len(row) - 1))
    if draw(st.booleans()):
        row[place] = draw(st.sampled_from([*map(str, JUNK), "nan", "-inf", "1e400", "\0", '"', "[1, None]", "é" * 9]))
    else:
        del row[place]
    return as_csv(cells)


def ends_well(path: Path, producer: str, **options: Any) -> None:
    """Anything but an error of ours fails the test by itself."""
    with suppress(TopListError):
        produced(path, producer, **options)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_damaged_documents_end_in_rows_or_in_an_error_of_ours(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a.json"
    declared = {"answers": ["A", "B"]} if name == "openai-legacy" else {}

    @settings(max_examples=40)
    @given(damaged([DOCUMENTS[name]]), st.booleans())
    def check(text: str, again: bool) -> None:
        sound = json.dumps(DOCUMENTS[name])
        path.write_text(f"{sound}\n{text}\n" if again else text)
        ends_well(path, name, **declared)

    check()


@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables_end_in_rows_or_in_an_error_of_ours(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file, cells = TABLES[name]
    folder = tmp_path_factory.mktemp("damaged")
    beside = folder / "question_data.csv"

    @settings(max_examples=60)
    @given(damaged_cells(cells), damaged_cells(QUESTIONS), st.booleans())
    def check(data: bytes, questions: bytes, whole: bool) -> None:
        (folder / file).write_bytes(data)
        if name == "metaculus":
            beside.write_bytes(as_csv(QUESTIONS) if whole else questions)
        ends_well(folder / file, name)

    check()
