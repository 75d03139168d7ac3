"""A spoiled file gives a right answer or one clear sentence: never a traceback, never a smaller n without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run_cli import complaints, toplist_here
from tests.io import slow_readers as slow
from tests.io.files import LAYOUTS, save
from tests.io.mutations import FORMS, Spoiled, outcome, require_clear, run, spoil
from tests.io.slow_readers import name_of
from tests.io.strategies import chance
from toplist import ClassSpace
from toplist.errors import TopListError
from toplist.evaluation.compare import compare
from toplist.evaluation.transform import pool_files, truncate_file
from toplist.io.lists import check_file
from toplist.io.options import ReadOptions
from toplist.io.sources import OpenTable
from toplist.io.tables import open_source
from toplist.io.write import convert
from toplist.lists.validation import Repairs

EACH = {
    "lists": 6,
    "long": 6,
    "scattered": 6,
    "wide": 15,
    "ranked": 15,
    "parts": 16,
}  # thirty of each layout; `make mutations`: 1000


@pytest.mark.parametrize("form", FORMS)
def test_a_spoiled_file_gives_a_right_answer_or_one_clear_sentence(form: str) -> None:
    each = EACH.get(form.partition(".")[0], 10)
    counts = run(form, range(each))
    assert counts["right"] + counts["sentence"] == each
    assert counts["right"]
    assert counts["sentence"]


@pytest.mark.parametrize("form", ["labels.csv", "labels.parquet", "labels.jsonl"])
def test_a_spoiled_truth_gives_a_right_answer_or_one_clear_sentence(form: str, tmp_path: Path) -> None:
    for seed in range(20):
        folder = _fresh(tmp_path / str(seed))
        spoiled = spoil(seed, form, folder, "sure", as_truth=True)
        records = LAYOUTS["lists"](spoiled.drawn, chance(seed))
        try:
            row = compare({"it": save(records, folder / "q.jsonl")}, spoiled.path, space=spoiled.space)["it"]
        except TopListError as error:
            assert not spoiled.harmless
            if "q.jsonl, by row" not in str(error):  # more classes than there are, in both together
                require_clear(str(error), spoiled.path)
            continue
        outcomes = {case: pairs[0][0] for case, pairs in slow.said(spoiled.path, "labels").items()}
        predicted = {record["case"]: name_of(record["classes"][0]) for record in records}
        assert row.cases == len(records)
        assert row.metrics["accuracy"].value == sum(
            outcomes[str(case)] == name for case, name in predicted.items()
        ) / len(records)


@pytest.mark.parametrize("form", FORMS)
def test_checking_and_converting_say_the_same_as_comparing(form: str, tmp_path: Path) -> None:
    for seed in range(3000, 3012 if form.startswith("parts") else 3003):
        folder = tmp_path / str(seed)
        folder.mkdir()
        spoiled = spoil(seed, form, folder)
        try:
            source = _opened(spoiled)
        except TopListError as error:
            require_clear(str(error), spoiled.path)
            continue
        space = ClassSpace(spoiled.space) if isinstance(spoiled.space, int) else spoiled.space
        found = check_file(source, space, Repairs())
        blocking = [issue for issue in found.issues() if issue.blocking]
        for issue in blocking:
            if issue.example:
                require_clear(issue.example, spoiled.path)
        try:
            cases = convert(source, folder / "lists.parquet", space).cases
        except TopListError:
            assert blocking
            continue
        assert blocking or cases == found.counts.cases
        if spoiled.by_position:  # a text that may be an id is no column of lists
            continue
        expected = _score(spoiled.path, spoiled)
        assert _score(folder / "lists.parquet", spoiled) == pytest.approx(expected, abs=1e-12), (seed, spoiled.damage)
        if expected >= 0 and form.startswith("parts"):
            truncate_file(spoiled.path, folder / "cut.parquet", k=4, space=spoiled.space)
            pool_files({"a": spoiled.path, "b": spoiled.path}, folder / "pool.parquet", space=spoiled.space)
            for name in ("cut", "pool"):
                assert _score(folder / f"{name}.parquet", spoiled) == pytest.approx(expected, abs=1e-9), (seed, name)


def _opened(spoiled: Spoiled) -> OpenTable:
    space = ClassSpace(labels=sorted(map(str, spoiled.drawn.classes))) if spoiled.labels else None
    return open_source(spoiled.path, "it", ReadOptions(), space)


def _score(path: Path, spoiled: Spoiled) -> float:
    """The mean score, or -1."""
    try:
        return float(compare({"it": path}, spoiled.truth, space=spoiled.space)["it"].scores["brier"].mean.value)
    except TopListError:
        return -1.0


@pytest.mark.parametrize("form", ["lists.jsonl", "long.csv", "wide.parquet", "csr.npz"])
def test_the_command_says_one_sentence_and_nothing_else(form: str, tmp_path: Path) -> None:
    seed = next(seed for seed in range(100, 200) if _ends(seed, form, tmp_path / str(seed)) == "sentence")
    spoiled = spoil(seed, form, _fresh(tmp_path / "again"))
    done = toplist_here("compare", f"it={spoiled.path}", "-t", spoiled.truth, "-c", spoiled.drawn.m)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    said = complaints(done.stderr)
    assert said.startswith("toplist: ")
    assert said.count("\n") == 1
    require_clear(said.removeprefix("toplist: ").strip(), spoiled.path)


def _fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _ends(seed: int, form: str, folder: Path) -> str:
    spoiled = spoil(seed, form, _fresh(folder))
    return outcome(spoiled) if not spoiled.labels else "other"
