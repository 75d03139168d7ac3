from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers.token_oracle import Listed, answer_list
from toplist.core import flags
from toplist.io.answers import OTHER
from toplist.io.producers.tokens import Position, Positions, Summary, Token, mass_notes
from toplist.io.top_tokens import TopTokens

YES_NO = {"yes": ["Yes", "yes", "YES", " Yes"], "no": ["No", "no", "NO", " No"]}
# What a chat model lists where a question is to be answered with Yes or No.
CHAT = ["No", "<think>", "Yes", "Answer", "no", "The", "N", "NO", "**"]
CHAT_P = [0.52, 0.21, 0.09, 0.05, 0.04, 0.02, 0.012, 0.011, 0.003]


def top_tokens(*cases: list[Listed]) -> TopTokens:
    tokens = [token for case in cases for token in case]
    offsets = np.cumsum([0, *map(len, cases)])
    logs = np.array([math.nan if t.logprob is None else t.logprob for t in tokens], float)
    keys = [t.key for t in tokens]
    raw = None if all(key is None for key in keys) else pa.array(keys, pa.binary())
    return TopTokens(offsets, pa.array([t.text for t in tokens], pa.string()), logs, raw=raw)


def listed(texts, p):
    return [Listed(text, math.log(x)) for text, x in zip(texts, p, strict=True)]


def made(space, *cases, **options):
    out = space.lists(top_tokens(*cases), **options)
    parts = zip(out.offsets[:-1], out.offsets[1:], strict=True)
    names = out.classes.to_pylist()
    return [dict(zip(names[a:b], out.confidences[a:b], strict=True)) for a, b in parts], out


def as_lists(space, out):
    classes = [*space.answers, OTHER]
    codes = np.array([classes.index(name) for name in out.classes.to_pylist()], np.int64)
    return tl.TopLists.from_ragged(out.offsets, codes, out.confidences, out.n_classes.tolist())


def test_a_real_list_of_a_chat_model_gives_the_sums_of_the_variants_and_all_the_rest_to_OTHER():
    (one,), out = made(tl.AnswerSpace(YES_NO), listed(CHAT, CHAT_P))
    assert one == pytest.approx({"yes": 0.09, "no": 0.52 + 0.04 + 0.011, OTHER: 1 - 0.661}, abs=1e-15)
    assert out.answer_mass == pytest.approx([0.661], abs=1e-15)
    assert out.n_classes.tolist() == [3]


def test_a_real_list_of_a_chat_model_without_OTHER_is_divided_by_the_mass_on_answers():
    for other in ("unlisted", "normalize"):
        (one,), out = made(tl.AnswerSpace(YES_NO, other=other), listed(CHAT, CHAT_P))
        assert one == pytest.approx({"yes": 0.09 / 0.661, "no": 0.571 / 0.661}, abs=1e-15)
        assert out.counts["normalized"] == (other == "unlisted")
        assert out.n_classes.tolist() == [2]


def test_an_answer_that_is_not_listed_has_at_most_the_smallest_listed_probability():
    space = tl.AnswerSpace({**YES_NO, "maybe": ["Maybe"]})
    (one,), _ = made(space, listed(CHAT, CHAT_P))
    assert one == pytest.approx({"yes": 0.09, "no": 0.571, OTHER: 1 - 0.661 - 0.003}, abs=1e-15)
    assert 1 - sum(one.values()) == pytest.approx(0.003, abs=1e-15)  # what maybe has


def test_without_other_tokens_OTHER_is_one_of_the_classes_that_are_not_listed():
    (one,), out = made(tl.AnswerSpace({**YES_NO, "maybe": ["Maybe"]}), listed(["No", "Yes"], [0.9, 0.08]))
    assert one == pytest.approx({"yes": 0.08, "no": 0.9}, abs=1e-15)
    assert out.n_classes.tolist() == [4]  # maybe and OTHER share 0.02


def test_mass_that_no_answer_can_have_is_OTHER_even_if_no_other_token_is_listed():
    (one,), _ = made(tl.AnswerSpace({**YES_NO, "maybe": ["Maybe"]}), listed(["No", "Yes"], [0.5, 0.05]))
    assert one == pytest.approx({"yes": 0.05, "no": 0.5, OTHER: 0.45 - 0.05}, abs=1e-15)


