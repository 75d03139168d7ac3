"""Lists put together from batches, each of which numbers its classes in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.io.columns import as_numpy
from toplist.io.common import Names
from toplist.io.optional import need
from toplist.lists import TopLists
from toplist.lists.joining import join
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
    kind = np.int32 if space.size < 2**31 else np.int64
    return join([one for one, _ in parts], [codes.astype(kind, copy=False) for _, codes in parts], space)
