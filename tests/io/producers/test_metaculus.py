"""Multiple-choice questions of Metaculus: which forecast counts, and what options that came or went do to it.

Names and order of columns are those that the server writes (generate_data of utils/csv_utils.py), before and since
options may change.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.io.producers.reading import produced, recognised_as
from toplist.errors import FileError

QUESTIONS = ["Question ID", "Question URL", "Question Title", "Post ID", "Question Type", "MC Options (Current)"]
QUESTIONS += ["MC Options (All)", "MC Options History", "Open Time", "Actual Close Time", "Resolution"]
FORECASTS = ["Question ID", "Forecaster ID", "Forecaster Username", "Is Bot", "Start Time", "End Time"]
FORECASTS += ["Forecaster Count", "Probability Yes", "Probability Yes Per Category", "Continuous CDF"]
OPEN, CLOSE = "2026-06-01 12:00:00+00:00", "2026-06-10 12:00:00+00:00"


def day(number: int) -> str:
    return f"2026-06-{number:02d} 12:00:00.5+00:00"


def question(number: int, options: list[str], resolution: str, **changes: Any) -> dict[str, Any]:
    known = {"Question ID": number, "Post ID": 10 * number, "Question Type": "multiple_choice", "Open Time": OPEN}
    known |= {"MC Options (Current)": options, "MC Options (All)": options, "Actual Close Time": CLOSE}
    return {**known, "Resolution": resolution, **changes}


def forecast(number: int, values: list[float | None], at: int = 2, who: str = "ann", **changes: Any) -> dict[str, Any]:
    known = {"Question ID": number, "Forecaster ID": 7, "Forecaster Username": who, "Start Time": day(at)}
    return {**known, "Probability Yes Per Category": values, **changes}


def download(folder: Path, questions: list[dict[str, Any]], forecasts: list[dict[str, Any]]) -> Path:
    """The two tables, with lists as Python writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns, rows in (("question", QUESTIONS, questions), ("forecast", FORECASTS, forecasts)):
        with (folder / f"{name}_data.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows([[row.get(column) for column in columns] for row in rows])
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    questions = [
        question(1, ["Ada", "Bob", "Other"], "Bob"),
        question(2, ["Red", "Green"], ""),
        question(3, ["x"], "no", **{"Question Type": "binary", "MC Options (All)": None, "MC Options (Current)": None}),
    ]
    forecasts = [
        forecast(1, [0.2, 0.5, 0.3]),
        forecast(1, [0.1, 0.7, 0.2], at=5),
        forecast(1, [0.9, 0.05, 0.05], at=20),
        forecast(2, [0.25, 0.75]),
        forecast(3, [0.4, 0.6], who="geometric_mean"),
    ]
    return download(tmp_path / "data", questions, forecasts)


def test_the_last_forecast_before_the_close_counts(place: Path) -> None:
    assert recognised_as(place) == recognised_as(place / "forecast_data.csv") == "metaculus"
    rows, notes = produced(place)
    assert [(row["case"], row["classes"], row["confidences"], row["outcome"], row["n_classes"]) for row in rows] == [
        ("1", ["Ada", "Bob", "Other"], [0.1, 0.7, 0.2], "Bob", 3),
        ("2", ["Red", "Green"], [0.25, 0.75], None, 2),
    ]
    assert [" ".join(note.split(" ")[:2]) for note in notes] == ["1 forecasts"] * 3 + ["1 questions"]
    assert "of several for a question the last before it closed counts" in notes[0]
    assert "after their question closed" in notes[1]


def test_options_that_came_later_share_the_mass_of_the_last_option(tmp_path: Path) -> None:
    """Ada and Bob are listed; Cai, who came later, and Other are not: they share the mass that Other had."""
    questions = [question(1, ["Ada", "Bob", "Cai", "Other"], "Cai")]
    place = download(tmp_path, questions, [forecast(1, [0.2, 0.5, None, 0.3])])
    rows, notes = produced(place)
    assert (rows[0]["classes"], rows[0]["n_classes"]) == (["Ada", "Bob"], 4)
    assert rows[0]["confidences"] == [0.2, 0.5]
    assert any("share the mass of the last option" in note for note in notes)
    board = tl.compare({"ann": str(place)})
    (row,) = board.comparison.overall.rows
    p = np.array([0.2, 0.5, 0.15, 0.15])
    assert row.scores["brier"].mean.value == pytest.approx(((p - np.eye(4)[2]) ** 2).sum(), abs=1e-12)


def test_options_that_were_removed_leave_their_mass_to_the_last_one(tmp_path: Path) -> None:
    changes = {"MC Options (All)": ["Ada", "Bob", "Gone", "Other"]}
    questions = [question(1, ["Ada", "Bob", "Other"], "Ada", **changes)]
    place = download(tmp_path, questions, [forecast(1, [0.2, 0.4, 0.3, 0.1])])
    rows, notes = produced(place)
    assert rows[0]["classes"] == ["Ada", "Bob", "Other"]
    assert rows[0]["confidences"] == pytest.approx([0.2, 0.4, 0.4])
    assert any("options that were removed" in note for note in notes)


def test_a_forecast_that_was_withdrawn_is_a_missing_case(tmp_path: Path) -> None:
    questions = [question(1, ["a", "b"], "a"), question(2, ["a", "b"], "a")]
    place = download(tmp_path, questions, [forecast(1, [0.5, 0.5], **{"End Time": day(4)}), forecast(2, [0.5, 0.5])])
    rows, notes = produced(place)
    assert [row["case"] for row in rows] == ["2"]
    assert any("withdrawn" in note for note in notes)


def test_older_downloads_have_one_column_of_options(place: Path) -> None:
    before = produced(place)[0]
    path = place / "question_data.csv"
    text = path.read_text().replace("MC Options (Current)", "Label").replace("MC Options (All)", "MC Options")
    path.write_text(text)
    assert produced(place)[0] == before


def test_several_forecasters_are_several_models(place: Path) -> None:
    path = place / "forecast_data.csv"
    text = path.read_text()
    more = [line.replace(",ann,", ",recency_weighted,") for line in text.splitlines() if ",ann," in line]
    path.write_text(text + "\r\n".join(more) + "\r\n")
    with pytest.raises(FileError, match=r"2 forecasters and aggregates \('ann', 'recency_weighted'\).*--where"):
        produced(place)
    rows, _ = produced(place, where="Forecaster Username=recency_weighted")
    assert [row["case"] for row in rows] == ["1", "2"]
    models = {name: tl.Source(str(place), where=f"Forecaster Username={name}") for name in ("ann", "recency_weighted")}
    assert tl.compare(models, missing="common").comparison.cases == 1


@pytest.mark.parametrize("resolution", ["", "annulled", "ambiguous"])
def test_questions_that_are_not_resolved_have_no_outcome(tmp_path: Path, resolution: str) -> None:
    place = download(tmp_path, [question(1, ["a", "b"], resolution)], [forecast(1, [0.5, 0.5])])
    assert produced(place)[0][0]["outcome"] is None


@pytest.mark.parametrize(
    ("questions", "forecasts", "problem"),
    [
        ([question(1, ["a", "b"], "c")], [forecast(1, [0.5, 0.5])], "resolved as 'c', which is none of its options"),
        ([question(1, ["a", "b"], "a")], [forecast(1, [0.5, 0.2, 0.3])], "3 probabilities for 2 options"),
        (
            [question(1, ["a", "b"], "a")],
            [forecast(1, [], **{"Probability Yes Per Category": "0.5;0.5"})],
            "not a list",
        ),
        ([question(1, ["a", "b"], "a")], [forecast(2, [0.5, 0.5])], "no forecast of a multiple-choice question"),
        ([question(1, [], "a")], [forecast(1, [0.5, 0.5])], "question 1 has no options"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    tmp_path: Path, questions: list[dict[str, Any]], forecasts: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(FileError, match=problem):
        produced(download(tmp_path, questions, forecasts) / "forecast_data.csv", "metaculus")


def test_forecasts_without_their_questions_are_no_download(place: Path) -> None:
    (place / "question_data.csv").unlink()
    assert recognised_as(place) is None
    with pytest.raises(FileError, match="options and resolutions"):
        produced(place / "forecast_data.csv", "metaculus")


@pytest.mark.parametrize("cell", ["__import__('os')", "[[1]]", "['a', 0.5]", "[" * 5000])
def test_a_cell_is_a_list_of_numbers_and_no_code(tmp_path: Path, cell: str) -> None:
    changes = {"Probability Yes Per Category": cell}
    place = download(tmp_path, [question(1, ["a", "b"], "a")], [forecast(1, [], **changes)])
    with pytest.raises(FileError, match="not a list"):
        produced(place / "forecast_data.csv", "metaculus")
