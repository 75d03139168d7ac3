"""A recalibrator that chooses what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.arguments import as_whole
from toplist.improve.folds import as_folds
from toplist.improve.recalibration import record as saved_state
from toplist.improve.recalibration.base import Recalibrator
from toplist.improve.recalibration.choice import Candidate, Choice, as_candidates, choose
from toplist.improve.recalibration.sample import Sample
from toplist.lists import TopLists
from toplist.rules import as_rule, name_of
from toplist.space import ClassSpace


class Auto(Recalibrator):
    """The recalibrator that `choose_recalibrator` takes, chosen anew in each fit; `choice_` says which and why."""

    learned = ("choice_",)
    choice_: Choice

    def __init__(
        self, *, rule: Any = "brier", candidates: Sequence[Recalibrator] | None = None, folds: int = 5, seed: int = 0
    ) -> None:
        self.rule = rule
        self.candidates = candidates
        self.folds = folds
        self.seed = seed

    @property
    def best_(self) -> Recalibrator:
        """What was chosen."""
        self.require_fitted()
        return self.choice_.best

    @property
    def parameters(self) -> int:
        """Those of what was chosen."""
        return self.best_.parameters if self.is_fitted else 0

    def _check(self) -> None:
        as_rule(self.rule)
        as_candidates(self.candidates, ClassSpace(2), "brier")
        as_whole(self.folds, "folds", 2)
        as_whole(self.seed, "seed", 0)

    def _fit(self, sample: Sample) -> None:
        fold = as_folds(len(sample.lists), self.folds, self.seed)
        self.choice_ = choose(sample, self.rule, self.candidates, fold, self.seed, np.arange(len(fold)))

    def _transform(self, lists: TopLists) -> TopLists:
        return self.best_.transform(lists)

    def _kept(self) -> dict[str, Any]:
        choice = self.choice_
        return {"best": choice.best.to_dict(), "table": saved_state.plain(choice.table), "chosen": choice.chosen}

    def _restore(self, state: saved_state.State) -> None:
        table = tuple(_candidate(part) for part in state.parts("table"))
        chosen = state.whole("chosen")
        if chosen >= len(table):
            raise state.wrong("chosen", f"{chosen}, which is no line of the table")
        best = Recalibrator.from_dict(state.get("best"))
        self.choice_ = Choice(best, table, name_of(as_rule(self.rule)), self.folds, self.seed, chosen)

    def _said(self) -> str:
        return repr(self.best_)


def _candidate(part: saved_state.State) -> Candidate:
    words = {name: part.get(name) for name in ("name", "refused")}
    for name, value in words.items():
        if not isinstance(value, str):
            raise part.wrong(name, "not a text")
    score, error, difference, difference_error = (
        None if part.get(name) is None else part.number(name)
        for name in ("score", "error", "difference", "difference_error")
    )
    return Candidate(
        words["name"], part.whole("parameters"), part.whole("infinite"), score, error, difference, difference_error,
        words["refused"],
    )  # fmt: skip
