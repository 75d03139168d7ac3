"""What a comparison is about, as JSON: workers open the same files in the same way, and nothing is pickled."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from toplist._files import from_json_number, to_json_number
from toplist._text import quote
from toplist.core.kernel import version
from toplist.errors import TopListError
from toplist.evaluation.compare import Question
from toplist.evaluation.stream import ScoringSpec
from toplist.inference.settings import Inference
from toplist.io.options import ReadOptions, ReadRequest, Truth
from toplist.io.plan import Plan, as_tables, plan_of, with_indicators
from toplist.io.readers.base import left_out
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space
from toplist.scoring import rules as known_rules
from toplist.scoring.rules import RULES, Rule, as_rule, name_of

_FOUND = ("cluster", "time", "group")  # columns of the truth that are used where they are called so


@dataclass(frozen=True)
class Job:
    """Files, how they are read, the classes, and what is asked of the models."""

    request: ReadRequest
    space: ClassSpace | None
    question: Question
    without: tuple[str, ...] = ()  # files of the datasets that cannot be read, and are not

    @classmethod
    def of(cls, request: ReadRequest, space: Any, question: Question) -> Job:
        """What is given to `compare`, with absolute paths; an error says what cannot be sent to workers."""
        models = {name: _path(data, name) for name, data in request.models.items()}
        about = request.truth
        data = about.data if about.data is None or about.is_carried else _path(about.data, "the truth")
        known = None if space is None else as_space(space)
        if known is not None and known.per_case:
            raise TopListError(
                "a number of classes per case that is in memory cannot be sent to workers: name the column of the "
                "truth that holds it, n_classes, and run compare without an engine."
            )
        return cls(request.with_data(models, data), known, question)

    @cached_property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        request, about = self.request, self.request.truth
        return {
            "models": [[name, path, _options(request.options[name])] for name, path in request.models.items()],
            "truth": {
                "data": os.fspath(about.data) if isinstance(about.data, os.PathLike) else about.data,
                "outcome": about.outcome,
                **about.columns,
                "options": _options(ReadOptions(**about.options), about.options),
            },
            "truth_options": _options(request.truth_options),
            "space": None if self.space is None else _space(self.space),
            "question": _question(self.question),
            "without": list(self.without),
            "toplist": version(),
        }

    @cached_property
    def digest(self) -> str:
        """What tells it from other jobs; files that cannot be read are part of the same."""
        return digest_of({name: value for name, value in self.plain.items() if name != "without"})

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Job:
        """The way back."""
        truth = dict(plain["truth"])
        data, options = truth.pop("data"), truth.pop("options")
        request = ReadRequest(
            {name: path for name, path, _ in plain["models"]},
            {name: ReadOptions(**options) for name, _, options in plain["models"]},
            Truth(data, **truth, **options),
            ReadOptions(**plain["truth_options"]),
        )
        space = None if plain["space"] is None else _as_space(plain["space"])
        return cls(request, space, _as_question(plain["question"]), tuple(plain["without"]))

    def open(self) -> Plan:
        """The open files, without those that cannot be read."""
        return open_plan(self.request, self.space, self.question.missing, self.without)


def open_plan(request: ReadRequest, space: Any, missing: str, without: Sequence[str] = ()) -> Plan:
    """The plan of a comparison of files, as `compare` makes it; some files of a dataset may be left out."""
    with left_out(without):
        asked = with_indicators(request, space)
        tables = as_tables(asked, space)
        if tables is None:
            raise TopListError("predictions in memory cannot be sent to workers: write them to Parquet files first.")
        return plan_of(tables, space, missing=missing, find=_FOUND)


def digest_of(plain: Any) -> str:
    """A digest of plain values."""
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode("ascii")).hexdigest()


def _path(data: Any, name: str) -> str:
    """Where the files of a table are, seen from anywhere."""
    if not isinstance(data, str | os.PathLike):
        raise TopListError(
            f"{name} is in memory ({type(data).__name__}), and an engine reads files: write it to a Parquet file and "
            "give its path, or leave out the engine."
        )
    text = os.fspath(data)
    return text if "://" in text else os.path.abspath(text)


def _options(read: ReadOptions, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The options that are given, as plain values."""
    found = dict(read.given() if given is None else {name: getattr(read, name) for name in given})
    answers = found.get("answers")
    if isinstance(answers, os.PathLike | str):
        found["answers"] = _path(answers, "answers")
    elif answers is not None:
        try:
            json.dumps(answers)
        except TypeError:
            raise TopListError(
                "these answers cannot be sent to workers: write them to a JSON file and give its path as answers."
            ) from None
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _space(space: ClassSpace) -> dict[str, Any]:
    if isinstance(space, LabelSets):
        place = {label: at for at, label in enumerate(space.names)}
        support = None if space.support is None else [sorted(place[label] for label in one) for one in space.support]
        return {"sets": _labels(space.names), "empty": space.empty, "support": support}
    size = None if space.complete else "infinite" if space.size == math.inf else hex(space.size)
    labels = None if space.labels is None else _labels(space.labels)
    return {"size": size, "labels": labels, "ordinal": space.ordinal}


