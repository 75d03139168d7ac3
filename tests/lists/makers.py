"""The constructors of lists, called alike: with classes and confidences of one shape and the number of classes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from toplist import TopLists


def ragged(classes: Any, t: Any, m: int, **options: Any) -> TopLists:
    """As offsets and flat arrays."""
    return TopLists.from_ragged(np.arange(len(t) + 1) * t.shape[1], classes.ravel(), t.ravel(), m, **options)


def dicts(classes: Any, t: Any, m: int, **options: Any) -> TopLists:
    """As mappings."""
    rows = [dict(zip(c, row, strict=True)) for c, row in zip(classes.tolist(), t, strict=True)]
    return TopLists.from_dicts(rows, m, **options)


def csr(classes: Any, t: Any, m: int, **options: Any) -> TopLists:
    """As a sparse matrix."""
    flat = {"indptr": np.arange(len(t) + 1) * t.shape[1], "indices": classes.ravel(), "data": t.ravel()}
    return TopLists.from_csr(SimpleNamespace(**flat, shape=(len(t), m), format="csr"), **options)


MAKERS: dict[str, Callable[..., TopLists]] = {"topk": TopLists.from_topk, "ragged": ragged, "dicts": dicts, "csr": csr}
