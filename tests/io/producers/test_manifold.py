"""Markets of Manifold as its API gives them: answers that exclude each other, while a market is open."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.draws import draws
from tests.io.producers.damage import damaged
from tests.io.producers.reading import produced, recognised_as, write_lines
from toplist.errors import FileError, TopListError


def market(name: str = "abc", **changes: Any) -> dict[str, Any]:
    answers = [
        {"id": f"{name}{at}", "text": text, "probability": p, "index": at, "isOther": text == "Other"}
        for at, (text, p) in enumerate([("Ada", 0.6), ("Bob", 0.3), ("Other", 0.1)])
    ]
    known = {"id": name, "question": "Who?", "mechanism": "cpmm-multi-1", "outcomeType": "MULTIPLE_CHOICE"}
    return {**known, "isResolved": False, "shouldAnswersSumToOne": True, "answers": answers, **changes}


@pytest.mark.parametrize("form", ["lines", "array", "object"])
def test_answers_are_classes_of_their_market(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("markets.jsonl" if form == "lines" else "markets.json")
    if form == "lines":
        write_lines(path, [market("a"), market("b")])
    else:
        path.write_text(json.dumps([market("a"), market("b")] if form == "array" else market("a"), indent=1))
    assert recognised_as(path) == "manifold"
    rows, notes = produced(path)
    assert [row["case"] for row in rows] == (["a"] if form == "object" else ["a", "b"])
    assert (rows[0]["classes"], rows[0]["confidences"]) == (["Ada", "Bob", "Other"], [0.6, 0.3, 0.1])
    assert rows[0]["n_classes"] == 3
    assert notes == ()


def test_independent_answers_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "m.jsonl", [market(), market("b", shouldAnswersSumToOne=False)])
    with pytest.raises(FileError, match=r"'b': its answers are independent .*YES and NO") as caught:
        produced(path)
    assert caught.value.row == 2


@pytest.mark.parametrize(
    "changes", [{"isResolved": True}, {"answers": [{"text": "a", "probability": 1, "resolution": "YES"}]}]
)
def test_the_probabilities_of_a_resolved_market_are_no_forecast(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(FileError, match="its probabilities are the resolution"):
        produced(write_lines(tmp_path / "m.jsonl", [market(**changes)]))


def test_markets_without_answers_are_counted(tmp_path: Path) -> None:
    binary = {"id": "x", "outcomeType": "BINARY", "probability": 0.4}
    rows, notes = produced(write_lines(tmp_path / "m.jsonl", [market(), binary, binary]))
    assert len(rows) == 1
    assert notes == ("markets without several answers are not used: 2 BINARY",)


@pytest.mark.parametrize("text", ["{", "[1]", '{"answers": [{}], "shouldAnswersSumToOne": true}', "[]"])
def test_damaged_files_are_errors_about_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(FileError):
        produced(path, "manifold")


def test_damaged_markets_end_in_rows_or_in_an_error_of_ours(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "market.json"

    @settings(max_examples=draws(60))
    @given(damaged([market(), [market("a"), market("b")]]))
    def check(text: str) -> None:
        path.write_text(text)
        with suppress(TopListError):
            produced(path, "manifold")

    check()