def _labels(labels: Sequence[Any]) -> list[Any]:
    """Labels as JSON has them."""
    plain = [one.item() if isinstance(one, np.generic) else one for one in labels]
    odd = next((one for one in plain if not isinstance(one, str | int | float)), None)
    if odd is not None:
        raise TopListError(f"the label {quote(odd)} is no text and no number, and cannot be sent to workers.")
    return plain


def _as_space(plain: Mapping[str, Any]) -> ClassSpace:
    if "sets" in plain:
        names, support = plain["sets"], plain["support"]
        sets = None if support is None else [[names[at] for at in one] for one in support]
        return LabelSets(names, empty=plain["empty"], support=sets)
    size = plain["size"]
    count = size if size is None else math.inf if size == "infinite" else int(size, 16)
    return ClassSpace(count, plain["labels"], plain["ordinal"])


def _question(question: Question) -> dict[str, Any]:
    scoring, inference = question.scoring, question.inference
    return {
        "names": list(question.names),
        "rules": [_rule(rule) for rule in scoring.rules],
        "k": list(scoring.ks),
        "penalty": None if scoring.penalty is None else to_json_number(scoring.penalty),
        "baseline": scoring.baseline,
        "missing": question.missing,
        "inference": {one.name: getattr(inference, one.name) for one in fields(inference)},
    }


def _as_question(plain: Mapping[str, Any]) -> Question:
    rules = tuple(_as_rule(one) for one in plain["rules"])
    spec = ScoringSpec(rules, tuple(plain["k"]), from_json_number(plain["penalty"]), plain["baseline"])
    names = tuple(plain["names"])
    return Question(names, spec, tuple(map(name_of, rules)), plain["missing"], Inference(**plain["inference"]))


def _rule(rule: Rule) -> Any:
    """A rule by its name, or by its class and its parameters."""
    name = name_of(rule)
    if name in RULES:
        return name
    kind, known = type(rule).__name__, is_dataclass(type(rule))
    if getattr(known_rules, kind, None) is type(rule) and known:
        made: Any = rule
        values = {one.name: getattr(rule, one.name) for one in fields(made)}
        if all(isinstance(value, bool | int | float | str) for value in values.values()):
            plain = {one: to_json_number(value) if type(value) is float else value for one, value in values.items()}
            if _as_rule([kind, plain]) == rule:
                return [kind, plain]
    raise TopListError(
        f"the rule {name} is made of functions, which cannot be sent to workers: choose one of {', '.join(RULES)}, or "
        "run compare without an engine."
    )


def _as_rule(plain: Any) -> Rule:
    if isinstance(plain, str):
        return as_rule(plain)
    kind, values = plain
    made: Rule = getattr(known_rules, kind)(**{name: from_json_number(value) for name, value in values.items()})
    return made


def without(job: Job, files: Sequence[str]) -> Job:
    """The same job, in which these files are not read."""
    return replace(job, without=tuple(dict.fromkeys((*job.without, *files))))
