"""numpy's files: dense probabilities, scipy's sparse matrices, and flat lists."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toplist.errors import FileError
from toplist.io.optional import need
from toplist.io.readers.arrow import MemoryReader

_IDS = ("case", "cases", "ids", "id")
_DENSE = ("probs", "probabilities", "proba", "confidences", "p", "arr_0")
_LABELS = ("labels", "outcomes", "y", "arr_0")


def open_arrays(path: Path) -> MemoryReader:
    """A table of lists, of probabilities or of labels from `.npy` or `.npz`, without pickle."""
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = {key: loaded[key] for key in loaded.files} if isinstance(loaded, Mapping) else {"arr_0": loaded}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError, SyntaxError, MemoryError, OverflowError):
        raise FileError(str(path), "this is no readable numpy file (pickled objects are not read).") from None
    return MemoryReader(_table(arrays, str(path)), str(path))


def _table(arrays: Mapping[str, Any], source: str) -> Any:
    pa = need("pyarrow")
    ids = next((arrays[key] for key in _IDS if key in arrays and arrays[key].ndim == 1), None)
    columns = _columns(arrays, source)
    rows = len(next(iter(columns.values())))
    if ids is not None:
        if len(ids) != rows:
            raise FileError(source, f"{len(ids)} ids for {rows} rows.")
        columns = {"case": pa.array(ids), **columns}
    return pa.table(columns)


def _columns(arrays: Mapping[str, Any], source: str) -> dict[str, Any]:
    pa = need("pyarrow")
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        kind = arrays.get("format", np.array(b"csr")).item()
        if kind not in (b"csr", "csr"):
            raise FileError(source, "only sparse matrices in CSR form are read: save matrix.tocsr().")
        return _lists(arrays["indptr"], arrays["indices"], arrays["data"], source)
    if {"offsets", "classes", "confidences"} <= arrays.keys():
        return _lists(arrays["offsets"], arrays["classes"], arrays["confidences"], source)
    for classes, confidences in (("classes", "confidences"), ("indices", "values")):
        pair = arrays.get(classes), arrays.get(confidences)
        if all(isinstance(one, np.ndarray) and one.ndim == 2 for one in pair):
            n, k = pair[0].shape  # type: ignore[union-attr]
            return _lists(np.arange(n + 1) * k, pair[0].ravel(), pair[1].ravel(), source)  # type: ignore[union-attr]
    dense = next((arrays[key] for key in _DENSE if key in arrays and arrays[key].ndim == 2), None)
    if dense is not None:
        if dense.dtype.kind not in "fiu":
            raise FileError(source, f"probabilities are numbers, not {dense.dtype}.")
        names = arrays.get("classes", arrays.get("names"))
        titles = [str(i) for i in range(dense.shape[1])] if names is None else [str(name) for name in names]
        if len(titles) != dense.shape[1] or len(set(titles)) < len(titles):
            raise FileError(source, f"{len(titles)} class names for {dense.shape[1]} columns, each of its own.")
        return {title: pa.array(np.ascontiguousarray(dense[:, i])) for i, title in enumerate(titles)}
    labels = next((arrays[key] for key in _LABELS if key in arrays and arrays[key].ndim == 1), None)
    if labels is not None and labels.dtype.kind in "iuUS":
        return {"class": pa.array(labels.astype(str) if labels.dtype.kind == "S" else labels)}
    found = ", ".join(f"{key} {value.shape}" for key, value in arrays.items()) or "nothing"
    raise FileError(source, f"no probabilities, sparse matrix, lists or labels among the arrays: {found}.")


def _lists(offsets: Any, classes: Any, confidences: Any, source: str) -> dict[str, Any]:
    pa = need("pyarrow")
    fine = offsets.ndim == classes.ndim == confidences.ndim == 1 and len(classes) == len(confidences)
    fine = fine and offsets.dtype.kind in "iu" and len(offsets) > 0 and offsets[0] == 0
    if not fine or offsets[-1] != len(classes) or (np.diff(offsets) < 0).any():
        raise FileError(source, "the offsets do not fit the classes and confidences.")
    if confidences.dtype.kind not in "fiu" or classes.dtype.kind not in "iuUS":
        raise FileError(source, f"confidences of type {confidences.dtype} for classes of type {classes.dtype}.")
    at = pa.array(offsets.astype(np.int64))
    values = pa.array(classes.astype(str) if classes.dtype.kind == "S" else classes)
    return {
        "classes": pa.LargeListArray.from_arrays(at, values),
        "confidences": pa.LargeListArray.from_arrays(at, pa.array(confidences)),
    }
