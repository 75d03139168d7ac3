"""Answers of servers without ids: matched by their position, and only where that is asked for or certain."""

import json
import math

import pytest
from typer.testing import CliRunner

from tests.io.producers import answers_of_servers as servers
from tests.io.producers.reading import write_lines
from tests.io.producers.token_oracle import Listed
from toplist.cli.app import app

SHAPES = {
    "openai": servers.chat,
    "openai-responses": servers.response,
    "openai-legacy": servers.legacy,
    "sglang": servers.sglang,
    "ollama": servers.ollama,
    "llama-cpp": servers.llama_cpp,
    "gemini": servers.gemini,
}
RIGHT, WRONG = pytest.approx(-math.log(0.9)), pytest.approx(-math.log(0.1))


def answer(letter):
    """A certain answer at one position."""
    other = "B" if letter == "A" else "A"
    return [(letter, [Listed(letter, math.log(0.9), letter.encode()), Listed(other, math.log(0.1), other.encode())])]


def called(command, *arguments):
    path = arguments[0].parent / "answers.json"
    path.write_text('["A", "B"]')
    return CliRunner().invoke(app, [command, *map(str, arguments), "--answers", str(path), "--json"])


def mean_log(done):
    """The mean log score: RIGHT where all answers are right."""
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["mean"]["log"]


def truth(path, rows):
    path.write_text("\n".join(["id,answer", *(f"{name},{outcome}" for name, outcome in rows), ""]))
    return path


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("first", [0, 1])
def test_places_are_no_ids_of_the_truth(name, first, tmp_path):
    """The answers in the order of the truth, whose ids look like places; further columns of the server are no ids."""
    path = write_lines(tmp_path / "a.jsonl", [SHAPES[name](answer(letter)) for letter in "ABAB"])
    ids = truth(tmp_path / "y.csv", zip(reversed(range(first, first + 4)), "ABAB", strict=True))
    for missing in ("error", "common"):
        done = called("score", path, "--truth", ids, "--missing", missing)
        assert done.exit_code
        assert "there is no column with case ids" in done.output
        assert "--by-position" in done.output
    assert mean_log(called("score", path, "--truth", ids, "--by-position")) == RIGHT


def test_chunks_of_ollama_are_counted_by_answers(tmp_path):
    chunks = [one for letter in "ABAB" for one in servers.ollama_chunks(answer(letter) + answer("A"))]
    path = write_lines(tmp_path / "a.jsonl", chunks)
    more = truth(tmp_path / "more.csv", enumerate("ABABABABABAB", 1))
    assert called("score", path, "--truth", more, "--missing", "common").exit_code
    done = called("score", path, "--truth", more, "--missing", "common", "--by-position")
    assert "the same number of rows" in done.output
    assert (
        mean_log(called("score", path, "--truth", truth(tmp_path / "y.csv", enumerate("ABAB")), "--by-position"))
        == RIGHT
    )


def test_two_runs_are_matched_by_position_where_their_outcomes_agree(tmp_path):
    def run(name, letters, outcomes):
        """Times are unique in each run, and the same in both for other questions."""
        both = enumerate(zip(letters, outcomes, strict=True), len(name))
        return write_lines(
            tmp_path / f"{name}.jsonl",
            [servers.chat(answer(letter), target=outcome, created=at) for at, (letter, outcome) in both],
        )

    one, two = run("x", "ABAB", "AABB"), run("yy", "AABB", "AABB")
    done = called("compare", one, two)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["compared"] == 4
    assert "cases go by the order of the records" in done.output
    done = called("compare", one, run("z", "AAB", "AAB"))
    assert "without case ids, all files need the same number of rows" in done.output
    done = called("compare", one, run("w", "AABB", "ABAB"))
    assert "the outcome of row 2 is 'A'" in done.output


def test_after_a_request_that_failed_positions_are_unknown(tmp_path):
    records = [servers.ollama(answer(letter), target=letter) for letter in "ABA"]
    broken = write_lines(tmp_path / "a.jsonl", [records[0], {"error": "too many"}, records[2]])
    whole = write_lines(tmp_path / "b.jsonl", records[:2])
    for done in (called("compare", broken, whole), called("compare", whole, broken)):
        assert "1 request failed, and without case ids it is not known" in done.output
    assert mean_log(called("score", broken)) == RIGHT


def test_the_id_of_a_response_is_not_matched_to_that_of_the_truth(tmp_path):
    records = [servers.chat(answer(letter), id=f"chatcmpl-{at}") for at, letter in enumerate("AB")]
    path = write_lines(tmp_path / "a.jsonl", records)
    ids = truth(tmp_path / "y.csv", [("chatcmpl-1", "A"), ("chatcmpl-0", "B")])
    assert "there is no column with case ids" in called("score", path, "--truth", ids).output
    assert mean_log(called("score", path, "--truth", ids, "--case", "id")) == WRONG
