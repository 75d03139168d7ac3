"""Hubs as the hubverse lays them out: tasks.json, oracle-output and a folder per model, made from a small world.

The shapes are those of hubverse-org/example-complex-forecast-hub (schema 6.0.0) and cdcepi/FluSight-forecast-hub:
types mixed in one file, NA where a task id does not apply, FIPS codes with a leading zero, outcomes without the
reference date.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CATEGORY, PEAK, COUNT = "wk flu hosp rate category", "peak week inc flu hosp", "wk inc flu hosp"
LEVELS = ["low", "moderate", "high", "very high"]
PLACES = ["US", "01", "06", "48"]
ROUNDS = [(date(2024, 11, 23) + timedelta(days=7 * at)).isoformat() for at in range(8)]
HORIZONS = [0, 1, 2]
WEEKS = [(date(2024, 11, 23) + timedelta(days=7 * at)).isoformat() for at in range(10)]
IDS = ["reference_date", "target", "horizon", "target_end_date", "location"]
TEAMS = ["Alpha-base", "Beta-flu_net", "Gamma-ens", "Delta-x", "Epsilon-late", "Zeta-sharp"]


def ends(reference: str, horizon: int) -> str:
    """The day that a forecast is about."""
    return (date.fromisoformat(reference) + timedelta(days=7 * horizon)).isoformat()


def allowed(values: list[Any] | None) -> dict[str, Any]:
    """Values of a task id, all of them optional."""
    return {"required": None, "optional": values}


def tasks() -> dict[str, Any]:
    """tasks.json: an ordinal target, one of quantiles, and a week."""
    every = sorted({ends(reference, horizon) for reference, horizon in product(ROUNDS, HORIZONS)})
    ids = {
        "reference_date": allowed(ROUNDS),
        "horizon": allowed(HORIZONS),
        "target_end_date": allowed(every),
        "location": allowed(PLACES),
    }
    value = {"type": "double", "minimum": 0, "maximum": 1}

    def task(target: str, kind: str, own: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
        about = {"target_id": target, "target_name": target, "target_units": "", "target_keys": {"target": target}}
        return {
            "task_ids": {**ids, **own, "target": allowed([target])},
            "output_type": output,
            "target_metadata": [{**about, "target_type": kind, "is_step_ahead": True, "time_unit": "week"}],
        }

    def pmf(classes: list[str]) -> dict[str, Any]:
        return {"pmf": {"output_type_id": {"required": classes}, "is_required": True, "value": value}}

    quantiles = {"quantile": {"output_type_id": {"required": [0.25, 0.5]}, "is_required": True, "value": value}}
    nothing = {"horizon": allowed(None), "target_end_date": allowed(None)}
    every_task = [
        task(CATEGORY, "ordinal", {}, pmf(LEVELS)),
        task(COUNT, "continuous", {}, quantiles),
        task(PEAK, "date", nothing, pmf(WEEKS)),
    ]
    schema = "https://raw.githubusercontent.com/hubverse-org/schemas/main/v6.0.0/tasks-schema.json"
    round_ = {
        "round_id_from_variable": True,
        "round_id": "reference_date",
        "model_tasks": every_task,
        "submissions_due": {},
    }
    return {"schema_version": schema, "rounds": [round_]}


Outcome = tuple[str, str, str | None, str]  # target, place, day and class


def observed() -> list[Outcome]:
    """The level of each place on each day, and its peak week."""
    rng = np.random.default_rng(0)
    days = sorted({ends(reference, horizon) for reference, horizon in product(ROUNDS, HORIZONS)})
    rows: list[Outcome] = [(CATEGORY, place, day, LEVELS[int(rng.integers(4))]) for place, day in product(PLACES, days)]
    return rows + [(PEAK, place, None, WEEKS[int(rng.integers(len(WEEKS)))]) for place in PLACES]


def oracle(outcomes: list[Outcome]) -> pd.DataFrame:
    """oracle-output: a row per class, without reference date and horizon; counts have no class."""
    rows: list[tuple[Any, ...]] = []
    for target, place, day, happened in outcomes:
        classes = LEVELS if target == CATEGORY else WEEKS
        rows += [(place, day, target, "pmf", one, int(one == happened)) for one in classes]
        if target == CATEGORY:
            rows.append((place, day, COUNT, "quantile", None, 79))
    columns = ["location", "target_end_date", "target", "output_type", "output_type_id", "oracle_value"]
    return pd.DataFrame(rows, columns=columns)


def forecasts(seed: int, outcomes: list[Outcome], reference: str, *, skill: float, peak: bool) -> pd.DataFrame:
    """The model output of a round: distributions of some skill, and rows of other types among them."""
    rng = np.random.default_rng([seed, int(reference.replace("-", ""))])
    known = {(t, p, d): h for t, p, d, h in outcomes}
    asked = [(CATEGORY, h, ends(reference, h), place) for h, place in product(HORIZONS, PLACES)]
    asked += [(PEAK, None, None, place) for place in PLACES] if peak else []
    rows: list[tuple[Any, ...]] = []
    for target, horizon, day, place in asked:
        classes = LEVELS if target == CATEGORY else WEEKS
        p = rng.dirichlet(np.ones(len(classes)))
        p = (1 - skill) * p + skill * (np.array(classes) == known[target, place, day])
        names = rng.permutation(len(classes))  # rows of a case are in no order
        rows += [(reference, target, horizon, day, place, "pmf", classes[at], float(p[at])) for at in names]
        rows.append((reference, COUNT, 0, reference, place, "quantile", "0.5", 79.0))
    rows.append((reference, COUNT, 0, reference, "US", "mean", None, 80.0))
    return pd.DataFrame(rows, columns=[*IDS, "output_type", "output_type_id", "value"])


def rounds_of(team: str) -> list[str]:
    """The rounds that a team took part in: one missed some, one came late, one gave up."""
    return {
        "Beta-flu_net": [*ROUNDS[:2], *ROUNDS[4:]],
        "Delta-x": ROUNDS[:5],
        "Epsilon-late": ROUNDS[3:],
    }.get(team, ROUNDS)


def write_hub(place: Path) -> Path:
    """A hub with six teams, one of which writes Parquet with types, and one CSV with numbers as pandas has them."""
    outcomes = observed()
    (place / "hub-config").mkdir(parents=True)
    (place / "target-data").mkdir()
    (place / "hub-config" / "tasks.json").write_text(json.dumps(tasks()))
    oracle(outcomes).to_csv(place / "target-data" / "oracle-output.csv", index=False, na_rep="NA")
    (place / "model-output").mkdir()
    (place / "model-output" / "README.md").write_text("About model output.\n")
    for at, team in enumerate(TEAMS):
        folder = place / "model-output" / team
        folder.mkdir()
        for reference in rounds_of(team):
            table = forecasts(at, outcomes, reference, skill=0.1 * at, peak=team != "Alpha-base")
            name = f"{reference}-{team}"
            if team == "Gamma-ens":
                typed = table.astype({"reference_date": "datetime64[ns]"})
                typed["target_end_date"] = pd.to_datetime(typed["target_end_date"]).dt.date
                typed.to_parquet(folder / f"{name}.parquet")  # horizon is a float, because some are missing
            else:
                table["horizon"] = table["horizon"].astype("Int64")
                table.to_csv(folder / f"{name}.csv", index=False, na_rep="NA")
    return place


def brier(p: dict[str, float], happened: str) -> float:
    """The Brier score of a distribution."""
    return sum((value - (name == happened)) ** 2 for name, value in p.items())


def scored(place: Path) -> pd.DataFrame:
    """Every case of every team with its Brier and log score, by pandas alone."""
    truth = pd.read_csv(place / "target-data" / "oracle-output.csv", dtype=str, keep_default_na=True)
    truth = truth[(truth["output_type"] == "pmf") & (truth["oracle_value"] == "1")]
    truth = truth[["location", "target_end_date", "target", "output_type_id"]].rename(
        columns={"output_type_id": "happened"}
    )
    found = []
    for folder in sorted((place / "model-output").iterdir()):
        for path in sorted(folder.glob("*-*")) if folder.is_dir() else []:
            if path.suffix == ".parquet":
                table = pd.read_parquet(path)
                for name in ("reference_date", "target_end_date"):
                    days = pd.to_datetime(table[name])
                    table[name] = days.dt.strftime("%Y-%m-%d")
                table["horizon"] = table["horizon"].map(lambda h: None if pd.isna(h) else str(int(h)))
            else:
                table = pd.read_csv(path, dtype=str)
            table = table[table["output_type"] == "pmf"].assign(team=folder.name)
            found.append(table.astype({"value": float}))
    every = pd.concat(found).merge(truth, how="left", on=["location", "target_end_date", "target"])
    rows = []
    for key, case in every.groupby(["team", *IDS], dropna=False):
        p = dict(zip(case["output_type_id"], case["value"], strict=True))
        happened = case["happened"].iloc[0]
        log = -np.log(p[happened]) if p[happened] > 0 else np.inf
        rows.append((*key, brier(p, happened), log))
    return pd.DataFrame(rows, columns=["team", *IDS, "brier", "log"])
