"""numpy's files: dense probabilities, scipy's sparse matrices, and flat lists."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import listed
from toplist.errors import FileError
from toplist.io.readers.arrow import MemoryReader
from toplist.io.readers.base import FileReader, Format, Reader, TableChunk, batch_rows
from toplist.io.readers.column_types import one_schema

_IDS = ("case", "cases", "ids", "id")
_DENSE = ("probs", "probabilities", "proba", "confidences", "p", "arr_0")
_LABELS = ("labels", "outcomes", "y", "arr_0")
_PAIRS = (("classes", "confidences"), ("indices", "values"))


def open_arrays(paths: tuple[Path, ...], name: str) -> Reader:
    """A table of lists, of probabilities or of labels from `.npy` or `.npz`, without pickle."""
    if len(paths) > 1:
        raise FileError(name, "arrays are read from one file at a time.")
    path = paths[0]
    mapped = _mapped(path)
    if mapped is not None:
        return ArrayReader(path, mapped)
    arrays = _load(path)
    unnamed = not {"classes", "names"} & arrays.keys()
    return MemoryReader(_table(arrays, str(path)), str(path), unnamed=unnamed, paths=(path,))


def _mapped(path: Path) -> Any:
    """The array of a `.npy` whose rows follow each other; None for anything else, which is read as a whole."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except Exception:  # as below
        return None
    kinds = {1: "iuUS", 2: "fiu"}
    plain = array.dtype.kind in kinds.get(array.ndim, "") and array.flags.c_contiguous
    return array if plain and array.size else None