LOGPROBS = st.floats(-60, 0) | st.floats(-3, 0) | st.sampled_from([0.0, -1e-7, -30.0, -9999.0, -100.0, None])
TEXTS = st.sampled_from(
    ["A", " A", "(A", "B", " B", "C", "D", "a", "The", "<think>", "**", "}]}]", '}]}, {"token"', "\\", "é\n"]
)


@st.composite
def server_lists(draw):
    """Lists of the most probable tokens: they fall, sum to at most one, and have marks, repeats and an intruder."""
    k = draw(st.integers(0, 12))
    weights = sorted((draw(st.floats(1e-12, 1)) for _ in range(k)), reverse=True)
    share = draw(st.sampled_from([1.0, 0.999999, 0.9, 0.3]) | st.floats(0.01, 1)) / max(math.fsum(weights), 1e-12)
    tokens = [
        Listed(text, float(np.float32(math.log(w * share))), text.encode() + bytes([at]))
        for at, (w, text) in enumerate(zip(weights, draw(st.lists(TEXTS, min_size=k, max_size=k)), strict=True))
        if w * share > 1e-290
    ]
    if tokens and draw(st.booleans()):
        tokens.insert(draw(st.integers(0, len(tokens))), Listed("C", draw(st.sampled_from([None, -9999.0, -100.0]))))
    if len(tokens) > 1 and draw(st.booleans()):
        tokens.append(tokens[-1])  # twice, by its bytes
    if tokens and tokens[-1].logprob is not None and draw(st.booleans()):
        tokens.insert(0, Listed("D", tokens[-1].logprob - 1, b"sampled"))
    return tokens


SPACES = {other: tl.AnswerSpace({"A": ["A", " A", "(A", "a"], "B": ["B", " B"], "C": ["C"], "D": ["D"]}, other=other)
          for other in ("class", "unlisted", "normalize")}  # fmt: skip


@given(st.lists(server_lists(), min_size=1, max_size=5), st.sampled_from(["class", "unlisted", "normalize"]))
def test_lists_are_those_of_plain_python(cases, other):
    found, out = made(SPACES[other], *cases)
    for one, tokens, m, mass in zip(found, cases, out.n_classes, out.answer_mass, strict=True):
        expected = answer_list(tokens, SPACES[other].variants, other)
        assert one == pytest.approx(expected.confidences, rel=1e-12, abs=1e-15)
        assert 1 - math.fsum(one.values()) == pytest.approx(expected.unlisted, rel=1e-9, abs=2e-15)
        assert m == expected.n_classes
        assert mass == pytest.approx(math.nan if expected.answer_mass is None else expected.answer_mass, nan_ok=True)


@given(st.lists(server_lists(), min_size=1, max_size=5), st.sampled_from(["class", "normalize"]))
def test_lists_with_OTHER_and_conditional_lists_are_valid_and_have_finite_log_scores(cases, other):
    space = SPACES[other]
    _, out = made(space, *cases)
    lists = as_lists(space, out)
    assert not lists.checked.any(flags.INVALID)
    for outcome in range(len(space.classes)):
        assert np.isfinite(tl.score(lists, np.full(len(cases), outcome), rule="log")).all()


@given(server_lists())
def test_no_absent_answer_exceeds_the_smallest_listed_token_or_the_rest(tokens):
    (one,), out = made(SPACES["class"], tokens)
    from tests.io.producers.token_oracle import kept

    counted = kept(tokens)
    if not counted:
        return
    p = [math.exp(t.logprob) for t in counted]
    hidden = int(out.n_classes[0]) - len(one)
    if hidden:
        share = (1 - math.fsum(one.values())) / hidden
        floor = 2.0**-24 / (int(out.n_classes[0]) - 1)
        assert share <= max(min(p) * (1 + 1e-9), floor) + 1e-15
        assert share * hidden <= max(1 - math.fsum(p), 2.0**-24) + 1e-15


EXTREMES = st.lists(st.floats(-99.9, 0) | st.floats(-45, -30) | st.floats(-1e-6, 0), min_size=1, max_size=7)


