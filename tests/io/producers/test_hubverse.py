"""Hubs: model output by team and round, classes of tasks.json, outcomes of oracle-output."""

from __future__ import annotations

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
from hypothesis import strategies as st
from studies import folder as folders

import toplist as tl
from tests.cli.messages import said
from tests.cli.run_cli import toplist_here
from tests.draws import draws
from tests.io.producers import hubs
from tests.io.producers.damage import damaged
from tests.io.producers.hubs import CATEGORY, IDS, LEVELS, PEAK, PLACES, ROUNDS, TEAMS, WEEKS
from tests.io.producers.reading import produced, recognised_as
from toplist.errors import FileError, TopListError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hubs.write_hub(tmp_path_factory.mktemp("hub") / "hub")


@pytest.fixture
def hub(made: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(made, tmp_path / "hub"))


def folder(hub: Path, team: str) -> Path:
    return hub / "model-output" / team


def case_of(row: dict[str, Any]) -> tuple[str, ...]:
    """The task ids of a case, from its text."""
    return tuple(part.split("=", 1)[1] for part in row["case"].split(", "))


def change(path: Path, edit: Any) -> None:
    """Rewrite a table of text."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    edited = edit(table)
    (table if edited is None else edited).to_csv(path, index=False)


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


def test_one_target_is_chosen_by_a_condition(made: Path) -> None:
    paths = {team: str(folder(made, team)) for team in TEAMS}
    board = tl.compare(paths, missing="pairwise", read=tl.ReadOptions(where=f"target={CATEGORY}"))
    expected = hubs.scored(made)
    own = expected[expected["target"] == CATEGORY].groupby("team")["brier"].mean()
    assert {row.name: row.scores["brier"].mean.value for row in board.comparison.overall.rows} == pytest.approx(
        own.to_dict(), abs=1e-12
    )
    assert not board.comparison.groups


def test_open_cases_are_left_out_of_the_truth_and_stay_among_the_predictions(hub: Path, tmp_path: Path) -> None:
    last = max(hubs.ends(ROUNDS[-1], h) for h in hubs.HORIZONS)
    change(hub / "target-data" / "oracle-output.csv", lambda table: table[table["target_end_date"] != last])
    rows, notes = produced(folder(hub, "Zeta-sharp"))
    assert sum(row["outcome"] is None for row in rows) == len(PLACES)
    assert any(f"{len(PLACES)} of {len(rows)} cases have no outcome" in note for note in notes)
    paths = {team: str(folder(hub, team)) for team in ("Zeta-sharp", "Gamma-ens")}
    board = tl.compare(paths, missing="common")
    assert board.comparison.cases == len(rows) - len(PLACES)
    options = ["--where", f"target={CATEGORY}", "--classes", len(LEVELS), "-o", tmp_path / "pool.parquet"]
    assert toplist_here("pool", *paths.values(), *options).returncode == 0
    assert len(pd.read_parquet(tmp_path / "pool.parquet")) == len(ROUNDS) * len(hubs.HORIZONS) * len(PLACES)


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


def test_every_file_of_a_hub_is_recognised_by_its_columns_and_its_tasks(hub: Path) -> None:
    assert recognised_as(folder(hub, "Alpha-base")) == "hubverse"
    assert recognised_as(next(folder(hub, "Gamma-ens").iterdir())) == "hubverse"
    (hub / "hub-config" / "tasks.json").unlink()
    assert recognised_as(folder(hub, "Alpha-base")) is None


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


def test_outcomes_are_joined_on_the_task_ids_that_the_oracle_has(made: Path) -> None:
    known = {(target, place, day or "NA"): happened for target, place, day, happened in hubs.observed()}
    for row in produced(folder(made, "Delta-x"))[0]:
        _, place, _, target, day = case_of(row)
        assert row["outcome"] == known[target, place, day]
        assert (row["cluster"], row["time"]) == (place, case_of(row)[2])


def test_rows_of_other_output_types_are_counted_and_not_read(made: Path) -> None:
    rows, notes = produced(folder(made, "Zeta-sharp"))
    quantiles = len(ROUNDS) * (len(PLACES) * len(hubs.HORIZONS) + len(PLACES))
    assert f"rows of other output types are not used: {len(ROUNDS)} mean, {quantiles} quantile" in notes
    assert len(rows) == len(ROUNDS) * 4 * len(PLACES)


def test_an_ordinal_target_is_said_to_be_one(made: Path) -> None:
    ordinal = [note for note in produced(folder(made, "Zeta-sharp"))[1] if note.startswith("ordinal target")]
    assert len(ordinal) == 1
    assert "Brier and log scores ignore the order of the classes" in ordinal[0]
    assert " < ".join(LEVELS) in ordinal[0]


def test_the_order_of_one_ordinal_target_counts_where_it_is_declared(tmp_path: Path) -> None:
    hub = hubs.write_hub(tmp_path / "hub", peak=False)
    note = next(note for note in produced(folder(hub, "Zeta-sharp"))[1] if note.startswith("ordinal target"))
    assert "--rule rps does not, with --ordinal" in note
    (tmp_path / "levels.txt").write_text("\n".join(LEVELS) + "\n")
    files = (folder(hub, "Zeta-sharp"), folder(hub, "Alpha-base"))
    code, told = said("compare", *files, "-c", tmp_path / "levels.txt", "--ordinal", "--rule", "rps")
    assert code == 0
    assert "RPS score" in told


def test_a_hub_of_one_target_has_no_groups(tmp_path: Path) -> None:
    hub = hubs.write_hub(tmp_path / "hub", peak=False)
    assert "group" not in produced(folder(hub, "Zeta-sharp"))[0][0]


def test_without_outcomes_there_are_predictions_alone(hub: Path) -> None:
    (hub / "target-data" / "oracle-output.csv").unlink()
    rows, notes = produced(folder(hub, "Zeta-sharp"))
    assert "outcome" not in rows[0]
    assert any("outcomes have to be given" in note for note in notes)
    with pytest.raises(tl.TopListError, match="what are the outcomes"):
        tl.compare({"a": str(folder(hub, "Zeta-sharp")), "b": str(folder(hub, "Delta-x"))}, missing="pairwise")


@pytest.mark.parametrize("form", ["parquet", "partitions", "versions"])
def test_outcomes_in_every_form_are_the_same(hub: Path, form: str) -> None:
    """One Parquet file, a folder of partitions, and versions of which the latest counts."""
    before = produced(folder(hub, "Zeta-sharp"))[0]
    path = hub / "target-data" / "oracle-output.csv"
    table = pd.read_csv(path, dtype={"location": str})
    path.unlink()
    if form == "parquet":
        typed = table.assign(target_end_date=pd.to_datetime(table["target_end_date"]).dt.date)
        typed.to_parquet(path.with_suffix(".parquet"))
    elif form == "partitions":
        for target, part in table.groupby("target"):
            place = path.with_suffix("") / f"target={target.replace(' ', '%20')}"
            place.mkdir(parents=True)
            part.drop(columns="target").to_parquet(place / "part-0.parquet")
    else:
        wrong = table.assign(oracle_value=table.groupby("target")["oracle_value"].shift(1, fill_value=0))
        wrong = wrong[wrong["output_type"] == "pmf"]
        both = [wrong.assign(as_of="2025-01-04"), table.assign(as_of="2025-02-01")]
        pd.concat(both).to_csv(path, index=False, na_rep="NA")
    after, notes = produced(folder(hub, "Zeta-sharp"))
    assert after == before
    assert any("latest version" in note for note in notes) == (form == "versions")


@pytest.mark.parametrize(("new", "old"), [("output_type_id", "type_id"), ("pmf", "categorical")])
def test_older_schemas_are_read_as_the_newest_one(hub: Path, new: str, old: str) -> None:
    before = produced(folder(hub, "Zeta-sharp"))[0]
    tasks = hub / "hub-config" / "tasks.json"
    config = json.loads(tasks.read_text())
    for task in config["rounds"][0]["model_tasks"]:
        for kind in list(task["output_type"]):
            one = task["output_type"][kind]
            if new == "pmf" and kind == "pmf":
                task["output_type"][old] = task["output_type"].pop(kind)
            if new in one:
                values = one.pop(new)["required"]
                one[old] = {"required": values[:2], "optional": values[2:]}
    tasks.write_text(json.dumps(config))
    if new == "pmf":
        for path in folder(hub, "Zeta-sharp").iterdir():
            path.write_text(path.read_text().replace(",pmf,", ",categorical,"))
        oracle = hub / "target-data" / "oracle-output.csv"
        oracle.write_text(oracle.read_text().replace(",pmf,", ",categorical,"))
    after = produced(folder(hub, "Zeta-sharp"))[0]
    assert [{**row, "output_type": "pmf"} for row in after] == before


def test_rounds_that_are_named_by_files_have_tasks_of_their_own(hub: Path) -> None:
    """Where no task id holds the round, the name of a file begins with it: classes may change from round to round."""
    tasks = hub / "hub-config" / "tasks.json"
    config = json.loads(tasks.read_text())
    (one,) = config["rounds"]
    changed = json.loads(json.dumps(one).replace('"very high"', '"extreme"'))
    config["rounds"] = [
        {**(one if at else changed), "round_id_from_variable": False, "round_id": name}
        for at, name in enumerate(ROUNDS)
    ]
    tasks.write_text(json.dumps(config))
    first = next(folder(hub, "Zeta-sharp").glob(f"{ROUNDS[0]}*"))
    first.write_text(first.read_text().replace("very high", "extreme"))
    (hub / "target-data" / "oracle-output.csv").unlink()
    rows = [row for row in produced(folder(hub, "Zeta-sharp"))[0] if row["group"] == CATEGORY]
    assert [row["classes"][-1] for row in rows] == [
        "extreme" if ROUNDS[0] in row["case"] else "very high" for row in rows
    ]


def test_blanks_before_numbers_are_no_part_of_them(hub: Path) -> None:
    """As some teams write quantiles, and all else, in quotes."""
    before = produced(folder(hub, "Zeta-sharp"))[0]
    for path in folder(hub, "Zeta-sharp").iterdir():
        change(path, lambda table: table.assign(value=" " + table["value"]))
    assert produced(folder(hub, "Zeta-sharp"))[0] == before


def test_rounds_that_are_no_days_are_no_times(hub: Path) -> None:
    """Epidemic weeks, as some hubs name them."""
    weeks = {day: f"EW2024{47 + at}" for at, day in enumerate(ROUNDS)}

    def renamed(text: str) -> str:
        for day, week in weeks.items():
            text = text.replace(f"\n{day},", f"\n{week},")
        return text.replace("reference_date", "origin_epiweek")

    tasks = hub / "hub-config" / "tasks.json"
    config = json.loads(tasks.read_text().replace("reference_date", "origin_epiweek"))
    for task in config["rounds"][0]["model_tasks"]:
        task["task_ids"]["origin_epiweek"] = hubs.allowed(list(weeks.values()))
    tasks.write_text(json.dumps(config))
    for path in folder(hub, "Zeta-sharp").iterdir():
        path.write_text(renamed(path.read_text()))
    rows, notes = produced(folder(hub, "Zeta-sharp"))
    assert "time" not in rows[0]
    assert {row["cluster"] for row in rows} == set(PLACES)
    assert any(note.endswith("are a cluster") for note in notes)


# What is refused, or noted


def test_the_files_of_several_teams_are_not_one_model(made: Path) -> None:
    with pytest.raises(FileError, match=r"files of 6 models .*name one folder per model"):
        produced(f"{made}/model-output/*/*.*", "hubverse")


def test_a_team_without_distributions_is_named_with_what_it_has(hub: Path) -> None:
    for path in folder(hub, "Delta-x").iterdir():
        change(path, lambda table: table[table["output_type"] != "pmf"])
    with pytest.raises(
        FileError, match=r"no rows of the output type pmf here; rows of other types: 5 mean, 80 quantile"
    ):
        produced(folder(hub, "Delta-x"))


def test_a_class_that_is_not_declared_is_refused_with_its_row_and_another_target(hub: Path) -> None:
    path = next(folder(hub, "Zeta-sharp").iterdir())
    change(path, lambda table: table.assign(output_type_id=table["output_type_id"].replace(WEEKS[0], "2019-11-23")))
    with pytest.raises(FileError, match=r"'2019-11-23' is not among those .*tasks.json of its time.*where") as caught:
        produced(folder(hub, "Zeta-sharp"))
    table = pd.read_csv(path, dtype=str)
    assert caught.value.row == int(np.flatnonzero(table["output_type_id"] == "2019-11-23")[0]) + 1
    assert len(produced(folder(hub, "Zeta-sharp"), where=f"target={CATEGORY}")[0]) == len(ROUNDS) * 3 * len(PLACES)


def test_two_classes_that_happened_are_refused(hub: Path) -> None:
    def edit(table: pd.DataFrame) -> None:
        table.loc[table["target"] == PEAK, "oracle_value"] = "1"

    change(hub / "target-data" / "oracle-output.csv", edit)
    with pytest.raises(FileError, match="are said to have happened where"):
        produced(folder(hub, "Zeta-sharp"))


@pytest.mark.parametrize("value", ["0.5", "2"])
def test_outcomes_are_zero_or_one(hub: Path, value: str) -> None:
    def edit(table: pd.DataFrame) -> None:
        table.loc[0, "oracle_value"] = value

    change(hub / "target-data" / "oracle-output.csv", edit)
    with pytest.raises(FileError, match="not 0 or 1"):
        produced(folder(hub, "Zeta-sharp"))


def test_a_target_that_is_not_declared_is_refused(hub: Path) -> None:
    path = next(folder(hub, "Zeta-sharp").iterdir())
    path.write_text(path.read_text().replace(PEAK, "peak day"))
    with pytest.raises(FileError, match="target 'peak day' is no target with classes"):
        produced(folder(hub, "Zeta-sharp"))


def test_rounds_that_are_no_longer_declared_are_read_by_their_target_and_noted(hub: Path) -> None:
    tasks = hub / "hub-config" / "tasks.json"
    config = json.loads(tasks.read_text())
    for task in config["rounds"][0]["model_tasks"]:
        task["task_ids"]["reference_date"]["optional"].remove(ROUNDS[0])
    tasks.write_text(json.dumps(config))
    rows, notes = produced(folder(hub, "Zeta-sharp"))
    assert len(rows) == len(ROUNDS) * 4 * len(PLACES)
    assert any("task ids that tasks.json does not declare" in note for note in notes)


@pytest.mark.parametrize("column", ["location", "value", "output_type_id"])
def test_a_column_that_lacks_is_named(hub: Path, column: str) -> None:
    for path in folder(hub, "Zeta-sharp").iterdir():
        change(path, lambda table: table.drop(columns=column))
    with pytest.raises(FileError, match=f"there is no column '{column}'"):
        produced(folder(hub, "Zeta-sharp"), "hubverse")


def test_further_columns_are_noted(hub: Path) -> None:
    for path in folder(hub, "Zeta-sharp").iterdir():
        change(path, lambda table: table.assign(comment="x"))
    assert "columns that tasks.json does not declare are ignored: 'comment'" in produced(folder(hub, "Zeta-sharp"))[1]


def test_a_value_that_is_no_number_is_named_with_its_row(hub: Path) -> None:
    path = next(folder(hub, "Zeta-sharp").iterdir())

    def edit(table: pd.DataFrame) -> None:
        table.loc[table.index[table["output_type"] == "pmf"][2], "value"] = "much"

    change(path, edit)
    row = int(np.flatnonzero(pd.read_csv(path, dtype=str)["value"] == "much")[0]) + 1
    with pytest.raises(FileError, match="value is 'much', which is no number") as caught:
        produced(folder(hub, "Zeta-sharp"))
    assert caught.value.row == row


@pytest.mark.parametrize("text", ["", "[]", '{"rounds": [{}]}', '{"rounds": 3}', "not json"])
def test_a_damaged_configuration_is_an_error_about_that_file(hub: Path, text: str) -> None:
    (hub / "hub-config" / "tasks.json").write_text(text)
    with pytest.raises(FileError, match=r"tasks\.json"):
        produced(folder(hub, "Zeta-sharp"))


def test_sums_that_are_not_one_follow_the_rules_of_all_lists(hub: Path) -> None:
    for path in folder(hub, "Zeta-sharp").iterdir():
        text = pd.read_csv(path, dtype=str, keep_default_na=False)
        heavy = text["output_type"] == "pmf"
        text.loc[heavy, "value"] = (1.2 * text.loc[heavy, "value"].astype(float)).astype(str)
        text.to_csv(path, index=False)
    paths = {team: str(folder(hub, team)) for team in ("Zeta-sharp", "Gamma-ens")}
    with pytest.raises(tl.TopListError, match=r"sum to 1\.2"):
        tl.compare(paths, missing="common")
    board = tl.compare(paths, missing="common", read=tl.ReadOptions(normalize=True))
    expected = hubs.scored(hub)
    gamma = expected[expected["team"] == "Gamma-ens"]["brier"].mean()
    (row,) = [row for row in board.comparison.overall.rows if row.name == "Gamma-ens"]
    assert row.scores["brier"].mean.value == pytest.approx(gamma, abs=1e-12)


# Damaged files


@st.composite
def damaged_text(draw: Any, text: str) -> bytes:
    """A cell of a table replaced, or bytes, or the rest cut off."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return text.encode()[: draw(st.integers(0, len(text)))]
    if kind == 1:
        at = draw(st.integers(0, len(text)))
        return text[:at].encode() + draw(st.binary(max_size=5)) + text[at + draw(st.integers(0, 5)) :].encode()
    lines = [line.split(",") for line in text.splitlines()]
    line = draw(st.sampled_from(lines))
    line[draw(st.integers(0, len(line) - 1))] = draw(
        st.sampled_from(["", "NA", "nan", "-1", "1e400", '"', "x", "0.5", "\0"])
    )
    return "\n".join(",".join(one) for one in lines).encode()


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
    changes = damaged([json.loads(text)]).map(str.encode) if what == "tasks" else damaged_text(text)

    @settings(max_examples=draws(40))
    @given(changes)
    def check(data: bytes) -> None:
        broken.write_bytes(data)
        with suppress(TopListError):
            produced(path, "hubverse")

    check()
