"""What all servers of language models have in common."""

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
from toplist.io.producers import servers as reading

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
def test_every_server_is_recognised_and_gives_the_same_list(name, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [SHAPES[name]([("No", TOP)], question_id="q1", target="no")] * 2)
    assert recognised_as(path) == name
    rows, notes = produced(path, answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)] * 2
    assert [row["case"] for row in rows] == ["q1", "q1"]
    assert [row["outcome"] for row in rows] == ["no", "no"]
    assert [row["n_classes"] for row in rows] == [3, 3]
    assert [row["answer_mass"] for row in rows] == pytest.approx([0.661, 0.661], abs=1e-15)
    assert "Mass on declared answers: median 0.66, below 0.5 in 0 of 2 cases." in notes


@pytest.mark.parametrize("name", SHAPES)
def test_every_server_is_read_at_the_position_after_a_text(name, tmp_path):
    path = write_lines(
        tmp_path / "a.jsonl",
        [SHAPES[name]([BEFORE, (" ", [Listed(" ", -0.1)]), ("No", TOP)]), SHAPES[name]([("No", TOP), ("No", TOP)])],
    )
    rows, notes = produced(path, answers=SPACE, position="Answer:")
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15), {}]
    assert rows[1]["answer_mass"] is None
    assert "1 of 2 cases do not have the text 'Answer:': their lists are empty." in notes
    with pytest.raises(tl.FileError, match=r"no answer has a token at position='Solution:'"):
        produced(path, answers=SPACE, position="Solution:")


@pytest.mark.parametrize("name", SHAPES)
def test_a_json_document_is_one_response_or_an_array_of_them(name, tmp_path):
    record = SHAPES[name]([("No", TOP)])
    for value, indent in ((record, 2), ([record, record], None), ([record], 1)):
        path = tmp_path / "a.json"
        path.write_text(json.dumps(value, indent=indent))
        assert recognised_as(path) == name
        assert lists_of(produced(path, answers=SPACE)[0])[0] == pytest.approx(REAL, abs=1e-15)


@pytest.mark.parametrize("name", SHAPES)
def test_logits_are_refused_with_the_row_and_the_remedy(name, tmp_path):
    good, bad = SHAPES[name]([("No", TOP)]), SHAPES[name]([("No", [Listed("No", 12.5), Listed("Yes", 9.0)])])
    path = write_lines(tmp_path / "a.jsonl", [good, bad, bad])
    with pytest.raises(
        tl.FileError, match=r"row 2: the log-probability of a token is 12.5, above zero.*logprobs_mode.*1 more"
    ):
        produced(path, answers=SPACE)


@pytest.mark.parametrize("name", SHAPES)
def test_marks_are_counted_and_not_listed(name, tmp_path):
    marked = [*TOP, Listed("YES", -9999.0, b"YES"), Listed("Nope", -3.4028235e38, b"Nope")]
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [SHAPES[name]([("No", marked)])]), answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert any(note.startswith("2 tokens have a mark") for note in notes)


@pytest.mark.parametrize("name", SHAPES)
def test_without_answers_classes_are_tokens_and_that_is_said(name, tmp_path):
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [SHAPES[name]([("No", TOP)])]))
    assert lists_of(rows) == [pytest.approx(dict(zip(CHAT, CHAT_P, strict=True)), abs=1e-15)]
    assert any("o answers are declared" in note for note in notes)
    assert "n_classes" not in rows[0]


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_without_log_probabilities_is_refused_with_what_to_ask_for(name, tmp_path):
    record = SHAPES[name]([])
    path = write_lines(tmp_path / "a.jsonl", [record])
    with pytest.raises(tl.FileError, match="no answer has log-probabilities of the most probable tokens"):
        produced(path, name, answers=SPACE)


CASES = st.lists(
    st.tuples(server_lists(), server_lists(), st.sampled_from(["q1", "q2", "é"]), st.integers(2, 4)),
    min_size=1,
    max_size=6,
)
ABCD = tl.AnswerSpace({"A": ["A", " A", "(A", "a"], "B": ["B", " B"], "C": ["C"], "D": ["D"]})


