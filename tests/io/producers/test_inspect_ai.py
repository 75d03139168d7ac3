"""Logs of inspect_ai: real ones, and what versions of Python and of tasks write differently."""

import copy
import json
import math
import re
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.io.producers.reading import produced, recognised_as
from tests.io.producers.real import written_by
from toplist.errors import FileError, TopListError
from toplist.io.producers.zip_members import members_of


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return written_by("inspect_ai", "tests.io.producers.inspect_runs", tmp_path_factory)


def raw(runs, place, task="quiz"):
    """What inspect_ai itself reads, by case."""
    every = json.loads((runs / "raw" / place / f"{task}.json").read_text())
    return {f"{task}/{one['id']}_epoch_{one['epoch']}": one for one in every}


def expected(sample):
    """Probabilities of letters and OTHER where every letter is listed: sums over tokens, in plain Python."""
    letters = "ABCDE"[: sample["choices"]]
    found = dict.fromkeys(letters, 0.0)
    for token, value in sample["tokens"].items():
        if token.strip().upper() in letters:
            found[token.strip().upper()] += math.exp(value)
    return {**found, "OTHER": 1 - sum(found.values())}


# Real logs


@pytest.mark.parametrize("place", ["weak", "strong", "odd/json", "odd/first_token", "odd/failing"])
def test_lists_are_sums_over_the_tokens_of_each_letter(runs, place):
    rows, _ = produced(runs / place)
    known = raw(runs, place)
    assert {row["case"] for row in rows} == {case for case, one in known.items() if not one["error"]}
    for row in rows:
        sample = known[row["case"]]
        assert dict(zip(row["classes"], row["confidences"], strict=True)) == pytest.approx(expected(sample), abs=1e-12)
        assert (row["outcome"], row["n_classes"]) == (sample["target"], sample["choices"] + 1)
        assert row["answer_mass"] == pytest.approx(1 - expected(sample)["OTHER"], abs=1e-12)


def test_the_most_probable_letter_is_correct_where_inspect_counts_it(runs):
    known = raw(runs, "weak")
    for row in produced(runs / "weak")[0]:
        best = max(zip(row["confidences"], row["classes"], strict=True))[1]
        assert (best == row["outcome"]) == known[row["case"]]["correct"]


def test_epochs_of_a_sample_are_one_cluster(runs):
    rows, _ = produced(runs / "weak")
    assert len(rows) == 30
    assert all(row["case"] == f"{row['cluster']}_epoch_{1 + at // 15}" for at, row in enumerate(rows))
    assert "cluster" not in produced(runs / "odd/json")[0][0]


def test_without_log_probabilities_the_answer_of_the_scorer_is_a_hard_label(runs):
    known = raw(runs, "odd/labels")
    rows, notes = produced(runs / "odd/labels")
    for row in rows:
        sample = known[row["case"]]
        assert (row["classes"], row["confidences"]) == ([sample["answer"]], [1.0])
        assert (row["classes"] == [row["outcome"]]) == sample["correct"]
    assert any("nswers have no probabilities" in note and "top_logprobs" in note for note in notes)


def test_an_answer_that_is_no_choice_is_other(runs):
    rows, notes = produced(runs / "odd/no_answer")
    assert {tuple(row["classes"]) for row in rows} == {("OTHER",)}
    assert any("15 answers of task 'quiz' named no choice" in note for note in notes)


def test_samples_that_failed_are_missing_and_counted(runs):
    rows, notes = produced(runs / "odd/failing")
    assert "quiz/q3_epoch_1" not in {row["case"] for row in rows}
    assert "1 sample of task 'quiz' ended in an error: missing cases." in notes


def test_several_tasks_are_groups_and_two_runs_of_one_are_refused(runs):
    assert {row["group"] for row in produced(runs / "odd/two_tasks")[0]} == {"first", "second"}
    with pytest.raises(FileError, match=r"2 runs of the task 'quiz'.*name one of them"):
        produced(runs / "odd/twice")


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("odd/several", r"the target .* of sample q\d+ in epoch 1 is not one of its choices"),
        ("odd/shuffled", "the choices of sample q0 in epoch 1 were shuffled by the solver"),
        ("odd/scorers", r"there are 2 scorers, 'choice', 'match': choose one with where='scorer=choice'"),
    ],
)
def test_what_is_not_one_letter_per_sample_is_refused(runs, place, problem):
    with pytest.raises(FileError, match=problem):
        produced(runs / place)


def test_a_scorer_is_chosen_by_a_condition_and_must_agree_with_its_own_count(runs):
    assert len(produced(runs / "odd/scorers", where="scorer=choice")[0]) == 15
    with pytest.raises(FileError, match=r"the score of sample q\d+ in epoch \d by 'match' is 1, but the answer is"):
        produced(runs / "odd/scorers", where="scorer=match")
    with pytest.raises(FileError, match="where='scorer=exact': no record fulfils it"):
        produced(runs / "odd/scorers", where="scorer=exact")


def test_the_answer_is_the_token_after_the_word_or_where_it_is_asked_for(runs):
    _, notes = produced(runs / "weak")
    assert "Task 'quiz': the answer is the token after 'ANSWER:'." in notes
    assert produced(runs / "weak", position="ANSWER:")[0] == produced(runs / "weak")[0]
    assert produced(runs / "weak", position=-1)[0] == produced(runs / "weak")[0]
    _, notes = produced(runs / "weak", position=7)
    assert "Task 'quiz': 30 of 30 cases have no token at position 7: their lists are empty." in notes


