"""Details of lighteval, written by its own classes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.io.producers.reading import produced, recognised_as
from tests.io.producers.real import written_by
from toplist.errors import FileError

COUNTS = {"acc": "none", "acc_chars": "chars", "acc_tokens": "tokens", "acc_pmi": "unconditional"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return written_by("lighteval", "tests.io.producers.lighteval_runs", tmp_path_factory)


def details_of(runs, run, task):
    return next((runs / run / "details").rglob(f"details_{task}|*.parquet"))


@pytest.mark.parametrize("task", ["quiz", "information"])
def test_the_most_probable_choice_is_correct_where_lighteval_counts_it(runs, task):
    path = details_of(runs, "run", task)
    records = pq.read_table(path).to_pylist()
    for metric in records[0]["metric"]:
        rows, _ = produced(path, norm=COUNTS[metric])
        best = [row["classes"][int(np.argmax(row["confidences"]))] for row in rows]
        hits = [int(found == row["outcome"]) for found, row in zip(best, rows, strict=True)]
        assert hits == [record["metric"][metric] for record in records]


def test_probabilities_are_the_softmax_of_the_log_likelihoods(runs):
    path = details_of(runs, "run", "information")
    for row, record in zip(produced(path)[0], pq.read_table(path).to_pylist(), strict=True):
        m = len(record["doc"]["choices"])
        weights = np.exp(record["model_response"]["logprobs"][:m])
        np.testing.assert_allclose(row["confidences"], weights / weights.sum(), rtol=1e-13)
        assert (row["outcome"], row["n_classes"]) == (str(record["doc"]["gold_index"]), m)
        assert row["case"] == f"information|5/{record['doc']['id']}"


def test_the_tasks_of_a_run_are_groups_and_those_without_lists_are_left_out(runs):
    rows, _ = produced(runs / "run")
    assert {row["group"] for row in rows} == {"quiz|0", "information|5"}
    rows, notes = produced(runs / "odd")
    assert {row["case"].partition("/")[0] for row in rows} == {"quiz|0"}
    assert any("'several|0' is left out: the correct choice of row 1, [0, 1], is not one of" in note for note in notes)
    assert any("'text|0' is left out: row 1 has 0 log-likelihoods" in note for note in notes)
    with pytest.raises(FileError, match="no log-likelihoods without the question"):
        produced(details_of(runs, "run", "quiz"), norm="unconditional")


def test_details_are_recognised_by_their_columns(runs, tmp_path):
    path = details_of(runs, "run", "quiz")
    assert recognised_as(path) == "lighteval"
    pq.write_table(pa.table({"a": [1]}), tmp_path / "details_x.parquet")
    assert recognised_as(tmp_path / "details_x.parquet") is None


def test_two_runs_of_a_task_are_refused(runs, tmp_path):
    data = details_of(runs, "run", "quiz").read_bytes()
    for day in (1, 2):
        (tmp_path / f"details_quiz|0_2026-01-0{day}T00-00-00.parquet").write_bytes(data)
    with pytest.raises(FileError, match=r"2 runs of the task 'quiz\|0', .*: name one"):
        produced(tmp_path)


def write(path, **change):
    record = {
        "doc": {"choices": ["a", "b"], "gold_index": 0, "id": "7"},
        "model_response": {"logprobs": [-1.0, -2.0]},
        "metric": {"acc": 1},
    }
    for name, fields in change.items():
        record[name] = {**record[name], **fields}
    pq.write_table(pa.Table.from_pylist([record]), path)
    return path


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"doc": {"gold_index": 5}}, "correct choice of row 1, 5, is not one of 2"),
        ({"doc": {"choices": ["a"]}}, "2 log-likelihoods for 1 choices"),
        ({"metric": {"acc": 0}}, "acc of row 1 is 0, but the answer is '0' and the correct one '0'"),
        ({"model_response": {"logprobs": [-1.0, 4.0]}}, "at most 0"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, change, problem):
    with pytest.raises(FileError, match=problem):
        produced(write(tmp_path / "details_t_2026-01-01T00-00-00.parquet", **change))


def test_a_damaged_file_is_refused_in_words(tmp_path):
    path = write(tmp_path / "details_t_2026-01-01T00-00-00.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError):
        produced(path, "lighteval")
