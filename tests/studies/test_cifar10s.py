"""People's own lists: `toplist check` names all that is odd as the manifest counts it, and repairs are asked for."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import folder
from studies.adapt.cifar10s import FILES, NETWORK

from tests.studies.run_study import DATA, Studied, Studying

from tests.cli.messages import said  # isort: skip

HUMAN = DATA / FILES[0]
COUNTS = {
    "mass above one": 674,
    "class twice": 153,
    "class without a confidence": 10,
    "invalid": 60,
}


@pytest.fixture(scope="module")
def lists() -> Path:
    why = folder.absent(DATA, FILES[:1])
    if why:
        pytest.skip(why)
    return HUMAN


@pytest.fixture(scope="module")
def people(studied: Studying) -> Studied:
    return studied("cifar10s")


def checked(*words: object) -> dict[str, Any]:
    code, text = said("check", *words, "--read", "scale=percent", "--json")
    assert code == 1
    found: dict[str, Any] = json.loads(text)
    return found


def rows() -> list[dict[str, str]]:
    with HUMAN.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_file_as_it_comes_has_every_oddity_of_the_manifest(lists: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\n".join(sorted({row["true_class"] for row in rows()})))
    for classes in (10, tmp_path / "labels.txt"):
        found = checked(lists, "--classes", classes)
        told = {one["kind"]: one["cases"] for one in found["issues"]}
        assert {kind: told.pop(kind) for kind in COUNTS} == COUNTS
        assert told == {"listed zero": 4}
        assert found["cases"] == 6723
        assert {one["kind"] for one in found["issues"] if one["blocking"]} == {
            "mass above one",
            "class twice",
            "class without a confidence",
        }


def test_without_units_it_looks_like_percent(lists: Path) -> None:
    code, text = said("check", lists, "--classes", "10")
    assert code == 1
    assert "look like percentages. If these are percentages, pass --read scale=percent" in text


def brier(row: dict[str, str]) -> float:
    """The score of the padded distribution, after the repairs that the board is told to make."""
    t: dict[str, float] = {row["class1"]: float(row["percent1"]) / 100}
    if row["percent2"]:
        t[row["class2"]] = t.get(row["class2"], 0.0) + float(row["percent2"]) / 100
    mass = sum(t.values())
    if mass > 1 + 1e-8:
        t = {name: value / mass for name, value in t.items()}
    while t and min(t.values()) < max(0.0, 1 - sum(t.values())) / (10 - len(t)):
        least = min(t.values())
        t = {name: value for name, value in t.items() if value > least}
    rest = max(0.0, 1 - sum(t.values())) / (10 - len(t))
    squares = sum(value**2 for value in t.values()) + (10 - len(t)) * rest**2
    return 1 - 2 * t.get(row["true_class"], rest) + squares


def test_the_board_after_explicit_repairs_scores_as_plain_numpy_does(people: Studied) -> None:
    board = people.reading("cifar10s")
    scores = [brier(row) for row in rows()]
    assert board.mark("people")["unpenalised"] == pytest.approx(float(np.mean(scores)), abs=1e-12)
    origin = next(one for one in board.record["sources"] if one["name"] == "people")
    assert origin["repairs"]["duplicates summed"] == COUNTS["class twice"]
    assert origin["repairs"]["normalized"] == COUNTS["mass above one"]


def test_the_file_as_it_comes_scores_the_same_when_blanks_are_dropped(lists: Path, tmp_path: Path) -> None:
    truth, board = tmp_path / "truth.csv", tmp_path / "board.json"
    truth.write_text("class\n" + "".join(f"{row['true_class']}\n" for row in rows()))
    words = (
        "compare",
        f"people={lists}",
        "--truth",
        truth,
        "--classes",
        10,
        "--output",
        board,
        "--quiet",
        "--read",
        "by_position",
    )
    repairs = ("--read", "scale=percent", "--read", "duplicates=sum", "--normalize")
    code, text = said(*words, *repairs)
    assert code == 1
    assert "row 298: the confidence is blank" in text
    code, text = said(*words, *repairs, "--read", "blanks=drop")
    assert code == 0, text
    found = json.loads(board.read_text())
    mark, _ = found["overall"]["rows"][0]["scores"].values()
    assert mark["unpenalised"] == pytest.approx(float(np.mean([brier(row) for row in rows()])), abs=1e-12)
    assert found["sources"][0]["repairs"] == {
        "scale: percent": 6723,
        "duplicates summed": COUNTS["class twice"],
        "normalized": COUNTS["mass above one"],
        "blanks left out": COUNTS["class without a confidence"],
    }


def test_people_with_their_confidences_beat_their_bare_labels(people: Studied) -> None:
    board = people.reading("cifar10s")
    assert set(board.names) == {"people", "first", "label", NETWORK}
    briers = {name: board.mark(name, "brier")["mean"]["value"] for name in board.names}
    assert briers["people"] < briers["label"]


def test_the_report_says_what_is_odd(people: Studied) -> None:
    folder, page = people.folder, people.folder / "odd.html"
    files = (folder / "people.csv", folder / "label.csv", "--truth", folder / "truth.csv", "--classes", 10)
    repairs = ("--read", "scale=people=percent", "--read", "duplicates=people=sum", "--read", "normalize=people")
    repairs = (*repairs, "--read", "blanks=people=drop")
    code, text = said("compare", *files, *repairs, "--report", page, "--quiet")
    assert code == 0, text
    written = page.read_text(encoding="utf-8")
    for words in ("Data quality", "Lists a class with probability 0"):
        assert words in written