@given(EXTREMES, st.sampled_from(["class", "unlisted", "normalize"]), st.randoms(use_true_random=False))
def test_an_outcome_that_is_not_listed_costs_at_most_the_log_of_2_to_the_24_and_its_share(logs, other, random):
    space = tl.AnswerSpace({answer: [answer] for answer in "ABCDE"}, other=other)
    excess = max(0.0, math.log(math.fsum(map(math.exp, logs))))
    logs = sorted((max(x - excess, -99.9) for x in logs), reverse=True)
    texts = random.sample(["A", "B", "C", "D", "E", "x", "y"], len(logs))
    (one,), out = made(space, [Listed(text, float(np.float32(x))) for text, x in zip(texts, logs, strict=True)])
    lists = as_lists(space, out)
    assert other == "unlisted" or not lists.checked.any(flags.INVALID)
    m = len(space.classes)
    for outcome in set(range(m)) - {space.classes.index(name) for name in one}:
        assert tl.score(lists, [outcome], rule="log")[0] <= math.log(2.0**24 * (m - 1)) + 1e-6 or not one


@pytest.mark.parametrize(
    ("other", "listed"),
    [
        ("class", [("A", -0.0725), ("B", -2.66), ("C", -36.0), ("D", -37.0)]),
        ("class", [("A", -1e-6), ("B", -14.0), ("x", -30.0), ("C", -36.0), ("D", -37.0)]),
        ("normalize", [("A", -0.11), ("B", -2.29), ("C", -12.54), ("x", -20.0), ("D", -36.0)]),
    ],
)
def test_the_answer_that_is_not_listed_has_some_probability_beside_very_small_ones(other, listed):
    space = tl.AnswerSpace({answer: [answer] for answer in "ABCDE"}, other=other)
    _, out = made(space, [Listed(*pair) for pair in listed])
    lists = as_lists(space, out)
    assert tl.score(lists, [4], rule="log")[0] == pytest.approx(math.log(2.0**24 * (len(space.classes) - 1)), abs=1e-6)
    assert not lists.checked.any(flags.INVALID)


def test_an_answer_that_is_not_listed_costs_the_same_whatever_a_sure_model_lists_besides():
    space = tl.AnswerSpace({answer: [answer] for answer in "ABCD"})
    _, out = made(space, [Listed("A", 0.0)], [Listed("A", -1e-9), Listed("B", -46.0)])
    alone, beside = tl.score(as_lists(space, out), [2, 2], rule="log")
    assert alone == pytest.approx(26 * math.log(2)) == beside


# Traps of lists of tokens


@pytest.mark.parametrize("mark", [None, math.nan, -math.inf, -9999.0, -3.4028235e38, -100.0])
def test_a_mark_is_no_log_probability_and_its_token_is_not_listed(mark):
    plain, marked = listed(["No", "The"], [0.9, 0.05]), [*listed(["No", "The"], [0.9, 0.05]), Listed("Yes", mark)]
    (without,), _ = made(tl.AnswerSpace(YES_NO), plain)
    (one,), out = made(tl.AnswerSpace(YES_NO), marked)
    assert one == without
    assert out.counts["marked"] == 1


def test_a_token_that_is_listed_twice_by_its_bytes_counts_once():
    tokens = [
        Listed("No", math.log(0.5), b"No"),
        Listed("Yes", math.log(0.2), b"Yes"),
        Listed("Yes", math.log(0.2), b"Yes"),
    ]
    (one,), out = made(tl.AnswerSpace(YES_NO), tokens)
    assert one["yes"] == pytest.approx(0.2)
    assert out.counts["twice"] == 1


def test_tokens_with_the_same_text_and_other_bytes_are_added():
    tokens = [
        Listed("No", math.log(0.5), b"No"),
        Listed("Yes", math.log(0.2), b"Yes"),
        Listed("Yes", math.log(0.1), b"Y\xffes"),
    ]
    (one,), out = made(tl.AnswerSpace(YES_NO), tokens)
    assert one["yes"] == pytest.approx(0.3)
    assert not out.counts["twice"]


def test_tokens_with_the_same_text_and_no_bytes_or_ids_are_added():
    (one,), _ = made(tl.AnswerSpace(YES_NO), listed(["No", "Yes", "Yes"], [0.5, 0.2, 0.1]))
    assert one["yes"] == pytest.approx(0.3)


