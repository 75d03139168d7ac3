"""Hubs: model output by team and round, classes of tasks.json, outcomes of oracle-output.

What is said and refused is in the transcripts.
"""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from studies import folder as folders

from tests.cli.run_cli import toplist_here
from tests.draws import draws
from tests.io.producers import hubs
from tests.io.producers.damage import damaged
from tests.io.producers.hubs import CATEGORY, IDS, LEVELS, PEAK, PLACES, ROUNDS, TEAMS, WEEKS
from tests.io.producers.reading import produced
from tests.io.producers.test_damaged import damaged_cells
from toplist.errors import TopListError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hubs.write_hub(tmp_path_factory.mktemp("hub") / "hub")


@pytest.fixture
def hub(made: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(made, tmp_path / "hub"))


def folder(hub: Path, team: str) -> Path:
    return hub / "model-output" / team


# Through the command


def test_six_teams_with_missing_rounds_score_as_pandas_scores_them(made: Path, tmp_path: Path) -> None:
    """Means, differences on the cases of both, and groups by target, with nothing else on the command line."""
    report = tmp_path / "hub.html"
    ran = toplist_here(
        "compare", f"{made}/model-output/*/", "--missing", "pairwise", "--json", "--report", report, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    board, expected = json.loads(ran.stdout), hubs.scored(made)
    assert {row["name"] for row in board["overall"]["rows"]} == set(TEAMS)
    for row in board["overall"]["rows"]:
        own = expected[expected["team"] == row["name"]]
        assert row["cases"] == len(own)
        for rule in ("brier", "log"):
            assert row["scores"][rule]["mean"]["value"] == pytest.approx(own[rule].mean(), abs=1e-12)
    wide = expected.pivot_table(index=IDS, columns="team", values="brier", dropna=False)
    pairs = {frozenset((one["a"], one["b"])): one for one in board["pairs"] if one["rule"] == "brier"}
    assert len(pairs) == 15
    for a, b in combinations(TEAMS, 2):
        both, found = wide[[a, b]].dropna(), pairs[frozenset((a, b))]
        assert found["cases"] == len(both)
        assert found["difference"]["value"] == pytest.approx((both[found["a"]] - both[found["b"]]).mean(), abs=1e-12)
    for group in board["groups"]:
        own = expected[expected["target"] == group["group"]].groupby("team")["brier"].mean()
        found = {row["name"]: row["scores"]["brier"]["mean"]["value"] for row in group["rows"] if row["cases"]}
        assert found == pytest.approx(own.to_dict(), abs=1e-12)
    assert (board["cluster"], board["time"]) == ("cluster", "time")
    assert f"{len(PLACES)} clusters by cluster and {len(ROUNDS)} time points" in board["method"]
    page = report.read_text(encoding="utf-8")
    assert "ignore the order of the classes" in page


def test_a_season_of_a_real_hub_scores_as_numpy_scores_it(tmp_path: Path) -> None:
    """FluSight 2024/25, written as its teams wrote it: the weeks of the peak, by seven teams that missed rounds."""
    data = folders.default() / "flusight_peakweek_2024-25.npz"
    if not data.is_file():
        pytest.skip(f"{data.name} is not here")
    loaded = np.load(data)
    weeks, p, y = loaded["classes"].tolist(), loaded["probs"].astype(np.float64), loaded["labels"]
    table = pd.DataFrame(p, columns=weeks).assign(
        **{name: loaded[name] for name in ("model", "reference_date", "location")}
    )
    dates, places = sorted(set(table["reference_date"])), sorted(set(table["location"]))
    config = hubs.tasks()
    (peak,) = [one for one in config["rounds"][0]["model_tasks"] if one["target_metadata"][0]["target_id"] == PEAK]
    peak["task_ids"] |= {"reference_date": hubs.allowed(dates), "location": hubs.allowed(places)}
    peak["output_type"]["pmf"]["output_type_id"]["required"] = weeks
    config["rounds"][0]["model_tasks"] = [peak]
    (tmp_path / "hub-config").mkdir()
    (tmp_path / "hub-config" / "tasks.json").write_text(json.dumps(config))
    long = table.melt(["model", "reference_date", "location"], weeks, "output_type_id", "value")
    long = long.assign(target=PEAK, horizon=None, target_end_date=None, output_type="pmf")
    for (team, day), part in long.groupby(["model", "reference_date"]):
        path = folder(tmp_path, team) / f"{day}-{team}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part.drop(columns="model").to_parquet(path)
    happened = dict(zip(table["location"], y.tolist(), strict=True))
    rows = [(place, PEAK, "pmf", week, int(week == weeks[happened[place]])) for place in places for week in weeks]
    (tmp_path / "target-data").mkdir()
    pd.DataFrame(rows, columns=["location", "target", "output_type", "output_type_id", "oracle_value"]).to_csv(
        tmp_path / "target-data" / "oracle-output.csv", index=False
    )
    ran = toplist_here("compare", "model-output/*/", "--missing", "pairwise", "--normalize", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    board = json.loads(ran.stdout)
    p = p / p.sum(axis=1, keepdims=True)
    table["brier"] = ((p - np.eye(len(weeks))[y]) ** 2).sum(axis=1)
    found = {row["name"]: row["scores"]["brier"]["mean"]["value"] for row in board["overall"]["rows"]}
    assert found == pytest.approx(table.groupby("model")["brier"].mean().to_dict(), abs=1e-12)
    assert round(found["PSI-PROF_beta"], 3) == 0.435


# The table


def test_csv_and_parquet_name_cases_with_the_same_text(made: Path) -> None:
    """Dates, whole numbers that pandas made floats, and what is missing."""
    csv, parquet = produced(folder(made, "Zeta-sharp"))[0], produced(folder(made, "Gamma-ens"))[0]
    assert {row["case"] for row in csv} == {row["case"] for row in parquet}
    assert csv[0]["case"].startswith("horizon=0, location=US, reference_date=2024-11-23, target=")
    assert any("horizon=NA" in row["case"] for row in csv)
    assert any("location=01" in row["case"] for row in parquet)


def test_classes_are_in_the_order_of_the_tasks_with_their_number(made: Path) -> None:
    for row in produced(folder(made, "Beta-flu_net"))[0]:
        declared = LEVELS if row["group"] == CATEGORY else WEEKS
        assert row["classes"] == declared
        assert row["n_classes"] == len(declared)
        assert sum(row["confidences"]) == pytest.approx(1.0)


@pytest.mark.parametrize("form", ["parquet", "partitions"])
def test_outcomes_in_every_form_are_the_same(hub: Path, form: str) -> None:
    """One Parquet file, and a folder of partitions."""
    before = produced(folder(hub, "Zeta-sharp"))[0]
    path = hub / "target-data" / "oracle-output.csv"
    table = pd.read_csv(path, dtype={"location": str})
    path.unlink()
    if form == "parquet":
        typed = table.assign(target_end_date=pd.to_datetime(table["target_end_date"]).dt.date)
        typed.to_parquet(path.with_suffix(".parquet"))
    else:
        for target, part in table.groupby("target"):
            place = path.with_suffix("") / f"target={target.replace(' ', '%20')}"
            place.mkdir(parents=True)
            part.drop(columns="target").to_parquet(place / "part-0.parquet")
    assert produced(folder(hub, "Zeta-sharp"))[0] == before


# Damaged files


@pytest.mark.parametrize("what", ["model output", "oracle output", "tasks"])
def test_damaged_hubs_end_in_rows_or_in_an_error_of_ours(made: Path, tmp_path_factory: Any, what: str) -> None:
    hub = tmp_path_factory.mktemp("damaged") / "hub"
    shutil.copytree(made / "hub-config", hub / "hub-config")
    shutil.copytree(made / "target-data", hub / "target-data")
    path = folder(hub, "Delta-x") / f"{ROUNDS[0]}-Delta-x.csv"
    path.parent.mkdir(parents=True)
    shutil.copy(folder(made, "Delta-x") / path.name, path)
    broken = {
        "model output": path,
        "oracle output": hub / "target-data" / "oracle-output.csv",
        "tasks": hub / "hub-config" / "tasks.json",
    }[what]
    text = broken.read_text()
    changes = (
        damaged([json.loads(text)]).map(str.encode)
        if what == "tasks"
        else damaged_cells(list(csv.reader(text.splitlines())))
    )

    @settings(max_examples=draws(40))
    @given(changes)
    def check(data: bytes) -> None:
        broken.write_bytes(data)
        with suppress(TopListError):
            produced(path, "hubverse")

    check()
