"""Outcomes that predictions carry: the truth of all files together, the same as if it were in a file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import toplist as tl
from tests.cli.messages import said
from tests.evaluation.files import UNNAMED
from toplist.errors import AlignmentError, FileError, SpaceError, TopListError
from toplist.io import producers
from toplist.io.producers import Entry, Producer
from toplist.io.producers.base import ProducedReader, Request

CLASSES = ["a", "b", "c"]


def drawn(seed: int, n: int = 60) -> pd.DataFrame:
    """Predictions of a model in a wide table with the outcomes, and what else is known of the cases."""
    truth, own = np.random.default_rng(0), np.random.default_rng(seed)
    y = truth.integers(0, 3, n)
    p = own.dirichlet(np.ones(3), n) + np.eye(3)[y]
    return pd.DataFrame(
        {
            "id": [f"q{at}" for at in range(n)],
            **dict(zip(CLASSES, (p / p.sum(axis=1, keepdims=True)).T, strict=True)),
            "answer": np.array(CLASSES)[y],
            "document": truth.integers(0, 9, n),
            "importance": truth.integers(1, 4, n),
        }
    )


def long(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per class, those of a case far apart, with the outcome in each."""
    known = [name for name in frame.columns if name not in CLASSES]
    return frame.melt(known, CLASSES, var_name="label", value_name="p")


def lists(frame: pd.DataFrame) -> pa.Table:
    known = pa.Table.from_pandas(frame.drop(columns=CLASSES), preserve_index=False)
    values = frame[CLASSES].to_numpy()
    return known.append_column("classes", pa.array([CLASSES] * len(frame))).append_column(
        "confidences", pa.array(values.tolist())
    )


