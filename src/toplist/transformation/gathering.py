"""Lists put together from batches, each of which numbers its classes in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.io.columns import as_numpy, offsets_of
from toplist.io.common import Names
from toplist.io.optional import need
from toplist.lists import TopLists, from_logs
from toplist.space import ClassSpace

Codes = NDArray[np.int64]


class Gathering:
    """The lists of several predictors and what happened; a code means one class throughout."""

    def __init__(self, space: ClassSpace, members: int) -> None:
        self.space = ClassSpace(space.size)
        self.parts: list[list[tuple[TopLists, Codes]]] = [[] for _ in range(members)]
        self.outcomes: list[Codes] = []
        self.cases = 0
        self._seen: Any = None

    def add(self, lists: Sequence[TopLists], outcomes: Codes | None, names: Names) -> None:
        """The next cases."""
        code = self._renumber(names)
        for parts, one in zip(self.parts, lists, strict=True):
            parts.append((one, code[one.classes] if code is not None else one.classes))
        if outcomes is not None:
            self.outcomes.append(outcomes if code is None else code[outcomes])
        self.cases += len(lists[0])

    def all(self) -> tuple[list[TopLists], Codes]:
        """Everything: the lists of each predictor, and what happened."""
        y = np.concatenate(self.outcomes) if self.outcomes else np.zeros(0, np.int64)
        return [joined(parts, self.space) for parts in self.parts], y

    def _renumber(self, names: Names) -> Codes | None:
        """The code of each name over all batches; None where codes are that already."""
        if names.known is None or names.fixed:
            return None
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        known = names.known.slice(0, 0) if self._seen is None else self._seen
        new = names.known.filter(pc.is_null(pc.index_in(names.known, value_set=known)))
        self._seen = pa.concat_arrays([known, new])
        codes: Codes = as_numpy(pc.index_in(names.known, value_set=self._seen)).astype(np.int64)
        return codes


def joined(parts: Sequence[tuple[TopLists, NDArray[Any]]], space: ClassSpace) -> TopLists:
    """One batch of several, each with the codes of its classes."""
    lists = [one for one, _ in parts]
    small = space.size < 2**31
    classes = np.concatenate([codes.astype(np.int32 if small else np.int64, copy=False) for _, codes in parts])
    offsets = offsets_of(np.concatenate([one.sizes for one in lists]))
    log_rest = None
    if any(one.log_rest is not None for one in lists):
        log_rest = np.concatenate([_log_rest(one) for one in lists])
    if any(one.log_confidences is not None for one in lists):
        return from_logs(offsets, classes, np.concatenate([_logs(one) for one in lists]), space, log_rest=log_rest)
    t = np.concatenate([one.confidences for one in lists])
    return TopLists.from_ragged(offsets, classes, t, space, log_rest=log_rest)


def _log_rest(one: TopLists) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(one.rest) if one.log_rest is None else one.log_rest


def _logs(one: TopLists) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.log(one.confidences) if one.log_confidences is None else one.log_confidences
    return logs
