from __future__ import annotations

import json
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers.token_oracle import Listed, answer_list
from toplist.core import flags
from toplist.io.answers import OTHER
from toplist.io.producers.tokens import Position, Token, as_position, chosen
from toplist.io.producers.top_tokens import TopTokens, answer_lists, notes_on

YES_NO = {"yes": ["Yes", "yes", "YES", " Yes"], "no": ["No", "no", "NO", " No"]}
SPACE = tl.AnswerSpace(YES_NO)
# What a chat model lists where a question is to be answered with Yes or No.
CHAT = ["No", "<think>", "Yes", "Answer", "no", "The", "N", "NO", "**"]
CHAT_P = [0.52, 0.21, 0.09, 0.05, 0.04, 0.02, 0.012, 0.011, 0.003]


def as_tokens(case: list[Listed]) -> list[Token]:
    return [Token(t.text, t.logprob, bytes=None if t.key is None else list(t.key)) for t in case]


def listed(texts, p):
    return [Listed(text, math.log(x)) for text, x in zip(texts, p, strict=True)]


def made(space, *cases, **options):
    columns, counts = answer_lists(TopTokens.of(map(as_tokens, cases), space), space, **options)
    lists = zip(columns["classes"].to_pylist(), columns["confidences"].to_pylist(), strict=True)
    out = SimpleNamespace(counts=counts, **{name: column.to_pylist() for name, column in columns.items()})
    return [dict(zip(*one, strict=True)) for one in lists], out


def as_lists(space, out):
    classes = [*space.answers, OTHER]
    codes = [classes.index(name) for names in out.classes for name in names]
    offsets = np.cumsum([0, *map(len, out.classes)])
    return tl.TopLists.from_ragged(offsets, np.array(codes, np.int64), np.hstack(out.confidences), out.n_classes)


MAYBE = {**YES_NO, "maybe": ["Maybe"]}
BYTES = {"No": (0.5, b"No"), "Yes": (0.2, b"Yes")}


def by_bytes(*more):
    return [Listed(text, math.log(p), key) for text, (p, key) in (*BYTES.items(), *(("Yes", one) for one in more))]


LISTS = {  # answers, what becomes of other tokens, tokens, the list, what is counted; the rest is what is not listed
    "a real list": (YES_NO, "class", listed(CHAT, CHAT_P), {"yes": 0.09, "no": 0.571, OTHER: 0.339}, {}),
    "unlisted": (
        YES_NO, "unlisted", listed(CHAT, CHAT_P), {"yes": 0.09 / 0.661, "no": 0.571 / 0.661}, {"normalized": 1}),
    "normalize": (YES_NO, "normalize", listed(CHAT, CHAT_P), {"yes": 0.09 / 0.661, "no": 0.571 / 0.661}, {}),
    "maybe has the smallest": (MAYBE, "class", listed(CHAT, CHAT_P), {"yes": 0.09, "no": 0.571, OTHER: 0.336}, {}),
    "maybe and OTHER share": (MAYBE, "class", listed(["No", "Yes"], [0.9, 0.08]), {"yes": 0.08, "no": 0.9}, {}),
    "too much for maybe": (
        MAYBE, "class", listed(["No", "Yes"], [0.5, 0.05]), {"yes": 0.05, "no": 0.5, OTHER: 0.45 - 0.05}, {}),
    **{f"marked {mark}": (
        YES_NO, "class", [*listed(["No", "The"], [0.9, 0.05]), Listed("Yes", mark)], {"no": 0.9, OTHER: 0.05},
        {"marked": 1}) for mark in (None, math.nan, -math.inf, -9999.0, -3.4028235e38, -100.0)},
    "twice by bytes": (YES_NO, "class", by_bytes((0.2, b"Yes")), {"no": 0.5, "yes": 0.2, OTHER: 0.3}, {"twice": 1}),
    "other bytes": (YES_NO, "class", by_bytes((0.1, b"Y\xffes")), {"no": 0.5, "yes": 0.3, OTHER: 0.2}, {}),
    "no bytes": (
        YES_NO, "class", listed(["No", "Yes", "Yes"], [0.5, 0.2, 0.1]), {"no": 0.5, "yes": 0.3, OTHER: 0.2}, {}),
    "sampled from outside": (  # yes has at most 0.1
        YES_NO, "class", listed(["Yes", "No", "The", "N"], [0.001, 0.5, 0.3, 0.1]), {"no": 0.5, OTHER: 0.4},
        {"sampled": 1}),
    "sampled from the list": (
        YES_NO, "class", listed(["Yes", "No", "The", "N"], [0.2, 0.5, 0.1, 0.1]), {"yes": 0.2, "no": 0.5, OTHER: 0.3},
        {}),
    "asked for, in any order": (
        YES_NO, "class", listed(["Yes", "N", "The", "No"], [0.01, 0.1, 0.2, 0.5]),
        {"yes": 0.01, "no": 0.5, OTHER: 0.49}, {"unsorted": 1}),
}  # fmt: skip


