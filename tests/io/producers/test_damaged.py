"""Damaged files of producers that were checked by samples: they end in rows, or in an error that says what is wrong.

A value of a document, a cell of a table, some bytes or the rest of a file is replaced. The samples are the smallest
ones that have all that a producer reads; what becomes of sound files is in the tests of each producer.
"""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from copy import deepcopy
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.damage import JUNK, damaged
from tests.io.producers.reading import produced, write_lines
from tests.io.producers.test_inspect_ai import log as inspect_log
from tests.io.producers.test_inspect_ai import sample as inspect_sample
from tests.io.producers.test_inspect_ai import without_logprobs
from tests.io.producers.test_lm_eval import sample as lm_eval_sample
from tests.io.producers.test_species import PICTURE
from tests.io.producers.token_oracle import Listed
from toplist.errors import FileError, TopListError

TOKENS = [Listed("A", -0.25, b"A"), Listed(" A", -2.5, b" A"), Listed("B", -2.25, b"B"), Listed("<think>", -4.0, b"<")]
ANSWER = [("A", TOKENS), (".", TOKENS[:1])]
SERVERS: dict[str, list[Any]] = {
    "openai": [servers.chat(ANSWER, case="q1", outcome="A", n_classes=2), *servers.chunks(ANSWER, "u")[:1]],
    "openai-batch": [servers.batch(ANSWER, "1"), servers.failed("2")],
    "openai-responses": [servers.response(ANSWER)],
    "openai-legacy": [servers.legacy(ANSWER)],
    "vllm": [servers.chat(ANSWER)],
    "sglang": [servers.sglang(ANSWER), servers.sglang(ANSWER, texts=False)],
    "ollama": [servers.ollama(ANSWER), servers.ollama_chunks(ANSWER)[0]],
    "llama-cpp": [servers.llama_cpp(ANSWER), servers.llama_cpp(ANSWER, after=True)],
    "gemini": [servers.gemini(ANSWER)],
    "gemini-batch": [{"key": "1", "response": servers.gemini(ANSWER)}],
}
RANKS = {"filename": "1.jpg", "index_0": 7, "index_1": 3, "prob_0": 0.75, "prob_1": 0.125}
DOCUMENTS: dict[str, list[Any]] = SERVERS | {
    "timm": [RANKS, {"columns": list(RANKS), "data": [list(RANKS.values())]}],
    "lm-eval": [lm_eval_sample()],
    "inspect-ai": [inspect_log(inspect_sample(), inspect_sample(1)), inspect_log(without_logprobs(inspect_sample()))],
    "every-eval-ever": [
        {
            "schema_version": "0.2.1",
            "evaluation_id": "e",
            "model_id": "org/model",
            "evaluation_name": "colours",
            "sample_id": "id0",
            "sample_hash": "0000",
            "input": {"raw": "Which?", "reference": ["green"], "choices": ["red", "green"]},
            "output": {"raw": [" B"]},
            "answer_attribution": [{"extracted_value": "B", "is_terminal": True}],
            "evaluation": {"score": 1.0, "is_correct": True},
            "error": None,
        }
    ],
    "transformers": [
        [[{"label": "a", "score": 0.7}, {"label": "b", "score": 0.2}], [{"label": "c", "score": 0.5}]],
        [{"id": 1, "output": [{"label": "a", "score": 0.7}]}],
        [{"sequence": "s", "labels": ["a", "b"], "scores": [0.7, 0.3]}],
    ],
    "speciesnet": [{"predictions": [PICTURE, {"filepath": "2.jpg", "failures": ["CLASSIFIER"], "model_version": "4"}]}],
    "plantnet": [
        {
            "query": {"images": ["f5a2"]},
            "bestMatch": "Rosa canina L.",
            "results": [{"score": 0.75, "species": {"scientificNameWithoutAuthor": "Rosa canina"}}],
        }
    ],
}
DETAILS = {  # of lighteval
    "doc": {"id": "7", "choices": [" red", " green"], "gold_index": [1]},
    "model_response": {"logprobs": [-2.5, -0.5, -1.0, -1.5], "output_tokens": [[1], [2, 3]]},
    "metric": {"acc": 1.0},
}
TABLES = {  # the name of the file, and its cells
    "metaculus": (
        "forecast_data.csv",
        [
            ["Question ID", "Forecaster Username", "Start Time", "End Time", "Probability Yes Per Category"],
            ["1", "ann", "2026-06-02 12:00:00+00:00", "", "[0.5, 0.3, 0.2]"],
        ],
    ),
    "mmlu": (
        "anatomy.csv",
        [
            [*"012345", "m_correct", *(f"m_choice{letter}_probs" for letter in "ABCD")],
            ["Which?", *"abcdB", "True", "0.125", "0.5", "0.25", "0.125"],
            ["How?", *"abcdD", "False", "0.0625", "0.1875", "0.5", "0.25"],
        ],
    ),
}
QUESTIONS = [
    ["Question ID", "Question Type", "MC Options (All)", "MC Options (Current)", "Actual Close Time", "Resolution"],
    ["1", "multiple_choice", *["['Ada', 'Bob', 'Other']"] * 2, "2026-06-10 12:00:00+00:00", "Bob"],
]


