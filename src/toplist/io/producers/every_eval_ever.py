"""Every Eval Ever: instance-level records of any harness in one schema, with answers but without probabilities."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from toplist._text import quote
from toplist.io.producers.base import at_path
from toplist.io.producers.cases import HARD, Cases, NoListsError, add_answer, disagreement, letters, reading
from toplist.io.producers.records import Record


def _read(cases: Cases) -> None:
    tasks: dict[str, list[Record]] = defaultdict(list)
    models: dict[str, None] = {}
    for record in cases.objects():
        if cases.conditions.keep(record.value):
            models[str(record.at("model_id"))] = None
            if record.at("error"):
                cases.count("record", "about an error: missing cases")
            else:
                tasks[str(record.at("evaluation_name"))].append(record)
    cases.require_one("models", models, "model_id")
    for task, records in tasks.items():
        with cases.task(task):
            for record in records:
                _add(cases, record, task)
    cases.notes.append(HARD)


def _add(cases: Cases, record: Record, task: str) -> None:
    choices, reference = record.at("input.choices"), record.at("input.reference")
    if not isinstance(choices, list) or len(choices) < 2:
        raise NoListsError("its records have no choices: there is nothing to spread probability over.")
    texts = [str(choice) for choice in choices]
    correct = {_letter_of(one, texts) for one in (reference if isinstance(reference, list) else [reference])}
    if len(correct) != 1 or "" in correct:
        raise NoListsError(f"the reference of {record.place}, {quote(reference)}, is not one of its choices.")
    text, outcome = _answer(record), correct.pop()
    answer = _letter_of(text, texts)
    hit = record.at("evaluation.is_correct")
    if why := disagreement(f"is_correct of {record.place}", hit, answer or text, outcome):
        raise NoListsError(f"{why}. Records made of log-likelihoods hold no answer: read what the harness wrote.")
    unit = f"{task}/{record.at('sample_hash') or record.at('sample_id')}"
    add_answer(cases, record, unit, answer, letters(len(texts)), outcome, unit)


def _answer(record: Record) -> str:
    """The answer that was extracted, or else the only output."""
    attributed, raw = record.at("answer_attribution"), record.at("output.raw")
    last = [part for part in attributed if at_path(part, "is_terminal")] if isinstance(attributed, list) else []
    if last and at_path(last[-1], "extracted_value") is not None:
        return str(at_path(last[-1], "extracted_value"))
    outputs = raw if isinstance(raw, list) else [raw]
    if len(outputs) != 1:
        raise NoListsError(f"{record.place} has {len(outputs)} outputs, and does not say which one is the answer.")
    return str(outputs[0])


def _letter_of(answer: Any, choices: list[str]) -> str:
    """The letter of the choice that an answer names, by its letter or by its text; nothing where it names none."""
    text, places = str(answer).strip(), letters(len(choices))
    letter = text.strip("().*: ").upper()
    same = [place for place, choice in zip(places, choices, strict=True) if choice.strip() == text]
    return letter if letter in places else same[0] if len(same) == 1 else ""


PRODUCER = reading(_read, options=("where",), files_only=True)