def test_ids_tell_tokens_apart_where_there_are_ids():
    tokens = TopTokens(np.array([0, 3]), pa.array(["No", "Yes", "Yes"]), np.log([0.5, 0.2, 0.2]), np.array([1, 2, 2]))
    out = tl.AnswerSpace(YES_NO).lists(tokens)
    assert dict(zip(out.classes.to_pylist(), out.confidences, strict=True))["yes"] == pytest.approx(0.2)


def test_a_sampled_token_from_outside_the_list_is_not_listed():
    (one,), out = made(tl.AnswerSpace(YES_NO), listed(["Yes", "No", "The", "N"], [0.001, 0.5, 0.3, 0.1]))
    assert out.counts["sampled"] == 1
    assert one == pytest.approx({"no": 0.5, OTHER: 0.4 + 0.1 - 0.1}, abs=1e-15)  # yes has at most 0.1


def test_a_sampled_token_before_the_list_that_belongs_to_it_stays():
    (one,), out = made(tl.AnswerSpace(YES_NO), listed(["Yes", "No", "The", "N"], [0.2, 0.5, 0.1, 0.1]))
    assert one == pytest.approx({"yes": 0.2, "no": 0.5, OTHER: 0.3}, abs=1e-15)
    assert not out.counts["sampled"]


def test_tokens_that_were_asked_for_are_in_any_order_and_all_stay():
    (one,), out = made(tl.AnswerSpace(YES_NO), listed(["Yes", "N", "The", "No"], [0.01, 0.1, 0.2, 0.5]))
    assert one == pytest.approx({"yes": 0.01, "no": 0.5, OTHER: 0.49}, abs=1e-15)
    assert out.counts["unsorted"] == 1


def test_logits_are_refused_with_the_remedy():
    with pytest.raises(
        tl.ConfidenceError, match=r"case 1: the log-probability of a token is 12.5, above zero.*logprobs_mode"
    ):
        made(tl.AnswerSpace(YES_NO), listed(["No"], [0.5]), [Listed("No", 12.5), Listed("Yes", 11.0)])


def test_negative_logits_are_refused_where_they_sum_to_more_than_one():
    with pytest.raises(tl.MassError, match=r"case 0: the probabilities of the listed tokens sum to 1\.5"):
        made(tl.AnswerSpace(YES_NO), [Listed("No", math.log(0.8)), Listed("Yes", math.log(0.75))])


def test_rounding_of_single_precision_is_forgiven():
    (one,), _ = made(tl.AnswerSpace(YES_NO), [Listed("No", 3e-8), Listed("Yes", -18.5)])
    assert one["no"] == pytest.approx(1, abs=1e-7)
    assert one["no"] < 1


# Answers and their tokens


def test_the_usual_tokens_of_an_answer_are_found():
    space = tl.AnswerSpace("ABCD")
    for token in ("A", " A", "(A", "A)", "**A", "a", " (A", "(A)", "A.", "\nA", "ĠA", "▁A", " a"):
        assert space.answer_of(token) == "A", token
    for token in ("AB", "And", "E", "", "(", "Answer"):
        assert space.answer_of(token) is None, token


def test_the_usual_tokens_of_yes_and_no_are_those_of_the_real_list():
    space = tl.AnswerSpace(["Yes", "No"])
    assert [space.answer_of(token) for token in CHAT] == ["No", None, "Yes", None, "No", None, None, "No", None]


def test_lower_case_stands_for_an_answer_only_where_it_is_no_other_one():
    space = tl.AnswerSpace(["A", "a", "B"])
    assert [space.answer_of(token) for token in ("A", "a", "(a", "b")] == ["A", "a", "a", "B"]


def test_a_declared_token_beats_a_usual_one():
    space = tl.AnswerSpace({"A": None, "article": ["a", " a"]})
    assert [space.answer_of(token) for token in ("A", "a", " a", "(a")] == ["A", "article", "article", "A"]


