"""Samples of lm-evaluation-harness: real runs, and what its versions and tasks write differently."""

import math
from collections import defaultdict

import numpy as np
import pytest

from tests.io.producers.reading import produced, read_lines, recognised_as, write_lines
from tests.io.producers.real import written_by
from toplist.errors import FileError

COUNTS = {"acc": "none", "acc_norm": "chars", "acc_bytes": "bytes", "acc_mutual_info": "unconditional"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return written_by("lm_eval", "tests.io.producers.lm_eval_runs", tmp_path_factory)


def samples_of(runs, run, task):
    return next((runs / run / "tests__knowing").glob(f"samples_{task}_2*.jsonl"))


def first(values):
    return max(range(len(values)), key=lambda at: values[at])


# Real samples


def test_files_of_two_runs_have_the_same_cases_whatever_they_are_called(runs, tmp_path):
    cases = []
    for run in ("weak", "strong"):
        path = tmp_path / f"{run}.jsonl"
        path.write_bytes(samples_of(runs, run, "quiz").read_bytes())
        cases.append([row["case"] for row in produced(path)[0]])
    assert cases[0] == cases[1]


@pytest.mark.parametrize(
    ("run", "task"),
    [("weak", "quiz"), ("strong", "quiz_reworded"), ("weak", "verdict"), ("odd", "by_text"), ("odd", "information")],
)
def test_the_most_probable_choice_is_correct_where_the_harness_counts_it(runs, run, task):
    path = samples_of(runs, run, task)
    records = read_lines(path)
    for metric in records[0]["metrics"]:
        rows, notes = produced(path, norm=COUNTS[metric])
        assert [float(row["classes"][first(row["confidences"])] == row["outcome"]) for row in rows] == [
            record[metric] for record in records
        ]
        assert not any("another" in note for note in notes)


def test_probabilities_are_the_softmax_of_the_log_likelihoods(runs):
    path = samples_of(runs, "weak", "quiz")
    for row, record in zip(produced(path)[0], read_lines(path), strict=True):
        weights = np.array([math.exp(float(value)) for value, _ in record["filtered_resps"]])
        np.testing.assert_allclose(row["confidences"], weights / weights.sum(), rtol=1e-13)
        assert row["classes"] == [str(place) for place in range(len(weights))]
        assert row["n_classes"] == len(record["doc"]["choices"])
        assert row["outcome"] == str(record["doc"]["gold"])


def test_lengths_are_those_of_the_choices_in_the_documents(runs):
    for run, task in (("weak", "quiz"), ("odd", "by_text")):  # a blank, and a line end before each choice
        path = samples_of(runs, run, task)
        rows, _ = produced(path, norm="chars")
        for row, record in zip(rows, read_lines(path), strict=True):
            pairs = zip(record["filtered_resps"], record["doc"]["choices"], strict=True)
            weights = np.exp([float(value) / len(choice) for (value, _), choice in pairs])
            np.testing.assert_allclose(row["confidences"], weights / weights.sum(), rtol=1e-13)


def test_two_runs_of_the_same_tasks_have_the_same_cases(runs):
    weak, strong = produced(runs / "weak")[0], produced(runs / "strong")[0]
    known = ("case", "outcome", "n_classes", "group", "cluster")
    assert [[row[name] for name in known] for row in weak] == [[row[name] for name in known] for row in strong]
    assert len({row["case"] for row in weak}) == len(weak)
    assert {row["group"] for row in weak} == {"quiz", "quiz_reworded", "verdict"}


def test_a_document_is_a_cluster_of_its_cases(runs):
    by_cluster = defaultdict(set)
    for row in produced(runs / "weak")[0]:
        by_cluster[row["cluster"]].add(row["case"].partition("/")[0])
    assert all(tasks == {"quiz", "quiz_reworded", "verdict"} for tasks in by_cluster.values())


def test_choices_have_their_texts_where_all_questions_share_them_and_places_otherwise(runs):
    rows, _ = produced(runs / "weak")
    assert {tuple(row["classes"]) for row in rows if row["group"] == "verdict"} == {("no", "yes")}
    assert {len(row["classes"]) for row in rows if row["group"] == "quiz"} == {3, 4, 5}


def test_numbers_are_places_or_texts_as_the_counts_of_the_harness_say(runs):
    path = samples_of(runs, "odd", "digits")  # the choices 1, 2 and 0, and the place of the right one
    for row, record in zip(produced(path)[0], read_lines(path), strict=True):
        assert row["outcome"] == "120"[record["doc"]["third"]]


def test_choices_in_the_contexts_have_the_outcome_that_the_count_implies(runs):
    path = samples_of(runs, "odd", "in_context")
    for row, record in zip(produced(path)[0], read_lines(path), strict=True):
        assert row["outcome"] == str(record["doc"]["even"])
    with pytest.raises(FileError, match="no texts of the choices here: norm='chars'"):
        produced(path, norm="chars")


def test_generated_letters_are_hard_labels_where_the_document_has_the_options(runs):
    path = samples_of(runs, "odd", "letters")
    with pytest.raises(FileError, match=r"2 filters of each document, 'strict', 'loose'.*where='filter=strict'"):
        produced(path)
    for name in ("strict", "loose"):
        rows, notes = produced(path, where=f"filter={name}")
        records = [record for record in read_lines(path) if record["filter"] == name]
        for row, record in zip(rows, records, strict=True):
            answer = record["filtered_resps"][0]
            within = answer in "ABCDE"[: len(record["doc"]["choices"])]
            assert (row["classes"], row["confidences"]) == ([answer if within else "OTHER"], [1.0])
            assert (row["outcome"], row["n_classes"]) == (record["target"], len(record["doc"]["choices"]) + 1)
            assert (row["classes"] == [row["outcome"]]) == bool(record["exact_match"])
        assert any("37 of 74 records" in note for note in notes)
        assert any("the log score of a wrong one is infinite" in note for note in notes)


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ("free", "task 'free': the answers are generated text"),
        ("one_text", "the log-likelihood of one text, so there is nothing to choose from"),
        ("several", r"row 1 has the target '\d, \d', not the place or the text of one choice"),
    ],
)
def test_tasks_without_one_correct_choice_are_refused_with_the_reason(runs, task, problem):
    with pytest.raises(FileError, match=problem):
        produced(samples_of(runs, "odd", task))


