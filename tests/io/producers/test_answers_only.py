"""Harnesses that store answers without probabilities, or neither: hard labels, or the reason why there are none."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.producers.reading import produced, recognised_as, write_lines
from toplist.errors import FileError, TopListError

CHOICES = ["red", "green", "blue"]


# Every Eval Ever


def instance(at=0, answer="B", reference="green", **more):
    """A record of schema 0.2.1, as its converter of HELM writes it."""
    right = {"A": "red", "B": "green", "C": "blue"}.get(answer.strip(), answer) == reference
    return {
        "schema_version": "0.2.1",
        "evaluation_id": "e",
        "model_id": "org/model",
        "evaluation_name": "colours",
        "sample_id": f"id{at}",
        "sample_hash": f"{at:064x}",
        "interaction_type": "single_turn",
        "input": {"raw": "Which?", "formatted": None, "reference": [reference], "choices": CHOICES},
        "output": {"raw": [f" {answer}"], "reasoning_trace": []},
        "answer_attribution": [
            {"turn_idx": 0, "source": "output.raw", "extracted_value": answer, "extraction_method": "exact_match",
             "is_terminal": True},
        ],
        "evaluation": {"score": float(right), "is_correct": right},
        "error": None,
        **more,
    }  # fmt: skip


def test_answers_are_hard_labels_over_the_choices_and_other(tmp_path):
    path = write_lines(
        tmp_path / "a.jsonl", [instance(0), instance(1, "A"), instance(2, "purple"), instance(3, "blue")]
    )
    assert recognised_as(path) == "every-eval-ever"
    rows, notes = produced(path)
    assert [row["classes"] for row in rows] == [["B"], ["A"], ["OTHER"], ["C"]]
    assert {(row["outcome"], row["n_classes"], *row["confidences"]) for row in rows} == {("B", 4, 1.0)}
    assert any("nswers have no probabilities" in note for note in notes)
    assert "Task 'colours': 1 answers are none of the choices: they are the class OTHER." in notes


def test_a_sample_goes_by_its_hash_or_else_by_its_id(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [instance(1), instance(2, sample_hash=None)])
    assert [row["case"] for row in produced(path)[0]] == [f"colours/{1:064x}", "colours/id2"]


def test_records_that_failed_are_missing_and_counted(tmp_path):
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [instance(1), instance(2, error="timeout")]))
    assert len(rows) == 1
    assert "1 of 2 records are about an error: they are missing." in notes


def test_without_an_extracted_answer_the_only_output_is_it(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [instance(answer_attribution=[])])
    assert produced(path)[0][0]["classes"] == ["B"]
    two = instance(answer_attribution=[], output={"raw": ["A", "B"]})
    with pytest.raises(FileError, match="row 1 has 2 outputs"):
        produced(write_lines(tmp_path / "b.jsonl", [two]))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (instance(input={"raw": "?", "reference": ["a", "b"], "choices": None}), "no choices"),
        (instance(input={"raw": "?", "reference": ["red", "blue"], "choices": CHOICES}), "several correct answers"),
        (instance(input={"raw": "?", "reference": ["grey"], "choices": CHOICES}), "none of its choices"),
        (
            instance(answer="-8.2", evaluation={"score": 1.0, "is_correct": True}),
            r"is_correct of row 1 is true, but its answer is '-8\.2'.*read what the harness wrote",
        ),
    ],
)
def test_records_without_one_answer_and_one_reference_are_refused(tmp_path, record, problem):
    with pytest.raises(FileError, match=problem):
        produced(write_lines(tmp_path / "a.jsonl", [record]))


def test_one_of_several_models_is_chosen(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [instance(0), instance(0, model_id="org/other")])
    with pytest.raises(FileError, match=r"records of 2 models.*where='model_id=org/model'"):
        produced(path)
    assert len(produced(path, where="model_id=org/other")[0]) == 1


# HELM


def state(at=0, answer=" B", correct=(1,), **more):
    references = [
        {"output": {"text": text}, "tags": ["correct"] if place in correct else []}
        for place, text in enumerate(CHOICES)
    ]
    return {
        "instance": {"id": f"id{at}", "input": {"text": "Which?"}, "references": references, "split": "test"},
        "train_trial_index": 0,
        "output_mapping": dict(zip("ABC", CHOICES, strict=True)),
        "request": {"model": "org/model", "prompt": "Which?"},
        "result": {"success": True, "completions": [{"text": answer, "logprob": 0, "tokens": []}]},
        **more,
    }


def run(folder, *states, model="org/model", method="multiple_choice_joint"):
    folder.mkdir(parents=True)
    path = folder / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": {"method": method, "model": model}, "request_states": list(states)}))
    return path


def test_letters_of_joint_multiple_choice_are_hard_labels(tmp_path):
    folder = tmp_path / "colours:subject=x,model=org_model"
    run(folder, state(0), state(1, " A"), state(2, " The"))
    assert recognised_as(folder) == "helm"
    rows, notes = produced(folder)
    assert [row["classes"] for row in rows] == [["B"], ["A"], ["OTHER"]]
    assert [row["case"] for row in rows] == [f"colours:subject=x/id{at}" for at in range(3)]
    assert {(row["outcome"], row["n_classes"]) for row in rows} == {("B", 4)}
    assert any("nswers have no probabilities" in note for note in notes)


def test_perturbed_instances_and_trials_are_cases_of_one_cluster(tmp_path):
    changed = state(0)
    changed["instance"]["perturbation"] = {"name": "typos"}
    run(tmp_path / "colours", state(0), changed, state(0, train_trial_index=1))
    rows, _ = produced(tmp_path / "colours")
    assert [row["case"] for row in rows] == [
        "colours/id0_trial_0", "colours/id0_typos_trial_0", "colours/id0_trial_1",
    ]  # fmt: skip
    assert {row["cluster"] for row in rows} == {"colours/id0"}


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (state(reference_index=1), "asks for every choice by itself"),
        (state(output_mapping=None), "the answers are free text"),
        (state(correct=(0, 1)), "instance id0 has 2 correct references of 3"),
    ],
)
def test_other_methods_of_helm_are_refused_with_the_reason(tmp_path, one, problem):
    run(tmp_path / "colours", one)
    with pytest.raises(FileError, match=problem):
        produced(tmp_path / "colours")


def test_runs_of_two_models_and_other_files_of_helm_are_refused(tmp_path):
    run(tmp_path / "suite" / "a", state())
    run(tmp_path / "suite" / "b", state(), model="org/other")
    with pytest.raises(FileError, match="runs of 2 models"):
        produced(tmp_path / "suite")
    (tmp_path / "stats.json").write_text("[]")
    with pytest.raises(FileError, match=r"scenario_state\.json holds the answers, which is not here"):
        produced(tmp_path / "stats.json", "helm")


# simple-evals


@pytest.mark.parametrize(
    "record",
    [
        {"stem": 0.8, "stem:std": 0.4, "chars": 210.0, "chars:std": 80.1, "score:std": 0.4, "score": 0.8},
        {"score": 0.8, "metrics": {"chars": 210.0}, "htmls": [], "convos": [], "metadata": {}},
    ],
)
def test_results_of_simple_evals_are_recognised_and_refused_with_the_way_that_works(tmp_path, record):
    path = tmp_path / "mmlu_gpt-4o.json"
    path.write_text(json.dumps(record, indent=2))
    assert recognised_as(path) == "simple-evals"
    with pytest.raises(FileError, match=r"neither answers by question nor probabilities.*inspect_ai"):
        produced(path)


def test_other_json_with_a_score_is_not_taken_for_it(tmp_path):
    (tmp_path / "a.json").write_text('{"score": 0.8, "label": "a"}')
    assert recognised_as(tmp_path / "a.json") is None


# Anything


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def paths_in(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_in(inner, (*path, key))


def replaced(value, path, other):
    value = copy.deepcopy(value)
    at = value
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = other
    return value


@given(st.data(), junk)
def test_whatever_a_field_holds_ends_in_rows_or_in_an_error_of_ours(tmp_path_factory, data, value):
    for producer, record in (("every-eval-ever", instance()), ("helm", state())):
        places = [path for path in paths_in(record) if path]
        bad = replaced(record, data.draw(st.sampled_from(places)), value)
        folder = tmp_path_factory.mktemp("junk")
        if producer == "helm":
            path = run(folder / "colours", state(), bad)
        else:
            path = write_lines(folder / "a.jsonl", [instance(1), bad])
        try:
            rows, _ = produced(path, producer)
        except TopListError:
            continue
        assert len(rows) <= 2
