"""Names of cases, classes and outcomes of a batch of a file, as the file has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from toplist._typing import Codes
from toplist.io.batches import Batch
from toplist.lists.checks.names import Names, text


def for_batch(
    batch: Batch, names: Sequence[str], codes: Codes, truth: Batch, truth_names: Sequence[str], outcomes: Codes
) -> Names:
    """The names of a batch of a file: `codes` and `outcomes` are what the coder made of its classes and the truth's."""
    return _InFile(_Coded(batch, names, codes), _Coded(truth, truth_names, outcomes))


def for_predictions(batch: Batch, names: Sequence[str], codes: Codes) -> Names:
    """The names of a batch of a file of predictions, beside which there is no truth."""
    nothing = replace(batch, ids=None, offsets=np.zeros(len(batch) + 1, np.int64), classes=None)
    return _InFile(_Coded(batch, names, codes), _Coded(nothing, (), np.zeros(0, np.int64)))


@dataclass(frozen=True, slots=True)
class _Coded:
    """Classes as a file names them, and their codes: of every entry, or of the columns where all are listed."""

    batch: Batch
    names: Sequence[str]
    codes: Codes
    columns: Mapping[int, str] = field(init=False)

    def __post_init__(self) -> None:
        wide = self.batch.classes is None and len(self.names)
        # Tiled where codes are counted within each case: then a column has another code in every case.
        fixed = dict(zip(self.codes.tolist(), self.names, strict=True)) if wide and self._once else {}
        object.__setattr__(self, "columns", fixed)

    @property
    def _once(self) -> bool:
        return len(self.codes) == len(self.names)

    def name(self, at: int, code: int) -> str:
        return self.several(at, [code])[0]

    def several(self, at: int, codes: Sequence[int]) -> list[str]:
        """The names of some codes of a case: one search for all, as lists may be long."""
        if self.batch.classes is None and self._once:
            return [text(self.columns.get(int(code), code)) for code in codes]
        lo, hi = int(self.batch.offsets[at]), int(self.batch.offsets[at + 1])
        own, wanted = self.codes[lo:hi], np.asarray(codes, np.int64)
        if len(codes) == 1:
            found = np.flatnonzero(own == wanted[0])
            return [self._called(lo, int(found[0])) if len(found) else text(codes[0])]
        order = np.argsort(own, kind="stable")
        places = np.searchsorted(own[order], wanted)
        there = places < len(own)
        there[there] = own[order[places[there]]] == wanted[there]
        return [
            self._called(lo, int(order[place])) if is_there else text(code)
            for code, place, is_there in zip(codes, places.tolist(), there.tolist(), strict=True)
        ]

    def _called(self, lo: int, place: int) -> str:
        return text(self.names[place] if self.batch.classes is None else self.batch.classes[lo + place].as_py())


@dataclass(frozen=True, slots=True)
class _InFile:
    lists: _Coded
    truth: _Coded

    def case(self, at: int, position: int) -> str:
        for batch in (self.lists.batch, self.truth.batch):
            if batch.ids is not None:
                return text(batch.ids[at].as_py())
        return f"row {self.truth.batch.rows[at]}"

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        return self.lists.several(at, [int(code) for code in codes])

    def outcome(self, at: int, code: int) -> str:
        return self.truth.name(at, code)
