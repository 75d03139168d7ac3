"""Lists of files changed batch by batch, by several threads, and written as they come."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import CaseError, FileError
from toplist.io.alignment import OutOfStepError
from toplist.io.batches import Batch
from toplist.io.outputs import inputs_of, require_apart
from toplist.io.showing import shown
from toplist.io.writers import Lists, ListWriter, no_lists
from toplist.lists import TopLists
from toplist.streaming import shared
from toplist.transformation.reading import Files, Progress, repaired, silent

Change = Callable[[list[TopLists]], TopLists]
FAINT = 1e-14  # what one minus a sum of doubles does not tell from nothing


@dataclass(frozen=True, slots=True)
class Written:
    """What was read and written: how many cases, how many were repaired or left out of each file.

    `faint` counts cases with a positive mass that is too small to be read back: of a file, the mass that is not listed
    is one minus the sum, and confidences are numbers.
    """

    output: str
    cases: int
    entries: int
    faint: int = 0
    repairs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "output": self.output,
            "cases": self.cases,
            "entries": self.entries,
            "faint": self.faint,
            "repairs": {name: dict(counts) for name, counts in self.repairs.items()},
            "left_out": {name: count for name, count in self.left_out.items() if count},
        }


def transform(
    files: Files, output: str | os.PathLike[str], change: Change, progress: Progress = silent, what: str = "writing"
) -> Written:
    """Write what `change` makes of the lists of all files, case by case in the order of the first file."""
    require_apart([output], inputs_of(files.cases.sources))

    def work(batches: list[Batch]) -> tuple[Lists, int, list[Mapping[str, int]]]:
        members, _, names = files.lists(batches)
        try:
            made = change(members)
        except CaseError as error:
            raise _in_file(error, batches[0]) from None
        columns = Lists(batches[0].ids, made.offsets, names.of(made.classes), _doubles(made))
        return columns, count_faint(made), [repaired(*each) for each in zip(members, batches, strict=True)]

    for way in files.attempts():
        cases = entries = faint = 0
        repairs: dict[str, Counter[str]] = {name: Counter() for name in files.names}
        try:
            with ListWriter(output) as writer:
                for columns, few, mended in shared(work, way):
                    writer.write(columns)
                    cases, entries, faint = cases + len(columns), entries + len(columns.confidences), faint + few
                    for name, counts in zip(files.names, mended, strict=True):
                        repairs[name].update(counts)
                    progress(what, cases, files.cases.total)
                files.coder.finish()
                if not cases:
                    writer.write(no_lists())
        except OutOfStepError:
            continue
        break
    return Written(str(output), cases, entries, faint, repairs, dict(files.cases.left_out))


def _doubles(lists: TopLists) -> NDArray[np.float64]:
    """The confidences as they are scored: what they lack to one is the mass that is not listed."""
    as_given = lists.confidences.dtype == np.float64 and not lists.admitted.scaled.any()
    return np.ascontiguousarray(lists.confidences if as_given else lists.normalized_confidences, np.float64)


def count_faint(lists: TopLists) -> int:
    """How many cases have a mass that a file does not keep."""
    rest = lists.rest
    faint = (rest > 0) & (rest < FAINT)
    if lists.log_rest is not None:
        faint |= (rest == 0) & (lists.log_rest > -np.inf) & ~lists.admitted.scaled
    if lists.log_confidences is not None:
        case = np.repeat(np.arange(len(lists)), lists.sizes)
        faint[case[(lists.confidences == 0) & (lists.log_confidences > -np.inf)]] = True
    return int(np.count_nonzero(faint))


def _in_file(error: CaseError, batch: Batch) -> FileError:
    """An error about a case of a batch, with the file and the row."""
    if error.case is None:
        return FileError(batch.source, f"{error.problem} {error.remedy}".rstrip())
    where = "" if batch.ids is None else f"case {shown(batch.ids[error.case].as_py())}: "
    return FileError(batch.source, f"{where}{error.problem} {error.remedy}".rstrip(), row=int(batch.rows[error.case]))
