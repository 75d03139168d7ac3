"""HELM: `scenario_state.json` of a run. It holds the answers to questions with lettered choices, not probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toplist._text import listed
from toplist.errors import FileError
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row, at_path
from toplist.io.producers.harness import HARD, Cases, NoListsError, hard_label, known_of, others, require_files
from toplist.io.producers.json_records import Record, records
from toplist.io.readers.base import FirstLook

_FILE = "scenario_state.json"


def _open(request: Request) -> ProducedReader:
    files = [path for path in require_files(request) if path.name == _FILE]
    if not files:
        raise FileError(
            request.name,
            f"of a run of HELM, {_FILE} holds the answers, which is not here; the other files are summaries.",
        )
    runs, cases = {path: _run(path) for path in files}, Cases(request)
    models = list(dict.fromkeys(str(at_path(run, "adapter_spec.model")) for run in runs.values()))
    if len(models) > 1:
        raise FileError(request.name, f"these are runs of {len(models)} models, {listed(models)}: name those of one.")
    for path, run in runs.items():
        task = ",".join(part for part in path.absolute().parent.name.split(",") if not part.startswith("model="))
        try:
            rows = _rows(run, task)
        except NoListsError as error:
            cases.left_out[task] = str(error)
            continue
        cases.rows += [(str(path), row) for row in rows]
        cases.notes += [HARD, *others(task, rows)]
    return cases.reader()


def _run(path: Path) -> Record:
    _, found = next(records(path), (0, {}))
    if not isinstance(found.get("request_states"), list):
        raise FileError(str(path), "this is no state of a scenario of HELM: it has no request_states.")
    return found


def _rows(run: Record, task: str) -> list[Row]:
    method = str(at_path(run, "adapter_spec.method"))
    states = [one for one in run["request_states"] if isinstance(one, Mapping)]
    if not states:
        raise NoListsError("it has no requests.")
    if any(one.get("reference_index") is not None for one in states):
        raise NoListsError(
            f"the method {method} asks for every choice by itself, and the log-likelihoods of the choices are not "
            "stored apart from those of the prompt."
        )
    if not all(isinstance(one.get("output_mapping"), Mapping) for one in states):
        raise NoListsError("its requests have no choices (no output_mapping): the answers are free text.")
    trials = len({str(one.get("train_trial_index")) for one in states}) > 1
    return [_row(one, task, trials) for one in states]


def _row(state: Record, task: str, trials: bool) -> Row:
    mapping, name = dict(state["output_mapping"]), str(at_path(state, "instance.id"))
    references = at_path(state, "instance.references")
    listed_references = references if isinstance(references, list) else []
    places = [at for at, one in enumerate(listed_references) if "correct" in _tags(one)]
    labels = [str(label) for label in mapping]
    if len(places) != 1 or places[0] >= len(labels):
        raise NoListsError(f"instance {name} has {len(places)} correct references of {len(labels)}.")
    answer = str(at_path(state, "result.completions.0.text") or "").strip()
    changed = at_path(state, "instance.perturbation.name")
    trial = state.get("train_trial_index")
    case = f"{task}/{name}" + (f"_{changed}" if changed else "") + (f"_trial_{trial}" if trials else "")
    known = known_of(labels[places[0]], len(labels) + 1, task=task, unit=f"{task}/{name}")
    return Row(case, *hard_label(answer, labels), known)


def _tags(reference: Any) -> list[Any]:
    found = at_path(reference, "tags")
    return found if isinstance(found, list) else []


def _match(look: FirstLook, match: Match) -> Match | None:
    """The states of scenarios, which begin with the specification of the adapter."""
    return Match(match.paths, f"it is called {_FILE} and has adapter_spec")


PRODUCER = Producer(open=_open, match=_match)
