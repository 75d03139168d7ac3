"""Lists drawn at random: short and long ones, empty and complete ones, valid or not."""

from __future__ import annotations

import numpy as np

import toplist as tl


def draw_lists(rng: np.random.Generator, n: int, m: int, *, valid: bool = True, space: object = None) -> tl.TopLists:
    """Lists of 0 to m of m classes; hard labels among them."""
    rows = []
    for _ in range(n):
        k = int(rng.integers(0, m + 1))
        p = rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 5.0])))
        picked = np.argsort(-p)[:k] if valid or k == m else rng.permutation(m)[:k]
        rows.append({int(c): float(p[c]) for c in rng.permutation(picked)})
        if rng.random() < 0.1:
            rows[-1] = {int(rng.integers(m)): 1.0}
    return tl.TopLists.from_dicts(rows, m if space is None else space)
