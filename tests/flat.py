"""Verbs with all options flat, for tests that draw or parametrise them: each goes to the record that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import toplist as tl

READ = tuple(one.name for one in fields(tl.ReadOptions))
TRUTH = ("outcome", "weight", "group", "cluster", "time", "n_classes")
INFERENCE = tuple(one.name for one in fields(tl.Inference))


def records(models: Any, truth: Any, options: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Models, truth and the other arguments; a read option that is a mapping goes by the name of a model or "truth"."""
    read = {what: value for what, value in options.items() if what in READ and not isinstance(value, Mapping)}
    own: dict[str, dict[str, Any]] = {}
    for what, value in options.items():
        if what in READ and isinstance(value, Mapping):
            for name, one in value.items():
                own.setdefault(name, {})[what] = one
    about = {what: value for what, value in options.items() if what in TRUTH} | own.pop("truth", {})
    if own:
        assert own.keys() <= models.keys(), own
        models = {name: tl.Source(one, **own.get(name, {})) for name, one in models.items()}
    rest = {what: value for what, value in options.items() if what not in (*READ, *TRUTH, *INFERENCE)}
    how = {what: value for what, value in options.items() if what in INFERENCE}
    if how:
        rest["inference"] = tl.Inference(**how)
    if read:
        rest["read"] = tl.ReadOptions(**read)
    return models, tl.Truth(truth, **about) if about else truth, rest


def compare(models: Any, truth: Any, **options: Any) -> tl.Leaderboard:
    """The same as `tl.compare`."""
    models, truth, rest = records(models, truth, options)
    return tl.compare(models, truth, **rest)


def diagnose(model: Any, truth: Any = None, **options: Any) -> tl.Diagnosis:
    """The same as `tl.diagnose`."""
    model, truth, rest = records(model, truth, options)
    return tl.diagnose(model, truth, **rest)


def monitor(models: Any, truth: Any, **options: Any) -> tl.Monitor:
    """The same as `tl.monitor`."""
    models, truth, rest = records(models, truth, options)
    return tl.monitor(models, truth, **rest)
