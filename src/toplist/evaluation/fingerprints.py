"""Fingerprints of lists, by which predictions that are the same are told from those that only score the same.

A list is the same as another if it has the same classes, by their names, with the same confidences up to the ninth
digit, in whatever order; classes of confidence zero are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Codes
from toplist.evaluation.case_details import class_texts
from toplist.evaluation.stream import ScoredBatch
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, plain
from toplist.lists import TopLists
from toplist.lists.checks.detect import text

Prints = NDArray[np.uint64]
UNKNOWN = 0
_BITS = 30  # of a confidence that count
_STEP, _FIRST, _SECOND = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def of_lists(lists: TopLists) -> Prints:
    """The fingerprint of each list in memory.

    >>> one = TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9)
    >>> other = TopLists.from_dicts([{"b": 0.2, "a": 0.7}, {"c": 0.5}], 9)
    >>> (of_lists(one) == of_lists(other)).tolist()
    [True, False]
    """
    known, codes = np.unique(lists.classes, return_inverse=True)
    return _prints(lists.offsets, _hashes([text(lists.space.decode(int(one))) for one in known])[codes], lists)


def of_batch(scored: ScoredBatch, separator: str | None) -> Prints:
    """The fingerprint of each list in a file, as it was scored."""
    batch, lists, codes = scored.batch, scored.lists, scored.codes
    if batch.classes is None:
        hashes = _hashes(scored.names)
    else:
        coded = class_texts(plain(batch.classes), separator).dictionary_encode()
        hashes = _hashes(coded.dictionary.to_pylist())[as_numpy(coded.indices)]
    if not lists.space.per_case and len(codes) == len(hashes):  # a code is one class throughout
        known, first = np.unique(codes, return_index=True)
        return _prints(lists.offsets, hashes[first][np.searchsorted(known, lists.classes)], lists)
    hashes = np.tile(hashes, len(batch)) if batch.classes is None else hashes
    return _prints(batch.offsets, hashes, lists if np.array_equal(lists.offsets, batch.offsets) else batch)


def total(cases: Sequence[str], prints: Prints) -> str:
    """A fingerprint of all cases by their ids, whatever their order; empty where some are not known."""
    if not len(prints) or (prints == UNKNOWN).any():
        return ""
    return f"{int(_mixed(prints ^ _mixed(_hashes(cases))).sum(dtype=np.uint64)):016x}"


class PrintKeeper:
    """Keeps the fingerprints of batches as they are scored, in any order and from any thread."""

    def __init__(self, names: Sequence[str], separator: str | None) -> None:
        self.separator, self._lock = separator, Lock()
        self.known: dict[str, dict[Any, int]] = {name: {} for name in names}

    @property
    def watchers(self) -> Mapping[str, Any]:
        """By the name of a source, what is called with each batch."""
        return {name: partial(self._see, name) for name in self.known}

    def _see(self, name: str, scored: ScoredBatch) -> None:
        made = of_batch(scored, self.separator).tolist()
        found = dict(zip(keys(scored.batch, scored.truth), made, strict=True))
        if scored.batch.ids is not None and scored.truth.ids is None:
            found |= zip(keys(scored.truth, scored.truth), made, strict=True)
        with self._lock:
            self.known[name] |= found

    def prints(self, name: str, cases: Sequence[Any]) -> Prints:
        """Those of a model for these cases."""
        known = self.known[name]
        return np.fromiter((known.get(case, UNKNOWN) for case in cases), np.uint64, len(cases))


def keys(batch: Batch, truth: Batch) -> list[Any]:
    """What cases are called: their ids, or where they stand in the truth."""
    if batch.ids is None:
        return [(truth.source, row) for row in truth.rows.tolist()]
    return cast("list[Any]", class_texts(plain(batch.ids), None).to_pylist())


def _prints(offsets: Codes, hashes: Prints, of: TopLists | Batch) -> Prints:
    share, exponent = np.frexp(np.asarray(of.confidences, np.float64))
    rounded = np.ldexp(np.rint(share * 2.0**_BITS), exponent - _BITS)
    each = np.where(rounded == 0, np.uint64(0), _mixed(hashes ^ _mixed(rounded.view(np.uint64))))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    found = _mixed(sums[offsets[1:]] - sums[offsets[:-1]])
    return np.where(found == UNKNOWN, np.uint64(1), found)


def _hashes(names: Sequence[Any]) -> Prints:
    raw = b"".join(sha256(str(name).encode("utf-8", "surrogatepass")).digest()[:8] for name in names)
    return np.frombuffer(raw, "<u8").astype(np.uint64)


def _mixed(values: Prints) -> Prints:
    """Numbers that have nothing to do with each other however near the values are (splitmix64)."""
    z = values + _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return cast("Prints", z ^ (z >> np.uint64(31)))