def test_a_token_of_two_answers_is_refused():
    with pytest.raises(tl.TopListError, match="the token ' A' belongs to 'A' and to 'B': name it once"):
        tl.AnswerSpace({"A": ["A", " A"], "B": ["B", " A"]})
    with pytest.raises(tl.TopListError, match="belongs to 'A' and to 'B'"):
        tl.AnswerSpace({"A": ["A"], "B": [b"A"]})
    with pytest.raises(tl.TopListError, match="belongs to 'A' and to 'B'"):
        tl.AnswerSpace({"A": ["x"], "B": ["x "]}, strip=True)


def test_tokens_are_found_by_bytes_and_by_ids():
    space = tl.AnswerSpace({"A": [b"\xffA"], "B": [17], "C": ["C"]})
    assert space.answer_of("\ufffdA", b"\xffA") == "A"
    assert space.answer_of(None, token_id=17) == "B"
    assert space.answer_of("token_id:17") == "B"
    assert space.answer_of("token_id:18") is None
    assert space.answer_of("C", b"C", 3) == "C"


def test_blanks_around_tokens_are_ignored_where_that_is_asked_for():
    exact, loose = (tl.AnswerSpace({"A": ["A"], "B": ["B"]}, strip=strip) for strip in (False, True))
    assert [exact.answer_of(" A"), loose.answer_of(" A"), loose.answer_of("A\n")] == [None, "A", "A"]


@pytest.mark.parametrize(
    ("answers", "options", "problem"),
    [
        (["A"], {}, "at least two answers"),
        (["A", "A"], {}, "'A' is there twice"),
        ({"A": [], "B": ["B"]}, {}, "'A' has no token"),
        ({"A": [""], "B": ["B"]}, {}, "a token of 'A' is a text, bytes or a token id, not ''"),
        ({"A": [-1], "B": ["B"]}, {}, "not -1"),
        ({"A": [True], "B": ["B"]}, {}, "not True"),
        ({"A": 1.5, "B": ["B"]}, {}, "the tokens of 'A' are a list"),
        (["A", OTHER], {}, "OTHER is the class of all that is no answer"),
        (["A", " "], {}, "an answer is a text"),
        (3, {}, "answers are a mapping"),
        (["A", "B"], {"other": "klass"}, "Did you mean 'class'"),
        (["A", "B"], {"strip": 1}, "strip is True or False"),
        ({"A": [" "], "B": ["B"]}, {"strip": True}, "blank"),
    ],
)
def test_what_is_no_answer_space_is_refused(answers, options, problem):
    with pytest.raises(tl.TopListError, match=problem):
        tl.AnswerSpace(answers, **options)


def test_an_answer_space_is_the_same_after_it_was_saved(tmp_path):
    space = tl.AnswerSpace({"A": ["A", b"\xff", 7], "B": None, "é": ["é"]}, other="normalize", strip=True)
    space.save(tmp_path / "answers.json")
    again = tl.AnswerSpace.load(tmp_path / "answers.json")
    assert again == space
    assert hash(again) == hash(space)


@pytest.mark.parametrize(
    "value", [["A", "B"], {"A": ["A", " A"], "B": ["B"]}, {"answers": ["A", "B"], "other": "unlisted"}]
)
def test_plain_answers_are_read_from_a_file(value, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(value))
    space = tl.AnswerSpace.of(path)
    assert space.answers == ("A", "B")
    assert space.other == ("unlisted" if "other" in value else "class")


