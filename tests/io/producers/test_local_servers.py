"""SGLang, ollama, llama.cpp and Gemini: what is particular to each."""

from __future__ import annotations

import math

import pytest

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.reading import produced, recognised_as, write_lines
from tests.io.producers.test_servers import BEFORE, REAL, SPACE, TOP, lists_of
from tests.io.producers.token_oracle import Listed


def test_sglang_without_texts_is_read_by_token_ids(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [servers.sglang([("No", TOP)], texts=False)])
    assert recognised_as(path) == "sglang"
    rows, _ = produced(path, answers=tl.AnswerSpace({"yes": [2], "no": [0, 4, 7]}))
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    rows, _ = produced(path)
    assert rows[0]["classes"][:2] == ["token_id:0", "token_id:1"]


def test_chunks_of_ollama_are_one_answer_up_to_the_one_that_is_done(tmp_path):
    lines = [*servers.ollama_chunks([BEFORE, ("No", TOP)]), *servers.ollama_chunks([("No", TOP)], question_id="q2")]
    path = write_lines(tmp_path / "a.jsonl", lines)
    assert recognised_as(path) == "ollama"
    rows, _ = produced(path, answers=SPACE, position=-1)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)] * 2


def test_an_error_of_ollama_is_a_missing_case(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [servers.ollama([("No", TOP)]), {"error": "model not found"}])
    rows, notes = produced(path, answers=SPACE)
    assert len(rows) == 1
    assert "1 of 2 requests failed: their cases are missing." in notes


def test_the_log_of_zero_of_llama_cpp_is_not_listed(tmp_path):
    zero = [*TOP, Listed("Yes.", -3.4028235e38)]
    path = write_lines(tmp_path / "a.jsonl", [servers.llama_cpp([("No", zero)])])
    assert recognised_as(path) == "llama-cpp"
    rows, notes = produced(path, answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert any(note.startswith("1 tokens have a mark") for note in notes)


def test_probabilities_after_sampling_are_read_and_said_to_be_those_of_the_sampler(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [servers.llama_cpp([("No", [*TOP, Listed("x", None)])], after=True)])
    assert recognised_as(path) == "llama-cpp"
    rows, notes = produced(path, answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert any("those of the sampler" in note for note in notes)


def test_chunks_of_llama_cpp_are_one_answer_up_to_the_one_that_stops(tmp_path):
    parts = [{**servers.llama_cpp([one]), "stop": False} for one in (BEFORE, ("No", TOP))]
    end = {"content": "", "stop": True, "stop_type": "eos"}
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", [*parts, end]), answers=SPACE, position=1)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]


def test_the_openai_shape_of_llama_cpp_has_ids_that_tell_tokens_apart(tmp_path):
    record = servers.chat([("No", [*TOP, Listed("NO", math.log(0.003), b"NO")])])
    for at, one in enumerate(record["choices"][0]["logprobs"]["content"][0]["top_logprobs"]):
        one["id"] = at
    rows, _ = produced(
        write_lines(tmp_path / "a.jsonl", [record]),
        answers=tl.AnswerSpace({"no": ["No", "no", "NO", 999], "yes": ["Yes"]}),
    )
    assert lists_of(rows)[0]["no"] == pytest.approx(REAL["no"] + 0.003)


def test_gemini_in_the_names_of_its_library_and_in_a_batch(tmp_path):
    record = servers.gemini([("No", TOP)])
    result = record["candidates"][0].pop("logprobsResult")
    top = [
        {
            "candidates": [
                {"token": c["token"], "token_id": c["tokenId"], "log_probability": c["logProbability"]}
                for c in one["candidates"]
            ]
        }
        for one in result["topCandidates"]
    ]
    record["candidates"][0]["logprobs_result"] = {"top_candidates": top, "chosen_candidates": [{"token": "No"}]}
    path = write_lines(tmp_path / "a.jsonl", [record])
    assert recognised_as(path) == "gemini"
    assert lists_of(produced(path, answers=SPACE)[0]) == [pytest.approx(REAL, abs=1e-15)]
    batch = [{"key": "q7", "response": servers.gemini([("No", TOP)])}, {"key": "q8", "error": {"code": 13}}]
    path = write_lines(tmp_path / "b.jsonl", batch)
    assert recognised_as(path) == "gemini-batch"
    rows, notes = produced(path, answers=SPACE)
    assert [row["case"] for row in rows] == ["q7"]
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert "1 of 2 requests failed: their cases are missing." in notes


@pytest.mark.parametrize("blocked", ["prompt", "answer"])
def test_an_answer_that_gemini_blocked_is_an_empty_list(blocked, tmp_path):
    refused = servers.gemini([("No", TOP)])
    if blocked == "prompt":
        refused = {"promptFeedback": {"blockReason": "SAFETY"}}
    else:
        del refused["candidates"][0]["logprobsResult"]
        refused["candidates"][0]["finishReason"] = "SAFETY"
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [servers.gemini([("No", TOP)]), refused]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15), {}]
    assert "1 of 2 answers are refusals: their lists are empty." in notes


def test_chunks_of_two_answers_are_not_taken_for_one(tmp_path):
    answer = servers.ollama_chunks([("No", TOP), ("No", TOP)], eval_count=2)
    path = write_lines(tmp_path / "a.jsonl", [*answer[:-1], *answer])
    with pytest.raises(tl.FileError, match=r"row 1: .*has 4 tokens, and eval_count is 2: the chunk that ends"):
        produced(path, answers=SPACE)
    rows, notes = produced(write_lines(path, [*answer, *answer[:-1]]), answers=SPACE)
    assert len(rows) == 2
    assert "An answer was cut off: the chunk that ends it is missing." in notes
