"""Batches of label sets, as positions of labels with offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import SpaceError

MASK_BITS = 62  # labels whose bit mask is a code, and can be told from UNLISTED
_DENSE_LIMIT = 1 << 32  # entries of an indicator matrix: 4 GiB


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sets:
    """A batch of label sets in CSR's layout: set i holds the labels offsets[i] to offsets[i + 1], in rising order.

    Labels are positions from 0 to `width` - 1; a `LabelSets` gives their names.

    Attributes
    ----------
    offsets : ndarray
        Where each set starts in `labels`, and the end.
    labels : ndarray
        Positions of the labels.
    width : int
        Number of labels there are.

    Examples
    --------
    >>> sets = Sets.from_indicators([[1, 0, 1], [0, 0, 0]])
    >>> sets
    Sets(2 sets of 3 labels)
    >>> sets.sizes, sets[0]
    (array([2, 0]), (0, 2))
    """

    offsets: NDArray[np.int64]
    labels: NDArray[np.int32]
    width: int

    @classmethod
    def from_indicators(cls, matrix: Any) -> Sets:
        """The rows of a matrix of zeros and ones: an array, a data frame, or any sparse matrix of scipy."""
        if hasattr(matrix, "tocsr"):
            return cls._from_csr(matrix.tocsr())
        dense = np.asarray(matrix)
        if dense.ndim != 2:
            raise SpaceError(f"an indicator matrix has a row per case and a column per label, not shape {dense.shape}.")
        if dense.dtype != np.bool_:
            known = np.isin(dense, (0, 1)) if dense.dtype.kind in "iufO" else np.zeros(dense.shape, dtype=bool)
            if not known.all():
                raise _other_values(dense, ~known)
            dense = dense.astype(bool)
        offsets = _offsets(np.count_nonzero(dense, axis=1))
        return cls(offsets, np.nonzero(dense)[1].astype(np.int32), dense.shape[1])

    @classmethod
    def _from_csr(cls, matrix: Any) -> Sets:
        if not np.isin(matrix.data, (0, 1)).all():
            raise SpaceError("an indicator matrix holds zeros and ones; these are other values.")
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if (matrix.data > 1).any():
            raise SpaceError("a label is there twice in one row of the indicator matrix.")
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.shape[1])

    @classmethod
    def join(cls, batches: Sequence[Sets]) -> Sets:
        """One batch after the other."""
        sizes = np.concatenate([one.sizes for one in batches])
        return cls(_offsets(sizes), np.concatenate([one.labels for one in batches]), batches[0].width)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many labels each set holds."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """For every entry of `labels` the set that it is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def indicators(self) -> NDArray[np.bool_]:
        """The sets as a dense matrix, a row per set and a column per label."""
        if len(self) * self.width > _DENSE_LIMIT:
            raise SpaceError(f"{len(self):,} x {self.width:,} is too large to spread out; take some of the sets.")
        out = np.zeros((len(self), self.width), dtype=bool)
        out[self.rows, self.labels] = True
        return out

    def take(self, at: Any) -> Sets:
        """Some of the sets, in any order."""
        where = np.arange(len(self))[at]
        sizes = self.sizes[where]
        offsets = _offsets(sizes)
        entries = np.repeat(self.offsets[:-1][where] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Sets(offsets, self.labels[entries], self.width)

    def fold(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each set the keys of its labels, combined by exclusive or: bit masks, or digests."""
        out = np.zeros(len(self), np.int64)
        filled = self.offsets[1:] > self.offsets[:-1]
        if filled.any():
            out[filled] = np.bitwise_xor.reduceat(keys[self.labels], self.offsets[:-1][filled])
        return out

    def __getitem__(self, at: int) -> tuple[int, ...]:
        case = int(at) + (len(self) if at < 0 else 0)
        if not 0 <= case < len(self):
            raise IndexError(f"set {at} of {len(self)}")
        return tuple(self.labels[self.offsets[case] : self.offsets[case + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sets):
            return NotImplemented
        same = self.width == other.width and np.array_equal(self.offsets, other.offsets)
        return same and np.array_equal(self.labels, other.labels)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sets({len(self):,} set{'' if len(self) == 1 else 's'} of {self.width:,} labels)"


def _other_values(dense: NDArray[Any], wrong: NDArray[np.bool_]) -> SpaceError:
    row, column = (int(at[0]) for at in np.nonzero(wrong))
    value = dense[row, column]
    said = (
        f"an indicator matrix holds zeros and ones; row {row} has {value.item() if hasattr(value, 'item') else value!r}"
    )
    if dense.dtype.kind == "f" and ((dense >= 0) & (dense <= 1)).all():
        return SpaceError(
            f"{said}. Probabilities per label are marginals: toplist.multilabel.best_sets lists sets of them."
        )
    if dense.dtype.kind in "if" and np.isin(dense, (-1, 1)).all():
        return SpaceError(f"{said}. If -1 means that a label is not there, give Y > 0.")
    return SpaceError(f"{said}.")


def from_rows(rows: NDArray[Any], labels: NDArray[Any], count: int, width: int) -> Sets:
    """Sets from pairs of set and label in any order, each pair once or more."""
    order = np.lexsort((labels, rows))
    rows, labels = rows[order], labels[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
    return Sets(_offsets(np.bincount(rows[new], minlength=count)), labels[new].astype(np.int32), width)


def keys(width: int) -> NDArray[np.int64]:
    """What each label adds to the code of a set: its bit where masks fit, 63 well-mixed bits beyond.

    A code is the exclusive or of the keys of its labels, so that flipping a label is one operation. Two given sets of
    many labels share a code with a chance of 2**-63.
    """
    if width <= MASK_BITS:
        return np.left_shift(np.int64(1), np.arange(width, dtype=np.int64))
    z = (np.arange(1, width + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
