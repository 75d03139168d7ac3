"""What all servers of language models have in common; what is particular to each is in the transcripts."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.reading import produced, recognised_as, write_lines
from tests.io.producers.test_answers import CHAT, CHAT_P, YES_NO, server_lists
from tests.io.producers.token_oracle import Listed, answer_list

SPACE = tl.AnswerSpace(YES_NO)
TOP = [Listed(text, math.log(p), text.encode()) for text, p in zip(CHAT, CHAT_P, strict=True)]
BEFORE = ("Answer:", [Listed("Answer:", math.log(0.9), b"Answer:"), Listed("So", math.log(0.05), b"So")])
REAL = {"yes": 0.09, "no": 0.52 + 0.04 + 0.011, "OTHER": 1 - 0.661}
SHAPES = {
    "openai": servers.chat,
    "openai-responses": servers.response,
    "openai-legacy": servers.legacy,
    "sglang": servers.sglang,
    "ollama": servers.ollama,
    "llama-cpp": servers.llama_cpp,
    "gemini": servers.gemini,
}


def lists_of(rows):
    return [dict(zip(row["classes"], row["confidences"], strict=True)) for row in rows]


@pytest.mark.parametrize("name", SHAPES)
def test_every_server_gives_the_same_list_in_every_kind_of_file(name, tmp_path):
    record = SHAPES[name]([("No", TOP)], question_id="q1", target="no")
    for file, text in (
        ("a.jsonl", f"{json.dumps(record)}\n" * 2),
        ("a.json", json.dumps(record, indent=2)),
        ("b.json", json.dumps([record, record])),
    ):
        (tmp_path / file).write_text(text)
        assert recognised_as(tmp_path / file) == name, file
        rows, notes = produced(tmp_path / file, answers=SPACE)
        assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)] * len(rows), file
        assert {(row["case"], row["outcome"], row["n_classes"]) for row in rows} == {("q1", "no", 3)}
        assert [row["answer_mass"] for row in rows] == pytest.approx([0.661] * len(rows), abs=1e-15)
        assert f"Mass on declared answers: median 0.66, below 0.5 in 0 of {len(rows)} cases." in notes
    rows, notes = produced(tmp_path / "a.jsonl")
    assert lists_of(rows) == [pytest.approx(dict(zip(CHAT, CHAT_P, strict=True)), abs=1e-15)] * 2
    assert any("o answers are declared" in note for note in notes)
    assert "n_classes" not in rows[0]


@pytest.mark.parametrize("name", SHAPES)
def test_every_server_is_read_at_a_position_without_marks_and_refused_without_log_probabilities(name, tmp_path):
    marked = [*TOP, Listed("YES", -9999.0, b"YES"), Listed("Nope", -3.4028235e38, b"Nope")]
    shape, path = SHAPES[name], tmp_path / "a.jsonl"
    write_lines(path, [shape([BEFORE, (" ", [Listed(" ", -0.1)]), ("No", marked)]), shape([("No", TOP), ("No", TOP)])])
    rows, notes = produced(path, answers=SPACE, position="Answer:")
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15), {}]
    assert rows[1]["answer_mass"] is None
    assert "1 of 2 cases do not have the text 'Answer:': their lists are empty." in notes
    assert any(note.startswith("2 tokens have a mark") for note in notes)
    bad = shape([("No", [Listed("No", 12.5), Listed("Yes", 9.0)])])
    for records, options, said in (
        ([shape([("No", TOP)])], {"position": "Solution:"}, r"no answer has a token at position='Solution:'"),
        (
            [shape([("No", TOP)]), bad, bad],
            {},
            r"row 2: the log-probability of a token is 12.5.*logprobs_mode.*1 more",
        ),
        ([shape([])], {"producer": name}, "no answer has log-probabilities of the most probable tokens"),
    ):
        with pytest.raises(tl.FileError, match=said):
            produced(write_lines(path, records), answers=SPACE, **options)


CASES = st.lists(
    st.tuples(server_lists(), server_lists(), st.sampled_from(["q1", "q2", "é"]), st.integers(2, 4)),
    min_size=1,
    max_size=6,
)
ABCD = tl.AnswerSpace({"A": ["A", " A", "(A", "a"], "B": ["B", " B"], "C": ["C"], "D": ["D"]})


def without_nulls(value):
    """The same without the fields that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None or key == "logprob"}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


