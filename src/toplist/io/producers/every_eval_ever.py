"""Every Eval Ever: instance-level records of any harness in one schema, with answers but without probabilities."""

from __future__ import annotations

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.producers.base import at_path
from toplist.io.producers.cases import HARD, Cases, NoListsError, add_answer, letters, reading
from toplist.io.producers.records import Record


def _read(cases: Cases) -> None:
    tasks: dict[str, list[Record]] = {}
    models: dict[str, None] = {}
    for record in cases.objects():
        if cases.conditions.keep(record.value):
            models[str(record.at("model_id"))] = None
            if record.at("error"):
                cases.count("record", "about an error: missing cases")
            else:
                tasks.setdefault(str(record.at("evaluation_name")), []).append(record)
    if len(models) > 1:
        way = argument("where", f"model_id={next(iter(models))}")
        problem = f"these are records of {len(models)} models, {listed(list(models))}: choose with {way}."
        raise FileError(cases.request.name, problem)
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
    wanted = {_letter_of(str(answer), texts) for answer in (reference if isinstance(reference, list) else [reference])}
    if len(wanted) != 1 or not all(wanted):
        several = "several correct answers" if len(wanted) > 1 else "a reference that is none of its choices"
        raise NoListsError(f"{record.place} has {several}: {quote(reference)}.")
    text, outcome = _answer(record), wanted.pop()
    answer, correct = _letter_of(text, texts), record.at("evaluation.is_correct")
    if isinstance(correct, bool) and correct != (answer == outcome):
        raise NoListsError(
            f"is_correct of {record.place} is {str(correct).lower()}, but its answer is {quote(text)} and the "
            f"reference {quote(reference)}. Records converted from log-likelihoods hold no answer: read what the "
            "harness wrote."
        )
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


def _letter_of(answer: str, choices: list[str]) -> str:
    """The letter of the choice that an answer names, by its letter or by its text; nothing where it names none."""
    text, places = answer.strip(), letters(len(choices))
    letter = text.strip("().*: ").upper()
    same = [place for place, choice in zip(places, choices, strict=True) if choice.strip() == text]
    return letter if letter in places else same[0] if len(same) == 1 else ""


PRODUCER = reading(_read, options=("where",), files_only=True)
