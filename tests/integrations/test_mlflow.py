"""Leaderboards in a local store of MLflow: what is logged is what the board says."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.integrations import mlflow as integration
from toplist.integrations.mlflow import log_leaderboard

mlflow = pytest.importorskip("mlflow", reason="needs mlflow")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store of files: nothing is sent anywhere."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")  # which MLflow itself sets, and which is put back
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield tmp_path / "runs"
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


def board(names: tuple[str, ...] = ("sharp", "flat"), n: int = 60, **options: Any) -> tl.Leaderboard:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.4), n)
    y = np.array([rng.choice(4, p=row) for row in p])
    models = {name: p ** (at + 1) / (p ** (at + 1)).sum(axis=1, keepdims=True) for at, name in enumerate(names)}
    return tl.compare(models, y, **options)


def logged(run_id: str) -> Any:
    return mlflow.MlflowClient().get_run(run_id).data


def artifact(run_id: str, path: str, place: Path) -> str:
    return Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=path, dst_path=str(place))).read_text()


def test_metrics_are_the_numbers_of_the_board(tmp_path: Path) -> None:
    made = board(rules=("brier", "log"), k=(2,), baseline="flat")
    found = logged(made.log_to_mlflow(report=False)).metrics
    for row in made:
        for rule, score in row.scores.items():
            at = f"toplist/{row.name}/{rule}"
            assert (found[at], found[f"{at}_low"], found[f"{at}_high"]) == (
                score.mean.value,
                score.mean.low,
                score.mean.high,
            )
            assert found[f"{at}_infinite"] == 0
            assert found[f"{at}_skill"] == score.skill.value
        for name, estimate in row.metrics.items():
            assert found[f"toplist/{row.name}/{name}"] == estimate.value
        assert found[f"toplist/{row.name}/rank"] == row.rank
        assert found[f"toplist/{row.name}/cases"] == row.cases
    behind = made[1]
    assert found[f"toplist/{behind.name}/brier_difference"] == behind.scores["brier"].difference.value
    assert all(math.isfinite(x) for x in found.values())


def test_settings_and_verdict_can_be_searched_for() -> None:
    made = board(inference=0.9)
    data = logged(made.log_to_mlflow(report=False))
    assert data.params["toplist/rules"] == "brier, log"
    assert data.params["toplist/classes"] == "4"
    assert data.params["toplist/level"] == "0.9"
    assert data.params["toplist/cases"] == data.params["toplist/compared"] == "60"
    assert "toplist/baseline" not in data.params
    assert data.tags["toplist.leader"] == made[0].name
    assert data.tags["toplist.version"] == tl.__version__
    assert data.tags["toplist.verdict"].replace(" ", "") in made.to_text(2000).replace(" ", "").replace("\n", "")
    condition = "params.`toplist/level` = '0.9' and metrics.`toplist/sharp/brier` < 1"
    assert len(mlflow.MlflowClient().search_runs(["0"], condition)) == 1


def test_table_results_and_report_are_artifacts(tmp_path: Path) -> None:
    made = board()
    run_id = made.log_to_mlflow()
    paths = [one.path for one in mlflow.MlflowClient().list_artifacts(run_id, "toplist")]
    assert paths == ["toplist/leaderboard.csv", "toplist/leaderboard.json", "toplist/report.html"]
    assert artifact(run_id, paths[0], tmp_path) == made.to_csv()
    assert json.loads(artifact(run_id, paths[1], tmp_path)) == made.to_dict()
    made.report(tmp_path / "own.html")
    assert artifact(run_id, paths[2], tmp_path) == (tmp_path / "own.html").read_text()
    rows = list(csv.DictReader(artifact(run_id, paths[0], tmp_path).splitlines()))
    assert {row["model"] for row in rows} == {"sharp", "flat"}


def test_without_an_active_run_a_new_one_is_made_and_ends() -> None:
    run_id = board().log_to_mlflow(report=False)
    assert mlflow.active_run() is None
    assert mlflow.MlflowClient().get_run(run_id).info.status == "FINISHED"


def test_an_active_run_is_used_and_stays_active() -> None:
    with mlflow.start_run() as run:
        assert board().log_to_mlflow(report=False) == run.info.run_id
        assert mlflow.active_run().info.run_id == run.info.run_id
        mlflow.log_metric("more", 1.0)
    assert logged(run.info.run_id).metrics.keys() >= {"more", "toplist/sharp/brier"}


def test_a_run_may_be_given_by_itself_or_by_its_id() -> None:
    with mlflow.start_run() as first:
        pass
    made = board()
    assert made.log_to_mlflow(first, report=False) == first.info.run_id
    assert made.log_to_mlflow(first.info.run_id, prefix="again", report=False) == first.info.run_id
    assert {key.partition("/")[0] for key in logged(first.info.run_id).metrics} == {"toplist", "again"}
    with mlflow.start_run() as active:
        made.log_to_mlflow(first, prefix="third", report=False)
    assert logged(active.info.run_id).metrics == {}


def test_infinite_means_are_counted_and_named_and_not_logged() -> None:
    y = [0, 1, 2]
    made = tl.compare({"label": [0, 1, 1], "list": [{0: 0.6}] * 3}, y, space=3, rules=("log", "brier"))
    assert made["label"].scores["log"].mean.value == math.inf
    data = logged(made.log_to_mlflow(report=False))
    assert "toplist/label/log" not in data.metrics
    assert data.metrics["toplist/label/log_infinite"] == 1
    assert data.metrics["toplist/list/log"] == made["list"].scores["log"].mean.value
    named = data.tags["toplist.infinite"].split(", ")
    assert "toplist/label/log" in named
    assert not set(named) & set(data.metrics)


def test_models_may_have_any_names() -> None:
    names = ("runs/a.csv", "runs:a.csv", "..", "日本語", "x" * 300, "x" * 299, 'a, "b"', "toplist", "")
    made = board(names)
    found = logged(made.log_to_mlflow(report=False)).metrics
    means = [row.scores["brier"].mean.value for row in made]
    assert sorted(x for key, x in found.items() if key.endswith("/brier")) == sorted(means)
    assert "toplist/runs_a.csv/brier" in found
    assert "toplist/runs_a.csv 2/brier" in found
    assert "toplist/日本語/brier" in found


def test_models_may_have_runs_of_their_own() -> None:
    made = board()
    run_id = made.log_to_mlflow(report=False, nested=True)
    client = mlflow.MlflowClient()
    below = client.search_runs(["0"], f"tags.mlflow.parentRunId = '{run_id}'")
    assert {one.info.run_name for one in below} == {"sharp", "flat"}
    for one in below:
        assert one.info.status == "FINISHED"
        assert one.data.metrics["toplist/brier"] == made[one.info.run_name].scores["brier"].mean.value
        assert one.data.params == {"toplist/model": one.info.run_name}
    best = client.search_runs(["0"], f"tags.mlflow.parentRunId = '{run_id}'", order_by=["metrics.`toplist/brier`"])
    assert best[0].info.run_name == made[0].name


def test_what_is_too_much_for_one_call_is_logged_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = mlflow.utils.validation
    assert limits.MAX_METRICS_PER_BATCH >= integration._METRICS
    assert limits.MAX_PARAMS_TAGS_PER_BATCH >= integration._OTHERS
    made = board()
    whole = logged(made.log_to_mlflow(report=False))
    monkeypatch.setattr(integration, "_METRICS", 3)
    monkeypatch.setattr(integration, "_OTHERS", 2)
    parts = logged(made.log_to_mlflow(report=False))
    assert (parts.metrics, parts.params) == (whole.metrics, whole.params)


def test_the_same_board_may_be_logged_again_but_no_other_settings_under_the_same_names() -> None:
    with mlflow.start_run() as run:
        made = board()
        made.log_to_mlflow(report=False)
        made.log_to_mlflow(report=False)
        before = logged(run.info.run_id).metrics
        with pytest.raises(tl.TopListError, match=r"toplist/level = '0.95' already, not '0.9': .* another prefix"):
            board(inference=0.9).log_to_mlflow(report=False)
        assert logged(run.info.run_id).metrics == before
        board(inference=0.9).log_to_mlflow(report=False, prefix="narrow/one")
    assert "narrow/one/sharp/brier" in logged(run.info.run_id).metrics


@pytest.mark.parametrize("prefix", ["", "/a", "a/", "a//b", "..", "a/../b", "a,b", None, "x" * 61])
def test_a_prefix_that_is_no_name_is_refused(prefix: Any) -> None:
    with pytest.raises(tl.TopListError, match="prefix is a name"):
        board().log_to_mlflow(report=False, prefix=prefix)


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(tl.TopListError, match="run is a run of MLflow or its id, not 3"):
        board().log_to_mlflow(3, report=False)


def test_the_function_does_what_the_method_does() -> None:
    made = board()
    assert logged(log_leaderboard(made, report=False)).metrics == logged(made.log_to_mlflow(report=False)).metrics


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(tl.TopListError, match=r"pip install 'toplist\[mlflow\]'"):
        board().log_to_mlflow()
