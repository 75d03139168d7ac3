"""Functions of logits keep their meaning under the transformations of JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.integrations.jax.rows import hard_rows

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy

from toplist.integrations import jax as tj  # noqa: E402

pytestmark = pytest.mark.usefixtures("_quick")
ROOT = Path(__file__).parents[3]
SCORES = partial(tj.scores_from_logits, ks=(1, 5), rules="brier")


def assert_same(found: Any, expected: Any) -> None:
    """All arrays of two results."""
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7), found, expected)


def test_jit_and_vmap_change_nothing() -> None:
    x, y = map(jnp.asarray, hard_rows())
    plain = SCORES(x, y)
    assert_same(jax.jit(SCORES)(x, y), plain)
    cube = jax.vmap(SCORES, in_axes=(1, 0), out_axes=1)(x.reshape(4, 6, 40), y.reshape(4, 6).T)
    assert_same(cube.padded["brier"].reshape(-1, 2), plain.padded["brier"])


def test_an_outcome_outside_the_classes_is_marked_where_its_value_is_not_known() -> None:
    x, y = hard_rows()
    found = jax.jit(SCORES)(x, np.where(np.arange(len(y)) == 2, 40, y))
    assert (np.asarray(found.rank) == -1).tolist() == [i == 2 for i in range(len(y))]
    assert np.isnan(found.full["brier"]).tolist() == [i == 2 for i in range(len(y))]


@pytest.mark.usefixtures("x64")
def test_gradients_of_padded_scores_are_their_differences_in_both_modes() -> None:
    x, y = (part[14:18] for part in hard_rows(np.float64))

    def mean(z: Any) -> Any:
        found = SCORES(z, y)
        return jnp.concatenate([*found.padded.values(), found.log_prob[:, None], found.lists.log_rest[:, None]], axis=1)

    push = np.sin(np.arange(x.size)).reshape(x.shape)

    @jax.jit
    def both(z: Any) -> Any:
        forward = jax.jvp(mean, (z,), (push,))[1]
        step = (mean(z + 1e-6 * push) - mean(z - 1e-6 * push)) / 2e-6
        backward = jax.grad(lambda z: (mean(z) * jnp.cos(step)).sum())(z)
        return forward, step, backward

    forward, step, backward = both(jnp.asarray(x))
    np.testing.assert_allclose(forward, step, 1e-5, 1e-7)
    np.testing.assert_allclose((backward * push).sum(), (forward * jnp.cos(step)).sum(), rtol=1e-10)


def test_nothing_calls_back_to_the_host() -> None:
    """So that programs can be exported, and run where there is no Python."""
    x, y = map(jnp.asarray, hard_rows())
    program = str(jax.make_jaxpr(SCORES)(x, y)) + str(jax.make_jaxpr(jax.grad(tj.score_loss))(x, y))
    assert "callback" not in program


def test_four_devices_that_share_rows_and_classes_give_the_scores_and_gradients_of_one() -> None:
    """By shard_map over rows, and over rows and classes; and by arrays that are placed on a mesh."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-m", "tests.integrations.jax.shards"],
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "the same", done.stderr
