"""The same kind of predictions in every shape that people have them in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import toplist as tl

LABELS = ("ant", "bee", "cat", "dog", "emu")
M = len(LABELS)


def predictions(seed: int, n: int) -> tuple[dict[str, Any], Any]:
    """Codes and what happened: labels, distributions in two precisions, dicts, CSR, lists; a third of them invalid."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    p = rng.dirichlet(np.full(M, 0.5), size=n)
    short = [dict(zip(rng.permutation(M)[:k].tolist(), _part(rng, k), strict=True)) for k in rng.integers(0, 4, n)]
    chosen = rng.random((n, M)) < 0.5
    csr = sparse.csr_matrix(np.where(chosen, p, 0.0))
    found = {
        "labels": np.where(rng.random(n) < 0.5, y, rng.integers(0, M, n)),
        "double": p,
        "single": rng.dirichlet(np.full(M, 2.0), size=n).astype(np.float32),
        "rows": p[::-1].tolist(),
        "dicts": short,
        "sparse": csr,
        "lists": tl.TopLists.from_proba(p, k=2),
        "tied": [dict.fromkeys(rng.permutation(M)[:k].tolist(), 0.25) for k in rng.integers(1, 5, n)],
    }
    return found, y


def _part(rng: np.random.Generator, k: int) -> list[float]:
    return rng.dirichlet(np.ones(k + 1))[:k].tolist()


def as_lists(name: str, what: Any, space: Any = M) -> tl.TopLists:
    """By the constructor that a person would pick."""
    if name == "lists":
        return what
    if name == "labels":
        return tl.TopLists.from_labels(what, space)
    if name in ("dicts", "tied"):
        return tl.TopLists.from_dicts(what, space)
    if name == "sparse":
        return tl.TopLists.from_csr(what, space)
    return tl.TopLists.from_proba(np.asarray(what), space)
