"""A diagnosis of cases that belong together goes by what they belong to, in memory and from files alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import toplist as tl
from tests.calibration.test_clusters import repeated
from tests.cli.run_cli import toplist_here as toplist
from toplist import calibration
from toplist.errors import FileError, ShapeError, TopListError
from toplist.evaluation.diagnose import diagnose


def test_the_numbers_are_those_of_the_functions_with_the_same_clusters():
    lists, y, which = repeated(40, 5, seed=3)
    found = diagnose(lists, tl.Truth(y, cluster=which), draws=39)
    assert found.clusters == 40
    assert found.bias == calibration.calibration_bias(lists, y, clusters=which)
    assert found.mass_bias == calibration.calibration_bias(lists, y, of="mass", clusters=which)
    assert found.calibration_error == calibration.calibration_error(lists, y, clusters=which)
    assert found.test == calibration.calibration_test(lists, y, clusters=which, draws=39)
    assert "200 cases in 40 clusters" in repr(found)
    assert any("too narrow" in note for note in found.notes)
    assert found.to_dict()["clusters"] == 40
    assert diagnose(lists, y, draws=39).to_dict()["clusters"] is None


def test_what_is_said_many_times_is_no_finding():
    said = [diagnose(lists, y, draws=39) for lists, y, _ in (repeated(15, 20, seed=seed) for seed in range(6))]
    alone = [
        diagnose(lists, tl.Truth(y, cluster=which), draws=39)
        for lists, y, which in (repeated(15, 20, seed=seed) for seed in range(6))
    ]
    assert all(found.miscalibrated for found in said)
    assert not any(found.miscalibrated for found in alone)


def test_cases_that_are_clusters_of_their_own_are_tested_as_cases():
    lists, y, which = repeated(50, 1, seed=1)
    plain = calibration.calibration_test(lists, y, draws=39)
    assert calibration.calibration_test(lists, y, draws=39, clusters=which[::-1]) == plain


@pytest.mark.parametrize(("draws", "clustered", "said"), [(19, False, False), (9, False, True), (9, True, False)])
def test_too_few_draws_to_find_anything_are_told(draws, clustered, said):
    lists, y, which = repeated(20, 2, seed=1)
    found = diagnose(lists, tl.Truth(y, cluster=which if clustered else None), draws=draws, band_level=0.5)
    assert any("ask for more" in note for note in found.notes) == said


def test_the_page_says_what_is_tested_and_the_record_how():
    lists, y, which = repeated(40, 3, seed=3)
    found = diagnose(lists, tl.Truth(y, cluster=which))
    tested = "top-1 prediction, listed probability, and all weighted by confidence"
    assert f"Test over 40 clusters ({tested}): F(3, 37) = " in " ".join(repr(found).split())
    assert found.to_dict()["test"]["freedom"] == [3, 37]
    assert "draws" not in repr(found)


def test_few_clusters_have_no_test_and_the_reason():
    lists, y, which = repeated(5, 20, seed=3)
    found = diagnose(lists, tl.Truth(y, cluster=which))
    assert found.test is None
    assert found.miscalibrated is None
    assert found.bias.low is not None
    assert "There is no test: a test over clusters needs 8 or more of them, and there are 5." in found.verdict


def test_one_cluster_says_nothing_for_sure():
    lists, y, which = repeated(20, 2, seed=1)
    found = diagnose(lists, tl.Truth(y, cluster=np.zeros(len(which))), draws=19)
    assert (found.bias.low, found.bias.high, found.calibration_error) == (None, None, None)
    assert any("two clusters" in note for note in found.notes)
    assert "in 1 cluster," in repr(found)


@pytest.mark.parametrize(
    ("clusters", "said"),
    [([1, 2], "One per case"), ([None, *"abcd"], "case 0 has no cluster"), ([0, 1, np.nan, 1, 2], "case 2 has no")],
    ids=["length", "none", "nan"],
)
def test_every_case_has_one_cluster(clusters, said):
    lists, y, _ = repeated(5, 1, seed=0)
    with pytest.raises(ShapeError, match=said):
        diagnose(lists, tl.Truth(y, cluster=clusters))


def test_clusters_need_outcomes():
    lists, _, which = repeated(5, 1, seed=0)
    with pytest.raises(TopListError, match="give the outcomes too"):
        diagnose(lists, tl.Truth(None, cluster=which))


def test_many_cases_keep_their_clusters(monkeypatch):
    """Beyond what is held, what has an interval is of the held cases, which the notes say."""
    lists, y, which = repeated(100, 8, seed=2)
    monkeypatch.setattr("toplist.evaluation.diagnose.EXACT", 1200)
    found = diagnose(lists, tl.Truth(y, cluster=which), draws=19)
    assert not found.exact
    every = len(lists) // found.bias.cases
    some = slice(None, None, every)
    assert every > 1
    assert found.bias == calibration.calibration_bias(lists[some], y[some], clusters=which[some])
    assert any(f"of one case in {every}: {found.bias.cases} cases" in note for note in found.notes)
    assert found.test == calibration.calibration_test(lists[some], y[some], clusters=which[some])
    assert found.tested == found.bias.cases


def write(folder: Path, lists: tl.TopLists, y: np.ndarray, which: np.ndarray, name: str) -> tuple[Path, Path]:
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    said, truth = folder / "said.jsonl", folder / "truth.csv"
    rows = [
        {"case": f"c{i:04}", "classes": list(one.confidences), "confidences": list(one.confidences.values())}
        for i, one in enumerate(lists)
    ]
    said.write_text("\n".join(json.dumps(row) for row in rows))
    shuffled = np.random.default_rng(0).permutation(len(y))
    told = [f"c{i:04},{y[i]},user {which[i]}" for i in shuffled]
    truth.write_text("\n".join([f"case,outcome,{name}", *told]))
    return said, truth


@pytest.mark.parametrize(("name", "asked"), [("user", "user"), ("cluster", None)], ids=["named", "found"])
def test_files_name_a_column_of_the_truth(tmp_path, name, asked):
    lists, y, which = repeated(30, 6, seed=5)
    said, truth = write(tmp_path, lists, y, which, name)
    found = diagnose(said, tl.Truth(truth, cluster=asked), space=lists.space.size, draws=19)
    assert found.clusters == 30
    gap = calibration.calibration_bias(lists, y, clusters=which)
    assert (found.bias.low, found.bias.high) == pytest.approx((gap.low, gap.high))
    words = () if asked is None else ("--cluster", asked)
    size = str(lists.space.size)
    done = toplist("diagnose", said, "--truth", truth, "--classes", size, "--draws", "19", "--json", *words)
    assert json.loads(done.stdout)["clusters"] == 30
    none = diagnose(said, tl.Truth(truth, cluster=""), space=lists.space.size, draws=19)
    assert none.clusters is None


def test_a_blank_cluster_is_named_by_its_row(tmp_path):
    lists, y, which = repeated(5, 2, seed=5)
    said, truth = write(tmp_path, lists, y, which, "user")
    text = truth.read_text().splitlines()
    text[3] = text[3].rsplit(",", 1)[0] + ","
    truth.write_text("\n".join(text))
    with pytest.raises(FileError, match="there is no cluster in 'user'"):
        diagnose(said, tl.Truth(truth, cluster="user"), space=lists.space.size)
    with pytest.raises(TopListError, match="cluster names a column of the truth"):
        diagnose(said, tl.Truth(truth, cluster=which), space=lists.space.size)


def test_the_command_needs_the_truth_for_clusters(tmp_path):
    done = toplist("diagnose", "said.jsonl", "--cluster", "user", cwd=tmp_path)
    assert done.returncode == 2
    assert "--cluster: a column of the truth, which is not given. Give --truth too: a file" in done.stderr
