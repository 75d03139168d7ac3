"""Every Eval Ever: instance-level records of any harness in one schema, with answers but without probabilities."""

from __future__ import annotations

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.conditions import RecordConditions
from toplist.io.producers.base import ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.harness import (
    HARD,
    Cases,
    NoListsError,
    hard_label,
    known_of,
    letter_of,
    letters,
    others,
    require_files,
)
from toplist.io.producers.json_records import Record, records


def _open(request: Request) -> ProducedReader:
    cases, conditions = Cases(request), RecordConditions(request.options.where, request.name)
    tasks: dict[str, list[tuple[str, int, Record]]] = {}
    models: dict[str, None] = {}
    total, failed = 0, 0
    for path in require_files(request):
        for row, record in records(path):
            total += 1
            if conditions.hold(record):
                models[str(record.get("model_id"))] = None
                if record.get("error"):
                    failed += 1
                else:
                    tasks.setdefault(str(record.get("evaluation_name")), []).append((str(path), row, record))
    conditions.require_met()
    if len(models) > 1:
        way = argument("where", f"model_id={next(iter(models))}")
        raise FileError(
            request.name, f"these are records of {len(models)} models, {listed(list(models))}: choose with {way}."
        )
    for task, every in tasks.items():
        try:
            made = [(source, _row(record, task, row)) for source, row, record in every]
        except NoListsError as error:
            cases.left_out[task] = str(error)
            continue
        cases.rows += made
        cases.notes += [HARD, *others(task, [row for _, row in made])]
    if failed:
        cases.notes.append(f"{failed:,} of {total:,} records are about an error: they are missing.")
    return cases.reader()


def _row(record: Record, task: str, row: int) -> Row:
    choices, references = at_path(record, "input.choices"), at_path(record, "input.reference")
    if not isinstance(choices, list) or len(choices) < 2:
        raise NoListsError("its records have no choices: there is nothing to spread probability over.")
    texts = [str(one) for one in choices]
    wanted = {letter_of(str(one), texts) for one in (references if isinstance(references, list) else [references])}
    if len(wanted) != 1 or not all(wanted):
        several = "several correct answers" if len(wanted) > 1 else "a reference that is none of its choices"
        raise NoListsError(f"row {row:,} has {several}: {quote(references)}.")
    found, outcome = _answer(record, row), wanted.pop()
    answer = letter_of(found, texts)
    correct = at_path(record, "evaluation.is_correct")
    if isinstance(correct, bool) and correct != (answer == outcome):
        raise NoListsError(
            f"is_correct of row {row:,} is {str(correct).lower()}, but its answer is {quote(found)} and the reference "
            f"{quote(references)}. Records converted from log-likelihoods hold no answer: read what the harness wrote."
        )
    unit = f"{task}/{record.get('sample_hash') or record.get('sample_id')}"
    return Row(unit, *hard_label(answer, letters(len(texts))), known_of(outcome, len(texts) + 1, task=task, unit=unit))


def _answer(record: Record, row: int) -> str:
    """The answer that was extracted, or else the only output."""
    attributed = record.get("answer_attribution")
    last = [one for one in attributed if at_path(one, "is_terminal")] if isinstance(attributed, list) else []
    if last and at_path(last[-1], "extracted_value") is not None:
        return str(at_path(last[-1], "extracted_value"))
    raw = at_path(record, "output.raw")
    outputs = raw if isinstance(raw, list) else [raw]
    if len(outputs) != 1:
        raise NoListsError(f"row {row:,} has {len(outputs)} outputs, and does not say which one is the answer.")
    return str(outputs[0])


PRODUCER = Producer(open=_open, options=("where",))
