"""The recalibrator that changes nothing, against which the others are held."""

from __future__ import annotations

from toplist.improve.recalibration.base import Recalibrator
from toplist.improve.recalibration.record import State
from toplist.improve.recalibration.sample import Sample
from toplist.lists import TopLists, require_lists


class Identity(Recalibrator):
    """Lists as they are; those that are not valid, repaired."""

    def __init__(self) -> None:
        pass

    @property
    def parameters(self) -> int:
        """None."""
        return 0

    def transform(self, lists: TopLists) -> TopLists:
        """The same lists; those that are not valid, repaired."""
        require_lists(lists)
        return lists.repair()

    def _check(self) -> None:
        pass

    def _fit(self, sample: Sample) -> None:
        pass

    def _transform(self, lists: TopLists) -> TopLists:
        return lists

    def _restore(self, state: State) -> None:
        pass
