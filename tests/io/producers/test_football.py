"""Matches of football-data.co.uk: a model per bookmaker, odds without their overround."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import toplist as tl
from tests.cli.run_cli import toplist_here
from tests.io.producers.reading import produced, recognised_as
from toplist.errors import FileError

HEADER = (
    "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,Referee,B365H,B365D,B365A,VCH,VCD,VCA,MaxH,MaxD,MaxA,AvgH,AvgD,AvgA"
)
HEADER += ",B365>2.5,B365<2.5,AHh,B365AHH,B365AHA,B365CH,B365CD,B365CA"


def matches(path: Path, rows: int = 40, *, seed: int = 0, **changes: str) -> Path:
    """A season: odds of four bookmakers with two decimals, and the best of several, which may add up to less than 1."""
    rng = np.random.default_rng(seed)
    lines = [HEADER]
    for at in range(rows):
        p = rng.dirichlet([4.0, 3.0, 3.0])
        result = "HDA"[int(rng.choice(3, p=p))]

        def odds(over: float, p: Any = p) -> list[str]:
            noisy = p * np.exp(rng.normal(0, 0.1, 3))
            return [f"{max(1.01, 1 / ((1 + over) * one)):.2f}" for one in noisy / noisy.sum()]

        cells = ["E0", f"{1 + at % 28:02d}/{1 + at // 28:02d}/2024", "15:00", f"Home {at % 20}", f"Away {at % 19}"]
        cells += ["1", "0", result, "A Name", *odds(0.06), *odds(0.05), *odds(-0.01), *odds(0.05)]
        cells += ["1.9", "1.9", "-0.25", "1.95", "1.95", *odds(0.04)]
        lines.append(",".join(cells))
    text = "\n".join(lines) + "\n"
    for old, new in changes.items():
        text = text.replace(old, new)
    path.write_text(text)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("bookmaker", ["B365", "B365C", "Avg", "B365*"])
def test_probabilities_are_reciprocals_divided_by_their_sum(tmp_path: Path, bookmaker: str) -> None:
    path = matches(tmp_path / "E0.csv")
    made, _ = produced(path, "football", confidence=bookmaker)
    for row, match in zip(made, rows_of(path), strict=True):
        r = 1 / np.array([float(match[bookmaker.rstrip("*") + one]) for one in "HDA"])
        assert row["confidences"] == pytest.approx(r / r.sum(), abs=1e-15)
        assert (row["classes"], row["outcome"], row["n_classes"]) == (["H", "D", "A"], match["FTR"], 3)


def test_the_power_is_the_one_with_which_reciprocals_add_up_to_one(tmp_path: Path) -> None:
    path = matches(tmp_path / "E0.csv")
    made, _ = produced(path, "football", confidence="Max", overround="power")
    for row, match in zip(made, rows_of(path), strict=True):
        r = 1 / np.array([float(match[f"Max{one}"]) for one in "HDA"])
        c = brentq(lambda c, r=r: (r**c).sum() - 1, 1e-6, 50, xtol=1e-15)
        assert row["confidences"] == pytest.approx(r**c, abs=1e-12)


def test_the_overround_is_told_with_its_mean_and_sums_below_one(tmp_path: Path) -> None:
    path = matches(tmp_path / "E0.csv")
    sums = [sum(1 / float(match[f"Max{one}"]) for one in "HDA") for match in rows_of(path)]
    _, notes = produced(path, "football", confidence="Max")
    assert f"an overround of {100 * (np.mean(sums) - 1):.2f} % on average" in notes[0]
    assert "removed (proportional)" in notes[0]
    assert any(f"{sum(one < 1 for one in sums)} matches add up to less than 1" in note for note in notes)


@pytest.mark.parametrize(("bookmaker", "kind"), [("B365", "odds before"), ("B365C", "closing"), ("VC", "odds before")])
def test_closing_odds_are_told_from_those_before(tmp_path: Path, bookmaker: str, kind: str) -> None:
    assert produced(matches(tmp_path / "E0.csv"), "football", confidence=bookmaker)[1][0].startswith(kind)


def test_several_bookmakers_are_several_models_and_the_command_is_said(tmp_path: Path) -> None:
    """The command of the message runs as it is."""
    path = matches(tmp_path / "E0.csv", 120)
    assert recognised_as(path) == "football"
    ran = toplist_here("compare", path, cwd=tmp_path)
    assert ran.returncode != 0
    assert "the odds of 5 bookmakers (B365, VC, Max, Avg, B365C)" in ran.stderr.replace("\n", " ")
    command = ran.stderr.split("toplist compare ")[1].rstrip(".\n").split()
    again = toplist_here("compare", *command, "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_two_bookmakers_score_as_numpy_scores_them(tmp_path: Path) -> None:
    path = matches(tmp_path / "E0.csv", 150)
    models = {name: tl.Source(str(path), producer="football", confidence=name) for name in ("B365", "B365C")}
    board = tl.compare(models)
    found = {row.name: row.scores["brier"].mean.value for row in board.comparison.overall.rows}
    for name in models:
        r = np.array([[1 / float(match[name + one]) for one in "HDA"] for match in rows_of(path)])
        p = r / r.sum(axis=1, keepdims=True)
        y = np.array([["HDA".index(match["FTR"])] for match in rows_of(path)])
        expected = ((p - (np.arange(3) == y)) ** 2).sum(axis=1).mean()
        assert found[name] == pytest.approx(expected, abs=1e-12)


def test_one_bookmaker_needs_no_name_and_divisions_are_groups(tmp_path: Path) -> None:
    lines = [
        "Div,Date,HomeTeam,AwayTeam,FTR,B365H,B365D,B365A",
        "E0,09/08/19,A,B,H,1.5,4,7",
        "E1,10/08/2019,C,D,A,2,3,4",
    ]
    path = tmp_path / "both.csv"
    path.write_text("\ufeff" + "\r\n".join([*lines, ",,,,,,,", ""]))
    made, _ = produced(path)
    assert [row["case"] for row in made] == ["2019-08-09 A - B", "2019-08-10 C - D"]
    assert [row["group"] for row in made] == ["E0", "E1"]


def test_matches_of_the_further_leagues_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "ARG.csv"
    path.write_text(
        "Country,League,Season,Date,Time,Home,Away,HG,AG,Res,PSCH,PSCD,PSCA\n"
        "Argentina,Primera Division,2012/2013,03/08/2012,23:00,Arsenal Sarandi,Union de Santa Fe,1,0,H,1.9,3.39,5.03\n"
    )
    made, notes = produced(path)
    assert made[0]["outcome"] == "H"
    assert notes[0].startswith("closing odds of PSC")


def test_matches_without_odds_are_missing_cases_and_those_to_come_have_no_outcome(tmp_path: Path) -> None:
    path = tmp_path / "E0.csv"
    path.write_text(
        "Date,HomeTeam,AwayTeam,FTR,B365H,B365D,B365A\n"
        "01/02/2024,A,B,H,1.5,4,7\n02/02/2024,C,D,A,,,\n03/02/2024,E,F,,2,3,4\n"
    )
    made, notes = produced(path)
    assert [row["outcome"] for row in made] == ["H", None]
    assert "1 matches have no odds of B365 and are left out" in notes
    assert "1 matches have no result" in notes


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("01/02/2024,A,B,H,1,4,7", "B365H is '1': decimal odds are numbers above 1"),
        ("01/02/2024,A,B,H,1.5,0,7", "B365D is '0'"),
        ("01/02/2024,A,B,H,1.5,4,-110", "B365A is '-110'"),
        ("01/02/2024,A,B,H,1.5,4,5/2", "B365A is '5/2'"),
        ("01/02/2024,A,B,X,1.5,4,7", "FTR is 'X', not H, D or A"),
        ("Feb 1,A,B,H,1.5,4,7", "Date is 'Feb 1'"),
        ("01/02/2024,A,B,H,1.5,4,7,9", "8 fields for 7 columns"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_row(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "E0.csv"
    path.write_text(f"Date,HomeTeam,AwayTeam,FTR,B365H,B365D,B365A\n02/02/2024,C,D,A,2,3,4\n{line}\n")
    with pytest.raises(FileError, match=problem.replace("(", r"\(")) as caught:
        produced(path)
    assert caught.value.row == 2


def test_a_bookmaker_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no bookmaker is called 'B356'.*B365"):
        produced(matches(tmp_path / "E0.csv"), "football", confidence="B356")
