"""Outcomes that predictions carry: the truth of all files together, the same as if it were in a file of its own.

What is said and refused is in the transcripts.
"""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import toplist as tl
from tests.cli.messages import said
from tests.evaluation.files import UNNAMED
from toplist.errors import AlignmentError, SpaceError, TopListError
from toplist.io import producers
from toplist.io.producers import Entry
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.readers.base import TableChunk

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


def test_predictions_in_memory_carry_no_outcomes() -> None:
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
        ignored = [word for one in ("a", "b")[: 1 + (b in words)] for word in ("--read", f"ignore={one}=answer")]
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
        batches = made.to_batches(7)
        starts = accumulate(map(len, batches), initial=0)
        return ProducedReader(
            name, [TableChunk(name, start, batch) for start, batch in zip(starts, batches, strict=False)]
        )

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
    tables |= {"x": questions(1, cluster=[f"d{at // 2}" for at in range(40)]), "y": questions(2, cluster=["d0"] * 40)}
    with pytest.raises(
        AlignmentError, match=r"'cluster' of case 'q2' is 'd1' in x, row 3, and 'd0' in y, row 3 .* cluster=''"
    ):
        compared(tables)
    assert compared(tables, tl.Truth("same", cluster="")).comparison.cluster is None


def test_commands_that_need_one_set_of_classes_say_that_cases_have_others(tables: Tables) -> None:
    from toplist.evaluation.transform import fit_recalibrator

    tables["x"] = questions(1, n_classes=[4] * 40)
    with pytest.raises(SpaceError, match="cases have different classes"):
        fit_recalibrator(tl.Source({"name": "x"}, producer="tables"))
