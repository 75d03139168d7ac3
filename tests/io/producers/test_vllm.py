from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.reading import produced, write_lines
from tests.io.producers.test_servers import REAL, SPACE, TOP, lists_of
from toplist.io.options import ReadOptions
from toplist.io.producers import load
from toplist.io.producers.base import Request


@dataclass
class Logprob:
    """vllm.logprobs.Logprob."""

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class FlatLogprobs:
    """vllm.logprobs.FlatLogprobs: the columns, which are lists, or arrays in later versions."""

    start_indices: list[int] = field(default_factory=list)
    end_indices: list[int] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ranks: list[int | None] = field(default_factory=list)
    decoded_tokens: list[str | None] = field(default_factory=list)


def dictionary(tokens, sampled=0):
    """A position: the sampled token first, then the most probable ones; a token has one entry."""
    entries = {at: Logprob(t.logprob, at + 1, t.text) for at, t in enumerate(tokens)}
    return {sampled: entries[sampled], **entries}


def flat(*positions, ids_as=list):
    made = FlatLogprobs()
    for tokens, sampled in positions:
        made.start_indices.append(len(made.token_ids))
        for at in (sampled, *range(len(tokens))):  # the sampled token is there twice
            made.token_ids.append(at)
            made.logprobs.append(tokens[at].logprob)
            made.ranks.append(at + 1)
            made.decoded_tokens.append(tokens[at].text)
        made.end_indices.append(len(made.token_ids))
    made.token_ids, made.logprobs = ids_as(made.token_ids), ids_as(made.logprobs)
    return made


def output(logprobs, request_id="0"):
    return SimpleNamespace(request_id=request_id, outputs=[SimpleNamespace(text="", logprobs=logprobs)])


def lists(data, space=SPACE, **options):
    reader = load("vllm").open(Request("data", ReadOptions(answers=space, producer="vllm", **options), data=data))
    return [row for piece in reader.batches for row in piece.table.to_pylist()], reader.notes


@pytest.mark.parametrize("sampled", range(len(TOP)))
@pytest.mark.parametrize("form", ["dictionaries", "flat", "arrays"])
def test_a_sampled_token_of_the_list_counts_once_wherever_it_belongs(sampled, form):
    if form == "dictionaries":
        logprobs = [dictionary(TOP, sampled)]
    else:
        logprobs = flat((TOP, sampled), ids_as=np.array if form == "arrays" else list)
    rows, _ = lists([output(logprobs), output(logprobs)])
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)] * 2
    assert [row.get("case") for row in rows] == [None, None]


@pytest.mark.parametrize("form", ["dictionaries", "flat"])
def test_a_sampled_token_from_outside_the_list_is_not_listed(form):
    if form == "dictionaries":
        logprobs = [{99: Logprob(-12.0, 4711, "Yes"), **dictionary(TOP)}]
    else:
        logprobs = flat((TOP, 0))
        logprobs.token_ids[0], logprobs.logprobs[0], logprobs.ranks[0] = 99, -12.0, 4711
    rows, notes = lists([logprobs])
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    assert any("the first token is smaller than all others" in note for note in notes)


def test_positions_and_texts_are_chosen_among_those_of_a_request():
    before = servers_before()
    for logprobs in ([dictionary(before), dictionary(TOP)], flat((before, 0), (TOP, 0))):
        rows, _ = lists([output(logprobs)], position=1)
        assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
        rows, _ = lists([output(logprobs)], position="Answer:")
        assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]


def servers_before():
    from tests.io.producers.test_servers import BEFORE

    return BEFORE[1]


def test_tokens_without_texts_are_found_by_their_ids():
    space = tl.AnswerSpace({"yes": [2], "no": [0, 4, 7]})
    logprobs = flat((TOP, 2))
    logprobs.decoded_tokens = [None] * len(logprobs.token_ids)
    rows, _ = lists([logprobs], space)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]


def test_rows_of_the_engine_are_read():
    class Rows(FlatLogprobs):
        def rows(self):
            return ids, values, np.ones(len(ids), np.int64)

    ids = np.arange(6, dtype=np.int32).reshape(2, 3)
    values = np.log(np.array([[0.5, 0.3, 0.1], [0.6, 0.2, 0.1]], np.float32))
    rows, _ = lists([Rows(decoded_tokens=list("abcdef"))], tl.AnswerSpace({"d": ["d"], "f": [5]}), position=1)
    assert lists_of(rows) == [pytest.approx({"d": 0.6, "f": 0.1, "OTHER": 0.3}, abs=1e-7)]


def test_log_probabilities_of_labels_that_were_asked_for_are_exact_and_all_stay():
    tokens = {
        at: Logprob(math.log(p), None, text)
        for at, (text, p) in enumerate([("Yes", 0.01), ("No", 0.02), ("Maybe", 0.9)])
    }
    rows, notes = lists([[tokens]], tl.AnswerSpace({"yes": ["Yes"], "no": ["No"], "maybe": ["Maybe"]}))
    assert lists_of(rows) == [pytest.approx({"yes": 0.01, "no": 0.02, "maybe": 0.9, "OTHER": 0.07}, abs=1e-15)]
    assert any("tokens that were asked for" in note for note in notes)


def test_one_list_of_labels_that_were_asked_for_tells_that_all_are():
    def asked(*p):
        return [
            {
                at: Logprob(math.log(x), None, text)
                for at, (text, x) in enumerate(zip(("Yes", "No", "Maybe"), p, strict=True))
            }
        ]

    space = tl.AnswerSpace({"yes": ["Yes"], "no": ["No"], "maybe": ["Maybe"]})
    rows, _ = lists([asked(0.01, 0.9, 0.05), asked(0.01, 0.05, 0.9)], space)
    assert lists_of(rows)[0] == pytest.approx({"yes": 0.01, "no": 0.9, "maybe": 0.05, "OTHER": 0.04}, abs=1e-15)


def test_logits_in_the_place_of_log_probabilities_are_refused():
    with pytest.raises(tl.TopListError, match=r"above zero.*logprobs_mode"):
        lists([[{1: Logprob(17.0, 1, "Yes"), 2: Logprob(15.0, 2, "No")}]])


def test_a_request_without_log_probabilities_is_refused_with_the_remedy():
    with pytest.raises(tl.TopListError, match=r"row 1: .* it has no logprobs\. Ask for them: SamplingParams"):
        lists([output(None, "7")])


def test_the_json_of_its_server_is_read_by_the_same_name(tmp_path):
    rows, _ = produced(write_lines(tmp_path / "a.jsonl", [servers.chat([("No", TOP)])]), "vllm", answers=SPACE)
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]
    rows, _ = lists([servers.chat([("No", TOP)])])
    assert lists_of(rows) == [pytest.approx(REAL, abs=1e-15)]


def test_what_is_no_output_of_vllm_is_refused():
    for odd in (3, "text", [3]):
        with pytest.raises(tl.TopListError, match=r"3|text"):
            lists(odd)
