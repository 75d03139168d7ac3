"""What producers of multiple-choice questions share: letters of options, and answers without probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toplist._text import quote
from toplist.io.answers import OTHER
from toplist.io.producers.base import CLUSTER, N_CLASSES, OUTCOME
from toplist.io.producers.cases import Cases, Record

HARD = (
    "answers have no probabilities: each list is one class with probability 1, and the log score of a wrong one is "
    "infinite"
)


def letters(count: int) -> list[str]:
    """The letters of so many options; after 26 of them, numbers from 1.

    >>> letters(3), letters(28)[25:]
    (['A', 'B', 'C'], ['Z', '1', '2'])
    """
    return [chr(ord("A") + at) if at < 26 else str(at - 25) for at in range(count)]


def letter_of(answer: str, choices: Sequence[str]) -> str:
    """The letter of the choice that an answer names, by its letter or by its text; nothing where it names none.

    >>> letter_of(" (b) ", ["red", "blue"]), letter_of("blue", ["red", "blue"]), letter_of("green", ["red", "blue"])
    ('B', 'B', '')
    """
    text, own = answer.strip(), letters(len(choices))
    letter = text.strip("().*: ").upper()
    if letter in own:
        return letter
    same = [letter for letter, choice in zip(own, choices, strict=True) if choice.strip() == text]
    return same[0] if len(same) == 1 else ""


def about(outcome: str, choices: int, unit: str) -> Mapping[str, Any]:
    """What is known of a case; the unit is the document, or question, that several cases may be about."""
    return {OUTCOME: outcome, N_CLASSES: choices, CLUSTER: unit}


def add_answer(
    cases: Cases, record: Record, case: str, answer: str, choices: Sequence[str], outcome: str, unit: str
) -> None:
    """An answer as a list of one class with probability 1: `OTHER` where it is none of the choices."""
    known = about(outcome, len(choices) + 1, unit)
    if answer not in choices:
        cases.count("answer", f"of task {quote(cases.current)} named no choice: the class is {OTHER}")
    cases.add(record, case, [answer if answer in choices else OTHER], [1.0], **known)
