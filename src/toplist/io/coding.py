"""Names of classes as codes. Scoring needs to tell the classes of a case apart: no name becomes a Python object."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist.errors import ClassError, FileError, OutcomeError, SpaceError, TopListError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, plain, truths
from toplist.io.optional import need
from toplist.io.showing import several, shown
from toplist.space import ClassSpace, show_size

Codes = NDArray[np.int64]
_TRACKED = 1_000_000  # numbers of classes up to which the names that occur are counted
_UNIT = "\x1f"  # between the labels of a set


@dataclass(slots=True)
class Coder:
    """Codes for the classes of two sources that belong together: predictions, and the truth.

    With the labels of all classes, codes are their places. Whole numbers are their own codes. Other names are
    numbered batch by batch; where the number of classes differs per case, case by case.
    """

    space: ClassSpace | None  # None: sizes per case
    integers: bool  # whether every source has whole numbers for classes
    sets: str | None = None
    _labels: Any = field(init=False, default=None)
    _seen: Any = field(init=False, default=None)
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        if self.sets == "":
            raise TopListError('sets is a delimiter, such as ";", not an empty text.')
        if self.space is not None and self.space.labels is not None and self.sets is None:
            self._labels = need("pyarrow").array([str(label) for label in self.space.labels])

    @property
    def labels(self) -> Any:
        """The labels of all classes, or None."""
        return self._labels

    def codes(
        self, lists: Batch, names: tuple[str, ...], truth: Batch, truth_names: tuple[str, ...]
    ) -> tuple[Codes, Codes]:
        """The codes of the listed classes of predictions and of the truth; of the columns, where all are listed."""
        a, b = self.values(lists, names), self.values(truth, truth_names)
        if self._labels is not None:
            return self._places(a, lists, ClassError), self._places(b, truth, OutcomeError)
        if self.integers:
            return _whole(a), _whole(b)
        pa = need("pyarrow")
        both = pa.concat_arrays([_text(a), _text(b)]).dictionary_encode()
        self._count(both.dictionary, lists)
        codes = as_numpy(both.indices).astype(np.int64)
        mine, theirs = codes[: len(a)], codes[len(a) :]
        if self.space is not None:
            return mine, theirs
        mine = np.tile(mine, len(lists)) if lists.classes is None else mine
        theirs = np.tile(theirs, len(truth)) if truth.classes is None else theirs
        return _within_case(mine, lists, theirs, truth)

    def own_codes(self, lists: Batch, names: tuple[str, ...]) -> Codes:
        """The codes of predictions alone, where nothing is compared."""
        pa = need("pyarrow")
        nothing = Batch(
            lists.source, lists.rows, None, np.zeros(len(lists) + 1, np.int64), pa.array([], pa.string()), np.zeros(0)
        )
        return self.codes(lists, names, nothing, ())[0]

    def values(self, batch: Batch, names: tuple[str, ...]) -> Any:
        """The names of the classes: all that are listed, or those of the columns where every column is."""
        pa = need("pyarrow")
        values = pa.array(names, pa.string()) if batch.classes is None else batch.classes
        if self.sets is not None:
            return label_sets(values, self.sets)
        if batch.classes is None:
            return values
        if pa.types.is_struct(batch.classes.type):
            raise FileError(batch.source, "classes are text or numbers, not objects.")
        if pa.types.is_nested(batch.classes.type):
            raise FileError(batch.source, 'a class is a list of labels: say that classes are label sets (sets=";").')
        return batch.classes

    def _places(self, values: Any, batch: Batch, error: Any) -> Codes:
        pc, pa, space = need("pyarrow.compute"), need("pyarrow"), cast("ClassSpace", self.space)
        if pa.types.is_integer(values.type) and not _numeric(self._labels):
            codes = _whole(values)
            bad = (codes < 0) | (codes >= len(self._labels))
        else:
            values = _text(values)
            found = pc.index_in(values, value_set=self._labels)
            bad = truths(found.is_null())
            codes = as_numpy(pc.fill_null(found, -1)).astype(np.int64)
        if bad.any() and (space.complete or error is ClassError):
            raise _unknown(values, int(np.flatnonzero(bad)[0]), batch, space, error)
        return codes

    def _count(self, names: Any, batch: Batch) -> None:
        """More names than classes is an error, even where no single case shows it."""
        size = math.inf if self.space is None else self.space.size
        if size > _TRACKED:
            return
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        with self._lock:
            seen = names if self._seen is None else pc.unique(pa.concat_arrays([self._seen, names]))
            self._seen = seen
        if len(seen) > size:
            raise SpaceError(
                f"{batch.source}, by row {batch.rows[-1]:,}: {len(seen):,} different classes have been named (among "
                f"them {several(seen[-3:].to_pylist())}), but there are only {show_size(size)}. Declare the right "
                "number of classes."
            )


def label_sets(values: Any, delimiter: str) -> Any:
    """Label sets as text that is the same however their labels were ordered."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    nested = pa.types.is_nested(values.type)
    text = pc.binary_join(pc.cast(values, pa.list_(pa.string())), _UNIT) if nested else _text(values)
    encoded = pc.fill_null(text, "").dictionary_encode()
    mark = _UNIT if nested else delimiter
    canonical = [
        _UNIT.join(sorted({part.strip() for part in one.split(mark)} - {""})) for one in encoded.dictionary.to_pylist()
    ]
    return pa.array(canonical, pa.string()).take(encoded.indices)


def _numeric(labels: Any) -> bool:
    pc = need("pyarrow.compute")
    return bool(pc.any(pc.match_substring_regex(labels, r"^[+-]?\d+$")).as_py())


def _text(values: Any) -> Any:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(values)
    return values if pa.types.is_string(values.type) else pc.cast(values, pa.string())


def _whole(values: Any) -> Codes:
    whole: Codes = as_numpy(plain(values)).astype(np.int64, copy=False)
    return whole


def _within_case(mine: Codes, lists: Batch, theirs: Codes, truth: Batch) -> tuple[Codes, Codes]:
    """Codes that start from zero in each case."""
    n = len(lists)
    case = np.concatenate([np.repeat(np.arange(n), np.diff(b.offsets)) for b in (lists, truth)])
    pairs = np.stack([case, np.concatenate([mine, theirs])])
    order = np.lexsort(pairs[::-1])
    fresh = np.ones(len(order), bool)
    fresh[1:] = (pairs[:, order][:, 1:] != pairs[:, order][:, :-1]).any(axis=0)
    place = np.cumsum(fresh) - 1
    local = np.empty(len(order), np.int64)
    local[order] = place
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, case, local)
    local -= first[case]
    return local[: len(mine)], local[len(mine) :]


def _unknown(values: Any, at: int, batch: Batch, space: ClassSpace, error: Any) -> FileError:
    name, tiled = values[at].as_py(), batch.classes is None
    case = 0 if tiled else int(np.searchsorted(batch.offsets, at, side="right")) - 1
    what = "the outcome" if error is OutcomeError else "class"
    labels = space.labels or ()
    known = f"the {len(labels):,} labels" if space.complete else "the labels"
    return FileError(
        batch.source,
        f"{what} {shown(name)} is not among {known}. {space.suggest(name) if len(str(name)) < 100 else ''}".rstrip(),
        row=None if tiled else int(batch.rows[case]),
    )
