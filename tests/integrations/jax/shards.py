"""Scores, losses and gradients of rows and classes that four devices share are those of one device.

Run by `test_transformations.py` in a process with four devices: `python -m tests.integrations.jax.shards`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tests.integrations.jax.rows import hard_rows
from toplist.integrations import jax as tj

try:
    from jax import shard_map
except ImportError:  # before 0.6
    from jax.experimental.shard_map import shard_map

ROWS, BOTH = P("rows"), P("rows", "classes")


def same(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Equal, but for the order of sums."""
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol, 1e-14), found, expected)


def main() -> None:
    """Compare."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)  # compiling takes all the time
    assert jax.device_count() == 4
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("rows", "classes"))
    x, y = (jnp.asarray(part) for part in hard_rows(np.float64))
    split = partial(shard_map, mesh=mesh)

    scores = partial(tj.scores_from_logits, ks=(1, 5), rules=("brier", "log"))
    plain = scores(x, y)
    same(jax.jit(split(scores, in_specs=(ROWS, ROWS), out_specs=ROWS))(x, y), plain)
    by_class = jax.jit(split(partial(scores, axis_name="classes"), in_specs=(BOTH, ROWS), out_specs=ROWS))
    same(by_class(x, y), plain)
    outside = by_class(x, y.at[3].set(40))
    assert (int(outside.rank[3]), bool(jnp.isnan(outside.full["brier"][3]))) == (-1, True)
    placed = jax.device_put(x, NamedSharding(mesh, BOTH)), jax.device_put(y, NamedSharding(mesh, ROWS))
    same(jax.jit(scores)(*placed), plain)

    lists, x = tj.lists_from_logits(x[::-1], 3), jnp.maximum(x, -40.0)
    loss = partial(tj.score_loss, rule="log", k=5, label_smoothing=0.1)
    parts = split(partial(loss, reduction="none", axis_name="classes"), in_specs=(BOTH, ROWS), out_specs=ROWS)
    same(jax.jit(jax.grad(lambda z: parts(z, y).mean()))(x), jax.grad(loss)(x, y), 1e-10)

    def slope(z: Any, classes: Any, logs: Any, axis_name: str | None = None) -> Any:
        """The gradient inside shard_map, where each device has its part of it."""
        return jax.grad(lambda z: tj.list_divergence(classes, logs, z, reduction="sum", axis_name=axis_name))(z)

    inner = split(partial(slope, axis_name="classes"), in_specs=(BOTH, ROWS, ROWS), out_specs=BOTH)
    same(jax.jit(inner)(x, *lists[:2]), slope(x, *lists[:2]), 1e-10)


if __name__ == "__main__":
    main()
    print("the same")