@pytest.mark.parametrize("what", LISTS)
def test_a_list_is_the_sum_of_the_variants_and_what_was_changed_is_counted(what):
    answers, other, tokens, expected, counted = LISTS[what]
    (found,), out = made(tl.AnswerSpace(answers, other=other), tokens)
    assert found == pytest.approx(expected, abs=1e-15)
    assert {name: out.counts[name] for name in ("normalized", "marked", "twice", "sampled", "unsorted")} == {
        **dict.fromkeys(("normalized", "marked", "twice", "sampled", "unsorted"), 0),
        **counted,
    }
    assert out.n_classes == [len(answers) + (other == "class")]
    if what == "a real list":
        assert out.answer_mass == pytest.approx([0.661], abs=1e-15)


def test_ids_tell_tokens_apart_where_there_are_ids():
    tokens = [
        Token(text, math.log(p), number) for text, p, number in (("No", 0.5, 1), ("Yes", 0.2, 2), ("Yes", 0.2, 2))
    ]
    lists, _ = answer_lists(TopTokens.of([tokens], SPACE), SPACE)
    assert dict(zip(lists["classes"][0].as_py(), lists["confidences"][0].as_py(), strict=True))["yes"] == pytest.approx(
        0.2
    )


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
        assert mass == pytest.approx(expected.answer_mass)


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


def test_logits_are_refused_with_the_remedy():
    for second, error, said in (
        ([Listed("No", 12.5)], tl.ConfidenceError, r"case 1: the log-probability of a token is 12.5, .*logprobs_mode"),
        (listed(["No", "Yes"], [0.8, 0.75]), tl.MassError, r"case 1: .* of the listed tokens sum to 1\.5"),
    ):
        with pytest.raises(error, match=said):
            made(tl.AnswerSpace(YES_NO), listed(["No"], [0.5]), second)


def test_rounding_of_single_precision_is_forgiven():
    (one,), _ = made(tl.AnswerSpace(YES_NO), [Listed("No", 3e-8), Listed("Yes", -18.5)])
    assert one["no"] == pytest.approx(1, abs=1e-7)
    assert one["no"] < 1


# Answers and their tokens

TEN, WORDS = "ABCDEFGHIJ", ["a", " a", "\u2581a", "\u0120a", "i", " i"]  # words of one letter are no letters
ANSWERS_OF = [  # answers, options, the answer of each token
    ("ABCD", {}, dict.fromkeys(
        ("A", " A", "(A", "A)", "**A", "(a", " (A", "(A)", "A.", "\nA", "ĠA", "▁A", " a)"), "A")),
    ("ABCD", {}, dict.fromkeys(("AB", "And", "E", "", "(", "Answer"))),
    (["Yes", "No"], {}, dict(zip(CHAT, ["No", None, "Yes", None, "No", None, None, "No", None], strict=True))),
    (TEN, {}, dict.fromkeys(WORDS)),
    (TEN, {"strip": True}, dict.fromkeys(WORDS)),
    ({"A": ["A", *WORDS], "B": None}, {}, dict.fromkeys(WORDS, "A")),
    (["a", "b", "i"], {}, {token: token[-1] for token in WORDS}),
    (TEN, {}, {"(a": "A", "a)": "A", " b": "B", "I": "I", "A": "A", "i.": "I"}),
    (["A", "a", "B"], {}, {"A": "A", "a": "a", "(a": "a", "b": "B"}),
    ({"A": None, "article": ["a", " a"]}, {}, {"A": "A", "a": "article", " a": "article", "(a": "A"}),
    ({"B": [17], "C": ["C"]}, {}, {"token_id:17": "B", "token_id:18": None, "C": "C"}),
    ({"A": ["A"], "B": ["B"]}, {}, {" A": None}),
    ({"A": ["A"], "B": ["B"]}, {"strip": True}, {" A": "A", "A\n": "A"}),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "options", "tokens"), ANSWERS_OF)
def test_a_token_stands_for_the_answer_that_declares_it_or_usually_has_it(answers, options, tokens):
    space = tl.AnswerSpace(answers, **options)
    assert {token: space.answer_of(token) for token in tokens} == tokens


def test_tokens_are_found_by_bytes_and_by_ids():
    space = tl.AnswerSpace({"A": [b"\xffA"], "B": [17], "C": ["C"]})
    found = space.answer_of("\ufffdA", b"\xffA"), space.answer_of(None, token_id=17), space.answer_of("C", b"C", 3)
    assert found == ("A", "B", "C")