def without_nulls(value):
    """The same without the fields that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


@given(
    CASES, st.sampled_from([0, 1, -1, "x"]), st.sampled_from([(", ", ": "), (",", ":")]), st.booleans(), st.booleans()
)
def test_what_the_kernel_and_arrow_read_is_what_plain_python_reads(
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
    with pytest.MonkeyPatch.context() as patch:
        for way in ("scanned", "parsed"):
            patch.setattr(reading, way, lambda *_, **__: None)
            assert produced(path, answers=ABCD, position=position) == (rows, notes)
    place = {0: 0, 1: 1, -1: 1, "x": 1}[position]
    for row, case in zip(rows, cases, strict=True):
        few = dict(list(ABCD.variants.items())[: case[3]])
        expected = answer_list(case[place], few)
        assert dict(zip(row["classes"], row["confidences"], strict=True)) == pytest.approx(
            expected.confidences, rel=1e-12, abs=1e-15
        )
        assert row["n_classes"] == expected.n_classes
        assert row["metadata.run"] == case[2]


def test_cases_without_ids_go_by_their_position_and_that_is_said(tmp_path):
    records = [servers.chat([("No", TOP)]) for _ in range(3)]
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", records), answers=SPACE)
    assert [row.get("case") for row in rows] == [None] * 3
    assert any("no id of their question: cases go by the order" in note for note in notes)


def test_answers_in_files_of_their_own_are_called_as_these_are(tmp_path):
    for name in ("a", "b"):
        write_lines(tmp_path / "run" / f"{name}.jsonl", [servers.chat([("No", TOP)])])
    rows, notes = produced(tmp_path / "run", answers=SPACE)
    assert [row["case"] for row in rows] == ["a", "b"]
    assert not any("order" in note for note in notes)
    write_lines(tmp_path / "run" / "c.jsonl", [servers.chat([("No", TOP)])] * 2)
    rows, notes = produced(tmp_path / "run", answers=SPACE)
    assert [row.get("case") for row in rows] == [None] * 4
    write_lines(tmp_path / "run" / "d.jsonl", [servers.chat([("No", TOP)], question_id="q")])
    with pytest.raises(tl.FileError, match=r"a\.jsonl: the records of this file have no case id, but those of other"):
        produced(tmp_path / "run", answers=SPACE)


def test_fields_at_the_top_are_columns_and_the_ids_of_responses_are_no_case_ids(tmp_path):
    record = servers.chat([("No", TOP)], task="t", epoch=2, metadata={"difficulty": "hard"})
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", [record]), answers=SPACE)
    assert (rows[0]["task"], rows[0]["epoch"], rows[0]["metadata.difficulty"]) == ("t", 2, "hard")
    assert "case" not in rows[0]
    assert "id" not in rows[0]
    named, _ = produced(tmp_path / "a.jsonl", answers=SPACE, case="id")
    assert named[0]["id"].startswith("chatcmpl")


def test_an_outcome_that_is_no_declared_answer_is_refused(tmp_path):
    records = [servers.chat([("No", TOP)], target=target) for target in ("no", "NO")]
    with pytest.raises(tl.FileError, match=r"row 2: the outcome 'NO' is none of the answers.*Did you mean 'no'"):
        produced(write_lines(tmp_path / "a.jsonl", records), answers=SPACE)


def test_two_fields_that_may_be_the_outcome_are_said(tmp_path):
    record = servers.chat([("No", TOP)], target="no", answer="yes")
    rows, notes = produced(write_lines(tmp_path / "a.jsonl", [record]), answers=SPACE)
    assert "outcome" not in rows[0]
    assert any("everal fields may hold the outcome" in note for note in notes)


def test_the_answers_of_each_case_are_those_of_its_record(tmp_path):
    top = [Listed("A", math.log(0.5)), Listed("C", math.log(0.3))]
    records = [servers.chat([("A", top)], answers=answers) for answers in (["A", "B"], ["B", "C", "D"])]
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", records), answers=tl.AnswerSpace("ABCD"))
    assert [row["n_classes"] for row in rows] == [3, 4]
    assert [row["answer_mass"] for row in rows] == pytest.approx([0.5, 0.3])


@pytest.mark.parametrize("answers", ["A", {"A": 1}, [1, 2], 3])
def test_answers_of_a_record_that_are_no_list_of_texts_say_nothing_about_its_case(answers, tmp_path):
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)], answers=answers)]), answers=SPACE)
    assert rows[0]["n_classes"] == 3
    assert rows[0].get("answers") == (answers if isinstance(answers, str | int) else None)


def test_a_number_of_answers_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(tl.FileError, match="'n_classes' is the number of answers of a case"):
        produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)], n_classes="two")]), answers=SPACE)


def test_a_number_of_answers_that_is_too_large_is_refused_with_its_row(tmp_path):
    records = [servers.chat([("No", TOP)], n_classes=n) for n in (2, 3)]
    with pytest.raises(tl.FileError, match=r"row 2: there are 3 answers\. A case has from 2 to 2"):
        produced(write_lines(tmp_path / "a.jsonl", records), answers=SPACE)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"choices": 3}', '{"choices": [{"logprobs": {"content": [{"top_logprobs": [{}]}]}}]}', "\xff"]
)
def test_a_damaged_line_is_refused_with_its_row(line, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)])] * 2)
    path.write_bytes(path.read_bytes() + line.encode("latin1") + b"\n")
    with pytest.raises(tl.FileError, match="row 3"):
        produced(path, "openai", answers=SPACE)


def test_a_field_that_changes_its_type_is_refused_with_its_row(tmp_path):
    records = [servers.chat([("No", TOP)], epoch=1)] * 25 + [servers.chat([("No", TOP)], epoch="two")]
    with pytest.raises(tl.FileError, match="row 26: 'epoch' is text, but a number elsewhere"):
        produced(write_lines(tmp_path / "a.jsonl", records), answers=SPACE)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("")
    with pytest.raises(tl.FileError, match="there is nothing to read"):
        produced(path, "openai", answers=SPACE)
