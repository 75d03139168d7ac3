"""Real predictions go through `toplist compare` and come out with the figures that others computed.

The files are not part of the project. Where the folder is absent (TOPLIST_DATA names it), these tests are skipped.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from studies import folder

from tests.studies import plain
from tests.studies.manifest import CIFAR10, CIFAR10H, NEWS20, SOCCER, Numbers
from tests.studies.run_study import DATA, Studied, Studying

Row = Mapping[str, Any]


def board(study: Studied) -> dict[str, dict[str, Any]]:
    """The leaderboards of a study; the README shows them as they are printed."""
    printed = [cells(line) for b in study.boards for line in b.table.splitlines()]
    for line in documented(study.name):
        assert any(cells(line) <= row for row in printed), f"studies/README.md, not as printed: {line}"
    return {b.name: json.loads(b.record) for b in study.boards}


def documented(name: str) -> list[str]:
    """The rows of tables that the README shows for a study."""
    text = (folder.ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    return re.findall(r"^ ?\d+  .*$", next(part for part in section if part.startswith(f"{name}\n")), re.MULTILINE)


def cells(line: str) -> set[str]:
    return set(re.split(r" {2,}", line.strip()))


def rows(section: Mapping[str, Any]) -> dict[str, Row]:
    return {row["name"]: row for row in section["rows"]}


def mean(row: Row, rule: str = "brier") -> float:
    """The mean score; infinity, which JSON does not have, is null with a count of infinite scores."""
    mark = row["scores"][rule]
    value = mark["mean"]["value"]
    assert (value is None) == (mark["infinite"] > 0)
    return np.inf if value is None else value


def same(row: Row, p: NDArray[np.float64], y: NDArray[Any]) -> None:
    """A row of a leaderboard says what plain numpy says of the distributions."""
    expected = plain.figures(p, y)
    scores, logs = list(row["scores"].values())[:2]
    assert row["cases"] == expected.cases
    assert row["metrics"]["accuracy"]["value"] == pytest.approx(expected.accuracy, abs=1e-9)
    assert scores["mean"]["value"] == pytest.approx(expected.brier, abs=1e-9)
    assert logs["infinite"] == expected.infinite
    assert logs["finite"] == pytest.approx(expected.log, abs=1e-9)


def referred(full: Row, top3: Row, top1: Row, mode: Row, expected: Numbers) -> None:
    """Four forms of one model have the manifest's numbers, to the digits that it prints.

    Its accuracy is that of the mode. A distribution whose first two classes tie shares the hit between them; `same`
    checks that one.
    """
    accuracy, brier, log, one, three, hard = expected
    assert mode["metrics"]["accuracy"]["value"] == pytest.approx(accuracy, abs=5e-5)
    assert mean(full) == pytest.approx(brier, abs=1e-6)
    assert mean(full, "log") == pytest.approx(log, abs=1e-6)
    assert mean(top1) == pytest.approx(one, abs=1e-6)
    assert mean(top3) == pytest.approx(three, abs=1e-6)
    assert mean(mode) == pytest.approx(hard, abs=5e-5)


def test_fourteen_networks_have_the_scores_of_plain_numpy_and_five_models_those_of_the_manifest(
    studied: Studying,
) -> None:
    boards = board(studied("cifar10"))
    nets, other = np.load(DATA / "cifar10_14nets.npz"), np.load(DATA / "cifar10_cleanlab.npz")
    found, y = rows(boards["cifar10"]["overall"]), nets["labels"]
    assert found.keys() == set(nets.files) - {"labels", "classes"}
    assert len(found) == 14
    for name, row in found.items():
        same(row, plain.distributions(nets[name]), y)
    forms = rows(boards["cifar10-lists"]["overall"])
    same(forms["cleanlab"], plain.distributions(other["probs"]), y)
    for name, expected in CIFAR10.items():
        full, *shorter = (forms[name + form] for form in ("", "-top3", "-top1", "-mode"))
        referred(full, *shorter, expected)
        assert not any(row["invalid"] for row in (full, *shorter))


def test_newsgroups_have_the_manifests_numbers_and_as_many_infinite_scores_as_zeros(studied: Studying) -> None:
    found = rows(board(studied("news20"))["news20"]["overall"])
    original = np.load(DATA / "news20_cleanlab.npz")
    referred(*(found[name] for name in ("full", "top3", "top1", "mode")), NEWS20)
    same(found["full"], original["probs"], original["labels"])
    assert found["full"]["scores"]["log"]["infinite"] == 61


def test_counts_of_people_have_the_manifests_numbers(studied: Studying) -> None:
    made = board(studied("cifar10h"))["cifar10h"]
    found = rows(made["overall"])
    people = np.load(DATA / "cifar10_human_cifar10h.npz")
    referred(*(found[f"people{form}"] for form in ("", "-top3", "-top1", "-mode")), CIFAR10H)
    same(found["people"], plain.distributions(people["counts"]), people["labels"])
    assert made["sources"][0]["repairs"] == {"normalized": 10_000}


def test_football_forecasts_have_the_manifests_numbers_in_all_and_those_of_plain_numpy_by_season(
    studied: Studying,
) -> None:
    made = board(studied("soccer"))["soccer"]
    found = rows(made["overall"])
    # Of three classes, a list of three is the distribution.
    referred(found["spi"], found["spi"], found["spi-top1"], found["spi-mode"], SOCCER)
    with gzip.open(DATA / "soccer_spi_538_2016_2019.csv.gz", "rt", encoding="utf-8") as file:
        matches = list(csv.DictReader(file))
    p = plain.distributions(np.array([[float(m[c]) for c in ("prob1", "probtie", "prob2")] for m in matches]))
    goals = np.array([[float(m["score1"]), float(m["score2"])] for m in matches])
    y = np.where(goals[:, 0] > goals[:, 1], 0, np.where(goals[:, 0] == goals[:, 1], 1, 2))
    start = np.array([f"{m['date'][:4]}" if m["date"][5:7] >= "08" else f"{int(m['date'][:4]) - 1}" for m in matches])
    same(found["spi"], p, y)
    groups = {section["group"]: rows(section) for section in made["groups"]}
    assert sorted(groups) == ["2016/17", "2017/18", "2018/19"]
    for season, standings in groups.items():
        mine = start == season[:4]
        same(standings["spi"], p[mine], y[mine])
    ratio = mean(found["spi"]) / mean(found["frequency"])
    assert found["spi"]["scores"]["brier"]["baseline_skill"]["value"] == pytest.approx(1 - ratio, abs=1e-9)


def test_flu_teams_are_scored_on_their_own_rounds_on_common_ones_or_on_all(studied: Studying) -> None:
    boards = board(studied("flusight"))
    original = np.load(DATA / "flusight_peakweek_2024-25.npz")
    p, y, team = plain.distributions(original["probs"]), original["labels"], original["model"]
    case = np.array([f"{d} {s}" for d, s in zip(original["reference_date"], original["location"], strict=True)])
    cases = {name: set(case[team == name]) for name in np.unique(team).tolist()}
    every = set().union(*cases.values())
    score = {name: dict(zip(case[team == name], plain.brier(p, y)[team == name], strict=True)) for name in cases}

    own = rows(boards["flusight"]["overall"])
    assert own.keys() == cases.keys()
    assert len(own) == 7
    for name, row in own.items():
        same(row, p[team == name], y[team == name])
        assert row["missing"] == len(every) - row["cases"]

    quantile = 2.0066468050616857  # of Student's t with 52 degrees of freedom, at 0.975
    for name, row in rows(boards["flusight-places"]["overall"]).items():
        mine = team == name
        low, high = plain.clustered(plain.brier(p, y)[mine], original["location"][mine], quantile)
        assert row["scores"]["brier"]["mean"]["low"] == pytest.approx(low, abs=1e-9)
        assert row["scores"]["brier"]["mean"]["high"] == pytest.approx(high, abs=1e-9)

    # The relative score: the geometric mean of ratios of means on the cases of both, its own ratio of one included.
    for name, row in own.items():
        ratios = [
            np.mean([score[name][c] for c in both]) / np.mean([score[rival][c] for c in both])
            for rival in cases
            if (both := cases[name] & cases[rival])
        ]
        assert row["scores"]["brier"]["relative"]["value"] == pytest.approx(np.exp(np.mean(np.log(ratios))), abs=1e-9)

    passed = original["classes"][y] < original["reference_date"]
    groups = {section["group"]: rows(section) for section in boards["flusight"]["groups"]}
    for group, among in (("passed", passed), ("ahead", ~passed)):
        for name, row in groups[group].items():
            mine = (team == name) & among
            assert row["cases"] == mine.sum()
            if mine.any():
                same(row, p[mine], y[mine])

    common = rows(boards["flusight-common"]["overall"])
    shared = sorted(set.intersection(*(cases[name] for name in common)))
    assert boards["flusight-common"]["compared"] == len(shared) == 848
    for name, row in common.items():
        mine = (team == name) & np.isin(case, shared)
        same(row, p[mine], y[mine])

    for name, row in rows(boards["flusight-uniform"]["overall"]).items():
        assert row["cases"] == len(every)
        uniform = 1 - 1 / 28
        filled = [score[name].get(c, uniform) for c in every]
        assert mean(row) == pytest.approx(np.mean(filled), abs=1e-9)


def test_languages_have_the_scores_of_plain_numpy(studied: Studying) -> None:
    found = rows(board(studied("langid"))["langid"]["overall"])
    original = np.load(DATA / "langid_py3langid_django.npz")
    p, y = plain.distributions(original["probs"]), original["labels"]
    same(found["full"], p, y)
    for name, k in (("top5", 5), ("top1", 1)):
        padded = p.copy()
        order = np.argsort(-p, axis=1, kind="stable")[:, k:]
        np.put_along_axis(padded, order, np.take_along_axis(p, order, axis=1).mean(axis=1, keepdims=True), axis=1)
        assert mean(found[name]) == pytest.approx(plain.brier(padded, y).mean(), abs=1e-9)
        assert mean(found[name], "log") == pytest.approx(plain.log(padded, y).mean(), abs=1e-9)
    assert mean(found["mode"]) == pytest.approx(2 * (p.argmax(axis=1) != y).mean(), abs=1e-9)


def test_lists_by_people_are_repaired_as_told_and_invalid_ones_pay(studied: Studying) -> None:
    boards = board(studied("cifar10s"))
    with (DATA / "cifar10s_human_top2_lists.csv").open(encoding="utf-8") as file:
        lists = list(csv.DictReader(file))
    found = rows(boards["cifar10s"]["overall"])["people"]
    scores, valid = [], []
    for row in lists:
        pair = [(row["class1"], float(row["percent1"]) / 100)]
        if row["percent2"]:
            pair.append((row["class2"], float(row["percent2"]) / 100))
        mass = max(sum(t for _, t in pair), 1)
        if len(pair) == 2 and pair[0][0] == pair[1][0]:
            pair = [(pair[0][0], pair[0][1] + pair[1][1])]
        one, *two = [(name, t / mass) for name, t in pair]
        value, fine = plain.padded_pair(one, two[0] if two else None, row["true_class"])
        scores.append(value)
        valid.append(fine)
    (mark, _), invalid = found["scores"].values(), len(lists) - sum(valid)
    assert boards["cifar10s"]["sources"][0]["repairs"] == {
        "scale: percent": 6723,
        "duplicates summed": 153,
        "normalized": 674,
        "blanks left out": 10,
    }
    assert found["invalid"] == invalid
    assert mark["unpenalised"] == pytest.approx(np.mean(scores), abs=1e-9)
    # An invalid list pays a hundredth of what the empty list scores.
    assert mean(found) == pytest.approx(np.mean(scores) + 0.009 * invalid / len(lists), abs=1e-9)


def test_without_the_data_a_study_is_skipped_with_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "studies", "soccer", "--data", str(tmp_path / "nowhere")]
    done = subprocess.run(command, cwd=folder.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("soccer: skipped, there is no folder")


def test_a_command_that_fails_is_reported_with_what_it_says(tmp_path: Path) -> None:
    from studies.adapt import Study
    from studies.running import run

    made = run(Study((), lambda data, out: None, {"none": "absent.csv --truth truth.csv"}), tmp_path, tmp_path)[0]
    assert made.status != 0
    assert "there is no such file" in made.complaint