def test_declared_answers_stand_in_place_of_the_usual_tokens(runs):
    rows, _ = produced(runs / "weak", answers={letter: [f" {letter}"] for letter in "ABCDE"})
    known = raw(runs, "weak")
    for row in rows:
        found = dict(zip(row["classes"], row["confidences"], strict=True))
        assert found["A"] == pytest.approx(math.exp(known[row["case"]]["tokens"][" A"]), abs=1e-12)


def test_logs_are_recognised_by_their_names_or_by_how_they_begin(runs, tmp_path):
    assert recognised_as(runs / "weak") == recognised_as(runs / "odd/json") == "inspect-ai"
    (tmp_path / "other.json").write_text('{"version": 2, "results": []}')
    assert recognised_as(tmp_path / "other.json") is None


# Archives


def test_members_compressed_in_any_way_are_the_same(runs, tmp_path):
    path = next((runs / "weak").glob("*.eval"))
    with members_of(path) as members:
        every = {name: read() for name, read in members.items()}
    assert {info.compress_type for info in zipfile.ZipFile(path).infolist()} == {93}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / f"{method}.eval", "w", method) as archive:
            for name, data in every.items():
                archive.writestr(name, data)
        assert produced(tmp_path / f"{method}.eval")[0] == produced(path)[0]


@settings(max_examples=draws(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_archive_is_refused_in_words(runs, tmp_path, data):
    whole = next((runs / "odd/first_token").glob("*.eval")).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] if data.draw(st.booleans()) else whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]
    path = tmp_path / "damaged.eval"
    path.write_bytes(damaged)
    try:
        rows, _ = produced(path, "inspect-ai")
    except TopListError:
        return
    assert rows == produced(next((runs / "odd/first_token").glob("*.eval")))[0]


def test_an_archive_of_a_later_format_is_refused(tmp_path):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(log()))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 99  # the version that is needed, in tenths
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"a\.eval: this ZIP file cannot be read: zip file version 9\.9"):
        produced(path)


# Logs in the documented shape


def sample(at=0, target="A", letters="ABC", tokens=None, **more):
    listed = tokens or {"A": -0.5, "B": -1.5, "C": -2.5}
    content = [{"token": "A", "logprob": -0.5, "top_logprobs": [{"token": t, "logprob": p} for t, p in listed.items()]}]
    return {
        "id": at,
        "epoch": 1,
        "input": "?",
        "choices": [f"choice {one}" for one in letters],
        "target": target,
        "output": {"completion": "A", "choices": [{"message": {"content": "A"}, "logprobs": {"content": content}}]},
        "scores": {"choice": {"value": "C" if target == "A" else "I", "answer": "A"}},
        **more,
    }


def log(*samples, status="success", task="t", model="m"):
    return {"version": 2, "status": status, "eval": {"task": task, "model": model}, "samples": list(samples)}


def without_logprobs(record):
    record = copy.deepcopy(record)
    del record["output"]["choices"][0]["logprobs"]
    return record


def test_a_log_that_is_still_written_has_its_header_elsewhere(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("_journal/start.json", json.dumps(log()))
        archive.writestr("samples/0_epoch_1.json", json.dumps(sample()))
    assert len(produced(tmp_path / "a.eval")[0]) == 1
    with zipfile.ZipFile(tmp_path / "b.eval", "w") as archive:
        archive.writestr("x.json", "{}")
    with pytest.raises(FileError, match=r"no log of inspect_ai: it has no header\.json"):
        produced(tmp_path / "b.eval")


def test_the_last_of_members_with_one_name_counts(tmp_path):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(log()))
        archive.writestr("samples/0_epoch_1.json", json.dumps(sample(target="B")))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("samples/0_epoch_1.json", json.dumps(sample(target="C")))
    assert [row["outcome"] for row in produced(path)[0]] == ["C"]


@pytest.mark.parametrize("junk", ["x", [1], 7, True])
@pytest.mark.parametrize(
    "place",
    [
        ("epoch",),
        ("output",),
        ("output", "choices", 0, "logprobs"),
        ("output", "choices", 0, "logprobs", "content", 0, "top_logprobs"),
    ],
)
def test_what_is_no_field_of_a_sample_is_not_taken_for_one_that_is_missing(tmp_path, place, junk):
    junk = 0.5 if place == ("epoch",) and junk == 7 else junk
    record = sample(1)
    home = record
    for step in place[:-1]:
        home = home[step]
    home[place[-1]] = junk
    path = tmp_path / "a.json"
    path.write_text(json.dumps(log(sample(), record)))
    name = re.escape("".join(f"[{step}]" if step == 0 else f".{step}" for step in place).removeprefix("."))
    with pytest.raises(FileError, match=f"sample 2: this is not as inspect_ai writes it: {name}.* should be "):
        produced(path)


def test_an_epoch_that_is_blank_is_not_the_first(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(log(sample(epoch=""))))
    with pytest.raises(FileError, match="epoch should be a whole number, not ''"):
        produced(path)
    path.write_text(json.dumps(log({key: value for key, value in sample().items() if key != "epoch"})))
    assert [row["case"] for row in produced(path)[0]] == ["t/0_epoch_1"]
