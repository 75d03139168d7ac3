"""Samples of lm-evaluation-harness: real runs, and what its versions and tasks write differently."""

import json
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.producers.reading import produced, read_lines, recognised_as, write_lines
from tests.io.producers.real import written_by
from toplist.errors import FileError, TopListError

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
    found = []
    for run in ("weak", "strong"):
        path = tmp_path / f"{run}.jsonl"
        path.write_bytes(samples_of(runs, run, "quiz").read_bytes())
        found.append([row["case"] for row in produced(path)[0]])
    assert found[0] == found[1]


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
    with pytest.raises(FileError, match=r"once for each of the filters 'strict', 'loose'.*where='filter=strict'"):
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
        ("several", r"row 1 has the target '\[\d, \d\]': several choices are correct"),
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


def test_old_arguments_and_numbers_are_read_as_new_ones(tmp_path):
    new = [sample(at, (-1.5, -0.25, -3.0)[: 2 + at % 2], "1") for at in range(4)]
    old = [
        {
            **record,
            "arguments": [[*pair.values()] for pair in record["arguments"].values()],
            "filtered_resps": [[float(x), False] for x, _ in record["filtered_resps"]],
            "target": 1,
        }
        for record in new
    ]
    one, other = (
        write_lines(tmp_path / "a" / "samples_t.jsonl", new),
        write_lines(tmp_path / "b" / "samples_t.jsonl", old),
    )
    assert produced(one) == produced(other)


def test_records_that_repeat_count_once_and_are_counted(tmp_path):
    every = [sample(at) for at in range(3)]
    once = produced(write_lines(tmp_path / "a" / "samples_t.jsonl", every))
    twice = produced(write_lines(tmp_path / "b" / "samples_t.jsonl", every + every))
    assert twice[0] == once[0]
    assert "3 records repeat others word for word, and count once." in twice[1]


def test_a_second_run_in_the_same_file_is_refused_unless_it_is_chosen(tmp_path):
    runs = [sample(0, seed=1), sample(0, (-3.0, -4.0), seed=2)]
    path = write_lines(tmp_path / "samples_t.jsonl", runs)
    with pytest.raises(FileError, match=r"row 2: this is the document of row 1 with another answer.*where="):
        produced(path)
    assert len(produced(path, where="seed=2")[0]) == 1


def test_two_dates_of_one_task_are_refused_and_one_can_be_named(tmp_path):
    for date, scores in (("2026-01-01T00-00-00.1", (-1.0, -2.0)), ("2026-01-02T00-00-00.1", (-1.0, -3.0))):
        write_lines(tmp_path / f"samples_t_{date}.jsonl", [sample(0, scores)])
    with pytest.raises(FileError, match=r"two runs of the task 't'.*Name the file"):
        produced(tmp_path)
    assert produced(tmp_path / "samples_t_2026-01-02T00-00-00.1.jsonl")[0][0]["case"] == "t/" + "0" * 16


def test_two_models_in_one_folder_are_refused(tmp_path):
    for model in ("a__x", "b__y"):
        write_lines(tmp_path / model / "samples_t.jsonl", [sample()])
    with pytest.raises(FileError, match=r"samples of 2 models: 'a__x', 'b__y'\. Name the folder"):
        produced(tmp_path)


def test_the_same_document_twice_is_two_cases_of_one_cluster(tmp_path):
    rows, _ = produced(write_lines(tmp_path / "samples_t.jsonl", [sample(0), {**sample(0), "doc_id": 7}]))
    assert [row["case"] for row in rows] == ["t/" + "0" * 16, "t/" + "0" * 16 + "/2"]
    assert len({row["cluster"] for row in rows}) == 1


def test_without_hashes_a_case_goes_by_the_number_of_its_document(tmp_path):
    every = [{key: value for key, value in sample(at).items() if key != "doc_hash"} for at in range(2)]
    rows, _ = produced(write_lines(tmp_path / "samples_t.jsonl", every))
    assert [row["case"] for row in rows] == ["t/0", "t/1"]
    assert "cluster" not in rows[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"acc": 0.63}, "acc of row 2 is 0.63, neither a hit"),
        ({"acc": 0.0}, "acc of row 2 is 0, but its target is the most probable choice"),
        ({"target": "9"}, "row 2 has the target '9': neither the place nor the text"),
        ({"target": "choice 7"}, "neither the place nor the text"),
        ({"target": "[0, 1]"}, "several choices are correct"),
    ],
)
def test_targets_that_the_counts_contradict_are_no_outcomes(tmp_path, change, problem):
    with pytest.raises(FileError, match=problem):
        produced(write_lines(tmp_path / "samples_t.jsonl", [sample(0), {**sample(1), **change}]))


def test_a_list_of_one_target_is_that_target(tmp_path):
    rows, _ = produced(write_lines(tmp_path / "samples_t.jsonl", [sample(0, target="[0]", acc=1.0)]))
    assert rows[0]["outcome"] == "0"