@pytest.mark.parametrize(
    "text", ["3", "{", '{"A": [[]], "B": ["B"]}', '{"A": [{"bytes": [300]}], "B": ["B"]}', '["A"]']
)
def test_a_file_that_is_no_answer_space_is_refused_by_its_name(text, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(text)
    with pytest.raises(tl.FileError, match=r"answers\.json"):
        tl.AnswerSpace.load(path)


# Cases with other numbers of answers


def test_the_number_of_answers_of_a_case_counts_from_the_first():
    space, tokens = tl.AnswerSpace("ABCD"), listed(["A", "D", "B"], [0.5, 0.3, 0.1])
    found, out = made(space, tokens, tokens, n_answers=np.array([4, 2]))
    assert found[0] == pytest.approx({"A": 0.5, "B": 0.1, "D": 0.3}, abs=1e-15)  # C and OTHER share 0.1
    assert found[1] == pytest.approx({"A": 0.5, "B": 0.1, OTHER: 0.4}, abs=1e-15)
    assert out.n_classes.tolist() == [5, 3]
    assert out.answer_mass == pytest.approx([0.9, 0.6])


def test_the_answers_of_a_case_may_be_named():
    space, tokens = tl.AnswerSpace("ABCD"), listed(["A", "D", "B"], [0.5, 0.3, 0.1])
    found, out = made(space, tokens, tokens, allowed=[["D", "A"], ["B", "C", "D"]])
    assert found[0] == pytest.approx({"A": 0.5, "D": 0.3, OTHER: 0.2}, abs=1e-15)
    assert found[1] == pytest.approx({"B": 0.1, "D": 0.3, OTHER: 0.5}, abs=1e-15)
    assert out.n_classes.tolist() == [3, 4]


def test_a_case_with_answers_that_are_not_declared_is_refused():
    space, tokens = tl.AnswerSpace("ABCD"), listed(["A"], [0.5])
    with pytest.raises(tl.CaseError, match="case 1: there are 5 answers"):
        made(space, tokens, tokens, n_answers=np.array([4, 5]))
    with pytest.raises(tl.CaseError, match="case 0: 'E' is none of the answers"):
        made(space, tokens, allowed=[["A", "E"]])
    with pytest.raises(tl.TopListError, match="or their names"):
        made(space, tokens, n_answers=np.array([2]), allowed=[["A", "B"]])


# Positions


def generated(*tokens):
    return [Position(text, [Token(text, math.log(0.5))]) for text in tokens]


def chosen(position, *cases):
    tokens, counts = Positions.of(cases).at(position)
    parts = zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
    return [tokens.text.to_pylist()[a:b] for a, b in parts], counts


def test_a_position_is_a_number_from_the_first_or_from_the_last_token():
    cases = generated("So", " B"), generated("C"), generated()
    assert chosen(0, *cases)[0] == [["So"], ["C"], []]
    assert chosen("1", *cases)[0] == [[" B"], [], []]
    assert chosen(-1, *cases)[0] == [[" B"], ["C"], []]
    assert chosen(1, *cases)[1] == {"no position": 2}


@pytest.mark.parametrize(
    ("tokens", "answer", "said"),
    [
        (["ANSWER", ":", " B"], " B", {}),
        (["I", " say", " ANS", "WER:", " ", "\n", "B", "."], "B", {}),
        (["ANSWER: ", "B"], "B", {}),
        (["ANSWER:", " A", " no, ANSWER:", " B"], " B", {"several": 1}),
        (["The", " answer", " is", " B"], None, {"no text": 1}),
        (["ANSWER", ": B"], None, {"inside": 1}),
        (["ANSWER:"], None, {"no position": 1}),
        ([], None, {"no text": 1}),
    ],
)
def test_the_token_after_a_text_is_the_first_that_is_not_blank_and_never_another_one(tokens, answer, said):
    (found,), counts = chosen("ANSWER:", generated(*tokens))
    assert found == ([] if answer is None else [answer])
    assert counts == said


def test_a_blank_text_is_no_position():
    with pytest.raises(tl.TopListError, match="this text is blank"):
        chosen(" ", generated("A"))


# What is said


def test_the_mass_on_declared_answers_is_said_with_a_warning_below_one_half():
    assert mass_notes(np.array([0.9, 0.83, 0.2])) == [
        "mass on declared answers: median 0.83, below 0.5 in 1 of 3 cases"
    ]
    low = mass_notes(np.array([0.1, 0.2]))
    assert len(low) == 2
    assert "the prompt was measured, not the model" in low[1]


def test_every_change_of_a_list_is_counted_and_said():
    summary = Summary("ANSWER:")
    kinds = ("no position", "no text", "inside", "several", "marked", "sampled", "twice", "normalized", "unsorted")
    summary.add(50, {**dict.fromkeys(kinds, 2), "empty": 9}, np.full(50, 0.7))
    notes = summary.notes()
    assert len(notes) == len(kinds) + 2  # empty lists that nothing else explains, and the mass
    assert sum(note.startswith(("2 ", "in 2 ")) for note in notes) == len(kinds)
    assert any("3 of 50 cases have no listed token" in note for note in notes)
