from __future__ import annotations

import math

import pytest

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.reading import produced, recognised_as, write_lines
from tests.io.producers.test_servers import BEFORE, REAL, SPACE, TOP, lists_of
from tests.io.producers.token_oracle import Listed


def test_a_batch_has_its_cases_by_custom_id_in_any_order(tmp_path):
    low = [Listed("Yes", math.log(0.7), b"Yes"), Listed("The", math.log(0.2), b"The")]
    records = [servers.batch([("Yes", low)], "request-2"), servers.batch([("No", TOP)], "request-1")]
    path = write_lines(tmp_path / "output.jsonl", records)
    assert recognised_as(path) == "openai-batch"
    rows, notes = produced(path, answers=SPACE)
    assert [row["case"] for row in rows] == ["request-2", "request-1"]
    assert lists_of(rows)[1] == pytest.approx(REAL, abs=1e-15)
    assert not any("numbered" in note for note in notes)


def test_requests_of_a_batch_that_failed_are_missing_cases_and_counted(tmp_path):
    limited = {**servers.batch([("No", TOP)], "c"), "response": {"status_code": 429, "body": {"error": {}}}}
    records = [servers.batch([("No", TOP)], "a"), servers.failed("b"), limited, servers.batch([("No", TOP)], "d")]
    rows, notes = produced(write_lines(tmp_path / "output.jsonl", records), answers=SPACE)
    assert [row["case"] for row in rows] == ["a", "d"]
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)] * 2
    assert "2 of 4 requests failed: their cases are missing." in notes


def test_a_file_of_failed_requests_alone_is_refused(tmp_path):
    path = write_lines(tmp_path / "errors.jsonl", [servers.failed("a"), servers.failed("b")])
    with pytest.raises(tl.FileError, match="every request failed"):
        produced(path, "openai-batch", answers=SPACE)


def test_a_batch_of_responses_and_one_of_legacy_completions_are_read(tmp_path):
    for shape in (servers.response, servers.legacy):
        record = servers.batch([("No", TOP)], "a")
        record["response"]["body"] = shape([("No", TOP)])
        rows, _ = produced(write_lines(tmp_path / "output.jsonl", [record]), answers=SPACE)
        assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]


@pytest.mark.parametrize("where", ["message", "logprobs", "response"])
def test_a_refusal_is_an_empty_list_and_counted(where, tmp_path):
    refused = servers.chat([("No", TOP)])
    choice = refused["choices"][0]
    if where == "message":
        choice["logprobs"], choice["message"]["refusal"] = None, "I cannot help with that."
    elif where == "logprobs":
        choice["logprobs"] = {"content": None, "refusal": choice["logprobs"]["content"]}
    else:
        part = {"type": "refusal", "refusal": "I cannot help with that."}
        refused = {"id": "resp_1", "output": [{"type": "message", "content": [part]}]}
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)]), refused]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15), {}]
    assert "1 of 2 answers are refusals: their lists are empty." in notes
    assert not any("position" in note for note in notes)


def test_an_answer_without_log_probabilities_among_others_is_an_empty_list_and_counted(tmp_path):
    without = servers.chat([("No", TOP)])
    without["choices"][0]["logprobs"] = None
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)]), without]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15), {}]
    assert "1 of 2 answers have no log-probabilities: their lists are empty." in notes


def test_legacy_completions_say_that_tokens_of_equal_text_have_collapsed(tmp_path):
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [servers.legacy([("No", TOP)])]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert any("of tokens with the same text only one is there" in note for note in notes)


def test_a_sampled_token_at_the_end_of_a_legacy_list_is_no_part_of_it(tmp_path):
    record = servers.legacy([("Yes", [Listed("No", math.log(0.6)), Listed("The", math.log(0.2)), Listed("Yes", -7.0)])])
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [record]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx({"no": 0.6, "OTHER": 0.2}, abs=1e-15)]
    assert any("1 of 1 cases the first token is smaller than all others" in note for note in notes)


def test_chunks_of_a_stream_are_put_together_by_their_id(tmp_path):
    lines = [*servers.chunks([BEFORE, ("No", TOP)], "a"), *servers.chunks([("No", TOP)], "b")]
    path = write_lines(tmp_path / "a.jsonl", lines)
    rows, _ = produced(path, "openai", answers=SPACE, position=-1)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)] * 2