def as_csv(cells: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(cells)
    return out.getvalue().encode("utf-8", "surrogatepass")


@st.composite
def damaged_bytes(draw: Any, data: bytes) -> bytes:
    """Some bytes replaced, or the rest cut off."""
    at = draw(st.integers(0, len(data)))
    if draw(st.integers(0, 4)) == 0:
        return data[:at]
    return data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 6)) :]


@st.composite
def damaged_cells(draw: Any, cells: list[list[str]]) -> bytes:
    """A cell replaced or left out, or bytes."""
    if draw(st.integers(0, 3)) == 0:
        return draw(damaged_bytes(as_csv(cells)))
    cells = [list(row) for row in cells]
    row = draw(st.sampled_from(cells))
    place = draw(st.integers(0, len(row) - 1))
    if draw(st.booleans()):
        row[place] = draw(
            st.sampled_from([*map(str, JUNK), "nan", "-inf", "1e400", "\0", '"', "[1, None]", "é" * 9, "[" * 5000])
        )
    else:
        del row[place]
    return as_csv(cells)


def ends_well(path: Path, producer: str, **options: Any) -> None:
    """Anything but an error of ours fails the test by itself; log-likelihoods of choices are whole distributions."""
    with suppress(TopListError):
        rows, _ = produced(path, producer, **options)
        assert producer not in ("lm-eval", "lighteval") or all(isclose(sum(row["confidences"]), 1) for row in rows)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_damaged_documents_end_in_rows_or_in_an_error_of_ours(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a.json"

    @settings(max_examples=draws(60 if name in SERVERS else 200))
    @given(damaged(DOCUMENTS[name]), st.booleans(), st.booleans())
    def check(text: str, again: bool, declared: bool) -> None:
        sound = json.dumps(DOCUMENTS[name][0])
        path.write_text(f"{sound}\n{text}\n" if again else text)
        ends_well(path, name, **({"answers": ["A", "B"]} if declared and name in SERVERS else {}))

    check()


@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables_end_in_rows_or_in_an_error_of_ours(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file, cells = TABLES[name]
    folder = tmp_path_factory.mktemp("damaged")
    beside = folder / "question_data.csv"

    @settings(max_examples=draws(200))
    @given(damaged_cells(cells), damaged_cells(QUESTIONS), st.booleans())
    def check(data: bytes, questions: bytes, whole: bool) -> None:
        (folder / file).write_bytes(data)
        if name == "metaculus":
            beside.write_bytes(as_csv(QUESTIONS) if whole else questions)
        ends_well(folder / file, name)

    check()


def test_damaged_details_of_lighteval_end_in_rows_or_in_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("damaged") / "details_quiz|0_2026-01-01T00-00-00.000000.parquet"

    @settings(max_examples=draws(60))
    @given(damaged([DETAILS]), st.booleans(), st.data())
    def check(text: str, again: bool, data: Any) -> None:
        with suppress(json.JSONDecodeError, pa.ArrowException, OverflowError, UnicodeEncodeError):  # no table has these
            record = json.loads(text)
            pq.write_table(pa.Table.from_pylist([DETAILS, record] if again else [record]), path)
            if data.draw(st.integers(0, 4)) == 0:
                path.write_bytes(data.draw(damaged_bytes(path.read_bytes())))
        if path.exists():
            ends_well(path, "lighteval")

    check()


@pytest.mark.parametrize(
    ("name", "place", "junk", "said"),
    [
        (
            "openai",
            ("choices", 0, "logprobs", "content", 0, "top_logprobs", 2, "token"),
            7,
            r"choices\[0\]\.logprobs\.content\[0\]\.top_logprobs\[2\]\.token should be text, not 7",
        ),
        ("openai", ("choices",), "x", r"choices should be a list, not 'x'"),
        (
            "openai-batch",
            ("response", "body", "choices", 0, "logprobs", "content", 0, "token"),
            [],
            r"response\.body\.choices\[0\]\.logprobs\.content\[0\]\.token should be text, not \[\]",
        ),
        (
            "openai-legacy",
            ("choices", 0, "logprobs", "top_logprobs", 0, "B"),
            "x",
            r"choices\[0\]\.logprobs\.top_logprobs\[0\]\[\.\.\.\] should be a number",
        ),
        (
            "sglang",
            ("meta_info", "output_top_logprobs", 0, 1, 0),
            "x",
            r"meta_info\.output_top_logprobs\[0\]\[1\]\[0\] should be a number, not 'x'",
        ),
        ("ollama", ("logprobs",), 7, r"logprobs should be a list, not 7"),
        (
            "llama-cpp",
            ("completion_probabilities", 0, "top_logprobs", 0, "id"),
            0.5,
            r"completion_probabilities\[0\]\.top_logprobs\[0\]\.id should be a whole number, not 0\.5",
        ),
        (
            "gemini",
            ("candidates", 0, "logprobsResult", "topCandidates", 0, "candidates", 1, "logProbability"),
            10**400,
            r"candidates\[0\]\.logprobsResult\.topCandidates\[0\]\.candidates\[1\]\.logProbability should be a number",
        ),
    ],
)
def test_the_field_that_is_wrong_is_named_by_its_path_and_its_row(
    tmp_path: Path, name: str, place: tuple[Any, ...], junk: Any, said: str
) -> None:
    record = deepcopy(SERVERS[name][0])
    home = record
    for step in place[:-1]:
        home = home[step]
    home[place[-1]] = junk
    path = write_lines(tmp_path / "a.jsonl", [SERVERS[name][0], record])
    with pytest.raises(FileError, match=said) as error:
        produced(path, name, answers=["A", "B"])
    assert error.value.row == 2


@pytest.mark.parametrize(
    ("name", "junk"), [("n_classes", 1.5), ("n_classes", True), ("outcome", 7), ("case", "\ud83d")]
)
def test_no_field_of_a_later_record_is_changed_to_fit_those_before(tmp_path: Path, name: str, junk: Any) -> None:
    sound = SERVERS["openai"][0]
    path = write_lines(tmp_path / "a.json", [sound] * 20)
    path.write_text(path.read_text() + json.dumps({**sound, name: junk}) + "\n")
    with pytest.raises(FileError, match=rf"'{name}' is") as error:
        produced(path, "openai", answers=["A", "B"])
    assert error.value.row == 21


@pytest.mark.parametrize("form", ["lines", "array"])
def test_half_a_character_in_place_of_a_number_is_refused(tmp_path: Path, form: str) -> None:
    record = deepcopy(SERVERS["openai"][0])
    record["choices"][0]["logprobs"]["content"][0]["top_logprobs"][2]["bytes"][0] = "\ud83d"
    sound, odd = json.dumps(SERVERS["openai"][0]), json.dumps(record)
    (tmp_path / "a.json").write_text(f"{sound}\n{odd}\n" if form == "lines" else f"[{sound}, {odd}]")
    with pytest.raises(FileError, match=r"no answer of the server: .*half a character in it") as error:
        produced(tmp_path / "a.json", "openai", answers=["A", "B"])
    assert error.value.row == 2


def test_no_list_of_another_position_is_read_for_a_text(tmp_path: Path) -> None:
    record = deepcopy(SERVERS["openai"][0])
    record["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = "\0" + "0"
    path = write_lines(tmp_path / "a.jsonl", [SERVERS["openai"][0], record])
    with pytest.raises(FileError, match=r"top_logprobs should be a list, not '.*0'") as error:
        produced(path, "openai", answers=["A", "B"])
    assert error.value.row == 2


@pytest.mark.parametrize("form", ["lines", "array", "object"])
@pytest.mark.parametrize("name", [*SERVERS, "timm"])
def test_a_field_that_is_there_twice_is_refused_in_every_form_of_file(tmp_path: Path, name: str, form: str) -> None:
    sound = json.dumps(DOCUMENTS[name][0])
    twice = f'{{"question_id": "a", "question_id": "b", {sound[1:]}'
    text = {"lines": f"{sound}\n{twice}\n", "array": f"[{sound},\n{twice}]", "object": twice}[form]
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FileError, match="the field 'question_id' is there twice"):
        produced(tmp_path / "a.json", name, answers=["A", "B"])


@pytest.mark.parametrize("lacks", [("prob_0",), ("prob_0", "index_1"), ("prob_1", "index_0")])
def test_ranks_that_are_missing_are_never_closed_up(tmp_path: Path, lacks: tuple[str, ...]) -> None:
    path = write_lines(tmp_path / "a.json", [{k: v for k, v in RANKS.items() if k not in lacks}])
    with pytest.raises(FileError):
        produced(path, "timm")