def test_numbers_that_are_places_and_texts_are_refused_where_nothing_tells(tmp_path):
    record = sample(0, (-1.0, -2.0, -9.0), "2", metrics=[])
    record["arguments"] = {f"gen_args_{at}": {"arg_0": "q", "arg_1": f" {text}"} for at, text in enumerate("213")}
    with pytest.raises(FileError, match="numbers that may be the places or the texts"):
        produced(write_lines(tmp_path / "samples_t.jsonl", [record]))


def test_ties_and_vanishing_probabilities_are_said(tmp_path):
    every = [sample(0, (-1.0, -1.0)), sample(1, (-1.0, -2000.0))]
    _, notes = produced(write_lines(tmp_path / "samples_t.jsonl", every))
    assert any("in 1 question the most probable choices tie" in note for note in notes)
    assert any("its probability is 0 in double precision" in note for note in notes)


def test_a_condition_on_a_field_that_is_not_there_suggests_one_that_is(tmp_path):
    path = write_lines(tmp_path / "samples_t.jsonl", [sample()])
    with pytest.raises(FileError, match=r"no record has 'filtr'\. Did you mean 'filter'"):
        produced(path, where="filtr=none")
    with pytest.raises(FileError, match="none of 1 records fulfils"):
        produced(path, where="filter=strict")
    with pytest.raises(TopListError, match="is no condition: write"):
        produced(path, where="filter")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"filtered_resps": [["x", "True"], ["-1", "True"]]}, "is no number"),
        ({"filtered_resps": [["nan", "True"], ["-1", "True"]]}, "choice 0 is not a number"),
        ({"filtered_resps": [["-inf", "True"], ["-inf", "True"]]}, "every choice has probability 0"),
        ({"filtered_resps": [["3", "True"], ["-1", "True"]]}, "at most 0"),
        ({"filtered_resps": [["-1", "True"]] * 3}, "3 log-likelihoods, but 2 pairs"),
        ({"filtered_resps": None}, "has no 'filtered_resps'"),
        ({"arguments": 7}, "not as lm-evaluation-harness writes them"),
        ({"filtered_resps": ["text"]}, "no log-likelihoods, others of its task have"),
    ],
)
def test_damaged_records_are_named_by_their_row(tmp_path, change, problem):
    with pytest.raises(FileError, match=problem) as error:
        produced(write_lines(tmp_path / "samples_t.jsonl", [sample(0), {**sample(1), **change}]))
    assert error.value.row == 2


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(sample())), junk, st.integers(0, 2))
def test_whatever_a_field_holds_ends_in_rows_or_in_an_error_of_ours(tmp_path_factory, name, value, at):
    every = [sample(place) for place in range(3)]
    every[at][name] = value
    path = write_lines(tmp_path_factory.mktemp("junk") / "samples_t.jsonl", every)
    try:
        rows, _ = produced(path, "lm-eval")
    except TopListError:
        return
    assert 1 <= len(rows) <= 3
    assert all(math.isclose(sum(row["confidences"]), 1.0) for row in rows)


def test_a_line_that_is_cut_off_is_refused(tmp_path):
    path = write_lines(tmp_path / "samples_t.jsonl", [sample(0), sample(1)])
    path.write_text(path.read_text()[:-40])
    with pytest.raises(FileError, match="row 2: this line is no JSON object"):
        produced(path)


def test_the_delimiter_of_the_results_is_not_counted_and_other_blanks_are(tmp_path):
    record = sample(0, (-1.0, -2.0))
    record["arguments"] = {f"gen_args_{at}": {"arg_0": "q", "arg_1": text} for at, text in enumerate((" a", " bb"))}
    path = write_lines(tmp_path / "samples_t_2026-01-01T00-00-00.1.jsonl", [record])
    stripped = produced(path, norm="chars")[0][0]["confidences"]
    (tmp_path / "results_2026-01-01T00-00-00.1.json").write_text(
        json.dumps({"configs": {"t": {"target_delimiter": ""}}})
    )
    whole = produced(path, norm="chars")[0][0]["confidences"]
    weights = np.exp([[-1.0, -1.0], [-1 / 2, -2 / 3]])
    np.testing.assert_allclose([stripped, whole], weights / weights.sum(axis=1, keepdims=True))


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


def test_choices_in_two_contexts_are_no_mutual_information(tmp_path):
    records = [
        sample(at, (-1.0, -2.0), "0")
        | {"arguments": {f"gen_args_{n}": {"arg_0": f"{at} {n}", "arg_1": " end"} for n in range(2)}}
        for at in range(3)
    ]
    path = write_lines(tmp_path / "samples_pairs_2025-01-01T00-00-00.000000.jsonl", records)
    assert [row["n_classes"] for row in produced(path)[0]] == [2, 2, 2]