def test_of_several_choices_the_first_is_read_and_that_is_said(tmp_path):
    record = servers.chat([BEFORE, ("No", TOP), ("No", TOP)])
    record["choices"].append({**servers.chat([("Yes", TOP[:1])] * 3)["choices"][0], "index": 1})
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [record]), answers=SPACE, position=1)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert "Responses have several choices: the first one is read." in notes


def test_tokens_of_the_same_text_are_told_apart_by_their_bytes(tmp_path):
    tokens = [*TOP, Listed("NO", math.log(0.003), b"N\xffO"), Listed("**", math.log(0.003), b"**")]
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("No", tokens)])]), answers=SPACE)
    assert lists_of(rows) == [
        pytest.approx({**REAL, "no": REAL["no"] + 0.003, "OTHER": REAL["OTHER"] - 0.003}, abs=1e-15)
    ]
    assert "1 tokens are listed twice in one case: they count once." in notes


def test_a_list_may_have_fewer_than_twenty_tokens_or_none(tmp_path):
    records = [servers.chat([("No", TOP[:k])]) for k in (1, 0)]
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", records), answers=SPACE)
    assert lists_of(rows)[0] == pytest.approx({"no": 0.52}, abs=1e-15)  # yes and OTHER share the rest
    assert lists_of(rows)[1] == {}
    assert "1 of 2 cases have no listed token: nothing is known of them." in notes


def test_tokens_that_a_server_writes_as_ids_are_found_by_their_ids(tmp_path):
    tokens = [
        Listed("token_id:2822", math.log(0.6)),
        Listed("token_id:9642", math.log(0.3)),
        Listed("token_id:1", -5.0),
    ]
    space = tl.AnswerSpace({"no": [2822], "yes": [9642]})
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("x", tokens)])]), answers=space)
    assert lists_of(rows) == [pytest.approx({"no": 0.6, "yes": 0.3, "OTHER": 0.1}, abs=1e-15)]


def test_the_sampled_token_before_a_list_of_vllm_is_no_part_of_it(tmp_path):
    sampled = Listed("yes", math.log(0.0001), b"yes")
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("yes", [sampled, *TOP])])]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert any("1 of 1 cases the first token is smaller than all others" in note for note in notes)


class Response:
    """What the client library of OpenAI returns."""

    def __init__(self, record):
        self.record = record

    def model_dump(self):
        return self.record

    def __iter__(self):
        return iter(self.record.items())


def test_objects_of_a_client_library_and_dictionaries_are_read_without_a_file():
    records = [servers.chat([("No", TOP)], question_id=f"q{at}") for at in range(3)]
    one = tl.read_lists(Response(records[0]), producer="openai", answers=SPACE)
    assert dict(one[0].confidences) == pytest.approx(REAL, abs=1e-15)
    for objects in (records, [Response(one) for one in records], (one for one in records)):
        lists = tl.read_lists(objects, producer="openai", answers=SPACE, space=3)
        assert len(lists) == 3
        assert dict(lists[0].confidences) == pytest.approx(REAL, abs=1e-15)


def test_what_is_no_response_is_refused():
    for odd in (3, "text", [3]):
        with pytest.raises(tl.TopListError, match=r"3|text"):
            tl.read_lists(odd, producer="openai", answers=SPACE, space=3)


def test_a_file_that_has_choices_of_something_else_is_not_taken_for_a_chat(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [{"question": "q", "choices": [{"text": "A"}, {"text": "B"}], "p": 0.5}])
    assert recognised_as(path) is None


def test_a_response_is_recognised_by_what_follows_its_reasoning(tmp_path):
    record = servers.response([("No", TOP)])
    record["output"].insert(0, {"type": "reasoning", "id": "rs_1", "summary": []})
    path = write_lines(tmp_path / "a.jsonl", [record])
    assert recognised_as(path) == "openai-responses"
    assert lists_of(produced(path, answers=SPACE)[0]) == [pytest.approx(REAL, abs=1e-15)]
