"""Answers of every server without ids: matched by position only where that is asked for; more is in the transcripts."""

import json
import math

import pytest

from tests.cli.messages import said
from tests.io.producers.reading import write_lines
from tests.io.producers.test_servers import SHAPES
from tests.io.producers.token_oracle import Listed


def answer(letter):
    """A certain answer at one position."""
    other = "B" if letter == "A" else "A"
    return [(letter, [Listed(letter, math.log(0.9), letter.encode()), Listed(other, math.log(0.1), other.encode())])]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("first", [0, 1])
def test_places_are_no_ids_of_the_truth(name, first, tmp_path):
    """The answers in the order of the truth, whose ids look like places; further columns of the server are no ids."""
    path = write_lines(tmp_path / "a.jsonl", [SHAPES[name](answer(letter)) for letter in "ABAB"])
    rows = [f"{first + 3 - at},{letter}\n" for at, letter in enumerate("ABAB")]
    (tmp_path / "y.csv").write_text("id,answer\n" + "".join(rows))
    (tmp_path / "answers.json").write_text('["A", "B"]')
    words = ("score", path, "--truth", tmp_path / "y.csv", "--read", f"answers={tmp_path / 'answers.json'}", "--json")
    for missing in ("error", "common"):
        code, told = said(*words, "--missing", missing)
        assert code
        assert "there is no column with case ids" in told
        assert "--read by_position" in told
    assert json.loads(said(*words, "--read", "by_position")[1])["mean"]["log"] == pytest.approx(-math.log(0.9))
