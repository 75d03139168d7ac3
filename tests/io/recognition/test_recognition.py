"""A file is read as what it is, or refused with the option to type: over names, shapes, further columns and options."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.draws import thorough
from tests.io.recognition import vocabulary
from tests.io.recognition.combinations import table
from tests.io.recognition.contract import Combination, Decision, decide, expected
from tests.io.recognition.run import Ending, by_command, in_python, named
from tests.io.strategies import chance
from toplist.cli.output import flag_of

TABLE = {one.id: one for one in table()}
DECIDED = {name: decide(one) for name, one in TABLE.items()}
SOME = list(TABLE) if thorough() else sorted(chance("some").sample(list(TABLE), len(TABLE) // 3))
FILES = [name for name, one in TABLE.items() if one.form != "frame"]
COMMANDS = [
    name
    for verdict in ("read", "refuse")
    for name in sorted(chance(verdict).sample([name for name in FILES if DECIDED[name].verdict == verdict], 20))
]


@pytest.mark.parametrize("name", SOME)
def test_a_right_answer_or_a_refusal_and_nothing_else(name: str, tmp_path: Path) -> None:
    one, decision = TABLE[name], DECIDED[name]
    _judge(one, decision, in_python(one, tmp_path))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_says_the_same(name: str, tmp_path: Path) -> None:
    one, decision = TABLE[name], DECIDED[name]
    ending, code = by_command(one, tmp_path)
    _judge(one, decision, ending, command=True)
    assert code in ((1, 2) if ending.sentence else (0,))


def _judge(one: Combination, decision: Decision, ending: Ending, *, command: bool = False) -> None:
    if ending.score is not None:
        assert ending.score == pytest.approx(expected(one, decision), abs=1e-9), f"a wrong answer; {ending.reading}"
        assert decision.verdict != "refuse", f"an answer, though: {decision.why}; {ending.reading}"
        _require_accounts(one, ending)
        return
    assert decision.verdict != "read", ending.sentence
    assert "\n" not in ending.sentence.strip(), ending.sentence
    if command:
        assert ending.sentence.startswith("toplist: ")
    if decision.verdict == "refuse":
        _require_remedy(decision, ending.sentence, command)


def _require_accounts(one: Combination, ending: Ending) -> None:
    """Every column is named, as used or as ignored."""
    for names, told in zip(named(one), (ending.reading, ending.truth_reading), strict=True):
        missing = [name for name in names if not _says(told, name)]
        assert not missing, f"{missing} in {told!r}"


def _require_remedy(decision: Decision, sentence: str, command: bool) -> None:
    """A column that is concerned, and an option to type; of any of the reasons, where there are several."""
    columns = [name for reason in decision.reasons for name in reason.columns]
    options = [name for reason in decision.reasons for name in reason.options]
    if columns and all(reason.columns for reason in decision.reasons):
        assert any(_says(sentence, name) for name in columns), f"none of {columns} in: {sentence}"
    if options and all(reason.options for reason in decision.reasons):
        typed = [flag_of(name) if command else f"{name}=" for name in options]
        plain = sentence.replace("--read '", "--read ")  # quoted where a shell needs it
        assert any(word in plain for word in typed), f"none of {typed} in: {sentence}"


def _says(text: str, name: str) -> bool:
    """Whether a name stands in a text as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


# The table itself


def test_the_table_is_large_and_leaves_little_open() -> None:
    verdicts = Counter(decision.verdict for decision in DECIDED.values())
    assert len(TABLE) >= 300
    assert min(verdicts["read"], verdicts["refuse"]) > len(TABLE) // 4
    assert verdicts["open"] < 0.15 * len(TABLE)


def test_no_name_has_two_meanings() -> None:
    known = [
        *vocabulary.IDS,
        *vocabulary.TRUTHS,
        *vocabulary.CLASSES,
        *vocabulary.CONFIDENCES,
        *vocabulary.NEVER,
    ]
    assert not [name for name, count in Counter(known).items() if count > 1]


def test_the_wrong_pairing_would_show() -> None:
    """Where rows are shuffled, matching them by position would give another number."""
    for name, one in TABLE.items():
        if DECIDED[name].by_position or one.prediction.cases == one.truth.cases or not one.prediction.rows_are_cases:
            continue
        if DECIDED[name].verdict == "read" and not one.same and one.truth.rows_are_cases:
            pairs = list(zip(one.prediction.cases, one.truth.cases, strict=True))
            assert one.world.brier(pairs) != one.world.brier(), name
