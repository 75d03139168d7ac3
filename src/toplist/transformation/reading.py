"""Files as checked lists with common codes: batch by batch, or all of them in memory to fit something."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import FileError, SpaceError, TopListError
from toplist.evaluation import lists_of, require_all_columns
from toplist.io.alignment import OutOfStepError
from toplist.io.batches import Batch
from toplist.io.coding import EMPTY_REMEDY, Codes, as_sets, has_integers
from toplist.io.common import CommonCoder, Names
from toplist.io.options import ReadOptions
from toplist.io.sources import Source, tell
from toplist.io.together import MISSING, Cases
from toplist.lists import TopLists
from toplist.lists.door import Repairs
from toplist.planning import opened, option_of, space_of_columns
from toplist.space import ClassSpace, as_space, show_size
from toplist.transformation.gathering import Gathering

Progress = Callable[[str, int, int | None], None]


def silent(what: str, done: int, total: int | None) -> None:
    """No progress shown."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read. `layout` and `repairs` are one for all, or by the name of a file.

    `space` is a `ClassSpace` or the number of classes; wide tables that name all classes do without.
    """

    space: Any = None
    sets: str | None = None
    layout: Any = "auto"
    case: Any = None
    classes: Any = None
    confidences: Any = None
    outcome: str | None = None
    repairs: Repairs | Mapping[str, Repairs] = field(default_factory=Repairs)
    missing: str = "error"
    ignore: Any = ()
    by_position: bool = False

    def __post_init__(self) -> None:
        if self.missing not in MISSING:
            raise TopListError(f'missing is "error" or "common" here, not {self.missing!r}.')

    def open(self, predictions: Mapping[str, Any], truth: Any = None, *, counted: bool = True) -> Files:
        """The files, with the truth before them where it is given; `counted`: the number of classes is needed."""
        known = None if self.space is None else as_sets(as_space(self.space), self.sets)
        if known is not None and known.per_case:
            raise SpaceError("files are changed with one number of classes for all cases, not one per case.")
        options = ReadOptions(
            self.layout,
            self.case,
            self.classes,
            self.confidences,
            self.outcome,
            self.ignore,
            self.by_position,
            self.sets,
        )
        repairs = {name: option_of(self.repairs, name, Repairs()) for name in predictions}
        sources = opened(predictions, truth, known, options, repairs)
        if truth is not None:
            sources[0] = _outcomes(sources[0])
        tell(sources)
        space = known
        if space is None:
            unnamed = not counted and not any(source.names for source in sources)
            space = ClassSpace(math.inf) if unnamed else space_of_columns(sources)
        for source in sources:
            require_all_columns(source, space)
        whole = self.sets is None and all(map(has_integers, sources))
        return Files(
            Cases(sources, self.missing),
            CommonCoder(space, whole, self.sets),
            list(repairs.values()),
            truth is not None,
        )


@dataclass(slots=True)
class Files:
    """Open files whose cases belong together."""

    cases: Cases
    coder: CommonCoder
    repairs: Sequence[Repairs]
    truth: bool
    repairs_made: dict[str, Counter[str]] = field(default_factory=dict)  # by `gather`, in how many cases

    @property
    def names(self) -> tuple[str, ...]:
        """Who predicts."""
        return tuple(source.name for source in self.cases.sources[self.truth :])

    @property
    def space(self) -> ClassSpace:
        """The classes."""
        return self.coder.space or ClassSpace(math.inf)

    def attempts(self) -> Iterator[Iterator[list[Batch]]]:
        """Ways through the cases: the second is for those who meet an `OutOfStepError` on the first."""
        yield self.cases.in_step()
        yield self.cases.in_order()

    def lists(self, batches: Sequence[Batch]) -> tuple[list[TopLists], Codes | None, Names]:
        """The lists of each file, what happened if the truth is among them, and what codes are called."""
        columns = [source.names for source in self.cases.sources]
        if self.truth:
            _require_outcomes(batches[0], self.coder.sets)
        codes, names = self.coder.together(batches, columns, truth=self.truth)
        if self.truth:
            _require_inside(codes[0], batches[0], self.space)
        own = slice(1, None) if self.truth else slice(None)
        made = [
            lists_of(batch, column, code, self.space, repairs)
            for batch, column, code, repairs in zip(batches[own], columns[own], codes[own], self.repairs, strict=True)
        ]
        return made, codes[0] if self.truth else None, names

    def gather(self, progress: Progress = silent) -> tuple[dict[str, TopLists], NDArray[np.int64]]:
        """All lists of each file, and what happened, in memory and with codes that are the same throughout."""
        for way in self.attempts():
            everything = Gathering(self.space, len(self.names))
            self.repairs_made = {name: Counter() for name in self.names}
            try:
                for batches in way:
                    lists, outcomes, known = self.lists(batches)
                    everything.add(lists, outcomes, known)
                    for name, one, batch in zip(self.names, lists, batches[int(self.truth) :], strict=True):
                        self.repairs_made[name].update(repaired(one, batch))
                    progress("reading", everything.cases, self.cases.total)
            except OutOfStepError:
                continue
            break
        self.coder.finish()
        if not everything.cases:
            raise FileError(self.cases.sources[0].path, "there are no cases.")
        whole, y = everything.all()
        return dict(zip(self.names, whole, strict=True)), y


def repaired(lists: TopLists, batch: Batch) -> dict[str, int]:
    """How many cases were repaired, and in how many something was left out that lacks its class or its confidence."""
    halves = 0 if batch.halves is None else int(np.count_nonzero(batch.halves.any(axis=1)))
    return {**lists.repairs, **({"blanks left out": halves} if halves else {})}


def _outcomes(truth: Source) -> Source:
    if truth.layout.kind != "labels":
        problem = f"this is read as a distribution per case ({truth.layout.kind}); fitting needs one outcome per case"
        raise FileError(truth.path, f"{problem}. Name its column with --outcome.")
    return truth


def _require_outcomes(truth: Batch, sets: str | None) -> None:
    sizes = np.diff(truth.offsets)
    if len(sizes) and sizes.min() < 1:
        problem = "there is no outcome." if sets is None else f"there is no outcome. {EMPTY_REMEDY}"
        raise FileError(truth.source, problem, row=int(truth.rows[np.argmin(sizes)]))


def _require_inside(codes: Codes, truth: Batch, space: ClassSpace) -> None:
    outside = (codes < 0) | (codes >= space.as_floats[0][0])
    if outside.any():
        at = int(np.argmax(outside))
        problem = f"the outcome {codes[at]} is not among the {show_size(space.size)} classes, numbered from 0."
        raise FileError(truth.source, problem, row=int(truth.rows[at]))