def apart(*frames: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """The same predictions without what they carry, and the truth in a table of its own."""
    every = pd.concat(frames).drop_duplicates("id")
    columns = ["id", "answer", "document", "importance"]
    return {str(at): one[["id", *CLASSES]] for at, one in enumerate(frames)}, every[columns]


def numbers(board: tl.Leaderboard) -> dict[str, Any]:
    return {name: value for name, value in board.to_dict().items() if name not in UNNAMED}


@pytest.mark.parametrize("shape", ["wide", "long", "lists"])
def test_carried_outcomes_are_scored_as_those_of_a_file(shape: str) -> None:
    frames = [drawn(1), drawn(2).sample(frac=1, random_state=3)]
    plain, y = apart(*frames)
    make = {"wide": lambda one: one, "long": long, "lists": lists}[shape]
    about: Any = {"outcome": "answer", "cluster": "document", "weight": "importance"}
    wanted = tl.compare(plain, tl.Truth(y, **about), space=CLASSES)
    models = {name: make(one) for name, one in zip(plain, frames, strict=True)}
    assert numbers(tl.compare(models, tl.Truth("same", **about), space=CLASSES)) == numbers(wanted)


def test_the_only_column_with_the_name_of_an_outcome_is_found() -> None:
    frame = drawn(1)[["id", *CLASSES, "answer"]]
    plain, y = {"a": frame[["id", *CLASSES]]}, frame[["id", "answer"]]
    assert numbers(tl.compare({"a": frame}, "same")) == numbers(tl.compare(plain, y))
    with pytest.raises(FileError, match=r"'truth', 'answer' may all hold outcomes\. Say which: outcome='truth' or"):
        tl.compare({"a": frame.assign(truth="a")}, "same")


@pytest.mark.parametrize("missing", ["common", "pairwise", "uniform", "worst"])
def test_cases_are_those_of_all_files_and_missing_ones_follow_the_choice(missing: str) -> None:
    frames = [drawn(1)[:50], drawn(2)[10:]]
    plain, y = apart(*frames)
    models = dict(zip(plain, frames, strict=True))
    about: Any = {"outcome": "answer", "cluster": "document"}
    with pytest.raises(AlignmentError, match="0 lacks 10 cases"):
        tl.compare(models, tl.Truth("same", **about), space=CLASSES)
    found = tl.compare(models, tl.Truth("same", **about), space=CLASSES, missing=missing)
    assert numbers(found) == numbers(tl.compare(plain, tl.Truth(y, **about), space=CLASSES, missing=missing))
    assert found.comparison.cases == 60


def test_outcomes_that_differ_are_refused_with_the_case_and_both_files(tmp_path: Path) -> None:
    first, second = drawn(1), drawn(2)
    second.loc[[4, 7], "answer"] = ["d", "d"]
    for name, one in (("a", first), ("b", second)):
        one[["id", *CLASSES, "answer"]].to_csv(tmp_path / f"{name}.csv", index=False)
    code, told = said("compare", tmp_path / "a.csv", tmp_path / "b.csv", "-t", "same", "--outcome", "answer")
    assert code == 1
    was = first["answer"][4]
    where = f"is '{was}' in {tmp_path / 'a.csv'} and 'd' in {tmp_path / 'b.csv'} (2 such cases)"
    assert f"the outcome of case 'q4' {where}. Give the outcomes in a file of their own, --truth." in told


def test_rows_of_one_case_that_differ_are_refused() -> None:
    frame = long(drawn(1))
    odd = frame.copy()
    odd.iloc[-1, odd.columns.get_loc("answer")] = "z"
    with pytest.raises(FileError, match=r"case 'q\d+' has .* in 'answer'"):
        tl.compare({"a": odd}, tl.Truth("same", outcome="answer"), space=4)


def test_a_case_that_is_there_twice_is_refused() -> None:
    frame = drawn(1)[["id", *CLASSES, "answer"]]
    with pytest.raises(FileError, match="case 'q3' is there twice"):
        tl.compare({"a": pd.concat([frame, frame[3:4]])}, "same")


def test_blank_outcomes_are_filled_by_other_files_or_refused() -> None:
    first, second = drawn(1), drawn(2)
    first.loc[5, "answer"] = None
    about = tl.Truth("same", outcome="answer", cluster="document", weight="importance")
    whole = tl.compare({"0": drawn(1), "1": second}, about)
    assert numbers(tl.compare({"0": first, "1": second}, about)) == numbers(whole)
    second.loc[5, "answer"] = None
    with pytest.raises(FileError, match="there is no outcome of case 'q5'"):
        tl.compare({"0": first, "1": second}, about)


def test_numbers_and_text_that_read_the_same_agree() -> None:
    first = pd.DataFrame({"id": [1, 2, 3], "y": [0, 1, 2], "class": [0, 1, 1], "p": [0.5, 0.5, 0.5]})
    second = first.astype({"id": str})
    board = tl.compare({"a": first, "b": second}, tl.Truth("same", outcome="y"), space=3)
    assert board["a"].scores["brier"].mean.value == board["b"].scores["brier"].mean.value


def test_rows_without_ids_are_matched_by_position() -> None:
    first, second = (drawn(seed)[[*CLASSES, "answer"]] for seed in (1, 2))
    y = first["answer"].tolist()
    arrays = {"a": first[CLASSES].to_numpy(), "b": second[CLASSES].to_numpy()}
    wanted = tl.compare(arrays, np.array([CLASSES.index(one) for one in y]))
    read = tl.ReadOptions(by_position=True)
    found = tl.compare({"a": first, "b": second}, tl.Truth("same", outcome="answer"), read=read)
    for name in ("a", "b"):
        assert found[name].scores["brier"].mean.value == wanted[name].scores["brier"].mean.value
    with pytest.raises(AlignmentError, match="same number of rows"):
        tl.compare({"a": first, "b": second[:-1]}, "same", read=tl.ReadOptions(by_position=True))


def test_a_lists_column_of_outcomes_is_refused() -> None:
    frame = lists(drawn(1)).append_column("sets", pa.array([["a"]] * 60))
    with pytest.raises(FileError, match="'sets' holds lists, not one value per case"):
        tl.compare({"a": frame}, tl.Truth("same", outcome="sets"), space=3)


def test_without_a_truth_plain_tables_are_refused_with_what_to_type(tmp_path: Path) -> None:
    drawn(1)[["id", *CLASSES]].to_csv(tmp_path / "a.csv", index=False)
    code, told = said("compare", tmp_path / "a.csv")
    assert code == 2
    assert "Give a file with them, --truth, or pass --truth same --outcome COLUMN" in told
    code, told = said("compare", tmp_path / "a.csv", "-c", 3, "--outcome", "answer")
    assert code == 2
    assert "--truth too: a file, or same" in told
    with pytest.raises(TopListError, match="Predictions in memory carry none"):
        tl.compare({"a": np.eye(3)})
    with pytest.raises(TopListError, match="Predictions in memory carry none"):
        tl.score_cases(np.eye(3))
    with pytest.raises(TopListError, match="what are the outcomes"):
        tl.compare({"a": np.eye(3)}, "same")


def test_every_command_takes_the_truth_from_the_predictions(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        drawn(seed).drop(columns=["document", "importance"]).to_parquet(tmp_path / f"{name}.parquet")
    y = drawn(1)[["id", "answer"]]
    y.to_csv(tmp_path / "y.csv", index=False)
    a, b, out = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "out"
    for words in (
        ("compare", a, b, "--json"),
        ("plan", a, b, "--smallest", "0.1", "--json"),
        ("score", a, "--json"),
        ("diagnose", a, "--json"),
        ("recalibrate", "fit", a, "-o", f"{out}.json", "--json"),
        ("pool", a, b, "-o", f"{out}.csv", "--json"),
        ("truncate", a, "-o", f"{out}.csv", "--json"),
    ):
        same = said(*words, "-t", "same", "--outcome", "answer")
        ignored = [word for one in ("a", "b")[: 1 + (b in words)] for word in ("--ignore", f"{one}=answer")]
        file = said(*words, "-t", tmp_path / "y.csv", *ignored)
        assert same[0] == file[0] == 0, (same, file)
        one, other = (json.loads(told) for _, told in (same, file))
        for record in (one, other):
            for what in ("truth_reading", "sources", "reading"):
                record.pop(what, None)
        assert one == other


# What producers carry

Tables = dict[str, pa.Table]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    """The tables that a producer makes of objects, by what these are called."""
    found: Tables = {}

    def opened(request: Request) -> ProducedReader:
        made, name = found[request.data["name"]], request.data["name"]
        columns = {field.name: field.type for field in made.schema}
        return ProducedReader(name, lambda: ((name, batch) for batch in made.to_batches(7)), columns, origin=made)

    monkeypatch.setattr(producers, "load", lambda name: Producer(open=opened))
    monkeypatch.setitem(producers.PRODUCERS, "tables", Entry("tables", "tables of a test", asked=True))
    return found


def questions(seed: int, n: int = 40, **more: Any) -> pa.Table:
    """Questions with answers of their own, 2 to 4 of them, of which the first is right."""
    generator, m = np.random.default_rng(seed), 2 + np.arange(n) % 3
    names = [[f"answer {at}-{i}" for i in range(k)] for at, k in enumerate(m)]
    given = {
        "case": [f"q{at}" for at in range(n)],
        "classes": names,
        "confidences": [generator.dirichlet(np.ones(k)).tolist() for k in m],
        "outcome": [one[0] for one in names],
        "n_classes": m,
        **more,
    }
    return pa.table({name: column for name, column in given.items() if column is not None})


def compared(tables: Tables, truth: Any = None, **settings: Any) -> tl.Leaderboard:
    models = {name: tl.Source({"name": name}, producer="tables") for name in tables}
    return tl.compare(models, truth, **settings)


MORE = {"cluster": [f"d{at // 2}" for at in range(40)], "group": [f"task {at % 3}" for at in range(40)]}


def test_scores_with_classes_per_case_equal_a_plain_loop(tables: Tables) -> None:
    tables |= {"x": questions(1), "y": questions(2)}
    board = compared(tables)
    assert board.comparison.classes == "per case"
    for name, made in tables.items():
        rows = made.to_pylist()
        brier = [sum((p - (i == 0)) ** 2 for i, p in enumerate(row["confidences"])) for row in rows]
        log = [-np.log(row["confidences"][0]) for row in rows]
        assert board[name].scores["brier"].mean.value == pytest.approx(np.mean(brier), abs=1e-12)
        assert board[name].scores["log"].mean.value == pytest.approx(np.mean(log), abs=1e-12)


def test_clusters_and_groups_of_producers_are_used_unless_they_are_left_out(tables: Tables) -> None:
    tables |= {"x": questions(1, **MORE), "y": questions(2, **MORE)}
    found = compared(tables).comparison
    assert (found.cluster, found.group, found.units) == ("cluster", "group", 20)
    assert [one.group for one in found.groups] == ["task 0", "task 1", "task 2"]
    bare = compared(tables, tl.Truth("same", cluster="", group="")).comparison
    assert (bare.cluster, bare.group, bare.units) == (None, None, 40)
    other = compared(tables, tl.Truth("same", cluster="group", group="")).comparison
    assert (other.cluster, other.units) == ("group", 3)


@pytest.mark.parametrize("groups", [["all"] * 40, [f"g{at}" for at in range(40)], [f"g{at % 35}" for at in range(40)]])
def test_one_group_many_or_a_group_per_case_are_not_shown(tables: Tables, groups: list[str]) -> None:
    tables |= {"x": questions(1, group=groups)}
    assert compared(tables).comparison.group is None


def test_classes_that_are_the_same_for_all_cases_are_one_space(tables: Tables) -> None:
    names = [list("ABC")] * 40
    tables["x"] = questions(
        1, classes=names, confidences=[[0.2, 0.3, 0.5]] * 40, outcome=["B"] * 40, n_classes=[3] * 40
    )
    assert compared(tables).comparison.classes == "3"
    assert tl.read_lists({"name": "x"}, producer="tables").space.size == 3
    tables["x"] = questions(1, n_classes=[4] * 40)
    assert compared(tables).comparison.classes == "per case"


def test_a_space_that_is_declared_wins_over_what_the_producer_says(tables: Tables) -> None:
    tables["x"] = questions(1, n_classes=None)
    with pytest.raises(SpaceError, match="how many classes are there"):
        compared(tables)
    assert compared(tables, space=1000).comparison.classes == "1000"


def test_a_disagreement_about_anything_that_is_used_is_refused(tables: Tables) -> None:
    tables |= {"x": questions(1, **MORE), "y": questions(2, **MORE | {"cluster": ["d0"] * 40})}
    with pytest.raises(AlignmentError, match=r"'cluster' of case 'q2' is 'd1' in x and 'd0' in y .* cluster=''"):
        compared(tables)
    assert compared(tables, tl.Truth("same", cluster="")).comparison.cluster is None
    tables["y"] = questions(2, n_classes=[9] * 40)
    with pytest.raises(AlignmentError, match="'n_classes' of case 'q0' is 2 in x and 9 in y"):
        compared(tables, tl.Truth("same", cluster="", group=""))


def test_without_a_truth_all_models_have_to_carry_outcomes(tables: Tables) -> None:
    tables |= {"x": questions(1), "y": questions(2, outcome=None)}
    with pytest.raises(TopListError, match=r"y carries none that can be recognised.*truth='same' to take those of x"):
        compared(tables)
    assert [row.name for row in compared(tables, "same")] != []


def test_cases_are_united_over_models_in_the_order_of_the_first(tables: Tables) -> None:
    whole = questions(1)
    tables |= {"x": whole[20:], "y": questions(2)[:30]}
    found = compared(tables, missing="uniform").comparison
    assert (found.cases, found.compared) == (40, 40)
    scores = tl.score_cases(tl.Source({"name": "x"}, producer="tables"))
    assert scores.metadata["case"].to_pylist() == [f"q{at}" for at in range(20, 40)]


def test_commands_that_need_one_set_of_classes_say_that_cases_have_others(tables: Tables) -> None:
    from toplist.evaluation.transform import fit_recalibrator

    tables["x"] = questions(1)
    with pytest.raises(SpaceError, match="cases have 2 to 4 classes"):
        fit_recalibrator(tl.Source({"name": "x"}, producer="tables"))
    tables["x"] = questions(1, n_classes=[4] * 40)
    with pytest.raises(SpaceError, match="cases have 4 classes each, but not the same ones"):
        fit_recalibrator(tl.Source({"name": "x"}, producer="tables"))


def test_the_batches_of_a_producer_are_made_once(tables: Tables) -> None:
    passes = []

    def batches() -> Any:
        passes.append(1)
        return ((str(len(passes)), batch) for batch in questions(1).to_batches(7))

    reader = ProducedReader("x", batches, {field.name: field.type for field in questions(1).schema})
    next(iter(reader.pieces(["case"])))
    assert [len(list(reader.pieces(["case"]))) for _ in range(3)] == [6, 6, 6]
    assert len(passes) == 2