def test_beside_other_tasks_such_a_task_is_left_out_and_named(runs, tmp_path):
    for task in ("information", "free", "several"):
        path = samples_of(runs, "odd", task)
        (tmp_path / path.name).write_bytes(path.read_bytes())
    rows, notes = produced(tmp_path)
    assert len(rows) == 37
    assert [
        note for note in notes if "is left out" in note and ("'free'" in note or "'several'" in note)
    ].__len__() == 2
    with pytest.raises(FileError, match="no log-likelihoods without the question"):
        produced(samples_of(runs, "weak", "quiz"), norm="unconditional")


def test_a_run_folder_is_recognised_by_its_records(runs):
    assert recognised_as(runs / "weak") == "lm-eval"
    assert recognised_as(samples_of(runs, "weak", "quiz")) == "lm-eval"


# Samples in the documented shape


def sample(at=0, scores=(-1.0, -2.0), target="0", **more):
    """A record as version 0.4.13 writes it."""
    best = first(scores)
    return {
        "doc_id": at,
        "doc": {"question": at},
        "target": target,
        "arguments": {
            f"gen_args_{place}": {"arg_0": f"q{at}", "arg_1": f" choice {place}"} for place in range(len(scores))
        },
        "resps": [[[str(x), "False"]] for x in scores],
        "filtered_resps": [[str(x), "False"] for x in scores],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"{at:064x}",
        "acc": float(str(best) == str(target)),
        **more,
    }


@pytest.mark.parametrize(("before", "context"), [("", ""), (" ", ""), ("", "Answer:"), (" ", "Answer:")])
def test_choices_without_the_question_are_the_same_choices_with_or_without_the_delimiter(before, context, tmp_path):
    records = []
    for at in range(3):
        choices = [f"{word} {at}" for word in ("red", "green", "blue", "grey")]
        given, prior = [-1.0, -3.0, -2.0, -4.0], [-1.0, -9.0, -2.0, -4.0]
        asked = [[f"q{at}", f" {one}"] for one in choices] + [[context, f"{before}{one}"] for one in choices]
        more = {
            "arguments": {f"gen_args_{n}": {"arg_0": a, "arg_1": b} for n, (a, b) in enumerate(asked)},
            "metrics": ["acc", "acc_mutual_info"],
            "acc": 0.0,
            "acc_mutual_info": 1.0,
        }
        records.append(sample(at, (*given, *prior), "1") | more)
    path = write_lines(tmp_path / "samples_colours_2025-01-01T00-00-00.000000.jsonl", records)
    for norm, expected in (("none", [-1.0, -3.0, -2.0, -4.0]), ("unconditional", [0.0, 6.0, 0.0, 0.0])):
        for row in produced(path, norm=norm)[0]:
            assert row["n_classes"] == 4
            np.testing.assert_allclose(row["confidences"], np.exp(expected) / np.exp(expected).sum(), rtol=1e-12)
    lengths = np.array([len("red 0"), len("green 0"), len("blue 0"), len("grey 0")])
    scaled = np.exp(np.array([-1.0, -3.0, -2.0, -4.0]) / lengths)
    np.testing.assert_allclose(produced(path, norm="chars")[0][0]["confidences"], scaled / scaled.sum(), rtol=1e-12)