@given(
    CASES, st.sampled_from([0, 1, -1, "x"]), st.sampled_from([(", ", ": "), (",", ":")]), st.booleans(), st.booleans()
)
def test_lists_are_those_of_plain_python_however_lines_are_written(
    tmp_path_factory, cases, position, separators, in_batch, sparse
):
    generated = [[("x", first), ("y", second)] for first, second, _, _ in cases]
    known = [{"question_id": case, "n_classes": n, "metadata": {"run": case}} for _, _, case, n in cases]
    if in_batch:
        records = [{**servers.batch(g, k["question_id"]), **k} for g, k in zip(generated, known, strict=True)]
    else:
        records = [servers.chat(g, **k) for g, k in zip(generated, known, strict=True)]
    records = without_nulls(records) if sparse else records
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_text("".join(json.dumps(one, separators=separators) + "\n" for one in records))
    rows, notes = produced(path, answers=ABCD, position=position)
    whole = path.with_name("a.json")
    whole.write_text(json.dumps(records, indent=1))  # nothing is cut out of it
    assert produced(whole, answers=ABCD, position=position) == (rows, notes)
    place = {0: 0, 1: 1, -1: 1, "x": 1}[position]
    for row, case in zip(rows, cases, strict=True):
        few = dict(list(ABCD.variants.items())[: case[3]])
        expected = answer_list(case[place], few)
        assert dict(zip(row["classes"], row["confidences"], strict=True)) == pytest.approx(
            expected.confidences, rel=1e-12, abs=1e-15
        )
        assert row["n_classes"] == expected.n_classes
        assert row["metadata.run"] == case[2]


TOKENS = [
    '{"token": "A", "logprob": -1, "token": "B"}',
    '{"token": "A", "logprob": -1}, {"token": "B", "logprob": -2, "logprob": -3}',
    '{"token": "A"}',
    '{"token": null, "logprob": -1}',
    '{"token": 5, "logprob": -1}',
    '{"token": "\\ud800", "logprob": -1}',
    '{"token": "\\x", "logprob": -1}',
    '{"token": "A", "logprob": "-1"}',
    '{"token": "A", "logprob": 01}',
    '{"token": "A", "logprob": -1,}',
    '{"token": "A", "logprob": -1, "bytes": [256]}',
    '{"token": "A", "logprob": -1, "bytes": [65.0]}',
    "null",
    "[]",
]


@pytest.mark.parametrize("space", [tl.AnswerSpace(["A", "B"]), None], ids=["answers", "tokens"])
@pytest.mark.parametrize("token", TOKENS)
def test_a_token_that_is_none_is_refused_with_its_row(token, space, tmp_path):
    line = '{"choices": [{"logprobs": {"content": [{"top_logprobs": [%s]}]}}]}'
    path = tmp_path / "a.jsonl"
    sound = [line % '{"token": "}]: A", "logprob": -1}'] * 25
    path.write_text("\n".join([*sound, line % token, *sound]) + "\n")
    with pytest.raises(tl.FileError) as error:
        produced(path, "openai", answers=space)
    assert error.value.row == 26


