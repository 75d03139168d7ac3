"""Recalibrators one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toplist.errors import TopListError
from toplist.improve.recalibration.base import Recalibrator
from toplist.improve.recalibration.record import State
from toplist.improve.recalibration.sample import Sample, mended
from toplist.io.showing import shown
from toplist.lists import TopLists


class Chain(Recalibrator):
    """Each step learns from the lists that the steps before it give: a temperature, then a floor.

    >>> import toplist as tl
    >>> from toplist.improve.recalibration import RestFloor, Temperature
    >>> labels = tl.TopLists.from_labels([0, 1, 2, 0], 3)
    >>> Chain(steps=[Temperature(), RestFloor(floor=0.1)]).fit_transform(labels, [0, 1, 2, 1]).rest
    array([0.1, 0.1, 0.1, 0.1])
    """

    learned = ("steps_",)
    steps_: tuple[Recalibrator, ...]

    def __init__(self, *, steps: Sequence[Recalibrator] = ()) -> None:
        self.steps = steps

    @property
    def parameters(self) -> int:
        """Those of all steps."""
        return sum(one.parameters for one in (self.steps_ if self.is_fitted else self.steps))

    def _check(self) -> None:
        if not isinstance(self.steps, Sequence) or not len(self.steps):
            raise TopListError("a chain needs at least one step: Chain(steps=[Temperature(), RestFloor()]).")
        for one in self.steps:
            if not isinstance(one, Recalibrator):
                raise TopListError(f"steps are recalibrators such as Temperature(), not {shown(one)}.")
            one._check()

    def _fit(self, sample: Sample) -> None:
        made = []
        for one in self.steps:
            step = one.unfitted()
            step._fit(sample)
            sample = replace(sample, lists=mended(step.transform(sample.lists)))
            made.append(step)
        self.steps_ = tuple(made)

    def _transform(self, lists: TopLists) -> TopLists:
        for one in self.steps_:
            lists = one.transform(lists)
        return lists

    def _kept(self) -> dict[str, Any]:
        return {"steps": [one.to_dict() for one in self.steps_]}

    def _restore(self, state: State) -> None:
        self.steps_ = tuple(Recalibrator.from_dict(part.values) for part in state.parts("steps"))
        if len(self.steps_) != len(self.steps):
            raise state.wrong("steps", f"{len(self.steps_)} for {len(self.steps)} that were asked for")

    def _said(self) -> str:
        return ", then ".join(map(repr, self.steps_))
