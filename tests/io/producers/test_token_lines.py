"""What Arrow reads of lines with tokens is what is read of them one by one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.damage import damaged
from tests.io.producers.reading import produced
from tests.io.producers.token_oracle import Listed
from toplist.io.producers import servers as reading

TOP = [Listed(text, math.log(p), text.encode()) for text, p in (("A", 0.5), ("B", 0.3), ("x", 0.1))]
TWICE = [*TOP, Listed("A", math.log(0.05), b"a"), Listed("A", math.log(0.5), b"A")]
DOCUMENTS = [
    servers.chat([("A", TOP), ("x", TOP)], question_id="q", n_classes=2),
    servers.chat([("A", TWICE)], question_id="q", n_classes=2),
    servers.batch([("A", TOP)], "q"),
    servers.failed("q"),
]
SPACE = tl.AnswerSpace(["A", "B"])


def read(path: Any, **options: Any) -> Any:
    """What is made of a file, or why it is refused."""
    try:
        return produced(path, "openai", **options)
    except tl.TopListError as error:
        return str(error)


def line_by_line(path: Any, **options: Any) -> Any:
    """The same without Arrow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "parsed", lambda *_, **__: None)
        return read(path, **options)


@given(
    st.lists(damaged(DOCUMENTS) | st.sampled_from(DOCUMENTS).map(json.dumps), min_size=1, max_size=3),
    st.sampled_from([0, 1]),
    st.sampled_from([SPACE, None]),
)
def test_a_file_gives_the_same_in_columns_and_line_by_line(tmp_path_factory, lines, position, space):
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_text("\n".join([json.dumps(DOCUMENTS[0])] * 25 + lines) + "\n")
    options = {"answers": space, "position": position}
    found, expected = read(path, **options), line_by_line(path, **options)
    if not isinstance(expected, str):  # what is wrong after the answer, or in bytes that nothing asks for, is not seen
        assert found == expected


@pytest.mark.parametrize("space", [SPACE, None], ids=["answers", "tokens"])
@pytest.mark.parametrize(
    "token",
    [
        '{"token": "A", "token": "B"}',
        '{"logprob": -1}',
        '{"token": null}',
        '{"token": 5}',
        '{"token": "\\ud800"}',
        '{"token": "\\udc00\\ud800"}',
        '{"token": "\\x"}',
        '{"token": "A", "logprob": "-1"}',
        '{"token": "A", "logprob": NaN}',
        '{"token": "A", "logprob": -Infinity}',
        '{"token": "A", "logprob": 01}',
        '{"token": "A", "logprob": 1.}',
        '{"token": "A", "logprob": .5}',
        '{"token": "A", "logprob": +1}',
        '{"token": "A", "logprob": 1e}',
        '{"token": "A",}',
        "null",
        "[]",
        '{"token": "A", "logprob": -1, "bytes": [65]}, {"token": "A", "logprob": -2, "bytes": [256]}',
        '{"token": "A", "logprob": -1, "bytes": [65]}, {"token": "A", "logprob": -2, "bytes": [65.0]}',
    ],
)
def test_what_is_unusual_is_read_as_line_by_line(token: str, space: Any, tmp_path: Path) -> None:
    line = '{"choices": [{"logprobs": {"content": [{"top_logprobs": [%s]}]}}]}'
    sound = line % '{"token": "A", "logprob": -1}'
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([sound] * 25 + [line % token]) + "\n")
    assert read(path, answers=space) == line_by_line(path, answers=space)


def test_a_field_that_is_there_twice_after_the_first_records_is_refused(tmp_path: Path) -> None:
    sound = json.dumps(DOCUMENTS[0])
    path = tmp_path / "a.jsonl"
    path.write_text(f"{sound}\n" * 25 + f'{{"question_id": "p", {sound[1:]}\n')
    assert "row 26: the field 'question_id' is there twice" in read(path, answers=SPACE)