DAMAGES = {
    "a list that goes on in the next line": (b'"bytes": null}]}', b'"bytes": null}'),
    "a field of a choice twice": (b'"index": 0', b'"index": 0, "index": 0'),
    "a field of a message twice, one with an escape": (b'"index": 0', b'"index": 0, "index": "\\u003a"'),
    "half a line": (b'"index": 0', b"\n"),
    "two objects in a line": (b'{"id"', b'{"id": 1} {"id"'),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_line_among_many_is_refused_with_its_row(what, tmp_path):
    """Lines are read some at a time: what is wrong with one of them is never made up for by another one."""
    line = json.dumps(servers.chat([("No", [Listed("No", -0.5)])], question_id="q")).encode()
    for row in (1, 15, 40):
        damaged = [line.replace(*DAMAGES[what]) if at == row else line for at in range(1, 41)]
        assert damaged[row - 1] != line
        (tmp_path / "a.jsonl").write_bytes(b"\n".join(damaged) + b"\n")
        with pytest.raises(tl.FileError) as error:
            produced(tmp_path / "a.jsonl", "openai", answers=SPACE)
        assert error.value.row == row


def test_an_odd_line_is_read_whole_beside_others(tmp_path):
    """A colon as an escape, braces in a token, and a mark that JSON does not have."""
    texts = ["A", "\\u003a", "}]: [{", '\\"top_logprobs\\": [{', "\\u00000"]
    tokens = '[{"token": "%s", "logprob": -1}, {"token": "B", "logprob": -2}]'
    line = '{"choices": [{"logprobs": {"content": [{"token": "%s", "top_logprobs": %s}]}}]}'
    every = [line % (text, tokens % text) for text in texts] + [line % ("A", (tokens % "A").replace("-2", "NaN"))]
    (tmp_path / "a.jsonl").write_text("\n".join(every * 9) + "\n")
    rows, _ = produced(tmp_path / "a.jsonl", "openai")
    expected = [["A", "B"], [":", "B"], ["}]: [{", "B"], ['"top_logprobs": [{', "B"], ["\0" + "0", "B"], ["A"]]
    assert [row["classes"] for row in rows] == expected * 9


def test_an_empty_document_has_no_answer(tmp_path):
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(tl.FileError, match="there is no answer in it"):
        produced(tmp_path / "a.json", "openai", answers=SPACE)


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "null"])
def test_marks_of_python_in_place_of_a_log_probability_are_not_listed(value, tmp_path):
    tokens = f'[{{"token": "A", "logprob": -1}}, {{"token": "B", "logprob": {value}}}]'
    (tmp_path / "a.jsonl").write_text(
        f'{{"choices": [{{"logprobs": {{"content": [{{"top_logprobs": {tokens}}}]}}}}]}}\n'
    )
    rows, notes = produced(tmp_path / "a.jsonl", "openai")
    assert rows[0]["classes"] == ["A"]
    assert any(note.startswith("1 tokens have a mark") for note in notes)


@pytest.mark.parametrize(
    ("name", "chunk", "way"),
    [
        ("openai", {"id": "u", "object": "chat.completion.chunk", "choices": [{"delta": {}}]}, "without stream=True"),
        ("ollama", {"done": False, "logprobs": []}, '"stream": false'),
        ("llama-cpp", {"stop": False, "completion_probabilities": []}, '"stream": false'),
    ],
)
def test_chunks_of_a_stream_are_refused_with_what_to_ask_for(name, chunk, way, tmp_path):
    with pytest.raises(tl.FileError, match=f"it is a chunk of a stream: ask for whole responses .{way}") as error:
        produced(write_lines(tmp_path / "a.jsonl", [chunk]), name, answers=SPACE)
    assert error.value.row == 1


def test_fields_at_the_top_are_columns_and_the_ids_of_responses_are_no_case_ids(tmp_path):
    record = servers.chat([("No", TOP)], task="t", epoch=2, metadata={"difficulty": "hard"})
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", [record]), answers=SPACE)
    assert (rows[0]["task"], rows[0]["epoch"], rows[0]["metadata.difficulty"]) == ("t", 2, "hard")
    assert "case" not in rows[0]
    assert "id" not in rows[0]
    named, _ = produced(tmp_path / "a.jsonl", answers=SPACE, case="id")
    assert named[0]["id"].startswith("chatcmpl")


def test_a_damaged_line_is_named_after_sound_ones(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)])] * 2)
    path.write_bytes(path.read_bytes() + b"\xff\n")
    with pytest.raises(tl.FileError, match="row 3"):
        produced(path, "openai", answers=SPACE)
    write_lines(path, [servers.chat([("No", TOP)], epoch=epoch) for epoch in [1] * 25 + ["two"]])
    with pytest.raises(tl.FileError, match="row 26: 'epoch' is text, but a number elsewhere"):
        produced(path, "openai", answers=SPACE)


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
    for odd in (3, "text", [3]):
        with pytest.raises(tl.TopListError, match=r"3|text"):
            tl.read_lists(odd, producer="openai", answers=SPACE, space=3)
