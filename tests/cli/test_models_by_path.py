"""What models are called by their paths, and which folders are models of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import toplist as tl
from tests.cli.messages import said
from toplist.errors import TopListError


def predictions(path: Path, confidence: float = 0.5) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"id,class,confidence\n1,a,{confidence}\n2,b,{confidence}\n")
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "y.csv").write_text("id,y\n1,a\n2,a\n")
    return tmp_path


def names(*words: str) -> list[str]:
    code, told = said("compare", *words, "-t", "y.csv", "-c", "3", "--json")
    assert code == 0, told
    return [one["name"] for one in json.loads(told)["sources"]]


def test_a_pattern_of_folders_is_one_model_per_folder(home: Path) -> None:
    for at, team in enumerate(("b-model", "a-model", "c")):
        predictions(home / "hub" / "model-output" / team / "2024-01-01.csv", 0.1 + at / 10)
        predictions(home / "hub" / "model-output" / team / ".hidden" / "x.csv")
    assert names("hub/model-output/*/") == names("hub/model-output/*") == ["a-model", "b-model", "c"]
    assert names("hub/*/*/") == ["a-model", "b-model", "c"]
    assert tl.models_by_path("hub/model-output/*/")["c"] == "hub/model-output/c/"


def test_a_pattern_of_files_is_one_model(home: Path) -> None:
    (home / "parts").mkdir()
    for at in (1, 2):
        (home / "parts" / f"{at}.csv").write_text(f"id,class,confidence\n{at},a,0.5\n")
    assert names("parts/*.csv") == ["*"]
    assert names("new=parts/*.csv") == ["new"]
    (home / "parts" / "folder").mkdir()
    assert names("new=parts/*") == ["new"]  # where files match, these are meant


def test_folders_are_called_by_their_names(home: Path) -> None:
    for run in ("runA", "runB"):
        predictions(home / run / "deep" / "p.csv")
        predictions(home / run / "p.csv")
    assert names("runA/", "runB/") == names("runA", "runB") == names("./runA/", str(home / "runB")) == ["runA", "runB"]


@pytest.mark.parametrize(
    ("paths", "called"),
    [
        (("old/samples.csv", "new/samples.csv"), ["old", "new"]),
        (("r/old/model/p.csv", "r/new/model/p.csv"), ["old", "new"]),
        (("a/1/p.csv", "a/2/p.csv", "b/1/p.csv"), ["a/1", "a/2", "b/1"]),
        (("x/p.csv", "y/p.csv", "other.csv"), ["x", "y", "other"]),
        (("x/p.csv", "y/p.csv", "x.csv"), ["x/p", "y", "x"]),
        (("x/p.csv", "p.csv"), ["x", "p"]),
        (("x/p.csv", "./y/p.csv"), ["x", "y"]),
        (("x/1/p.csv", "x/2/p.csv", "p.csv"), ["1", "2", "p"]),
        (("x/p.csv", "new=y/p.csv"), ["p", "new"]),
    ],
)
def test_paths_that_end_alike_are_called_by_the_part_in_which_they_differ(
    home: Path, paths: tuple[str, ...], called: list[str]
) -> None:
    for path in paths:
        predictions(home / path.removeprefix("new="))
    assert names(*paths) == called


def test_every_path_has_a_name_of_its_own_or_is_refused(home: Path) -> None:
    predictions(home / "p.csv")
    predictions(home / "q.csv")
    for words in (("p.csv", "p.csv"), ("a=p.csv", "a=q.csv"), ("p.csv", "./p.csv")):
        code, told = said("compare", *words, "-t", "y.csv", "-c", "3")
        assert code == 2
        assert "two files are called" in told


def test_a_name_for_several_folders_is_refused(home: Path) -> None:
    for team in ("a", "b"):
        predictions(home / "out" / team / "p.csv")
    code, told = said("compare", "x=out/*/", "-t", "y.csv", "-c", "3")
    assert code == 2
    assert "matches 2 folders, and each of them is a model" in told
    code, told = said("check", "out/*/", "-c", "3")
    assert code == 2
    assert "matches 2 folders" in told
    with pytest.raises(TopListError, match="matches 2 folders"):
        tl.models_by_path("x=out/*/")


def test_the_next_command_is_typed_with_the_names(home: Path) -> None:
    for run in ("old", "new"):
        predictions(home / run / "p.csv", 0.6 if run == "new" else 0.3)
    code, told = said("compare", "old/p.csv", "new/p.csv", "-t", "y.csv", "-c", "3")
    assert code == 0
    assert "toplist diagnose" in told


def test_a_configuration_of_a_model_says_how_many_classes_there_are(home: Path) -> None:
    predictions(home / "p.csv")
    more = {"architectures": ["BertForSequenceClassification"], "hidden_size": 8, "torch_dtype": None}
    for config, wanted in (
        ({"num_labels": 3}, "3"),
        ({"num_classes": 1000}, "1000"),
        ({"id2label": {"0": "a", "1": "b", "2": "c"}}, "3"),
        ({"id2label": {"1": "b", "0": "a"}, "label2id": {"a": 0, "b": 1}, "num_labels": 2}, "2"),
        ({"label2id": {"b": 0, "a": 1, "c": 2}}, "3"),
    ):
        (home / "config.json").write_text(json.dumps({**more, **config}))
        code, told = said("compare", "p.csv", "-t", "y.csv", "-c", "config.json", "--json")
        assert code == 0, told
        assert json.loads(told)["classes"] == wanted
    for config, problem in (
        ({}, "num_labels"),
        ({"num_labels": 0}, "num_labels"),
        ({"num_labels": "3"}, "num_labels"),
        ({"num_labels": True}, "num_labels"),
        ({"num_labels": 3, "num_classes": 4}, "num_labels"),
        ({"id2label": {"0": "a"}, "num_labels": 2}, "num_labels is 2, but there are 1 labels"),
        ({"id2label": {"0": "a", "2": "b"}}, "none for the code 1"),
    ):
        (home / "config.json").write_text(json.dumps({**more, **config}))
        code, told = said("compare", "p.csv", "-t", "y.csv", "-c", "config.json")
        assert code == 1
        assert problem in told
