"""Fingerprints of lists, by which predictions that are the same are told from those that only score the same.

A list is the same as another if it has the same classes, by their names, with the same confidences up to the ninth
digit, in whatever order; classes of confidence zero are not listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Codes
from toplist.core.kernel import hash_text, mix
from toplist.evaluation.case_details import class_texts
from toplist.evaluation.stream import POSITION, ScoredBatch
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, id_hashes, plain
from toplist.lists import TopLists
from toplist.lists.checks.detect import text

Hashes = NDArray[np.uint64]
UNKNOWN = 0
_BITS = 30  # of a confidence that count


def text_hashes(texts: Sequence[str]) -> Hashes:
    """A hash of each text, the same as that of an id in a file."""
    coded = [one.encode("utf-8", "surrogatepass") for one in texts]
    ends = np.cumsum([0, *map(len, coded)]).astype(np.int64)
    return hash_text(np.frombuffer(b"".join(coded), np.uint8), ends)


def of_lists(lists: TopLists) -> Hashes:
    """The fingerprint of each list in memory.

    >>> one = TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9)
    >>> other = TopLists.from_dicts([{"b": 0.2, "a": 0.7}, {"c": 0.5}], 9)
    >>> (of_lists(one) == of_lists(other)).tolist()
    [True, False]
    """
    classes, codes = np.unique(lists.classes, return_inverse=True)
    names = [text(lists.space.decode(int(code))) for code in classes]
    return _prints(lists.offsets, text_hashes(names)[codes], lists)


def of_batch(scored: ScoredBatch, separator: str | None) -> Hashes:
    """The fingerprint of each list in a file, as it was scored."""
    batch, lists, codes = scored.batch, scored.lists, scored.codes
    if batch.classes is None:
        hashes = text_hashes(scored.names)
    else:
        coded = class_texts(plain(batch.classes), separator).dictionary_encode()
        hashes = text_hashes(coded.dictionary.to_pylist())[as_numpy(coded.indices)]
    if not lists.space.per_case and len(codes) == len(hashes):  # a code is one class throughout
        classes, first = np.unique(codes, return_index=True)
        return _prints(lists.offsets, hashes[first][np.searchsorted(classes, lists.classes)], lists)
    hashes = np.tile(hashes, len(batch)) if batch.classes is None else hashes
    return _prints(batch.offsets, hashes, lists if np.array_equal(lists.offsets, batch.offsets) else batch)


def _prints(offsets: Codes, hashes: Hashes, of: TopLists | Batch) -> Hashes:
    share, exponent = np.frexp(np.asarray(of.confidences, np.float64))
    rounded = np.ldexp(np.rint(share * 2.0**_BITS), exponent - _BITS)
    each = np.where(rounded == 0, np.uint64(0), mix(hashes ^ mix(rounded.view(np.uint64))))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    prints = mix(sums[offsets[1:]] - sums[offsets[:-1]])
    return np.where(prints == UNKNOWN, np.uint64(1), prints)


def total(cases: Hashes, prints: Hashes) -> int:
    """A fingerprint of the lists of all cases, whatever their order: those of parts of the cases add up, mod 2^64."""
    return int(mix(prints ^ mix(cases)).sum(dtype=np.uint64))


def prints_by_case(scored: ScoredBatch, separator: str | None) -> tuple[Hashes, Hashes]:
    """Hashes of the ids of the cases, or of their positions, and the fingerprints of their lists.

    None of predictions that are missing, and were taken as empty lists: these have no ids here.
    """
    ids = scored.truth.extra[POSITION] if scored.truth.ids is None else scored.batch.ids
    if ids is None:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    return id_hashes(ids, 0), of_batch(scored, separator)


class PrintKeeper:
    """Keeps the fingerprints of batches as they are scored, in any order and from any thread."""

    def __init__(self, names: Sequence[str], separator: str | None) -> None:
        self.separator, self._lock = separator, Lock()
        self._prints: dict[str, dict[int, int]] = {name: {} for name in names}

    def see(self, scored: ScoredBatch) -> None:
        """The lists of a model for some cases."""
        cases, prints = prints_by_case(scored, self.separator)
        with self._lock:
            self._prints[scored.name].update(zip(cases.tolist(), prints.tolist(), strict=True))

    def prints(self, name: str, cases: Hashes) -> Hashes:
        """Those of a model for the cases with these hashes."""
        prints = self._prints[name]
        return np.fromiter((prints.get(case, UNKNOWN) for case in cases.tolist()), np.uint64, len(cases))