class ArrayReader(FileReader):
    """The rows of a `.npy`, which are read when they are needed: a map ends the process when somebody cuts the file."""

    unnamed = True

    def __init__(self, path: Path, mapped: Any) -> None:
        self.paths, self.name = (path,), str(path)
        self.rows = self._rows = len(mapped)
        self._offset, self._shape, self._kind = int(mapped.offset), mapped.shape[1:], mapped.dtype
        self._width = math.prod(self._shape)  # values per row

    @cached_property
    def schema(self) -> Any:
        """Names and types, as those of no rows have them."""
        nothing = np.empty((0, *self._shape), self._kind)
        return one_schema([(self.name, _table({"arr_0": nothing}, self.name).schema)])

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`."""
        step, stop = batch_rows(self._width), self._rows if hi is None else min(hi, self._rows)
        for start in range(lo, stop, step):
            offset, count = self._offset + start * self._width * self._kind.itemsize, min(step, stop - start)
            try:
                values = np.fromfile(self.paths[0], self._kind, count * self._width, offset=offset)
                rows = values.reshape(count, *self._shape)
            except (OSError, ValueError):
                raise FileError(self.name, "this is no readable numpy file: it has changed, or is damaged.") from None
            for batch in _table({"arr_0": rows}, self.name).select(schema.names).to_batches():
                yield TableChunk(self.name, start, batch)

    def sizes(self) -> Sequence[tuple[int, ...]]:
        """See `Reader`: rows are read where they lie, so that any number of them is a part."""
        step = batch_rows(self._width)
        return (tuple(min(step, self._rows - start) for start in range(0, self._rows, step)),)


def _load(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"arr_0": loaded}
            with loaded:
                return {key: loaded[key] for key in loaded.files}
    except Exception:  # a damaged zip file, or header, makes numpy raise whatever Python has
        raise FileError(str(path), "this is no readable numpy file (pickled objects are not read).") from None


def _table(arrays: Mapping[str, Any], source: str) -> Any:
    ids = next((arrays[key] for key in _IDS if key in arrays and arrays[key].ndim == 1), None)
    columns = _columns(arrays, source)
    rows = len(next(iter(columns.values())))
    if ids is not None:
        if len(ids) != rows:
            raise FileError(source, f"{len(ids):,} ids for {rows:,} rows.")
        if "case" in columns:
            raise FileError(source, "a class has the name 'case', which the ids have.")
        columns = {"case": _column(ids, source), **columns}
    return need("pyarrow").table(columns)


def _columns(arrays: Mapping[str, Any], source: str) -> dict[str, Any]:
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        return _sparse(arrays, source)
    if {"offsets", "classes", "confidences"} <= arrays.keys():
        return _lists(arrays["offsets"], arrays["classes"], arrays["confidences"], source)
    pairs = [(arrays[a], arrays[b]) for a, b in _PAIRS if a in arrays and b in arrays]
    for classes, confidences in pairs:
        if classes.ndim == confidences.ndim == 2:
            if classes.shape != confidences.shape:
                raise FileError(source, f"classes {classes.shape} for confidences {confidences.shape}.")
            n, k = classes.shape
            return _lists(np.arange(n + 1) * k, classes.ravel(), confidences.ravel(), source)
    dense = next((arrays[key] for key in _DENSE if key in arrays and arrays[key].ndim == 2), None)
    if dense is not None:
        return _dense(dense, arrays.get("classes", arrays.get("names")), source)
    labels = next((arrays[key] for key in _LABELS if key in arrays and arrays[key].ndim == 1), None)
    if labels is not None and labels.dtype.kind in "iuUS":
        return {"class": _column(labels, source)}
    found = listed([f"{key} {value.shape}" for key, value in arrays.items()]) or "nothing"
    raise FileError(source, f"no probabilities, sparse matrix, lists or labels among the arrays: {found}.")


def _sparse(arrays: Mapping[str, Any], source: str) -> dict[str, Any]:
    kind = arrays.get("format", np.array(b"csr")).tolist()
    if kind not in (b"csr", "csr"):
        raise FileError(source, "only sparse matrices in CSR form are read: save matrix.tocsr().")
    shape, indices, indptr = arrays["shape"].tolist(), arrays["indices"], arrays["indptr"]
    lists = _lists(indptr, indices, arrays["data"], source)
    fine = isinstance(shape, list) and len(shape) == 2 and shape[0] == len(indptr) - 1 and indices.dtype.kind in "iu"
    if not fine or (len(indices) and not (indices.min() >= 0 and indices.max() < shape[1])):
        raise FileError(source, f"the sparse matrix does not have the shape {shape} that it says.")
    return lists


def _dense(dense: Any, names: Any, source: str) -> dict[str, Any]:
    width = dense.shape[1]
    if dense.dtype.kind not in "fiu" or not width:
        raise FileError(source, f"probabilities are numbers in columns, not {dense.dtype} {dense.shape}.")
    titles = [str(i) for i in range(width)] if names is None else [str(name) for name in np.ravel(names).tolist()]
    if len(titles) != width or len(set(titles)) < width:
        raise FileError(source, f"{len(set(titles)):,} different class names for {width:,} columns.")
    return {title: _column(dense[:, i], source) for i, title in enumerate(titles)}


def _lists(offsets: Any, classes: Any, confidences: Any, source: str) -> dict[str, Any]:
    pa = need("pyarrow")
    fine = offsets.ndim == classes.ndim == confidences.ndim == 1 and len(classes) == len(confidences)
    fine = fine and offsets.dtype.kind in "iu" and len(offsets) > 0 and offsets[0] == 0
    at = offsets.astype(np.int64) if fine else offsets
    if not fine or at[-1] != len(classes) or (np.diff(at) < 0).any():
        raise FileError(source, "the offsets do not fit the classes and confidences.")
    if confidences.dtype.kind not in "fiu" or classes.dtype.kind not in "iuUS":
        raise FileError(source, f"confidences of type {confidences.dtype} for classes of type {classes.dtype}.")
    if classes.dtype.kind == "i" and len(classes) and classes.min() < 0:
        first = int(np.flatnonzero(classes < 0)[0])
        problem = f"class {classes[first]}: codes start at 0. Lists that are not of one length need offsets."
        raise FileError(source, problem, row=int(np.searchsorted(at, first, side="right")))
    return {
        "classes": pa.LargeListArray.from_arrays(pa.array(at), _column(classes, source)),
        "confidences": pa.LargeListArray.from_arrays(pa.array(at), _column(confidences, source)),
    }


def _column(values: Any, source: str) -> Any:
    """An array in a form that Arrow has."""
    pa = need("pyarrow")
    if values.dtype.kind == "f" and values.dtype.itemsize not in (2, 4, 8):
        values = values.astype(np.float64)
    try:
        if values.dtype.kind == "S":
            values = np.array([value.decode("utf-8") for value in values.tolist()], dtype=str)
        return pa.array(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("=")))
    except (pa.ArrowException, UnicodeDecodeError):
        raise FileError(source, f"values of type {values.dtype} are neither text nor numbers.") from None


NUMPY = Format("numpy", (".npy", ".npz"), open_arrays, any_path=True, described=".npy, .npz")