@pytest.mark.parametrize(
    ("answers", "options", "problem"),
    [
        ({"A": ["A", " A"], "B": ["B", " A"]}, {}, "the token ' A' belongs to 'A' and to 'B': name it once"),
        ({"A": ["A"], "B": [b"A"]}, {}, "belongs to 'A' and to 'B'"),
        ({"A": ["x"], "B": ["x "]}, {"strip": True}, "belongs to 'A' and to 'B'"),
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


def test_an_answer_space_is_read_from_a_file_or_the_file_is_named(tmp_path):
    path = tmp_path / "answers.json"
    space = tl.AnswerSpace({"A": ["A", b"\xff", 7], "B": None, "é": ["é"]}, other="normalize", strip=True)
    space.save(path)
    assert tl.AnswerSpace.load(path) == space
    assert hash(tl.AnswerSpace.load(path)) == hash(space)
    for value in (["A", "B"], {"A": ["A", " A"], "B": ["B"]}, {"answers": ["A", "B"], "other": "unlisted"}):
        path.write_text(json.dumps(value))
        plain = tl.AnswerSpace.of(path)
        assert (plain.answers, plain.other) == (("A", "B"), "unlisted" if "other" in value else "class")
    for text in ("3", "{", '{"A": [[]], "B": ["B"]}', '{"A": [{"bytes": [300]}], "B": ["B"]}', '["A"]'):
        path.write_text(text)
        with pytest.raises(tl.FileError, match=r"answers\.json"):
            tl.AnswerSpace.load(path)


# Cases with other numbers of answers


def test_the_number_of_answers_of_a_case_counts_from_the_first():
    space, tokens = tl.AnswerSpace("ABCD"), listed(["A", "D", "B"], [0.5, 0.3, 0.1])
    found, out = made(space, tokens, tokens, n_answers=np.array([4, 2]))
    assert found[0] == pytest.approx({"A": 0.5, "B": 0.1, "D": 0.3}, abs=1e-15)  # C and OTHER share 0.1
    assert found[1] == pytest.approx({"A": 0.5, "B": 0.1, OTHER: 0.4}, abs=1e-15)
    assert out.n_classes == [5, 3]
    assert out.answer_mass == pytest.approx([0.9, 0.6])


def test_the_answers_of_a_case_may_be_named():
    space, tokens = tl.AnswerSpace("ABCD"), listed(["A", "D", "B"], [0.5, 0.3, 0.1])
    found, out = made(space, tokens, tokens, allowed=[["D", "A"], ["B", "C", "D"]])
    assert found[0] == pytest.approx({"A": 0.5, "D": 0.3, OTHER: 0.2}, abs=1e-15)
    assert found[1] == pytest.approx({"B": 0.1, "D": 0.3, OTHER: 0.5}, abs=1e-15)
    assert out.n_classes == [3, 4]


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


def found(position, *cases):
    pairs = [chosen(as_position(position), case) for case in cases]
    return [[token.token for token in tokens] for tokens, _ in pairs], Counter(one for _, said in pairs for one in said)


def test_a_position_is_a_number_from_the_first_or_from_the_last_token():
    cases = generated("So", " B"), generated("C"), generated()
    assert found(0, *cases)[0] == [["So"], ["C"], []]
    assert found("1", *cases)[0] == [[" B"], [], []]
    assert found(-1, *cases)[0] == [[" B"], ["C"], []]
    assert found(1, *cases)[1] == {"no position": 2}


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
    (tokens_found,), counts = found("ANSWER:", generated(*tokens))
    assert tokens_found == ([] if answer is None else [answer])
    assert counts == said


def test_a_blank_text_is_no_position():
    with pytest.raises(tl.TopListError, match="this text is blank"):
        found(" ", generated("A"))


# What is said


def test_the_mass_on_declared_answers_is_said_with_a_warning_below_one_half():
    def notes(*mass):
        return list(notes_on(0, len(mass), Counter(), np.array(mass)))

    assert notes(0.9, 0.83, 0.2) == ["mass on declared answers: median 0.83, below 0.5 in 1 of 3 cases"]
    low = notes(0.1, 0.2)
    assert len(low) == 2
    assert "the prompt was measured, not the model" in low[1]


def test_every_change_of_a_list_is_counted_and_said():
    kinds = ("no position", "no text", "inside", "several", "marked", "sampled", "twice", "normalized", "unsorted")
    notes = list(notes_on("ANSWER:", 50, Counter({**dict.fromkeys(kinds, 2), "empty": 9}), np.full(50, 0.7)))
    assert len(notes) == len(kinds) + 2  # empty lists that nothing else explains, and the mass
    assert sum(note.startswith(("2 ", "in 2 ")) for note in notes) == len(kinds)
    assert any("3 of 50 cases have no listed token" in note for note in notes)
