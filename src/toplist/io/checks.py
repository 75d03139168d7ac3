"""Predictions of a file as they come: looked at batch by batch, and stopped by nothing that can be counted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._optional import need
from toplist._typing import Codes
from toplist.core.kernel import Rows
from toplist.errors import FileError, SpaceError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, plain, truths
from toplist.io.encoding import ClassEncoder, has_integers, within_case
from toplist.io.naming import for_predictions
from toplist.io.sources import OpenTable
from toplist.lists.checks import Issue, QualityCounts
from toplist.lists.space import ClassSpace


@dataclass(slots=True)
class FileChecks:
    """A look at batch after batch of one source, which was opened with `halves`."""

    source: OpenTable
    space: ClassSpace
    units: str = "probability"
    sets: str | None = None
    found: QualityCounts = field(default_factory=QualityCounts)
    foreign: str = ""  # the first class that is not in the space, in words
    crowded: str = ""  # that more classes are named than there are, in words
    again: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # cases of this batch seen before
    _seen: set[Any] = field(default_factory=set)
    _coder: ClassEncoder | None = None

    def at(self, batch: Batch) -> Codes:
        """Look at a batch; the codes of its classes, or of its columns where every one is a class."""
        codes = self._codes(batch)
        start, n = self.found.cases, len(batch)
        also = {"case twice": self._twice(batch)}
        if batch.halves is not None:
            also["class without a confidence"] = batch.halves[:, 0] > 0
            also["confidence without a class"] = batch.halves[:, 1] > 0
        if self.source.layout.kind in ("wide", "long"):  # the one is not in order, the other was brought into it
            also["not in falling order"] = np.zeros(n, bool)
        self.found = self.found + QualityCounts.of(
            rows_of(batch, codes, self.space),
            self.space,
            units=self.units,
            ranked=self.source.layout.kind == "ranked",
            position=np.arange(start, start + n),
            names=for_predictions(batch, self.source.names, codes),
            also=also,
        )
        return codes

    def findings(self, *, repaired: Any = ()) -> tuple[Issue, ...]:
        """See `QualityCounts.findings`; more names than classes is odd about all cases together."""
        found = self.found.findings(repaired=repaired)
        of = self.found.cases
        said = (("more names than classes", self.crowded), ("class outside the space", self.stray))
        return (*(Issue(kind, 0, of, words, True, "") for kind, words in said if words), *found)

    @property
    def stray(self) -> str:
        """That numbers in text are no codes, in words, after all batches."""
        found = None if self._coder is None else self._coder.stray()
        return "" if found is None else str(found)

    def _codes(self, batch: Batch) -> Codes:
        """Codes that tell the classes of each case apart, those outside the space from its size on."""
        names = self.source.names
        self._coder = self._coder or ClassEncoder(self.space, self._whole, self.sets)
        try:
            codes = self._coder.own_codes(batch, names)
        except FileError as error:
            if self._coder.labels is None:
                raise
            self.foreign = self.foreign or str(error)
            return _with_foreign(self._coder.values(batch, names), self._coder.labels)
        except SpaceError as error:
            self.crowded = str(error)
            self._coder = ClassEncoder(ClassSpace(math.inf), False, self.sets)
            codes = self._coder.own_codes(batch, names)
        if not self.crowded:
            return codes
        if batch.classes is None:
            return np.arange(len(codes), dtype=np.int64)
        return within_case(np.repeat(np.arange(len(batch)), np.diff(batch.offsets)), codes)

    @property
    def _whole(self) -> bool:
        """Whether classes are whole numbers, which are codes where there are no labels."""
        return self.space.labels is None and self.sets is None and has_integers(self.source)

    def _twice(self, batch: Batch) -> NDArray[np.bool_]:
        self.again = np.zeros(len(batch), bool)
        for i, name in enumerate([] if batch.ids is None else batch.ids.to_pylist()):
            self.again[i] = name in self._seen
            self._seen.add(name)
        return self.again


def rows_of(batch: Batch, codes: Codes, space: ClassSpace) -> Rows:
    """A batch as rows that nobody has checked."""
    classes: Codes | None = codes
    if batch.classes is None:
        every = not space.per_case and len(codes) == space.size and bool((np.diff(codes, prepend=-1) == 1).all())
        classes = None if every else np.tile(codes, len(batch))
    size, log_size = space.as_floats
    codes_ = None if classes is None else np.ascontiguousarray(classes)
    t = np.ascontiguousarray(batch.confidences)
    return Rows(batch.offsets, codes_, t, None, size, log_size, precision=batch.precision, shown=batch.shown)


def _with_foreign(values: Any, labels: Any) -> Codes:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(values)
    if pa.types.is_integer(values.type) and not pc.any(pc.match_substring_regex(labels, r"^[+-]?\d+$")).as_py():
        whole: Codes = as_numpy(values).astype(np.int64)
        return whole
    text = values if pa.types.is_string(values.type) else pc.cast(values, pa.string())
    places = pc.index_in(text, value_set=labels)
    known = ~truths(places.is_null())
    codes: Codes = len(labels) + as_numpy(text.dictionary_encode().indices).astype(np.int64)
    codes[known] = as_numpy(pc.fill_null(places, -1)).astype(np.int64)[known]
    return codes
